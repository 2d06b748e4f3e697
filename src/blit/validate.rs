//! Whether a document is what the specification says, byte by byte: rules V1 to V30.
//!
//! In the order of its bytes, not of its elements: a list of a million constants is a few bytes.

mod names;
mod numbers;
mod texts;

use super::decimal;
use super::doc::Doc;
use super::layout::{broken, flag, int, kind, malformed, tag, Back, MAX_DEPTH, MAX_LISTS};
use super::lens::Lengths;
use super::list::{Body, Extent, List, Ranges};
use super::view::View;
use crate::{ErrorKind, Result};
use names::{keys, shapes};
use texts::{text, texts};

/// What validation saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Bytes of the document.
    pub bytes: usize,
    /// Lists of each kind, by name.
    pub kinds: std::collections::BTreeMap<&'static str, usize>,
    /// Most containers inside each other.
    pub depth: usize,
    /// Different names.
    pub keys: usize,
    /// Different key sequences.
    pub shapes: usize,
}

/// Where a list lies, as far as it decides what it may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Directly below an array: may be in segments.
    Array,
    /// A column of a table: rows may be absent.
    Column,
    Other,
}

impl View<'_> {
    /// Looks at every byte of the document, in time that its bytes bound.
    ///
    /// Of a document of a collection these are the bytes of its whole chunk, and the names and
    /// shapes of its commit.
    ///
    /// # Errors
    /// The first rule that is broken, with its number and the byte: `Malformed`,
    /// `ChecksumMismatch`, `Unsupported`, `Limit`.
    ///
    /// # Example
    /// ```
    /// use tare::blit::{from_json, Options, View};
    ///
    /// let document = from_json(b"[[1, 2], [3]]", &Options::default())?;
    /// let summary = View::open(&document)?.validate()?;
    /// assert_eq!((2, 0), (summary.depth, summary.keys));
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn validate(&self) -> Result<Summary> {
        let doc = &self.doc;
        if let Some(n) = doc.root.siblings() {
            return part(doc, n);
        }
        checksum(doc)?;
        dictionary(doc)?;
        let mut check = Check::new(doc);
        match doc.root.as_stored() {
            None | Some((tag::ABSENT, _)) => {
                return Err(malformed("V8", "a root that is absent", doc.trailer));
            }
            Some((tag, at)) => check.root(tag, at)?,
        }
        check.rest()?;
        Ok(check.seen().of(doc))
    }
}

impl Summary {
    /// With what a document says of itself.
    fn of(mut self, doc: &Doc<'_>) -> Self {
        self.bytes = doc.data.len();
        self.keys = doc.keys.names.n;
        self.shapes = doc.shapes.n;
        self
    }
}

/// Looks at the `n` documents of a chunk, and at what they share with others.
fn part(doc: &Doc<'_>, n: usize) -> Result<Summary> {
    dictionary(doc)?;
    Ok(list(doc, n)?.of(doc))
}

/// Looks at names, shapes and pool, which lie among the bytes of `doc`.
pub(super) fn dictionary(doc: &Doc<'_>) -> Result<()> {
    keys(doc)?;
    shapes(doc)?;
    match &doc.pool {
        Some(pool) => texts(doc, pool.data, pool.at, pool.tag),
        None => Ok(()),
    }
}

/// Looks at a list of `n` elements that is all the bytes of `doc`.
pub(super) fn list(doc: &Doc<'_>, n: usize) -> Result<Summary> {
    let mut check = Check::new(doc);
    let all = (0, doc.data.len());
    check.list(all, Some(n), Place::Other, Inside::default())?;
    check.rest()?;
    Ok(check.seen())
}

pub(super) fn checksum(doc: &Doc<'_>) -> Result<()> {
    if doc.flags & flag::CHECKSUM == 0 {
        return Ok(());
    }
    let end = doc.trailer.saturating_add(8);
    let found = doc.data.get(doc.trailer..end).unwrap_or_default();
    if sum(doc.data, doc.trailer).to_le_bytes() != found {
        let text = "the checksum does not match: the document was changed";
        return Err(broken(ErrorKind::ChecksumMismatch, "V9", text, doc.trailer));
    }
    Ok(())
}

/// The checksum of all of a document but its own eight bytes, which begin the trailer.
pub(super) fn sum(data: &[u8], trailer: usize) -> u64 {
    let (before, rest) = data.split_at_checked(trailer).unwrap_or((data, &[]));
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(before);
    hash.update(rest.get(8..).unwrap_or_default());
    hash.digest()
}

