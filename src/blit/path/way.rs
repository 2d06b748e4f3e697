//! The way through a document, step by step: of each list only the bytes that the step needs.

use crate::blit::doc::Doc;
use crate::blit::layout::{int, kind, malformed, tag, uint, Back};
use crate::blit::lens::{one, one_within};
use crate::blit::list::{bit, dict, integers, number, partial, rank, Body, Extent, Item, List};
use crate::blit::place::{Form, Place};
use crate::blit::view::{stored, value, Value};
use crate::Result;

/// A value on the way: an [`Item`], but without the headers of lists, which are large.
///
/// It is changed where it is, field by field: when steps gave back an enum, a fifth of the time
/// of a lookup went into waiting for its copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    what: What,
    /// The tag of what is stored; of others the last byte of their list.
    last: u8,
    /// Whether the number of the list's elements was given, not read.
    given: bool,
    /// Where it is stored, or the list.
    extent: Extent,
    /// How many elements the list has.
    n: usize,
    /// Where the rest of the list's header ends.
    rest: usize,
    /// The row, or the first element of the run.
    i: usize,
    /// Elements of the run.
    count: usize,
    /// A number that has no extent of its own.
    bits: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Stored,
    /// A row of a table or of tuples.
    Row,
    /// So many elements of a list from one on.
    Run,
    Int,
    Float,
    Bool,
}

impl At {
    #[inline]
    fn stored(tag: u8, at: Extent) -> Self {
        Self {
            what: What::Stored,
            last: tag,
            given: false,
            extent: at,
            n: 0,
            rest: 0,
            i: 0,
            count: 0,
            bits: 0,
        }
    }

    /// At nothing, before it is set.
    #[inline]
    pub(super) fn new() -> Self {
        Self::stored(tag::NULL, (0, 0))
    }

    /// Goes to a place.
    ///
    /// # Errors
    /// As [`Place::item`].
    #[inline]
    pub(super) fn place(&mut self, doc: &Doc<'_>, place: Place) -> Result<()> {
        match place.form {
            Form::Stored(tag) if tag != tag::ABSENT => {
                (self.what, self.last, self.extent) = (What::Stored, tag, place.at);
                Ok(())
            }
            Form::Element { given, i } => {
                self.open(doc, place.at, given)?;
                self.element(doc, i)
            }
            _ => self.set(doc, place.item(doc)?),
        }
    }

    /// Goes to an element.
    ///
    /// # Errors
    /// `Malformed`.
    pub(super) fn set(&mut self, doc: &Doc<'_>, item: Item<'_>) -> Result<()> {
        match item {
            Item::Stored { tag, at } => *self = Self::stored(tag, at),
            Item::Row { of, i } => {
                self.open(doc, of.at, of.given())?;
                (self.what, self.i) = (What::Row, i);
            }
            Item::Run { of, from, n } => {
                self.open(doc, of.at, of.given())?;
                (self.what, self.i, self.count) = (What::Run, from, n);
            }
            Item::Int(value) => self.integer(value),
            Item::Float(value) => (self.what, self.bits) = (What::Float, value.to_bits()),
            Item::Bool(value) => (self.what, self.bits) = (What::Bool, value.into()),
        }
        Ok(())
    }

    #[inline]
    fn integer(&mut self, value: i64) {
        self.what = What::Int;
        self.bits = u64::from_le_bytes(value.to_le_bytes());
    }

