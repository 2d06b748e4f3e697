//! Collection, check, repair, sums: done by the server, in snapshots and small steps.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Row;

use super::read::hash_of;
use super::wire::{Fault, Link};
use super::write::now;
use super::Shared;
use crate::store::drivers::remote::{instant, micros};
use crate::store::{Action, Finding, FindingKind, GcOptions, GcReport, Hash, Stat};
use crate::Result;

/// Objects that one step deletes.
const PAGE: i64 = 500;

/// A count, which is never negative.
fn count(row: &Row, at: usize) -> u64 {
    u64::try_from(row.get::<_, i64>(at)).unwrap_or(0)
}

/// Deletes what had no name for `grace`, by the server's clock, but for what somebody has locked: a set
/// that names it again.
pub(super) fn gc(shared: &Shared, options: &GcOptions, staging: Duration) -> Result<GcReport> {
    let grace = micros(options.grace);
    let rows = shared.wire.call(|link| {
        link.query(
            concat!(
                "WITH o AS (SELECT stored, coalesce(unref, 0) <= ",
                now!(),
                " - $1 AS ripe, unref FROM object WHERE refs = 0) \
                 SELECT count(*), count(*) FILTER (WHERE ripe), \
                 coalesce(sum(stored) FILTER (WHERE ripe), 0)::bigint, \
                 coalesce(min(unref) FILTER (WHERE NOT ripe), -1) FROM o"
            ),
            &[&grace],
        )
    })?;
    let mut report = GcReport::default();
    if let Some(row) = rows.first() {
        report.condemned = count(row, 0);
        let first: i64 = row.get(3);
        report.kept_until = (first >= 0)
            .then(|| instant(first.saturating_add(grace)))
            .flatten();
        if options.dry_run {
            report.deleted = count(row, 1);
            report.bytes = count(row, 2);
            return Ok(report);
        }
    }
    loop {
        let rows = shared.wire.call(|link| {
            link.query(
                concat!(
                    "WITH ripe AS (SELECT hash FROM object WHERE refs = 0 \
                       AND coalesce(unref, 0) <= ",
                    now!(),
                    " - $1 ORDER BY hash LIMIT $2 FOR UPDATE SKIP LOCKED), \
                     gone AS (DELETE FROM object o USING ripe WHERE o.hash = ripe.hash \
                       RETURNING o.id, o.stored), \
                     c AS (DELETE FROM chunk USING gone WHERE chunk.id = gone.id) \
                     SELECT count(*), coalesce(sum(stored), 0)::bigint FROM gone"
                ),
                &[&grace, &PAGE],
            )
        })?;
        let Some(row) = rows.first() else { break };
        let deleted = count(row, 0);
        report.deleted = report.deleted.saturating_add(deleted);
        report.bytes = report.bytes.saturating_add(count(row, 1));
        if deleted == 0 {
            break;
        }
    }
    report.swept = sweep(shared, staging)?;
    Ok(report)
}

/// Removes chunks of objects whose writers wrote nothing for so long.
pub(super) fn sweep(shared: &Shared, grace: Duration) -> Result<u64> {
    let grace = micros(grace);
    let rows = shared.wire.call(|link| {
        link.query(
            concat!(
                "WITH s AS (DELETE FROM staged WHERE touched <= ",
                now!(),
                " - $1 RETURNING id), \
                 c AS (DELETE FROM chunk USING s WHERE chunk.id = s.id) \
                 SELECT count(*) FROM s"
            ),
            &[&grace],
        )
    })?;
    Ok(rows.first().map_or(0, |row| count(row, 0)))
}

/// One commit that waits for the disk: all earlier ones are in front of it. It has to write something,
/// since the server waits for no empty one.
pub(super) fn flush(shared: &Shared) -> Result<()> {
    shared.wire.call(|link| {
        link.simple(
            "BEGIN; SET LOCAL synchronous_commit TO on; \
             SELECT pg_logical_emit_message(true, 'tare', 'flush'); COMMIT",
        )
    })?;
    Ok(())
}

