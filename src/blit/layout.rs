//! The bytes of the format: tags, kinds, and the small codings that everything else is made of.
//!
//! Numbers of 7-bit groups (`rv`) are read backwards, because containers are: the lowest group
//! is in the last byte, and a byte with bit 7 set is continued in the byte before it.

use crate::{Error, ErrorKind, Result};

/// First bytes of a document.
pub(super) const MAGIC: &[u8; 4] = b"BLT1";
/// Last bytes of a document.
pub(super) const END_MAGIC: &[u8; 2] = b"BT";
/// The version of the layout that is written, and the only one there is.
pub(super) const VERSION: u8 = 1;
/// The shortest document: magic, and a trailer of ten bytes.
pub(super) const SHORTEST: usize = 14;
/// Most levels of containers inside each other, written and read.
pub(super) const MAX_DEPTH: usize = 1024;
/// Most lists inside each other: some, such as those of what is present, are no levels.
pub(super) const MAX_LISTS: usize = MAX_DEPTH + 128;
/// Most elements of one segment of a long array.
pub(super) const SEGMENT: usize = 65_536;
/// Lists up to this length do not store their last length: it is the rest.
pub(super) const IMPLIED: usize = 16;
/// Up to so many names, one fingerprint byte each; more, their order.
pub(super) const FINGERPRINTED: usize = 4096;

/// What an extent holds; given by whatever holds the extent.
pub(super) mod tag {
    pub const NULL: u8 = 0x00;
    pub const FALSE: u8 = 0x01;
    pub const TRUE: u8 = 0x02;
    /// Two's complement, 1 to 8 bytes.
    pub const INT: u8 = 0x03;
    /// Above 2^63 - 1, 8 bytes.
    pub const UINT: u8 = 0x04;
    pub const F64: u8 = 0x05;
    /// Widened exactly; never NaN.
    pub const F32: u8 = 0x06;
    /// No byte below 0x20, no `"`, no `\`.
    pub const CLEAN: u8 = 0x07;
    /// May need escapes.
    pub const STR: u8 = 0x08;
    /// Clean, and ASCII.
    pub const ASCII: u8 = 0x09;
    /// Id of a string in POOL.
    pub const POOLED: u8 = 0x0A;
    /// LZ4 block, then the plain length.
    pub const LZ4: u8 = 0x0B;
    pub const ARRAY: u8 = 0x0C;
    pub const OBJECT: u8 = 0x0D;
    /// A row has no such key; in columns only.
    pub const ABSENT: u8 = 0x0E;
    /// m / 10^e.
    pub const DEC: u8 = 0x0F;
    /// A JSON number as text.
    pub const NUMTEXT: u8 = 0x10;
    pub const BYTES: u8 = 0x11;
    /// From here on the tag is an integer: `tag - 0xA0`.
    pub const SMALL: u8 = 0x80;

    /// The least and the largest integer that a tag is.
    pub const SMALLEST: i64 = -32;
    pub const LARGEST: i64 = 95;

    /// The tag of a small integer.
    pub(in crate::blit) fn small(value: i64) -> Option<u8> {
        if !(SMALLEST..=LARGEST).contains(&value) {
            return None;
        }
        u8::try_from(value.wrapping_add(0xA0)).ok()
    }

    /// The integer that a tag is.
    pub(in crate::blit) fn integer(tag: u8) -> Option<i64> {
        (tag >= SMALL).then(|| i64::from(tag).wrapping_sub(0xA0))
    }
}

/// How a list lays out its elements: the low four bits of its last byte.
pub(super) mod kind {
    pub const GENERIC: u8 = 0;
    pub const UNIFORM: u8 = 1;
    pub const INT: u8 = 2;
    pub const FLOAT: u8 = 3;
    pub const DEC: u8 = 4;
    pub const TABLE: u8 = 5;
    pub const NESTED: u8 = 6;
    pub const DICT: u8 = 7;
    pub const BITMAP: u8 = 8;
    pub const PARTIAL: u8 = 9;
    pub const SEGMENTED: u8 = 10;
    pub const TUPLES: u8 = 11;

    /// Names for people, by number.
    pub const NAMES: [&str; 12] = [
        "GENERIC",
        "UNIFORM",
        "INT",
        "FLOAT",
        "DEC",
        "TABLE",
        "NESTED",
        "DICT",
        "BITMAP",
        "PARTIAL",
        "SEGMENTED",
        "TUPLES",
    ];
}

/// Bits of the trailer's flag byte.
pub(super) mod flag {
    pub const CHECKSUM: u8 = 1;
    pub const POOL: u8 = 2;
    pub const ALIGNED: u8 = 4;
    pub const KEEPS_DUPLICATES: u8 = 8;
    pub const WTF8: u8 = 16;
    pub const CANONICAL: u8 = 32;
    /// All that are defined.
    pub const KNOWN: u8 = 63;
}

/// Bytes that hold `value`, at least 1.
pub(super) fn unsigned_width(value: u64) -> usize {
    let bits = 64_u32.wrapping_sub((value | 1).leading_zeros());
    bits.div_ceil(8) as usize
}

