//! Changes of R's stores: collections, collisions, conditions, repairs, and writers that are killed.

use crate::common;
use crate::storr;
use crate::storr_made;

use std::time::{Duration, SystemTime};
use tare::robject::{Body, Builder};
use tare::store::drivers::storr::{open, StorrOptions};
use tare::store::{
    Batch, Change, CheckLevel, Driver, Durability, Expect, GcOptions, Key, NewKey, OpenOptions,
    Store,
};
use tare::ErrorKind;

use common::folder::Folder;
use common::soak;
use storr_made::{child, doubles, is_child, litter, made, noise, now, problems, put, store};

#[test]
fn a_collection_waits_for_the_grace_that_an_object_has_been_seen_without_a_key() {
    let folder = Folder::new();
    let path = folder.join("s");
    let store = store(&path);
    let hash = put(&store, "k", &doubles([1.0])).unwrap();
    put(&store, "kept", &doubles([2.0])).unwrap();
    storr::delete(store.driver(), Key::from("k")).unwrap();
    let object = path.join(format!("data/{hash}.rds"));
    let old = SystemTime::now() - Duration::from_secs(100 * 3600);
    let age = || {
        let file = std::fs::File::options().write(true).open(&object).unwrap();
        file.set_modified(old).unwrap();
    };
    age();
    let options = GcOptions::default();
    // An old file, but seen without a key for the first time.
    let report = store.gc(&options).unwrap();
    assert_eq!((1, 0), (report.condemned, report.deleted));
    assert!(report.kept_until.unwrap() > SystemTime::now() + Duration::from_secs(23 * 3600));
    let marks = path.join("scratch/tare-marks");
    let text = std::fs::read_to_string(&marks).unwrap();
    assert!(text.starts_with(&format!("{hash} ")), "{text}");
    // As if that had been long ago.
    std::fs::write(&marks, format!("{hash} 1000\n")).unwrap();
    let dry = GcOptions {
        dry_run: true,
        ..options.clone()
    };
    assert_eq!(1, store.gc(&dry).unwrap().deleted);
    assert!(object.exists());
    // Set again meanwhile: the file is young, and stays when the key goes.
    put(&store, "k", &doubles([1.0])).unwrap();
    storr::delete(store.driver(), Key::from("k")).unwrap();
    assert_eq!(0, store.gc(&options).unwrap().deleted);
    assert!(object.exists());
    age();
    std::fs::write(&marks, format!("{hash} 1000\n")).unwrap();
    let report = store.gc(&options).unwrap();
    assert_eq!((1, 1), (report.condemned, report.deleted));
    assert!(!object.exists() && !marks.exists());
}

#[test]
fn short_hashes_that_collide_are_refused_and_the_value_stays() {
    let folder = Folder::new();
    let path = folder.join("s");
    let options = StorrOptions {
        hash_algorithm: Some(tare::store::Algorithm::Crc32),
        ..StorrOptions::default()
    };
    let store = Store::new(
        Box::new(open(&path, &options).unwrap()),
        OpenOptions::default(),
    );
    let (a, b) = collision();
    assert_ne!(a, b);
    let hash = put(&store, "a", &a).unwrap();
    let error = put(&store, "b", &b).unwrap_err();
    assert_eq!(ErrorKind::Collision, error.kind(), "{error}");
    assert_eq!(Some(&*hash.hex()), error.detail("hash"));
    assert_eq!(
        &a[..],
        &store.get(Key::from("a")).unwrap().bytes().unwrap()[..]
    );
    assert!(store.get(Key::from("b")).is_err());
    // Equal values are still one.
    assert_eq!(hash, put(&store, "c", &a).unwrap());
    // And a damaged object is written over.
    std::fs::write(path.join(format!("data/{hash}.rds")), "damaged").unwrap();
    assert_eq!(hash, put(&store, "b", &b).unwrap());
    assert_eq!(
        &b[..],
        &store.get(Key::from("b")).unwrap().bytes().unwrap()[..]
    );
    assert!(litter(&path).is_empty());
}

/// Two vectors of the same CRC-32: bytes that differ by a multiple of its polynomial.
fn collision() -> (Vec<u8>, Vec<u8>) {
    let value = |bytes: [u8; 8]| {
        let mut build = Builder::new();
        let root = build.push(Body::Raw(bytes.to_vec())).unwrap();
        storr::plain_of(&build.finish(root))
    };
    // The polynomial, lowest power last, as the bits of a message are read: each byte from its lowest bit.
    let polynomial = 0x1_04C1_1DB7_u64;
    let mut difference = [0_u8; 8];
    for bit in 0..33 {
        if polynomial >> (32 - bit) & 1 == 1 {
            difference[bit / 8] |= 1 << (bit % 8);
        }
    }
    (value([0; 8]), value(difference))
}

