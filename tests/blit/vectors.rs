//! The golden files of `vectors/blit`: what was written once is read for ever, and what is wrong
//! is refused by its rule, at its byte.
//!
//! `index.json` says of each file what it holds. A short file is spelled out there part by part;
//! one that is not there is made of its parts.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tare::blit::collection::{Collection, ReadOptions};
use tare::blit::{
    from_json, Checksum, Duplicates, JsonOptions, KeyOrder, NonFinite, Numbers, Options,
    Surrogates, Value, View, Writer,
};
use xxhash_rust::xxh3::xxh3_64;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/blit")
}

fn index() -> Json {
    serde_json::from_slice(&std::fs::read(folder().join("index.json")).unwrap()).unwrap()
}

/// The bytes of a case, which are those of its parts where it has some.
fn document(case: &Json) -> Vec<u8> {
    let path = folder().join(case["file"].as_str().unwrap());
    let parts: Option<Vec<u8>> = case["parts"].as_array().map(|parts| {
        let hex = parts
            .iter()
            .flat_map(|part| part[0].as_str().unwrap().split(' '));
        hex.map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect()
    });
    if let (Some(parts), false) = (&parts, path.exists()) {
        std::fs::write(&path, parts).unwrap();
    }
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(case["size"], bytes.len(), "{}", path.display());
    if let Some(parts) = parts {
        assert_eq!(parts, bytes, "{}: its parts", path.display());
    }
    bytes
}

/// What the writer is asked for.
fn options(case: &Json) -> Options {
    let mut options = Options::default();
    for (name, value) in case.as_object().unwrap() {
        match (name.as_str(), value) {
            ("surrogates", _) => options.surrogates = Surrogates::Keep,
            ("duplicates", _) => options.duplicates = Duplicates::Keep,
            ("numbers", _) => options.numbers = Numbers::Text,
            ("canonical", _) => options.canonical = true,
            ("aligned", _) => options.aligned = true,
            ("checksum", Json::Bool(true)) => options.checksum = Checksum::On,
            ("checksum", _) => options.checksum = Checksum::Off,
            _ => panic!("no option {name}"),
        }
    }
    options
}

fn json_options(case: &Json) -> JsonOptions {
    JsonOptions {
        nan: if case["nan"] == "literal" {
            NonFinite::Literal
        } else {
            NonFinite::Error
        },
        bytes_as_base64: case["bytes"] == "base64",
        ..JsonOptions::default()
    }
}

/// Reads every value of a document by itself.
fn walk(value: &Value<'_>) {
    match value {
        Value::Array(array) => {
            for i in 0..array.len() {
                walk(&array.get(i).unwrap());
            }
        }
        Value::Object(object) => {
            for entry in object.iter() {
                let (name, value) = entry.unwrap();
                if !name.contains('\u{FFFD}') {
                    assert!(object.get(&name).unwrap().is_some(), "{name:?}");
                }
                walk(&value);
            }
        }
        _ => {}
    }
}

