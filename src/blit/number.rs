//! Numbers as JSON has them: exact, or kept as text.

use super::node::{Kind, Node};

/// Floats of up to so many significant digits are taken by value.
const DIGITS: usize = 17;

/// What a number's text looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Token {
    /// Bytes of the text.
    pub(super) len: usize,
    /// No fraction and no exponent.
    pub(super) is_integer: bool,
}

/// The number at the start of `text`; None if there is none.
#[inline]
pub(super) fn token(text: &[u8]) -> Option<Token> {
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

/// Whether `text` is a JSON number and nothing else.
pub(super) fn is_number(text: &[u8]) -> bool {
    token(text).is_some_and(|token| token.len == text.len())
}

/// The value that a number's text is kept as; None if the text itself is.
#[inline]
pub(super) fn value(text: &[u8], is_integer: bool) -> Option<Node> {
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
    let Some((digits, exponent)) = text.split_once('e') else {
        out.extend_from_slice(text.as_bytes());
        return;
    };
    out.extend_from_slice(digits.as_bytes());
    out.push(b'e');
    out.extend_from_slice(exponent.trim_start_matches('+').as_bytes());
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

    #[test]
    fn what_is_no_number_is_none() {
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
