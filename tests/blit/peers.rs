//! JSON text as others read it: our parser beside `serde_json` and jiter, number by number.

use std::io::Read;
use std::path::{Path, PathBuf};

use jiter::JsonValue;
use serde_json::Value as Json;
use tare::blit::{from_json, JsonOptions, Options, Value, View};
use tare::compress::{ReadOptions, Reader};

use crate::common;

/// Bytes of each file of many documents that are looked at.
const ENOUGH: usize = 4 << 20;

fn plain(path: &Path) -> Vec<u8> {
    let mut plain = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    Reader::new(file, ReadOptions::default())
        .unwrap()
        .read_to_end(&mut plain)
        .unwrap();
    plain
}

fn files(folder: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), Vec::from_iter(common::shared(folder)));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// How many numbers were compared, and how many are kept as text.
#[derive(Default)]
struct Seen {
    numbers: usize,
    texts: usize,
}

impl Seen {
    fn serde(&mut self, ours: &Value<'_>, json: &Json, at: &str) {
        match (ours, json) {
            (Value::Null, Json::Null) => {}
            (Value::Bool(a), Json::Bool(b)) => assert_eq!(a, b, "{at}"),
            (Value::Str(a), Json::String(b)) => assert_eq!(a.as_ref(), b, "{at}"),
            (Value::Int(a), Json::Number(b)) => {
                self.numbers += 1;
                assert_eq!(Some(*a), b.as_i64(), "{at}");
            }
            (Value::Uint(a), Json::Number(b)) => assert_eq!(Some(*a), b.as_u64(), "{at}"),
            (Value::Float(a), Json::Number(b)) => {
                self.numbers += 1;
                assert!(b.is_f64(), "{at}: {b}");
                assert_eq!(a.to_bits(), b.as_f64().unwrap().to_bits(), "{at}: {b}");
            }
            (Value::NumText(text), Json::Number(b)) => {
                self.texts += 1;
                let value: f64 = text.parse().unwrap();
                assert_eq!(
                    value.to_bits(),
                    b.as_f64().unwrap().to_bits(),
                    "{at}: {text}"
                );
            }
            (Value::Array(a), Json::Array(b)) => {
                assert_eq!(a.len(), b.len(), "{at}");
                for (i, (a, b)) in a.iter().zip(b).enumerate() {
                    self.serde(&a.unwrap(), b, &format!("{at}/{i}"));
                }
            }
            (Value::Object(a), Json::Object(b)) => {
                assert_eq!(a.count().unwrap(), b.len(), "{at}");
                for (entry, (name, b)) in a.iter().zip(b) {
                    let (ours, a) = entry.unwrap();
                    assert_eq!(ours.as_ref(), name, "{at}");
                    self.serde(&a, b, &format!("{at}/{name}"));
                }
            }
            (a, b) => panic!("{at}: {a:?} and {b}"),
        }
    }

    fn jiter(ours: &Value<'_>, json: &JsonValue<'_>, at: &str) {
        match (ours, json) {
            // It has no exact form for the latter two.
            (Value::Null, JsonValue::Null) | (Value::NumText(_) | Value::Uint(_), _) => {}
            (Value::Bool(a), JsonValue::Bool(b)) => assert_eq!(a, b, "{at}"),
            (Value::Str(a), JsonValue::Str(b)) => assert_eq!(a, b, "{at}"),
            (Value::Int(a), JsonValue::Int(b)) => assert_eq!(a, b, "{at}"),
            (Value::Float(a), JsonValue::Float(b)) => assert_eq!(a.to_bits(), b.to_bits(), "{at}"),
            (Value::Array(a), JsonValue::Array(b)) => {
                assert_eq!(a.len(), b.len(), "{at}");
                for (i, (a, b)) in a.iter().zip(b.iter()).enumerate() {
                    Self::jiter(&a.unwrap(), b, &format!("{at}/{i}"));
                }
            }
            (Value::Object(a), JsonValue::Object(b)) => {
                for (name, _) in b.iter() {
                    // It keeps names that are there twice; the last one counts.
                    let last = b.iter().rev().find(|(other, _)| other == name).unwrap();
                    let a = a.get(name).unwrap().unwrap();
                    Self::jiter(&a, &last.1, &format!("{at}/{name}"));
                }
            }
            (a, b) => panic!("{at}: {a:?} and {b:?}"),
        }
    }

    /// Compares one text with what both others make of it; whether each takes it.
    fn compare(&mut self, text: &[u8], at: &str) -> [bool; 3] {
        let ours = from_json(text, &Options::default());
        let serde = serde_json::from_slice::<Json>(text);
        let jiter = JsonValue::parse(text, false);
        if let Ok(document) = &ours {
            let view = View::open(document).unwrap();
            view.validate()
                .unwrap_or_else(|error| panic!("{at}: {error}"));
            let root = view.root().unwrap();
            if let Ok(json) = &serde {
                self.serde(&root, json, at);
            }
            if let Ok(json) = &jiter {
                Self::jiter(&root, json, at);
            }
            let back = view.to_json(&JsonOptions::default()).unwrap();
            assert_eq!(
                document,
                &from_json(&back, &Options::default()).unwrap(),
                "{at}"
            );
        }
        [ours.is_ok(), serde.is_ok(), jiter.is_ok()]
    }
}

#[test]
fn the_suite_is_read_as_others_read_it() {
    let (mut seen, mut differ, mut all) = (Seen::default(), Vec::new(), 0);
    for path in files("data/json/JSONTestSuite") {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        if !matches!(name.get(..2), Some("y_" | "n_" | "i_")) {
            continue;
        }
        all += 1;
        let taken = seen.compare(&std::fs::read(&path).unwrap(), &name);
        if taken != [taken[0]; 3] {
            differ.push(format!(
                "{name} {}",
                taken.map(|is| if is { "y" } else { "n" }).concat()
            ));
        }
    }
    differ.sort();
    eprintln!("ours, serde_json, jiter:\n{}", differ.join("\n"));
    // They refuse numbers beyond a float or beyond 64 bits, and more levels than they recurse.
    let known = |line: &String| line.starts_with("i_number") || line.contains("500_nested");
    assert!(
        differ.iter().all(|line| known(line) && line.contains(" y")),
        "{differ:?}"
    );
    assert!(
        all == 0 || (all, differ.len()) == (318, 9),
        "{all} {differ:?}"
    );
}

#[test]
fn real_documents_are_read_as_others_read_them() {
    let mut seen = Seen::default();
    for path in files("data/json").into_iter().chain(files("data/docs")) {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        if path.to_str().unwrap().contains("JSONTestSuite") {
            continue;
        }
        let text = plain(&path);
        if name.contains(".ndjson") {
            let enough = text.get(..ENOUGH).unwrap_or(&text);
            let end = enough
                .iter()
                .rposition(|&byte| byte == b'\n')
                .unwrap_or(enough.len());
            for (i, line) in enough[..end].split(|&byte| byte == b'\n').enumerate() {
                let taken = seen.compare(line, &format!("{name}:{i}"));
                assert_eq!([taken[0]; 3], taken, "{name}:{i}");
            }
        } else if name.contains(".json") {
            let taken = seen.compare(&text, &name);
            assert_eq!([true; 3], taken, "{name}");
        }
    }
    eprintln!(
        "{} numbers compared, {} more kept as text",
        seen.numbers, seen.texts
    );
}
