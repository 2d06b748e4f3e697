//! Many strings at once from the bytes of a file.
//!
//! Most strings are short, and codes in a column have one length. Short ones are copied at a fixed
//! size, which is quicker than the right one; and where two have the same length, the next is taken
//! to have it too, so that where it ends is known before it is read.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use super::{Ends, Strings, TextEncoding};

/// The bytes that are copied of a short string, whatever its length.
const WIDE: usize = 16;

/// Strings of one length that are taken at once.
const ALIKE: usize = 64;

/// The top bit of each byte.
const HIGH_BITS: u128 = u128::from_le_bytes([0x80; WIDE]);

impl Strings {
    /// Adds the strings that begin `ready`, at most `most` of them, as R's binary serialization
    /// has them: flags, length, bytes; `big` says the byte order of the ints.
    ///
    /// Stops in front of one that is cut or has attributes, of what is no string, and where ends
    /// need 64 bits. Answers the bytes and the strings taken.
    pub(in crate::robject) fn take_binary(
        &mut self,
        ready: &[u8],
        most: u64,
        big: bool,
    ) -> (usize, u64) {
        if big {
            self.take::<true>(ready, most)
        } else {
            self.take::<false>(ready, most)
        }
    }

    fn take<const BIG: bool>(&mut self, ready: &[u8], most: u64) -> (usize, u64) {
        let mut rest = ready;
        let mut left = most;
        // Flags of the strings in the run at hand; what is no string has others.
        let mut run = 0;
        // Flags and length of the string before, as they stand in the file.
        let mut before = 0;
        while left > 0 {
            let Some(bytes) = rest.first_chunk::<8>() else {
                break;
            };
            let stored = u64::from_le_bytes(*bytes);
            let head = if BIG {
                stored.swap_bytes().rotate_left(32)
            } else {
                stored
            };
            // The low half are the flags, the high one is the length.
            let (flags, length) = (head & 0xffff_ffff, head >> 32);
            if length == 0xffff_ffff && flags & 0x2ff == 9 {
                self.push_na();
                rest = rest.get(8..).unwrap_or_default();
                left = left.saturating_sub(1);
                continue;
            }
            if flags != run && flags & 0x2ff != 9 {
                break;
            }
            let size = usize::try_from(length).unwrap_or(usize::MAX);
            if stored == before && size <= WIDE {
                let (behind, count) = self.take_alike(rest, left, stored, size);
                if count > 0 {
                    rest = behind;
                    left = left.saturating_sub(count);
                    continue;
                }
            }
            before = stored;
            let end = (self.bytes.len() as u64).saturating_add(length);
            let (Ends::Short(ends), Ok(end)) = (&mut self.ends, i32::try_from(end)) else {
                break;
            };
            match rest.get(8..WIDE + 8) {
                Some(wide) if size <= WIDE => {
                    let before = self.bytes.len();
                    self.bytes.extend_from_slice(wide);
                    self.bytes.truncate(before.saturating_add(size));
                }
                _ => {
                    let Some(bytes) = rest.get(8..size.saturating_add(8)) else {
                        break;
                    };
                    self.bytes.extend_from_slice(bytes);
                }
            }
            ends.push(end);
            if flags != run {
                self.begin_run(u16::try_from(flags >> 12 & 0xffff).unwrap_or(0));
                run = flags;
            }
            if !self.validity.is_empty() {
                self.mark(true);
            }
            rest = rest.get(size.saturating_add(8)..).unwrap_or_default();
            left = left.saturating_sub(1);
        }
        let len = self.len() as u64;
        if let (Some((end, _)), true) = (self.runs.last_mut(), run != 0) {
            *end = len;
        }
        let taken = ready.len().saturating_sub(rest.len());
        (taken, most.saturating_sub(left))
    }

