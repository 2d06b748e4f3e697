//! Large files and files from elsewhere, cut at 1,000 places, and those of other formats with bits
//! flipped: an error or an answer, within a gibibyte of addresses.

#![cfg(target_os = "linux")]

use crate::child;
use crate::common;
use crate::common::soak::{self, Sample};
use crate::cpu::{grows_linearly, least_time};
use crate::r_files;

use std::time::{Duration, Instant};

use tare::robject::{dput, rds, read, ReadOptions, WriteOptions};
use tare::{fst, ErrorKind};

use child::in_a_gibibyte;
use r_files::group;

const PLACES: usize = 1_000;

fn limits() -> ReadOptions {
    ReadOptions {
        memory_budget: Some(128 << 20),
        threads: Some(1),
        ..ReadOptions::default()
    }
}

fn places(size: usize) -> Vec<usize> {
    match size {
        0..=1_000 => (0..size).collect(),
        _ => (0..PLACES).map(|at| at * size / PLACES).collect(),
    }
}

fn refused(name: &str, at: usize, cut: &[u8]) {
    let start = Instant::now();
    let Err(error) = read(cut, &limits()) else {
        panic!("{name} cut at {at} was read");
    };
    let right = matches!(error.kind(), ErrorKind::Truncated | ErrorKind::Malformed);
    assert!(right, "{name} cut at {at}: {:?}: {error}", error.kind());
    assert!(error.offset().is_some(), "{name} cut at {at}: {error}");
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{name} cut at {at}"
    );
}

#[test]
fn files_from_elsewhere_are_errors_when_they_are_cut() {
    in_a_gibibyte(
        "robject_cut::files_from_elsewhere_are_errors_when_they_are_cut",
        || {
            let Some(root) = common::shared("data/r") else {
                return;
            };
            let mut folders = vec![root];
            let (mut files, mut cuts) = (0, 0);
            let mut sample = Sample::new(2, 13);
            while let Some(folder) = folders.pop() {
                for entry in std::fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        folders.push(path);
                        continue;
                    }
                    let bytes = std::fs::read(&path).unwrap();
                    let name = path.display().to_string();
                    let ending = path.extension().and_then(|ending| ending.to_str());
                    let known = matches!(
                        ending.map(str::to_ascii_lowercase).as_deref(),
                        Some("rds" | "rda" | "rdata" | "qs2" | "qdata" | "qs")
                    );
                    if !known || read(&bytes, &ReadOptions::default()).is_err() {
                        continue;
                    }
                    // The largest takes half a second a cut: every fortieth place.
                    let step = if bytes.len() > 1 << 20 { 40 } else { 1 };
                    // Text may end with white space that says nothing.
                    let end = bytes.trim_ascii_end().len();
                    let places = places(bytes.len()).into_iter().step_by(step);
                    for at in sample.select(places) {
                        if at < end {
                            refused(&name, at, &bytes[..at]);
                            cuts += 1;
                        }
                    }
                    files += 1;
                }
            }
            let least = soak::scaled(5_000, 20_000);
            assert!(files > 60 && cuts > least, "{files} files, {cuts} cuts");
            soak::count("cuts", cuts);
        },
    );
}

#[test]
fn files_in_blocks_are_errors_when_they_are_cut() {
    in_a_gibibyte(
        "robject_cut::files_in_blocks_are_errors_when_they_are_cut",
        || {
            let mut cuts = 0;
            let mut sample = Sample::new(4, 13);
            for name in ["qs", "qs2", "qdata", "rdata"] {
                let Some(files) = group(name) else { return };
                for file in files.iter().filter(|file| file.bytes.len() >= 400) {
                    let step = if file.bytes.len() > 20_000 { 10 } else { 1 };
                    let places = places(file.bytes.len()).into_iter().step_by(step);
                    for at in sample.select(places) {
                        let text = file.name.contains("ascii") && at + 1 == file.bytes.len();
                        if !text {
                            refused(&file.name, at, &file.bytes[..at]);
                            cuts += 1;
                        }
                    }
                }
            }
            assert!(cuts > soak::scaled(2_500, 30_000), "{cuts} cuts");
            soak::count("cuts", cuts);
        },
    );
}

