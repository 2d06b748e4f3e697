//! Words of the ascii form: numbers as `%.16g` and `%a` print them, and escapes in strings.

use std::fmt::Write as _;

use crate::robject::{is_na, NA_REAL};

/// No number R writes is longer.
pub(super) const LONGEST_WORD: usize = 512;

/// White space between words, as C's `isspace` has it.
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// A double and whether it is hexadecimal.
pub(super) fn double(word: &str) -> Option<(f64, bool)> {
    Some(match word {
        "NA" => (f64::from_bits(NA_REAL), false),
        "NaN" => (f64::NAN, false),
        "Inf" => (f64::INFINITY, false),
        "-Inf" => (f64::NEG_INFINITY, false),
        _ => {
            let (negative, rest) = match word.strip_prefix('-') {
                Some(rest) => (true, rest),
                None => (false, word),
            };
            if let Some(digits) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
                let value = hexadecimal(digits)?;
                return Some((if negative { -value } else { value }, true));
            }
            let known = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-');
            let plain = word.bytes().all(known);
            (word.parse().ok().filter(|_| plain)?, false)
        }
    })
}

/// `h.hhhp+d`, rounded to the nearest.
fn hexadecimal(digits: &str) -> Option<f64> {
    let (mantissa, exponent) = match digits.split_once(['p', 'P']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && part.is_empty() {
        return None;
    }
    let (mut bits, mut scale) = (0_u64, exponent);
    for (at, digit) in whole.bytes().chain(part.bytes()).enumerate() {
        let digit = char::from(digit).to_digit(16)?;
        let behind = at >= whole.len();
        if bits >> 59 == 0 {
            bits = bits << 4 | u64::from(digit);
            scale = scale.checked_sub(if behind { 4 } else { 0 })?;
        } else {
            // A digit that does not fit only says whether anything is there.
            bits |= u64::from(digit != 0);
            scale = scale.checked_add(if behind { 0 } else { 4 })?;
        }
    }
    Some(scaled(bits, scale))
}

/// `bits` times 2 to the `scale`, rounded once, to even.
fn scaled(bits: u64, scale: i32) -> f64 {
    if bits == 0 {
        return 0.0;
    }
    let top = 63_i32.saturating_sub(i32::try_from(bits.leading_zeros()).unwrap_or(0));
    let exponent = scale.saturating_add(top);
    if exponent > 1023 {
        return f64::INFINITY;
    }
    // The exponent of the last bit that is kept.
    let last = exponent.saturating_sub(52).max(-1074);
    let drop = last.saturating_sub(scale);
    let kept = if drop <= 0 {
        bits.checked_shl(drop.unsigned_abs()).unwrap_or(0)
    } else if drop > 64 {
        0
    } else {
        let drop = drop.unsigned_abs();
        let kept = bits.checked_shr(drop).unwrap_or(0);
        let back = kept.checked_shl(drop).unwrap_or(0);
        let rest = bits.wrapping_sub(back);
        let half = 1_u64.checked_shl(drop.saturating_sub(1)).unwrap_or(0);
        let up = rest > half || (rest == half && kept & 1 == 1);
        kept.saturating_add(u64::from(up))
    };
    // Rounding up may carry into the exponent, which adding to the bits does by itself.
    let biased = last.saturating_add(1074);
    let fields = u64::try_from(biased).unwrap_or(0) << 52;
    f64::from_bits(fields.saturating_add(kept))
}

/// Whether `value` is written as just this word.
pub(super) fn prints_as(value: f64, hex: bool, word: &str) -> bool {
    let mut text = String::with_capacity(32);
    print(value, hex, &mut text);
    text == word
}

/// The word of a double: `%a`, or `%.16g`.
pub(super) fn print(value: f64, hex: bool, into: &mut String) {
    if value.is_nan() {
        into.push_str(if is_na(value) { "NA" } else { "NaN" });
    } else if value.is_infinite() {
        into.push_str(if value > 0.0 { "Inf" } else { "-Inf" });
    } else if hex {
        print_hex(value, into);
    } else {
        print_general(value, into);
    }
}

/// `%a` of glibc: a leading 1, or 0 for what is denormal; no zeros at the end.
fn print_hex(value: f64, into: &mut String) {
    let bits = value.to_bits();
    let part = bits & 0x000F_FFFF_FFFF_FFFF;
    let field = i32::try_from(bits >> 52 & 0x7ff).unwrap_or(0);
    let lead = u8::from(field != 0);
    let exponent = match (field, part) {
        (0, 0) => 0,
        (0, _) => -1022,
        _ => field.saturating_sub(1023),
    };
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let digits = format!("{part:013x}");
    let digits = digits.trim_end_matches('0');
    let dot = if digits.is_empty() { "" } else { "." };
    // Writing to a String does not fail.
    let _ = write!(into, "{sign}0x{lead}{dot}{digits}p{exponent:+}");
}

/// `%.16g`: sixteen digits, rounded once, no zeros at the end.
fn print_general(value: f64, into: &mut String) {
    if value == 0.0 {
        into.push_str(if value.is_sign_negative() { "-0" } else { "0" });
        return;
    }
    let long = format!("{value:.15e}");
    let (mantissa, exponent) = long.split_once('e').unwrap_or((&long, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let digits = digits.trim_end_matches('0');
    into.push_str(sign);
    let whole = usize::try_from(exponent.saturating_add(1)).unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let (first, rest) = digits.split_at(1.min(digits.len()));
        let dot = if rest.is_empty() { "" } else { "." };
        let mark = if exponent < 0 { '-' } else { '+' };
        let size = exponent.unsigned_abs();
        let _ = write!(into, "{first}{dot}{rest}e{mark}{size:02}");
    } else if exponent < 0 {
        into.push_str("0.");
        for _ in 1..exponent.unsigned_abs() {
            into.push('0');
        }
        into.push_str(digits);
    } else if let Some((front, behind)) = digits
        .split_at_checked(whole)
        .filter(|(_, b)| !b.is_empty())
    {
        let _ = write!(into, "{front}.{behind}");
    } else {
        let _ = write!(into, "{digits:0<whole$}");
    }
}

/// The byte at the front of escaped text and how many bytes say it; None where it is cut, and at
/// the end of a line.
#[inline]
pub(super) fn unescape(ready: &[u8]) -> Option<(u8, usize)> {
    match ready {
        [b'\\', rest @ ..] => escape(rest),
        [b'\n' | b'\r', ..] | [] => None,
        [byte, ..] => Some((*byte, 1)),
    }
}

fn escape(rest: &[u8]) -> Option<(u8, usize)> {
    let first = *rest.first()?;
    Some((
        match first {
            b'n' => b'\n',
            b't' => b'\t',
            b'v' => 0x0b,
            b'b' => 0x08,
            b'r' => b'\r',
            b'f' => 0x0c,
            b'a' => 0x07,
            b'0'..=b'7' => {
                let digits = rest
                    .iter()
                    .take(3)
                    .take_while(|b| (b'0'..=b'7').contains(*b));
                let (mut value, mut size) = (0_u8, 1_usize);
                for digit in digits {
                    value = value.wrapping_shl(3) | digit.wrapping_sub(b'0');
                    size = size.saturating_add(1);
                }
                return Some((value, size));
            }
            other => other,
        },
        2,
    ))
}

/// Appends a byte as R's ascii form writes it.
pub(super) fn push_escaped(byte: u8, into: &mut Vec<u8>) {
    let letter = match byte {
        b'\n' => b'n',
        b'\t' => b't',
        0x0b => b'v',
        0x08 => b'b',
        b'\r' => b'r',
        0x0c => b'f',
        0x07 => b'a',
        b'\\' | b'?' | b'\'' | b'"' => byte,
        33..=126 => {
            into.push(byte);
            return;
        }
        _ => {
            let digit = |shift: u32| b'0' | byte.wrapping_shr(shift) & 7;
            into.extend_from_slice(&[b'\\', digit(6), digit(3), digit(0)]);
            return;
        }
    };
    into.extend_from_slice(&[b'\\', letter]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: f64, hex: bool) -> String {
        let mut text = String::new();
        print(value, hex, &mut text);
        text
    }

    #[test]
    fn general_form_is_that_of_c() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1e15, "1000000000000000"),
            (1e16, "1e+16"),
            (12_345_678_901_234_568.0, "1.234567890123457e+16"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e100, "1e+100"),
            (f64::MAX, "1.797693134862316e+308"),
            (5e-324, "4.940656458412465e-324"),
            (2.0 / 3.0, "0.6666666666666666"),
            (100.25, "100.25"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
            (f64::from_bits(NA_REAL), "NA"),
        ] {
            assert_eq!(text, shown(value, false));
        }
    }

    #[test]
    fn hexadecimal_form_is_that_of_c_and_reads_back() {
        for (value, text) in [
            (0.0, "0x0p+0"),
            (-0.0, "-0x0p+0"),
            (1.0, "0x1p+0"),
            (-1.5, "-0x1.8p+0"),
            (0.1, "0x1.999999999999ap-4"),
            (5e-324, "0x0.0000000000001p-1022"),
            (f64::MIN_POSITIVE, "0x1p-1022"),
            (f64::MAX, "0x1.fffffffffffffp+1023"),
        ] {
            assert_eq!(text, shown(value, true));
            let (back, hex) = double(text).unwrap();
            assert!(hex);
            assert_eq!(value.to_bits(), back.to_bits(), "{text}");
        }
    }

    #[test]
    fn hexadecimal_words_are_rounded_once_to_even() {
        for (text, value) in [
            ("0x1.00000000000008p+0", 1.0),
            ("0x1.00000000000018p+0", 1.0 + 2.0 * f64::EPSILON),
            ("0x1.000000000000081p+0", 1.0 + f64::EPSILON),
            ("0x1.fffffffffffff8p+1023", f64::INFINITY),
            ("0x0.8p-1074", 0.0),
            ("0x0.81p-1074", 5e-324),
            ("0x10000000000000001p0", 18_446_744_073_709_551_616.0),
            ("0xap1", 20.0),
            ("0x0p+99999", 0.0),
            ("0x1p-99999", 0.0),
        ] {
            assert_eq!(Some((value, true)), double(text), "{text}");
        }
        for text in [
            "0x", "0x.p1", "0x1p", "0xgp1", "1e", "inf", "nan", "", "+-1", "infinity",
        ] {
            assert_eq!(None, double(text), "{text}");
        }
    }

    #[test]
    fn every_byte_survives_its_escape() {
        for byte in 0..=255_u8 {
            let mut text = Vec::new();
            push_escaped(byte, &mut text);
            assert!(text.iter().all(|b| (33..=126).contains(b)), "{byte}");
            assert_eq!(Some((byte, text.len())), unescape(&text));
            for cut in 0..text.len() {
                let whole = unescape(text.get(..cut).unwrap());
                assert!(whole.is_none() || text.len() == 4 && cut > 1, "{byte}");
            }
        }
    }
}
