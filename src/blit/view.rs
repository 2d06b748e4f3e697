//! A document as it lies in memory: any value of it, without parsing the others.

use std::borrow::Cow;
use std::fmt;

use super::decimal;
use super::doc::{Doc, Shape};
use super::layout::{broken, int, malformed, tag, uint};
use super::list::{float, Extent, Item, List};
use super::lz4;
use super::place::Place;
use super::visit::{pooled, unknown_tag};
use crate::{ErrorKind, Result};

/// A document, opened: its trailer was read, and nothing else.
///
/// Opening neither allocates nor validates. Every access checks its bounds, so that damage is an
/// error where it is met; [`validate`](Self::validate) looks for all of it.
///
/// # Example
/// ```
/// use tare::blit::{from_json, Options, Value, View};
///
/// let document = from_json(br#"{"flight": {"delays": [2, 4, 33]}}"#, &Options::default())?;
/// let view = View::open(&document)?;
/// assert!(matches!(view.pointer("/flight/delays/2")?, Some(Value::Int(33))));
/// assert!(view.pointer("/flight/carrier")?.is_none());
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub(super) doc: Doc<'a>,
}

/// A value of a document.
#[derive(Clone, Debug)]
pub enum Value<'v> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An integer above 2^63 - 1.
    Uint(u64),
    /// A float.
    Float(f64),
    /// A number that is kept as its JSON text.
    NumText(&'v str),
    /// A string.
    Str(Cow<'v, str>),
    /// A string with halves of surrogate pairs, as three bytes each.
    Wtf8(&'v [u8]),
    /// Bytes that are no text.
    Bytes(&'v [u8]),
    /// An array.
    Array(ArrayView<'v>),
    /// An object.
    Object(ObjectView<'v>),
}

impl<'a> View<'a> {
    /// Opens a document.
    ///
    /// # Errors
    /// `Truncated`, `Malformed` or `Unsupported`, with the rule of the specification and the byte.
    pub fn open(data: &'a [u8]) -> Result<Self> {
        Doc::open(data).map(|doc| Self { doc })
    }

    /// The whole value.
    ///
    /// # Errors
    /// `Malformed` where it is not what it says, as all that follow.
    pub fn root(&self) -> Result<Value<'_>> {
        self.at(self.doc.root)
    }

    /// The value at a place of this document, which [`Value::place`] gave.
    ///
    /// # Errors
    /// `Malformed`, `NotFound`, for what is no place of this document.
    ///
    /// # Example
    /// ```
    /// use tare::blit::{from_json, Options, Value, View};
    ///
    /// let document = from_json(br#"[{"a": 1}, {"a": 2}]"#, &Options::default())?;
    /// let view = View::open(&document)?;
    /// let place = view.pointer("/1")?.unwrap().place().unwrap();
    /// let Value::Object(row) = view.at(place)? else { unreachable!() };
    /// assert!(matches!(row.get("a")?, Some(Value::Int(2))));
    /// # Ok::<(), tare::Error>(())
    /// ```
    #[inline]
    pub fn at(&self, place: Place) -> Result<Value<'_>> {
        let item = place.item(&self.doc)?;
        value(&self.doc, item)?.ok_or_else(|| absent(self.doc.trailer))
    }

    /// Bytes of the document.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.doc.data
    }

    /// A name by its id, as UTF-8 that is not checked.
    ///
    /// # Errors
    /// `Malformed`, also for one that is not there.
    pub fn name(&self, id: usize) -> Result<&'a [u8]> {
        self.doc.keys.name(id)
    }

    /// All names by their ids, as [`name`](Self::name) gives each.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn each_name(&self) -> impl Iterator<Item = Result<&'a [u8]>> {
        let (data, at) = (self.doc.keys.names.data, self.doc.keys.names.at);
        at.lens.lengths(at.total).map(move |range| {
            let (from, to) = range?;
            let found = data.get(at.start.wrapping_add(from)..at.start.wrapping_add(to));
            Ok(found.unwrap_or_default())
        })
    }

    /// Whether strings may have halves of surrogate pairs.
    #[must_use]
    pub fn has_surrogates(&self) -> bool {
        self.doc.flags & super::layout::flag::WTF8 != 0
    }

    /// Whether objects may have a name twice, as `Duplicates::Keep` leaves them.
    #[must_use]
    pub fn keeps_duplicates(&self) -> bool {
        self.doc.flags & super::layout::flag::KEEPS_DUPLICATES != 0
    }

    /// How many names there are.
    #[must_use]
    pub fn names(&self) -> usize {
        self.doc.keys.names.n
    }

    /// A name by its id, as a [`Visitor`](super::Visitor) is given it; halves of surrogate
    /// pairs, which are no text, are replaced.
    ///
    /// # Errors
    /// `Malformed` for an id that is not there, or a name that is not UTF-8.
    #[inline]
    pub fn key(&self, id: usize) -> Result<Cow<'a, str>> {
        key_text(&self.doc, id)
    }

    /// The names of all objects, in the order of their ids.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn keys(&self) -> impl Iterator<Item = Result<Cow<'_, str>>> {
        (0..self.doc.keys.names.n).map(|id| key_text(&self.doc, id))
    }
}

