//! What is read: keys, objects and both at once.

use std::io;
use std::path::PathBuf;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::connections::{Connections, Link};
use super::fault::{damaged, io_fault, InIndex};
use super::filesystem::{identity, Root};
use super::schema::{compressor_of, hash_of, Names, Place, Sums};
use super::{layout, schema};
use crate::compress::Kind;
use crate::store::{
    Body, Fetched, Hash, Key, KeyEntry, KeyRecord, Lent, Met, ObjectMeta, Stat, Stored,
};
use crate::{Error, Result};

const OBJECT: &str =
    "o.hash, o.place, o.plain_len, o.stored_len, o.compressor, o.codec, o.ext, o.data, b.data";
/// Only what lies in `blobs` is looked for there.
const BLOB: &str = "LEFT JOIN blobs b ON b.id = CASE o.place WHEN 2 THEN o.id END";

fn fetch_one() -> &'static str {
    static SQL: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    SQL.get_or_init(|| {
        format!(
            "SELECT {OBJECT}, k.codec, k.mtime, k.sum FROM keys k LEFT JOIN objects o ON o.id = k.object \
             {BLOB} WHERE k.ns = ?1 AND k.key = ?2"
        )
    })
}

fn fetch_range() -> &'static str {
    static SQL: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    SQL.get_or_init(|| {
        format!(
            "SELECT {OBJECT}, k.codec, k.mtime, k.sum, k.key FROM keys k \
             LEFT JOIN objects o ON o.id = k.object \
             {BLOB} WHERE k.ns = ?1 AND k.key >= ?2 ORDER BY k.key"
        )
    })
}

fn open_one() -> &'static str {
    static SQL: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    SQL.get_or_init(|| format!("SELECT {OBJECT} FROM objects o {BLOB} WHERE o.hash = ?1"))
}

const KEY: &str = "SELECT o.hash, k.codec, k.mtime, k.sum FROM keys k \
     LEFT JOIN objects o ON o.id = k.object WHERE k.ns = ?1 AND k.key = ?2";
const LIST_FROM: &str = "SELECT o.hash, k.codec, k.mtime, k.sum, k.key FROM keys k \
     LEFT JOIN objects o ON o.id = k.object WHERE k.ns = ?1 AND k.key >= ?2 ORDER BY k.key LIMIT ?3";
const LIST_BEHIND: &str = "SELECT o.hash, k.codec, k.mtime, k.sum, k.key FROM keys k \
     LEFT JOIN objects o ON o.id = k.object WHERE k.ns = ?1 AND k.key > ?2 ORDER BY k.key LIMIT ?3";
const STAT: &str = "SELECT plain_len, stored_len, compressor, codec FROM objects WHERE hash = ?1";

/// Keys from so many on are looked for by walking along the index, in its order.
const WALK: usize = 16;
/// Rows that are not asked for, before the walk jumps.
const STRAY: u32 = 3;

const UNKNOWN_CODEC: &str = "the index is damaged: a codec that it does not know";

/// One row of a key and its object.
struct Reader<'a> {
    root: &'a Root,
    conn: &'a Connection,
    names: &'a mut Names,
}

fn number(root: &Root, row: &Row<'_>, column: usize) -> Result<i64> {
    match row.get_ref(column).in_index(root)? {
        ValueRef::Integer(number) => Ok(number),
        _ => Err(damaged(root, "the index is damaged: a number is none")),
    }
}

fn length(root: &Root, number: i64) -> Result<u64> {
    u64::try_from(number).map_err(|_| damaged(root, "the index is damaged: a length is negative"))
}