/// Lists whose elements are still to be looked at, outer ones below inner ones: a stack of its
/// own, so that damage which puts lists into each other does not use up the thread's.
struct Check<'v> {
    doc: &'v Doc<'v>,
    work: Vec<Work<'v>>,
    depth: usize,
    /// Lists of each kind.
    kinds: [usize; kind::NAMES.len()],
}

/// What is left of a list.
struct Work<'v> {
    left: Left<'v>,
    place: Place,
    inside: Inside,
}

/// What a value or a list lies in.
#[derive(Clone, Copy, Default)]
struct Inside {
    /// Arrays and objects.
    levels: usize,
    /// Lists, some of which are no level of the value.
    lists: usize,
}

enum Left<'v> {
    /// Values side by side, with one tag or one each.
    Values {
        start: usize,
        ranges: Lengths<'v>,
        tags: &'v [u8],
        tag: u8,
    },
    /// Columns of so many rows.
    Columns {
        start: usize,
        ranges: Lengths<'v>,
        rows: usize,
    },
    Segments {
        list: List<'v>,
        ranges: Lengths<'v>,
        start: usize,
        size: usize,
        before: usize,
    },
    /// A list inside another.
    Child { at: Extent },
}

impl<'v> Check<'v> {
    fn new(doc: &'v Doc<'v>) -> Self {
        Self {
            doc,
            work: Vec::new(),
            depth: 0,
            kinds: [0; kind::NAMES.len()],
        }
    }

    fn seen(&self) -> Summary {
        let named = kind::NAMES.into_iter().zip(self.kinds);
        Summary {
            depth: self.depth,
            kinds: named.filter(|&(_, n)| n > 0).collect(),
            ..Summary::default()
        }
    }

    fn root(&mut self, tag: u8, at: Extent) -> Result<()> {
        if tag == tag::POOLED && self.doc.pool.is_none() {
            let text = "a root from a pool that is not there";
            return Err(malformed("V8", text, self.doc.trailer));
        }
        self.value(tag, at, Place::Other, Inside::default())
    }

