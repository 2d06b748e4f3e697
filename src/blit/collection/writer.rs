//! Writing: documents into chunks, chunks into commits.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::layout::{self, Codec, Entry, Footer, ALIGN, END, HEADER};
use super::out::Out;
use super::source::Source;
use super::{chunks, commits, copy, files, io_error};
use crate::blit::json_in::push_json;
use crate::blit::{self, Duplicates, Options, Surrogates, View};
use crate::compress::Compressor;
use crate::{Error, ErrorKind, Result};

/// Most chunks of a commit.
const MOST_CHUNKS: u32 = 65_536;
/// A commit with so many bytes of names and shapes is closed.
const DICTIONARY: usize = 16 << 20;
/// Most bytes of source in a chunk, unless one document has more.
const MOST_CHUNK: usize = 256 << 20;
/// Most bytes of a chunk as it is read.
pub(super) const MOST_RAW: usize = 1 << 30;

/// How a collection is written. Further fields may come: end with `..WriteOptions::default()`.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    /// How documents are written. `checksum` means nothing here: every chunk has one.
    pub document: Options,
    /// What chunks are compressed by: zstd or lz4; as they are unless said.
    pub compressor: Option<Compressor>,
    /// Bytes of source in a chunk, from 1 to 256 MiB; 262,144 unless said.
    ///
    /// The document that reaches it is its last. Of JSON the bytes of text count; of other
    /// values those of strings, and 8 for each value.
    pub chunk_size: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            document: Options::default(),
            compressor: None,
            chunk_size: 262_144,
        }
    }
}

/// Appends documents to a collection.
///
/// What was not committed when the writer is dropped is cut off again, however much that is; a
/// collection that was started and never committed leaves nothing, and what it was to replace as
/// it was. Memory is that of one chunk, of the names and shapes of a commit, and 32 bytes for each
/// of its chunks.
///
/// # Example
/// ```
/// # use tare::blit::collection::{Collection, ReadOptions, WriteOptions};
/// use tare::compress::Compressor;
///
/// # let folder = std::env::temp_dir().join(format!("tare-writer-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("a.blits");
/// let options = WriteOptions {
///     compressor: Some(Compressor::parse("zstd:3")?),
///     ..WriteOptions::default()
/// };
/// let mut writer = Collection::append(&path, &options)?;
/// writer.push_with(|document| {
///     document.begin_object()?;
///     document.key("id")?;
///     document.int(1)?;
///     document.end()
/// })?;
/// assert_eq!(1, writer.commit()?);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer {
    out: Out,
    pub(super) values: blit::Writer<'static>,
    pub(super) options: WriteOptions,
    /// Where the next byte comes to lie.
    at: u64,
    /// Where what was committed ends, and the documents up to there.
    committed: (u64, u64),
    /// The same of the last part that was ended, which may be no commit yet.
    ended: (u64, u64),
    /// Where the parts end that become commits with the next one: their footers have no last
    /// bytes yet, so that no one takes them for such.
    unsealed: Vec<u64>,
    /// The index of the commit that is being written.
    index: Vec<u8>,
    chunks: u32,
    /// Documents in these chunks.
    documents: u32,
    /// Bytes of source in the chunk that is being gathered.
    source: usize,
    /// Something went wrong behind the last commit.
    is_broken: bool,
    /// What the first commit does to the name of the file.
    name: Name,
}

/// Whether a file has its name for good.
enum Name {
    Kept,
    /// It was made under its name, and goes again if nothing is committed.
    New(PathBuf),
    /// It takes the place of another one, which is locked until then.
    Beside(
        files::Replacement,
        #[allow(dead_code, reason = "kept locked")] File,
    ),
}

