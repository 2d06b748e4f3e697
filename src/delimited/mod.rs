//! Text with delimiters between its fields, such as CSV.
//!
//! # Overview
//! [`read_columns`] reads what is plain beyond doubt as Arrow columns of the types that all its values have, and leaves
//! the rest to others. [`look_at_fields`] tells of each column of any text what the types of others would not: numbers
//! that are codes, words that stand for missing values. [`whole_rows`] tells where the last whole row of a piece ends, if
//! quotes are where they belong.
//!
//! # Example
//! ```
//! use tare::delimited::{look_at_fields, read_columns, whole_rows, Style};
//!
//! let text = b"zip,n\n01067,NA\n\"80331\",2.5\n";
//! let found = look_at_fields(text, Style::new(b','), &[b"NA"]);
//! assert_eq!((true, false), (found[0].codes, found[1].codes));
//! assert_eq!([(0, 1)], found[1].words[..]);
//!
//! let columns = read_columns(text, b',', &[b"NA"]).expect("it is plain");
//! assert_eq!("Utf8", columns[0].values.data_type().to_string());
//! assert_eq!("Float64", columns[1].values.data_type().to_string());
//! // A row that holds the end of a line, and one that is not closed.
//! assert_eq!(Some((8, true)), whole_rows(b"a\n\"b\nc\"\n\"d\n", b','));
//! ```
//!
//! # When not
//! For text that may be anything: what is not plain is not read here.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod cells;
mod column;
mod fields;
mod values;

pub use column::{read_columns, Column};
pub use fields::{lines_of_rows, look_at_fields, row_end, whole_rows, Fields};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// How fields stand in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Style {
    /// What stands between fields.
    pub delimiter: u8,
    /// Whether a quote that begins a field encloses it.
    pub quotes: bool,
    /// Whether the byte behind a backslash is part of the field, whatever it is.
    pub escapes: bool,
}

impl Style {
    /// Quotes enclose, and nothing is escaped.
    #[must_use]
    pub fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            quotes: true,
            escapes: false,
        }
    }
}

/// A table of which bytes are among some.
fn with(bytes: impl IntoIterator<Item = u8>) -> [bool; 256] {
    let mut table = [false; 256];
    for byte in bytes {
        if let Some(one) = table.get_mut(usize::from(byte)) {
            *one = true;
        }
    }
    table
}

#[inline]
fn has(table: &[bool; 256], byte: u8) -> bool {
    table.get(usize::from(byte)).copied().unwrap_or_default()
}
