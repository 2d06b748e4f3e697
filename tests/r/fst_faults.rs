//! Damaged, cut and forged files: an error or a value, never a crash, a hang or much memory.

use crate::common;

use common::shared;
use common::soak::{self, Sample};
use std::path::{Path, PathBuf};
use tare::fst::{self, blob, Column, Data, ReadOptions, Table, WriteOptions};
use tare::ErrorKind;
use xxhash_rust::xxh64::xxh64;

/// How a byte is changed: each bit of it, and all.
const FLIPS: [u8; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 255];

fn own() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/fst");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "fst"))
        .collect();
    files.sort();
    assert!(files.len() >= 6, "{files:?}");
    files
}

/// Files of this project, and those of the shared folder where it is there.
fn files() -> Vec<(String, Vec<u8>)> {
    let mut paths = own();
    for folder in ["fixtures/fst", "data/r/fst-qs2"] {
        let Some(folder) = shared(folder) else {
            continue;
        };
        let mut more: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "fst"))
            .collect();
        more.sort();
        paths.extend(more);
    }
    let named = |path: PathBuf| (path.display().to_string(), std::fs::read(&path).unwrap());
    paths.into_iter().map(named).collect()
}

fn options() -> ReadOptions {
    ReadOptions {
        memory_budget: Some(64 << 20),
        threads: Some(1),
        ..ReadOptions::default()
    }
}

fn read(bytes: &[u8]) -> tare::Result<Table> {
    fst::open_with(bytes, &options())?.read(None, None)
}

