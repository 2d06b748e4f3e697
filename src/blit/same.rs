//! Elements that are the same value because their list says it once for all of them.
//!
//! A few bytes can be any number of elements; who looks for a value among them need not look at
//! each.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use super::column::Chunk;
use super::doc::Doc;
use super::list::{Body, List};
use super::view::{value, ArrayView, Value};
use crate::Result;

/// Lists inside each other that are looked into.
const DEEP: usize = 16;

impl ArrayView<'_> {
    /// How many elements from element `i` on are the same value, as far as their list says it
    /// without a look at them: 1 where it does not, 0 from the length on.
    ///
    /// # Errors
    /// `Malformed`.
    ///
    /// # Example
    /// ```
    /// use tare::blit::{from_json, Options, Value, View};
    ///
    /// let document = from_json(b"[0, 0, 0, 0]", &Options::default())?;
    /// let view = View::open(&document)?;
    /// let Value::Array(zeros) = view.root()? else { unreachable!() };
    /// assert_eq!(3, zeros.same(1)?);
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn same(&self, i: usize) -> Result<usize> {
        let left = self.len().saturating_sub(i);
        match self.elements() {
            Some((list, first)) if left > 1 => {
                let same = same(self.doc, &list, first.saturating_add(i), DEEP)?;
                Ok(same.min(left))
            }
            _ => Ok(left.min(1)),
        }
    }
}

impl<'v> Chunk<'v> {
    /// The value of all elements, where their list says it once for all of them; None where it
    /// does not, and of a column without elements or values.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn alike(&self) -> Result<Option<Value<'v>>> {
        let (doc, list) = (self.doc, &self.list);
        if list.n == 0 || same(doc, list, 0, DEEP)? < list.n {
            return Ok(None);
        }
        value(doc, list.get(doc, 0)?)
    }
}

/// How many elements of a list from `i` on are the same; at least 1.
fn same(doc: &Doc<'_>, list: &List<'_>, i: usize, deep: usize) -> Result<usize> {
    let Some(deep) = deep.checked_sub(1) else {
        return Ok(1);
    };
    let left = list.n.saturating_sub(i).max(1);
    Ok(match list.body {
        // No bytes for any of them: what the tag says is all there is.
        Body::Uniform { at, .. } if at.total == 0 => left,
        Body::Table { .. } | Body::Tuples { .. } => {
            let mut least = left;
            for j in 0..list.columns() {
                if least == 1 {
                    break;
                }
                least = least.min(same(doc, &list.column(doc, j)?, i, deep)?);
            }
            least
        }
        Body::Nested { child, counts } => match counts.constant() {
            Some(0) => left,
            Some(n) => {
                let child = List::read(doc, child, None)?;
                let same = same(doc, &child, i.saturating_mul(n), deep)?;
                same.checked_div(n).unwrap_or(1).clamp(1, left)
            }
            None => 1,
        },
        Body::Segmented { segments, size } => {
            let (which, within) = (i.checked_div(size), i.checked_rem(size));
            let (segment, _) = list.segment(doc, segments, size, which.unwrap_or(0))?;
            same(doc, &segment, within.unwrap_or(0), deep)?.min(left)
        }
        _ => 1,
    })
}
