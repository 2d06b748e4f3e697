//! qs2, the format of the R package of that name: R's own serialization in compressed blocks.
//!
//! The container is that of qdata; the plain bytes are a serialization of version 3 in
//! little-endian order, `B\n`.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::io::{Read, Seek, Write};

use super::blocks::{parse_slice, parse_stream, Payload};
use super::pack::{to_file, to_vec, Packer};
use super::plain::Plain;
use super::rds;
use super::{Encoding, RObject, ReadOptions, WriteOptions};
use crate::Result;

/// Reads a qs2 file held in memory; its checksum is verified before anything is parsed.
///
/// # Errors
/// `Truncated` for a file that ends too early, `ChecksumMismatch` for a damaged one, else those of
/// [`rds::parse`].
///
/// # Example
/// ```
/// use tare::robject::{qs2, Body, Builder, ReadOptions, WriteOptions};
///
/// let mut build = Builder::new();
/// let id = build.push(Body::Integer(vec![1, 2]))?;
/// let file = qs2::serialize(&build.finish(id), &WriteOptions::default())?;
/// let back = qs2::parse(&file, &ReadOptions::default())?;
/// assert!(matches!(&back.node().body, Body::Integer(values) if *values == [1, 2]));
/// # Ok::<(), tare::Error>(())
/// ```
pub fn parse(src: &[u8], options: &ReadOptions) -> Result<RObject> {
    parse_slice(src, Payload::Qs2, options, |plain| object(plain, options))
}

/// Reads a qs2 file from a stream, block by block; its checksum is verified at the end.
///
/// # Errors
/// As [`parse`], and `Io` for those of the stream.
pub fn read(src: impl Read, options: &ReadOptions) -> Result<RObject> {
    parse_stream(src, Payload::Qs2, options, |plain| object(plain, options))
}

fn object(plain: &mut Plain<'_>, options: &ReadOptions) -> Result<RObject> {
    rds::read_plain(plain.window(), options)
}

/// Writes a qs2 file into memory.
///
/// `options.compressor` gives the level of zstd, 3 without one. The bytes are the same for any
/// number of threads.
///
/// # Errors
/// `Usage` for another compressor than zstd, else those of [`rds::serialize`].
pub fn serialize(object: &RObject, options: &WriteOptions) -> Result<Vec<u8>> {
    let plain = plain_options(options);
    let (file, _) = to_vec(Payload::Qs2, options, |packer| fill(packer, object, &plain))?;
    Ok(file)
}

/// Writes a qs2 file, block by block; the checksum is put into the header at the end.
///
/// # Errors
/// As [`serialize`], and `Io` for those of the sink.
pub fn serialize_to(
    object: &RObject,
    options: &WriteOptions,
    sink: impl Write + Seek,
) -> Result<()> {
    let plain = plain_options(options);
    let filled = to_file(Payload::Qs2, options, sink, |packer| {
        fill(packer, object, &plain)
    });
    filled.map(drop)
}

fn plain_options(options: &WriteOptions) -> WriteOptions {
    WriteOptions {
        version: Some(3),
        encoding: Some(Encoding::Native),
        ..options.clone()
    }
}

fn fill(packer: &mut Packer<'_, '_>, object: &RObject, plain: &WriteOptions) -> Result<u64> {
    let done = rds::serialize_to(object, plain, &mut *packer);
    // A block that could not be written is the reason, not that bytes were not taken.
    done.map_err(|error| packer.failure().unwrap_or(error))
}
