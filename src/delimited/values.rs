//! What a field is by itself: a number, a truth, a day, a moment, or text, where there is no doubt.

use super::{has, with};

/// Whole numbers up to here are doubles, all of them.
pub(super) const EXACT: u64 = 1 << 53;
const MOST_DIGITS: usize = 18;
const SECONDS_OF_DAY: i64 = 86_400;
/// Years whose moments nanoseconds of 64 bits hold, all of them.
const NANOSECOND_YEARS: std::ops::RangeInclusive<i64> = 1678..=2261;

/// What a field is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    /// A whole number without a leading zero.
    Int(i64),
    /// A number with a point or an exponent, far below 2^53.
    Double(f64),
    /// A number with a leading zero.
    Code,
    Bool(bool),
    /// Days since 1970.
    Day(i32),
    Moment(Moment),
    /// Nothing else than text, for any reader.
    Text,
    /// It may be something that is not told here.
    Doubtful,
}

/// A day and a time to the second, or finer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moment {
    /// Since 1970.
    pub(super) seconds: i64,
    pub(super) nanoseconds: i64,
    /// Whether digits stand behind the seconds.
    pub(super) is_fine: bool,
    /// Whether it has a zone, by a Z or an offset; it is in UTC then.
    pub(super) has_zone: bool,
}

/// Tells values from each other.
#[derive(Debug)]
pub(super) struct Judge {
    /// Bytes of which numbers, times, truths and the names of what is no number are made.
    common: [bool; 256],
}

impl Judge {
    pub(super) fn new() -> Self {
        Self {
            common: with(*b"0123456789+-.: \tabcdefABCDEFxXzZtTinyINYruslRUSL"),
        }
    }

    /// What a field is that is neither empty nor a word for a missing value.
    #[inline]
    pub(super) fn value(&self, field: &[u8]) -> Value {
        let plain = match field {
            [b'0', b'0'..=b'9', ..] | [b'-', b'0', b'0'..=b'9', ..] => {
                if number(field).is_some() {
                    Value::Code
                } else {
                    temporal(field)
                }
            }
            [b'0'..=b'9' | b'-' | b'.', ..] => match number(field) {
                Some(value) => return value,
                None => temporal(field),
            },
            [b'+' | b' ' | b'\t', ..] => Value::Doubtful,
            [] => Value::Text,
            _ => word(field),
        };
        if plain == Value::Doubtful && self.is_text(field) {
            return Value::Text;
        }
        plain
    }

    /// Whether a field is text whatever else a reader knows.
    #[cold]
    fn is_text(&self, field: &[u8]) -> bool {
        if field.iter().any(|&byte| !has(&self.common, byte)) {
            return true;
        }
        let bare = field
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\t' | b'+' | b'-'));
        let bare = bare
            .and_then(|start| field.get(start..))
            .unwrap_or_default();
        let has_blanks = field.iter().any(|byte| matches!(byte, b' ' | b'\t'));
        if !field.iter().any(u8::is_ascii_digit) {
            return !has_blanks && of_words(bare) == Value::Text;
        }
        // Times have colons, or begin with a day; of numbers a sign stands at the beginning, or behind an exponent's letter.
        let is_time = field.contains(&b':') || matches!(field, [_, _, _, _, b'-', ..]);
        let points = memchr::memchr_iter(b'.', field).count();
        let has_sign = field
            .windows(2)
            .any(|pair| matches!(pair, [b'0'..=b'9' | b'.', b'-' | b'+']));
        !is_time && !has_blanks && (points > 1 || has_sign)
    }
}

/// A field that begins with no digit, point, sign or blank.
#[inline]
fn word(field: &[u8]) -> Value {
    match field {
        b"true" | b"True" | b"TRUE" => Value::Bool(true),
        b"false" | b"False" | b"FALSE" => Value::Bool(false),
        [b't' | b'T' | b'f' | b'F' | b'n' | b'N' | b'i' | b'I', ..] => of_words(field),
        _ => Value::Text,
    }
}

