//! Collection in two phases, check, repair, sums, and the end of a store: all by listing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use serde_json::{json, Map, Value};

use super::bridge::again;
use super::{names, read, Shared, DRIVER, PARALLEL};
use crate::store::drivers::remote::{instant, micros, random_name};
use crate::store::{Action, Finding, FindingKind, GcOptions, GcReport, Hash, Key, Stat};
use crate::{ErrorKind, Result};

/// Keys that are read at once.
const PAGE: usize = 1000;

/// The server's clock, microseconds since 1970: the time of an object that is written for it.
fn clock(shared: &Shared) -> Result<i64> {
    let bridge = &shared.bridge;
    let client = bridge.client()?;
    let path = shared.path(&format!("staging/clock-{}", random_name()?))?;
    let work = async {
        client.put(&path, "clock".into()).await?;
        let meta = client.head(&path).await?;
        client.delete(&path).await?;
        Ok::<_, object_store::Error>(meta.last_modified.timestamp_micros())
    };
    bridge.wait(work)?.map_err(|error| bridge.failed(&error))
}

/// Hands every key with what it names to `take`; what cannot be read comes as an error's text.
fn walk_keys(
    shared: &Shared,
    mut take: impl FnMut(&str, &str, std::result::Result<Hash, String>),
) -> Result<u64> {
    let mut spaces = 0_u64;
    let client = shared.bridge.client()?;
    let folder = shared.path("keys")?;
    let listed = shared
        .bridge
        .wait(again(|| client.list_with_delimiter(Some(&folder))))?;
    let listed = listed.map_err(|error| shared.bridge.failed(&error))?;
    for path in listed.common_prefixes {
        let Some(space) = path.filename().and_then(names::unescape) else {
            continue;
        };
        let mut held = false;
        let mut after: Option<String> = None;
        loop {
            let page = read::key_names(shared, (&space, ""), after.as_deref(), PAGE)?;
            let paths: Result<Vec<Path>> = page
                .iter()
                .map(|name| shared.key_path(Key::new(&space, name)))
                .collect();
            let found = read::each(shared, &paths?, |client, path| async move {
                read::get_whole(&client, path).await
            })?;
            for (name, found) in page.iter().zip(found) {
                let Some((bytes, meta)) = found else { continue };
                match read::key_object(&bytes, &meta) {
                    Ok(key) => {
                        if let Some(record) = key.record {
                            held = true;
                            take(&space, name, Ok(record.hash));
                        }
                    }
                    Err(error) => {
                        held = true;
                        take(&space, name, Err(error.to_string()));
                    }
                }
            }
            after = page.last().cloned();
            if page.len() < PAGE {
                break;
            }
        }
        spaces = spaces.saturating_add(u64::from(held));
    }
    Ok(spaces)
}

/// What earlier collections found without a name, and since when; and their files.
fn candidates(shared: &Shared) -> Result<(HashMap<String, i64>, Vec<Path>)> {
    let mut files = Vec::new();
    read::walk(shared, "gc", None, |meta| {
        files.push(meta.location.clone());
        true
    })?;
    let client = shared.bridge.client()?;
    let mut since: HashMap<String, i64> = HashMap::new();
    for file in &files {
        let work = again(|| async { client.get(file).await?.bytes().await });
        let bytes = match shared.bridge.wait(work)? {
            Ok(bytes) => bytes,
            Err(object_store::Error::NotFound { .. }) => continue,
            Err(error) => return Err(shared.bridge.failed(&error)),
        };
        let found: Map<String, Value> = serde_json::from_slice(&bytes).unwrap_or_default();
        for (path, time) in found {
            if let Some(time) = time.as_i64() {
                let first = since.entry(path).or_insert(time);
                *first = time.min(*first);
            }
        }
    }
    Ok((since, files))
}

