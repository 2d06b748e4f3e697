//! Arrow's wide numbers, times and decimals as R's vectors.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Int32Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

use super::super::loss::LossKind;
use super::super::model::{Body, NA_INT};
use super::from::{gather, na, From, Int64, Made};
use super::keyed::{Key, Notes};
use super::times::{back, forth, unit_seconds};
use crate::Result;

/// What R's integer64 has for NA.
const NA_INT64: i64 = i64::MIN;
/// What stands for an integer of more than 63 bits.
pub(super) const BEYOND: i64 = i64::MAX;

impl From<'_> {
    /// 32-bit integers without sign, and 64-bit ones.
    pub(super) fn long(
        &mut self,
        data_type: &DataType,
        chunks: &[ArrayRef],
        notes: &Notes,
        key: &Key,
    ) -> Result<Made> {
        let values = whole_numbers(data_type, chunks);
        let width = key.width();
        if *data_type == DataType::UInt64 {
            let huge = width.map_or_else(|| values.contains(&BEYOND), |width| width.huge);
            if huge {
                return self.huge(chunks);
            }
        }
        if *data_type == DataType::Int64 {
            let missing: usize = chunks.iter().map(arrow_array::Array::null_count).sum();
            let smallest = values.iter().filter(|&&value| value == NA_INT64).count();
            let count = smallest.saturating_sub(missing) as u64;
            self.losses
                .add(LossKind::ValueDropped, "-9223372036854775808", "NA", count)?;
        }
        let asked = self.options.int64;
        let is_64 = notes.kind == "integer64" || asked == Int64::Integer64;
        if is_64 && asked != Int64::Double && *data_type != DataType::UInt32 {
            return self.integer64(&values);
        }
        if asked != Int64::Double && width.is_none_or(|width| !width.wide) {
            if let Some(integers) = narrowed(&values) {
                let r = data_type.to_string();
                self.losses.add(LossKind::TypeChanged, &r, "integer", 1)?;
                return self.vector(Body::Integer(integers));
            }
        }
        if *data_type == DataType::UInt32 || asked == Int64::Double {
            return self.as_doubles(data_type, &values);
        }
        self.integer64(&values)
    }

    fn as_doubles(&mut self, data_type: &DataType, values: &[i64]) -> Result<Made> {
        let mut cut = 0_u64;
        let doubles = values
            .iter()
            .map(|&value| {
                if value == NA_INT64 {
                    return na();
                }
                #[allow(clippy::cast_precision_loss, reason = "counted")]
                let double = value as f64;
                #[allow(clippy::cast_possible_truncation, reason = "the way back")]
                let same = double as i128 == i128::from(value);
                cut = cut.saturating_add(u64::from(!same));
                double
            })
            .collect();
        let r = data_type.to_string();
        self.losses.add(LossKind::Precision, &r, "double", cut)?;
        self.losses.add(LossKind::TypeChanged, &r, "double", 1)?;
        self.vector(Body::Double(doubles))
    }

    /// Integers beyond 63 bits.
    fn huge(&mut self, chunks: &[ArrayRef]) -> Result<Made> {
        #[allow(clippy::cast_precision_loss, reason = "counted below")]
        let doubles = gather::<UInt64Type, _>(chunks, na(), |value| value as f64);
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "the way back"
        )]
        #[allow(clippy::cast_possible_truncation, reason = "the way back")]
        let cut =
            gather::<UInt64Type, _>(chunks, false, |value| value as f64 as u128 != value.into());
        let cut = cut.into_iter().filter(|cut| *cut).count();
        self.losses
            .add(LossKind::Precision, "UInt64", "double", cut as u64)?;
        self.vector(Body::Double(doubles))
    }

    /// 64-bit integers in the bits of doubles.
    fn integer64(&mut self, values: &[i64]) -> Result<Made> {
        let made = self.bits(values)?;
        self.classed(made, &["integer64"])
    }

    fn bits(&mut self, values: &[i64]) -> Result<Made> {
        let bits = values
            .iter()
            .map(|value| f64::from_le_bytes(value.to_le_bytes()));
        self.vector(Body::Double(bits.collect()))
    }

    pub(super) fn decimals(&mut self, data_type: &DataType, chunks: &[ArrayRef]) -> Result<Made> {
        use arrow_array::types::{Decimal128Type, Decimal256Type, Decimal32Type, Decimal64Type};
        let mut doubles = Vec::new();
        let mut cut = 0_u64;
        for chunk in chunks {
            for row in 0..chunk.len() {
                let text = match data_type {
                    _ if chunk.is_null(row) => None,
                    DataType::Decimal32(..) => {
                        Some(chunk.as_primitive::<Decimal32Type>().value_as_string(row))
                    }
                    DataType::Decimal64(..) => {
                        Some(chunk.as_primitive::<Decimal64Type>().value_as_string(row))
                    }
                    DataType::Decimal128(..) => {
                        Some(chunk.as_primitive::<Decimal128Type>().value_as_string(row))
                    }
                    _ => Some(chunk.as_primitive::<Decimal256Type>().value_as_string(row)),
                };
                let value = text
                    .as_deref()
                    .map(|text| (text, text.parse().unwrap_or(f64::NAN)));
                let kept = value.is_none_or(|(text, value)| same_digits(text, value));
                cut = cut.saturating_add(u64::from(!kept));
                doubles.push(value.map_or_else(na, |(_, value)| value));
            }
        }
        let r = data_type.to_string();
        self.losses.add(LossKind::Precision, &r, "double", cut)?;
        self.losses.add(LossKind::TypeChanged, &r, "double", 1)?;
        self.vector(Body::Double(doubles))
    }

    /// Dates, times and lengths of time.
    pub(super) fn times(
        &mut self,
        data_type: &DataType,
        chunks: &[ArrayRef],
        notes: &Notes,
    ) -> Result<Made> {
        match data_type {
            DataType::Date32 if notes.storage == "integer" => {
                let days = gather::<Date32Type, _>(chunks, NA_INT, |day| day);
                let made = self.vector(Body::Integer(days))?;
                self.classed(made, &["Date"])
            }
            DataType::Date32 => {
                let days = gather::<Date32Type, _>(chunks, na(), f64::from);
                let made = self.vector(Body::Double(days))?;
                self.classed(made, &["Date"])
            }
            DataType::Date64 => {
                let counts = gather::<Date64Type, _>(chunks, NA_INT64, |ms| ms);
                self.losses
                    .add(LossKind::TypeChanged, "date64", "Date", 1)?;
                let days = self.counted_back(&counts, 86_400.0, 1e3)?;
                let made = self.vector(Body::Double(days))?;
                self.classed(made, &["Date"])
            }
            DataType::Timestamp(unit, zone) => {
                let counts = match unit {
                    TimeUnit::Second => stamps::<TimestampSecondType>(chunks),
                    TimeUnit::Millisecond => stamps::<TimestampMillisecondType>(chunks),
                    TimeUnit::Microsecond => stamps::<TimestampMicrosecondType>(chunks),
                    TimeUnit::Nanosecond => stamps::<TimestampNanosecondType>(chunks),
                };
                if notes.kind == "nanotime" {
                    return self.bits(&counts);
                }
                let made = self.seconds(&counts, 1.0, per_second(*unit), notes)?;
                self.zoned(made, zone.as_deref(), notes)
            }
            DataType::Time32(TimeUnit::Second) => {
                let counts = gather::<Time32SecondType, _>(chunks, NA_INT64, i64::from);
                self.time_of_day(&counts, 1.0, notes)
            }
            DataType::Time32(_) => {
                let counts = gather::<Time32MillisecondType, _>(chunks, NA_INT64, i64::from);
                self.time_of_day(&counts, 1e3, notes)
            }
            DataType::Time64(TimeUnit::Nanosecond) => {
                let counts = gather::<Time64NanosecondType, _>(chunks, NA_INT64, |ns| ns);
                self.time_of_day(&counts, 1e9, notes)
            }
            DataType::Time64(_) => {
                let counts = gather::<Time64MicrosecondType, _>(chunks, NA_INT64, |us| us);
                self.time_of_day(&counts, 1e6, notes)
            }
            DataType::Duration(unit) => {
                let counts = match unit {
                    TimeUnit::Second => gather::<DurationSecondType, _>(chunks, NA_INT64, |n| n),
                    TimeUnit::Millisecond => {
                        gather::<DurationMillisecondType, _>(chunks, NA_INT64, |n| n)
                    }
                    TimeUnit::Microsecond => {
                        gather::<DurationMicrosecondType, _>(chunks, NA_INT64, |n| n)
                    }
                    TimeUnit::Nanosecond => {
                        gather::<DurationNanosecondType, _>(chunks, NA_INT64, |n| n)
                    }
                };
                self.difftime(&counts, per_second(*unit), notes)
            }
            other => Err(self.cannot(&other.to_string())),
        }
    }

    fn time_of_day(&mut self, counts: &[i64], unit: f64, notes: &Notes) -> Result<Made> {
        let made = self.seconds(counts, 1.0, unit, notes)?;
        let made = self.classed(made, &["hms", "difftime"])?;
        self.with_units(made, "secs")
    }

    fn difftime(&mut self, counts: &[i64], unit: f64, notes: &Notes) -> Result<Made> {
        let unit_said = unit_seconds(&notes.rest).map(|seconds| (notes.rest.clone(), seconds));
        let (units, seconds) = unit_said.unwrap_or_else(|| ("secs".to_string(), 1.0));
        let made = self.seconds(counts, seconds, unit, notes)?;
        let class: &[&'static str] = match notes.kind.as_str() {
            "hms" => &["hms", "difftime"],
            _ => &["difftime"],
        };
        let made = self.classed(made, class)?;
        self.with_units(made, &units)
    }

    fn with_units(&mut self, made: Made, units: &str) -> Result<Made> {
        let mut made = made;
        let units = self.build.strings([units])?;
        made.attributes.push((Cow::Borrowed("units"), units));
        Ok(made)
    }

    fn zoned(&mut self, made: Made, zone: Option<&str>, notes: &Notes) -> Result<Made> {
        let mut made = self.classed(made, &["POSIXct", "POSIXt"])?;
        if notes.rest == "local" {
            return Ok(made);
        }
        if zone.is_none() {
            let kept = "the same time in UTC";
            self.losses
                .add(LossKind::TypeChanged, "timestamp without zone", kept, 1)?;
        }
        let zone = self.build.strings([zone.unwrap_or("UTC")])?;
        made.attributes.push((Cow::Borrowed("tzone"), zone));
        Ok(made)
    }

    /// Counts as doubles, or integers where they came from such.
    fn seconds(&mut self, counts: &[i64], seconds: f64, unit: f64, notes: &Notes) -> Result<Made> {
        let values = self.counted_back(counts, seconds, unit)?;
        if notes.storage == "integer" {
            let whole: Option<Vec<i64>> = values
                .iter()
                .map(|&value| {
                    #[allow(clippy::cast_possible_truncation, reason = "the way back")]
                    let whole = value as i64;
                    #[allow(clippy::cast_precision_loss, clippy::float_cmp, reason = "as above")]
                    let same = whole as f64 == value;
                    if value.is_nan() {
                        Some(NA_INT64)
                    } else {
                        same.then_some(whole)
                    }
                })
                .collect();
            if let Some(integers) = whole.and_then(|values| narrowed(&values)) {
                return self.vector(Body::Integer(integers));
            }
        }
        self.vector(Body::Double(values))
    }

    fn counted_back(&mut self, counts: &[i64], seconds: f64, unit: f64) -> Result<Vec<f64>> {
        let mut cut = 0_u64;
        let values = counts
            .iter()
            .map(|&count| {
                if count == NA_INT64 {
                    return na();
                }
                let value = back(count, seconds, unit);
                let same = forth(value, seconds, unit) == Some(count);
                cut = cut.saturating_add(u64::from(!same));
                value
            })
            .collect();
        self.losses
            .add(LossKind::Precision, "parts of a second", "double", cut)?;
        Ok(values)
    }
}

