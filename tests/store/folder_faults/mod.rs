//! The folder driver under faults: full disks, flipped bits, deaths at each step, strange folders.

#![cfg(unix)]

use crate::common;
mod damage;
mod deaths;
use crate::folders;
mod strange;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::folder::Folder;
use folders::{
    assert_clean, check, child, collect, del, files, put, put_as, put_many, read, role, store,
    try_store,
};
use tare::store::{Durability, Key, Store};
use tare::ErrorKind;

/// Bytes that no compressor makes smaller, others for each seed.
fn noise(seed: u64, size: usize) -> Vec<u8> {
    common::noise(2 * seed + 1, size)
}

/// Bytes that are free on the file system of a folder.
fn space(path: &Path) -> u64 {
    let mut df = Command::new("df");
    let ran = df.args(["-B1", "--output=avail"]).arg(path).output();
    let text = String::from_utf8(ran.unwrap().stdout).unwrap();
    text.lines().nth(1).unwrap().trim().parse().unwrap()
}

/// What lies in a folder beside the index and its helpers, which may grow and shrink.
fn own_files(path: &Path) -> Vec<std::path::PathBuf> {
    let mut found = files(path);
    found.retain(|file| !file.to_str().unwrap().starts_with("index.sqlite"));
    found
}

#[test]
fn fault_01_full_disk() {
    let test = "folder_faults::fault_01_full_disk";
    let Some((mount, _)) = role() else {
        let folder = Folder::new();
        let inner = child(test, folder.path(), "");
        let program = inner.get_program().to_str().unwrap();
        let script = format!(
            "mount -t tmpfs -o size=3m tare {} && exec {program} --exact {test} --nocapture",
            folder.path().display()
        );
        let mut outer = Command::new("unshare");
        outer.args(["-rm", "sh", "-c", &script]);
        for (name, value) in inner.get_envs() {
            outer.env(name, value.unwrap());
        }
        let ran = match outer.output() {
            Ok(ran) => ran,
            Err(error) => return common::skip(&format!("unshare: {error}")),
        };
        let said = String::from_utf8_lossy(&ran.stderr) + String::from_utf8_lossy(&ran.stdout);
        if said.contains("unshare failed") || said.contains("mount:") {
            return common::skip(&format!("no tmpfs can be mounted: {said}"));
        }
        assert!(ran.status.success() && said.contains("1 passed"), "{said}");
        return;
    };
    let path = mount.join("store");
    let store = store(&path);
    let old = noise(3, 100_000);
    put(&store, "k", &old).unwrap();
    large_on_full_disk(&store, &path, &old);
    small_on_full_disk(&store, &path, &mount);
    assert_eq!(old, read(&store, "k").unwrap());
    drop(store);
    let store = folders::store(&path);
    assert_clean(&store, "opened again");
    store.destroy().unwrap();
    assert!(!path.exists());
    a_collection_makes_room(&path, &mount);
}

/// Not a block is left, and the log cannot grow: what nothing names goes all the same.
fn a_collection_makes_room(path: &Path, mount: &Path) {
    let store = store(path);
    let goes = noise(5, 900_000);
    put(&store, "goes", &goes).unwrap();
    del(&store, "goes").unwrap();
    let mut number = 0;
    while put(&store, &format!("s{number}"), &noise(number, 3000)).is_ok() {
        number += 1;
    }
    let ballast = mount.join("ballast");
    let mut file = std::fs::File::create(&ballast).unwrap();
    while std::io::Write::write(&mut file, &[1; 4096]).is_ok_and(|n| n > 0) {}
    drop(file);
    assert_eq!(0, space(mount));
    let report = collect(&store, Duration::ZERO).unwrap();
    assert_eq!((1, 900_000), (report.deleted, report.bytes));
    assert!(space(mount) > 500_000);
    std::fs::remove_file(&ballast).unwrap();
    assert_clean(&store, "after room was made");
    for at in 0..number {
        assert_eq!(noise(at, 3000), read(&store, &format!("s{at}")).unwrap());
    }
    // Closing gives back what the log took.
    drop(store);
    let store = folders::store(path);
    put(&store, "goes", &goes).unwrap();
    assert!(goes == read(&store, "goes").unwrap());
}

/// An object that does not fit: neither it nor its temporary file stays, and the key is as it was.
fn large_on_full_disk(store: &Store, path: &Path, old: &[u8]) {
    let big = noise(1, 4 << 20);
    let before = own_files(path);
    for key in ["k", "fresh"] {
        for level in [Durability::None, Durability::Batch, Durability::Each] {
            let error = put_as(store, key, &big, level).unwrap_err();
            assert_eq!(ErrorKind::NoSpace, error.kind(), "{error}");
            let options = tare::store::SetOptions {
                durability: Some(level),
                ..Default::default()
            };
            let mut stream = &big[..];
            let source = tare::store::Source::Read(&mut stream);
            let error = store.set(Key::from(key), "raw", source, &options);
            assert_eq!(ErrorKind::NoSpace, error.unwrap_err().kind());
        }
    }
    let many = [("k".into(), noise(9, 200_000)), ("fresh".into(), big)];
    let error = put_many(store, &many, Durability::Batch).unwrap_err();
    assert_eq!(ErrorKind::NoSpace, error.kind(), "{error}");
    assert_eq!(before, own_files(path), "something is left");
    assert_eq!(old, read(store, "k").unwrap());
    assert!(!store.exists(Key::from("fresh")).unwrap());
    assert_clean(store, "after large objects");
}

