//! Collections: what is read is what was written, however it is stored and cut into pieces.

use std::path::Path;
use std::sync::{Arc, Mutex};

use tare::blit::collection::{compact, repair, Collection, ReadOptions, WriteOptions, Writer};
use tare::blit::{
    self, from_json, Duplicates, JsonOptions, Options, Path as Pointer, Surrogates, Value, View,
};
use tare::compress::Compressor;
use tare::ErrorKind;

use crate::common;

use common::folder::Folder;

/// Documents of all kinds: alike, different, small, large, empty, no objects at all.
fn samples() -> Vec<String> {
    let mut all = Vec::new();
    for i in 0..700_usize {
        all.push(format!(
            r#"{{"id":{i},"name":"name {}","n":{}.5,"tags":["a","b{}"]}}"#,
            i * 7 % 13,
            i % 10,
            i % 3
        ));
        match i % 50 {
            7 => all.push(format!(r#"{{"other":[{i},null,{{"id":{i}}}]}}"#)),
            8 => all.push("{}".to_string()),
            9 => all.push("[]".to_string()),
            10 => all.push(format!("{}", i64::try_from(i).unwrap() - 300)),
            11 => all.push("null".to_string()),
            12 => all.push(format!("\"text \\\"{i}\\\" \u{e4}\u{f6}\u{fc}\"")),
            13 => all.push(format!(r#"["{}"]"#, "long ".repeat(i))),
            14 => all.push("-0".to_string()),
            15 => all.push(format!(r#"{{"new{i}":true}}"#)),
            _ => {}
        }
    }
    all
}

fn write(path: &Path, options: &WriteOptions, documents: &[String], per_commit: usize) {
    let mut writer = Collection::create(path, options).unwrap();
    for commit in documents.chunks(per_commit) {
        for document in commit {
            writer.push_json(document.as_bytes()).unwrap();
        }
        writer.commit().unwrap();
    }
}

fn json(view: &View<'_>) -> String {
    String::from_utf8(view.to_json(&JsonOptions::default()).unwrap()).unwrap()
}

fn check(path: &Path, options: &ReadOptions, documents: &[String]) {
    let collection = Collection::open(path, options).unwrap();
    assert_eq!(documents.len() as u64, collection.len());
    collection.validate().unwrap();
    let docs = collection.docs().unwrap();
    for (i, text) in (0..).zip(documents) {
        assert_eq!(*text, json(&docs.get(i).unwrap().view()), "{i}");
    }
    let again: Vec<String> = docs.iter().map(|one| json(&one.unwrap().view())).collect();
    assert_eq!(documents, again);
    for i in [0, documents.len() / 2, documents.len() - 1] {
        let document = collection.get(i as u64).unwrap();
        assert_eq!(documents[i], json(&document.view()));
    }
    let error = collection.get(documents.len() as u64).unwrap_err();
    assert_eq!(ErrorKind::NotFound, error.kind());
    assert_eq!(ErrorKind::NotFound, docs.get(u64::MAX).unwrap_err().kind());
}

#[test]
fn documents_come_back_from_every_form_of_file() {
    let folder = Folder::new();
    let documents = samples();
    let mut sizes = Vec::new();
    for compressor in [
        None,
        Some("none"),
        Some("zstd:3"),
        Some("lz4"),
        Some("lz4:9"),
    ] {
        for (chunk_size, per_commit) in [(1, 400), (900, 97), (262_144, 1_000_000)] {
            for aligned in [false, true] {
                let options = WriteOptions {
                    compressor: compressor.map(|id| Compressor::parse(id).unwrap()),
                    chunk_size,
                    document: Options {
                        aligned,
                        ..Options::default()
                    },
                };
                let path = folder.join("a.blits");
                write(&path, &options, &documents, per_commit);
                for mmap in [false, true] {
                    for cache in [0, 5000, 64 << 20] {
                        let reading = ReadOptions {
                            mmap,
                            cache,
                            ..ReadOptions::default()
                        };
                        check(&path, &reading, &documents);
                    }
                }
                sizes.push(path.metadata().unwrap().len());
            }
        }
    }
    // One commit in one chunk, by compressor.
    let (none, zstd, lz4) = (sizes[4], sizes[16], sizes[22]);
    assert!(zstd < lz4 && lz4 < none, "{sizes:?}");
}

/// What a path leads to, as text.
#[allow(
    clippy::needless_pass_by_value,
    reason = "what is read is given as a value"
)]
fn shown(value: Option<Value<'_>>) -> String {
    format!("{value:?}")
}

#[test]
fn fields_are_those_of_the_documents() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let mut documents = samples();
    // Chunks of rows alone, of rows with gaps, of all sorts; nested objects.
    documents.extend((0..400).map(|i| match i % 7 {
        0 if i > 200 => format!(r#"{{"id":{i}}}"#),
        _ => format!(r#"{{"id":{i},"other":{{"id":"x{i}","tags":[{i}]}}}}"#),
    }));
    for compressor in [None, Some("zstd:1")] {
        let options = WriteOptions {
            compressor: compressor.map(|id| Compressor::parse(id).unwrap()),
            chunk_size: 700,
            ..WriteOptions::default()
        };
        write(&path, &options, &documents, 333);
        for mmap in [false, true] {
            let reading = ReadOptions {
                mmap,
                ..ReadOptions::default()
            };
            let collection = Collection::open(&path, &reading).unwrap();
            let docs = collection.docs().unwrap();
            for pointer in [
                "",
                "/id",
                "/name",
                "/tags/1",
                "/other/id",
                "/other/tags",
                "/no",
                "/0",
            ] {
                let plain = Pointer::parse(pointer).unwrap();
                let document = docs.get(0).unwrap();
                let compiled = plain.compile(&document.view()).unwrap();
                let field = docs.field(&compiled);
                for i in 0..docs.len() {
                    let document = docs.get(i).unwrap();
                    let view = document.view();
                    let expected = shown(view.pointer(pointer).unwrap());
                    assert_eq!(expected, docs.with(i, &plain, shown).unwrap());
                    assert_eq!(expected, docs.with(i, &compiled, shown).unwrap());
                    assert_eq!(expected, field.with(i, shown).unwrap(), "{i} {pointer}");
                }
                let none = field.with(docs.len(), shown).unwrap_err();
                assert_eq!(ErrorKind::NotFound, none.kind());
            }
        }
    }
}

#[test]
fn the_bytes_are_those_of_the_specification() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let texts = [r#"{"id":1,"n":"a"}"#, r#"{"id":2,"n":"b"}"#].map(String::from);
    write(&path, &WriteOptions::default(), &texts, 2);
    let bytes = std::fs::read(&path).unwrap();
    // The table of the worked bytes, its count given; then KEYS and SHAPES as they are there.
    let chunk = b"\x01\x02\x02ab\x01\x09\xA1\x03\x00\x85";
    let keys = b"idn\x02\x09\x81\x83\x0A";
    let shapes = b"\x00\x02\x01\x80";
    let end = 16 + chunk.len() + keys.len() + shapes.len() + 32 + 72;
    assert_eq!(end, bytes.len());
    assert_eq!(b"BLS1\x01\0\0\0", &bytes[..8]);
    assert_eq!((end as u64).to_le_bytes(), bytes[8..16]);
    let sections = [&chunk[..], keys, shapes].concat();
    assert_eq!(sections, bytes[16..16 + sections.len()]);
    let index = &bytes[16 + sections.len()..][..32];
    let length = [11, 0, 0, 0];
    let expected = [&[16, 0, 0, 0, 0, 0, 0, 0][..], &length, &length, &[0; 8]].concat();
    assert_eq!(expected, index[..24]);
    assert_eq!(xxhash_rust::xxh3::xxh3_64(chunk).to_le_bytes(), index[24..]);
    let footer = &bytes[end - 72..];
    let numbers = [16, 0, 0, 0, 2, 1, 2, 1, 0, 8, 4, 0, 1, 0];
    let expected: Vec<u8> = numbers.iter().flat_map(|n: &u32| n.to_le_bytes()).collect();
    assert_eq!(expected, footer[..56]);
    let covered = &bytes[16 + chunk.len()..end - 16];
    let checksum = xxhash_rust::xxh3::xxh3_64(covered);
    assert_eq!(checksum.to_le_bytes(), footer[56..64]);
    assert_eq!(b"BLS1-end", &footer[64..]);
}

#[test]
fn text_events_and_views_give_the_same_documents() {
    let folder = Folder::new();
    let paths = ["text", "events", "views"].map(|name| folder.join(name));
    let documents: Vec<String> = (0..300)
        .map(|i| format!(r#"{{"id":{i},"s":"{}","f":[0.5,null]}}"#, i % 7))
        .collect();
    write(&paths[0], &WriteOptions::default(), &documents, 1000);
    let mut events = Collection::create(&paths[1], &WriteOptions::default()).unwrap();
    for i in 0..300 {
        let written = events.push_with(|writer| {
            writer.begin_object()?;
            writer.key("id")?;
            writer.int(i)?;
            writer.key("s")?;
            writer.str(&(i % 7).to_string())?;
            writer.key("f")?;
            writer.begin_array()?;
            writer.float(0.5)?;
            writer.null()?;
            writer.end()?;
            writer.end()
        });
        let written: tare::Result<()> = written;
        written.unwrap();
    }
    events.commit().unwrap();
    let mut views = Collection::create(&paths[2], &WriteOptions::default()).unwrap();
    for text in &documents {
        let document = from_json(text.as_bytes(), &Options::default()).unwrap();
        views.push(&View::open(&document).unwrap()).unwrap();
    }
    views.commit().unwrap();
    let [text, events, views] = paths.map(|path| std::fs::read(path).unwrap());
    assert!(text == events, "events");
    assert!(text == views, "views");
}

#[test]
fn a_document_that_is_refused_leaves_no_trace() {
    let folder = Folder::new();
    let (with, without) = (folder.join("with"), folder.join("without"));
    let documents = samples();
    write(&without, &WriteOptions::default(), &documents, 500);
    let mut writer = Collection::create(&with, &WriteOptions::default()).unwrap();
    for (i, text) in documents.iter().enumerate() {
        for wrong in [r#"{"wrong":{"a":1},"#, "1 2", "", r#"{"b":{"c":{}}}}"#] {
            let error = writer.push_json(wrong.as_bytes()).unwrap_err();
            assert_eq!(Some("json"), error.format());
        }
        let none = writer.push_with::<tare::Error>(|_| Ok(()));
        assert_eq!(ErrorKind::Usage, none.unwrap_err().kind());
        let open = writer.push_with::<tare::Error>(blit::Writer::begin_array);
        assert_eq!(ErrorKind::Usage, open.unwrap_err().kind());
        let two = writer.push_with::<tare::Error>(|writer| {
            writer.null()?;
            writer.null()
        });
        assert_eq!(ErrorKind::Usage, two.unwrap_err().kind());
        writer.push_json(text.as_bytes()).unwrap();
        assert_eq!(i as u64 + 1, writer.len());
        if (i + 1) % 500 == 0 {
            assert_eq!(i as u64 + 1, writer.commit().unwrap());
        }
    }
    writer.commit().unwrap();
    let [with, without] = [with, without].map(|path| std::fs::read(path).unwrap());
    assert!(with == without);
}

#[test]
fn what_is_not_committed_is_dropped() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let options = WriteOptions {
        chunk_size: 10,
        ..WriteOptions::default()
    };
    let mut writer = Collection::append(&path, &options).unwrap();
    writer.push_json(b"[1]").unwrap();
    assert_eq!(1, writer.commit().unwrap());
    assert_eq!(1, writer.commit().unwrap());
    let one = std::fs::read(&path).unwrap();
    for _ in 0..10 {
        writer.push_json(b"[2]").unwrap();
    }
    assert_eq!((11, 1), (writer.len(), writer.committed()));
    writer.rollback().unwrap();
    assert_eq!(
        (one.len() as u64, 1),
        (path.metadata().unwrap().len(), writer.len())
    );
    for _ in 0..10 {
        writer.push_json(b"[3]").unwrap();
    }
    drop(writer);
    assert_eq!(one, std::fs::read(&path).unwrap());

    let mut writer = Collection::append(&path, &options).unwrap();
    assert_eq!(1, writer.len());
    writer.push_json(b"[4]").unwrap();
    writer.commit().unwrap();
    drop(writer);
    check(
        &path,
        &ReadOptions::default(),
        &["[1]", "[4]"].map(String::from),
    );

    let error = Collection::create_new(&path, &options).err().unwrap();
    assert_eq!(ErrorKind::Io, error.kind());
    let reader = Collection::open(&path, &ReadOptions::default()).unwrap();
    Collection::create(&path, &options)
        .unwrap()
        .commit()
        .unwrap();
    let empty = Collection::open(&path, &ReadOptions::default()).unwrap();
    assert_eq!(0, empty.len());
    assert_eq!("[4]", json(&reader.get(1).unwrap().view()));
    let names = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(1, names, "a temporary file was left");
}

/// A place that several hold.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn pipes_do_not_say_where_they_end() {
    let folder = Folder::new();
    let documents = samples();
    let written = Shared::default();
    let mut writer = Writer::to(written.clone(), &WriteOptions::default()).unwrap();
    for (i, text) in documents.iter().enumerate() {
        writer.push_json(text.as_bytes()).unwrap();
        if i == 400 {
            writer.commit().unwrap();
        }
    }
    writer.commit().unwrap();
    drop(writer);
    let bytes = written.0.lock().unwrap().clone();
    assert_eq!([0; 8], bytes[8..16]);
    let path = folder.join("piped.blits");
    std::fs::write(&path, &bytes).unwrap();
    check(&path, &ReadOptions::default(), &documents);
    // Followed by something else it is torn, until it is repaired.
    std::fs::write(&path, [&bytes[..], b"behind"].concat()).unwrap();
    let torn = Collection::open(&path, &ReadOptions::default()).unwrap_err();
    assert!(torn.to_string().contains("torn"), "{torn}");
    let repaired = repair(&path).unwrap();
    assert_eq!(
        (documents.len() as u64, 6),
        (repaired.documents, repaired.cut)
    );
    check(&path, &ReadOptions::default(), &documents);
    assert_eq!(0, repair(&path).unwrap().cut);
}

#[test]
fn compacting_keeps_what_it_is_told_to() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let documents = samples();
    let small = WriteOptions {
        chunk_size: 300,
        ..WriteOptions::default()
    };
    write(&path, &small, &documents, 50);
    let old = Collection::open(&path, &ReadOptions::default()).unwrap();
    assert!(old.commits() > 10);
    let options = WriteOptions {
        compressor: Some(Compressor::parse("zstd:3").unwrap()),
        ..WriteOptions::default()
    };
    let kept = compact(&path, &options, |i, _| i % 3 != 0).unwrap();
    let left = documents.iter().enumerate().filter(|(i, _)| i % 3 != 0);
    let left: Vec<String> = left.map(|(_, text)| text.clone()).collect();
    assert_eq!(left.len() as u64, kept);
    check(&path, &ReadOptions::default(), &left);
    let is_object = |view: &View<'_>| matches!(view.root(), Ok(Value::Object(_)));
    compact(&path, &options, |_, view| is_object(view)).unwrap();
    let left: Vec<String> = left
        .into_iter()
        .filter(|text| text.starts_with('{'))
        .collect();
    check(&path, &ReadOptions::default(), &left);
    assert_eq!(
        1,
        Collection::open(&path, &ReadOptions::default())
            .unwrap()
            .commits()
    );
    // Who had it open keeps it.
    assert_eq!(documents[3], json(&old.get(3).unwrap().view()));
}

#[test]
fn options_of_documents_hold() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let options = WriteOptions {
        document: Options {
            duplicates: Duplicates::Keep,
            surrogates: Surrogates::Keep,
            ..Options::default()
        },
        ..WriteOptions::default()
    };
    let documents = [r#"{"a":1,"a":2}"#, r#"{"a":"\ud800"}"#, r#"{"b":3}"#].map(String::from);
    write(&path, &options, &documents, 9);
    check(&path, &ReadOptions::default(), &documents);
    // By default neither is: the last value stands, halves of pairs are refused.
    let mut writer = Collection::create(&path, &WriteOptions::default()).unwrap();
    writer
        .push_json(br#"{"c":{"d":1,"d":2},"c":{"e":3}}"#)
        .unwrap();
    writer.push_json(documents[1].as_bytes()).unwrap_err();
    writer.push_json(documents[2].as_bytes()).unwrap();
    writer.commit().unwrap();
    let documents = [r#"{"c":{"e":3}}"#, r#"{"b":3}"#].map(String::from);
    check(&path, &ReadOptions::default(), &documents);
}

#[test]
fn a_document_is_validated_with_what_it_shares() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let texts: Vec<_> = (0..50)
        .map(|i| format!(r#"{{"a":[{i},"x{i}"]}}"#))
        .collect();
    for compressor in [None, Some(Compressor::parse("zstd").unwrap())] {
        let options = WriteOptions {
            compressor,
            chunk_size: 200,
            ..WriteOptions::default()
        };
        write(&path, &options, &texts, 30);
        for mmap in [true, false] {
            let reading = ReadOptions {
                mmap,
                ..ReadOptions::default()
            };
            let collection = Collection::open(&path, &reading).unwrap();
            for document in collection.docs().unwrap().iter() {
                let seen = document.unwrap().view().validate().unwrap();
                assert_eq!((1, 1), (seen.keys, seen.shapes));
            }
        }
    }
    // A byte that is no text is found from every document of its chunk.
    write(&path, &WriteOptions::default(), &texts, 50);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(3).position(|three| three == b"x0x").unwrap();
    bytes[at] = 0xFF;
    std::fs::write(&path, bytes).unwrap();
    let collection = Collection::open(&path, &ReadOptions::default()).unwrap();
    for document in collection.docs().unwrap().iter() {
        let error = document.unwrap().view().validate().unwrap_err();
        assert_eq!(ErrorKind::Malformed, error.kind(), "{error}");
    }
}

#[test]
fn threads_read_at_once() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let documents = samples();
    let options = WriteOptions {
        compressor: Some(Compressor::parse("lz4").unwrap()),
        chunk_size: 1000,
        ..WriteOptions::default()
    };
    write(&path, &options, &documents, 300);
    let reading = ReadOptions {
        cache: 3000,
        ..ReadOptions::default()
    };
    let collection = Collection::open(&path, &reading).unwrap();
    let docs = collection.docs().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (docs, documents) = (&docs, &documents);
            scope.spawn(move || {
                for step in 0..2000 {
                    let i = (step * 7919 + thread * 31) % documents.len();
                    assert_eq!(documents[i], json(&docs.get(i as u64).unwrap().view()));
                }
            });
        }
    });
}

#[test]
fn documents_longer_than_a_chunk_have_their_own() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let long = format!("[{}]", vec!["123456"; 70_000].join(","));
    let objects = format!("[{}]", vec![r#"{"a":1,"b":"c"}"#; 66_000].join(","));
    let documents = ["[1]", &long, "[2]", "[3]", &objects, "[4]"].map(String::from);
    write(&path, &WriteOptions::default(), &documents, 9);
    check(&path, &ReadOptions::default(), &documents);
    let collection = Collection::open(&path, &ReadOptions::default()).unwrap();
    assert_eq!(5, collection.chunks());
}
