//! Damaged and made-up files of qs, qs2 and qdata end in an error or a value: no panic, no memory
//! for lengths that no bytes stand behind, no shorter vector.

use tare::robject::{
    qdata, qs, qs2, Body, Builder, Id, RObject, ReadOptions, Special, WriteOptions,
};
use tare::{ErrorKind, Result};
use xxhash_rust::xxh3::xxh3_64;

use crate::common;
use crate::r_files;

use common::noise;
use common::soak::{self, Sample};
use r_files::group;

type Parse = fn(&[u8], &ReadOptions) -> Result<RObject>;

const FORMATS: [(&str, Parse); 3] = [
    ("qs", qs::parse),
    ("qs2", qs2::parse),
    ("qdata", qdata::parse),
];

fn options() -> ReadOptions {
    ReadOptions {
        memory_budget: Some(64 << 20),
        ..ReadOptions::default()
    }
}

fn kind(result: Result<RObject>) -> Option<ErrorKind> {
    result.err().map(|error| {
        assert!(error.format().is_some(), "{error}");
        assert!(error.to_string().len() < 500, "{error}");
        error.kind()
    })
}

/// A list of a vector of each type, with names and a class.
fn sample() -> RObject {
    let mut build = Builder::new();
    let parts = [
        Body::Logical(vec![1, 0, i32::MIN]),
        Body::Integer((0..90).collect()),
        Body::Double((0..70).map(f64::from).collect()),
        Body::Complex(vec![[1.0, -0.0], [f64::NAN, 2.0]]),
        Body::Raw(noise(3, 40)),
        Body::Character(Box::new(
            ["a", "\u{e9}", ""].map(Some).into_iter().collect(),
        )),
        Body::List(vec![Id::NULL, Special::GlobalEnv.id()]),
    ];
    let parts: Vec<Id> = parts
        .into_iter()
        .map(|body| build.push(body).unwrap())
        .collect();
    let list = build.push(Body::List(parts)).unwrap();
    let names = build.strings(["a", "b", "c", "d", "e", "f", "g"]).unwrap();
    let class = build.strings(["sample"]).unwrap();
    let attributes = [("names", names), ("class", class)];
    build.set_attributes(list, &attributes).unwrap();
    build.finish(list)
}

/// A file of these blocks, each with whether it is marked as shuffled.
fn container(code: u8, shuffle: u8, blocks: &[(&[u8], bool)], hashed: bool) -> Vec<u8> {
    let mut body = Vec::new();
    for (plain, shuffled) in blocks {
        let mut frame = Vec::with_capacity(zstd_safe::compress_bound(plain.len()));
        zstd_safe::compress(&mut frame, plain, 1).unwrap();
        let size = u32::try_from(frame.len()).unwrap() | u32::from(*shuffled) << 31;
        body.extend(size.to_le_bytes());
        body.extend(frame);
    }
    let mut file = vec![0x0B, 0x0E, 0x0A, code, 1, 1, 2, shuffle];
    file.extend([0; 8]);
    file.extend(if hashed { xxh3_64(&body) } else { 0 }.to_le_bytes());
    file.extend(body);
    file
}

fn of_qdata(plain: &[u8]) -> Result<RObject> {
    qdata::parse(&container(0xCD, 1, &[(plain, false)], false), &options())
}

/// A qs file without a compressor and without a hash.
fn of_qs(plain: &[u8]) -> Result<RObject> {
    let mut file = b"\x0b\x0e\x0a\x0c\0\0\0\0\x03\x00\x40\x00".to_vec();
    file.extend((plain.len() as u64).to_le_bytes());
    file.extend(plain);
    qs::parse(&file, &options())
}

/// Files to damage: our own, and the small ones of the shared folder.
fn files(format: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let write = WriteOptions::default();
    match format {
        "qs2" => files.push(("own".into(), qs2::serialize(&sample(), &write).unwrap())),
        "qdata" => files.push(("own".into(), qdata::serialize(&sample(), &write).unwrap())),
        _ => {}
    }
    for file in group(format).unwrap_or_default() {
        if file.bytes.len() < 400 {
            files.push((file.name, file.bytes));
        }
    }
    files
}

