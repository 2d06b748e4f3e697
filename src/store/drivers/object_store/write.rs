//! Writing: objects first, many at once, then keys, each under its condition.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::sync::Arc;

use object_store::path::Path;
use object_store::{
    MultipartUpload, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload,
};

use super::read::{self, KeyObject};
use super::{names, Shared};
use crate::store::drivers::remote::{jitter, local_micros, micros, random_name};
use crate::store::{Applied, Batch, Change, Expect, Hash, Key, NewBody, NewObject, Sink, Staged};
use crate::{Error, ErrorKind, Result};

/// Bytes of a part of an upload.
const PART_BYTES: usize = 8 * 1024 * 1024;
/// How often a key is tried that others change at the same time.
const ATTEMPTS: u32 = 12;

/// An object that is being written: what fits in one part stays in memory.
pub(super) struct ObjectSink {
    shared: Arc<Shared>,
    part: Vec<u8>,
    upload: Option<(Box<dyn MultipartUpload>, StagedPlace)>,
    stored_len: u64,
}

/// Where a staged object lies. Dropped, it is removed.
pub(super) struct StagedPlace {
    shared: Arc<Shared>,
    path: Path,
}

impl Drop for StagedPlace {
    fn drop(&mut self) {
        // What cannot be removed now is swept later.
        if let Ok(client) = self.shared.bridge.client() {
            let _ = self.shared.bridge.wait(client.delete(&self.path));
        }
    }
}

impl ObjectSink {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
            part: Vec::new(),
            upload: None,
            stored_len: 0,
        }
    }

    fn send(&mut self) -> Result<()> {
        let bridge = &self.shared.bridge;
        if self.upload.is_none() {
            let path = self.shared.path(&format!("staging/{}", random_name()?))?;
            let client = bridge.client()?;
            let upload = bridge.wait(client.put_multipart(&path))?;
            let upload = upload.map_err(|error| bridge.failed(&error))?;
            let shared = Arc::clone(&self.shared);
            self.upload = Some((upload, StagedPlace { shared, path }));
        }
        if let Some((upload, _)) = &mut self.upload {
            let part = std::mem::take(&mut self.part);
            let sent = bridge.wait(upload.put_part(PutPayload::from(part)))?;
            sent.map_err(|error| bridge.failed(&error))?;
        }
        Ok(())
    }
}

impl Drop for ObjectSink {
    fn drop(&mut self) {
        if let Some((mut upload, _)) = self.upload.take() {
            let _ = self.shared.bridge.wait(upload.abort());
        }
    }
}