fn stamps<T: ArrowTimestampType>(chunks: &[ArrayRef]) -> Vec<i64> {
    gather::<T, _>(chunks, NA_INT64, |count| count)
}

fn per_second(unit: TimeUnit) -> f64 {
    match unit {
        TimeUnit::Second => 1.0,
        TimeUnit::Millisecond => 1e3,
        TimeUnit::Microsecond => 1e6,
        TimeUnit::Nanosecond => 1e9,
    }
}

/// Whole numbers of a type as those of 64 bits, of which missing ones are the smallest.
pub(super) fn whole_numbers(data_type: &DataType, chunks: &[ArrayRef]) -> Vec<i64> {
    match data_type {
        DataType::Int32 => gather::<Int32Type, _>(chunks, NA_INT64, i64::from),
        DataType::UInt32 => gather::<UInt32Type, _>(chunks, NA_INT64, i64::from),
        DataType::UInt64 => gather::<UInt64Type, _>(chunks, NA_INT64, |value| {
            i64::try_from(value).unwrap_or(BEYOND)
        }),
        _ => gather::<Int64Type, _>(chunks, NA_INT64, |value| value),
    }
}

/// As 32-bit integers, where every value is one and is not R's NA.
pub(super) fn narrowed(values: &[i64]) -> Option<Vec<i32>> {
    let one = |&value: &i64| match value {
        NA_INT64 => Some(NA_INT),
        value => i32::try_from(value).ok().filter(|&value| value != NA_INT),
    };
    values.iter().map(one).collect()
}

/// Whether a double prints as the digits that it was made from.
fn same_digits(text: &str, value: f64) -> bool {
    let digits = text
        .bytes()
        .filter(u8::is_ascii_digit)
        .skip_while(|digit| *digit == b'0');
    // 15 digits survive the way through a double and back.
    digits.count() <= 15 || {
        let printed = format!("{value}");
        let plain = |text: &str| {
            let text = text.trim_end_matches('0').trim_end_matches('.');
            text.to_string()
        };
        plain(&printed) == plain(text) || printed == text
    }
}
