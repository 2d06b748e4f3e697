//! Objects and keys in memory: for tests, for what need not last, and as the measure of other drivers.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::ops::Bound;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::store::fork::{lock, Locked};
use crate::store::{
    Action, Algorithm, Applied, Batch, Body, Driver, Expect, Finding, GcOptions, GcReport, Hash,
    Info, Key, KeyEntry, KeyRecord, NewBody, ObjectHint, ObjectMeta, Sink, Staged, Stat, Stored,
};
use crate::{Error, ErrorKind, Result};

/// A store in memory. Those opened under one name share what they hold.
pub struct MemoryDriver {
    info: Info,
    held: Arc<Mutex<Held>>,
}

#[derive(Default)]
struct Held {
    objects: BTreeMap<Hash, HeldObject>,
    keys: BTreeMap<(String, String), KeyRecord>,
}

struct HeldObject {
    meta: ObjectMeta,
    stored: Vec<u8>,
    canonical: Option<Hash>,
    names: u64,
    /// When the last name went, or the object came.
    unnamed: SystemTime,
}

/// Opens a store of its own for an empty name, else the one of this name.
#[must_use]
pub fn open(name: &str) -> MemoryDriver {
    static NAMED: OnceLock<Mutex<HashMap<String, Arc<Mutex<Held>>>>> = OnceLock::new();
    let held = if name.is_empty() {
        Arc::default()
    } else {
        let named = NAMED.get_or_init(Mutex::default);
        let mut named = lock(named);
        Arc::clone(named.entry(name.to_owned()).or_default())
    };
    MemoryDriver {
        info: Info {
            driver: "memory",
            url: format!("memory:{name}"),
            algorithm: Algorithm::Blake3,
            unhashed: 0,
            codec: None,
            compressor: None,
            atomic_batch: true,
            conditions: true,
            multi_process: false,
            multi_host: false,
            synced_by: "memory",
            read_only: false,
            options: Vec::new(),
        },
        held,
    }
}

impl MemoryDriver {
    fn lock(&self) -> Locked<'_, Held> {
        lock(&self.held)
    }
}

impl Held {
    /// Whether every change may happen; the first that may not is the error.
    fn check(&self, batch: &Batch<'_>) -> Result<()> {
        let mut seen: HashMap<Key<'_>, Option<Hash>> = HashMap::new();
        for change in &batch.changes {
            let now = seen
                .get(&change.key)
                .copied()
                .unwrap_or_else(|| self.key(change.key).map(|record| record.hash));
            let fits = match change.expect {
                Expect::Any => true,
                Expect::Absent => now.is_none(),
                Expect::Is(hash) => now == Some(hash),
            };
            if !fits {
                return Err(conflict(change.key, now));
            }
            let to = change.to.map(|to| to.hash);
            let exists = |hash| {
                self.objects.contains_key(&hash) || batch.objects.iter().any(|new| new.hash == hash)
            };
            if let Some(hash) = to.filter(|hash| !exists(*hash)) {
                return Err(Error::new(
                    ErrorKind::ObjectNotFound,
                    format!("no object {hash}"),
                ));
            }
            seen.insert(change.key, to);
        }
        Ok(())
    }

    fn key(&self, key: Key<'_>) -> Option<&KeyRecord> {
        self.keys
            .get(&(key.namespace.to_owned(), key.key.to_owned()))
    }

    fn unname(&mut self, hash: &Hash) {
        if let Some(object) = self.objects.get_mut(hash) {
            object.names = object.names.saturating_sub(1);
            object.unnamed = SystemTime::now();
        }
    }
}

/// Says that a key is not what a change expected.
pub(crate) fn conflict(key: Key<'_>, now: Option<Hash>) -> Error {
    let is = now.map_or_else(
        || "does not exist".to_owned(),
        |hash| format!("names {hash}"),
    );
    Error::new(
        ErrorKind::Conflict,
        format!("the key {key} {is}: nothing was changed"),
    )
    .with_detail("key", key.key)
    .with_detail("namespace", key.namespace)
}

fn stored(hash: &Hash, object: &HeldObject) -> Stored {
    Stored {
        meta: object.meta.clone(),
        body: Body::Bytes(object.stored.clone()),
        place: format!("memory, object {hash}"),
        identity: None,
    }
}

impl Driver for MemoryDriver {
    fn info(&self) -> &Info {
        &self.info
    }

    fn begin_object(&self, _hint: &ObjectHint) -> Result<Box<dyn Sink>> {
        Ok(Box::new(Buffer::default()))
    }

    fn open_object(&self, hash: &Hash) -> Result<Option<Stored>> {
        let held = self.lock();
        Ok(held.objects.get(hash).map(|object| stored(hash, object)))
    }

    fn stat_objects(&self, hashes: &[Hash]) -> Result<Vec<Option<ObjectMeta>>> {
        let held = self.lock();
        let meta = |hash| held.objects.get(hash).map(|object| object.meta.clone());
        Ok(hashes.iter().map(meta).collect())
    }

    fn list_hashes(&self, after: Option<&Hash>, limit: usize) -> Result<Vec<Hash>> {
        let held = self.lock();
        let from = after.map_or(Bound::Unbounded, |after| Bound::Excluded(*after));
        let behind = held.objects.range((from, Bound::Unbounded));
        Ok(behind.take(limit).map(|(hash, _)| *hash).collect())
    }

