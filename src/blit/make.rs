//! Values of any kind, made from the inside out: columns at once, then the rows of them.
//!
//! What a [`Maker`] makes of a document is one value for each, in blocks of rows, so that every
//! column is read in one loop and what was made stays in the caches until its row is made.

use std::rc::Rc;

use super::doc::Doc;
use super::layout::{broken, malformed, tag, Back, MAX_DEPTH, MAX_LISTS};
use super::list::{Extent, Item, List};
use super::lz4;
use super::make_lists::Cursor;
use super::view::{ArrayView, ObjectView, Value};
use super::visit::{Scalar, Text, TextKind};
use super::walk::scalar;
use crate::{Error, ErrorKind, Result};

/// Makes values of another kind, such as the objects of a language.
///
/// What any of its functions refuses ends the making.
#[allow(clippy::missing_errors_doc, reason = "said once, above")]
pub trait Maker {
    /// What is made.
    type Made;

    /// A null.
    fn null(&mut self) -> Result<Self::Made>;
    /// A truth value.
    fn bool(&mut self, value: bool) -> Result<Self::Made>;
    /// A signed integer.
    fn int(&mut self, value: i64) -> Result<Self::Made>;
    /// An integer above 2^63 - 1.
    fn uint(&mut self, value: u64) -> Result<Self::Made>;
    /// A float.
    fn float(&mut self, value: f64) -> Result<Self::Made>;
    /// A number that is kept as its JSON text.
    fn number_text(&mut self, text: &str) -> Result<Self::Made>;
    /// A string, which is not checked to be UTF-8; `ascii` if it says that it is ASCII.
    fn text(&mut self, text: &[u8], ascii: bool) -> Result<Self::Made>;
    /// Bytes that are no text.
    fn bytes(&mut self, bytes: &[u8]) -> Result<Self::Made>;

    /// What was made once more, as of a string that a column has many times.
    fn again(&mut self, made: &Self::Made) -> Self::Made;

    /// An array of `n` values.
    fn array(&mut self, n: usize, items: impl Iterator<Item = Self::Made>) -> Result<Self::Made>;

    /// An object; `names` are ids, with a value or None for each.
    fn object(
        &mut self,
        names: &[usize],
        values: impl Iterator<Item = Option<Self::Made>>,
    ) -> Result<Self::Made>;

    /// `n` objects of the same names, from a column of `n` values for each, which are left empty.
    fn rows(
        &mut self,
        names: &[usize],
        columns: &mut [Column<Self::Made>],
        n: usize,
        out: &mut Column<Self::Made>,
    ) -> Result<()>;
}

/// Values that were made; None of what is absent.
pub type Column<T> = Vec<Option<T>>;

impl Value<'_> {
    /// Makes a value of this one and of all in it, of `elements` at most.
    ///
    /// # Errors
    /// Those of the maker; `Limit`; `Malformed` where the document is not what it says.
    pub fn make<M: Maker>(&self, maker: &mut M, elements: u64) -> Result<M::Made> {
        match self {
            Self::Array(array) => Making::new(array.doc, maker, elements).view(array),
            Self::Object(object) => Making::new(object.doc, maker, elements).object_view(object),
            Self::Null => maker.null(),
            Self::Bool(value) => maker.bool(*value),
            Self::Int(value) => maker.int(*value),
            Self::Uint(value) => maker.uint(*value),
            Self::Float(value) => maker.float(*value),
            Self::NumText(text) => maker.number_text(text),
            Self::Str(text) => maker.text(text.as_bytes(), false),
            Self::Wtf8(bytes) => maker.text(bytes, false),
            Self::Bytes(bytes) => maker.bytes(bytes),
        }
    }
}

/// The making of one value.
pub(super) struct Making<'m, 'v, M: Maker> {
    pub(super) doc: &'v Doc<'v>,
    pub(super) maker: &'m mut M,
    depth: usize,
    /// Lists inside each other that are no levels of the value, or whose cursors are being made.
    lists: usize,
    /// Elements that may still come.
    left: u64,
    /// Columns that are free.
    spare: Vec<Column<M::Made>>,
    /// The names of each shape, once they were needed.
    names: Vec<Option<Rc<[usize]>>>,
}

