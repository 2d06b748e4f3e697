//! Columns of numbers: each value is what the text says, or an error.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_buffer::{NullBufferBuilder, ScalarBuffer};
use arrow_schema::DataType;

use super::column::misfit;
use super::{internal, EXACT};
use crate::blit::{cut, number_token, number_value, quick_number, wrong, NumberKind};
use crate::Result;

/// Values and which of them are null.
#[derive(Debug)]
pub(super) struct Numbers<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    valid: NullBufferBuilder,
    /// How many whole numbers became doubles.
    pub(super) whole: u64,
    /// Whether one of those is beyond 2^53.
    pub(super) beyond: bool,
}

pub(super) type Ints = Numbers<Int64Type>;
pub(super) type Uints = Numbers<UInt64Type>;
pub(super) type Floats = Numbers<Float64Type>;

impl<T: ArrowPrimitiveType> Numbers<T> {
    pub(super) fn new() -> Self {
        Self {
            values: Vec::new(),
            valid: NullBufferBuilder::new(0),
            whole: 0,
            beyond: false,
        }
    }

    #[inline]
    fn push(&mut self, value: T::Native) {
        self.values.push(value);
        self.valid.append_non_null();
    }

    #[inline]
    pub(super) fn push_null(&mut self) {
        self.values.push(T::Native::default());
        self.valid.append_null();
    }

    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        // The next block has about as many rows.
        let room = Vec::with_capacity(self.values.len());
        let values = ScalarBuffer::from(std::mem::replace(&mut self.values, room));
        let array = PrimitiveArray::<T>::try_new(values, self.valid.finish());
        Ok(Arc::new(array.map_err(|error| internal(&error))?))
    }
}

impl Ints {
    /// The values as doubles, all of them whole numbers; None if one has none of its value.
    pub(super) fn as_floats(&mut self) -> Option<Floats> {
        if self.values.iter().any(|value| value.unsigned_abs() > EXACT) {
            return None;
        }
        #[allow(clippy::cast_precision_loss, reason = "at most 2^53")]
        let values = self.values.iter().map(|&value| value as f64).collect();
        let (valid, whole) = self.validity();
        Some(Floats {
            values,
            valid,
            whole,
            beyond: false,
        })
    }

    /// The values without a sign; None if one has one.
    pub(super) fn as_uints(&mut self) -> Option<Uints> {
        let values = self.values.iter().map(|&value| u64::try_from(value).ok());
        let values = values.collect::<Option<_>>()?;
        Some(Uints {
            values,
            valid: self.validity().0,
            whole: 0,
            beyond: false,
        })
    }

    /// Which values are null, for another column; and how many are not.
    fn validity(&mut self) -> (NullBufferBuilder, u64) {
        let n = self.values.len();
        let mut valid = NullBufferBuilder::new(n);
        let Some(nulls) = self.valid.finish() else {
            valid.append_n_non_nulls(n);
            return (valid, n as u64);
        };
        valid.append_buffer(&nulls);
        (valid, n.saturating_sub(nulls.null_count()) as u64)
    }

    #[inline]
    pub(super) fn take(&mut self, text: &[u8], at: usize) -> Result<usize> {
        let rest = text.get(at..).unwrap_or_default();
        if let Some((node, len)) = quick_number(rest) {
            if node.kind == NumberKind::Int {
                self.push(node.as_int());
                return Ok(at.wrapping_add(len));
            }
        }
        let (token, end, is_integer) = token(text, at)?;
        let value = match number_value(token, is_integer) {
            Some(node) if node.kind == NumberKind::Int => node.as_int(),
            _ if token == b"-0" => 0,
            _ => return Err(misfit(token, "int64", at)),
        };
        self.push(value);
        Ok(end)
    }
}

impl Uints {
    #[inline]
    pub(super) fn take(&mut self, text: &[u8], at: usize) -> Result<usize> {
        let (token, end, is_integer) = token(text, at)?;
        let value = match number_value(token, is_integer) {
            Some(node) if node.kind == NumberKind::Int => u64::try_from(node.as_int()).ok(),
            Some(node) if node.kind == NumberKind::Uint => Some(node.bits),
            _ => (token == b"-0").then_some(0),
        };
        self.push(value.ok_or_else(|| misfit(token, "uint64", at))?);
        Ok(end)
    }
}

impl Floats {
    #[inline]
    pub(super) fn take(&mut self, text: &[u8], at: usize) -> Result<usize> {
        let rest = text.get(at..).unwrap_or_default();
        if let Some((node, len)) = quick_number(rest) {
            let end = at.wrapping_add(len);
            if node.kind == NumberKind::Float {
                self.push(node.as_float());
                return Ok(end);
            }
            let value = node.as_int();
            if value.unsigned_abs() <= EXACT {
                self.whole = self.whole.wrapping_add(1);
                #[allow(clippy::cast_precision_loss, reason = "at most 2^53")]
                self.push(value as f64);
                return Ok(end);
            }
        }
        self.any(text, at)
    }

    /// Long numbers, exponents, `-0`, and whole numbers that may be no doubles.
    #[inline(never)]
    fn any(&mut self, text: &[u8], at: usize) -> Result<usize> {
        let (token, end, is_integer) = token(text, at)?;
        let value: Option<f64> = std::str::from_utf8(token).ok().and_then(|t| t.parse().ok());
        let value = value.filter(|value| value.is_finite());
        // A double written out in full has every digit of it.
        let value = value.filter(|value| !is_integer || format!("{value:.0}").as_bytes() == token);
        let value = value.ok_or_else(|| misfit(token, "double", at))?;
        // A whole number has no zero below zero, as in a column of whole numbers.
        self.push(if is_integer { value + 0.0 } else { value });
        self.whole = self.whole.wrapping_add(u64::from(is_integer));
        #[allow(clippy::cast_precision_loss, reason = "2^53 is a double")]
        let beyond = is_integer && value.abs() > EXACT as f64;
        self.beyond |= beyond;
        Ok(end)
    }
}

/// The type of the number at a place.
///
/// # Errors
/// `Malformed` or `Truncated`: no number, or a whole one of more than 64 bits.
pub(super) fn number_type(text: &[u8], at: usize) -> Result<DataType> {
    let (token, _, is_integer) = token(text, at)?;
    if !is_integer {
        return Ok(DataType::Float64);
    }
    match number_value(token, is_integer) {
        Some(node) if node.kind == NumberKind::Uint => Ok(DataType::UInt64),
        Some(node) if node.kind == NumberKind::Int => Ok(DataType::Int64),
        _ if token == b"-0" => Ok(DataType::Int64),
        _ => Err(misfit(token, "number of 64 bits", at)),
    }
}

/// The number at a place, where it ends, and whether it is whole.
fn token(text: &[u8], at: usize) -> Result<(&[u8], usize, bool)> {
    let rest = text.get(at..).unwrap_or_default();
    let Some(token) = number_token(rest) else {
        let part = rest
            .iter()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        return Err(if part.count() == rest.len() {
            cut(text.len())
        } else {
            wrong("no number that JSON has", at)
        });
    };
    let found = rest.get(..token.len).unwrap_or_default();
    Ok((found, at.wrapping_add(token.len), token.is_integer))
}
