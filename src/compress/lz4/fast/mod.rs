//! Blocks of level 1 above 64 KiB, as defined in the LZ4 Block Format Description. liblz4 writes
//! the rest: smaller blocks, for which it has tables of its own, and all other levels.
//!
//! The scheme is liblz4's: a table of places by the hash of their bytes, the first match taken,
//! faster steps where there is none. What differs is there to guess fewer branches wrong and to
//! wait less for memory:
//!
//! - The table has twice the slots in the same 16 KiB, since of a place 16 bits are kept: what
//!   they leave open is beyond the reach of an offset. A wrong one costs a comparison.
//! - Six bytes are hashed, which finds fewer and longer matches. Where that finds next to nothing,
//!   as among random numbers with equal ends, five.
//! - A match is counted backwards too and written without a branch for each of its lengths.
//! - A sample of 2 KiB tells how the next 30 KiB are searched. Where most matches are as long as
//!   the one before, the next place does not wait for the count. Where most follow after the same
//!   number of literals, as in records, these are not searched.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::inline_always,
    clippy::needless_bitwise_bool,
    reason = "places in bytes that are in memory, hashes, and one branch instead of two"
)]

mod sequence;
mod wide;

#[cfg(test)]
mod tests;

use std::hint::black_box;

use sequence::{long_match, put_last, Sequence};

/// Blocks above this size are written here.
pub(super) const LARGE: usize = 64 << 10;

/// 16 KiB, which leaves most of a core's first cache to the plain bytes.
const SLOTS_LOG: u32 = 13;
const SLOTS: usize = 1 << SLOTS_LOG;
/// Bytes that may be looked at before any match.
const BEFORE: usize = 8;
/// No match is looked for this close to the end: beyond what the format wants, 12, whatever is
/// read at a place is there.
const TAIL: usize = 32;
/// Literals at the end. The format wants 5; with 6 there are 8 bytes two before any match's end.
const LAST_LITERALS: usize = 6;
const MIN_MATCH: usize = 4;
/// So many places without a match, and the step grows by one.
const PATIENCE_LOG: u32 = 6;
const SAMPLE_BYTES: usize = 2 << 10;
const STRETCH_BYTES: usize = 30 << 10;

/// How many bytes are hashed.
const FIVE: u32 = 5;
const SIX: u32 = 6;

/// What is kept from block to block: the memory.
pub(super) struct Fast(Box<[u16; SLOTS]>);

impl Fast {
    pub(super) fn new() -> Self {
        Self(Box::new([0; SLOTS]))
    }

    /// Compresses `plain` to the front of `stored`; how much of that is taken. None if it does
    /// not fit, or nearly so.
    pub(super) fn compress(&mut self, plain: &[u8], stored: &mut [u8]) -> Option<usize> {
        let limit = plain.len().checked_sub(TAIL)?;
        // Every slot holds a place that exists and has bytes before it.
        self.0.fill(BEFORE as u16);
        let block = Block {
            plain,
            stored,
            slots: &mut self.0,
            limit,
            now: Now {
                at: BEFORE + 1,
                ..Now::default()
            },
        };
        block.compress()
    }
}

/// How far a block is.
#[derive(Clone, Copy, Default)]
struct Now {
    /// The place looked at.
    at: usize,
    /// The first byte not yet written.
    anchor: usize,
    /// Bytes written.
    end: usize,
    /// Places without a match since the last one.
    misses: usize,
    /// The length of the match before, as far as it is watched.
    usual: usize,
}

/// What a sample showed.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    matches: u32,
    /// Matches after so many literals; the last for more.
    literals: [u32; 8],
    /// Matches as long as the one before.
    repeated: u32,
    /// Matches of up to five bytes.
    short: u32,
}

/// How a stretch is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tuning {
    /// The length of a match is taken for that of the one before.
    predict: bool,
    /// Literals after a match that are not searched.
    skip: usize,
    /// The place two before a match's end is entered into the table.
    insert: bool,
}

