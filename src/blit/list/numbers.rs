//! Numbers and bits that lie side by side.

use crate::blit::layout::uint;

/// The integer that a float is, if it fits.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "tried"
)]
pub(in crate::blit) fn whole(x: f64) -> Option<i64> {
    let value = x as i64;
    (value as f64 == x).then_some(value)
}

#[inline]
pub(in crate::blit) fn float(bytes: &[u8]) -> f64 {
    match *bytes {
        [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
        _ => f64::from_bits(uint(bytes)),
    }
}

/// Bit `i`, from the low end.
#[inline]
pub(in crate::blit) fn bit(bits: &[u8], i: usize) -> bool {
    bits.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 != 0)
}

/// How many bits before bit `i` are set.
#[inline]
pub(in crate::blit) fn rank(bits: &[u8], ranks: &[u8], width: usize, i: usize) -> usize {
    const RANKED: usize = 512;
    let group = i / RANKED;
    let before = group
        .checked_sub(1)
        .and_then(|group| number(ranks, group, width))
        .unwrap_or(0);
    let from = group.wrapping_mul(RANKED / 8);
    let whole = bits.get(from..i / 8).unwrap_or_default();
    let mut sum = usize::try_from(before).unwrap_or(usize::MAX);
    for word in whole.chunks(8) {
        sum = sum.wrapping_add(uint(word).count_ones() as usize);
    }
    let part = bits.get(i / 8).copied().unwrap_or(0) & !(0xFF_u8 << (i % 8));
    sum.wrapping_add(part.count_ones() as usize)
}

/// Number `i` of those of `width` bytes.
#[inline]
pub(in crate::blit) fn number(numbers: &[u8], i: usize, width: usize) -> Option<u64> {
    let from = i.checked_mul(width)?;
    numbers.get(from..from.checked_add(width)?).map(uint)
}
