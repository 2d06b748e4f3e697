//! Real documents: what is read is what was written, and they are as small as they should be.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tare::blit::{from_json, JsonOptions, KeyOrder, Options, Value, View};
use tare::compress::{ReadOptions, Reader};

use crate::common;

#[allow(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]
fn ratio(size: usize, of: usize) -> f64 {
    size as f64 / of as f64
}

/// What was read, as `serde_json` has it; numbers by their bits.
fn check(json: &Json, value: Value<'_>, path: &str) {
    match (json, value) {
        (Json::Null, Value::Null) | (Json::Number(_), Value::NumText(_)) => {}
        (Json::Bool(a), Value::Bool(b)) => assert_eq!(*a, b, "{path}"),
        (Json::Number(a), Value::Int(b)) => assert_eq!(Some(b), a.as_i64(), "{path}"),
        (Json::Number(a), Value::Uint(b)) => assert_eq!(Some(b), a.as_u64(), "{path}"),
        (Json::Number(a), Value::Float(b)) => {
            assert!(a.is_f64(), "{path}: {a} as a float");
            assert_eq!(
                a.as_f64().unwrap().to_bits(),
                b.to_bits(),
                "{path}: {a} {b}"
            );
        }
        (Json::String(a), Value::Str(b)) => assert_eq!(*a, *b, "{path}"),
        (Json::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{path}");
            for (i, json) in a.iter().enumerate() {
                check(json, b.get(i).unwrap(), &format!("{path}/{i}"));
            }
        }
        (Json::Object(a), Value::Object(b)) => {
            let all: Vec<_> = b.iter().map(|entry| entry.unwrap()).collect();
            assert_eq!(a.len(), all.len(), "{path}");
            for (name, value) in all {
                check(&a[&*name], value, &format!("{path}/{name}"));
            }
            for (name, json) in a {
                let found = b
                    .get(name)
                    .unwrap()
                    .unwrap_or_else(|| panic!("{path}/{name}"));
                if !json.is_array() && !json.is_object() {
                    check(json, found, name);
                }
            }
        }
        (json, value) => panic!("{path}: {json} as {value:?}"),
    }
}

/// The same value with names in the order of their bytes.
fn sorted(json: &Json) -> Json {
    match json {
        Json::Array(items) => items.iter().map(sorted).collect(),
        Json::Object(entries) => {
            let mut all: Vec<_> = entries.iter().collect();
            all.sort_by(|a, b| a.0.cmp(b.0));
            Json::Object(
                all.into_iter()
                    .map(|(name, value)| (name.clone(), sorted(value)))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

fn plain(path: &Path) -> Vec<u8> {
    let mut plain = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    Reader::new(file, ReadOptions::default())
        .unwrap()
        .read_to_end(&mut plain)
        .unwrap();
    plain
}

fn documents() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for folder in ["data/json", "data/docs"] {
        let Some(folder) = common::shared(folder) else {
            continue;
        };
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            if name.contains(".json") && path.is_file() {
                found.push((name.split('.').next().unwrap().to_string(), path));
            }
        }
    }
    found.sort();
    found
}

/// Gates of the design: percent of the minified text.
const GATES: &[(&str, f64)] = &[
    ("twitter", 24.0),
    ("citm_catalog", 14.5),
    ("canada", 43.0),
    ("attributes", 93.0),
    ("gsoc-2018", 38.0),
    ("openapi-api", 65.0),
    ("github_events", 80.0),
    ("senators", 65.0),
    ("movies", 15.0),
    ("flights-20k", 26.0),
    ("emoji", 24.0),
    ("penguins", 9.0),
    ("instruments", 7.0),
    ("world-110m", 57.0),
    ("numbers", 54.0),
    ("typescript-messages-de", 99.0),
];

#[test]
fn real_documents_come_back_and_are_small() {
    let mut wrong = Vec::new();
    for (name, path) in documents() {
        let text = plain(&path);
        let Ok(json) = serde_json::from_slice::<Json>(&text) else {
            eprintln!("{name} is no JSON document");
            continue;
        };
        let minified = serde_json::to_vec(&json).unwrap().len();
        let options = Options::default();
        let document = from_json(&text, &options).unwrap();
        let view = View::open(&document).unwrap();
        view.validate()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        check(&json, view.root().unwrap(), "");
        let back = view.to_json(&JsonOptions::default()).unwrap();
        assert!(serde_json::to_vec(&json).unwrap() == back, "{name} as text");
        let lexical = JsonOptions {
            order: KeyOrder::Lexical,
            ..JsonOptions::default()
        };
        let sorted = sorted(&json);
        assert!(
            serde_json::to_vec(&sorted).unwrap() == view.to_json(&lexical).unwrap(),
            "{name} sorted"
        );
        let percent = 100.0 * ratio(document.len(), minified);
        let gate = GATES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|gate| gate.1);
        eprintln!(
            "{name:28} {minified:>9} {:>9} {percent:6.1} % {gate:?}",
            document.len()
        );
        if gate.is_some_and(|gate| percent > gate) {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "too large: {wrong:?}");
}
