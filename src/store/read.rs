//! Getting: stored bytes become plain ones, and are hashed before they are given.

use std::io::{self, Read};

use bytes::Bytes;

use crate::compress::{self, Kind, ReadOptions};
use crate::{Error, ErrorKind, Result};

use super::{Body, Fetched, Hash, Hasher, Key, KeyRecord, ObjectMeta, Store, Stored, Verify};

/// Bytes that are read and hashed at a time, while they are still in the processor's cache.
const STEP: usize = 256 << 10;

/// Most bytes that are made place for before any came, for each stored one, and at least.
const BELIEVED: (u64, u64) = (256, 64 << 20);

/// An object that was found: its bytes are read, and verified, when they are asked for.
pub struct Object {
    /// Its hash.
    pub hash: Hash,
    /// The codec of the key that it was found by, or of its first writer.
    pub codec: String,
    /// What is known of it.
    pub meta: ObjectMeta,
    store: Store,
    stored: Lies,
}

/// The stored bytes of an object, and where they lie.
struct Lies {
    body: Body,
    place: String,
    identity: Option<[u64; 4]>,
}

impl Store {
    /// The object that a key names.
    ///
    /// # Errors
    /// `KeyNotFound`; `ObjectNotFound` if the key names what does not exist; `KeyInvalid`, `Io`. Whether the
    /// bytes are what the hash says is told when they are read.
    pub fn get(&self, key: Key<'_>) -> Result<Object> {
        super::check_key(key)?;
        let mut tries = 0;
        loop {
            tries += 1;
            return match self.driver().fetch(&[key])?.pop() {
                Some(Fetched::Found(record, stored)) => Ok(self.object(record, stored)),
                // Between the reading of the key and of the object a collection can fall: once more.
                Some(Fetched::NoObject(_)) if tries == 1 => continue,
                Some(Fetched::NoObject(record)) => Err(self.no_object(&record.hash, Some(key))),
                _ => Err(self.no_key(key)),
            };
        }
    }

