//! The lens block: where each of `n` elements ends, in about a byte each.

mod one;

use super::layout::{
    malformed, push_rv, push_uint, rv_bytes, uint_at, unsigned_width, Back, IMPLIED,
};
use crate::Result;
pub(super) use one::{one, one_within};
use one::{sum, up_to_16};

/// Modes 0 to 7 are running ends of 1 to 8 bytes.
const U8: u8 = 8;
const U16: u8 = 9;
const CONST: u8 = 10;
/// Lengths between two bases.
const GROUP: usize = 16;

/// Appends the block of `lengths` in the least of bytes, and gives its mode.
#[allow(clippy::cast_possible_truncation, reason = "tried, or a width")]
pub(super) fn write(out: &mut Vec<u8>, lengths: &[usize]) -> u8 {
    let n = lengths.len();
    if let (true, Some(&first)) = (n >= 2, lengths.first()) {
        if lengths.iter().all(|&length| length == first) {
            push_rv(out, first as u64);
            return CONST;
        }
    }
    let stored = if n <= IMPLIED { n.saturating_sub(1) } else { n };
    let kept = lengths.get(..stored).unwrap_or_default();
    let most = kept.iter().copied().max().unwrap_or(0) as u64;
    let end: u64 = kept.iter().map(|&length| length as u64).sum();
    let grouped = bases_bytes(lengths, n);
    let ends_width = unsigned_width(end);
    let ends = stored.saturating_mul(ends_width);
    let by_u8 = (most <= 0xFF).then(|| stored.saturating_add(grouped));
    let by_u16 = (most <= 0xFFFF).then(|| stored.saturating_mul(2).saturating_add(grouped));
    let least = by_u8
        .into_iter()
        .chain(by_u16)
        .chain([ends])
        .min()
        .unwrap_or(ends);
    if by_u8 == Some(least) {
        out.extend(kept.iter().map(|&length| length as u8));
        write_bases(out, lengths);
        return U8;
    }
    if by_u16 == Some(least) {
        for &length in kept {
            push_uint(out, length as u64, 2);
        }
        write_bases(out, lengths);
        return U16;
    }
    let mut end = 0_u64;
    for &length in kept {
        end = end.saturating_add(length as u64);
        push_uint(out, end, ends_width);
    }
    (ends_width as u8).saturating_sub(1)
}

/// The sums of the first 16, 32, ... lengths.
fn bases(lengths: &[usize]) -> impl Iterator<Item = u64> + '_ {
    let groups = lengths.len().saturating_sub(1) / GROUP;
    let sums = lengths.chunks(GROUP).scan(0_u64, |sum, group| {
        *sum = group
            .iter()
            .fold(*sum, |sum, &length| sum.saturating_add(length as u64));
        Some(*sum)
    });
    sums.take(groups)
}

fn bases_bytes(lengths: &[usize], n: usize) -> usize {
    if n <= IMPLIED {
        return 0;
    }
    let (count, last) = bases(lengths).fold((0_usize, 0), |(count, _), base| {
        (count.saturating_add(1), base)
    });
    count.saturating_mul(unsigned_width(last)).saturating_add(1)
}

#[allow(clippy::cast_possible_truncation, reason = "a width")]
fn write_bases(out: &mut Vec<u8>, lengths: &[usize]) {
    if lengths.len() <= IMPLIED {
        return;
    }
    let width = unsigned_width(bases(lengths).last().unwrap_or(0));
    for base in bases(lengths) {
        push_uint(out, base, width);
    }
    out.push(width as u8);
}

/// The ranges of `n` elements, read from a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lens<'a> {
    /// The bytes of the document.
    data: &'a [u8],
    /// Where the block begins in the document, and its bytes: ends or lengths of `width` bytes,
    /// then the bases of `base` bytes.
    pub(super) start: usize,
    size: usize,
    n: usize,
    /// The length of all, where it is the same.
    length: usize,
    form: Form,
    width: u8,
    base: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Ends,
    Lengths,
    Const,
}

impl<'a> Lens<'a> {
    /// Of no elements.
    pub(super) const NONE: Self = Self {
        data: &[],
        start: 0,
        size: 0,
        n: 0,
        length: 0,
        form: Form::Const,
        width: 1,
        base: 1,
    };

