//! Numbers of R code: decimal, hexadecimal, and their letters.

/// A number without its sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// With `L`.
    Integer(i32),
    Double(f64),
    /// With `i`.
    Imaginary(f64),
}

/// The number that `text` begins with, and its bytes.
pub(super) fn read(text: &[u8]) -> Option<(Number, usize)> {
    let (value, size) = match text {
        [b'0', b'x' | b'X', ..] => hexadecimal(text)?,
        _ => decimal(text)?,
    };
    let after = size.saturating_add(1);
    match text.get(size) {
        // R makes a double of what is no whole number, or none of 32 bits.
        Some(b'L') => Some((
            whole(value).map_or(Number::Double(value), Number::Integer),
            after,
        )),
        Some(b'i') => Some((Number::Imaginary(value), after)),
        _ => Some((Number::Double(value), size)),
    }
}

/// A double that is a whole number of 32 bits, but not the one that stands for NA.
pub(super) fn whole(value: f64) -> Option<i32> {
    let range = f64::from(-i32::MAX)..=f64::from(i32::MAX);
    if !range.contains(&value) || value.fract() != 0.0 {
        return None;
    }
    // The value is whole and in range, so that its digits are those of an i32.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "whole and within 32 bits, as just checked"
    )]
    let whole = value as i32;
    Some(whole)
}

fn digits(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn decimal(text: &[u8]) -> Option<(f64, usize)> {
    let before = digits(text, 0);
    let mut size = before;
    // Short whole numbers are the most.
    if (1..=15).contains(&before) && !matches!(text.get(size), Some(b'.' | b'e' | b'E')) {
        let digits = text.get(..before)?.iter();
        let value = digits.fold(0_u64, |value, byte| {
            value
                .wrapping_mul(10)
                .wrapping_add(u64::from(byte.wrapping_sub(b'0')))
        });
        #[allow(clippy::cast_precision_loss, reason = "15 digits fit 53 bits")]
        return Some((value as f64, size));
    }
    let mut after = 0;
    if text.get(size) == Some(&b'.') {
        size = size.saturating_add(1);
        after = digits(text, size);
        size = size.saturating_add(after);
    }
    if before == 0 && after == 0 {
        return None;
    }
    if matches!(text.get(size), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(
            text.get(size.saturating_add(1)),
            Some(b'+' | b'-')
        ));
        let from = size.saturating_add(1).saturating_add(sign);
        let exponent = digits(text, from);
        if exponent == 0 {
            return None;
        }
        size = from.saturating_add(exponent);
    }
    let text = std::str::from_utf8(text.get(..size)?).ok()?;
    Some((text.parse().ok()?, size))
}

/// `0x1F`, `0x1.8p+3`: exact where the digits fit 53 bits, else rounded to the nearest.
fn hexadecimal(text: &[u8]) -> Option<(f64, usize)> {
    let mut size = 2;
    // Digits as they come, up to 64 bits; what is cut counts as one sticky bit.
    let (mut value, mut exponent, mut any, mut point) = (0_u64, 0_i64, false, false);
    loop {
        let byte = text.get(size).copied().unwrap_or_default();
        if byte == b'.' && !point {
            point = true;
        } else if let Some(digit) = char::from(byte).to_digit(16) {
            any = true;
            if value >> 60 == 0 {
                value = value << 4 | u64::from(digit);
                exponent = exponent.saturating_sub(if point { 4 } else { 0 });
            } else {
                value |= u64::from(digit != 0);
                exponent = exponent.saturating_add(if point { 0 } else { 4 });
            }
        } else {
            break;
        }
        size = size.saturating_add(1);
    }
    if !any {
        return None;
    }
    if matches!(text.get(size), Some(b'p' | b'P')) {
        let from = size.saturating_add(1);
        let sign = text.get(from).filter(|byte| matches!(byte, b'+' | b'-'));
        let from = from.saturating_add(usize::from(sign.is_some()));
        let count = digits(text, from);
        let end = from.saturating_add(count);
        if count == 0 {
            return None;
        }
        let digits = text.get(from..end)?.iter();
        let power = digits.fold(0_i64, |power, byte| {
            let digit = i64::from(byte.wrapping_sub(b'0'));
            power.saturating_mul(10).saturating_add(digit).min(1 << 40)
        });
        let negative = sign == Some(&b'-');
        exponent = exponent.saturating_add(if negative {
            power.wrapping_neg()
        } else {
            power
        });
        size = end;
    } else if point {
        // R asks for an exponent behind a point.
        return None;
    }
    Some((scaled(value, exponent), size))
}

