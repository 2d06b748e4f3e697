//! Collection of what nothing names, and of what dead writers left.
//!
//! A file goes in two steps: while the writer's lock is held it moves to the staging folder and its row is
//! deleted; only when that, and all before it, is on the disk is it removed. What was cut off between the
//! two is put right by the next opening for writing.

use std::time::{Duration, SystemTime};

use rusqlite::{params, Connection, OptionalExtension};

use super::apply::now;
use super::connections::Connections;
use super::fault::{io_fault, InIndex};
use super::filesystem::Root;
use super::layout::{self, Owner};
use super::schema::hash_of;
use super::steps::step;
use super::transaction::run;
use crate::store::{GcOptions, GcReport, Hash};
use crate::{ErrorKind, Result};

/// How long files of writers on other machines are left alone.
const ELSEWHERE: Duration = Duration::from_secs(24 * 3600);
/// A mark so far ahead of the clock is of a clock that was wrong. Microseconds.
const AHEAD: i64 = 60_000_000;

/// An object that nothing names.
struct Unnamed {
    id: i64,
    hash: Hash,
    ending: Option<String>,
    len: u64,
    since: i64,
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

pub(super) fn gc(connections: &Connections, options: &GcOptions) -> Result<GcReport> {
    connections.writable()?;
    let root = &*connections.root;
    // The storage's clock and this machine's: the earlier keeps more.
    let clock = root.clock()?.min(now());
    let limit = clock.saturating_sub(micros(options.grace));
    let mut report = GcReport::default();
    let mut gone = Vec::new();
    let attempt = |report: &mut GcReport, gone: &mut Vec<(Hash, String)>| {
        connections.write(|link| {
            run(root, &link.conn, "BEGIN IMMEDIATE")?;
            let done = condemn(root, &link.conn, clock, limit, options, report, gone);
            let done = done.and_then(|()| {
                step("commit gc");
                run(root, &link.conn, "COMMIT")
            });
            if done.is_err() {
                put_back(root, &link.conn, gone);
                let _ = run(root, &link.conn, "ROLLBACK");
            }
            done
        })
    };
    match attempt(&mut report, &mut gone) {
        Err(error) if error.kind() == ErrorKind::NoSpace && !options.dry_run => {
            // The log cannot grow by the deletion of a row: the file goes first.
            if !make_room(connections, limit, options)? {
                return Err(error);
            }
            report = GcReport::default();
            gone.clear();
            attempt(&mut report, &mut gone)?;
        }
        other => other?,
    }
    if options.dry_run {
        return Ok(report);
    }
    if !gone.is_empty() {
        step("sync gc");
        connections.process()?.syncer.sync()?;
        // Under the lock, or it could hit what another collection has just moved there.
        connections.write(|link| {
            run(root, &link.conn, "BEGIN IMMEDIATE")?;
            let done = unlink(root, &gone);
            let ended = run(root, &link.conn, "COMMIT");
            done.and(ended)
        })?;
    } else if report.deleted > 0 {
        connections.process()?.syncer.soon()?;
    }
    report.swept = sweep(connections)?;
    orphans(connections, limit, &mut report)?;
    Ok(report)
}

/// Deletes the files of objects that would be collected, and leaves their rows: of use on a full disk alone.
/// Whether there were any.
///
/// All that took their names away is synced first, so that no key can come back to one of them. A set of the same
/// value finds the file missing, and writes it.
fn make_room(connections: &Connections, limit: i64, options: &GcOptions) -> Result<bool> {
    let root = &*connections.root;
    let syncer = &connections.process()?.syncer;
    connections.write(|link| {
        let conn = &link.conn;
        run(root, conn, "BEGIN IMMEDIATE")?;
        let remove = || -> Result<bool> {
            syncer.sync()?;
            let sql = "SELECT 1 FROM keys WHERE object = ?1 LIMIT 1";
            let mut named = conn.prepare_cached(sql).in_index(root)?;
            let mut any = false;
            for object in unnamed(root, conn)? {
                let Some(ending) = object.ending else {
                    continue;
                };
                let place = layout::object(&object.hash, &ending);
                let Ok(seen) = root.stat(&place) else {
                    continue;
                };
                let is_ripe = seen.changed.max(object.since) <= limit || options.grace.is_zero();
                if is_ripe && !named.exists([object.id]).in_index(root)? {
                    step("make room");
                    let removed = root.remove(&place);
                    removed.map_err(|error| io_fault(root, &place, "cannot delete", error))?;
                    any = true;
                }
            }
            Ok(any)
        };
        let done = remove();
        let ended = run(root, conn, "COMMIT");
        done.and_then(|any| ended.map(|()| any))
    })
}

/// Files whose transaction failed get their names back, unless somebody made them anew.
fn put_back(root: &Root, conn: &Connection, gone: &[(Hash, String)]) {
    if conn.is_autocommit() && run(root, conn, "BEGIN IMMEDIATE").is_err() {
        // The next opening for writing does it.
        return;
    }
    for (hash, ending) in gone {
        let (from, to) = (
            layout::condemned(hash, ending),
            layout::object(hash, ending),
        );
        if root.stat(&to).is_err() {
            let _ = root.rename(&from, &to);
        } else {
            let _ = root.remove(&from);
        }
    }
}

fn condemn(
    root: &Root,
    conn: &Connection,
    clock: i64,
    limit: i64,
    options: &GcOptions,
    report: &mut GcReport,
    gone: &mut Vec<(Hash, String)>,
) -> Result<()> {
    let mut kept: Option<i64> = None;
    let unnamed = unnamed(root, conn)?;
    if unnamed.is_empty() {
        return Ok(());
    }
    // Counts are not trusted with the life of an object: what keys name is looked up.
    let named = conn
        .prepare_cached("SELECT DISTINCT object FROM keys")
        .and_then(|mut all| {
            let ids = all.query_map([], |row| row.get(0))?;
            ids.collect::<rusqlite::Result<std::collections::HashSet<i64>>>()
        })
        .in_index(root)?;
    for object in unnamed {
        if named.contains(&object.id) {
            continue;
        }
        report.condemned = report.condemned.saturating_add(1);
        if object.since > clock.saturating_add(AHEAD) && !options.dry_run {
            let sql = "UPDATE objects SET unref_since = ?2 WHERE id = ?1";
            let mut mark = conn.prepare_cached(sql).in_index(root)?;
            mark.execute(params![object.id, clock]).in_index(root)?;
        }
        let file = object
            .ending
            .as_deref()
            .map(|ending| layout::object(&object.hash, ending));
        let touched = file.as_ref().and_then(|place| root.stat(place).ok());
        let touched = touched.map_or(object.since, |seen| seen.changed.max(object.since));
        if touched > limit && !options.grace.is_zero() {
            let until = touched.saturating_add(micros(options.grace));
            kept = Some(kept.map_or(until, |kept| kept.min(until)));
            continue;
        }
        report.deleted = report.deleted.saturating_add(1);
        report.bytes = report.bytes.saturating_add(object.len);
        if options.dry_run {
            continue;
        }
        for sql in [
            "DELETE FROM blobs WHERE id = ?1",
            "DELETE FROM objects WHERE id = ?1",
        ] {
            let mut delete = conn.prepare_cached(sql).in_index(root)?;
            delete.execute([object.id]).in_index(root)?;
        }
        if let (Some(ending), Some(from)) = (object.ending, file) {
            step("condemn");
            match root.rename(&from, &layout::condemned(&object.hash, &ending)) {
                Ok(()) => gone.push((object.hash, ending)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(io_fault(root, &from, "cannot move an object", error)),
            }
        }
    }
    report.kept_until = kept.and_then(|kept| {
        let kept = Duration::from_micros(u64::try_from(kept).ok()?);
        SystemTime::UNIX_EPOCH.checked_add(kept)
    });
    Ok(())
}

fn unnamed(root: &Root, conn: &Connection) -> Result<Vec<Unnamed>> {
    let sql = "SELECT id, hash, place, ext, stored_len, unref_since FROM objects \
               WHERE unref_since IS NOT NULL AND refs <= 0";
    let mut list = conn.prepare_cached(sql).in_index(root)?;
    let mut rows = list.query([]).in_index(root)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().in_index(root)? {
        let read = || -> rusqlite::Result<_> {
            let hash: Vec<u8> = row.get(1)?;
            let (place, ending): (i64, Option<String>) = (row.get(2)?, row.get(3)?);
            let (len, since): (i64, i64) = (row.get(4)?, row.get(5)?);
            Ok((row.get(0)?, hash, place, ending, len, since))
        };
        let (id, hash, place, ending, len, since) = read().in_index(root)?;
        let Some(hash) = hash_of(&hash) else { continue };
        let ending = ending.filter(|ending| place == 1 && layout::is_ending(ending));
        found.push(Unnamed {
            id,
            hash,
            ending,
            len: u64::try_from(len).unwrap_or_default(),
            since,
        });
    }
    Ok(found)
}

/// Files among the objects that no row has: removed when they are older than the limit.
fn orphans(connections: &Connections, limit: i64, report: &mut GcReport) -> Result<()> {
    let root = &*connections.root;
    let mut found = Vec::new();
    each_file(root, &mut |hash, ending, place| {
        found.push((hash, ending, place));
    })?;
    if found.is_empty() {
        return Ok(());
    }
    connections.write(|link| {
        let conn = &link.conn;
        run(root, conn, "BEGIN IMMEDIATE")?;
        let remove = || -> Result<()> {
            for (hash, ending, place) in found {
                if has_row(root, conn, &hash, &ending)? {
                    continue;
                }
                let Ok(seen) = root.stat(&place) else {
                    continue;
                };
                if seen.is_file && seen.changed <= limit {
                    let removed = root.remove(&place);
                    removed.map_err(|error| io_fault(root, &place, "cannot delete", error))?;
                    report.swept = report.swept.saturating_add(1);
                }
            }
            Ok(())
        };
        let done = remove();
        let ended = run(root, conn, "COMMIT");
        done.and(ended)
    })
}

/// Whether the index has an object in the file of this ending.
pub(super) fn has_row(root: &Root, conn: &Connection, hash: &Hash, ending: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM objects WHERE hash = ?1 AND place = 1 AND ext = ?2";
    let mut find = conn.prepare_cached(sql).in_index(root)?;
    let found = find.query_row(params![hash.as_bytes(), ending], |_| Ok(()));
    Ok(found.optional().in_index(root)?.is_some())
}

/// Calls with every file that has the name of an object.
pub(super) fn each_file(root: &Root, call: &mut dyn FnMut(Hash, String, String)) -> Result<()> {
    let list = |place: &str| {
        let names = root.names(place);
        names.map_err(|error| io_fault(root, place, "cannot list a folder", error))
    };
    for folder in list(layout::OBJECTS)? {
        let place = format!("{}/{folder}", layout::OBJECTS);
        if folder.len() != 2 || !root.stat(&place).is_ok_and(|seen| seen.is_folder) {
            continue;
        }
        for name in list(&place)? {
            if let Some((hash, ending)) = layout::parse_object(&folder, &name) {
                call(hash, ending, format!("{place}/{name}"));
            }
        }
    }
    Ok(())
}

/// Whether a file in the staging folder is of nobody any more.
pub(super) fn is_left(root: &Root, name: &str) -> bool {
    match layout::owner(name) {
        Owner::Gone => true,
        Owner::Elsewhere => {
            let seen = root.stat(&format!("{}/{name}", layout::STAGING));
            seen.is_ok_and(|seen| seen.changed < now().saturating_sub(micros(ELSEWHERE)))
        }
        Owner::Alive | Owner::Foreign => false,
    }
}

/// Removes files of dead writers; how many.
pub(super) fn sweep(connections: &Connections) -> Result<u64> {
    connections.writable()?;
    let root = &*connections.root;
    let names = root.names(layout::STAGING);
    let names = names.map_err(|error| io_fault(root, layout::STAGING, "cannot list", error))?;
    let mut swept: u64 = 0;
    for name in names.iter().filter(|name| is_left(root, name)) {
        let place = format!("{}/{name}", layout::STAGING);
        let removed = root.remove(&place);
        if removed.map_err(|error| io_fault(root, &place, "cannot delete", error))? {
            swept = swept.saturating_add(1);
        }
    }
    Ok(swept)
}

/// Puts right what a killed writer or collection left.
pub(super) fn recover(connections: &Connections) -> Result<()> {
    let root = &*connections.root;
    sweep(connections)?;
    let names = root.names(layout::STAGING);
    let names = names.map_err(|error| io_fault(root, layout::STAGING, "cannot list", error))?;
    let condemned: Vec<_> = names
        .iter()
        .filter_map(|name| layout::parse_condemned(name))
        .collect();
    if condemned.is_empty() {
        return Ok(());
    }
    let syncer = &connections.process()?.syncer;
    connections.write(|link| {
        let conn = &link.conn;
        run(root, conn, "BEGIN IMMEDIATE")?;
        let restore = || -> Result<()> {
            for (hash, ending) in &condemned {
                let (from, to) = (
                    layout::condemned(hash, ending),
                    layout::object(hash, ending),
                );
                let needed = has_row(root, conn, hash, ending)? && root.stat(&to).is_err();
                if needed && root.stat(&from).is_ok() {
                    step("restore");
                    let moved = root.rename(&from, &to);
                    moved.map_err(|error| io_fault(root, &to, "cannot restore", error))?;
                }
            }
            // Of the others the deletion of the row must be on the disk first.
            syncer.sync()?;
            unlink(root, &condemned)
        };
        let done = restore();
        let ended = run(root, conn, "COMMIT");
        done.and(ended)
    })
}

fn unlink(root: &Root, condemned: &[(Hash, String)]) -> Result<()> {
    for (hash, ending) in condemned {
        step("unlink");
        let place = layout::condemned(hash, ending);
        let removed = root.remove(&place);
        removed.map_err(|error| io_fault(root, &place, "cannot delete", error))?;
    }
    Ok(())
}
