//! Text of integers and decimals, many digits at a time.

use super::number::push_float;
use super::{decimal, layout::uint};

/// Up to 16 characters, the first in the lowest byte, and how many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Short {
    chars: u128,
    len: usize,
}

const ZEROS: u64 = 0x3030_3030_3030_3030;

impl Short {
    /// At most 16 bytes; those behind are left out.
    #[inline]
    pub(super) fn of(bytes: &[u8]) -> Self {
        let len = bytes.len().min(16);
        let chars = match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            (Some(first), Some(last)) => {
                let high = u128::from(u64::from_le_bytes(*last));
                u128::from(u64::from_le_bytes(*first)) | high << (bits(len).wrapping_sub(64) & 127)
            }
            _ => u128::from(uint(bytes)),
        };
        Self { chars, len }
    }

    /// Appends a character.
    #[inline]
    pub(super) fn then(self, byte: u8) -> Self {
        Self {
            chars: self.chars | u128::from(byte) << (bits(self.len) & 127),
            len: self.len.wrapping_add(1),
        }
    }

    /// Puts a character before all others.
    #[inline]
    pub(super) fn behind(self, byte: u8) -> Self {
        Self {
            chars: self.chars << 8 | u128::from(byte),
            len: self.len.wrapping_add(1),
        }
    }

    /// Appends the characters to `out`: all 16 at once, and then as many are taken off.
    #[inline]
    pub(super) fn push(self, out: &mut Vec<u8>) {
        let end = out.len().wrapping_add(self.len);
        out.extend_from_slice(&self.chars.to_le_bytes());
        out.truncate(end);
    }
}

/// Bits of so many characters.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "at most 16")]
fn bits(chars: usize) -> u32 {
    (chars as u32).wrapping_mul(8)
}

/// The eight digits of a number below 10^8, the first in the lowest byte.
#[inline]
fn eight(value: u64) -> u64 {
    let fours = (value / 10_000) | (value % 10_000) << 32;
    // x * 10486 >> 20 is x / 100 for x below 10^4, and x * 103 >> 10 is x / 10 below 100.
    let hundreds = fours.wrapping_mul(10_486) >> 20 & 0x0000_007F_0000_007F;
    let twos = hundreds | fours.wrapping_sub(hundreds.wrapping_mul(100)) << 16;
    let tens = twos.wrapping_mul(103) >> 10 & 0x000F_000F_000F_000F;
    tens | twos.wrapping_sub(tens.wrapping_mul(10)) << 8
}

/// The digits of a number below 10^16.
#[inline]
fn digits(value: u64) -> Short {
    const LOW: u64 = 100_000_000;
    if value < LOW {
        let all = eight(value);
        // The last digit stands even if it is zero.
        let zeros = (all | 1 << 63).trailing_zeros() / 8;
        return Short {
            chars: u128::from(all.wrapping_add(ZEROS) >> zeros.wrapping_mul(8)),
            len: 8_usize.wrapping_sub(zeros as usize),
        };
    }
    let high = eight(value / LOW);
    let zeros = high.trailing_zeros() / 8;
    let high = u128::from(high.wrapping_add(ZEROS) >> zeros.wrapping_mul(8));
    let low = u128::from(eight(value % LOW).wrapping_add(ZEROS));
    let len = 8_usize.wrapping_sub(zeros as usize);
    Short {
        chars: high | low << bits(len),
        len: len.wrapping_add(8),
    }
}

/// Appends an integer and a comma.
#[inline]
pub(super) fn push_int(out: &mut Vec<u8>, value: i64) {
    let size = value.unsigned_abs();
    if size < 100_000_000_000_000 {
        let digits = digits(size).then(b',');
        let digits = if value < 0 {
            digits.behind(b'-')
        } else {
            digits
        };
        return digits.push(out);
    }
    if value < 0 {
        out.push(b'-');
    }
    push_uint(out, size);
}

/// Appends an unsigned integer and a comma.
pub(super) fn push_uint(out: &mut Vec<u8>, value: u64) {
    const LOW: u64 = 10_000_000_000_000_000;
    if value < LOW {
        digits(value).push(out);
    } else {
        digits(value / LOW).push(out);
        let low = value % LOW;
        let halves = u128::from(eight(low / 100_000_000).wrapping_add(ZEROS))
            | u128::from(eight(low % 100_000_000).wrapping_add(ZEROS)) << 64;
        out.extend_from_slice(&halves.to_le_bytes());
    }
    out.push(b',');
}