impl Sample {
    fn add(&mut self, literals: usize, more: usize, repeated: bool) {
        self.matches += 1;
        self.literals[literals.min(7)] += 1;
        self.short += u32::from(more < 2);
        self.repeated += u32::from(repeated);
    }

    fn tuning(&self) -> Tuning {
        let (mut skip, mut most) = (0, 0);
        for (literals, &matches) in self.literals[..7].iter().enumerate() {
            if matches > most {
                (skip, most) = (literals, matches);
            }
        }
        let sooner: u32 = self.literals[..skip].iter().sum();
        if most * 5 <= self.matches * 2 || sooner * 4 >= self.matches {
            skip = 0;
        }
        Tuning {
            predict: self.repeated * 3 > self.matches,
            skip,
            // Where matches follow upon each other, none begins two bytes before one's end.
            insert: skip == 0 && self.literals[0] * 8 < self.matches * 5,
        }
    }
}

/// How many bytes to hash next, after a sample of `plain` bytes that became `stored`.
fn next_hashed(hashed: u32, sample: &Sample, plain: usize, stored: usize) -> u32 {
    let nothing = stored + plain / 16 > plain;
    let long = sample.matches > 4 && sample.short * 2 < sample.matches;
    match hashed {
        SIX if nothing => FIVE,
        FIVE if long => SIX,
        _ => hashed,
    }
}

/// The slot of the lowest `HASHED` bytes.
#[inline(always)]
fn slot<const HASHED: u32>(word: u64) -> usize {
    // The primes of liblz4 and of zstd for so many bytes.
    let prime = if HASHED == FIVE {
        889_523_592_379
    } else {
        227_718_039_650_203
    };
    ((word << (64 - 8 * HASHED)).wrapping_mul(prime) >> (64 - SLOTS_LOG)) as usize
}

struct Block<'a> {
    plain: &'a [u8],
    stored: &'a mut [u8],
    slots: &'a mut [u16; SLOTS],
    /// No match begins here or later: TAIL before the end.
    limit: usize,
    now: Now,
}

