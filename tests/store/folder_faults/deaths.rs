//! The death of the process at each step, and the order in which it makes things last.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use tare::store::{Durability, Key};
use tare::ErrorKind;

use super::{made, noise, write_over};
use crate::common::folder::Folder;
use crate::folders::{
    assert_clean, check, child, collect, copy, del, put, put_as, put_many, read, role, store,
};
use crate::{common, folders};

/// The variable that says at which step to die.
const STEPS: &str = "TARE_STORE_STEPS";

/// What each role does to a store that has `old` of all three kinds and `gone` of them without names.
fn act(path: &Path, what: &str) {
    let store = store(path);
    println!("opened");
    let level = Durability::Each;
    let large = noise(50, 150_000);
    match what {
        "set small" => drop(put_as(&store, "new", b"small", level).unwrap()),
        "set large" => drop(put_as(&store, "new", &large, level).unwrap()),
        "replace small" => drop(put_as(&store, "victim", b"small", level).unwrap()),
        "replace large" => drop(put_as(&store, "victim", &large, level).unwrap()),
        "mset" => {
            let lens = [20, 9000, 80_000, 150_000];
            let values = (0..)
                .zip(lens)
                .map(|(at, len)| (format!("new{at}"), noise(60 + at, len)));
            let values: Vec<_> = values.collect();
            put_many(&store, &values, level).unwrap();
        }
        "del" => assert!(del(&store, "victim").unwrap()),
        "gc" => drop(collect(&store, Duration::ZERO).unwrap()),
        "repair" => {
            let report = check(&store).unwrap();
            assert!(!report.is_clean());
            store.repair(&report, true, false).unwrap();
        }
        other => panic!("{other}"),
    }
    println!("acknowledged");
}

/// A store for the steps: values that stay, a key that is replaced or deleted, objects without names.
fn before_steps(path: &Path, what: &str) -> Vec<(String, Vec<u8>)> {
    let values = made(path);
    let store = store(path);
    put(&store, "victim", &noise(40, 120_000)).unwrap();
    for number in 0..3 {
        let gone = format!("gone{number}");
        put(&store, &gone, &noise(45 + number, 90_000)).unwrap();
        del(&store, &gone).unwrap();
    }
    drop(store);
    if what == "repair" {
        let store = folders::store(path);
        let hash = store.get_hash(Key::from("victim")).unwrap();
        let file = store.driver().local_file(&hash).unwrap().unwrap();
        drop(store);
        let mut bytes = std::fs::read(&file).unwrap();
        bytes[77] ^= 1;
        write_over(&file, &bytes);
    }
    values
}

const ACTS: [&str; 8] = [
    "set small",
    "set large",
    "replace small",
    "replace large",
    "mset",
    "del",
    "gc",
    "repair",
];

#[test]
fn a_death_at_any_step_loses_nothing() {
    let test = "folder_faults::deaths::a_death_at_any_step_loses_nothing";
    if let Some((path, what)) = role() {
        return act(&path, &what);
    }
    let folder = Folder::new();
    for what in ACTS {
        let made = folder.join(&format!("made {what}"));
        let values = before_steps(&made, what);
        let work = folder.join("work");
        let mut deaths = 0;
        for step in 1.. {
            copy(&made, &work, "-a");
            let mut child = child(test, &work, what);
            let ran = child.env(STEPS, step.to_string()).output().unwrap();
            let said = String::from_utf8_lossy(&ran.stdout).into_owned();
            if ran.status.success() {
                assert!(said.contains("acknowledged"), "{said}");
                break;
            }
            let fault = String::from_utf8_lossy(&ran.stderr);
            assert_eq!(Some(6), ran.status.signal(), "{what} {step}: {fault}");
            assert!(step < 60, "{what} has no end");
            deaths += 1;
            after_death(&work, what, &values, &format!("{what}, step {step}"));
        }
        if cfg!(debug_assertions) {
            assert!(deaths >= 1, "{what} has {deaths} steps");
        }
    }
}