    /// Looks at what is left.
    fn rest(&mut self) -> Result<()> {
        while let Some(work) = self.work.last_mut() {
            let (place, inside) = (work.place, work.inside);
            match &mut work.left {
                Left::Values {
                    start,
                    ranges,
                    tags,
                    tag,
                } => {
                    let (start, mut tag) = (*start, *tag);
                    let Some(range) = ranges.next() else {
                        self.work.pop();
                        continue;
                    };
                    let (from, to) = range?;
                    if let Some((&first, rest)) = tags.split_first() {
                        tag = first;
                        *tags = rest;
                    }
                    let at = (start.wrapping_add(from), start.wrapping_add(to));
                    self.value(tag, at, place, inside)?;
                }
                Left::Columns {
                    start,
                    ranges,
                    rows,
                } => {
                    let (start, rows) = (*start, *rows);
                    let Some(range) = ranges.next() else {
                        self.work.pop();
                        continue;
                    };
                    let (from, to) = range?;
                    let at = (start.wrapping_add(from), start.wrapping_add(to));
                    if from >= to {
                        return Err(malformed("V23", "a column without bytes", at.1));
                    }
                    self.list(at, Some(rows), place, inside)?;
                }
                Left::Segments {
                    list,
                    ranges,
                    start,
                    size,
                    before,
                } => {
                    let Some(range) = ranges.next() else {
                        self.work.pop();
                        continue;
                    };
                    let (from, to) = range?;
                    let n = list.n.saturating_sub(*before).min(*size);
                    *before = before.saturating_add(*size);
                    let at = (start.wrapping_add(from), start.wrapping_add(to));
                    self.list(at, Some(n), Place::Other, inside)?;
                }
                Left::Child { at } => {
                    let at = *at;
                    self.work.pop();
                    self.list(at, None, place, inside)?;
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn value(&mut self, tag: u8, at: Extent, place: Place, inside: Inside) -> Result<()> {
        match tag {
            tag::ARRAY => self.list(at, None, Place::Array, deeper(inside, at)?),
            tag::OBJECT => self.object(at, inside),
            _ => scalar(self.doc, tag, at, place),
        }
    }

    fn object(&mut self, at: Extent, inside: Inside) -> Result<()> {
        let inside = deeper(inside, at)?;
        if at.0 >= at.1 {
            return Ok(());
        }
        let mut back = Back::new(self.doc.data, at.0, at.1);
        let shape = self.doc.shapes.get(back.rv()?)?;
        self.list((at.0, back.end), Some(shape.len()), Place::Other, inside)
    }

    /// Checks a list but for what is in its elements, which is left for later.
    fn list(
        &mut self,
        at: Extent,
        given: Option<usize>,
        place: Place,
        inside: Inside,
    ) -> Result<()> {
        let list = List::read(self.doc, at, given)?;
        if list.n == 0 {
            return Ok(());
        }
        // Lists that are no levels of the value, as those of what is present, count too.
        if inside.lists >= MAX_LISTS {
            return Err(too_deep(at.1));
        }
        let inside = Inside {
            lists: inside.lists.wrapping_add(1),
            ..inside
        };
        self.depth = self.depth.max(inside.lists);
        if let Some(kinds) = self.kinds.get_mut(usize::from(list.kind())) {
            *kinds = kinds.saturating_add(1);
        }
        self.unused(&list, at)?;
        self.body(&list, place, inside)
    }

    /// Only alignment leaves bytes unused: as many as bring the numbers to a multiple of their width.
    fn unused(&self, list: &List<'v>, at: Extent) -> Result<()> {
        let width = match list.body {
            Body::Int {
                width, base: None, ..
            }
            | Body::Float { width, .. } => width.max(1),
            _ => 1,
        };
        let aligned = self.doc.flags & flag::ALIGNED != 0 && list.n >= 64 && width > 1;
        let (gap, rule, why) = if aligned {
            let gap = at.0.next_multiple_of(width).wrapping_sub(at.0);
            let why = "numbers that do not begin at the next multiple of their width";
            (gap, "V29", why)
        } else {
            (0, "V18", "bytes that belong to no part of a list")
        };
        if list.unused != gap {
            return Err(malformed(rule, why, at.0));
        }
        let zeros = self.doc.bytes((at.0, at.0.wrapping_add(gap)))?;
        if zeros.iter().any(|&byte| byte != 0) {
            return Err(malformed(
                "V29",
                "bytes before aligned numbers that are not zero",
                at.0,
            ));
        }
        Ok(())
    }

    fn body(&mut self, list: &List<'v>, place: Place, inside: Inside) -> Result<()> {
        let inner = if place == Place::Column {
            Place::Column
        } else {
            Place::Other
        };
        let end = list.end();
        let extent = (end, end);
        match list.body {
            Body::Generic { at, tags } => {
                at.lens.validate(at.total)?;
                let left = Left::Values {
                    start: at.start,
                    ranges: at.lens.lengths(at.total),
                    tags,
                    tag: tag::NULL,
                };
                self.later(left, inner, inside);
            }
            Body::Uniform { at, tag } => self.uniform(at, tag, inner, inside)?,
            Body::Table { columns, .. } => {
                let inside = deeper(inside, extent)?;
                self.columns(columns, list.n, Place::Column, inside)?;
            }
            Body::Tuples { columns } => {
                let inside = deeper(inside, extent)?;
                self.columns(columns, list.n, Place::Other, inside)?;
            }
            Body::Nested { child, counts } => {
                let inside = deeper(inside, extent)?;
                let n = List::read(self.doc, child, None)?.n;
                if counts.validate(n).is_err() {
                    let text = "counts of other elements than there are";
                    return Err(malformed("V24", text, end));
                }
                self.later(Left::Child { at: child }, Place::Other, inside);
            }
            Body::Dict {
                unique,
                codes,
                width,
            } => {
                texts::dict(self.doc, list, unique, codes, width)?;
                self.later(Left::Child { at: unique }, Place::Other, inside);
            }
            Body::Partial {
                child,
                bits,
                ranks,
                width,
                absent,
            } => {
                if absent == tag::ABSENT && place != Place::Column {
                    return Err(malformed("V28", "an absent value outside a column", end));
                }
                let n = List::read(self.doc, child, None)?.n;
                numbers::partial(list, n, bits, ranks, width)?;
                self.later(Left::Child { at: child }, inner, inside);
            }
            Body::Segmented { segments, size } => {
                if place != Place::Array {
                    return Err(malformed("V27", "segments of what is no array", end));
                }
                segments.lens.validate(segments.total)?;
                let left = Left::Segments {
                    list: *list,
                    ranges: segments.lens.lengths(segments.total),
                    start: segments.start,
                    size,
                    before: 0,
                };
                self.later(left, Place::Other, inside);
            }
            Body::Bitmap { bits } => numbers::spare(bits, list)?,
            Body::Int {
                numbers: packed,
                width,
                base: Some(base),
            } => numbers::above(base, packed, width, end)?,
            Body::Int { .. } | Body::Empty => {}
            Body::Float { .. } | Body::Dec { .. } => numbers::floats(list)?,
        }
        Ok(())
    }

    fn later(&mut self, left: Left<'v>, place: Place, inside: Inside) {
        self.work.push(Work {
            left,
            place,
            inside,
        });
    }

    fn uniform(&mut self, at: Ranges<'v>, tag: u8, place: Place, inside: Inside) -> Result<()> {
        if matches!(tag, tag::CLEAN | tag::STR | tag::ASCII) {
            return texts(self.doc, self.doc.data, at, tag);
        }
        at.lens.validate(at.total)?;
        if at.lens.constant() == Some(0) {
            // All the same: one stands for all, however many there are.
            if needs_bytes(tag) {
                let text = "values of no bytes that have some";
                return Err(malformed("V20", text, at.start));
            }
            return self.value(tag, (at.start, at.start), place, inside);
        }
        let left = Left::Values {
            start: at.start,
            ranges: at.lens.lengths(at.total),
            tags: &[],
            tag,
        };
        self.later(left, place, inside);
        Ok(())
    }

    fn columns(
        &mut self,
        columns: Ranges<'v>,
        rows: usize,
        place: Place,
        inside: Inside,
    ) -> Result<()> {
        columns.lens.validate(columns.total)?;
        let left = Left::Columns {
            start: columns.start,
            ranges: columns.lens.lengths(columns.total),
            rows,
        };
        self.later(left, place, inside);
        Ok(())
    }
}

/// One level more.
#[inline]
fn deeper(inside: Inside, at: Extent) -> Result<Inside> {
    if inside.levels >= MAX_DEPTH {
        return Err(too_deep(at.1));
    }
    Ok(Inside {
        levels: inside.levels.wrapping_add(1),
        ..inside
    })
}

/// Whether no value of a tag has an empty extent.
fn needs_bytes(tag: u8) -> bool {
    let numbers = tag::INT..=tag::F32;
    let others = [tag::POOLED, tag::LZ4, tag::DEC, tag::NUMTEXT];
    numbers.contains(&tag) || others.contains(&tag)
}

#[cold]
fn too_deep(at: usize) -> crate::Error {
    let text = format!("more than {MAX_DEPTH} levels");
    broken(ErrorKind::Limit, "V30", &text, at)
}

/// A value that is neither array nor object.
fn scalar(doc: &Doc<'_>, tag: u8, at: Extent, place: Place) -> Result<()> {
    let bytes = doc.bytes(at)?;
    let len = bytes.len();
    let is = |right: bool, text: &str| {
        if right {
            Ok(())
        } else {
            Err(malformed("V13", text, at.0))
        }
    };
    match tag {
        tag::NULL | tag::FALSE | tag::TRUE | tag::SMALL.. => {
            is(len == 0, "bytes of a value that has none")
        }
        tag::ABSENT if place != Place::Column => {
            Err(malformed("V28", "an absent value outside a column", at.0))
        }
        tag::ABSENT => is(len == 0, "bytes of a value that has none"),
        tag::INT => is((1..=8).contains(&len), "an integer of an impossible length"),
        tag::UINT => is(
            len == 8 && int(bytes) < 0,
            "an unsigned integer that is a signed one",
        ),
        tag::F64 => is(len == 8, "a float of an impossible length"),
        tag::F32 => is(
            len == 4 && !super::list::float(bytes).is_nan(),
            "a single float that cannot be",
        ),
        tag::DEC => {
            let found = bytes
                .split_first()
                .filter(|(_, m)| (1..=6).contains(&m.len()));
            let valid = found.is_some_and(|(&e, m)| decimal::is_valid(int(m), usize::from(e)));
            is(valid, "a decimal that cannot be")
        }
        tag::CLEAN | tag::STR | tag::ASCII => text(doc, bytes, tag, at.0).map(|_| ()),
        tag::POOLED => match super::view::stored(doc, tag, at)? {
            Some(_) => Ok(()),
            None => Err(malformed("V15", "a string that is not in the pool", at.0)),
        },
        tag::LZ4 => {
            let text = super::lz4::unpack(doc.data, at, usize::MAX)?;
            let valid = std::str::from_utf8(&text).is_ok();
            valid
                .then_some(())
                .ok_or_else(|| malformed("V15", "a compressed string that is not UTF-8", at.0))
        }
        tag::NUMTEXT if super::number::is_number(bytes) => Ok(()),
        tag::NUMTEXT => Err(malformed("V16", "a number as text that is none", at.0)),
        tag::BYTES => Ok(()),
        _ => {
            let text = "a tag that this version does not have";
            Err(broken(ErrorKind::Unsupported, "V5", text, at.0))
        }
    }
}
