//! Reading: any document, by its number.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::chunks::{self, Cache};
use super::commits::{self, Commit};
use super::docs::{Docs, Document, Part};
use super::layout::{Codec, Entry, HEADER};
use super::source::Source;
use super::{io_error, shifted, wrong, WriteOptions, Writer};
use crate::blit::doc::{Dictionary, Doc};
use crate::blit::layout::flag;
use crate::blit::place::Place;
use crate::blit::{validate, Duplicates, Options, Summary, Surrogates};
use crate::{Error, ErrorKind, Result};

/// How a collection is read. Further fields may come: end with `..ReadOptions::default()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Whether the file is mapped, so that chunks that are not compressed are read where they
    /// lie. Without it whole chunks are read, and the checksum of each is verified.
    ///
    /// A file that another program may cut must not be mapped: to touch bytes that are gone ends
    /// the process. What a [`Writer`] takes back is no such thing: it lies behind the last
    /// commit, and is not mapped.
    pub mmap: bool,
    /// Bytes of decoded chunks that are kept; 64 MiB unless said.
    pub cache: usize,
    /// Most bytes of one chunk; 1 GiB unless said.
    pub max_chunk: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            mmap: true,
            cache: 64 << 20,
            max_chunk: 1 << 30,
        }
    }
}

/// Documents in a file, as they were committed when it was opened.
///
/// Opening reads the names, shapes and index of every commit, and checks them; the documents are
/// not looked at. [`get`](Self::get) finds one; [`docs`](Self::docs) is quicker for many.
///
/// The chunks of mapped files are used as they are, unless they are compressed: their checksums
/// are verified by [`validate`](Self::validate) only. Other chunks are verified when they are
/// read.
#[derive(Debug)]
pub struct Collection {
    pub(super) source: Source,
    pub(super) commits: Vec<Commit>,
    cache: Cache,
    pub(super) options: ReadOptions,
    pub(super) len: u64,
}

