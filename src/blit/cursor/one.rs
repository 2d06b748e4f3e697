//! One element of a list, found without a cursor where that is not needed.

use super::{say, short, Cursor, Packed};
use crate::blit::layout::tag;
use crate::blit::list::{Body, Extent, List};
use crate::blit::visit::Visitor;
use crate::blit::walk::Walk;
use crate::Result;

/// Whether [`one`] element is found as soon as the next one.
#[inline]
pub(in crate::blit) fn is_direct(list: &List<'_>) -> bool {
    matches!(list.body, Body::Generic { .. } | Body::Uniform { .. })
}

/// Walks over element `i` of a list, behind its key if it has one, unless it is absent.
///
/// # Errors
/// As [`Walk::item`].
pub(in crate::blit) fn one<'v, V: Visitor>(
    walk: &mut Walk<'v>,
    list: &List<'v>,
    i: usize,
    key: Option<usize>,
    visitor: &mut V,
) -> Result<()> {
    let (numbers, width, as_) = match list.body {
        Body::Generic { at, tags } => {
            let tag = tags.get(i).copied().unwrap_or(tag::NULL);
            return stored(walk, tag, at.get(i)?, key, visitor);
        }
        Body::Uniform { at, tag } => return stored(walk, tag, at.get(i)?, key, visitor),
        Body::Int {
            numbers,
            width,
            base,
        } => (numbers, width, Packed::Int { base }),
        Body::Float {
            numbers,
            width,
            ints,
        } => (numbers, width, Packed::Float { ints }),
        Body::Dec {
            numbers,
            width,
            e,
            ints,
        } => (numbers, width, Packed::Dec { e, ints }),
        Body::Nested { .. } => {
            let run = list.get(walk.doc, i)?;
            say(key, visitor)?;
            return walk.item(run, visitor);
        }
        _ => {
            let mut cursor = Cursor::new(walk, list, 1)?;
            cursor.seek(walk.doc, i)?;
            return cursor.next(walk, key, visitor);
        }
    };
    let from = i.saturating_mul(width);
    let bytes = numbers.get(from..from.saturating_add(width));
    let bytes = bytes.ok_or_else(|| short(list.end()))?;
    say(key, visitor)?;
    as_.say(bytes, visitor)
}

#[inline]
fn stored<V: Visitor>(
    walk: &mut Walk<'_>,
    tag: u8,
    at: Extent,
    key: Option<usize>,
    visitor: &mut V,
) -> Result<()> {
    if tag == tag::ABSENT {
        return Ok(());
    }
    say(key, visitor)?;
    walk.value(tag, at, visitor)
}