    fn get_keys(&self, keys: &[Key<'_>]) -> Result<Vec<Option<KeyRecord>>> {
        let held = self.lock();
        Ok(keys.iter().map(|key| held.key(*key).cloned()).collect())
    }

    fn apply(&self, batch: Batch<'_>) -> Result<Applied> {
        let mut held = self.lock();
        held.check(&batch)?;
        let now = SystemTime::now();
        let mut applied = Applied::default();
        for new in batch.objects {
            let there = held.objects.get(&new.hash);
            applied.created.push(there.is_none());
            if there.is_some() && !new.replace {
                continue;
            }
            let names = there.map_or(0, |object| object.names);
            let bytes = match new.body {
                NewBody::Bytes(bytes) => bytes.into_owned(),
                NewBody::Staged(staged) => match staged.place.downcast::<Vec<u8>>() {
                    Ok(bytes) => *bytes,
                    Err(_) => return Err(foreign()),
                },
            };
            let object = HeldObject {
                meta: new.meta,
                stored: bytes,
                canonical: new.canonical,
                names,
                unnamed: now,
            };
            held.objects.insert(new.hash, object);
        }
        for change in batch.changes {
            let key = (change.key.namespace.to_owned(), change.key.key.to_owned());
            let before = match change.to {
                None => held.keys.remove(&key),
                Some(to) => {
                    let record = KeyRecord {
                        hash: to.hash,
                        codec: to.codec.to_owned(),
                        time: micros(now),
                    };
                    if let Some(object) = held.objects.get_mut(&to.hash) {
                        object.names += 1;
                    }
                    held.keys.insert(key, record)
                }
            };
            if let Some(before) = &before {
                held.unname(&before.hash);
            }
            applied.before.push(before.map(|before| before.hash));
        }
        Ok(applied)
    }

    fn list_keys(
        &self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<KeyEntry>> {
        let held = self.lock();
        let place = |key: &str| (namespace.to_owned(), key.to_owned());
        let from = match after {
            Some(after) if after >= prefix => Bound::Excluded(place(after)),
            _ => Bound::Included(place(prefix)),
        };
        let behind = held.keys.range((from, Bound::Unbounded));
        let fitting =
            behind.take_while(|((space, key), _)| space == namespace && key.starts_with(prefix));
        let entry = |((_, key), record): (&(String, String), &KeyRecord)| KeyEntry {
            key: key.clone(),
            record: record.clone(),
        };
        Ok(fitting.take(limit).map(entry).collect())
    }

    fn list_namespaces(&self) -> Result<Vec<String>> {
        let held = self.lock();
        let mut names: Vec<String> = held.keys.keys().map(|(space, _)| space.clone()).collect();
        names.dedup();
        Ok(names)
    }

    fn find(&self, canonical: &Hash) -> Result<Vec<Hash>> {
        let held = self.lock();
        let same = held
            .objects
            .iter()
            .filter(|(_, object)| object.canonical.as_ref() == Some(canonical));
        Ok(same.map(|(hash, _)| *hash).collect())
    }

    fn gc(&self, options: &GcOptions) -> Result<GcReport> {
        let mut held = self.lock();
        let now = SystemTime::now();
        let mut report = GcReport::default();
        let mut gone = Vec::new();
        for (hash, object) in held.objects.iter().filter(|(_, object)| object.names == 0) {
            report.condemned += 1;
            let age = now.duration_since(object.unnamed).unwrap_or(Duration::ZERO);
            if age >= options.grace {
                report.deleted += 1;
                report.bytes += object.meta.stored_len;
                gone.push(*hash);
            } else {
                let until = object.unnamed + options.grace;
                let earliest = report.kept_until.map_or(until, |known| known.min(until));
                report.kept_until = Some(earliest);
            }
        }
        if !options.dry_run {
            for hash in &gone {
                held.objects.remove(hash);
            }
        }
        Ok(report)
    }

    fn check(&self, _found: &mut dyn FnMut(Finding)) -> Result<()> {
        Ok(())
    }

    fn repair(&self, findings: &[Finding], apply: bool, _purge: bool) -> Result<Vec<Action>> {
        let mut held = self.lock();
        let actions = findings.iter().map(|finding| {
            if apply {
                if let Some(hash) = &finding.hash {
                    held.objects.remove(hash);
                }
            }
            Action {
                finding: finding.clone(),
                what: "the object is forgotten".to_owned(),
                done: true,
            }
        });
        Ok(actions.collect())
    }

    fn sweep(&self) -> Result<u64> {
        Ok(0)
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn stat(&self) -> Result<Stat> {
        let namespaces = self.list_namespaces()?.len() as u64;
        let held = self.lock();
        let objects = held.objects.values();
        let plain = objects.clone().filter_map(|object| object.meta.plain_len);
        Ok(Stat {
            keys: held.keys.len() as u64,
            namespaces,
            objects: held.objects.len() as u64,
            unnamed: objects.clone().filter(|object| object.names == 0).count() as u64,
            plain_bytes: plain.sum(),
            stored_bytes: objects.map(|object| object.meta.stored_len).sum(),
        })
    }

    fn destroy(&self) -> Result<()> {
        *self.lock() = Held::default();
        Ok(())
    }
}

fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

fn foreign() -> Error {
    Error::new(ErrorKind::Internal, "a staged object of another driver")
}

/// A sink whose object stays in memory; staged, its place is the bytes.
#[derive(Default)]
pub(in crate::store) struct Buffer(Vec<u8>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Buffer {
    fn finish(self: Box<Self>) -> Result<Staged> {
        Ok(Staged {
            stored_len: self.0.len() as u64,
            place: Box::new(self.0),
        })
    }
}
