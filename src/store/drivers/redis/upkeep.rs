//! Collection, check, repair, sums, and the end of a store.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::read::{self, key_record, object_record};
use super::{write, Shared, DRIVER};
use crate::store::drivers::remote::{instant, micros};
use crate::store::{
    Action, Batch, Change, Expect, Finding, FindingKind, GcOptions, GcReport, Hash, Key, Stat,
};
use crate::{ErrorKind, Result};

/// Objects that one step deletes, or looks at.
const PAGE: usize = 500;
/// How often a check begins anew because the store changed meanwhile.
const ROUNDS: usize = 3;

/// Deletes what had no name for `grace`, by the server's clock. Each step is atomic, so that a set at the
/// same time finds the object whole or not at all.
pub(super) fn gc(shared: &Shared, options: &GcOptions, staging: Duration) -> Result<GcReport> {
    let grace = micros(options.grace);
    let look = |offset: u64| -> Result<(u64, u64, u64, String)> {
        shared.wire.call(|link| {
            let mut script = shared.wire.scripts.condemned.key(&shared.meta);
            script.arg(&shared.prefix).arg(grace);
            script.arg(offset).arg(PAGE).invoke(link)
        })
    };
    let (condemned, _, _, first) = look(0)?;
    let mut report = GcReport {
        condemned,
        ..GcReport::default()
    };
    if let Ok(since) = first.parse::<i64>() {
        report.kept_until = instant(since.saturating_add(grace));
    }
    if options.dry_run {
        loop {
            let (_, count, bytes, _) = look(report.deleted)?;
            report.deleted = report.deleted.saturating_add(count);
            report.bytes = report.bytes.saturating_add(bytes);
            if count < PAGE as u64 {
                return Ok(report);
            }
        }
    }
    loop {
        let (seen, deleted, bytes): (u64, u64, u64) = shared.wire.call(|link| {
            let mut script = shared.wire.scripts.collect.key(&shared.meta);
            script.arg(&shared.prefix).arg(grace).arg(PAGE).invoke(link)
        })?;
        report.deleted = report.deleted.saturating_add(deleted);
        report.bytes = report.bytes.saturating_add(bytes);
        if seen < PAGE as u64 {
            break;
        }
    }
    report.swept = sweep(shared, staging)?;
    Ok(report)
}

/// Removes parts of objects whose writers wrote nothing for so long.
pub(super) fn sweep(shared: &Shared, grace: Duration) -> Result<u64> {
    let mut all = 0_u64;
    loop {
        let swept: u64 = shared.wire.call(|link| {
            let mut script = shared.wire.scripts.sweep.key(&shared.meta);
            script.arg(&shared.prefix).arg(micros(grace)).invoke(link)
        })?;
        all = all.saturating_add(swept);
        if swept == 0 {
            return Ok(all);
        }
    }
}

/// How much there is.
pub(super) fn stat(shared: &Arc<Shared>) -> Result<Stat> {
    let (keys, namespaces, objects, unnamed) = shared.wire.call(|link| {
        let mut script = shared.wire.scripts.totals.key(&shared.meta);
        script.arg(&shared.prefix).invoke(link)
    })?;
    let mut stat = Stat {
        keys,
        namespaces,
        objects,
        unnamed,
        ..Stat::default()
    };
    let mut after = None;
    loop {
        let hashes = read::list_hashes(shared, after.as_ref(), PAGE)?;
        for record in read::records(shared, &hashes)?.into_iter().flatten() {
            let plain = record.meta.plain_len.unwrap_or(0);
            stat.plain_bytes = stat.plain_bytes.saturating_add(plain);
            stat.stored_bytes = stat.stored_bytes.saturating_add(record.meta.stored_len);
        }
        after = hashes.last().copied();
        if hashes.len() < PAGE {
            return Ok(stat);
        }
    }
}

fn sequence(shared: &Shared) -> Result<Option<u64>> {
    let name = shared.name("seq");
    shared
        .wire
        .call(|link| redis::cmd("GET").arg(&name).query(link))
}

/// Compares records with each other and with the sizes of what is stored.
///
/// What was found while the store changed is looked at again; counts that could not be compared at rest
/// are left out.
pub(super) fn check(shared: &Arc<Shared>, found: &mut dyn FnMut(Finding)) -> Result<()> {
    for round in 1..=ROUNDS {
        let before = sequence(shared)?;
        let mut findings = Vec::new();
        look_through(shared, &mut findings)?;
        let still = before == sequence(shared)?;
        if still || round == ROUNDS {
            let sure = |finding: &Finding| {
                still
                    || !matches!(
                        finding.kind,
                        FindingKind::WrongCount | FindingKind::DanglingKey
                    )
            };
            findings.into_iter().filter(sure).for_each(&mut *found);
            return Ok(());
        }
    }
    Ok(())
}

