//! Folders that several processes and threads use at once: nothing is lost, nothing is half there.

#![cfg(unix)]

use crate::common;
use crate::folders;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::folder::Folder;
use folders::{assert_clean, child, collect, del, put, put_as, read, role, store, value};
use tare::store::{Durability, FindingKind, Key};
use tare::ErrorKind;

const LENS: [usize; 3] = [40, 3000, 90_000];
const LARGE: [usize; 2] = [300_000, 700_000];

fn start(test: &str, path: &Path, role: &str) -> Child {
    let mut child = child(test, path, role);
    child.stdout(Stdio::piped()).stderr(Stdio::piped());
    child.spawn().unwrap()
}

/// Waits for children, all of which must have done what they were to do.
fn finish(children: Vec<Child>) {
    for child in children {
        let ran = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        let out = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{said}\n{out}");
        assert!(out.contains("1 passed"), "{out}");
    }
}

/// A full check finds nothing at all: neither damage, nor wrong counts, nor what is left.
fn assert_tidy(path: &Path) {
    let store = store(path);
    let report = folders::check(&store).unwrap();
    let found = report.findings.iter();
    let found: Vec<_> = found
        .filter(|finding| finding.kind != FindingKind::OrphanObject)
        .collect();
    assert!(found.is_empty(), "{found:?}");
}

/// Sets fresh keys and deletes some for a while, and looks at the end that it has all of its own.
fn own_keys(path: &Path, number: u64, time: Duration) {
    let store = store(path);
    let mut oracle = BTreeMap::new();
    let start = Instant::now();
    let mut turn = 0_u64;
    while start.elapsed() < time {
        turn += 1;
        // Of three values one is new, one all processes share, and one is rare: it comes, goes and comes again.
        let seed = match turn % 3 {
            0 => 1000 * (turn + 1_000_000 * number) + turn,
            1 => turn * 7 % 23,
            _ => 100 + turn * 7 % 701,
        };
        let key = format!("p{number}-{}", turn % 50);
        put(&store, &key, &value(seed, &LENS)).unwrap();
        oracle.insert(key.clone(), seed);
        if turn % 3 == 0 {
            let gone = format!("p{number}-{}", (turn * 11) % 50);
            let there = oracle.remove(&gone).is_some();
            assert_eq!(there, del(&store, &gone).unwrap(), "{gone}");
        }
        if turn % 5 == 0 {
            let (key, seed) = oracle
                .iter()
                .next()
                .map(|(key, seed)| (key, *seed))
                .unwrap();
            assert_eq!(value(seed, &LENS), read(&store, key).unwrap(), "{key}");
        }
        if number >= 10 && turn % 4 == 0 {
            collect(&store, Duration::ZERO).unwrap();
        }
    }
    for turn in 0..50 {
        let key = format!("p{number}-{turn}");
        let expected = oracle.get(&key).map(|seed| value(*seed, &LENS));
        let found = match read(&store, &key) {
            Err(error) if error.kind() == ErrorKind::KeyNotFound => None,
            found => Some(found.unwrap()),
        };
        assert!(expected == found, "{key} is not what was set last");
    }
    assert!(turn > 50, "only {turn} turns");
}

#[test]
fn fault_03_gc_races_set() {
    let test = "folder_races::fault_03_gc_races_set";
    if let Some((path, number)) = role() {
        return own_keys(&path, number.parse().unwrap(), Duration::from_secs(6));
    }
    let folder = Folder::new();
    let path = folder.join("store");
    let store = store(&path);
    let writers = ["1", "2", "3", "4"].map(|role| start(test, &path, role));
    let done = AtomicBool::new(false);
    let mut deleted = 0;
    std::thread::scope(|scope| {
        let collector = scope.spawn(|| {
            let mut deleted = 0;
            while !done.load(Ordering::Relaxed) {
                deleted += collect(&store, Duration::ZERO).unwrap().deleted;
            }
            deleted
        });
        let ended = std::panic::catch_unwind(|| finish(writers.into()));
        done.store(true, Ordering::Relaxed);
        deleted = collector.join().unwrap();
        ended.unwrap();
    });
    assert!(deleted > 100, "only {deleted} objects were collected");
    drop(store);
    assert_tidy(&path);
}

