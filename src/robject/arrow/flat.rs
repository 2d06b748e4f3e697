//! Vectors of numbers, logicals and factors as Arrow arrays.

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array,
    PrimitiveArray, StructArray, UInt8Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};

use super::super::loss::LossKind;
use super::super::model::{is_na, Body, Id, NA_INT};
use super::lent;
use super::to::{Column, To};
use crate::{Error, ErrorKind, Result};

impl To<'_> {
    /// A vector of logicals: bits.
    pub(super) fn logicals(&mut self, values: &[i32]) -> Result<Column> {
        let odd = values
            .iter()
            .filter(|&&v| !matches!(v, 0 | 1 | NA_INT))
            .count();
        self.losses.add(
            LossKind::IdentityLost,
            "logical that is neither 0 nor 1",
            "TRUE",
            odd as u64,
        )?;
        let nulls = lent::present_integers(values);
        let bits = BooleanBuffer::collect_bool(values.len(), |at| {
            values
                .get(at)
                .is_some_and(|&value| value != 0 && value != NA_INT)
        });
        Ok(Column::new(BooleanArray::new(bits, nulls)))
    }

    /// Integers, lent.
    pub(super) fn integers(&self, id: Id, values: &[i32]) -> Column {
        let nulls = lent::present_integers(values);
        Column::new(Int32Array::new(lent::values(self.arena, id), nulls))
    }

    /// Doubles, lent: NA is missing, NaN is NaN.
    pub(super) fn doubles(&mut self, id: Id, values: &[f64]) -> Result<Column> {
        let mut nulls = lent::present_doubles(values);
        if self.options.nan {
            let count = nulls.as_ref().map_or(0, NullBuffer::null_count);
            self.losses
                .add(LossKind::NaToNan, "NA", "NaN", count as u64)?;
            nulls = None;
        }
        Ok(Column::new(Float64Array::new(
            lent::values(self.arena, id),
            nulls,
        )))
    }

    /// Bytes, lent.
    pub(super) fn raw(&self, id: Id) -> Column {
        Column::new(UInt8Array::new(lent::values(self.arena, id), None)).of("raw")
    }

    /// 64-bit integers in the bits of doubles, lent; the smallest is NA.
    pub(super) fn integers64(&self, id: Id, values: &[f64]) -> Int64Array {
        let nulls = lent::present(values, |value| value.to_bits() == 1 << 63);
        Int64Array::new(lent::values(self.arena, id), nulls)
    }

    /// Pairs of doubles: a part that is NA is missing, and a row where both are, as in R's `NA_complex_`.
    pub(super) fn complex(&mut self, values: &[[f64; 2]]) -> Result<Column> {
        let nulls = lent::present(values, |[re, im]| is_na(re) && is_na(im));
        let part = |at: usize| -> ArrayRef {
            let part: Vec<f64> = values
                .iter()
                .filter_map(|pair| pair.get(at).copied())
                .collect();
            let nulls = lent::present_doubles(&part);
            Arc::new(PrimitiveArray::<Float64Type>::new(part.into(), nulls))
        };
        let field = |name| Field::new(name, DataType::Float64, true);
        let fields = Fields::from(vec![field("re"), field("im")]);
        let array = StructArray::try_new(fields, vec![part(0), part(1)], nulls);
        if !self.options.metadata {
            let (r, kept) = ("complex", "a struct of re and im");
            let count = values.len() as u64;
            self.losses.add(LossKind::TypeChanged, r, kept, count)?;
        }
        Ok(Column::new(array.map_err(|error| refused(&error))?).of("complex"))
    }

    /// Codes and levels as a dictionary; a level that is NA is a missing value there.
    pub(super) fn factor(&mut self, id: Id, body: &Body) -> Result<Column> {
        let (arena, level_id) = (self.arena, self.arena.attribute(id, "levels"));
        let levels = level_id.and_then(|id| arena.strings_of(id));
        let (Some(level_id), Some(strings)) = (level_id, levels) else {
            return Err(self.cannot("a factor whose levels are no text"));
        };
        self.losses.enter_attribute("levels");
        let texts = self.texts(level_id, strings);
        self.losses.leave();
        let mut levels = texts?.array;
        let mut places: Option<Vec<i32>> = None;
        if strings.validity().is_some() {
            let (without, moved) = without_missing(&levels)?;
            (levels, places) = (without, Some(moved));
        }
        let codes: Vec<i32> = match body {
            Body::Integer(codes) => codes.clone(),
            Body::Double(codes) => codes.iter().map(|&code| whole(code)).collect(),
            _ => return Err(self.cannot("a factor whose codes are no numbers")),
        };
        let (array, wrong, missing) = coded(&codes, strings.len(), places.as_deref());
        self.losses
            .add(LossKind::ValueDropped, "code without a level", "NA", wrong)?;
        // A level that no value has is gone too.
        let missing = missing.max(u64::from(places.is_some()));
        self.losses
            .add(LossKind::IdentityLost, "level NA", "NA", missing)?;
        let array = DictionaryArray::<Int32Type>::try_new(array, levels);
        let array = array.map_err(|error| refused(&error))?;
        let mut column = Column::new(array);
        column.ordered = self.arena.inherits(id, "ordered");
        if matches!(body, Body::Double(_)) {
            column = column.of("factor=double");
        }
        Ok(column)
    }
}

/// Codes from 0 on; how many have no level, and how many that of NA.
fn coded(codes: &[i32], levels: usize, places: Option<&[i32]>) -> (Int32Array, u64, u64) {
    let (mut wrong, mut missing) = (0_u64, 0_u64);
    let moved: Vec<i32> = codes
        .iter()
        .map(|&code| {
            let at = usize::try_from(i64::from(code) - 1)
                .ok()
                .filter(|&at| at < levels);
            match (at, places) {
                (None, _) => {
                    wrong = wrong.saturating_add(u64::from(code != NA_INT));
                    NA_INT
                }
                (Some(at), Some(places)) => {
                    let place = places.get(at).copied().unwrap_or(NA_INT);
                    missing = missing.saturating_add(u64::from(place == NA_INT));
                    place
                }
                (Some(_), None) => code.wrapping_sub(1),
            }
        })
        .collect();
    let nulls = lent::present_integers(&moved);
    (
        Int32Array::new(ScalarBuffer::from(moved), nulls),
        wrong,
        missing,
    )
}

/// The levels that are not NA, and where each went.
fn without_missing(levels: &ArrayRef) -> Result<(ArrayRef, Vec<i32>)> {
    use arrow_data::transform::MutableArrayData;
    let data = levels.to_data();
    let mut kept = MutableArrayData::new(vec![&data], false, levels.len());
    let mut places = Vec::with_capacity(levels.len());
    let mut next = 0_i32;
    for at in 0..levels.len() {
        if levels.is_null(at) {
            places.push(NA_INT);
            continue;
        }
        let step = kept.try_extend(0, at, at.saturating_add(1));
        step.map_err(|error| refused(&error))?;
        places.push(next);
        next = next.saturating_add(1);
    }
    Ok((arrow_array::make_array(kept.freeze()), places))
}

fn whole(code: f64) -> i32 {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "what is cut is found by the way back"
    )]
    let cut = code as i32;
    #[allow(clippy::float_cmp, reason = "whole or not")]
    let same = f64::from(cut) == code;
    match (same, is_na(code)) {
        (true, _) => cut,
        (false, true) => NA_INT,
        (false, false) => 0, // a code that no level has
    }
}

/// What Arrow refused, which no vector of an arena leads to.
pub fn refused(error: &arrow_schema::ArrowError) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("Arrow refuses the array: {error}"),
    )
}
