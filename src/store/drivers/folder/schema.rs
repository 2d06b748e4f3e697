//! The tables of the index, the sums of their rows, and the names that rows hold as numbers.
//!
//! | Table | Columns |
//! |---|---|
//! | meta | name, value |
//! | namespaces | id, name |
//! | codecs | id, text |
//! | keys | ns, key, object (its id), codec, mtime, sum; in the order of (ns, key) |
//! | objects | id, hash, place, `plain_len`, `stored_len`, compressor, codec, ext, refs, born, `unref_since`, synced, suspect, canonical, sum, data |
//! | blobs | id of the object, data |
//!
//! Stored bytes of up to [`IN_ROW`] lie in the row of their object, of up to [`INLINE`] in `blobs`, longer
//! ones in files. A row's sum is an XXH3-64 of what it says, with names instead of numbers, so that a
//! damaged row is never taken for a good one. Times are microseconds since 1970.

use std::collections::HashMap;

use rusqlite::Connection;
use xxhash_rust::xxh3::xxh3_64;

use crate::compress::Kind;
use crate::store::Hash;

/// Stored bytes that lie beside what is known of them: few enough that listings stay quick.
pub(super) const IN_ROW: usize = 512;
/// Stored bytes that lie in the index.
pub(super) const INLINE: usize = 64 << 10;

/// `Tare` in ASCII, by which `file` can tell an index.
pub(super) const APPLICATION: i32 = 0x5461_7265;
/// The version of the tables.
pub(super) const VERSION: i32 = 1;

/// Bytes of a page: smaller ones make small transactions cheaper, and nothing dearer that was measured.
pub(super) const PAGE: u32 = 4096;

pub(super) const TABLES: &str = "
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE namespaces(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE codecs(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE keys(
  ns INTEGER NOT NULL, key TEXT NOT NULL, object INTEGER NOT NULL, codec INTEGER NOT NULL,
  mtime INTEGER NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY(ns, key)) WITHOUT ROWID;
CREATE TABLE objects(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, place INTEGER NOT NULL, plain_len INTEGER,
  stored_len INTEGER NOT NULL, compressor INTEGER NOT NULL, codec INTEGER NOT NULL, ext TEXT,
  refs INTEGER NOT NULL, born INTEGER NOT NULL, unref_since INTEGER, synced INTEGER NOT NULL,
  suspect INTEGER NOT NULL, canonical BLOB, sum INTEGER NOT NULL, data BLOB);
CREATE TABLE blobs(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE INDEX unnamed ON objects(unref_since) WHERE unref_since IS NOT NULL;
CREATE INDEX canonical ON objects(canonical) WHERE canonical IS NOT NULL;
";

/// Where the stored bytes of an object lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Row,
    File,
    Blob,
}

impl Place {
    pub fn number(self) -> i64 {
        match self {
            Self::Row => 0,
            Self::File => 1,
            Self::Blob => 2,
        }
    }

    pub fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::Row),
            1 => Some(Self::File),
            2 => Some(Self::Blob),
            _ => None,
        }
    }
}

/// The number of a container; these never change.
pub(super) fn compressor_number(kind: Kind) -> i64 {
    match kind {
        Kind::None => 0,
        Kind::Zstd => 1,
        Kind::Lz4 => 2,
        Kind::Gzip => 3,
        Kind::Bz2 => 4,
        Kind::Xz => 5,
        Kind::Zlib => 6,
    }
}

pub(super) fn compressor_of(number: i64) -> Option<Kind> {
    const KINDS: [Kind; 7] = [
        Kind::None,
        Kind::Zstd,
        Kind::Lz4,
        Kind::Gzip,
        Kind::Bz2,
        Kind::Xz,
        Kind::Zlib,
    ];
    let number = usize::try_from(number).ok()?;
    KINDS.get(number).copied()
}

/// Builds sums in memory that is kept.
#[derive(Default)]
pub(super) struct Sums(Vec<u8>);

impl Sums {
    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text);
    }

    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn end(&self) -> i64 {
        signed(xxh3_64(&self.0))
    }

    /// The sum of a row of `keys`.
    pub fn key(&mut self, ns: &str, key: &str, hash: &[u8], codec: &str, mtime: i64) -> i64 {
        self.0.clear();
        self.number(unsigned(mtime));
        for text in [ns.as_bytes(), key.as_bytes(), hash, codec.as_bytes()] {
            self.text(text);
        }
        self.end()
    }

    /// The sum of what never changes in a row of `objects`.
    pub fn object(&mut self, row: &ObjectRow<'_>) -> i64 {
        self.0.clear();
        self.number(unsigned(row.place.number()));
        self.number(unsigned(row.plain_len.unwrap_or(-1)));
        self.number(unsigned(row.stored_len));
        self.number(unsigned(row.compressor));
        let texts = [
            row.hash,
            row.codec.as_bytes(),
            row.ext.unwrap_or_default().as_bytes(),
            row.canonical.unwrap_or_default(),
        ];
        for text in texts {
            self.text(text);
        }
        self.end()
    }
}

