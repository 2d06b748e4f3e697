//! A list as it lies in a document: its header, and any element without looking at the others.

use super::decimal;
use super::doc::{Doc, Shape};
use super::layout::{broken, int, kind, malformed, tag, uint, Back, SEGMENT};
use super::lens::Lens;
use crate::{ErrorKind, Result};

/// Bytes of the document from the first on, up to the second.
pub(super) type Extent = (usize, usize);

/// A list's header, parsed; `n` is how many elements it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<'a> {
    pub(super) n: usize,
    pub(super) body: Body<'a>,
    /// The whole list.
    pub(super) at: Extent,
    /// Whether the number of elements was given, not read.
    pub(super) given: bool,
    /// Bytes at the start of the extent that belong to none of its parts.
    pub(super) unused: usize,
}

/// What a list's elements are made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body<'a> {
    Empty,
    Generic {
        at: Ranges<'a>,
        tags: &'a [u8],
    },
    Uniform {
        at: Ranges<'a>,
        tag: u8,
    },
    Int {
        numbers: &'a [u8],
        width: usize,
        base: Option<i64>,
    },
    Float {
        numbers: &'a [u8],
        width: usize,
        ints: bool,
    },
    Dec {
        numbers: &'a [u8],
        width: usize,
        e: usize,
        ints: bool,
    },
    Table {
        columns: Ranges<'a>,
        shape: usize,
        keys: Shape<'a>,
    },
    /// Elements are runs of the child's, so many as the lens says.
    Nested {
        child: Extent,
        counts: Lens<'a>,
    },
    Dict {
        unique: Extent,
        codes: &'a [u8],
        width: usize,
    },
    Bitmap {
        bits: &'a [u8],
    },
    Partial {
        child: Extent,
        bits: &'a [u8],
        ranks: &'a [u8],
        width: usize,
        absent: u8,
    },
    Segmented {
        segments: Ranges<'a>,
        size: usize,
    },
    Tuples {
        columns: Ranges<'a>,
    },
}

/// Extents side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranges<'a> {
    pub(super) start: usize,
    pub(super) total: usize,
    pub(super) lens: Lens<'a>,
}

impl Ranges<'_> {
    /// The extent of number `i`.
    #[inline]
    pub(super) fn get(&self, i: usize) -> Result<Extent> {
        let (from, to) = self.lens.range(i, self.total)?;
        // Within an extent, so that nothing can overflow.
        Ok((self.start.wrapping_add(from), self.start.wrapping_add(to)))
    }
}

/// An element: what a tag and an extent say, or what a list of numbers holds itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item<'a> {
    Stored {
        tag: u8,
        at: Extent,
    },
    Int(i64),
    Float(f64),
    Bool(bool),
    /// A row of a table or of tuples.
    Row {
        of: List<'a>,
        i: usize,
    },
    /// So many elements of a list from one on.
    Run {
        of: List<'a>,
        from: usize,
        n: usize,
    },
}

impl<'a> List<'a> {
    /// The list of an extent; `given` is its number of elements, where it does not say so.
    ///
    /// # Errors
    /// `Malformed`, `Unsupported` for what no list is.
    #[inline]
    pub(super) fn read(doc: &Doc<'a>, at: Extent, given: Option<usize>) -> Result<Self> {
        let (start, end) = at;
        let mut back = Back::new(doc.data, start, end);
        if start >= end {
            return match given {
                None | Some(0) => Ok(Self {
                    n: 0,
                    body: Body::Empty,
                    at,
                    given: given.is_some(),
                    unused: 0,
                }),
                Some(_) => Err(malformed("V18", "an empty list where elements belong", end)),
            };
        }
        let last = back.byte()?;
        let n = match given {
            Some(n) => n,
            None => back.rv()?,
        };
        if n == 0 {
            return Err(malformed(
                "V18",
                "a list of no elements that is not empty",
                back.end,
            ));
        }
        let body = body(doc, &mut back, last & 0xF, last >> 4, n)?;
        let unused = match body {
            Body::Dict { unique, .. } => unique.0.wrapping_sub(start),
            Body::Int { .. } | Body::Float { .. } | Body::Dec { .. } | Body::Bitmap { .. } => {
                back.end.wrapping_sub(start)
            }
            _ => 0,
        };
        Ok(Self {
            n,
            body,
            at,
            given: given.is_some(),
            unused,
        })
    }

