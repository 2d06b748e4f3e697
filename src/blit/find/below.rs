//! What a search of descendants may leave out: values that hold no others, and lists below which
//! no object has any of the names.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::query::{Segment, Selector};
use super::Search;
use crate::blit::doc::Shape;
use crate::blit::layout::tag;
use crate::blit::list::{Body, Item, List};
use crate::Result;

/// Lists inside each other that are looked through; what is deeper may hold anything.
const MAX_NESTING: usize = 64;
/// Tables whose columns are kept in mind.
const MOST_KNOWN: usize = 4096;

/// For each column of a table whether a name may be below it.
pub(super) type Columns = Arc<[bool]>;

/// What was found out of the tables of a document, by where they end.
#[derive(Default)]
pub(super) struct Below(RefCell<HashMap<(usize, usize), Columns>>);

/// Whether an element is an array or an object.
pub(super) fn holds_others(item: &Item<'_>) -> bool {
    match item {
        Item::Stored { tag, .. } => is_container(*tag),
        Item::Run { .. } | Item::Row { .. } => true,
        Item::Int(_) | Item::Float(_) | Item::Bool(_) => false,
    }
}

/// The first element from `i` on that may be an array or an object.
pub(super) fn next_container(list: &List<'_>, i: usize) -> usize {
    match list.body {
        Body::Generic { tags, .. } => {
            let rest = tags.get(i..).unwrap_or_default();
            let next = memchr::memchr2(tag::ARRAY, tag::OBJECT, rest);
            next.map_or(list.n, |next| i.saturating_add(next))
        }
        Body::Uniform { tag, .. } if !is_container(tag) => list.n,
        _ => i,
    }
}

fn is_container(tag: u8) -> bool {
    matches!(tag, tag::ARRAY | tag::OBJECT)
}

/// Whether a segment takes names only, so that where none of them is nothing is found.
pub(super) fn by_name(segment: &Segment) -> bool {
    let mut all = segment.selectors.iter();
    all.all(|selector| matches!(selector, Selector::Name(_)))
}

/// Whether objects of a shape have one of a segment's names.
pub(super) fn has_name(search: &Search<'_>, segment: &Segment, shape: &Shape<'_>) -> bool {
    segment.selectors.iter().any(|selector| match selector {
        Selector::Name(name) => search.id(*name).is_some_and(|id| shape.slot(id).is_some()),
        _ => true,
    })
}

impl Below {
    /// Whether an object in a list, or below it, may have one of a segment's names.
    ///
    /// # Errors
    /// `Malformed`.
    pub(super) fn may_be<'v>(
        &self,
        search: &Search<'v>,
        segment: &Segment,
        list: &List<'v>,
        nesting: usize,
    ) -> Result<bool> {
        if nesting >= MAX_NESTING {
            return Ok(true);
        }
        let deeper = nesting.saturating_add(1);
        match list.body {
            Body::Table { shape, .. } => {
                let shape = search.doc.shapes.get(shape)?;
                Ok(has_name(search, segment, &shape)
                    || self.columns(search, segment, list, deeper)?.contains(&true))
            }
            Body::Tuples { .. } => Ok(self.columns(search, segment, list, deeper)?.contains(&true)),
            Body::Nested { child, .. } | Body::Partial { child, .. } => {
                let child = List::read(search.doc, child, None)?;
                self.may_be(search, segment, &child, deeper)
            }
            Body::Segmented { segments, size } => {
                for which in 0..segments.lens.len() {
                    let (list, _) = list.segment(search.doc, segments, size, which)?;
                    if self.may_be(search, segment, &list, deeper)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => Ok(next_container(list, 0) < list.n && !is_packed(list)),
        }
    }

    /// For each column of a table or of tuples, whether a name may be in it or below it.
    ///
    /// # Errors
    /// `Malformed`.
    pub(super) fn columns<'v>(
        &self,
        search: &Search<'v>,
        segment: &Segment,
        list: &List<'v>,
        nesting: usize,
    ) -> Result<Columns> {
        let key = (std::ptr::from_ref(segment).addr(), list.end());
        if let Some(columns) = self.0.borrow().get(&key) {
            return Ok(Arc::clone(columns));
        }
        let column = |j| {
            let column = list.column(search.doc, j)?;
            self.may_be(search, segment, &column, nesting)
        };
        let columns: Columns = (0..list.columns()).map(column).collect::<Result<_>>()?;
        let mut known = self.0.borrow_mut();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(key, Arc::clone(&columns));
        Ok(columns)
    }
}

fn is_packed(list: &List<'_>) -> bool {
    matches!(
        list.body,
        Body::Empty
            | Body::Int { .. }
            | Body::Float { .. }
            | Body::Dec { .. }
            | Body::Dict { .. }
            | Body::Bitmap { .. }
    )
}
