//! R's storr in a database (`driver_dbi`), as a `SQLite` file: read, to be taken over into another store.
//!
//! | table | columns |
//! |---|---|
//! | `tblData` | `hash`, `value`: a serialization of version 2, as XDR or as text with hexadecimal doubles |
//! | `tblKeys` | `namespace`, `key`, `hash` |
//!
//! The row of the hash `fffffffffffffff` holds the options, a list. Hashes leave out the first 14 bytes of the
//! value, of text as well, where they end within a number.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use crate::compress::Kind;
use crate::robject::{self, Body as RBody, RObject};
use crate::store::{
    Action, Algorithm, Applied, Batch, Body, Driver, Finding, FindingKind, GcOptions, GcReport,
    Hash, Info, Key, KeyEntry, KeyRecord, ObjectHint, ObjectMeta, Sink, Stat, Stored,
};
use crate::{Error, ErrorKind, Result};

use super::storr::HEADER_BYTES;

const NAME: &str = "storr-dbi";
/// The hash of the row that holds the options.
const OPTIONS: &str = "fffffffffffffff";

/// How to open a database of storr.
#[derive(Clone, Debug)]
pub struct StorrDbiOptions {
    /// The table of objects; default `tblData`.
    pub data: String,
    /// The table of keys; default `tblKeys`.
    pub keys: String,
}

impl Default for StorrDbiOptions {
    fn default() -> Self {
        Self {
            data: "tblData".to_string(),
            keys: "tblKeys".to_string(),
        }
    }
}

/// A database of R's storr, open for reading.
#[derive(Debug)]
pub struct StorrDbiDriver {
    info: Info,
    database: Mutex<Connection>,
    data: String,
    keys: String,
}

/// Opens a `SQLite` file that R's storr wrote.
///
/// # Errors
/// `NotFound` if there is no file; `Malformed` for one that is no database of storr; `Unsupported` for hashes
/// that are not known here; `Io`.
pub fn open(path: impl AsRef<Path>, options: &StorrDbiOptions) -> Result<StorrDbiDriver> {
    let path = path.as_ref();
    if !path.is_file() {
        let text = "there is no file of a database";
        return Err(Error::new(ErrorKind::NotFound, text)
            .with_format(NAME)
            .with_path(path));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|database| {
        // The file may be a stranger's: its schema runs nothing.
        database.set_db_config(
            rusqlite::config::DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
            false,
        )?;
        database.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        Ok(database)
    });
    let database = opened.map_err(|error| broken(error).with_path(path))?;
    let (data, keys) = (quoted(&options.data), quoted(&options.keys));
    let value = stored(&database, &data, OPTIONS).map_err(|error| error.with_path(path))?;
    let algorithm = match value {
        Some(value) => algorithm_of(&value).map_err(|error| error.with_path(path))?,
        None => Algorithm::Md5,
    };
    Ok(StorrDbiDriver {
        info: Info {
            driver: NAME,
            url: format!("{NAME}:{}", path.display()),
            algorithm,
            unhashed: HEADER_BYTES,
            codec: Some("rds"),
            compressor: None,
            atomic_batch: false,
            conditions: false,
            multi_process: true,
            multi_host: false,
            synced_by: "nothing is written",
            read_only: true,
            options: vec![("hash_algorithm", algorithm.name().to_string())],
        },
        database: Mutex::new(database),
        data,
        keys,
    })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The value of a row of objects: its bytes, or its text.
fn stored(database: &Connection, table: &str, hash: &str) -> Result<Option<Vec<u8>>> {
    let sql = format!("SELECT value FROM {table} WHERE hash = ?1");
    let row = database.prepare(&sql).and_then(|mut statement| {
        let found = statement.query_row([hash], |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Blob(bytes) | ValueRef::Text(bytes) => Some(bytes.to_vec()),
                _ => None,
            })
        });
        found.optional()
    });
    match row.map_err(broken)? {
        Some(None) => {
            let text = format!("the value of {hash} is neither bytes nor text");
            Err(Error::new(ErrorKind::Malformed, text).with_format(NAME))
        }
        Some(Some(bytes)) => Ok(Some(bytes)),
        None => Ok(None),
    }
}

/// What the list of options says of the hash.
fn algorithm_of(value: &[u8]) -> Result<Algorithm> {
    let options = robject::rds::parse(value, &robject::ReadOptions::default())?;
    named_text(&options, "hash_algorithm").map_or(Ok(Algorithm::Md5), |name| {
        Algorithm::by_name(&name).map_err(|error| error.with_format(NAME))
    })
}

