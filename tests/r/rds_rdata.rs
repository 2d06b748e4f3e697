//! `RData` files: every one R wrote keeps its bytes, and objects of several arenas share names.

use crate::common;

use std::fs;

use common::rds_files::{difference, files};
use tare::compress::{decompress, ReadOptions as Plain};
use tare::robject::{
    rdata, rds, read, read_rdata, write, write_rdata, Body, Builder, Format, ReadOptions,
    WriteOptions,
};
use tare::ErrorKind;

fn again(plain: &[u8]) -> tare::Result<Vec<u8>> {
    let objects = rdata::parse(plain, &ReadOptions::default())?;
    let encoding = objects
        .first()
        .map(|(_, object)| object.arena().header().encoding);
    let version = objects
        .first()
        .map(|(_, object)| object.arena().header().version);
    let options = WriteOptions {
        encoding,
        version,
        ..WriteOptions::default()
    };
    rdata::serialize(&objects, &options)
}

#[test]
fn every_file_keeps_its_bytes() {
    for (folder, endings, least) in [
        ("fixtures/rdata", &[".RData", ".rda"][..], 12),
        ("data/r", &[".RData", ".rda"], 30),
    ] {
        let Some(folder) = common::shared(folder) else {
            return;
        };
        let (mut count, mut wrong) = (0, Vec::new());
        for path in files(&folder, endings) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let plain = decompress(&fs::read(&path).unwrap(), &Plain::default()).unwrap();
            count += 1;
            let lines = |text: &[u8]| -> Vec<u8> {
                let crlf = plain.contains(&b'\r') && plain.starts_with(b"RDA");
                let kept = text.iter().copied().filter(|b| !crlf || *b != b'\r');
                kept.collect()
            };
            match again(&plain) {
                Ok(got) => wrong
                    .extend(difference(&lines(&plain), &got).map(|text| format!("{name}: {text}"))),
                Err(error) => wrong.push(format!("{name}: {error}")),
            }
        }
        assert!(count >= least, "{count} files");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn objects_of_several_arenas_share_the_numbers_of_names() {
    let mut objects = Vec::new();
    for name in ["x", "names", "x"] {
        let mut build = Builder::new();
        let list = build.push(Body::List(Vec::new())).unwrap();
        let names = build.strings([]).unwrap();
        build
            .set_attributes(list, &[("names", names), ("x", names)])
            .unwrap();
        objects.push((name.to_owned(), build.finish(list)));
    }
    let plain = rdata::serialize(&objects, &WriteOptions::default()).unwrap();
    let names = plain.windows(5).filter(|part| part == b"names").count();
    assert_eq!(1, names, "a name is written once, then by number");
    let back = rdata::parse(&plain, &ReadOptions::default()).unwrap();
    let seen: Vec<&str> = back.iter().map(|(name, _)| &**name).collect();
    assert_eq!(["x", "names", "x"], seen[..]);
    for (_, object) in &back {
        assert!(object.arena().attribute(object.id(), "x").is_some());
    }
    assert_eq!(
        plain,
        rdata::serialize(&back, &WriteOptions::default()).unwrap()
    );
}

#[test]
fn a_file_is_read_as_a_list_with_names_and_written_from_one() {
    let mut build = Builder::new();
    let (one, two) = (build.strings(["1"]).unwrap(), build.strings(["2"]).unwrap());
    let list = build.push(Body::List(vec![one, two])).unwrap();
    let names = build.strings(["a", "\u{e4}"]).unwrap();
    build.set_attributes(list, &[("names", names)]).unwrap();
    let object = build.finish(list);
    let options = WriteOptions {
        format: Format::Rdata,
        ..WriteOptions::default()
    };
    let mut file = Vec::new();
    write(&object, &mut file, &options).unwrap();
    let back = read(&file, &ReadOptions::default()).unwrap();
    let plain = |object| rds::serialize(object, &WriteOptions::default()).unwrap();
    assert_eq!(plain(&object), plain(&back));
    let objects = read_rdata(&file, &ReadOptions::default()).unwrap();
    assert_eq!(("a", "\u{e4}"), (&*objects[0].0, &*objects[1].0));
    let mut empty = Vec::new();
    write_rdata(&[], &mut empty, &options).unwrap();
    assert!(read_rdata(&empty, &ReadOptions::default())
        .unwrap()
        .is_empty());

    let error = write(&object.at(one), &mut Vec::new(), &options).unwrap_err();
    assert_eq!(ErrorKind::Usage, error.kind());
    let error = read_rdata(
        b"X\n\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\xfe",
        &ReadOptions::default(),
    );
    assert_eq!(ErrorKind::Usage, error.unwrap_err().kind());
    let error = read(b"RDX1\nX\n", &ReadOptions::default()).unwrap_err();
    assert_eq!(ErrorKind::Unsupported, error.kind());
}