impl Write for ObjectSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.part.len() >= PART_BYTES {
            self.send().map_err(io::Error::from)?;
        }
        let room = PART_BYTES.saturating_sub(self.part.len());
        let (now, _) = bytes.split_at(room.min(bytes.len()));
        self.part.extend_from_slice(now);
        self.stored_len = self.stored_len.saturating_add(now.len() as u64);
        Ok(now.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for ObjectSink {
    fn finish(mut self: Box<Self>) -> Result<Staged> {
        let stored_len = self.stored_len;
        if self.upload.is_none() {
            let part = std::mem::take(&mut self.part);
            return Ok(Staged {
                stored_len,
                place: Box::new(part),
            });
        }
        self.send()?;
        let bridge = &self.shared.bridge;
        if let Some((upload, _)) = &mut self.upload {
            let done = bridge.wait(upload.complete())?;
            done.map_err(|error| bridge.failed(&error))?;
        }
        let ended = || Error::new(ErrorKind::Internal, "a sink ends twice");
        let (_, place) = self.upload.take().ok_or_else(ended)?;
        Ok(Staged {
            stored_len,
            place: Box::new(place),
        })
    }
}

/// An object of a batch, and where it shall lie.
struct Prepared {
    hash: Hash,
    tail: String,
    path: Path,
    replace: bool,
    body: Content,
}

enum Content {
    Bytes(bytes::Bytes),
    Staged(StagedPlace),
}

fn prepared(shared: &Shared, object: NewObject<'_>) -> Result<Prepared> {
    let body = match object.body {
        NewBody::Bytes(bytes) => Content::Bytes(bytes.into_owned().into()),
        NewBody::Staged(staged) => match staged.place.downcast::<Vec<u8>>() {
            Ok(bytes) => Content::Bytes((*bytes).into()),
            Err(place) => {
                if let Ok(place) = place.downcast::<StagedPlace>() {
                    Content::Staged(*place)
                } else {
                    let text = "a staged object of another driver";
                    return Err(Error::new(ErrorKind::Usage, text));
                }
            }
        },
    };
    let tail = names::tail(&object.meta);
    Ok(Prepared {
        path: shared.object_path(&object.hash, &tail)?,
        hash: object.hash,
        tail,
        replace: object.replace,
        body,
    })
}

/// Writes an object unless it is there; whether it was written because there was none.
///
/// One that is there and old is written again, so that a collection which found it without a name sees
/// that it is wanted.
async fn put(
    shared: &Shared,
    client: Arc<dyn ObjectStore>,
    object: &Prepared,
) -> object_store::Result<bool> {
    let there = match &object.body {
        Content::Bytes(bytes) if shared.conditional && !object.replace => {
            let mut attempt = 0;
            loop {
                let options = PutOptions::from(PutMode::Create);
                let payload = PutPayload::from(bytes.clone());
                match client.put_opts(&object.path, payload, options).await {
                    Ok(_) => return Ok(true),
                    Err(object_store::Error::AlreadyExists { .. }) => {}
                    Err(error) => return Err(error),
                }
                match client.head(&object.path).await {
                    Ok(meta) => break Some(meta),
                    // Two at once, of which neither has won yet.
                    Err(object_store::Error::NotFound { .. }) if attempt < ATTEMPTS => {
                        attempt += 1;
                        tokio::time::sleep(jitter(attempt)).await;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        _ => match client.head(&object.path).await {
            Ok(meta) => Some(meta),
            Err(object_store::Error::NotFound { .. }) => None,
            Err(error) => return Err(error),
        },
    };
    let old = |meta: &object_store::ObjectMeta| {
        let age = local_micros().saturating_sub(meta.last_modified.timestamp_micros());
        age > micros(shared.refresh_after)
    };
    if !object.replace && there.as_ref().is_some_and(|meta| !old(meta)) {
        return Ok(false);
    }
    match &object.body {
        Content::Bytes(bytes) => {
            client
                .put(&object.path, PutPayload::from(bytes.clone()))
                .await?;
        }
        Content::Staged(place) => client.copy(&place.path, &object.path).await?,
    }
    Ok(there.is_none() || object.replace)
}

/// Writes objects, then changes keys, one by one.
pub(super) fn apply(shared: &Arc<Shared>, batch: Batch<'_>) -> Result<Applied> {
    let conditions = batch
        .changes
        .iter()
        .any(|change| change.expect != Expect::Any);
    if conditions && !shared.conditional {
        let text = format!(
            "{} knows no conditions: a key cannot be set only if it is absent or unchanged",
            shared.bridge.url
        );
        return Err(shared.bridge.described(ErrorKind::Unsupported, text));
    }
    let objects: Result<Vec<Prepared>> = batch
        .objects
        .into_iter()
        .map(|object| prepared(shared, object))
        .collect();
    let objects = objects?;
    let mut order: Vec<Key<'_>> = Vec::new();
    let mut by_key: BTreeMap<Key<'_>, Vec<(usize, Change<'_>)>> = BTreeMap::new();
    for (number, change) in batch.changes.iter().enumerate() {
        let list = by_key.entry(change.key).or_default();
        if list.is_empty() {
            order.push(change.key);
        }
        list.push((number, *change));
    }
    // What is not as expected is found before anything is written, where nobody interferes. A key that is only
    // set is not looked at: a request less for each.
    let mut looked: Vec<Key<'_>> = Vec::new();
    for key in &order {
        let plain =
            |(_, change): &(usize, Change<'_>)| change.expect == Expect::Any && change.to.is_some();
        if !by_key
            .get(key)
            .is_some_and(|changes| changes.iter().all(plain))
        {
            looked.push(*key);
        }
    }
    let there = read::get_keys(shared, &looked)?;
    let mut found: HashMap<Key<'_>, Option<KeyObject>> = looked.into_iter().zip(there).collect();
    let mut keys = Vec::with_capacity(order.len());
    for key in order {
        let there = found.remove(&key).flatten();
        let changes = by_key.remove(&key).unwrap_or_default();
        followed(shared, &changes, there.as_ref())?;
        keys.push((changes, std::sync::Mutex::new(there)));
    }
    let created = read::each(shared, &objects, |client, object| {
        put(shared, client, object)
    })?;
    // Where each object lies that a key shall name.
    let mut tails: HashMap<Hash, String> = HashMap::new();
    for object in &objects {
        tails.insert(object.hash, object.tail.clone());
    }
    let named = batch
        .changes
        .iter()
        .filter_map(|change| change.to.map(|to| (change.key, to.hash)));
    let elsewhere: Vec<(Key<'_>, Hash)> = named
        .filter(|(_, hash)| !tails.contains_key(hash))
        .collect();
    let hashes: Vec<Hash> = elsewhere.iter().map(|(_, hash)| *hash).collect();
    for ((key, hash), found) in elsewhere.iter().zip(read::find_objects(shared, &hashes)?) {
        let Some(found) = found else {
            let text = format!("{key} would name the object {hash}, which does not exist");
            let error = shared.bridge.described(ErrorKind::ObjectNotFound, text);
            let error = error.with_detail("namespace", key.namespace);
            return Err(error
                .with_detail("key", key.key)
                .with_detail("hash", hash.hex()));
        };
        refresh(shared, &found)?;
        tails.insert(*hash, found.tail);
    }
    let outcomes = read::each(shared, &keys, |client, (changes, there)| {
        let there = there
            .lock()
            .map(|mut there| there.take())
            .unwrap_or_default();
        let tails = &tails;
        async move { Ok(change_key(shared, &client, changes, there, tails).await) }
    })?;
    let mut before = vec![None; batch.changes.len()];
    for ((changes, _), outcome) in keys.iter().zip(outcomes) {
        for ((number, _), was) in changes.iter().zip(outcome?) {
            if let Some(place) = before.get_mut(*number) {
                *place = was;
            }
        }
    }
    // A batch may hold one object twice: it was written once.
    let mut seen = std::collections::HashSet::new();
    let first = objects.iter().map(|object| seen.insert(object.hash));
    let created = created
        .into_iter()
        .zip(first)
        .map(|(created, first)| created && first);
    Ok(Applied {
        created: created.collect(),
        before,
    })
}

/// Writes an old object again by two copies, since none may be copied to itself.
fn refresh(shared: &Shared, found: &read::Located) -> Result<()> {
    let age = local_micros().saturating_sub(found.born);
    if age <= micros(shared.refresh_after) {
        return Ok(());
    }
    let bridge = &shared.bridge;
    let path = shared.path(&format!("staging/{}", random_name()?))?;
    let client = bridge.client()?;
    let work = async {
        client.copy(&found.path, &path).await?;
        client.copy(&path, &found.path).await?;
        client.delete(&path).await
    };
    bridge.wait(work)?.map_err(|error| bridge.failed(&error))
}

/// What each change of one key meets, if the key is as it was found.
fn followed(
    shared: &Shared,
    changes: &[(usize, Change<'_>)],
    there: Option<&KeyObject>,
) -> Result<Vec<Option<Hash>>> {
    let mut is = there
        .and_then(|there| there.record.as_ref())
        .map(|record| record.hash);
    let mut before = Vec::with_capacity(changes.len());
    for (_, change) in changes {
        let met = match change.expect {
            Expect::Any => true,
            Expect::Absent => is.is_none(),
            Expect::Is(hash) => is == Some(hash),
        };
        if !met {
            let text = format!("{} is not what was expected", change.key);
            let error = shared.bridge.described(ErrorKind::Conflict, text);
            return Err(error
                .with_detail("namespace", change.key.namespace)
                .with_detail("key", change.key.key));
        }
        before.push(is);
        is = change.to.map(|to| to.hash);
    }
    Ok(before)
}

/// Changes one key; what each of its changes met.
async fn change_key(
    shared: &Shared,
    client: &Arc<dyn ObjectStore>,
    changes: &[(usize, Change<'_>)],
    mut there: Option<KeyObject>,
    tails: &HashMap<Hash, String>,
) -> Result<Vec<Option<Hash>>> {
    let Some((_, last)) = changes.last() else {
        return Ok(Vec::new());
    };
    let failed = |error: object_store::Error| shared.bridge.failed(&error);
    let path = shared.key_path(last.key)?;
    let conditional = changes
        .iter()
        .any(|(_, change)| change.expect != Expect::Any);
    let token = random_name()?;
    let text = match last.to {
        Some(to) => {
            let tail = tails.get(&to.hash).map(String::as_str).unwrap_or_default();
            read::key_text(Some((&to.hash, tail, to.codec)), &token)
        }
        None => read::key_text(None, &token),
    };
    for attempt in 0..ATTEMPTS {
        let before = followed(shared, changes, there.as_ref())?;
        let known = there.as_ref().is_some_and(|there| there.record.is_some());
        let mode = match (&there, conditional, last.to) {
            (_, false, None) => {
                if known {
                    match client.delete(&path).await {
                        Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                        Err(error) => return Err(failed(error)),
                    }
                }
                return Ok(before);
            }
            (_, false, Some(_)) => PutMode::Overwrite,
            (None, true, None) => return Ok(before),
            (None, true, Some(_)) => PutMode::Create,
            (Some(there), true, _) => PutMode::Update(there.version.clone()),
        };
        let put = client.put_opts(&path, text.clone().into(), PutOptions::from(mode));
        match put.await {
            Ok(_) => return Ok(before),
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            ) => {}
            Err(error) => return Err(failed(error)),
        }
        // Somebody was quicker, or the answer to our own put was lost and it came twice.
        let found = read::get_whole(client, &path).await.map_err(failed)?;
        let found = found.map(|(bytes, meta)| read::key_object(&bytes, &meta));
        there = found.transpose()?;
        if there.as_ref().is_some_and(|there| there.token == token) {
            return Ok(before);
        }
        tokio::time::sleep(jitter(attempt)).await;
    }
    let text = format!("others changed {} for too long", last.key);
    Err(shared.bridge.described(ErrorKind::Busy, text))
}
