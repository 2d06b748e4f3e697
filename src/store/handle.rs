//! The store: a driver, and what is the same over all of them.

use std::fmt;
use std::sync::Arc;

use crate::{Error, ErrorKind, Result};

use super::cache::Cache;
use super::seen::Seen;
use super::{
    check_key, Batch, Change, Driver, Expect, Hash, Hasher, Info, Key, KeyEntry, KeyRecord, NewKey,
    OpenOptions, Stat,
};

/// Keys that a listing asks its driver for at a time.
const PAGE: usize = 1000;

/// Keys that are deleted in one batch when a namespace is cleared.
const CLEARED: usize = 10_000;

/// Values under keys, each named by the hash of its bytes; see the [module](super).
///
/// Cheap to clone, shared between threads; the clones are one store.
#[derive(Clone)]
pub struct Store {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) driver: Box<dyn Driver>,
    pub(super) options: OpenOptions,
    pub(super) seen: Seen,
    pub(super) cache: Cache,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("url", &self.info().url)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// A store over a driver of the caller's own.
    #[must_use]
    pub fn new(driver: Box<dyn Driver>, options: OpenOptions) -> Self {
        let inner = Inner {
            cache: Cache::new(options.cache_bytes),
            seen: Seen::default(),
            driver,
            options,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// What the driver is and can do.
    #[must_use]
    pub fn info(&self) -> &Info {
        self.driver().info()
    }

    /// The storage behind it.
    #[must_use]
    pub fn driver(&self) -> &dyn Driver {
        self.inner.driver.as_ref()
    }

    /// How it was opened.
    #[must_use]
    pub fn options(&self) -> &OpenOptions {
        &self.inner.options
    }

    /// The hash that an object of these bytes has here, whether or not it is stored.
    #[must_use]
    pub fn hash_bytes(&self, parts: &[&[u8]]) -> Hash {
        let info = self.info();
        if let [one] = parts {
            return info.algorithm.hash(one, info.unhashed);
        }
        let mut hasher = Hasher::new(info.algorithm, info.unhashed);
        for part in parts {
            hasher.update(part);
        }
        hasher.finish()
    }

    /// What a key names.
    ///
    /// # Errors
    /// `KeyNotFound`, `KeyInvalid`; `Io`.
    pub fn get_record(&self, key: Key<'_>) -> Result<KeyRecord> {
        let found = self.get_records(&[key])?.pop().flatten();
        found.ok_or_else(|| self.no_key(key))
    }

    /// The hash of the object that a key names.
    ///
    /// # Errors
    /// As [`get_record`](Self::get_record).
    pub fn get_hash(&self, key: Key<'_>) -> Result<Hash> {
        self.get_record(key).map(|record| record.hash)
    }

    /// What keys name, in the order asked for; None where there is none.
    ///
    /// # Errors
    /// `KeyInvalid`; `Io`.
    pub fn get_records(&self, keys: &[Key<'_>]) -> Result<Vec<Option<KeyRecord>>> {
        keys.iter().try_for_each(|key| check_key(*key))?;
        self.driver().get_keys(keys)
    }

    /// Whether there is such a key. Its object is not looked at.
    ///
    /// # Errors
    /// As [`get_records`](Self::get_records).
    pub fn exists(&self, key: Key<'_>) -> Result<bool> {
        Ok(self.get_records(&[key])?.iter().any(Option::is_some))
    }

    /// Whether there are objects of these hashes.
    ///
    /// # Errors
    /// `Io`.
    pub fn exist_objects(&self, hashes: &[Hash]) -> Result<Vec<bool>> {
        let found = self.driver().stat_objects(hashes)?;
        Ok(found.iter().map(Option::is_some).collect())
    }

    /// Deletes keys; of each, whether it was there. Objects stay until they are collected.
    ///
    /// # Errors
    /// `KeyInvalid`, `ReadOnly`, `Busy`, `Io`.
    pub fn del(&self, keys: &[Key<'_>]) -> Result<Vec<bool>> {
        keys.iter().try_for_each(|key| check_key(*key))?;
        let changes = keys.iter().map(|key| Change {
            key: *key,
            to: None,
            expect: Expect::Any,
        });
        let before = self.change(changes.collect())?;
        Ok(before.iter().map(Option::is_some).collect())
    }

    /// Lets keys name what other keys name: no bytes are moved.
    ///
    /// # Errors
    /// `KeyNotFound` for the first that is missing; as [`del`](Self::del).
    pub fn duplicate(&self, pairs: &[(Key<'_>, Key<'_>)]) -> Result<Vec<Hash>> {
        let from: Vec<Key<'_>> = pairs.iter().map(|(from, _)| *from).collect();
        let records = self.get_records(&from)?;
        let mut found = Vec::with_capacity(pairs.len());
        for ((from, to), record) in pairs.iter().zip(records) {
            self.check_writable(*to)?;
            found.push((*to, record.ok_or_else(|| self.no_key(*from))?));
        }
        let changes = found.iter().map(|(key, record)| Change {
            key: *key,
            to: Some(NewKey {
                hash: record.hash,
                codec: &record.codec,
            }),
            expect: Expect::Any,
        });
        self.change(changes.collect())?;
        Ok(found.iter().map(|(_, record)| record.hash).collect())
    }

    /// Deletes all keys of a namespace; how many there were.
    ///
    /// # Errors
    /// As [`del`](Self::del).
    pub fn clear(&self, namespace: &str) -> Result<u64> {
        let mut cleared = 0;
        loop {
            let page = self.driver().list_keys(namespace, "", None, CLEARED)?;
            if page.is_empty() {
                return Ok(cleared);
            }
            let keys = page.iter().map(|entry| Key::new(namespace, &entry.key));
            let keys: Vec<Key<'_>> = keys.collect();
            let there = self.del(&keys)?;
            cleared += there.iter().filter(|there| **there).count() as u64;
        }
    }

    /// The keys of a namespace that begin with `prefix`, in the order of their bytes, page by page.
    ///
    /// Keys that are set or deleted meanwhile may or may not be among them.
    #[must_use]
    pub fn keys<'s>(&'s self, namespace: &'s str, prefix: &'s str) -> Keys<'s> {
        Keys {
            store: self,
            namespace,
            prefix,
            page: Vec::new().into_iter(),
            last: None,
            ended: false,
        }
    }

    /// The hashes of all objects, in their order, page by page.
    #[must_use]
    pub fn hashes(&self) -> Hashes<'_> {
        Hashes {
            store: self,
            page: Vec::new().into_iter(),
            last: None,
            ended: false,
        }
    }

    /// The namespaces that hold a key.
    ///
    /// # Errors
    /// `Io`.
    pub fn namespaces(&self) -> Result<Vec<String>> {
        self.driver().list_namespaces()
    }

    /// The hashes of the objects whose canonical hash this is.
    ///
    /// # Errors
    /// `Unsupported` where the driver keeps none; `Io`.
    pub fn find(&self, canonical: &Hash) -> Result<Vec<Hash>> {
        self.driver().find(canonical)
    }

    /// Makes all that was acknowledged last.
    ///
    /// # Errors
    /// `Io`.
    pub fn flush(&self) -> Result<()> {
        self.driver().flush()
    }

    /// How much it holds.
    ///
    /// # Errors
    /// `Io`.
    pub fn stat(&self) -> Result<Stat> {
        self.driver().stat()
    }

    /// Forgets what was kept in memory: cached objects, and which were verified.
    pub fn flush_cache(&self) {
        self.inner.cache.clear();
        self.inner.seen.clear();
    }

    /// Deletes the store and all that it holds.
    ///
    /// # Errors
    /// `ReadOnly`, `Io`.
    pub fn destroy(&self) -> Result<()> {
        self.flush_cache();
        self.driver().destroy()
    }

    pub(super) fn check_writable(&self, key: Key<'_>) -> Result<()> {
        check_key(key)?;
        self.driver().check_key(key)
    }

    pub(super) fn no_key(&self, key: Key<'_>) -> Error {
        Error::new(ErrorKind::KeyNotFound, format!("no key {key}"))
            .with_detail("key", key.key)
            .with_detail("namespace", key.namespace)
            .with_detail("store", &*self.info().url)
    }

    /// Changes of keys alone, in one batch; what they named before.
    fn change(&self, changes: Vec<Change<'_>>) -> Result<Vec<Option<Hash>>> {
        let batch = Batch {
            objects: Vec::new(),
            changes,
            durability: self.options().durability,
        };
        Ok(self.driver().apply(batch)?.before)
    }
}

