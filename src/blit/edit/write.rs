//! An edited document, encoded anew: what was not touched goes from the document to the writer,
//! value by value.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use super::over::{Members, Over};
use super::pieces::{Piece, Pieces};
use super::{Current, Edit};
use crate::blit::cursor::Cursor;
use crate::blit::doc::Doc;
use crate::blit::layout::flag;
use crate::blit::view::{ArrayView, ObjectView};
use crate::blit::walk::Walk;
use crate::blit::{Name, Options, Scalar, Text, Value, View, Visitor, WalkOptions, Writer};
use crate::{Error, ErrorKind, Result};

/// Most values of an edited document: copies of copies grow without end.
const MAX_ELEMENTS: u64 = 1 << 28;

impl Edit<'_> {
    /// The document with its changes, encoded anew.
    ///
    /// Names that are there twice, and halves of surrogate pairs, are kept only if the options
    /// say so.
    ///
    /// # Errors
    /// Those of [`Writer`]; `Malformed` where the document is not what it says; `Limit` for more
    /// than 2^28 values or 1,024 levels.
    pub fn to_blit(&self, options: &Options) -> Result<Vec<u8>> {
        self.written(Open::Value(&self.root), options)
    }

    /// The value at a pointer, with its changes, as a document of its own; None if there is none.
    ///
    /// # Errors
    /// Those of [`get`](Self::get) and [`to_blit`](Self::to_blit).
    ///
    /// # Example
    /// ```
    /// use tare::blit::{from_json, Edit, Options, Tree, View};
    ///
    /// let options = Options::default();
    /// let document = from_json(br#"{"to": "LHR", "delays": [5, 90]}"#, &options)?;
    /// let mut edit = Edit::new(View::open(&document)?);
    /// edit.set("/delays/0", Tree::from(7))?;
    /// assert_eq!(Some(from_json(b"[7, 90]", &options)?), edit.part("/delays", &options)?);
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn part(&self, pointer: impl AsRef<[u8]>, options: &Options) -> Result<Option<Vec<u8>>> {
        let open = match self.get(pointer)? {
            Some(Current::Value(value)) => Open::Base(value),
            Some(Current::Array(array)) => Open::New(array.pieces),
            Some(Current::Object(object)) => Open::Members(object.members),
            None => return Ok(None),
        };
        self.written(open, options).map(Some)
    }

    fn written<'e>(&'e self, open: Open<'e>, options: &Options) -> Result<Vec<u8>> {
        let mut events = Events {
            writer: Writer::new(*options)?,
            doc: &self.view.doc,
            names: Vec::new(),
            wtf8: self.view.doc.flags & flag::WTF8 != 0,
        };
        let mut walk = Walk::new(events.doc, &WalkOptions::default());
        let mut open = vec![open];
        let mut left = MAX_ELEMENTS;
        while let Some(next) = open.last_mut() {
            left = left.checked_sub(1).ok_or_else(|| {
                Error::new(ErrorKind::Limit, "more than 2^28 values").with_format("blit")
            })?;
            if let Some(inner) = next.advance(&self.view, &mut walk, &mut events)? {
                open.push(inner);
            } else {
                open.pop();
            }
        }
        drop(walk);
        events.writer.finish()
    }
}

