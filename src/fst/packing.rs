//! Small integers and logicals in fewer bits.
//!
//! - Logicals, 2 bits: one u64 for 32 values. Value 2k lies in the low half, 2k + 1 in the high
//!   half: its bit at bit k, NA at bit 31 - k of the half.
//! - Bytes: 8 integers in a u64, even ones in the low half, odd ones in the high half, each half
//!   in reversed order; 7 bits of value, bit 7 for NA.
//! - Shorts: 4 integers in a u64 in the same way; 15 bits of value, bit 15 for NA.

#![allow(
    clippy::many_single_char_names,
    reason = "the bytes of a word, in their order"
)]

/// NA.
pub(super) const NA: i32 = i32::MIN;

/// Bytes of `count` logicals.
pub(super) fn logical_bytes(count: usize) -> usize {
    count.div_ceil(32).saturating_mul(8)
}

/// Bytes of `count` integers as bytes.
pub(super) fn byte_bytes(count: usize) -> usize {
    count.div_ceil(8).saturating_mul(8)
}

/// Bytes of `count` integers as shorts.
pub(super) fn short_bytes(count: usize) -> usize {
    count.div_ceil(4).saturating_mul(8)
}

/// The words of packed values.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let words = bytes.chunks_exact(8);
    words.map(|word| word.first_chunk().copied().map_or(0, u64::from_le_bytes))
}

/// Logicals from their bits.
pub(super) fn unpack_logicals(bytes: &[u8], into: &mut [i32]) {
    for (word, values) in words(bytes).zip(into.chunks_mut(32)) {
        let mut all = [0; 32];
        for (pair, k) in all.chunks_exact_mut(2).zip(0_u32..) {
            for (value, base) in pair.iter_mut().zip([0_u32, 32]) {
                let na = word.wrapping_shr(base.wrapping_add(31).wrapping_sub(k)) & 1;
                let one = word.wrapping_shr(base.wrapping_add(k)) & 1;
                *value = if na == 1 { NA } else { i32::from(one == 1) };
            }
        }
        copy(&all, values);
    }
}

/// Integers from bytes.
pub(super) fn unpack_bytes(bytes: &[u8], into: &mut [i32]) {
    for (word, values) in words(bytes).zip(into.chunks_mut(8)) {
        let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
        let all = [d, h, c, g, b, f, a, e].map(|byte| match byte {
            0..=127 => i32::from(byte),
            _ => NA,
        });
        copy(&all, values);
    }
}

/// Integers from shorts.
pub(super) fn unpack_shorts(bytes: &[u8], into: &mut [i32]) {
    for (word, values) in words(bytes).zip(into.chunks_mut(4)) {
        let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
        let all = [[c, d], [g, h], [a, b], [e, f]].map(|short| match u16::from_le_bytes(short) {
            short @ 0..=0x7FFF => i32::from(short),
            _ => NA,
        });
        copy(&all, values);
    }
}

/// The bits of logicals, appended: 0, 1 or NA.
pub(super) fn pack_logicals(values: &[i32], into: &mut Vec<u8>) {
    for values in values.chunks(32) {
        let mut word = 0_u64;
        for (pair, k) in values.chunks(2).zip(0_u32..) {
            for (value, base) in pair.iter().zip([0_u32, 32]) {
                let na =
                    u64::from(*value == NA).wrapping_shl(base.wrapping_add(31).wrapping_sub(k));
                let one = u64::from(*value == 1).wrapping_shl(base.wrapping_add(k));
                word |= na | one;
            }
        }
        into.extend_from_slice(&word.to_le_bytes());
    }
}

/// Integers as bytes, appended: 0 to 127 or NA.
pub(super) fn pack_bytes(values: &[i32], into: &mut Vec<u8>) {
    for values in values.chunks(8) {
        let mut all = [0; 8];
        copy(values, &mut all);
        let [d, h, c, g, b, f, a, e] = all.map(|value| u8::try_from(value).unwrap_or(0x80));
        into.extend_from_slice(&[a, b, c, d, e, f, g, h]);
    }
}

