//! Reading: keys and small objects many at once, large objects range by range, listings page by page.

use std::io::{self, Read};
use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, UpdateVersion};

use super::bridge::again;
use super::{names, Shared, DRIVER, PARALLEL};
use crate::store::drivers::records::KeyText;
use crate::store::drivers::remote::damaged;
use crate::store::{Body, Fetched, Hash, Key, KeyEntry, KeyRecord, ObjectMeta, Stored};
use crate::{ErrorKind, Result};

/// Objects up to so many bytes come whole.
const INLINE_BYTES: u64 = 64 * 1024;
/// Bytes of one read of a larger object.
const PIECE_BYTES: u64 = 4 * 1024 * 1024;
/// More bytes than any record has.
const MAX_RECORD_BYTES: u64 = 64 * 1024;

type Client = Arc<dyn ObjectStore>;

/// An object as it lies there.
#[derive(Clone, Debug)]
pub(super) struct Located {
    pub path: Path,
    pub tail: String,
    pub meta: ObjectMeta,
    /// When it was written, microseconds by the server's clock.
    pub born: i64,
}

/// A key's object: what it says, and the version of it.
pub(super) struct KeyObject {
    /// None for a key that was deleted under a condition.
    pub record: Option<KeyRecord>,
    /// The last part of its object's name.
    pub tail: String,
    pub version: UpdateVersion,
    /// Which call wrote it.
    pub token: String,
}

/// The JSON of a key.
pub(super) fn key_text(to: Option<(&Hash, &str, &str)>, token: &str) -> String {
    let (to, name) = match to {
        Some((hash, tail, codec)) => (Some((*hash, codec.to_string())), tail.to_string()),
        None => (None, String::new()),
    };
    let token = token.to_string();
    KeyText { to, name, token }.text()
}

/// A small object whole, and its version; None if there is none.
pub(super) async fn get_whole(
    client: &Client,
    path: &Path,
) -> object_store::Result<Option<(Vec<u8>, object_store::ObjectMeta)>> {
    let found = up_to(client, path, MAX_RECORD_BYTES).await?;
    Ok(found.map(|(meta, bytes)| (bytes.unwrap_or_default(), meta)))
}

