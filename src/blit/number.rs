//! Numbers as JSON has them: exact, or kept as text.

use super::decimal;
use super::node::{Kind, Node};

/// Floats of up to so many significant digits are taken by value.
const DIGITS: usize = 17;

/// What a number's text looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Token {
    /// Bytes of the text.
    pub(crate) len: usize,
    /// No fraction and no exponent.
    pub(crate) is_integer: bool,
}

/// The number at the start of `text`; None if there is none.
#[inline]
pub(crate) fn token(text: &[u8]) -> Option<Token> {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let mut at = usize::from(text.first() == Some(&b'-'));
    match text.get(at) {
        Some(b'0') => at = at.wrapping_add(1),
        Some(b'1'..=b'9') => at = at.wrapping_add(digits(at)),
        _ => return None,
    }
    let mut is_integer = true;
    if text.get(at) == Some(&b'.') {
        let n = digits(at.wrapping_add(1));
        if n == 0 {
            return None;
        }
        at = at.wrapping_add(n).wrapping_add(1);
        is_integer = false;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at = at.wrapping_add(1);
        at = at.wrapping_add(usize::from(matches!(text.get(at), Some(b'+' | b'-'))));
        let n = digits(at);
        if n == 0 {
            return None;
        }
        at = at.wrapping_add(n);
        is_integer = false;
    }
    Some(Token {
        len: at,
        is_integer,
    })
}

/// Integers and floats as most are: their value, and how long their text is. None for what
/// [`token`] and [`value`] are to look at.
#[inline]
pub(crate) fn quick(text: &[u8]) -> Option<(Node, usize)> {
    let negative = text.first() == Some(&b'-');
    let start = usize::from(negative);
    let first = text.get(start)?.wrapping_sub(b'0');
    if first > 9 {
        return None;
    }
    let mut mantissa = u64::from(first);
    let mut at = start.wrapping_add(1);
    if first != 0 {
        (mantissa, at) = digits(text, at, mantissa);
    }
    let whole = at.wrapping_sub(start);
    let (exponent, count) = match text.get(at) {
        Some(b'.') => {
            let point = at;
            (mantissa, at) = digits(text, at.wrapping_add(1), mantissa);
            let fraction = at.wrapping_sub(point).wrapping_sub(1);
            if fraction == 0 || matches!(text.get(at), Some(b'e' | b'E')) {
                return None;
            }
            let count = whole.wrapping_add(fraction);
            (fraction, count.wrapping_sub(usize::from(first == 0)))
        }
        Some(b'e' | b'E') => return None,
        _ => {
            // Below 10^18; and the text of `-0` is kept.
            if whole > 18 || (negative && mantissa == 0) {
                return None;
            }
            let value = i64::from_le_bytes(mantissa.to_le_bytes());
            let value = if negative {
                value.wrapping_neg()
            } else {
                value
            };
            return Some((Node::int(value), at));
        }
    };
    if count > DIGITS {
        return None;
    }
    let value = decimal::quotient(mantissa, exponent)?;
    Some((Node::float(if negative { -value } else { value }), at))
}

/// Takes digits behind those of `value`, modulo 2^64; gives where they end.
#[inline]
fn digits(text: &[u8], from: usize, value: u64) -> (u64, usize) {
    const TENS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
    let (mut value, mut at) = (value, from);
    let mut rest = text.get(from..).unwrap_or_default();
    while let Some((word, later)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word) ^ 0x3030_3030_3030_3030;
        // The top bit of a byte is set where it is no digit; carries go to later ones only.
        let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
        if others != 0 {
            let n = (others.trailing_zeros() / 8) as usize;
            let ten = TENS.get(n).copied().unwrap_or(1);
            // Zeros come in front of the digits, and what is behind them goes.
            let word = word << 8 << (7_usize.wrapping_sub(n).wrapping_mul(8) & 63);
            let part = if n == 0 { 0 } else { eight(word) };
            return (
                value.wrapping_mul(ten).wrapping_add(part),
                at.wrapping_add(n),
            );
        }
        value = value.wrapping_mul(100_000_000).wrapping_add(eight(word));
        at = at.wrapping_add(8);
        rest = later;
    }
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at = at.wrapping_add(1);
    }
    (value, at)
}