impl Writer {
    /// Writes a collection to what cannot be written to again elsewhere: a pipe, a socket.
    ///
    /// Its header does not say where it ends, so that what follows it makes it unreadable until
    /// it is repaired.
    ///
    /// # Errors
    /// `Usage` for options that exclude each other; what the system says.
    ///
    /// # Example
    /// ```
    /// use tare::blit::collection::{Writer, WriteOptions};
    ///
    /// let mut writer = Writer::to(std::io::sink(), &WriteOptions::default())?;
    /// writer.push_json(b"[1, 2]")?;
    /// writer.commit()?;
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn to(out: impl Write + Send + Sync + 'static, options: &WriteOptions) -> Result<Self> {
        check(options)?;
        let mut out = Out::Pipe(Box::new(out));
        out.write(&layout::header(0))?;
        Self::of(out, options, (HEADER, 0))
    }

    pub(super) fn create(path: &Path, options: &WriteOptions, replace: bool) -> Result<Self> {
        let create = || {
            check(options)?;
            let old = path.metadata().ok().filter(|_| replace);
            match old {
                Some(old) if old.is_file() => Self::replace(path, options),
                Some(_) => {
                    let pipe = File::options().write(true).open(path);
                    Self::to(pipe.map_err(io_error)?, options)
                }
                None => Self::new(path, options),
            }
        };
        create().map_err(|error| error.with_path(path))
    }

    /// A file under a name that there is not.
    fn new(path: &Path, options: &WriteOptions) -> Result<Self> {
        let file = files::create_locked(path)?;
        // A name that stays right when the process works in another folder.
        let named = path.canonicalize().map_err(io_error)?;
        let again = file.try_clone().map_err(io_error)?;
        let begun = Self::begin(file, path, options);
        let mut writer = begun.inspect_err(|_| files::remove(&again, &named))?;
        files::sync_folder(path);
        writer.name = Name::New(named);
        Ok(writer)
    }

    /// A file that takes the place of another one, which no other writer has until then.
    pub(super) fn replace(path: &Path, options: &WriteOptions) -> Result<Self> {
        check(options)?;
        let old = files::open_locked(path)?;
        let beside = files::Replacement::of(path)?;
        let file = beside.file.try_clone().map_err(io_error)?;
        let mut writer = Self::begin(file, path, options)?;
        writer.name = Name::Beside(beside, old);
        Ok(writer)
    }

    /// A file of no bytes, or of a part of a header.
    fn begin(file: File, path: &Path, options: &WriteOptions) -> Result<Self> {
        let mut out = Out::File(file, path.to_path_buf());
        out.cut(0)?;
        out.write(&layout::header(HEADER))?;
        Self::of(out, options, (HEADER, 0))
    }

    pub(super) fn append(path: &Path, options: &WriteOptions) -> Result<Self> {
        let append = || {
            check(options)?;
            if !path.try_exists().map_err(io_error)? {
                return Self::create(path, options, false);
            }
            let file = files::open_locked(path)?;
            let mut source = Source::whole(file.try_clone().map_err(io_error)?)?;
            if source.len() < HEADER {
                let head = source.read(0, source.len())?;
                if layout::header(HEADER).starts_with(&head) {
                    return Self::begin(file, path, options);
                }
            }
            let end = commits::settled_end(&mut source)?;
            let documents = if end == HEADER {
                0
            } else {
                let (footer, ..) = commits::check(&source, end)?;
                footer.before.saturating_add(footer.documents.into())
            };
            let told = source.read(8, 8)?.into_owned();
            let mut out = Out::File(file, path.to_path_buf());
            out.cut(end)?;
            if told != end.to_le_bytes() {
                // Found at the end of the file alone, where chunks will hide it.
                out.record(end)?;
            }
            Self::of(out, options, (end, documents))
        };
        append().map_err(|error| error.with_path(path))
    }

    fn of(out: Out, options: &WriteOptions, committed: (u64, u64)) -> Result<Self> {
        check(options)?;
        Ok(Self {
            out,
            values: blit::Writer::many(options.document)?,
            options: *options,
            at: committed.0,
            committed,
            ended: committed,
            unsealed: Vec::new(),
            index: Vec::new(),
            chunks: 0,
            documents: 0,
            source: 0,
            is_broken: false,
            name: Name::Kept,
        })
    }

