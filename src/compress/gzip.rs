//! gzip, as defined in RFC 1952: written by libdeflate, read by zlib-rs through flate2.

use std::io::{ErrorKind as IoKind, Read};

use flate2::bufread::GzDecoder;
use libdeflater::{CompressionLvl, Compressor as Deflate};

use super::{Compressor, Output};
use crate::{Error, ErrorKind, Result};

pub(super) const COMPRESSOR: Compressor = Compressor {
    name: "gzip",
    levels: Some((0, 12)),
    default_level: Some(6),
    extension: ".gz",
    magic: b"\x1f\x8b\x08", // RFC 1952, 2.3.1: ID1, ID2, CM = 8 (deflate)
    encode,
    decode,
};

/// Decoded bytes taken from the library at once.
const STEP: usize = 64 << 10;

fn encode(data: &[u8], level: i32) -> Result<Vec<u8>> {
    let level = CompressionLvl::new(level)
        .map_err(|_| internal(format!("libdeflate refuses level {level}")))?;
    let mut deflate = Deflate::new(level);
    let mut packed = vec![0; deflate.gzip_compress_bound(data.len())];
    let written = deflate
        .gzip_compress(data, &mut packed)
        .map_err(|error| internal(format!("libdeflate failed: {error}")))?;
    packed.truncate(written);
    Ok(packed)
}

fn decode(data: &[u8], output: &mut Output) -> Result<()> {
    let mut rest = data;
    loop {
        rest = member(rest, data.len(), output)?;
        if rest.is_empty() {
            return Ok(());
        }
        // Tapes and dd pad with zeros; the RFC is silent, gzip itself ignores them.
        if rest.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
    }
}

/// Decodes the member at the start of `rest` and gives what follows it.
fn member<'a>(rest: &'a [u8], whole: usize, output: &mut Output) -> Result<&'a [u8]> {
    let start = offset_of(rest, whole);
    check_magic(rest, start, whole)?;
    let mut decoder = GzDecoder::new(rest);
    loop {
        let before = output.bytes.len();
        // One byte more than allowed is asked for, so that a longer result shows.
        let step = output.room().saturating_add(1).min(STEP as u64);
        output.reserve(STEP, start)?;
        let read = (&mut decoder).take(step).read_to_end(&mut output.bytes);
        let at = offset_of(decoder.get_ref(), whole);
        read.map_err(|error| reading(&error, at, start, whole))?;
        if output.bytes.len() == before {
            break;
        }
        if output.over() {
            return Err(output.exceeded(at));
        }
    }
    Ok(decoder.into_inner())
}

fn check_magic(rest: &[u8], start: u64, whole: usize) -> Result<()> {
    let head = rest.get(..COMPRESSOR.magic.len()).unwrap_or(rest);
    if COMPRESSOR.magic.starts_with(head) {
        if head.len() < COMPRESSOR.magic.len() {
            let text = "the input ends inside the header of a member";
            return Err(Error::new(ErrorKind::Truncated, text).with_offset(whole as u64));
        }
        return Ok(());
    }
    let text = if start == 0 {
        "not a gzip file: it does not start with 1F 8B 08"
    } else {
        "bytes after the last member that are no gzip member"
    };
    Err(Error::new(ErrorKind::Malformed, text).with_offset(start))
}

fn reading(error: &std::io::Error, at: u64, start: u64, whole: usize) -> Error {
    if error.kind() == IoKind::UnexpectedEof {
        let text = format!("the input ends inside the member that starts at byte {start}");
        return Error::new(ErrorKind::Truncated, text).with_offset(whole as u64);
    }
    let text = error.to_string();
    if text.contains("checksum") {
        let text = format!("the checksum of the member that starts at byte {start} does not match");
        return Error::new(ErrorKind::ChecksumMismatch, text).with_offset(at);
    }
    Error::new(ErrorKind::Malformed, text).with_offset(at)
}

fn offset_of(rest: &[u8], whole: usize) -> u64 {
    whole.saturating_sub(rest.len()) as u64
}

fn internal(text: String) -> Error {
    Error::new(ErrorKind::Internal, text).with_format("gzip")
}
