//! Reading: records, small objects with their keys, large ones piece by piece, listings by cursor.

use std::io::{self, Read};
use std::sync::Arc;

use redis::Value;

use super::{Shared, DRIVER, PART_BYTES};
use crate::compress::Kind;
use crate::store::drivers::remote::damaged;
use crate::store::{Body, Fetched, Hash, Key, KeyEntry, KeyRecord, ObjectMeta, Stored};
use crate::{Error, ErrorKind, Result};

/// Objects up to so many bytes come with their records.
const INLINE_BYTES: u64 = 256 * 1024;
/// Most bytes of all objects that come with one answer.
const ANSWER_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes of one read of a larger object.
const PIECE_BYTES: u64 = 1024 * 1024;
/// Most keys or hashes that are asked for at once.
const GROUP: usize = 1000;

/// What the store notes of an object.
#[derive(Clone)]
pub(super) struct ObjectRecord {
    pub meta: ObjectMeta,
    /// When it was written, by the server's clock.
    pub born: i64,
    pub parts: u64,
    /// As it is stored.
    pub text: String,
}

/// Reads `stored time parts plain compressor codec`.
pub(super) fn object_record(text: &str, place: &str) -> Result<ObjectRecord> {
    let bad = || damaged(DRIVER, place, format_args!("{text:?}"));
    let mut fields = text.splitn(6, ' ');
    let mut next = || fields.next().ok_or_else(bad);
    let stored_len = next()?.parse().map_err(|_| bad())?;
    let born = next()?.parse().map_err(|_| bad())?;
    let parts: u64 = next()?.parse().map_err(|_| bad())?;
    let plain_len = match next()? {
        "-" => None,
        number => Some(number.parse().map_err(|_| bad())?),
    };
    let compressor = next()?;
    let compressor = kind(compressor).ok_or_else(bad)?;
    let codec = next()?.to_string();
    if parts != parts_of(stored_len) {
        return Err(bad());
    }
    Ok(ObjectRecord {
        meta: ObjectMeta {
            plain_len,
            stored_len,
            compressor,
            codec,
        },
        born,
        parts,
        text: text.to_string(),
    })
}

/// The container of a name.
fn kind(name: &str) -> Option<Kind> {
    let mut kinds = Kind::ALL.iter().chain(&[Kind::Zlib]);
    kinds.find(|kind| kind.name() == name).copied()
}

/// Parts of an object of so many stored bytes; one at least.
pub(super) fn parts_of(stored_len: u64) -> u64 {
    stored_len.div_ceil(PART_BYTES).max(1)
}

/// Reads `hash time codec`.
pub(super) fn key_record(text: &str, place: impl Fn() -> String) -> Result<KeyRecord> {
    let bad = || damaged(DRIVER, &place(), format_args!("{text:?}"));
    let mut fields = text.splitn(3, ' ');
    let mut next = || fields.next().ok_or_else(bad);
    let hash = Hash::parse(next()?).ok_or_else(bad)?;
    let time = next()?.parse().map_err(|_| bad())?;
    let codec = next()?.to_string();
    Ok(KeyRecord { hash, codec, time })
}

fn text_of(bytes: Vec<u8>, place: &str) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| damaged(DRIVER, place, "it is not UTF-8"))
}

/// What the store notes of objects, in the order asked for.
pub(super) fn records(shared: &Shared, hashes: &[Hash]) -> Result<Vec<Option<ObjectRecord>>> {
    let mut all = Vec::with_capacity(hashes.len());
    let name = shared.name("m");
    for group in hashes.chunks(GROUP) {
        let names: Vec<String> = group.iter().map(Hash::hex).collect();
        let found: Vec<Option<Vec<u8>>> = shared
            .wire
            .call(|link| redis::cmd("HMGET").arg(&name).arg(&names).query(link))?;
        for (hex, found) in names.iter().zip(found) {
            let place = || format!("{name} {hex}");
            let record = found.map(|bytes| object_record(&text_of(bytes, &place())?, &place()));
            all.push(record.transpose()?);
        }
    }
    Ok(all)
}

/// An object, to be read.
pub(super) fn open_object(shared: &Arc<Shared>, hash: &Hash) -> Result<Option<Stored>> {
    let Some(record) = records(shared, &[*hash])?.pop().flatten() else {
        return Ok(None);
    };
    Ok(Some(opened(shared, hash, &record)))
}