/// What is known of an object, and its bytes if they are no more than `most`; None if there is none.
async fn up_to(
    client: &Client,
    path: &Path,
    most: u64,
) -> object_store::Result<Option<(object_store::ObjectMeta, Option<Vec<u8>>)>> {
    let read = || async {
        let found = client.get(path).await?;
        let meta = found.meta.clone();
        if meta.size > most {
            return Ok((meta, None));
        }
        Ok((meta, Some(found.bytes().await?.to_vec())))
    };
    match again(read).await {
        Ok(found) => Ok(Some(found)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A small object whole.
pub(super) fn whole(
    shared: &Shared,
    path: &Path,
) -> Result<Option<(Vec<u8>, object_store::ObjectMeta)>> {
    let client = shared.bridge.client()?;
    let found = shared.bridge.wait(get_whole(&client, path))?;
    found.map_err(|error| shared.bridge.failed(&error))
}

/// Reads the JSON of a key.
pub(super) fn key_object(bytes: &[u8], meta: &object_store::ObjectMeta) -> Result<KeyObject> {
    let bad = || damaged(DRIVER, meta.location.as_ref(), "it is no key's record");
    let said = KeyText::parse(bytes).ok_or_else(bad)?;
    let record = said.to.map(|(hash, codec)| KeyRecord {
        hash,
        codec,
        time: meta.last_modified.timestamp_micros(),
    });
    Ok(KeyObject {
        record,
        tail: said.name,
        version: UpdateVersion {
            e_tag: meta.e_tag.clone(),
            version: meta.version.clone(),
        },
        token: said.token,
    })
}

/// Does something for each of many, several at a time; the answers in order.
pub(super) fn each<'i, I: 'i, R, F>(
    shared: &Shared,
    items: &'i [I],
    work: impl Fn(Client, &'i I) -> F,
) -> Result<Vec<R>>
where
    F: std::future::Future<Output = object_store::Result<R>>,
{
    let client = shared.bridge.client()?;
    let work = futures_util::stream::iter(items.iter().map(|item| work(Arc::clone(&client), item)))
        .buffered(PARALLEL)
        .try_collect::<Vec<R>>();
    shared
        .bridge
        .wait(work)?
        .map_err(|error| shared.bridge.failed(&error))
}

/// What keys name, in the order asked for.
pub(super) fn get_keys(shared: &Shared, keys: &[Key<'_>]) -> Result<Vec<Option<KeyObject>>> {
    let paths: Result<Vec<Path>> = keys.iter().map(|key| shared.key_path(*key)).collect();
    let found = each(shared, &paths?, |client, path| async move {
        get_whole(&client, path).await
    })?;
    found
        .into_iter()
        .map(|found| {
            found
                .map(|(bytes, meta)| key_object(&bytes, &meta))
                .transpose()
        })
        .collect()
}

fn located(shared: &Shared, meta: &object_store::ObjectMeta) -> Option<(Hash, Located)> {
    let (hash, tail) = names::parse_object(&meta.location, &shared.prefix)?;
    let known = names::parse_tail(&tail, meta.size)?;
    let located = Located {
        path: meta.location.clone(),
        tail,
        meta: known,
        born: meta.last_modified.timestamp_micros(),
    };
    Some((hash, located))
}

/// Where objects lie, in the order asked for: one short listing each.
pub(super) fn find_objects(shared: &Shared, hashes: &[Hash]) -> Result<Vec<Option<Located>>> {
    let folders: Result<Vec<Path>> = hashes
        .iter()
        .map(|hash| shared.path(&names::object_folder(hash)))
        .collect();
    let found = each(shared, &folders?, |client, folder| async move {
        client.list(Some(folder)).try_collect::<Vec<_>>().await
    })?;
    let first = |metas: Vec<object_store::ObjectMeta>| {
        let mut all = metas.iter().filter_map(|meta| located(shared, meta));
        all.next().map(|(_, located)| located)
    };
    Ok(found.into_iter().map(first).collect())
}

/// An object, to be read.
pub(super) fn open_object(shared: &Arc<Shared>, hash: &Hash) -> Result<Option<Stored>> {
    let found = find_objects(shared, &[*hash])?.pop().flatten();
    Ok(found.map(|found| opened(shared, &found)))
}

fn opened(shared: &Arc<Shared>, found: &Located) -> Stored {
    let reader = Pieces {
        shared: Arc::clone(shared),
        path: found.path.clone(),
        size: found.meta.stored_len,
        at: 0,
        piece: Vec::new().into(),
        taken: 0,
    };
    stored(found, Body::Reader(Box::new(reader)))
}

fn stored(found: &Located, body: Body) -> Stored {
    Stored {
        meta: found.meta.clone(),
        body,
        place: found.path.to_string(),
        identity: Some([
            u64::try_from(found.born).unwrap_or(0),
            found.meta.stored_len,
            0,
            0,
        ]),
    }
}

/// A large object, a range at a time; the client asks again for what does not come.
struct Pieces {
    shared: Arc<Shared>,
    path: Path,
    size: u64,
    at: u64,
    piece: bytes::Bytes,
    taken: usize,
}

impl Pieces {
    fn next_piece(&mut self) -> Result<()> {
        self.taken = 0;
        self.piece = bytes::Bytes::new();
        let end = self.size.min(self.at.saturating_add(PIECE_BYTES));
        if self.at >= end {
            return Ok(());
        }
        let bridge = &self.shared.bridge;
        let client = bridge.client()?;
        let piece = bridge.wait(again(|| client.get_range(&self.path, self.at..end)))?;
        self.piece = piece.map_err(|error| match error {
            object_store::Error::NotFound { .. } => {
                let text = format!("the object {} was removed while it was read", self.path);
                bridge.described(ErrorKind::Io, text)
            }
            error => bridge.failed(&error),
        })?;
        self.at = self.at.saturating_add(self.piece.len() as u64);
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

/// What one key's look brings: its record, its object's place, and the bytes of a small one.
type Look = Option<(
    Vec<u8>,
    object_store::ObjectMeta,
    Option<(object_store::ObjectMeta, Option<Vec<u8>>)>,
)>;

/// What lies at keys, small objects with them: two requests each.
pub(super) fn fetch(shared: &Arc<Shared>, keys: &[Key<'_>]) -> Result<Vec<Fetched>> {
    let paths: Result<Vec<Path>> = keys.iter().map(|key| shared.key_path(*key)).collect();
    let paths = paths?;
    let mut all = Vec::with_capacity(keys.len());
    for group in paths.chunks(250) {
        let found = each(shared, group, |client, path| look(shared, client, path))?;
        for look in found {
            all.push(fetched(shared, look)?);
        }
    }
    Ok(all)
}

async fn look(shared: &Shared, client: Client, path: &Path) -> object_store::Result<Look> {
    let Some((bytes, meta)) = get_whole(&client, path).await? else {
        return Ok(None);
    };
    let Ok(key) = key_object(&bytes, &meta) else {
        return Ok(Some((bytes, meta, None)));
    };
    let Some(record) = key.record else {
        return Ok(None);
    };
    let Ok(object) = shared.object_path(&record.hash, &key.tail) else {
        return Ok(Some((bytes, meta, None)));
    };
    let found = up_to(&client, &object, INLINE_BYTES).await?;
    Ok(Some((bytes, meta, found)))
}

fn fetched(shared: &Arc<Shared>, look: Look) -> Result<Fetched> {
    let Some((bytes, meta, object)) = look else {
        return Ok(Fetched::NoKey);
    };
    let Some(record) = key_object(&bytes, &meta)?.record else {
        return Ok(Fetched::NoKey);
    };
    let Some((at, body)) = object else {
        // It may have been written anew by another codec or compressor, so under another name.
        return Ok(match open_object(shared, &record.hash)? {
            Some(stored) => Fetched::Found(record, stored),
            None => Fetched::NoObject(record),
        });
    };
    let bad = || damaged(DRIVER, at.location.as_ref(), "it is no object's name");
    let (_, found) = located(shared, &at).ok_or_else(bad)?;
    let stored = match body {
        Some(body) => stored(&found, Body::Bytes(body)),
        None => opened(shared, &found),
    };
    Ok(Fetched::Found(record, stored))
}

/// Hands every object behind a name to `take`, in order, until it says no.
pub(super) fn walk(
    shared: &Shared,
    folder: &str,
    after: Option<&Path>,
    mut take: impl FnMut(&object_store::ObjectMeta) -> bool,
) -> Result<()> {
    let client = shared.bridge.client()?;
    let folder = shared.path(folder)?;
    // Where a listing that was cut goes on.
    let last = std::cell::RefCell::new(after.cloned());
    let take = std::cell::RefCell::new(&mut take);
    let work = again(|| async {
        let from = last.borrow().clone();
        let mut listing = match &from {
            Some(after) => client.list_with_offset(Some(&folder), after),
            None => client.list(Some(&folder)),
        };
        while let Some(meta) = listing.try_next().await? {
            *last.borrow_mut() = Some(meta.location.clone());
            if !take.borrow_mut()(&meta) {
                break;
            }
        }
        Ok(())
    });
    let done: object_store::Result<()> = shared.bridge.wait(work)?;
    done.map_err(|error| shared.bridge.failed(&error))
}

/// Hands every object to `take`, in the order of hashes.
pub(super) fn walk_objects(
    shared: &Shared,
    after: Option<&Hash>,
    mut take: impl FnMut(Hash, Located) -> bool,
) -> Result<()> {
    // All names in the folder of a hash lie before this one.
    let after = after
        .map(|hash| shared.path(&format!("{}/~", names::object_folder(hash))))
        .transpose()?;
    walk(shared, "objects", after.as_ref(), |meta| {
        match located(shared, meta) {
            Some((hash, found)) => take(hash, found),
            None => true,
        }
    })
}

/// Hashes behind one, in their order.
pub(super) fn list_hashes(
    shared: &Shared,
    after: Option<&Hash>,
    limit: usize,
) -> Result<Vec<Hash>> {
    let mut all: Vec<Hash> = Vec::new();
    if limit == 0 {
        return Ok(all);
    }
    walk_objects(shared, after, |hash, _| {
        if all.last() != Some(&hash) {
            all.push(hash);
        }
        all.len() < limit
    })?;
    Ok(all)
}

/// Keys of a namespace in the order of their bytes.
pub(super) fn list_keys(
    shared: &Shared,
    (namespace, prefix): (&str, &str),
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<KeyEntry>> {
    let mut all = Vec::new();
    let mut after = after
        .filter(|after| *after >= prefix)
        .map(ToString::to_string);
    if after.is_none() && !prefix.is_empty() {
        // What is listed lies behind the prefix itself, which may be a key too.
        let own = get_keys(shared, &[Key::new(namespace, prefix)])?;
        let record = own.into_iter().flatten().find_map(|found| found.record);
        all.extend(record.map(|record| KeyEntry {
            key: prefix.to_string(),
            record,
        }));
        after = Some(prefix.to_string());
    }
    while all.len() < limit {
        let want = limit.saturating_sub(all.len()).min(1000);
        let page = key_names(shared, (namespace, prefix), after.as_deref(), want)?;
        let keys: Vec<Key<'_>> = page.iter().map(|name| Key::new(namespace, name)).collect();
        let found = get_keys(shared, &keys)?;
        for (name, found) in page.iter().zip(found) {
            // Deleted meanwhile, or under a condition.
            let Some(record) = found.and_then(|found| found.record) else {
                continue;
            };
            all.push(KeyEntry {
                key: name.clone(),
                record,
            });
        }
        if page.len() < want {
            break;
        }
        after = page.last().cloned();
    }
    Ok(all)
}

/// Names of keys behind one, deleted ones among them.
pub(super) fn key_names(
    shared: &Shared,
    (namespace, prefix): (&str, &str),
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<String>> {
    let folder = format!("keys/{}", names::escape(namespace));
    let after = after
        .map(|after| shared.key_path(Key::new(namespace, after)))
        .transpose()?;
    let mut page = Vec::new();
    walk(shared, &folder, after.as_ref(), |meta| {
        let name = meta.location.filename().and_then(names::unescape);
        let Some(name) = name else { return true };
        if !name.starts_with(prefix) {
            return *name < *prefix;
        }
        page.push(name);
        page.len() < limit
    })?;
    Ok(page)
}

/// Namespaces that hold a key, in the order of their bytes.
pub(super) fn list_namespaces(shared: &Shared) -> Result<Vec<String>> {
    let client = shared.bridge.client()?;
    let folder = shared.path("keys")?;
    let listed = shared
        .bridge
        .wait(again(|| client.list_with_delimiter(Some(&folder))))?;
    let listed = listed.map_err(|error| shared.bridge.failed(&error))?;
    let mut all: Vec<String> = listed
        .common_prefixes
        .iter()
        .filter_map(|path| path.filename().and_then(names::unescape))
        .collect();
    all.sort_unstable();
    let mut held = Vec::new();
    for namespace in all {
        if !list_keys(shared, (&namespace, ""), None, 1)?.is_empty() {
            held.push(namespace);
        }
    }
    Ok(held)
}
