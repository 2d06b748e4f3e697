//! Compares the index with itself and with the files.

use rusqlite::Connection;

use super::collect::{each_file, has_row, is_left};
use super::connections::{Connections, Link};
use super::fault::InIndex;
use super::filesystem::Root;
use super::layout;
use super::read::at_once;
use super::schema::{hash_of, Names, ObjectRow, Place};
use crate::store::{Finding, FindingKind, Hash};
use crate::Result;

/// A finding without an object and a key.
fn plain(kind: FindingKind, place: impl Into<String>, detail: impl Into<String>) -> Finding {
    Finding {
        kind,
        hash: None,
        key: None,
        place: place.into(),
        detail: detail.into(),
    }
}

pub(super) fn check(connections: &Connections, found: &mut dyn FnMut(Finding)) -> Result<()> {
    let root = &*connections.root;
    let mut findings = Vec::new();
    // One state of the index, gathered first: a reader may be asked twice.
    let looked = at_once(connections, true, |link| {
        findings.clear();
        let Link { conn, names, .. } = link;
        structure(root, conn, &mut findings)?;
        keys(root, conn, names, &mut findings)?;
        objects(root, conn, names, &mut findings)?;
        files(root, conn, &mut findings)
    });
    match looked {
        Err(error) if error.kind() == crate::ErrorKind::Corrupt => {
            findings.push(plain(FindingKind::Index, layout::INDEX, error.to_string()));
        }
        other => other?,
    }
    findings.into_iter().for_each(found);
    Ok(())
}

fn structure(root: &Root, conn: &Connection, findings: &mut Vec<Finding>) -> Result<()> {
    let mut check = conn.prepare("PRAGMA integrity_check(20)").in_index(root)?;
    let mut rows = check.query([]).in_index(root)?;
    while let Some(row) = rows.next().in_index(root)? {
        let text: String = row.get(0).in_index(root)?;
        if text != "ok" {
            findings.push(plain(FindingKind::Index, layout::INDEX, text));
        }
    }
    Ok(())
}

fn keys(
    root: &Root,
    conn: &Connection,
    names: &mut Names,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let sql = "SELECT n.name, k.key, o.hash, c.text, k.mtime, k.sum, k.object FROM keys k \
               LEFT JOIN namespaces n ON n.id = k.ns LEFT JOIN codecs c ON c.id = k.codec \
               LEFT JOIN objects o ON o.id = k.object";
    let mut list = conn.prepare(sql).in_index(root)?;
    let mut rows = list.query([]).in_index(root)?;
    while let Some(row) = rows.next().in_index(root)? {
        let read = || -> rusqlite::Result<_> {
            let texts: (String, String) = (row.get(0)?, row.get(1)?);
            let hash: Option<Vec<u8>> = row.get(2)?;
            let (codec, time, sum): (String, i64, i64) = (row.get(3)?, row.get(4)?, row.get(5)?);
            Ok((texts, hash, codec, time, sum))
        };
        let Ok((key, hash, codec, time, sum)) = read() else {
            let text = "a row of a key cannot be read";
            findings.push(plain(FindingKind::BadKey, layout::INDEX, text));
            continue;
        };
        let (kind, detail) = match &hash {
            None => (
                FindingKind::DanglingKey,
                "the index does not have its object",
            ),
            Some(hash) if names.sums.key(&key.0, &key.1, hash, &codec, time) != sum => {
                (FindingKind::BadKey, "its row in the index is damaged")
            }
            Some(_) => continue,
        };
        findings.push(Finding {
            hash: hash.as_deref().and_then(hash_of),
            key: Some(key),
            ..plain(kind, layout::INDEX, detail)
        });
    }
    Ok(())
}