impl Collection {
    /// Opens a collection.
    ///
    /// # Errors
    /// `Truncated` for a file that was cut, or whose last commit was not completed and not the
    /// first: [`repair`](super::repair()) helps. Others with their rule: `Malformed`,
    /// `Unsupported`, `ChecksumMismatch`; what the system says.
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let open = || Self::of(File::open(path).map_err(io_error)?, options);
        open().map_err(|error| error.with_path(path))
    }

    /// Opens a collection that is an open file.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn of(file: File, options: &ReadOptions) -> Result<Self> {
        let mut source = Source::whole(file)?;
        let end = commits::settled_end(&mut source)?;
        let source = source.up_to(end, options.mmap)?;
        let commits = commits::chain(&source, end)?;
        let documents = commits.last().map_or(0, |last| {
            let more = u64::from(last.footer.documents);
            last.footer.before.saturating_add(more)
        });
        Ok(Self {
            source,
            commits,
            cache: Cache::default(),
            options: *options,
            len: documents,
        })
    }

    /// Starts a collection. One that has the name is replaced by the first
    /// [`commit`](Writer::commit): until then, and if there is none, it is as it was, and no one
    /// else writes to it. Who has it open keeps it.
    ///
    /// # Errors
    /// `Usage` for options that exclude each other, and for a file that is being appended to;
    /// what the system says.
    pub fn create(path: impl AsRef<Path>, options: &WriteOptions) -> Result<Writer> {
        Writer::create(path.as_ref(), options, true)
    }

    /// Starts a collection under a name that there must not be.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_new(path: impl AsRef<Path>, options: &WriteOptions) -> Result<Writer> {
        Writer::create(path.as_ref(), options, false)
    }

    /// Goes on behind the last commit, or starts a collection if there is none.
    ///
    /// # Errors
    /// As [`create`](Self::create) and [`open`](Self::open).
    pub fn append(path: impl AsRef<Path>, options: &WriteOptions) -> Result<Writer> {
        Writer::append(path.as_ref(), options)
    }

    /// How many documents there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Options that its documents are written again with as they are: whether names that are
    /// there twice, and halves of surrogate pairs, are kept.
    #[must_use]
    pub fn like(&self) -> Options {
        let flags = self.commits.iter().map(|commit| commit.footer.flags);
        let flags = flags.fold(0, |all, flags| all | flags);
        let mut options = Options::default();
        if flags & flag::KEEPS_DUPLICATES != 0 {
            options.duplicates = Duplicates::Keep;
        }
        if flags & flag::WTF8 != 0 {
            options.surrogates = Surrogates::Keep;
        }
        options
    }

    /// How many commits there are.
    #[must_use]
    pub fn commits(&self) -> usize {
        self.commits.len()
    }

    /// How many chunks there are.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.commits.iter().map(Commit::chunks).sum()
    }

    /// Document `i`.
    ///
    /// # Errors
    /// `NotFound` from the length on; `Limit`, `ChecksumMismatch`, `Malformed` for its chunk.
    pub fn get(&self, i: u64) -> Result<Document<'_>> {
        let (which, commit, number) = self.find(i)?;
        Part::of(self, commit)?.document(self, which, number)
    }

    /// All documents: any one quicker than by [`get`](Self::get), and one after another.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn docs(&self) -> Result<Docs<'_>> {
        Docs::of(self)
    }

    /// Looks at every byte up to the end of the last commit, and tells how many these are.
    ///
    /// What is behind it is no part of the collection: another process may be writing it.
    ///
    /// # Errors
    /// The first rule that is broken, with its number and the byte in the file; offsets in
    /// compressed chunks count from where the chunk begins.
    pub fn validate(&self) -> Result<Summary> {
        let mut all = Summary::default();
        for commit in &self.commits {
            let dictionary = commit.dictionary(&self.source)?;
            self.validate_commit(commit, &dictionary, &mut all)?;
        }
        let end = self.commits.last().map_or(HEADER, |last| last.end);
        all.bytes = usize::try_from(end).unwrap_or(usize::MAX);
        Ok(all)
    }

    fn validate_commit(
        &self,
        commit: &Commit,
        dictionary: &Dictionary<'_>,
        all: &mut Summary,
    ) -> Result<()> {
        let footer = &commit.footer;
        let sections = commit.sections(&self.source);
        let names = Doc::part(sections, dictionary, footer.flags, Place::stored(0, (0, 0)));
        validate::dictionary(&names).map_err(|error| shifted(error, commit.sections_at))?;
        all.keys = all.keys.saturating_add(footer.nkeys as usize);
        all.shapes = all.shapes.saturating_add(footer.nshapes as usize);
        for chunk in 0..commit.chunks() {
            let entry = commit.entry(&self.source, chunk).ok_or_else(lost)?;
            let raw = &self.raw(&entry)?[..];
            let place = Place::element((0, raw.len()), Some(commit.count(chunk)), 0);
            let doc = Doc::part(raw, dictionary, footer.flags, place);
            let seen = validate::list(&doc, commit.count(chunk));
            let seen = seen.map_err(|error| shifted(error, entry.offset))?;
            all.depth = all.depth.max(seen.depth);
            for (kind, n) in seen.kinds {
                let sum = all.kinds.entry(kind).or_default();
                *sum = sum.saturating_add(n);
            }
        }
        Ok(())
    }

    /// The commit of document `i`, and its number in there.
    #[inline]
    pub(super) fn find(&self, i: u64) -> Result<(usize, &Commit, u32)> {
        let which = if self.commits.len() == 1 {
            0
        } else {
            let later = |commit: &Commit| commit.footer.before <= i;
            self.commits.partition_point(later).saturating_sub(1)
        };
        let commit = self.commits.get(which).filter(|_| i < self.len);
        let Some(commit) = commit else {
            return Err(self.not_there(i));
        };
        match u32::try_from(i.wrapping_sub(commit.footer.before)) {
            Ok(number) => Ok((which, commit, number)),
            Err(_) => Err(self.not_there(i)),
        }
    }

    #[cold]
    fn not_there(&self, i: u64) -> Error {
        let text = format!("no document {i}: there are {}", self.len);
        Error::new(ErrorKind::NotFound, text).with_format("blit")
    }

    /// The raw bytes of a chunk, checked.
    pub(super) fn raw(&self, entry: &Entry) -> Result<Cow<'_, [u8]>> {
        chunks::check_size(entry, self.options.max_chunk)?;
        let stored = self.source.read(entry.offset, entry.stored.into())?;
        chunks::check(entry, &stored)?;
        match entry.codec {
            Codec::None => Ok(stored),
            _ => chunks::decode(entry, &stored).map(Cow::Owned),
        }
    }

    /// The raw bytes of a chunk that cannot be used where it lies.
    pub(super) fn decoded(
        &self,
        which: usize,
        entry: &Entry,
        chunk: usize,
    ) -> Result<Arc<Vec<u8>>> {
        if let Some(found) = self.cache.get((which, chunk)) {
            return Ok(found);
        }
        let raw = Arc::new(self.raw(entry)?.into_owned());
        self.cache.put((which, chunk), &raw, self.options.cache);
        Ok(raw)
    }
}

#[cold]
pub(super) fn lost() -> Error {
    wrong(ErrorKind::Malformed, "C5", "a chunk that is not there", 0)
}
