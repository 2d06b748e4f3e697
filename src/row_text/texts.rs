//! Strings, in the quotes of JSON and of CSV.

use arrow_array::cast::AsArray;
use arrow_array::{Array, LargeStringArray, StringArray, StringViewArray};
use arrow_schema::DataType;

use super::Json;
use crate::blit::plain_end;

/// A column of texts.
#[derive(Debug)]
pub(super) enum Texts {
    Short(StringArray),
    Long(LargeStringArray),
    View(StringViewArray),
}

impl Texts {
    /// The array, if it is one of texts.
    pub(super) fn of(array: &dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Utf8 => Self::Short(array.as_string().clone()),
            DataType::LargeUtf8 => Self::Long(array.as_string().clone()),
            DataType::Utf8View => Self::View(array.as_string_view().clone()),
            _ => return None,
        })
    }

    #[inline]
    pub(super) fn value(&self, row: usize) -> &str {
        match self {
            Self::Short(array) => array.value(row),
            Self::Long(array) => array.value(row),
            Self::View(array) => array.value(row),
        }
    }
}

/// Appends a string of JSON with its quotes.
#[inline]
pub(super) fn push_json(out: &mut Vec<u8>, text: &str, json: Json) {
    out.push(b'"');
    let (end, high) = plain_end(text.as_bytes(), 0);
    // DEL has an escape there too.
    let is_ascii = || !high && memchr::memchr(0x7F, text.as_bytes()).is_none();
    if end == text.len() && (json == Json::Compact || is_ascii()) {
        out.extend_from_slice(text.as_bytes());
    } else if json == Json::Compact {
        push_escaped(out, text.as_bytes());
    } else {
        push_ascii(out, text);
    }
    out.push(b'"');
}

/// Appends what has escapes, as UTF-8.
fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    loop {
        let (end, _) = plain_end(rest, 0);
        let (plain, later) = rest.split_at_checked(end).unwrap_or((rest, b""));
        out.extend_from_slice(plain);
        let Some((&byte, later)) = later.split_first() else {
            return;
        };
        push_escape(out, byte.into());
        rest = later;
    }
}

/// Appends DEL and characters beyond ASCII as escapes too, as Python's `json` does.
fn push_ascii(out: &mut Vec<u8>, text: &str) {
    for character in text.chars() {
        let code = u32::from(character);
        match u8::try_from(code) {
            Ok(byte @ 0x20..=0x7E) if byte != b'"' && byte != b'\\' => out.push(byte),
            _ => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    push_escape(out, *unit);
                }
            }
        }
    }
}

/// Appends a code unit by its escape: the short one, if it has such.
fn push_escape(out: &mut Vec<u8>, unit: u16) {
    let short = match unit {
        0x08 => b'b',
        0x09 => b't',
        0x0A => b'n',
        0x0C => b'f',
        0x0D => b'r',
        0x22 => b'"',
        0x5C => b'\\',
        _ => {
            out.extend_from_slice(b"\\u");
            for shift in [12, 8, 4, 0] {
                let digit = (unit >> shift & 0xF).to_le_bytes()[0];
                let letter = digit.wrapping_sub(10).wrapping_add(b'a');
                out.push(if digit < 10 { b'0' | digit } else { letter });
            }
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Appends a field of a CSV with its quotes; those within are doubled.
#[inline]
pub(super) fn push_quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'"', rest) {
        let (before, later) = rest
            .split_at_checked(at.wrapping_add(1))
            .unwrap_or((rest, b""));
        out.extend_from_slice(before);
        out.push(b'"');
        rest = later;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
