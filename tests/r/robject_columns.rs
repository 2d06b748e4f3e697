//! Some columns of a data frame: what the whole has of them, in little memory.

use crate::common;
use crate::r_files;

use std::io::Write;

use tare::compress::Compressor;
use tare::robject::{
    qdata, qs2, rds, read, write, Body, Builder, Columns, Encoding, RObject, ReadOptions, Source,
    Special, WriteOptions,
};
use tare::ErrorKind;

use r_files::group;

fn named(names: &[&str]) -> ReadOptions {
    let names = names.iter().map(|name| (*name).to_string()).collect();
    ReadOptions {
        columns: Some(Columns::Named(names)),
        ..ReadOptions::default()
    }
}

/// That columns read alone are those of the whole, from memory, a stream and a file.
fn same(bytes: &[u8], whole: &RObject, wanted: &[&str]) -> RObject {
    let options = named(wanted);
    let folder = common::folder::Folder::new();
    let path = folder.join("frame.rds");
    std::fs::File::create(&path)
        .unwrap()
        .write_all(bytes)
        .unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let read = [
        read(bytes, &options).unwrap(),
        read(Source::stream(common::Drip::new(bytes, 999)), &options).unwrap(),
        read(file, &options).unwrap(),
    ];
    for part in &read {
        let names: Vec<String> = part.names().unwrap().into_iter().flatten().collect();
        let all: Vec<String> = whole.names().unwrap().into_iter().flatten().collect();
        let kept: Vec<&String> = all
            .iter()
            .filter(|name| wanted.contains(&name.as_str()))
            .collect();
        assert_eq!(kept, names.iter().collect::<Vec<_>>());
        assert_eq!(whole.class(), part.class());
        assert_eq!(names.len(), part.length());
        for name in &names {
            let (one, two) = (whole.get(name).unwrap(), part.get(name).unwrap());
            assert!(one.identical(&two).unwrap(), "{name}");
        }
        let rows = |object: &RObject| object.arena().rows(object.id());
        assert_eq!(rows(whole), rows(part));
        // What was read can be written.
        let plain = rds::serialize(part, &WriteOptions::default()).unwrap();
        assert!(part
            .identical(&rds::parse(&plain, &ReadOptions::default()).unwrap())
            .unwrap());
    }
    let [first, ..] = read;
    first
}

#[test]
fn every_data_frame_of_the_fixtures_is_read_by_each_of_its_columns() {
    let mut count = 0;
    for name in ["rds", "qs2", "qdata", "qs"] {
        let Some(files) = group(name) else { return };
        for file in &files {
            let Ok(whole) = read(&file.bytes, &ReadOptions::default()) else {
                continue;
            };
            let frame = whole.arena().inherits(whole.id(), "data.frame");
            let Some(names) = whole.names().filter(|_| frame) else {
                continue;
            };
            let names: Vec<String> = names.into_iter().flatten().collect();
            if let (Some(first), Some(last)) = (names.first(), names.last()) {
                same(&file.bytes, &whole, &[last]);
                same(&file.bytes, &whole, &[last, first]);
            }
            same(&file.bytes, &whole, &[]);
            let error = read(&file.bytes, &named(&["no such"])).unwrap_err();
            assert_eq!(ErrorKind::Usage, error.kind());
            count += 1;
        }
    }
    assert!(count > 60, "{count} data frames");
}

#[test]
fn what_is_no_data_frame_is_read_whole() {
    let Some(files) = group("rds") else { return };
    for file in files
        .iter()
        .filter(|file| file.name.contains(".v3.xdr.gzip"))
    {
        let whole = read(&file.bytes, &ReadOptions::default()).unwrap();
        if whole.arena().inherits(whole.id(), "data.frame") {
            continue;
        }
        let part = read(&file.bytes, &named(&["no such"])).unwrap();
        let options = WriteOptions::default();
        let plain = |object| rds::serialize(object, &options).unwrap();
        assert!(plain(&whole) == plain(&part), "{}", file.name);
    }
}

