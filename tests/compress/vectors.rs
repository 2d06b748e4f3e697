//! The golden files of `vectors/compress`: what was written once is read for ever.
//!
//! A file that is not there is written, so that a new case needs no other tool; one that is
//! there is only read.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tare::compress::{
    decompress, Completeness, Compressor, ReadOptions, Reader, SeekableReader, WriteOptions, Writer,
};
use tare::ErrorKind;
use xxhash_rust::xxh32::xxh32;

const CHUNK: usize = 64 << 10;

/// Twelve bytes a line: a number, and itself modulo 97.
fn lines(size: usize) -> Vec<u8> {
    let mut plain = Vec::with_capacity(size + 12);
    for number in 0_u32.. {
        if plain.len() >= size {
            break;
        }
        writeln!(plain, "{number:06},{:04}", number % 97).unwrap();
    }
    plain.truncate(size);
    plain
}

/// Lines of a chunk, then xorshift64 from 88172645463325252, byte 3 of each state, for a chunk,
/// then lines again: a block that is stored raw between two that are not.
fn mixed() -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    let mut plain = lines(CHUNK);
    plain.extend(std::iter::repeat_with(step).take(CHUNK));
    plain.extend(lines(1000));
    plain
}

struct Case {
    file: &'static str,
    id: &'static str,
    checksum: bool,
    plain: Vec<u8>,
    /// Chunks that can be found by plain offset; None where there is one unit only.
    chunks: Option<usize>,
}

fn case(file: &'static str, id: &'static str, plain: Vec<u8>, chunks: Option<usize>) -> Case {
    Case {
        file,
        id,
        checksum: true,
        plain,
        chunks,
    }
}

/// Every layout of every container that is written, at each length where it changes.
fn cases() -> Vec<Case> {
    let three = 2 * CHUNK + 1000;
    let bare = Case {
        checksum: false,
        ..case("bare.lz4", "lz4:1,chunk=64KiB", lines(three), Some(3))
    };
    vec![
        case("seekable.zst", "zstd:3,chunk=64KiB", lines(three), Some(3)),
        case(
            "full-chunk.zst",
            "zstd:3,chunk=64KiB",
            lines(CHUNK),
            Some(1),
        ),
        case("short.zst", "zstd:3,chunk=64KiB", lines(1000), Some(1)),
        case("empty.zst", "zstd:3,chunk=64KiB", lines(0), Some(0)),
        case(
            "single.zst",
            "zstd:3,chunk=1MiB,layout=single",
            lines(three),
            None,
        ),
        case("seekable.lz4", "lz4:1,chunk=64KiB", lines(three), Some(3)),
        case("raw-block.lz4", "lz4:1,chunk=64KiB", mixed(), Some(3)),
        case("full-chunk.lz4", "lz4:1,chunk=64KiB", lines(CHUNK), Some(1)),
        case("short.lz4", "lz4:1,chunk=64KiB", lines(1000), None),
        case("empty.lz4", "lz4:1,chunk=64KiB", lines(0), None),
        case(
            "single.lz4",
            "lz4:1,chunk=64KiB,layout=single",
            lines(three),
            None,
        ),
        bare,
        // Three members, which are found together.
        case("bgzf.gz", "gzip:6,chunk=64KiB", lines(three), Some(1)),
        case("short.gz", "gzip:6,chunk=64KiB", lines(1000), None),
        case("empty.gz", "gzip:6,chunk=64KiB", lines(0), None),
        case(
            "members.gz",
            "gzip:6,chunk=64KiB,layout=members",
            lines(three),
            None,
        ),
        case("single.gz", "gzip:6,layout=single", lines(three), None),
    ]
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/compress")
}

/// The file's bytes; written first where it is not there.
fn golden(file: &str, make: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    // Two tests want the same file, and one must not read what the other is still writing.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    let path = folder().join(file);
    if !path.exists() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, make()).unwrap();
    }
    fs::read(&path).unwrap()
}

fn written(case: &Case) -> Vec<u8> {
    let options = WriteOptions {
        threads: Some(2),
        checksum: case.checksum,
        ..WriteOptions::default()
    };
    let compressor = Compressor::parse(case.id).unwrap();
    let mut writer = Writer::new(Vec::new(), compressor, options).unwrap();
    writer.write_all(&case.plain).unwrap();
    writer.finish().unwrap().0
}

fn strict() -> ReadOptions {
    ReadOptions {
        strict: true,
        ..ReadOptions::default()
    }
}

#[test]
fn each_layout_is_read_whole() {
    for case in cases() {
        let file = case.file;
        let stored = golden(file, || written(&case));
        assert_eq!(
            case.plain,
            decompress(&stored, &ReadOptions::default()).unwrap(),
            "{file}"
        );
        // Members end where they end, and nothing says that no other follows.
        let options = match file {
            "members.gz" => ReadOptions::default(),
            _ => strict(),
        };
        let mut reader = Reader::new(&stored[..], options).unwrap();
        let mut plain = Vec::new();
        reader.read_to_end(&mut plain).unwrap();
        assert_eq!(case.plain, plain, "{file}");
        let proven = match file {
            "members.gz" => Completeness::Unproven,
            _ => Completeness::Proven,
        };
        assert_eq!(Some(proven), reader.info().completeness, "{file}");
    }
}

