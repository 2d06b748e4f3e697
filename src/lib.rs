//! The core of Tare: data formats and compressors, written and read without loss.
//!
//! # Overview
//! [`compress`] turns streams of any length into standard `.zst`, `.lz4` and `.gz` files and
//! back, chunk by chunk on all cores, in bounded memory, with random access by plain offset;
//! `.bz2` and `.xz` go through their libraries. The ids are `zstd:3`, `lz4`, `gzip:6`, `none`.
//! [`blit`] is a document format that is read without being parsed: a field in nanoseconds, a file
//! smaller than `MessagePack` or BSON, every number and string exact.
//! [`store`] keeps objects under keys by the hash of their content, in memory, folders and on servers.
//! [`ndjson`] reads lines of JSON as Arrow columns whose types are known, and rounds nothing; [`row_text`] writes
//! rows of Arrow arrays as JSON and CSV; [`delimited`] tells what stands in the fields of a CSV; [`avro`] reads plain
//! records of Avro as Arrow columns.
//! [`message`] sends whole values over any stream of bytes; [`Error`] is what every fallible function of the crate returns.
//!
//! # Example
//! ```
//! use tare::compress::{compress, decompress, Compressor, ReadOptions, WriteOptions};
//!
//! let plain = b"weighed, and found wanting".repeat(100);
//! let stored = compress(&plain, &Compressor::parse("zstd:3")?, &WriteOptions::default())?;
//! assert!(stored.len() < plain.len() / 10);
//! assert_eq!(plain, decompress(&stored, &ReadOptions::default())?);
//! # Ok::<(), tare::Error>(())
//! ```
//!
//! # Why use this
//! One strict behaviour over several libraries: what is cut, damaged or followed by other
//! bytes is an error with its byte offset, several frames or members are read whole, and no
//! claim inside the data decides how much memory is taken.
//!
//! # When not
//! To compress one buffer in one container without those guarantees, use the container's own
//! crate. The crate does no printing and knows neither Python nor R; the only state it keeps
//! between calls is, of each thread, a libzstd context of each kind for short buffers and what the
//! writer of a short document filled, at most 1 MiB each.
//!
//! # Features
//! `store-object`, `store-redis` and `store-postgres` add drivers of [`store`]. No feature changes the
//! bytes written.

pub mod avro;
pub mod blit;
pub mod compress;
pub mod delimited;
mod error;
pub mod fst;
pub mod message;
pub mod ndjson;
pub mod robject;
pub mod row_text;
pub mod store;
pub mod testing;

pub use error::{Error, ErrorKind, Result};
