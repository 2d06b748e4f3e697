//! Names of objects that were dropped for a duplicate: they have ids once an object that is kept
//! has them.

use crate::common;

use common::folder::Folder;
use tare::blit::collection::{Collection, ReadOptions, WriteOptions};
use tare::blit::{from_json, JsonOptions, Options, View};

/// A value behind a name that comes twice, then the same names in what is kept.
const FIRST: &str = r#"{"a":{"x":1,"y":2},"a":3}"#;
const LATER: &str = r#"{"b":{"x":1,"y":2}}"#;

#[test]
fn in_a_later_chunk() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let options = WriteOptions {
        chunk_size: 1,
        ..WriteOptions::default()
    };
    let mut writer = Collection::create(&path, &options).unwrap();
    for text in [FIRST, "{}", LATER, LATER] {
        writer.push_json(text.as_bytes()).unwrap();
    }
    writer.commit().unwrap();
    let collection = Collection::open(&path, &ReadOptions::default()).unwrap();
    collection.validate().unwrap();
    let document = collection.get(2).unwrap();
    assert_eq!(
        LATER.as_bytes(),
        document.view().to_json(&JsonOptions::default()).unwrap()
    );
}

#[test]
fn in_a_later_segment() {
    let numbers = ",0".repeat(65_535);
    let text = format!("[{FIRST}{numbers},1{numbers},{LATER}]");
    let document = from_json(text.as_bytes(), &Options::default()).unwrap();
    let view = View::open(&document).unwrap();
    view.validate().unwrap();
    let wanted = text.replace(FIRST, r#"{"a":3}"#);
    assert!(wanted.as_bytes() == view.to_json(&JsonOptions::default()).unwrap());
}