impl<'m, 'v, M: Maker> Making<'m, 'v, M> {
    pub(super) fn new(doc: &'v Doc<'v>, maker: &'m mut M, elements: u64) -> Self {
        Self {
            doc,
            maker,
            depth: 0,
            lists: 0,
            left: elements,
            spare: Vec::new(),
            names: Vec::new(),
        }
    }

    fn view(&mut self, array: &ArrayView<'v>) -> Result<M::Made> {
        match array.row {
            Some(row) => self.row(&array.list, row),
            None => self.run(&array.list, array.from, array.n),
        }
    }

    fn object_view(&mut self, object: &ObjectView<'v>) -> Result<M::Made> {
        match (object.list, object.row) {
            (None, _) => self.maker.object(&[], std::iter::empty()),
            (Some(list), Some(row)) => self.row(&list, row),
            (Some(list), None) => {
                let names: Vec<usize> = (0..object.shape.len())
                    .map(|slot| object.shape.id(slot))
                    .collect();
                self.entries(&list, &names)
            }
        }
    }

    /// The value of an extent; None of one that is absent.
    #[inline]
    pub(super) fn value(&mut self, tag: u8, at: Extent) -> Result<Option<M::Made>> {
        Ok(Some(match tag {
            tag::CLEAN | tag::STR | tag::ASCII => {
                let bytes = self.doc.bytes(at)?;
                self.maker.text(bytes, tag == tag::ASCII)?
            }
            tag::ABSENT => return Ok(None),
            tag::LZ4 => {
                let text = lz4::unpack(self.doc.data, at, lz4::MOST_TOGETHER)?;
                self.maker.text(&text, false)?
            }
            tag::ARRAY => {
                let list = List::read(self.doc, at, None)?;
                self.run(&list, 0, list.n)?
            }
            tag::OBJECT => self.object(at)?,
            _ => self.scalar(tag, at)?,
        }))
    }

    #[inline]
    fn scalar(&mut self, tag: u8, at: Extent) -> Result<M::Made> {
        match scalar(self.doc, tag, at)? {
            Scalar::Null => self.maker.null(),
            Scalar::Bool(value) => self.maker.bool(value),
            Scalar::Int(value) => self.maker.int(value),
            Scalar::Uint(value) => self.maker.uint(value),
            Scalar::Float(value) => self.maker.float(value),
            Scalar::NumText(text) => self.maker.number_text(text),
            Scalar::Text(Text { bytes, kind }) => self.maker.text(bytes, kind == TextKind::Ascii),
            Scalar::Bytes(bytes) => self.maker.bytes(bytes),
        }
    }

    /// Elements of a list from one on.
    fn run(&mut self, list: &List<'v>, from: usize, n: usize) -> Result<M::Made> {
        self.enter(list.end())?;
        self.count(n)?;
        let mut items = self.column();
        if from == 0 && n == list.n {
            Cursor::new(self, list)?.fill(self, n, &mut items)?;
        } else {
            for i in from..from.saturating_add(n) {
                let item = list.get(self.doc, i)?;
                items.push(self.item(item)?);
            }
        }
        self.leave();
        let made = self.array(n, &mut items, list.end());
        self.free(items);
        made
    }

    fn object(&mut self, at: Extent) -> Result<M::Made> {
        if at.0 >= at.1 {
            return self.maker.object(&[], std::iter::empty());
        }
        let mut back = Back::new(self.doc.data, at.0, at.1);
        let shape = back.rv()?;
        let names = self.names_of(shape)?;
        let list = List::read(self.doc, (at.0, back.end), Some(names.len()))?;
        self.entries(&list, &names)
    }

    /// An object of a list of its values.
    fn entries(&mut self, list: &List<'v>, names: &[usize]) -> Result<M::Made> {
        self.enter(list.end())?;
        self.count(list.n)?;
        let mut items = self.column();
        Cursor::new(self, list)?.fill(self, list.n, &mut items)?;
        self.leave();
        let made = self.maker.object(names, items.drain(..));
        self.free(items);
        made
    }