impl Block<'_> {
    fn compress(mut self) -> Option<usize> {
        let mut hashed = SIX;
        while self.now.at < self.limit {
            let before = self.now;
            let sample = self.sample(hashed)?;
            let plain = self.now.at - before.at;
            let literals = self.now.at.saturating_sub(self.now.anchor);
            let stored = self.now.end - before.end + literals;
            let next = next_hashed(hashed, &sample, plain, stored);
            if next == hashed {
                self.stretch(hashed, sample.tuning())?;
            } else {
                hashed = next;
                self.now.misses = 0;
            }
        }
        put_last(&self.plain[self.now.anchor..], self.stored, self.now.end)
    }

    fn sample(&mut self, hashed: u32) -> Option<Sample> {
        let stop = self.limit.min(self.now.at + SAMPLE_BYTES);
        let mut sample = Sample::default();
        match hashed {
            SIX => self.run::<SIX, true, false, true>(stop, 0, &mut sample),
            _ => self.run::<FIVE, true, false, true>(stop, 0, &mut sample),
        }?;
        Some(sample)
    }

    fn stretch(&mut self, hashed: u32, tuning: Tuning) -> Option<()> {
        let stop = self.limit.min(self.now.at + STRETCH_BYTES);
        let (skip, none) = (tuning.skip, &mut Sample::default());
        match (hashed, tuning.predict, tuning.insert) {
            (SIX, true, true) => self.run::<SIX, false, true, true>(stop, skip, none),
            (SIX, true, false) => self.run::<SIX, false, true, false>(stop, skip, none),
            (SIX, false, true) => self.run::<SIX, false, false, true>(stop, skip, none),
            (SIX, false, false) => self.run::<SIX, false, false, false>(stop, skip, none),
            (_, true, true) => self.run::<FIVE, false, true, true>(stop, skip, none),
            (_, true, false) => self.run::<FIVE, false, true, false>(stop, skip, none),
            (_, false, true) => self.run::<FIVE, false, false, true>(stop, skip, none),
            (_, false, false) => self.run::<FIVE, false, false, false>(stop, skip, none),
        }
    }

    /// Writes the matches that begin before `stop`, which is at most `limit`.
    #[inline(never)]
    fn run<const HASHED: u32, const SAMPLE: bool, const PREDICT: bool, const INSERT: bool>(
        &mut self,
        stop: usize,
        skip: usize,
        sample: &mut Sample,
    ) -> Option<()> {
        let (plain, stored, slots) = (self.plain, &mut *self.stored, &mut *self.slots);
        let most = plain.len() - LAST_LITERALS;
        let mut now = self.now;
        while now.at < stop {
            let Some(from) = find::<HASHED>(plain, slots, &mut now, stop) else {
                break;
            };
            let (at, after) = (now.at, now.at + MIN_MATCH);
            #[allow(unsafe_code, reason = "see `wide`")]
            // SAFETY: `find` promises that there are TAIL bytes from `at` on, and BEFORE before
            // both, and that `from < at`.
            let (mut length, before) = unsafe {
                (
                    wide::equal_after(plain, after, from + MIN_MATCH),
                    wide::equal_before(plain, at, from),
                )
            };
            if length == 16 {
                length = long_match(plain, after, from + MIN_MATCH, most);
            }
            let before = before.min(at - now.anchor);
            let sequence = Sequence {
                anchor: now.anchor,
                literals: at - now.anchor - before,
                offset: (at - from) as u16,
                more: length + before,
            };
            now.end = sequence.put(plain, stored, now.end)?;
            if SAMPLE {
                sample.add(sequence.literals, sequence.more, length == now.usual);
            }
            if PREDICT && length == now.usual {
                // The same number, but the processor goes on before it is counted.
                now.at = after + black_box(now.usual);
            } else {
                now.at = after + length;
                now.usual = length;
            }
            now.anchor = now.at;
            if INSERT {
                #[allow(unsafe_code, reason = "see `wide`")]
                // SAFETY: a match ends LAST_LITERALS before the end at the latest.
                let word = unsafe { wide::word(plain, now.at - 2) };
                slots[slot::<HASHED>(word)] = (now.at - 2) as u16;
            } else {
                now.at += skip;
            }
        }
        self.now = now;
        Some(())
    }
}

/// Goes on to the next place whose bytes came before, and says where: at a distance of 1 to
/// 65535, BEFORE the first bytes at the earliest. None at `stop`, TAIL before the end at the
/// latest. `now.at` is below `stop`.
#[inline(always)]
fn find<const HASHED: u32>(
    plain: &[u8],
    slots: &mut [u16; SLOTS],
    now: &mut Now,
    stop: usize,
) -> Option<usize> {
    let (mut from, mut found) = look::<HASHED>(plain, slots, now.at);
    if !found {
        now.at += 1;
        loop {
            if now.at >= stop {
                return None;
            }
            (from, found) = look::<HASHED>(plain, slots, now.at);
            if found {
                break;
            }
            now.at += 1 + (now.misses >> PATIENCE_LOG);
            now.misses += 1;
        }
    }
    now.misses = 0;
    Some(from)
}

/// Where the bytes at `at` may have been before, and whether four are the same. Enters `at`.
#[inline(always)]
fn look<const HASHED: u32>(plain: &[u8], slots: &mut [u16; SLOTS], at: usize) -> (usize, bool) {
    #[allow(unsafe_code, reason = "see `wide`")]
    // SAFETY: `at` is more than TAIL before the end.
    let word = unsafe { wide::word(plain, at) };
    let slot = &mut slots[slot::<HASHED>(word)];
    // Places are entered in order, from BEFORE on: the true distance is at most `at - BEFORE`,
    // and so are its lowest 16 bits.
    let distance = usize::from((at as u16).wrapping_sub(*slot));
    *slot = at as u16;
    let from = at - distance;
    #[allow(unsafe_code, reason = "see `wide`")]
    // SAFETY: `from <= at`.
    let bytes = unsafe { wide::read::<4>(plain, from) };
    (
        from,
        (u32::from_le_bytes(bytes) == word as u32) & (distance != 0),
    )
}