fn look_through(shared: &Arc<Shared>, findings: &mut Vec<Finding>) -> Result<()> {
    let mut names: HashMap<Hash, u64> = HashMap::new();
    for namespace in read::list_namespaces(shared)? {
        check_keys(shared, &namespace, &mut names, findings)?;
    }
    let mut after = None;
    loop {
        let hashes = read::list_hashes(shared, after.as_ref(), PAGE)?;
        check_objects(shared, &hashes, &mut names, findings)?;
        after = hashes.last().copied();
        if hashes.len() < PAGE {
            break;
        }
    }
    Ok(())
}

/// Keys and their records.
type Page = Vec<(Vec<u8>, Vec<u8>)>;

fn finding(kind: FindingKind, place: String, detail: String) -> Finding {
    Finding {
        kind,
        hash: None,
        key: None,
        place,
        detail,
    }
}

/// Reads every key's record, counts names, and asks whether the objects exist.
fn check_keys(
    shared: &Shared,
    namespace: &str,
    counts: &mut HashMap<Hash, u64>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let place = shared.name(&format!("k:{namespace}"));
    let mut cursor = 0_u64;
    loop {
        let (next, page): (u64, Page) = shared.wire.call(|link| {
            let mut command = redis::cmd("HSCAN");
            command
                .arg(&place)
                .arg(cursor)
                .arg("COUNT")
                .arg(PAGE)
                .query(link)
        })?;
        let mut named = Vec::new();
        for (key, record) in page {
            let key = String::from_utf8_lossy(&key).into_owned();
            let record = String::from_utf8_lossy(&record).into_owned();
            if let Ok(record) = key_record(&record, String::new) {
                named.push((key, record.hash));
            } else {
                let mut bad = finding(
                    FindingKind::BadKey,
                    place.clone(),
                    format!("record {record:?}"),
                );
                bad.key = Some((namespace.to_string(), key));
                findings.push(bad);
            }
        }
        let hashes: Vec<Hash> = named.iter().map(|(_, hash)| *hash).collect();
        let texts: Vec<String> = hashes.iter().map(Hash::hex).collect();
        let known: Vec<Option<Vec<u8>>> = if texts.is_empty() {
            Vec::new()
        } else {
            shared.wire.call(|link| {
                redis::cmd("HMGET")
                    .arg(shared.name("m"))
                    .arg(&texts)
                    .query(link)
            })?
        };
        for ((key, hash), known) in named.into_iter().zip(known) {
            let count = counts.entry(hash).or_default();
            *count = count.saturating_add(1);
            if known.is_none() {
                let detail = format!("it names {hash}, which does not exist");
                let mut dangling = finding(FindingKind::DanglingKey, place.clone(), detail);
                dangling.hash = Some(hash);
                dangling.key = Some((namespace.to_string(), key));
                findings.push(dangling);
            }
        }
        cursor = next;
        if cursor == 0 {
            return Ok(());
        }
    }
}

