//! Zstandard frames, as defined in RFC 8878, by libzstd; several of them in parallel.

mod blocks;
mod decode;
mod encode;
mod header;
mod single;
mod spare;
mod walk;

pub(super) use decode::{decode, expect, is_one_frame};
pub(super) use walk::Frames as Walk;

use super::plan::{Needs, Request, Way};
use super::Layout;
use crate::Result;

/// How a request is written.
pub(super) fn way(request: &Request) -> Result<Way> {
    // What is known to fit in a chunk is one plain frame in every layout, without threads.
    let short = |size| size < request.chunk_size as u64;
    if request.layout == Layout::Single && !request.content_size.is_some_and(short) {
        return Ok(Way::Stream(single::stream(request)?));
    }
    Ok(Way::Chunks(Box::new(encode::Frames::new(*request))))
}

/// What a worker and a slot take; contexts as libzstd itself estimates them.
pub(super) fn needs(request: &Request) -> Needs {
    Needs {
        context: context_bytes(request.level),
        bound: zstd_safe::compress_bound(request.chunk_size) as u64,
    }
}

/// Memory of a compression context, from the tables of libzstd 1.5.7 for inputs of a chunk.
fn context_bytes(level: i32) -> u64 {
    match level {
        ..=2 => 2 << 20,
        3..=6 => 4 << 20,
        7..=12 => 12 << 20,
        13..=17 => 24 << 20,
        _ => 48 << 20,
    }
}
