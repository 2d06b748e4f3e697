//! Files of the R package qs, version 1: read, never written.
//!
//! | Part | Layout |
//! |---|---|
//! | header | `0B 0E 0A 0C` and four zero bytes (absent in the oldest files); version; 1 for a hash; compressor in the high half of a byte, shuffled types in the low one; byte order, 0 for little; 8 bytes: the number of blocks, or of plain bytes for compressors 3 and 4 |
//! | compressor | 0 zstd, 1 lz4, 2 lz4hc: blocks of a size in 4 bytes and the data, 512 KiB of plain bytes at most; 3 one zstd stream; 4 none |
//! | tail | XXH32 with seed 12345 of the plain bytes, where there is a hash |
//!
//! The type bytes are those of qdata, but data stand behind their header, and attributes behind
//! the data. What qs has no form for is an R serialization inside the file.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod container;
mod head;
mod open;
mod read;
mod vectors;

use std::io::Read;

use super::plain::Plain;
use super::{RObject, ReadOptions};
use crate::Result;

/// Reads a qs file, or what `qserialize` made, held in memory.
///
/// # Errors
/// `Truncated` for a file that ends too early, `ChecksumMismatch` for a damaged one, `Malformed`
/// and `Unsupported` for what no version of the format holds, `Limit` beyond a limit of `options`.
///
/// # Example
/// ```
/// use tare::robject::{qs, Body, ReadOptions};
///
/// // c(TRUE, NA) by qsave(preset = "uncompressed") without a hash.
/// let file = b"\x0b\x0e\x0a\x0c\0\0\0\0\x03\x00\x40\x00\x09\0\0\0\0\0\0\0\x82\x01\0\0\0\0\0\0\x80";
/// let object = qs::parse(file, &ReadOptions::default())?;
/// assert!(matches!(&object.node().body, Body::Logical(values) if *values == [1, i32::MIN]));
/// # Ok::<(), tare::Error>(())
/// ```
pub fn parse(src: &[u8], options: &ReadOptions) -> Result<RObject> {
    object(src, Some(src.len() as u64), options)
}

/// Reads a qs file from a stream, block by block.
///
/// # Errors
/// As [`parse`], and `Io` for those of the stream.
pub fn read(src: impl Read, options: &ReadOptions) -> Result<RObject> {
    object(src, None, options)
}

fn object(src: impl Read, size: Option<u64>, options: &ReadOptions) -> Result<RObject> {
    let (blocks, shuffles) = container::Blocks::new(src, size, options)?;
    let mut plain = Plain::new(blocks, "qs");
    read::object(&mut plain, shuffles, options)
}