    /// What lies at keys, in the order asked for; None where there is no such key.
    ///
    /// # Errors
    /// As [`get`](Self::get), but for keys that do not exist.
    pub fn get_many(&self, keys: &[Key<'_>]) -> Result<Vec<Option<Object>>> {
        keys.iter().try_for_each(|key| super::check_key(*key))?;
        let fetched = self.driver().fetch(keys)?;
        let pairs = fetched.into_iter().zip(keys);
        pairs
            .map(|(fetched, key)| match fetched {
                Fetched::NoKey => Ok(None),
                Fetched::NoObject(_) => match self.get(*key) {
                    Err(error) if error.kind() == ErrorKind::KeyNotFound => Ok(None),
                    other => other.map(Some),
                },
                Fetched::Found(record, stored) => Ok(Some(self.object(record, stored))),
            })
            .collect()
    }

    /// The object of a hash, whether or not a key names it.
    ///
    /// # Errors
    /// `ObjectNotFound`, `Io`.
    pub fn get_object(&self, hash: &Hash) -> Result<Object> {
        let stored = self.driver().open_object(hash)?;
        let stored = stored.ok_or_else(|| self.no_object(hash, None))?;
        let record = KeyRecord {
            hash: *hash,
            codec: stored.meta.codec.clone(),
            time: 0,
        };
        Ok(self.object(record, stored))
    }

    pub(super) fn object(&self, record: KeyRecord, stored: Stored) -> Object {
        Object {
            hash: record.hash,
            codec: record.codec,
            meta: stored.meta,
            store: self.clone(),
            stored: Lies {
                body: stored.body,
                place: stored.place,
                identity: stored.identity,
            },
        }
    }

    fn no_object(&self, hash: &Hash, key: Option<Key<'_>>) -> Error {
        let named = key.map_or_else(String::new, |key| format!(", which the key {key} names"));
        let text = format!("no object {hash}{named}: `tare store check` lists all such keys");
        let mut error = Error::new(ErrorKind::ObjectNotFound, text)
            .with_detail("hash", hash.hex())
            .with_detail("store", &*self.info().url);
        if let Some(key) = key {
            error = error
                .with_detail("key", key.key)
                .with_detail("namespace", key.namespace);
        }
        error
    }

    /// Whether an object's bytes are what its hash says; what is not is noted as suspect.
    pub(super) fn is_whole(&self, hash: &Hash) -> Result<bool> {
        let Some(stored) = self.driver().open_object(hash)? else {
            return Ok(false);
        };
        let record = KeyRecord {
            hash: *hash,
            codec: String::new(),
            time: 0,
        };
        match self.object(record, stored).verify() {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Object {
    /// All plain bytes, verified as the store was told.
    ///
    /// # Errors
    /// `Corrupt`, with details `hash`, `place` and `store`; `Io`.
    pub fn bytes(self) -> Result<Bytes> {
        if let Some(kept) = self.store.inner.cache.get(&self.hash) {
            return Ok(kept);
        }
        let hash = self.hash;
        let store = self.store.clone();
        let mode = store.options().verify;
        let plain = self.read_whole(mode)?;
        store.inner.cache.put(hash, &plain);
        Ok(plain)
    }

    /// Whether these bytes, which lie in memory as they are, have the object's hash: what most small
    /// objects are, in one step.
    fn is_plain(&self, mode: Verify) -> bool {
        let info = self.store.info();
        match &self.stored.body {
            Body::Bytes(bytes) if self.meta.compressor == Kind::None && mode == Verify::Always => {
                self.meta
                    .plain_len
                    .is_none_or(|len| len == bytes.len() as u64)
                    && info.algorithm.hash(bytes, info.unhashed) == self.hash
            }
            _ => false,
        }
    }

    fn read_whole(self, mode: Verify) -> Result<Bytes> {
        if self.is_plain(mode) {
            if let Body::Bytes(bytes) = self.stored.body {
                self.store.inner.seen.add(self.hash, self.stored.identity);
                return Ok(Bytes::from(bytes));
            }
        }
        let mut judge = self.judge()?;
        if mode == Verify::Always {
            judge.always();
        }
        let plain = match (self.meta.compressor, self.stored.body) {
            (Kind::None, Body::Bytes(bytes)) => {
                judge.take(&bytes);
                bytes
            }
            (Kind::None, Body::File(file)) => plain_file(file, &mut judge)?,
            (Kind::None, Body::Reader(reader)) => plain_file(reader, &mut judge)?,
            (_, Body::Bytes(bytes)) if self.meta.plain_len.is_some_and(|len| len <= 1 << 20) => {
                let options = judge.options(Some(1));
                let plain = compress::decompress(&bytes, &options);
                let plain = plain.map_err(|error| judge.unreadable(error))?;
                judge.take(&plain);
                plain
            }
            (_, body) => judge.unpack(body)?,
        };
        judge.end(Some(&plain))?;
        Ok(Bytes::from(plain))
    }

    /// The same object, its stored bytes read through something.
    pub(super) fn through<R: Read + Send + 'static>(
        mut self,
        wrap: impl FnOnce(Body) -> R,
    ) -> Self {
        let body = std::mem::replace(&mut self.stored.body, Body::Bytes(Vec::new()));
        self.stored.body = Body::Reader(Box::new(wrap(body)));
        self
    }

    /// How many plain bytes to make place for before any came: what the record says, where the stored bytes can hold
    /// so many. None where they hardly can: then place is made as they come.
    #[must_use]
    pub fn likely_len(&self) -> Option<u64> {
        let stored = self.stored.body.stored_len();
        let stored = stored.unwrap_or(self.meta.stored_len);
        let most = match self.meta.compressor {
            Kind::None => stored,
            _ => most_plain(stored),
        };
        self.meta.plain_len.filter(|plain| *plain <= most)
    }

    /// Reads all bytes and gives none: whether they are what the hash says, in little memory.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    pub fn verify(self) -> Result<()> {
        if matches!(self.stored.body, Body::Bytes(_)) && self.meta.compressor == Kind::None {
            return self.read_whole(Verify::Always).map(drop);
        }
        let mut reader = self.checked(Verify::Always)?;
        let mut place = vec![0; STEP];
        while reader.pull(&mut place)? > 0 {}
        Ok(())
    }

    /// The plain bytes by and by. Their hash is compared before the end is told: a caller that has seen the
    /// end without an error has the right bytes.
    ///
    /// # Errors
    /// `Io`; reading gives `Corrupt` as [`bytes`](Self::bytes) does.
    pub fn reader(self) -> Result<Verified> {
        let mode = self.store.options().verify;
        self.checked(mode)
    }

    fn checked(self, mode: Verify) -> Result<Verified> {
        let mut judge = self.judge()?;
        if mode == Verify::Always {
            judge.always();
        }
        let source = self.stored.body.into_reader();
        let source = if self.meta.compressor == Kind::None {
            Origin::Plain(source)
        } else {
            let options = judge.options(self.store.options().threads);
            let reader = compress::Reader::new(source, options);
            Origin::Packed(Box::new(reader.map_err(|error| judge.unreadable(error))?))
        };
        Ok(Verified {
            source,
            judge: Some(judge),
        })
    }

    /// What decides whether the bytes are right; a record whose lengths cannot be is refused before any is read.
    ///
    /// # Errors
    /// `Corrupt`.
    fn judge(&self) -> Result<Judge> {
        let judge = self.new_judge();
        let expected = self.meta.stored_len;
        if let Some(there) = self
            .stored
            .body
            .stored_len()
            .filter(|there| *there != expected)
        {
            let text = format!("has {there} stored bytes, its record says {expected}");
            return Err(judge.corrupt(&text));
        }
        Ok(judge)
    }

    fn new_judge(&self) -> Judge {
        let info = self.store.info();
        let identity = self.stored.identity;
        let wanted = match self.store.options().verify {
            Verify::Always => true,
            Verify::Once => !self.store.inner.seen.is_same(&self.hash, identity),
            Verify::Never => false,
        };
        let hasher = Hasher::new(info.algorithm, info.unhashed);
        Judge {
            hasher: wanted.then_some(hasher),
            came: 0,
            hash: self.hash,
            meta: self.meta.clone(),
            is_measured: self.stored.body.stored_len().is_some(),
            place: self.stored.place.clone(),
            identity,
            store: self.store.clone(),
        }
    }
}

/// Plain bytes of an object, whose end is told only if they are what the hash says.
pub struct Verified {
    source: Origin,
    /// None once it has judged.
    judge: Option<Judge>,
}

enum Origin {
    Plain(Box<dyn Read + Send>),
    Packed(Box<compress::Reader<Box<dyn Read + Send>>>),
}

impl Verified {
    /// The next bytes; 0 at the end, which is told only if all were right.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn pull(&mut self, into: &mut [u8]) -> Result<usize> {
        let Some(judge) = &mut self.judge else {
            return Ok(0);
        };
        if into.is_empty() {
            return Ok(0);
        }
        let got = match &mut self.source {
            Origin::Plain(source) => read_some(source, into, &judge.place)?,
            Origin::Packed(reader) => reader.pull(into).map_err(|error| judge.unreadable(error))?,
        };
        judge.take(into.get(..got).unwrap_or_default());
        if got == 0 {
            if let Some(judge) = self.judge.take() {
                judge.end(None)?;
            }
        }
        Ok(got)
    }
}

impl Read for Verified {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.pull(into).map_err(io::Error::from)
    }
}

