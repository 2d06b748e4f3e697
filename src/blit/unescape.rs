//! Escapes in the strings of JSON text.

use super::surrogates;
use crate::{Error, ErrorKind, Result};

/// Appends what the escape at `at` stands for; gives where the text goes on.
///
/// `from` is where the string begins in `out`: the halves of a surrogate pair are put together no
/// further back. `halves` is set where there was half of one.
///
/// # Errors
/// `Malformed` or `Truncated` with the byte offset in the text.
pub(crate) fn escape(
    text: &[u8],
    at: usize,
    out: &mut Vec<u8>,
    from: usize,
    halves: &mut bool,
) -> Result<usize> {
    let next = at.wrapping_add(1);
    let byte = match text.get(next) {
        None => return Err(cut(text.len())),
        Some(b'u') => return unicode(text, at, out, from, halves),
        Some(&byte @ (b'"' | b'\\' | b'/')) => byte,
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(_) => return Err(wrong("an escape that JSON does not have", at)),
    };
    out.push(byte);
    Ok(next.wrapping_add(1))
}

fn unicode(
    text: &[u8],
    at: usize,
    out: &mut Vec<u8>,
    from: usize,
    halves: &mut bool,
) -> Result<usize> {
    let digits = at.wrapping_add(2);
    let end = at.wrapping_add(6);
    let mut unit = 0_u16;
    for place in digits..end {
        let digit = match text.get(place) {
            None => return Err(cut(text.len())),
            Some(&digit) => char::from(digit).to_digit(16),
        };
        let Some(digit) = digit else {
            return Err(wrong("\\u without four hexadecimal digits", at));
        };
        #[allow(clippy::cast_possible_truncation, reason = "below 16")]
        let digit = digit as u16;
        unit = unit << 4 | digit;
    }
    if let Some(character) = char::from_u32(u32::from(unit)) {
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    } else {
        *halves = true;
        surrogates::push(out, from, unit);
    }
    Ok(end)
}

/// The text is not JSON from `at` on.
#[cold]
pub(crate) fn wrong(text: &str, at: usize) -> Error {
    Error::new(ErrorKind::Malformed, text)
        .with_format("json")
        .with_offset(at as u64)
}

/// More text could make it JSON.
#[cold]
pub(crate) fn cut(at: usize) -> Error {
    Error::new(ErrorKind::Truncated, "the text ends before its value does")
        .with_format("json")
        .with_offset(at as u64)
}