    /// Where the list ends, for errors.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.at.1
    }

    /// The number of elements, where the list does not say it.
    #[inline]
    pub(super) fn given(&self) -> Option<usize> {
        self.given.then_some(self.n)
    }

    /// Element `i`.
    ///
    /// # Errors
    /// `Malformed` where the list is not what it says; `NotFound` from `n` on.
    #[inline]
    pub(super) fn get(&self, doc: &Doc<'a>, i: usize) -> Result<Item<'a>> {
        if i >= self.n {
            return Err(broken(
                ErrorKind::NotFound,
                "-",
                "no such element",
                self.end(),
            ));
        }
        match self.body {
            Body::Generic { at, tags } => {
                let tag = tags.get(i).copied().unwrap_or(tag::NULL);
                Ok(Item::Stored {
                    tag,
                    at: at.get(i)?,
                })
            }
            Body::Uniform { at, tag } => Ok(Item::Stored {
                tag,
                at: at.get(i)?,
            }),
            Body::Table { .. } | Body::Tuples { .. } => Ok(Item::Row { of: *self, i }),
            Body::Nested { child, counts } => {
                let of = List::read(doc, child, None)?;
                let (from, to) = counts.range(i, of.n)?;
                Ok(Item::Run {
                    of,
                    from,
                    n: to.wrapping_sub(from),
                })
            }
            Body::Dict { .. } | Body::Partial { .. } | Body::Segmented { .. } => self.inner(doc, i),
            _ => Ok(self.packed(i).unwrap_or(Item::Bool(false))),
        }
    }

    /// Element `i` of a list whose elements lie in another one; in a loop, because damage can put
    /// any number of such lists into each other.
    fn inner(&self, doc: &Doc<'a>, i: usize) -> Result<Item<'a>> {
        let (mut list, mut i) = (*self, i);
        loop {
            let rule = match list.body {
                Body::Dict {
                    unique,
                    codes,
                    width,
                } => {
                    let code = number(codes, i, width).and_then(|code| usize::try_from(code).ok());
                    list = List::read(doc, unique, None)?;
                    i = code.unwrap_or(usize::MAX);
                    "V25"
                }
                Body::Partial {
                    child,
                    bits,
                    ranks,
                    width,
                    absent,
                } => {
                    if !bit(bits, i) {
                        return Ok(Item::Stored {
                            tag: absent,
                            at: (list.end(), list.end()),
                        });
                    }
                    list = List::read(doc, child, None)?;
                    i = rank(bits, ranks, width, i);
                    "V26"
                }
                Body::Segmented { segments, size } => {
                    let size = size.max(1);
                    list = list.segment(doc, segments, size, i / size)?.0;
                    i %= size;
                    "V27"
                }
                _ => return list.get(doc, i),
            };
            if i >= list.n {
                let text = "an element that leads to one that is not there";
                return Err(malformed(rule, text, list.end()));
            }
        }
    }

    /// How many columns there are.
    pub(super) fn columns(&self) -> usize {
        match self.body {
            Body::Table { columns, .. } | Body::Tuples { columns } => columns.lens.len(),
            _ => 0,
        }
    }

    /// The shape of a table's rows.
    pub(super) fn shape(&self) -> Option<usize> {
        match self.body {
            Body::Table { shape, .. } => Some(shape),
            _ => None,
        }
    }

    /// Column `j` of a table or of tuples.
    #[inline]
    pub(super) fn column(&self, doc: &Doc<'a>, j: usize) -> Result<Self> {
        match self.body {
            Body::Table { columns, .. } | Body::Tuples { columns } => {
                Self::read(doc, columns.get(j)?, Some(self.n))
            }
            _ => Err(malformed("V23", "columns of what has none", self.end())),
        }
    }

    /// A segment and how many elements it has.
    pub(super) fn segment(
        &self,
        doc: &Doc<'a>,
        segments: Ranges<'a>,
        size: usize,
        which: usize,
    ) -> Result<(List<'a>, usize)> {
        let before = which.saturating_mul(size);
        let n = self.n.saturating_sub(before).min(size);
        let list = List::read(doc, segments.get(which)?, Some(n))?;
        if matches!(list.body, Body::Segmented { .. }) {
            return Err(malformed("V27", "segments inside a segment", list.end()));
        }
        Ok((list, n))
    }

    /// Element `i` of a list of numbers or bools.
    #[inline]
    pub(super) fn packed(&self, i: usize) -> Option<Item<'a>> {
        match self.body {
            Body::Int {
                numbers,
                width,
                base,
            } => {
                let from = i.checked_mul(width)?;
                let bytes = numbers.get(from..from.checked_add(width)?)?;
                Some(Item::Int(match base {
                    None => int(bytes),
                    // Width 7 at most, so that it is below 2^56.
                    Some(base) => base.wrapping_add_unsigned(uint(bytes)),
                }))
            }
            Body::Float {
                numbers,
                width,
                ints,
            } => {
                let from = i.checked_mul(width)?;
                let bytes = numbers.get(from..from.checked_add(width)?)?;
                Some(whole_or(float(bytes), ints))
            }
            Body::Dec {
                numbers,
                width,
                e,
                ints,
            } => {
                let from = i.checked_mul(width)?;
                let bytes = numbers.get(from..from.checked_add(width)?)?;
                Some(whole_or(decimal::float(int(bytes), e), ints))
            }
            Body::Bitmap { bits } => Some(Item::Bool(bit(bits, i))),
            _ => None,
        }
    }

    /// Name of the kind, for people.
    pub(super) fn name(&self) -> &'static str {
        let name = kind::NAMES.get(usize::from(self.kind()));
        name.copied().unwrap_or("EMPTY")
    }

    /// Number of the kind; one that is none where there are no elements.
    pub(super) fn kind(&self) -> u8 {
        match self.body {
            Body::Empty => u8::MAX,
            Body::Generic { .. } => kind::GENERIC,
            Body::Uniform { .. } => kind::UNIFORM,
            Body::Int { .. } => kind::INT,
            Body::Float { .. } => kind::FLOAT,
            Body::Dec { .. } => kind::DEC,
            Body::Table { .. } => kind::TABLE,
            Body::Nested { .. } => kind::NESTED,
            Body::Dict { .. } => kind::DICT,
            Body::Bitmap { .. } => kind::BITMAP,
            Body::Partial { .. } => kind::PARTIAL,
            Body::Segmented { .. } => kind::SEGMENTED,
            Body::Tuples { .. } => kind::TUPLES,
        }
    }
}