/// A field that begins as words do that readers may know.
fn of_words(field: &[u8]) -> Value {
    let end = field.iter().rposition(|byte| !matches!(byte, b' ' | b'\t'));
    let bare = field.get(..=end.unwrap_or_default()).unwrap_or(field);
    let bare = bare.to_ascii_lowercase();
    let begins = |word: &[u8]| bare.starts_with(word);
    if matches!(&bare[..], b"true" | b"false" | b"inf" | b"infinity") || begins(b"nan") {
        Value::Doubtful
    } else {
        Value::Text
    }
}

/// The whole number that a field is, as [`Judge::value`] says; None for all other fields.
#[inline]
pub(super) fn whole(field: &[u8]) -> Option<i64> {
    let (negative, digits) = match field {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, field),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= MOST_DIGITS => (),
        _ => return None,
    }
    let mut value = 0_i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
    }
    Some(if negative {
        value.wrapping_neg()
    } else {
        value
    })
}

/// The number that a field is; None if it is none.
#[inline]
fn number(field: &[u8]) -> Option<Value> {
    let (negative, digits) = match field {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, field),
    };
    let (mut mantissa, mut count, mut behind) = (0_u64, 0_usize, 0_usize);
    let mut point = false;
    let mut rest = digits;
    while let [byte, more @ ..] = rest {
        match byte {
            b'0'..=b'9' => {
                count = count.wrapping_add(1);
                behind = behind.wrapping_add(usize::from(point));
                mantissa = mantissa
                    .wrapping_mul(10)
                    .wrapping_add(u64::from(byte.wrapping_sub(b'0')));
            }
            b'.' if !point => point = true,
            b'e' | b'E' => return exponential(field, more),
            _ => return None,
        }
        rest = more;
    }
    if count == 0 {
        return None;
    }
    if !point {
        return Some(match i64::try_from(mantissa) {
            Ok(0) if negative => Value::Doubtful,
            Ok(value) if count <= MOST_DIGITS => Value::Int(if negative {
                value.wrapping_neg()
            } else {
                value
            }),
            _ => Value::Doubtful,
        });
    }
    let value = match POWERS.get(behind) {
        #[allow(clippy::cast_precision_loss, reason = "at most 2^53")]
        Some(power) if count <= MOST_DIGITS && mantissa <= EXACT => {
            let value = mantissa as f64 / power;
            if negative {
                -value
            } else {
                value
            }
        }
        _ => parsed(field)?,
    };
    Some(small(value))
}

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

fn parsed(field: &[u8]) -> Option<f64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// A number with an exponent, of which the digits are given.
fn exponential(field: &[u8], exponent: &[u8]) -> Option<Value> {
    let digits = match exponent {
        [b'+' | b'-', rest @ ..] => rest,
        _ => exponent,
    };
    if digits.is_empty() || digits.len() > 3 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = parsed(field)?;
    // Below, digits may be lost, and readers differ in how.
    if value.abs() < 1e-300 {
        return Some(Value::Doubtful);
    }
    Some(small(value))
}

/// A double, unless it is so large that its digits have to be looked at.
#[inline]
fn small(value: f64) -> Value {
    #[allow(clippy::cast_precision_loss, reason = "a power of two")]
    if value.abs() < EXACT as f64 {
        Value::Double(value)
    } else {
        Value::Doubtful
    }
}

/// The day or moment that a field is.
fn temporal(field: &[u8]) -> Value {
    let Some((day, rest)) = field.split_first_chunk::<10>() else {
        return Value::Doubtful;
    };
    let Some((year, days)) = days(day) else {
        return Value::Doubtful;
    };
    if rest.is_empty() {
        return Value::Day(days);
    }
    match moment(year, days, rest) {
        Some(moment) => Value::Moment(moment),
        None => Value::Doubtful,
    }
}