#[test]
fn tables_are_errors_when_they_are_cut() {
    in_a_gibibyte("robject_cut::tables_are_errors_when_they_are_cut", || {
        let Some(folder) = common::shared("data/r") else {
            return;
        };
        let bytes = std::fs::read(folder.join("fst/data1.fst")).unwrap();
        for at in places(bytes.len()) {
            let opened = fst::open(&bytes[..at]).and_then(|reader| reader.read(None, None));
            let error = opened.expect_err("a cut file");
            assert_eq!(ErrorKind::Truncated, error.kind(), "{at}: {error}");
        }
        let old = std::fs::read(folder.join("fst/previousversion.fst")).unwrap();
        for at in (0..old.len()).step_by(1.max(old.len() / PLACES)) {
            assert!(fst::open(&old[..at]).is_err());
        }
    });
}

#[test]
fn flipped_bits_of_twenty_files_in_blocks_end_in_an_error_or_a_value() {
    in_a_gibibyte(
        "robject_cut::flipped_bits_of_twenty_files_in_blocks_end_in_an_error_or_a_value",
        || {
            let (mut flips, mut files) = (0, 0);
            let mut sample = Sample::new(32 * 8, 11);
            for name in ["qs", "qs2", "qdata", "rdata"] {
                let Some(all) = group(name) else { return };
                let mut small: Vec<_> = all.iter().filter(|file| file.bytes.len() < 1500).collect();
                small.sort_by_key(|file| std::cmp::Reverse(file.bytes.len()));
                for file in small.iter().take(5) {
                    files += 1;
                    for bit in sample.select(0..file.bytes.len() * 8) {
                        let mut bytes = file.bytes.clone();
                        bytes[bit / 8] ^= 1 << (bit % 8);
                        let start = Instant::now();
                        flips += 1;
                        if let Ok(object) = read(&bytes, &limits()) {
                            let options = WriteOptions {
                                version: Some(3),
                                ..WriteOptions::default()
                            };
                            rds::serialize(&object, &options).unwrap();
                        }
                        let took = start.elapsed();
                        assert!(
                            took < Duration::from_secs(10),
                            "{} bit {bit}: {took:?}",
                            file.name
                        );
                    }
                }
            }
            assert_eq!(20, files);
            assert!(flips > 20_000, "{flips} flips");
            soak::count("flips", flips);
        },
    );
}

#[test]
fn text_of_dput_is_an_error_when_it_is_cut() {
    let Some(files) = group("dput") else { return };
    let mut cuts = 0;
    for file in &files {
        let Ok(text) = std::str::from_utf8(&file.bytes) else {
            continue;
        };
        let text = text.trim_end();
        // A number or word alone may be shorter and still be one.
        let call = text.ends_with(')') && dput::parse(text, &limits()).is_ok();
        if !call || text.len() > 5_000 {
            continue;
        }
        for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            let error = dput::parse(&text[..at], &limits()).expect_err("a cut text");
            let kind = error.kind();
            let right = matches!(
                kind,
                ErrorKind::Truncated | ErrorKind::Malformed | ErrorKind::Unsupported
            );
            assert!(right, "{} cut at {at}: {kind:?}: {error}", file.name);
            assert!(
                error.offset().is_some(),
                "{} cut at {at}: {error}",
                file.name
            );
            cuts += 1;
        }
    }
    assert!(cuts > 2_500, "{cuts} cuts");
}

#[test]
fn text_of_dput_takes_linear_time() {
    let text = |count: usize| {
        let row = "structure(list(a = c(1, 2.5, NA), b = \"text\", `c d` = 1:3), class = \"x\"), ";
        format!("list({}NULL)", row.repeat(count))
    };
    grows_linearly(500, |count| {
        let text = text(count);
        least_time(|| {
            let object = dput::parse(&text, &ReadOptions::default()).unwrap();
            dput::write(&object).unwrap();
        })
    });
}
