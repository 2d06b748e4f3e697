//! Bytes read, compared and copied 8 and 16 at once, anywhere in a slice. With checks in these
//! functions the encoder takes 1.03 (json) to 1.28 (csv) of the time: see `docs/decisions.md`.
//! Builds with debug assertions, the tests' and the fuzz targets', have the checks.

#![allow(
    unsafe_code,
    reason = "the encoder's inner loop, whose bounds hold for reasons no compiler sees"
)]
#![allow(clippy::inline_always, reason = "a few instructions each")]

/// `N` bytes.
///
/// # Safety
/// `at + N <= bytes.len()`.
#[inline(always)]
pub(super) unsafe fn read<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    debug_assert!(at + N <= bytes.len(), "a read past the end");
    // SAFETY: as the caller promises; an array of bytes has no alignment.
    unsafe { bytes.as_ptr().add(at).cast::<[u8; N]>().read() }
}

/// Writes `N` bytes.
///
/// # Safety
/// `at + N <= place.len()`.
#[inline(always)]
pub(super) unsafe fn write<const N: usize>(place: &mut [u8], at: usize, bytes: [u8; N]) {
    debug_assert!(at + N <= place.len(), "a write past the end");
    // SAFETY: as the caller promises; an array of bytes has no alignment.
    unsafe { place.as_mut_ptr().add(at).cast::<[u8; N]>().write(bytes) }
}

/// Eight bytes as a number, the first the lowest.
///
/// # Safety
/// `at + 8 <= bytes.len()`.
#[inline(always)]
pub(super) unsafe fn word(bytes: &[u8], at: usize) -> u64 {
    // SAFETY: as the caller promises.
    u64::from_le_bytes(unsafe { read(bytes, at) })
}

/// How many of the 16 bytes from `left` and `right` on are equal, from the first on.
///
/// # Safety
/// `left + 16 <= bytes.len()`, and so for `right`.
#[inline(always)]
pub(super) unsafe fn equal_after(bytes: &[u8], left: usize, right: usize) -> usize {
    // SAFETY: as the caller promises.
    let (left, right) = unsafe { (read(bytes, left), read(bytes, right)) };
    equal_bytes(left, right)
}

/// How many bytes before `left` and `right` are equal, of 8, from the last on.
///
/// # Safety
/// `8 <= left <= bytes.len()`, and so for `right`.
#[inline(always)]
pub(super) unsafe fn equal_before(bytes: &[u8], left: usize, right: usize) -> usize {
    debug_assert!(left >= 8 && right >= 8, "a read before the start");
    // SAFETY: as the caller promises.
    let (left, right) = unsafe { (word(bytes, left - 8), word(bytes, right - 8)) };
    ((left ^ right).leading_zeros() / 8) as usize
}

/// In the instructions every x86-64 has, which take less than the two words of others.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn equal_bytes(left: [u8; 16], right: [u8; 16]) -> usize {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_movemask_epi8};
    use std::mem::transmute;

    // SAFETY: SSE2 is part of x86-64, and its register is 16 bytes of any value.
    let equal = unsafe {
        let left = transmute::<[u8; 16], __m128i>(left);
        let right = transmute::<[u8; 16], __m128i>(right);
        _mm_movemask_epi8(_mm_cmpeq_epi8(left, right))
    };
    // Only the low 16 bits are ever set.
    equal.trailing_ones() as usize
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn equal_bytes(left: [u8; 16], right: [u8; 16]) -> usize {
    let differ = u128::from_le_bytes(left) ^ u128::from_le_bytes(right);
    (differ.trailing_zeros() / 8) as usize
}