    /// Takes strings of `size` bytes as long as they begin with `stored`, in the run at hand.
    fn take_alike<'r>(
        &mut self,
        ready: &'r [u8],
        most: u64,
        stored: u64,
        size: usize,
    ) -> (&'r [u8], u64) {
        let step = size.saturating_add(8);
        let same = |at: usize| {
            let head = ready.get(at..).and_then(<[u8]>::first_chunk);
            head.is_some_and(|head| u64::from_le_bytes(*head) == stored)
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let count = alike(ready, most, step, same);
        if !self.push_alike(ready, count, step, size) {
            return (ready, 0);
        }
        let rest = ready.get(count.saturating_mul(step)..);
        (rest.unwrap_or_default(), count as u64)
    }

    /// Adds `count` strings of `size` bytes, the last bytes of so many times `step`; at least 16
    /// bytes follow. False, and none are added, where ends need 64 bits.
    fn push_alike(&mut self, ready: &[u8], count: usize, step: usize, size: usize) -> bool {
        let start = self.bytes.len();
        let end = start.saturating_add(count.saturating_mul(size));
        let Ends::Short(ends) = &mut self.ends else {
            return false;
        };
        let (Ok(base), Ok(_)) = (i32::try_from(start), i32::try_from(end)) else {
            return false;
        };
        let (Ok(each), Ok(last)) = (i32::try_from(size), i32::try_from(count)) else {
            return false;
        };
        ends.extend((1..=last).map(|at| base.wrapping_add(at.wrapping_mul(each))));
        self.bytes.resize(end.saturating_add(WIDE), 0);
        let place = self.bytes.get_mut(start..).unwrap_or_default();
        let (mut to, mut from) = (0_usize, step.saturating_sub(size));
        for _ in 0..count {
            let wide = ready.get(from..).and_then(<[u8]>::first_chunk::<WIDE>);
            let place = place.get_mut(to..).and_then(<[u8]>::first_chunk_mut);
            if let (Some(wide), Some(place)) = (wide, place) {
                *place = *wide;
            }
            to = to.wrapping_add(size);
            from = from.wrapping_add(step);
        }
        self.bytes.truncate(end);
        self.mark_many(count as u64);
        true
    }

    /// Adds the strings that begin `ready`, at most `most` of them, each behind a byte of its
    /// length: those of ASCII alone and of at most 16 bytes.
    ///
    /// Stops in front of all others, and where 17 bytes are not ready. Answers the bytes and the
    /// strings taken.
    pub(in crate::robject) fn take_short(&mut self, ready: &[u8], most: u64) -> (usize, u64) {
        let mut rest = ready;
        let mut taken = 0_u64;
        let mut before = u8::MAX;
        // Strings to take one by one, because one among them is not ASCII.
        let mut singly = 0_usize;
        while taken < most {
            let Some((length, wide)) = short(rest) else {
                break;
            };
            let size = usize::from(length);
            let step = size.saturating_add(1);
            let mut count = 1;
            if length == before && singly == 0 {
                let left = usize::try_from(most.saturating_sub(taken)).unwrap_or(usize::MAX);
                count = alike(rest, left, step, |at| rest.get(at) == Some(&length)).max(1);
                // The lengths among them are ASCII too.
                let bytes = rest.get(..count.saturating_mul(step));
                if !bytes.is_some_and(<[u8]>::is_ascii) {
                    (singly, count) = (count, 1);
                }
            }
            before = length;
            singly = singly.saturating_sub(1);
            if count > 1 {
                if !self.push_alike(rest, count, step, size) {
                    break;
                }
            } else {
                let Ends::Short(ends) = &mut self.ends else {
                    break;
                };
                let end = self.bytes.len().saturating_add(size);
                let Ok(next) = i32::try_from(end) else {
                    break;
                };
                ends.push(next);
                self.bytes.extend_from_slice(&wide);
                self.bytes.truncate(end);
                self.mark_many(1);
            }
            rest = rest.get(count.saturating_mul(step)..).unwrap_or_default();
            taken = taken.saturating_add(count as u64);
        }
        if taken > 0 {
            self.begin_run_of(TextEncoding::Ascii.levels(), taken);
        }
        (ready.len().saturating_sub(rest.len()), taken)
    }

    /// The bits of the `count` strings pushed last: none is NA.
    fn mark_many(&mut self, count: u64) {
        if self.validity.is_empty() || count == 0 {
            return;
        }
        let len = self.len();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let bytes = self.validity.len().max(len.div_ceil(8));
        self.validity.resize(bytes, 0);
        for at in len.saturating_sub(count)..len {
            if let Some(byte) = self.validity.get_mut(at / 8) {
                *byte |= 1 << (at % 8);
            }
        }
    }

    /// The `count` strings pushed last have these levels.
    fn begin_run_of(&mut self, levels: u16, count: u64) {
        let len = self.len() as u64;
        match self.runs.last_mut() {
            Some((end, same)) if *same == levels => *end = len,
            last => {
                if let Some((end, _)) = last {
                    *end = len.saturating_sub(count);
                }
                self.runs.push((len, levels));
            }
        }
    }
}

