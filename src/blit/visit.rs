//! A value in the order of its elements: what is made of a document as a whole.

use super::decimal;
use super::json_out::KeyOrder;
use super::layout::{broken, malformed, tag};
use super::place::Place;
use super::view::{ArrayView, ObjectView, View};
use super::walk::Walk;
use crate::{ErrorKind, Result};

/// Takes the values of a walk, each container between its begin and its end.
///
/// Names are ids, which [`View::key`] resolves: whoever makes something of names makes it once a
/// name, not once an object. An error that a visitor returns ends the walk.
///
/// # Example
/// ```
/// use tare::blit::{from_json, Options, Scalar, View, Visitor, WalkOptions};
///
/// /// Adds up all integers.
/// struct Sum(i64);
///
/// impl Visitor for Sum {
///     fn scalar(&mut self, value: Scalar<'_>) -> tare::Result<()> {
///         if let Scalar::Int(value) = value {
///             self.0 += value;
///         }
///         Ok(())
///     }
/// }
///
/// let document = from_json(br#"[{"delay": 2}, {"delay": 33}]"#, &Options::default())?;
/// let mut sum = Sum(0);
/// View::open(&document)?.walk(&WalkOptions::default(), &mut sum)?;
/// assert_eq!(35, sum.0);
/// # Ok::<(), tare::Error>(())
/// ```
#[allow(clippy::missing_errors_doc, reason = "said once, at the first")]
pub trait Visitor {
    /// A value that is neither array nor object.
    ///
    /// # Errors
    /// The visitor's own, as of all that follow.
    fn scalar(&mut self, value: Scalar<'_>) -> Result<()>;

    /// A string that the document has once for several places: entry `code` of dictionary number
    /// `dictionary`, counted from 0 in each walk. A string unless said otherwise.
    #[inline]
    fn entry(&mut self, dictionary: usize, code: usize, text: Text<'_>) -> Result<()> {
        let _ = (dictionary, code);
        self.scalar(Scalar::Text(text))
    }

    /// The float `m / 10^e`, where `|m| < 2^47` and `e <= 15`. A float unless said otherwise.
    #[inline]
    fn decimal(&mut self, m: i64, e: usize) -> Result<()> {
        self.scalar(Scalar::Float(decimal::float(m, e)))
    }

    /// An array of `n` elements.
    #[inline]
    fn begin_array(&mut self, n: usize) -> Result<()> {
        let _ = n;
        Ok(())
    }

    /// The end of the innermost array.
    #[inline]
    fn end_array(&mut self) -> Result<()> {
        Ok(())
    }

    /// An object that has the names of shape number `shape`, all of them or fewer than `most`;
    /// objects of equal shape have the same number, and names in the same order.
    #[inline]
    fn begin_object(&mut self, most: usize, shape: usize) -> Result<()> {
        let _ = (most, shape);
        Ok(())
    }

    /// The id of the name whose value comes next.
    #[inline]
    fn key(&mut self, id: usize) -> Result<()> {
        let _ = id;
        Ok(())
    }

    /// The end of the innermost object.
    #[inline]
    fn end_object(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A value without others in it.
#[derive(Clone, Copy, Debug)]
pub enum Scalar<'v> {
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
    Text(Text<'v>),
    /// Bytes that are no text.
    Bytes(&'v [u8]),
}

/// A string as it is stored. Neither its bytes nor what `kind` says of them were looked at:
/// only of a valid document are they so.
#[derive(Clone, Copy, Debug)]
pub struct Text<'v> {
    /// UTF-8; with halves of surrogate pairs as three bytes each, where the document keeps them.
    pub bytes: &'v [u8],
    /// What it needs when it is written back.
    pub kind: TextKind,
}

/// What is known of a string's characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// ASCII, without controls, quotes and backslashes.
    Ascii,
    /// Without controls, quotes and backslashes.
    Clean,
    /// Nothing.
    Any,
}

impl TextKind {
    /// Of a string's tag; None of others.
    #[inline]
    pub(super) fn of(tag: u8) -> Option<Self> {
        match tag {
            tag::ASCII => Some(Self::Ascii),
            tag::CLEAN => Some(Self::Clean),
            tag::STR => Some(Self::Any),
            _ => None,
        }
    }
}

/// How a value is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkOptions {
    /// The order of names.
    pub order: KeyOrder,
    /// Most elements of all containers together; 2^28 unless said. A few bytes can be an array
    /// of any length.
    pub max_elements: u64,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self {
            order: KeyOrder::Insertion,
            max_elements: 1 << 28,
        }
    }
}

impl View<'_> {
    /// Walks over the whole value.
    ///
    /// # Errors
    /// Those of the visitor; `Limit` for more elements than allowed; `Malformed` where the
    /// document is not what it says.
    pub fn walk<V: Visitor>(&self, options: &WalkOptions, visitor: &mut V) -> Result<()> {
        self.walk_at(self.doc.root, options, visitor)
    }

    /// Walks over the value at a place.
    ///
    /// # Errors
    /// As [`walk`](Self::walk); `NotFound` for a place that is none here.
    pub fn walk_at<V: Visitor>(
        &self,
        place: Place,
        options: &WalkOptions,
        visitor: &mut V,
    ) -> Result<()> {
        let item = place.item(&self.doc)?;
        Walk::new(&self.doc, options).item(item, visitor)
    }
}

impl ArrayView<'_> {
    /// Walks over the array, as [`View::walk`].
    ///
    /// # Errors
    /// As there.
    pub fn walk<V: Visitor>(&self, options: &WalkOptions, visitor: &mut V) -> Result<()> {
        Walk::new(self.doc, options).item(self.item(), visitor)
    }
}

impl ObjectView<'_> {
    /// Walks over the object, as [`View::walk`].
    ///
    /// # Errors
    /// As there.
    pub fn walk<V: Visitor>(&self, options: &WalkOptions, visitor: &mut V) -> Result<()> {
        Walk::new(self.doc, options).item(self.item(), visitor)
    }
}

/// The text of a string in the pool.
pub(super) fn pooled<'v>(doc: &super::doc::Doc<'v>, id: u64, at: usize) -> Result<Text<'v>> {
    let id = usize::try_from(id).unwrap_or(usize::MAX);
    let found = doc.pool.as_ref().filter(|pool| id < pool.n);
    let Some(pool) = found else {
        return Err(malformed("V15", "a string that is not in the pool", at));
    };
    Ok(Text {
        bytes: pool.get(id)?,
        kind: TextKind::of(pool.tag).unwrap_or(TextKind::Any),
    })
}

/// A tag that no value has.
#[cold]
pub(super) fn unknown_tag(at: usize) -> crate::Error {
    let text = "a tag that this version does not have";
    broken(ErrorKind::Unsupported, "V5", text, at)
}
