//! Arrays of objects: where their text is cut, so that several threads read it.

use std::ops::Range;

use arrow_array::StructArray;

use super::found::Names;
use super::{most_filled, space, Reader};
use crate::blit::{cut, wrong};
use crate::Result;

impl Reader {
    /// The objects of an array from one that begins at a place up to the first that begins at the end of the part, or the end
    /// of the array; gives where that is, and the rows.
    pub(super) fn read_elements(
        &mut self,
        text: &[u8],
        part: Range<usize>,
    ) -> Result<(usize, (StructArray, Names))> {
        self.room.set(most_filled(part.len()));
        let mut at = part.start;
        loop {
            match text.get(at) {
                Some(b'{') => {}
                Some(_) => return Err(wrong("no object, so no row of a table", at)),
                None => return Err(cut(text.len())),
            }
            at = self.object(text, at.wrapping_add(1))?;
            at = space(text, at);
            match text.get(at) {
                Some(b',') => at = space(text, at.wrapping_add(1)),
                Some(b']') => break,
                Some(_) => return Err(wrong("',' or ']' is missing", at)),
                None => return Err(cut(text.len())),
            }
            if at >= part.end {
                break;
            }
        }
        let rows = self.row.finish()?;
        let names = self.row.found(&rows)?;
        Ok((at, (rows, names)))
    }
}

/// Parts of an array of about so many bytes, each of which most likely begins where one of its objects does; the first does
/// so surely. None of an array without any.
///
/// # Errors
/// `Malformed` or `Truncated`: no array of objects.
pub(super) fn cuts(text: &[u8], size: usize) -> Result<Option<Vec<Range<usize>>>> {
    let start = space(text, 0);
    match text.get(start) {
        Some(b'[') => {}
        Some(_) => return Err(wrong("no array of objects", start)),
        None => return Err(cut(text.len())),
    }
    let mut start = space(text, start.wrapping_add(1));
    if text.get(start) == Some(&b']') {
        end(text, start)?;
        return Ok(None);
    }
    let first = beginning(text, start);
    let mut cuts = Vec::new();
    loop {
        let next = next(text, start.saturating_add(size), first);
        cuts.push(start..next.unwrap_or(text.len()));
        match next {
            Some(next) => start = next,
            None => return Ok(Some(cuts)),
        }
    }
}

/// What stands behind the bracket that ends an array: nothing.
pub(super) fn end(text: &[u8], at: usize) -> Result<()> {
    if text.get(at) != Some(&b']') {
        return Err(cut(text.len()));
    }
    let rest = space(text, at.wrapping_add(1));
    if rest < text.len() {
        return Err(wrong("something after the array", rest));
    }
    Ok(())
}

/// An object up to the end of its first name.
fn beginning(text: &[u8], start: usize) -> &[u8] {
    let rest = text.get(start..).unwrap_or_default();
    let mut quotes = memchr::memchr_iter(b'"', rest);
    let end = quotes.nth(1).map_or(1, |end| end.saturating_add(1));
    rest.get(..end).unwrap_or_default()
}

/// The next object, from a place on, that begins as another does and stands behind the end of one.
fn next(text: &[u8], from: usize, first: &[u8]) -> Option<usize> {
    let rest = text.get(from..)?;
    let found = memchr::memmem::find_iter(rest, first).find(|&at| {
        let before = rest.get(..at).unwrap_or_default().trim_ascii_end();
        let before = before.strip_suffix(b",").unwrap_or_default();
        before.trim_ascii_end().ends_with(b"}")
    });
    found.map(|at| from.saturating_add(at))
}