/// How many strings of `step` bytes each begin `ready` as `same` says, with 16 bytes behind the last:
/// at most `most`, and few enough that what is copied of them stays near.
#[inline]
fn alike(ready: &[u8], most: usize, step: usize, same: impl Fn(usize) -> bool) -> usize {
    let room = ready.len().saturating_sub(WIDE).div_euclid(step.max(1));
    let most = most.min(room).min(ALIKE);
    let mut count = 0_usize;
    while count < most && same(count.wrapping_mul(step)) {
        count = count.wrapping_add(1);
    }
    count
}

/// The length of the string that begins `ready`, and 16 bytes of it and behind it: if it is of
/// ASCII alone and of so many bytes at most.
#[inline]
fn short(ready: &[u8]) -> Option<(u8, [u8; WIDE])> {
    let (length, behind) = ready.split_first()?;
    let wide = *behind.first_chunk::<WIDE>()?;
    // What is behind the string lies in the higher bytes.
    let ascii = (u128::from_le_bytes(wide) & HIGH_BITS).trailing_zeros() / 8;
    (usize::from(*length) <= WIDE && u32::from(*length) <= ascii).then_some((*length, wide))
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::indexing_slicing,
        reason = "small numbers of a test"
    )]

    use super::*;

    #[test]
    fn runs_of_one_length_are_the_strings_that_they_are_one_by_one() {
        // Lengths that stay for a while, with a letter that is not ASCII now and then.
        let texts: Vec<String> = (0_usize..5000)
            .map(|at| {
                let size = at / 97 * 7 % 19;
                let odd = at % 211 == 5 && size > 1;
                let fill = char::from(b'a' + (at % 26) as u8).to_string();
                let rest = fill.repeat(size - if odd { 2 } else { 0 });
                if odd {
                    format!("\u{e4}{rest}")
                } else {
                    rest
                }
            })
            .collect();
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for text in &texts {
            short.push(text.len() as u8);
            short.extend(text.as_bytes());
            let flags = 9_u32 | 64 << 12;
            long.extend(flags.to_le_bytes());
            long.extend((text.len() as u32).to_le_bytes());
            long.extend(text.as_bytes());
        }
        let mut one = Strings::default();
        let (mut at, mut taken) = (0, 0);
        while taken < texts.len() {
            let (used, count) = one.take_short(&short[at..], (texts.len() - taken) as u64);
            at += used;
            taken += count as usize;
            if taken < texts.len() {
                one.push_str(&texts[taken]);
                at += texts[taken].len() + 1;
                taken += 1;
            }
        }
        let mut other = Strings::default();
        let (used, count) = other.take_binary(&long, texts.len() as u64, false);
        assert_eq!((long.len(), texts.len() as u64), (used, count));
        assert_eq!((short.len(), texts.len()), (at, one.len()));
        for (at, text) in texts.iter().enumerate() {
            for strings in [&one, &other] {
                let found = strings.get(at).unwrap();
                assert_eq!(Some(text.as_bytes()), found.bytes, "{at}");
            }
            let ascii = TextEncoding::Ascii == one.get(at).unwrap().encoding();
            assert_eq!(text.is_ascii(), ascii, "{at}");
        }
    }
}
