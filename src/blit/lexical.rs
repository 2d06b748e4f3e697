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
            let bytes = name.transpose()?;
            names.push((bytes.is_none(), 0, bytes.unwrap_or_default(), slot));
        }
        let shared = shared(names.iter().map(|name| name.2));
        for name in &mut names {
            name.1 = first(name.2, shared);
        }
        if names.is_sorted() {
            return Ok(None);
        }
        names.sort_unstable();
        Ok(Some(names.into_iter().map(|name| name.3).collect()))
    }
}

/// Bytes that all names begin with.
fn shared<'n>(mut names: impl Iterator<Item = &'n [u8]>) -> usize {
    let Some(one) = names.next() else {
        return 0;
    };
    names.fold(one.len(), |shared, name| {
        let both = one.iter().zip(name).take(shared);
        both.take_while(|(a, b)| a == b).count()
    })
}

/// The eight bytes behind those that all names begin with: most names differ in them, and those
/// that do are in the order of these numbers.
fn first(name: &[u8], shared: usize) -> u64 {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(name.iter().skip(shared)) {
        *to = *from;
    }
    u64::from_le_bytes(word).swap_bytes()
}

/// The place of each key id in the order of all names.
fn ranks(doc: &Doc<'_>) -> Result<Vec<u32>> {
    let n = doc.keys.names.n;
    let mut names = Vec::new();
    for id in 0..n {
        names.push((0, doc.keys.name(id)?, id));
    }
    let shared = shared(names.iter().map(|name| name.1));
    for name in &mut names {
        name.0 = first(name.1, shared);
    }
    names.sort_unstable();
    let mut places = vec![0; n];
    for (place, (_, _, id)) in (0_u32..).zip(names) {
        if let Some(slot) = places.get_mut(id) {
            *slot = place;
        }
    }
    Ok(places)
}
