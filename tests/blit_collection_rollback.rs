//! Collections whose writer takes back what it wrote: nothing of it is kept, and readers that open
//! the file meanwhile never see it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at once"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tare::blit::collection::{Collection, ReadOptions, WriteOptions, Writer};

mod common;

use common::folder::Folder;

/// A document of several pages, in a chunk of its own.
fn long() -> String {
    format!("\"{}\"", "0123456789abcdef".repeat(20_000))
}

/// A collection of one document, and the bytes it has.
fn one_document(path: &Path) -> u64 {
    let mut writer = Collection::create(path, &WriteOptions::default()).unwrap();
    writer.push_json(br#"{"a": 1}"#).unwrap();
    writer.commit().unwrap();
    path.metadata().unwrap().len()
}

fn open(path: &Path, mmap: bool) -> Collection {
    let options = ReadOptions {
        mmap,
        ..ReadOptions::default()
    };
    Collection::open(path, &options).unwrap()
}

fn append(path: &Path) -> Writer {
    Collection::append(path, &WriteOptions::default()).unwrap()
}

#[test]
fn only_what_is_committed_is_mapped() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let end = one_document(&path);
    let mut writer = append(&path);
    writer.push_json(long().as_bytes()).unwrap();
    assert!(path.metadata().unwrap().len() > end + 300_000);
    for mmap in [true, false] {
        let collection = open(&path, mmap);
        assert_eq!(end, collection.account().unwrap().bytes);
        assert_eq!(1, collection.len());
    }
    let collection = open(&path, true);
    writer.rollback().unwrap();
    assert_eq!(end, path.metadata().unwrap().len());
    collection.validate().unwrap();
}

/// Opens a collection again and again, until its input ends; run by the test below.
#[test]
fn child_that_opens() {
    let Some(path) = std::env::var_os("TARE_TEST_OPEN") else {
        return;
    };
    let path = Path::new(&path);
    let ended = std::thread::spawn(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    println!("\nready");
    let mut opened = 0_u64;
    while !ended.is_finished() {
        for mmap in [true, true, false] {
            let collection = open(path, mmap);
            assert_eq!(1, collection.len());
            collection.validate().unwrap();
            opened += 1;
        }
    }
    println!("opened {opened}");
}

#[test]
fn a_reader_may_open_while_a_writer_takes_back() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let end = one_document(&path);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child_that_opens", "--nocapture"]);
    child.env("TARE_TEST_OPEN", &path);
    child.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    output.find(|line| line.as_ref().is_ok_and(|line| line.contains("ready")));
    let until = Instant::now() + Duration::from_millis(700);
    let long = long();
    while Instant::now() < until {
        let mut writer = append(&path);
        for _ in 0..3 {
            writer.push_json(long.as_bytes()).unwrap();
        }
        writer.rollback().unwrap();
        writer.push_json(long.as_bytes()).unwrap();
        drop(writer);
    }
    drop(child.stdin.take());
    let lines: Vec<_> = output.map_while(Result::ok).collect();
    assert!(child.wait().unwrap().success(), "{lines:?}");
    let opened = lines.iter().find_map(|line| line.strip_prefix("opened "));
    assert!(opened.unwrap().parse::<u64>().unwrap() > 2);
    assert_eq!(end, path.metadata().unwrap().len());
}
