//! A walk over a value, in constant time a cell: no header is read twice.

use super::cursor::{self, Cursor};
use super::doc::{Doc, Shape};
use super::json_out::KeyOrder;
use super::layout::{broken, int, malformed, tag, uint, Back, MAX_DEPTH, MAX_LISTS};
use super::lexical::{Lexical, Order};
use super::list::{Body, Extent, Item, List};
use super::stack;
use super::visit::{pooled, unknown_tag, Scalar, Text, TextKind, Visitor, WalkOptions};
use super::{decimal, lz4, view};
use crate::{Error, ErrorKind, Result};

/// A walk over a document.
pub(super) struct Walk<'v> {
    pub(super) doc: &'v Doc<'v>,
    /// Where names are walked in their order.
    pub(super) lexical: Option<Lexical<'v>>,
    pub(super) depth: usize,
    /// Lists inside each other that are no levels of the value, or whose cursors are being made.
    pub(super) lists: usize,
    /// Elements that may still come.
    left: u64,
    /// Bytes of compressed strings that may still come.
    pub(super) unpacked: usize,
    /// Dictionaries so far.
    pub(super) dictionaries: usize,
}

impl<'v> Walk<'v> {
    pub(super) fn new(doc: &'v Doc<'v>, options: &WalkOptions) -> Self {
        Self {
            doc,
            lexical: (options.order == KeyOrder::Lexical).then(Lexical::default),
            depth: 0,
            lists: 0,
            left: options.max_elements,
            unpacked: lz4::MOST_TOGETHER,
            dictionaries: 0,
        }
    }

    /// Walks over an element.
    ///
    /// # Errors
    /// Those of the visitor; `Malformed` where the document is not what it says; `Limit`.
    pub(super) fn item<V: Visitor>(&mut self, item: Item<'v>, visitor: &mut V) -> Result<()> {
        match item {
            Item::Stored { tag, at } => self.value(tag, at, visitor),
            Item::Int(value) => visitor.scalar(Scalar::Int(value)),
            Item::Float(value) => visitor.scalar(Scalar::Float(value)),
            Item::Bool(value) => visitor.scalar(Scalar::Bool(value)),
            Item::Run { of, from, n } => {
                let mut cursor = Cursor::new(self, &of, n)?;
                cursor.seek(self.doc, from)?;
                self.elements(&mut cursor, n, of.end(), visitor)
            }
            Item::Row { of, i } => self.row(&of, i, visitor),
        }
    }

    /// Walks over one row of a table or of tuples, without cursors for its columns that are kept.
    fn row<V: Visitor>(&mut self, of: &List<'v>, i: usize, visitor: &mut V) -> Result<()> {
        let k = of.columns();
        self.enter(k, of.end())?;
        let (mut slots, mut keys) = (None, None);
        if let Body::Table {
            shape, keys: all, ..
        } = of.body
        {
            visitor.begin_object(k, shape)?;
            (slots, keys) = (self.slots(shape, &all)?, Some(all));
        } else {
            visitor.begin_array(k)?;
        }
        stack::grown(self.depth, || {
            for place in 0..k {
                let slot = slots.as_ref().and_then(|slots| slots.get(place));
                let slot = slot.unwrap_or(place);
                let column = of.column(self.doc, slot)?;
                let key = keys.map(|keys| keys.id(slot));
                cursor::one(self, &column, i, key, visitor)?;
            }
            Ok::<(), Error>(())
        })?;
        self.leave();
        match keys {
            Some(_) => visitor.end_object(),
            None => visitor.end_array(),
        }
    }

    /// Walks over the value of an extent.
    #[inline]
    pub(super) fn value<V: Visitor>(&mut self, tag: u8, at: Extent, visitor: &mut V) -> Result<()> {
        if let Some(kind) = TextKind::of(tag) {
            let bytes = self.doc.bytes(at)?;
            return visitor.scalar(Scalar::Text(Text { bytes, kind }));
        }
        match tag {
            tag::SMALL.. => visitor.scalar(Scalar::Int(i64::from(tag).wrapping_sub(0xA0))),
            tag::ARRAY => self.array(at, visitor),
            tag::OBJECT => self.object(at, visitor),
            _ => self.other(tag, at, visitor),
        }
    }

    fn other<V: Visitor>(&mut self, tag: u8, at: Extent, visitor: &mut V) -> Result<()> {
        match tag {
            tag::DEC => {
                let (m, e) = view::decimal_of(self.doc.bytes(at)?, at.1)?;
                visitor.decimal(m, e)
            }
            tag::LZ4 => {
                let text = lz4::unpack(self.doc.data, at, self.unpacked)?;
                self.unpacked = self.unpacked.saturating_sub(text.len());
                let (bytes, kind) = (&text[..], TextKind::Any);
                visitor.scalar(Scalar::Text(Text { bytes, kind }))
            }
            _ => visitor.scalar(scalar(self.doc, tag, at)?),
        }
    }

    fn array<V: Visitor>(&mut self, at: Extent, visitor: &mut V) -> Result<()> {
        let list = List::read(self.doc, at, None)?;
        let mut cursor = Cursor::new(self, &list, list.n)?;
        self.elements(&mut cursor, list.n, at.1, visitor)
    }

