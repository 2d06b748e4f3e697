//! Dates, times and lengths of time as Arrow arrays, in the unit that loses nothing.

use arrow_array::types::{
    Date32Type, DurationMicrosecondType, DurationNanosecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{Float64Array, PrimitiveArray};
use arrow_buffer::{NullBuffer, ScalarBuffer};

use super::super::loss::LossKind;
use super::super::model::{is_na, Body, Id, NA_INT};
use super::extra::{self, Meaning};
use super::lent;
use super::to::{Column, To};
use crate::Result;

/// Counts of a unit made from seconds, and what they did not hold.
pub(super) struct Counted {
    pub values: Vec<i64>,
    pub nulls: Option<NullBuffer>,
    /// Whether they are ns, not us.
    pub nanos: bool,
    /// Values that the unit cuts.
    cut: u64,
    /// Values that are infinite or beyond 64 bits.
    beyond: u64,
}

impl To<'_> {
    /// Days since 1970: integers where all are whole.
    pub(super) fn date(&mut self, id: Id, body: &Body) -> Result<Column> {
        match body {
            Body::Integer(values) => {
                let nulls = lent::present_integers(values);
                let days = lent::values(self.arena, id);
                Ok(Column::new(PrimitiveArray::<Date32Type>::new(days, nulls)).of("Date=integer"))
            }
            Body::Double(values) => {
                let Some(days) = whole_days(values) else {
                    let nulls = lent::present_doubles(values);
                    let array = Float64Array::new(lent::values(self.arena, id), nulls);
                    let (r, kept) = ("Date with parts of days", "double, days since 1970");
                    let kind = if self.kept {
                        LossKind::TypeChanged
                    } else {
                        LossKind::ClassDropped
                    };
                    self.losses.add(kind, r, kept, 1)?;
                    return Ok(Column::new(array).of("Date"));
                };
                let nan = values.iter().filter(|v| v.is_nan() && !is_na(**v)).count();
                self.losses
                    .add(LossKind::NanPayload, "NaN", "NA", nan as u64)?;
                let nulls = lent::present_integers(&days);
                let days = ScalarBuffer::from(days);
                Ok(Column::new(PrimitiveArray::<Date32Type>::new(days, nulls)))
            }
            _ => Err(self.cannot("a Date that is no number")),
        }
    }

    /// Seconds since 1970 as a timestamp with a zone; without one it is UTC, as the values are.
    pub(super) fn time(&mut self, id: Id, body: &Body) -> Result<Column> {
        let (counted, integer) = self.counted(body, 1.0)?;
        let zone = extra::zone(self.arena, id).unwrap_or("UTC").to_string();
        let (values, nulls) = (ScalarBuffer::from(counted.values), counted.nulls);
        let column = if counted.nanos {
            let array = PrimitiveArray::<TimestampNanosecondType>::new(values, nulls);
            Column::new(array.with_timezone(zone))
        } else {
            let array = PrimitiveArray::<TimestampMicrosecondType>::new(values, nulls);
            Column::new(array.with_timezone(zone))
        };
        let has_zone = self.arena.attribute(id, "tzone").is_some();
        Ok(match (integer, has_zone) {
            (false, true) => column,
            (true, true) => column.of("POSIXct=integer"),
            (false, false) => column.of("POSIXct,local"),
            (true, false) => column.of("POSIXct=integer,local"),
        })
    }

    /// A length of time; a time of day where all are within one.
    pub(super) fn duration(&mut self, id: Id, body: &Body, meaning: Meaning) -> Result<Column> {
        let units = self
            .object
            .at(id)
            .attribute_texts("units")
            .unwrap_or_default();
        let units = units
            .into_iter()
            .next()
            .flatten()
            .unwrap_or_else(|| "secs".to_string());
        let Some(seconds) = unit_seconds(&units) else {
            return Err(self.cannot(&format!("a length of time in `{units}`")));
        };
        let (counted, integer) = self.counted(body, seconds)?;
        let kept = self.kept && self.elements.is_none();
        if units != "secs" && !kept {
            let count = counted.values.len().max(1) as u64;
            self.losses
                .add(LossKind::UnitsChanged, &units, "us", count)?;
        }
        let day = if counted.nanos {
            86_400_000_000_000
        } else {
            86_400_000_000
        };
        let nulls = counted.nulls.as_ref();
        let of_day = meaning == Meaning::Hms
            && (0..).zip(&counted.values).all(|(at, value): (usize, _)| {
                (0..day).contains(value) || nulls.is_some_and(|nulls| nulls.is_null(at))
            });
        let (values, nulls) = (ScalarBuffer::from(counted.values), counted.nulls);
        let column = match (of_day, counted.nanos) {
            (true, true) => Column::new(PrimitiveArray::<Time64NanosecondType>::new(values, nulls)),
            (true, false) => {
                Column::new(PrimitiveArray::<Time64MicrosecondType>::new(values, nulls))
            }
            (false, true) => {
                Column::new(PrimitiveArray::<DurationNanosecondType>::new(values, nulls))
            }
            (false, false) => Column::new(PrimitiveArray::<DurationMicrosecondType>::new(
                values, nulls,
            )),
        };
        let name = if meaning == Meaning::Hms {
            "hms"
        } else {
            "difftime"
        };
        let storage = if integer { "=integer" } else { "" };
        // A time of day is an hms in seconds, and a length of time a difftime, without a note.
        let told = of_day || meaning == Meaning::Duration;
        if told && !integer && units == "secs" {
            return Ok(column);
        }
        Ok(column.of(&format!("{name}{storage},{units}")))
    }

    /// Nanoseconds since 1970 in the bits of doubles, lent.
    pub(super) fn nanotime(&self, id: Id, values: &[f64]) -> Column {
        let (_, counts, nulls) = self.integers64(id, values).into_parts();
        let array = PrimitiveArray::<TimestampNanosecondType>::new(counts, nulls);
        Column::new(array.with_timezone("UTC")).of("nanotime")
    }

    /// Counts of us or ns, and whether R has integers; what they lose is reported.
    fn counted(&mut self, body: &Body, seconds: f64) -> Result<(Counted, bool)> {
        match body {
            Body::Integer(values) => {
                let doubles: Vec<f64> = values
                    .iter()
                    .map(|&value| match value {
                        NA_INT => f64::from_bits(super::super::NA_REAL),
                        value => f64::from(value),
                    })
                    .collect();
                Ok((self.report(count(&doubles, seconds))?, true))
            }
            Body::Double(values) => Ok((self.report(count(values, seconds))?, false)),
            _ => Err(self.cannot("a time that is no number")),
        }
    }

    fn report(&mut self, counted: Counted) -> Result<Counted> {
        let unit = if counted.nanos { "ns" } else { "us" };
        self.losses
            .add(LossKind::Precision, "parts of a second", unit, counted.cut)?;
        let (r, kept) = ("infinite or beyond 64 bits", "NA");
        self.losses
            .add(LossKind::ValueDropped, r, kept, counted.beyond)?;
        Ok(counted)
    }
}