/// How much there is.
pub(super) fn stat(shared: &Shared) -> Result<Stat> {
    let rows = shared.wire.call(|link| {
        link.query(
            "SELECT (SELECT count(*) FROM key), (SELECT count(DISTINCT ns) FROM key), \
             count(*), count(*) FILTER (WHERE refs = 0), \
             coalesce(sum(plain), 0)::bigint, coalesce(sum(stored), 0)::bigint FROM object",
            &[],
        )
    })?;
    Ok(rows.first().map_or_else(Stat::default, |row| Stat {
        keys: count(row, 0),
        namespaces: count(row, 1),
        objects: count(row, 2),
        unnamed: count(row, 3),
        plain_bytes: count(row, 4),
        stored_bytes: count(row, 5),
    }))
}

fn found(kind: FindingKind, hash: Option<Hash>, place: String, detail: String) -> Finding {
    Finding {
        kind,
        hash,
        key: None,
        place,
        detail,
    }
}

/// Compares keys, objects and chunks in one snapshot.
pub(super) fn check(shared: &Shared, tell: &mut dyn FnMut(Finding)) -> Result<()> {
    let findings = shared.wire.call(|link| {
        link.transaction(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            look_through,
        )
    })?;
    findings.into_iter().for_each(tell);
    Ok(())
}

