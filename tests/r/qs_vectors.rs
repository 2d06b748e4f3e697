//! Golden files of qs2 and qdata: written once, read for ever. What is in their blocks is what is
//! written today.

use std::path::{Path, PathBuf};

use tare::robject::{
    qdata, qs2, rds, Body, Builder, Id, RObject, ReadOptions, Special, Strings, TextEncoding,
    WriteOptions, NA_INT, NA_REAL,
};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("vectors")
        .join(name)
}

/// A vector of each type, with attributes, and a list in a list.
fn types() -> RObject {
    let mut build = Builder::new();
    let mut strings = Strings::default();
    strings.push_str("ascii");
    strings.push_str("caf\u{e9}");
    strings.push_na();
    strings.push_str(&"long ".repeat(60));
    strings.push(b"\xff\xfe", TextEncoding::Bytes.levels());
    let parts = [
        Body::Special(Special::Null),
        Body::Logical(vec![1, 0, NA_INT]),
        Body::Integer((-3..97).chain([NA_INT]).collect()),
        Body::Double(vec![1.5, -0.0, f64::from_bits(NA_REAL), f64::INFINITY]),
        Body::Complex(vec![[1.0, 2.0], [f64::from_bits(NA_REAL), 0.0]]),
        Body::Raw((0..=255).collect()),
        Body::Character(Box::new(strings)),
        Body::Integer(Vec::new()),
        Body::List(Vec::new()),
    ];
    let parts: Vec<Id> = parts
        .into_iter()
        .map(|body| build.push(body).unwrap())
        .collect();
    let class = build.strings(["one", "two"]).unwrap();
    let note = build.push(Body::Double(vec![7.0])).unwrap();
    let attributes = [("class", class), ("note", note)];
    build.set_attributes(parts[2], &attributes).unwrap();
    let list = build.push(Body::List(parts)).unwrap();
    let names = build
        .strings(["a", "b", "c", "d", "e", "f", "g", "h", "i"])
        .unwrap();
    build.set_attributes(list, &[("names", names)]).unwrap();
    let outer = build.push(Body::List(vec![list, Id::NULL])).unwrap();
    build.finish(outer)
}

/// A data frame of more than a block: numbers that planes make smaller, and strings.
fn table() -> RObject {
    let mut build = Builder::new();
    let rows = 60_000;
    let whole = build
        .push(Body::Integer((0..rows).map(|row| row * 7).collect()))
        .unwrap();
    let real = (0..rows).map(|row| f64::from(row) * 0.25).collect();
    let real = build.push(Body::Double(real)).unwrap();
    let words = ["JFK", "LGA", "EWR"];
    let words = (0..rows).map(|row| Some(words[usize::try_from(row % 3).unwrap()]));
    let words = build
        .push(Body::Character(Box::new(words.collect())))
        .unwrap();
    let frame = build.push(Body::List(vec![whole, real, words])).unwrap();
    let names = build.strings(["whole", "real", "words"]).unwrap();
    let class = build.strings(["data.frame"]).unwrap();
    let row_names = build.push(Body::Integer(vec![NA_INT, -rows])).unwrap();
    let attributes = [("names", names), ("class", class), ("row.names", row_names)];
    build.set_attributes(frame, &attributes).unwrap();
    build.finish(frame)
}

/// Forty attributes, and lengths around each width of a length field.
fn widths() -> RObject {
    let mut build = Builder::new();
    let sizes = [0, 1, 31, 32, 255, 256, 65_535, 65_536];
    let mut parts = Vec::new();
    for size in sizes {
        parts.push(build.push(Body::Logical(vec![1; size])).unwrap());
        let text = "x".repeat(size.min(70_000));
        parts.push(build.strings([text.as_str()]).unwrap());
    }
    for size in [252, 253] {
        let text = "y".repeat(size);
        parts.push(build.strings([text.as_str()]).unwrap());
    }
    let list = build.push(Body::List(parts)).unwrap();
    let names: Vec<String> = (0..40).map(|at| format!("attribute{at}")).collect();
    let pairs: Vec<(&str, Id)> = names.iter().map(|name| (name.as_str(), Id::NULL)).collect();
    build.set_attributes(list, &pairs).unwrap();
    build.finish(list)
}

/// An environment that holds itself, which qs2 alone has.
fn ring() -> RObject {
    let mut build = Builder::new();
    let environment = build.reserve().unwrap();
    let frame = build.pairlist(&[("self", environment)]).unwrap();
    let body = Body::Environment {
        locked: 0,
        enclosure: Special::GlobalEnv.id(),
        frame,
        hashtab: Id::NULL,
    };
    build.fill(environment, tare::robject::Node::new(body));
    build.finish(environment)
}

fn cases() -> Vec<(&'static str, RObject)> {
    vec![("types", types()), ("table", table()), ("widths", widths())]
}

/// The golden file of a name; where there is none, `made` becomes it.
fn golden(format: &str, name: &str, made: &[u8]) -> Vec<u8> {
    let path = folder(format).join(format!("{name}.{format}"));
    if !path.exists() {
        std::fs::write(&path, made).unwrap();
    }
    std::fs::read(&path).unwrap()
}

/// The plain bytes of the blocks, and which of them are shuffled.
fn blocks(file: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let (mut found, mut rest) = (Vec::new(), &file[24..]);
    while let Some((size, behind)) = rest.split_first_chunk::<4>() {
        let size = u32::from_le_bytes(*size);
        let (frame, behind) = behind.split_at((size & 0x7FFF_FFFF) as usize);
        let mut place = vec![0; 1 << 20];
        let plain = zstd_safe::decompress(&mut place[..], frame).unwrap();
        place.truncate(plain);
        found.push((size >> 31 == 1, place));
        rest = behind;
    }
    found
}

fn plain(object: &RObject) -> Vec<u8> {
    rds::serialize(object, &WriteOptions::default()).unwrap()
}

#[test]
fn golden_files_of_qs2_are_read_and_their_blocks_written_again() {
    let mut cases = cases();
    cases.push(("ring", ring()));
    for (name, object) in cases {
        let made = qs2::serialize(&object, &WriteOptions::default()).unwrap();
        let file = golden("qs2", name, &made);
        let read = qs2::parse(&file, &ReadOptions::default()).unwrap();
        assert!(plain(&object) == plain(&read), "{name}");
        assert!(blocks(&file) == blocks(&made), "{name}");
    }
}

#[test]
fn golden_files_of_qdata_are_read_and_their_blocks_written_again() {
    for (name, object) in cases() {
        let made = qdata::serialize(&object, &WriteOptions::default()).unwrap();
        let file = golden("qdata", name, &made);
        let read = qdata::parse(&file, &ReadOptions::default()).unwrap();
        assert!(plain(&object) == plain(&read), "{name}");
        assert!(blocks(&file) == blocks(&made), "{name}");
    }
}

/// A header that begins a block may not be cut by its end; what follows it fills blocks whole.
#[test]
fn the_blocks_of_the_table_end_where_those_of_the_package_may() {
    for (_, object) in cases() {
        let file = qdata::serialize(&object, &WriteOptions::default()).unwrap();
        let blocks = blocks(&file);
        for (_, block) in blocks.iter().rev().skip(1) {
            assert!((1_048_513..=1_048_576).contains(&block.len()));
        }
    }
}