/// The object of a record, read from the server as it is read.
fn opened(shared: &Arc<Shared>, hash: &Hash, record: &ObjectRecord) -> Stored {
    let reader = Pieces {
        shared: Arc::clone(shared),
        hash: *hash,
        record: record.clone(),
        at: 0,
        piece: Vec::new(),
        taken: 0,
    };
    stored(shared, hash, record, Body::Reader(Box::new(reader)))
}

fn stored(shared: &Shared, hash: &Hash, record: &ObjectRecord, body: Body) -> Stored {
    Stored {
        meta: record.meta.clone(),
        body,
        place: shared.part("o", &hash.hex(), 0),
        identity: Some([
            u64::try_from(record.born).unwrap_or(0),
            record.meta.stored_len,
            0,
            0,
        ]),
    }
}

/// A large object, a piece at a time. Each piece is asked for again when the connection breaks.
struct Pieces {
    shared: Arc<Shared>,
    hash: Hash,
    record: ObjectRecord,
    /// Where the next piece begins.
    at: u64,
    piece: Vec<u8>,
    taken: usize,
}

impl Pieces {
    fn next_piece(&mut self) -> Result<()> {
        let part = self.at / PART_BYTES;
        let first = self.at % PART_BYTES;
        let left = self.record.meta.stored_len.saturating_sub(self.at);
        let size = left.min(PIECE_BYTES).min(PART_BYTES.saturating_sub(first));
        self.piece.clear();
        self.taken = 0;
        if size == 0 {
            return Ok(());
        }
        let hex = self.hash.hex();
        let name = self.shared.part("o", &hex, part);
        let last = first.saturating_add(size).saturating_sub(1);
        let found: Option<Vec<u8>> = self.shared.wire.call(|link| {
            let mut script = self.shared.wire.scripts.piece.key(&self.shared.meta);
            script.arg(&self.shared.prefix).arg(&hex);
            script.arg(&self.record.text).arg(&name);
            script.arg(first).arg(last).invoke(link)
        })?;
        let Some(piece) = found else {
            let text = format!("the object {hex} was removed or replaced while it was read");
            let error = self.shared.wire.described(ErrorKind::Io, text);
            return Err(error.with_detail("hash", hex));
        };
        // Less than that is what a damaged object has: its reader sees it end.
        self.at = self.at.saturating_add(piece.len() as u64);
        self.piece = piece;
        Ok(())
    }
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken >= self.piece.len() {
            self.next_piece().map_err(io::Error::from)?;
        }
        let rest = self.piece.get(self.taken..).unwrap_or_default();
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
    let name = shared.name("ol");
    let low = after.map_or_else(|| "-".to_string(), |after| format!("({after}"));
    let found: Vec<String> = shared.wire.call(|link| {
        let mut command = redis::cmd("ZRANGEBYLEX");
        command.arg(&name).arg(&low).arg("+");
        command.arg("LIMIT").arg(0).arg(limit).query(link)
    })?;
    let parsed = found.iter().map(|hex| {
        let bad = || damaged(DRIVER, &name, format_args!("{hex:?} is no hash"));
        Hash::parse(hex).ok_or_else(bad)
    });
    parsed.collect()
}

