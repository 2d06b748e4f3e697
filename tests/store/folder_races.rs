//! Folders that several processes and threads use at once: nothing is lost, nothing is half there.

#![cfg(unix)]

use crate::common;
use crate::folders;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use common::folder::Folder;
use common::soak::{EndOnDrop, Span};
use folders::{assert_clean, child, collect, del, put, put_as, read, role, store, value};
use tare::store::{Durability, FindingKind, Key};
use tare::ErrorKind;

const LENS: [usize; 3] = [40, 3000, 90_000];
const LARGE: [usize; 2] = [300_000, 700_000];
/// Least time of a race in `make test`.
const SHORT: Duration = Duration::from_millis(1500);
/// Fewest turns that each process of a race has.
const TURNS: u64 = 50;

fn start(test: &str, path: &Path, role: &str) -> Child {
    let mut child = child(test, path, role);
    child.stdin(Stdio::piped());
    child.stdout(Stdio::piped()).stderr(Stdio::piped());
    child.spawn().unwrap()
}

/// Lets children run for `SHORT` or a minute, and until `enough`, unless one of them fails.
fn run(children: &mut [Child], enough: impl Fn() -> bool) {
    let span = Span::start(SHORT);
    let mut ended = |child: &mut Child| child.try_wait().unwrap().is_some();
    while !children.iter_mut().any(&mut ended) && span.lasts(enough()) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Tells children to come to an end and waits for them; all must have done what they were to do.
fn finish(mut children: Vec<Child>) {
    for child in &mut children {
        drop(child.stdin.take());
    }
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

/// Sets fresh keys and deletes some until its parent ends it, and then has all of its own.
fn own_keys(path: &Path, number: u64) {
    let store = store(path);
    let mut oracle = BTreeMap::new();
    let parent = folders::parent();
    let mut turn = 0_u64;
    while !parent.is_finished() || turn <= TURNS {
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
}

#[test]
fn fault_03_gc_races_set() {
    let test = "folder_races::fault_03_gc_races_set";
    if let Some((path, number)) = role() {
        return own_keys(&path, number.parse().unwrap());
    }
    let folder = Folder::new();
    let path = folder.join("store");
    let store = store(&path);
    let mut writers = ["1", "2", "3", "4"].map(|role| start(test, &path, role));
    let done = AtomicBool::new(false);
    let deleted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let _end = EndOnDrop(&done);
        let collector = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let report = collect(&store, Duration::ZERO).unwrap();
                deleted.fetch_add(report.deleted, Ordering::Relaxed);
            }
        });
        let enough = || deleted.load(Ordering::Relaxed) > 100 || collector.is_finished();
        run(&mut writers, enough);
        finish(writers.into());
    });
    drop(store);
    assert_tidy(&path);
}

#[test]
fn processes_that_set_delete_and_collect_have_what_each_set() {
    let test = "folder_races::processes_that_set_delete_and_collect_have_what_each_set";
    if let Some((path, number)) = role() {
        return own_keys(&path, number.parse().unwrap());
    }
    let folder = Folder::new();
    let path = folder.join("store");
    let mut children = ["10", "11"].map(|role| start(test, &path, role));
    run(&mut children, || true);
    finish(children.into());
    assert_tidy(&path);
}

#[test]
fn eight_processes_set_and_get() {
    let test = "folder_races::eight_processes_set_and_get";
    if let Some((path, number)) = role() {
        return own_keys(&path, number.parse().unwrap());
    }
    let folder = Folder::new();
    let path = folder.join("store");
    // Nobody has made the store: all do, at once.
    let roles = ["1", "2", "3", "4", "5", "6", "7", "8"];
    let mut children = roles.map(|role| start(test, &path, role));
    run(&mut children, || true);
    finish(children.into());
    assert_tidy(&path);
}

#[test]
fn fault_04_overwrite_is_atomic() {
    let test = "folder_races::fault_04_overwrite_is_atomic";
    if let Some((path, _)) = role() {
        let store = store(&path);
        let parent = folders::parent();
        let mut turn = 0;
        while !parent.is_finished() || turn == 0 {
            put(&store, "k", &value(turn % 6, &LARGE)).unwrap();
            turn += 1;
        }
        return;
    }
    let folder = Folder::new();
    let path = folder.join("store");
    let store = store(&path);
    put(&store, "k", &value(0, &LARGE)).unwrap();
    let mut writers = vec![start(test, &path, "a"), start(test, &path, "b")];
    let done = AtomicBool::new(false);
    let reads = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let _end = EndOnDrop(&done);
        let reader = || {
            let store = folders::store(&path);
            while !done.load(Ordering::Relaxed) {
                let found = read(&store, "k").unwrap();
                let seed = u64::from_le_bytes(found[..8].try_into().unwrap());
                assert!(seed < 6 && found == value(seed, &LARGE), "half of a value");
                reads.fetch_add(1, Ordering::Relaxed);
            }
        };
        let readers = [scope.spawn(reader), scope.spawn(reader)];
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                collect(&store, Duration::ZERO).unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let failed = || readers.iter().any(ScopedJoinHandle::is_finished);
        run(&mut writers, || {
            reads.load(Ordering::Relaxed) > 20 || failed()
        });
        finish(writers);
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