/// Seconds in a unit of `difftime`.
pub(in super::super) fn unit_seconds(units: &str) -> Option<f64> {
    Some(match units {
        "secs" => 1.0,
        "mins" => 60.0,
        "hours" => 3600.0,
        "days" => 86_400.0,
        "weeks" => 604_800.0,
        _ => return None,
    })
}

/// Whole days, NA for what is none; None where a day has a part or is beyond 32 bits.
fn whole_days(values: &[f64]) -> Option<Vec<i32>> {
    let mut days = Vec::with_capacity(values.len());
    let mut whole = true;
    for &value in values {
        #[allow(clippy::cast_possible_truncation, reason = "found by the way back")]
        let day = value as i32;
        #[allow(clippy::float_cmp, reason = "whole or not")]
        let same = f64::from(day) == value && day != NA_INT;
        whole &= same | value.is_nan();
        days.push(if value.is_nan() { NA_INT } else { day });
    }
    whole.then_some(days)
}

/// Seconds, or units of so many, as us; as ns where us would lose a value that ns keeps.
pub(super) fn count(values: &[f64], seconds: f64) -> Counted {
    let micros = counted(values, seconds, 1e6, false);
    if micros.cut == 0 {
        return micros;
    }
    let nanos = counted(values, seconds, 1e9, true);
    let lost = |counted: &Counted| counted.cut.saturating_add(counted.beyond);
    if nanos.beyond == micros.beyond && lost(&nanos) < lost(&micros) {
        nanos
    } else {
        micros
    }
}

fn counted(values: &[f64], seconds: f64, unit: f64, nanos: bool) -> Counted {
    let (mut cut, mut beyond) = (0_u64, 0_u64);
    let mut counts = Vec::with_capacity(values.len());
    for &value in values {
        let count = forth(value, seconds, unit);
        beyond = beyond.saturating_add(u64::from(count.is_none() && !value.is_nan()));
        #[allow(clippy::float_cmp, reason = "the way back")]
        let same = count.is_none_or(|count| back(count, seconds, unit) == value);
        cut = cut.saturating_add(u64::from(!same));
        counts.push(count.unwrap_or(i64::MIN));
    }
    let nulls = lent::present(&counts, |value| value == i64::MIN);
    Counted {
        values: counts,
        nulls,
        nanos,
        cut,
        beyond,
    }
}

/// A time in units of so many seconds as a count of parts of a second; None beyond 64 bits.
///
/// Whole seconds and the rest apart: together they have more digits than a double.
pub(super) fn forth(value: f64, seconds: f64, unit: f64) -> Option<i64> {
    let value = value * seconds;
    let whole = value.trunc();
    // 2^63: nothing at or beyond it is a count.
    if value.is_nan() || whole.abs() >= 9_223_372_036_854_775_808.0 {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, reason = "whole and below 2^63")]
    let (whole, rest, unit) = (
        whole as i64,
        ((value - whole) * unit).round_ties_even() as i64,
        unit as i64,
    );
    let count = whole.checked_mul(unit)?.checked_add(rest)?;
    (count != i64::MIN).then_some(count)
}

/// A count of parts of a second in units of so many seconds.
pub(super) fn back(count: i64, seconds: f64, unit: f64) -> f64 {
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "what is lost is found by the caller"
    )]
    let value = if count.unsigned_abs() < 1 << 53 {
        count as f64 / unit
    } else {
        let parts = unit as i64;
        let whole = count.checked_div(parts).unwrap_or(count);
        let rest = count.checked_rem(parts).unwrap_or(0);
        whole as f64 + rest as f64 / unit
    };
    value / seconds
}