/// What keys name, in the order asked for.
pub(super) fn get_keys(shared: &Shared, keys: &[Key<'_>]) -> Result<Vec<Option<KeyRecord>>> {
    let mut all = Vec::with_capacity(keys.len());
    for group in keys.chunks(GROUP) {
        let names: Vec<String> = group.iter().map(|key| key_place(shared, key)).collect();
        let found: Vec<Option<Vec<u8>>> = shared.wire.call(|link| {
            let mut pipe = redis::pipe();
            for (key, name) in group.iter().zip(&names) {
                pipe.cmd("HGET").arg(name).arg(key.key);
            }
            pipe.query(link)
        })?;
        for (key, found) in group.iter().zip(found) {
            all.push(
                found
                    .map(|bytes| read_key(shared, key, bytes))
                    .transpose()?,
            );
        }
    }
    Ok(all)
}

fn key_place(shared: &Shared, key: &Key<'_>) -> String {
    shared.name(&format!("k:{}", key.namespace))
}

fn read_key(shared: &Shared, key: &Key<'_>, bytes: Vec<u8>) -> Result<KeyRecord> {
    let place = || format!("{} {:?}", key_place(shared, key), key.key);
    key_record(&text_of(bytes, &place())?, place)
}

/// What lies at keys, small objects with them: one answer for up to a thousand.
pub(super) fn fetch(shared: &Arc<Shared>, keys: &[Key<'_>]) -> Result<Vec<Fetched>> {
    let mut all = Vec::with_capacity(keys.len());
    for group in keys.chunks(GROUP) {
        let found: Vec<Value> = shared.wire.call(|link| {
            let mut script = shared.wire.scripts.fetch.key(&shared.meta);
            script
                .arg(&shared.prefix)
                .arg(INLINE_BYTES)
                .arg(ANSWER_BYTES);
            for key in group {
                script.arg(key.namespace).arg(key.key);
            }
            script.invoke(link)
        })?;
        if found.len() != group.len() {
            let text = format!("asked for {} keys, got {}", group.len(), found.len());
            return Err(shared.wire.described(ErrorKind::Malformed, text));
        }
        for (key, found) in group.iter().zip(found) {
            all.push(fetched(shared, key, found)?);
        }
    }
    Ok(all)
}

fn fetched(shared: &Arc<Shared>, key: &Key<'_>, found: Value) -> Result<Fetched> {
    let place = || key_place(shared, key);
    let odd = || -> Error { damaged(DRIVER, &place(), "an answer of another shape") };
    let mut parts = match found {
        Value::Nil | Value::Boolean(false) => return Ok(Fetched::NoKey),
        Value::Array(parts) => parts.into_iter(),
        _ => return Err(odd()),
    };
    let Some(Value::BulkString(record)) = parts.next() else {
        return Err(odd());
    };
    let record = read_key(shared, key, record)?;
    let meta = match parts.next() {
        None | Some(Value::Nil | Value::Boolean(false)) => return Ok(Fetched::NoObject(record)),
        Some(Value::BulkString(meta)) => meta,
        Some(_) => return Err(odd()),
    };
    let place = format!("{} {}", shared.name("m"), record.hash);
    let meta = object_record(&text_of(meta, &place)?, &place)?;
    let stored = match parts.next() {
        Some(Value::BulkString(bytes)) => stored(shared, &record.hash, &meta, Body::Bytes(bytes)),
        Some(Value::Int(_)) => opened(shared, &record.hash, &meta),
        // The record is there and the bytes are not: no bytes are what there is to read.
        _ => stored(shared, &record.hash, &meta, Body::Bytes(Vec::new())),
    };
    Ok(Fetched::Found(record, stored))
}

/// Keys of a namespace in the order of their bytes.
pub(super) fn list_keys(
    shared: &Shared,
    namespace: &str,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<KeyEntry>> {
    let mut all = Vec::new();
    let mut low: Vec<u8> = match after {
        Some(after) if after >= prefix => [b"(", after.as_bytes()].concat(),
        _ if prefix.is_empty() => b"-".to_vec(),
        _ => [b"[", prefix.as_bytes()].concat(),
    };
    // No UTF-8 has the byte FF, so all that begin with the prefix lie below it.
    let high: Vec<u8> = match prefix {
        "" => b"+".to_vec(),
        _ => [b"(", prefix.as_bytes(), b"\xff"].concat(),
    };
    while all.len() < limit {
        let page = limit.saturating_sub(all.len()).min(GROUP);
        let found: Vec<Vec<u8>> = shared.wire.call(|link| {
            let mut script = shared.wire.scripts.list.key(&shared.meta);
            script.arg(&shared.prefix).arg(namespace);
            script.arg(&low).arg(&high).arg(page).invoke(link)
        })?;
        let mut pairs = found.into_iter();
        let mut count = 0;
        while let (Some(key), Some(record)) = (pairs.next(), pairs.next()) {
            let place = shared.name(&format!("l:{namespace}"));
            let key = text_of(key, &place)?;
            let record = read_key(shared, &Key::new(namespace, &key), record)?;
            low = [b"(", key.as_bytes()].concat();
            all.push(KeyEntry { key, record });
            count += 1;
        }
        if count < page {
            break;
        }
    }
    Ok(all)
}

/// Namespaces in the order of their bytes.
pub(super) fn list_namespaces(shared: &Shared) -> Result<Vec<String>> {
    let name = shared.name("ns");
    let found: Vec<Vec<u8>> = shared.wire.call(|link| {
        let mut command = redis::cmd("ZRANGEBYLEX");
        command.arg(&name).arg("-").arg("+").query(link)
    })?;
    found
        .into_iter()
        .map(|bytes| text_of(bytes, &name))
        .collect()
}
