//! A column that values are appended to, by its type.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, NullArray};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder};
use arrow_schema::{DataType, Field, Fields};

use super::found::{apart, Found, Kind};
use super::nested::{List, Object};
use super::numbers::{number_type, Floats, Ints, Uints};
use super::texts::Texts;
use super::{Change, ChangeKind, Types, MOST_LEVELS};
use crate::blit::{cut, wrong};
use crate::{Error, ErrorKind, Result};

/// What a column is made of.
#[derive(Debug)]
pub(super) enum Column {
    /// So many nulls.
    Null(usize),
    Bool(Bools),
    Int(Ints),
    Uint(Uints),
    Float(Floats),
    Text(Texts),
    List(Box<List>),
    Object(Box<Object>),
}

#[derive(Debug)]
pub(super) struct Bools {
    values: BooleanBufferBuilder,
    valid: NullBufferBuilder,
}

impl Column {
    /// An empty column `level` fields deep.
    ///
    /// # Errors
    /// `Unsupported`.
    pub(super) fn new(kind: &DataType, level: usize) -> Result<Self> {
        if level > MOST_LEVELS {
            let text = format!("fields in more than {MOST_LEVELS} levels");
            return Err(Error::new(ErrorKind::Unsupported, text).with_format("ndjson"));
        }
        Ok(match kind {
            DataType::Null => Self::Null(0),
            DataType::Boolean => Self::Bool(Bools {
                values: BooleanBufferBuilder::new(0),
                valid: NullBufferBuilder::new(0),
            }),
            DataType::Int64 => Self::Int(Ints::new()),
            DataType::UInt64 => Self::Uint(Uints::new()),
            DataType::Float64 => Self::Float(Floats::new()),
            DataType::Utf8 => Self::Text(Texts::new()),
            DataType::List(field) => Self::List(Box::new(List::new(field, level)?)),
            DataType::Struct(fields) => Self::Object(Box::new(Object::new(fields, level)?)),
            other => {
                let text = format!("columns of type {other} are not read from lines of JSON");
                return Err(Error::new(ErrorKind::Unsupported, text).with_format("ndjson"));
            }
        })
    }

    /// Takes the value at a place; gives where the text goes on.
    ///
    /// # Errors
    /// `Malformed` or `Truncated` with the byte offset in `text`.
    #[inline]
    pub(super) fn take(&mut self, text: &[u8], at: usize, types: Types<'_>) -> Result<usize> {
        let first = text.get(at).copied();
        if first == Some(b'n') {
            let end = word(text, at, b"null")?;
            self.push_null(types)?;
            return Ok(end);
        }
        match (&mut *self, first) {
            (Self::Int(column), Some(b'-' | b'0'..=b'9')) => match column.take(text, at) {
                Err(_) if types.are_found() => self.widen(text, at, types),
                taken => taken,
            },
            (Self::Float(column), Some(b'-' | b'0'..=b'9')) => column.take(text, at),
            (Self::Text(column), Some(b'"')) => column.take(text, at.wrapping_add(1)),
            (Self::Bool(column), Some(b't' | b'f')) => column.take(text, at),
            (Self::Uint(column), Some(b'-' | b'0'..=b'9')) => column.take(text, at),
            (Self::List(column), Some(b'[')) => column.take(text, at.wrapping_add(1), types),
            (Self::Object(column), Some(b'{')) => column.take(text, at.wrapping_add(1), types),
            (Self::Null(_), Some(_)) if types.are_found() => self.widen(text, at, types),
            (column, _) => Err(column.misfit(text, at)),
        }
    }

    /// Takes a value that the type of the column is not for: one of no values is any, and whole numbers are doubles or
    /// of 64 bits without a sign.
    #[inline(never)]
    fn widen(&mut self, text: &[u8], at: usize, types: Types<'_>) -> Result<usize> {
        let kind = match text.get(at) {
            Some(b'"') => DataType::Utf8,
            Some(b't' | b'f') => DataType::Boolean,
            Some(b'[') => DataType::List(Field::new("item", DataType::Null, true).into()),
            Some(b'{') => DataType::Struct(Fields::empty()),
            Some(b'-' | b'0'..=b'9') => number_type(text, at)?,
            _ => return Err(self.misfit(text, at)),
        };
        let wider = match (&mut *self, &kind) {
            (Self::Null(nulls), _) => {
                let mut wider = Self::new(&kind, types.level())?;
                for _ in 0..*nulls {
                    wider.push_null(types)?;
                }
                Some(wider)
            }
            (Self::Int(column), DataType::Float64) => column.as_floats().map(Self::Float),
            (Self::Int(column), DataType::UInt64) => column.as_uints().map(Self::Uint),
            _ => None,
        };
        let Some(wider) = wider else {
            return Err(self.misfit(text, at));
        };
        *self = wider;
        // Of the type of this very value, it is not widened again.
        self.take(text, at, types)
    }

