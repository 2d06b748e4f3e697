//! Writing: everything in one transaction.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write as _;
use std::sync::Arc;

use super::sink::{lost, PostgresSink, StagedPlace};
use super::wire::{Fault, Link};
use super::{Shared, CHUNK_BYTES};
use crate::store::{
    Applied, Batch, Change, Durability, Expect, Hash, Key, NewBody, NewObject, ObjectMeta,
    Sink as _,
};
use crate::{Error, ErrorKind, Result};

/// Most bytes of objects that go along with the change of their keys.
const INLINE_BYTES: usize = 8 * 1024 * 1024;

/// Microseconds since 1970 by the server's clock.
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    };
}
pub(super) use now;

/// An object of a batch.
struct Prepared<'b> {
    hash: Hash,
    meta: ObjectMeta,
    stored_len: u64,
    replace: bool,
    bytes: Cow<'b, [u8]>,
    staged: Option<Box<StagedPlace>>,
}

fn prepared<'b>(
    shared: &Arc<Shared>,
    object: NewObject<'b>,
    room: &mut usize,
) -> Result<Prepared<'b>> {
    let (bytes, staged) = match object.body {
        NewBody::Bytes(bytes) if bytes.len() <= *room => {
            *room -= bytes.len();
            (bytes, None)
        }
        NewBody::Bytes(bytes) => {
            let mut sink = PostgresSink::new(shared)?;
            sink.write_all(&bytes)
                .map_err(|error| match error.downcast::<Error>() {
                    Ok(ours) => ours,
                    Err(error) => Error::new(ErrorKind::Io, error.to_string()).with_source(error),
                })?;
            (Cow::default(), Some(Box::new(sink).finish()?))
        }
        NewBody::Staged(staged) => (Cow::default(), Some(staged)),
    };
    let staged = staged.map(|staged| staged.place.downcast::<StagedPlace>());
    let foreign = |_| Error::new(ErrorKind::Usage, "a staged object of another driver");
    let staged = staged.transpose().map_err(foreign)?;
    let stored_len = match &staged {
        Some(place) => place.stored_len,
        None => bytes.len() as u64,
    };
    Ok(Prepared {
        hash: object.hash,
        meta: object.meta,
        stored_len,
        replace: object.replace,
        bytes,
        staged,
    })
}

/// A commit that was asked for and not answered.
struct Unanswered {
    transaction: String,
    /// When the server had started.
    started: String,
    applied: Applied,
}

/// Writes objects and changes keys, in one transaction.
pub(super) fn apply(shared: &Arc<Shared>, batch: Batch<'_>) -> Result<Applied> {
    let Batch {
        objects,
        changes,
        durability,
    } = batch;
    let mut room = INLINE_BYTES;
    let mut prepared_all = Vec::with_capacity(objects.len());
    for object in objects {
        prepared_all.push(prepared(shared, object, &mut room)?);
    }
    // One change may wait for the server's next write to its disk, a fraction of a second; a batch not.
    let synced = match durability {
        Durability::None => false,
        Durability::Batch => changes.len() > 1,
        Durability::Each => true,
    };
    let begin = format!(
        "BEGIN; SET LOCAL synchronous_commit TO {}; \
         SELECT txid_current(), pg_postmaster_start_time()",
        if synced { "on" } else { "off" }
    );
    let mut unanswered: Option<Unanswered> = None;
    let applied = shared.wire.call(|link| {
        if let Some(asked) = unanswered.take() {
            match fate(shared, link, &asked, synced) {
                Ok(true) => return Ok(asked.applied),
                Ok(false) => {}
                Err(fault) => {
                    unanswered = Some(asked);
                    return Err(fault);
                }
            }
        }
        let facts = link.simple(&begin)?;
        let applied = match transact(shared, link, &prepared_all, &changes) {
            Ok(applied) => applied,
            Err(fault) => return link.roll_back(fault),
        };
        match link.simple("COMMIT") {
            Ok(_) => Ok(applied),
            Err(fault) => {
                if fault.is_broken() {
                    let mut facts = facts.into_iter();
                    unanswered = Some(Unanswered {
                        transaction: facts.next().unwrap_or_default(),
                        started: facts.next().unwrap_or_default(),
                        applied,
                    });
                }
                Err(fault)
            }
        }
    })?;
    for (object, created) in prepared_all.iter_mut().zip(&applied.created) {
        if let Some(place) = &mut object.staged {
            place.named = *created;
        }
    }
    Ok(applied)
}

