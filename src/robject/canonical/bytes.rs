//! Ints, doubles and strings of the canonical form.

use super::Canonical;
use crate::robject::model::{is_na, NA_REAL};
use crate::robject::strings::{Strings, Text, TextEncoding};
use crate::robject::text::Decoded;

/// The bits of a NaN that is not NA.
const NAN: u64 = 0x7FF8_0000_0000_0000;
/// Bytes that are gathered before they are given.
const BUFFER_BYTES: usize = 64 << 10;
/// Elements that are converted at a time.
const BLOCK: usize = 4096;

impl Canonical<'_, '_> {
    pub(super) fn texts(&mut self, all: &Strings) {
        self.length(all.len());
        all.iter().for_each(|text| self.text(text));
    }

    pub(super) fn text(&mut self, text: Text<'_>) {
        match self.recoder.decode(text) {
            None => {
                self.int(9);
                self.int(-1);
            }
            Some(decoded) => {
                let (bytes, mark) = marked(&decoded, text.encoding());
                self.char(bytes, mark);
            }
        }
    }

    pub(super) fn char(&mut self, bytes: &[u8], mark: u16) {
        self.int(9 | i32::from(mark) << 12);
        self.length(bytes.len());
        self.bytes(bytes);
    }

    pub(super) fn int(&mut self, value: i32) {
        self.bytes(&value.swap_bytes().to_le_bytes());
    }

    /// One int, or -1 and two halves.
    pub(super) fn length(&mut self, length: usize) {
        if let Ok(short) = i32::try_from(length) {
            return self.int(short);
        }
        let long = length as u64;
        self.int(-1);
        self.bytes(&long.swap_bytes().to_le_bytes());
    }

    pub(super) fn ints(&mut self, all: &[i32]) {
        self.length(all.len());
        for block in all.chunks(BLOCK) {
            for value in block {
                let bytes = value.swap_bytes().to_le_bytes();
                self.buffer.extend_from_slice(&bytes);
            }
            self.bytes(&[]);
        }
    }

    /// Doubles of a vector of so many elements, each of one or two.
    pub(super) fn doubles(&mut self, length: usize, all: &[f64]) {
        self.length(length);
        for block in all.chunks(BLOCK) {
            for value in block {
                let bits = match *value {
                    value if is_na(value) => NA_REAL,
                    value if value.is_nan() => NAN,
                    0.0 => 0,
                    value => value.to_bits(),
                };
                let bytes = bits.swap_bytes().to_le_bytes();
                self.buffer.extend_from_slice(&bytes);
            }
            self.bytes(&[]);
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        if bytes.len() >= BUFFER_BYTES {
            (self.sink)(&self.buffer);
            self.buffer.clear();
            return (self.sink)(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES {
            (self.sink)(&self.buffer);
            self.buffer.clear();
        }
    }
}

pub(super) fn marked<'t>(decoded: &'t Decoded<'t>, encoding: TextEncoding) -> (&'t [u8], u16) {
    let utf8 = |text: &'t str| {
        let mark = if text.is_ascii() {
            TextEncoding::Ascii
        } else {
            TextEncoding::Utf8
        };
        (text.as_bytes(), mark.levels())
    };
    match decoded {
        Decoded::Same(text) => utf8(text),
        Decoded::Recoded(text) => utf8(text),
        Decoded::Bytes(bytes) => (bytes, encoding.levels()),
    }
}
