//! Reading: records, small objects with their keys, large ones a chunk at a time, listings by cursor.

use std::io::{self, Read};
use std::sync::Arc;

use tokio_postgres::Row;

use super::{Shared, CHUNK_BYTES, DRIVER};
use crate::compress::Kind;
use crate::store::drivers::remote::damaged;
use crate::store::{Body, Fetched, Hash, Key, KeyEntry, KeyRecord, ObjectMeta, Stored};
use crate::{ErrorKind, Result};

/// Most keys or hashes that are asked for at once; with objects of at most 64 KiB, 16 MiB an answer.
const GROUP: usize = 250;

/// What the store notes of an object.
#[derive(Clone)]
pub(super) struct ObjectRecord {
    pub meta: ObjectMeta,
    /// Which chunks are its own.
    pub id: i64,
    pub born: i64,
}

/// A column of a row, of the type that the table has.
fn column<'r, T: tokio_postgres::types::FromSql<'r>>(row: &'r Row, at: usize) -> Result<T> {
    row.try_get(at)
        .map_err(|error| damaged(DRIVER, &format!("column {at}"), error))
}

/// Reads `id, plain, stored, compressor, codec, born` from a column on; None if they are all null.
fn object_record(row: &Row, at: usize) -> Result<Option<ObjectRecord>> {
    let Some(id) = column::<Option<i64>>(row, at)? else {
        return Ok(None);
    };
    let place = format!("object {id}");
    let size = |value: i64| {
        u64::try_from(value).map_err(|_| damaged(DRIVER, &place, format_args!("{value} bytes")))
    };
    let plain: Option<i64> = column(row, at + 1)?;
    let name: String = column(row, at + 3)?;
    let mut kinds = Kind::ALL.iter().chain(&[Kind::Zlib]);
    let kind = kinds.find(|kind| kind.name() == name).copied();
    let unknown = || damaged(DRIVER, &place, format_args!("no compressor {name:?}"));
    Ok(Some(ObjectRecord {
        meta: ObjectMeta {
            plain_len: plain.map(size).transpose()?,
            stored_len: size(column(row, at + 2)?)?,
            compressor: kind.ok_or_else(unknown)?,
            codec: column(row, at + 4)?,
        },
        id,
        born: column(row, at + 5)?,
    }))
}

/// A hash as the tables hold it.
pub(super) fn hash_of(bytes: &[u8]) -> Result<Hash> {
    let odd = || {
        damaged(
            DRIVER,
            "a hash",
            format_args!("it has {} bytes", bytes.len()),
        )
    };
    Hash::new(bytes).ok_or_else(odd)
}

/// Reads `hash, codec, time` from a column on.
fn key_record(row: &Row, at: usize) -> Result<KeyRecord> {
    Ok(KeyRecord {
        hash: hash_of(column::<&[u8]>(row, at)?)?,
        codec: column(row, at + 1)?,
        time: column(row, at + 2)?,
    })
}

/// What the store notes of objects, in the order asked for.
pub(super) fn records(shared: &Shared, hashes: &[Hash]) -> Result<Vec<Option<ObjectRecord>>> {
    let mut all = Vec::with_capacity(hashes.len());
    for group in hashes.chunks(1000) {
        let bytes: Vec<&[u8]> = group.iter().map(Hash::as_bytes).collect();
        let rows = shared.wire.call(|link| {
            link.query(
                "SELECT o.id, o.plain, o.stored, o.compressor, o.codec, o.born \
                 FROM unnest($1::bytea[]) WITH ORDINALITY w(hash, i) \
                 LEFT JOIN object o ON o.hash = w.hash ORDER BY w.i",
                &[&bytes],
            )
        })?;
        for row in &rows {
            all.push(object_record(row, 0)?);
        }
    }
    Ok(all)
}

/// An object, to be read.
pub(super) fn open_object(shared: &Arc<Shared>, hash: &Hash) -> Result<Option<Stored>> {
    let record = records(shared, &[*hash])?.pop().flatten();
    Ok(record.map(|record| opened(shared, hash, &record)))
}

fn opened(shared: &Arc<Shared>, hash: &Hash, record: &ObjectRecord) -> Stored {
    let reader = Chunks {
        shared: Arc::clone(shared),
        hash: *hash,
        record: record.clone(),
        next: 0,
        at: 0,
        chunk: Vec::new(),
        taken: 0,
    };
    stored(hash, record, Body::Reader(Box::new(reader)))
}

