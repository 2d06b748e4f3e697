//! A walk over a value in order, in constant time a cell: what is written back, in any form.

use std::rc::Rc;

use super::doc::{Doc, Shape};
use super::layout::{broken, malformed, tag, Back, MAX_DEPTH};
use super::lens::Lengths;
use super::list::{bit, number, Body, Extent, Item, List};
use super::view::{stored, Value};
use crate::{Error, ErrorKind, Result};

/// Takes the values of a walk, each container between its begin and its end.
pub(super) trait Visitor<'v> {
    /// A value that is neither array nor object.
    fn scalar(&mut self, value: Scalar<'v>) -> Result<()>;
    /// An array of so many elements.
    fn begin_array(&mut self, n: usize) -> Result<()>;
    fn end_array(&mut self) -> Result<()>;
    /// An object of at most so many names.
    fn begin_object(&mut self, most: usize) -> Result<()>;
    /// The id of the name whose value comes next.
    fn key(&mut self, id: usize) -> Result<()>;
    fn end_object(&mut self) -> Result<()>;
}

/// A value without others in it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    NumText(&'v str),
    /// Text, and its tag: what it needs when it is written back.
    Text {
        bytes: &'v [u8],
        tag: u8,
    },
    Bytes(&'v [u8]),
}

/// The order in which an object's names are walked.
#[derive(Clone, Debug)]
pub(super) enum Order {
    /// As they were written.
    Insertion,
    /// By their UTF-8 bytes: the place of each key id in that order.
    Lexical(Rc<[u32]>),
}

impl Order {
    /// The order of all names of a document.
    ///
    /// # Errors
    /// `Malformed`.
    pub(super) fn lexical(doc: &Doc<'_>) -> Result<Self> {
        let n = doc.keys.names.n;
        let mut names = Vec::new();
        for id in 0..n {
            names.push((doc.keys.name(id)?, id));
        }
        names.sort_unstable();
        let mut places = vec![0; n];
        for (place, (_, id)) in (0_u32..).zip(names) {
            if let Some(slot) = places.get_mut(id) {
                *slot = place;
            }
        }
        Ok(Self::Lexical(places.into()))
    }

    /// The places of a shape, in the order in which they are walked; None if as they are.
    fn of(&self, shape: &Shape<'_>) -> Option<Rc<[usize]>> {
        let Self::Lexical(ranks) = self else {
            return None;
        };
        // A run of more names than there are is one of a damaged document, and can be of any length.
        if matches!(shape, Shape::Run { n, .. } if *n > ranks.len()) {
            return None;
        }
        let rank = |slot: usize| ranks.get(shape.id(slot)).copied().unwrap_or(u32::MAX);
        let mut slots: Vec<usize> = (0..shape.len()).collect();
        if slots.is_sorted_by_key(|&slot| rank(slot)) {
            return None;
        }
        slots.sort_by_key(|&slot| rank(slot));
        Some(slots.into())
    }
}

/// A walk over a document.
pub(super) struct Walk<'v> {
    doc: &'v Doc<'v>,
    order: Order,
    /// The order of each shape, once it was needed.
    orders: Vec<Option<Option<Rc<[usize]>>>>,
    depth: usize,
    /// Lists inside each other that are no levels of the value, or whose cursors are being made.
    lists: usize,
    /// Elements and bytes that may still come.
    left: u64,
}

impl<'v> Walk<'v> {
    /// A walk of at most `elements` values.
    pub(super) fn new(doc: &'v Doc<'v>, order: Order, elements: u64) -> Self {
        Self {
            doc,
            order,
            orders: Vec::new(),
            depth: 0,
            lists: 0,
            left: elements,
        }
    }

