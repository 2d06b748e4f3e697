//! Collections: many documents in one file that share their names and shapes.
//!
//! A `.blits` file is a header and any number of commits; each of these is chunks of some hundred
//! kilobytes of documents, the names and shapes of all of them, and an index. Commits are never
//! changed: what is appended comes behind, and a crash loses no more than what was not committed.
//!
//! [`Collection`] reads, from as many threads as one likes; [`Writer`] writes, one at a time.
//!
//! # Example
//! ```
//! use tare::blit::collection::{Collection, ReadOptions, WriteOptions};
//! use tare::blit::Value;
//!
//! let folder = std::env::temp_dir().join(format!("tare-doc-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let path = folder.join("flights.blits");
//! let mut writer = Collection::create(&path, &WriteOptions::default())?;
//! writer.push_json(br#"{"id": 1, "from": "JFK"}"#)?;
//! writer.push_json(br#"{"id": 2, "from": "LGA"}"#)?;
//! writer.commit()?;
//!
//! let collection = Collection::open(&path, &ReadOptions::default())?;
//! assert_eq!(2, collection.len());
//! let document = collection.get(1)?;
//! let view = document.view();
//! assert!(matches!(view.pointer("/from")?, Some(Value::Str(from)) if from == "LGA"));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "a test stops at once"
    )
)]

mod account;
mod chunks;
mod commits;
mod copy;
mod docs;
mod field;
mod files;
mod layout;
mod lines;
mod map;
mod out;
mod reader;
mod repair;
mod source;
mod writer;

pub use account::Account;
pub use docs::{Docs, Document};
pub use field::Field;
pub use reader::{Collection, ReadOptions};
pub use repair::{compact, repair, Repaired};
pub use writer::{WriteOptions, Writer};

use crate::{Error, ErrorKind};

/// An error of a collection that cannot be, at byte `at` of its file; `rule` is a number of the
/// specification.
#[cold]
fn wrong(kind: ErrorKind, rule: &'static str, text: &str, at: u64) -> Error {
    Error::new(kind, format!("{text} (rule {rule})"))
        .with_format("blit")
        .with_offset(at)
}

#[cold]
fn io_error(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
        .with_format("blit")
        .with_source(error)
}

/// An error in a part of a file, at its place in the file.
#[cold]
fn shifted(error: Error, part: u64) -> Error {
    let at = error.offset().unwrap_or(0).saturating_add(part);
    error.with_offset(at)
}