fn stored(hash: &Hash, record: &ObjectRecord, body: Body) -> Stored {
    Stored {
        meta: record.meta.clone(),
        body,
        place: format!("object {hash}, chunks of {}", record.id),
        identity: Some([
            u64::try_from(record.id).unwrap_or(0),
            u64::try_from(record.born).unwrap_or(0),
            record.meta.stored_len,
            0,
        ]),
    }
}

/// A large object, a chunk at a time. Each chunk is asked for again when the connection breaks.
struct Chunks {
    shared: Arc<Shared>,
    hash: Hash,
    record: ObjectRecord,
    next: i32,
    /// Bytes that came.
    at: u64,
    chunk: Vec<u8>,
    taken: usize,
}

impl Chunks {
    fn next_chunk(&mut self) -> Result<()> {
        self.chunk.clear();
        self.taken = 0;
        if self.at >= self.record.meta.stored_len {
            return Ok(());
        }
        let rows = self.shared.wire.call(|link| {
            link.query(
                "SELECT c.data FROM object o LEFT JOIN chunk c ON c.id = o.id AND c.n = $2 \
                 WHERE o.id = $1",
                &[&self.record.id, &self.next],
            )
        })?;
        let Some(row) = rows.first() else {
            let hex = self.hash.hex();
            let text = format!("the object {hex} was removed or replaced while it was read");
            let error = self.shared.wire.described(ErrorKind::Io, text);
            return Err(error.with_detail("hash", hex));
        };
        // A chunk that is missing is what a damaged object has: its reader sees it end.
        self.chunk = column::<Option<Vec<u8>>>(row, 0)?.unwrap_or_default();
        self.at = self.at.saturating_add(self.chunk.len() as u64);
        self.next = self.next.saturating_add(1);
        Ok(())
    }
}

impl Read for Chunks {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken >= self.chunk.len() {
            self.next_chunk().map_err(io::Error::from)?;
        }
        let rest = self.chunk.get(self.taken..).unwrap_or_default();
        let size = rest.len().min(into.len());
        if let (Some(to), Some(from)) = (into.get_mut(..size), rest.get(..size)) {
            to.copy_from_slice(from);
        }
        self.taken = self.taken.saturating_add(size);
        Ok(size)
    }
}

/// Hashes behind one, in their order.
pub(super) fn list_hashes(
    shared: &Shared,
    after: Option<&Hash>,
    limit: usize,
) -> Result<Vec<Hash>> {
    let after = after.map(Hash::as_bytes).unwrap_or_default();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = shared.wire.call(|link| {
        link.query(
            "SELECT hash FROM object WHERE hash > $1 ORDER BY hash LIMIT $2",
            &[&after, &limit],
        )
    })?;
    rows.iter()
        .map(|row| hash_of(column::<&[u8]>(row, 0)?))
        .collect()
}

/// Namespaces and names of keys apart, as the server takes them.
pub(super) fn columns<'k>(keys: &[Key<'k>]) -> (Vec<&'k str>, Vec<&'k str>) {
    keys.iter().map(|key| (key.namespace, key.key)).unzip()
}