/// `value * 2^exponent`, rounded once.
fn scaled(value: u64, exponent: i64) -> f64 {
    if value == 0 {
        return 0.0;
    }
    // The highest bit of the value stands for 2^top.
    let high = i64::from(63_u32.saturating_sub(value.leading_zeros()));
    let top = exponent.saturating_add(high);
    if top > 1023 {
        return f64::INFINITY;
    }
    if top < -1075 {
        return 0.0;
    }
    // Bits that the double keeps: 53, fewer where it is denormal.
    let kept = if top < -1022 {
        top.saturating_add(1075)
    } else {
        53
    };
    let normal = value.wrapping_shl(value.leading_zeros());
    let cut = u32::try_from(64_i64.saturating_sub(kept)).unwrap_or(64);
    let (mut mantissa, rest) = if cut >= 64 {
        (0, normal)
    } else {
        (normal >> cut, normal << 64_u32.saturating_sub(cut))
    };
    let half = 1_u64 << 63;
    if rest > half || (rest == half && mantissa & 1 == 1) {
        mantissa = mantissa.saturating_add(1);
    }
    if top < -1022 {
        // Of a denormal the bits are the mantissa; a carry makes the first normal number.
        return f64::from_bits(mantissa);
    }
    let biased = u64::try_from(top.saturating_add(1022)).unwrap_or_default();
    // The leading bit of the mantissa adds one to the exponent, a carry another one.
    f64::from_bits((biased << 52).wrapping_add(mantissa))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        match read(text.as_bytes()) {
            Some((Number::Double(value), size)) if size == text.len() => value,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn hexadecimal_digits_are_exact() {
        for (text, expected) in [
            ("0x1.999999999999ap-4", 0.1),
            ("0x1p-1022", f64::MIN_POSITIVE),
            ("0x0.0000000000001p-1022", f64::from_bits(1)),
            ("0x0.fffffffffffffp-1022", f64::from_bits((1 << 52) - 1)),
            ("0x1.fffffffffffffp+1023", f64::MAX),
            ("0x1p+1024", f64::INFINITY),
            ("0x1p-1075", 0.0),
            ("0x1.8p-1075", f64::from_bits(1)),
            ("0x1.00000000000008p+0", 1.0),
            ("0x1.000000000000081p+0", 1.0 + f64::EPSILON),
            ("0x1.00000000000018p+0", 1.0 + 2.0 * f64::EPSILON),
            ("0xff", 255.0),
            ("0x0p+0", 0.0),
        ] {
            assert_eq!(expected.to_bits(), value(text).to_bits(), "{text}");
        }
    }

    #[test]
    fn every_power_of_two_is_read() {
        for power in -1074_i32..=1023 {
            let bits = match power {
                -1022.. => u64::try_from(power + 1023).unwrap() << 52,
                _ => 1 << (power + 1074),
            };
            let expected = f64::from_bits(bits);
            let read = value(&format!("0x1p{power:+}"));
            assert_eq!(expected.to_bits(), read.to_bits(), "{power}");
        }
    }

    #[test]
    fn letters_say_the_type() {
        assert_eq!(Some((Number::Integer(100_000), 4)), read(b"1e5L,"));
        assert_eq!(Some((Number::Integer(31), 5)), read(b"0x1fL"));
        assert_eq!(
            Some((Number::Double(2_147_483_648.0), 11)),
            read(b"2147483648L")
        );
        assert_eq!(Some((Number::Imaginary(2.5), 4)), read(b"2.5i"));
        assert_eq!(None, read(b"0x"));
        assert_eq!(None, read(b"1e"));
        assert_eq!(None, read(b"0x1.8"));
    }
}