/// The number of eight digits, the first in the lowest byte: pairs, fours, all.
#[inline]
fn eight(word: u64) -> u64 {
    const PAIR: u64 = 0x0000_00FF_0000_00FF;
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
    let high = (pairs & PAIR).wrapping_mul(100 + (1_000_000 << 32));
    let low = (pairs >> 16 & PAIR).wrapping_mul(1 + (10_000 << 32));
    high.wrapping_add(low) >> 32
}

/// Whether `text` is a JSON number and nothing else.
pub(super) fn is_number(text: &[u8]) -> bool {
    token(text).is_some_and(|token| token.len == text.len())
}

/// The value that a number's text is kept as; None if the text itself is.
#[inline]
pub(crate) fn value(text: &[u8], is_integer: bool) -> Option<Node> {
    if is_integer {
        return integer(text);
    }
    let (digits, is_zero) = significant(text);
    if digits > DIGITS {
        return None;
    }
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let kept = number.is_finite() && (is_zero || number != 0.0);
    kept.then(|| Node::float(number))
}

fn integer(text: &[u8]) -> Option<Node> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        _ => (false, text),
    };
    if digits.len() > 20 || text == b"-0" {
        return None;
    }
    // Below 10^19 nothing can overflow.
    let (most, last) = digits.split_at_checked(19).unwrap_or((digits, &[]));
    let mut value = 0_u64;
    for &digit in most {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit & 0xF));
    }
    for &digit in last {
        value = value.checked_mul(10)?.checked_add(u64::from(digit & 0xF))?;
    }
    if negative {
        return 0_i64.checked_sub_unsigned(value).map(Node::int);
    }
    Some(i64::try_from(value).map_or_else(|_| Node::uint(value), Node::int))
}

/// Digits of the mantissa from the first to the last that is not 0, and whether there is none.
fn significant(text: &[u8]) -> (usize, bool) {
    let mantissa = text
        .iter()
        .take_while(|&&byte| !matches!(byte, b'e' | b'E'));
    let (mut n, mut zeros) = (0_usize, 0_usize);
    for byte in mantissa.filter(|byte| byte.is_ascii_digit()) {
        if *byte != b'0' {
            n = n.wrapping_add(zeros).wrapping_add(1);
            zeros = 0;
        } else if n > 0 {
            zeros = zeros.wrapping_add(1);
        }
    }
    (n, n == 0)
}

/// Appends the shortest text that reads back as `value`, which is finite.
///
/// Plain from 1e-5 to below 1e16, else `d.ddde-x`; integral values end in `.0`.
pub(super) fn push_float(out: &mut Vec<u8>, value: f64) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    // Only these have no exponent; looking for one would take as long as writing the digits.
    let is_plain = (1e-5..1e16).contains(&value.abs()) || value == 0.0;
    if is_plain {
        return push_short(out, text.as_bytes());
    }
    let Some((digits, exponent)) = text.split_once('e') else {
        return out.extend_from_slice(text.as_bytes());
    };
    out.extend_from_slice(digits.as_bytes());
    out.push(b'e');
    out.extend_from_slice(exponent.trim_start_matches('+').as_bytes());
}

/// Appends a text that mostly has more than 16 bytes and at most 32: both ends of it at once.
#[inline]
fn push_short(out: &mut Vec<u8>, text: &[u8]) {
    let behind = text.len().wrapping_sub(16);
    match (text.first_chunk::<16>(), text.last_chunk::<16>()) {
        (Some(first), Some(last)) if behind <= 16 => {
            let middle = out.len().wrapping_add(behind);
            out.extend_from_slice(first);
            out.truncate(middle);
            out.extend_from_slice(last);
        }
        _ => out.extend_from_slice(text),
    }
}

