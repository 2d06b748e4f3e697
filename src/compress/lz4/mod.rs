//! LZ4 frames, as defined in the LZ4 Frame Format Description 1.6.4: blocks are written by
//! liblz4, or at level 1 by `fast`, and read by the decoder of `lz4_flex`, which has no `unsafe`;
//! frames are our own.

mod decode;
mod encode;
mod fast;
mod header;
mod index;
mod survey;
mod unit;
mod walk;

pub(super) use decode::{decode, expect};
pub(super) use survey::survey;
pub(super) use walk::Frames as Walk;

use super::input::{ends, Input};
use super::plan::{Needs, Request, Way};
use crate::{Error, ErrorKind, Result};

/// High bit of a block's size: stored as it is.
const STORED: u32 = 1 << 31;
/// The bytes of a block's size, of an end mark, and of a checksum.
const WORD_BYTES: usize = 4;
/// No block holds more plain bytes per stored byte.
const BEST_RATIO: usize = 255;

/// How a request is written: chunk by chunk, whatever the layout.
#[allow(
    clippy::unnecessary_wraps,
    reason = "every container has this signature"
)]
pub(super) fn way(request: &Request) -> Result<Way> {
    Ok(Way::Chunks(Box::new(encode::Blocks::new(*request))))
}

/// What a worker and a slot take.
pub(super) fn needs(request: &Request) -> Needs {
    // A block is compressed into a place of its worker's, since its size comes before it.
    let place = request.chunk_size as u64;
    let tables: u64 = if request.level > 1 {
        256 << 10
    } else {
        16 << 10
    };
    Needs {
        context: place.saturating_add(tables),
        bound: place.saturating_add(encode::AROUND_BLOCK as u64),
    }
}

/// The next `N` bytes, gone past.
fn array<const N: usize>(input: &mut dyn Input) -> Result<[u8; N]> {
    let offset = input.offset();
    let ahead = input.ahead(N)?;
    let Some(array) = ahead.first_chunk::<N>().copied() else {
        return Err(ends(offset, ahead.len(), N));
    };
    input.advance(N);
    Ok(array)
}

fn malformed(text: impl Into<String>, at: u64) -> Error {
    Error::new(ErrorKind::Malformed, text).with_offset(at)
}

fn unsupported(text: &str, at: u64) -> Error {
    Error::new(ErrorKind::Unsupported, text).with_offset(at)
}

fn mismatch(text: &str, at: u64) -> Error {
    Error::new(ErrorKind::ChecksumMismatch, text).with_offset(at)
}