/// Compares records of objects with the sizes of their parts and with the counts of their names.
fn check_objects(
    shared: &Shared,
    hashes: &[Hash],
    names: &mut HashMap<Hash, u64>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    if hashes.is_empty() {
        return Ok(());
    }
    let texts: Vec<String> = hashes.iter().map(Hash::hex).collect();
    let (records, counts): (Vec<Option<String>>, Vec<Option<i64>>) = shared.wire.call(|link| {
        let mut pipe = redis::pipe();
        pipe.cmd("HMGET").arg(shared.name("m")).arg(&texts);
        pipe.cmd("HMGET").arg(shared.name("refs")).arg(&texts);
        pipe.query(link)
    })?;
    for ((hash, record), count) in hashes.iter().zip(records).zip(counts) {
        let hex = hash.hex();
        let place = shared.part("o", &hex, 0);
        let mut tell = |kind, detail| {
            let mut told = finding(kind, place.clone(), detail);
            told.hash = Some(*hash);
            findings.push(told);
        };
        let record = record.unwrap_or_default();
        let Ok(record) = object_record(&record, &place) else {
            tell(FindingKind::Index, format!("its record is {record:?}"));
            continue;
        };
        let parts: Vec<String> = (0..record.parts)
            .map(|n| shared.part("o", &hex, n))
            .collect();
        let sizes: Vec<u64> = shared.wire.call(|link| {
            let mut pipe = redis::pipe();
            for part in &parts {
                pipe.cmd("STRLEN").arg(part);
            }
            pipe.query(link)
        })?;
        let size = sizes
            .iter()
            .fold(0_u64, |sum, size| sum.saturating_add(*size));
        let stored = record.meta.stored_len;
        if size == 0 && stored > 0 {
            tell(FindingKind::MissingObject, "it has no bytes".to_string());
        } else if size != stored {
            let detail = format!("it has {size} bytes, its record says {stored}");
            tell(FindingKind::CorruptObject, detail);
        }
        let (is, should) = (count.unwrap_or(-1), names.remove(hash).unwrap_or(0));
        if u64::try_from(is).ok() != Some(should) {
            let detail = format!("{is} names are counted, {should} exist");
            tell(FindingKind::WrongCount, detail);
        }
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
    let mut recount = false;
    for finding in findings {
        let (what, done) = match (finding.kind, &finding.hash, &finding.key) {
            (
                FindingKind::CorruptObject | FindingKind::MissingObject | FindingKind::Index,
                Some(hash),
                _,
            ) => {
                if apply {
                    set_aside(shared, hash, purge)?;
                }
                if purge {
                    ("object deleted; set its keys again".to_string(), true)
                } else {
                    let place = shared.part("q", &hash.hex(), 0);
                    (format!("object moved to {place}; set its keys again"), true)
                }
            }
            (FindingKind::DanglingKey | FindingKind::BadKey, _, Some((namespace, key))) => {
                if apply {
                    note_key(shared, Key::new(namespace, key), purge)?;
                }
                if purge {
                    ("key deleted".to_string(), true)
                } else {
                    let text = format!("listed in {}; set the key again", shared.name("q"));
                    (text, true)
                }
            }
            (FindingKind::WrongCount, _, _) => {
                recount = true;
                ("names counted anew".to_string(), true)
            }
            _ => ("left alone".to_string(), false),
        };
        actions.push(Action {
            finding: finding.clone(),
            what,
            done,
        });
    }
    if apply && (recount || purge) {
        shared.wire.call(|link| {
            let mut script = shared.wire.scripts.recount.key(&shared.meta);
            script.arg(&shared.prefix).invoke::<u64>(link)
        })?;
    }
    Ok(actions)
}

fn set_aside(shared: &Shared, hash: &Hash, purge: bool) -> Result<()> {
    shared.wire.call(|link| {
        let mut script = shared.wire.scripts.set_aside.key(&shared.meta);
        script.arg(&shared.prefix).arg(hash.hex());
        script.arg(u8::from(purge)).invoke::<u64>(link)
    })?;
    Ok(())
}

/// Lists a key that cannot be served, with its record; deletes it if `purge`.
fn note_key(shared: &Arc<Shared>, key: Key<'_>, purge: bool) -> Result<()> {
    let names = shared.name(&format!("k:{}", key.namespace));
    let note = format!("{}\0{}", key.namespace, key.key);
    shared.wire.call(|link| {
        let record: Option<Vec<u8>> = redis::cmd("HGET").arg(&names).arg(key.key).query(link)?;
        let mut command = redis::cmd("HSET");
        command.arg(shared.name("q")).arg(&note);
        command.arg(record.unwrap_or_default()).query::<u64>(link)
    })?;
    if purge {
        let change = Change {
            key,
            to: None,
            expect: Expect::Any,
        };
        let batch = Batch {
            changes: vec![change],
            ..Batch::default()
        };
        write::apply(shared, batch)?;
    }
    Ok(())
}

/// Deletes every key of a shape of ours below the prefix; the marker at the very last.
pub(super) fn destroy(shared: &Shared) -> Result<()> {
    let ours = |key: &[u8]| {
        let rest = key.strip_prefix(format!("{}:", shared.prefix).as_bytes());
        rest.is_some_and(|rest| {
            let fixed: [&[u8]; 8] = [
                b"m", b"ol", b"ns", b"refs", b"unref", b"seq", b"staging", b"q",
            ];
            let kinds: [&[u8]; 6] = [b"k:", b"l:", b"o:", b"s:", b"c:", b"q:"];
            fixed.contains(&rest) || kinds.iter().any(|kind| rest.starts_with(kind))
        })
    };
    let mut pattern = String::new();
    for letter in shared.prefix.chars() {
        if "*?[]\\^-".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push_str(":*");
    let mut cursor = 0_u64;
    loop {
        let (next, page): (u64, Vec<Vec<u8>>) = shared.wire.call(|link| {
            let mut command = redis::cmd("SCAN");
            command.arg(cursor).arg("MATCH").arg(&pattern);
            command.arg("COUNT").arg(1000).query(link)
        })?;
        let page: Vec<Vec<u8>> = page.into_iter().filter(|key| ours(key)).collect();
        if !page.is_empty() {
            shared
                .wire
                .call(|link| redis::cmd("UNLINK").arg(&page).query::<u64>(link))?;
        }
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    let gone: u64 = shared
        .wire
        .call(|link| redis::cmd("DEL").arg(&shared.meta).query(link))?;
    match gone {
        0 => Err(shared.wire.described(
            ErrorKind::NotFound,
            format!("{DRIVER}: the store was removed already"),
        )),
        _ => Ok(()),
    }
}
