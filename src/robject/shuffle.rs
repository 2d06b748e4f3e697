//! Byte planes: the first bytes of all elements, then the second ones, and so on.
//!
//! What is behind the last whole element stays where it is.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

/// Elements that are turned at once, so that the compiler uses vector registers.
const RUN: usize = 16;

/// Fills `plain`, which is as long, with the elements of 8 bytes whose planes are in `planes`.
pub(super) fn unshuffle_8(planes: &[u8], plain: &mut [u8]) {
    let count = planes.len() / 8;
    let (body, rest) = planes.split_at(count.saturating_mul(8));
    let (place, place_rest) = plain.split_at_mut(body.len().min(plain.len()));
    if let Some(lines) = split::<8>(body, count) {
        let mut runs = place.chunks_exact_mut(8 * RUN);
        let mut at = 0;
        for place in runs.by_ref() {
            let elements = join_8(&lines.map(|line| run(line, at)));
            for (place, element) in place.chunks_exact_mut(8).zip(elements) {
                place.copy_from_slice(&element.to_le_bytes());
            }
            at = at.saturating_add(RUN);
        }
        singly(&lines, at, runs.into_remainder());
    }
    fill(rest, place_rest);
}

/// As [`unshuffle_8`] with elements of 4 bytes.
pub(super) fn unshuffle_4(planes: &[u8], plain: &mut [u8]) {
    let count = planes.len() / 4;
    let (body, rest) = planes.split_at(count.saturating_mul(4));
    let (place, place_rest) = plain.split_at_mut(body.len().min(plain.len()));
    if let Some(lines) = split::<4>(body, count) {
        let mut runs = place.chunks_exact_mut(4 * RUN);
        let mut at = 0;
        for place in runs.by_ref() {
            let [a, b, c, d] = lines.map(|line| run(line, at));
            let elements = pairs(&halves(&a, &b), &halves(&c, &d));
            for (place, element) in place.chunks_exact_mut(4).zip(elements) {
                place.copy_from_slice(&element.to_le_bytes());
            }
            at = at.saturating_add(RUN);
        }
        singly(&lines, at, runs.into_remainder());
    }
    fill(rest, place_rest);
}

/// Appends the planes of the elements of 8 bytes in `plain`.
pub(super) fn shuffle_8(plain: &[u8], planes: &mut Vec<u8>) {
    let mut elements = plain.chunks_exact(8);
    let values: Vec<u64> = elements.by_ref().map(le_u64).collect();
    for shift in (0..64).step_by(8) {
        let byte = |value: &u64| value.wrapping_shr(shift).to_le_bytes();
        planes.extend(values.iter().map(|value| byte(value)[0]));
    }
    planes.extend_from_slice(elements.remainder());
}

fn le_u64(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// The `N` planes of `count` bytes each.
fn split<const N: usize>(body: &[u8], count: usize) -> Option<[&[u8]; N]> {
    let mut lines = [&[][..]; N];
    for (place, line) in lines.iter_mut().zip(body.chunks_exact(count.max(1))) {
        *place = line;
    }
    (count > 0).then_some(lines)
}

fn run(line: &[u8], at: usize) -> [u8; RUN] {
    let end = at.saturating_add(RUN);
    let bytes = line.get(at..end).and_then(|bytes| bytes.try_into().ok());
    bytes.unwrap_or_default()
}

fn halves(low: &[u8; RUN], high: &[u8; RUN]) -> [u16; RUN] {
    std::array::from_fn(|at| u16::from_le_bytes([byte(low, at), byte(high, at)]))
}

#[inline]
fn byte(bytes: &[u8; RUN], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or_default()
}

fn pairs(low: &[u16; RUN], high: &[u16; RUN]) -> [u32; RUN] {
    let mut both = [0; RUN];
    for ((place, low), high) in both.iter_mut().zip(low).zip(high) {
        *place = u32::from(*low) | u32::from(*high) << 16;
    }
    both
}

fn join_8(lines: &[[u8; RUN]; 8]) -> [u64; RUN] {
    let [p0, p1, p2, p3, p4, p5, p6, p7] = lines;
    let low = pairs(&halves(p0, p1), &halves(p2, p3));
    let high = pairs(&halves(p4, p5), &halves(p6, p7));
    let mut both = [0; RUN];
    for ((place, low), high) in both.iter_mut().zip(&low).zip(&high) {
        *place = u64::from(*low) | u64::from(*high) << 32;
    }
    both
}

/// Elements from `at` on, which fill no run.
fn singly<const N: usize>(lines: &[&[u8]; N], at: usize, place: &mut [u8]) {
    for (at, place) in (at..).zip(place.chunks_exact_mut(N)) {
        for (place, line) in place.iter_mut().zip(lines) {
            *place = line.get(at).copied().unwrap_or_default();
        }
    }
}

/// What is behind the last element.
fn fill(rest: &[u8], place: &mut [u8]) {
    for (place, byte) in place.iter_mut().zip(rest) {
        *place = *byte;
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        reason = "small numbers of a test"
    )]

    use super::*;

    /// The definition, byte by byte.
    fn slowly(plain: &[u8], width: usize) -> Vec<u8> {
        let count = plain.len() / width;
        let mut planes: Vec<u8> = (0..width)
            .flat_map(|plane| (0..count).map(move |at| at * width + plane))
            .map(|from| plain[from])
            .collect();
        planes.extend(&plain[count * width..]);
        planes
    }

    #[test]
    fn planes_and_back_at_every_length_around_a_run() {
        for len in (0..300).chain([4095, 4096, 4097]) {
            let plain: Vec<u8> = (0..len).map(|at| (at * 37 % 251) as u8).collect();
            let mut planes = Vec::new();
            shuffle_8(&plain, &mut planes);
            assert_eq!(slowly(&plain, 8), planes, "{len}");
            let mut back = vec![0; len];
            unshuffle_8(&planes, &mut back);
            assert_eq!(plain, back, "{len}");
            back.fill(0);
            unshuffle_4(&slowly(&plain, 4), &mut back);
            assert_eq!(plain, back, "{len}");
        }
    }
}