/// Bytes that hold `value` in two's complement, at least 1.
pub(super) fn signed_width(value: i64) -> usize {
    // The magnitude's bits and one for the sign.
    let magnitude = if value < 0 { !value } else { value };
    let bits = 65_u32.wrapping_sub(magnitude.leading_zeros());
    bits.div_ceil(8) as usize
}

/// Appends an `rv`. `value` is below 2^63.
#[allow(clippy::cast_possible_truncation, reason = "seven bits")]
pub(super) fn push_rv(out: &mut Vec<u8>, value: u64) {
    let mut groups = [0_u8; 9];
    let mut rest = value;
    let mut at = groups.len();
    loop {
        at = at.wrapping_sub(1);
        if let Some(place) = groups.get_mut(at) {
            *place = (rest & 0x7F) as u8;
        }
        rest >>= 7;
        if rest == 0 || at == 0 {
            break;
        }
    }
    // All but the first in memory say that one comes before them.
    for place in groups.iter_mut().skip(at.wrapping_add(1)) {
        *place |= 0x80;
    }
    out.extend_from_slice(groups.get(at..).unwrap_or_default());
}

/// Bytes of an `rv`.
pub(super) fn rv_bytes(value: u64) -> usize {
    let bits = 64_u32.wrapping_sub((value | 1).leading_zeros());
    bits.div_ceil(7) as usize
}

/// Appends the low `width` bytes of `value`.
pub(super) fn push_uint(out: &mut Vec<u8>, value: u64, width: usize) {
    let bytes = value.to_le_bytes();
    out.extend_from_slice(bytes.get(..width).unwrap_or(&bytes));
}

/// Appends the low `width` bytes of each value.
#[allow(clippy::cast_possible_truncation, reason = "the low byte is meant")]
pub(super) fn push_uints(
    out: &mut Vec<u8>,
    values: impl ExactSizeIterator<Item = u64>,
    width: usize,
) {
    match width {
        1 => out.extend(values.map(|value| value as u8)),
        2 => push_words::<2>(out, values),
        3 => push_words::<3>(out, values),
        4 => push_words::<4>(out, values),
        5 => push_words::<5>(out, values),
        6 => push_words::<6>(out, values),
        7 => push_words::<7>(out, values),
        _ => push_words::<8>(out, values),
    }
}

fn push_words<const WIDTH: usize>(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = u64>) {
    let from = out.len();
    let size = values.len().saturating_mul(WIDTH);
    out.resize(from.saturating_add(size), 0);
    let places = out.get_mut(from..).unwrap_or_default();
    for (place, value) in places.chunks_exact_mut(WIDTH).zip(values) {
        if let Some(low) = value.to_le_bytes().first_chunk::<WIDTH>() {
            place.copy_from_slice(low);
        }
    }
}

/// An unsigned number of at most 8 bytes.
#[inline]
#[allow(clippy::many_single_char_names, reason = "the bytes in order")]
pub(super) fn uint(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c] => u64::from(u32::from_le_bytes([a, b, c, 0])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e] => u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]),
        [a, b, c, d, e, f] => u64::from_le_bytes([a, b, c, d, e, f, 0, 0]),
        [a, b, c, d, e, f, g] => u64::from_le_bytes([a, b, c, d, e, f, g, 0]),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => {
            let mut all = [0; 8];
            for (place, byte) in all.iter_mut().zip(bytes) {
                *place = *byte;
            }
            u64::from_le_bytes(all)
        }
    }
}

/// `N` bytes at `at`; None if fewer are there.
#[inline]
pub(super) fn bytes_at<const N: usize>(data: &[u8], at: usize) -> Option<&[u8; N]> {
    data.get(at..at.wrapping_add(N))?.first_chunk::<N>()
}

/// The unsigned number of `width` bytes, 1 to 8, at `at`: as if zeros followed the document.
#[inline]
pub(super) fn uint_at(data: &[u8], at: usize, width: usize) -> usize {
    let unused = 64_usize.wrapping_sub(width.wrapping_mul(8)) & 63;
    let word = match bytes_at::<8>(data, at) {
        Some(word) => u64::from_le_bytes(*word),
        None => last_bytes(data, at),
    };
    let value = word & (u64::MAX >> unused);
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// Fewer than 8 bytes to the end of the document.
#[cold]
fn last_bytes(data: &[u8], at: usize) -> u64 {
    data.get(at..).map_or(0, uint)
}

/// A number of at most 8 bytes in two's complement; 0 of none.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "at most 63; the bits are meant"
)]
pub(super) fn int(bytes: &[u8]) -> i64 {
    let unused = 64_usize
        .saturating_sub(bytes.len().saturating_mul(8))
        .min(63);
    // The sign moves up to bit 63 and back.
    (uint(bytes).wrapping_shl(unused as u32) as i64).wrapping_shr(unused as u32)
}

/// An error of a document that cannot be, at byte `at`; `rule` is a number of the specification.
#[cold]
pub(super) fn malformed(rule: &'static str, text: &str, at: usize) -> Error {
    broken(ErrorKind::Malformed, rule, text, at)
}