/// Whether a number's text is the shortest of its value.
pub(super) fn is_shortest(text: &[u8], value: Node) -> bool {
    let Kind::Float = value.kind else {
        return true;
    };
    let mut out = Vec::new();
    push_float(&mut out, value.as_float());
    out == text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(text: &str) -> Option<Node> {
        let token = token(text.as_bytes()).unwrap();
        assert_eq!(text.len(), token.len);
        value(text.as_bytes(), token.is_integer)
    }

    #[test]
    fn integers_are_exact_or_text() {
        for value in [0, 7, -1, i64::MAX, i64::MIN, 10_i64.pow(18)] {
            let node = kept(&value.to_string()).unwrap();
            assert_eq!((Kind::Int, value), (node.kind, node.as_int()));
        }
        let node = kept("18446744073709551615").unwrap();
        assert_eq!((Kind::Uint, u64::MAX), (node.kind, node.bits));
        for text in [
            "18446744073709551616",
            "-9223372036854775809",
            "-0",
            "100000000000000000000000",
        ] {
            assert!(kept(text).is_none(), "{text}");
        }
    }

    #[test]
    fn floats_are_values_up_to_17_digits() {
        for (text, value) in [
            ("1.5", 1.5_f64),
            ("-0.0", -0.0),
            ("1e2", 100.0),
            ("0.1", 0.1),
            ("0e99", 0.0),
        ] {
            assert_eq!(value.to_bits(), kept(text).unwrap().bits, "{text}");
        }
        assert!(kept("-65.613616999999977").is_some());
        for text in [
            "1e400",
            "1e-400",
            "1.23456789012345678",
            "0.100000000000000000001",
        ] {
            assert!(kept(text).is_none(), "{text}");
        }
        assert!(kept("1.20000000000000000000").is_some());
    }

    proptest! {
        #[test]
        fn quick_numbers_are_the_ones_that_others_read(
            text in "(-?(0|[1-9][0-9]{0,20})([.][0-9]{1,20})?([eE][-+]?[0-9]{1,3})?)", after in "[], 0-9a]{0,9}"
        ) {
            let all = format!("{text}{after}");
            let token = token(all.as_bytes()).unwrap();
            if let Some((node, len)) = quick(all.as_bytes()) {
                let known = value(&all.as_bytes()[..token.len], token.is_integer).unwrap();
                prop_assert_eq!((len, node.kind, node.bits), (token.len, known.kind, known.bits));
            } else {
                let long = token.len > 17 || all.contains(['e', 'E']) || text.starts_with("-0");
                prop_assert!(long, "{}", all);
            }
        }

        #[test]
        fn eight_digits_are_one_number(value in 0_u64..100_000_000) {
            let text = format!("{value:08}");
            let word = u64::from_le_bytes(*text.as_bytes().first_chunk().unwrap());
            prop_assert_eq!(value, eight(word ^ 0x3030_3030_3030_3030));
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", "+1", ".5", "1.", "1.e5", "1e", "1e+", "e5", "a"] {
            assert!(quick(text.as_bytes()).is_none(), "{text}");
        }
        for text in ["", "-", "+1", ".5", "1.", "1.e5", "1e", "1e+", "e5", "a"] {
            assert!(!is_number(text.as_bytes()), "{text}");
        }
        assert!(!is_number(b"01") && !is_number(b"1 ") && is_number(b"-1.5E+07"));
    }

    #[test]
    fn text_of_floats_is_plain_from_1e_minus_5_to_1e16() {
        for (value, text) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e16"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
            (0.000_01, "0.00001"),
            (0.000_001, "1e-6"),
            (1.5e-7, "1.5e-7"),
            (1.25e300, "1.25e300"),
            (5e-324, "5e-324"),
        ] {
            let mut out = Vec::new();
            push_float(&mut out, value);
            assert_eq!(text, String::from_utf8(out).unwrap());
        }
    }
}