#[test]
fn every_prefix_is_truncated() {
    for (format, parse) in FORMATS {
        for (name, file) in files(format) {
            for size in 0..file.len() {
                let found = kind(parse(&file[..size], &options()));
                assert_eq!(Some(ErrorKind::Truncated), found, "{name}, {size} bytes");
            }
        }
    }
}

#[test]
fn bytes_behind_the_end_are_refused() {
    for (format, parse) in FORMATS {
        for (name, file) in files(format) {
            for more in [&b"\0"[..], b"more", &[0xFF; 9]] {
                let found = kind(parse(&[&file, more].concat(), &options()));
                assert!(found.is_some(), "{name}");
            }
        }
    }
}

#[test]
fn every_flip_of_a_bit_ends_in_an_error_or_a_value() {
    let (mut flips, mut sample) = (0, Sample::new(28 * 8, 7));
    for (format, parse) in FORMATS {
        for (name, file) in files(format).into_iter().take(20) {
            for bit in sample.select(0..file.len() * 8) {
                flips += 1;
                let mut damaged = file.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                let found = kind(parse(&damaged, &options()));
                // Of a checked file all bytes are in the checksum, but whether blocks may be shuffled.
                let shuffle = (56..64).contains(&bit);
                if format != "qs" && !shuffle {
                    assert!(found.is_some(), "{name}, bit {bit}");
                }
            }
        }
    }
    soak::count("flips", flips);
}

/// The same of payloads that no checksum protects.
#[test]
fn flips_behind_the_checksum_end_in_an_error_or_a_value() {
    let options = WriteOptions::default();
    let files = [
        (
            0xC1,
            qs2::serialize(&sample(), &options).unwrap(),
            qs2::parse as Parse,
        ),
        (
            0xCD,
            qdata::serialize(&sample(), &options).unwrap(),
            qdata::parse as Parse,
        ),
    ];
    for (code, file, parse) in files {
        let mut plain = vec![0; 1 << 20];
        let size = zstd_safe::decompress(&mut plain[..], &file[28..]).unwrap();
        let mut planes = plain[..size].to_vec();
        let count = size / 8;
        for (from, byte) in plain[..count * 8].iter().enumerate() {
            planes[from % count * 8 + from / count] = *byte;
        }
        let shuffled = file[27] & 0x80 != 0;
        let plain = if shuffled {
            planes
        } else {
            plain[..size].to_vec()
        };
        for bit in (0..plain.len() * 8).step_by(5) {
            let mut damaged = plain.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            for hashed in [true, false] {
                let file = container(code, 1, &[(&damaged, false)], hashed);
                kind(parse(&file, &small_options()));
            }
        }
    }
}

fn small_options() -> ReadOptions {
    ReadOptions {
        memory_budget: Some(4 << 20),
        ..ReadOptions::default()
    }
}

#[test]
fn forged_lengths_are_truncated_and_take_no_memory() {
    let lengths: [u64; 4] = [1 << 20, u64::from(u32::MAX), 1 << 40, u64::MAX];
    for length in lengths {
        for code in [0x04, 0x08, 0x0C, 0x10, 0x14, 0x16, 0x18, 0x1A] {
            let mut plain = vec![code];
            plain.extend(length.to_le_bytes());
            plain.extend([0; 100]);
            for budget in [None, Some(1 << 30)] {
                let options = ReadOptions {
                    memory_budget: budget,
                    ..ReadOptions::default()
                };
                if code != 0x1A {
                    let file = container(0xCD, 0, &[(&plain, false)], true);
                    let found = kind(qdata::parse(&file, &options)).unwrap();
                    let limit = found == ErrorKind::Limit && budget.is_some();
                    assert!(limit || found == ErrorKind::Truncated, "{code:#X} {length}");
                }
            }
            let found = kind(of_qs(&plain)).unwrap();
            let fits = [ErrorKind::Truncated, ErrorKind::Limit].contains(&found);
            assert!(fits, "qs {code:#X} {length}: {found:?}");
        }
    }
}

