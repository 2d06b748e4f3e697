//! The commits of a collection: how they are found, and what each says of itself.

use std::borrow::Cow;

use super::layout::{self, Entry, Footer, ALIGN, ENTRY, FOOTER, HEADER};
use super::source::Source;
use super::{shifted, wrong};
use crate::blit::doc::Dictionary;
use crate::blit::layout::flag;
use crate::{Error, ErrorKind, Result};

/// Chunks that are looked through one by one.
const FEW: usize = 8;

/// A commit, checked but for its chunks.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) footer: Footer,
    /// Where it ends in the file.
    pub(super) end: u64,
    /// Where KEYS begins in the file.
    pub(super) sections_at: u64,
    /// KEYS to INDEX, unless they are mapped.
    sections: Option<Box<[u8]>>,
    /// Number of the first document of each chunk.
    firsts: Box<[u32]>,
    /// The chunk of every document whose number is a multiple of `1 << shift`.
    guide: Box<[u32]>,
    shift: u32,
}

/// The commits up to one that ends at `end`, the first one first.
///
/// # Errors
/// C3 to C5, and those of the sections KEYS and SHAPES.
pub(super) fn chain(source: &Source, mut end: u64) -> Result<Vec<Commit>> {
    let mut commits = Vec::new();
    while end > HEADER {
        let commit = Commit::load(source, end)?;
        end = commit.footer.start;
        commits.push(commit);
    }
    if end != HEADER {
        let text = "commits that do not begin behind the header";
        return Err(wrong(ErrorKind::Malformed, "C4", text, end));
    }
    commits.reverse();
    let mut documents = 0_u64;
    for commit in &commits {
        if commit.footer.before != documents {
            let text = "documents of earlier commits that are not there";
            return Err(wrong(ErrorKind::Malformed, "C4", text, commit.footer_at()));
        }
        documents = documents.saturating_add(commit.footer.documents.into());
    }
    Ok(commits)
}

/// Where the last commit ends that counts, in a file that may be appended to meanwhile.
///
/// # Errors
/// C1 to C3.
pub(super) fn settled_end(source: &mut Source) -> Result<u64> {
    /// Commits that may come while the last one is looked for.
    const TRIES: u32 = 100;
    let mut tried = 0_u32;
    loop {
        let found = last_end(source);
        tried = tried.saturating_add(1);
        // The header may know of a commit that came after the file was measured.
        if found.is_ok() || tried == TRIES || !source.measure()? {
            return found;
        }
    }
}

/// Where the last commit ends that counts: at the end of the file, or where the header says.
fn last_end(source: &Source) -> Result<u64> {
    let len = source.len();
    let header = source.read(0, len.min(HEADER))?;
    let committed = layout::committed_end(&header)?;
    if len == HEADER && committed <= HEADER {
        return Ok(HEADER);
    }
    let last = check(source, len);
    if last.is_ok() {
        return Ok(len);
    }
    if committed == HEADER {
        return Ok(HEADER);
    }
    // Whatever is wrong with a commit that was recorded is said as it is.
    if committed == len {
        return last.map(|_| len);
    }
    if committed != 0 && committed < len {
        return check(source, committed).map(|_| committed);
    }
    Err(torn(len))
}

fn torn(len: u64) -> Error {
    let text = "torn: it does not end with a commit; a repair keeps the documents before";
    wrong(ErrorKind::Truncated, "C2", text, len)
}

/// The footer that ends at `end`, its sections and where these begin, if the checksum is right.
///
/// # Errors
/// C3.
pub(super) fn check(source: &Source, end: u64) -> Result<(Footer, Cow<'_, [u8]>, u64)> {
    let at = end
        .checked_sub(FOOTER as u64)
        .filter(|&at| at >= HEADER)
        .ok_or_else(|| torn(end))?;
    let (footer, checksum) = Footer::read(&source.read(at, FOOTER as u64)?, at)?;
    let sections_at = at
        .checked_sub(footer.sections())
        .filter(|&sections| (HEADER..=sections).contains(&footer.start));
    let Some(sections_at) = sections_at else {
        let text = "sections that are longer than their commit";
        return Err(wrong(ErrorKind::Malformed, "C3", text, at));
    };
    let bytes = source.read(sections_at, end.saturating_sub(sections_at))?;
    if Footer::checksum(&bytes) != checksum {
        let text = "the checksum of a commit does not match: it was changed";
        return Err(wrong(ErrorKind::ChecksumMismatch, "C3", text, at));
    }
    Ok((footer, bytes, sections_at))
}

