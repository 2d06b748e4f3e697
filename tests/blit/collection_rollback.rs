//! Collections whose writer takes back what it wrote: nothing of it is kept, however much it was,
//! and readers that open the file meanwhile never see it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tare::blit::collection::{repair, Collection, ReadOptions, WriteOptions, Writer};

use crate::common;

use common::folder::Folder;
use common::soak::Span;

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
    child.args([
        "--exact",
        "collection_rollback::child_that_opens",
        "--nocapture",
    ]);
    child.env("TARE_TEST_OPEN", &path);
    child.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    output.find(|line| line.as_ref().is_ok_and(|line| line.contains("ready")));
    let span = Span::start(Duration::from_millis(700));
    let long = long();
    while span.lasts(true) {
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

/// More documents than a commit has chunks, where each has its own.
const MANY: u64 = 70_000;

/// Chunks of one document each: a commit ends after 65,536 of them.
fn tiny() -> WriteOptions {
    WriteOptions {
        chunk_size: 1,
        ..WriteOptions::default()
    }
}

fn push_many(writer: &mut Writer) {
    let before = writer.len();
    for i in 0..MANY {
        writer.push_json(i.to_string().as_bytes()).unwrap();
    }
    assert_eq!(before + MANY, writer.len());
}

/// Documents and commits, all of them right.
fn found(path: &Path) -> (u64, usize) {
    let collection = open(path, true);
    collection.validate().unwrap();
    (collection.len(), collection.commits())
}

#[test]
fn nothing_is_kept_of_commits_that_ended_by_themselves() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    // A new one leaves no file.
    let mut writer = Collection::create(&path, &tiny()).unwrap();
    push_many(&mut writer);
    assert_eq!(0, writer.committed());
    assert_eq!((0, 0), found(&path));
    drop(writer);
    assert!(!path.exists());

    // One that is appended to is as it was, also for who opens it meanwhile.
    one_document(&path);
    let one = std::fs::read(&path).unwrap();
    for is_dropped in [false, true] {
        let mut writer = Collection::append(&path, &tiny()).unwrap();
        push_many(&mut writer);
        assert_eq!((1, 1), (writer.committed(), found(&path).0));
        if !is_dropped {
            writer.rollback().unwrap();
            assert_eq!((1, 1), (writer.committed(), writer.len()));
        }
        drop(writer);
        assert_eq!(one, std::fs::read(&path).unwrap());
    }

    // One that is replaced stays.
    let mut writer = Collection::create(&path, &tiny()).unwrap();
    push_many(&mut writer);
    drop(writer);
    assert_eq!(one, std::fs::read(&path).unwrap());
    assert_eq!(1, std::fs::read_dir(folder.path()).unwrap().count());

    // The same documents, committed.
    let mut writer = Collection::append(&path, &tiny()).unwrap();
    push_many(&mut writer);
    assert_eq!(MANY + 1, writer.commit().unwrap());
    assert_eq!((MANY + 1, 3), found(&path));
    writer.push_json(b"[]").unwrap();
    assert_eq!(MANY + 2, writer.commit().unwrap());
    assert_eq!((MANY + 2, 4), found(&path));
}

#[test]
fn a_crash_keeps_nothing_of_commits_that_ended_by_themselves() {
    let folder = Folder::new();
    let (path, left) = (folder.join("a.blits"), folder.join("left.blits"));
    let end = one_document(&path);
    let mut writer = Collection::append(&path, &tiny()).unwrap();
    push_many(&mut writer);
    // What another process finds when this one is killed now.
    std::fs::copy(&path, &left).unwrap();
    let more = left.metadata().unwrap().len() - end;
    assert_eq!((1, 1), found(&left));
    let repaired = repair(&left).unwrap();
    assert_eq!((1, more), (repaired.documents, repaired.cut));
    std::fs::copy(&path, &left).unwrap();
    let mut again = append(&left);
    assert_eq!((1, end), (again.len(), left.metadata().unwrap().len()));
    again.push_json(b"2").unwrap();
    again.commit().unwrap();
    drop(again);
    assert_eq!((2, 2), found(&left));

    // Killed while it commits: the header does not say so yet, and chunks may not be stored.
    writer.commit().unwrap();
    drop(writer);
    let whole = std::fs::read(&path).unwrap();
    let mut torn = whole.clone();
    torn[8..16].copy_from_slice(&end.to_le_bytes());
    std::fs::write(&left, &torn).unwrap();
    assert_eq!(MANY + 1, repair(&left).unwrap().documents);
    let first = usize::try_from(end).unwrap();
    torn[first] ^= 1;
    std::fs::write(&left, &torn).unwrap();
    assert_eq!(1, repair(&left).unwrap().documents);
    assert_eq!(whole[16..first], std::fs::read(&left).unwrap()[16..]);
}

#[test]
fn an_appender_records_what_it_goes_on_behind() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let first = one_document(&path);
    let mut writer = append(&path);
    writer.push_json(b"2").unwrap();
    writer.commit().unwrap();
    drop(writer);
    // As a writer leaves it that died before it could tell of its last commit.
    for stale in [first, 0] {
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.splice(8..16, stale.to_le_bytes());
        std::fs::write(&path, &bytes).unwrap();
        let mut writer = append(&path);
        writer.push_json(long().as_bytes()).unwrap();
        // What is not committed hides the end of the last commit: its record leads there.
        assert_eq!(2, open(&path, true).len());
        writer.rollback().unwrap();
    }
}
