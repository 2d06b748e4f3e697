//! The documents of a collection, ready to be found.

use super::chunks::{self, Bytes};
use super::commits::{self, Commit};
use super::field::Field;
use super::layout::{Codec, Entry};
use super::reader::{lost, Collection};
use crate::blit::doc::Doc;
use crate::blit::list::Extent;
use crate::blit::path::{self, Path};
use crate::blit::place::Place;
use crate::blit::{Value, View};
use crate::Result;

/// The documents of a collection, ready to be found.
///
/// # Example
/// ```
/// # use tare::blit::collection::{Collection, ReadOptions, WriteOptions};
/// # let folder = std::env::temp_dir().join(format!("tare-docs-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("a.blits");
/// # let mut writer = Collection::create(&path, &WriteOptions::default())?;
/// # writer.push_json(b"[1, 2]")?;
/// # writer.commit()?;
/// let collection = Collection::open(&path, &ReadOptions::default())?;
/// for document in collection.docs()?.iter() {
///     let text = document?.view().to_json(&Default::default())?;
///     assert_eq!(b"[1,2]"[..], text);
/// }
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Docs<'c> {
    pub(super) collection: &'c Collection,
    pub(super) parts: Box<[Part<'c>]>,
}

/// A commit, and what its documents are read with.
#[derive(Clone, Debug)]
pub(super) struct Part<'c> {
    pub(super) commit: &'c Commit,
    index: &'c [u8],
    /// All bytes of a mapped file, of which chunks are extents; else none.
    pub(super) doc: Doc<'c>,
}

impl<'c> Docs<'c> {
    pub(super) fn of(collection: &'c Collection) -> Result<Self> {
        let parts = collection.commits.iter();
        let parts: Result<_> = parts.map(|commit| Part::of(collection, commit)).collect();
        parts.map(|parts| Self { collection, parts })
    }

    /// How many documents there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.collection.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.collection.len == 0
    }

    /// Document `i`.
    ///
    /// # Errors
    /// As [`Collection::get`].
    #[inline]
    pub fn get(&self, i: u64) -> Result<Document<'c>> {
        let (which, _, number) = self.collection.find(i)?;
        let part = self.parts.get(which).ok_or_else(lost)?;
        part.document(self.collection, which, number)
    }

    /// Hands the value at a path of document `i` to `read`, or None if there is none: the
    /// quickest way to one field of many documents.
    ///
    /// A path that was compiled for one document is quicker for all of its commit.
    ///
    /// # Errors
    /// As [`Collection::get`]; `Malformed` for what is on the way.
    ///
    /// # Example
    /// ```
    /// # use tare::blit::collection::{Collection, ReadOptions, WriteOptions};
    /// use tare::blit::{Path, Value};
    /// # let folder = std::env::temp_dir().join(format!("tare-with-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("a.blits");
    /// # let mut writer = Collection::create(&path, &WriteOptions::default())?;
    /// # writer.push_json(br#"{"id": 7}"#)?;
    /// # writer.commit()?;
    /// # let collection = Collection::open(&path, &ReadOptions::default())?;
    /// let docs = collection.docs()?;
    /// let id = Path::parse("/id")?.compile(&docs.get(0)?.view())?;
    /// let is_seven = docs.with(0, &id, |value| matches!(value, Some(Value::Int(7))))?;
    /// assert!(is_seven);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn with<R>(
        &self,
        i: u64,
        path: &Path,
        read: impl FnOnce(Option<Value<'_>>) -> R,
    ) -> Result<R> {
        let (which, _, number) = self.collection.find(i)?;
        let part = self.parts.get(which).ok_or_else(lost)?;
        let found = part.find(number)?;
        if !part.lies_open(&found.entry) {
            let document = part.document_of(self.collection, which, &found)?;
            return document.view().get(path).map(read);
        }
        let at = self.extent(&found.entry)?;
        let place = Place::element(at, Some(found.count), found.i);
        path::below(&part.doc, place, path).map(read)
    }

    /// Where a chunk that lies open lies.
    #[inline]
    pub(super) fn extent(&self, entry: &Entry) -> Result<Extent> {
        chunks::check_size(entry, self.collection.options.max_chunk)?;
        let start = usize::try_from(entry.offset).map_err(|_| lost())?;
        Ok((start, start.saturating_add(entry.stored as usize)))
    }

    /// One field, for many documents: quicker than [`with`](Self::with) where these are alike.
    ///
    /// Takes about 150 bytes a chunk.
    ///
    /// # Example
    /// ```
    /// # use tare::blit::collection::{Collection, ReadOptions, WriteOptions};
    /// use tare::blit::{Path, Value};
    /// # let folder = std::env::temp_dir().join(format!("tare-field-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("a.blits");
    /// # let mut writer = Collection::create(&path, &WriteOptions::default())?;
    /// # for id in 0..3 {
    /// #     writer.push_json(format!("{{\"id\": {id}}}").as_bytes())?;
    /// # }
    /// # writer.commit()?;
    /// # let collection = Collection::open(&path, &ReadOptions::default())?;
    /// let docs = collection.docs()?;
    /// let ids = docs.field(&Path::parse("/id")?);
    /// let mut sum = 0;
    /// for i in 0..docs.len() {
    ///     ids.with(i, |id| {
    ///         if let Some(Value::Int(id)) = id {
    ///             sum += id;
    ///         }
    ///     })?;
    /// }
    /// assert_eq!(3, sum);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn field(&self, path: &Path) -> Field<'_> {
        Field::of(self, path)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Document<'c>>> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }
}

