//! Setting: plain bytes are hashed, compressed and staged; then one batch names them.

use std::borrow::Cow;
use std::io::Read;

use crate::compress::{self, Compressor, Kind, WriteOptions};
use crate::{Error, ErrorKind, Result};

use super::packing::{is_worth, LEAST_PACKED};
use super::writer::nothing_made;
use super::{
    Batch, Change, Durability, Hash, Key, NewBody, NewKey, NewObject, ObjectMeta, Packing,
    SetOptions, Store,
};

/// Stored objects up to this size are handed to the driver whole.
pub(super) const SMALL: usize = 64 << 10;

/// Hashes of so few bytes do not tell values apart.
pub(super) const WEAK_BYTES: usize = 4;

/// Where the plain bytes of a value come from.
pub enum Source<'a> {
    /// Parts in memory, one behind the other: hashed first, so that what exists is not written again.
    Bytes(&'a [&'a [u8]]),
    /// A stream, read once to its end.
    Read(&'a mut dyn Read),
}

/// What lies at a hash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum There {
    Absent,
    Whole,
    Damaged,
}

/// An object that is ready to be named.
pub(super) struct Ready<'a> {
    pub(super) hash: Hash,
    /// None if it exists already, and was found whole.
    pub(super) object: Option<NewObject<'a>>,
}

impl Store {
    /// Sets a key to an object of these bytes, which `codec` made.
    ///
    /// # Errors
    /// `KeyInvalid` before anything is written; `Conflict` if the key is not what was expected; `NoSpace`,
    /// `Busy`, `ReadOnly`, `Io`: nothing was changed then.
    pub fn set(
        &self,
        key: Key<'_>,
        codec: &str,
        source: Source<'_>,
        options: &SetOptions,
    ) -> Result<Hash> {
        self.check_writable(key)?;
        match source {
            Source::Bytes(parts) => {
                let hashes = self.set_many(&[(key, codec, parts)], options)?;
                hashes.first().copied().ok_or_else(nothing_made)
            }
            Source::Read(reader) => {
                let mut writer = self.writer(codec, options)?;
                writer.take_all(reader)?;
                writer.name(key)
            }
        }
    }

    /// Sets keys to objects, all in one batch: where the driver has `atomic_batch`, all or none. Of two
    /// values for a key the later stands.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn set_many(
        &self,
        values: &[(Key<'_>, &str, &[&[u8]])],
        options: &SetOptions,
    ) -> Result<Vec<Hash>> {
        for (key, codec, _) in values {
            self.check_writable(*key)?;
            self.check_codec(codec)?;
        }
        let mut rewrite = false;
        loop {
            let mut objects = Vec::with_capacity(values.len());
            let mut changes = Vec::with_capacity(values.len());
            let mut hashes = Vec::with_capacity(values.len());
            for (key, codec, parts) in values {
                let ready = self.ready(codec, parts, options, rewrite)?;
                changes.push(Change {
                    key: *key,
                    to: Some(NewKey {
                        hash: ready.hash,
                        codec,
                    }),
                    expect: options.expect,
                });
                hashes.push(ready.hash);
                objects.extend(ready.object);
            }
            let batch = Batch {
                objects,
                changes,
                durability: self.durability(options),
            };
            match self.apply(batch) {
                // What existed was collected between the look at it and the batch: write it.
                Err(error) if error.kind() == ErrorKind::ObjectNotFound && !rewrite => {
                    rewrite = true;
                }
                Err(error) => return Err(error),
                Ok(doubtful) if doubtful.is_empty() || rewrite => return Ok(hashes),
                // Small objects that were there before this process saw them: are they whole?
                Ok(doubtful) => {
                    if self.are_whole(&doubtful)? {
                        return Ok(hashes);
                    }
                    rewrite = true;
                }
            }
        }
    }

    /// Stores an object that no key names; it is collected after grace unless a key comes to name it.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn set_object(
        &self,
        codec: &str,
        source: Source<'_>,
        options: &SetOptions,
    ) -> Result<Hash> {
        let parts = match source {
            Source::Bytes(parts) => parts,
            Source::Read(reader) => {
                let mut writer = self.writer(codec, options)?;
                writer.take_all(reader)?;
                return writer.keep();
            }
        };
        for rewrite in [false, true] {
            let ready = self.ready(codec, parts, options, rewrite)?;
            let doubtful = self.apply(Batch {
                objects: ready.object.into_iter().collect(),
                changes: Vec::new(),
                durability: self.durability(options),
            })?;
            if rewrite || self.are_whole(&doubtful)? {
                return Ok(ready.hash);
            }
        }
        Err(nothing_made())
    }

    /// Sets all of these keys to one object.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn fill(
        &self,
        keys: &[Key<'_>],
        codec: &str,
        parts: &[&[u8]],
        options: &SetOptions,
    ) -> Result<Hash> {
        keys.iter().try_for_each(|key| self.check_writable(*key))?;
        let Some((first, rest)) = keys.split_first() else {
            return self.set_object(codec, Source::Bytes(parts), options);
        };
        let hash = self.set(*first, codec, Source::Bytes(parts), options)?;
        let changes = rest.iter().map(|key| Change {
            key: *key,
            to: Some(NewKey { hash, codec }),
            expect: options.expect,
        });
        self.apply(Batch {
            objects: Vec::new(),
            changes: changes.collect(),
            durability: self.durability(options),
        })?;
        Ok(hash)
    }

