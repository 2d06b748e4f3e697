//! Names and shapes: rules V10 and V11.

use hashbrown::HashSet;

use super::texts::texts;
use crate::blit::doc::{Doc, Shape};
use crate::blit::keys::fingerprint;
use crate::blit::layout::{flag, malformed};
use crate::Result;

/// Names are text, different, and found by their fingerprints or their order.
///
/// # Errors
/// V10, or as of any strings.
pub(super) fn keys(doc: &Doc<'_>) -> Result<()> {
    let keys = &doc.keys;
    let n = keys.names.n;
    let at = keys.names.at;
    texts(doc, keys.names.data, at, keys.names.tag)?;
    let wrong = |text| Err(malformed("V10", text, keys.finder_at));
    if keys.width == 0 {
        let mut names = HashSet::with_capacity(n);
        for (range, print) in at.lens.lengths(at.total).zip(keys.finder) {
            let (from, to) = range?;
            let extent = at.start.wrapping_add(from)..at.start.wrapping_add(to);
            let name = keys.names.data.get(extent).unwrap_or_default();
            if !names.insert(name) {
                return wrong("a name that is there twice");
            }
            if *print != fingerprint(name) {
                return wrong("a fingerprint that is not its name's");
            }
        }
        return Ok(());
    }
    // Strictly ascending names are all different, and so are their ids.
    let mut before: Option<&[u8]> = None;
    for place in 0..n {
        let id = keys.sorted(place);
        if id >= n {
            return wrong("an order of names that are not there");
        }
        let name = keys.name(id)?;
        if before.is_some_and(|before| before >= name) {
            return wrong("names that are not in order");
        }
        before = Some(name);
    }
    Ok(())
}

/// Shapes have keys that are there, each once.
///
/// # Errors
/// V11, or as of any lengths.
pub(super) fn shapes(doc: &Doc<'_>) -> Result<()> {
    let shapes = &doc.shapes;
    shapes.at.lens.validate(shapes.at.total)?;
    let n = doc.keys.names.n;
    let wrong = |text, at| Err(malformed("V11", text, at));
    // The shape in which each key was seen last.
    let mut seen = vec![usize::MAX; n];
    for id in 0..shapes.n {
        let shape = shapes.get(id)?;
        let at = shapes.at.get(id)?.0;
        // A run names its first and its last only, so that it costs no more than its bytes.
        if let Shape::Run { start, n: run } = shape {
            if start.checked_add(run).is_none_or(|end| end > n) {
                return wrong("a shape of keys that are not there", at);
            }
            continue;
        }
        for i in 0..shape.len() {
            let Some(last) = seen.get_mut(shape.id(i)) else {
                return wrong("a shape of keys that are not there", at);
            };
            if *last == id && doc.flags & flag::KEEPS_DUPLICATES == 0 {
                return wrong("a shape with a key twice", at);
            }
            *last = id;
        }
    }
    Ok(())
}