    /// Walks over the whole value.
    ///
    /// # Errors
    /// Those of the visitor; `Malformed` where the document is not what it says; `Limit`.
    pub(super) fn root<V: Visitor<'v>>(&mut self, visitor: &mut V) -> Result<()> {
        let item = self.doc.root.item(self.doc)?;
        self.item(item, visitor)
    }

    /// Walks over the value of an extent.
    #[inline]
    pub(super) fn value<V: Visitor<'v>>(
        &mut self,
        tag: u8,
        at: Extent,
        visitor: &mut V,
    ) -> Result<()> {
        match tag {
            tag::ARRAY => {
                let list = List::read(self.doc, at, None)?;
                self.array(&list, visitor)
            }
            tag::OBJECT => self.object(at, visitor),
            tag::CLEAN | tag::STR | tag::ASCII => {
                self.count(1)?;
                let bytes = self.doc.bytes(at)?;
                visitor.scalar(Scalar::Text { bytes, tag })
            }
            _ => {
                self.count(1)?;
                visitor.scalar(scalar(self.doc, tag, at)?)
            }
        }
    }

    fn array<V: Visitor<'v>>(&mut self, list: &List<'v>, visitor: &mut V) -> Result<()> {
        self.enter(list.end())?;
        self.count(list.n)?;
        visitor.begin_array(list.n)?;
        let mut cursor = Cursor::new(self, list)?;
        for _ in 0..list.n {
            cursor.next(self, None, visitor)?;
        }
        self.depth = self.depth.wrapping_sub(1);
        visitor.end_array()
    }

    fn object<V: Visitor<'v>>(&mut self, at: Extent, visitor: &mut V) -> Result<()> {
        if at.0 >= at.1 {
            self.count(1)?;
            visitor.begin_object(0)?;
            return visitor.end_object();
        }
        let mut back = Back::new(self.doc.data, at.0, at.1);
        let id = back.rv()?;
        let shape = self.doc.shapes.get(id)?;
        let list = List::read(self.doc, (at.0, back.end), Some(shape.len()))?;
        self.enter(list.end())?;
        self.count(list.n)?;
        visitor.begin_object(list.n)?;
        if let Some(slots) = self.slots(id, &shape) {
            for &slot in &*slots {
                let item = list.get(self.doc, slot)?;
                visitor.key(shape.id(slot))?;
                self.item(item, visitor)?;
            }
        } else {
            let mut cursor = Cursor::new(self, &list)?;
            for slot in 0..list.n {
                cursor.next(self, Some(shape.id(slot)), visitor)?;
            }
        }
        self.depth = self.depth.wrapping_sub(1);
        visitor.end_object()
    }

    /// An element that was reached by itself.
    fn item<V: Visitor<'v>>(&mut self, item: Item<'v>, visitor: &mut V) -> Result<()> {
        match item {
            Item::Stored { tag, at } => self.value(tag, at, visitor),
            Item::Int(value) => self.plain(Scalar::Int(value), visitor),
            Item::Float(value) => self.plain(Scalar::Float(value), visitor),
            Item::Bool(value) => self.plain(Scalar::Bool(value), visitor),
            Item::Run { of, from, n } => {
                self.enter(of.end())?;
                self.count(n)?;
                visitor.begin_array(n)?;
                for i in from..from.saturating_add(n) {
                    let item = of.get(self.doc, i)?;
                    self.item(item, visitor)?;
                }
                self.depth = self.depth.wrapping_sub(1);
                visitor.end_array()
            }
            Item::Row { of, i } => self.row(&of, i, visitor),
        }
    }

    fn row<V: Visitor<'v>>(&mut self, of: &List<'v>, i: usize, visitor: &mut V) -> Result<()> {
        self.enter(of.end())?;
        let k = of.columns();
        self.count(k)?;
        let Body::Table { shape: id, .. } = of.body else {
            visitor.begin_array(k)?;
            for j in 0..k {
                let item = of.column(self.doc, j)?.get(self.doc, i)?;
                self.item(item, visitor)?;
            }
            self.depth = self.depth.wrapping_sub(1);
            return visitor.end_array();
        };
        let shape = self.doc.shapes.get(id)?;
        let slots = self.slots(id, &shape);
        visitor.begin_object(k)?;
        for place in 0..k {
            let slot = slots
                .as_ref()
                .and_then(|slots| slots.get(place))
                .copied()
                .unwrap_or(place);
            let item = of.column(self.doc, slot)?.get(self.doc, i)?;
            if matches!(
                item,
                Item::Stored {
                    tag: tag::ABSENT,
                    ..
                }
            ) {
                continue;
            }
            visitor.key(shape.id(slot))?;
            self.item(item, visitor)?;
        }
        self.depth = self.depth.wrapping_sub(1);
        visitor.end_object()
    }

    #[inline]
    fn plain<V: Visitor<'v>>(&mut self, scalar: Scalar<'v>, visitor: &mut V) -> Result<()> {
        self.count(1)?;
        visitor.scalar(scalar)
    }

    /// The order of a shape, worked out once.
    fn slots(&mut self, id: usize, shape: &Shape<'v>) -> Option<Rc<[usize]>> {
        if matches!(self.order, Order::Insertion) {
            return None;
        }
        if self.orders.len() <= id {
            self.orders.resize(id.saturating_add(1), None);
        }
        let order = &self.order;
        let known = self.orders.get_mut(id)?;
        known.get_or_insert_with(|| order.of(shape)).clone()
    }

    /// What comes before anything is made of it.
    #[inline]
    fn count(&mut self, elements: usize) -> Result<()> {
        match self.left.checked_sub(elements as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(
                Error::new(ErrorKind::Limit, "more elements than the limit allows")
                    .with_format("blit"),
            ),
        }
    }

    /// One list more inside others: damage can put any number into each other.
    #[inline]
    fn deeper(&mut self, at: usize) -> Result<()> {
        if self.lists >= 2 * MAX_DEPTH {
            let text = format!("more than {MAX_DEPTH} levels");
            return Err(broken(ErrorKind::Limit, "V30", &text, at));
        }
        self.lists = self.lists.wrapping_add(1);
        Ok(())
    }

    #[inline]
    fn enter(&mut self, at: usize) -> Result<()> {
        if self.depth >= MAX_DEPTH {
            let text = format!("more than {MAX_DEPTH} levels");
            return Err(broken(ErrorKind::Limit, "V30", &text, at));
        }
        self.depth = self.depth.wrapping_add(1);
        Ok(())
    }
}

