//! Lines of JSON as Arrow columns.
//!
//! # Overview
//! A [`Reader`] is made for the fields of a table, and turns blocks of whole lines into a
//! `StructArray` each; a [`Finder`] finds the fields in the lines, on several threads. A line is an
//! object; a name that it has not is null; blank lines are left out.
//! Values go from the text straight into the columns: no tree, no tape.
//!
//! Nothing is changed without a word. A name without a column, a name that stands twice, a value of
//! another type, a whole number that its column of doubles cannot hold, a decimal beyond all doubles,
//! half of a surrogate pair: each is an error with the byte offset in the block. What the types of the
//! columns do to values that fit, [`Reader::changes`] counts: missing names that are null, and whole
//! numbers that are doubles of the same value.
//!
//! # Example
//! ```
//! use arrow_array::{cast::AsArray, types::Int64Type, Array};
//! use arrow_schema::{DataType, Field, Fields};
//! use tare::ndjson::Reader;
//!
//! let fields = Fields::from(vec![
//!     Field::new("id", DataType::Int64, true),
//!     Field::new("to", DataType::Utf8, true),
//! ]);
//! let mut reader = Reader::new(&fields)?;
//! let rows = reader.read(b"{\"id\": 1, \"to\": \"LHR\"}\n{\"id\": 2}\n")?;
//! assert_eq!(&[1, 2], &rows.column(0).as_primitive::<Int64Type>().values()[..]);
//! assert!(rows.column(1).is_null(1));
//! # Ok::<(), tare::Error>(())
//! ```
//!
//! # When not
//! Where values of one name differ in type: [`crate::blit::from_ndjson`] keeps every line as it is. `arrow-json` reads more types, and takes texts for numbers.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod array;
mod column;
mod elements;
mod finder;
mod found;
mod nested;
mod numbers;
mod structure;
mod texts;
mod widen;

use std::cell::Cell;

use arrow_array::StructArray;
use arrow_schema::Fields;

use crate::blit::wrong;
use crate::{Error, ErrorKind, Result};
pub use elements::{elements, ArrayLines};
pub use finder::Finder;
use found::Names;
use nested::Object;
pub use structure::{Counts, Structure};

/// Fields inside each other, at most.
const MOST_LEVELS: usize = 64;

/// Whole numbers up to here are doubles, all of them.
const EXACT: u64 = 1 << 53;

/// Nulls of names that objects have not, where lines tell the names: so many in any text, and so many a byte of a long one.
const MOST_FILLED: usize = 1 << 24;
const FILLED_A_BYTE: usize = 8;

/// Whether the types of columns are found in the lines; at what level a column is then, and how many more nulls may be
/// where objects lack names.
#[derive(Debug, Clone, Copy)]
enum Types<'a> {
    Known,
    Found { level: usize, room: &'a Cell<usize> },
}

impl Types<'_> {
    #[inline]
    fn are_found(self) -> bool {
        !matches!(self, Self::Known)
    }

    /// Counts nulls that no byte of the text stands for.
    ///
    /// # Errors
    /// `Limit`.
    #[inline]
    fn fill(self, nulls: usize) -> Result<()> {
        if let Self::Found { room, .. } = self {
            let left = room.get().checked_sub(nulls);
            room.set(left.ok_or_else(|| many("names that most objects have not"))?);
        }
        Ok(())
    }

    /// Those of what is in values of a column.
    #[inline]
    fn within(self) -> Self {
        match self {
            Self::Known => Self::Known,
            Self::Found { level, room } => Self::Found {
                level: level.wrapping_add(1),
                room,
            },
        }
    }

    fn level(self) -> usize {
        match self {
            Self::Known => 0,
            Self::Found { level, .. } => level,
        }
    }
}

/// Nulls of names that objects have not, at most, in a text of so many bytes.
fn most_filled(bytes: usize) -> usize {
    bytes.saturating_mul(FILLED_A_BYTE).max(MOST_FILLED)
}

/// What the columns made of values of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The column of the table.
    pub column: String,
    /// Names with dots between; `[]` is what is in a list: `legs[].to`.
    pub path: String,
    /// What became of them.
    pub kind: ChangeKind,
    /// How many.
    pub count: u64,
}

/// What became of values that a column has no own form for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// A name that an object has not is null.
    Missing,
    /// A whole number is a double.
    Whole,
}

/// Reads blocks of lines into arrays of one type.
#[derive(Debug)]
pub struct Reader {
    row: Object,
    finds: bool,
    /// How many more nulls a block may have where objects lack names, if names are found.
    room: Cell<usize>,
}