/// Small objects until the index is full, then batches and a collection; then space returns.
fn small_on_full_disk(store: &Store, path: &Path, mount: &Path) {
    let ballast = mount.join("ballast");
    std::fs::write(&ballast, noise(4, 300_000)).unwrap();
    let small = |number: u64| noise(number, 4000);
    let before = own_files(path);
    let mut number = 0;
    let error = loop {
        if let Err(error) = put(store, &format!("s{number}"), &small(number)) {
            break error;
        }
        number += 1;
    };
    assert_eq!(ErrorKind::NoSpace, error.kind(), "{error}");
    assert!(number > 50, "only {number} fitted");
    let last = format!("s{number}");
    assert!(!store.exists(Key::from(last.as_str())).unwrap());
    let many: Vec<(String, Vec<u8>)> = (0..200)
        .map(|at| (format!("m{at}"), small(10_000 + at)))
        .collect();
    let error = put_many(store, &many, Durability::Batch).unwrap_err();
    assert_eq!(ErrorKind::NoSpace, error.kind(), "{error}");
    assert_eq!(0, store.keys("objects", "m").count(), "a part of a batch");
    // What replaces a value fails as well, and the value stays.
    if let Err(error) = put(store, "s0", &noise(77, 60_000)) {
        assert_eq!(ErrorKind::NoSpace, error.kind(), "{error}");
        assert_eq!(small(0), read(store, "s0").unwrap());
    } else {
        panic!("there was space for 60,000 bytes");
    }
    // A collection on a full disk either works or says that it cannot; nothing that is named goes.
    for outcome in [
        del(store, "s1").map(drop),
        collect(store, Duration::ZERO).map(drop),
    ] {
        if let Err(error) = outcome {
            assert_eq!(ErrorKind::NoSpace, error.kind(), "{error}");
        }
    }
    assert_eq!(before, own_files(path), "something is left");
    for at in (0..number).filter(|at| *at != 1) {
        assert_eq!(small(at), read(store, &format!("s{at}")).unwrap());
    }
    assert_clean(store, "while full");
    std::fs::remove_file(&ballast).unwrap();
    assert!(space(mount) > 0);
    put(store, &last, &small(number)).unwrap();
    put(store, "s0", &noise(77, 60_000)).unwrap();
    collect(store, Duration::ZERO).unwrap();
    assert_eq!(small(number), read(store, &last).unwrap());
    assert_clean(store, "with space again");
}

/// Values whose stored bytes lie in a row, in a blob, and in a file.
fn three_values() -> Vec<(String, Vec<u8>)> {
    let mut values = Vec::new();
    for (name, len) in [("row", 300), ("blob", 20_000), ("file", 70_000)] {
        for number in 0..3 {
            values.push((
                format!("{name}{number}"),
                noise(len + number, usize::try_from(len).unwrap()),
            ));
        }
    }
    values
}

/// Reads everything of a store that may be damaged: right values, or errors that say so.
fn never_wrong(path: &Path, values: &[(String, Vec<u8>)], what: &str) -> (usize, bool) {
    let allowed = |error: &tare::Error| {
        use ErrorKind::{ConfigMismatch, Corrupt, Malformed, ObjectNotFound, StoreVersion};
        let kinds = [
            Corrupt,
            Malformed,
            StoreVersion,
            ConfigMismatch,
            ObjectNotFound,
        ];
        kinds.contains(&error.kind())
    };
    let store = match try_store(path) {
        Ok(store) => store,
        Err(error) => {
            assert!(
                allowed(&error),
                "{what}: opening says {:?} {error}",
                error.kind()
            );
            return (values.len(), true);
        }
    };
    let mut hurt = 0;
    let mut lost = Vec::new();
    for (key, expected) in values {
        match read(&store, key) {
            Ok(found) => assert!(found == *expected, "{what}: {key} has other bytes"),
            Err(error) if error.kind() == ErrorKind::KeyNotFound => lost.push(key),
            Err(error) => {
                assert!(
                    allowed(&error),
                    "{what}: {key} says {:?} {error}",
                    error.kind()
                );
                hurt += 1;
            }
        }
    }
    let named = match check(&store) {
        Ok(report) => !report.is_clean(),
        Err(error) => {
            assert!(
                allowed(&error),
                "{what}: check says {:?} {error}",
                error.kind()
            );
            true
        }
    };
    assert!(
        hurt == 0 || named,
        "{what}: {hurt} are hurt and the check is clean"
    );
    assert!(
        lost.is_empty() || named,
        "{what}: {lost:?} are lost and the check is clean"
    );
    (hurt + lost.len(), named)
}

fn made(path: &Path) -> Vec<(String, Vec<u8>)> {
    let values = three_values();
    let store = store(path);
    put_many(&store, &values, Durability::Each).unwrap();
    assert_clean(&store, "new");
    values
}

fn write_over(file: &Path, bytes: &[u8]) {
    std::fs::remove_file(file).unwrap();
    std::fs::write(file, bytes).unwrap();
}
