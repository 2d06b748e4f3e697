//! RFC 6901 pointers, and the way they lead through a document.

use std::borrow::Cow;

use super::doc::{Doc, Shape};
use super::layout::{kind, tag, Back};
use super::lens::Lens;
use super::list::{rest, Body, Extent, Item, List};
use super::place::Place;
use super::view::{value, Value, View};
use crate::{Error, ErrorKind, Result};

/// A JSON Pointer (RFC 6901), parsed: for many documents, or many times for one.
///
/// # Example
/// ```
/// use tare::blit::{from_json, Options, Path, Value, View};
///
/// let document = from_json(br#"{"flight": {"delays": [2, 4, 33]}}"#, &Options::default())?;
/// let view = View::open(&document)?;
/// let path = Path::parse("/flight/delays/2")?.compile(&view)?;
/// assert!(matches!(view.get(&path)?, Some(Value::Int(33))));
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    name: Box<str>,
    /// What it is in an array.
    index: Option<usize>,
    /// What it is among the names of the document that the path was compiled for.
    id: usize,
}

/// The id of no name.
const NONE: usize = usize::MAX;

impl Path {
    /// Parses a pointer: empty for the whole document, else a `/` before each step, with `~0` for
    /// `~` and `~1` for `/`.
    ///
    /// # Errors
    /// `Usage` for what is no pointer.
    pub fn parse(pointer: &str) -> Result<Self> {
        let steps = steps(pointer)?.map(|name| Step {
            index: index(&name),
            name: name.into(),
            id: NONE,
        });
        let steps = steps.collect();
        Ok(Self { steps })
    }

    /// The same path with the ids of its names in a document, which need not be looked for then:
    /// in that document, and in all that have those names at the same ids, as the documents of a
    /// collection do. It stays right for others, where it is as fast as if it were not compiled.
    ///
    /// # Errors
    /// `Malformed` where the names are not what they say.
    pub fn compile(&self, view: &View<'_>) -> Result<Self> {
        let mut path = self.clone();
        for step in &mut path.steps {
            step.id = view.doc.keys.find(step.name.as_bytes())?.unwrap_or(NONE);
        }
        Ok(path)
    }

    /// The steps, unescaped.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| &*step.name)
    }
}

impl Step {
    /// The id of its name in a document.
    #[inline]
    fn id(&self, doc: &Doc<'_>) -> Result<Option<usize>> {
        let name = self.name.as_bytes();
        if self.id < doc.keys.names.n && doc.keys.name(self.id)? == name {
            return Ok(Some(self.id));
        }
        doc.keys.find(name)
    }
}

impl View<'_> {
    /// The value at a path; None if there is none.
    ///
    /// # Errors
    /// `Malformed`.
    #[inline]
    pub fn get(&self, path: &Path) -> Result<Option<Value<'_>>> {
        let item = self.doc.root.item(&self.doc)?;
        from(&self.doc, item, &path.steps)
    }

    /// The value at an RFC 6901 pointer, such as `/flights/0/delay`; None if there is none.
    ///
    /// # Errors
    /// `Usage` for a pointer that is none; `Malformed`.
    pub fn pointer(&self, pointer: &str) -> Result<Option<Value<'_>>> {
        let doc = &self.doc;
        let mut at = At::of(doc.root.item(doc)?);
        for step in steps(pointer)? {
            let next = at.down(doc, || index(&step), || doc.keys.find(step.as_bytes()))?;
            match next {
                Some(next) => at = next,
                None => return Ok(None),
            }
        }
        value(doc, at.item(doc)?)
    }
}

impl<'v> Value<'v> {
    /// The value at a path from this one; None if there is none.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn get(&self, path: &Path) -> Result<Option<Value<'v>>> {
        match self {
            Self::Array(array) => from(array.doc, array.item(), &path.steps),
            Self::Object(object) => from(object.doc, object.item(), &path.steps),
            scalar => Ok(path.steps.is_empty().then(|| scalar.clone())),
        }
    }
}

