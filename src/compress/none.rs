//! No compression: the bytes themselves.

use std::io::Read;

use super::input::{unreadable, Input, Source};
use super::reader::Decode;
use super::{Compressor, Output, Stream};
use crate::Result;

pub(super) const COMPRESSOR: Compressor = Compressor {
    name: "none",
    levels: None,
    default_level: None,
    extension: "",
    magic: b"",
    encode,
    expect,
    decode,
    open,
};

#[allow(
    clippy::unnecessary_wraps,
    reason = "the registry's signature, which other compressors need"
)]
fn encode(data: &[u8], _level: i32) -> Result<Vec<u8>> {
    Ok(data.to_vec())
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "the registry's signature, which other compressors need"
)]
fn expect(data: &[u8]) -> Option<u64> {
    Some(data.len() as u64)
}

fn decode(data: &[u8], output: &mut Output<'_>) -> Result<()> {
    output.copy(data, 0)
}

fn open(stream: Stream<'_>) -> Box<dyn Decode + '_> {
    Box::new(Source::new(stream))
}

impl<R: Read + Send> Decode for Source<R> {
    fn decode(&mut self, into: &mut [u8]) -> Result<usize> {
        let offset = self.offset();
        self.read(into).map_err(|error| unreadable(error, offset))
    }
}