/// An error of another kind.
#[cold]
pub(super) fn broken(kind: ErrorKind, rule: &'static str, text: &str, at: usize) -> Error {
    Error::new(kind, format!("{text} (rule {rule})"))
        .with_format("blit")
        .with_offset(at as u64)
}

/// Reads backwards from `end`, not beyond `start`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Back<'a> {
    pub(super) data: &'a [u8],
    pub(super) start: usize,
    pub(super) end: usize,
}

impl<'a> Back<'a> {
    pub(super) fn new(data: &'a [u8], start: usize, end: usize) -> Self {
        Self { data, start, end }
    }

    /// The byte before, which is gone past.
    ///
    /// # Errors
    /// V7 if there is none.
    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8> {
        if self.end <= self.start {
            return Err(malformed(
                "V7",
                "a list begins before its extent",
                self.start,
            ));
        }
        self.end = self.end.wrapping_sub(1);
        match self.data.get(self.end) {
            Some(&byte) => Ok(byte),
            None => Err(malformed(
                "V7",
                "an extent lies outside the document",
                self.end,
            )),
        }
    }

    /// The `rv` before, which is gone past.
    ///
    /// # Errors
    /// V7 if it is not the shortest form of a number below 2^63 inside the extent.
    #[inline]
    pub(super) fn rv(&mut self) -> Result<usize> {
        let byte = self.byte()?;
        if byte < 0x80 {
            return Ok(usize::from(byte));
        }
        self.long_rv(byte)
    }

    fn long_rv(&mut self, first: u8) -> Result<usize> {
        let mut value = u64::from(first & 0x7F);
        for shift in (7..63).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                if byte == 0 {
                    return Err(malformed("V7", "a number longer than it need be", self.end));
                }
                return usize::try_from(value)
                    .map_err(|_| malformed("V7", "a number above this machine's", self.end));
            }
        }
        Err(malformed(
            "V7",
            "a number of more than nine bytes",
            self.end,
        ))
    }

    /// Goes past the `size` bytes before, behind which something was read.
    ///
    /// # Errors
    /// V18 if there are fewer.
    #[inline]
    pub(super) fn skip(&mut self, size: usize) -> Result<()> {
        match self.end.checked_sub(size) {
            Some(end) if end >= self.start => {
                self.end = end;
                Ok(())
            }
            _ => Err(malformed(
                "V18",
                "a list longer than its extent",
                self.start,
            )),
        }
    }

    /// The `size` bytes before, which are gone past.
    ///
    /// # Errors
    /// V18 if there are fewer.
    #[inline]
    pub(super) fn bytes(&mut self, size: usize) -> Result<&'a [u8]> {
        let from = self
            .end
            .checked_sub(size)
            .filter(|&from| from >= self.start);
        let found = from.and_then(|from| self.data.get(from..self.end));
        let (Some(from), Some(found)) = (from, found) else {
            return Err(malformed(
                "V18",
                "a list longer than its extent",
                self.start,
            ));
        };
        self.end = from;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_seven_bits_are_read_from_their_end() {
        for (value, bytes) in [
            (0, &[0x00][..]),
            (127, &[0x7F]),
            (128, &[0x01, 0x80]),
            (300, &[0x02, 0xAC]),
            (
                (1 << 62) + 5,
                &[0x40, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x85],
            ),
        ] {
            let mut out = Vec::new();
            push_rv(&mut out, value);
            assert_eq!(bytes, out);
            assert_eq!(bytes.len(), rv_bytes(value));
            let mut back = Back::new(&out, 0, out.len());
            assert_eq!(value, back.rv().unwrap() as u64);
            assert_eq!(0, back.end);
        }
        for wrong in [
            &[0x00, 0x80][..],
            &[0x80],
            &[0x01, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80],
        ] {
            let mut back = Back::new(wrong, 0, wrong.len());
            assert_eq!(ErrorKind::Malformed, back.rv().unwrap_err().kind());
        }
    }

    #[test]
    fn widths_are_the_least() {
        for (value, width) in [(0, 1), (255, 1), (256, 2), (u64::MAX, 8), (1 << 24, 4)] {
            assert_eq!(width, unsigned_width(value));
        }
        for (value, width) in [
            (0, 1),
            (127, 1),
            (128, 2),
            (-128, 1),
            (-129, 2),
            (i64::MIN, 8),
            (1 << 23, 4),
        ] {
            assert_eq!(width, signed_width(value));
            let bytes = value.to_le_bytes();
            assert_eq!(value, int(&bytes[..width]));
        }
        assert_eq!(0, int(&[]));
    }

    #[test]
    fn small_integers_are_tags() {
        assert_eq!(
            (Some(0x80), Some(0xA1), Some(0xFF)),
            (tag::small(-32), tag::small(1), tag::small(95))
        );
        assert_eq!((None, None), (tag::small(-33), tag::small(96)));
        assert_eq!(Some(-32), tag::integer(0x80));
        assert_eq!(None, tag::integer(0x7F));
    }
}