impl Value<'_> {
    /// Where an array or an object lies; None of values that hold no others.
    #[must_use]
    #[inline]
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Array(array) => Some(array.place()),
            Self::Object(object) => Some(object.place()),
            _ => None,
        }
    }
}

/// An array of a document.
#[derive(Clone, Copy)]
pub struct ArrayView<'v> {
    pub(super) doc: &'v Doc<'v>,
    pub(super) list: List<'v>,
    pub(super) from: usize,
    pub(super) n: usize,
    /// The row, where the columns of the list are this array's elements.
    pub(super) row: Option<usize>,
}

impl<'v> ArrayView<'v> {
    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Element `i`.
    ///
    /// # Errors
    /// `NotFound` from the length on; `Malformed`.
    #[inline]
    pub fn get(&self, i: usize) -> Result<Value<'v>> {
        if i >= self.n {
            let text = format!("no element {i}: there are {}", self.n);
            return Err(broken(ErrorKind::NotFound, "-", &text, self.list.end()));
        }
        let item = match self.row {
            None => self.list.get(self.doc, self.from.wrapping_add(i))?,
            Some(row) => self.list.column(self.doc, i)?.get(self.doc, row)?,
        };
        value(self.doc, item)?.ok_or_else(|| absent(self.list.end()))
    }

    /// Where it lies.
    #[must_use]
    #[inline]
    pub fn place(&self) -> Place {
        let list = &self.list;
        match self.row {
            None => Place::run(list.at, list.given(), self.from, self.n),
            Some(row) => Place::element(list.at, list.given(), row),
        }
    }

    /// All elements in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Value<'v>>> + '_ {
        (0..self.n).map(|i| self.get(i))
    }

    /// What the array is an element of.
    #[inline]
    pub(super) fn item(&self) -> Item<'v> {
        let of = self.list;
        match self.row {
            None => Item::Run {
                of,
                from: self.from,
                n: self.n,
            },
            Some(i) => Item::Row { of, i },
        }
    }

    /// The list that the elements lie in, and the first of them; None of those in columns.
    #[inline]
    pub(super) fn elements(&self) -> Option<(List<'v>, usize)> {
        self.row.is_none().then_some((self.list, self.from))
    }

    /// The name of the kind of list that the elements lie in.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.list.name()
    }
}

/// An object of a document.
#[derive(Clone, Copy)]
pub struct ObjectView<'v> {
    pub(super) doc: &'v Doc<'v>,
    /// Where it is stored, unless it is a row.
    at: Extent,
    /// Its values, or the table it is a row of; None of an object without any.
    pub(super) list: Option<List<'v>>,
    pub(super) shape: Shape<'v>,
    pub(super) row: Option<usize>,
}