fn moment(year: i64, days: i32, rest: &[u8]) -> Option<Moment> {
    let (clock, rest) = rest.split_first_chunk::<9>()?;
    if !matches!(clock, [b' ' | b'T', _, _, b':', _, _, b':', _, _]) {
        return None;
    }
    let (hours, minutes, seconds) = (two(clock, 1)?, two(clock, 4)?, two(clock, 7)?);
    if hours > 23 || minutes > 59 || seconds > 59 || !NANOSECOND_YEARS.contains(&year) {
        return None;
    }
    let time = hours
        .wrapping_mul(3600)
        .wrapping_add(minutes.wrapping_mul(60))
        .wrapping_add(seconds);
    let (nanoseconds, is_fine, rest) = match rest {
        [b'.', rest @ ..] => {
            let len = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (digits, rest) = rest.split_at_checked(len)?;
            (fraction(digits)?, true, rest)
        }
        _ => (0, false, rest),
    };
    let (has_zone, offset) = match *rest {
        [] => (false, 0),
        [b'Z'] => (true, 0),
        [sign @ (b'+' | b'-'), _, _, b':', _, _] | [sign @ (b'+' | b'-'), _, _, _, _] => {
            let (hours, minutes) = (two(rest, 1)?, two(rest, rest.len().checked_sub(2)?)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let offset = hours
                .wrapping_mul(3600)
                .wrapping_add(minutes.wrapping_mul(60));
            (
                true,
                if sign == b'-' {
                    offset
                } else {
                    offset.wrapping_neg()
                },
            )
        }
        _ => return None,
    };
    Some(Moment {
        seconds: i64::from(days)
            .wrapping_mul(SECONDS_OF_DAY)
            .wrapping_add(time)
            .wrapping_add(offset),
        nanoseconds,
        is_fine,
        has_zone,
    })
}

/// The nanoseconds that one to nine digits behind a point are.
fn fraction(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    let all = digits
        .iter()
        .copied()
        .chain(std::iter::repeat(b'0'))
        .take(9);
    all.map(one).try_fold(0_i64, |sum, digit| {
        Some(sum.wrapping_mul(10).wrapping_add(digit?))
    })
}

#[inline]
fn one(digit: u8) -> Option<i64> {
    digit
        .is_ascii_digit()
        .then(|| i64::from(digit.wrapping_sub(b'0')))
}

/// The number that the two digits at a place are.
#[inline]
fn two(text: &[u8], at: usize) -> Option<i64> {
    match text.get(at..)? {
        &[tens, ones, ..] => Some(one(tens)?.wrapping_mul(10).wrapping_add(one(ones)?)),
        _ => None,
    }
}

/// The year, and the days since 1970, of `2013-01-31`.
#[inline]
fn days(day: &[u8; 10]) -> Option<(i64, i32)> {
    if !matches!(day, [_, _, _, _, b'-', _, _, b'-', _, _]) {
        return None;
    }
    let year = two(day, 0)?.wrapping_mul(100).wrapping_add(two(day, 2)?);
    let (month, day) = (two(day, 5)?, two(day, 8)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let most = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return None,
    };
    if !(1000..=9999).contains(&year) || !(1..=most).contains(&day) {
        return None;
    }
    // Days of years that begin in March: https://howardhinnant.github.io/date_algorithms.html
    let from_march = if month > 2 {
        year
    } else {
        year.wrapping_sub(1)
    };
    let shifted = month.wrapping_add(9) % 12;
    let of_year = shifted
        .wrapping_mul(153)
        .wrapping_add(2)
        .wrapping_div(5)
        .wrapping_add(day)
        .wrapping_sub(1);
    let days = from_march
        .wrapping_mul(365)
        .wrapping_add(from_march / 4)
        .wrapping_sub(from_march / 100)
        .wrapping_add(from_march / 400)
        .wrapping_add(of_year)
        .wrapping_sub(719_468);
    Some((year, i32::try_from(days).ok()?))
}