#[test]
fn repair_sets_aside_and_deletes_nothing_unless_it_is_told() {
    let folder = Folder::new();
    let Some(path) = storr::unpacked("corrupt", folder.path()) else {
        return;
    };
    let store = store(&path);
    let before = storr::files(&path);
    let report = store.check(CheckLevel::Full, &mut |_| true).unwrap();
    assert_eq!(4, report.findings.len(), "{:#?}", report.findings);
    let plan = store.repair(&report, false, false).unwrap();
    assert!(plan.iter().all(|action| !action.done));
    assert_eq!(before, storr::files(&path));
    let done = store.repair(&report, true, false).unwrap();
    assert_eq!(4, done.iter().filter(|action| action.done).count());
    let files = storr::files(&path);
    for name in [
        "807d5c1b434ee840844830cb7257e3b8",
        "90a7653d717dc1553ee564aa27b749b9",
        "b1c9eae8b8811a25c2b7c97aaf0f1e46",
    ] {
        let aside = format!("scratch/tare-quarantine/{name}.rds");
        assert_eq!(before[&format!("data/{name}.rds")], files[&aside]);
        assert!(!files.contains_key(&format!("data/{name}.rds")));
    }
    let list =
        String::from_utf8(files["scratch/tare-quarantine/dangling-keys.jsonl"].clone()).unwrap();
    assert!(list.contains("\"badkey\""), "{list}");
    let report = store.check(CheckLevel::Full, &mut |_| true).unwrap();
    let kinds: Vec<_> = report.findings.iter().map(|one| one.kind.name()).collect();
    assert_eq!(
        3,
        kinds.iter().filter(|kind| **kind == "dangling-key").count()
    );
    assert_eq!(4, kinds.len());
    store.repair(&report, true, true).unwrap();
    assert!(problems(&store).is_empty());
    assert!(storr::listing(store.driver()).is_empty());
    let files = storr::files(&path);
    assert!(files.contains_key("scratch/tare-quarantine/badkey"));
    store.driver().destroy().unwrap();
    assert!(!path.exists());
}

#[test]
fn destroy_leaves_what_is_not_of_the_store() {
    let folder = Folder::new();
    let path = folder.join("s");
    let store = store(&path);
    put(&store, "k", &doubles([1.0])).unwrap();
    for name in ["data/notes.txt", "keys/objects/notes", "mine"] {
        std::fs::write(path.join(name), "mine").unwrap();
    }
    store.driver().destroy().unwrap();
    let left: Vec<String> = storr::files(&path).into_keys().collect();
    assert_eq!(
        ["data/notes.txt", "keys/objects/notes", "mine"].map(String::from),
        left[..]
    );
}

/// Kills writers at random instants: what they acknowledged is there, and nothing is broken.
#[test]
fn killed_writers_lose_nothing_that_they_acknowledged() {
    if let Some(path) = is_child() {
        let store = store(&path);
        for number in 0.. {
            let plain = noise(number % 50, if number % 3 == 0 { 9000 } else { 3 });
            let key = format!("{}-{}", std::process::id(), number % 200);
            put(&store, &key, &plain).unwrap();
            println!("{key} {}", number % 50 * 2 + u64::from(number % 3 == 0));
        }
        return;
    }
    let folder = Folder::new();
    let path = folder.join("s");
    drop(made(&path));
    let mut acknowledged = 0;
    let rounds = soak::scaled(10, 250);
    // More on a busy machine, where many kills meet a process that has only begun.
    for round in 0_u64.. {
        if round >= rounds && acknowledged > 10 * rounds {
            soak::count("kills", 2 * round as usize);
            break;
        }
        assert!(round < 25 * rounds, "{acknowledged} keys in {round} rounds");
        let mut children: Vec<_> = (0..2)
            .map(|_| {
                child(
                    "storr_changes::killed_writers_lose_nothing_that_they_acknowledged",
                    &path,
                )
                .spawn()
                .unwrap()
            })
            .collect();
        std::thread::sleep(Duration::from_millis(30 + round * 7 % 60));
        let mut said = Vec::new();
        for child in &mut children {
            child.kill().unwrap();
        }
        for child in children {
            said.push(
                String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned(),
            );
        }
        let store = store(&path);
        for text in said {
            let mut lines: Vec<&str> = text.lines().filter(|line| line.contains('-')).collect();
            // The last line may be cut, and the last key may be set without having said so.
            if !text.ends_with('\n') {
                lines.pop();
            }
            let mut last = std::collections::BTreeMap::new();
            for line in lines {
                let Some((key, value)) = line.split_once(' ') else {
                    continue;
                };
                last.insert(key.to_string(), value.parse::<u64>().unwrap());
                acknowledged += 1;
            }
            for key in last.keys() {
                store.get(Key::from(&**key)).unwrap().bytes().unwrap();
            }
        }
        if round % 8 == 0 {
            store.gc(&now()).unwrap();
        }
    }
    let store = store(&path);
    assert!(problems(&store).is_empty());
    assert!(litter(&path).is_empty(), "{:?}", litter(&path));
}

#[test]
fn a_change_names_what_is_there_or_nothing_is_changed() {
    let folder = Folder::new();
    let path = folder.join("s");
    let driver = made(&path);
    let there = storr::set(&driver, Key::from("k"), &doubles([1.0]), Durability::Batch).unwrap();
    let missing = storr::hash_of(&driver, &doubles([2.0]));
    let change = |key: &'static str, hash, expect| Change {
        key: Key::from(key),
        to: Some(NewKey { hash, codec: "rds" }),
        expect,
    };
    let apply = |changes: Vec<Change<'_>>| {
        let batch = Batch {
            changes,
            ..Batch::default()
        };
        driver.apply(batch).map_err(|error| error.kind())
    };
    let before = storr::files(&path);
    let both = vec![
        change("a", there, Expect::Any),
        change("b", missing, Expect::Any),
    ];
    assert_eq!(Err(ErrorKind::ObjectNotFound), apply(both));
    let both = vec![
        change("a", there, Expect::Any),
        change("k", there, Expect::Absent),
    ];
    assert_eq!(Err(ErrorKind::Conflict), apply(both));
    // In order: the second sees what the first did.
    let both = vec![
        change("a", there, Expect::Absent),
        change("a", there, Expect::Absent),
    ];
    assert_eq!(Err(ErrorKind::Conflict), apply(both));
    assert_eq!(before, storr::files(&path));
    let both = vec![
        change("a", there, Expect::Absent),
        change("a", there, Expect::Is(there)),
    ];
    assert_eq!(vec![None, Some(there)], apply(both).unwrap().before);
}
