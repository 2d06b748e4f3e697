//! The core of Tare: data formats and compressors, written and read without loss.
//!
//! # Overview
//! [`compress`] holds the compressors behind the ids `zstd:3`, `lz4`, `gzip:6` and `none`;
//! [`message`] has the relay that emulates a link; [`Error`] is what every fallible function of the crate returns.
//!
//! # Example
//! ```
//! let plain = b"weighed, and found wanting".repeat(100);
//! let zstd = tare::compress::by_name("zstd")?;
//! let packed = zstd.compress(&plain, None)?;
//! assert!(packed.len() < plain.len() / 10);
//! assert_eq!(plain, zstd.decompress(&packed, None)?);
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
//! crate. The crate does no printing, holds no globals and knows neither Python nor R.
//!
//! # Features
//! None yet. No feature will ever change the bytes written.

pub mod compress;
mod error;
pub mod message;

pub use error::{Error, ErrorKind, Result};
