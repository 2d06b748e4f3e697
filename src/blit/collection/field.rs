//! One field of many documents: where its column lies is looked for once a chunk.

use std::sync::OnceLock;

use super::docs::Docs;
use super::reader::lost;
use crate::blit::list::List;
use crate::blit::path::{self, Path};
use crate::blit::Value;
use crate::Result;

/// One field of the documents of a collection; [`Docs::field`] makes it.
#[derive(Debug)]
pub struct Field<'d> {
    docs: &'d Docs<'d>,
    path: Path,
    /// For each commit, the column of each chunk, once it was looked for; None of those that are
    /// no tables in memory.
    columns: Box<[Columns<'d>]>,
}

type Columns<'d> = Box<[OnceLock<Option<List<'d>>>]>;

impl<'d> Field<'d> {
    pub(super) fn of(docs: &'d Docs<'_>, path: &Path) -> Self {
        let columns = docs.parts.iter().map(|part| {
            let chunks = std::iter::repeat_with(OnceLock::new);
            chunks.take(part.commit.chunks()).collect()
        });
        Self {
            docs,
            path: path.clone(),
            columns: columns.collect(),
        }
    }

    /// Hands the field of document `i` to `read`, or None if it has none.
    ///
    /// # Errors
    /// As [`Docs::with`].
    #[inline]
    pub fn with<R>(&self, i: u64, read: impl FnOnce(Option<Value<'_>>) -> R) -> Result<R> {
        let (which, commit, number) = self.docs.collection.find(i)?;
        let (chunk, row) = commit.find(number).ok_or_else(lost)?;
        let columns = self.columns.get(which);
        let place = columns.and_then(|columns| columns.get(chunk));
        let place = place.ok_or_else(lost)?;
        let column = match place.get() {
            Some(column) => column,
            None => self.look(which, chunk, place)?,
        };
        match (column, self.docs.parts.get(which)) {
            (Some(column), Some(part)) => {
                path::beside(&part.doc, column, row as usize, &self.path).map(read)
            }
            _ => self.docs.with(i, &self.path, read),
        }
    }

    #[cold]
    fn look<'s>(
        &self,
        which: usize,
        chunk: usize,
        place: &'s OnceLock<Option<List<'d>>>,
    ) -> Result<&'s Option<List<'d>>> {
        let part = self.docs.parts.get(which).ok_or_else(lost)?;
        let entry = part.entry(chunk)?;
        let mut column = None;
        if part.lies_open(&entry) {
            let at = self.docs.extent(&entry)?;
            let list = List::read(&part.doc, at, Some(part.commit.count(chunk)))?;
            column = path::column(&part.doc, &list, &self.path)?;
        }
        Ok(place.get_or_init(|| column))
    }
}
