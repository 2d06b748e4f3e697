//! Bytes of numbers sorted by their weight, so that equal ones stand together.
//!
//! Groups of 8 numbers; plane 0 holds the most significant byte of every number, the next plane
//! the next. What is fewer than 8 at the end follows as it is. Within the 8 bytes of a group:
//! `sh8` byte j is of number 7 - j; `sh4` byte j of half h is of number 2 * (3 - j) + h.

#![allow(
    clippy::many_single_char_names,
    reason = "the rows of a square, in their order"
)]

use super::element::{load, Element};
use super::source::u64_at;

/// The 8 bytes of a group in a plane.
fn word(bytes: &[u8], groups: usize, plane: usize, group: usize) -> u64 {
    let at = plane.wrapping_mul(groups).wrapping_add(group);
    u64_at(bytes, at.wrapping_mul(8))
}

/// Undoes `sh8` for numbers of 8 bytes.
pub(super) fn unshuffle8<T: Element>(bytes: &[u8], into: &mut [T]) {
    let groups = into.len() / 8;
    let (whole, rest) = into.split_at_mut(groups.saturating_mul(8));
    for (group, values) in whole.chunks_exact_mut(8).enumerate() {
        let mut rows = [0; 8];
        for (weight, row) in rows.iter_mut().enumerate() {
            *row = word(bytes, groups, 7_usize.wrapping_sub(weight), group);
        }
        transpose8(&mut rows);
        for (value, row) in values.iter_mut().zip(rows.iter().rev()) {
            *value = T::load(&row.to_le_bytes());
        }
    }
    load(
        bytes.get(groups.saturating_mul(64)..).unwrap_or_default(),
        rest,
    );
}

/// Undoes `sh4` for numbers of 4 bytes.
pub(super) fn unshuffle4(bytes: &[u8], into: &mut [i32]) {
    let groups = into.len() / 8;
    let (whole, rest) = into.split_at_mut(groups.saturating_mul(8));
    for (group, values) in whole.chunks_exact_mut(8).enumerate() {
        let mut rows = [0; 4];
        for (weight, row) in rows.iter_mut().enumerate() {
            *row = word(bytes, groups, 3_usize.wrapping_sub(weight), group);
        }
        transpose4(&mut rows);
        for (pair, row) in values.chunks_exact_mut(2).zip(rows.iter().rev()) {
            load(&row.to_le_bytes(), pair);
        }
    }
    load(
        bytes.get(groups.saturating_mul(32)..).unwrap_or_default(),
        rest,
    );
}

/// `sh8` of numbers of 8 bytes, appended.
pub(super) fn shuffle8<T: Element>(values: &[T], into: &mut Vec<u8>) {
    let (whole, rest) = values.split_at(values.len().saturating_sub(values.len() % 8));
    let start = into.len();
    into.resize(start.saturating_add(whole.len().saturating_mul(8)), 0);
    let planes = into.get_mut(start..).unwrap_or_default();
    let groups = whole.len() / 8;
    for (group, values) in whole.chunks_exact(8).enumerate() {
        let mut rows = [0; 8];
        for (row, value) in rows.iter_mut().rev().zip(values) {
            *row = value.word();
        }
        transpose8(&mut rows);
        for (plane, row) in rows.iter().rev().enumerate() {
            put(planes, groups, plane, group, *row);
        }
    }
    for value in rest {
        value.store(into);
    }
}

/// `sh4` of numbers of 4 bytes, appended.
pub(super) fn shuffle4(values: &[i32], into: &mut Vec<u8>) {
    let (whole, rest) = values.split_at(values.len().saturating_sub(values.len() % 8));
    let start = into.len();
    into.resize(start.saturating_add(whole.len().saturating_mul(4)), 0);
    let planes = into.get_mut(start..).unwrap_or_default();
    let groups = whole.len() / 8;
    for (group, values) in whole.chunks_exact(8).enumerate() {
        let mut rows = [0; 4];
        for (row, pair) in rows.iter_mut().rev().zip(values.chunks_exact(2)) {
            let [low, high] = pair else { continue };
            *row = low.word() | high.word().wrapping_shl(32);
        }
        transpose4(&mut rows);
        for (plane, row) in rows.iter().rev().enumerate() {
            put(planes, groups, plane, group, *row);
        }
    }
    for value in rest {
        value.store(into);
    }
}

