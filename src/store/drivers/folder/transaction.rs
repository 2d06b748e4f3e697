//! Transactions, and the names of files that are given within one.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::connections::Link;
use super::fault::InIndex;
use super::filesystem::Root;
use super::schema::Names;
use super::staging::StagedFile;
use super::steps::step;
use crate::store::Hash;
use crate::Result;

/// A file that got its name in a transaction that is not over.
pub(super) struct Placed {
    pub hash: Hash,
    pub place: String,
    pub staged: StagedFile,
}

pub(super) fn run(root: &Root, conn: &Connection, sql: &str) -> Result<()> {
    let mut statement = conn.prepare_cached(sql).in_index(root)?;
    statement.execute([]).in_index(root)?;
    Ok(())
}

/// One transaction, which takes back the names of files if it fails.
pub(super) fn transaction<T>(
    root: &Arc<Root>,
    link: &mut Link,
    work: impl FnOnce(&Connection, &mut Names, &mut Vec<Placed>) -> Result<T>,
) -> Result<T> {
    let Link { conn, names, .. } = link;
    let conn: &Connection = conn;
    run(root, conn, "BEGIN IMMEDIATE")?;
    step("begun");
    let mut placed = Vec::new();
    let done = work(conn, names, &mut placed).and_then(|done| {
        step("commit");
        run(root, conn, "COMMIT")?;
        step("committed");
        Ok(done)
    });
    if done.is_ok() {
        for file in &mut placed {
            file.staged.moved = true;
        }
        return done;
    }
    names.forget();
    take_back(root, conn, placed);
    if !conn.is_autocommit() {
        let _ = run(root, conn, "ROLLBACK");
    }
    done
}

/// Takes the names of files back. Where the lock is lost already, others may have named the same objects.
fn take_back(root: &Arc<Root>, conn: &Connection, mut placed: Vec<Placed>) {
    if placed.is_empty() {
        return;
    }
    let lost = conn.is_autocommit();
    if lost && run(root, conn, "BEGIN IMMEDIATE").is_err() {
        // They stay as orphans, which a collection removes.
        for file in &mut placed {
            file.staged.moved = true;
        }
        return;
    }
    for mut file in placed {
        let named = lost && {
            let sql = "SELECT 1 FROM objects WHERE hash = ?1 AND place = 1";
            let hash = file.hash.as_bytes();
            !matches!(conn.query_row(sql, [hash], |_| Ok(())).optional(), Ok(None))
        };
        file.staged.moved = named || root.rename(&file.place, &file.staged.place).is_err();
    }
    if lost {
        let _ = run(root, conn, "ROLLBACK");
    }
}