/// Finds objects without a name, and deletes those that an earlier collection found too, `grace` ago, and
/// that were not written since.
///
/// There are no locks. Who sets an object that is older than half the grace writes it again; with a shorter
/// grace an object could go between the look at it and the key, so that nobody else may write then.
pub(super) fn gc(shared: &Arc<Shared>, options: &GcOptions, staging: Duration) -> Result<GcReport> {
    let bridge = &shared.bridge;
    let least = shared.refresh_after.saturating_mul(2);
    if options.grace < least && !shared.exclusive && !options.dry_run {
        let text = format!(
            "an object store has no locks: with a grace below {} hours a collection could take what others are \
             about to name; if nobody else writes, say exclusive=1 in its URL",
            least.as_secs() / 3600
        );
        return Err(bridge.described(ErrorKind::Unsupported, text));
    }
    let client = bridge.client()?;
    let now = clock(shared)?;
    let grace = micros(options.grace);
    let (since, files) = candidates(shared)?;
    let mut named: HashSet<Hash> = HashSet::new();
    walk_keys(shared, |_, _, hash| {
        named.extend(hash.ok());
    })?;
    let mut condemned: Vec<read::Located> = Vec::new();
    read::walk_objects(shared, None, |hash, found| {
        if !named.contains(&hash) {
            condemned.push(found);
        }
        true
    })?;
    let mut report = GcReport {
        condemned: condemned.len() as u64,
        ..GcReport::default()
    };
    let mut kept = Map::new();
    let mut next: Option<i64> = None;
    let mut ripe = Vec::new();
    for found in condemned {
        let marked = since.get(found.path.as_ref()).copied().unwrap_or(now);
        let from = marked.max(found.born);
        // The server's times of objects are whole seconds.
        if now.saturating_sub(from) >= grace {
            ripe.push(found);
            continue;
        }
        let until = from.saturating_add(grace);
        next = Some(next.map_or(until, |next| next.min(until)));
        kept.insert(found.path.to_string(), json!(marked));
    }
    report.kept_until = next.and_then(instant);
    if options.dry_run {
        report.deleted = ripe.len() as u64;
        report.bytes = ripe.iter().fold(0, |sum: u64, found| {
            sum.saturating_add(found.meta.stored_len)
        });
        return Ok(report);
    }
    // Looked at once more just before it goes: who set it meanwhile has written it again.
    let gone = read::each(shared, &ripe, |client, found| async move {
        match client.head(&found.path).await {
            Ok(meta) if meta.last_modified.timestamp_micros() == found.born => {}
            Ok(_) | Err(object_store::Error::NotFound { .. }) => return Ok(0),
            Err(error) => return Err(error),
        }
        match client.delete(&found.path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(1_u64),
            Err(error) => Err(error),
        }
    })?;
    for (found, gone) in ripe.iter().zip(gone) {
        report.deleted = report.deleted.saturating_add(gone);
        let bytes = found.meta.stored_len.saturating_mul(gone);
        report.bytes = report.bytes.saturating_add(bytes);
    }
    if !kept.is_empty() {
        let path = shared.path(&format!("gc/{}.json", random_name()?))?;
        let text = Value::Object(kept).to_string();
        let put = bridge.wait(client.put(&path, text.into()))?;
        put.map_err(|error| bridge.failed(&error))?;
    }
    delete_all(shared, &files)?;
    report.swept = sweep(shared, staging)?;
    Ok(report)
}