/// The value at a path from a place; None if there is none.
///
/// # Errors
/// `Malformed`, `NotFound` for what is no place there.
#[inline]
pub(super) fn below<'v>(doc: &'v Doc<'v>, place: Place, path: &Path) -> Result<Option<Value<'v>>> {
    let item = place.item(doc)?;
    from(doc, item, &path.steps)
}

/// The column that the first step of a path leads to, if the list is a table that has it.
///
/// # Errors
/// `Malformed`.
pub(super) fn column<'v>(doc: &Doc<'v>, list: &List<'v>, path: &Path) -> Result<Option<List<'v>>> {
    let (Body::Table { shape, .. }, Some(step)) = (list.body, path.steps.first()) else {
        return Ok(None);
    };
    match slot(&doc.shapes.get(shape)?, step.id(doc)?) {
        Some(j) => list.column(doc, j).map(Some),
        None => Ok(None),
    }
}

/// The value at a path from a row of a table, of which [`column`] gave the column.
///
/// # Errors
/// `Malformed`.
#[inline]
pub(super) fn beside<'v>(
    doc: &'v Doc<'v>,
    column: &List<'v>,
    row: usize,
    path: &Path,
) -> Result<Option<Value<'v>>> {
    let item = column.get(doc, row)?;
    match path.steps.get(1..) {
        Some(steps) if !steps.is_empty() => from(doc, item, steps),
        _ => value(doc, item),
    }
}

/// The value at steps from an element.
#[inline]
fn from<'v>(doc: &'v Doc<'v>, item: Item<'v>, steps: &[Step]) -> Result<Option<Value<'v>>> {
    let mut at = At::of(item);
    for step in steps {
        match at.down(doc, || step.index, || step.id(doc))? {
            Some(next) => at = next,
            None => return Ok(None),
        }
    }
    value(doc, at.item(doc)?)
}