/// A float, or the integer it was where both were mixed.
#[inline]
fn whole_or<'a>(x: f64, ints: bool) -> Item<'a> {
    match whole(x).filter(|_| ints) {
        Some(value) => Item::Int(value),
        None => Item::Float(x),
    }
}

/// The integer that a float is, if it fits.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "tried"
)]
pub(super) fn whole(x: f64) -> Option<i64> {
    let value = x as i64;
    (value as f64 == x).then_some(value)
}

#[inline]
pub(super) fn float(bytes: &[u8]) -> f64 {
    match *bytes {
        [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
        _ => f64::from_bits(uint(bytes)),
    }
}

/// Bit `i`, from the low end.
#[inline]
pub(super) fn bit(bits: &[u8], i: usize) -> bool {
    bits.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 != 0)
}

/// How many bits before bit `i` are set.
#[inline]
pub(super) fn rank(bits: &[u8], ranks: &[u8], width: usize, i: usize) -> usize {
    const RANKED: usize = 512;
    let group = i / RANKED;
    let before = group
        .checked_sub(1)
        .and_then(|group| number(ranks, group, width))
        .unwrap_or(0);
    let from = group.wrapping_mul(RANKED / 8);
    let whole = bits.get(from..i / 8).unwrap_or_default();
    let mut sum = usize::try_from(before).unwrap_or(usize::MAX);
    for byte in whole {
        sum = sum.wrapping_add(byte.count_ones() as usize);
    }
    let part = bits.get(i / 8).copied().unwrap_or(0) & !(0xFF_u8 << (i % 8));
    sum.wrapping_add(part.count_ones() as usize)
}

/// Number `i` of those of `width` bytes.
#[inline]
pub(super) fn number(numbers: &[u8], i: usize, width: usize) -> Option<u64> {
    let from = i.checked_mul(width)?;
    numbers.get(from..from.checked_add(width)?).map(uint)
}

fn body<'a>(doc: &Doc<'a>, back: &mut Back<'a>, which: u8, mode: u8, n: usize) -> Result<Body<'a>> {
    let end = back.end;
    Ok(match which {
        kind::GENERIC => {
            let lens = Lens::read(back, mode, n)?;
            let tags = back.bytes(n)?;
            Body::Generic {
                at: rest(back, lens),
                tags,
            }
        }
        kind::UNIFORM => {
            let tag = back.byte()?;
            let lens = Lens::read(back, mode, n)?;
            Body::Uniform {
                at: rest(back, lens),
                tag,
            }
        }
        kind::INT => {
            let width = usize::from(mode & 7).wrapping_add(1);
            let base = if mode & 8 == 0 {
                None
            } else {
                Some(int(back.bytes(8)?))
            };
            if base.is_some() && width == 8 {
                return Err(malformed("V21", "a base with eight bytes each", end));
            }
            Body::Int {
                numbers: back.bytes(n.saturating_mul(width))?,
                width,
                base,
            }
        }
        kind::FLOAT => {
            if mode & 6 != 0 {
                return Err(malformed("V22", "floats of a mode that is not", end));
            }
            let width = if mode & 1 == 0 { 8 } else { 4 };
            let numbers = back.bytes(n.saturating_mul(width))?;
            Body::Float {
                numbers,
                width,
                ints: mode & 8 != 0,
            }
        }
        kind::DEC => {
            let width = usize::from(mode & 7).wrapping_add(1);
            let e = usize::from(back.byte()?);
            if width > 6 || e > 15 {
                return Err(malformed(
                    "V22",
                    "decimals of an impossible width or exponent",
                    end,
                ));
            }
            let numbers = back.bytes(n.saturating_mul(width))?;
            Body::Dec {
                numbers,
                width,
                e,
                ints: mode & 8 != 0,
            }
        }
        kind::BITMAP => {
            check_no_mode(mode, end)?;
            Body::Bitmap {
                bits: back.bytes(n.div_ceil(8))?,
            }
        }
        kind::DICT => {
            let size = back.rv()?;
            let width = usize::from(mode & 3).wrapping_add(1);
            if mode >> 2 != 0 {
                return Err(malformed("V25", "a dictionary of a mode that is not", end));
            }
            let codes = back.bytes(n.saturating_mul(width))?;
            let unique = extent(back, size)?;
            Body::Dict {
                unique,
                codes,
                width,
            }
        }
        _ => return nested(doc, back, which, mode, n),
    })
}

