//! Changes over a document: reads see them, and [`Edit::to_blit`] encodes them with the rest.
//!
//! A document cannot be added to where it lies: its values tile it. So changes are kept beside it,
//! only what was touched and the way to it, and the document is encoded anew at the end.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod current;
mod json_patch;
mod over;
mod pieces;
pub(super) mod steps;
mod write;

use std::sync::Arc;

use super::{Value, View, WalkOptions};
use crate::{Error, ErrorKind, Result};
pub use current::{Current, CurrentArray, CurrentObject};
use over::{Members, Over, Scalar};
use pieces::{Piece, Pieces};
use steps::{index, steps};

/// A document that is being changed.
///
/// Pointers are those of RFC 6901; in arrays, `-` is the place behind the last element. They are
/// text, or bytes where a name has halves of surrogate pairs. An edit costs as much as the path to
/// it is long. Memory is what was changed.
///
/// # Example
/// ```
/// use tare::blit::{from_json, Edit, JsonOptions, Options, Tree, View};
///
/// let options = Options::default();
/// let document = from_json(br#"{"to": "LHR", "delays": [5, 90]}"#, &options)?;
/// let mut edit = Edit::new(View::open(&document)?);
/// edit.set("/to", Tree::from("JFK"))?;
/// edit.insert("/delays/-", Tree::from(7))?;
/// edit.patch(br#"[{"op": "move", "from": "/to", "path": "/destination"}]"#)?;
///
/// let changed = edit.to_blit(&options)?;
/// let text = View::open(&changed)?.to_json(&JsonOptions::default())?;
/// assert_eq!(br#"{"delays":[5,90,7],"destination":"JFK"}"#[..], text);
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Edit<'a> {
    view: View<'a>,
    root: Over,
}

/// The changes of an [`Edit`] without its document, for who keeps both side by side.
#[derive(Clone, Debug)]
pub struct Changes(Over);

/// A value to put into a document. Copies share what they hold.
///
/// # Example
/// ```
/// use tare::blit::Tree;
///
/// let one = Tree::object([("id", Tree::from(1)), ("tags", Tree::array([Tree::from("a")]))]);
/// let two = Tree::from_json(br#"{"id": 1, "tags": ["a"]}"#)?;
/// # let _ = (one, two);
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tree(Over);

impl Tree {
    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        Self(Over::Scalar(Scalar::Null))
    }

    /// An array.
    #[must_use]
    pub fn array(items: impl IntoIterator<Item = Self>) -> Self {
        let mut pieces = Pieces::default();
        for item in items {
            pieces.push(Piece::One(item.0));
        }
        Self(Over::Array(Arc::new(pieces)))
    }

    /// An object; of a name that is there twice, the last value counts.
    #[must_use]
    pub fn object<'n>(members: impl IntoIterator<Item = (&'n str, Self)>) -> Self {
        let mut all = Members::default();
        for (name, value) in members {
            all.put(name.as_bytes().into(), value.0);
        }
        Self(Over::Object(Arc::new(all)))
    }

    /// The value of a JSON text.
    ///
    /// # Errors
    /// Those of [`from_json`](super::from_json).
    pub fn from_json(text: &[u8]) -> Result<Self> {
        let document = super::from_json(text, &super::Options::default())?;
        Self::from_view(&View::open(&document)?)
    }

    /// The value of a document.
    ///
    /// # Errors
    /// `Malformed`; `Limit` for more than 2^28 values or 1,024 levels.
    pub fn from_view(view: &View<'_>) -> Result<Self> {
        Self::of(view, &view.root()?)
    }

    /// A value of a document.
    ///
    /// # Errors
    /// As [`from_view`](Self::from_view).
    pub fn of(view: &View<'_>, value: &Value<'_>) -> Result<Self> {
        let Some(place) = value.place() else {
            return Ok(Self(Over::of(value)));
        };
        let mut builder = write::Builder::new(&view.doc);
        view.walk_at(place, &WalkOptions::default(), &mut builder)?;
        Ok(Self(builder.finish()))
    }
}

macro_rules! from_scalars {
    ($($from:ty => $value:ident, $of:expr;)*) => {
        $(impl From<$from> for Tree {
            fn from($value: $from) -> Self {
                Self(Over::of(&$of))
            }
        })*
    };
}
from_scalars! {
    bool => value, Value::Bool(value);
    i32 => value, Value::Int(value.into());
    i64 => value, Value::Int(value);
    u64 => value, i64::try_from(value).map_or(Value::Uint(value), Value::Int);
    f64 => value, Value::Float(value);
    &str => value, Value::Str(value.into());
}

impl<'a> Edit<'a> {
    /// Starts with a document as it is.
    #[must_use]
    pub fn new(view: View<'a>) -> Self {
        Self {
            view,
            root: Over::Base(view.doc.root),
        }
    }

    /// Goes on with the changes that were made to the same document.
    #[must_use]
    pub fn resume(view: View<'a>, changes: Changes) -> Self {
        Self {
            view,
            root: changes.0,
        }
    }

    /// The changes, to go on with them later.
    #[must_use]
    pub fn into_changes(self) -> Changes {
        Changes(self.root)
    }