/// Sets the 8 bytes of a group in a plane.
fn put(planes: &mut [u8], groups: usize, plane: usize, group: usize, word: u64) {
    let at = plane
        .wrapping_mul(groups)
        .wrapping_add(group)
        .wrapping_mul(8);
    if let Some(eight) = planes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *eight = word.to_le_bytes();
    }
}

/// Byte b of row j becomes byte j of row b; undoes itself.
#[inline]
fn transpose8(rows: &mut [u64; 8]) {
    let [a, b, c, d, e, f, g, h] = rows;
    for (one, two) in [(&mut *a, &mut *e), (b, f), (c, g), (d, h)] {
        swap(one, two, 32, 0x0000_0000_FFFF_FFFF);
    }
    let [a, b, c, d, e, f, g, h] = rows;
    for (one, two) in [(&mut *a, &mut *c), (b, d), (e, g), (f, h)] {
        swap(one, two, 16, 0x0000_FFFF_0000_FFFF);
    }
    let [a, b, c, d, e, f, g, h] = rows;
    for (one, two) in [(&mut *a, &mut *b), (c, d), (e, f), (g, h)] {
        swap(one, two, 8, 0x00FF_00FF_00FF_00FF);
    }
}

/// The same for 4 by 4 bytes, in both halves of the rows; undoes itself.
#[inline]
fn transpose4(rows: &mut [u64; 4]) {
    let [a, b, c, d] = rows;
    for (one, two) in [(&mut *a, &mut *c), (&mut *b, &mut *d)] {
        swap(one, two, 16, 0x0000_FFFF_0000_FFFF);
    }
    for (one, two) in [(a, b), (c, d)] {
        swap(one, two, 8, 0x00FF_00FF_00FF_00FF);
    }
}

/// Exchanges the high parts of one with the low parts of the other.
#[inline]
fn swap(one: &mut u64, two: &mut u64, by: u32, mask: u64) {
    let change = (one.wrapping_shr(by) ^ *two) & mask;
    *one ^= change.wrapping_shl(by);
    *two ^= change;
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
    use super::super::element::store;
    use super::*;

    /// What the layout says, byte by byte.
    fn naive(bytes: &[u8], count: usize, size: usize, place: impl Fn(usize) -> usize) -> Vec<u8> {
        let groups = count / 8;
        let mut out = vec![0; count * size];
        for group in 0..groups {
            for plane in 0..size {
                for at in 0..8 {
                    let value = group * 8 + place(at);
                    out[value * size + size - 1 - plane] = bytes[(plane * groups + group) * 8 + at];
                }
            }
        }
        out[groups * 8 * size..].copy_from_slice(&bytes[groups * 8 * size..]);
        out
    }

    fn sample(len: usize) -> Vec<u8> {
        (0..len)
            .map(|at| ((at * 2_654_435_761) >> 7) as u8)
            .collect()
    }

    #[test]
    fn shuffled_numbers_stand_where_the_layout_says() {
        for count in [0, 1, 7, 8, 9, 16, 23, 40, 2048] {
            let bytes = sample(count * 8);
            let mut found = vec![0_i64; count];
            unshuffle8(&bytes, &mut found);
            let mut stored = Vec::new();
            store(&found, &mut stored);
            assert_eq!(naive(&bytes, count, 8, |at| 7 - at), stored, "{count}");
            let mut again = Vec::new();
            shuffle8(&found, &mut again);
            assert_eq!(bytes, again, "{count}");

            let bytes = sample(count * 4);
            let mut found = vec![0_i32; count];
            unshuffle4(&bytes, &mut found);
            let mut stored = Vec::new();
            store(&found, &mut stored);
            let place = |at| 2 * (3 - at % 4) + at / 4;
            assert_eq!(naive(&bytes, count, 4, place), stored, "{count}");
            let mut again = Vec::new();
            shuffle4(&found, &mut again);
            assert_eq!(bytes, again, "{count}");
        }
    }
}
