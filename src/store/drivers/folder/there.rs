//! Objects that the index has already.

use rusqlite::{params, Connection};

use super::fault::{damaged, InIndex};
use super::filesystem::Root;
use super::layout;
use super::schema::{Names, ObjectRow, Place};
use crate::store::Hash;
use crate::Result;

/// Notes a canonical hash of an object that had none.
pub(super) fn set_canonical(
    root: &Root,
    conn: &Connection,
    names: &mut Names,
    id: i64,
    canonical: Option<Hash>,
) -> Result<()> {
    let sql = "SELECT hash, place, plain_len, stored_len, compressor, codec, ext FROM objects WHERE id = ?1";
    let found = conn.query_row(sql, [id], |row| {
        let hash: Vec<u8> = row.get(0)?;
        let rest: (i64, Option<i64>, i64, i64, i64, Option<String>) = (
            row.get(1)?,
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
            row.get(5)?,
            row.get(6)?,
        );
        Ok((hash, rest))
    });
    let (hash, (place, plain_len, stored_len, compressor, codec, ext)) = found.in_index(root)?;
    let codec = names.codec(conn, codec).in_index(root)?.map(str::to_string);
    let (Some(codec), Some(place)) = (codec, Place::from_number(place)) else {
        return Err(damaged(
            root,
            "the index is damaged: an object's place or codec is none",
        ));
    };
    let sum = names.sums.object(&ObjectRow {
        hash: &hash,
        place,
        plain_len,
        stored_len,
        compressor,
        codec: &codec,
        ext: ext.as_deref(),
        canonical: canonical.as_ref().map(Hash::as_bytes),
    });
    let canonical = canonical.as_ref().map(Hash::as_bytes);
    let sql = "UPDATE objects SET canonical = ?2, sum = ?3 WHERE id = ?1";
    conn.execute(sql, params![id, canonical, sum])
        .in_index(root)?;
    Ok(())
}

/// An object that exists.
pub(super) struct There {
    pub id: i64,
    pub place: i64,
    pub stored_len: i64,
    pub ext: Option<String>,
    pub refs: i64,
    pub synced: bool,
    pub suspect: bool,
    pub canonical: bool,
}

impl There {
    pub fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            place: row.get(1)?,
            stored_len: row.get(2)?,
            ext: row.get(3)?,
            refs: row.get(4)?,
            synced: row.get::<_, i64>(5)? != 0,
            suspect: row.get::<_, i64>(6)? != 0,
            canonical: row.get_ref(7)? != rusqlite::types::ValueRef::Null,
        })
    }

    pub fn file(&self, hash: &Hash) -> Option<String> {
        let ending = self
            .ext
            .as_deref()
            .filter(|ending| layout::is_ending(ending))?;
        (self.place == Place::File.number()).then(|| layout::object(hash, ending))
    }

    /// Whether its file has the length that it should have.
    pub fn is_whole(&self, root: &Root, hash: &Hash) -> bool {
        match self.file(hash) {
            Some(place) => root
                .stat(&place)
                .is_ok_and(|seen| seen.is_file && i64::try_from(seen.len) == Ok(self.stored_len)),
            None => self.place != Place::File.number(),
        }
    }
}