/// What keys name, in the order asked for.
pub(super) fn get_keys(shared: &Shared, keys: &[Key<'_>]) -> Result<Vec<Option<KeyRecord>>> {
    let mut all = Vec::with_capacity(keys.len());
    for group in keys.chunks(1000) {
        let (spaces, names) = columns(group);
        let rows = shared.wire.call(|link| {
            link.query(
                "SELECT k.hash, k.codec, k.time \
                 FROM unnest($1::text[], $2::text[]) WITH ORDINALITY w(ns, key, i) \
                 LEFT JOIN key k ON k.ns = w.ns AND k.key = w.key ORDER BY w.i",
                &[&spaces, &names],
            )
        })?;
        for row in &rows {
            let known = column::<Option<&[u8]>>(row, 0)?.is_some();
            all.push(known.then(|| key_record(row, 0)).transpose()?);
        }
    }
    Ok(all)
}

/// What lies at keys, small objects with them.
pub(super) fn fetch(shared: &Arc<Shared>, keys: &[Key<'_>]) -> Result<Vec<Fetched>> {
    let mut all = Vec::with_capacity(keys.len());
    for group in keys.chunks(GROUP) {
        let (spaces, names) = columns(group);
        let rows = shared.wire.call(|link| {
            link.query(
                "SELECT k.hash, k.codec, k.time, \
                 o.id, o.plain, o.stored, o.compressor, o.codec, o.born, c.data \
                 FROM unnest($1::text[], $2::text[]) WITH ORDINALITY w(ns, key, i) \
                 LEFT JOIN key k ON k.ns = w.ns AND k.key = w.key \
                 LEFT JOIN object o ON o.hash = k.hash \
                 LEFT JOIN chunk c ON c.id = o.id AND c.n = 0 AND o.stored <= 65536 \
                 ORDER BY w.i",
                &[&spaces, &names],
            )
        })?;
        for row in &rows {
            all.push(fetched(shared, row)?);
        }
    }
    Ok(all)
}

fn fetched(shared: &Arc<Shared>, row: &Row) -> Result<Fetched> {
    if column::<Option<&[u8]>>(row, 0)?.is_none() {
        return Ok(Fetched::NoKey);
    }
    let key = key_record(row, 0)?;
    let Some(record) = object_record(row, 3)? else {
        return Ok(Fetched::NoObject(key));
    };
    let stored = if record.meta.stored_len > 65_536 {
        opened(shared, &key.hash, &record)
    } else {
        // The record may be there and the bytes not: no bytes are what there is to read.
        let bytes = column::<Option<Vec<u8>>>(row, 9)?.unwrap_or_default();
        debug_assert!(bytes.len() <= CHUNK_BYTES);
        stored(&key.hash, &record, Body::Bytes(bytes))
    };
    Ok(Fetched::Found(key, stored))
}

/// The first text behind all that begin with `prefix`; None if none is.
fn behind(prefix: &str) -> Option<String> {
    let mut letters: Vec<char> = prefix.chars().collect();
    while let Some(last) = letters.pop() {
        let next = match last {
            '\u{d7ff}' => Some('\u{e000}'),
            _ => char::from_u32(u32::from(last).saturating_add(1)),
        };
        if let Some(next) = next {
            letters.push(next);
            return Some(letters.into_iter().collect());
        }
    }
    None
}

/// Keys of a namespace in the order of their bytes.
pub(super) fn list_keys(
    shared: &Shared,
    (namespace, prefix): (&str, &str),
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<KeyEntry>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    // No key is empty, so all lie behind the empty text.
    let after = after.unwrap_or_default();
    let end = behind(prefix);
    let rows = shared.wire.call(|link| match &end {
        Some(end) => link.query(
            "SELECT hash, codec, time, key FROM key \
             WHERE ns = $1 AND key > $2 AND key >= $3 AND key < $4 ORDER BY key LIMIT $5",
            &[&namespace, &after, &prefix, end, &limit],
        ),
        None => link.query(
            "SELECT hash, codec, time, key FROM key \
             WHERE ns = $1 AND key > $2 AND key >= $3 ORDER BY key LIMIT $4",
            &[&namespace, &after, &prefix, &limit],
        ),
    })?;
    rows.iter()
        .map(|row| {
            Ok(KeyEntry {
                key: column(row, 3)?,
                record: key_record(row, 0)?,
            })
        })
        .collect()
}

/// Namespaces in the order of their bytes: one look into the index for each.
pub(super) fn list_namespaces(shared: &Shared) -> Result<Vec<String>> {
    let rows = shared.wire.call(|link| {
        link.query(
            "WITH RECURSIVE s(ns) AS ( \
               (SELECT ns FROM key ORDER BY ns LIMIT 1) \
               UNION ALL \
               SELECT (SELECT k.ns FROM key k WHERE k.ns > s.ns ORDER BY k.ns LIMIT 1) \
               FROM s WHERE s.ns IS NOT NULL) \
             SELECT ns FROM s WHERE ns IS NOT NULL",
            &[],
        )
    })?;
    rows.iter().map(|row| column(row, 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::behind;

    #[test]
    fn what_lies_behind_a_prefix() {
        assert_eq!(Some("b".to_string()), behind("a"));
        assert_eq!(Some("ab".to_string()), behind("aa\u{10ffff}"));
        assert_eq!(Some("\u{e000}".to_string()), behind("\u{d7ff}"));
        assert_eq!(None, behind(""));
        assert_eq!(None, behind("\u{10ffff}"));
    }
}
