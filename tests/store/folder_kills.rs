//! The folder driver under kills: what was acknowledged is there, whenever the process dies.

#![cfg(unix)]

use crate::common;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::folder::Folder;
use common::soak;
use tare::compress::Kind;
use tare::store::drivers::folder::{open, FolderDriver, FolderOptions};
use tare::store::{
    Batch, Body, Change, Driver, Durability, Expect, Fetched, GcOptions, Hash, Key, NewBody,
    NewKey, NewObject, ObjectMeta,
};

const PLACE: &str = "TARE_TEST_KILL_STORE";

/// The bytes that a key has: some of the row, some of a blob, some of a file.
fn value(key: &str) -> Vec<u8> {
    let seed = key
        .bytes()
        .fold(0_usize, |sum, byte| sum * 31 + usize::from(byte))
        % 97;
    let len = [20, 3000, 90_000][seed % 3];
    key.bytes().cycle().take(len).collect()
}

fn set(store: &FolderDriver, key: &str) {
    let bytes = value(key);
    let hash = Hash::new(blake3::hash(&bytes).as_bytes()).unwrap();
    let len = bytes.len() as u64;
    let meta = ObjectMeta {
        plain_len: Some(len),
        stored_len: len,
        compressor: Kind::None,
        codec: "raw".into(),
    };
    let object = NewObject {
        hash,
        meta,
        body: NewBody::Bytes(bytes.into()),
        replace: false,
        canonical: None,
    };
    let to = Some(NewKey { hash, codec: "raw" });
    let change = Change {
        key: Key::from(key),
        to,
        expect: Expect::Any,
    };
    let batch = Batch {
        objects: vec![object],
        changes: vec![change],
        durability: Durability::None,
    };
    store.apply(batch).unwrap();
}

fn get(store: &FolderDriver, key: &str) -> Option<Vec<u8>> {
    match store.fetch(&[Key::from(key)]).unwrap().remove(0) {
        Fetched::Found(_, stored) => Some(match stored.body {
            Body::Bytes(bytes) => bytes,
            Body::File(mut file) => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).unwrap();
                bytes
            }
            Body::Reader(_) => panic!("a folder has files"),
        }),
        _ => None,
    }
}

/// What is killed: sets, deletes and collects, and says what is done.
fn child(path: &str) {
    let store = open(path, &FolderOptions::default()).unwrap();
    let mut out = std::io::stdout().lock();
    let own = std::process::id();
    for number in 0.. {
        let key = format!("k{own}-{number}");
        set(&store, &key);
        writeln!(out, "+{key}").unwrap();
        if number % 4 == 3 {
            let gone = format!("k{own}-{}", number - 2);
            writeln!(out, "-{gone}").unwrap();
            let change = Change {
                key: Key::from(gone.as_str()),
                to: None,
                expect: Expect::Any,
            };
            let changes = vec![change];
            let batch = Batch {
                changes,
                ..Batch::default()
            };
            store.apply(batch).unwrap();
            let grace = Duration::ZERO;
            let dry_run = false;
            store.gc(&GcOptions { grace, dry_run }).unwrap();
        }
        out.flush().unwrap();
    }
}

/// What a child set before it was killed, so long after it began, or after its first key: a busy machine
/// takes its time to start a process, and then nothing would have been at work.
fn round(path: &Path, wait: Duration, at_work: bool) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "folder_kills::acknowledged_keys_outlive_kills",
            "--nocapture",
        ])
        .env(PLACE, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = child.stdout.take().unwrap();
    let (began, first) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut keys = Vec::new();
        for line in BufReader::new(out).lines() {
            let line = line.unwrap();
            if line.contains('+') {
                let _ = began.send(());
            }
            if let Some((_, key)) = line.split_once('+') {
                keys.push(key.to_string());
            } else if let Some(gone) = line.strip_prefix('-') {
                keys.retain(|key| key != gone);
            }
        }
        keys
    });
    if at_work {
        first.recv().unwrap();
    }
    std::thread::sleep(wait);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut keys = reader.join().unwrap();
    // The last line may have been cut.
    keys.retain(|key| key.starts_with('k'));
    keys
}

#[test]
fn acknowledged_keys_outlive_kills() {
    if let Ok(path) = std::env::var(PLACE) {
        return child(&path);
    }
    let folder = Folder::new();
    let path = folder.join("store");
    let mut acknowledged = 0;
    let (rounds, between_checks) = soak::scaled((40, 10), (500, 50));
    for number in 0..rounds {
        let wait = Duration::from_micros(number as u64 * 7919 % 40_000 + 3000);
        let keys = round(&path, wait, number % 4 > 0);
        let store = open(&path, &FolderOptions::default()).unwrap();
        for key in &keys {
            assert_eq!(
                Some(value(key)),
                get(&store, key),
                "{key} in round {number}"
            );
        }
        acknowledged += keys.len();
        if (number + 1) % between_checks == 0 {
            let mut problems = Vec::new();
            let mut tell = |finding: tare::store::Finding| {
                if finding.kind.is_problem() {
                    problems.push(finding);
                }
            };
            store.check(&mut tell).unwrap();
            assert!(problems.is_empty(), "{problems:?}");
        }
    }
    // Three of four rounds wait for a first key.
    assert!(
        acknowledged >= rounds * 3 / 4,
        "only {acknowledged} keys were set"
    );
    soak::count("kills", rounds);
}
