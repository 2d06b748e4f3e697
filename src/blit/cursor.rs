//! A list, read from one element to the next.

mod one;

use super::layout::{malformed, tag, uint};
use super::lens::Lengths;
use super::list::{bit, float, number, rank, whole, Body, Extent, List, Ranges};
use super::stack;
use super::visit::{Scalar, Text, TextKind, Visitor};
use super::walk::Walk;
use super::{decimal, doc::Doc, layout::int};
use crate::{Error, Result};
pub(super) use one::{is_direct, one};

/// Where the next element of a list is.
pub(super) struct Cursor<'v> {
    form: Form<'v>,
    /// The next element; of those with lengths, these know it.
    i: usize,
    /// Where the list ends, for errors.
    end: usize,
}

enum Form<'v> {
    /// Extents, with one tag or one each.
    Extents {
        start: usize,
        ranges: Lengths<'v>,
        tag: u8,
        tags: &'v [u8],
    },
    /// Strings side by side.
    Texts {
        all: &'v [u8],
        ranges: Lengths<'v>,
        kind: TextKind,
    },
    /// Numbers of `width` bytes.
    Packed {
        numbers: &'v [u8],
        width: usize,
        as_: Packed,
    },
    Bits(&'v [u8]),
    /// Columns, in the order in which they are walked; with their keys where rows are objects.
    Columns {
        columns: Vec<(Cursor<'v>, Option<usize>)>,
        shape: Option<usize>,
    },
    Nested {
        child: Box<Cursor<'v>>,
        counts: Lengths<'v>,
    },
    Codes {
        codes: &'v [u8],
        width: usize,
        entries: Entries<'v>,
    },
    Partial {
        child: Box<Cursor<'v>>,
        bits: &'v [u8],
        ranks: &'v [u8],
        width: usize,
        absent: u8,
    },
    Segments {
        list: List<'v>,
        segments: Ranges<'v>,
        size: usize,
        current: Option<Box<Cursor<'v>>>,
    },
    Empty,
}

/// What numbers stand for.
#[derive(Clone, Copy)]
enum Packed {
    Int { base: Option<i64> },
    Float { ints: bool },
    Dec { e: usize, ints: bool },
}

/// The strings of a dictionary.
struct Entries<'v> {
    data: &'v [u8],
    at: Ranges<'v>,
    kind: TextKind,
    /// All of them, if so many are read that it is worth it.
    texts: Vec<&'v [u8]>,
    number: usize,
}

impl<'v> Cursor<'v> {
    /// At the first element; `reads` is how many will be read, about.
    ///
    /// # Errors
    /// `Malformed` where a list in it is not what it says, `Limit` for too many in each other.
    #[inline]
    pub(super) fn new(walk: &mut Walk<'v>, list: &List<'v>, reads: usize) -> Result<Self> {
        let (i, end) = (0, list.end());
        let form = match list.body {
            Body::Generic { at, tags } => Form::Extents {
                start: at.start,
                ranges: at.lens.lengths(at.total),
                tag: tag::NULL,
                tags,
            },
            Body::Uniform { at, tag } => match TextKind::of(tag) {
                Some(kind) => Form::Texts {
                    all: walk
                        .doc
                        .bytes((at.start, at.start.wrapping_add(at.total)))?,
                    ranges: at.lens.lengths(at.total),
                    kind,
                },
                None => Form::Extents {
                    start: at.start,
                    ranges: at.lens.lengths(at.total),
                    tag,
                    tags: &[],
                },
            },
            Body::Int {
                numbers,
                width,
                base,
            } => packed(numbers, width, Packed::Int { base }),
            Body::Float {
                numbers,
                width,
                ints,
            } => packed(numbers, width, Packed::Float { ints }),
            Body::Dec {
                numbers,
                width,
                e,
                ints,
            } => packed(numbers, width, Packed::Dec { e, ints }),
            Body::Bitmap { bits } => Form::Bits(bits),
            Body::Empty => Form::Empty,
            _ => {
                walk.deeper(end)?;
                let form = stack::grown(walk.lists, || match list.body {
                    Body::Nested { .. } | Body::Partial { .. } => Self::child(walk, list, reads),
                    _ => Self::nested(walk, list, reads),
                });
                walk.shallower();
                form?
            }
        };
        Ok(Self { form, i, end })
    }

