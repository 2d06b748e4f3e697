//! Mends what a check found: sets damaged objects and dangling keys aside, counts anew, sweeps.

use std::io::Write;

use rusqlite::{params, Connection, OptionalExtension};

use super::apply::now;
use super::collect::sweep;
use super::connections::Connections;
use super::fault::{io_fault, InIndex};
use super::filesystem::{sync_file, Root};
use super::layout;
use super::steps::step;
use super::transaction::run;
use crate::store::{Action, Finding, FindingKind, Hash};
use crate::Result;

/// Whether a name in the quarantine is one that a repair gave.
pub(super) fn is_set_aside(name: &str) -> bool {
    let object = name.split_at_checked(2).is_some_and(|(folder, rest)| {
        let rest = if rest.contains('.') {
            rest.to_string()
        } else {
            format!("{rest}.bin")
        };
        layout::parse_object(folder, &rest).is_some()
    });
    object || (name.starts_with("keys-") && name.strip_suffix(".jsonl").is_some())
}

pub(super) fn mark_suspect(connections: &Connections, hash: &Hash) {
    let root = &*connections.root;
    // Best effort: the next reader finds it as well.
    let _ = connections.write(|link| {
        let sql = "UPDATE objects SET suspect = 1 WHERE hash = ?1 AND suspect = 0";
        let mut mark = link.conn.prepare_cached(sql).in_index(root)?;
        mark.execute([hash.as_bytes()]).in_index(root)
    });
}

pub(super) fn repair(
    connections: &Connections,
    findings: &[Finding],
    apply: bool,
    purge: bool,
) -> Result<Vec<Action>> {
    connections.writable()?;
    let root = &*connections.root;
    let mut actions: Vec<Action> = findings
        .iter()
        .map(|finding| plan(finding, purge))
        .collect();
    if !apply {
        return Ok(actions);
    }
    connections.write(|link| {
        let conn = &link.conn;
        run(root, conn, "BEGIN IMMEDIATE")?;
        let mend = || -> Result<()> {
            for finding in findings {
                match (finding.kind, &finding.hash) {
                    (FindingKind::CorruptObject | FindingKind::MissingObject, Some(hash)) => {
                        set_aside(root, conn, hash, purge)?;
                    }
                    (FindingKind::DanglingKey, _) => drop_key(root, conn, finding)?,
                    _ => {}
                }
            }
            recount(root, conn)
        };
        let done = mend().and_then(|()| {
            step("commit repair");
            run(root, conn, "COMMIT")
        });
        if done.is_err() {
            let _ = run(root, conn, "ROLLBACK");
        }
        done
    })?;
    connections.process()?.syncer.sync()?;
    sweep(connections)?;
    for action in &mut actions {
        action.done = action.done && apply;
    }
    Ok(actions)
}

fn plan(finding: &Finding, purge: bool) -> Action {
    let (what, done) = match finding.kind {
        FindingKind::CorruptObject | FindingKind::MissingObject if finding.hash.is_some() => {
            if purge {
                (
                    "the object is deleted, and the keys that name it are listed in quarantine/",
                    true,
                )
            } else {
                (
                    "the object and a list of the keys that name it go to quarantine/",
                    true,
                )
            }
        }
        FindingKind::DanglingKey if finding.key.is_some() => {
            ("the key is listed in quarantine/ and removed", true)
        }
        FindingKind::WrongCount => ("its names are counted anew", true),
        FindingKind::Leftover => ("the file is removed", true),
        FindingKind::OrphanObject => (
            "left to a collection, which removes it after its grace",
            false,
        ),
        FindingKind::Foreign => ("left alone: move it elsewhere", false),
        FindingKind::BadKey => (
            "left as it is: set the key again, or restore the index from a copy",
            false,
        ),
        _ => (
            "restore index.sqlite from a copy, or export what can be read to a new store",
            false,
        ),
    };
    Action {
        finding: finding.clone(),
        what: what.to_string(),
        done,
    }
}