/// Where a document is.
struct Found {
    entry: Entry,
    chunk: usize,
    /// Documents of the chunk, and which of them it is.
    count: usize,
    i: usize,
}

impl<'c> Part<'c> {
    pub(super) fn of(collection: &'c Collection, commit: &'c Commit) -> Result<Self> {
        let dictionary = commit.dictionary(&collection.source)?;
        let bytes = collection.source.mapped().unwrap_or_default();
        let root = Place::stored(0, (0, 0));
        Ok(Self {
            commit,
            index: commit.index(&collection.source),
            doc: Doc::part(bytes, &dictionary, commit.footer.flags, root),
        })
    }

    #[inline]
    fn find(&self, number: u32) -> Result<Found> {
        let (chunk, i) = self.commit.find(number).ok_or_else(lost)?;
        let entry = self.entry(chunk)?;
        Ok(Found {
            entry,
            chunk,
            count: self.commit.count(chunk),
            i: i as usize,
        })
    }

    /// What the index says of a chunk.
    #[inline]
    pub(super) fn entry(&self, chunk: usize) -> Result<Entry> {
        commits::entry(self.index, chunk).ok_or_else(lost)
    }

    /// Whether a chunk is used where it lies.
    #[inline]
    pub(super) fn lies_open(&self, entry: &Entry) -> bool {
        entry.codec == Codec::None && !self.doc.data.is_empty()
    }

    #[inline]
    pub(super) fn document(
        &self,
        collection: &'c Collection,
        which: usize,
        number: u32,
    ) -> Result<Document<'c>> {
        let found = self.find(number)?;
        self.document_of(collection, which, &found)
    }

    fn document_of(
        &self,
        collection: &'c Collection,
        which: usize,
        found: &Found,
    ) -> Result<Document<'c>> {
        let entry = &found.entry;
        let bytes = if self.lies_open(entry) {
            chunks::check_size(entry, collection.options.max_chunk)?;
            let start = usize::try_from(entry.offset).map_err(|_| lost())?;
            let end = start.saturating_add(entry.stored as usize);
            Bytes::Lent(self.doc.data.get(start..end).ok_or_else(lost)?)
        } else {
            Bytes::Held(collection.decoded(which, entry, found.chunk)?)
        };
        let mut doc = self.doc;
        doc.data = &[];
        doc.trailer = bytes.len();
        doc.root = Place::element((0, bytes.len()), Some(found.count), found.i);
        Ok(Document {
            commit: which,
            bytes,
            doc,
        })
    }
}

/// A document of a collection.
#[derive(Clone, Debug)]
pub struct Document<'c> {
    commit: usize,
    bytes: Bytes<'c>,
    /// All but the bytes.
    doc: Doc<'c>,
}

impl Document<'_> {
    /// The number of its commit: documents of one have the same names with the same ids.
    #[must_use]
    #[inline]
    pub fn commit(&self) -> usize {
        self.commit
    }

    /// The document as it lies in its chunk: nothing is parsed.
    ///
    /// [`View::data`] are the bytes of the whole chunk.
    #[must_use]
    #[inline]
    pub fn view(&self) -> View<'_> {
        let mut doc: Doc<'_> = self.doc;
        doc.data = &self.bytes;
        View { doc }
    }
}
