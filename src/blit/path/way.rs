//! The way through a document, step by step: of each list only the bytes that the step needs.

use crate::blit::doc::{Doc, Shape};
use crate::blit::layout::{int, kind, malformed, tag, uint, Back};
use crate::blit::lens::{one, one_within};
use crate::blit::list::{bit, dict, integers, number, partial, rank, Body, Extent, Item, List};
use crate::blit::place::{Form, Place};
use crate::Result;

/// A value on the way: an [`Item`], but without the headers of lists, which are large.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    Stored {
        tag: u8,
        at: Extent,
    },
    /// A row of a table or of tuples.
    Row {
        of: Head,
        i: usize,
    },
    /// So many elements of a list from one on.
    Run {
        of: Head,
        from: usize,
        n: usize,
    },
    Int(i64),
    Float(f64),
    Bool(bool),
}

/// The end of a list: what it is, and how many elements it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    at: Extent,
    given: bool,
    pub(super) n: usize,
    kind: u8,
    mode: u8,
    /// Where the rest of the header ends.
    rest: usize,
}

impl Head {
    #[inline]
    fn read(doc: &Doc<'_>, at: Extent, given: Option<usize>) -> Result<Self> {
        let mut back = Back::new(doc.data, at.0, at.1);
        // An empty list has no elements: what is asked for is not there.
        let (last, given) = if at.0 == at.1 && given.is_none() {
            (kind::GENERIC, Some(0))
        } else {
            (back.byte()?, given)
        };
        let n = match given {
            Some(n) => n,
            None => back.rv()?,
        };
        Ok(Self {
            at,
            given: given.is_some(),
            n,
            kind: last & 0xF,
            mode: last >> 4,
            rest: back.end,
        })
    }

    /// One whose elements were counted when it was read as a whole.
    fn of(doc: &Doc<'_>, list: &List<'_>) -> Result<Self> {
        Self::read(doc, list.at, list.given())
    }

    #[inline]
    fn list<'a>(&self, doc: &Doc<'a>) -> Result<List<'a>> {
        List::read(doc, self.at, self.given.then_some(self.n))
    }

    #[inline]
    fn back<'a>(&self, doc: &Doc<'a>) -> Back<'a> {
        Back::new(doc.data, self.at.0, self.rest)
    }

    /// Element `i`.
    #[inline]
    pub(super) fn element(self, doc: &Doc<'_>, i: usize) -> Result<At> {
        let (n, mode) = (self.n, self.mode);
        let mut back = self.back(doc);
        match self.kind {
            kind::TABLE | kind::TUPLES if i < n => Ok(At::Row { of: self, i }),
            kind::GENERIC => {
                let at = one(&mut back, mode, n, i, n)?;
                let tag = doc.data.get(back.end.wrapping_add(i)).copied();
                let tag = tag.unwrap_or(tag::NULL);
                Ok(At::Stored { tag, at })
            }
            kind::UNIFORM => {
                let tag = back.byte()?;
                let at = one(&mut back, mode, n, i, 0)?;
                Ok(At::Stored { tag, at })
            }
            kind::NESTED => Self::run(doc, &mut back, mode, n, i),
            kind::INT => match integers(&mut back, mode, n)? {
                Body::Int {
                    numbers,
                    width,
                    base,
                } => self.integer(doc, numbers, width, base, i),
                _ => self.other(doc, i),
            },
            kind::PARTIAL | kind::DICT => self.inner(doc, i),
            _ => self.other(doc, i),
        }
    }

    /// Element `i` of a list that leads to another; in a loop, because damage can put any number
    /// of such lists into each other.
    fn inner(mut self, doc: &Doc<'_>, mut i: usize) -> Result<At> {
        loop {
            if i >= self.n {
                let text = "an element that leads to one that is not there";
                return Err(malformed("V18", text, self.at.1));
            }
            let mut back = self.back(doc);
            let body = match self.kind {
                kind::PARTIAL => partial(&mut back, self.mode, self.n)?,
                kind::DICT => dict(&mut back, self.mode, self.n)?,
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
                        let at = (self.at.1, self.at.1);
                        return Ok(At::Stored { tag: absent, at });
                    }
                    i = rank(bits, ranks, width, i);
                    self = Self::read(doc, child, None)?;
                }
                Body::Dict {
                    unique,
                    codes,
                    width,
                } => {
                    let code = number(codes, i, width).and_then(|code| usize::try_from(code).ok());
                    i = code.unwrap_or(usize::MAX);
                    self = Self::read(doc, unique, None)?;
                }
                _ => return self.other(doc, i),
            }
        }
    }

    #[inline]
    fn integer(
        self,
        doc: &Doc<'_>,
        numbers: &[u8],
        width: usize,
        base: Option<i64>,
        i: usize,
    ) -> Result<At> {
        let at = i.checked_mul(width).filter(|_| i < self.n);
        let bytes = at.and_then(|at| numbers.get(at..at.wrapping_add(width)));
        match (bytes, base) {
            (None, _) => self.other(doc, i),
            (Some(bytes), None) => Ok(At::Int(int(bytes))),
            // Width 7 at most, so that it is below 2^56.
            (Some(bytes), Some(base)) => Ok(At::Int(base.wrapping_add_unsigned(uint(bytes)))),
        }
    }

    #[inline(never)]
    fn other(self, doc: &Doc<'_>, i: usize) -> Result<At> {
        let item = self.list(doc)?.get(doc, i)?;
        At::of(doc, item)
    }

    /// Element `i` of nested arrays: a run of the list that they lie in.
    #[inline]
    fn run(doc: &Doc<'_>, back: &mut Back<'_>, mode: u8, n: usize, i: usize) -> Result<At> {
        let mut child = None;
        let (from, to) = one_within(back, mode, n, i, |back| {
            let of = Self::read(doc, (back.start, back.end), None)?;
            child = Some(of);
            Ok(of.n)
        })?;
        match child {
            Some(of) => Ok(At::Run {
                of,
                from,
                n: to.wrapping_sub(from),
            }),
            None => Err(malformed("V24", "nested arrays of no list", back.end)),
        }
    }
}