impl Reader<'_> {
    fn codec(&mut self, id: i64) -> Result<String> {
        let found = self.names.codec(self.conn, id).in_index(self.root)?;
        found
            .map(str::to_string)
            .ok_or_else(|| damaged(self.root, UNKNOWN_CODEC))
    }

    /// What the row says of a key; its columns begin at `at`. None as a hash: no object has the number.
    fn record(&mut self, key: Key<'_>, row: &Row<'_>, hash: usize, at: usize) -> Result<KeyRecord> {
        let (hash, codec, time) = self.named(key, row, hash, at)?;
        let codec = codec.to_string();
        Ok(KeyRecord { hash, codec, time })
    }

    /// As [`record`](Self::record): hash, codec and time.
    fn named(
        &mut self,
        key: Key<'_>,
        row: &Row<'_>,
        hash: usize,
        at: usize,
    ) -> Result<(Hash, &str, i64)> {
        let root = self.root;
        let bad = |what: &str| bad_key(root, key, what);
        let found = match row.get_ref(hash).in_index(root)? {
            ValueRef::Blob(bytes) => hash_of(bytes),
            ValueRef::Null => return Err(bad("names an object that the index does not have")),
            _ => None,
        };
        let hash = found.ok_or_else(|| bad("names an object with a damaged hash"))?;
        let codec = number(root, row, at)?;
        let time = number(root, row, at.saturating_add(1))?;
        let sum = number(root, row, at.saturating_add(2))?;
        let is_right = |sums: &mut Sums, codec: &str| {
            sums.key(key.namespace, key.key, hash.as_bytes(), codec, time) == sum
        };
        let found = self.names.codec_of_key(self.conn, codec, is_right);
        match found.in_index(root)? {
            Some((codec, true)) => Ok((hash, codec, time)),
            Some((_, false)) => Err(bad("has a damaged row in the index")),
            None => Err(damaged(root, UNKNOWN_CODEC)),
        }
    }

    /// The object of a row that has [`OBJECT`]; None if its file is gone.
    fn stored(&mut self, hash: &Hash, row: &Row<'_>) -> Result<Option<Stored>> {
        let root = self.root;
        let broken = |what: &str| damaged(root, format!("the index is damaged: {what}"));
        let place = Place::from_number(number(root, row, 1)?)
            .ok_or_else(|| broken("an object's place is none"))?;
        let plain_len = match row.get_ref(2).in_index(root)? {
            ValueRef::Null => None,
            ValueRef::Integer(number) => Some(length(root, number)?),
            _ => return Err(broken("a length is no number")),
        };
        let stored_len = length(root, number(root, row, 3)?)?;
        let compressor = compressor_of(number(root, row, 4)?)
            .ok_or_else(|| broken("a container that it does not know"))?;
        let codec = number(root, row, 5)?;
        let meta = ObjectMeta {
            plain_len,
            stored_len,
            compressor,
            codec: self.codec(codec)?,
        };
        let column = match place {
            Place::Row => 7,
            Place::Blob => 8,
            Place::File => {
                let ending = row.get_ref(6).in_index(root)?.as_str().ok();
                let ending = ending.filter(|ending| layout::is_ending(ending));
                let ending = ending.ok_or_else(|| broken("a file's ending is none"))?;
                return open_file(root, hash, ending, meta);
            }
        };
        match row.get_ref(column).in_index(root)? {
            ValueRef::Blob(bytes) if bytes.len() > schema::INLINE => {
                Err(broken("an object in it is longer than any may be"))
            }
            ValueRef::Blob(bytes) => Ok(Some(Stored {
                meta,
                body: Body::Bytes(bytes.to_vec()),
                place: layout::INDEX.to_string(),
                identity: None,
            })),
            _ => Ok(None),
        }
    }

    /// Tells what a row has: lent if it is a small object that is stored as it is.
    fn tell(&mut self, key: Key<'_>, row: &Row<'_>, tell: &mut dyn FnMut(Met<'_>)) -> Result<()> {
        let root = self.root;
        let column = match Place::from_number(number(root, row, 1)?) {
            Some(Place::Row) => 7,
            Some(Place::Blob) => 8,
            _ => {
                return self
                    .fetched(key, row)
                    .map(|found| tell(Met::Fetched(Box::new(found))))
            }
        };
        let plain_len = match row.get_ref(2).in_index(root)? {
            ValueRef::Integer(number) => u64::try_from(number).ok(),
            _ => None,
        };
        let is_plain = compressor_of(number(root, row, 4)?) == Some(Kind::None);
        match row.get_ref(column).in_index(root)? {
            ValueRef::Blob(bytes)
                if is_plain && plain_len.is_some() && bytes.len() <= schema::INLINE =>
            {
                let (hash, codec, _) = self.named(key, row, 0, 9)?;
                tell(Met::Lent(Lent {
                    hash,
                    codec,
                    plain_len,
                    bytes,
                }));
                Ok(())
            }
            _ => self
                .fetched(key, row)
                .map(|found| tell(Met::Fetched(Box::new(found)))),
        }
    }

    fn fetched(&mut self, key: Key<'_>, row: &Row<'_>) -> Result<Fetched> {
        let record = self.record(key, row, 0, 9)?;
        Ok(match self.stored(&record.hash, row)? {
            Some(stored) => Fetched::Found(record, stored),
            None => Fetched::NoObject(record),
        })
    }
}

