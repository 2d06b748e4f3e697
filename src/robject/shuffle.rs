//! Byte planes: the first bytes of all elements, then the second ones, and so on.
//!
//! What is behind the last whole element stays where it is.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

/// Elements that are turned at once: as many as a vector register has bytes.
const RUN: usize = 16;

type Line = [u8; RUN];

/// Fills `plain`, which is as long, with the elements of 8 bytes whose planes are in `planes`.
pub(super) fn unshuffle_8(planes: &[u8], plain: &mut [u8]) {
    unshuffle_8_part(planes, 0, plain);
}

/// As [`unshuffle_8`] with a part of the plain bytes, from byte `start` on, where an element begins.
pub(super) fn unshuffle_8_part(planes: &[u8], start: usize, part: &mut [u8]) {
    let whole = planes.len().saturating_sub(start).min(part.len()) & !7;
    let (place, rest) = part.split_at_mut(whole);
    elements_8(planes, start / 8, place);
    let behind = planes.get(start.saturating_add(whole)..);
    fill(behind.unwrap_or_default(), rest);
}

/// Fills `place` with elements of 8 bytes, from element `first` of those in `planes` on.
fn elements_8(planes: &[u8], first: usize, place: &mut [u8]) {
    let lines: [&[u8]; 8] = lines(planes, first);
    let [one, two, three, four, five, six, seven, eight] = lines;
    let woven = pairs(one, two).zip(pairs(three, four));
    let woven = woven.zip(pairs(five, six).zip(pairs(seven, eight)));
    let mut runs = place.chunks_exact_mut(8 * RUN);
    let turned = runs.len().saturating_mul(RUN);
    for (place, ((ab, cd), (ef, gh))) in runs.by_ref().zip(woven) {
        let mut to = 0;
        for (ab, cd, ef, gh) in [(ab.0, cd.0, ef.0, gh.0), (ab.1, cd.1, ef.1, gh.1)] {
            let (low, high) = (weave::<2>(ab, cd), weave::<2>(ef, gh));
            for (low, high) in [(low.0, high.0), (low.1, high.1)] {
                put(place, &mut to, weave::<4>(low, high));
            }
        }
    }
    singly(&lines, turned, runs.into_remainder());
}

/// As [`unshuffle_8`] with elements of 4 bytes.
pub(super) fn unshuffle_4(planes: &[u8], plain: &mut [u8]) {
    let whole = planes.len().min(plain.len()) & !3;
    let (place, place_rest) = plain.split_at_mut(whole);
    let lines: [&[u8]; 4] = lines(planes, 0);
    let [a, b, c, d] = lines;
    let mut runs = place.chunks_exact_mut(4 * RUN);
    let turned = runs.len().saturating_mul(RUN);
    for (place, (ab, cd)) in runs.by_ref().zip(pairs(a, b).zip(pairs(c, d))) {
        let mut to = 0;
        for (ab, cd) in [(ab.0, cd.0), (ab.1, cd.1)] {
            put(place, &mut to, weave::<2>(ab, cd));
        }
    }
    singly(&lines, turned, runs.into_remainder());
    fill(planes.get(whole..).unwrap_or_default(), place_rest);
}

/// The `N` planes, each from element `first` on.
fn lines<const N: usize>(planes: &[u8], first: usize) -> [&[u8]; N] {
    let count = planes.len().checked_div(N).unwrap_or_default();
    let mut lines = [&[][..]; N];
    for (place, line) in lines.iter_mut().zip(planes.chunks_exact(count.max(1))) {
        *place = line.get(first..).unwrap_or_default();
    }
    lines
}

/// Two planes woven, run by run. As an iterator that ends with the planes nothing inside a loop
/// leaves it, without which the compiler would use no vector registers.
fn pairs<'a>(a: &'a [u8], b: &'a [u8]) -> impl Iterator<Item = (Line, Line)> + 'a {
    let line = |bytes: &[u8]| Line::try_from(bytes).unwrap_or_default();
    let runs = a.chunks_exact(RUN).zip(b.chunks_exact(RUN));
    runs.map(move |(a, b)| weave::<1>(line(a), line(b)))
}

/// `WIDTH` bytes of `a` and of `b` in turn: of their first halves, and of their second ones.
///
/// All places are known when this is compiled: each half becomes one instruction.
#[allow(
    clippy::arithmetic_side_effects,
    reason = "places below 32, known when this is compiled"
)]
#[inline]
fn weave<const WIDTH: usize>(a: Line, b: Line) -> (Line, Line) {
    let byte = |at: usize| {
        let group = at / WIDTH;
        let from = group / 2 * WIDTH + at % WIDTH;
        let byte = if group % 2 == 0 {
            a.get(from)
        } else {
            b.get(from)
        };
        byte.copied().unwrap_or_default()
    };
    (
        std::array::from_fn(byte),
        std::array::from_fn(|at| byte(at.wrapping_add(RUN))),
    )
}

#[inline]
fn put(place: &mut [u8], to: &mut usize, made: (Line, Line)) {
    for made in [made.0, made.1] {
        let end = to.wrapping_add(RUN);
        if let Some(place) = place.get_mut(*to..end) {
            place.copy_from_slice(&made);
        }
        *to = end;
    }
}

/// Elements from `at` on, which fill no run.
fn singly<const N: usize>(lines: &[&[u8]; N], at: usize, place: &mut [u8]) {
    for (at, place) in (at..).zip(place.chunks_exact_mut(N)) {
        for (place, line) in place.iter_mut().zip(lines) {
            *place = line.get(at).copied().unwrap_or_default();
        }
    }
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
            let (early, late) = back.split_at_mut(len / 16 * 8);
            unshuffle_8_part(&planes, early.len(), late);
            unshuffle_8_part(&planes, 0, early);
            assert_eq!(plain, back, "{len}");
            back.fill(0);
            unshuffle_4(&slowly(&plain, 4), &mut back);
            assert_eq!(plain, back, "{len}");
        }
    }
}