/// The keys of a namespace; see [`Store::keys`].
pub struct Keys<'s> {
    store: &'s Store,
    namespace: &'s str,
    prefix: &'s str,
    page: std::vec::IntoIter<KeyEntry>,
    last: Option<String>,
    ended: bool,
}

impl Iterator for Keys<'_> {
    type Item = Result<KeyEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.page.next() {
                return Some(Ok(entry));
            }
            if self.ended {
                return None;
            }
            let driver = self.store.driver();
            let last = self.last.as_deref();
            match driver.list_keys(self.namespace, self.prefix, last, PAGE) {
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
                Ok(page) => {
                    self.ended = page.is_empty();
                    self.last = page.last().map(|entry| entry.key.clone());
                    self.page = page.into_iter();
                }
            }
        }
    }
}

/// The hashes of all objects; see [`Store::hashes`].
pub struct Hashes<'s> {
    store: &'s Store,
    page: std::vec::IntoIter<Hash>,
    last: Option<Hash>,
    ended: bool,
}

impl Iterator for Hashes<'_> {
    type Item = Result<Hash>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(hash) = self.page.next() {
                return Some(Ok(hash));
            }
            if self.ended {
                return None;
            }
            match self.store.driver().list_hashes(self.last.as_ref(), PAGE) {
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
                Ok(page) => {
                    self.ended = page.is_empty();
                    self.last = page.last().copied();
                    self.page = page.into_iter();
                }
            }
        }
    }
}