    /// What the values of an array that came of this column were, since the last time; `present` of them had its name.
    ///
    /// # Errors
    /// `Malformed`: a whole number beyond 2^53 among doubles.
    pub(super) fn found(&mut self, array: &ArrayRef, present: u64) -> Result<Found> {
        let mut whole = 0;
        let mut values = array.len().saturating_sub(array.null_count()) as u64;
        let kind = match self {
            Self::Null(_) => {
                values = 0;
                Kind::Null
            }
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) => Kind::of_ints(array),
            Self::Uint(_) => Kind::Uint,
            Self::Float(column) => {
                whole = std::mem::take(&mut column.whole);
                if std::mem::take(&mut column.beyond) {
                    return Err(apart("a whole number beyond 2^53 among doubles"));
                }
                Kind::Float
            }
            Self::Text(_) => Kind::Text,
            Self::List(column) => Kind::List(Box::new(column.found(array)?)),
            Self::Object(column) => Kind::Object(column.found(array.as_struct())?),
        };
        Ok(Found {
            present,
            values,
            whole,
            kind,
        })
    }

    /// Appends a null.
    ///
    /// # Errors
    /// `Limit`.
    pub(super) fn push_null(&mut self, types: Types<'_>) -> Result<()> {
        match self {
            Self::Null(n) => *n = n.saturating_add(1),
            Self::Bool(column) => {
                column.values.append(false);
                column.valid.append_null();
            }
            Self::Int(column) => column.push_null(),
            Self::Uint(column) => column.push_null(),
            Self::Float(column) => column.push_null(),
            Self::Text(column) => column.push_null()?,
            Self::List(column) => column.push_null()?,
            Self::Object(column) => column.push_null(types)?,
        }
        Ok(())
    }

    /// What was not as this column has it, by its path.
    pub(super) fn changes(&self, of: &str, path: &str, found: &mut Vec<Change>) {
        match self {
            Self::Float(column) if column.whole > 0 => found.push(Change {
                column: of.to_owned(),
                path: path.to_owned(),
                kind: ChangeKind::Whole,
                count: column.whole,
            }),
            Self::List(column) => column.changes(of, path, found),
            Self::Object(column) => column.changes(Some((of, path)), found),
            _ => {}
        }
    }

    /// The array of all values; the column is empty then.
    ///
    /// # Errors
    /// `Internal`.
    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        Ok(match self {
            Self::Null(n) => Arc::new(NullArray::new(std::mem::take(n))),
            Self::Bool(column) => {
                let valid = column.valid.finish();
                Arc::new(BooleanArray::new(column.values.finish(), valid))
            }
            Self::Int(column) => column.finish()?,
            Self::Uint(column) => column.finish()?,
            Self::Float(column) => column.finish()?,
            Self::Text(column) => column.finish()?,
            Self::List(column) => column.finish()?,
            Self::Object(column) => Arc::new(column.finish()?),
        })
    }

    /// What is wrong with a value that this column does not take.
    #[cold]
    fn misfit(&self, text: &[u8], at: usize) -> Error {
        match text.get(at) {
            None => return cut(at),
            Some(b'"' | b'-' | b'0'..=b'9' | b'{' | b'[' | b't' | b'f') => {}
            Some(_) => return wrong("a value is missing", at),
        }
        let kind = match self {
            Self::Null(_) => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) => "int64",
            Self::Uint(_) => "uint64",
            Self::Float(_) => "double",
            Self::Text(_) => "text",
            Self::List(_) => "list",
            Self::Object(_) => "object",
        };
        let rest = text.get(at..).unwrap_or_default();
        let end = rest
            .iter()
            .position(|byte| matches!(byte, b',' | b'}' | b']'));
        misfit(
            rest.get(..end.unwrap_or(rest.len())).unwrap_or_default(),
            kind,
            at,
        )
    }
}

/// A value that is not of the type of its column.
#[cold]
pub(super) fn misfit(value: &[u8], kind: &str, at: usize) -> Error {
    let value = String::from_utf8_lossy(value);
    let short: String = value.chars().take(60).collect();
    wrong(&format!("{short} is no {kind}"), at)
}

impl Bools {
    #[inline]
    fn take(&mut self, text: &[u8], at: usize) -> Result<usize> {
        let value = text.get(at) == Some(&b't');
        let end = word(text, at, if value { b"true" } else { b"false" })?;
        self.values.append(value);
        self.valid.append_non_null();
        Ok(end)
    }
}

/// Where a word that must stand here ends.
#[inline]
fn word(text: &[u8], at: usize, word: &[u8]) -> Result<usize> {
    let rest = text.get(at..).unwrap_or_default();
    if rest.starts_with(word) {
        return Ok(at.wrapping_add(word.len()));
    }
    Err(if word.starts_with(rest) {
        cut(text.len())
    } else {
        wrong("a value is missing", at)
    })
}
