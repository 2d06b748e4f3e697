//! Dates, times of day and moments as ISO 8601, as far as Python's own have them: the years 1 to 9999.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, TimeUnit};

const DAY: i64 = 86_400;
/// The first day of the year 1, and the last one of 9999, counted from 1970.
const DAYS: (i64, i64) = (-719_162, 2_932_896);

/// What values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Date,
    Time,
    Moment,
}

/// A column of dates, times or moments.
#[derive(Debug)]
pub(super) struct Times {
    what: What,
    values: Values,
    /// Units in a second, and the digits of a fraction.
    scale: (i64, usize),
    is_utc: bool,
    style: Style,
}

/// Numbers of days or units of time, as wide as they are.
#[derive(Debug)]
enum Values {
    Short(ScalarBuffer<i32>),
    Long(ScalarBuffer<i64>),
}

/// What stands between a date and a time, and behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `T`, microseconds if there are some, `+00:00` in quotes.
    Json,
    /// A space, a fraction of as many digits as the unit has, `Z`.
    Arrow,
}

impl Times {
    /// The array, if it is one of times all of whose values have a text.
    pub(super) fn of(array: &dyn Array, style: Style) -> Option<Self> {
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        let short = |values: &ScalarBuffer<i32>| Values::Short(values.clone());
        let long = |values: &ScalarBuffer<i64>| Values::Long(values.clone());
        let (what, values, unit) = match array.data_type() {
            DataType::Date32 => (What::Date, short(values_of::<Date32Type>(array)), Second),
            DataType::Time32(Second) => (
                What::Time,
                short(values_of::<Time32SecondType>(array)),
                Second,
            ),
            DataType::Time32(Millisecond) => (
                What::Time,
                short(values_of::<Time32MillisecondType>(array)),
                Millisecond,
            ),
            DataType::Time64(Microsecond) => (
                What::Time,
                long(values_of::<Time64MicrosecondType>(array)),
                Microsecond,
            ),
            DataType::Time64(Nanosecond) => (
                What::Time,
                long(values_of::<Time64NanosecondType>(array)),
                Nanosecond,
            ),
            DataType::Timestamp(unit, zone) if zone.as_deref().is_none_or(|zone| zone == "UTC") => {
                let values = match unit {
                    Second => values_of::<TimestampSecondType>(array),
                    Millisecond => values_of::<TimestampMillisecondType>(array),
                    Microsecond => values_of::<TimestampMicrosecondType>(array),
                    Nanosecond => values_of::<TimestampNanosecondType>(array),
                };
                (What::Moment, long(values), *unit)
            }
            _ => return None,
        };
        if unit == Nanosecond && style == Style::Json {
            return None;
        }
        let scale = match unit {
            Second => (1, 0),
            Millisecond => (1_000, 3),
            Microsecond => (1_000_000, 6),
            Nanosecond => (1_000_000_000, 9),
        };
        let is_utc = matches!(array.data_type(), DataType::Timestamp(_, Some(_)));
        let times = Self {
            what,
            values,
            scale,
            is_utc,
            style,
        };
        let known = |row: usize| array.is_null(row) || times.has_text(row);
        (0..array.len()).all(known).then_some(times)
    }

    #[inline]
    fn value(&self, row: usize) -> i64 {
        let value = match &self.values {
            Values::Short(values) => values.get(row).copied().map(i64::from),
            Values::Long(values) => values.get(row).copied(),
        };
        value.unwrap_or(0)
    }

    /// Day and unit within it.
    #[inline]
    fn split(&self, row: usize) -> (i64, i64) {
        let value = self.value(row);
        if self.what == What::Date {
            return (value, 0);
        }
        let day = self.scale.0.saturating_mul(DAY);
        (value.div_euclid(day), value.rem_euclid(day))
    }

    fn has_text(&self, row: usize) -> bool {
        let (day, _) = self.split(row);
        match self.what {
            What::Time => day == 0,
            _ => (DAYS.0..=DAYS.1).contains(&day),
        }
    }

    /// Appends the text of a value.
    pub(super) fn push(&self, out: &mut Vec<u8>, row: usize) {
        let (day, unit) = self.split(row);
        if self.style == Style::Json {
            out.push(b'"');
        }
        if self.what != What::Time {
            push_date(out, day);
        }
        if self.what == What::Moment {
            out.push(if self.style == Style::Json {
                b'T'
            } else {
                b' '
            });
        }
        if self.what != What::Date {
            self.push_time(out, unit);
        }
        match (self.style, self.is_utc) {
            (Style::Json, true) => out.extend_from_slice(b"+00:00\""),
            (Style::Json, false) => out.push(b'"'),
            (Style::Arrow, true) => out.push(b'Z'),
            (Style::Arrow, false) => {}
        }
    }

    #[allow(
        clippy::arithmetic_side_effects,
        reason = "a time of day is small, and its unit not 0"
    )]
    fn push_time(&self, out: &mut Vec<u8>, unit: i64) {
        let (per_second, digits) = self.scale;
        let (second, fraction) = (unit / per_second, unit % per_second);
        push_two(out, second / 3600);
        out.push(b':');
        push_two(out, second / 60 % 60);
        out.push(b':');
        push_two(out, second % 60);
        if digits == 0 || (self.style == Style::Json && fraction == 0) {
            return;
        }
        // Python's own have microseconds, whatever the unit was.
        let (fraction, digits) = match (self.style, digits) {
            (Style::Json, 3) => (fraction * 1000, 6),
            _ => (fraction, digits),
        };
        out.push(b'.');
        let mut text = itoa::Buffer::new();
        let text = text.format(fraction);
        out.resize(out.len() + digits.saturating_sub(text.len()), b'0');
        out.extend_from_slice(text.as_bytes());
    }
}

fn values_of<T: arrow_array::types::ArrowPrimitiveType>(
    array: &dyn Array,
) -> &ScalarBuffer<T::Native> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    array.values()
}

/// Appends a date of four digits of the year, counted in days from 1970; by Howard Hinnant's `civil_from_days`.
#[allow(
    clippy::arithmetic_side_effects,
    reason = "days of the years 1 to 9999 are small"
)]
fn push_date(out: &mut Vec<u8>, day: i64) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let date = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year + era * 400 + i64::from(month <= 2);
    push_two(out, year / 100);
    push_two(out, year % 100);
    out.push(b'-');
    push_two(out, month);
    out.push(b'-');
    push_two(out, date);
}

/// Appends two digits.
#[inline]
#[allow(
    clippy::arithmetic_side_effects,
    reason = "a constant divides, and a digit is small"
)]
fn push_two(out: &mut Vec<u8>, value: i64) {
    let digit = |value: i64| b'0' | value.rem_euclid(10).to_le_bytes()[0];
    out.extend_from_slice(&[digit(value / 10), digit(value)]);
}