#[allow(clippy::too_many_lines, reason = "one row, column by column")]
fn objects(
    root: &Root,
    conn: &Connection,
    names: &mut Names,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let sql = "SELECT o.hash, o.place, o.plain_len, o.stored_len, o.compressor, c.text, o.ext, \
               o.canonical, o.sum, o.refs, coalesce(n.named, 0), length(o.data), length(b.data), \
               o.suspect, o.unref_since FROM objects o LEFT JOIN codecs c ON c.id = o.codec \
               LEFT JOIN blobs b ON b.id = o.id \
               LEFT JOIN (SELECT object, count(*) AS named FROM keys GROUP BY object) n ON n.object = o.id";
    let mut list = conn.prepare(sql).in_index(root)?;
    let mut rows = list.query([]).in_index(root)?;
    while let Some(row) = rows.next().in_index(root)? {
        let read = || -> rusqlite::Result<_> {
            let (hash, place): (Vec<u8>, i64) = (row.get(0)?, row.get(1)?);
            let lens: (Option<i64>, i64) = (row.get(2)?, row.get(3)?);
            let (compressor, codec): (i64, String) = (row.get(4)?, row.get(5)?);
            let ending: Option<String> = row.get(6)?;
            let canonical: Option<Vec<u8>> = row.get(7)?;
            let counts: (i64, i64, i64) = (row.get(8)?, row.get(9)?, row.get(10)?);
            let held: (Option<i64>, Option<i64>) = (row.get(11)?, row.get(12)?);
            let (suspect, since): (i64, Option<i64>) = (row.get(13)?, row.get(14)?);
            Ok((
                hash, place, lens, compressor, codec, ending, canonical, counts, held, suspect,
                since,
            ))
        };
        let Ok((
            hash,
            place,
            lens,
            compressor,
            codec,
            ending,
            canonical,
            counts,
            held,
            suspect,
            since,
        )) = read()
        else {
            let text = "a row of an object cannot be read";
            findings.push(plain(FindingKind::Index, layout::INDEX, text));
            continue;
        };
        let known = hash_of(&hash);
        let mut tell = |kind, place: &str, detail: String| {
            findings.push(Finding {
                hash: known,
                ..plain(kind, place, detail)
            });
        };
        let (Some(hash), Some(place)) = (known, Place::from_number(place)) else {
            tell(
                FindingKind::Index,
                layout::INDEX,
                "an object's row is damaged".into(),
            );
            continue;
        };
        let (sum, refs, keys) = counts;
        let row = ObjectRow {
            hash: hash.as_bytes(),
            place,
            plain_len: lens.0,
            stored_len: lens.1,
            compressor,
            codec: &codec,
            ext: ending.as_deref(),
            canonical: canonical.as_deref(),
        };
        if names.sums.object(&row) != sum {
            let text = "what the index says of the object is damaged".to_string();
            tell(FindingKind::CorruptObject, layout::INDEX, text);
        }
        if refs != keys || (refs == 0) != since.is_some() {
            let text = format!("{keys} keys name it, {refs} are counted");
            tell(FindingKind::WrongCount, layout::INDEX, text);
        }
        if suspect != 0 {
            let text = "it was found damaged when it was read".to_string();
            tell(FindingKind::CorruptObject, layout::INDEX, text);
        }
        let held = match place {
            Place::Row => held.0,
            Place::Blob => held.1,
            Place::File => file_len(root, &hash, ending.as_deref()),
        };
        let at = match (place, &ending) {
            (Place::File, Some(ending)) => layout::object(&hash, ending),
            _ => layout::INDEX.to_string(),
        };
        match held {
            None => tell(
                FindingKind::MissingObject,
                &at,
                "its bytes are missing".into(),
            ),
            Some(held) if held != lens.1 => {
                let text = format!("it has {held} bytes, {} were stored", lens.1);
                tell(FindingKind::CorruptObject, &at, text);
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn file_len(root: &Root, hash: &Hash, ending: Option<&str>) -> Option<i64> {
    let ending = ending.filter(|ending| layout::is_ending(ending))?;
    let here = root.stat(&layout::object(hash, ending));
    let seen = here
        .or_else(|_| root.stat(&layout::condemned(hash, ending)))
        .ok()?;
    if !seen.is_file {
        return None;
    }
    i64::try_from(seen.len).ok()
}

fn files(root: &Root, conn: &Connection, findings: &mut Vec<Finding>) -> Result<()> {
    let mut there = Vec::new();
    each_file(root, &mut |hash, ending, place| {
        there.push((hash, ending, place));
    })?;
    for (hash, ending, place) in there {
        if !has_row(root, conn, &hash, &ending)? {
            findings.push(Finding {
                hash: Some(hash),
                ..plain(
                    FindingKind::OrphanObject,
                    place,
                    "the index does not have it",
                )
            });
        }
    }
    let names = |place: &str| root.names(place).unwrap_or_default();
    for name in names(layout::STAGING) {
        let place = format!("{}/{name}", layout::STAGING);
        if is_left(root, &name) {
            findings.push(plain(FindingKind::Leftover, place, "its writer is gone"));
        } else if layout::owner(&name) == layout::Owner::Foreign
            && layout::parse_condemned(&name).is_none()
        {
            findings.push(plain(FindingKind::Foreign, place, "not of a store"));
        }
    }
    for folder in names(layout::OBJECTS) {
        let place = format!("{}/{folder}", layout::OBJECTS);
        if folder.len() != 2 || !root.stat(&place).is_ok_and(|seen| seen.is_folder) {
            findings.push(plain(FindingKind::Foreign, place, "not of a store"));
            continue;
        }
        for name in names(&place) {
            if layout::parse_object(&folder, &name).is_none() {
                let place = format!("{place}/{name}");
                findings.push(plain(FindingKind::Foreign, place, "not of a store"));
            }
        }
    }
    for name in names(".") {
        if !layout::OURS.contains(&name.as_str()) {
            findings.push(plain(FindingKind::Foreign, name, "not of a store"));
        }
    }
    Ok(())
}
