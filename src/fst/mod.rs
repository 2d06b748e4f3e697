//! Files of R's package fst: data frames by column and row range, without R.
//!
//! A file is one table: columns of 17 kinds ([`ColumnKind`]), cut into blocks that are packed and
//! compressed one by one. [`open`] reads the headers; [`Reader::read`] reads all of it, some
//! columns, or some rows, and touches only the blocks that hold them. [`blob::decompress`] reads
//! what `compress_fst` made of a raw vector.
//!
//! **Column data carry no checksum.** Headers do, and every length, position, code and order that
//! the layout implies is checked, but a flipped bit in a block of doubles is not found by this or
//! any other reader.
//!
//! # Example
//! ```
//! use tare::fst;
//!
//! // A header that is cut is an error, never a shorter table.
//! let error = fst::open(&[0_u8; 40][..]).err();
//! assert!(error.is_some_and(|error| error.is_truncated()));
//! ```
//!
//! # When not
//! Files of fst before 0.8 are refused; fst 0.8.0 to 0.8.10 re-writes them. Columns that hold
//! lists or complex numbers have no place in the format.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod assemble;
pub mod blob;
mod codec;
mod element;
mod encode;
mod fault;
mod gather;
mod heads;
mod joined;
mod kind;
mod layout;
mod numeric;
mod options;
mod packing;
mod pool;
mod proof;
mod reader;
mod shuffle;
mod source;
mod strings;
mod table;
mod texts;
mod writer;

pub use kind::{ColumnKind, TimeScale};
pub use layout::sniff;
pub use options::{ReadOptions, WriteOptions};
pub use reader::{open, open_with, ColumnInfo, Reader};
pub use table::{Column, Data, Table};
pub use texts::{Offsets, TextEncoding, Texts};
pub use writer::{to_vec, write};
