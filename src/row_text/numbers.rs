//! Floats: the shortest digits that read back as the value, in the forms of several libraries.

use super::integers::push_int;

/// How a float is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Floats {
    /// As orjson: plain from 1e-5 to below 1e16, `1.0`; `1e-6`; what is not finite is null.
    Compact,
    /// As Python's repr: plain from 1e-4 to below 1e16, `1.0`; `1e-05`; what is not finite is a word.
    Python,
    /// As Arrow's casts: plain from 1e-6 to below 1e10, `1`; `1e+10`, `1e-7`.
    Arrow,
}

/// Appends a float of 64 bits.
#[inline]
pub(super) fn push_float(out: &mut Vec<u8>, value: f64, form: Floats) {
    if !value.is_finite() {
        return out.extend_from_slice(word(value, form));
    }
    if form == Floats::Arrow && push_whole(out, value) {
        return;
    }
    let mut room = zmij::Buffer::new();
    let text = room.format_finite(value).as_bytes();
    match form {
        Floats::Compact => out.extend_from_slice(text),
        Floats::Python if is_plain(value, 1e-4, 1e16) => out.extend_from_slice(text),
        Floats::Python => push_digits(out, text, i32::MAX, i32::MAX, 2),
        // Text of this range has no exponent, and no whole number was left.
        Floats::Arrow if is_plain(value, 1e-5, 1e10) => out.extend_from_slice(text),
        Floats::Arrow => push_digits(out, text, -6, 9, 1),
    }
}

/// Appends a float of 32 bits by the digits that tell it from others of 32 bits, as Arrow's casts do.
pub(super) fn push_float32(out: &mut Vec<u8>, value: f32) {
    if !value.is_finite() {
        return out.extend_from_slice(word(value.into(), Floats::Arrow));
    }
    if !push_whole(out, value.into()) {
        let mut room = zmij::Buffer::new();
        push_digits(out, room.format_finite(value).as_bytes(), -6, 9, 1);
    }
}

#[inline]
fn is_plain(value: f64, from: f64, below: f64) -> bool {
    (from..below).contains(&value.abs()) || value == 0.0
}

fn word(value: f64, form: Floats) -> &'static [u8] {
    let (nan, infinity, negative): (&[u8], &[u8], &[u8]) = match form {
        Floats::Compact => (b"null", b"null", b"null"),
        Floats::Python => (b"NaN", b"Infinity", b"-Infinity"),
        Floats::Arrow => (b"nan", b"inf", b"-inf"),
    };
    if value.is_nan() {
        nan
    } else if value > 0.0 {
        infinity
    } else {
        negative
    }
}

/// Appends a whole number of up to seven digits, which has no exponent in any form and all its digits in 32 bits too.
#[inline]
fn push_whole(out: &mut Vec<u8>, value: f64) -> bool {
    if value.abs() >= 1e7 || value.fract() != 0.0 {
        return false;
    }
    if value == 0.0 {
        out.extend_from_slice(if value.is_sign_negative() {
            b"-0"
        } else {
            b"0"
        });
        return true;
    }
    #[allow(
        clippy::cast_possible_truncation,
        reason = "it is whole and has seven digits at most"
    )]
    push_int(out, value as i64);
    true
}

/// Appends the digits of a number's text: plain if the exponent of the first one is in a range, else with an exponent.
///
/// # Arguments
/// The range is from `low` to `high`; an exponent has `width` digits at least.
#[allow(
    clippy::arithmetic_side_effects,
    reason = "an f64 has at most 17 digits and exponents of three"
)]
fn push_digits(out: &mut Vec<u8>, text: &[u8], low: i32, high: i32, width: usize) {
    let (text, is_negative) = match text.split_first() {
        Some((b'-', rest)) => (rest, true),
        _ => (text, false),
    };
    let mut digits: Vec<u8> = Vec::with_capacity(24);
    // The exponent of the digit that comes next, were it in front of the point.
    let (mut exponent, mut point) = (-1_i32, None::<i32>);
    let mut rest = text.iter();
    for &byte in rest.by_ref() {
        match byte {
            b'.' => point = Some(exponent),
            b'e' => break,
            _ => {
                if point.is_none() {
                    exponent += 1;
                }
                digits.push(byte);
            }
        }
    }
    let shift = std::str::from_utf8(rest.as_slice()).ok();
    let shift = shift.and_then(|text| text.trim_start_matches('+').parse::<i32>().ok());
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    exponent += shift.unwrap_or(0);
    exponent -= i32::try_from(zeros).unwrap_or(0);
    let end = digits.iter().rposition(|&digit| digit != b'0');
    let digits = digits.get(zeros..end.map_or(zeros, |end| end + 1));
    let digits = digits.unwrap_or_default();
    if is_negative {
        out.push(b'-');
    }
    let Some((first, others)) = digits.split_first() else {
        return out.push(b'0');
    };
    if (low..=high).contains(&exponent) {
        return push_plain(out, digits, exponent);
    }
    out.push(*first);
    if !others.is_empty() {
        out.push(b'.');
        out.extend_from_slice(others);
    }
    out.push(b'e');
    out.push(if exponent < 0 { b'-' } else { b'+' });
    let size = exponent.unsigned_abs();
    if size < 10 && width > 1 {
        out.push(b'0');
    }
    push_int(out, size.into());
}

/// Appends digits, of which the first one has an exponent, without one.
#[allow(
    clippy::arithmetic_side_effects,
    reason = "exponents are small where they are not written"
)]
fn push_plain(out: &mut Vec<u8>, digits: &[u8], exponent: i32) {
    let Ok(whole) = usize::try_from(exponent) else {
        out.extend_from_slice(b"0.");
        let zeros = exponent.unsigned_abs() as usize - 1;
        out.resize(out.len() + zeros, b'0');
        return out.extend_from_slice(digits);
    };
    let (before, behind) = digits.split_at_checked(whole + 1).unwrap_or((digits, b""));
    out.extend_from_slice(before);
    out.resize(out.len() + (whole + 1 - before.len()), b'0');
    if !behind.is_empty() {
        out.push(b'.');
        out.extend_from_slice(behind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: f64, form: Floats) -> String {
        let mut out = Vec::new();
        push_float(&mut out, value, form);
        String::from_utf8(out).expect("it is ASCII")
    }

    #[test]
    fn each_form_has_its_own_thresholds() {
        let cases = [
            (1.0, "1.0", "1.0", "1"),
            (-0.0, "-0.0", "-0.0", "-0"),
            (1.5e-5, "0.000015", "1.5e-05", "0.000015"),
            (1e-6, "1e-6", "1e-06", "0.000001"),
            (1.25e-7, "1.25e-7", "1.25e-07", "1.25e-7"),
            (
                9_999_999_999.5,
                "9999999999.5",
                "9999999999.5",
                "9999999999.5",
            ),
            (
                99_999_999_999.5,
                "99999999999.5",
                "99999999999.5",
                "9.99999999995e+10",
            ),
            (1e10, "10000000000.0", "10000000000.0", "1e+10"),
            (-1e16, "-1e+16", "-1e+16", "-1e+16"),
            (1e100, "1e+100", "1e+100", "1e+100"),
            (5e-324, "5e-324", "5e-324", "5e-324"),
            (f64::NEG_INFINITY, "null", "-Infinity", "-inf"),
        ];
        for (value, compact, python, arrow) in cases {
            assert_eq!(compact, text(value, Floats::Compact));
            assert_eq!(python, text(value, Floats::Python));
            assert_eq!(arrow, text(value, Floats::Arrow));
        }
    }
}
