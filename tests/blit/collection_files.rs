//! Files of collections: what has the name while another one is written, and what is left.

use std::path::Path;

use tare::blit::collection::{compact, repair, Collection, ReadOptions, WriteOptions};
use tare::blit::{JsonOptions, Options};
use tare::compress::Compressor;
use tare::ErrorKind;

use crate::common;

use common::folder::Folder;

fn write(path: &Path, options: &WriteOptions, documents: &[String]) {
    let mut writer = Collection::create(path, options).unwrap();
    for document in documents {
        writer.push_json(document.as_bytes()).unwrap();
    }
    writer.commit().unwrap();
}

fn check(path: &Path, documents: &[&str]) {
    let collection = Collection::open(path, &ReadOptions::default()).unwrap();
    collection.validate().unwrap();
    let docs = collection.docs().unwrap();
    let texts = docs.iter().map(|document| {
        let text = document.unwrap().view().to_json(&JsonOptions::default());
        String::from_utf8(text.unwrap()).unwrap()
    });
    assert_eq!(documents, texts.collect::<Vec<_>>());
}

/// The names in a folder, in order.
fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn a_new_collection_takes_the_place_of_an_old_one_when_it_is_committed() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let options = WriteOptions {
        chunk_size: 1,
        ..WriteOptions::default()
    };
    let texts = ["[1]", "[2]", "[3]"].map(String::from);
    write(&path, &options, &texts);
    let old = std::fs::read(&path).unwrap();

    // Chunks are written, nothing is committed: the old one is as it was, and no one appends to it.
    let mut writer = Collection::create(&path, &options).unwrap();
    for text in ["[4]", "[5]"] {
        writer.push_json(text.as_bytes()).unwrap();
    }
    for other in [Collection::create, Collection::append] {
        let error = other(&path, &options).err().unwrap();
        assert_eq!(ErrorKind::Usage, error.kind());
    }
    assert_eq!(ErrorKind::Usage, repair(&path).unwrap_err().kind());
    assert_eq!(old, std::fs::read(&path).unwrap());
    drop(writer);
    assert_eq!(old, std::fs::read(&path).unwrap());
    assert_eq!(["a.blits"], names(&folder)[..]);

    // The first commit gives it the name, later ones add to it, the rest is cut off.
    let mut writer = Collection::create(&path, &options).unwrap();
    writer.push_json(b"[4]").unwrap();
    writer.rollback().unwrap();
    writer.push_json(b"[5]").unwrap();
    writer.commit().unwrap();
    check(&path, &["[5]"]);
    assert!(Collection::append(&path, &options).is_err());
    writer.push_json(b"[6]").unwrap();
    writer.commit().unwrap();
    writer.push_json(b"[7]").unwrap();
    drop(writer);
    check(&path, &["[5]", "[6]"]);
    assert_eq!(["a.blits"], names(&folder)[..]);

    // A process that was killed may have left a file of the name that is taken first.
    let left = folder.join(&format!(".a.blits.{}.0.tmp", std::process::id()));
    std::fs::write(&left, b"left").unwrap();
    write(&path, &options, &texts);
    assert_eq!(old, std::fs::read(&path).unwrap());
    assert_eq!(b"left"[..], std::fs::read(&left).unwrap());
}

#[test]
fn a_collection_that_was_never_committed_leaves_no_file() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let options = WriteOptions::default();
    for start in [
        Collection::create,
        Collection::create_new,
        Collection::append,
    ] {
        let mut writer = start(&path, &options).unwrap();
        writer.push_json(b"[1]").unwrap();
        drop(writer);
        assert!(names(&folder).is_empty());
        // One that was committed empty is there.
        start(&path, &options).unwrap().commit().unwrap();
        check(&path, &[]);
        // An old one stays, also one without documents.
        drop(Collection::append(&path, &options).unwrap());
        check(&path, &[]);
        std::fs::remove_file(&path).unwrap();
    }
    // What came under its name is not its own.
    let writer = Collection::create(&path, &options).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, b"another").unwrap();
    drop(writer);
    assert_eq!(b"another"[..], std::fs::read(&path).unwrap());
}

#[test]
fn options_that_cannot_be_are_refused_before_anything_is_touched() {
    let folder = Folder::new();
    let (path, new) = (folder.join("a.blits"), folder.join("b.blits"));
    write(&path, &WriteOptions::default(), &["[1]".to_string()]);
    let old = std::fs::read(&path).unwrap();
    let sized = |chunk_size| WriteOptions {
        chunk_size,
        ..WriteOptions::default()
    };
    let gzip = WriteOptions {
        compressor: Some(Compressor::parse("gzip").unwrap()),
        ..WriteOptions::default()
    };
    let canonical = WriteOptions {
        document: Options {
            canonical: true,
            aligned: true,
            ..Options::default()
        },
        ..WriteOptions::default()
    };
    for options in [sized(0), sized(usize::MAX), gzip, canonical] {
        let all = [
            Collection::create(&path, &options),
            Collection::append(&path, &options),
            Collection::create(&new, &options),
            Collection::create_new(&new, &options),
            Collection::append(&new, &options),
        ];
        for made in all {
            assert_eq!(ErrorKind::Usage, made.err().unwrap().kind());
        }
        let error = compact(&path, &options, |_, _| true).unwrap_err();
        assert_eq!(ErrorKind::Usage, error.kind());
        assert_eq!(old, std::fs::read(&path).unwrap());
        assert_eq!(["a.blits"], names(&folder)[..]);
    }
}
