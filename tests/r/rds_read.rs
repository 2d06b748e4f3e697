//! Files of one object read whole and as streams: the same object, whatever the pieces.

use crate::common;

use std::fs::{self, File};
use std::io::Read;

use common::rds_files::{difference, fixtures};
use common::soak;
use tare::compress::{compress, decompress, Compressor, Kind, ReadOptions as Plain};
use tare::robject::{
    inspect, rds, read, sniff, Encoding, FindingKind, Format, RObject, ReadOptions, Source,
    WriteOptions,
};
use tare::ErrorKind;

fn bytes_of(object: &RObject) -> Vec<u8> {
    let options = WriteOptions {
        encoding: Some(object.arena().header().encoding),
        ..WriteOptions::default()
    };
    rds::serialize(object, &options).unwrap()
}

#[test]
fn every_fixture_reads_the_same_from_bytes_files_and_drips() {
    let Some(folder) = common::shared("fixtures/rds") else {
        return;
    };
    let mut count = 0;
    for (name, path) in fixtures(&folder) {
        let stored = fs::read(&path).unwrap();
        let plain = decompress(&stored, &Plain::default()).unwrap();
        let one_thread = ReadOptions {
            threads: Some(1),
            ..ReadOptions::default()
        };
        let read_as = |source: Source<'_>, options: &ReadOptions| {
            let object = read(source, options).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(None, difference(&plain, &bytes_of(&object)), "{name}");
        };
        read_as(Source::from(&stored), &ReadOptions::default());
        read_as(Source::from(File::open(&path).unwrap()), &one_thread);
        read_as(
            Source::stream(common::Drip::new(&stored, 7)),
            &ReadOptions::default(),
        );
        let found = sniff(&stored).unwrap();
        assert_eq!(Format::Rds, found.format, "{name}");
        count += 1;
    }
    assert!(count > 1000, "{count} fixtures");
}

/// A block of bzip2 gives nothing before its end, which may be far behind the beginning.
#[test]
fn a_format_is_told_however_long_the_first_block_is() {
    let mut build = tare::robject::Builder::new();
    let noise = common::noise(11, 200 << 10);
    let raw = build.push(tare::robject::Body::Raw(noise)).unwrap();
    let objects = [("noise".to_owned(), build.finish(raw))];
    for id in ["none", "gzip", "bz2", "xz", "zstd", "lz4"] {
        let options = WriteOptions::default();
        let plain = tare::robject::rdata::serialize(&objects, &options).unwrap();
        let compressor = Compressor::parse(id).unwrap();
        let stored = compress(
            &plain,
            &compressor,
            &tare::compress::WriteOptions::default(),
        )
        .unwrap();
        let found = tare::robject::sniff_stream(common::Drip::new(&stored, 700)).unwrap();
        assert_eq!(Some(Format::Rdata), found.map(|found| found.format), "{id}");
        let (object, format) = tare::robject::read_told(&stored, &ReadOptions::default()).unwrap();
        assert_eq!((Format::Rdata, 1), (format, object.length()), "{id}");
    }
}

/// Strings, numbers and pairs over several chunks of 1 MiB, in every encoding and compressor.
#[test]
fn objects_longer_than_chunks_read_the_same_as_in_one_buffer() {
    let mut build = tare::robject::Builder::new();
    let noise = common::noise(5, 1 << 20);
    let texts: Vec<String> = noise
        .chunks(9)
        .map(|chunk| chunk.iter().map(|b| char::from(b % 94 + 33)).collect())
        .collect();
    let long = String::from_utf8(vec![b'x'; 2 << 20]).unwrap();
    let texts = texts.iter().map(|text| &text[..]).chain([&long[..], ""]);
    let strings = build.strings(texts).unwrap();
    let ints = noise
        .chunks_exact(4)
        .map(|b| i32::from(b[0]) * i32::from(b[1]));
    let ints = build
        .push(tare::robject::Body::Integer(ints.collect()))
        .unwrap();
    let raw = build.push(tare::robject::Body::Raw(noise.clone())).unwrap();
    let doubles = noise
        .chunks_exact(5)
        .map(|b| f64::from(b[0]) / f64::from(b[1]));
    let doubles = doubles.map(|x| if x.is_nan() { 0.5 } else { x }).collect();
    let doubles = build.push(tare::robject::Body::Double(doubles)).unwrap();
    let pairs = build.pairlist(&[("a", ints), ("b", doubles)]).unwrap();
    let list = vec![strings, pairs, raw, strings];
    let list = build.push(tare::robject::Body::List(list)).unwrap();
    let object = build.finish(list);
    let all = [
        Encoding::Xdr,
        Encoding::Native,
        Encoding::Ascii,
        Encoding::AsciiHex,
    ];
    for encoding in all {
        let options = WriteOptions {
            encoding: Some(encoding),
            ..WriteOptions::default()
        };
        let plain = rds::serialize(&object, &options).unwrap();
        let all = ["none", "gzip:1", "gzip:1,layout=single", "zstd:1", "bz2:1"];
        let few = if encoding == Encoding::Xdr { 5 } else { 1 };
        for id in &all[..soak::scaled(few, 5)] {
            let stored = compress(
                &plain,
                &Compressor::parse(id).unwrap(),
                &tare::compress::WriteOptions::default(),
            );
            let stored = stored.unwrap();
            // A stream without a known end, and one that does not fit into what is held.
            let endless = Source::stream(stored.as_slice().chain(std::io::empty()));
            let back = read(endless, &ReadOptions::default()).unwrap();
            assert_eq!(
                None,
                difference(&plain, &bytes_of(&back)),
                "{encoding:?} {id}"
            );
        }
        let drip = Source::stream(common::Drip::new(&plain, 65_537));
        let back = read(drip, &ReadOptions::default()).unwrap();
        assert_eq!(None, difference(&plain, &bytes_of(&back)), "{encoding:?}");
    }
}