/// Whether the transaction of an unanswered commit was committed.
fn fate(
    shared: &Shared,
    link: &mut Link,
    asked: &Unanswered,
    synced: bool,
) -> std::result::Result<bool, Fault> {
    let sql = format!(
        "SELECT txid_status({}), pg_postmaster_start_time()",
        asked.transaction
    );
    let said = link.simple(&sql)?;
    let status = said.first().map(String::as_str).unwrap_or_default();
    let same = said.get(1) == Some(&asked.started);
    match status {
        // After a crash the numbers of unsynced transactions are given again.
        "committed" if same || synced => Ok(true),
        "aborted" => Ok(false),
        "in progress" => Err(Fault::Again),
        _ => {
            let text = format!(
                "{} was restarted before it answered: look whether the change was made",
                shared.wire.url
            );
            Err(shared.wire.described(ErrorKind::Io, text).into())
        }
    }
}

/// What a batch comes to, once its keys are locked.
struct Plan<'c> {
    before: Vec<Option<Hash>>,
    /// What each key shall name; the codec is that of the last change.
    last: BTreeMap<Key<'c>, Option<(Hash, &'c str)>>,
    /// How many names each object gains.
    delta: BTreeMap<Hash, i64>,
}

fn plan<'c>(
    shared: &Shared,
    changes: &[Change<'c>],
    there: &HashMap<(String, String), Hash>,
) -> Result<Plan<'c>> {
    let mut plan = Plan {
        before: Vec::with_capacity(changes.len()),
        last: BTreeMap::new(),
        delta: BTreeMap::new(),
    };
    let mut count = |hash: Hash, by: i64| {
        let count = plan.delta.entry(hash).or_default();
        *count = count.saturating_add(by);
    };
    for change in changes {
        let Key { namespace, key } = change.key;
        let is = match plan.last.get(&change.key) {
            Some(to) => to.map(|(hash, _)| hash),
            None => there
                .get(&(namespace.to_string(), key.to_string()))
                .copied(),
        };
        let met = match change.expect {
            Expect::Any => true,
            Expect::Absent => is.is_none(),
            Expect::Is(hash) => is == Some(hash),
        };
        if !met {
            let text =
                format!("the key {key:?} in the namespace {namespace:?} is not what was expected");
            let error = shared.wire.described(ErrorKind::Conflict, text);
            return Err(error
                .with_detail("namespace", namespace)
                .with_detail("key", key));
        }
        let to = change.to.map(|to| (to.hash, to.codec));
        if let Some(hash) = is {
            count(hash, -1);
        }
        if let Some((hash, _)) = to {
            count(hash, 1);
        }
        plan.before.push(is);
        plan.last.insert(change.key, to);
    }
    Ok(plan)
}