/// Those whose elements are in other lists.
fn nested<'a>(
    doc: &Doc<'a>,
    back: &mut Back<'a>,
    which: u8,
    mode: u8,
    n: usize,
) -> Result<Body<'a>> {
    let end = back.end;
    Ok(match which {
        kind::TABLE => {
            let shape = back.rv()?;
            let keys = doc.shapes.get(shape)?;
            let lens = Lens::read(back, mode, keys.len())?;
            Body::Table {
                columns: rest(back, lens),
                shape,
                keys,
            }
        }
        kind::TUPLES => {
            let k = back.rv()?;
            if k == 0 {
                return Err(malformed("V23", "tuples of no columns", end));
            }
            let lens = Lens::read(back, mode, k)?;
            Body::Tuples {
                columns: rest(back, lens),
            }
        }
        kind::NESTED => {
            let counts = Lens::read(back, mode, n)?;
            Body::Nested {
                child: (back.start, back.end),
                counts,
            }
        }
        kind::PARTIAL => {
            check_no_mode(mode, end)?;
            let absent = back.byte()?;
            if absent != tag::NULL && absent != tag::ABSENT {
                return Err(malformed(
                    "V26",
                    "gaps that are neither null nor absent",
                    back.end,
                ));
            }
            let groups = n.wrapping_sub(1) / 512;
            let (mut ranks, mut width) = (&[][..], 0);
            if groups > 0 {
                width = usize::from(back.byte()?);
                if !(1..=8).contains(&width) {
                    return Err(malformed("V26", "ranks of an impossible width", back.end));
                }
                ranks = back.bytes(groups.saturating_mul(width))?;
            }
            let bits = back.bytes(n.div_ceil(8))?;
            check_present(back, absent)?;
            Body::Partial {
                child: (back.start, back.end),
                bits,
                ranks,
                width,
                absent,
            }
        }
        kind::SEGMENTED => {
            let size = back.rv()?;
            if !(1..=SEGMENT).contains(&size) {
                return Err(malformed("V27", "segments of an impossible size", back.end));
            }
            let lens = Lens::read(back, mode, n.div_ceil(size))?;
            Body::Segmented {
                segments: rest(back, lens),
                size,
            }
        }
        _ => {
            let text = "a kind of list that this version does not have";
            return Err(broken(ErrorKind::Unsupported, "V5", text, end));
        }
    })
}

/// What is left of an extent, cut by a lens.
#[inline]
pub(super) fn rest<'a>(back: &Back<'a>, lens: Lens<'a>) -> Ranges<'a> {
    Ranges {
        start: back.start,
        total: back.end.wrapping_sub(back.start),
        lens,
    }
}

/// The `size` bytes before, which are gone past, as an extent.
fn extent(back: &mut Back<'_>, size: usize) -> Result<Extent> {
    let end = back.end;
    back.bytes(size)?;
    Ok((back.end, end))
}

/// A list of what is present holds values, or tells the nulls among them: lists that only lead to
/// others cannot be put into each other again and again.
fn check_present(child: &Back<'_>, absent: u8) -> Result<()> {
    let mut back = *child;
    if back.end <= back.start {
        return Ok(());
    }
    match back.byte()? & 0xF {
        kind::SEGMENTED => {
            let text = "segments of what is no array";
            Err(malformed("V27", text, child.end))
        }
        kind::PARTIAL => {
            back.rv()?;
            if absent == tag::ABSENT && back.byte()? == tag::NULL {
                return Ok(());
            }
            let text = "gaps of one kind inside gaps";
            Err(malformed("V26", text, child.end))
        }
        _ => Ok(()),
    }
}

fn check_no_mode(mode: u8, at: usize) -> Result<()> {
    if mode == 0 {
        return Ok(());
    }
    Err(malformed("V26", "a mode where there is none", at))
}