    /// Of lists whose elements are in one other: by itself, because they can lie in each other
    /// a thousand times, and what one takes of the stack counts.
    #[inline(never)]
    fn child(walk: &mut Walk<'v>, list: &List<'v>, reads: usize) -> Result<Form<'v>> {
        match list.body {
            Body::Nested { child: at, counts } => {
                let reads = if reads < list.n { reads } else { usize::MAX };
                let (child, n) = Self::boxed(walk, at, reads)?;
                let counts = counts.lengths(n);
                Ok(Form::Nested { child, counts })
            }
            Body::Partial {
                child: at,
                bits,
                ranks,
                width,
                absent,
            } => Ok(Form::Partial {
                child: Self::boxed(walk, at, reads)?.0,
                bits,
                ranks,
                width,
                absent,
            }),
            _ => Ok(Form::Empty),
        }
    }

    #[inline(never)]
    fn boxed(walk: &mut Walk<'v>, at: Extent, reads: usize) -> Result<(Box<Self>, usize)> {
        let child = List::read(walk.doc, at, None)?;
        let cursor = Self::new(walk, &child, reads)?;
        Ok((Box::new(cursor), child.n))
    }

    /// Of other lists whose elements are in lists.
    #[inline(never)]
    fn nested(walk: &mut Walk<'v>, list: &List<'v>, reads: usize) -> Result<Form<'v>> {
        let doc = walk.doc;
        Ok(match list.body {
            Body::Table {
                shape: id,
                keys: shape,
                ..
            } => {
                let slots = walk.slots(id, &shape)?;
                let k = list.columns();
                let mut columns = Vec::with_capacity(k);
                for place in 0..k {
                    let slot = slots.as_ref().and_then(|slots| slots.get(place));
                    let slot = slot.unwrap_or(place);
                    let column = Self::new(walk, &list.column(doc, slot)?, reads)?;
                    columns.push((column, Some(shape.id(slot))));
                }
                let shape = Some(id);
                Form::Columns { columns, shape }
            }
            Body::Tuples { .. } => {
                let mut columns = Vec::new();
                for j in 0..list.columns() {
                    columns.push((Self::new(walk, &list.column(doc, j)?, reads)?, None));
                }
                let shape = None;
                Form::Columns { columns, shape }
            }
            Body::Dict {
                unique,
                codes,
                width,
            } => Form::Codes {
                codes,
                width,
                entries: Entries::new(walk, &List::read(doc, unique, None)?, reads)?,
            },
            Body::Segmented { segments, size } => Form::Segments {
                list: *list,
                segments,
                size: size.max(1),
                current: None,
            },
            _ => Form::Empty,
        })
    }

    /// Goes to element `i`, which may be the end.
    ///
    /// # Errors
    /// `Malformed` where the list is not what it says.
    #[inline]
    pub(super) fn seek(&mut self, doc: &Doc<'v>, i: usize) -> Result<()> {
        if i == self.i {
            return Ok(());
        }
        self.i = i;
        match &mut self.form {
            Form::Extents { ranges, .. } | Form::Texts { ranges, .. } => ranges.seek(i),
            Form::Packed { .. } | Form::Bits(_) | Form::Codes { .. } | Form::Empty => Ok(()),
            _ => self.seek_nested(doc, i),
        }
    }

    fn seek_nested(&mut self, doc: &Doc<'v>, i: usize) -> Result<()> {
        match &mut self.form {
            Form::Columns { columns, .. } => {
                for (column, _) in columns {
                    column.seek(doc, i)?;
                }
            }
            Form::Nested { child, counts } => {
                counts.seek(i)?;
                child.seek(doc, counts.begin())?;
            }
            Form::Partial {
                child,
                bits,
                ranks,
                width,
                ..
            } => child.seek(doc, rank(bits, ranks, *width, i))?,
            Form::Segments { current, .. } => *current = None,
            _ => {}
        }
        Ok(())
    }

    /// Walks over the next element, behind its key if it has one, unless it is absent.
    ///
    /// # Errors
    /// As [`Walk::item`].
    pub(super) fn next<V: Visitor>(
        &mut self,
        walk: &mut Walk<'v>,
        key: Option<usize>,
        visitor: &mut V,
    ) -> Result<()> {
        let (i, end) = (self.i, self.end);
        self.i = i.wrapping_add(1);
        match &mut self.form {
            Form::Extents {
                start,
                ranges,
                tag,
                tags,
            } => {
                let (from, to) = ranges.next().ok_or_else(|| short(end))??;
                let tag = tags.get(i).copied().unwrap_or(*tag);
                if tag == tag::ABSENT {
                    return Ok(());
                }
                say(key, visitor)?;
                let at = (start.wrapping_add(from), start.wrapping_add(to));
                walk.value(tag, at, visitor)
            }
            Form::Texts { all, ranges, kind } => {
                let (from, to) = ranges.next().ok_or_else(|| short(end))??;
                let bytes = all.get(from..to).unwrap_or_default();
                say(key, visitor)?;
                visitor.scalar(Scalar::Text(Text { bytes, kind: *kind }))
            }
            Form::Packed {
                numbers,
                width,
                as_,
            } => {
                let from = i.saturating_mul(*width);
                let bytes = numbers.get(from..from.saturating_add(*width));
                let bytes = bytes.ok_or_else(|| short(end))?;
                say(key, visitor)?;
                as_.say(bytes, visitor)
            }
            Form::Bits(bits) => {
                say(key, visitor)?;
                visitor.scalar(Scalar::Bool(bit(bits, i)))
            }
            Form::Codes {
                codes,
                width,
                entries,
            } => {
                let code = number(codes, i, *width).unwrap_or(u64::MAX);
                say(key, visitor)?;
                entries.say(code, end, visitor)
            }
            Form::Empty => Err(short(end)),
            _ => self.next_nested(walk, i, key, visitor),
        }
    }

    fn next_nested<V: Visitor>(
        &mut self,
        walk: &mut Walk<'v>,
        i: usize,
        key: Option<usize>,
        visitor: &mut V,
    ) -> Result<()> {
        let end = self.end;
        match &mut self.form {
            Form::Columns { columns, shape } => {
                say(key, visitor)?;
                walk.enter(columns.len(), end)?;
                match shape {
                    Some(shape) => visitor.begin_object(columns.len(), *shape)?,
                    None => visitor.begin_array(columns.len())?,
                }
                stack::grown(walk.depth, || {
                    columns
                        .iter_mut()
                        .try_for_each(|(column, key)| column.next(walk, *key, visitor))
                })?;
                walk.leave();
                match shape {
                    Some(_) => visitor.end_object(),
                    None => visitor.end_array(),
                }
            }
            Form::Nested { child, counts } => {
                let (from, to) = counts.next().ok_or_else(|| short(end))??;
                say(key, visitor)?;
                walk.elements(child, to.wrapping_sub(from), end, visitor)
            }
            Form::Partial {
                child,
                bits,
                absent,
                ..
            } => {
                if bit(bits, i) {
                    walk.deeper(end)?;
                    child.next(walk, key, visitor)?;
                    walk.shallower();
                    return Ok(());
                }
                if *absent == tag::ABSENT {
                    return Ok(());
                }
                say(key, visitor)?;
                visitor.scalar(Scalar::Null)
            }
            Form::Segments {
                list,
                segments,
                size,
                current,
            } => {
                let within = i.checked_rem(*size).unwrap_or(0);
                if within == 0 || current.is_none() {
                    let which = i.checked_div(*size).unwrap_or(0);
                    let (segment, n) = list.segment(walk.doc, *segments, *size, which)?;
                    let mut cursor = Self::new(walk, &segment, n)?;
                    cursor.seek(walk.doc, within)?;
                    *current = Some(Box::new(cursor));
                }
                let current = current.as_mut().ok_or_else(|| short(end))?;
                walk.deeper(end)?;
                current.next(walk, key, visitor)?;
                walk.shallower();
                Ok(())
            }
            _ => Err(short(end)),
        }
    }

    /// Walks over the next `n` elements, none of which has a key.
    ///
    /// # Errors
    /// As [`Walk::item`].
    #[inline]
    pub(super) fn run<V: Visitor>(
        &mut self,
        walk: &mut Walk<'v>,
        n: usize,
        visitor: &mut V,
    ) -> Result<()> {
        let (i, end) = (self.i, self.end);
        match &mut self.form {
            Form::Packed {
                numbers,
                width,
                as_,
            } => {
                self.i = i.saturating_add(n);
                let from = i.saturating_mul(*width);
                let to = self.i.saturating_mul(*width);
                let run = numbers.get(from..to).ok_or_else(|| short(end))?;
                as_.say_all(run, *width, visitor)
            }
            Form::Texts { all, ranges, kind } => {
                self.i = i.saturating_add(n);
                for _ in 0..n {
                    let (from, to) = ranges.next().ok_or_else(|| short(end))??;
                    let bytes = all.get(from..to).unwrap_or_default();
                    visitor.scalar(Scalar::Text(Text { bytes, kind: *kind }))?;
                }
                Ok(())
            }
            _ => {
                for _ in 0..n {
                    self.next(walk, None, visitor)?;
                }
                Ok(())
            }
        }
    }
}