/// Integers as shorts, appended: 0 to 32,767 or NA.
pub(super) fn pack_shorts(values: &[i32], into: &mut Vec<u8>) {
    for values in values.chunks(4) {
        let mut all = [0; 4];
        copy(values, &mut all);
        let all = all.map(|value| u16::try_from(value).unwrap_or(0x8000));
        let [[c, d], [g, h], [a, b], [e, f]] = all.map(u16::to_le_bytes);
        into.extend_from_slice(&[a, b, c, d, e, f, g, h]);
    }
}

/// The largest of values that are not NA, or None where one is negative.
pub(super) fn largest(values: &[i32]) -> Option<i32> {
    let mut most = 0;
    let mut negative = false;
    for value in values {
        most = most.max(*value);
        negative |= *value < 0 && *value != NA;
    }
    (!negative).then_some(most)
}

/// As many as there is place for.
#[inline]
fn copy(all: &[i32], into: &mut [i32]) {
    for (value, found) in into.iter_mut().zip(all) {
        *value = *found;
    }
}

#[cfg(test)]
#[allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::indexing_slicing,
    reason = "a test stops at once"
)]
mod tests {
    use super::*;

    #[test]
    fn bits_stand_where_the_layout_says() {
        for at in 0..32 {
            let half = 32 * (at % 2);
            let k = at / 2;
            let mut found = [0; 32];
            unpack_logicals(&(1_u64 << (half + k)).to_le_bytes(), &mut found);
            let mut expected = [0; 32];
            expected[at] = 1;
            assert_eq!(expected, found, "{at}");
            unpack_logicals(&(1_u64 << (half + 31 - k)).to_le_bytes(), &mut found);
            expected[at] = NA;
            assert_eq!(expected, found, "NA at {at}");
        }
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        for len in [0, 1, 3, 4, 5, 7, 8, 9, 31, 32, 33, 64, 100, 4096] {
            let of = |most: i32| -> Vec<i32> {
                let values = (0..len).map(|at: i32| at.wrapping_mul(7_919) % (most + 2));
                values
                    .map(|value| if value > most { NA } else { value })
                    .collect()
            };
            let mut bytes = Vec::new();
            let mut found = vec![77; of(1).len()];
            pack_logicals(&of(1), &mut bytes);
            assert_eq!(logical_bytes(found.len()), bytes.len());
            unpack_logicals(&bytes, &mut found);
            assert_eq!(of(1), found);
            bytes.clear();
            pack_bytes(&of(127), &mut bytes);
            assert_eq!(byte_bytes(found.len()), bytes.len());
            unpack_bytes(&bytes, &mut found);
            assert_eq!(of(127), found);
            bytes.clear();
            pack_shorts(&of(32_767), &mut bytes);
            assert_eq!(short_bytes(found.len()), bytes.len());
            unpack_shorts(&bytes, &mut found);
            assert_eq!(of(32_767), found);
        }
        assert_eq!(Some(5), largest(&[NA, 5, 0]));
        assert_eq!(None, largest(&[NA, 5, -1]));
        assert_eq!(Some(0), largest(&[]));
    }

    #[test]
    fn bytes_and_shorts_stand_where_the_layout_says() {
        let mut found = [0; 8];
        unpack_bytes(&[6, 4, 2, 0x80, 7, 5, 3, 1], &mut found);
        assert_eq!([NA, 1, 2, 3, 4, 5, 6, 7], found);
        let mut found = [0; 3];
        unpack_bytes(&[6, 4, 2, 0, 7, 5, 3, 1], &mut found);
        assert_eq!([0, 1, 2], found);
        let mut found = [0; 4];
        unpack_shorts(&[2, 1, 0, 0x80, 3, 0, 1, 0], &mut found);
        assert_eq!([NA, 1, 258, 3], found);
    }
}