/// The text of an element of a list.
fn named_text(list: &RObject, wanted: &str) -> Option<String> {
    let arena = list.arena();
    let RBody::List(items) = &list.node().body else {
        return None;
    };
    let RBody::Character(names) = &arena.node(arena.attribute(list.id(), "names")?).body else {
        return None;
    };
    let at = names
        .iter()
        .position(|name| name.bytes == Some(wanted.as_bytes()))?;
    let RBody::Character(texts) = &arena.node(*items.get(at)?).body else {
        return None;
    };
    String::from_utf8(texts.get(0)?.bytes?.to_vec()).ok()
}

fn broken(error: rusqlite::Error) -> Error {
    let kind = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            ErrorKind::Busy
        }
        Some(rusqlite::ErrorCode::SystemIoFailure | rusqlite::ErrorCode::CannotOpen) => {
            ErrorKind::Io
        }
        _ => ErrorKind::Malformed,
    };
    Error::new(kind, format!("the database cannot be read: {error}"))
        .with_format(NAME)
        .with_source(error)
}

impl StorrDbiDriver {
    fn with<T>(&self, ask: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        ask(&database)
    }

    fn texts(&self, sql: &str, parameters: &[&dyn rusqlite::ToSql]) -> Result<Vec<String>> {
        self.with(|database| {
            let mut statement = database.prepare(sql).map_err(broken)?;
            let rows = statement.query_map(parameters, |row| row.get(0));
            let texts: rusqlite::Result<Vec<String>> = rows.and_then(Iterator::collect);
            texts.map_err(broken)
        })
    }

    fn hash_named(&self, key: Key<'_>) -> Result<Option<String>> {
        let sql = format!(
            "SELECT hash FROM {} WHERE namespace = ?1 AND key = ?2",
            self.keys
        );
        let found = self.texts(&sql, &[&key.namespace, &key.key])?;
        Ok(found.into_iter().next())
    }

    fn parsed(&self, hash: &str, key: Key<'_>) -> Result<Hash> {
        let found = Hash::parse(hash);
        let found = found.filter(|hash| hash.as_bytes().len() == self.info.algorithm.bytes());
        found.ok_or_else(|| {
            let text = format!("the key {key} names {hash:?}, which is no hash");
            Error::new(ErrorKind::Corrupt, text)
                .with_format(NAME)
                .with_detail("key", key.key)
                .with_detail("namespace", key.namespace)
        })
    }

    fn hashes(&self) -> Result<Vec<Hash>> {
        let found = self.texts(&format!("SELECT hash FROM {}", self.data), &[])?;
        let mut hashes: Vec<Hash> = found
            .iter()
            .filter_map(|hash| Hash::parse(hash))
            .filter(|hash| hash.as_bytes().len() == self.info.algorithm.bytes())
            .collect();
        hashes.sort_unstable();
        Ok(hashes)
    }

    fn names(&self, namespace: &str) -> Result<Vec<String>> {
        let sql = format!("SELECT key FROM {} WHERE namespace = ?1", self.keys);
        let mut names = self.texts(&sql, &[&namespace])?;
        names.sort_unstable();
        Ok(names)
    }
}

fn read_only<T>() -> Result<T> {
    let text = "databases of R's storr are read only: copy them into another store";
    Err(Error::new(ErrorKind::ReadOnly, text).with_format(NAME))
}

impl Driver for StorrDbiDriver {
    fn info(&self) -> &Info {
        &self.info
    }

    fn begin_object(&self, _: &ObjectHint) -> Result<Box<dyn Sink>> {
        read_only()
    }

    fn open_object(&self, hash: &Hash) -> Result<Option<Stored>> {
        let value = self.with(|database| stored(database, &self.data, &hash.hex()))?;
        Ok(value.map(|bytes| Stored {
            meta: meta(bytes.len() as u64),
            body: Body::Bytes(bytes),
            place: self.info.url.clone(),
            identity: None,
        }))
    }

    fn stat_objects(&self, hashes: &[Hash]) -> Result<Vec<Option<ObjectMeta>>> {
        let looked = hashes.iter().map(|hash| {
            let found = self.open_object(hash)?;
            Ok(found.map(|stored| stored.meta))
        });
        looked.collect()
    }

