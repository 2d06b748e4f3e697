//! R objects outside R: the lossless tree that R serializes, and the formats that hold it.
//!
//! An [`RObject`] is a shared arena of nodes and the id of one of them. Nothing is evaluated, no
//! name is looked up and no path that a file holds is opened: code, promises and external
//! pointers are kept as they stand and written back. What is read and written again in the same
//! version, encoding and format has the same bytes.

mod account;
mod ahead;
mod altrep;
pub mod arrow;
mod attrs;
mod blocks;
mod builder;
mod canonical;
mod code;
mod columns;
mod double_text;
pub mod dput;
pub mod frame;
mod graft;
mod identical;
mod inspect;
mod kind;
mod lanes;
mod loss;
mod model;
mod options;
mod pack;
mod plain;
mod pool;
pub mod qdata;
pub mod qs;
pub mod qs2;
pub mod rdata;
pub mod rds;
mod read;
mod shuffle;
mod sniff;
mod source;
mod strings;
mod tap;
mod text;
mod texts;
mod walk;
mod write;

pub use altrep::{Deferred, EXPANDED_BYTES};
pub use builder::Builder;
pub use canonical::canonical_bytes;
pub use code::{Bytecode, Code, CodeCell, Constant};
pub use columns::Columns;
pub use double_text::double_text;
pub use graft::Graft;
pub use inspect::{inspect, Branch, Inspection};
pub use kind::{Kind, Special};
pub use loss::{Loss, LossKind, Losses};
pub use model::{
    is_na, Altrep, Arena, Body, Cell, Encoding, Header, Id, Node, RObject, NA_INT, NA_REAL,
};
pub use options::{Format, ReadOptions, WriteOptions};
pub use read::{read, read_rdata, read_told};
pub use sniff::{sniff, sniff_stream, Sniffed};
pub use source::Source;
pub use strings::{Offsets, Strings, Text, TextEncoding};
pub use text::{is_encoding, Decoded, Recoder};
pub use walk::{findings, Finding, FindingKind};
pub use write::{write, write_file, write_rdata, WriteReport};
