//! Lists of numbers and bits: rules V21, V22 and V26, many numbers at once.

use crate::blit::decimal;
use crate::blit::layout::{int, malformed, uint};
use crate::blit::list::{bit, number, Body, List};
use crate::Result;

/// Integers above 2^53 have neighbours that are the same float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The largest of unsigned numbers of `width` bytes; folded, because `max` would say which it was
/// and so take them one by one.
pub(super) fn most(numbers: &[u8], width: usize) -> Option<u64> {
    if numbers.is_empty() {
        return None;
    }
    Some(match width {
        1 => u64::from(numbers.iter().fold(0, |most, &byte| byte.max(most))),
        2 => {
            let pairs = numbers.chunks_exact(2).filter_map(<[u8]>::first_chunk);
            let pairs = pairs.map(|&pair| u16::from_le_bytes(pair));
            u64::from(pairs.fold(0, |most, pair| pair.max(most)))
        }
        _ => {
            let each = numbers.chunks_exact(width.max(1)).map(uint);
            each.fold(0, u64::max)
        }
    })
}

/// Numbers that are counted from `base` are not above 2^63 - 1.
///
/// # Errors
/// V21.
pub(super) fn above(base: i64, numbers: &[u8], width: usize, end: usize) -> Result<()> {
    // The widest of all that have this width still fits, unless the base is near the end.
    let unused = u32::try_from(8_usize.saturating_sub(width))
        .unwrap_or(0)
        .saturating_mul(8);
    if base
        .checked_add_unsigned(u64::MAX >> unused.min(63))
        .is_some()
    {
        return Ok(());
    }
    let most = most(numbers, width).unwrap_or(0);
    if base.checked_add_unsigned(most).is_none() {
        return Err(malformed("V21", "an integer above 2^63 - 1", end));
    }
    Ok(())
}

/// Floats and decimals are ones that may be stored.
///
/// # Errors
/// V22.
pub(super) fn floats(list: &List<'_>) -> Result<()> {
    let wrong = |text| Err(malformed("V22", text, list.end()));
    match list.body {
        // Narrower ones are below 2^47.
        Body::Dec {
            numbers,
            width: 6,
            e,
            ..
        } => {
            let mut six = numbers.chunks_exact(6);
            if six.any(|bytes| !decimal::is_valid(int(bytes), e)) {
                return wrong("a decimal that cannot be");
            }
            Ok(())
        }
        Body::Float {
            numbers,
            width,
            ints: true,
        } => {
            let (zero, large) = if width == 8 {
                let all = numbers.chunks_exact(8).filter_map(<[u8]>::first_chunk);
                odd(all.map(|bytes| f64::from_le_bytes(*bytes)))
            } else {
                let all = numbers.chunks_exact(4).filter_map(<[u8]>::first_chunk);
                odd(all.map(|bytes| f64::from(f32::from_le_bytes(*bytes))))
            };
            if zero {
                // It would be read as the integer 0.
                return wrong("a negative zero among integers");
            }
            if large {
                return wrong("an integer above 2^53 among floats");
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether one is a negative zero, and whether one is an integer above 2^53; without a branch.
#[allow(clippy::needless_bitwise_bool, reason = "many at once")]
fn odd(floats: impl Iterator<Item = f64>) -> (bool, bool) {
    floats.fold((false, false), |(zero, large), x| {
        let size = x.abs();
        (
            zero | (x.to_bits() == 1 << 63),
            large | ((size > EXACT) & (size < f64::INFINITY)),
        )
    })
}

/// The bits are those of so many elements, and the ranks their sums.
///
/// # Errors
/// V26.
pub(super) fn partial(
    list: &List<'_>,
    n: usize,
    bits: &[u8],
    ranks: &[u8],
    width: usize,
) -> Result<()> {
    const RANKED: usize = 64;
    let wrong = |text| Err(malformed("V26", text, list.end()));
    spare(bits, list)?;
    let mut sum = 0_usize;
    for (group, bytes) in bits.chunks(RANKED).enumerate() {
        if let Some(before) = group.checked_sub(1) {
            if number(ranks, before, width) != Some(sum as u64) {
                return wrong("a rank that is not the sum of the bits before it");
            }
        }
        let ones: usize = bytes
            .chunks(8)
            .map(|word| uint(word).count_ones() as usize)
            .sum();
        sum = sum.saturating_add(ones);
    }
    if sum != n || n == 0 {
        return wrong("other elements than there are bits for");
    }
    Ok(())
}

/// The bits behind the last element are zero.
///
/// # Errors
/// V26.
pub(super) fn spare(bits: &[u8], list: &List<'_>) -> Result<()> {
    let end = bits.len().saturating_mul(8);
    if (list.n..end).any(|i| bit(bits, i)) {
        let text = "bits of elements that are not there";
        return Err(malformed("V26", text, list.end()));
    }
    Ok(())
}