/// A data frame of columns of so many doubles, and one that refers to an environment of another.
fn frame(columns: usize, rows: usize) -> RObject {
    let mut build = Builder::new();
    let environment = build.reserve().unwrap();
    let inside = build.push(Body::Double(vec![1.5; 10])).unwrap();
    let bindings = build.pairlist(&[("x", inside)]).unwrap();
    let body = Body::Environment {
        locked: 0,
        enclosure: Special::GlobalEnv.id(),
        frame: bindings,
        hashtab: tare::robject::Id::NULL,
    };
    build.fill(environment, tare::robject::Node::new(body));
    let mut all = Vec::new();
    let mut names = vec!["first".to_string()];
    // The environment stands in the first column, and later ones refer to it.
    all.push(
        build
            .push(Body::List(vec![environment; rows.min(2)]))
            .unwrap(),
    );
    for at in 0..columns {
        #[allow(clippy::cast_precision_loss, reason = "small numbers")]
        let values = (0..rows).map(|row| (row * columns + at) as f64).collect();
        let column = build.push(Body::Double(values)).unwrap();
        let note = build.strings(["of a column"]).unwrap();
        build
            .set_attributes(column, &[("note", note), ("environment", environment)])
            .unwrap();
        all.push(column);
        names.push(format!("c{at}"));
    }
    let root = build.push(Body::List(all)).unwrap();
    let names = build.strings(names.iter().map(String::as_str)).unwrap();
    let class = build.strings(["data.frame"]).unwrap();
    let rows = i32::try_from(rows).unwrap();
    let rows = build.push(Body::Integer(vec![i32::MIN, -rows])).unwrap();
    build
        .set_attributes(
            root,
            &[("names", names), ("class", class), ("row.names", rows)],
        )
        .unwrap();
    build.finish(root)
}

#[test]
fn columns_that_are_not_wanted_take_memory_one_at_a_time() {
    let (columns, rows) = (40, 20_000);
    let whole = frame(columns, rows);
    let column = 8 * rows as u64;
    let budget = |options: ReadOptions| ReadOptions {
        memory_budget: Some(column * 4),
        ..options
    };
    let mut files = vec![qs2::serialize(&whole, &WriteOptions::default()).unwrap()];
    for (encoding, compressor) in [
        (Encoding::Xdr, "gzip:1"),
        (Encoding::Xdr, "none"),
        (Encoding::AsciiHex, "zstd:1"),
        (Encoding::Native, "xz:0"),
    ] {
        let options = WriteOptions {
            encoding: Some(encoding),
            compressor: Some(Compressor::parse(compressor).unwrap()),
            ..WriteOptions::default()
        };
        let mut file = Vec::new();
        write(&whole, &mut file, &options).unwrap();
        files.push(file);
    }
    for file in &files {
        let error = read(file, &budget(ReadOptions::default())).unwrap_err();
        assert_eq!(ErrorKind::Limit, error.kind());
        let part = read(file, &budget(named(&["c7", "c39"]))).unwrap();
        for name in ["c7", "c39"] {
            let (one, two) = (whole.get(name).unwrap(), part.get(name).unwrap());
            assert!(one.identical(&two).unwrap(), "{name}");
        }
        let held: usize = part
            .arena()
            .ids()
            .map(|id| match &part.arena().node(id).body {
                Body::Double(values) => values.len(),
                _ => 0,
            })
            .sum();
        assert_eq!(2 * rows + 10, held);
    }
    // Formats without a way past columns take them and give them up.
    let file = qdata::serialize(&whole, &WriteOptions::default()).unwrap();
    let part = read(&file, &named(&["c7"])).unwrap();
    assert_eq!(1, part.length());
}

#[test]
fn a_cut_file_is_an_error_whatever_columns_are_wanted() {
    let whole = frame(3, 40);
    let plain = rds::serialize(&whole, &WriteOptions::default()).unwrap();
    for end in 0..plain.len() {
        let error = read(&plain[..end], &named(&["c0"])).unwrap_err();
        assert_eq!(ErrorKind::Truncated, error.kind(), "{end}: {error}");
    }
}