impl<'v> ObjectView<'v> {
    /// The value of a name, the last one if it is there twice; None if it is not there.
    ///
    /// # Errors
    /// `Malformed`.
    #[inline]
    pub fn get(&self, name: &str) -> Result<Option<Value<'v>>> {
        match self.doc.keys.find(name.as_bytes())? {
            Some(id) => self.get_id(id),
            None => Ok(None),
        }
    }

    /// As [`get`](Self::get), of a name that may have halves of surrogate pairs, as three bytes
    /// each.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn get_wtf8(&self, name: &[u8]) -> Result<Option<Value<'v>>> {
        match self.doc.keys.find(name)? {
            Some(id) => self.get_id(id),
            None => Ok(None),
        }
    }

    /// As [`get`](Self::get), by the id of a name.
    #[inline]
    pub(super) fn get_id(&self, id: usize) -> Result<Option<Value<'v>>> {
        match self.shape.slot(id) {
            Some(slot) => self.at(slot),
            None => Ok(None),
        }
    }

    /// The value in a place of the shape; None if this row has none there.
    #[inline]
    pub(super) fn at(&self, slot: usize) -> Result<Option<Value<'v>>> {
        let Some(list) = self.list else {
            return Ok(None);
        };
        let item = match self.row {
            None => list.get(self.doc, slot)?,
            Some(row) => list.column(self.doc, slot)?.get(self.doc, row)?,
        };
        value(self.doc, item)
    }

    /// Where it lies.
    #[must_use]
    #[inline]
    pub fn place(&self) -> Place {
        match (self.row, &self.list) {
            (Some(row), Some(list)) => Place::element(list.at, list.given(), row),
            _ => Place::stored(tag::OBJECT, self.at),
        }
    }

    /// What the object is an element of.
    #[inline]
    pub(super) fn item(&self) -> Item<'v> {
        match (self.row, self.list) {
            (Some(i), Some(of)) => Item::Row { of, i },
            _ => Item::Stored {
                tag: tag::OBJECT,
                at: self.at,
            },
        }
    }

    /// How many places its shape has.
    #[inline]
    pub(super) fn slots(&self) -> usize {
        if self.list.is_some() {
            self.shape.len()
        } else {
            0
        }
    }

    /// The id of the name in a place of the shape.
    #[inline]
    pub(super) fn key_id(&self, slot: usize) -> usize {
        self.shape.id(slot)
    }

    /// Names and values, in the order in which they were written.
    pub fn iter(&self) -> impl Iterator<Item = Result<(Cow<'v, str>, Value<'v>)>> + '_ {
        (0..self.slots()).filter_map(|slot| {
            let value = match self.at(slot) {
                Ok(value) => value?,
                Err(error) => return Some(Err(error)),
            };
            let name = key_text(self.doc, self.shape.id(slot));
            Some(name.map(|name| (name, value)))
        })
    }

    /// Ids of names, and values, in the order in which they were written.
    pub fn entries(&self) -> impl Iterator<Item = Result<(usize, Value<'v>)>> + '_ {
        let slots = if self.list.is_some() {
            self.shape.len()
        } else {
            0
        };
        (0..slots).filter_map(|slot| {
            let value = self.at(slot).transpose()?;
            Some(value.map(|value| (self.shape.id(slot), value)))
        })
    }

    /// The name of the kind of list that the values lie in; of a row, of the list of rows.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.list.map_or("EMPTY", |list| list.name())
    }

    /// How many names there are.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn count(&self) -> Result<usize> {
        match self.row {
            None if self.list.is_none() => Ok(0),
            None => Ok(self.shape.len()),
            Some(_) => {
                let mut n = 0_usize;
                for entry in self.iter() {
                    entry?;
                    n = n.saturating_add(1);
                }
                Ok(n)
            }
        }
    }
}

/// The value of an element; None of one that is absent.
#[inline]
pub(super) fn value<'v>(doc: &'v Doc<'v>, item: Item<'v>) -> Result<Option<Value<'v>>> {
    Ok(Some(match item {
        Item::Stored { tag, at } => return stored(doc, tag, at),
        Item::Int(value) => Value::Int(value),
        Item::Float(value) => Value::Float(value),
        Item::Bool(value) => Value::Bool(value),
        Item::Run { of, from, n } => Value::Array(ArrayView {
            doc,
            list: of,
            from,
            n,
            row: None,
        }),
        Item::Row { of, i } => match of.body {
            super::list::Body::Table { keys: shape, .. } => Value::Object(ObjectView {
                doc,
                at: of.at,
                list: Some(of),
                shape,
                row: Some(i),
            }),
            _ => Value::Array(ArrayView {
                doc,
                list: of,
                from: 0,
                n: of.columns(),
                row: Some(i),
            }),
        },
    }))
}

