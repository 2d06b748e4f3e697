//! Files of the R packages qs and qs2 have the values that R has of them, and what is written is
//! read back the same.

use std::io::Cursor;
use std::path::Path;

use serde_json::Value;
use tare::compress::Compressor;
use tare::robject::{qdata, qs, qs2, rds, Losses, RObject, ReadOptions, WriteOptions};
use tare::Result;

use crate::common;
use crate::r_expected;
use crate::r_files;

use common::{shared, Drip};
use r_expected::compare;
use r_files::{group, Fixture};

type Parse = fn(&[u8], &ReadOptions) -> Result<RObject>;
type Stream = fn(Drip<'_>, &ReadOptions) -> Result<RObject>;
type Serialize = fn(&RObject, &WriteOptions) -> Result<Vec<u8>>;

const FORMATS: [(&str, usize, Parse, Stream); 3] = [
    ("qs", 169, qs::parse, |src, options| qs::read(src, options)),
    ("qs2", 72, qs2::parse, |src, options| {
        qs2::read(src, options)
    }),
    ("qdata", 58, qdata::parse, |src, options| {
        qdata::read(src, options)
    }),
];

const WRITTEN: [(&str, Parse, Serialize); 2] = [
    ("qs2", qs2::parse, qs2::serialize),
    ("qdata", qdata::parse, serialize_qdata),
];

fn serialize_qdata(object: &RObject, options: &WriteOptions) -> Result<Vec<u8>> {
    qdata::serialize(object, options)
}

/// The tree of a file. Strings marked as bytes lie in qdata as they are, and R then calls them
/// UTF-8: bytes that are none stay bytes here.
fn tree(file: &Fixture) -> Value {
    let mut tree = file.expected();
    if Path::new(&file.name).extension() == Some("qdata".as_ref())
        && file.text("object") == "chr_mixed_enc"
    {
        tree["values"][3] = serde_json::json!({ "bytes": "fffe0162" });
        tree["encoding"][3] = Value::from("bytes");
    }
    tree
}

fn must<T>(name: &str, result: Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_fixture_has_the_expected_values() {
    for (format, count, parse, stream) in FORMATS {
        let Some(files) = group(format) else {
            return;
        };
        assert_eq!(count, files.len(), "{format}");
        for file in files {
            let (name, options) = (&file.name, ReadOptions::default());
            let expected = tree(&file);
            let object = must(name, parse(&file.bytes, &options));
            compare(&object, &expected).assert_same(name);
            for piece in [5, 1 << 20] {
                let object = must(name, stream(Drip::new(&file.bytes, piece), &options));
                compare(&object, &expected).assert_same(name);
            }
        }
    }
}

#[test]
fn what_is_written_again_has_the_same_values_whatever_the_threads() {
    for (format, parse, serialize) in WRITTEN {
        for file in group(format).unwrap_or_default() {
            let (name, options) = (&file.name, ReadOptions::default());
            let object = must(name, parse(&file.bytes, &options));
            let mut written = Vec::new();
            for threads in [1, 3] {
                let options = WriteOptions {
                    threads: Some(threads),
                    ..WriteOptions::default()
                };
                written.push(must(name, serialize(&object, &options)));
            }
            assert_eq!(written[0], written[1], "{name}");
            let again = must(name, parse(&written[0], &options));
            compare(&again, &tree(&file)).assert_same(name);
        }
    }
}

/// The serialization inside a file, as R wrote it and as it is written again.
#[test]
fn the_payload_of_qs2_is_written_again_byte_by_byte() {
    for file in group("qs2").unwrap_or_default() {
        let options = ReadOptions::default();
        let object = must(&file.name, qs2::parse(&file.bytes, &options));
        let again = qs2::serialize(&object, &WriteOptions::default()).unwrap();
        let plain = plain_blocks(&file.bytes);
        assert!(plain.starts_with(b"B\n"), "{}", file.name);
        assert_eq!(plain, plain_blocks(&again), "{}", file.name);
        let direct = must(&file.name, rds::parse(&plain, &options));
        compare(&direct, &tree(&file)).assert_same(&file.name);
    }
}

/// The plain bytes of a file, by another way than the one that is tested.
fn plain_blocks(file: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut rest = &file[24..];
    while let Some((size, behind)) = rest.split_first_chunk::<4>() {
        let size = u32::from_le_bytes(*size);
        let (frame, behind) = behind.split_at((size & 0x7FFF_FFFF) as usize);
        let block = zstd_safe::get_frame_content_size(frame).unwrap().unwrap();
        let mut place = vec![0; usize::try_from(block).unwrap()];
        zstd_safe::decompress(&mut place[..], frame).unwrap();
        if size >> 31 == 1 {
            let count = place.len() / 8;
            let element = |at: usize| (0..8).map(move |plane| plane * count + at);
            let turned: Vec<u8> = (0..count)
                .flat_map(element)
                .map(|from| place[from])
                .collect();
            place[..count * 8].copy_from_slice(&turned);
        }
        plain.extend(place);
        rest = behind;
    }
    plain
}

/// A table of 100,000 rows: several blocks, shuffled and not.
#[test]
fn tables_of_several_blocks_agree_between_the_formats() {
    let Some(folder) = shared("data/r/fst-qs2") else {
        return;
    };
    for table in ["df", "iris"] {
        let read = |ending: &str| std::fs::read(folder.join(format!("{table}.{ending}"))).unwrap();
        let options = ReadOptions::default();
        let of_qs2 = must(table, qs2::parse(&read("qs2"), &options));
        let of_qdata = must(table, qdata::parse(&read("qdata"), &options));
        let one = must(table, rds::serialize(&of_qs2, &WriteOptions::default()));
        let two = must(table, rds::serialize(&of_qdata, &WriteOptions::default()));
        assert!(one == two, "{table}");
        let level = |level: &str| WriteOptions {
            compressor: Some(Compressor::parse(level).unwrap()),
            ..WriteOptions::default()
        };
        for (format, parse, serialize) in WRITTEN {
            for compressor in ["zstd:1", "zstd:3", "zstd:9"] {
                let written = must(format, serialize(&of_qs2, &level(compressor)));
                let again = must(format, parse(&written, &options));
                let again = must(format, rds::serialize(&again, &WriteOptions::default()));
                assert!(one == again, "{table} {format} {compressor}");
            }
            let mut sink = Cursor::new(b"before".to_vec());
            sink.set_position(6);
            let options = WriteOptions::default();
            if format == "qs2" {
                qs2::serialize_to(&of_qs2, &options, &mut sink).unwrap();
            } else {
                let mut losses = Losses::new(true);
                qdata::serialize_to(&of_qs2, &options, &mut losses, &mut sink).unwrap();
            }
            let written = must(format, serialize(&of_qs2, &options));
            assert!(sink.into_inner()[6..] == written[..], "{table} {format}");
        }
    }
}