/// What is being written.
enum Open<'e> {
    Value(&'e Over),
    Base(Value<'e>),
    New(&'e Pieces),
    Members(&'e Members),
    /// Written already, but for what comes after it.
    Done,
    Array(&'e Pieces, Box<dyn Iterator<Item = &'e Piece> + 'e>),
    Object {
        members: &'e Members,
        base: Option<Box<ObjectView<'e>>>,
        slot: usize,
        added: usize,
        /// Changed names that were written, where the base may have them twice.
        written: HashSet<&'e [u8]>,
    },
}

impl<'e> Open<'e> {
    /// Writes on until there is something inside, which is given, or an end.
    fn advance(
        &mut self,
        view: &'e View<'_>,
        walk: &mut Walk<'e>,
        events: &mut Events<'e>,
    ) -> Result<Option<Self>> {
        match self {
            Self::Done => Ok(None),
            Self::Value(over) => {
                *self = match over {
                    Over::Base(place) => Self::Base(view.at(*place)?),
                    Over::Scalar(scalar) => Self::Base(scalar.value()),
                    Over::Array(pieces) => Self::New(pieces),
                    Over::Object(members) => Self::Members(members),
                };
                self.advance(view, walk, events)
            }
            Self::Base(value) => {
                events.base(walk, value)?;
                *self = Self::Done;
                Ok(None)
            }
            Self::New(pieces) => {
                events.writer.begin_array()?;
                let pieces = *pieces;
                *self = Self::Array(pieces, Box::new(pieces.iter()));
                self.advance(view, walk, events)
            }
            Self::Members(members) => {
                events.writer.begin_object()?;
                let base = members.base.map(|place| view.at(place)).transpose()?;
                *self = Self::Object {
                    members,
                    base: match base {
                        Some(Value::Object(object)) => Some(Box::new(object)),
                        _ => None,
                    },
                    slot: 0,
                    added: 0,
                    written: HashSet::new(),
                };
                self.advance(view, walk, events)
            }
            Self::Array(pieces, iter) => {
                for piece in iter.by_ref() {
                    match piece {
                        Piece::One(over) => return Ok(Some(Self::Value(over))),
                        Piece::Run { from, n } => {
                            let base = pieces.base.map(|place| view.at(place)).transpose()?;
                            let Some(Value::Array(array)) = base else {
                                continue;
                            };
                            events.run(walk, &array, *from, *n)?;
                        }
                    }
                }
                events.writer.end()?;
                Ok(None)
            }
            Self::Object {
                members,
                base,
                slot,
                added,
                written,
            } => {
                while let Some(object) = base.as_ref().filter(|object| *slot < object.slots()) {
                    let i = *slot;
                    *slot = i.saturating_add(1);
                    let name = view.doc.keys.name(object.key_id(i))?;
                    match members.changed.get(name) {
                        None => {
                            if let Some(value) = object.at(i)? {
                                events.key(object.key_id(i))?;
                                events.base(walk, &value)?;
                            }
                        }
                        Some(Some(over)) => {
                            if object.at(i)?.is_some() && written.insert(name) {
                                events.key(object.key_id(i))?;
                                return Ok(Some(Self::Value(over)));
                            }
                        }
                        Some(None) => {}
                    }
                }
                while let Some((name, over)) = members.added.get(*added) {
                    *added = added.saturating_add(1);
                    if let Some(over) = over {
                        events.name(name)?;
                        return Ok(Some(Self::Value(over)));
                    }
                }
                events.writer.end()?;
                Ok(None)
            }
        }
    }
}

/// Hands what is walked over to a writer.
struct Events<'e> {
    writer: Writer<'static>,
    doc: &'e Doc<'e>,
    /// Names of the document that the writer has met, by their ids.
    names: Vec<Option<Name>>,
    wtf8: bool,
}

impl<'e> Events<'e> {
    /// A value of the document.
    fn base(&mut self, walk: &mut Walk<'e>, value: &Value<'e>) -> Result<()> {
        match value {
            Value::Array(array) => walk.item(array.item(), self),
            Value::Object(object) => walk.item(object.item(), self),
            scalar => self.value(scalar),
        }
    }

    /// `n` elements of an array of the document.
    fn run(
        &mut self,
        walk: &mut Walk<'e>,
        array: &ArrayView<'e>,
        from: usize,
        n: usize,
    ) -> Result<()> {
        let Some((list, first)) = array.elements() else {
            for i in from..from.saturating_add(n) {
                self.base(walk, &array.get(i)?)?;
            }
            return Ok(());
        };
        walk.enter(n, list.end())?;
        let mut cursor = Cursor::new(walk, &list, n)?;
        cursor.seek(self.doc, first.saturating_add(from))?;
        cursor.run(walk, n, self)?;
        walk.leave();
        Ok(())
    }

    /// A value that holds no others.
    fn value(&mut self, value: &Value<'_>) -> Result<()> {
        match value {
            Value::Null => self.writer.null(),
            Value::Bool(value) => self.writer.bool(*value),
            Value::Int(value) => self.writer.int(*value),
            Value::Uint(value) => self.writer.uint(*value),
            Value::Float(value) => self.writer.float(*value),
            Value::NumText(text) => self.writer.number_text(text),
            Value::Str(text) => self.writer.str(text),
            Value::Wtf8(text) => self.writer.wtf8(text),
            Value::Bytes(bytes) => self.writer.bytes(bytes),
            Value::Array(_) | Value::Object(_) => Ok(()),
        }
    }

    fn name(&mut self, name: &[u8]) -> Result<()> {
        match std::str::from_utf8(name) {
            Ok(name) => self.writer.key(name),
            Err(_) => self.writer.key_wtf8(name),
        }
    }
}

impl Visitor for Events<'_> {
    fn scalar(&mut self, value: Scalar<'_>) -> Result<()> {
        match value {
            Scalar::Null => self.writer.null(),
            Scalar::Bool(value) => self.writer.bool(value),
            Scalar::Int(value) => self.writer.int(value),
            Scalar::Uint(value) => self.writer.uint(value),
            Scalar::Float(value) => self.writer.float(value),
            Scalar::NumText(text) => self.writer.number_text(text),
            Scalar::Bytes(bytes) => self.writer.bytes(bytes),
            Scalar::Text(Text { bytes, .. }) => match std::str::from_utf8(bytes) {
                Ok(text) => self.writer.str(text),
                Err(_) if self.wtf8 => self.writer.wtf8(bytes),
                Err(_) => {
                    let text = "a string that is not UTF-8: validate() says where";
                    Err(Error::new(ErrorKind::Malformed, text).with_format("blit"))
                }
            },
        }
    }

    fn begin_array(&mut self, _n: usize) -> Result<()> {
        self.writer.begin_array()
    }

    fn end_array(&mut self) -> Result<()> {
        self.writer.end()
    }

    fn begin_object(&mut self, _most: usize, _shape: usize) -> Result<()> {
        self.writer.begin_object()
    }

    fn key(&mut self, id: usize) -> Result<()> {
        if let Some(Some(name)) = self.names.get(id) {
            return self.writer.key_again(*name).map(drop);
        }
        let name = self.doc.keys.name(id)?;
        let Ok(text) = std::str::from_utf8(name) else {
            return self.name(name);
        };
        let (name, _) = self.writer.intern(text)?;
        if self.names.len() <= id {
            self.names.resize(id.saturating_add(1), None);
        }
        if let Some(known) = self.names.get_mut(id) {
            *known = Some(name);
        }
        Ok(())
    }

    fn end_object(&mut self) -> Result<()> {
        self.writer.end()
    }
}

/// A tree of what is walked over.
pub(super) struct Builder<'e> {
    doc: &'e Doc<'e>,
    /// Containers that are not complete, each with its name.
    open: Vec<(Over, Option<Arc<[u8]>>)>,
    done: Option<Over>,
    name: Option<Arc<[u8]>>,
}

impl<'e> Builder<'e> {
    pub(super) fn new(doc: &'e Doc<'e>) -> Self {
        Self {
            doc,
            open: Vec::new(),
            done: None,
            name: None,
        }
    }

    pub(super) fn finish(self) -> Over {
        self.done.unwrap_or_else(|| Over::of(&Value::Null))
    }

    fn put(&mut self, over: Over) {
        match self.open.last_mut() {
            Some((Over::Array(pieces), _)) => Arc::make_mut(pieces).push(Piece::One(over)),
            Some((Over::Object(members), _)) => {
                let name = self.name.take().unwrap_or_default();
                Arc::make_mut(members).put(name, over);
            }
            _ => self.done = Some(over),
        }
    }

    fn begin(&mut self, over: Over) {
        self.open.push((over, self.name.take()));
    }

    fn end(&mut self) {
        if let Some((over, name)) = self.open.pop() {
            self.name = name;
            self.put(over);
        }
    }
}

impl Visitor for Builder<'_> {
    fn scalar(&mut self, value: Scalar<'_>) -> Result<()> {
        let over = Over::of(&match value {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Int(value) => Value::Int(value),
            Scalar::Uint(value) => Value::Uint(value),
            Scalar::Float(value) => Value::Float(value),
            Scalar::NumText(text) => Value::NumText(text),
            Scalar::Bytes(bytes) => Value::Bytes(bytes),
            Scalar::Text(Text { bytes, .. }) => match std::str::from_utf8(bytes) {
                Ok(text) => Value::Str(Cow::Borrowed(text)),
                Err(_) => Value::Wtf8(bytes),
            },
        });
        self.put(over);
        Ok(())
    }

    fn begin_array(&mut self, _n: usize) -> Result<()> {
        self.begin(Over::Array(Arc::default()));
        Ok(())
    }

    fn end_array(&mut self) -> Result<()> {
        self.end();
        Ok(())
    }

    fn begin_object(&mut self, _most: usize, _shape: usize) -> Result<()> {
        self.begin(Over::Object(Arc::default()));
        Ok(())
    }

    fn key(&mut self, id: usize) -> Result<()> {
        self.name = Some(self.doc.keys.name(id)?.into());
        Ok(())
    }

    fn end_object(&mut self) -> Result<()> {
        self.end();
        Ok(())
    }
}
