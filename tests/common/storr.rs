//! storr folders of the shared folder, unpacked; and values set and got through a driver alone.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "each test file uses some of it, and a test stops at once"
)]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tare::compress::{self, Kind, ReadOptions, Reader, WriteOptions};
use tare::robject::{self, RObject};
use tare::store::drivers::storr::encode;
use tare::store::{
    Batch, Body, Change, Driver, Durability, Expect, Fetched, Hash, Hasher, Key, NewBody, NewKey,
    NewObject, ObjectHint, ObjectMeta,
};
use tare::{Error, ErrorKind, Result};

use super::common;

/// A store of the fixtures, unpacked below `into`; None where there are no fixtures.
pub fn unpacked(name: &str, into: &Path) -> Option<PathBuf> {
    let tar = common::shared(&format!("fixtures/storr/{name}.tar"))?;
    std::fs::create_dir_all(into).unwrap();
    let done = std::process::Command::new("tar")
        .arg("-xf")
        .arg(&tar)
        .arg("-C")
        .arg(into)
        .status()
        .unwrap();
    assert!(done.success());
    Some(into.join(name))
}

/// Copies a folder; what is copied may be written.
pub fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copied(&entry.path(), &target);
        } else {
            std::fs::write(&target, std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// What the manifest says of the stores of a group.
pub fn manifest(group: &str) -> Option<Vec<Value>> {
    let text = std::fs::read(common::shared("fixtures/manifest.json")?).unwrap();
    let manifest: Value = serde_json::from_slice(&text).unwrap();
    let files = manifest["files"].as_array().unwrap().iter();
    Some(
        files
            .filter(|file| file["group"] == group)
            .cloned()
            .collect(),
    )
}

/// All files below a folder by their names, with what they hold.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap();
                let name = name.to_str().unwrap().to_string();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// What R would have stored, before compression.
pub fn plain_of(object: &RObject) -> Vec<u8> {
    let mut plain = Vec::new();
    encode(object, &mut plain).unwrap();
    plain
}

pub fn hash_of(driver: &dyn Driver, plain: &[u8]) -> Hash {
    let mut hasher = Hasher::new(driver.info().algorithm, driver.info().unhashed);
    hasher.update(plain);
    hasher.finish()
}

pub fn stored(driver: &dyn Driver, plain: &[u8]) -> Vec<u8> {
    let compressor = driver.info().compressor.unwrap();
    let mut writer =
        compress::Writer::new(Vec::new(), compressor, WriteOptions::default()).unwrap();
    writer.write_all(plain).unwrap();
    writer.finish().unwrap().0
}

pub fn meta(driver: &dyn Driver, plain: &[u8], stored: &[u8]) -> ObjectMeta {
    ObjectMeta {
        plain_len: Some(plain.len() as u64),
        stored_len: stored.len() as u64,
        compressor: driver.info().compressor.unwrap().kind(),
        codec: "rds".to_string(),
    }
}

/// Sets a key to plain bytes as the store would do it.
pub fn set(
    driver: &dyn Driver,
    key: Key<'_>,
    plain: &[u8],
    durability: Durability,
) -> Result<Hash> {
    driver.check_key(key)?;
    let hash = hash_of(driver, plain);
    let bytes = stored(driver, plain);
    let body = if bytes.len() > 64 << 10 {
        let hint = ObjectHint {
            durability,
            ..ObjectHint::default()
        };
        let mut sink = driver.begin_object(&hint)?;
        sink.write_all(&bytes).map_err(|error| {
            error
                .downcast::<Error>()
                .unwrap_or_else(|error| Error::new(ErrorKind::Io, error.to_string()))
        })?;
        NewBody::Staged(sink.finish()?)
    } else {
        NewBody::Bytes(bytes.clone().into())
    };
    put(
        driver,
        key,
        hash,
        meta(driver, plain, &bytes),
        body,
        durability,
    )
}

fn put(
    driver: &dyn Driver,
    key: Key<'_>,
    hash: Hash,
    meta: ObjectMeta,
    body: NewBody<'_>,
    durability: Durability,
) -> Result<Hash> {
    let mut replace = false;
    if let Some(there) = driver.open_object(&hash)? {
        replace = verified(driver, &hash, there.body).is_err();
    }
    driver.apply(Batch {
        objects: vec![NewObject {
            hash,
            meta,
            body,
            replace,
            canonical: None,
        }],
        changes: vec![Change {
            key,
            to: Some(NewKey { hash, codec: "rds" }),
            expect: Expect::Any,
        }],
        durability,
    })?;
    Ok(hash)
}

/// Deletes a key; whether it was there.
pub fn delete(driver: &dyn Driver, key: Key<'_>) -> Result<bool> {
    let change = Change {
        key,
        to: None,
        expect: Expect::Any,
    };
    let applied = driver.apply(Batch {
        changes: vec![change],
        ..Batch::default()
    })?;
    Ok(applied.before[0].is_some())
}

/// The plain bytes of a stored object if they hash to its name.
pub fn verified(driver: &dyn Driver, hash: &Hash, body: Body) -> Result<Vec<u8>> {
    let stored = match body {
        Body::Bytes(bytes) => bytes,
        Body::File(mut file) => {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            bytes
        }
        Body::Reader(mut reader) => {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).unwrap();
            bytes
        }
    };
    let corrupt = |why: String| Error::new(ErrorKind::Corrupt, why).with_detail("hash", hash.hex());
    let mut plain = Vec::new();
    let mut reader = Reader::new(&stored[..], ReadOptions::default())?;
    let read = reader.read_to_end(&mut plain);
    read.map_err(|error| corrupt(error.to_string()))?;
    let found = hash_of(driver, &plain);
    if found != *hash && driver.rehash(&mut &plain[..])? != Some(*hash) {
        return Err(corrupt(format!("bytes of the hash {found}")));
    }
    Ok(plain)
}

/// What a key names, verified.
pub fn get(driver: &dyn Driver, key: Key<'_>) -> Result<Vec<u8>> {
    match driver.fetch(&[key])?.remove(0) {
        Fetched::NoKey => Err(Error::new(ErrorKind::KeyNotFound, "no such key")),
        Fetched::NoObject(_) => Err(Error::new(ErrorKind::ObjectNotFound, "no such object")),
        Fetched::Found(record, stored) => verified(driver, &record.hash, stored.body),
    }
}

pub fn object(plain: &[u8]) -> RObject {
    robject::read(plain, &robject::ReadOptions::default()).unwrap()
}

/// Plain bytes of a file of an object.
pub fn inflated(bytes: &[u8]) -> Vec<u8> {
    assert_ne!(Kind::Zstd, compress::sniff(bytes));
    compress::decompress(bytes, &ReadOptions::default()).unwrap()
}

/// All keys of all namespaces with the hashes they name.
pub fn listing(driver: &dyn Driver) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for namespace in driver.list_namespaces().unwrap() {
        let mut after: Option<String> = None;
        loop {
            let page = driver
                .list_keys(&namespace, "", after.as_deref(), 2)
                .unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.key.clone());
            for entry in page {
                let key = (namespace.clone(), entry.key);
                assert!(found.insert(key, entry.record.hash.hex()).is_none());
            }
        }
    }
    found
}