/// Appends the float `m / 10^e` as the shortest text that reads back as it, and a comma.
///
/// That text is m with a point in it: m has at most 15 digits, and no two decimals of so few
/// are the same float, so that none with fewer digits is.
#[inline]
pub(super) fn push_decimal(out: &mut Vec<u8>, m: i64, exponent: usize) {
    let size = m.unsigned_abs();
    if size == 0 || size >= 1 << 47 || exponent > 15 {
        return push_other(out, m, exponent);
    }
    let mut all = digits(size);
    let mut e = exponent;
    // Zeros at the end say nothing behind the point.
    let nines = !(u128::MAX << (bits(all.len) & 127));
    let digits = all.chars ^ (0x3030_3030_3030_3030_3030_3030_3030_3030 & nines);
    let unused = 128_u32.wrapping_sub(bits(all.len));
    let zeros = ((digits.leading_zeros().wrapping_sub(unused) / 8) as usize).min(e);
    all.len = all.len.wrapping_sub(zeros);
    all.chars &= !(u128::MAX << (bits(all.len) & 127));
    e = e.wrapping_sub(zeros);
    if m < 0 {
        out.push(b'-');
    }
    if e == 0 {
        if all.len > 13 {
            all.push(out);
            return out.extend_from_slice(b".0,");
        }
        return all.then(b'.').then(b'0').then(b',').push(out);
    }
    if let Some(whole @ 1..) = all.len.checked_sub(e) {
        let before = all.chars & !(u128::MAX << (bits(whole) & 127));
        let behind = all.chars >> (bits(whole) & 127) << 8;
        all.chars = before | (behind | u128::from(b'.')) << (bits(whole) & 127);
        all.len = all.len.wrapping_add(1);
    } else {
        let zeros = e.wrapping_sub(all.len);
        if zeros > 4 {
            // Below 1e-5: with an exponent.
            if m < 0 {
                out.pop();
            }
            return push_other(out, m, exponent);
        }
        let start = b"0.0000".get(..zeros.wrapping_add(2)).unwrap_or_default();
        out.extend_from_slice(start);
    }
    all.push(out);
    out.push(b',');
}

#[cold]
fn push_other(out: &mut Vec<u8>, m: i64, e: usize) {
    push_float(out, decimal::float(m, e));
    out.push(b',');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = vec![b'>'];
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers_at_the_ends_of_each_length() {
        let mut values = vec![0, 1, -1, i64::MAX, i64::MIN];
        for power in 0..19 {
            let value = 10_i64.pow(power);
            values.extend([value, value - 1, value + 1, -value, 1 - value]);
        }
        for value in values {
            assert_eq!(format!(">{value},"), text(|out| push_int(out, value)));
        }
        for value in [u64::MAX, 1 << 63, 10_u64.pow(19)] {
            assert_eq!(format!(">{value},"), text(|out| push_uint(out, value)));
        }
    }

    fn check(m: i64, e: usize) {
        let mut expected = vec![b'>'];
        push_float(&mut expected, decimal::float(m, e));
        let expected = String::from_utf8(expected).unwrap() + ",";
        assert_eq!(expected, text(|out| push_decimal(out, m, e)), "{m} {e}");
    }

    #[test]
    fn decimals_are_as_the_shortest_text() {
        for m in [
            0,
            1,
            5,
            10,
            25,
            100,
            101,
            123_456_789,
            (1 << 47) - 1,
            99_999_999,
            100_000_000,
        ] {
            for e in 0..16 {
                check(m, e);
                check(-m, e);
            }
        }
    }

    proptest! {
        #[test]
        fn any_integer(value in any::<i64>(), shift in 0..64) {
            let value = value >> shift;
            prop_assert_eq!(format!(">{value},"), text(|out| push_int(out, value)));
        }

        #[test]
        fn any_decimal(m in -(1_i64 << 47) + 1..(1 << 47), shift in 0..47, e in 0_usize..16) {
            check(m >> shift, e);
        }

        #[test]
        fn short_texts(bytes in prop::collection::vec(any::<u8>(), 0..17)) {
            let mut out = vec![1];
            Short::of(&bytes).push(&mut out);
            prop_assert_eq!(&bytes[..], &out[1..]);
        }
    }
}