/// The value of an extent; None of one that is absent.
#[inline]
pub(super) fn stored<'v>(doc: &'v Doc<'v>, tag: u8, at: Extent) -> Result<Option<Value<'v>>> {
    if let Some(small) = tag::integer(tag) {
        return Ok(Some(Value::Int(small)));
    }
    let bytes = doc.bytes(at)?;
    let long = |most: usize| {
        if bytes.is_empty() || bytes.len() > most {
            return Err(malformed("V13", "a number of an impossible length", at.1));
        }
        Ok(bytes)
    };
    Ok(Some(match tag {
        tag::NULL => Value::Null,
        tag::FALSE => Value::Bool(false),
        tag::TRUE => Value::Bool(true),
        tag::INT => Value::Int(int(long(8)?)),
        tag::UINT => Value::Uint(uint(long(8)?)),
        tag::F64 if bytes.len() == 8 => Value::Float(float(bytes)),
        tag::F32 if bytes.len() == 4 => Value::Float(float(bytes)),
        tag::DEC => {
            let (m, e) = decimal_of(bytes, at.1)?;
            Value::Float(decimal::float(m, e))
        }
        tag::CLEAN | tag::STR | tag::ASCII => text(doc, bytes, at.0)?,
        tag::POOLED => text(doc, pooled(doc, uint(long(4)?), at.1)?.bytes, at.0)?,
        tag::LZ4 => unpacked(doc, at)?,
        tag::NUMTEXT => Value::NumText(number_text(bytes, at.0)?),
        tag::BYTES => Value::Bytes(bytes),
        tag::ARRAY => {
            let list = List::read(doc, at, None)?;
            Value::Array(ArrayView {
                doc,
                list,
                from: 0,
                n: list.n,
                row: None,
            })
        }
        tag::OBJECT => Value::Object(object(doc, at)?),
        tag::ABSENT => return Ok(None),
        tag::F64 | tag::F32 => {
            return Err(malformed("V13", "a float of an impossible length", at.1))
        }
        _ => return Err(unknown_tag(at.1)),
    }))
}

/// A string that is stored compressed.
fn unpacked<'v>(doc: &Doc<'_>, at: Extent) -> Result<Value<'v>> {
    let bytes = lz4::unpack(doc.data, at, lz4::MOST_TOGETHER)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Value::Str(Cow::Owned(text))),
        Err(_) => Err(malformed(
            "V15",
            "a compressed string that is not UTF-8",
            at.0,
        )),
    }
}

/// A number that is kept as text.
pub(super) fn number_text(bytes: &[u8], at: usize) -> Result<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if super::number::is_number(bytes) => Ok(text),
        _ => Err(malformed("V16", "a number as text that is none", at)),
    }
}

fn object<'v>(doc: &'v Doc<'v>, at: Extent) -> Result<ObjectView<'v>> {
    if at.0 >= at.1 {
        let shape = Shape::Run { start: 0, n: 0 };
        return Ok(ObjectView {
            doc,
            at,
            list: None,
            shape,
            row: None,
        });
    }
    let mut back = super::layout::Back::new(doc.data, at.0, at.1);
    let shape = doc.shapes.get(back.rv()?)?;
    let list = List::read(doc, (at.0, back.end), Some(shape.len()))?;
    Ok(ObjectView {
        doc,
        at,
        list: Some(list),
        shape,
        row: None,
    })
}

/// Mantissa and exponent of a decimal.
pub(super) fn decimal_of(bytes: &[u8], end: usize) -> Result<(i64, usize)> {
    let valid = bytes
        .split_first()
        .filter(|(_, m)| (1..=6).contains(&m.len()));
    let valid = valid.map(|(&e, m)| (usize::from(e), int(m)));
    match valid.filter(|&(e, m)| decimal::is_valid(m, e)) {
        Some((e, m)) => Ok((m, e)),
        None => Err(malformed("V13", "a decimal that cannot be", end)),
    }
}

fn text<'v>(doc: &Doc<'_>, bytes: &'v [u8], at: usize) -> Result<Value<'v>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Value::Str(Cow::Borrowed(text))),
        Err(_)
            if doc.flags & super::layout::flag::WTF8 != 0 && super::surrogates::is_wtf8(bytes) =>
        {
            Ok(Value::Wtf8(bytes))
        }
        Err(error) => {
            let at = at.saturating_add(error.valid_up_to());
            Err(malformed("V14", "a string that is not UTF-8", at))
        }
    }
}

/// A name as text; halves of surrogate pairs, which are no text, are replaced.
pub(super) fn key_text<'v>(doc: &Doc<'v>, id: usize) -> Result<Cow<'v, str>> {
    if id >= doc.keys.names.n {
        return Err(malformed("V11", "a key that is not there", doc.trailer));
    }
    let bytes = doc.keys.name(id)?;
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Cow::Borrowed(text)),
        Err(_) if doc.flags & super::layout::flag::WTF8 != 0 => Ok(String::from_utf8_lossy(bytes)),
        Err(_) => Err(malformed("V10", "a name that is not UTF-8", doc.trailer)),
    }
}

fn absent(at: usize) -> crate::Error {
    malformed("V28", "an absent value outside a column", at)
}

impl fmt::Debug for ArrayView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Debug for ObjectView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
