//! zstd against its golden files: what must be read, what must be refused, and by whom it is read.

use crate::common;

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;

use common::{noise, shared, text, tool, Drip};
use tare::compress::{
    compress, decompress, Compressor, Kind, Layout, ReadOptions, Reader, SeekableReader,
    WriteOptions, Writer,
};
use tare::{ErrorKind, Result};

fn options(threads: usize) -> ReadOptions {
    ReadOptions {
        kind: Some(Kind::Zstd),
        threads: Some(threads),
        ..ReadOptions::default()
    }
}

/// Read in every way there is; all must agree.
fn read_every_way(stored: &[u8]) -> Result<Vec<u8>> {
    let mut answers = vec![
        decompress(stored, &options(1)),
        decompress(stored, &options(3)),
    ];
    for (piece, threads, read_ahead) in [
        (1, 1, true),
        (7, 2, true),
        (1 << 20, 4, true),
        (5, 1, false),
    ] {
        let options = ReadOptions {
            read_ahead,
            max_frame: if piece == 7 { 1 } else { 16 << 20 },
            ..options(threads)
        };
        let mut plain = Vec::new();
        let reader = Reader::new(Drip::new(stored, piece), options);
        answers.push(reader.and_then(|mut reader| loop {
            let ready = reader.fill()?;
            if ready.is_empty() {
                return Ok(plain);
            }
            let size = ready.len();
            plain.extend_from_slice(ready);
            std::io::BufRead::consume(&mut reader, size);
        }));
    }
    let first = answers.swap_remove(0);
    for other in &answers {
        match (&first, other) {
            (Ok(first), Ok(other)) => assert!(first == other),
            (Err(_), Err(_)) => {}
            (one, other) => panic!("{:?} and {:?}", one.as_ref().err(), other.as_ref().err()),
        }
    }
    first
}

fn folder(path: &str) -> Vec<PathBuf> {
    let Some(folder) = shared(path) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

#[test]
fn golden_files_decode_to_their_sizes() {
    let sizes = [131_068, 0, 1_048_576, 13];
    for (path, size) in folder("data/compress/zstd/golden-decompression")
        .iter()
        .zip(sizes)
    {
        let plain = read_every_way(&fs::read(path).unwrap());
        assert_eq!(size, plain.unwrap().len(), "{}", path.display());
    }
}

#[test]
fn golden_errors_are_errors() {
    for path in folder("data/compress/zstd/golden-decompression-errors") {
        assert!(
            read_every_way(&fs::read(&path).unwrap()).is_err(),
            "{}",
            path.display()
        );
    }
}

#[test]
fn the_decode_corpus_equals_its_twins() {
    let mut count = 0;
    for path in folder("data/compress/decodecorpus") {
        if path.extension().is_some_and(|end| end == "zst") {
            let plain = read_every_way(&fs::read(&path).unwrap()).unwrap();
            assert!(
                plain == fs::read(path.with_extension("")).unwrap(),
                "{}",
                path.display()
            );
            count += 1;
        }
    }
    assert!(count == 0 || count == 53, "{count}");
}

#[test]
fn formats_before_0_8_are_named() {
    for path in folder("data/compress/zstd-rs") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let stored = fs::read(&path).unwrap();
        match name.as_str() {
            "example.txt.v8.zst" | "example.txt.zst" => {
                assert_eq!(946, read_every_way(&stored).unwrap().len());
            }
            "example.txt" => {}
            _ => {
                let error = read_every_way(&stored).unwrap_err();
                assert_eq!(ErrorKind::Unsupported, error.kind());
                let version = name
                    .split(".v")
                    .nth(1)
                    .unwrap()
                    .trim_end_matches(".zst")
                    .to_string();
                assert!(
                    error.to_string().contains(&format!("0.{version}")),
                    "{error}"
                );
            }
        }
    }
}

/// An empty compressed block, which libzstd 1.5.7 refuses; what it does is followed.
const REFUSED_BY_LIBZSTD: &str = "2274d31e";

#[test]
fn good_frames_are_read_and_bad_ones_refused() {
    if let Some(path) = shared("data/compress/klauspost/good.zip") {
        let files = common::zip::files(&path);
        let mut count = 0;
        for (name, stored) in files.iter().filter(|(name, _)| name.ends_with(".zst")) {
            let found = read_every_way(stored);
            count += 1;
            if name.contains(REFUSED_BY_LIBZSTD) {
                assert!(found.is_err(), "{name}");
                continue;
            }
            let twin = files
                .iter()
                .find(|(other, _)| format!("{other}.zst") == *name);
            assert!(found.unwrap() == twin.unwrap().1, "{name}");
        }
        assert_eq!(12, count);
    }
    if let Some(path) = shared("data/compress/klauspost/bad.zip") {
        let files = common::zip::files(&path);
        let bad: Vec<_> = files
            .iter()
            .filter(|(name, _)| name.ends_with(".zst"))
            .collect();
        assert_eq!(32, bad.len());
        for (name, stored) in bad {
            assert!(read_every_way(stored).is_err(), "{name}");
        }
    }
}

