//! Where one element lies, by a lens block of which as few bytes are read as can be.
//!
//! Blocks lie before other bytes of the document, so that words are read from them without asking
//! where the block ends; what lies behind it is shifted or masked away. All numbers that a
//! damaged block can give are compared with the list's length at last.

#![allow(clippy::inline_always, reason = "a tenth of the time of a lookup")]

use super::{base_width, no_mode, stored, CONST, GROUP, U16, U8};
use crate::blit::layout::{bytes_at, malformed, uint, uint_at, Back, IMPLIED};
use crate::blit::list::Extent;
use crate::Result;

/// Goes back past the block of `n` lengths of a mode, and gives the extent of element `i` of
/// those that fill what is before; between them and the block are `between` bytes.
///
/// # Errors
/// As [`super::Lens::read`] and [`super::Lens::range`].
#[inline(always)]
pub(in crate::blit) fn one(
    back: &mut Back<'_>,
    mode: u8,
    n: usize,
    i: usize,
    between: usize,
) -> Result<Extent> {
    let (from, to) = one_within(back, mode, n, i, |back| {
        back.skip(between)?;
        Ok(back.end.wrapping_sub(back.start))
    })?;
    // Within an extent, so that nothing can overflow.
    Ok((back.start.wrapping_add(from), back.start.wrapping_add(to)))
}

/// As [`one`], of elements that are together as long as `total` says once the block is passed.
///
/// # Errors
/// As [`one`], and those of `total`.
#[inline(always)]
pub(in crate::blit) fn one_within<'a>(
    back: &mut Back<'a>,
    mode: u8,
    n: usize,
    i: usize,
    total: impl FnOnce(&mut Back<'a>) -> Result<usize>,
) -> Result<(usize, usize)> {
    let (data, last) = (back.data, i.wrapping_add(1) == n && n <= IMPLIED);
    let (from, to, implied) = match mode {
        0..=7 => {
            let width = mode.wrapping_add(1);
            back.skip(stored(n).saturating_mul(usize::from(width)))?;
            let (from, to) = by_ends(data, back.end, width, i);
            (from, to, last)
        }
        U8 | U16 => {
            let width = mode.wrapping_sub(7);
            let mut base = 1;
            if n > IMPLIED {
                base = base_width(back)?;
                let groups = n.wrapping_sub(1) / GROUP;
                back.skip(groups.saturating_mul(usize::from(base)))?;
            }
            back.skip(stored(n).saturating_mul(usize::from(width)))?;
            let (from, to) = if width == 1 {
                by_bytes(data, back.end, n, base, i)
            } else {
                by_pairs(data, back.end, n, base, i)
            };
            (from, to, last)
        }
        CONST => {
            let (from, to) = constant(back.rv()?, i);
            (from, to, false)
        }
        _ => return Err(no_mode(back.end)),
    };
    let block = back.end;
    let total = total(back)?;
    checked(
        (from, if implied { total } else { to }),
        (i, n),
        total,
        block,
    )
}

/// A range that lies within `total`, of an element that there is.
#[inline(always)]
pub(super) fn checked(
    (from, to): (usize, usize),
    (i, n): (usize, usize),
    total: usize,
    block: usize,
) -> Result<(usize, usize)> {
    if i < n && from <= to && to <= total {
        return Ok((from, to));
    }
    Err(outside(block))
}

#[cold]
pub(super) fn outside(block: usize) -> crate::Error {
    let text = "a length that leads outside its list";
    malformed("V19", text, block)
}

/// Of elements that all have one length.
#[inline]
pub(super) fn constant(length: usize, i: usize) -> (usize, usize) {
    let from = i.saturating_mul(length);
    (from, from.saturating_add(length))
}

/// By running ends of `width` bytes that begin at `at`.
#[inline(always)]
pub(super) fn by_ends(data: &[u8], at: usize, width: u8, i: usize) -> (usize, usize) {
    let width = usize::from(width);
    let end = at.wrapping_add(i.wrapping_mul(width));
    let from = if i == 0 {
        0
    } else {
        uint_at(data, end.wrapping_sub(width), width)
    };
    (from, uint_at(data, end, width))
}