/// What decides whether the bytes of an object are right.
struct Judge {
    /// None where nothing is to be hashed.
    hasher: Option<Hasher>,
    came: u64,
    hash: Hash,
    meta: ObjectMeta,
    /// Whether the stored length is that of the bytes, not what a record says alone.
    is_measured: bool,
    place: String,
    identity: Option<[u64; 4]>,
    store: Store,
}

impl Judge {
    fn take(&mut self, plain: &[u8]) {
        self.came += plain.len() as u64;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(plain);
        }
    }

    fn always(&mut self) {
        if self.hasher.is_none() {
            let info = self.store.info();
            self.hasher = Some(Hasher::new(info.algorithm, info.unhashed));
        }
    }

    fn options(&self, threads: Option<usize>) -> ReadOptions {
        ReadOptions {
            kind: Some(self.meta.compressor),
            threads,
            max_output: self.meta.plain_len,
            ..ReadOptions::default()
        }
    }

    /// Plain bytes of a compressed body, all in memory, with few beside them.
    fn unpack(&mut self, body: Body) -> Result<Vec<u8>> {
        let source = body.into_reader();
        let options = self.options(self.store.options().threads);
        let mut reader =
            compress::Reader::new(source, options).map_err(|error| self.unreadable(error))?;
        let most = most_plain(self.meta.stored_len);
        let likely = self.meta.plain_len.unwrap_or(0).min(most);
        let mut plain = Vec::with_capacity(usize::try_from(likely).unwrap_or(0));
        loop {
            let held = reader.fill().map_err(|error| self.unreadable(error))?;
            if held.is_empty() {
                return Ok(plain);
            }
            let got = held.len();
            plain.extend_from_slice(held);
            self.take(plain.get(plain.len() - got..).unwrap_or_default());
            io::BufRead::consume(&mut reader, got);
        }
    }

    /// The verdict, once all bytes came.
    fn end(self, plain: Option<&[u8]>) -> Result<()> {
        if let Some(expected) = self.meta.plain_len.filter(|len| *len != self.came) {
            let text = format!("has {} plain bytes, its record says {expected}", self.came);
            return Err(self.corrupt(&text));
        }
        let Some(hasher) = self.hasher.clone() else {
            return Ok(());
        };
        let got = hasher.finish();
        if got != self.hash && !self.is_other_form(plain)? {
            let text = format!("hashes to {got}");
            return Err(self.corrupt(&text).with_detail("got", got.hex()));
        }
        self.store.inner.seen.add(self.hash, self.identity);
        Ok(())
    }

    /// Whether these are another form of the value that the hash names; a stream is read a second time.
    fn is_other_form(&self, plain: Option<&[u8]>) -> Result<bool> {
        let driver = self.store.driver();
        let found = if let Some(mut plain) = plain {
            driver.rehash(&mut plain)
        } else {
            let Some(stored) = driver.open_object(&self.hash)? else {
                return Ok(false);
            };
            let options = ReadOptions {
                max_output: None,
                ..self.options(self.store.options().threads)
            };
            let mut reader = compress::Reader::new(stored.body.into_reader(), options)?;
            driver.rehash(&mut reader)
        };
        match found {
            Ok(found) => Ok(found == Some(self.hash)),
            // What cannot be decoded is damaged.
            Err(error) if error.kind() != ErrorKind::Io => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What a decompressor said of damaged bytes; other errors stay as they are.
    fn unreadable(&self, error: Error) -> Error {
        let damaged = matches!(
            error.kind(),
            ErrorKind::Truncated
                | ErrorKind::Malformed
                | ErrorKind::ChecksumMismatch
                | ErrorKind::Limit
                | ErrorKind::Unsupported
        );
        if !damaged {
            return error;
        }
        let offset = error.offset();
        let mut corrupt = self.corrupt(&format!("does not decompress: {error}"));
        if let Some(offset) = offset {
            corrupt = corrupt.with_detail("offset", offset.to_string());
        }
        corrupt.with_source(error)
    }

    fn corrupt(&self, what: &str) -> Error {
        self.store.inner.seen.remove(&self.hash);
        self.store.inner.cache.remove(&self.hash);
        self.store.driver().mark_suspect(&self.hash);
        let text = format!(
            "the object {} in {} is damaged: it {what}; setting its value again mends it",
            self.hash, self.place
        );
        Error::new(ErrorKind::Corrupt, text)
            .with_detail("hash", self.hash.hex())
            .with_detail("place", &*self.place)
            .with_detail("store", &*self.store.info().url)
    }
}

/// Most plain bytes that are made place for before any came.
fn most_plain(stored: u64) -> u64 {
    let (for_each, at_least) = BELIEVED;
    stored.saturating_mul(for_each).max(at_least)
}

/// All of a file that is not compressed, hashed while it is read.
fn plain_file(mut file: impl Read, judge: &mut Judge) -> Result<Vec<u8>> {
    let expected = judge.meta.stored_len;
    // What a driver gives as a stream does not tell its length: place for more is made as it comes.
    let likely = if judge.is_measured {
        expected
    } else {
        expected.min(BELIEVED.1)
    };
    let mut plain = Vec::with_capacity(usize::try_from(likely).unwrap_or(0));
    loop {
        let before = plain.len();
        let got = file.by_ref().take(STEP as u64).read_to_end(&mut plain);
        got.map_err(|error| unreadable(error, &judge.place))?;
        if plain.len() == before {
            return Ok(plain);
        }
        judge.take(plain.get(before..).unwrap_or_default());
        if judge.came > expected {
            return Ok(plain); // longer than its record: judged by its length
        }
    }
}

fn read_some(source: &mut impl Read, into: &mut [u8], place: &str) -> Result<usize> {
    loop {
        match source.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other.map_err(|error| unreadable(error, place)),
        }
    }
}

fn unreadable(error: io::Error, place: &str) -> Error {
    Error::new(ErrorKind::Io, format!("{place} cannot be read: {error}")).with_source(error)
}

impl Body {
    /// How many stored bytes there are; None where only reading tells.
    fn stored_len(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::File(file) => file.metadata().ok().map(|about| about.len()),
            Self::Reader(_) => None,
        }
    }

    /// Its stored bytes as a stream.
    #[must_use]
    pub fn into_reader(self) -> Box<dyn Read + Send> {
        match self {
            Self::Bytes(bytes) => Box::new(io::Cursor::new(bytes)),
            Self::File(file) => Box::new(file) as Box<dyn Read + Send>,
            Self::Reader(reader) => reader,
        }
    }
}
