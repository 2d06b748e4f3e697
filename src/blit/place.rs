//! Where a value lies, kept apart from the document: what a reader of its own holds on to.

use super::doc::Doc;
use super::layout::{malformed, tag};
use super::list::{Extent, Item, List};
use crate::Result;

/// Where a value lies in a document: a few numbers, without a lifetime.
///
/// Whoever owns the bytes of a document can keep a place beside them, and open it again with
/// [`View::at`](super::View::at) in a few nanoseconds. It means nothing in any other document:
/// there it is an error, or another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub(super) at: Extent,
    pub(super) form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// An extent and its tag.
    Stored(u8),
    /// An element of the list of the extent, which has `given` elements if it does not say so.
    Element { given: Option<usize>, i: usize },
    /// So many elements from one on, as an array.
    Run {
        given: Option<usize>,
        from: usize,
        n: usize,
    },
}

impl Place {
    /// A value with an extent of its own.
    #[inline]
    pub(super) fn stored(tag: u8, at: Extent) -> Self {
        let form = Form::Stored(tag);
        Self { at, form }
    }

    /// Element `i` of the list of an extent.
    #[inline]
    pub(super) fn element(at: Extent, given: Option<usize>, i: usize) -> Self {
        let form = Form::Element { given, i };
        Self { at, form }
    }

    /// So many elements of the list of an extent.
    #[inline]
    pub(super) fn run(at: Extent, given: Option<usize>, from: usize, n: usize) -> Self {
        let form = Form::Run { given, from, n };
        Self { at, form }
    }

    /// The tag and the extent of a value that has them.
    pub(super) fn as_stored(&self) -> Option<(u8, Extent)> {
        match self.form {
            Form::Stored(tag) => Some((tag, self.at)),
            _ => None,
        }
    }

    /// How many elements the list has that this is one of, where the list does not say so.
    pub(super) fn siblings(&self) -> Option<usize> {
        match self.form {
            Form::Element { given, .. } => given,
            _ => None,
        }
    }

    /// What lies there.
    ///
    /// # Errors
    /// `Malformed` where it is not what it says, `NotFound` for an element that is not there.
    #[inline]
    pub(super) fn item<'a>(&self, doc: &Doc<'a>) -> Result<Item<'a>> {
        match self.form {
            Form::Stored(tag::ABSENT) => Err(malformed("V8", "a root that is absent", doc.trailer)),
            Form::Stored(tag) => Ok(Item::Stored { tag, at: self.at }),
            Form::Element { given, i } => List::read(doc, self.at, given)?.get(doc, i),
            Form::Run { given, from, n } => {
                let of = List::read(doc, self.at, given)?;
                if from.checked_add(n).is_none_or(|end| end > of.n) {
                    return Err(malformed("V18", "a place outside its list", of.end()));
                }
                Ok(Item::Run { of, from, n })
            }
        }
    }
}
