//! qdata files of the R package qs2 have the values that R has of them, and what is written is
//! read back the same.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at once"
)]

use std::fs;
use std::io::Cursor;

use serde_json::Value;
use tare::robject::{qdata, RObject, ReadOptions, WriteOptions};

mod common;
#[path = "common/r_expected.rs"]
mod r_expected;

use common::{shared, Drip};
use r_expected::compare;

/// The entries of the manifest of a group: name, bytes and expected tree.
fn fixtures(group: &str) -> Vec<(String, Vec<u8>, Value)> {
    let Some(folder) = shared("fixtures") else {
        return Vec::new();
    };
    let read = |path: &str| fs::read(folder.join(path)).unwrap();
    let manifest: Value = serde_json::from_slice(&read("manifest.json")).unwrap();
    let entries = manifest["files"].as_array().unwrap().iter();
    let entries = entries.filter(|entry| entry["group"] == group);
    let found: Vec<_> = entries
        .map(|entry| {
            let name = entry["file"].as_str().unwrap();
            let expected = read(entry["expected"].as_str().unwrap());
            let expected = serde_json::from_slice(&expected).unwrap();
            (name.to_string(), read(name), expected)
        })
        .collect();
    assert!(!found.is_empty(), "no {group} in the manifest");
    found
}

fn parse(name: &str, file: &[u8]) -> RObject {
    qdata::parse(file, &ReadOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_fixture_has_the_expected_values() {
    for (name, file, expected) in fixtures("qdata") {
        compare(&parse(&name, &file), &expected).assert_same(&name);
    }
}

#[test]
fn a_stream_gives_what_the_slice_gives() {
    for (name, file, expected) in fixtures("qdata") {
        for piece in [7, 1 << 20] {
            let object = qdata::read(Drip::new(&file, piece), &ReadOptions::default());
            compare(&object.unwrap(), &expected).assert_same(&name);
        }
    }
}

#[test]
fn what_is_written_again_has_the_same_values() {
    for (name, file, expected) in fixtures("qdata") {
        let object = parse(&name, &file);
        let mut files = Vec::new();
        for threads in [1, 3] {
            let options = WriteOptions {
                threads: Some(threads),
                ..WriteOptions::default()
            };
            files.push(qdata::serialize(&object, &options).unwrap());
            let mut sink = Cursor::new(Vec::new());
            qdata::serialize_to(&object, &options, &mut sink).unwrap();
            files.push(sink.into_inner());
        }
        compare(&parse(&name, &files[0]), &expected).assert_same(&name);
        assert!(files.iter().all(|file| *file == files[0]), "{name}");
    }
}