/// The same bits: `SQLite`'s integers have a sign.
fn signed(number: u64) -> i64 {
    i64::from_le_bytes(number.to_le_bytes())
}

fn unsigned(number: i64) -> u64 {
    u64::from_le_bytes(number.to_le_bytes())
}

/// What never changes in a row of `objects`.
pub(super) struct ObjectRow<'a> {
    pub hash: &'a [u8],
    pub place: Place,
    pub plain_len: Option<i64>,
    pub stored_len: i64,
    pub compressor: i64,
    pub codec: &'a str,
    pub ext: Option<&'a str>,
    pub canonical: Option<&'a [u8]>,
}

/// Numbers of names, as a connection knows them: both tables only grow.
#[derive(Default)]
pub(super) struct Names {
    namespaces: HashMap<String, i64>,
    codecs: Vec<(i64, String)>,
    pub sums: Sums,
}

impl Names {
    /// Forgets all: of a transaction that failed nothing may stay.
    pub fn forget(&mut self) {
        self.namespaces.clear();
        self.codecs.clear();
    }

    /// The number of a namespace; None if no key was ever in it.
    pub fn namespace(&mut self, conn: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
        if let Some(id) = self.namespaces.get(name) {
            return Ok(Some(*id));
        }
        let mut find = conn.prepare_cached("SELECT id FROM namespaces WHERE name = ?1")?;
        let mut rows = find.query([name])?;
        let id = rows.next()?.map(|row| row.get(0)).transpose()?;
        if let Some(id) = id {
            self.namespaces.insert(name.to_string(), id);
        }
        Ok(id)
    }

    /// The number of a namespace, which is made if need be.
    pub fn make_namespace(&mut self, conn: &Connection, name: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.namespace(conn, name)? {
            return Ok(id);
        }
        conn.execute("INSERT INTO namespaces(name) VALUES(?1)", [name])?;
        let id = conn.last_insert_rowid();
        self.namespaces.insert(name.to_string(), id);
        Ok(id)
    }

    /// The codec of a number.
    pub fn codec(&mut self, conn: &Connection, id: i64) -> rusqlite::Result<Option<&str>> {
        let known = |codecs: &[(i64, String)]| codecs.iter().position(|(known, _)| *known == id);
        let mut at = known(&self.codecs);
        if at.is_none() {
            self.read_codecs(conn)?;
            at = known(&self.codecs);
        }
        let found = at.and_then(|at| self.codecs.get(at));
        Ok(found.map(|(_, text)| text.as_str()))
    }

    /// The codec of a number, and whether the row of a key that says so has the right sum; None for a number
    /// that names no codec.
    pub fn codec_of_key(
        &mut self,
        conn: &Connection,
        id: i64,
        sum_of: impl FnOnce(&mut Sums, &str) -> bool,
    ) -> rusqlite::Result<Option<(&str, bool)>> {
        if self.codec(conn, id)?.is_none() {
            return Ok(None);
        }
        let Self { codecs, sums, .. } = self;
        let found = codecs.iter().find(|(known, _)| *known == id);
        Ok(found.map(|(_, text)| (text.as_str(), sum_of(sums, text))))
    }

    /// The number of a codec, which is made if need be.
    pub fn make_codec(&mut self, conn: &Connection, text: &str) -> rusqlite::Result<i64> {
        let known = |codecs: &[(i64, String)]| {
            let found = codecs.iter().find(|(_, known)| known == text);
            found.map(|(id, _)| *id)
        };
        if let Some(id) = known(&self.codecs) {
            return Ok(id);
        }
        self.read_codecs(conn)?;
        if let Some(id) = known(&self.codecs) {
            return Ok(id);
        }
        conn.execute("INSERT INTO codecs(text) VALUES(?1)", [text])?;
        let id = conn.last_insert_rowid();
        self.codecs.push((id, text.to_string()));
        Ok(id)
    }

    fn read_codecs(&mut self, conn: &Connection) -> rusqlite::Result<()> {
        let mut all = conn.prepare_cached("SELECT id, text FROM codecs ORDER BY id")?;
        let found = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.codecs = found.collect::<rusqlite::Result<_>>()?;
        Ok(())
    }
}

/// Makes the tables if there are none.
pub(super) fn create(conn: &Connection) -> rusqlite::Result<()> {
    let version: i32 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != 0 {
        return Ok(());
    }
    conn.execute_batch(&format!(
        "BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION}; \
         PRAGMA user_version = {VERSION}; COMMIT"
    ))
}

/// A hash that a row holds.
pub(super) fn hash_of(bytes: &[u8]) -> Option<Hash> {
    let hash = Hash::new(bytes)?;
    (bytes.len() == 32).then_some(hash)
}