fn packed(numbers: &[u8], width: usize, as_: Packed) -> Form<'_> {
    Form::Packed {
        numbers,
        width,
        as_,
    }
}

impl Packed {
    /// A number of these bytes.
    #[inline]
    fn say<V: Visitor>(self, bytes: &[u8], visitor: &mut V) -> Result<()> {
        match self {
            Self::Int { base: None } => visitor.scalar(Scalar::Int(int(bytes))),
            Self::Int { base: Some(base) } => {
                // Width 7 at most, so that it is below 2^56.
                let value = base.wrapping_add_unsigned(uint(bytes));
                visitor.scalar(Scalar::Int(value))
            }
            Self::Float { ints } => {
                let value = float(bytes);
                match whole(value).filter(|_| ints) {
                    Some(value) => visitor.scalar(Scalar::Int(value)),
                    None => visitor.scalar(Scalar::Float(value)),
                }
            }
            Self::Dec { e, ints } => {
                let m = int(bytes);
                match whole(decimal::float(m, e)).filter(|_| ints) {
                    Some(value) => visitor.scalar(Scalar::Int(value)),
                    None => visitor.decimal(m, e),
                }
            }
        }
    }

    /// All numbers of a run, with the width known where it is a usual one.
    #[inline]
    fn say_all<V: Visitor>(self, run: &[u8], width: usize, visitor: &mut V) -> Result<()> {
        match (self, width) {
            (Self::Float { ints: false }, 8) => {
                for bytes in run.chunks_exact(8) {
                    visitor.scalar(Scalar::Float(f64::from_bits(uint(bytes))))?;
                }
                Ok(())
            }
            (Self::Int { base: None }, 1) => {
                for bytes in run.chunks_exact(1) {
                    visitor.scalar(Scalar::Int(int(bytes)))?;
                }
                Ok(())
            }
            _ => {
                for bytes in run.chunks_exact(width.max(1)) {
                    self.say(bytes, visitor)?;
                }
                Ok(())
            }
        }
    }
}