fn look_through(link: &mut Link) -> std::result::Result<Vec<Finding>, Fault> {
    let mut all = Vec::new();
    let rows = link.query(
        "SELECT k.hash, k.ns, k.key FROM key k LEFT JOIN object o ON o.hash = k.hash \
         WHERE o.hash IS NULL ORDER BY k.ns, k.key",
        &[],
    )?;
    for row in rows {
        let bytes: Vec<u8> = row.get(0);
        let key: (String, String) = (row.get(1), row.get(2));
        let (kind, hash, detail) = match hash_of(&bytes) {
            Ok(hash) => {
                let detail = format!("it names {hash}, which does not exist");
                (FindingKind::DanglingKey, Some(hash), detail)
            }
            Err(error) => (FindingKind::BadKey, None, error.to_string()),
        };
        let mut dangling = found(kind, hash, "table key".to_string(), detail);
        dangling.key = Some(key);
        all.push(dangling);
    }
    let rows = link.query(
        "SELECT o.hash, o.id, o.stored, o.refs, coalesce(c.size, 0)::bigint, \
         coalesce(c.parts, 0)::bigint, coalesce(c.last, -1)::bigint, coalesce(k.names, 0)::bigint \
         FROM object o \
         LEFT JOIN (SELECT id, sum(octet_length(data)) size, count(*) parts, max(n) last \
           FROM chunk GROUP BY id) c ON c.id = o.id \
         LEFT JOIN (SELECT hash, count(*) names FROM key GROUP BY hash) k ON k.hash = o.hash \
         WHERE coalesce(c.size, 0) <> o.stored OR coalesce(c.parts, 0) <> coalesce(c.last, -1) + 1 \
           OR coalesce(k.names, 0) <> o.refs OR (o.refs = 0) <> (o.unref IS NOT NULL) \
         ORDER BY o.hash",
        &[],
    )?;
    for row in rows {
        let numbers: Vec<i64> = (1..8).map(|at| row.get(at)).collect();
        let [id, stored, refs, size, parts, last, names] = numbers[..] else {
            continue;
        };
        let hash = hash_of(row.get::<_, &[u8]>(0))?;
        let place = format!("object {hash}, chunks of {id}");
        if size == 0 && stored > 0 {
            let detail = "it has no bytes".to_string();
            let kind = FindingKind::MissingObject;
            all.push(found(kind, Some(hash), place.clone(), detail));
        } else if size != stored || parts != last.saturating_add(1) {
            let detail = format!("it has {size} bytes in {parts} chunks, its record says {stored}");
            let kind = FindingKind::CorruptObject;
            all.push(found(kind, Some(hash), place.clone(), detail));
        }
        if refs != names {
            let detail = format!("{refs} names are counted, {names} exist");
            all.push(found(FindingKind::WrongCount, Some(hash), place, detail));
        } else if size == stored {
            let detail = format!("{refs} names, but the time of the last says otherwise");
            all.push(found(FindingKind::WrongCount, Some(hash), place, detail));
        }
    }
    let rows = link.query(
        "SELECT c.id, sum(octet_length(c.data))::bigint FROM chunk c \
         WHERE NOT EXISTS (SELECT 1 FROM object o WHERE o.id = c.id) \
           AND NOT EXISTS (SELECT 1 FROM staged s WHERE s.id = c.id) \
           AND NOT EXISTS (SELECT 1 FROM quarantine q WHERE q.id = c.id) \
         GROUP BY c.id ORDER BY c.id",
        &[],
    )?;
    for row in rows {
        let (id, size): (i64, i64) = (row.get(0), row.get(1));
        let detail = format!("{size} bytes that no object has");
        all.push(found(
            FindingKind::OrphanObject,
            None,
            format!("chunks of {id}"),
            detail,
        ));
    }
    Ok(all)
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
            (
                FindingKind::CorruptObject | FindingKind::MissingObject | FindingKind::Index,
                Some(hash),
                _,
            ) => {
                if apply {
                    set_aside(shared, hash, purge)?;
                }
                if purge {
                    ("object deleted; set its keys again", true)
                } else {
                    (
                        "object moved to the table quarantine; set its keys again",
                        true,
                    )
                }
            }
            (FindingKind::DanglingKey | FindingKind::BadKey, _, Some(key)) => {
                if apply {
                    note_key(shared, key, purge)?;
                }
                if purge {
                    ("key deleted", true)
                } else {
                    ("listed in the table quarantine; set the key again", true)
                }
            }
            (FindingKind::WrongCount, Some(hash), _) => {
                if apply {
                    recount(shared, hash)?;
                }
                ("names counted anew", true)
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

fn set_aside(shared: &Shared, hash: &Hash, purge: bool) -> Result<()> {
    let hash = hash.as_bytes();
    shared.wire.call(|link| {
        if purge {
            link.query(
                "WITH o AS (DELETE FROM object WHERE hash = $1 RETURNING id) \
         DELETE FROM chunk USING o WHERE chunk.id = o.id",
                &[&hash],
            )
        } else {
            link.query(
                concat!(
                    "WITH o AS (DELETE FROM object WHERE hash = $1 RETURNING *) \
             INSERT INTO quarantine SELECT ",
                    now!(),
                    ", NULL, NULL, o.hash, o.id, row_to_json(o)::text FROM o"
                ),
                &[&hash],
            )
        }
    })?;
    Ok(())
}

fn note_key(shared: &Shared, (namespace, key): &(String, String), purge: bool) -> Result<()> {
    shared.wire.call(|link| {
        link.query(
            concat!(
                "WITH k AS (SELECT * FROM key WHERE ns = $1 AND key = $2), \
                 d AS (DELETE FROM key USING k WHERE $3 AND key.ns = k.ns AND key.key = k.key) \
                 INSERT INTO quarantine SELECT ",
                now!(),
                ", k.ns, k.key, k.hash, NULL, row_to_json(k)::text FROM k"
            ),
            &[namespace, key, &purge],
        )
    })?;
    Ok(())
}

/// Counts the names of an object that is locked meanwhile: who sets one waits.
fn recount(shared: &Shared, hash: &Hash) -> Result<()> {
    let hash = hash.as_bytes();
    shared.wire.call(|link| {
        link.transaction("BEGIN", |link| {
            link.query("SELECT 1 FROM object WHERE hash = $1 FOR UPDATE", &[&hash])?;
            link.query(
                concat!(
                    "WITH k AS (SELECT count(*) names FROM key WHERE hash = $1) \
                     UPDATE object o SET refs = k.names, unref = CASE WHEN k.names > 0 THEN NULL \
                     ELSE coalesce(o.unref, ",
                    now!(),
                    ") END FROM k WHERE o.hash = $1"
                ),
                &[&hash],
            )
        })
    })?;
    Ok(())
}