/// Bytes that the sections of a commit have by its footer, if that can be.
pub(super) fn claim(source: &Source, end: u64) -> u64 {
    let at = end.saturating_sub(FOOTER as u64);
    let footer = source.read(at, FOOTER as u64);
    let footer = footer.and_then(|bytes| Footer::read(&bytes, at));
    footer.map_or(0, |(footer, _)| footer.sections().min(at))
}

/// What an index says of a chunk.
#[inline]
pub(super) fn entry(index: &[u8], chunk: usize) -> Option<Entry> {
    let at = chunk.checked_mul(ENTRY)?;
    Entry::read(index.get(at..at.checked_add(ENTRY)?)?)
}

impl Commit {
    /// The commit that ends at `end`.
    fn load(source: &Source, end: u64) -> Result<Self> {
        let (footer, bytes, sections_at) = check(source, end)?;
        let sections = match bytes {
            Cow::Borrowed(_) => None,
            Cow::Owned(bytes) => Some(bytes.into_boxed_slice()),
        };
        let mut commit = Self {
            footer,
            end,
            sections_at,
            sections,
            firsts: Box::default(),
            guide: Box::default(),
            shift: 0,
        };
        commit.firsts = commit.check_index(source)?;
        commit.find_ways();
        commit.dictionary(source)?;
        Ok(commit)
    }

    fn footer_at(&self) -> u64 {
        self.end.saturating_sub(FOOTER as u64)
    }

    /// How many chunks there are.
    pub(super) fn chunks(&self) -> usize {
        self.firsts.len()
    }

    /// C5: entries that tile the commit, and documents that ascend.
    fn check_index(&self, source: &Source) -> Result<Box<[u32]>> {
        let wrong = |text: &str, chunk: usize| {
            let entry = chunk.saturating_mul(ENTRY) as u64;
            let index = self.footer_at().saturating_sub(self.index_len());
            wrong(
                ErrorKind::Malformed,
                "C5",
                text,
                index.saturating_add(entry),
            )
        };
        let index = self.index(source);
        let mut firsts = Vec::with_capacity(index.len() / ENTRY);
        let mut end = self.footer.start;
        for (chunk, bytes) in index.chunks_exact(ENTRY).enumerate() {
            let Some(entry) = Entry::read(bytes) else {
                return Err(wrong("a chunk of a codec that is not", chunk));
            };
            if !self.follows(entry.offset, end) {
                return Err(wrong("a chunk that does not follow the one before", chunk));
            }
            let ascends = firsts
                .last()
                .map_or(entry.first == 0, |&last| entry.first > last);
            if !ascends || entry.first >= self.footer.documents {
                return Err(wrong(
                    "a chunk whose documents are not those that come next",
                    chunk,
                ));
            }
            firsts.push(entry.first);
            end = entry.end();
        }
        if !self.follows(self.sections_at, end) {
            return Err(wrong(
                "chunks that do not end where the names begin",
                firsts.len(),
            ));
        }
        if firsts.is_empty() != (self.footer.documents == 0) {
            return Err(wrong("documents without chunks", 0));
        }
        Ok(firsts.into())
    }

    /// Whether something at `at` comes next behind `end`.
    fn follows(&self, at: u64, end: u64) -> bool {
        let gap = at.checked_sub(end);
        let aligned = self.footer.flags & flag::ALIGNED != 0 && at % ALIGN == 0;
        gap.is_some_and(|gap| gap == 0 || (aligned && gap < ALIGN))
    }

    /// Prepares [`find`](Self::find).
    fn find_ways(&mut self) {
        let per_chunk = self.footer.documents.checked_div(self.footer.chunks);
        self.shift = per_chunk.and_then(u32::checked_ilog2).unwrap_or(0);
        let mut guide = Vec::new();
        let mut chunk = 0_usize;
        for document in (0..self.footer.documents).step_by(1 << self.shift) {
            chunk = self.forward(chunk, document);
            guide.push(u32::try_from(chunk).unwrap_or(u32::MAX));
        }
        self.guide = guide.into();
    }