/// A scalar of an extent.
pub(super) fn scalar<'v>(doc: &'v Doc<'v>, tag: u8, at: Extent) -> Result<Scalar<'v>> {
    if tag == tag::POOLED {
        let value = stored(doc, tag, at)?;
        return match value {
            Some(Value::Str(std::borrow::Cow::Borrowed(text))) => Ok(Scalar::Text {
                bytes: text.as_bytes(),
                tag: tag::STR,
            }),
            _ => Err(malformed("V15", "a string of the pool that is none", at.1)),
        };
    }
    Ok(match stored(doc, tag, at)? {
        Some(Value::Null) => Scalar::Null,
        Some(Value::Bool(value)) => Scalar::Bool(value),
        Some(Value::Int(value)) => Scalar::Int(value),
        Some(Value::Uint(value)) => Scalar::Uint(value),
        Some(Value::Float(value)) => Scalar::Float(value),
        Some(Value::NumText(text)) => Scalar::NumText(text),
        Some(Value::Bytes(bytes)) => Scalar::Bytes(bytes),
        _ => return Err(malformed("V28", "an absent value outside a column", at.1)),
    })
}

/// A list, read from its first element to its last.
enum Cursor<'v> {
    /// Extents, with one tag or one each.
    Extents {
        start: usize,
        ranges: Lengths<'v>,
        tag: u8,
        tags: &'v [u8],
        i: usize,
    },
    Packed {
        list: List<'v>,
        i: usize,
    },
    /// Columns, in the order in which they are walked; with their keys where rows are objects.
    Columns {
        columns: Vec<Cursor<'v>>,
        keys: Option<Vec<usize>>,
        end: usize,
    },
    Nested {
        child: Box<Cursor<'v>>,
        counts: Lengths<'v>,
        end: usize,
    },
    Codes {
        texts: Vec<&'v [u8]>,
        tag: u8,
        codes: &'v [u8],
        width: usize,
        i: usize,
        end: usize,
    },
    Partial {
        child: Box<Cursor<'v>>,
        bits: &'v [u8],
        absent: u8,
        i: usize,
        end: usize,
    },
    Segments {
        list: List<'v>,
        which: usize,
        current: Option<Box<Cursor<'v>>>,
        left: usize,
    },
}

