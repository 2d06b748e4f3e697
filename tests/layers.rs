//! The import rule: which part of the core may use which. See `ARCHITECTURE.md`.

use std::fs;
use std::path::{Path, PathBuf};

/// A part of the core, and the parts it may use beside `error`, which all may.
const ALLOWED: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("compress", &[]),
    ("avro", &[]),
    ("delimited", &[]),
    ("message", &[]),
    ("blit", &["compress"]),
    ("ndjson", &["blit"]),
    ("row_text", &["blit"]),
    ("robject", &["compress", "fst"]),
    ("fst", &["compress"]),
    ("store", &["blit", "robject", "fst", "compress", "message"]),
    (
        "testing",
        &[
            "blit", "ndjson", "row_text", "robject", "fst", "compress", "message", "store",
        ],
    ),
];

/// Every use that the table does not allow, as `file:line: formats must not use store`.
fn violations(part: &str, file: &str, text: &str) -> Vec<String> {
    let allowed = ALLOWED.iter().find(|(name, _)| *name == part);
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        for (at, path) in code.match_indices("crate::") {
            let rest = code.get(at + path.len()..).unwrap_or_default();
            for used in modules(rest) {
                let known = ALLOWED.iter().any(|(name, _)| *name == used);
                let may = used == part || used == "error" || !known;
                if !may && !allowed.is_some_and(|(_, parts)| parts.contains(&used)) {
                    found.push(format!("{file}:{}: {part} must not use {used}", index + 1));
                }
            }
        }
        for foreign in ["pyo3", "println!", "eprintln!", "print!", "dbg!"] {
            if code.contains(foreign) {
                found.push(format!(
                    "{file}:{}: the core must not use {foreign}",
                    index + 1
                ));
            }
        }
    }
    found
}

/// The first names behind `crate::`, of one path or of a list in braces.
fn modules(rest: &str) -> Vec<&str> {
    let list = match rest.strip_prefix('{') {
        Some(list) => list.split('}').next().unwrap_or_default(),
        None => rest
            .split([';', ',', ' ', '(', ')'])
            .next()
            .unwrap_or_default(),
    };
    list.split(',')
        .map(|path| path.trim().split("::").next().unwrap_or_default())
        .map(|name| name.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_'))
        .filter(|name| !name.is_empty())
        .collect()
}

fn source_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(source_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}

#[test]
fn every_part_uses_only_what_it_may() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = source_files(&source);
    assert!(!files.is_empty(), "no source files found");
    let mut found = Vec::new();
    for path in files {
        let inner = path.strip_prefix(&source).expect("it is below src");
        let first = inner.components().next().expect("a file has a name");
        let part = Path::new(first.as_os_str())
            .file_stem()
            .expect("it has a stem");
        let part = part.to_str().expect("names are ASCII");
        if part == "lib" {
            continue;
        }
        assert!(
            ALLOWED.iter().any(|(name, _)| *name == part),
            "{part} has no line in the table of tests/layers.rs"
        );
        let text = fs::read_to_string(&path).expect("it is UTF-8");
        found.extend(violations(part, &inner.display().to_string(), &text));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_planted_violation_is_reported_with_file_and_line() {
    let text = "use crate::error::Error;\nuse crate::{compress, store::Store};\n";
    assert_eq!(
        vec!["blit/view.rs:2: blit must not use store"],
        violations("blit", "blit/view.rs", text)
    );
    assert_eq!(
        vec!["message/relay.rs:1: message must not use compress"],
        violations(
            "message",
            "message/relay.rs",
            "let x = crate::compress::by_name(y);"
        )
    );
    assert_eq!(
        vec!["error.rs:1: the core must not use println!"],
        violations("error", "error.rs", "println!(\"seen\"); // not here")
    );
}

#[test]
fn allowed_uses_and_comments_are_not_reported() {
    let text =
        "use crate::{Error, ErrorKind};\n//! see `crate::store`\nuse crate::compress::by_name;";
    assert_eq!(Vec::<String>::new(), violations("fst", "fst/read.rs", text));
}