impl<'v> Entries<'v> {
    fn new(walk: &mut Walk<'v>, unique: &List<'v>, reads: usize) -> Result<Self> {
        let wrong = |text| Err(malformed("V25", text, unique.end()));
        let Body::Uniform { at, tag } = unique.body else {
            return wrong("a dictionary that is no list of strings");
        };
        let Some(kind) = TextKind::of(tag) else {
            return wrong("a dictionary that is no list of strings");
        };
        // Different strings: only one of them has no bytes.
        if unique.n > at.total.saturating_add(1) {
            return wrong("a dictionary with a string twice");
        }
        let data = walk
            .doc
            .bytes((at.start, at.start.wrapping_add(at.total)))?;
        let mut texts = Vec::new();
        let number = walk.dictionaries;
        if reads >= unique.n {
            walk.dictionaries = number.wrapping_add(1);
            texts.reserve_exact(unique.n);
            for range in at.lens.lengths(at.total) {
                let (from, to) = range?;
                texts.push(data.get(from..to).unwrap_or_default());
            }
        }
        Ok(Self {
            data,
            at,
            kind,
            texts,
            number,
        })
    }

    #[inline]
    fn say<V: Visitor>(&self, code: u64, end: usize, visitor: &mut V) -> Result<()> {
        let code = usize::try_from(code).unwrap_or(usize::MAX);
        let kind = self.kind;
        if let Some(&bytes) = self.texts.get(code) {
            return visitor.entry(self.number, code, Text { bytes, kind });
        }
        if code >= self.at.lens.len() {
            let text = "a code that is not in its dictionary";
            return Err(malformed("V25", text, end));
        }
        let (from, to) = self.at.lens.range(code, self.at.total)?;
        let bytes = self.data.get(from..to).unwrap_or_default();
        visitor.scalar(Scalar::Text(Text { bytes, kind }))
    }
}

#[inline]
fn say<V: Visitor>(key: Option<usize>, visitor: &mut V) -> Result<()> {
    match key {
        Some(id) => visitor.key(id),
        None => Ok(()),
    }
}

#[cold]
fn short(end: usize) -> Error {
    malformed("V18", "a list shorter than it says", end)
}