    /// Goes back past the block of `n` lengths of a mode.
    ///
    /// # Errors
    /// V19 for modes and widths that are not; V18 if it is longer than the extent.
    #[inline]
    pub(super) fn read(back: &mut Back<'a>, mode: u8, n: usize) -> Result<Self> {
        let stored = stored(n);
        let mut lens = Self {
            data: back.data,
            n,
            ..Self::NONE
        };
        match mode {
            0..=7 => {
                lens.form = Form::Ends;
                lens.width = mode.wrapping_add(1);
                lens.size = stored.saturating_mul(usize::from(lens.width));
            }
            U8 | U16 => {
                lens.form = Form::Lengths;
                lens.width = mode.wrapping_sub(7);
                let mut bases = 0;
                if n > IMPLIED {
                    lens.base = base_width(back)?;
                    let groups = n.wrapping_sub(1) / GROUP;
                    bases = groups.saturating_mul(usize::from(lens.base));
                }
                let lengths = stored.saturating_mul(usize::from(lens.width));
                lens.size = lengths.saturating_add(bases);
            }
            CONST => lens.length = back.rv()?,
            _ => return Err(no_mode(back.end)),
        }
        back.bytes(lens.size)?;
        lens.start = back.end;
        Ok(lens)
    }

    /// End or length `i`.
    #[inline]
    fn entry(&self, i: usize) -> usize {
        let width = usize::from(self.width);
        let at = self.start.wrapping_add(i.wrapping_mul(width));
        uint_at(self.data, at, width)
    }

    /// Start and end of element `i`, where all together are `total` long.
    ///
    /// # Errors
    /// V19 if it does not lie within `total`.
    #[allow(clippy::inline_always, reason = "a tenth of the time of a lookup")]
    #[inline(always)]
    pub(super) fn range(&self, i: usize, total: usize) -> Result<(usize, usize)> {
        let (data, start, n) = (self.data, self.start, self.n);
        let (from, to) = match (self.form, self.width) {
            (Form::Const, _) => one::constant(self.length, i),
            (Form::Ends, width) => one::by_ends(data, start, width, i),
            (Form::Lengths, 1) => one::by_bytes(data, start, n, self.base, i),
            (Form::Lengths, _) => one::by_pairs(data, start, n, self.base, i),
        };
        let implied = i.wrapping_add(1) == n && n <= IMPLIED && self.form != Form::Const;
        one::checked(
            (from, if implied { total } else { to }),
            (i, n),
            total,
            start,
        )
    }

    /// All lengths in order, where all together are `total` long.
    pub(super) fn lengths(&self, total: usize) -> Lengths<'a> {
        Lengths {
            lens: *self,
            i: 0,
            before: 0,
            total,
        }
    }

    /// The length of all, where it is the same.
    pub(super) fn constant(&self) -> Option<usize> {
        (self.form == Form::Const).then_some(self.length)
    }

    /// How many elements there are.
    pub(super) fn len(&self) -> usize {
        self.n
    }

    /// Checks every length, and that all together are `total`.
    ///
    /// # Errors
    /// V19.
    pub(super) fn validate(&self, total: usize) -> Result<()> {
        let wrong = |text| Err(malformed("V19", text, self.start));
        if self.form == Form::Const {
            if self.n.checked_mul(self.length) != Some(total) {
                return wrong("constant lengths that do not fill their list");
            }
            return Ok(());
        }
        let end = match self.form {
            Form::Lengths if self.width == 1 => self.sum_of_bytes()?,
            _ => self.last_end(total)?,
        };
        // Of few, the last one is the rest.
        if end > total || (self.n > IMPLIED && end != total) {
            return wrong("lengths that do not fill their list");
        }
        Ok(())
    }

    /// The sum of all stored lengths of one byte; every base is checked.
    fn sum_of_bytes(&self) -> Result<usize> {
        let end = self.start.wrapping_add(stored(self.n));
        let lengths = self.data.get(self.start..end).unwrap_or_default();
        let mut end = 0_usize;
        for (g, group) in lengths.chunks(GROUP).enumerate() {
            if self.group(g) != end {
                return Err(self.wrong_base());
            }
            let all = match group.first_chunk::<16>() {
                Some(all) => u128::from_le_bytes(*all),
                None => up_to_16(group),
            };
            end = end.wrapping_add(sum(all));
        }
        Ok(end)
    }

    /// Where the last element ends; every end and base is checked.
    fn last_end(&self, total: usize) -> Result<usize> {
        let mut end = 0_usize;
        for (i, range) in self.lengths(total).enumerate() {
            let is_base = self.form == Form::Lengths && i % GROUP == 0;
            if is_base && self.group(i / GROUP) != end {
                return Err(self.wrong_base());
            }
            end = range?.1;
        }
        Ok(end)
    }

    /// Where the group behind `g` groups begins.
    fn group(&self, g: usize) -> usize {
        one::group(self.data, self.start, (self.n, self.width), self.base, g)
    }

    #[cold]
    fn wrong_base(&self) -> crate::Error {
        let text = "a base that is not the sum of the lengths before it";
        malformed("V19", text, self.start)
    }

    /// Bytes of the block.
    pub(super) fn bytes(&self) -> usize {
        match self.form {
            Form::Ends => self.size,
            Form::Lengths => self.size.saturating_add(usize::from(self.n > IMPLIED)),
            Form::Const => rv_bytes(self.length as u64),
        }
    }
}