impl<'v> Cursor<'v> {
    fn new(walk: &mut Walk<'v>, list: &List<'v>) -> Result<Self> {
        walk.deeper(list.end())?;
        let cursor = Self::of(walk, list);
        walk.lists = walk.lists.wrapping_sub(1);
        cursor
    }

    fn of(walk: &mut Walk<'v>, list: &List<'v>) -> Result<Self> {
        let doc = walk.doc;
        let end = list.end();
        Ok(match list.body {
            Body::Generic { at, tags } => {
                let ranges = at.lens.lengths(at.total);
                Self::Extents {
                    start: at.start,
                    ranges,
                    tag: tag::NULL,
                    tags,
                    i: 0,
                }
            }
            Body::Uniform { at, tag } => {
                let ranges = at.lens.lengths(at.total);
                Self::Extents {
                    start: at.start,
                    ranges,
                    tag,
                    tags: &[],
                    i: 0,
                }
            }
            Body::Table { shape: id, .. } => {
                let shape = doc.shapes.get(id)?;
                let slots = walk.slots(id, &shape);
                let slot = |place: usize| {
                    slots
                        .as_ref()
                        .and_then(|slots| slots.get(place))
                        .copied()
                        .unwrap_or(place)
                };
                let (mut columns, mut keys) = (Vec::new(), Vec::new());
                for place in 0..list.columns() {
                    let slot = slot(place);
                    columns.push(Self::new(walk, &list.column(doc, slot)?)?);
                    keys.push(shape.id(slot));
                }
                Self::Columns {
                    columns,
                    keys: Some(keys),
                    end,
                }
            }
            Body::Tuples { .. } => {
                let mut columns = Vec::new();
                for j in 0..list.columns() {
                    columns.push(Self::new(walk, &list.column(doc, j)?)?);
                }
                Self::Columns {
                    columns,
                    keys: None,
                    end,
                }
            }
            Body::Nested { child, counts } => {
                let child = List::read(doc, child, None)?;
                let counts = counts.lengths(child.n);
                Self::Nested {
                    child: Box::new(Self::new(walk, &child)?),
                    counts,
                    end,
                }
            }
            Body::Dict {
                unique,
                codes,
                width,
            } => {
                let unique = List::read(doc, unique, None)?;
                let Body::Uniform { at, tag } = unique.body else {
                    return Err(malformed(
                        "V25",
                        "a dictionary that is no list of strings",
                        end,
                    ));
                };
                if !matches!(tag, tag::CLEAN | tag::STR | tag::ASCII) {
                    return Err(malformed(
                        "V25",
                        "a dictionary that is no list of strings",
                        end,
                    ));
                }
                // Different strings: only one of them has no bytes.
                if unique.n > at.total.saturating_add(1) {
                    return Err(malformed("V25", "a dictionary with a string twice", end));
                }
                let mut texts = Vec::new();
                for range in at.lens.lengths(at.total) {
                    let (from, to) = range?;
                    texts
                        .push(doc.bytes((at.start.wrapping_add(from), at.start.wrapping_add(to)))?);
                }
                Self::Codes {
                    texts,
                    tag,
                    codes,
                    width,
                    i: 0,
                    end,
                }
            }
            Body::Partial {
                child,
                bits,
                absent,
                ..
            } => {
                let child = List::read(doc, child, None)?;
                Self::Partial {
                    child: Box::new(Self::new(walk, &child)?),
                    bits,
                    absent,
                    i: 0,
                    end,
                }
            }
            Body::Segmented { .. } => Self::Segments {
                list: *list,
                which: 0,
                current: None,
                left: 0,
            },
            _ => Self::Packed { list: *list, i: 0 },
        })
    }