    /// Keeps names that are there twice, and halves of surrogate pairs, where `other` says so: what
    /// [`Collection::like`](super::Collection::like) gives.
    ///
    /// # Errors
    /// `Usage` behind documents that are not committed.
    pub fn keep_as(&mut self, other: &Options) -> Result<()> {
        if self.len() > self.committed() {
            let text = "documents that are not committed: say what is kept before them";
            return Err(Error::new(ErrorKind::Usage, text).with_format("blit"));
        }
        let document = &mut self.options.document;
        if other.duplicates == Duplicates::Keep {
            document.duplicates = Duplicates::Keep;
        }
        if other.surrogates == Surrogates::Keep {
            document.surrogates = Surrogates::Keep;
        }
        self.values = blit::Writer::many(*document)?;
        Ok(())
    }

    /// Documents so far, committed or not.
    #[must_use]
    pub fn len(&self) -> u64 {
        let here = u64::from(self.documents).saturating_add(self.values.complete() as u64);
        self.ended.1.saturating_add(here)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Documents that are committed.
    #[must_use]
    pub fn committed(&self) -> u64 {
        self.committed.1
    }

    /// Documents whose names and shapes no longer count for those that come.
    pub(super) fn ended(&self) -> u64 {
        self.ended.1
    }

    /// Appends the value of a JSON text.
    ///
    /// # Errors
    /// As [`from_json`](blit::from_json), and nothing is appended; what the system says, and then
    /// everything behind the last commit is lost: [`rollback`](Self::rollback).
    pub fn push_json(&mut self, text: &[u8]) -> Result<()> {
        self.check()?;
        let mark = self.values.mark();
        let pushed = push_json(text, &mut self.values);
        self.keep(mark, pushed, text.len())
    }

    /// Appends a document of its own, or of another collection.
    ///
    /// # Errors
    /// `Malformed` where it is not what it says, `Limit` for more than 2^28 values, and nothing is
    /// appended; what the system says, as for [`push_json`](Self::push_json).
    pub fn push(&mut self, view: &View<'_>) -> Result<()> {
        self.push_with::<Error>(|writer| copy::copy(view, writer))
    }

    /// Appends the document whose events `write` gives to a writer.
    ///
    /// # Errors
    /// That of `write`, `Usage` if there is not exactly one complete value, and nothing is
    /// appended; what the system says, as for [`push_json`](Self::push_json).
    pub fn push_with<E: From<Error>>(
        &mut self,
        write: impl FnOnce(&mut blit::Writer<'static>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.check()?;
        let (mark, before) = (self.values.mark(), self.values.pending_bytes());
        if let Err(error) = write(&mut self.values) {
            self.values.discard(mark);
            return Err(error);
        }
        let source = self.values.pending_bytes().saturating_sub(before);
        Ok(self.keep(mark, Ok(()), source)?)
    }

    /// Makes sure that all documents so far survive a crash, and gives how many there are.
    ///
    /// They are one commit, or several: one ends by itself after 65,536 chunks and after 16 MiB of
    /// names and shapes. That counts only with this call: until then nobody sees such documents,
    /// and neither [`rollback`](Self::rollback) nor a crash keeps them. The first call, also
    /// without documents, gives a file that replaces another one its name.
    ///
    /// # Errors
    /// What the system says, as for [`push_json`](Self::push_json).
    pub fn commit(&mut self) -> Result<u64> {
        self.check()?;
        let pending = self.values.complete();
        let committed = self.whole(|writer| {
            if pending > 0 {
                writer.chunk(pending)?;
            }
            writer.close()?;
            writer.seal()
        });
        committed?;
        self.settle()?;
        Ok(self.committed.1)
    }

    /// Gives the file its name for good.
    fn settle(&mut self) -> Result<()> {
        if let Name::Beside(beside, _) = &mut self.name {
            let placed = beside.take_place();
            placed.map_err(|error| self.out.told(error))?;
        }
        self.name = Name::Kept;
        Ok(())
    }

    /// Drops all documents since the last [`commit`](Self::commit).
    ///
    /// # Errors
    /// `Usage` where it is written to a pipe; what the system says.
    pub fn rollback(&mut self) -> Result<()> {
        if matches!(self.out, Out::Pipe(_)) && self.at != self.committed.0 {
            let text = "what was written to a pipe cannot be taken back";
            return Err(Error::new(ErrorKind::Usage, text).with_format("blit"));
        }
        if self.at != self.committed.0 || self.is_broken {
            self.out.cut(self.committed.0)?;
        }
        self.values = blit::Writer::many(self.options.document)?;
        self.at = self.committed.0;
        self.ended = self.committed;
        self.unsealed.clear();
        self.index.clear();
        (self.chunks, self.documents, self.source) = (0, 0, 0);
        self.is_broken = false;
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if !self.is_broken {
            return Ok(());
        }
        let text = "writing failed before: rollback() to the last commit";
        Err(Error::new(ErrorKind::Usage, text).with_format("blit"))
    }

    /// Does what must be done to its end.
    pub(super) fn whole<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let done = work(self);
        self.is_broken |= done.is_err();
        done
    }

    /// Takes up the document that began at `mark`, and closes chunks and commits that are full.
    fn keep(&mut self, mark: blit::Mark, pushed: Result<()>, source: usize) -> Result<()> {
        let pending = self.values.complete();
        let one = mark.next() == pending && !self.values.is_open();
        let pushed = pushed.and_then(|()| {
            let text = "a document is exactly one complete value";
            let usage = || Error::new(ErrorKind::Usage, text).with_format("blit");
            one.then_some(()).ok_or_else(usage)
        });
        if let Err(error) = pushed {
            self.values.discard(mark);
            return Err(error);
        }
        // Values without text or elements count as well, so that chunks end.
        let source = source.max(1);
        let is_long = source >= self.options.chunk_size;
        self.whole(|writer| {
            let earlier = pending.saturating_sub(1);
            if is_long && earlier > 0 {
                writer.chunk(earlier)?;
            }
            writer.source = writer.source.saturating_add(source);
            if writer.source >= writer.options.chunk_size {
                writer.chunk(writer.values.complete())?;
                writer.close_if_full()?;
            }
            Ok(())
        })
    }

    /// Whether there are documents of a chunk that is not written.
    pub(super) fn is_begun(&self) -> bool {
        self.source > 0
    }

    /// Ends the part if the next chunk belongs to another commit.
    pub(super) fn close_if_full(&mut self) -> Result<()> {
        if self.is_full() {
            self.close()?;
        }
        Ok(())
    }

    /// Whether the next chunk belongs to another commit.
    fn is_full(&self) -> bool {
        // No chunk has more documents than bytes of source.
        let most = u32::try_from(self.options.chunk_size).unwrap_or(u32::MAX);
        self.chunks >= MOST_CHUNKS
            || self.documents.checked_add(most).is_none()
            || self.values.dictionary_bytes() >= DICTIONARY
    }

    /// Writes the first `n` documents that are not written.
    fn chunk(&mut self, n: usize) -> Result<()> {
        let raw = self.values.chunk(n)?;
        self.source = 0;
        let sizes = u32::try_from(raw.len()).ok().zip(u32::try_from(n).ok());
        let Some((size, n)) = sizes.filter(|_| raw.len() <= MOST_RAW) else {
            let text = "a document that takes more than 1 GiB";
            return Err(Error::new(ErrorKind::Limit, text).with_format("blit"));
        };
        let (codec, stored) = chunks::encode(raw, self.options.compressor.as_ref())?;
        self.store(codec, &stored, size, n)
    }

    /// Writes a chunk of `n` documents, which takes `size` bytes when it is read.
    pub(super) fn store(&mut self, codec: Codec, stored: &[u8], size: u32, n: u32) -> Result<()> {
        self.align()?;
        let entry = Entry {
            offset: self.at,
            stored: u32::try_from(stored.len()).unwrap_or(u32::MAX),
            raw: size,
            first: self.documents,
            codec,
            checksum: xxhash_rust::xxh3::xxh3_64(stored),
        };
        self.write(stored)?;
        entry.write(&mut self.index);
        self.chunks = self.chunks.saturating_add(1);
        self.documents = self.documents.saturating_add(n);
        Ok(())
    }

    /// Ends a part of which all documents are written: a commit, once it is sealed.
    fn close(&mut self) -> Result<()> {
        if self.chunks > 0 {
            self.align()?;
            let dictionary = self.values.dictionary();
            let count = |n: usize| {
                let text = "more than 4 GiB of names";
                let error = || Error::new(ErrorKind::Limit, text).with_format("blit");
                u32::try_from(n).map_err(|_| error())
            };
            let footer = Footer {
                start: self.ended.0,
                before: self.ended.1,
                documents: self.documents,
                chunks: self.chunks,
                nkeys: count(dictionary.nkeys)?,
                nshapes: count(dictionary.nshapes)?,
                npool: 0,
                keys_len: count(dictionary.keys.len())?,
                shapes_len: count(dictionary.shapes.len())?,
                pool_len: 0,
                flags: dictionary.flags,
            };
            let mut sections = dictionary.keys;
            sections.extend_from_slice(&dictionary.shapes);
            sections.append(&mut self.index);
            footer.write(0, &mut sections);
            // Whoever opens the file must not take the part for a commit: it may be cut off.
            let is_file = matches!(self.out, Out::File(..));
            if let Some((_, end)) = sections.split_last_chunk_mut().filter(|_| is_file) {
                *end = [0; END.len()];
            }
            self.write(&sections)?;
            if is_file {
                self.unsealed.push(self.at);
            }
            let documents = self.ended.1.saturating_add(self.documents.into());
            self.ended = (self.at, documents);
            (self.chunks, self.documents) = (0, 0);
        }
        Ok(())
    }

    /// Makes commits of all parts since the last one.
    fn seal(&mut self) -> Result<()> {
        if self.ended == self.committed {
            return Ok(());
        }
        if let Some((last, earlier)) = self.unsealed.split_last() {
            for end in earlier {
                self.out.seal(*end)?;
            }
            if !earlier.is_empty() {
                // The last one leads to these: it is not to be found without them.
                self.out.sync()?;
            }
            self.out.seal(*last)?;
        }
        self.out.record(self.at)?;
        self.unsealed.clear();
        self.committed = self.ended;
        Ok(())
    }

    /// Brings what comes next to a multiple of 64, where numbers are aligned.
    fn align(&mut self) -> Result<()> {
        const ZEROS: [u8; 64] = [0; 64];
        let ahead = self.at.next_multiple_of(ALIGN).saturating_sub(self.at);
        let gap = ZEROS.get(..usize::try_from(ahead).unwrap_or(0));
        match gap.filter(|_| self.options.document.aligned) {
            Some(gap) => self.write(gap),
            None => Ok(()),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.at == self.committed.0 {
            // What comes now hides the footer of the last commit: only the header tells of it.
            self.out.sync()?;
        }
        self.out.write(bytes)?;
        self.at = self.at.saturating_add(bytes.len() as u64);
        Ok(())
    }
}

/// Refuses options that no collection is written with, before any file is touched.
fn check(options: &WriteOptions) -> Result<()> {
    if !(1..=MOST_CHUNK).contains(&options.chunk_size) {
        let text = format!("chunk_size = {}: 1 to {MOST_CHUNK}", options.chunk_size);
        return Err(Error::new(ErrorKind::Usage, text).with_format("blit"));
    }
    if let Some(compressor) = &options.compressor {
        chunks::check_compressor(compressor)?;
    }
    blit::Writer::many(options.document).map(drop)
}

impl Drop for Writer {
    fn drop(&mut self) {
        let Out::File(file, _) = &self.out else {
            return;
        };
        if let (Name::New(path), HEADER) = (&self.name, self.committed.0) {
            files::remove(file, path);
        } else if self.at != self.committed.0 || self.is_broken {
            // Whoever appends next does the same.
            let _: Result<()> = self.out.cut(self.committed.0);
        }
    }
}