/// How many ends or lengths are stored of `n`.
#[inline]
fn stored(n: usize) -> usize {
    if n <= IMPLIED {
        n.saturating_sub(1)
    } else {
        n
    }
}

/// The byte that says how many bytes each base has.
#[inline]
fn base_width(back: &mut Back<'_>) -> Result<u8> {
    let base = back.byte()?;
    if (1..=8).contains(&base) {
        return Ok(base);
    }
    Err(malformed("V19", "bases of an impossible width", back.end))
}

#[cold]
fn no_mode(at: usize) -> crate::Error {
    malformed("V19", "a lens of a mode that is not", at)
}

/// Ranges one after the other, each in constant time.
#[derive(Clone, Debug)]
pub(super) struct Lengths<'a> {
    lens: Lens<'a>,
    i: usize,
    before: usize,
    total: usize,
}

impl Lengths<'_> {
    /// Goes to element `i`, which may be the end.
    ///
    /// # Errors
    /// V19 for lengths that lead outside.
    #[inline]
    pub(super) fn seek(&mut self, i: usize) -> Result<()> {
        self.before = if i < self.lens.n {
            self.lens.range(i, self.total)?.0
        } else {
            self.total
        };
        self.i = i;
        Ok(())
    }

    /// Where the next element begins.
    #[inline]
    pub(super) fn begin(&self) -> usize {
        self.before
    }
}

impl Iterator for Lengths<'_> {
    type Item = Result<(usize, usize)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let i = self.i;
        if i >= self.lens.n {
            return None;
        }
        self.i = i.wrapping_add(1);
        let from = self.before;
        let implied = self.i == self.lens.n && self.lens.n <= IMPLIED;
        let to = match self.lens.form {
            Form::Const => from.checked_add(self.lens.length),
            _ if implied => Some(self.total),
            Form::Ends => Some(self.lens.entry(i)),
            Form::Lengths => from.checked_add(self.lens.entry(i)),
        };
        match to {
            Some(to) if from <= to && to <= self.total => {
                self.before = to;
                Some(Ok((from, to)))
            }
            _ => {
                self.i = self.lens.n;
                Some(Err(one::outside(self.lens.start)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(lengths: &[usize]) -> u8 {
        let mut out = vec![9; 3];
        let mode = write(&mut out, lengths);
        let mut back = Back::new(&out, 3, out.len());
        let lens = Lens::read(&mut back, mode, lengths.len()).unwrap();
        assert_eq!((3, out.len() - 3), (back.end, lens.bytes()));
        let total: usize = lengths.iter().sum();
        let mut from = 0;
        for (i, length) in lengths.iter().enumerate() {
            assert_eq!((from, from + length), lens.range(i, total).unwrap(), "{i}");
            from += length;
        }
        assert!(lens.range(lengths.len(), total).is_err());
        let all: Vec<_> = lens.lengths(total).map(|range| range.unwrap()).collect();
        assert_eq!(lengths.len(), all.len());
        lens.validate(total).unwrap();
        mode
    }

    #[test]
    fn modes_are_those_of_the_least_bytes() {
        assert_eq!(U8, there_and_back(&[7]));
        assert_eq!(CONST, there_and_back(&[7, 7]));
        assert_eq!(U8, there_and_back(&[1, 70_000]));
        assert_eq!(U16, there_and_back(&[300, 1]));
        assert_eq!(0, there_and_back(&(0..17).collect::<Vec<_>>()));
        assert_eq!(U8, there_and_back(&(0..40).collect::<Vec<_>>()));
        assert_eq!(1, there_and_back(&[300, 300, 1, 1].repeat(5)));
        assert_eq!(U16, there_and_back(&[300, 300, 1, 1].repeat(500)));
    }

    proptest! {
        #[test]
        fn any_lengths_come_back(
            lengths in prop::collection::vec(prop_oneof![0_usize..4, 0_usize..300, 0_usize..70_000], 1..80),
        ) {
            there_and_back(&lengths);
        }
    }
}