fn delete_all(shared: &Shared, paths: &[Path]) -> Result<()> {
    read::each(shared, paths, |client, path| async move {
        match client.delete(path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    })?;
    Ok(())
}

/// Removes objects under `staging/` that are older than `grace`, by the server's clock.
pub(super) fn sweep(shared: &Shared, grace: Duration) -> Result<u64> {
    let mut all = Vec::new();
    read::walk(shared, "staging", None, |meta| {
        all.push((meta.location.clone(), meta.last_modified.timestamp_micros()));
        true
    })?;
    if all.is_empty() {
        return Ok(0);
    }
    let limit = clock(shared)?.saturating_sub(micros(grace));
    let old = all.into_iter().filter(|(_, time)| *time <= limit);
    let paths: Vec<Path> = old.map(|(path, _)| path).collect();
    delete_all(shared, &paths)?;
    Ok(paths.len() as u64)
}

/// How much there is: every key is read, since some were deleted under a condition.
pub(super) fn stat(shared: &Shared) -> Result<Stat> {
    let mut stat = Stat::default();
    let mut named: HashSet<Hash> = HashSet::new();
    stat.namespaces = walk_keys(shared, |_, _, hash| {
        stat.keys = stat.keys.saturating_add(1);
        named.extend(hash.ok());
    })?;
    let mut last = None;
    read::walk_objects(shared, None, |hash, found| {
        let first = last != Some(hash);
        last = Some(hash);
        stat.objects = stat.objects.saturating_add(u64::from(first));
        let unnamed = first && !named.contains(&hash);
        stat.unnamed = stat.unnamed.saturating_add(u64::from(unnamed));
        let plain = found.meta.plain_len.unwrap_or(0);
        stat.plain_bytes = stat.plain_bytes.saturating_add(plain);
        stat.stored_bytes = stat.stored_bytes.saturating_add(found.meta.stored_len);
        true
    })?;
    Ok(stat)
}

fn finding(kind: FindingKind, place: String, detail: String) -> Finding {
    Finding {
        kind,
        hash: None,
        key: None,
        place,
        detail,
    }
}

/// Compares keys with objects, and names with what names are.
pub(super) fn check(shared: &Shared, tell: &mut dyn FnMut(Finding)) -> Result<()> {
    let mut all: HashSet<Hash> = HashSet::new();
    let mut findings = Vec::new();
    read::walk(shared, "objects", None, |meta| {
        let parsed = names::parse_object(&meta.location, &shared.prefix);
        let known = parsed.filter(|(_, tail)| names::parse_tail(tail, meta.size).is_some());
        if let Some((hash, _)) = known {
            all.insert(hash);
        } else {
            let place = meta.location.to_string();
            let detail = "it has no name of an object".to_string();
            findings.push(finding(FindingKind::Foreign, place, detail));
        }
        true
    })?;
    walk_keys(shared, |space, name, hash| {
        let place = || format!("keys/{}/{}", names::escape(space), names::escape(name));
        let mut found = match hash {
            Ok(hash) if all.contains(&hash) => return,
            Ok(hash) => {
                let detail = format!("it names {hash}, which does not exist");
                let mut found = finding(FindingKind::DanglingKey, place(), detail);
                found.hash = Some(hash);
                found
            }
            Err(detail) => finding(FindingKind::BadKey, place(), detail),
        };
        found.key = Some((space.to_string(), name.to_string()));
        findings.push(found);
    })?;
    for found in findings {
        // An object may have been written after the objects were listed.
        let hash = found
            .hash
            .filter(|_| found.kind == FindingKind::DanglingKey);
        if let Some(hash) = hash {
            if read::find_objects(shared, &[hash])?
                .pop()
                .flatten()
                .is_some()
            {
                continue;
            }
        }
        tell(found);
    }
    Ok(())
}

/// Mends what was found.
pub(super) fn repair(
    shared: &Arc<Shared>,
    findings: &[Finding],
    apply: bool,
    purge: bool,
) -> Result<Vec<Action>> {
    let mut actions = Vec::new();
    for finding in findings {
        let (what, done) = match (finding.kind, &finding.hash, &finding.key) {
            (FindingKind::CorruptObject | FindingKind::MissingObject, Some(hash), _) => {
                if apply {
                    let folder = names::object_folder(hash);
                    let mut paths = Vec::new();
                    read::walk(shared, &folder, None, |meta| {
                        paths.push(meta.location.clone());
                        true
                    })?;
                    set_aside(shared, &paths, purge)?;
                }
                if purge {
                    ("object deleted; set its keys again", true)
                } else {
                    ("object moved to quarantine/; set its keys again", true)
                }
            }
            (FindingKind::DanglingKey | FindingKind::BadKey, _, Some((space, name))) => {
                if apply {
                    let path = shared.key_path(Key::new(space, name))?;
                    copy_aside(shared, &path, purge)?;
                }
                if purge {
                    ("key deleted", true)
                } else {
                    ("copied to quarantine/; set the key again", true)
                }
            }
            _ => ("left alone", false),
        };
        actions.push(Action {
            finding: finding.clone(),
            what: what.to_string(),
            done,
        });
    }
    Ok(actions)
}

fn aside(shared: &Shared, path: &Path) -> Result<Path> {
    let rest = path.as_ref().strip_prefix(&shared.prefix);
    shared.path(&format!("quarantine/{}", rest.unwrap_or(path.as_ref())))
}

fn set_aside(shared: &Shared, paths: &[Path], purge: bool) -> Result<()> {
    let bridge = &shared.bridge;
    let client = bridge.client()?;
    for path in paths {
        let to = aside(shared, path)?;
        let work = async {
            if !purge {
                client.copy(path, &to).await?;
            }
            client.delete(path).await
        };
        bridge.wait(work)?.map_err(|error| bridge.failed(&error))?;
    }
    Ok(())
}

fn copy_aside(shared: &Shared, path: &Path, purge: bool) -> Result<()> {
    let bridge = &shared.bridge;
    let client = bridge.client()?;
    let to = aside(shared, path)?;
    let work = async {
        match client.copy(path, &to).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(()),
            other => other?,
        }
        if purge {
            client.delete(path).await
        } else {
            Ok(())
        }
    };
    bridge.wait(work)?.map_err(|error| bridge.failed(&error))
}

/// Deletes what is under our folders; the marker at the very last.
pub(super) fn destroy(shared: &Shared) -> Result<()> {
    let bridge = &shared.bridge;
    let client = bridge.client()?;
    let marker = shared.path("tare-store.json")?;
    if read::whole(shared, &marker)?.is_none() {
        let text = format!("{DRIVER}: the store was removed already");
        return Err(bridge.described(ErrorKind::NotFound, text));
    }
    for folder in ["keys", "objects", "staging", "gc", "quarantine"] {
        let folder = shared.path(folder)?;
        let names = client.list(Some(&folder)).map_ok(|meta| meta.location);
        let work = names.try_for_each_concurrent(PARALLEL, |path| {
            let client: Arc<dyn ObjectStore> = Arc::clone(&client);
            async move {
                match client.delete(&path).await {
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                    Err(error) => Err(error),
                }
            }
        });
        bridge.wait(work)?.map_err(|error| bridge.failed(&error))?;
    }
    let gone = bridge.wait(client.delete(&marker))?;
    gone.map_err(|error| bridge.failed(&error))
}
