//! Columns of numbers: an annotation, then plain values, one packed run, or blocks with an index.

use std::ops::Range;

use super::codec::{decode, Codec, Method, Packing, Scratch};
use super::element::{load, Element};
use super::fault::{fault, malformed};
use super::kind::Form;
use super::packing::NA;
use super::source::{reserve, u32_at, u64_at, Source};
use crate::compress::ReadAt;
use crate::{ErrorKind, Result};

/// The bit of the first word that says whether there is an annotation.
const ANNOTATED: u32 = 1 << 31;
/// Bits of an offset below its codec.
const OFFSET: u64 = (1 << 48) - 1;

/// Where the numbers of a column lie.
pub(super) struct Numeric {
    /// Behind its last byte.
    pub(super) end: u64,
    form: Form,
    rows: u64,
    body: Body,
}

enum Body {
    /// No rows.
    Empty,
    /// One run in one packing, from a byte on.
    Run(Packing, u64),
    /// Blocks with an index.
    Blocks {
        /// What offsets count from; the index stands 8 bytes behind it.
        base: u64,
        /// Bytes of the largest block.
        largest: u64,
    },
}

/// The annotation of a column, and where it ends.
pub(super) fn annotation<S: ReadAt>(source: &Source<S>, at: u64) -> Result<(Option<Vec<u8>>, u64)> {
    let mut word = [0; 4];
    source.fill("a column", at, &mut word)?;
    let word = u32::from_le_bytes(word);
    let start = at.saturating_add(4);
    if word == 0 {
        return Ok((None, start));
    }
    if word & ANNOTATED == 0 {
        let text = format!("annotation {word:08X}, expected 0 or bit 31");
        return Err(malformed(text, at));
    }
    let len = u64::from(word & !ANNOTATED);
    let zone = source.bytes("an annotation", start, len)?;
    Ok((Some(zone), start.saturating_add(len)))
}

impl Numeric {
    /// Reads the head of a column.
    pub(super) fn open<S: ReadAt>(
        source: &Source<S>,
        form: Form,
        at: u64,
        rows: u64,
    ) -> Result<Self> {
        let (_, base) = annotation(source, at)?;
        let mut column = Self {
            end: base,
            form,
            rows,
            body: Body::Empty,
        };
        if rows == 0 {
            return Ok(column);
        }
        let mut words = [0; 8];
        source.fill("a column", base, &mut words)?;
        let (largest, per) = (u32_at(&words, 0), u32_at(&words, 4));
        let start = base.saturating_add(8);
        if largest == 0 {
            let code = u16::try_from(per).ok().and_then(Codec::of);
            let Some(codec) = code.filter(|codec| codec.method == Method::None && codec.fits(form))
            else {
                let text = format!("codec {per} over a whole column");
                return Err(fault(ErrorKind::Unsupported, text, base.saturating_add(4)));
            };
            let count = usize::try_from(rows).unwrap_or(usize::MAX);
            let len = codec.packing.bytes(count, form.size());
            column.body = Body::Run(codec.packing, start);
            column.end = source.holds("a column", start, len as u64)?;
            return Ok(column);
        }
        if usize::try_from(per) != Ok(form.per_block()) {
            let text = format!("blocks of {per} values, expected {}", form.per_block());
            return Err(malformed(text, base.saturating_add(4)));
        }
        let index = column.blocks().saturating_add(1).saturating_mul(8);
        let data = source.holds("the index of a column", start, index)?;
        let mut last = [0; 8];
        source.fill("the index of a column", data.saturating_sub(8), &mut last)?;
        column.end = source.holds("a column", base, u64::from_le_bytes(last))?;
        if column.end < data {
            return Err(malformed("a column that ends within its index", data));
        }
        let largest = u64::from(largest);
        column.body = Body::Blocks { base, largest };
        Ok(column)
    }

    fn per(&self) -> u64 {
        self.form.per_block() as u64
    }

    fn blocks(&self) -> u64 {
        self.rows.div_ceil(self.per())
    }

    /// Rows that are best read together.
    pub(super) fn stride(&self) -> u64 {
        self.per().saturating_mul(32)
    }

    /// Fills `into` with the values of `rows`.
    pub(super) fn read<S: ReadAt, T: Element>(
        &self,
        source: &Source<S>,
        rows: Range<u64>,
        into: &mut [T],
        scratch: &mut Scratch,
    ) -> Result<()> {
        match self.body {
            Body::Empty => Ok(()),
            _ if rows.is_empty() => Ok(()),
            Body::Run(packing, at) => Self::read_run(source, (packing, at), rows, into, scratch),
            Body::Blocks { base, largest } => {
                self.read_blocks(source, (base, largest), rows, into, scratch)
            }
        }
    }

    /// From a packing of all rows; begins where a word does.
    fn read_run<S: ReadAt, T: Element>(
        source: &Source<S>,
        (packing, at): (Packing, u64),
        rows: Range<u64>,
        into: &mut [T],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let before = rows.start % 32;
        let start = rows.start.saturating_sub(before);
        let place = match packing {
            Packing::Logical => start / 4,
            Packing::Byte => start,
            Packing::Short => start.saturating_mul(2),
            _ => start.saturating_mul(T::SIZE as u64),
        };
        let count = usize::try_from(rows.end.saturating_sub(start)).unwrap_or(usize::MAX);
        let len = packing.bytes(count, T::SIZE);
        let at = at.saturating_add(place);
        let bytes = source.again("a column", (at, len), &mut scratch.stored)?;
        if packing == Packing::Plain {
            let skip = usize::try_from(before).unwrap_or(0).saturating_mul(T::SIZE);
            load(bytes.get(skip..).unwrap_or_default(), into);
            return Ok(());
        }
        let mut all = Vec::new();
        reserve(&mut all, count, at)?;
        all.resize(count, T::default());
        T::unpack(packing, bytes, &mut all);
        copy_from(&all, before, into);
        Ok(())
    }