fn bad_key(root: &Root, key: Key<'_>, what: &str) -> Error {
    damaged(
        root,
        format!("the key {key} {what}: `tare store check` tells more"),
    )
    .with_detail("key", key.key)
    .with_detail("namespace", key.namespace)
}

fn open_file(root: &Root, hash: &Hash, ending: &str, meta: ObjectMeta) -> Result<Option<Stored>> {
    let place = layout::object(hash, ending);
    let mut opened = root.read(&place);
    if opened
        .as_ref()
        .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    {
        // A collection that was cut off, and nobody opened the store for writing since.
        opened = root.read(&layout::condemned(hash, ending));
    }
    match opened {
        Ok(file) => {
            let identity = identity(&file);
            Ok(Some(Stored {
                meta,
                body: Body::File(file),
                place,
                identity,
            }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(io_fault(root, &place, "cannot open an object", error)
                .with_detail("hash", hash.hex()))
        }
    }
}

/// Calls with one state of the index for all that is read.
pub(super) fn at_once<T>(
    connections: &Connections,
    many: bool,
    mut work: impl FnMut(&mut Link) -> Result<T>,
) -> Result<T> {
    let root = &connections.root;
    connections.read(|link| {
        if !many || !link.conn.is_autocommit() {
            return work(link);
        }
        let run = |conn: &Connection, sql: &str| {
            let done = conn.prepare_cached(sql).and_then(|mut run| run.execute([]));
            done.in_index(root)
        };
        run(&link.conn, "BEGIN")?;
        let done = work(link);
        let ended = run(&link.conn, "COMMIT");
        let done = done?;
        ended?;
        Ok(done)
    })
}

pub(super) fn fetch(connections: &Connections, keys: &[Key<'_>]) -> Result<Vec<Fetched>> {
    let root = &*connections.root;
    at_once(connections, keys.len() > 1, |link| {
        let Link { conn, names, .. } = link;
        let mut reader = Reader { root, conn, names };
        if keys.len() >= WALK {
            let mut found: Vec<Fetched> = keys.iter().map(|_| Fetched::NoKey).collect();
            walk(&mut reader, keys, &mut |reader, at, key, row| {
                if let Some(place) = found.get_mut(at) {
                    *place = reader.fetched(key, row)?;
                }
                Ok(())
            })?;
            return Ok(found);
        }
        let mut one = conn.prepare_cached(fetch_one()).in_index(root)?;
        let fetch = |key: &Key<'_>| {
            let Some(ns) = reader.names.namespace(conn, key.namespace).in_index(root)? else {
                return Ok(Fetched::NoKey);
            };
            let mut rows = one.query((ns, key.key)).in_index(root)?;
            match rows.next().in_index(root)? {
                Some(row) => reader.fetched(*key, row),
                None => Ok(Fetched::NoKey),
            }
        };
        keys.iter().map(fetch).collect()
    })
}

pub(super) fn fetch_each(
    connections: &Connections,
    keys: &[Key<'_>],
    tell: &mut dyn FnMut(usize, Met<'_>),
) -> Result<()> {
    if keys.len() < WALK {
        let found = fetch(connections, keys)?.into_iter().enumerate();
        found.for_each(|(at, found)| tell(at, Met::Fetched(Box::new(found))));
        return Ok(());
    }
    let root = &*connections.root;
    let mut repeated = false;
    at_once(connections, true, |link| {
        let Link { conn, names, .. } = link;
        let mut reader = Reader { root, conn, names };
        if repeated {
            // What was told before the file changed may be there no longer.
            let gone = || Met::Fetched(Box::new(Fetched::NoKey));
            (0..keys.len()).for_each(|at| tell(at, gone()));
        }
        repeated = true;
        walk(&mut reader, keys, &mut |reader, at, key, row| {
            reader.tell(key, row, &mut |met| tell(at, met))
        })
    })
}

/// What a walk does with the row of a key: its place in the list, the key, the row.
type Visit<'v> = &'v mut dyn FnMut(&mut Reader<'_>, usize, Key<'_>, &Row<'_>) -> Result<()>;

/// Many keys: sorted, and found along the index, whose rows are read once each.
fn walk(reader: &mut Reader<'_>, keys: &[Key<'_>], visit: Visit<'_>) -> Result<()> {
    let (root, conn) = (reader.root, reader.conn);
    let mut order: Vec<usize> = (0..keys.len()).collect();
    let key_at = |at: &usize| keys.get(*at).copied().unwrap_or(Key::from(""));
    if !keys.is_sorted() {
        order.sort_by_key(key_at);
    }
    let mut range = conn.prepare_cached(fetch_range()).in_index(root)?;
    let mut left = order.as_slice();
    'namespaces: while let Some(first) = left.first() {
        let namespace = key_at(first).namespace;
        let same = left
            .iter()
            .take_while(|at| key_at(at).namespace == namespace);
        let (mut here, behind) = left.split_at(same.count());
        left = behind;
        let Some(ns) = reader.names.namespace(conn, namespace).in_index(root)? else {
            continue;
        };
        while let Some(first) = here.first() {
            let mut rows = range.query((ns, key_at(first).key)).in_index(root)?;
            let mut strays = 0;
            while strays <= STRAY {
                let Some(row) = rows.next().in_index(root)? else {
                    continue 'namespaces;
                };
                let text = row.get_ref(12).in_index(root)?;
                let text = text
                    .as_bytes()
                    .map_err(|_| damaged(root, "a key is no text"))?;
                while let Some((at, rest)) = here.split_first() {
                    let key = key_at(at);
                    if key.key.as_bytes() >= text {
                        break;
                    }
                    here = rest;
                }
                let mut wanted = false;
                // The same key may be asked for twice.
                while let Some((at, rest)) = here.split_first() {
                    let key = key_at(at);
                    if key.key.as_bytes() != text {
                        break;
                    }
                    visit(reader, *at, key, row)?;
                    wanted = true;
                    here = rest;
                }
                if here.is_empty() {
                    continue 'namespaces;
                }
                strays = if wanted { 0 } else { strays.saturating_add(1) };
            }
        }
    }
    Ok(())
}

pub(super) fn get_keys(
    connections: &Connections,
    keys: &[Key<'_>],
) -> Result<Vec<Option<KeyRecord>>> {
    let root = &*connections.root;
    at_once(connections, keys.len() > 1, |link| {
        let Link { conn, names, .. } = link;
        let mut reader = Reader { root, conn, names };
        let mut one = conn.prepare_cached(KEY).in_index(root)?;
        let get = |key: &Key<'_>| {
            let Some(ns) = reader.names.namespace(conn, key.namespace).in_index(root)? else {
                return Ok(None);
            };
            let mut rows = one.query((ns, key.key)).in_index(root)?;
            let row = rows.next().in_index(root)?;
            row.map(|row| reader.record(*key, row, 0, 1)).transpose()
        };
        keys.iter().map(get).collect()
    })
}

pub(super) fn open_object(connections: &Connections, hash: &Hash) -> Result<Option<Stored>> {
    let root = &*connections.root;
    connections.read(|link| {
        let Link { conn, names, .. } = link;
        let mut reader = Reader { root, conn, names };
        let mut one = conn.prepare_cached(open_one()).in_index(root)?;
        let mut rows = one.query([hash.as_bytes()]).in_index(root)?;
        match rows.next().in_index(root)? {
            Some(row) => reader.stored(hash, row),
            None => Ok(None),
        }
    })
}

pub(super) fn stat_objects(
    connections: &Connections,
    hashes: &[Hash],
) -> Result<Vec<Option<ObjectMeta>>> {
    let root = &*connections.root;
    at_once(connections, hashes.len() > 1, |link| {
        let Link { conn, names, .. } = link;
        let mut reader = Reader { root, conn, names };
        let mut one = conn.prepare_cached(STAT).in_index(root)?;
        let stat = |hash: &Hash| {
            let mut rows = one.query([hash.as_bytes()]).in_index(root)?;
            let Some(row) = rows.next().in_index(root)? else {
                return Ok(None);
            };
            let plain: Option<i64> = row.get(0).in_index(root)?;
            let compressor = compressor_of(number(root, row, 2)?)
                .ok_or_else(|| damaged(root, "the index is damaged: an unknown container"))?;
            let codec = number(root, row, 3)?;
            Ok(Some(ObjectMeta {
                plain_len: plain.map(|len| length(root, len)).transpose()?,
                stored_len: length(root, number(root, row, 1)?)?,
                compressor,
                codec: reader.codec(codec)?,
            }))
        };
        hashes.iter().map(stat).collect()
    })
}

pub(super) fn list_hashes(
    connections: &Connections,
    after: Option<&Hash>,
    limit: usize,
) -> Result<Vec<Hash>> {
    let root = &*connections.root;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let after = after.map(Hash::as_bytes).unwrap_or_default();
    connections.read(|link| {
        let sql = "SELECT hash FROM objects WHERE hash > ?1 ORDER BY hash LIMIT ?2";
        hashes(root, &link.conn, sql, after, limit)
    })
}

pub(super) fn find(connections: &Connections, canonical: &Hash) -> Result<Vec<Hash>> {
    let root = &*connections.root;
    connections.read(|link| {
        let sql = "SELECT hash FROM objects WHERE canonical = ?1 ORDER BY hash LIMIT ?2";
        hashes(root, &link.conn, sql, canonical.as_bytes(), i64::MAX)
    })
}

fn hashes(root: &Root, conn: &Connection, sql: &str, by: &[u8], limit: i64) -> Result<Vec<Hash>> {
    let mut list = conn.prepare_cached(sql).in_index(root)?;
    let mut rows = list.query((by, limit)).in_index(root)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().in_index(root)? {
        let bytes = row.get_ref(0).in_index(root)?;
        let hash = bytes.as_blob().ok().and_then(hash_of);
        found.push(hash.ok_or_else(|| damaged(root, "the index is damaged: a hash is none"))?);
    }
    Ok(found)
}

pub(super) fn list_keys(
    connections: &Connections,
    namespace: &str,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<KeyEntry>> {
    let root = &*connections.root;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let (sql, from) = match after {
        Some(after) if after >= prefix => (LIST_BEHIND, after),
        _ => (LIST_FROM, prefix),
    };
    connections.read(|link| {
        let Link { conn, names, .. } = link;
        let Some(ns) = names.namespace(conn, namespace).in_index(root)? else {
            return Ok(Vec::new());
        };
        let mut reader = Reader { root, conn, names };
        let mut list = conn.prepare_cached(sql).in_index(root)?;
        let mut rows = list.query((ns, from, limit)).in_index(root)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().in_index(root)? {
            let text = row.get_ref(4).in_index(root)?;
            let key = text
                .as_str()
                .map_err(|_| damaged(root, "a key is no text"))?;
            if !key.starts_with(prefix) {
                break;
            }
            let record = reader.record(Key::new(namespace, key), row, 0, 1)?;
            let key = key.to_string();
            found.push(KeyEntry { key, record });
        }
        Ok(found)
    })
}

pub(super) fn list_namespaces(connections: &Connections) -> Result<Vec<String>> {
    let root = &*connections.root;
    let sql = "SELECT name FROM namespaces n WHERE EXISTS (SELECT 1 FROM keys WHERE ns = n.id) ORDER BY name";
    connections.read(|link| {
        let mut list = link.conn.prepare_cached(sql).in_index(root)?;
        let names = list.query_map([], |row| row.get(0)).in_index(root)?;
        names.collect::<rusqlite::Result<_>>().in_index(root)
    })
}

pub(super) fn stat(connections: &Connections) -> Result<Stat> {
    let root = &*connections.root;
    connections.read(|link| {
        let count = |sql: &str| -> Result<u64> {
            let mut count = link.conn.prepare_cached(sql).in_index(root)?;
            let number: i64 = count.query_row([], |row| row.get(0)).in_index(root)?;
            length(root, number)
        };
        Ok(Stat {
            keys: count("SELECT count(*) FROM keys")?,
            namespaces: count(
                "SELECT count(*) FROM namespaces n WHERE EXISTS (SELECT 1 FROM keys WHERE ns = n.id)",
            )?,
            objects: count("SELECT count(*) FROM objects")?,
            unnamed: count("SELECT count(*) FROM objects WHERE refs = 0")?,
            plain_bytes: count("SELECT coalesce(sum(plain_len), 0) FROM objects")?,
            stored_bytes: count("SELECT coalesce(sum(stored_len), 0) FROM objects")?,
        })
    })
}

pub(super) fn local_file(connections: &Connections, hash: &Hash) -> Result<Option<PathBuf>> {
    let stored = open_object(connections, hash)?;
    Ok(stored.and_then(|stored| match stored.body {
        Body::File(_) => Some(connections.root.join(&stored.place)),
        _ => None,
    }))
}
