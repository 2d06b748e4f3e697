//! The index beside a BGZF file, `.gzi`, against htslib's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

/// A folder that is gone with its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("tare-gzi-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What bgzip prints; None if it is not installed. It must succeed.
fn bgzip(arguments: &[&str], file: &Path) -> Option<Vec<u8>> {
    tool("bgzip", &["--version"], b"")?;
    let output = Command::new("bgzip").args(arguments).arg(file).output();
    let output = output.unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    Some(output.stdout)
}

fn indexed(plain: &[u8], id: &str, threads: usize, flush: bool) -> (Vec<u8>, Vec<u8>) {
    let options = WriteOptions {
        threads: Some(threads),
        chunk_size: Some(128 << 10),
        index: true,
        ..WriteOptions::default()
    };
    let mut writer = Writer::new(Vec::new(), Compressor::parse(id).unwrap(), options).unwrap();
    for part in plain.chunks(99_991) {
        writer.write_all(part).unwrap();
        if flush {
            writer.flush().unwrap();
        }
    }
    let (stored, summary) = writer.finish().unwrap();
    (stored, summary.index.unwrap())
}

fn numbers(index: &[u8]) -> Vec<u64> {
    let words = index.chunks_exact(8);
    words
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

/// Where each member but the first begins, found by walking.
fn walked(stored: &[u8]) -> Vec<u64> {
    let options = ReadOptions {
        read_ahead: false, // a chunk a member
        ..ReadOptions::default()
    };
    let reader = SeekableReader::new(stored, options).unwrap();
    let others = reader.chunks().iter().skip(1);
    let mut all = vec![(reader.chunks().len() as u64).saturating_sub(1)];
    all.extend(others.flat_map(|chunk| [chunk.stored_offset, chunk.plain_offset]));
    all
}

#[test]
fn it_is_byte_for_byte_the_one_that_bgzip_makes() {
    let folder = Folder::new("same");
    for size in [1, BGZF_PLAIN, BGZF_PLAIN + 1, 128 << 10, 700_001] {
        let plain = text(size);
        for (threads, flush) in [(1, false), (3, false), (2, true)] {
            let (stored, index) = indexed(&plain, "gzip:6", threads, flush);
            assert!(stored.ends_with(MARKER));
            assert_eq!(walked(&stored), numbers(&index));
            let file = folder.join("x.gz");
            fs::write(&file, &stored).unwrap();
            if bgzip(&["-r"], &file).is_some() {
                assert_eq!(fs::read(folder.join("x.gz.gzi")).unwrap(), index, "{size}");
            }
        }
    }
}

#[test]
fn bgzip_finds_any_part_by_it() {
    let folder = Folder::new("parts");
    let plain = text(700_001);
    for level in ["gzip:0", "gzip:6"] {
        let (stored, index) = indexed(&plain, level, 2, false);
        let file = folder.join("x.gz");
        fs::write(&file, &stored).unwrap();
        fs::write(folder.join("x.gz.gzi"), &index).unwrap();
        for (from, size) in [
            (0, 10),
            (BGZF_PLAIN - 3, 6),
            (BGZF_PLAIN, 1),
            (300_000, 200_000),
            (plain.len() - 1, 1),
        ] {
            let (offset, bytes) = (from.to_string(), size.to_string());
            if let Some(part) = bgzip(&["-c", "-b", &offset, "-s", &bytes], &file) {
                assert!(plain[from..from + size] == part, "{level} {from}");
            }
        }
    }
}

#[test]
fn nothing_is_an_index_of_no_member() {
    let (stored, index) = indexed(b"", "gzip:6", 1, false);
    assert_eq!((MARKER, vec![0]), (&stored[..], numbers(&index)));
    reads_as(b"", &stored);
}

#[test]
fn files_of_bgzip_are_read_anywhere_without_their_index() {
    let folder = Folder::new("theirs");
    let plain = text(700_001);
    let file = folder.join("x");
    fs::write(&file, &plain).unwrap();
    if bgzip(&["-k", "-i"], &file).is_none() {
        return;
    }
    let stored = fs::read(folder.join("x.gz")).unwrap();
    let index = fs::read(folder.join("x.gz.gzi")).unwrap();
    assert_eq!(walked(&stored), numbers(&index));
    let reader = SeekableReader::new(stored, ReadOptions::default()).unwrap();
    for from in [0, BGZF_PLAIN - 3, 300_000, plain.len() - 6] {
        let mut part = [0; 6];
        assert_eq!(6, reader.read_at(from as u64, &mut part).unwrap());
        assert_eq!(plain[from..from + 6], part);
    }
}

#[test]
fn others_have_none_beside_the_file_and_say_so() {
    let options = WriteOptions {
        index: true,
        ..WriteOptions::default()
    };
    for (id, told) in [
        ("zstd:3", "inside the file"),
        ("lz4", "inside the file"),
        ("zstd:3,layout=single", "no index in layout single"),
        ("gzip:6,layout=members", "no index in layout members"),
        ("gzip:6,layout=single", "no index in layout single"),
        ("bz2", "no index"),
        ("xz", "no index"),
        ("none", "no index"),
    ] {
        let compressor = Compressor::parse(id).unwrap();
        let error = Writer::new(Vec::new(), compressor, options.clone()).unwrap_err();
        assert_eq!(ErrorKind::Usage, error.kind(), "{id}");
        assert!(error.to_string().contains(told), "{error}");
    }
    let compressor = Compressor::parse("gzip:6,layout=seekable").unwrap();
    let error = compress(b"x", &compressor, &options).unwrap_err();
    assert_eq!(ErrorKind::Usage, error.kind());
    let plain = Writer::new(Vec::new(), compressor, WriteOptions::default()).unwrap();
    assert_eq!(None, plain.finish().unwrap().1.index);
}