/// A value on the way: an [`Item`], but without the headers of lists, which are large.
#[derive(Clone, Copy, Debug)]
enum At {
    Stored {
        tag: u8,
        at: Extent,
    },
    /// Element `i` of the list of an extent, which has `given` elements if it does not say so.
    Row {
        of: Extent,
        given: Option<usize>,
        i: usize,
    },
    /// So many elements of the list of an extent from one on.
    Run {
        of: Extent,
        given: Option<usize>,
        from: usize,
        n: usize,
    },
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl At {
    #[inline]
    fn of(item: Item<'_>) -> Self {
        match item {
            Item::Stored { tag, at } => Self::Stored { tag, at },
            Item::Row { of, i } => Self::Row {
                of: of.at,
                given: of.given(),
                i,
            },
            Item::Run { of, from, n } => Self::Run {
                of: of.at,
                given: of.given(),
                from,
                n,
            },
            Item::Int(value) => Self::Int(value),
            Item::Float(value) => Self::Float(value),
            Item::Bool(value) => Self::Bool(value),
        }
    }

    #[inline]
    fn item<'v>(&self, doc: &Doc<'v>) -> Result<Item<'v>> {
        match *self {
            Self::Stored { tag, at } => Ok(Item::Stored { tag, at }),
            Self::Row { of, given, i } => List::read(doc, of, given)?.get(doc, i),
            Self::Run { of, given, from, n } => {
                let of = List::read(doc, of, given)?;
                Ok(Item::Run { of, from, n })
            }
            Self::Int(value) => Ok(Item::Int(value)),
            Self::Float(value) => Ok(Item::Float(value)),
            Self::Bool(value) => Ok(Item::Bool(value)),
        }
    }

    /// What is one step below.
    #[inline]
    fn down(
        &self,
        doc: &Doc<'_>,
        index: impl Fn() -> Option<usize>,
        id: impl Fn() -> Result<Option<usize>>,
    ) -> Result<Option<Self>> {
        match *self {
            Self::Stored {
                tag: tag::OBJECT,
                at,
            } if at.0 < at.1 => {
                let mut back = Back::new(doc.data, at.0, at.1);
                let shape = doc.shapes.get(back.rv()?)?;
                let Some(slot) = slot(&shape, id()?) else {
                    return Ok(None);
                };
                Self::element(doc, (at.0, back.end), Some(shape.len()), slot).map(Some)
            }
            Self::Stored {
                tag: tag::ARRAY,
                at,
            } if at.0 < at.1 => {
                let mut back = Back::new(doc.data, at.0, at.1);
                back.byte()?;
                let n = back.rv()?;
                match index() {
                    Some(i) if i < n => Self::element(doc, at, None, i).map(Some),
                    _ => Ok(None),
                }
            }
            Self::Run { of, given, from, n } => match index() {
                Some(i) if i < n => Self::element(doc, of, given, from.wrapping_add(i)).map(Some),
                _ => Ok(None),
            },
            Self::Row { of, given, i } => {
                let (mut back, last, n) = header(doc, of, given)?;
                let which = back.rv()?;
                let (column, k) = if last & 0xF == kind::TABLE {
                    let keys = doc.shapes.get(which)?;
                    (slot(&keys, id()?), keys.len())
                } else {
                    (index().filter(|&j| j < which), which)
                };
                let Some(column) = column else {
                    return Ok(None);
                };
                let lens = Lens::read(&mut back, last >> 4, k)?;
                let at = rest(&back, lens).get(column)?;
                Self::element(doc, at, Some(n), i).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Element `i` of the list of an extent.
    #[inline]
    fn element(doc: &Doc<'_>, at: Extent, given: Option<usize>, i: usize) -> Result<Self> {
        let (mut back, last, n) = header(doc, at, given)?;
        let mode = last >> 4;
        match last & 0xF {
            kind::TABLE | kind::TUPLES if i < n => Ok(Self::Row { of: at, given, i }),
            kind::GENERIC => {
                let lens = Lens::read(&mut back, mode, n)?;
                let tags = back.bytes(n)?;
                let at = rest(&back, lens).get(i)?;
                let tag = tags.get(i).copied().unwrap_or(tag::NULL);
                Ok(Self::Stored { tag, at })
            }
            kind::UNIFORM => {
                let tag = back.byte()?;
                let lens = Lens::read(&mut back, mode, n)?;
                let at = rest(&back, lens).get(i)?;
                Ok(Self::Stored { tag, at })
            }
            kind::NESTED => {
                let counts = Lens::read(&mut back, mode, n)?;
                let of = (back.start, back.end);
                let most = header(doc, of, None)?.2;
                let (from, to) = counts.range(i, most)?;
                let n = to.wrapping_sub(from);
                let given = None;
                Ok(Self::Run { of, given, from, n })
            }
            _ => List::read(doc, at, given)?.get(doc, i).map(Self::of),
        }
    }
}

/// What is before the last byte of a list and its number of elements; these two.
#[inline]
fn header<'a>(doc: &Doc<'a>, at: Extent, given: Option<usize>) -> Result<(Back<'a>, u8, usize)> {
    let mut back = Back::new(doc.data, at.0, at.1);
    if given.is_none() && at.0 == at.1 {
        // An empty list, of no elements: what is asked for is not there.
        return Ok((back, kind::GENERIC, 0));
    }
    let last = back.byte()?;
    let n = match given {
        Some(n) => n,
        None => back.rv()?,
    };
    Ok((back, last, n))
}

#[inline]
fn slot(shape: &Shape<'_>, id: Option<usize>) -> Option<usize> {
    id.and_then(|id| shape.slot(id))
}

/// The steps of a pointer, unescaped: none of `""`, else one for each `/`.
pub(super) fn steps(pointer: &str) -> Result<impl Iterator<Item = Cow<'_, str>>> {
    if !is_pointer(pointer) {
        let text =
            format!("{pointer:?} is no JSON pointer: it begins with /, and ~ is written ~0, / ~1");
        return Err(Error::new(ErrorKind::Usage, text).with_format("blit"));
    }
    let mut parts = pointer.split('/');
    parts.next();
    Ok(parts.map(|part| {
        if part.contains('~') {
            Cow::Owned(part.replace("~1", "/").replace("~0", "~"))
        } else {
            Cow::Borrowed(part)
        }
    }))
}