    /// The chunk of a document, at or behind `chunk`, one by one.
    #[inline]
    fn forward(&self, chunk: usize, document: u32) -> usize {
        let later = self.firsts.iter().skip(chunk.wrapping_add(1));
        let passed = later.take_while(|&&first| first <= document).count();
        chunk.wrapping_add(passed)
    }

    /// The chunk of a document of this commit, and its number in the chunk.
    #[inline]
    pub(super) fn find(&self, document: u32) -> Option<(usize, u32)> {
        if document >= self.footer.documents {
            return None;
        }
        let block = (document >> self.shift) as usize;
        let from = *self.guide.get(block)? as usize;
        let to = self.guide.get(block.wrapping_add(1));
        let to = to.map_or(self.firsts.len(), |&to| (to as usize).wrapping_add(1));
        let chunk = if to.saturating_sub(from) <= FEW {
            self.forward(from, document)
        } else {
            let firsts = self.firsts.get(from..to)?;
            let later = firsts.partition_point(|&first| first <= document);
            from.wrapping_add(later).wrapping_sub(1)
        };
        let first = *self.firsts.get(chunk)?;
        Some((chunk, document.wrapping_sub(first)))
    }

    /// How many documents a chunk has.
    #[inline]
    pub(super) fn count(&self, chunk: usize) -> usize {
        let first = self.firsts.get(chunk).copied().unwrap_or(0);
        let next = self.firsts.get(chunk.wrapping_add(1));
        let next = next.copied().unwrap_or(self.footer.documents);
        next.saturating_sub(first) as usize
    }

    /// What the index says of a chunk.
    #[inline]
    pub(super) fn entry(&self, source: &Source, chunk: usize) -> Option<Entry> {
        entry(self.index(source), chunk)
    }

    /// KEYS to INDEX.
    #[inline]
    pub(super) fn sections<'c>(&'c self, source: &'c Source) -> &'c [u8] {
        let footer = FOOTER as u64;
        match (&self.sections, source.mapped()) {
            (Some(bytes), _) => bytes
                .len()
                .checked_sub(FOOTER)
                .and_then(|end| bytes.get(..end)),
            (None, Some(map)) => {
                let end = usize::try_from(self.end.saturating_sub(footer)).ok();
                let start = usize::try_from(self.sections_at).ok();
                start.zip(end).and_then(|(start, end)| map.get(start..end))
            }
            _ => None,
        }
        .unwrap_or_default()
    }

    fn index_len(&self) -> u64 {
        u64::from(self.footer.chunks).saturating_mul(ENTRY as u64)
    }

    #[inline]
    pub(super) fn index<'c>(&'c self, source: &'c Source) -> &'c [u8] {
        let sections = self.sections(source);
        let len = usize::try_from(self.index_len()).ok();
        let start = len.and_then(|len| sections.len().checked_sub(len));
        start
            .and_then(|start| sections.get(start..))
            .unwrap_or_default()
    }

    /// The names and shapes of all its documents.
    ///
    /// # Errors
    /// V10 to V12.
    pub(super) fn dictionary<'c>(&'c self, source: &'c Source) -> Result<Dictionary<'c>> {
        let footer = &self.footer;
        let keys = footer.keys_len as usize;
        let shapes = keys.saturating_add(footer.shapes_len as usize);
        let pool = shapes.saturating_add(footer.pool_len as usize);
        let has_pool = footer.flags & flag::POOL != 0;
        if !has_pool && (footer.npool, footer.pool_len) != (0, 0) {
            let text = "a pool without its flag";
            return Err(wrong(ErrorKind::Malformed, "V12", text, self.footer_at()));
        }
        let pool = has_pool.then_some(((shapes, pool), footer.npool as usize));
        Dictionary::read(
            self.sections(source),
            ((0, keys), footer.nkeys as usize),
            ((keys, shapes), footer.nshapes as usize),
            pool,
        )
        .map_err(|error| shifted(error, self.sections_at))
    }
}