    pub(super) fn check_codec(&self, codec: &str) -> Result<()> {
        let info = self.info();
        if info.read_only {
            let text = format!("{} is open for reading only", info.url);
            return Err(Error::new(ErrorKind::ReadOnly, text));
        }
        match info.codec {
            Some(fixed) if fixed != codec => {
                let text = format!("a {} store holds {fixed} only, not {codec}", info.driver);
                Err(Error::new(ErrorKind::Unsupported, text))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn durability(&self, options: &SetOptions) -> Durability {
        options.durability.unwrap_or(self.options().durability)
    }

    /// The compressor that a layout fixes, else what the caller wishes, else the store's.
    pub(super) fn packing(&self, options: &SetOptions) -> Packing {
        match self.info().compressor {
            Some(fixed) => Packing::Fixed(fixed),
            None => options.packing.unwrap_or(self.options().packing),
        }
    }

    /// Hashes parts in memory, and makes an object of them unless there is one.
    pub(super) fn ready<'a>(
        &self,
        codec: &str,
        parts: &[&'a [u8]],
        options: &SetOptions,
        rewrite: bool,
    ) -> Result<Ready<'a>> {
        self.check_codec(codec)?;
        let hash = self.hash_bytes(parts);
        let total: usize = parts.iter().map(|part| part.len()).sum();
        if total > SMALL {
            let there = self.state_of(&hash, total as u64)?;
            if there == There::Whole && !rewrite {
                return Ok(Ready { hash, object: None });
            }
            let mut writer = self.writer(codec, options)?;
            writer.expect(hash, total as u64);
            parts.iter().try_for_each(|part| writer.push(part))?;
            let (_, mut object) = writer.staged()?;
            object.replace = there == There::Damaged;
            return Ok(Ready {
                hash,
                object: Some(object),
            });
        }
        let plain: Cow<'a, [u8]> = match parts {
            [one] => Cow::Borrowed(one),
            many => Cow::Owned(many.concat()),
        };
        let object = small(hash, plain, codec, self.packing(options), options, rewrite)?;
        Ok(Ready {
            hash,
            object: Some(object),
        })
    }

    /// What is known, or found out, of an object of so many plain bytes: its length always, its bytes once.
    fn state_of(&self, hash: &Hash, plain_len: u64) -> Result<There> {
        // Different values share a short hash soon: the driver compares their bytes.
        if hash.as_bytes().len() <= WEAK_BYTES {
            return Ok(There::Absent);
        }
        let Some(Some(meta)) = self.driver().stat_objects(&[*hash])?.pop() else {
            return Ok(There::Absent);
        };
        let whole = meta.plain_len.is_none_or(|len| len == plain_len)
            && (self.inner.seen.has(hash) || self.is_whole(hash)?);
        Ok(if whole { There::Whole } else { There::Damaged })
    }

    fn are_whole(&self, hashes: &[Hash]) -> Result<bool> {
        for hash in hashes {
            if !self.is_whole(hash)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Applies a batch; of its objects, the ones that were there and that this process has not seen whole.
    pub(super) fn apply(&self, batch: Batch<'_>) -> Result<Vec<Hash>> {
        let hashes: Vec<Hash> = batch.objects.iter().map(|object| object.hash).collect();
        let applied = self.driver().apply(batch)?;
        let mut doubtful = Vec::new();
        for (hash, created) in hashes.into_iter().zip(applied.created) {
            if created {
                self.inner.seen.add(hash, None);
            } else if !self.inner.seen.has(&hash) {
                doubtful.push(hash);
            }
        }
        Ok(doubtful)
    }
}

/// A small object, compressed if that makes it clearly smaller.
pub(super) fn small<'a>(
    hash: Hash,
    plain: Cow<'a, [u8]>,
    codec: &str,
    packing: Packing,
    options: &SetOptions,
    replace: bool,
) -> Result<NewObject<'a>> {
    let plain_len = plain.len() as u64;
    let (kind, stored) = packed(plain, packing)?;
    Ok(NewObject {
        hash,
        meta: ObjectMeta {
            plain_len: Some(plain_len),
            stored_len: stored.len() as u64,
            compressor: kind,
            codec: codec.to_owned(),
        },
        body: NewBody::Bytes(stored),
        replace,
        canonical: options.canonical,
    })
}

fn packed(plain: Cow<'_, [u8]>, packing: Packing) -> Result<(Kind, Cow<'_, [u8]>)> {
    let options = one_thread(plain.len() as u64);
    let compressor = match packing {
        Packing::Fixed(compressor) => compressor,
        _ if plain.len() < LEAST_PACKED => return Ok((Kind::None, plain)),
        Packing::With(compressor) => compressor,
        Packing::Auto => {
            let zstd = Compressor::new(Kind::Zstd, Some(3))?;
            let stored = compress::compress(&plain, &zstd, &options)?;
            return Ok(if is_worth(plain.len(), stored.len()) {
                (Kind::Zstd, Cow::Owned(stored))
            } else {
                (Kind::None, plain)
            });
        }
    };
    let stored = match compressor.kind() {
        Kind::None => plain,
        _ => Cow::Owned(compress::compress(&plain, &compressor, &options)?),
    };
    Ok((compressor.kind(), stored))
}

fn one_thread(plain_len: u64) -> WriteOptions {
    WriteOptions {
        threads: Some(1),
        content_size: Some(plain_len),
        ..WriteOptions::default()
    }
}