#[test]
fn corpora_come_back_at_every_level_in_both_layouts() {
    for path in folder("data/compress/corpus")
        .into_iter()
        .chain(folder("data/compress/zstd/golden-compression"))
    {
        let mut plain = fs::read(&path).unwrap();
        if path.extension().is_some_and(|end| end == "xz") {
            plain = decompress(&plain, &ReadOptions::default()).unwrap();
        }
        for level in [-7, -1, 1, 2, 3, 6, 7, 9, 12, 13, 16, 19, 22] {
            for layout in [Layout::Seekable, Layout::Single] {
                let compressor = Compressor::new(Kind::Zstd, Some(level)).unwrap();
                let options = WriteOptions {
                    layout,
                    chunk_size: Some(64 << 10),
                    ..WriteOptions::default()
                };
                let stored = compress(&plain, &compressor, &options).unwrap();
                let found = decompress(&stored, &ReadOptions::default()).unwrap();
                assert!(found == plain, "{} {level} {layout:?}", path.display());
            }
        }
    }
}

fn seekable(plain: &[u8], chunk_size: usize) -> Vec<u8> {
    let options = WriteOptions {
        chunk_size: Some(chunk_size),
        ..WriteOptions::default()
    };
    let mut writer =
        Writer::new(Vec::new(), Compressor::parse("zstd:1").unwrap(), options).unwrap();
    writer.write_all(plain).unwrap();
    writer.finish().unwrap().0
}

#[test]
fn stock_tools_read_what_is_written_and_the_other_way_round() {
    let chunk = 64 << 10;
    for size in [0, 1, chunk - 1, chunk, chunk + 1, 5 * chunk] {
        let plain = text(size);
        for stored in [
            seekable(&plain, chunk),
            compress(
                &plain,
                &Compressor::parse("zstd:3").unwrap(),
                &WriteOptions::default(),
            )
            .unwrap(),
        ] {
            for (name, arguments) in [("zstd", ["-dc", "-q"]), ("pzstd", ["-dc", "-q"])] {
                if let Some(found) = tool(name, &arguments, &stored) {
                    assert!(found == plain, "{name} {size}");
                }
            }
        }
        for (name, arguments) in [
            ("zstd", ["-3", "-c", "-T2", "-q"]),
            ("pzstd", ["-3", "-c", "-p2", "-q"]),
        ] {
            if let Some(stored) = tool(name, &arguments, &plain) {
                assert!(read_every_way(&stored).unwrap() == plain, "{name} {size}");
            }
        }
    }
}

#[test]
fn any_part_is_the_slice_it_is() {
    let mut plain = text(1_000_000);
    plain.extend(noise(3, 70_000));
    let walked = {
        // Two tables: the last covers the second file only, so all is found by walking.
        let (first, second) = plain.split_at(400_000);
        [seekable(first, 64 << 10), seekable(second, 64 << 10)].concat()
    };
    for stored in [
        seekable(&plain, 64 << 10),
        walked,
        seekable(&plain, 4 << 20),
    ] {
        let mut reader = SeekableReader::new(stored, ReadOptions::default()).unwrap();
        assert_eq!(plain.len() as u64, reader.len());
        for seed in noise(11, 900).chunks_exact(3) {
            let at = usize::from(seed[0]) * 4400 + usize::from(seed[1]);
            let mut into = vec![0; usize::from(seed[2]) * 700];
            let size = reader.read_at(at as u64, &mut into).unwrap();
            let end = (at + into.len()).min(plain.len());
            assert!(into[..size] == plain[at.min(plain.len())..end]);
        }
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        assert!(all == plain);
    }
}

#[test]
fn a_table_that_lies_never_changes_bytes() {
    let plain = text(300_000);
    let stored = seekable(&plain, 64 << 10);
    let table = stored.len() - (8 + 5 * 8 + 9);
    assert_eq!([0x5e, 0x2a, 0x4d, 0x18], stored[table..table + 4]);
    for bit in table * 8..stored.len() * 8 {
        let mut lying = stored.clone();
        lying[bit / 8] ^= 1 << (bit % 8);
        if let Ok(found) = decompress(&lying, &options(2)) {
            assert!(found == plain, "{bit}");
        }
        let Ok(mut reader) = SeekableReader::new(lying, ReadOptions::default()) else {
            continue;
        };
        let mut found = Vec::new();
        if reader.read_to_end(&mut found).is_ok() {
            assert!(found == plain, "{bit}");
        }
    }
}

#[test]
fn one_long_frame_is_read_from_its_start_only() {
    let plain = text(40 << 20);
    let stored = compress(
        &plain,
        &Compressor::parse("zstd:1").unwrap(),
        &WriteOptions::default(),
    )
    .unwrap();
    assert!(read_every_way(&stored).unwrap() == plain);
    let error = SeekableReader::new(stored, ReadOptions::default()).unwrap_err();
    assert_eq!(ErrorKind::Unsupported, error.kind());
    assert!(error.to_string().contains("layout=seekable"), "{error}");
}