    /// From the blocks that hold the rows.
    fn read_blocks<S: ReadAt, T: Element>(
        &self,
        source: &Source<S>,
        (base, largest): (u64, u64),
        rows: Range<u64>,
        into: &mut [T],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let per = self.per();
        let first = rows.start.checked_div(per).unwrap_or(0);
        let blocks = rows.end.div_ceil(per).saturating_sub(first);
        let at = base
            .saturating_add(8)
            .saturating_add(first.saturating_mul(8));
        let len = blocks.saturating_add(1).saturating_mul(8);
        let index = source.bytes("the index of a column", at, len)?;
        let entries: Vec<u64> = index
            .chunks_exact(8)
            .map(|entry| u64_at(entry, 0))
            .collect();
        self.check_index(&entries, (first, base, largest))?;
        let start = entries.first().copied().unwrap_or_default() & OFFSET;
        let end = entries.last().copied().unwrap_or_default() & OFFSET;
        let size = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        let place = base.saturating_add(start);
        source.again("a block", (place, size), &mut scratch.stored)?;
        let Scratch {
            stored,
            plain,
            zstd,
            ..
        } = scratch;
        let mut rest = into;
        for (pair, block) in entries.windows(2).zip(first..) {
            let [entry, next] = pair else { break };
            let offset = entry & OFFSET;
            let at = base.saturating_add(offset);
            let codec = self.codec(*entry, at)?;
            let from = usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX);
            let to = usize::try_from((next & OFFSET).saturating_sub(start)).unwrap_or(usize::MAX);
            let bytes = stored.get(from..to).unwrap_or_default();
            let has = block.saturating_mul(per)
                ..block.saturating_add(1).saturating_mul(per).min(self.rows);
            let wanted = has.start.max(rows.start)..has.end.min(rows.end);
            let count = usize::try_from(wanted.end.saturating_sub(wanted.start)).unwrap_or(0);
            let (values, behind) = std::mem::take(&mut rest)
                .split_at_mut_checked(count)
                .unwrap_or_default();
            rest = behind;
            if wanted == has {
                decode(codec, bytes, values, (&mut *plain, &mut *zstd), at)?;
            } else {
                let len = usize::try_from(has.end.saturating_sub(has.start)).unwrap_or(0);
                let mut all = vec![T::default(); len];
                decode(codec, bytes, &mut all, (&mut *plain, &mut *zstd), at)?;
                copy_from(&all, wanted.start.saturating_sub(has.start), values);
            }
        }
        Ok(())
    }

    fn codec(&self, entry: u64, at: u64) -> Result<Codec> {
        let code = u16::try_from(entry >> 48).unwrap_or(u16::MAX);
        Codec::of(code)
            .filter(|codec| codec.fits(self.form))
            .ok_or_else(|| {
                malformed(
                    format!("a block of codec {code}, which its column cannot have"),
                    at,
                )
            })
    }

    /// Offsets must rise, begin behind the index, end with the column, and keep to the largest.
    fn check_index(&self, entries: &[u64], (first, base, largest): (u64, u64, u64)) -> Result<()> {
        let place = |index: u64| {
            base.saturating_add(8)
                .saturating_add(index.saturating_mul(8))
        };
        let data = self.blocks().saturating_add(2).saturating_mul(8);
        let begin = entries.first().copied().unwrap_or_default() & OFFSET;
        if begin < data || (first == 0 && begin != data) {
            let text = format!("a block at offset {begin}, expected {data} or more");
            return Err(malformed(text, place(first)));
        }
        for (pair, index) in entries.windows(2).zip(first..) {
            let [one, two] = pair else { break };
            let size = (two & OFFSET).saturating_sub(one & OFFSET);
            if size == 0 || size > largest {
                let text = format!("a block of {size} bytes, expected 1 to {largest}");
                return Err(malformed(text, place(index.saturating_add(1))));
            }
        }
        let last = entries.last().copied().unwrap_or_default();
        let end = base.saturating_add(last & OFFSET);
        let behind = first.saturating_add(entries.len() as u64) > self.blocks();
        if end > self.end || (behind && last >> 48 != 0) {
            let text = format!(
                "a block that ends at byte {end} of a column that ends at {}",
                self.end
            );
            return Err(malformed(text, place(first)));
        }
        Ok(())
    }
}

/// The values behind the first `skip`.
fn copy_from<T: Copy>(all: &[T], skip: u64, into: &mut [T]) {
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    for (value, found) in into.iter_mut().zip(all.get(skip..).unwrap_or_default()) {
        *value = *found;
    }
}

/// Codes from 1 to `levels`, and NA.
pub(super) fn check_codes(codes: &[i32], levels: usize, at: u64) -> Result<()> {
    let most = i32::try_from(levels).unwrap_or(i32::MAX);
    let wrong = |code: &i32| *code != NA && !(1..=most).contains(code);
    if codes.iter().fold(false, |found, code| found | wrong(code)) {
        let code = codes
            .iter()
            .find(|code| wrong(code))
            .copied()
            .unwrap_or_default();
        let text = format!("code {code} of a factor with {levels} levels");
        return Err(malformed(text, at));
    }
    Ok(())
}

/// 0, 1 and NA.
pub(super) fn check_logicals(values: &[i32], at: u64) -> Result<()> {
    let wrong = |value: &i32| *value != NA && *value != 0 && *value != 1;
    if values
        .iter()
        .fold(false, |found, value| found | wrong(value))
    {
        return Err(malformed(
            "a logical that is neither TRUE, FALSE nor NA",
            at,
        ));
    }
    Ok(())
}