    /// One row of a table or of tuples.
    fn row(&mut self, of: &List<'v>, i: usize) -> Result<M::Made> {
        self.enter(of.end())?;
        let k = of.columns();
        self.count(k)?;
        let mut items = self.column();
        for j in 0..k {
            let item = of.column(self.doc, j)?.get(self.doc, i)?;
            items.push(self.item(item)?);
        }
        self.leave();
        let made = match of.shape() {
            Some(shape) => {
                let names = self.names_of(shape)?;
                self.maker.object(&names, items.drain(..))
            }
            None => self.array(k, &mut items, of.end()),
        };
        self.free(items);
        made
    }

    /// An element that was reached by itself.
    fn item(&mut self, item: Item<'v>) -> Result<Option<M::Made>> {
        Ok(Some(match item {
            Item::Stored { tag, at } => return self.value(tag, at),
            Item::Int(value) => self.maker.int(value)?,
            Item::Float(value) => self.maker.float(value)?,
            Item::Bool(value) => self.maker.bool(value)?,
            Item::Run { of, from, n } => self.run(&of, from, n)?,
            Item::Row { of, i } => self.row(&of, i)?,
        }))
    }

    /// An array of the first `n` of `items`, which are all.
    fn array(&mut self, n: usize, items: &mut Column<M::Made>, at: usize) -> Result<M::Made> {
        if items.iter().any(Option::is_none) {
            return Err(malformed("V28", "an absent value outside a column", at));
        }
        self.maker.array(n, items.drain(..).flatten())
    }

    /// The ids of a shape's names.
    pub(super) fn names_of(&mut self, shape: usize) -> Result<Rc<[usize]>> {
        if let Some(Some(names)) = self.names.get(shape) {
            return Ok(Rc::clone(names));
        }
        let ids = self.doc.shapes.get(shape)?;
        // Every name takes a byte, or is in a run of ids that all have one.
        if ids.len() > self.doc.keys.names.n.max(self.doc.data.len()) {
            return Err(malformed(
                "V11",
                "a shape of more keys than there are",
                self.doc.trailer,
            ));
        }
        let names: Rc<[usize]> = (0..ids.len()).map(|slot| ids.id(slot)).collect();
        if self.names.len() <= shape {
            self.names.resize(shape.saturating_add(1), None);
        }
        if let Some(place) = self.names.get_mut(shape) {
            *place = Some(Rc::clone(&names));
        }
        Ok(names)
    }

    /// An empty column.
    pub(super) fn column(&mut self) -> Column<M::Made> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes a column back, to be used again unless it is long.
    pub(super) fn free(&mut self, mut column: Column<M::Made>) {
        const KEPT: usize = 1 << 16;
        if column.capacity() <= KEPT {
            column.clear();
            self.spare.push(column);
        }
    }

    /// What comes before anything is made of it.
    #[inline]
    pub(super) fn count(&mut self, elements: usize) -> Result<()> {
        match self.left.checked_sub(elements as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(
                Error::new(ErrorKind::Limit, "more elements than max_elements allows")
                    .with_format("blit"),
            ),
        }
    }

    #[inline]
    pub(super) fn enter(&mut self, at: usize) -> Result<()> {
        if self.depth >= MAX_DEPTH {
            let text = format!("more than {MAX_DEPTH} levels");
            return Err(broken(ErrorKind::Limit, "V30", &text, at));
        }
        super::stack::check(self.depth)?;
        self.depth = self.depth.wrapping_add(1);
        Ok(())
    }

    /// One list more inside others: damage can put any number into each other.
    #[inline]
    pub(super) fn deeper(&mut self, at: usize) -> Result<()> {
        if self.depth.saturating_add(self.lists) >= MAX_LISTS {
            let text = format!("more than {MAX_DEPTH} levels");
            return Err(broken(ErrorKind::Limit, "V30", &text, at));
        }
        super::stack::check(self.lists)?;
        self.lists = self.lists.wrapping_add(1);
        Ok(())
    }

    #[inline]
    pub(super) fn shallower(&mut self) {
        self.lists = self.lists.wrapping_sub(1);
    }

    #[inline]
    pub(super) fn leave(&mut self) {
        self.depth = self.depth.wrapping_sub(1);
    }
}