fn is_pointer(pointer: &str) -> bool {
    let begins = pointer.is_empty() || pointer.starts_with('/');
    let mut parts = pointer.split('~');
    parts.next();
    begins && parts.all(|part| part.starts_with(['0', '1']))
}

/// The index that a step is: digits, without a leading zero.
pub(super) fn index(step: &str) -> Option<usize> {
    let digits = step.bytes().all(|byte| byte.is_ascii_digit());
    let leading = step.len() > 1 && step.starts_with('0');
    if !digits || leading {
        return None;
    }
    step.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blit::{from_json, Options};

    /// Each pointer of RFC 6901 and what it leads to; and of tables, tuples and nested arrays.
    #[test]
    fn pointers_lead_where_the_rfc_says() {
        let rfc = r#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#;
        let rows = (0..20).map(|i| format!(r#"{{"id":{i},"xy":[{i},"{i}"],"n":[{i},[{i}]]}}"#));
        let rows: Vec<_> = rows.collect();
        let rows = format!("[{}]", rows.join(","));
        for (json, pointer, expected) in [
            (rfc, "/foo/0", Some("\"bar\"")),
            (rfc, "/", Some("0")),
            (rfc, "/a~1b", Some("1")),
            (rfc, "/c%d", Some("2")),
            (rfc, "/e^f", Some("3")),
            (rfc, "/g|h", Some("4")),
            (rfc, "/i\\j", Some("5")),
            (rfc, "/k\"l", Some("6")),
            (rfc, "/ ", Some("7")),
            (rfc, "/m~0n", Some("8")),
            (rfc, "/m~01n", None),
            (rfc, "/foo/2", None),
            (rfc, "/foo/01", None),
            (rfc, "/foo/-", None),
            (rfc, "/foo/0/0", None),
            (rfc, "/bar", None),
            (&rows, "/7/id", Some("7")),
            (&rows, "/7/xy/1", Some("\"7\"")),
            (&rows, "/19/n/1/0", Some("19")),
            (&rows, "/20/id", None),
            (&rows, "/7/xy/2", None),
        ] {
            let document = from_json(json.as_bytes(), &Options::default()).unwrap();
            let view = View::open(&document).unwrap();
            let path = Path::parse(pointer).unwrap();
            let other = from_json(br#"{"z":{"n":1,"foo":2}}"#, &Options::default()).unwrap();
            let elsewhere = path.compile(&View::open(&other).unwrap()).unwrap();
            for found in [
                view.pointer(pointer).unwrap(),
                view.get(&path).unwrap(),
                view.get(&path.compile(&view).unwrap()).unwrap(),
                view.get(&elsewhere).unwrap(),
                view.root().unwrap().get(&path).unwrap(),
            ] {
                let found = found.map(|value| match value {
                    Value::Int(value) => value.to_string(),
                    Value::Str(text) => format!("\"{text}\""),
                    other => panic!("{pointer}: {other:?}"),
                });
                assert_eq!(expected, found.as_deref(), "{pointer}");
            }
        }
        for wrong in ["a", "/~", "/~2", "#/a"] {
            assert_eq!(ErrorKind::Usage, Path::parse(wrong).unwrap_err().kind());
        }
    }

    #[test]
    fn the_empty_pointer_is_the_whole() {
        let document = from_json(b"7", &Options::default()).unwrap();
        let view = View::open(&document).unwrap();
        let path = Path::parse("").unwrap();
        assert_eq!(0, path.steps().count());
        assert!(matches!(view.get(&path), Ok(Some(Value::Int(7)))));
        assert!(matches!(view.pointer(""), Ok(Some(Value::Int(7)))));
    }
}