#[test]
fn chunks_are_found_by_plain_offset() {
    for case in cases() {
        let Some(chunks) = case.chunks else { continue };
        let file = case.file;
        let stored = golden(file, || written(&case));
        let reader = SeekableReader::new(stored, ReadOptions::default()).unwrap();
        assert_eq!(case.plain.len() as u64, reader.len(), "{file}");
        assert_eq!(chunks, reader.chunks().len(), "{file}");
        for at in (0..case.plain.len()).step_by(9973) {
            let mut place = [0; 100];
            let size = reader.read_at(at as u64, &mut place).unwrap();
            let end = (at + 100).min(case.plain.len());
            assert_eq!(case.plain[at..end], place[..size], "{file} at {at}");
        }
    }
}

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// The index of `seekable.lz4` and its kin, field by field as `docs/specs/chunks.md` has it.
#[test]
fn the_index_of_an_lz4_file_is_as_specified() {
    for (file, checksums) in [("seekable.lz4", 4), ("raw-block.lz4", 4), ("bare.lz4", 0)] {
        let case = cases().into_iter().find(|case| case.file == file).unwrap();
        let stored = golden(file, || written(&case));
        let end = stored.len();
        assert_eq!(0x8f92_eab1, word(&stored, end - 4));
        assert_eq!(0, stored[end - 5]);
        let entries = word(&stored, end - 9);
        let start = end - 9 - 8 * entries - 8;
        assert_eq!(0x184d_2a5e, word(&stored, start));
        assert_eq!(8 * entries + 9, word(&stored, start + 4));
        let entry = |number: usize| {
            let at = start + 8 + 8 * number;
            (word(&stored, at), word(&stored, at + 4))
        };
        // The frame's header: no content size, since a stream's length was not known.
        assert_eq!((7, 0), entry(0), "{file}");
        assert_eq!((4 + checksums, 0), entry(entries - 1), "{file}");
        let (mut at, mut plain) = (7, 0);
        for number in 1..entries - 1 {
            let (bytes, holds) = entry(number);
            let size = word(&stored, at) & 0x7fff_ffff;
            assert_eq!(4 + size + checksums, bytes, "{file} {number}");
            if checksums > 0 {
                let block = &stored[at + 4..at + 4 + size];
                assert_eq!(xxh32(block, 0) as usize, word(&stored, at + 4 + size));
            }
            at += bytes;
            plain += holds;
        }
        assert_eq!((0, case.plain.len()), (word(&stored, at), plain), "{file}");
        assert_eq!(start, at + entry(entries - 1).0, "{file}");
    }
}

/// A file that is wrong: how it was made of a good one, and what must be said.
type Wrong = (
    &'static str,
    &'static str,
    fn(Vec<u8>) -> Vec<u8>,
    ErrorKind,
);

/// Changes one byte, counted from the end.
fn flip(mut bytes: Vec<u8>, from_end: usize) -> Vec<u8> {
    let at = bytes.len() - from_end;
    bytes[at] ^= 1;
    bytes
}

fn without_end(mut bytes: Vec<u8>, size: usize) -> Vec<u8> {
    bytes.truncate(bytes.len() - size);
    bytes
}

const TABLE: usize = 8 + 3 * 8 + 9;
const INDEX: usize = 8 + 5 * 8 + 9;

#[test]
fn what_is_cut_or_lies_is_refused() {
    let wrong: [Wrong; 9] = [
        (
            "table-cut.zst",
            "seekable.zst",
            |b| without_end(b, 1),
            ErrorKind::Truncated,
        ),
        (
            "no-table.zst",
            "seekable.zst",
            |b| without_end(b, TABLE),
            ErrorKind::Truncated,
        ),
        (
            "table-size.zst",
            "seekable.zst",
            |b| flip(b, 9 + 4),
            ErrorKind::Malformed,
        ),
        (
            "frame-cut.zst",
            "seekable.zst",
            |b| without_end(b, TABLE + 4),
            ErrorKind::Truncated,
        ),
        (
            "index-cut.lz4",
            "seekable.lz4",
            |b| without_end(b, 1),
            ErrorKind::Truncated,
        ),
        (
            "index-size.lz4",
            "seekable.lz4",
            |b| flip(b, 9 + 16),
            ErrorKind::Malformed,
        ),
        (
            "no-end.lz4",
            "seekable.lz4",
            |b| without_end(b, INDEX + 8),
            ErrorKind::Truncated,
        ),
        (
            "content.lz4",
            "single.lz4",
            |b| flip(b, 1),
            ErrorKind::ChecksumMismatch,
        ),
        (
            "no-marker.gz",
            "bgzf.gz",
            |b| without_end(b, 28),
            ErrorKind::Truncated,
        ),
    ];
    for (file, from, change, kind) in wrong {
        let stored = golden(&format!("errors/{file}"), || {
            change(fs::read(folder().join(from)).unwrap())
        });
        let mut reader = Reader::new(&stored[..], strict()).unwrap();
        let mut plain = Vec::new();
        let error = reader.read_to_end(&mut plain).unwrap_err();
        let error = error.into_inner().unwrap();
        let error = error.downcast::<tare::Error>().unwrap();
        assert_eq!(kind, error.kind(), "{file}: {error}");
    }
}
