//! Integers of every width, as cells and as the keys of dictionaries.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int16Type, Int32Type, Int64Type, Int8Type, UInt16Type, UInt32Type, UInt64Type, UInt8Type,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_schema::DataType;

/// An array of integers.
#[derive(Debug)]
pub(super) enum Integers {
    Int8(PrimitiveArray<Int8Type>),
    Int16(PrimitiveArray<Int16Type>),
    Int32(PrimitiveArray<Int32Type>),
    Int64(PrimitiveArray<Int64Type>),
    Uint8(PrimitiveArray<UInt8Type>),
    Uint16(PrimitiveArray<UInt16Type>),
    Uint32(PrimitiveArray<UInt32Type>),
    Uint64(PrimitiveArray<UInt64Type>),
}

impl Integers {
    /// The array, if it is one of integers.
    pub(super) fn of(array: &dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Int8 => Self::Int8(array.as_primitive().clone()),
            DataType::Int16 => Self::Int16(array.as_primitive().clone()),
            DataType::Int32 => Self::Int32(array.as_primitive().clone()),
            DataType::Int64 => Self::Int64(array.as_primitive().clone()),
            DataType::UInt8 => Self::Uint8(array.as_primitive().clone()),
            DataType::UInt16 => Self::Uint16(array.as_primitive().clone()),
            DataType::UInt32 => Self::Uint32(array.as_primitive().clone()),
            DataType::UInt64 => Self::Uint64(array.as_primitive().clone()),
            _ => return None,
        })
    }

    /// Appends the digits of a value.
    #[inline]
    pub(super) fn push(&self, out: &mut Vec<u8>, row: usize) {
        match self {
            Self::Int8(array) => push_int(out, array.value(row).into()),
            Self::Int16(array) => push_int(out, array.value(row).into()),
            Self::Int32(array) => push_int(out, array.value(row).into()),
            Self::Int64(array) => push_int(out, array.value(row)),
            Self::Uint8(array) => push_int(out, array.value(row).into()),
            Self::Uint16(array) => push_int(out, array.value(row).into()),
            Self::Uint32(array) => push_int(out, array.value(row).into()),
            Self::Uint64(array) => {
                let mut digits = itoa::Buffer::new();
                out.extend_from_slice(digits.format(array.value(row)).as_bytes());
            }
        }
    }

    /// A value as a place in an array; a negative one is none.
    #[inline]
    pub(super) fn place(&self, row: usize) -> usize {
        let signed = |value: i64| usize::try_from(value).unwrap_or(usize::MAX);
        match self {
            Self::Int8(array) => signed(array.value(row).into()),
            Self::Int16(array) => signed(array.value(row).into()),
            Self::Int32(array) => signed(array.value(row).into()),
            Self::Int64(array) => signed(array.value(row)),
            Self::Uint8(array) => array.value(row).into(),
            Self::Uint16(array) => array.value(row).into(),
            Self::Uint32(array) => signed(array.value(row).into()),
            Self::Uint64(array) => usize::try_from(array.value(row)).unwrap_or(usize::MAX),
        }
    }
}

/// Appends the digits of an integer.
#[inline]
pub(super) fn push_int(out: &mut Vec<u8>, value: i64) {
    if let digit @ 0..=9 = value {
        return out.push(b'0' | digit.to_le_bytes()[0]);
    }
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(digits.format(value).as_bytes());
}
