//! qdata, the data format of the R package qs2: first the structure, then all data by type.
//!
//! The plain bytes of the blocks (`qs2` has the same container) are, in pre-order, for each value:
//! an attribute count where there are any (`E0|n` for n < 32, `1E` and a byte, `1F` and four), a
//! type byte with the length, the attributes (name and value), and the elements of a list. Behind
//! the structure stand all strings, then complex, doubles, integers with logicals, and raw, each
//! in the order in which the values of that type were finished.
//!
//! Values that are no data (functions, environments, S4 objects, calls) have no form in qdata: its
//! writers put `NULL`.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod read;
mod texts;
mod write;

use std::io::{Read, Seek, Write};

use super::blocks::{parse_slice, parse_stream, Payload};
use super::pack::{to_file, to_vec};
use super::{Losses, RObject, ReadOptions, WriteOptions};
use crate::Result;

/// Reads a qdata file held in memory; its checksum is verified before anything is parsed.
///
/// # Errors
/// `Truncated` for a file that ends too early, `ChecksumMismatch` for a damaged one, `Malformed`
/// and `Unsupported` for what no version 1 of the format holds, `Limit` beyond a limit of `options`.
///
/// # Example
/// ```
/// use tare::robject::{qdata, ReadOptions};
///
/// let error = qdata::parse(b"\x0b\x0e\x0a\xcd\x01", &ReadOptions::default()).unwrap_err();
/// assert!(error.is_truncated());
/// ```
pub fn parse(src: &[u8], options: &ReadOptions) -> Result<RObject> {
    parse_slice(src, Payload::Qdata, options, |plain| {
        read::object(plain, options)
    })
}

/// Reads a qdata file from a stream, block by block; its checksum is verified at the end.
///
/// # Errors
/// As [`parse`], and `Io` for those of the stream.
pub fn read(src: impl Read, options: &ReadOptions) -> Result<RObject> {
    parse_stream(src, Payload::Qdata, options, |plain| {
        read::object(plain, options)
    })
}

/// Writes a qdata file into memory.
///
/// `options.compressor` gives the level of zstd, 3 without one. The bytes are the same for any
/// number of threads. What is no data (functions, environments, calls, S4 objects, deferred
/// vectors of unknown classes) becomes `NULL`; [`write()`] tells where.
///
/// # Errors
/// `Usage` for another compressor than zstd; `Limit` for deferred vectors beyond the memory that
/// making them may take.
///
/// # Example
/// ```
/// use tare::robject::{qdata, Body, Builder, ReadOptions, WriteOptions};
///
/// let mut build = Builder::new();
/// let id = build.push(Body::Double(vec![0.5, 1.5]))?;
/// let file = qdata::serialize(&build.finish(id), &WriteOptions::default())?;
/// let back = qdata::parse(&file, &ReadOptions::default())?;
/// assert!(matches!(&back.node().body, Body::Double(values) if *values == [0.5, 1.5]));
/// # Ok::<(), tare::Error>(())
/// ```
pub fn serialize(object: &RObject, options: &WriteOptions) -> Result<Vec<u8>> {
    write(object, options, &mut Losses::new(false))
}

/// As [`serialize`], with a report of what qdata cannot hold.
///
/// # Errors
/// As [`serialize`], and `Unsupported` for the first loss of a strict report.
///
/// # Example
/// ```
/// use tare::robject::{qdata, Body, Builder, Losses, Special, WriteOptions};
///
/// let mut build = Builder::new();
/// let list = build.push(Body::List(vec![Special::GlobalEnv.id()]))?;
/// let mut losses = Losses::new(false);
/// qdata::write(&build.finish(list), &WriteOptions::default(), &mut losses)?;
/// assert_eq!("[[1]]: code_opaque: environment, kept NULL", losses.list()[0].to_string());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn write(object: &RObject, options: &WriteOptions, losses: &mut Losses) -> Result<Vec<u8>> {
    let (file, ()) = to_vec(Payload::Qdata, options, |packer| {
        write::object(packer, object, losses)
    })?;
    Ok(file)
}

/// Writes a qdata file, block by block; the checksum is put into the header at the end.
///
/// # Errors
/// As [`write()`], and `Io` for those of the sink.
pub fn serialize_to(
    object: &RObject,
    options: &WriteOptions,
    losses: &mut Losses,
    sink: impl Write + Seek,
) -> Result<()> {
    to_file(Payload::Qdata, options, sink, |packer| {
        write::object(packer, object, losses)
    })
}
