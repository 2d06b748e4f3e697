//! Collections of lines: the file of many threads is that of one.

use crate::common;

use std::fmt::Write as _;

use common::folder::Folder;
use tare::blit::collection::{Collection, ReadOptions, WriteOptions};
use tare::blit::{Duplicates, JsonOptions, Layout, Options, Surrogates};
use tare::compress::Compressor;
use tare::ErrorKind;

/// The files of `push_json` of each line, and of `push_ndjson` by so many threads.
fn files(text: &str, options: &WriteOptions, first: usize) -> Vec<Vec<u8>> {
    let folder = Folder::new();
    let made = |name: &str, threads: Option<usize>| {
        let path = folder.join(name);
        let mut writer = Collection::create(&path, options).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        for line in lines.drain(..first.min(lines.len())) {
            writer.push_json(line.as_bytes()).unwrap();
        }
        lines.retain(|line| !line.trim().is_empty());
        if threads.is_some() {
            let text = lines.join("\n\n");
            let n = writer.push_ndjson(text.as_bytes(), threads).unwrap();
            assert_eq!(lines.len() as u64, n);
        } else {
            for line in lines {
                writer.push_json(line.as_bytes()).unwrap();
            }
        }
        // What is appended later depends on nothing else.
        writer.push_json(br#"{"at": "the end"}"#).unwrap();
        writer.commit().unwrap();
        std::fs::read(&path).unwrap()
    };
    let threads = [None, Some(1), Some(2), Some(3), Some(7)];
    threads
        .iter()
        .enumerate()
        .map(|(i, &threads)| made(&format!("{i}.blits"), threads))
        .collect()
}

fn same(text: &str, options: &WriteOptions, first: usize) -> Vec<u8> {
    let files = files(text, options, first);
    for (i, file) in files.iter().enumerate() {
        assert!(*file == files[0], "file {i} of {options:?}");
    }
    files[0].clone()
}

/// Rows that are alike, rows with new names now and then, some that are nothing of the kind.
fn lines(n: usize) -> String {
    let mut text = String::new();
    for i in 0..n {
        match i % 97 {
            13 => writeln!(
                text,
                r#"{{"id":{i},"new{}":{{"in{}":[1,{{"x":2}}]}}}}"#,
                i / 97,
                i / 300
            ),
            14 => writeln!(text, "\n  \r"),
            15 => writeln!(
                text,
                r#"{{"a":{{"late{0}":1}},"a":2,"b":{{"late{1}":1}}}}"#,
                i / 97,
                i / 200
            ),
            16 => writeln!(text, "[{}]", "7,".repeat(i % 900) + "{}"),
            17 => writeln!(text, r#"  "\ud83d text of {i}" "#),
            _ => writeln!(text, r#"{{"id":{i},"name":"name {}","x":{}.5}}"#, i % 7, i),
        }
        .unwrap();
    }
    text
}

#[test]
fn threads_change_no_byte() {
    let text = lines(20_000);
    for chunk_size in [1, 300, 4_000, 70_000] {
        for compressor in [None, Some("zstd:3"), Some("lz4")] {
            for document in [
                Options {
                    surrogates: Surrogates::Keep,
                    ..Options::default()
                },
                Options {
                    surrogates: Surrogates::Keep,
                    duplicates: Duplicates::Keep,
                    layout: Layout::Rows,
                    ..Options::default()
                },
                Options {
                    surrogates: Surrogates::Keep,
                    aligned: true,
                    ..Options::default()
                },
            ] {
                if chunk_size == 1 && compressor.is_some() {
                    continue;
                }
                let options = WriteOptions {
                    document,
                    compressor: compressor.map(|id| Compressor::parse(id).unwrap()),
                    chunk_size,
                };
                let few = if chunk_size == 1 {
                    &text[..60_000]
                } else {
                    &text
                };
                let few = &few[..few.rfind('\n').unwrap()];
                same(few, &options, chunk_size % 7);
            }
        }
    }
}

#[test]
fn shapes_beyond_one_byte_and_new_commits() {
    // A name of its own for every line: commits end by their names.
    let mut text = String::new();
    for i in 0..60_000 {
        let long = "n".repeat(300);
        writeln!(text, r#"{{"{long}{i}":1,"b":{{"c{}":{i}}}}}"#, i % 400).unwrap();
    }
    let options = WriteOptions {
        chunk_size: 20_000,
        ..WriteOptions::default()
    };
    let file = same(&text, &options, 0);
    let folder = Folder::new();
    let path = folder.join("a.blits");
    std::fs::write(&path, file).unwrap();
    let collection = Collection::open(&path, &ReadOptions::default()).unwrap();
    assert!(collection.commits() > 1);
    collection.validate().unwrap();
    for (i, line) in text.lines().enumerate().step_by(997) {
        let document = collection.get(i as u64).unwrap();
        let json = document.view().to_json(&JsonOptions::default()).unwrap();
        assert!(line.as_bytes() == json);
    }
}

#[test]
fn what_comes_before_a_wrong_line_is_appended() {
    let good = lines(3_000).replace(r"\ud83d", "");
    for threads in [1, 2, 5] {
        let folder = Folder::new();
        let path = folder.join("a.blits");
        let options = WriteOptions {
            chunk_size: 2_000,
            ..WriteOptions::default()
        };
        let mut writer = Collection::create(&path, &options).unwrap();
        let text = format!("{good}{{\"id\": 1, no}}\n{good}");
        let error = writer
            .push_ndjson(text.as_bytes(), Some(threads))
            .unwrap_err();
        assert_eq!(ErrorKind::Malformed, error.kind());
        assert_eq!(Some(good.len() as u64 + 10), error.offset());
        let n = good.lines().filter(|line| !line.trim().is_empty()).count() as u64;
        assert_eq!(n, writer.len());
        assert_eq!(n + 1, {
            writer.push_json(b"1").unwrap();
            writer.commit().unwrap()
        });
        Collection::open(&path, &ReadOptions::default())
            .unwrap()
            .validate()
            .unwrap();
    }
}

/// Documents of 1,000 bytes and less, and one wrong line that is longer than a chunk: what follows
/// must lie in the chunks in which it lies without that line.
#[test]
fn a_long_line_that_is_wrong_ends_no_chunk() {
    let long = format!("{{\"a\": \"{}\", no}}", "x".repeat(5_000));
    let some = lines(40).replace(r"\ud83d", "");
    let options = WriteOptions {
        chunk_size: 1_000,
        ..WriteOptions::default()
    };
    let made = |threads: usize| {
        let folder = Folder::new();
        let path = folder.join("a.blits");
        let mut writer = Collection::create(&path, &options).unwrap();
        for text in [format!("{some}{long}\n{some}"), some.clone()] {
            let _ = writer.push_ndjson(text.as_bytes(), Some(threads));
        }
        writer.commit().unwrap();
        std::fs::read(&path).unwrap()
    };
    let one = made(1);
    for threads in [2, 3, 5] {
        assert!(one == made(threads), "{threads} threads");
    }
}

/// The last document before a commit is refused: its names are not in the file.
#[test]
fn what_was_refused_leaves_nothing() {
    let made = |wrong: &[&str]| {
        let options = WriteOptions {
            chunk_size: 100,
            document: Options {
                surrogates: Surrogates::Keep,
                ..Options::default()
            },
            ..WriteOptions::default()
        };
        let folder = Folder::new();
        let path = folder.join("a.blits");
        let mut writer = Collection::create(&path, &options).unwrap();
        let full = format!("{{\"id\": \"{}\"}}", "x".repeat(200));
        writer.push_json(full.as_bytes()).unwrap();
        for text in wrong {
            writer.push_json(text.as_bytes()).unwrap_err();
        }
        writer.commit().unwrap();
        std::fs::read(&path).unwrap()
    };
    let clean = made(&[]);
    assert!(clean == made(&[r#"{"o": {"secret": 1}, "p": nul}"#]));
    assert!(clean == made(&[r#"{"id": "\ud800", "p": nul}"#]));
}
