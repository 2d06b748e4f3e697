//! Blocks of strings put together: offsets, bits of NA, and small columns as a whole.

use super::codec::Scratch;
use super::source::{zeros, Source};
use super::strings::{narrow, unsigned, Block, Place};
use super::texts::{Offsets, TextEncoding, Texts};
use crate::compress::ReadAt;
use crate::Result;

/// Ends of blocks become offsets of the whole.
pub(super) fn offsets(mut ends: Vec<i32>, blocks: &[Block], total: u64) -> Offsets {
    let Ok(_) = i32::try_from(total) else {
        let mut long = Vec::with_capacity(ends.len());
        long.push(0);
        let mut rest = ends.get(1..).unwrap_or_default();
        let mut base = 0_i64;
        for block in blocks {
            let (part, behind) = rest.split_at_checked(block.strings).unwrap_or_default();
            long.extend(
                part.iter()
                    .map(|end| base.saturating_add(i64::from(unsigned(*end)))),
            );
            base = base.saturating_add(i64::try_from(block.take).unwrap_or(i64::MAX));
            rest = behind;
        }
        return Offsets::Long(long);
    };
    let mut rest = ends.get_mut(1..).unwrap_or_default();
    let mut base = 0_i32;
    for block in blocks {
        let (part, behind) = rest.split_at_mut_checked(block.strings).unwrap_or_default();
        for end in part {
            *end = end.wrapping_add(base);
        }
        base = base.wrapping_add(i32::try_from(block.take).unwrap_or(i32::MAX));
        rest = behind;
    }
    Offsets::Short(ends)
}

/// A bit for each string that is there; None where all are.
pub(super) fn validity(blocks: &[Block], count: usize) -> Option<Vec<u8>> {
    blocks.iter().find(|block| block.na.is_some())?;
    let mut bits = vec![0xff; count.div_ceil(8)];
    if let Some(last) = bits.last_mut().filter(|_| count % 8 != 0) {
        *last = (1_u8 << (count % 8)).wrapping_sub(1);
    }
    let mut first = 0_usize;
    for block in blocks {
        if let Some((words, skip)) = &block.na {
            for (word, base) in words.iter().zip((0_usize..).step_by(32)) {
                let mut word = *word;
                while word != 0 {
                    let bit = base.saturating_add(word.trailing_zeros() as usize);
                    word &= word.wrapping_sub(1);
                    let Some(at) = bit.checked_sub(*skip).filter(|at| *at < block.strings) else {
                        continue;
                    };
                    let place = first.saturating_add(at);
                    if let Some(byte) = bits.get_mut(place / 8) {
                        *byte &= !(1 << (place % 8));
                    }
                }
            }
        }
        first = first.saturating_add(block.strings);
    }
    Some(bits)
}

/// All strings of a small column, such as names; and where it ends.
pub(super) fn read_small<S: ReadAt>(
    source: &Source<S>,
    at: u64,
    count: u64,
) -> Result<(Texts, u64)> {
    if count == 0 {
        return Ok((Texts::new(TextEncoding::Native), at));
    }
    let place = Place::open(source, at, count)?;
    let mut scratch = Scratch::default();
    let mut ends = zeros(narrow(count).saturating_add(1), at)?;
    let into = ends.get_mut(1..).unwrap_or_default();
    let blocks = place.read_ends(source, 0..count, into, &mut scratch)?;
    let total: u64 = blocks.iter().map(|block| block.take as u64).sum();
    let mut bytes = zeros(narrow(total), at)?;
    let mut rest = bytes.as_mut_slice();
    for block in &blocks {
        let (part, behind) = std::mem::take(&mut rest)
            .split_at_mut_checked(block.take)
            .unwrap_or_default();
        rest = behind;
        block.read_text(source, part, &mut scratch)?;
    }
    let texts = Texts {
        validity: validity(&blocks, narrow(count)),
        offsets: offsets(ends, &blocks, total),
        bytes,
        encoding: place.encoding,
    };
    Ok((texts, place.end))
}
