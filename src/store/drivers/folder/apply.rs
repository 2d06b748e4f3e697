//! What is written: objects, then keys, in one transaction.
//!
//! A file gets its name among the objects while the writer's lock is held, so that a collection and a set
//! exclude each other; if the transaction fails, the name is taken back before the lock is given up.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{params, CachedStatement, Connection, OptionalExtension};

use super::connections::Connections;
use super::fault::{io_fault, InIndex};
use super::filesystem::{sync_file, Root};
use super::known::{Known, FEW};
use super::layout;
use super::schema::{self, compressor_number, Names, ObjectRow, Place};
use super::staging::{StagedFile, StagedPlace};
use super::steps::step;
use super::there::{set_canonical, There};
use super::transaction::{transaction, Placed};
use crate::store::{
    Applied, Batch, Change, Durability, Expect, Hash, Key, NewBody, NewKey, NewObject,
};
use crate::{Error, ErrorKind, Result};

const INSERT_OBJECT: &str = "INSERT INTO objects(hash, place, plain_len, stored_len, compressor, \
     codec, ext, refs, born, unref_since, synced, suspect, canonical, sum, data) \
     VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, ?12, ?13, ?14) ON CONFLICT(hash) DO NOTHING";
const REPLACE_OBJECT: &str = "UPDATE objects SET place = ?2, plain_len = ?3, stored_len = ?4, \
     compressor = ?5, codec = ?6, ext = ?7, synced = ?8, suspect = 0, canonical = ?9, sum = ?10, \
     data = ?11 WHERE id = ?1";
const FIND_OBJECT: &str = "SELECT id, place, stored_len, ext, refs, synced, suspect, canonical \
     FROM objects WHERE hash = ?1";
const INSERT_BLOB: &str = "INSERT OR REPLACE INTO blobs(id, data) VALUES(?1, ?2)";
const INSERT_KEY: &str = "INSERT INTO keys(ns, key, object, codec, mtime, sum) \
     VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(ns, key) DO NOTHING";
const UPDATE_KEY: &str =
    "UPDATE keys SET object = ?3, codec = ?4, mtime = ?5, sum = ?6 WHERE ns = ?1 AND key = ?2";
const FIND_KEY: &str =
    "SELECT k.object, o.hash FROM keys k LEFT JOIN objects o ON o.id = k.object \
     WHERE k.ns = ?1 AND k.key = ?2";
const DELETE_KEY: &str = "DELETE FROM keys WHERE ns = ?1 AND key = ?2";
const COUNT: &str = "UPDATE objects SET refs = refs + ?2, \
     unref_since = CASE WHEN refs + ?2 <= 0 THEN ?3 END WHERE id = ?1";

/// Microseconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.map(|since| since.as_micros()).unwrap_or_default();
    i64::try_from(micros).unwrap_or(i64::MAX)
}

enum Bytes<'a> {
    Index(Cow<'a, [u8]>),
    File(StagedFile),
}

/// An object that is ready to be named.
struct Ready<'a> {
    object: NewObject<'a>,
    bytes: Option<Bytes<'a>>,
}

fn ready<'a>(root: &Arc<Root>, mut object: NewObject<'a>, level: Durability) -> Result<Ready<'a>> {
    let body = std::mem::replace(&mut object.body, NewBody::Bytes(Cow::Borrowed(&[])));
    let bytes = match body {
        NewBody::Bytes(bytes) if bytes.len() > schema::INLINE => {
            let mut file = StagedFile::create(root)?;
            file.write(&bytes)?;
            Bytes::File(file)
        }
        NewBody::Bytes(bytes) => Bytes::Index(bytes),
        NewBody::Staged(staged) => {
            let Ok(place) = staged.place.downcast::<StagedPlace>() else {
                let text = "an object that another driver staged";
                return Err(Error::new(ErrorKind::Usage, text).with_format("folder"));
            };
            match *place {
                StagedPlace::Memory(bytes) => Bytes::Index(bytes.into()),
                StagedPlace::File(file) => Bytes::File(file),
            }
        }
    };
    if let Bytes::File(file) = &bytes {
        if level >= Durability::Batch {
            step("sync object");
            sync_file(&file.file)
                .map_err(|error| io_fault(root, &file.place, "cannot sync an object", error))?;
        }
    }
    let bytes = Some(bytes);
    Ok(Ready { object, bytes })
}

