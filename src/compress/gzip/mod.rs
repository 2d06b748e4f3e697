//! gzip members, as defined in RFC 1952, BGZF among them: written and, where sizes are known,
//! read by libdeflate; by zlib-rs where a member is a stream of any length.

mod decode;
mod encode;
mod header;
mod index;
mod serial;
mod walk;

pub(super) use decode::{decode, expect};
pub(super) use encode::whole;
pub(super) use walk::Members as Walk;

use super::plan::{Needs, Request, Way};
use super::Layout;
use crate::Result;

/// Plain bytes in a BGZF member: what `bgzip` puts there, so that even stored it stays in its
/// 64 KiB.
const BGZF_PLAIN: usize = 65_280;

/// How a request is written.
pub(super) fn way(request: &Request) -> Result<Way> {
    let level = request.level;
    Ok(match request.layout {
        Layout::Single => Way::Stream(Box::new(encode::Single::new(level, request.chunk_size)?)),
        layout => Way::Chunks(Box::new(encode::Members::new(
            level,
            layout,
            request.index,
        )?)),
    })
}

/// What a worker and a slot take.
pub(super) fn needs(request: &Request) -> Needs {
    let members = match request.layout {
        Layout::Seekable => request.chunk_size.div_ceil(BGZF_PLAIN),
        _ => 1,
    };
    let beside = members.saturating_mul(encode::MOST_BESIDE);
    let blocks = request.chunk_size.div_ceil(BGZF_PLAIN).saturating_mul(5);
    let bound = request.chunk_size.saturating_add(beside);
    Needs {
        // Levels from 10 on keep all matches of a block: 8.9 MB in libdeflate 1.26, else 0.7 MB.
        context: if request.level >= 10 {
            10 << 20
        } else {
            1 << 20
        },
        bound: bound.saturating_add(blocks) as u64,
    }
}

/// The size of chunk that comes of the one asked for: BGZF members are never cut short by the
/// end of a chunk, so that chunks change nothing about the bytes.
pub(super) fn chunk_bytes(layout: Layout, asked: usize) -> usize {
    match layout {
        // Two members at least: what fits in one is a plain member, not BGZF.
        Layout::Seekable => asked
            .div_euclid(BGZF_PLAIN)
            .max(2)
            .saturating_mul(BGZF_PLAIN),
        _ => asked,
    }
}
