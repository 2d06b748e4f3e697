//! RFC 6901 pointers, and the way they lead through a document.

mod way;

use std::borrow::Cow;

use super::doc::Doc;
use super::list::{Body, Item, List};
use super::place::Place;
use super::view::{value, Value, View};
use crate::{Error, ErrorKind, Result};
use way::At;

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
    /// What is read from one document again and again is quicker by [`View::prepare`].
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
    pub fn get(&self, path: &Path) -> Result<Option<Value<'_>>> {
        below(&self.doc, self.doc.root, path)
    }

    /// Goes a path once, for many reads of what it leads to in this document.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn prepare(&self, path: &Path) -> Result<Prepared<'_>> {
        let mut at = At::new();
        at.place(&self.doc, self.doc.root)?;
        let found = all(&self.doc, &mut at, &path.steps)?;
        let item = found.then(|| at.item(&self.doc)).transpose()?;
        let doc = &self.doc;
        Ok(Prepared { doc, item })
    }

    /// The value at an RFC 6901 pointer, such as `/flights/0/delay`; None if there is none.
    ///
    /// # Errors
    /// `Usage` for a pointer that is none; `Malformed`.
    pub fn pointer(&self, pointer: &str) -> Result<Option<Value<'_>>> {
        let doc = &self.doc;
        let mut at = At::new();
        at.place(doc, doc.root)?;
        for step in steps(pointer)? {
            if !at.down(doc, || index(&step), || doc.keys.find(step.as_bytes()))? {
                return Ok(None);
            }
        }
        at.value(doc)
    }
}

/// Where a path leads in one document; [`View::prepare`] makes it.
///
/// It borrows the view, so that it cannot be used with any other document, nor after this one. A
/// read looks at the bytes of the value only, which are checked as ever.
///
/// # Example
/// ```
/// use tare::blit::{from_json, Options, Path, Value, View};
///
/// let document = from_json(br#"{"flight": {"delays": [2, 4, 33]}}"#, &Options::default())?;
/// let view = View::open(&document)?;
/// let delay = view.prepare(&Path::parse("/flight/delays/2")?)?;
/// for _ in 0..1000 {
///     assert!(matches!(delay.get()?, Some(Value::Int(33))));
/// }
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Prepared<'v> {
    doc: &'v Doc<'v>,
    /// None if there is nothing at the path.
    item: Option<Item<'v>>,
}

impl<'v> Prepared<'v> {
    /// The value at the path; None if there is none.
    ///
    /// # Errors
    /// `Malformed`.
    #[inline]
    pub fn get(&self) -> Result<Option<Value<'v>>> {
        match self.item {
            Some(item) => value(self.doc, item),
            None => Ok(None),
        }
    }
}

impl<'v> Value<'v> {
    /// The value at a path from this one; None if there is none.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn get(&self, path: &Path) -> Result<Option<Value<'v>>> {
        match self {
            Self::Array(array) => within(array.doc, array.item(), &path.steps),
            Self::Object(object) => within(object.doc, object.item(), &path.steps),
            scalar => Ok(path.steps.is_empty().then(|| scalar.clone())),
        }
    }
}

/// The value at a path from a place; None if there is none.
///
/// # Errors
/// `Malformed`, `NotFound` for what is no place there.
pub(super) fn below<'v>(doc: &'v Doc<'v>, place: Place, path: &Path) -> Result<Option<Value<'v>>> {
    let mut at = At::new();
    at.place(doc, place)?;
    follow(doc, &mut at, &path.steps)
}

/// The column that the first step of a path leads to, if the list is a table that has it.
///
/// # Errors
/// `Malformed`.
pub(super) fn column<'v>(doc: &Doc<'v>, list: &List<'v>, path: &Path) -> Result<Option<List<'v>>> {
    let (Body::Table { shape, .. }, Some(step)) = (list.body, path.steps.first()) else {
        return Ok(None);
    };
    let Some(id) = step.id(doc)? else {
        return Ok(None);
    };
    match doc.shapes.slot(shape, id)? {
        (slot, n) if slot < n => list.column(doc, slot).map(Some),
        _ => Ok(None),
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
        Some(steps) if !steps.is_empty() => within(doc, item, steps),
        _ => value(doc, item),
    }
}

/// The value at steps from an element.
fn within<'v>(doc: &'v Doc<'v>, item: Item<'v>, steps: &[Step]) -> Result<Option<Value<'v>>> {
    let mut at = At::new();
    at.set(doc, item)?;
    follow(doc, &mut at, steps)
}

/// The value at steps from a place on the way.
#[inline]
fn follow<'v>(doc: &'v Doc<'v>, at: &mut At, steps: &[Step]) -> Result<Option<Value<'v>>> {
    if !all(doc, at, steps)? {
        return Ok(None);
    }
    at.value(doc)
}

/// Goes all steps; false if there is nothing.
#[inline]
fn all(doc: &Doc<'_>, at: &mut At, steps: &[Step]) -> Result<bool> {
    for step in steps {
        if !at.down(doc, || step.index, || step.id(doc))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The steps of a pointer, unescaped: none of `""`, else one for each `/`.
#[inline]
pub(super) fn steps(pointer: &str) -> Result<Steps<'_>> {
    let escapes = memchr::memchr(b'~', pointer.as_bytes()).is_some();
    let rest = match pointer.strip_prefix('/') {
        None if !pointer.is_empty() => return Err(no_pointer(pointer)),
        rest => rest,
    };
    let mut parts = pointer.split('~').skip(1);
    if escapes && !parts.all(|part| part.starts_with(['0', '1'])) {
        return Err(no_pointer(pointer));
    }
    Ok(Steps { rest, escapes })
}

#[cold]
fn no_pointer(pointer: &str) -> Error {
    let text =
        format!("{pointer:?} is no JSON pointer: it begins with /, and ~ is written ~0, / ~1");
    Error::new(ErrorKind::Usage, text).with_format("blit")
}

/// The steps of a pointer that are left.
pub(super) struct Steps<'p> {
    rest: Option<&'p str>,
    escapes: bool,
}

impl<'p> Iterator for Steps<'p> {
    type Item = Cow<'p, str>;

    #[inline]
    fn next(&mut self) -> Option<Cow<'p, str>> {
        let rest = self.rest?;
        let end = rest.bytes().position(|byte| byte == b'/');
        let (step, later) = match end.and_then(|end| rest.split_at_checked(end)) {
            Some((step, later)) => (step, later.get(1..)),
            None => (rest, None),
        };
        self.rest = later;
        Some(if self.escapes && step.contains('~') {
            Cow::Owned(unescaped(step))
        } else {
            Cow::Borrowed(step)
        })
    }
}

fn unescaped(step: &str) -> String {
    let mut out = String::with_capacity(step.len());
    for (i, part) in step.split('~').enumerate() {
        let (escaped, rest) = match part.split_at_checked(1) {
            Some(("0", rest)) if i > 0 => ("~", rest),
            Some(("1", rest)) if i > 0 => ("/", rest),
            _ => ("", part),
        };
        out.push_str(escaped);
        out.push_str(rest);
    }
    out
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
                view.prepare(&path).unwrap().get().unwrap(),
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