    /// An array of the next `n` elements.
    #[inline]
    pub(super) fn elements<V: Visitor>(
        &mut self,
        cursor: &mut Cursor<'v>,
        n: usize,
        end: usize,
        visitor: &mut V,
    ) -> Result<()> {
        self.enter(n, end)?;
        visitor.begin_array(n)?;
        stack::grown(self.depth, || cursor.run(self, n, visitor))?;
        self.leave();
        visitor.end_array()
    }

    fn object<V: Visitor>(&mut self, at: Extent, visitor: &mut V) -> Result<()> {
        if at.0 >= at.1 {
            visitor.begin_object(0, usize::MAX)?;
            return visitor.end_object();
        }
        let mut back = Back::new(self.doc.data, at.0, at.1);
        let id = back.rv()?;
        let shape = self.doc.shapes.get(id)?;
        let list = List::read(self.doc, (at.0, back.end), Some(shape.len()))?;
        self.enter(list.n, at.1)?;
        visitor.begin_object(list.n, id)?;
        let slots = self.slots(id, &shape)?;
        let direct = slots.as_ref().filter(|_| cursor::is_direct(&list));
        if let Some(slots) = direct {
            stack::grown(self.depth, || {
                slots.iter().try_for_each(|slot| {
                    cursor::one(self, &list, slot, Some(shape.id(slot)), visitor)
                })
            })?;
            self.leave();
            return visitor.end_object();
        }
        let mut cursor = Cursor::new(self, &list, list.n)?;
        stack::grown(self.depth, || {
            if let Some(slots) = slots {
                for slot in slots.iter() {
                    cursor.seek(self.doc, slot)?;
                    cursor.next(self, Some(shape.id(slot)), visitor)?;
                }
                return Ok(());
            }
            for slot in 0..list.n {
                cursor.next(self, Some(shape.id(slot)), visitor)?;
            }
            Ok::<(), Error>(())
        })?;
        self.leave();
        visitor.end_object()
    }

    /// The places of a shape, in the order in which they are walked; None if as they are.
    #[inline]
    pub(super) fn slots(&mut self, id: usize, shape: &Shape<'v>) -> Result<Order> {
        match &mut self.lexical {
            Some(lexical) => lexical.of(self.doc, id, shape),
            None => Ok(None),
        }
    }

    /// One list more inside others: damage can put any number into each other.
    #[inline]
    pub(super) fn deeper(&mut self, at: usize) -> Result<()> {
        if self.depth.saturating_add(self.lists) >= MAX_LISTS {
            return Err(too_deep(at));
        }
        self.lists = self.lists.wrapping_add(1);
        Ok(())
    }

    /// The end of what [`deeper`](Self::deeper) began.
    #[inline]
    pub(super) fn shallower(&mut self) {
        self.lists = self.lists.wrapping_sub(1);
    }

    /// A container of `n` elements, counted before anything is made of them.
    #[inline]
    pub(super) fn enter(&mut self, n: usize, at: usize) -> Result<()> {
        if self.depth >= MAX_DEPTH {
            return Err(too_deep(at));
        }
        self.depth = self.depth.wrapping_add(1);
        match self.left.checked_sub(n as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(too_many()),
        }
    }

    #[inline]
    pub(super) fn leave(&mut self) {
        self.depth = self.depth.wrapping_sub(1);
    }
}

/// A value without others in it, unless it is a compressed string.
///
/// # Errors
/// `Malformed` for what is not what it says, `Unsupported` for a tag that is not.
pub(super) fn scalar<'v>(doc: &Doc<'v>, tag: u8, at: Extent) -> Result<Scalar<'v>> {
    let bytes = doc.bytes(at)?;
    let long = |least: usize, most: usize| {
        if (least..=most).contains(&bytes.len()) {
            return Ok(bytes);
        }
        Err(malformed("V13", "a number of an impossible length", at.1))
    };
    Ok(match tag {
        tag::NULL => Scalar::Null,
        tag::FALSE => Scalar::Bool(false),
        tag::TRUE => Scalar::Bool(true),
        tag::SMALL.. => Scalar::Int(i64::from(tag).wrapping_sub(0xA0)),
        tag::INT => Scalar::Int(int(long(1, 8)?)),
        tag::UINT => Scalar::Uint(uint(long(8, 8)?)),
        tag::F64 => Scalar::Float(super::list::float(long(8, 8)?)),
        tag::F32 => Scalar::Float(super::list::float(long(4, 4)?)),
        tag::DEC => {
            let (m, e) = view::decimal_of(bytes, at.1)?;
            Scalar::Float(decimal::float(m, e))
        }
        tag::POOLED => Scalar::Text(pooled(doc, uint(long(1, 4)?), at.1)?),
        tag::NUMTEXT => Scalar::NumText(view::number_text(bytes, at.0)?),
        tag::BYTES => Scalar::Bytes(bytes),
        tag::ABSENT => return Err(malformed("V28", "an absent value outside a column", at.1)),
        _ => match TextKind::of(tag) {
            Some(kind) => Scalar::Text(Text { bytes, kind }),
            None => return Err(unknown_tag(at.1)),
        },
    })
}

#[cold]
fn too_deep(at: usize) -> Error {
    let text = format!("more than {MAX_DEPTH} levels");
    broken(ErrorKind::Limit, "V30", &text, at)
}

#[cold]
fn too_many() -> Error {
    Error::new(ErrorKind::Limit, "more elements than the limit allows").with_format("blit")
}