#[test]
fn a_long_vector_over_many_blocks_is_read() {
    let zeros = vec![0; 1 << 20];
    let mut first = vec![0x08];
    first.extend((10_u64 << 17).to_le_bytes());
    let mut blocks = vec![(&first[..], false)];
    blocks.extend([(&zeros[..], false); 10]);
    let file = container(0xCD, 0, &blocks, true);
    let object = qdata::parse(&file, &options()).unwrap();
    assert!(matches!(&object.node().body, Body::Double(values) if values.len() == 10 << 17));
    let cut = container(0xCD, 0, &blocks[..10], true);
    assert_eq!(
        Some(ErrorKind::Truncated),
        kind(qdata::parse(&cut, &options()))
    );
    let small = ReadOptions {
        memory_budget: Some(1 << 20),
        ..ReadOptions::default()
    };
    assert_eq!(Some(ErrorKind::Limit), kind(qdata::parse(&file, &small)));
}

#[test]
fn nesting_is_limited_and_goes_as_deep_as_is_asked_for() {
    let deep = 1_000_000;
    // A list of one, a million times, then NULL; in qs, attributes of attributes too.
    let lists = [vec![0x21; deep], vec![0]].concat();
    let mut attributes = Vec::new();
    for _ in 0..deep {
        attributes.extend(b"\xe1\x20");
    }
    let most = ReadOptions {
        max_depth: 2 * deep + 2,
        ..ReadOptions::default()
    };
    let blocks: Vec<(&[u8], bool)> = lists.chunks(1 << 20).map(|block| (block, false)).collect();
    let file = container(0xCD, 0, &blocks, true);
    assert_eq!(
        Some(ErrorKind::Limit),
        kind(qdata::parse(&file, &options()))
    );
    let object = qdata::parse(&file, &most).unwrap();
    assert!(object.arena().len() > deep);
    let again = qdata::serialize(&object, &WriteOptions::default()).unwrap();
    assert!(qdata::parse(&again, &most).unwrap().arena().len() > deep);
    assert_eq!(Some(ErrorKind::Limit), kind(of_qs(&lists)));
    assert_eq!(Some(ErrorKind::Limit), kind(of_qs(&attributes)));
    let calls = b"\x1c\x04\0".repeat(deep);
    assert_eq!(Some(ErrorKind::Limit), kind(of_qs(&calls)));
}

#[test]
fn what_no_writer_makes_is_refused() {
    let good: &[u8] = b"\x42\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40";
    assert!(of_qdata(good).is_ok());
    for (why, plain) in [
        ("an unknown type", &b"\x19\x01\0\0\0\0"[..]),
        ("bytes behind", b"\0\0"),
        ("an attribute named NA", b"\xe1\x00\xff\0"),
    ] {
        assert_eq!(Some(ErrorKind::Malformed), kind(of_qdata(plain)), "{why}");
    }
    for (why, plain) in [
        (
            "an environment that is not there",
            &b"\x1c\x10\x05\0\0\0"[..],
        ),
        (
            "two environments of a number",
            b"\x1c\x08\x01\0\0\0\x1c\x08\x01\0\0\0\0\0\0\0\0",
        ),
        ("an unknown type", b"\x1b"),
        ("an unknown pair", b"\x1c\x00"),
        ("an unknown string", b"\xa1\x04"),
        ("two counts of attributes", b"\xe1\xe1\x20"),
        ("attributes of a reference", b"\xe1\x1c\x10\x01\0\0\0"),
        ("bytes behind", b"\0\0"),
        (
            "bytes behind what is embedded",
            b"\x19\x13\0\0\0X\n\0\0\0\x02\0\x04\x02\x02\0\x02\x03\0\0\0\0\xfe\0",
        ),
        (
            "a cut serialization",
            b"\x19\x11\0\0\0X\n\0\0\0\x02\0\x04\x02\x02\0\x02\x03\0\0\0\0",
        ),
    ] {
        assert_eq!(Some(ErrorKind::Malformed), kind(of_qs(plain)), "{why}");
    }
    let whole = b"\x19\x12\0\0\0X\n\0\0\0\x02\0\x04\x02\x02\0\x02\x03\0\0\0\0\xfd";
    assert_eq!(Special::GlobalEnv.id(), of_qs(whole).unwrap().id());
}