#[test]
fn bad_files_are_errors_of_their_kind() {
    let Some(folder) = common::shared("fixtures/rds") else {
        return;
    };
    for (name, kind) in [
        ("BAD_empty.rds", ErrorKind::Truncated),
        ("BAD_truncated_gzip.rds", ErrorKind::Truncated),
        ("BAD_truncated_xdr.rds", ErrorKind::Truncated),
        ("BAD_version9.rds", ErrorKind::Unsupported),
    ] {
        let path = folder.join(name);
        let error = read(&fs::read(&path).unwrap(), &ReadOptions::default()).unwrap_err();
        assert_eq!(kind, error.kind(), "{name}: {error}");
        let file = File::open(&path).unwrap();
        let error = read(file, &ReadOptions::default()).unwrap_err();
        assert_eq!(kind, error.kind(), "{name}: {error}");
    }
    // Its length is whole: what was changed is a double, and R reads it too.
    let file = fs::read(folder.join("BAD_huge_length.rds")).unwrap();
    let object = read(&file, &ReadOptions::default()).unwrap();
    assert_eq!(file, bytes_of(&object));
}

#[test]
fn limits_hold_for_budget_ratio_and_cancelling() {
    let mut build = tare::robject::Builder::new();
    let zeros = build
        .push(tare::robject::Body::Raw(vec![0; 8 << 20]))
        .unwrap();
    let plain = rds::serialize(&build.finish(zeros), &WriteOptions::default()).unwrap();
    let settings = tare::compress::WriteOptions::default();
    let stored = compress(&plain, &Compressor::parse("gzip:6").unwrap(), &settings).unwrap();
    let kind = |options: &ReadOptions| {
        let bytes = read(&stored, options).unwrap_err().kind();
        let drip = Source::stream(common::Drip::new(&stored, 4096));
        assert_eq!(bytes, read(drip, options).unwrap_err().kind());
        bytes
    };
    let budget = ReadOptions {
        memory_budget: Some(1 << 20),
        ..ReadOptions::default()
    };
    assert_eq!(ErrorKind::Limit, kind(&budget));
    let ratio = ReadOptions {
        max_ratio: Some(20),
        ..ReadOptions::default()
    };
    assert_eq!(ErrorKind::Limit, kind(&ratio));
    let cancel = tare::compress::CancelToken::new();
    cancel.cancel();
    let cancelled = ReadOptions {
        cancel: Some(cancel),
        ..ReadOptions::default()
    };
    assert_eq!(ErrorKind::Cancelled, kind(&cancelled));
}

#[test]
fn what_is_more_than_data_is_found_with_its_path() {
    let Some(folder) = common::shared("fixtures/rds") else {
        return;
    };
    let kinds = |name: &str| {
        let file = fs::read(folder.join(name)).unwrap();
        let found = inspect(&file, &ReadOptions::default()).unwrap();
        assert_eq!((Format::Rds, Kind::None), (found.format, found.wrapper));
        assert_eq!(Some([4, 2, 2]), found.writer);
        let all: Vec<FindingKind> = found.findings.iter().map(|one| one.kind).collect();
        (all, found)
    };
    let (found, _) = kinds("environment_promise.v3.xdr.none.rds");
    assert!(found.contains(&FindingKind::Promise), "{found:?}");
    let (found, _) = kinds("bytecode_closure.v3.xdr.none.rds");
    assert!(found.contains(&FindingKind::Closure), "{found:?}");
    let (found, inspection) = kinds("data_frame.v3.xdr.none.rds");
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(["data.frame"], inspection.tree[0].class[..]);
    assert!(inspection.tree.len() > 1);
    let code = fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/vectors/robject/bytecode.rds"
    ));
    let found = inspect(&code.unwrap(), &ReadOptions::default()).unwrap();
    let kinds: Vec<_> = found.findings.iter().map(|one| one.kind).collect();
    assert!(kinds.contains(&FindingKind::Bytecode) && kinds.contains(&FindingKind::Closure));
}

#[test]
fn many_members_are_read_though_the_last_tells_of_few_bytes() {
    // Of more plain bytes than one buffer holds, with members of 1 MiB each.
    let mut build = tare::robject::Builder::new();
    let values: Vec<i32> = (0..36 << 20).collect();
    let id = build.push(tare::robject::Body::Integer(values)).unwrap();
    let mut stored = Vec::new();
    let options = WriteOptions {
        compressor: Some(Compressor::parse("gzip:1").unwrap()),
        ..WriteOptions::default()
    };
    tare::robject::write(&build.finish(id), &mut stored, &options).unwrap();
    let object = read(&stored, &ReadOptions::default()).unwrap();
    assert_eq!(36 << 20, object.length());
}