#[test]
fn every_document_is_read_and_written_again() {
    let index = index();
    let mut wrong = Vec::new();
    for case in index["documents"].as_array().unwrap() {
        let file = case["file"].as_str().unwrap();
        let bytes = document(case);
        let text = case["json"].as_str().unwrap().as_bytes();
        let view = View::open(&bytes).unwrap_or_else(|error| panic!("{file}: {error}"));
        if let Err(error) = view.validate() {
            wrong.push(format!("{file}: {error}"));
            continue;
        }
        match view.to_json(&json_options(case)) {
            Ok(found) if found == text => {}
            Ok(found) => wrong.push(format!("{file}: {}", String::from_utf8_lossy(&found))),
            Err(error) => wrong.push(format!("{file}: {error}")),
        }
        let sorted = JsonOptions {
            order: KeyOrder::Lexical,
            ..json_options(case)
        };
        assert_eq!(text.len(), view.to_json(&sorted).unwrap().len(), "{file}");
        walk(&view.root().unwrap());
        let Some(asked) = case.get("writer") else {
            continue;
        };
        let written = from_json(text, &options(asked)).unwrap();
        if written != bytes {
            wrong.push(format!(
                "{file}: written as {written:02X?}, not {bytes:02X?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_broken_rule_is_told_by_its_kind_its_number_and_its_byte() {
    let index = index();
    let mut wrong = Vec::new();
    for case in index["errors"].as_array().unwrap() {
        let file = case["file"].as_str().unwrap();
        let bytes = document(case);
        let (stage, error) = match View::open(&bytes) {
            Err(error) => ("open", error),
            Ok(view) => match view.validate() {
                Err(error) => ("validate", error),
                Ok(_) => {
                    wrong.push(format!("{file}: valid"));
                    continue;
                }
            },
        };
        let rule = format!("(rule {})", case["rule"].as_str().unwrap());
        let text = error.to_string();
        let right = case["found_by"] == stage
            && case["kind"] == format!("{:?}", error.kind())
            && case["offset"].as_u64() == error.offset()
            && text.contains(&rule)
            && text.matches("(rule ").count() == 1;
        if !right {
            let (kind, offset) = (error.kind(), error.offset().unwrap_or(u64::MAX));
            wrong.push(format!("{file}: {stage} {kind:?} {offset} {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_collection_is_read() {
    let index = index();
    for case in index["collections"].as_array().unwrap() {
        let file = case["file"].as_str().unwrap();
        for mmap in [true, false] {
            let options = ReadOptions {
                mmap,
                ..ReadOptions::default()
            };
            let collection = Collection::open(folder().join(file), &options)
                .unwrap_or_else(|error| panic!("{file}: {error}"));
            collection
                .validate()
                .unwrap_or_else(|error| panic!("{file}: {error}"));
            assert_eq!(case["commits"], collection.commits(), "{file}");
            let documents = case["documents"].as_array().unwrap();
            assert_eq!(documents.len() as u64, collection.len(), "{file}");
            for (i, expected) in documents.iter().enumerate() {
                let document = collection.get(i as u64).unwrap();
                let text = document.view().to_json(&JsonOptions::default()).unwrap();
                assert_eq!(expected.as_str().unwrap().as_bytes(), text, "{file} {i}");
            }
        }
    }
}

#[test]
fn every_broken_rule_of_collections_is_told() {
    let index = index();
    let mut wrong = Vec::new();
    for case in index["collection_errors"].as_array().unwrap() {
        let file = case["file"].as_str().unwrap();
        for mmap in [true, false] {
            let options = ReadOptions {
                mmap,
                ..ReadOptions::default()
            };
            let (stage, error) = match Collection::open(folder().join(file), &options) {
                Err(error) => ("open", error),
                Ok(collection) => match collection.validate() {
                    Err(error) => ("validate", error),
                    Ok(_) => {
                        wrong.push(format!("{file}: valid"));
                        continue;
                    }
                },
            };
            let rule = format!("(rule {})", case["rule"].as_str().unwrap());
            let text = error.to_string();
            let right = case["found_by"] == stage
                && case["kind"] == format!("{:?}", error.kind())
                && case["offset"].as_u64() == error.offset()
                && text.contains(&rule);
            if !right {
                let (kind, offset) = (error.kind(), error.offset().unwrap_or(u64::MAX));
                wrong.push(format!("{file}: {stage} {kind:?} {offset} {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_file_that_breaks_it() {
    let index = index();
    let errors = index["errors"].as_array().unwrap();
    for rule in 1..=30 {
        let rule = format!("V{rule}");
        assert!(errors.iter().any(|case| case["rule"] == *rule), "{rule}");
    }
    let errors = index["collection_errors"].as_array().unwrap();
    for rule in 1..=6 {
        let rule = format!("C{rule}");
        assert!(errors.iter().any(|case| case["rule"] == *rule), "{rule}");
    }
}

#[test]
fn halves_of_pairs_have_the_weakest_tag_as_names_and_as_values() {
    let keep = Options {
        surrogates: Surrogates::Keep,
        ..Options::default()
    };
    let text = br#"{"a\ude00":"\ud800"}"#;
    let document = from_json(text, &keep).unwrap();
    let mut writer = Writer::new(keep).unwrap();
    writer.begin_object().unwrap();
    writer.key_wtf8(b"a\xED\xB8\x80").unwrap();
    writer.wtf8(b"\xED\xA0\x80").unwrap();
    writer.end().unwrap();
    assert_eq!(document, writer.finish().unwrap());
    let view = View::open(&document).unwrap();
    view.validate().unwrap();
    assert_eq!(text[..], view.to_json(&JsonOptions::default()).unwrap());
}

/// Documents too long to keep as files: how each is made, and what its bytes hash to.
#[test]
fn long_documents_have_the_bytes_they_had() {
    let plain = Options {
        checksum: Checksum::Off,
        ..Options::default()
    };
    let names = |n: usize| {
        let all: Vec<String> = (0..n)
            .map(|i| format!("\"{:04x}\":{}", i * 7919 % n, i % 9))
            .collect();
        format!("{{{}}}", all.join(","))
    };
    // Not numbers alone, so that it is cut into segments.
    let long = |n: usize| {
        let all: Vec<String> = (0..n)
            .map(|i| {
                if i % 1000 == 999 {
                    "null".into()
                } else {
                    (i % 7).to_string()
                }
            })
            .collect();
        format!("[{}]", all.join(","))
    };
    let cases = [
        ("names-4096", names(4096), 24_603, 0x7475_4493_DBBB_8B8E_u64),
        ("names-4097", names(4097), 28_706, 0x6B8D_B09C_B006_FA41),
        (
            "segmented-65537",
            long(65_537),
            73_950,
            0x1466_4B6D_19FD_416F,
        ),
        (
            "segmented-65536",
            long(65_536),
            73_941,
            0xD0C7_DBB2_FE9C_8D3F,
        ),
    ];
    let mut wrong = Vec::new();
    for (name, text, size, hash) in cases {
        let document = from_json(text.as_bytes(), &plain).unwrap();
        let view = View::open(&document).unwrap();
        view.validate().unwrap();
        assert_eq!(
            text.as_bytes(),
            view.to_json(&JsonOptions::default()).unwrap(),
            "{name}"
        );
        walk(&view.root().unwrap());
        let found = (document.len(), xxh3_64(&document));
        if found != (size, hash) {
            wrong.push(format!("{name}: {found:#X?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
