//! Rows of Arrow arrays as text: objects of JSON, or the lines of a CSV.
//!
//! # Overview
//! [`RowText`] is made of the rows of a table, and writes any run of them. All that could keep a row from being
//! written is found when it is made, so that writing does not fail halfway: types without a text here, dates beyond
//! the years 1 to 9999, a map with the same key twice.
//!
//! The text is that of libraries which are widely used, to the byte: [`Json::Compact`] that of Python's orjson,
//! [`Json::Spaced`] that of Python's own `json`, [`Form::Delimited`] that of Arrow's writer of CSV.
//!
//! # Example
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Float64Array, StringArray, StructArray};
//! use arrow_schema::{DataType, Field};
//! use tare::row_text::{Form, Json, RowText};
//!
//! let rows = StructArray::from(vec![
//!     (
//!         Arc::new(Field::new("x", DataType::Float64, true)),
//!         Arc::new(Float64Array::from(vec![Some(0.1), None])) as ArrayRef,
//!     ),
//!     (
//!         Arc::new(Field::new("to", DataType::Utf8, true)),
//!         Arc::new(StringArray::from(vec!["LHR", "\"\u{e9}"])) as ArrayRef,
//!     ),
//! ]);
//! let text = RowText::new(&rows, Form::Lines(Json::Compact))?;
//! assert_eq!(
//!     "{\"x\":0.1,\"to\":\"LHR\"}\n{\"x\":null,\"to\":\"\\\"\u{e9}\"}\n".as_bytes(),
//!     text.write(0, 2)
//! );
//! # Ok::<(), tare::Error>(())
//! ```
//!
//! # When not
//! For types that are not listed at [`RowText::new`]: cast them to text first. `arrow-json` and `arrow-csv` write
//! more types, each in a form of its own.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod column;
mod integers;
mod numbers;
mod texts;
mod times;

use arrow_array::{Array, StructArray};

use crate::{Error, ErrorKind, Result};
use column::Object;

/// The rows that a thread is started for, at least.
const LEAST_ROWS: usize = 2048;

/// The key in a field's metadata of texts that are fields of a CSV without quotes, such as numbers that were cast.
pub const BARE: &str = "tare:bare";

/// What rows become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An object a line, each ended by a line feed.
    Lines(Json),
    /// Objects with what stands between those of an array behind each, behind the last one too.
    Items(Json),
    /// Lines of fields with this byte between them, each ended by a line feed. Texts are in quotes, nulls are not.
    Delimited(u8),
}

/// How JSON is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Json {
    /// Without spaces, as UTF-8; NaN and infinities are null.
    Compact,
    /// With spaces behind commas and colons, as ASCII; NaN and infinities are words.
    Spaced,
    /// As `Spaced`, without the spaces.
    Ascii,
}

impl Json {
    fn comma(self) -> &'static [u8] {
        if self == Self::Spaced {
            b", "
        } else {
            b","
        }
    }

    fn colon(self) -> &'static [u8] {
        if self == Self::Spaced {
            b": "
        } else {
            b":"
        }
    }
}

/// Rows that can be written.
#[derive(Debug)]
pub struct RowText {
    row: Object,
    form: Form,
    rows: usize,
}

impl RowText {
    /// Takes the rows of a table, whose memory is shared.
    ///
    /// Columns may be of type null, boolean, integer, float, text, date (32 bits), time, timestamp without a zone or
    /// in `UTC`, and in JSON lists, structs and maps of such, and dictionaries everywhere. Nanoseconds have no text in
    /// JSON. Maps whose keys are texts are objects, if all maps of the column are such; else lists of pairs.
    ///
    /// The arrays have to be valid, as `ArrayData::validate_full` has it.
    ///
    /// # Errors
    /// `Unsupported`: another type, or a value without a text.
    pub fn new(rows: &StructArray, form: Form) -> Result<Self> {
        Ok(Self {
            row: Object::of_row(rows, form)?,
            form,
            rows: rows.len(),
        })
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The text of the rows from `start` to before `end`, as far as there are such.
    #[must_use]
    pub fn write(&self, start: usize, end: usize) -> Vec<u8> {
        let rows = start..end.min(self.rows);
        // What the first rows took, and a quarter more, for all of them.
        let few = rows.len().min(64);
        let mut out = Vec::new();
        for row in rows.clone().take(few) {
            self.line(&mut out, row);
        }
        let each = out.len().checked_div(few).unwrap_or(0).saturating_add(1);
        let room = each.saturating_mul(rows.len()).saturating_mul(5) / 4;
        out.reserve(room.saturating_sub(out.len()));
        for row in rows.skip(few) {
            self.line(&mut out, row);
        }
        out
    }

    /// As [`RowText::write`], on so many threads: the texts of runs of rows, in their order.
    #[must_use]
    pub fn write_on(&self, threads: usize, start: usize, end: usize) -> Vec<Vec<u8>> {
        let rows = end.min(self.rows).saturating_sub(start);
        let parts = (rows / LEAST_ROWS).min(threads).max(1);
        let each = rows.div_ceil(parts);
        let first = |part: usize| start.saturating_add(part.saturating_mul(each));
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..parts)
                .map(|part| {
                    let run = (first(part), first(part.saturating_add(1)).min(end));
                    (run, scope.spawn(move || self.write(run.0, run.1)))
                })
                .collect();
            let mut texts = vec![self.write(start, first(1).min(end))];
            for ((from, to), other) in others {
                // Where there was no room for a thread's work, it is done here.
                texts.push(other.join().unwrap_or_else(|_| self.write(from, to)));
            }
            texts
        })
    }

    #[inline]
    fn line(&self, out: &mut Vec<u8>, row: usize) {
        match self.form {
            Form::Lines(_) => {
                self.row.push(out, row);
                out.push(b'\n');
            }
            Form::Items(json) => {
                self.row.push(out, row);
                out.extend_from_slice(json.comma());
            }
            Form::Delimited(byte) => {
                self.row.push_fields(out, row, byte);
                out.push(b'\n');
            }
        }
    }
}

/// A type or value that is not written here.
#[cold]
fn unwritten(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{what} has no text here"))
}
