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
        let mut rest = ready;
        let mut count = 0_u64;
        let Ends::Short(ends) = &mut self.ends else {
            return (rest, 0);
        };
        let mut end = self.bytes.len();
        while count < most {
            let Some((head, behind)) = rest.split_first_chunk::<8>() else {
                break;
            };
            let Some(wide) = behind.first_chunk::<WIDE>() else {
                break;
            };
            let Ok(next) = i32::try_from(end.saturating_add(size)) else {
                break;
            };
            if u64::from_le_bytes(*head) != stored {
                break;
            }
            self.bytes.extend_from_slice(wide);
            end = end.saturating_add(size);
            self.bytes.truncate(end);
            ends.push(next);
            rest = rest.get(step..).unwrap_or_default();
            count = count.saturating_add(1);
        }
        self.mark_many(count);
        (rest, count)
    }

    /// Adds the strings that begin `ready`, at most `most` of them, each behind a byte of its
    /// length: those of ASCII alone and of at most 16 bytes.
    ///
    /// Stops in front of all others, and where 17 bytes are not ready. Answers the bytes and the
    /// strings taken.
    pub(in crate::robject) fn take_short(&mut self, ready: &[u8], most: u64) -> (usize, u64) {
        let mut rest = ready;
        let mut taken = 0_u64;
        let mut end = self.bytes.len();
        let Ends::Short(ends) = &mut self.ends else {
            return (0, 0);
        };
        let mut before = u8::MAX;
        'all: while let Some((length, wide)) = short(rest).filter(|_| taken < most) {
            let size = usize::from(length);
            let step = size.saturating_add(1);
            // With a second one of this length, all that follow.
            let many = if length == before {
                most
            } else {
                taken.saturating_add(1)
            };
            before = length;
            let mut wide = wide;
            loop {
                let Ok(next) = i32::try_from(end.saturating_add(size)) else {
                    break 'all;
                };
                self.bytes.extend_from_slice(&wide);
                end = end.saturating_add(size);
                self.bytes.truncate(end);
                ends.push(next);
                rest = rest.get(step..).unwrap_or_default();
                taken = taken.saturating_add(1);
                match short(rest) {
                    Some((same, next)) if same == length && taken < many => wide = next,
                    _ => break,
                }
            }
        }
        if taken > 0 {
            self.mark_many(taken);
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
