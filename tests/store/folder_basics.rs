//! The folder driver: what is set is there, for other openings too.

#![cfg(unix)]

use crate::common;

use common::folder::Folder;
use tare::compress::Kind;
use tare::store::drivers::folder::{open, FolderDriver, FolderOptions};
use tare::store::{
    Batch, Body, Change, Driver, Durability, Expect, Fetched, Hash, Key, NewBody, NewKey,
    NewObject, ObjectHint, ObjectMeta,
};

fn hash(bytes: &[u8]) -> Hash {
    Hash::new(blake3::hash(bytes).as_bytes()).unwrap()
}

fn meta(bytes: &[u8]) -> ObjectMeta {
    ObjectMeta {
        plain_len: Some(bytes.len() as u64),
        stored_len: bytes.len() as u64,
        compressor: Kind::None,
        codec: "raw".into(),
    }
}

fn object(bytes: &[u8]) -> NewObject<'_> {
    NewObject {
        hash: hash(bytes),
        meta: meta(bytes),
        body: NewBody::Bytes(bytes.into()),
        replace: false,
        canonical: None,
    }
}

fn change<'a>(key: &'a str, bytes: &[u8]) -> Change<'a> {
    Change {
        key: Key::from(key),
        to: Some(NewKey {
            hash: hash(bytes),
            codec: "raw",
        }),
        expect: Expect::Any,
    }
}

fn set(store: &FolderDriver, key: &str, bytes: &[u8]) {
    let batch = Batch {
        objects: vec![object(bytes)],
        changes: vec![change(key, bytes)],
        durability: Durability::Batch,
    };
    store.apply(batch).unwrap();
}

fn bytes_of(fetched: Fetched) -> Option<Vec<u8>> {
    use std::io::Read;
    match fetched {
        Fetched::NoKey => None,
        Fetched::NoObject(record) => panic!("no object for {record:?}"),
        Fetched::Found(_, stored) => Some(match stored.body {
            Body::Bytes(bytes) => bytes,
            Body::File(mut file) => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).unwrap();
                bytes
            }
            Body::Reader(_) => panic!("a folder has files"),
        }),
    }
}

fn get(store: &FolderDriver, key: &str) -> Option<Vec<u8>> {
    let mut fetched = store.fetch(&[Key::from(key)]).unwrap();
    bytes_of(fetched.remove(0))
}

#[test]
fn what_is_set_is_there_for_all_openings_and_sizes() {
    let folder = Folder::new();
    let path = folder.join("store");
    let store = open(&path, &FolderOptions::default()).unwrap();
    let sizes = [0, 1, 511, 512, 513, 4000, 65_535, 65_536, 65_537, 1 << 20];
    for size in sizes {
        let bytes: Vec<u8> = (0..size)
            .map(|at: usize| u8::try_from(at % 251).unwrap())
            .collect();
        set(&store, &format!("k{size}"), &bytes);
        assert_eq!(Some(bytes), get(&store, &format!("k{size}")));
    }
    let keys: Vec<String> = sizes.iter().map(|size| format!("k{size}")).collect();
    let mut many: Vec<Key<'_>> = keys.iter().map(|key| Key::from(key.as_str())).collect();
    many.extend([
        Key::from("k0"),
        Key::from("nope"),
        Key::new("other", "k0"),
        Key::from("a"),
    ]);
    many.extend([Key::from("k1"), Key::from("zz")]);
    let second = open(&path, &FolderOptions::default()).unwrap();
    let one_by_one = many
        .iter()
        .map(|key| second.fetch(&[*key]).unwrap().remove(0));
    let one_by_one: Vec<_> = one_by_one.map(bytes_of).collect();
    let at_once: Vec<_> = second
        .fetch(&many)
        .unwrap()
        .into_iter()
        .map(bytes_of)
        .collect();
    assert_eq!(one_by_one, at_once);
    drop(store);
    drop(second);
    assert!(!path.join("index.sqlite-wal").exists());
    let store = open(
        &path,
        &FolderOptions {
            read_only: true,
            ..Default::default()
        },
    )
    .unwrap();
    assert_eq!(Some(vec![0]), get(&store, "k1"));
    assert_eq!(
        10,
        store.list_keys("objects", "k", None, 100).unwrap().len()
    );
    assert!(!path.join("index.sqlite-wal").exists());
    assert!(!path.join("index.sqlite-shm").exists());
}

#[test]
fn an_object_through_a_sink_lies_in_a_file_of_its_name() {
    use std::io::Write;
    let folder = Folder::new();
    let store = open(folder.join("store"), &FolderOptions::default()).unwrap();
    let bytes = vec![7_u8; 300_000];
    let mut sink = store.begin_object(&ObjectHint::default()).unwrap();
    for part in bytes.chunks(70_001) {
        sink.write_all(part).unwrap();
    }
    let staged = sink.finish().unwrap();
    let batch = Batch {
        objects: vec![NewObject {
            body: NewBody::Staged(staged),
            ..object(&bytes)
        }],
        changes: vec![change("k", &bytes)],
        durability: Durability::Each,
    };
    assert_eq!(vec![true], store.apply(batch).unwrap().created);
    assert_eq!(Some(&bytes), get(&store, "k").as_ref());
    let file = store.local_file(&hash(&bytes)).unwrap().unwrap();
    assert_eq!(bytes, std::fs::read(&file).unwrap());
    assert_eq!(
        Some("raw"),
        file.extension().and_then(|ending| ending.to_str())
    );
    assert_eq!(
        0,
        std::fs::read_dir(folder.join("store/staging"))
            .unwrap()
            .count()
    );
}

#[test]
fn fault_11_small_objects_are_small() {
    let folder = Folder::new();
    let path = folder.join("store");
    let store = open(&path, &FolderOptions::default()).unwrap();
    let keys: Vec<String> = (0..3000).map(|number| format!("key{number:05}")).collect();
    for key in &keys {
        set(&store, key, key.as_bytes());
    }
    let asked: Vec<Key<'_>> = keys.iter().map(|key| Key::from(key.as_str())).collect();
    let found = store.fetch(&asked).unwrap().into_iter().map(bytes_of);
    assert!(found
        .zip(&keys)
        .all(|(found, key)| found.unwrap() == key.as_bytes()));
    drop(store);
    let files = std::fs::read_dir(&path).unwrap().map(Result::unwrap);
    let sizes: Vec<u64> = files.map(|file| file.metadata().unwrap().len()).collect();
    let bytes: u64 = sizes.iter().sum();
    assert!(sizes.len() <= 10 && bytes <= 1_500_000, "{sizes:?}");
}