impl At {
    /// What lies at a place.
    ///
    /// # Errors
    /// As [`Place::item`].
    #[inline]
    pub(super) fn place(doc: &Doc<'_>, place: Place) -> Result<Self> {
        match place.form {
            Form::Stored(tag) if tag != tag::ABSENT => Ok(Self::Stored { tag, at: place.at }),
            Form::Element { given, i } => Head::read(doc, place.at, given)?.element(doc, i),
            _ => Self::of(doc, place.item(doc)?),
        }
    }

    #[inline]
    pub(super) fn of(doc: &Doc<'_>, item: Item<'_>) -> Result<Self> {
        Ok(match item {
            Item::Stored { tag, at } => Self::Stored { tag, at },
            Item::Row { of, i } => Self::Row {
                of: Head::of(doc, &of)?,
                i,
            },
            Item::Run { of, from, n } => Self::Run {
                of: Head::of(doc, &of)?,
                from,
                n,
            },
            Item::Int(value) => Self::Int(value),
            Item::Float(value) => Self::Float(value),
            Item::Bool(value) => Self::Bool(value),
        })
    }

    #[inline]
    pub(super) fn item<'v>(&self, doc: &Doc<'v>) -> Result<Item<'v>> {
        match *self {
            Self::Stored { tag, at } => Ok(Item::Stored { tag, at }),
            Self::Row { of, i } => of.list(doc)?.get(doc, i),
            Self::Run { of, from, n } => {
                let of = of.list(doc)?;
                Ok(Item::Run { of, from, n })
            }
            Self::Int(value) => Ok(Item::Int(value)),
            Self::Float(value) => Ok(Item::Float(value)),
            Self::Bool(value) => Ok(Item::Bool(value)),
        }
    }

    /// Goes one step down; false if there is nothing.
    #[inline]
    pub(super) fn down(
        &mut self,
        doc: &Doc<'_>,
        index: impl Fn() -> Option<usize>,
        id: impl Fn() -> Result<Option<usize>>,
    ) -> Result<bool> {
        let (of, i) = match *self {
            Self::Stored {
                tag: tag::OBJECT,
                at,
            } if at.0 < at.1 => {
                let mut back = Back::new(doc.data, at.0, at.1);
                let shape = doc.shapes.get(back.rv()?)?;
                let Some(slot) = slot(&shape, id()?) else {
                    return Ok(false);
                };
                let of = Head::read(doc, (at.0, back.end), Some(shape.len()))?;
                (of, slot)
            }
            Self::Stored {
                tag: tag::ARRAY,
                at,
            } if at.0 < at.1 => {
                let of = Head::read(doc, at, None)?;
                match index() {
                    Some(i) if i < of.n => (of, i),
                    _ => return Ok(false),
                }
            }
            Self::Run { of, from, n } => match index() {
                Some(i) if i < n => (of, from.wrapping_add(i)),
                _ => return Ok(false),
            },
            Self::Row { of, i } => {
                let mut back = of.back(doc);
                let which = back.rv()?;
                let (column, k) = if of.kind == kind::TABLE {
                    let keys = doc.shapes.get(which)?;
                    (slot(&keys, id()?), keys.len())
                } else {
                    (index().filter(|&j| j < which), which)
                };
                let Some(column) = column else {
                    return Ok(false);
                };
                let at = one(&mut back, of.mode, k, column, 0)?;
                (Head::read(doc, at, Some(of.n))?, i)
            }
            _ => return Ok(false),
        };
        *self = of.element(doc, i)?;
        Ok(true)
    }
}

#[inline]
pub(super) fn slot(shape: &Shape<'_>, id: Option<usize>) -> Option<usize> {
    id.and_then(|id| shape.slot(id))
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