#[test]
fn headers_and_blocks_that_no_writer_makes_are_refused() {
    let good = container(0xCD, 1, &[(&[0], false)], true);
    assert!(qdata::parse(&good, &options()).is_ok());
    for (at, byte, expected) in [
        (0, 0x0C, ErrorKind::Malformed),
        (3, 0xC1, ErrorKind::Malformed),
        (4, 2, ErrorKind::Unsupported),
        (5, 2, ErrorKind::Unsupported),
        (6, 1, ErrorKind::Unsupported),
        (6, 0, ErrorKind::Malformed),
        (7, 2, ErrorKind::Malformed),
        (9, 1, ErrorKind::Malformed),
        (16, !good[16], ErrorKind::ChecksumMismatch),
        (30, !good[30], ErrorKind::ChecksumMismatch),
    ] {
        let mut file = good.clone();
        file[at] = byte;
        assert_eq!(
            Some(expected),
            kind(qdata::parse(&file, &options())),
            "byte {at}"
        );
    }
    let planes = container(0xCD, 0, &[(&[0], true)], true);
    assert_eq!(
        Some(ErrorKind::Malformed),
        kind(qdata::parse(&planes, &options()))
    );
    let long = vec![0x20; (1 << 20) + 1];
    let long = container(0xCD, 0, &[(&long, false)], true);
    assert_eq!(
        Some(ErrorKind::Malformed),
        kind(qdata::parse(&long, &options()))
    );
    // Two frames in one block, and a size beyond what 1 MiB may need.
    let mut two = container(0xCD, 0, &[(&[0x40], false)], false);
    let frame = two[28..].to_vec();
    two.extend(&frame);
    two[24] = u8::try_from(frame.len() * 2).unwrap();
    assert_eq!(
        Some(ErrorKind::Malformed),
        kind(qdata::parse(&two, &options()))
    );
    two[24..28].copy_from_slice(&(1_u32 << 21).to_le_bytes());
    assert_eq!(
        Some(ErrorKind::Malformed),
        kind(qdata::parse(&two, &options()))
    );
}

/// Strings and numbers that the end of a block cuts at every place.
#[test]
fn blocks_may_end_at_any_byte() {
    let file = qdata::serialize(&sample(), &WriteOptions::default()).unwrap();
    let mut plain = vec![0; 1 << 20];
    let size = zstd_safe::decompress(&mut plain[..], &file[28..]).unwrap();
    plain.truncate(size);
    if file[27] & 0x80 != 0 {
        let planes = plain.clone();
        let count = size / 8;
        for (from, byte) in planes[..count * 8].iter().enumerate() {
            plain[from % count * 8 + from / count] = *byte;
        }
    }
    let expected = qdata::serialize(
        &qdata::parse(&file, &options()).unwrap(),
        &WriteOptions::default(),
    );
    let expected = expected.unwrap();
    for cut in 0..=plain.len() {
        let (one, two) = plain.split_at(cut);
        let file = container(0xCD, 0, &[(one, false), (two, false)], true);
        let object = qdata::parse(&file, &options());
        let object = object.unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let again = qdata::serialize(&object, &WriteOptions::default()).unwrap();
        assert!(expected == again, "cut at {cut}");
    }
}