/// What a batch has done so far.
struct Work<'a> {
    root: &'a Arc<Root>,
    conn: &'a Connection,
    names: &'a mut Names,
    now: i64,
    level: Durability,
    placed: &'a mut Vec<Placed>,
    /// Files that replaced objects had, to be removed when it is done.
    old: &'a mut Vec<String>,
    folders: BTreeSet<String>,
    /// Changes of counts by the objects' numbers.
    counts: Vec<(i64, i64)>,
    known: Known,
}

pub(super) fn apply(connections: &Connections, batch: Batch<'_>) -> Result<Applied> {
    let root = &connections.root;
    let Batch {
        objects,
        changes,
        durability: level,
    } = batch;
    if objects.is_empty() && changes.is_empty() {
        return Ok(Applied::default());
    }
    connections.writable()?;
    let objects = objects.into_iter().map(|object| ready(root, object, level));
    let mut objects = objects.collect::<Result<Vec<_>>>()?;
    let applied = connections.write(|link| {
        let mut old = Vec::new();
        let applied = transaction(root, link, |conn, names, placed| {
            let mut work = Work {
                root,
                conn,
                names,
                now: now(),
                level,
                placed,
                old: &mut old,
                folders: BTreeSet::new(),
                counts: Vec::new(),
                known: Known::default(),
            };
            let created = work.objects(&mut objects, &changes)?;
            let before = work.changes(&changes)?;
            work.end()?;
            Ok(Applied { created, before })
        })?;
        for place in old {
            let _ = root.remove(&place);
        }
        Ok(applied)
    })?;
    // A batch is synced at its end; single changes within a second.
    let several = changes.len() > 1 && level == Durability::Batch;
    acknowledge(connections, if several { Durability::Each } else { level })?;
    Ok(applied)
}

/// Makes what was just committed last as long as asked.
pub(super) fn acknowledge(connections: &Connections, level: Durability) -> Result<()> {
    let syncer = &connections.process()?.syncer;
    match level {
        Durability::None => Ok(()),
        Durability::Batch => syncer.soon(),
        Durability::Each => {
            step("sync log");
            syncer.sync()
        }
    }
}

