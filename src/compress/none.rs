//! No compression: the bytes themselves.

use super::{Compressor, Output};
use crate::Result;

pub(super) const COMPRESSOR: Compressor = Compressor {
    name: "none",
    levels: None,
    default_level: None,
    extension: "",
    magic: b"",
    encode,
    decode,
};

#[allow(
    clippy::unnecessary_wraps,
    reason = "the registry's signature, which other compressors need"
)]
fn encode(data: &[u8], _level: i32) -> Result<Vec<u8>> {
    Ok(data.to_vec())
}

fn decode(data: &[u8], output: &mut Output) -> Result<()> {
    output.check(data.len() as u64, 0)?;
    output.reserve(data.len(), 0)?;
    output.bytes.extend_from_slice(data);
    Ok(())
}