/// All of the batch but its end.
fn transact(
    shared: &Shared,
    link: &mut Link,
    objects: &[Prepared<'_>],
    changes: &[Change<'_>],
) -> std::result::Result<Applied, Fault> {
    let there = lock_keys(link, changes)?;
    let Plan {
        before,
        last,
        mut delta,
    } = plan(shared, changes, &there)?;
    write_keys(link, &last, &there)?;
    for object in objects {
        delta.entry(object.hash).or_default();
    }
    let known = lock_objects(link, &delta)?;
    let mut created = Vec::with_capacity(objects.len());
    let mut new: BTreeSet<Hash> = BTreeSet::new();
    let mut make = Vec::new();
    for object in objects {
        let is_new = !known.contains_key(&object.hash) || object.replace;
        let first = is_new && new.insert(object.hash);
        created.push(first);
        if first {
            make.push(object);
        }
    }
    let named = last.iter().filter_map(|(key, to)| Some((key, (*to)?.0)));
    for (key, hash) in named {
        if !known.contains_key(&hash) && !new.contains(&hash) {
            let text = format!("{key} would name the object {hash}, which does not exist");
            let error = shared.wire.described(ErrorKind::ObjectNotFound, text);
            let error = error.with_detail("namespace", key.namespace);
            let error = error.with_detail("key", key.key);
            return Err(error.with_detail("hash", hash.hex()).into());
        }
    }
    for object in &make {
        if let Some(id) = known.get(&object.hash) {
            // Damaged: its bytes go, its names stay.
            link.query("DELETE FROM chunk WHERE id = $1", &[id])?;
        }
    }
    make.sort_by_key(|object| object.hash);
    write_objects(shared, link, &make)?;
    count_names(link, &delta)?;
    Ok(Applied { created, before })
}

/// Locks the keys that exist, in order; what they name.
fn lock_keys(
    link: &mut Link,
    changes: &[Change<'_>],
) -> std::result::Result<HashMap<(String, String), Hash>, Fault> {
    let keys: BTreeSet<Key<'_>> = changes.iter().map(|change| change.key).collect();
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: Vec<Key<'_>> = keys.into_iter().collect();
    let (spaces, names) = super::read::columns(&keys);
    let rows = link.query(
        "SELECT k.ns, k.key, k.hash FROM key k \
         JOIN unnest($1::text[], $2::text[]) w(ns, key) ON k.ns = w.ns AND k.key = w.key \
         ORDER BY k.ns, k.key FOR UPDATE OF k",
        &[&spaces, &names],
    )?;
    let mut there = HashMap::with_capacity(rows.len());
    for row in rows {
        let hash = super::read::hash_of(row.get::<_, &[u8]>(2))?;
        there.insert((row.get(0), row.get(1)), hash);
    }
    Ok(there)
}

/// Writes the keys that are new, changes and deletes those that are locked.
fn write_keys(
    link: &mut Link,
    last: &BTreeMap<Key<'_>, Option<(Hash, &str)>>,
    there: &HashMap<(String, String), Hash>,
) -> std::result::Result<(), Fault> {
    #[derive(Default)]
    struct Rows<'a> {
        spaces: Vec<&'a str>,
        names: Vec<&'a str>,
        hashes: Vec<&'a [u8]>,
        codecs: Vec<&'a str>,
    }
    let (mut new, mut changed, mut gone) = (Rows::default(), Rows::default(), Rows::default());
    for (key, to) in last {
        let known = there.contains_key(&(key.namespace.to_string(), key.key.to_string()));
        let rows = match (to, known) {
            (Some(_), true) => &mut changed,
            (Some(_), false) => &mut new,
            (None, true) => &mut gone,
            (None, false) => continue,
        };
        rows.spaces.push(key.namespace);
        rows.names.push(key.key);
        if let Some((hash, codec)) = to {
            rows.hashes.push(hash.as_bytes());
            rows.codecs.push(codec);
        }
    }
    if !new.names.is_empty() {
        let written = link.query(
            concat!(
                "INSERT INTO key SELECT w.ns, w.key, w.hash, w.codec, ",
                now!(),
                " FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[]) \
                 WITH ORDINALITY w(ns, key, hash, codec, i) ORDER BY w.i \
                 ON CONFLICT DO NOTHING RETURNING 1"
            ),
            &[&new.spaces, &new.names, &new.hashes, &new.codecs],
        )?;
        if written.len() != new.names.len() {
            return Err(Fault::Again);
        }
    }
    if !changed.names.is_empty() {
        link.query(
            concat!(
                "UPDATE key k SET hash = w.hash, codec = w.codec, time = ",
                now!(),
                " FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[]) \
                 w(ns, key, hash, codec) WHERE k.ns = w.ns AND k.key = w.key"
            ),
            &[
                &changed.spaces,
                &changed.names,
                &changed.hashes,
                &changed.codecs,
            ],
        )?;
    }
    if !gone.names.is_empty() {
        link.query(
            "DELETE FROM key k USING unnest($1::text[], $2::text[]) w(ns, key) \
             WHERE k.ns = w.ns AND k.key = w.key",
            &[&gone.spaces, &gone.names],
        )?;
    }
    Ok(())
}

/// Locks the objects that exist, in order; which chunks are theirs.
fn lock_objects(
    link: &mut Link,
    delta: &BTreeMap<Hash, i64>,
) -> std::result::Result<HashMap<Hash, i64>, Fault> {
    let hashes: Vec<&[u8]> = delta.keys().map(Hash::as_bytes).collect();
    if hashes.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = link.query(
        "SELECT hash, id FROM object WHERE hash = ANY($1) ORDER BY hash FOR UPDATE",
        &[&hashes],
    )?;
    let mut known = HashMap::with_capacity(rows.len());
    for row in rows {
        known.insert(super::read::hash_of(row.get::<_, &[u8]>(0))?, row.get(1));
    }
    Ok(known)
}

/// Writes objects with their chunks, in the order of their hashes.
fn write_objects(
    shared: &Shared,
    link: &mut Link,
    objects: &[&Prepared<'_>],
) -> std::result::Result<(), Fault> {
    if objects.is_empty() {
        return Ok(());
    }
    let mut staged: Vec<i64> = Vec::new();
    let mut hashes: Vec<&[u8]> = Vec::with_capacity(objects.len());
    let mut ids: Vec<Option<i64>> = Vec::with_capacity(objects.len());
    let mut plain: Vec<Option<i64>> = Vec::with_capacity(objects.len());
    let mut stored: Vec<i64> = Vec::with_capacity(objects.len());
    let mut compressors: Vec<&str> = Vec::with_capacity(objects.len());
    let mut codecs: Vec<&str> = Vec::with_capacity(objects.len());
    let (mut of, mut numbers, mut data): (Vec<&[u8]>, Vec<i32>, Vec<&[u8]>) = Default::default();
    let size = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    for object in objects {
        hashes.push(object.hash.as_bytes());
        let id = object.staged.as_ref().and_then(|place| place.id);
        staged.extend(id);
        ids.push(id);
        plain.push(object.meta.plain_len.map(size));
        stored.push(size(object.stored_len));
        compressors.push(object.meta.compressor.name());
        codecs.push(&object.meta.codec);
        for (number, chunk) in (0..).zip(object.bytes.chunks(CHUNK_BYTES)) {
            of.push(object.hash.as_bytes());
            numbers.push(number);
            data.push(chunk);
        }
    }
    if !staged.is_empty() {
        let taken = link.query(
            "DELETE FROM staged WHERE id = ANY($1) RETURNING id",
            &[&staged],
        )?;
        if taken.len() != staged.len() {
            return Err(lost(shared).into());
        }
    }
    // A row that is there is locked by us and damaged, or was written a moment ago by another, who
    // then waits to be seen: its bytes are left alone, and we look again.
    let rows = link.query(
        concat!(
            "WITH w AS (SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], \
               $4::bigint[], $5::text[], $6::text[]) \
               WITH ORDINALITY w(hash, id, plain, stored, compressor, codec, i)), \
             o AS (INSERT INTO object SELECT w.hash, coalesce(w.id, nextval('ids')), w.plain, \
               w.stored, w.compressor, w.codec, 0, ",
            now!(),
            ", ",
            now!(),
            " FROM w ORDER BY w.i \
               ON CONFLICT (hash) DO UPDATE SET id = EXCLUDED.id, plain = EXCLUDED.plain, \
               stored = EXCLUDED.stored, compressor = EXCLUDED.compressor, \
               codec = EXCLUDED.codec, born = EXCLUDED.born \
               WHERE object.hash = ANY($10) RETURNING hash, id), \
             c AS (INSERT INTO chunk SELECT o.id, d.n, d.data \
               FROM unnest($7::bytea[], $8::integer[], $9::bytea[]) d(hash, n, data) \
               JOIN o ON o.hash = d.hash) \
             SELECT hash FROM o"
        ),
        &[
            &hashes,
            &ids,
            &plain,
            &stored,
            &compressors,
            &codecs,
            &of,
            &numbers,
            &data,
            &objects
                .iter()
                .filter(|object| object.replace)
                .map(|object| object.hash.as_bytes())
                .collect::<Vec<_>>(),
        ],
    )?;
    if rows.len() == objects.len() {
        Ok(())
    } else {
        Err(Fault::Again)
    }
}

/// Notes how many names objects gained or lost, and that the batch met them.
fn count_names(link: &mut Link, delta: &BTreeMap<Hash, i64>) -> std::result::Result<(), Fault> {
    if delta.is_empty() {
        return Ok(());
    }
    let hashes: Vec<&[u8]> = delta.keys().map(Hash::as_bytes).collect();
    let by: Vec<i64> = delta.values().copied().collect();
    link.query(
        concat!(
            "UPDATE object o SET refs = greatest(o.refs + w.by, 0), \
             unref = CASE WHEN o.refs + w.by > 0 THEN NULL ELSE ",
            now!(),
            " END FROM unnest($1::bytea[], $2::bigint[]) w(hash, by) \
             WHERE o.hash = w.hash AND (w.by <> 0 OR o.refs <= 0)"
        ),
        &[&hashes, &by],
    )?;
    Ok(())
}
