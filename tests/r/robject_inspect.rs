//! What `inspect` says of real files: sizes, checksums, and the structure with all that lies in it.

use crate::common;
use crate::r_files;

use tare::compress::{decompress, Compressor};
use tare::robject::{
    inspect, qs2, write, Body, Branch, Builder, Id, Inspection, RObject, ReadOptions, Source,
    WriteOptions,
};

use r_files::group;

fn look(bytes: &[u8]) -> Inspection {
    let options = ReadOptions::default();
    let one = inspect(bytes, &options).unwrap();
    let streamed = inspect(Source::stream(common::Drip::new(bytes, 7)), &options).unwrap();
    let sizes = |found: &Inspection| {
        let sizes = (found.stored_bytes, found.plain_bytes, found.payload_bytes);
        (sizes, found.checked, found.tree.clone())
    };
    assert_eq!(sizes(&one), sizes(&streamed));
    one
}

#[test]
fn sizes_of_every_wrapper_are_those_of_the_bytes() {
    let Some(files) = group("rds") else { return };
    let some = files
        .iter()
        .filter(|file| file.name.starts_with("rds/data_frame."));
    let mut count = 0;
    for file in some {
        let plain = decompress(&file.bytes, &tare::compress::ReadOptions::default());
        let plain = plain.unwrap_or_else(|_| file.bytes.clone());
        let found = look(&file.bytes);
        let sizes = (found.stored_bytes, found.plain_bytes);
        assert_eq!(
            (file.bytes.len() as u64, plain.len() as u64),
            sizes,
            "{}",
            file.name
        );
        assert_eq!((None, None), (found.payload_bytes, found.checked));
        count += 1;
    }
    assert!(count >= 12, "{count}");
}

#[test]
fn a_file_without_a_checksum_says_so() {
    let mut build = Builder::new();
    let id = build.push(Body::Double(vec![0.5; 400_000])).unwrap();
    let object = build.finish(id);
    let mut file = qs2::serialize(&object, &WriteOptions::default()).unwrap();
    let found = look(&file);
    let plain = tare::robject::rds::serialize(&object, &WriteOptions::default()).unwrap();
    assert_eq!(Some(true), found.checked);
    assert_eq!(Some(plain.len() as u64), found.payload_bytes);
    assert_eq!(file.len() as u64, found.stored_bytes);
    file[16..24].fill(0);
    assert_eq!(Some(false), look(&file).checked);
    // In gzip it is a file of qs2 still; its blocks are not looked at there.
    let options = WriteOptions {
        compressor: Some(Compressor::parse("gzip:1").unwrap()),
        ..WriteOptions::default()
    };
    let mut rds = Vec::new();
    write(&object, &mut rds, &options).unwrap();
    let found = look(&rds);
    assert_eq!(
        (rds.len() as u64, plain.len() as u64),
        (found.stored_bytes, found.plain_bytes)
    );
}

#[test]
fn fixtures_of_blocks_say_what_they_become() {
    for (name, magic) in [("qs2", 0xc1), ("qdata", 0xcd)] {
        let Some(files) = group(name) else { return };
        for file in files
            .iter()
            .filter(|file| file.bytes.get(3) == Some(&magic))
        {
            let found = look(&file.bytes);
            assert!(
                found.payload_bytes.is_some_and(|size| size > 0),
                "{}",
                file.name
            );
            let hash = file.bytes[16..24].iter().any(|byte| *byte != 0);
            assert_eq!(Some(hash), found.checked, "{}", file.name);
        }
    }
}

fn lines(object: &RObject) -> Vec<String> {
    let mut file = Vec::new();
    write(object, &mut file, &WriteOptions::default()).unwrap();
    let found = inspect(&file, &ReadOptions::default()).unwrap();
    let line = |branch: &Branch| {
        let again = if branch.again { " again" } else { "" };
        format!(
            "{}{} {}{again}",
            " ".repeat(branch.depth),
            branch.name,
            branch.kind.name()
        )
    };
    found.tree.iter().map(line).collect()
}

#[test]
fn environments_functions_slots_and_attributes_are_in_the_tree() {
    let mut build = Builder::new();
    let environment = build.reserve().unwrap();
    let number = build.push(Body::Integer(vec![1])).unwrap();
    let frame = build
        .pairlist(&[("b", environment), ("a", number)])
        .unwrap();
    let (enclosure, hashtab) = (tare::robject::Special::GlobalEnv.id(), Id::NULL);
    let body = Body::Environment {
        locked: 0,
        enclosure,
        frame,
        hashtab,
    };
    build.fill(environment, tare::robject::Node::new(body));
    let code = build.push(Body::Integer(vec![2])).unwrap();
    let closure = Body::Closure {
        environment,
        formals: Id::NULL,
        body: code,
    };
    let closure = build.push(closure).unwrap();
    let slots = build.push(Body::S4).unwrap();
    let class = build.strings(["mine"]).unwrap();
    let slot = build.push(Body::Double(vec![1.0])).unwrap();
    build
        .set_attributes(slots, &[("size", slot), ("class", class)])
        .unwrap();
    let note = build.strings(["x"]).unwrap();
    let vector = build.push(Body::Raw(vec![1])).unwrap();
    build.set_attributes(vector, &[("note", note)]).unwrap();
    let root = build
        .push(Body::List(vec![closure, slots, vector, environment]))
        .unwrap();
    let expected = [
        " list",
        " [[1]] closure",
        "  @formals NULL",
        "  @body integer",
        "  @environment environment",
        "   a integer",
        "   b environment again",
        " [[2]] S4",
        "  @size double",
        " [[3]] raw",
        "  @note character",
        " [[4]] environment again",
    ];
    assert_eq!(
        expected.map(String::from).to_vec(),
        lines(&build.finish(root))
    );
}

#[test]
fn the_tree_of_many_values_is_cut() {
    let mut build = Builder::new();
    let one = build.push(Body::Integer(vec![1])).unwrap();
    let mut deep = one;
    for _ in 0..100 {
        deep = build.push(Body::List(vec![deep])).unwrap();
    }
    let wide = build.push(Body::List(vec![one; 5000])).unwrap();
    let root = build.push(Body::List(vec![deep, wide])).unwrap();
    assert_eq!(1000, lines(&build.finish(root)).len());
}