/// Moves an object that is damaged out of the store, and lists the keys that named it.
fn set_aside(root: &Root, conn: &Connection, hash: &Hash, purge: bool) -> Result<()> {
    let sql = "SELECT o.id, o.ext, coalesce(o.data, b.data) FROM objects o \
               LEFT JOIN blobs b ON b.id = o.id WHERE o.hash = ?1";
    let found = conn.query_row(sql, [hash.as_bytes()], |row| {
        let data: Option<Vec<u8>> = row.get(2)?;
        let ending: Option<String> = row.get(1)?;
        Ok((row.get::<_, i64>(0)?, ending, data))
    });
    let Some((id, ending, data)) = found.optional().in_index(root)? else {
        return Ok(());
    };
    let sql =
        "SELECT n.name, k.key FROM keys k JOIN namespaces n ON n.id = k.ns WHERE k.object = ?1";
    let mut list = conn.prepare(sql).in_index(root)?;
    let keys = list
        .query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .in_index(root)?;
    let keys: Vec<(String, String)> = keys.collect::<rusqlite::Result<_>>().in_index(root)?;
    list_keys(root, &keys, Some(hash))?;
    let from = ending.as_deref().filter(|ending| layout::is_ending(ending));
    let from = from.map(|ending| layout::object(hash, ending));
    let to = format!(
        "{}/{hash}.{}",
        layout::QUARANTINE,
        ending.as_deref().unwrap_or("bin")
    );
    let fault = |error| io_fault(root, &to, "cannot set an object aside", error);
    root.make_folder(layout::QUARANTINE).map_err(fault)?;
    match (from, data) {
        (Some(from), _) if purge => drop(root.remove(&from).map_err(fault)?),
        (Some(from), _) => match root.rename(&from, &to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fault(error)),
            _ => {}
        },
        (None, Some(data)) if !purge => {
            let staged = layout::staged("aside");
            let mut file = root.create(&staged).map_err(fault)?;
            let written = file.write_all(&data).and_then(|()| sync_file(&file));
            written
                .and_then(|()| root.rename(&staged, &to))
                .map_err(fault)?;
        }
        _ => {}
    }
    for sql in [
        "DELETE FROM keys WHERE object = ?1",
        "DELETE FROM blobs WHERE id = ?1",
        "DELETE FROM objects WHERE id = ?1",
    ] {
        conn.execute(sql, [id]).in_index(root)?;
    }
    Ok(())
}

fn drop_key(root: &Root, conn: &Connection, finding: &Finding) -> Result<()> {
    let Some((namespace, key)) = &finding.key else {
        return Ok(());
    };
    // Only what still dangles.
    let which = "key = ?2 AND ns = (SELECT id FROM namespaces WHERE name = ?1) \
                 AND NOT EXISTS (SELECT 1 FROM objects o WHERE o.id = keys.object)";
    let sql = format!("SELECT 1 FROM keys WHERE {which}");
    let there = conn.query_row(&sql, params![namespace, key], |_| Ok(()));
    if there.optional().in_index(root)?.is_some() {
        let keys = [(namespace.clone(), key.clone())];
        list_keys(root, &keys, finding.hash.as_ref())?;
        let sql = format!("DELETE FROM keys WHERE {which}");
        conn.execute(&sql, params![namespace, key]).in_index(root)?;
    }
    Ok(())
}

/// Writes keys and what they named to a file of the quarantine, which is on the disk before they go.
fn list_keys(root: &Root, keys: &[(String, String)], hash: Option<&Hash>) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let name = layout::staged("jsonl");
    let name = name.rsplit('/').next().unwrap_or_default();
    let place = format!("{}/keys-{}-{name}", layout::QUARANTINE, now());
    let fault = |error| io_fault(root, &place, "cannot list keys", error);
    root.make_folder(layout::QUARANTINE).map_err(fault)?;
    let mut file = root.create(&place).map_err(fault)?;
    for (namespace, key) in keys {
        let hash = hash.map(Hash::hex);
        let line = serde_json::json!({"namespace": namespace, "key": key, "hash": hash});
        file.write_all(format!("{line}\n").as_bytes())
            .map_err(fault)?;
    }
    sync_file(&file).map_err(fault)?;
    root.sync_folder(layout::QUARANTINE).map_err(fault)
}

/// Counts the names of all objects anew.
fn recount(root: &Root, conn: &Connection) -> Result<()> {
    conn.execute_batch("CREATE TEMP TABLE named(id INTEGER PRIMARY KEY, names INTEGER)")
        .in_index(root)?;
    let done = conn.execute_batch(
        "INSERT INTO named SELECT object, count(*) FROM keys GROUP BY object; \
         UPDATE objects SET refs = coalesce((SELECT names FROM named WHERE named.id = objects.id), 0);",
    );
    let sql =
        "UPDATE objects SET unref_since = CASE WHEN refs = 0 THEN coalesce(unref_since, ?1) END \
               WHERE (refs = 0) <> (unref_since IS NOT NULL)";
    let done = done.and_then(|()| conn.execute(sql, [now()]));
    let dropped = conn.execute_batch("DROP TABLE temp.named");
    done.in_index(root)?;
    dropped.in_index(root)
}