    fn list_hashes(&self, after: Option<&Hash>, limit: usize) -> Result<Vec<Hash>> {
        let all = self.hashes()?.into_iter();
        let behind = all.filter(|hash| after.is_none_or(|after| hash > after));
        Ok(behind.take(limit).collect())
    }

    fn get_keys(&self, keys: &[Key<'_>]) -> Result<Vec<Option<KeyRecord>>> {
        let records = keys.iter().map(|key| match self.hash_named(*key)? {
            None => Ok(None),
            Some(hash) => Ok(Some(KeyRecord {
                hash: self.parsed(&hash, *key)?,
                codec: "rds".to_string(),
                time: 0,
            })),
        });
        records.collect()
    }

    fn apply(&self, _: Batch<'_>) -> Result<Applied> {
        read_only()
    }

    fn list_keys(
        &self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<KeyEntry>> {
        let names = self.names(namespace)?.into_iter();
        let wanted = names.filter(|name| {
            name.starts_with(prefix) && after.is_none_or(|after| name.as_str() > after)
        });
        let mut page = Vec::new();
        for key in wanted {
            if page.len() >= limit {
                break;
            }
            if let Ok(Some(record)) = self.get_keys(&[Key::new(namespace, &key)]).map(first) {
                page.push(KeyEntry { key, record });
            }
        }
        Ok(page)
    }

    fn list_namespaces(&self) -> Result<Vec<String>> {
        let mut names = self.texts(
            &format!("SELECT DISTINCT namespace FROM {}", self.keys),
            &[],
        )?;
        names.sort_unstable();
        Ok(names)
    }

    fn gc(&self, _: &GcOptions) -> Result<GcReport> {
        read_only()
    }

    fn check(&self, found: &mut dyn FnMut(Finding)) -> Result<()> {
        let sound = self.texts("PRAGMA quick_check", &[])?;
        for fault in sound.into_iter().filter(|line| line != "ok") {
            found(self.finding(FindingKind::Index, None, fault));
        }
        let there = self.hashes()?;
        for namespace in self.list_namespaces()? {
            for key in self.names(&namespace)? {
                let at = Some((namespace.clone(), key.clone()));
                match self.get_keys(&[Key::new(&namespace, &key)]).map(first) {
                    Ok(Some(record)) if there.binary_search(&record.hash).is_err() => {
                        let text = format!("it names {}, which is not there", record.hash);
                        found(Finding {
                            hash: Some(record.hash),
                            ..self.finding(FindingKind::DanglingKey, at, text)
                        });
                    }
                    Err(error) if error.kind() == ErrorKind::Corrupt => {
                        found(self.finding(FindingKind::BadKey, at, error.to_string()));
                    }
                    Err(error) => return Err(error),
                    Ok(_) => {}
                }
            }
        }
        Ok(())
    }

    fn repair(&self, _: &[Finding], _: bool, _: bool) -> Result<Vec<Action>> {
        read_only()
    }

    fn sweep(&self) -> Result<u64> {
        Ok(0)
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn stat(&self) -> Result<Stat> {
        let namespaces = self.list_namespaces()?;
        let mut stat = Stat {
            namespaces: namespaces.len() as u64,
            ..Stat::default()
        };
        for namespace in namespaces {
            let keys = self.names(&namespace)?.len() as u64;
            stat.keys = stat.keys.saturating_add(keys);
        }
        let hashes = self.hashes()?;
        stat.objects = hashes.len() as u64;
        for meta in self.stat_objects(&hashes)?.into_iter().flatten() {
            stat.stored_bytes = stat.stored_bytes.saturating_add(meta.stored_len);
        }
        stat.plain_bytes = stat.stored_bytes;
        Ok(stat)
    }

    fn destroy(&self) -> Result<()> {
        read_only()
    }
}

impl StorrDbiDriver {
    fn finding(&self, kind: FindingKind, key: Option<(String, String)>, detail: String) -> Finding {
        Finding {
            kind,
            hash: None,
            key,
            place: self.info.url.clone(),
            detail,
        }
    }
}

fn first(records: Vec<Option<KeyRecord>>) -> Option<KeyRecord> {
    records.into_iter().next().flatten()
}

fn meta(bytes: u64) -> ObjectMeta {
    ObjectMeta {
        plain_len: Some(bytes),
        stored_len: bytes,
        compressor: Kind::None,
        codec: "rds".to_string(),
    }
}