fn after_death(path: &Path, what: &str, values: &[(String, Vec<u8>)], when: &str) {
    let store = store(path);
    for (key, bytes) in values {
        assert!(read(&store, key).unwrap() == *bytes, "{when}: {key}");
    }
    let whole = [noise(40, 120_000), b"small".to_vec(), noise(50, 150_000)];
    match read(&store, "victim") {
        Ok(found) => assert!(whole.contains(&found), "{when}: half of a value"),
        Err(error) if error.kind() == ErrorKind::KeyNotFound => {
            assert!(what == "del" || what == "repair", "{when}: the key is lost");
        }
        Err(error) => {
            let kinds = [ErrorKind::Corrupt, ErrorKind::ObjectNotFound];
            let expected = what == "repair" && kinds.contains(&error.kind());
            assert!(expected, "{when}: {error}");
        }
    }
    let fresh = store.keys("objects", "new").map(|entry| entry.unwrap().key);
    let fresh: Vec<String> = fresh.collect();
    assert!(
        what != "mset" || [0, 4].contains(&fresh.len()),
        "{when}: {fresh:?}"
    );
    for key in fresh {
        read(&store, &key).unwrap();
    }
    if what == "repair" {
        let report = check(&store).unwrap();
        store.repair(&report, true, false).unwrap();
    }
    assert_clean(&store, when);
    collect(&store, Duration::ZERO).unwrap();
    let report = check(&store).unwrap();
    assert!(report.findings.is_empty(), "{when}: {:?}", report.findings);
}

/// The steps of one act, in their order, after the store was opened.
fn trace(made: &Path, level: &str, what: &str, folder: &Folder) -> Vec<String> {
    let test = "folder_faults::deaths::objects_are_synced_before_they_are_named";
    let work = folder.join("work");
    copy(made, &work, "-a");
    let log = folder.join("steps");
    let _ = std::fs::remove_file(&log);
    let mut child = child(test, &work, &format!("{level}/{what}"));
    child.env(STEPS, format!("file:{}", log.display()));
    let ran = child.output().unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let steps = std::fs::read_to_string(&log).unwrap_or_default();
    steps.lines().map(str::to_string).collect()
}

#[test]
fn objects_are_synced_before_they_are_named() {
    if let Some((path, role)) = role() {
        let (level, what) = role.split_once('/').unwrap();
        let store = store(&path);
        let level = Durability::by_name(level).unwrap();
        let large = noise(51, 200_000);
        match what {
            "set" => drop(put_as(&store, "new", &large, level).unwrap()),
            "mset" => {
                let values = [("a".into(), large), ("b".into(), noise(52, 99_999))];
                put_many(&store, &values, level).unwrap();
            }
            _ => drop(collect(&store, Duration::ZERO).unwrap()),
        }
        return;
    }
    let folder = Folder::new();
    let made = folder.join("made");
    before_steps(&made, "");
    if !cfg!(debug_assertions) {
        return common::skip("a release traces no steps");
    }
    for what in ["set", "mset"] {
        for level in ["none", "batch", "each"] {
            let steps = trace(&made, level, what, &folder);
            let all = |name: &str| -> Vec<usize> {
                let found = steps.iter().enumerate();
                found
                    .filter(|(_, step)| *step == name)
                    .map(|(at, _)| at)
                    .collect()
            };
            let commit = all("commit");
            assert_eq!(1, commit.len(), "{level} {what}: {steps:?}");
            let placed = all("placed");
            let objects = if what == "set" { 1 } else { 2 };
            assert_eq!(objects, placed.len(), "{steps:?}");
            let (files, names) = (all("sync object"), all("sync folder"));
            if level == "none" {
                assert!(files.is_empty() && names.is_empty(), "{steps:?}");
                assert!(all("sync log").is_empty(), "{steps:?}");
                continue;
            }
            assert_eq!(objects, files.len(), "{level} {what}: {steps:?}");
            assert!(files.iter().all(|at| *at < placed[0]), "{steps:?}");
            assert!(names.len() >= objects, "{level} {what}: {steps:?}");
            let last = placed[objects - 1];
            assert!(
                names.iter().all(|at| last < *at && *at < commit[0]),
                "{steps:?}"
            );
            if level == "each" || what == "mset" {
                let log = all("sync log");
                assert!(log.len() == 1 && log[0] > commit[0], "{steps:?}");
            }
        }
    }
    let steps = trace(&made, "batch", "gc", &folder);
    let at = |name: &str| steps.iter().position(|step| step == name).unwrap();
    let last = steps.iter().rposition(|step| step == "condemn").unwrap();
    assert!(last < at("commit gc"), "{steps:?}");
    assert!(
        at("commit gc") < at("sync gc") && at("sync gc") < at("unlink"),
        "{steps:?}"
    );
}
