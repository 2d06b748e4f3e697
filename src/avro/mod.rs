//! Blocks of Avro as Arrow columns.
//!
//! # Overview
//! [`read_blocks`] reads the records of uncompressed blocks whose fields are plain, as most tables are: booleans, numbers,
//! text and bytes, each of them alone or in a union with null. The binary encoding is that of
//! <https://avro.apache.org/docs/1.12.0/specification/#binary-encoding>.
//!
//! # Example
//! ```
//! use tare::avro::{read_blocks, Field, Kind};
//!
//! let fields = [Field::new(Kind::Long), Field::new(Kind::Text).nullable(false)];
//! // 1 and "a", 2 and null.
//! let columns = read_blocks(&[(&[2, 0, 2, b'a', 4, 2], 2)], &fields).unwrap_or_default();
//! assert_eq!(2, columns[0].len());
//! assert_eq!((1, "Utf8"), (columns[1].null_count(), &columns[1].data_type().to_string()[..]));
//! ```
//!
//! # When not
//! For records with anything else in them, and to learn what is wrong with a block: nothing is read of it then.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

/// What the values of a field are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// `boolean`.
    Boolean,
    /// `int`: 32 bits.
    Int,
    /// `long`: 64 bits.
    Long,
    /// `float`: 32 bits.
    Float,
    /// `double`: 64 bits.
    Double,
    /// `string`: UTF-8.
    Text,
    /// `bytes`.
    Bytes,
}

/// A field of the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    kind: Kind,
    /// The branch of null in a union of two.
    null: Option<u8>,
}

impl Field {
    /// A field without nulls.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self { kind, null: None }
    }

    /// The field as a union with null, which is its first branch or its second.
    #[must_use]
    pub fn nullable(self, null_first: bool) -> Self {
        Self {
            null: Some(u8::from(!null_first)),
            ..self
        }
    }
}

/// Reads the records of blocks, a column for each field; None if they are not exactly what the blocks hold.
///
/// A column is boolean, int32, int64, float32, float64, utf8 or binary.
///
/// # Arguments
/// - `blocks`: bytes without compression, and how many records they are.
/// - `fields`: the fields of a record, one or more.
#[must_use]
pub fn read_blocks(blocks: &[(&[u8], usize)], fields: &[Field]) -> Option<Vec<ArrayRef>> {
    let mut columns: Vec<Column> = fields.iter().map(|&field| Column::new(field)).collect();
    for &(block, rows) in blocks {
        // Each value takes a byte, so that no count makes more rows than there are bytes.
        if columns.is_empty() || rows > block.len() {
            return None;
        }
        let mut rest = block;
        for _ in 0..rows {
            for column in &mut columns {
                rest = column.take(rest)?;
            }
        }
        if !rest.is_empty() {
            return None;
        }
    }
    columns.into_iter().map(Column::finish).collect()
}

struct Column {
    null: Option<u8>,
    valid: Vec<bool>,
    values: Values,
}

enum Values {
    Boolean(Vec<bool>),
    Int(Vec<i32>),
    Long(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Text(Vec<i32>, Vec<u8>),
    Bytes(Vec<i32>, Vec<u8>),
}

impl Column {
    fn new(field: Field) -> Self {
        let values = match field.kind {
            Kind::Boolean => Values::Boolean(Vec::new()),
            Kind::Int => Values::Int(Vec::new()),
            Kind::Long => Values::Long(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Double => Values::Double(Vec::new()),
            Kind::Text => Values::Text(vec![0], Vec::new()),
            Kind::Bytes => Values::Bytes(vec![0], Vec::new()),
        };
        Self {
            null: field.null,
            valid: Vec::new(),
            values,
        }
    }

    /// Takes one value, and returns what is behind it.
    #[inline]
    fn take<'b>(&mut self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let mut rest = bytes;
        if let Some(null) = self.null {
            let (branch, behind) = bytes.split_first()?;
            // 0 and 1, zigzag.
            if *branch & !2 != 0 {
                return None;
            }
            let is_null = branch >> 1 == null;
            self.valid.push(!is_null);
            if is_null {
                self.values.push_nothing();
                return Some(behind);
            }
            rest = behind;
        }
        self.values.take(rest)
    }

