//! The lens block: where each of `n` elements ends, in about a byte each.

use super::layout::{malformed, push_rv, push_uint, rv_bytes, uint, unsigned_width, Back, IMPLIED};
use crate::Result;

/// Modes 0 to 7 are running ends of 1 to 8 bytes.
const U8: u8 = 8;
const U16: u8 = 9;
const CONST: u8 = 10;
/// Lengths between two bases.
const GROUP: usize = 16;

/// Appends the block of `lengths` in the least of bytes, and gives its mode.
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
    n: usize,
    form: Form<'a>,
    /// Where the block begins in the document.
    pub(super) start: usize,
}

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Ends {
        ends: &'a [u8],
        width: usize,
    },
    /// Lengths of 1 or 2 bytes, and the bases of `base` bytes.
    Lengths {
        lengths: &'a [u8],
        width: usize,
        bases: &'a [u8],
        base: usize,
    },
    Const(usize),
}

impl<'a> Lens<'a> {
    /// Of no elements.
    pub(super) const NONE: Self = Self {
        n: 0,
        form: Form::Const(0),
        start: 0,
    };

    /// Goes back past the block of `n` lengths of a mode.
    ///
    /// # Errors
    /// V19 for modes and widths that are not; V18 if it is longer than the extent.
    #[inline]
    pub(super) fn read(back: &mut Back<'a>, mode: u8, n: usize) -> Result<Self> {
        let stored = if n <= IMPLIED { n.saturating_sub(1) } else { n };
        let form = match mode {
            0..=7 => {
                let width = usize::from(mode).wrapping_add(1);
                let ends = back.bytes(stored.saturating_mul(width))?;
                Form::Ends { ends, width }
            }
            U8 | U16 => {
                let width = usize::from(mode.wrapping_sub(7));
                let (mut bases, mut base) = (&[][..], 0);
                if n > IMPLIED {
                    base = usize::from(back.byte()?);
                    if !(1..=8).contains(&base) {
                        return Err(malformed("V19", "bases of an impossible width", back.end));
                    }
                    let groups = n.wrapping_sub(1) / GROUP;
                    bases = back.bytes(groups.saturating_mul(base))?;
                }
                let lengths = back.bytes(stored.saturating_mul(width))?;
                Form::Lengths {
                    lengths,
                    width,
                    bases,
                    base,
                }
            }
            CONST => Form::Const(back.rv()?),
            _ => return Err(malformed("V19", "a lens of a mode that is not", back.end)),
        };
        Ok(Self {
            n,
            form,
            start: back.end,
        })
    }

    /// Start and end of element `i`, where all together are `total` long; `at` is for errors.
    ///
    /// # Errors
    /// V19 if it does not lie within `total`.
    #[inline]
    pub(super) fn range(&self, i: usize, total: usize) -> Result<(usize, usize)> {
        let last = i.wrapping_add(1) == self.n;
        let (from, to) = match self.form {
            Form::Ends { ends, width } => {
                let end = |i: usize| number(ends, i, width);
                let from = if i == 0 {
                    Some(0)
                } else {
                    end(i.wrapping_sub(1))
                };
                let to = if last && self.n <= IMPLIED {
                    Some(total)
                } else {
                    end(i)
                };
                (from, to)
            }
            Form::Lengths {
                lengths,
                width,
                bases,
                base,
            } => {
                let group = i / GROUP;
                let first = group.wrapping_mul(GROUP);
                let mut from = match group.checked_sub(1) {
                    Some(group) => number(bases, group, base),
                    None => Some(0),
                };
                if width == 1 {
                    let before = lengths.get(first..i).unwrap_or_default();
                    let sum: usize = before.iter().map(|&length| usize::from(length)).sum();
                    from = from.and_then(|from| from.checked_add(sum));
                } else {
                    for j in first..i {
                        let length = number(lengths, j, width);
                        from = from
                            .zip(length)
                            .and_then(|(sum, length)| sum.checked_add(length));
                    }
                }
                let to = if last && self.n <= IMPLIED {
                    Some(total)
                } else {
                    let length = number(lengths, i, width);
                    from.zip(length)
                        .and_then(|(from, length)| from.checked_add(length))
                };
                (from, to)
            }
            Form::Const(length) => {
                let from = i.checked_mul(length);
                (from, from.and_then(|from| from.checked_add(length)))
            }
        };
        match (from, to) {
            (Some(from), Some(to)) if i < self.n && from <= to && to <= total => Ok((from, to)),
            _ => Err(malformed(
                "V19",
                "a length that leads outside its list",
                self.start,
            )),
        }
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
        match self.form {
            Form::Const(length) => Some(length),
            _ => None,
        }
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
        if let Form::Const(length) = self.form {
            if self.n.checked_mul(length) != Some(total) {
                return wrong("constant lengths that do not fill their list");
            }
            return Ok(());
        }
        let mut end = 0_usize;
        for (i, range) in self.lengths(total).enumerate() {
            if let (Form::Lengths { bases, base, .. }, true) = (self.form, i > 0 && i % GROUP == 0)
            {
                if number(bases, (i / GROUP).wrapping_sub(1), base) != Some(end) {
                    return wrong("a base that is not the sum of the lengths before it");
                }
            }
            end = range?.1;
        }
        if end != total {
            return wrong("lengths that do not fill their list");
        }
        Ok(())
    }

    /// Bytes of the block.
    pub(super) fn bytes(&self) -> usize {
        match self.form {
            Form::Ends { ends, .. } => ends.len(),
            Form::Lengths { lengths, bases, .. } => {
                let all = lengths.len().saturating_add(bases.len());
                all.saturating_add(usize::from(self.n > IMPLIED))
            }
            Form::Const(length) => rv_bytes(length as u64),
        }
    }
}

/// Ranges one after the other, each in constant time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths<'a> {
    lens: Lens<'a>,
    i: usize,
    before: usize,
    total: usize,
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
            Form::Const(length) => from.checked_add(length),
            _ if implied => Some(self.total),
            Form::Ends { ends, width } => number(ends, i, width),
            Form::Lengths { lengths, width, .. } => {
                let length = number(lengths, i, width);
                length.and_then(|length| from.checked_add(length))
            }
        };
        match to {
            Some(to) if from <= to && to <= self.total => {
                self.before = to;
                Some(Ok((from, to)))
            }
            _ => {
                self.i = self.lens.n;
                let text = "a length that leads outside its list";
                Some(Err(malformed("V19", text, self.lens.start)))
            }
        }
    }
}

/// Number `i` of those of `width` bytes.
#[inline]
fn number(numbers: &[u8], i: usize, width: usize) -> Option<usize> {
    if width == 1 {
        return numbers.get(i).map(|&byte| usize::from(byte));
    }
    let from = i.checked_mul(width)?;
    let bytes = numbers.get(from..from.checked_add(width)?)?;
    usize::try_from(uint(bytes)).ok()
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
        assert_eq!(U8, there_and_back(&(0..17).collect::<Vec<_>>()));
        assert_eq!(1, there_and_back(&[300, 300, 1, 1].repeat(5)));
        assert_eq!(U16, there_and_back(&[300, 300, 1, 1].repeat(50)));
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