#[test]
fn every_prefix_is_an_error() {
    for (name, bytes) in files() {
        let step = if bytes.len() < 6000 {
            1
        } else {
            bytes.len() / 1000
        };
        for len in (0..bytes.len()).step_by(step) {
            let error = read(&bytes[..len]).expect_err(&name);
            assert_eq!(
                ErrorKind::Truncated,
                error.kind(),
                "{name} cut to {len}: {error}"
            );
            assert_eq!(Some("fst"), error.format());
            assert!(
                error.offset().is_some_and(|offset| offset <= len as u64),
                "{name}: {error}"
            );
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(
            ErrorKind::Malformed,
            read(&longer).expect_err(&name).kind(),
            "{name}"
        );
    }
}

/// Behind the last header.
fn data(bytes: &[u8]) -> usize {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let columns = word(28) & 0xFFFF_FFFF;
    let names = word(32) + 80 + 8 * columns + 24;
    let index = names + word(names + 8);
    word(index + 32) + 24 + 8 * columns
}

/// The names.
fn names(bytes: &[u8]) -> std::ops::Range<usize> {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let columns = word(28) & 0xFFFF_FFFF;
    let start = word(32) + 80 + 8 * columns + 24;
    start..start + word(start + 8)
}

#[test]
fn every_flip_is_an_error_or_a_value() {
    let (mut done, mut flips) = (0, 0);
    let mut sample = Sample::new(48 * 9, 11);
    for (name, bytes) in files().into_iter().filter(|(_, bytes)| bytes.len() < 6000) {
        let whole = read(&bytes).unwrap();
        let head = data(&bytes);
        let names = names(&bytes);
        let mut damaged = bytes.clone();
        let mut silent = 0;
        let all = (0..bytes.len()).flat_map(|at| FLIPS.map(|flip| (at, flip)));
        for (at, flip) in sample.select(all) {
            flips += 1;
            damaged[at] ^= flip;
            match read(&damaged) {
                Ok(table) => {
                    // The names are no header: they have no checksum either.
                    assert!(
                        at >= head || names.contains(&at),
                        "{name}: byte {at} of the headers"
                    );
                    assert_eq!(whole.rows, table.rows, "{name}: byte {at}");
                    silent += usize::from(table != whole);
                }
                Err(error) => {
                    assert_eq!(Some("fst"), error.format(), "{name}: byte {at}: {error}");
                    assert!(error.offset().is_some(), "{name}: byte {at}: {error}");
                }
            }
            damaged[at] ^= flip;
        }
        assert!(
            silent > 0 || whole.rows == 0,
            "{name}: data have no checksum"
        );
        done += 1;
    }
    assert!(done >= 6);
    soak::count("flips", flips);
}

/// Sets bytes of a file and puts the hashes of its headers right.
fn forge(bytes: &[u8], changes: &[(usize, &[u8])]) -> Vec<u8> {
    let mut forged = bytes.to_vec();
    for (at, change) in changes {
        forged[*at..at + change.len()].copy_from_slice(change);
    }
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let columns = word(28) & 0xFFFF_FFFF;
    let set = word(32);
    let names = set + 80 + 8 * columns;
    let index = names + 24 + word(names + 32);
    let chunk = word(index + 32);
    let keys = if set > 48 { (48, set) } else { (0, 48) };
    let heads = [
        (0, 48),
        keys,
        (set, names),
        (names, names + 24),
        (index, index + 96),
        (chunk, chunk + 24 + 8 * columns),
    ];
    for (from, to) in heads {
        let hash = xxh64(&forged[from + 8..to], 912_824_571);
        forged[from..from + 8].copy_from_slice(&hash.to_le_bytes());
    }
    forged
}

fn sample() -> Vec<u8> {
    let texts = [Some("a"), None, Some("ccc")].into_iter().collect();
    let levels = [Some("x")].into_iter().collect();
    let table = Table {
        columns: vec![
            Column::new("i", Data::Int(vec![1, 2, 3])),
            Column::new("t", Data::Text(texts)),
            Column::new(
                "f",
                Data::Factor {
                    codes: vec![1, 1, i32::MIN],
                    levels,
                },
            ),
            Column::new("d", Data::Double(vec![0.5; 3])),
        ],
        rows: 3,
        keys: vec![0],
    };
    fst::to_vec(&table, &WriteOptions::default()).unwrap()
}

#[test]
fn forged_headers_are_refused() {
    let bytes = sample();
    assert!(read(&forge(&bytes, &[])).is_ok());
    let set = 64;
    let index = set + 80 + 32 + 24 + {
        let names = set + 80 + 32 + 24;
        u64::from_le_bytes(bytes[names + 8..names + 16].try_into().unwrap()) as usize
    };
    let chunk = index + 96;
    let size = bytes.len() as u64;
    let huge = (1_u64 << 60).to_le_bytes();
    let rows = |rows: u64| {
        let rows = rows.to_le_bytes();
        forge(&bytes, &[(set + 64, &rows), (index + 64, &rows)])
    };
    let position =
        |column: usize, at: u64| forge(&bytes, &[(chunk + 24 + 8 * column, &at.to_le_bytes())]);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("negative columns", forge(&bytes, &[(28, &[255; 4])])),
        (
            "columns",
            forge(&bytes, &[(28, &0x7FFF_FFFF_u32.to_le_bytes())]),
        ),
        (
            "columns of the chunk set",
            forge(&bytes, &[(set + 72, &[5])]),
        ),
        ("negative keys", forge(&bytes, &[(40, &[255; 4])])),
        ("keys", forge(&bytes, &[(40, &[5])])),
        ("key column", forge(&bytes, &[(56, &[4])])),
        ("place of the chunk set", forge(&bytes, &[(32, &huge)])),
        ("chunk set in the header", forge(&bytes, &[(32, &[8])])),
        ("another chunk set", forge(&bytes, &[(set + 40, &[1])])),
        ("version", forge(&bytes, &[(8, &[2])])),
        ("newest version", forge(&bytes, &[(24, &[2])])),
        ("flags", forge(&bytes, &[(12, &[2])])),
        ("magic", forge(&bytes, &[(44, &[1])])),
        ("attribute", forge(&bytes, &[(set + 80, &[1])])),
        (
            "attribute of another type",
            forge(&bytes, &[(set + 80, &[10])]),
        ),
        ("type", forge(&bytes, &[(set + 88, &[9])])),
        ("base", forge(&bytes, &[(set + 96, &[9])])),
        ("scale", forge(&bytes, &[(set + 104, &[8])])),
        ("rows of the chunk", forge(&bytes, &[(index + 64, &[4])])),
        ("place of the chunk", forge(&bytes, &[(index + 32, &huge)])),
        (
            "chunk in its index",
            forge(&bytes, &[(index + 32, &[0; 8])]),
        ),
        ("one row less", rows(2)),
        ("one row more", rows(4)),
        ("rows", rows(100_000)),
        ("many rows", rows(1 << 40)),
        ("all rows", rows(u64::MAX)),
        ("position in the headers", position(0, 48)),
        ("positions that fall", position(1, 1)),
        ("position behind the end", position(3, size + 1)),
        ("position at the end", position(3, size)),
        ("all positions at the end", {
            let end = size.to_le_bytes();
            let places: Vec<_> = (0..4)
                .map(|column| (chunk + 24 + 8 * column, &end[..]))
                .collect();
            forge(&bytes, &places)
        }),
    ];
    for (what, forged) in cases {
        let error = read(&forged).map(|_| ()).expect_err(what);
        let kinds = [
            ErrorKind::Truncated,
            ErrorKind::Malformed,
            ErrorKind::Unsupported,
            ErrorKind::Limit,
            ErrorKind::ChecksumMismatch,
        ];
        assert!(kinds.contains(&error.kind()), "{what}: {error}");
        assert!(error.offset().is_some(), "{what}: {error}");
    }
}

#[test]
fn forged_columns_are_refused() {
    let bytes = sample();
    let start = data(&bytes);
    for at in start..bytes.len() {
        for value in [0, 1, 0x7F, 0x80, 0xFF] {
            let mut forged = bytes.clone();
            forged[at..bytes.len().min(at + 4)].fill(value);
            if let Ok(table) = read(&forged) {
                assert_eq!(3, table.rows);
            }
        }
    }
}