impl Reader {
    /// A reader for the fields of a table.
    ///
    /// They may be of type null, boolean, int64, uint64, float64, utf8, and lists and structs of such.
    ///
    /// # Errors
    /// `Unsupported`: a field of another type, or more than 64 levels of fields.
    pub fn new(fields: &Fields) -> Result<Self> {
        let row = Object::new(fields, 0)?;
        Ok(Self {
            row,
            finds: false,
            room: Cell::new(0),
        })
    }

    /// A reader whose columns are these and those that lines have beside them.
    fn finding(fields: &Fields) -> Result<Self> {
        Ok(Self {
            finds: true,
            ..Self::new(fields)?
        })
    }

    /// The rows of whole lines, and what their values were.
    fn read_found(&mut self, lines: &[u8]) -> Result<(StructArray, Names)> {
        let rows = self.read(lines)?;
        let names = self.row.found(&rows)?;
        Ok((rows, names))
    }

    /// The rows of whole lines; the last one need not end in a line feed.
    ///
    /// Memory is that of the arrays. After an error the reader holds no rows of the block.
    ///
    /// # Errors
    /// `Malformed` or `Truncated` with the byte offset in `lines`: no JSON, or no row of the table.
    /// `Limit`: 2 GiB of text, or 2^31 values of lists, in a column.
    pub fn read(&mut self, lines: &[u8]) -> Result<StructArray> {
        match self.take(lines) {
            Ok(()) => self.row.finish(),
            Err(error) => {
                // What the rows before it left is not to come with those of another block.
                self.row = Object::new(&self.row.fields(), 0)?;
                Err(error)
            }
        }
    }

    /// What was not as the columns have it, in all blocks since the reader was made or failed.
    ///
    /// ```
    /// use arrow_schema::{DataType, Field, Fields};
    /// use tare::ndjson::{ChangeKind, Reader};
    ///
    /// let fields = Fields::from(vec![
    ///     Field::new("id", DataType::Int64, true),
    ///     Field::new("v", DataType::Float64, true),
    /// ]);
    /// let mut reader = Reader::new(&fields)?;
    /// reader.read(b"{\"id\": 1}\n{\"id\": 2, \"v\": 3}\n")?;
    /// let found: Vec<_> = reader.changes().into_iter().map(|c| (c.path, c.kind, c.count)).collect();
    /// assert_eq!(
    ///     vec![("v".into(), ChangeKind::Missing, 1), ("v".into(), ChangeKind::Whole, 1)],
    ///     found,
    /// );
    /// # Ok::<(), tare::Error>(())
    /// ```
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let mut found = Vec::new();
        self.row.changes(None, &mut found);
        found
    }

    /// Takes an object, behind its brace; gives where the text goes on.
    #[inline]
    fn object(&mut self, text: &[u8], at: usize) -> Result<usize> {
        let types = if self.finds {
            Types::Found {
                level: 0,
                room: &self.room,
            }
        } else {
            Types::Known
        };
        self.row.take(text, at, types)
    }

    fn take(&mut self, lines: &[u8]) -> Result<()> {
        self.room.set(most_filled(lines.len()));
        let mut rest = lines;
        while !rest.is_empty() {
            let start = lines.len().wrapping_sub(rest.len());
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (line, later) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            rest = later.get(1..).unwrap_or_default();
            self.line(line).map_err(|error| placed(error, start))?;
        }
        Ok(())
    }

    #[inline]
    fn line(&mut self, line: &[u8]) -> Result<()> {
        let at = space(line, 0);
        match line.get(at) {
            None => return Ok(()),
            Some(b'{') => {}
            Some(_) => return Err(wrong("no object, so no row of a table", at)),
        }
        let end = self.object(line, at.wrapping_add(1))?;
        let end = space(line, end);
        if end < line.len() {
            return Err(wrong("something after the object", end));
        }
        Ok(())
    }
}

/// The error of a line, in the block.
#[cold]
fn placed(error: Error, start: usize) -> Error {
    let offset = error.offset().unwrap_or(0).saturating_add(start as u64);
    error.with_format("ndjson").with_offset(offset)
}

/// Where the white space at a place ends.
#[inline]
fn space(text: &[u8], at: usize) -> usize {
    let mut at = at;
    while let Some(b' ' | b'\t' | b'\r' | b'\n') = text.get(at) {
        at = at.wrapping_add(1);
    }
    at
}

#[cold]
fn many(what: &str) -> Error {
    let text = format!("too many {what}");
    Error::new(ErrorKind::Limit, text).with_format("ndjson")
}

/// What Arrow says of arrays that do not fit together: a fault of this module.
#[cold]
fn internal(error: &arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Internal, error.to_string()).with_format("ndjson")
}