/// By lengths of a byte, of which those of a group are taken at once.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "below 16")]
pub(super) fn by_bytes(data: &[u8], at: usize, n: usize, base: u8, i: usize) -> (usize, usize) {
    let (g, within) = (i / GROUP, i % GROUP);
    let first = at.wrapping_add(g.wrapping_mul(GROUP));
    let all = match bytes_at::<16>(data, first) {
        Some(all) => u128::from_le_bytes(*all),
        None => last_bytes(data, first),
    };
    let before = sum(all & !(u128::MAX << (within as u32).wrapping_mul(8)));
    let length = data.get(first.wrapping_add(within)).copied().unwrap_or(0);
    let length = usize::from(length);
    let from = group(data, at, (n, 1), base, g).saturating_add(before);
    (from, from.saturating_add(length))
}

/// By lengths of two bytes.
#[inline]
pub(super) fn by_pairs(data: &[u8], at: usize, n: usize, base: u8, i: usize) -> (usize, usize) {
    let (g, within) = (i / GROUP, i % GROUP);
    let first = at.wrapping_add(g.wrapping_mul(2 * GROUP));
    let end = at.wrapping_add(i.wrapping_mul(2));
    let before = match bytes_at::<32>(data, first) {
        Some(all) => sum_of_pairs(all, within),
        None => (first..end)
            .step_by(2)
            .fold(0, |sum: usize, at| sum.wrapping_add(uint_at(data, at, 2))),
    };
    let from = group(data, at, (n, 2), base, g).saturating_add(before);
    (from, from.saturating_add(uint_at(data, end, 2)))
}

/// Where the group behind `g` groups begins; lengths are of `width` bytes.
#[inline(always)]
pub(super) fn group(data: &[u8], at: usize, (n, width): (usize, u8), base: u8, g: usize) -> usize {
    let Some(before) = g.checked_sub(1) else {
        return 0;
    };
    let (width, base) = (usize::from(width), usize::from(base));
    let bases = at.wrapping_add(stored(n).wrapping_mul(width));
    uint_at(data, bases.wrapping_add(before.wrapping_mul(base)), base)
}

/// Fewer than 16 bytes to the end of the document.
#[cold]
fn last_bytes(data: &[u8], at: usize) -> u128 {
    data.get(at..).map_or(0, up_to_16)
}

/// At most 16 bytes as a number.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "at most 16")]
pub(super) fn up_to_16(bytes: &[u8]) -> u128 {
    match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        (Some(first), Some(last)) => {
            let shift = (bytes.len() as u32).wrapping_mul(8).wrapping_sub(64);
            let last = u128::from(u64::from_le_bytes(*last));
            u128::from(u64::from_le_bytes(*first)) | last << (shift & 127)
        }
        _ => u128::from(uint(bytes)),
    }
}

/// The sum of 16 bytes, which fits 16 bits.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the low half; 16 bits")]
pub(super) fn sum(bytes: u128) -> usize {
    const EVEN: u64 = 0x00FF_00FF_00FF_00FF;
    const ONES: u64 = 0x0001_0001_0001_0001;
    let pairs = |word: u64| (word & EVEN).wrapping_add(word >> 8 & EVEN);
    let fours = pairs(bytes as u64).wrapping_add(pairs((bytes >> 64) as u64));
    (fours.wrapping_mul(ONES) >> 48) as usize
}

/// The sum of the first `n` of 16 numbers of two bytes, four at a time.
#[inline]
fn sum_of_pairs(all: &[u8; 32], n: usize) -> usize {
    const EVEN: u64 = 0x0000_FFFF_0000_FFFF;
    let mut sum = 0_u64;
    let mut left = n;
    for word in all.chunks_exact(8) {
        let mut word = word
            .first_chunk::<8>()
            .map_or(0, |word| u64::from_le_bytes(*word));
        if left < 4 {
            word &= !(u64::MAX << left.wrapping_mul(16));
        }
        sum = sum
            .wrapping_add(word & EVEN)
            .wrapping_add(word >> 16 & EVEN);
        if left <= 4 {
            break;
        }
        left = left.wrapping_sub(4);
    }
    (sum.wrapping_add(sum >> 32) & 0xFFFF_FFFF) as usize
}