    /// The document without its changes.
    #[must_use]
    pub fn view(&self) -> View<'a> {
        self.view
    }

    /// The value at a pointer, with its changes; None if there is none.
    ///
    /// # Errors
    /// `Usage` for a pointer that is none; `Malformed`.
    pub fn get(&self, pointer: impl AsRef<[u8]>) -> Result<Option<Current<'_>>> {
        let mut value = Current::of(&self.view, &self.root)?;
        for step in steps(pointer.as_ref())? {
            match value.step(&step)? {
                Some(next) => value = next,
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    }

    /// Replaces the value at a pointer; a name that its object does not have is added.
    ///
    /// # Errors
    /// `NotFound` where there is no such element, or nothing to have the name; as
    /// [`get`](Self::get).
    pub fn set(&mut self, pointer: impl AsRef<[u8]>, value: Tree) -> Result<()> {
        let pointer = pointer.as_ref();
        let Some((parent, last)) = parent(pointer)? else {
            self.root = value.0;
            return Ok(());
        };
        let view = &self.view;
        match descend(view, &mut self.root, &parent)? {
            Some(Over::Object(members)) => Arc::make_mut(members).set(view, &last, value.0),
            Some(Over::Array(pieces)) if index(&last).is_some_and(|i| i < pieces.len()) => {
                let i = index(&last).unwrap_or(0);
                if let Some(place) = Arc::make_mut(pieces).get_mut(view, i)? {
                    *place = value.0;
                }
                Ok(())
            }
            _ => Err(missing(pointer)),
        }
    }

    /// Puts a value before the element at a pointer, or behind the last; in an object, as
    /// [`set`](Self::set).
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn insert(&mut self, pointer: impl AsRef<[u8]>, value: Tree) -> Result<()> {
        let pointer = pointer.as_ref();
        let Some((parent, last)) = parent(pointer)? else {
            self.root = value.0;
            return Ok(());
        };
        let view = &self.view;
        match descend(view, &mut self.root, &parent)? {
            Some(Over::Object(members)) => Arc::make_mut(members).set(view, &last, value.0),
            Some(Over::Array(pieces)) => {
                let i = if last == b"-" {
                    Some(pieces.len())
                } else {
                    index(&last)
                };
                let i = i.filter(|&i| i <= pieces.len());
                let i = i.ok_or_else(|| missing(pointer))?;
                Arc::make_mut(pieces).insert(i, value.0);
                Ok(())
            }
            _ => Err(missing(pointer)),
        }
    }

    /// Takes the value at a pointer away.
    ///
    /// # Errors
    /// `NotFound` if there is none; `Usage` for the whole document; as [`get`](Self::get).
    pub fn delete(&mut self, pointer: impl AsRef<[u8]>) -> Result<()> {
        self.take(pointer.as_ref()).map(drop)
    }

    /// Takes the value at a pointer away, and gives it.
    fn take(&mut self, pointer: &[u8]) -> Result<Over> {
        let Some((parent, last)) = parent(pointer)? else {
            let text = "the whole document cannot be taken away, only replaced";
            return Err(Error::new(ErrorKind::Usage, text).with_format("blit"));
        };
        let view = &self.view;
        let found = match descend(view, &mut self.root, &parent)? {
            Some(Over::Object(members)) => Arc::make_mut(members).remove(view, &last)?,
            Some(Over::Array(pieces)) => match index(&last) {
                Some(i) => Arc::make_mut(pieces).remove(view, i)?,
                None => None,
            },
            _ => None,
        };
        found.ok_or_else(|| missing(pointer))
    }

    /// A copy of the value at a pointer, which shares what it holds.
    fn copy(&mut self, pointer: &[u8]) -> Result<Over> {
        match descend(&self.view, &mut self.root, &steps(pointer)?)? {
            Some(over) => Ok(over.clone()),
            None => Err(missing(pointer)),
        }
    }
}

/// The steps of a pointer but for the last, and the last.
type Way = (Vec<Vec<u8>>, Vec<u8>);

/// The way to a value of another; None to the whole document.
fn parent(pointer: &[u8]) -> Result<Option<Way>> {
    let mut steps = steps(pointer)?;
    Ok(steps.pop().map(|last| (steps, last)))
}

/// The value that steps lead to, ready to be changed.
fn descend<'o>(
    view: &View<'_>,
    root: &'o mut Over,
    steps: &[Vec<u8>],
) -> Result<Option<&'o mut Over>> {
    let mut over = root;
    for step in steps {
        over.touch(view)?;
        let next = match over {
            Over::Object(members) => Arc::make_mut(members).get_mut(view, step)?,
            Over::Array(pieces) => match index(step) {
                Some(i) => Arc::make_mut(pieces).get_mut(view, i)?,
                None => None,
            },
            _ => None,
        };
        match next {
            Some(next) => over = next,
            None => return Ok(None),
        }
    }
    over.touch(view)?;
    Ok(Some(over))
}

fn missing(pointer: &[u8]) -> Error {
    let text = format!("there is nothing at {:?}", String::from_utf8_lossy(pointer));
    Error::new(ErrorKind::NotFound, text).with_format("blit")
}