    /// The element that this is.
    ///
    /// # Errors
    /// `Malformed`.
    #[inline]
    pub(super) fn item<'v>(&self, doc: &Doc<'v>) -> Result<Item<'v>> {
        Ok(match self.what {
            What::Stored => Item::Stored {
                tag: self.last,
                at: self.extent,
            },
            What::Row => Item::Row {
                of: self.list(doc)?,
                i: self.i,
            },
            What::Run => Item::Run {
                of: self.list(doc)?,
                from: self.i,
                n: self.count,
            },
            What::Int => Item::Int(self.as_integer()),
            What::Float => Item::Float(f64::from_bits(self.bits)),
            What::Bool => Item::Bool(self.bits != 0),
        })
    }

    /// The value that this is; None of one that is absent.
    ///
    /// # Errors
    /// `Malformed`.
    #[inline]
    pub(super) fn value<'v>(&self, doc: &'v Doc<'v>) -> Result<Option<Value<'v>>> {
        match self.what {
            What::Stored => stored(doc, self.last, self.extent),
            What::Int => Ok(Some(Value::Int(self.as_integer()))),
            _ => value(doc, self.item(doc)?),
        }
    }

    #[inline]
    fn as_integer(&self) -> i64 {
        i64::from_le_bytes(self.bits.to_le_bytes())
    }

    fn list<'v>(&self, doc: &Doc<'v>) -> Result<List<'v>> {
        List::read(doc, self.extent, self.given.then_some(self.n))
    }

    /// Reads the end of a list.
    #[inline]
    fn open(&mut self, doc: &Doc<'_>, at: Extent, given: Option<usize>) -> Result<()> {
        (self.extent, self.given) = (at, given.is_some());
        if at.0 == at.1 && given.is_none() {
            // An empty list has no elements: what is asked for is not there.
            (self.last, self.n, self.rest) = (kind::GENERIC, 0, at.1);
            return Ok(());
        }
        let mut back = Back::new(doc.data, at.0, at.1);
        self.last = back.byte()?;
        self.n = match given {
            Some(n) => n,
            None => back.rv()?,
        };
        self.rest = back.end;
        Ok(())
    }

    /// Goes one step down; false if there is nothing.
    ///
    /// # Errors
    /// `Malformed`, and those of `id`.
    #[inline]
    pub(super) fn down(
        &mut self,
        doc: &Doc<'_>,
        index: impl Fn() -> Option<usize>,
        id: impl Fn() -> Result<Option<usize>>,
    ) -> Result<bool> {
        let at = self.extent;
        let i = match self.what {
            What::Stored if at.0 >= at.1 => return Ok(false),
            What::Stored if self.last == tag::OBJECT => {
                let mut back = Back::new(doc.data, at.0, at.1);
                let shape = back.rv()?;
                let Some(id) = id()? else {
                    return Ok(false);
                };
                let (slot, n) = doc.shapes.slot(shape, id)?;
                if slot >= n {
                    return Ok(false);
                }
                self.open(doc, (at.0, back.end), Some(n))?;
                slot
            }
            What::Stored if self.last == tag::ARRAY => {
                self.open(doc, at, None)?;
                match index() {
                    Some(i) if i < self.n => i,
                    _ => return Ok(false),
                }
            }
            What::Run => match index() {
                Some(i) if i < self.count => self.i.wrapping_add(i),
                _ => return Ok(false),
            },
            What::Row => {
                let mut back = Back::new(doc.data, at.0, self.rest);
                let which = back.rv()?;
                let (column, k) = if self.last & 0xF == kind::TABLE {
                    let Some(id) = id()? else {
                        return Ok(false);
                    };
                    doc.shapes.slot(which, id)?
                } else {
                    (index().unwrap_or(usize::MAX), which)
                };
                if column >= k {
                    return Ok(false);
                }
                let at = one(&mut back, self.last >> 4, k, column, 0)?;
                self.open(doc, at, Some(self.n))?;
                self.i
            }
            _ => return Ok(false),
        };
        self.element(doc, i)?;
        Ok(true)
    }

    /// Goes to element `i` of the list that was opened.
    #[inline]
    fn element(&mut self, doc: &Doc<'_>, i: usize) -> Result<()> {
        let (n, mode) = (self.n, self.last >> 4);
        let mut back = Back::new(doc.data, self.extent.0, self.rest);
        match self.last & 0xF {
            kind::TABLE | kind::TUPLES if i < n => {
                (self.what, self.i) = (What::Row, i);
            }
            kind::GENERIC => {
                self.extent = one(&mut back, mode, n, i, n)?;
                let tag = doc.data.get(back.end.wrapping_add(i)).copied();
                (self.what, self.last) = (What::Stored, tag.unwrap_or(tag::NULL));
            }
            kind::UNIFORM => {
                let tag = back.byte()?;
                self.extent = one(&mut back, mode, n, i, 0)?;
                (self.what, self.last) = (What::Stored, tag);
            }
            kind::NESTED => return self.run(doc, &mut back, i),
            kind::INT if i < n => {
                let body = integers(&mut back, mode, n)?;
                return self.packed(doc, &body, i);
            }
            kind::PARTIAL | kind::DICT => return self.inner(doc, i),
            _ => return self.other(doc, i),
        }
        Ok(())
    }

    /// Element `i` of nested arrays: a run of the list that they lie in.
    #[inline]
    fn run(&mut self, doc: &Doc<'_>, back: &mut Back<'_>, i: usize) -> Result<()> {
        let (n, mode) = (self.n, self.last >> 4);
        let (from, to) = one_within(back, mode, n, i, |back| {
            self.open(doc, (back.start, back.end), None)?;
            Ok(self.n)
        })?;
        self.what = What::Run;
        (self.i, self.count) = (from, to.wrapping_sub(from));
        Ok(())
    }

    #[inline]
    fn packed(&mut self, doc: &Doc<'_>, body: &Body<'_>, i: usize) -> Result<()> {
        let Body::Int {
            numbers,
            width,
            base,
        } = *body
        else {
            return self.other(doc, i);
        };
        let from = i.wrapping_mul(width);
        match (numbers.get(from..from.wrapping_add(width)), base) {
            (None, _) => return self.other(doc, i),
            (Some(bytes), None) => self.integer(int(bytes)),
            // Width 7 at most, so that it is below 2^56.
            (Some(bytes), Some(base)) => self.integer(base.wrapping_add_unsigned(uint(bytes))),
        }
        Ok(())
    }

    /// Element `i` of a list that leads to another; in a loop, because damage can put any number
    /// of such lists into each other.
    #[inline(never)]
    fn inner(&mut self, doc: &Doc<'_>, mut i: usize) -> Result<()> {
        loop {
            if i >= self.n {
                let text = "an element that leads to one that is not there";
                return Err(malformed("V18", text, self.extent.1));
            }
            let mut back = Back::new(doc.data, self.extent.0, self.rest);
            let body = match self.last & 0xF {
                kind::PARTIAL => partial(&mut back, self.last >> 4, self.n)?,
                kind::DICT => dict(&mut back, self.last >> 4, self.n)?,
                _ => return self.element(doc, i),
            };
            match body {
                Body::Partial {
                    child,
                    bits,
                    ranks,
                    width,
                    absent,
                } => {
                    if !bit(bits, i) {
                        *self = Self::stored(absent, (self.extent.1, self.extent.1));
                        return Ok(());
                    }
                    i = rank(bits, ranks, width, i);
                    self.open(doc, child, None)?;
                }
                Body::Dict {
                    unique,
                    codes,
                    width,
                } => {
                    let code = number(codes, i, width).and_then(|code| usize::try_from(code).ok());
                    i = code.unwrap_or(usize::MAX);
                    self.open(doc, unique, None)?;
                }
                _ => return self.other(doc, i),
            }
        }
    }

    /// Element `i` of any list, by its whole header.
    #[inline(never)]
    fn other(&mut self, doc: &Doc<'_>, i: usize) -> Result<()> {
        let item = self.list(doc)?.get(doc, i)?;
        self.set(doc, item)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use crate::blit::{from_json, Layout, Options, Path, Value, View};
    use crate::Result;

    /// Every value below one, by the pointer to it: found through whole lists.
    fn walk<'v>(value: Value<'v>, pointer: &str, out: &mut Vec<(String, Value<'v>)>) -> Result<()> {
        if out.len() > 5000 {
            return Ok(());
        }
        match &value {
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate().take(700) {
                    walk(item?, &format!("{pointer}/{i}"), out)?;
                }
            }
            Value::Object(entries) => {
                for entry in entries.iter() {
                    let (name, item) = entry?;
                    walk(item, &format!("{pointer}/{name}"), out)?;
                }
            }
            _ => {}
        }
        out.push((pointer.to_string(), value));
        Ok(())
    }

    /// Documents of all kinds of lists, in columns and by rows.
    fn documents() -> Vec<Vec<u8>> {
        let list = |n: usize, of: &dyn Fn(usize) -> String| {
            let items: Vec<_> = (0..n).map(of).collect();
            format!("[{}]", items.join(","))
        };
        let lists = [
            list(20, &|i| format!("[{i},\"{i}\"]")),
            list(20, &|i| format!("[{}]", vec!["7"; i % 4].join(","))),
            list(20, &|_| "[]".to_string()),
            list(600, &|i| (i * 1000).to_string()),
            list(600, &|i| (i + (1 << 40)).to_string()),
            list(30, &|i| format!("{}.5", i * i)),
            list(30, &|i| format!("0.{i}1")),
            list(30, &|i| (i % 3 == 0).to_string()),
            list(40, &|i| format!("\"carrier {}\"", i % 3)),
            list(40, &|i| format!("\"{}\"", "x".repeat(i * 9))),
            list(40, &|i| format!("\"{}\"", "x".repeat(i * 90))),
            list(9, &|i| format!("\"{}\"", "x".repeat(i * 90))),
            list(1300, &|i| {
                if i % 7 < 3 {
                    "null".into()
                } else {
                    format!("{i}")
                }
            }),
            list(30, &|i| {
                format!("{{\"a\":{i},\"b\":{{\"c\":[{i}]}},\"d\":\"{i}\"}}")
            }),
            list(30, &|i| {
                format!("{{\"a\":{i}{}}}", [",\"e\":1", ",\"f\":null", ""][i % 3])
            }),
            list(12, &|i| {
                ["1", "null", "\"s\"", "[1,2]", "{\"x\":{}}", "1e300"][i % 6].into()
            }),
        ];
        let entries = lists.iter().enumerate();
        let entries: Vec<_> = entries
            .map(|(i, list)| format!("\"k{i}\":{list}"))
            .collect();
        let whole = format!("{{{}}}", entries.join(","));
        let rows = Options {
            layout: Layout::Rows,
            ..Options::default()
        };
        let texts = lists.iter().chain([&whole]);
        let both = texts.flat_map(|text| [(text, Options::default()), (text, rows)]);
        both.map(|(text, options)| from_json(text.as_bytes(), &options).unwrap())
            .collect()
    }

    #[test]
    fn every_value_is_found_by_its_pointer() {
        for document in documents() {
            let view = View::open(&document).unwrap();
            let mut values = Vec::new();
            walk(view.root().unwrap(), "", &mut values).unwrap();
            for (pointer, value) in values {
                let expected = format!("{value:?}");
                let found = view.pointer(&pointer).unwrap().unwrap();
                assert_eq!(expected, format!("{found:?}"), "{pointer}");
                let path = Path::parse(&pointer).unwrap().compile(&view).unwrap();
                let found = view.get(&path).unwrap().unwrap();
                assert_eq!(expected, format!("{found:?}"), "{pointer}");
                assert!(view.pointer(&format!("{pointer}/none")).unwrap().is_none());
                assert!(view
                    .pointer(&format!("{pointer}/9999999"))
                    .unwrap()
                    .is_none());
            }
        }
    }

    /// What damage makes of a document is read by both ways without a panic; where both find
    /// a scalar, it is the same.
    #[test]
    fn damage_is_met_by_both_ways() {
        let scalar = |value: &Value<'_>| !matches!(value, Value::Array(_) | Value::Object(_));
        let mut compared = 0;
        for mut document in documents() {
            let len = document.len();
            for at in (0..len).rev().step_by(1 + len / 300) {
                let bit = 1 << (at % 8);
                document[at] ^= bit;
                if let Ok(view) = View::open(&document) {
                    let mut values = Vec::new();
                    let _ = view.root().map(|root| walk(root, "", &mut values));
                    let mut times = HashMap::new();
                    for (pointer, _) in &values {
                        *times.entry(pointer.clone()).or_insert(0) += 1;
                    }
                    for (pointer, value) in values.iter().step_by(1 + values.len() / 30) {
                        // Damage can give two values one name.
                        if times[pointer] > 1 {
                            continue;
                        }
                        if let (true, Ok(Some(found))) = (scalar(value), view.pointer(pointer)) {
                            assert_eq!(format!("{value:?}"), format!("{found:?}"), "{pointer}");
                            compared += 1;
                        }
                    }
                }
                document[at] ^= bit;
            }
        }
        assert!(compared > 10_000, "{compared}");
    }
}