#[test]
fn processes_that_set_delete_and_collect_have_what_each_set() {
    let test = "folder_races::processes_that_set_delete_and_collect_have_what_each_set";
    if let Some((path, number)) = role() {
        return own_keys(&path, number.parse().unwrap(), Duration::from_secs(6));
    }
    let folder = Folder::new();
    let path = folder.join("store");
    finish(["10", "11"].map(|role| start(test, &path, role)).into());
    assert_tidy(&path);
}

#[test]
fn eight_processes_set_and_get() {
    let test = "folder_races::eight_processes_set_and_get";
    if let Some((path, number)) = role() {
        return own_keys(&path, number.parse().unwrap(), Duration::from_secs(5));
    }
    let folder = Folder::new();
    let path = folder.join("store");
    // Nobody has made the store: all do, at once.
    let roles = ["1", "2", "3", "4", "5", "6", "7", "8"];
    finish(roles.map(|role| start(test, &path, role)).into());
    assert_tidy(&path);
}

#[test]
fn fault_04_overwrite_is_atomic() {
    let test = "folder_races::fault_04_overwrite_is_atomic";
    if let Some((path, _)) = role() {
        let store = store(&path);
        let start = Instant::now();
        let mut turn = 0;
        while start.elapsed() < Duration::from_secs(5) {
            put(&store, "k", &value(turn % 6, &LARGE)).unwrap();
            turn += 1;
        }
        return;
    }
    let folder = Folder::new();
    let path = folder.join("store");
    let store = store(&path);
    put(&store, "k", &value(0, &LARGE)).unwrap();
    let writers = vec![start(test, &path, "a"), start(test, &path, "b")];
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = || {
            let store = folders::store(&path);
            let mut reads = 0;
            while !done.load(Ordering::Relaxed) {
                let found = read(&store, "k").unwrap();
                let seed = u64::from_le_bytes(found[..8].try_into().unwrap());
                assert!(seed < 6 && found == value(seed, &LARGE), "half of a value");
                reads += 1;
            }
            reads
        };
        let readers = [scope.spawn(reader), scope.spawn(reader)];
        let collector = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                collect(&store, Duration::ZERO).unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let ended = std::panic::catch_unwind(|| finish(writers));
        done.store(true, Ordering::Relaxed);
        let reads: u32 = readers.map(|reader| reader.join().unwrap()).iter().sum();
        collector.join().unwrap();
        ended.unwrap();
        assert!(reads > 20, "only {reads} reads");
    });
    drop(store);
    assert_tidy(&path);
}

#[test]
fn threads_of_one_store_share_it() {
    let folder = Folder::new();
    let path = folder.join("store");
    let store = store(&path);
    std::thread::scope(|scope| {
        for number in 0..6_u64 {
            let store = &store;
            scope.spawn(move || {
                for turn in 0..60 {
                    let key = format!("t{number}-{turn}");
                    let bytes = value(turn % 9, &LENS);
                    put_as(store, &key, &bytes, Durability::Batch).unwrap();
                    assert_eq!(bytes, read(store, &key).unwrap());
                    if turn % 2 == 1 {
                        assert!(del(store, &format!("t{number}-{}", turn - 1)).unwrap());
                    }
                    if turn % 20 == 19 {
                        collect(store, Duration::ZERO).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(180, store.keys(tare::store::DEFAULT_NAMESPACE, "").count());
    assert!(store.exists(Key::from("t5-59")).unwrap());
    assert_clean(&store, "after threads");
    drop(store);
    assert_tidy(&path);
}