    /// Walks over the next element, behind its key if it has one; false if it is absent.
    fn next<V: Visitor<'v>>(
        &mut self,
        walk: &mut Walk<'v>,
        key: Option<usize>,
        visitor: &mut V,
    ) -> Result<bool> {
        match self {
            Self::Extents {
                start,
                ranges,
                tag,
                tags,
                i,
            } => {
                let Some(range) = ranges.next() else {
                    return Err(malformed("V18", "a list shorter than it says", *start));
                };
                let (from, to) = range?;
                let tag = tags.get(*i).copied().unwrap_or(*tag);
                *i = i.wrapping_add(1);
                if tag == tag::ABSENT {
                    return Ok(false);
                }
                say(key, visitor)?;
                walk.value(
                    tag,
                    (start.wrapping_add(from), start.wrapping_add(to)),
                    visitor,
                )?;
            }
            Self::Packed { list, i } => {
                let item = list.packed(*i);
                *i = i.wrapping_add(1);
                let scalar = match item {
                    Some(Item::Int(value)) => Scalar::Int(value),
                    Some(Item::Float(value)) => Scalar::Float(value),
                    Some(Item::Bool(value)) => Scalar::Bool(value),
                    _ => return Err(malformed("V18", "a list shorter than it says", list.end())),
                };
                say(key, visitor)?;
                visitor.scalar(scalar)?;
            }
            Self::Columns { columns, keys, end } => {
                say(key, visitor)?;
                walk.enter(*end)?;
                walk.count(columns.len())?;
                match keys {
                    Some(keys) => {
                        visitor.begin_object(keys.len())?;
                        for (column, &key) in columns.iter_mut().zip(&*keys) {
                            column.next(walk, Some(key), visitor)?;
                        }
                        visitor.end_object()?;
                    }
                    None => {
                        visitor.begin_array(columns.len())?;
                        for column in columns {
                            column.next(walk, None, visitor)?;
                        }
                        visitor.end_array()?;
                    }
                }
                walk.depth = walk.depth.wrapping_sub(1);
            }
            Self::Nested { child, counts, end } => {
                let Some(range) = counts.next() else {
                    return Err(malformed(
                        "V24",
                        "counts of other elements than there are",
                        *end,
                    ));
                };
                let (from, to) = range?;
                let n = to.wrapping_sub(from);
                say(key, visitor)?;
                walk.enter(*end)?;
                walk.count(n)?;
                visitor.begin_array(n)?;
                for _ in 0..n {
                    child.next(walk, None, visitor)?;
                }
                walk.depth = walk.depth.wrapping_sub(1);
                visitor.end_array()?;
            }
            Self::Codes {
                texts,
                tag,
                codes,
                width,
                i,
                end,
            } => {
                let code = number(codes, *i, *width).and_then(|code| usize::try_from(code).ok());
                *i = i.wrapping_add(1);
                let Some(&bytes) = code.and_then(|code| texts.get(code)) else {
                    return Err(malformed(
                        "V25",
                        "a code that is not in its dictionary",
                        *end,
                    ));
                };
                say(key, visitor)?;
                visitor.scalar(Scalar::Text { bytes, tag: *tag })?;
            }
            Self::Partial {
                child,
                bits,
                absent,
                i,
                end,
            } => {
                let there = bit(bits, *i);
                *i = i.wrapping_add(1);
                if there {
                    walk.deeper(*end)?;
                    let said = child.next(walk, key, visitor);
                    walk.lists = walk.lists.wrapping_sub(1);
                    return said;
                }
                if *absent == tag::ABSENT {
                    return Ok(false);
                }
                say(key, visitor)?;
                visitor.scalar(Scalar::Null)?;
            }
            Self::Segments {
                list,
                which,
                current,
                left,
            } => {
                if *left == 0 {
                    let Body::Segmented { segments, size } = list.body else {
                        return Ok(false);
                    };
                    let (segment, n) = list.segment(walk.doc, segments, size, *which)?;
                    *current = Some(Box::new(Self::new(walk, &segment)?));
                    *which = which.wrapping_add(1);
                    *left = n;
                }
                *left = left.saturating_sub(1);
                if let Some(current) = current {
                    walk.deeper(list.end())?;
                    let said = current.next(walk, key, visitor);
                    walk.lists = walk.lists.wrapping_sub(1);
                    return said;
                }
            }
        }
        Ok(true)
    }
}

#[inline]
fn say<'v, V: Visitor<'v>>(key: Option<usize>, visitor: &mut V) -> Result<()> {
    match key {
        Some(id) => visitor.key(id),
        None => Ok(()),
    }
}
