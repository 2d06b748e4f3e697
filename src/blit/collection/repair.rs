//! Collections made whole again, or written anew.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use super::commits::{self, Commit};
use super::layout::{self, END, FOOTER, HEADER};
use super::source::Source;
use super::{chunks, files, io_error, wrong, Collection, ReadOptions, WriteOptions, Writer};
use crate::blit::View;
use crate::{ErrorKind, Result};

/// What is looked through at once.
const BLOCK: u64 = 1 << 20;

/// What a repair did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// Documents that there are.
    pub documents: u64,
    /// Bytes behind the last commit, which were cut off.
    pub cut: u64,
}

/// Cuts off what follows the last whole commit, and says in the header where that ends.
///
/// Of commits that the header does not have yet, the checksums of all chunks are verified too.
/// A whole collection stays as it is.
///
/// # Errors
/// `Malformed` if there is no whole commit, and then nothing is changed; `Usage` if the collection
/// is being appended to; what the system says.
///
/// # Example
/// ```
/// # use tare::blit::collection::{repair, Collection, ReadOptions, WriteOptions};
/// # let folder = std::env::temp_dir().join(format!("tare-repair-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("a.blits");
/// # let mut writer = Collection::create(&path, &WriteOptions::default())?;
/// # for _ in 0..2 {
/// #     writer.push_json(b"[1, 2]")?;
/// #     writer.commit()?;
/// # }
/// # drop(writer);
/// # let file = std::fs::File::options().write(true).open(&path)?;
/// # file.set_len(file.metadata()?.len() - 1)?;
/// assert!(Collection::open(&path, &ReadOptions::default()).is_err());
/// assert_eq!(1, repair(&path)?.documents);
/// assert_eq!(1, Collection::open(&path, &ReadOptions::default())?.len());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn repair(path: impl AsRef<Path>) -> Result<Repaired> {
    let path = path.as_ref();
    let repair = || {
        let file = files::open_locked(path)?;
        let source = Source::whole(file.try_clone().map_err(io_error)?)?;
        let (end, documents) = find(&source)?;
        let cut = source.len().saturating_sub(end);
        drop(source);
        rewrite(file, end).map_err(io_error)?;
        Ok(Repaired { documents, cut })
    };
    repair().map_err(|error: crate::Error| error.with_path(path))
}

/// Cuts, makes sure of that, and only then says so.
fn rewrite(mut file: File, end: u64) -> std::io::Result<()> {
    file.set_len(end)?;
    file.sync_all()?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&layout::header(end))?;
    file.sync_all()
}

/// Where the last whole commit ends, and the documents up to there.
fn find(source: &Source) -> Result<(u64, u64)> {
    let header = source.read(0, source.len().min(HEADER))?;
    let committed = layout::committed_end(&header);
    let mut effort = source.len().saturating_mul(8).saturating_add(BLOCK);
    let mut to = source.len();
    while to > HEADER {
        let from = to.saturating_sub(BLOCK).max(HEADER);
        let block = source.read(from, to.saturating_sub(from))?;
        for at in memchr::memmem::rfind_iter(&block[..], END) {
            let behind = at.saturating_add(END.len()) as u64;
            let end = from.saturating_add(behind);
            let committed = committed.as_ref().map_or(0, |&committed| committed);
            if let Some(documents) = whole(source, end, committed, &mut effort)? {
                return Ok((end, documents));
            }
        }
        // A magic that lies across two blocks is found in the next one.
        let overlap = (END.len() as u64).saturating_sub(1);
        to = if from == HEADER {
            HEADER
        } else {
            from.saturating_add(overlap)
        };
    }
    if committed.is_ok_and(|end| end == HEADER) {
        return Ok((HEADER, 0));
    }
    let text = "no whole commit: there is nothing that could be kept";
    Err(wrong(ErrorKind::Malformed, "C2", text, source.len()))
}

/// The documents up to a commit that ends at `end`; None if it or one before it is not whole.
fn whole(source: &Source, end: u64, committed: u64, effort: &mut u64) -> Result<Option<u64>> {
    let mut spend = |cost: u64| {
        *effort = effort.checked_sub(cost).ok_or_else(|| {
            let text = "too many commits that are none: this was made to be slow";
            wrong(ErrorKind::Limit, "C2", text, end)
        })?;
        Ok(())
    };
    spend(commits::claim(source, end).saturating_add(FOOTER as u64))?;
    let Ok(all) = commits::chain(source, end) else {
        return Ok(None);
    };
    let Some(last) = all.last() else {
        return Ok(None);
    };
    // Of a header that does not say what was committed, the last one is enough.
    let known = if committed >= HEADER {
        committed
    } else {
        last.footer.start
    };
    for commit in all.iter().filter(|commit| commit.end > known) {
        if !chunks_are_whole(source, commit) {
            spend(commit.end.saturating_sub(known))?;
            return Ok(None);
        }
    }
    let more = u64::from(last.footer.documents);
    Ok(Some(last.footer.before.saturating_add(more)))
}

fn chunks_are_whole(source: &Source, commit: &Commit) -> bool {
    (0..commit.chunks()).all(|chunk| {
        commit.entry(source, chunk).is_some_and(|entry| {
            let stored = source.read(entry.offset, entry.stored.into());
            stored.is_ok_and(|stored| chunks::check(&entry, &stored).is_ok())
        })
    })
}

/// Writes a collection anew, as one commit if possible, with the documents that `keep` says yes
/// to; gives how many these are.
///
/// The new file takes the place of the old one when it is complete: until then, and after an
/// error, the old one is as it was. Who has it open keeps it. Names that are there twice and
/// halves of surrogate pairs are kept where they were.
///
/// # Errors
/// As [`Collection::open`] and [`Collection::append`].
///
/// # Example
/// ```
/// # use tare::blit::collection::{compact, Collection, ReadOptions, WriteOptions};
/// # let folder = std::env::temp_dir().join(format!("tare-compact-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("a.blits");
/// # let mut writer = Collection::create(&path, &WriteOptions::default())?;
/// # for text in ["[1]", "[2]", "[3]"] {
/// #     writer.push_json(text.as_bytes())?;
/// #     writer.commit()?;
/// # }
/// # drop(writer);
/// assert_eq!(2, compact(&path, &WriteOptions::default(), |i, _view| i != 1)?);
/// # assert_eq!(1, Collection::open(&path, &ReadOptions::default())?.commits());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compact(
    path: impl AsRef<Path>,
    options: &WriteOptions,
    mut keep: impl FnMut(u64, &View<'_>) -> bool,
) -> Result<u64> {
    let path = path.as_ref();
    let mut compact = || {
        let mut writer = Writer::replace(path, options)?; // no other writer has the old one
        let reading = ReadOptions {
            mmap: false,
            cache: 1,
            ..ReadOptions::default()
        };
        let collection = Collection::open(path, &reading)?;
        writer.keep_as(&collection.like())?;
        let docs = collection.docs()?;
        for i in 0..docs.len() {
            let document = docs.get(i)?;
            let view = document.view();
            if keep(i, &view) {
                writer.push(&view)?;
            }
        }
        writer.commit()
    };
    compact().map_err(|error: crate::Error| error.with_path(path))
}