#[test]
fn a_factor_without_levels_takes_no_more_than_the_limits_allow() {
    let rows = 5;
    let levels = std::iter::empty::<Option<&str>>().collect();
    let columns = vec![Column::new(
        "f",
        Data::Factor {
            codes: vec![i32::MIN; 5],
            levels,
        },
    )];
    let bytes = fst::to_vec(
        &Table {
            columns,
            rows,
            keys: vec![],
        },
        &WriteOptions::default(),
    )
    .unwrap();
    assert_eq!(5, read(&bytes).unwrap().rows);
    // Without its codes, and with any number of rows.
    let start = data(&bytes);
    for rows in [5, 1_u64 << 20, 1 << 33, 1 << 61] {
        let set = 48;
        let index = start - 8 - 24 - 96;
        let rows = rows.to_le_bytes();
        let short = forge(&bytes, &[(set + 64, &rows), (index + 64, &rows)]);
        let result = fst::open(&short[..start + 16]).and_then(|reader| reader.read(None, None));
        match result {
            Ok(table) => assert!(table.rows <= 1 << 20),
            Err(error) => assert_eq!(ErrorKind::Limit, error.kind(), "{error}"),
        }
    }
}

#[test]
fn a_budget_is_kept_and_named() {
    let columns = vec![Column::new("d", Data::Double(vec![0.0; 100_000]))];
    let bytes = fst::to_vec(
        &Table {
            columns,
            rows: 100_000,
            keys: vec![],
        },
        &WriteOptions::default(),
    )
    .unwrap();
    let of = |memory_budget| ReadOptions {
        memory_budget: Some(memory_budget),
        ..ReadOptions::default()
    };
    assert!(fst::open_with(bytes.as_slice(), &of(800_000))
        .unwrap()
        .read(None, None)
        .is_ok());
    let reader = fst::open_with(bytes.as_slice(), &of(799_999)).unwrap();
    let error = reader.read(None, None).unwrap_err();
    assert_eq!(ErrorKind::Limit, error.kind());
    assert!(error.to_string().contains("memory_budget"), "{error}");
    assert!(reader.read(None, Some(0..99_999)).is_ok());
}

/// A blob of LZ4 blocks of 100 bytes.
fn blob_of(plain: &[u8], hashed: bool) -> Vec<u8> {
    let blocks: Vec<_> = plain.chunks(100).map(lz4_flex::block::compress).collect();
    let mut rest = Vec::new();
    rest.extend_from_slice(&100_u32.to_le_bytes());
    rest.extend_from_slice(&1_u32.to_le_bytes());
    rest.extend_from_slice(&(1 | u32::from(hashed) << 31).to_le_bytes());
    rest.extend_from_slice(&(plain.len() as u64).to_le_bytes());
    let each: Vec<u8> = blocks
        .iter()
        .flat_map(|block| xxh64(block, 912_824_571).to_le_bytes())
        .collect();
    let hash = if hashed { xxh64(&each, 912_824_571) } else { 0 };
    rest.extend_from_slice(&hash.to_le_bytes());
    let mut at = 8 * (blocks.len() as u64 + 5);
    rest.extend_from_slice(&at.to_le_bytes());
    for block in &blocks {
        at += block.len() as u64;
        rest.extend_from_slice(&at.to_le_bytes());
    }
    let mut all = xxhash_rust::xxh32::xxh32(&rest, 912_824_571)
        .to_le_bytes()
        .to_vec();
    all.extend(rest);
    all.extend(blocks.concat());
    all
}

#[test]
fn damaged_blobs_are_an_error_or_a_value() {
    let mut blobs = vec![
        blob_of(&b"weighed, and found wanting; ".repeat(20), true),
        blob_of(&b"weighed, and found wanting; ".repeat(20), false),
        blob_of(b"", false),
        blob_of(&[7; 100], true),
    ];
    for name in ["lz4_50", "zstd_50"] {
        if let Some(path) = shared(&format!("fixtures/fst/compress_fst_{name}.bin")) {
            blobs.push(std::fs::read(path).unwrap());
        }
    }
    for bytes in blobs {
        let plain = blob::decompress(&bytes, &options()).unwrap();
        for len in 0..bytes.len() {
            let error = blob::decompress(&bytes[..len], &options()).unwrap_err();
            assert_eq!(ErrorKind::Truncated, error.kind(), "{len}: {error}");
        }
        let hashed = bytes[15] & 0x80 != 0;
        let mut damaged = bytes.clone();
        for at in 0..bytes.len() {
            for flip in FLIPS {
                damaged[at] ^= flip;
                match blob::decompress(&damaged, &options()) {
                    Ok(found) => {
                        assert!(!hashed, "byte {at}");
                        assert_eq!(plain.len(), found.len());
                    }
                    Err(error) => assert_eq!(Some("fst"), error.format(), "{error}"),
                }
                damaged[at] ^= flip;
            }
        }
    }
}
