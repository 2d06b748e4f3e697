//! The order of an object's names by their bytes, worked out when it is needed.

use std::rc::Rc;

use super::doc::{Doc, Shape};
use crate::Result;

/// The sorted places of shapes: each once, and none that is in order as it is.
#[derive(Debug, Default)]
pub(super) struct Lexical {
    shapes: Vec<Option<Order>>,
    /// The place of each key id in the order of all names.
    ranks: Option<Vec<u32>>,
    /// Names that were compared without ranks.
    compared: usize,
}

/// The places of a shape in the order of its names; None if as they are.
type Order = Option<Rc<[usize]>>;

impl Lexical {
    /// The order of shape `id`.
    ///
    /// # Errors
    /// `Malformed` where names are not what they say.
    #[inline]
    pub(super) fn of(&mut self, doc: &Doc<'_>, id: usize, shape: &Shape<'_>) -> Result<Order> {
        if let Some(Some(known)) = self.shapes.get(id) {
            return Ok(known.clone());
        }
        let order = self.sorted(doc, shape)?;
        if self.shapes.len() <= id {
            self.shapes.resize(id.saturating_add(1), None);
        }
        if let Some(place) = self.shapes.get_mut(id) {
            *place = Some(order.clone());
        }
        Ok(order)
    }

    fn sorted(&mut self, doc: &Doc<'_>, shape: &Shape<'_>) -> Result<Order> {
        // A run of more names than there are is one of a damaged document, of any length.
        if shape.len() > doc.keys.names.n && matches!(shape, Shape::Run { .. }) {
            return Ok(None);
        }
        let mut slots: Vec<usize> = (0..shape.len()).collect();
        // One of many shapes is sorted by its own names; where most are needed, all names are.
        self.compared = self.compared.saturating_add(shape.len());
        if self.compared > doc.keys.names.n && self.ranks.is_none() {
            self.ranks = Some(ranks(doc)?);
        }
        if let Some(ranks) = &self.ranks {
            let rank = |slot: &usize| ranks.get(shape.id(*slot)).copied().unwrap_or(u32::MAX);
            if slots.is_sorted_by_key(rank) {
                return Ok(None);
            }
            slots.sort_by_key(rank);
            return Ok(Some(slots.into()));
        }
        let mut names = Vec::with_capacity(slots.len());
        for slot in slots {
            let id = shape.id(slot);
            // Behind all names, as with ranks.
            let name = (id < doc.keys.names.n).then(|| doc.keys.name(id));
            names.push((name.is_none(), name.transpose()?, slot));
        }
        if names.is_sorted() {
            return Ok(None);
        }
        names.sort_unstable();
        Ok(Some(names.into_iter().map(|name| name.2).collect()))
    }
}

/// The place of each key id in the order of all names.
fn ranks(doc: &Doc<'_>) -> Result<Vec<u32>> {
    let n = doc.keys.names.n;
    let mut names = Vec::new();
    for id in 0..n {
        names.push((doc.keys.name(id)?, id));
    }
    names.sort_unstable();
    let mut places = vec![0; n];
    for (place, (_, id)) in (0_u32..).zip(names) {
        if let Some(slot) = places.get_mut(id) {
            *slot = place;
        }
    }
    Ok(places)
}