impl<'a> Work<'a> {
    fn prepare(&self, sql: &str) -> Result<CachedStatement<'a>> {
        self.conn.prepare_cached(sql).in_index(self.root)
    }

    /// Writes objects that are not there; of each, whether it was written.
    fn objects(&mut self, objects: &mut [Ready<'_>], changes: &[Change<'_>]) -> Result<Vec<bool>> {
        let mut named: HashMap<Hash, i64> = HashMap::new();
        if objects.len() > FEW || changes.len() > FEW {
            for to in changes.iter().filter_map(|change| change.to) {
                let count = named.entry(to.hash).or_default();
                *count = count.saturating_add(1);
            }
        }
        let mut insert = if objects.is_empty() {
            None
        } else {
            Some(self.prepare(INSERT_OBJECT)?)
        };
        let mut created = Vec::with_capacity(objects.len());
        for ready in objects {
            let hash = ready.object.hash;
            let refs = if named.is_empty() {
                let set = changes.iter().filter_map(|change| change.to);
                i64::try_from(set.filter(|to| to.hash == hash).count()).unwrap_or_default()
            } else {
                named.get(&hash).copied().unwrap_or_default()
            };
            if self.known.get(&hash).is_some() {
                created.push(false);
                continue;
            }
            let Some(insert) = insert.as_mut() else {
                continue;
            };
            created.push(self.object(ready, refs, insert)?);
        }
        Ok(created)
    }

    fn object(
        &mut self,
        ready: &mut Ready<'_>,
        refs: i64,
        insert: &mut CachedStatement<'_>,
    ) -> Result<bool> {
        let object = &ready.object;
        let hash = object.hash;
        if schema::hash_of(hash.as_bytes()).is_none() {
            let text = "a folder's objects are named by 32 bytes of BLAKE3";
            return Err(Error::new(ErrorKind::Usage, text).with_format("folder"));
        }
        let codec = self
            .names
            .make_codec(self.conn, &object.meta.codec)
            .in_index(self.root)?;
        let (place, ext, data) = match &ready.bytes {
            Some(Bytes::File(_)) => {
                let ending = layout::ending(&object.meta.codec, object.meta.compressor);
                (Place::File, Some(ending), None)
            }
            Some(Bytes::Index(bytes)) if bytes.len() <= schema::IN_ROW => {
                (Place::Row, None, Some(&**bytes))
            }
            _ => (Place::Blob, None, None),
        };
        let canonical = object.canonical;
        let row = ObjectRow {
            hash: hash.as_bytes(),
            place,
            plain_len: object
                .meta
                .plain_len
                .and_then(|len| i64::try_from(len).ok()),
            stored_len: i64::try_from(object.meta.stored_len).unwrap_or(i64::MAX),
            compressor: compressor_number(object.meta.compressor),
            codec: &object.meta.codec,
            ext: ext.as_deref(),
            canonical: canonical.as_ref().map(Hash::as_bytes),
        };
        let sum = self.names.sums.object(&row);
        let synced = place != Place::File || self.level >= Durability::Batch;
        let unnamed = (refs == 0).then_some(self.now);
        let inserted = insert
            .execute(params![
                row.hash,
                place.number(),
                row.plain_len,
                row.stored_len,
                row.compressor,
                codec,
                row.ext,
                refs,
                self.now,
                unnamed,
                synced,
                row.canonical,
                sum,
                data
            ])
            .in_index(self.root)?;
        if inserted == 1 {
            let id = self.conn.last_insert_rowid();
            self.known.add(hash, id, true);
            self.bytes(id, &hash, row.ext, ready.bytes.take())?;
            return Ok(true);
        }
        let mut find = self.prepare(FIND_OBJECT)?;
        let there = find
            .query_row([row.hash], There::read)
            .in_index(self.root)?;
        self.known.add(hash, there.id, false);
        let sound = !object.replace && !there.suspect && there.is_whole(self.root, &hash);
        if !sound {
            let old = there.file(&hash);
            let new = row.ext.map(|ending| layout::object(&hash, ending));
            if old.is_some() && old != new {
                self.old.extend(old);
            }
            let mut replace = self.prepare(REPLACE_OBJECT)?;
            let set = replace.execute(params![
                there.id,
                place.number(),
                row.plain_len,
                row.stored_len,
                row.compressor,
                codec,
                row.ext,
                synced,
                row.canonical,
                sum,
                data
            ]);
            set.in_index(self.root)?;
            self.prepare("DELETE FROM blobs WHERE id = ?1")?
                .execute([there.id])
                .in_index(self.root)?;
            self.bytes(there.id, &hash, row.ext, ready.bytes.take())?;
        } else if canonical.is_some() && !there.canonical {
            set_canonical(self.root, self.conn, self.names, there.id, canonical)?;
        }
        if there.refs <= 0 {
            // Its grace begins anew.
            self.counts.push((there.id, 0));
        }
        Ok(!sound)
    }

    /// Puts the stored bytes where the row says, if that is not the row itself.
    fn bytes(
        &mut self,
        id: i64,
        hash: &Hash,
        ending: Option<&str>,
        bytes: Option<Bytes<'_>>,
    ) -> Result<()> {
        match (bytes, ending) {
            (Some(Bytes::File(staged)), Some(ending)) => {
                let place = layout::object(hash, ending);
                let folder = layout::object_folder(hash);
                step("place");
                let root = self.root;
                let moved = root.rename(&staged.place, &place);
                let moved = match moved {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => root
                        .make_folder(layout::OBJECTS)
                        .and_then(|_| root.make_folder(&folder))
                        .and_then(|_| {
                            self.folders.insert(layout::OBJECTS.to_string());
                            root.rename(&staged.place, &place)
                        }),
                    moved => moved,
                };
                moved.map_err(|error| io_fault(root, &place, "cannot name an object", error))?;
                step("placed");
                let hash = *hash;
                self.folders.insert(folder);
                self.placed.push(Placed {
                    hash,
                    place,
                    staged,
                });
                Ok(())
            }
            (Some(Bytes::Index(bytes)), None) if bytes.len() > schema::IN_ROW => {
                let mut insert = self.prepare(INSERT_BLOB)?;
                insert.execute(params![id, &*bytes]).in_index(self.root)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Changes keys in order; what each named before.
    fn changes(&mut self, changes: &[Change<'_>]) -> Result<Vec<Option<Hash>>> {
        let mut insert = if changes.is_empty() {
            None
        } else {
            Some(self.prepare(INSERT_KEY)?)
        };
        let mut before = Vec::with_capacity(changes.len());
        for change in changes {
            let Some(insert) = insert.as_mut() else {
                continue;
            };
            before.push(match change.to {
                Some(to) => self.set(change, to, insert)?,
                None => self.delete(change)?,
            });
        }
        Ok(before)
    }

    fn set(
        &mut self,
        change: &Change<'_>,
        to: NewKey<'_>,
        insert: &mut CachedStatement<'_>,
    ) -> Result<Option<Hash>> {
        let key = change.key;
        let (object, counted) = match self.known.get(&to.hash) {
            Some(known) => known,
            None => (self.existing(key, &to.hash)?, false),
        };
        let ns = self
            .names
            .make_namespace(self.conn, key.namespace)
            .in_index(self.root)?;
        let codec = self
            .names
            .make_codec(self.conn, to.codec)
            .in_index(self.root)?;
        let sums = &mut self.names.sums;
        let sum = sums.key(
            key.namespace,
            key.key,
            to.hash.as_bytes(),
            to.codec,
            self.now,
        );
        if !counted {
            self.counts.push((object, 1));
        }
        let now = self.now;
        let row = params![ns, key.key, object, codec, now, sum];
        if !matches!(change.expect, Expect::Is(_)) && insert.execute(row).in_index(self.root)? == 1
        {
            return Ok(None);
        }
        let before = self.before(ns, key)?;
        self.expect(change, before.map(|(_, hash)| hash))?;
        if let Some((old, _)) = before {
            self.counts.push((old, -1));
        }
        // Without one before, it was expected to be one and is refused above.
        self.prepare(UPDATE_KEY)?.execute(row).in_index(self.root)?;
        Ok(before.map(|(_, hash)| hash))
    }

    fn delete(&mut self, change: &Change<'_>) -> Result<Option<Hash>> {
        let key = change.key;
        let ns = self
            .names
            .namespace(self.conn, key.namespace)
            .in_index(self.root)?;
        let before = match ns {
            Some(ns) => self.before(ns, key)?,
            None => None,
        };
        self.expect(change, before.map(|(_, hash)| hash))?;
        if let (Some((object, _)), Some(ns)) = (before, ns) {
            self.counts.push((object, -1));
            let mut delete = self.prepare(DELETE_KEY)?;
            delete.execute(params![ns, key.key]).in_index(self.root)?;
        }
        Ok(before.map(|(_, hash)| hash))
    }

    fn before(&mut self, ns: i64, key: Key<'_>) -> Result<Option<(i64, Hash)>> {
        let mut find = self.prepare(FIND_KEY)?;
        let found = find.query_row(params![ns, key.key], |row| {
            let hash: Option<Vec<u8>> = row.get(1)?;
            Ok((row.get(0)?, hash))
        });
        let Some((object, hash)) = found.optional().in_index(self.root)? else {
            return Ok(None);
        };
        // A key without an object can be replaced and deleted all the same.
        let hash = hash
            .as_deref()
            .and_then(schema::hash_of)
            .or_else(|| Hash::new(&[0; 32]));
        Ok(hash.map(|hash| (object, hash)))
    }

    fn expect(&self, change: &Change<'_>, before: Option<Hash>) -> Result<()> {
        let text = match (change.expect, before) {
            (Expect::Any, _) | (Expect::Absent, None) => return Ok(()),
            (Expect::Is(wanted), Some(found)) if wanted == found => return Ok(()),
            (Expect::Absent, Some(found)) => format!("exists and names {found}"),
            (Expect::Is(wanted), Some(found)) => format!("names {found} and not {wanted}"),
            (Expect::Is(wanted), None) => format!("does not exist, it should name {wanted}"),
        };
        Err(key_error(self.root, ErrorKind::Conflict, change.key, &text))
    }

    /// An object that is not of this batch, as durable as the key will be.
    fn existing(&mut self, key: Key<'_>, hash: &Hash) -> Result<i64> {
        let mut find = self.prepare(FIND_OBJECT)?;
        let there = find.query_row([hash.as_bytes()], There::read).optional();
        let there = there.in_index(self.root)?;
        // Its file may be gone: a collection on a full disk deletes it before its row.
        let Some(there) = there.filter(|there| there.is_whole(self.root, hash)) else {
            let text = format!("would name {hash}, an object that does not exist");
            let error = key_error(self.root, ErrorKind::ObjectNotFound, key, &text);
            return Err(error.with_detail("hash", hash.hex()));
        };
        if !there.synced && self.level >= Durability::Batch {
            if let Some(place) = there.file(hash) {
                let synced = self.root.read(&place).and_then(|file| sync_file(&file));
                let synced = synced.and_then(|()| {
                    let folder = layout::object_folder(hash);
                    self.root.sync_folder(&folder)?;
                    self.root.sync_folder(layout::OBJECTS)
                });
                synced
                    .map_err(|error| io_fault(self.root, &place, "cannot sync an object", error))?;
            }
            self.prepare("UPDATE objects SET synced = 1 WHERE id = ?1")?
                .execute([there.id])
                .in_index(self.root)?;
        }
        self.known.add(*hash, there.id, false);
        Ok(there.id)
    }

    /// Writes counts, and makes names of files last.
    fn end(mut self) -> Result<()> {
        if !self.counts.is_empty() {
            let mut count = self.prepare(COUNT)?;
            self.counts.sort_unstable();
            for of_one in self.counts.chunk_by(|(a, _), (b, _)| a == b) {
                let sum: i64 = of_one.iter().map(|(_, change)| change).sum();
                let touched = of_one.iter().any(|(_, change)| *change == 0);
                if let (Some((id, _)), true) = (of_one.first(), touched || sum != 0) {
                    count
                        .execute(params![id, sum, self.now])
                        .in_index(self.root)?;
                }
            }
        }
        if self.level >= Durability::Batch {
            for folder in &self.folders {
                step("sync folder");
                self.root
                    .sync_folder(folder)
                    .map_err(|error| io_fault(self.root, folder, "cannot sync a folder", error))?;
            }
        }
        Ok(())
    }
}

fn key_error(root: &Root, kind: ErrorKind, key: Key<'_>, text: &str) -> Error {
    Error::new(kind, format!("the key {key} {text}"))
        .with_format("folder")
        .with_path(&root.path)
        .with_detail("namespace", key.namespace)
        .with_detail("key", key.key)
}