    fn finish(self) -> Option<ArrayRef> {
        let valid = self
            .valid
            .contains(&false)
            .then(|| NullBuffer::from(self.valid));
        Some(match self.values {
            Values::Boolean(values) => Arc::new(BooleanArray::new(values.into(), valid)),
            Values::Int(values) => primitive::<Int32Type>(values, valid)?,
            Values::Long(values) => primitive::<Int64Type>(values, valid)?,
            Values::Float(values) => primitive::<Float32Type>(values, valid)?,
            Values::Double(values) => primitive::<Float64Type>(values, valid)?,
            Values::Text(ends, bytes) => {
                let (ends, bytes) = (OffsetBuffer::new(ends.into()), Buffer::from_vec(bytes));
                Arc::new(StringArray::try_new(ends, bytes, valid).ok()?)
            }
            Values::Bytes(ends, bytes) => {
                let (ends, bytes) = (OffsetBuffer::new(ends.into()), Buffer::from_vec(bytes));
                Arc::new(BinaryArray::try_new(ends, bytes, valid).ok()?)
            }
        })
    }
}

fn primitive<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    valid: Option<NullBuffer>,
) -> Option<ArrayRef> {
    let array = PrimitiveArray::<T>::try_new(ScalarBuffer::from(values), valid);
    Some(Arc::new(array.ok()?))
}

impl Values {
    /// Appends what stands in the place of null.
    #[inline]
    fn push_nothing(&mut self) {
        match self {
            Self::Boolean(values) => values.push(false),
            Self::Int(values) => values.push(0),
            Self::Long(values) => values.push(0),
            Self::Float(values) => values.push(0.0),
            Self::Double(values) => values.push(0.0),
            Self::Text(ends, _) | Self::Bytes(ends, _) => {
                ends.push(ends.last().copied().unwrap_or_default());
            }
        }
    }

    #[inline]
    fn take<'b>(&mut self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        match self {
            Self::Boolean(values) => {
                let (byte, rest) = bytes.split_first()?;
                if *byte > 1 {
                    return None;
                }
                values.push(*byte == 1);
                Some(rest)
            }
            Self::Int(values) => {
                let (value, rest) = long(bytes)?;
                values.push(i32::try_from(value).ok()?);
                Some(rest)
            }
            Self::Long(values) => {
                let (value, rest) = long(bytes)?;
                values.push(value);
                Some(rest)
            }
            Self::Float(values) => {
                let (value, rest) = bytes.split_first_chunk()?;
                values.push(f32::from_le_bytes(*value));
                Some(rest)
            }
            Self::Double(values) => {
                let (value, rest) = bytes.split_first_chunk()?;
                values.push(f64::from_le_bytes(*value));
                Some(rest)
            }
            Self::Text(ends, all) | Self::Bytes(ends, all) => {
                let (len, rest) = long(bytes)?;
                let (value, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
                all.extend_from_slice(value);
                ends.push(i32::try_from(all.len()).ok()?);
                Some(rest)
            }
        }
    }
}

/// A whole number of variable length, zigzag, and what is behind it.
#[inline]
fn long(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (mut number, mut rest) = (0_u64, bytes);
    for shift in (0..64).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        rest = behind;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has the last bit.
        if shift == 63 && *byte > 1 {
            return None;
        }
        number |= bits.wrapping_shl(shift);
        if byte & 0x80 == 0 {
            let sign = (number & 1).wrapping_neg();
            let value = (number >> 1) ^ sign;
            return Some((i64::from_le_bytes(value.to_le_bytes()), rest));
        }
    }
    None
}
