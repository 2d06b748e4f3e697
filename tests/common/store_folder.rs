//! What the tests of the folder's faults share: stores, values, children, and what lies in a folder.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses some of it, and a test stops at once"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Duration;

use tare::store::drivers::folder::{open, FolderOptions};
use tare::store::{
    CheckLevel, CheckReport, Durability, GcOptions, GcReport, Hash, Key, OpenOptions, Packing,
    SetOptions, Source, Store,
};
use tare::Result;

/// The variable that tells a child where its store is.
const PLACE: &str = "TARE_TEST_FOLDER_PLACE";
/// The variable that tells a child what to do.
const ROLE: &str = "TARE_TEST_FOLDER_ROLE";

pub fn try_store(path: &Path) -> Result<Store> {
    let driver = open(path, &FolderOptions::default())?;
    let options = OpenOptions {
        packing: Packing::parse("none")?,
        ..OpenOptions::default()
    };
    Ok(Store::new(Box::new(driver), options))
}

pub fn store(path: &Path) -> Store {
    try_store(path).unwrap()
}

pub fn put(store: &Store, key: &str, bytes: &[u8]) -> Result<Hash> {
    put_as(store, key, bytes, Durability::None)
}

pub fn put_as(store: &Store, key: &str, bytes: &[u8], level: Durability) -> Result<Hash> {
    let options = SetOptions {
        durability: Some(level),
        ..SetOptions::default()
    };
    store.set(Key::from(key), "raw", Source::Bytes(&[bytes]), &options)
}

pub fn put_many(store: &Store, values: &[(String, Vec<u8>)], level: Durability) -> Result<()> {
    let options = SetOptions {
        durability: Some(level),
        ..SetOptions::default()
    };
    let parts: Vec<[&[u8]; 1]> = values.iter().map(|(_, bytes)| [&bytes[..]]).collect();
    let values = values.iter().zip(&parts);
    let values: Vec<_> = values
        .map(|((key, _), parts)| (Key::from(key.as_str()), "raw", &parts[..]))
        .collect();
    store.set_many(&values, &options).map(drop)
}

pub fn read(store: &Store, key: &str) -> Result<Vec<u8>> {
    let object = store.get(Key::from(key))?;
    Ok(object.bytes()?.to_vec())
}

/// Deletes a key; whether there was one.
pub fn del(store: &Store, key: &str) -> Result<bool> {
    Ok(store.del(&[Key::from(key)])?.remove(0))
}

/// Collects with this grace.
pub fn collect(store: &Store, grace: Duration) -> Result<GcReport> {
    let dry_run = false;
    store.gc(&GcOptions { grace, dry_run })
}

pub fn check(store: &Store) -> Result<CheckReport> {
    store.check(CheckLevel::Full, &mut |_| true)
}

/// Fails if a full check finds a problem.
pub fn assert_clean(store: &Store, what: &str) {
    let report = check(store).unwrap();
    assert!(report.is_clean(), "{what}: {:?}", report.findings);
}

/// The test of this name in a child, with a store and a role.
pub fn child(test: &str, place: &Path, role: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    child.env(PLACE, place).env(ROLE, role);
    child
}

/// Where the store of this child is, and its role; None in the parent.
pub fn role() -> Option<(PathBuf, String)> {
    let place = std::env::var_os(PLACE)?;
    Some((place.into(), std::env::var(ROLE).unwrap()))
}

/// Ends when the parent closes the standard input of this child, which is then to come to an end.
pub fn parent() -> JoinHandle<()> {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    })
}

/// All files below a folder, relative to it, sorted.
pub fn files(path: &Path) -> Vec<PathBuf> {
    fn walk(top: &Path, path: &Path, found: &mut Vec<PathBuf>) {
        let Ok(entries) = std::fs::read_dir(path) else {
            return;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(top, &path, found);
            } else {
                found.push(path.strip_prefix(top).unwrap().to_path_buf());
            }
        }
    }
    let mut found = Vec::new();
    walk(path, path, &mut found);
    found.sort();
    found
}

/// Copies a folder and all in it; with `cp -al` the copies are hard links.
pub fn copy(from: &Path, to: &Path, how: &str) {
    let _ = std::fs::remove_dir_all(to);
    let ran = Command::new("cp").arg(how).arg(from).arg(to).status();
    assert!(ran.unwrap().success());
}

/// Bytes that a key and a turn determine, of a length that they choose among these.
pub fn value(seed: u64, lens: &[usize]) -> Vec<u8> {
    let len = lens[usize::try_from(seed).unwrap() % lens.len()];
    let head = seed.to_le_bytes();
    head.iter().copied().cycle().take(len.max(8)).collect()
}
