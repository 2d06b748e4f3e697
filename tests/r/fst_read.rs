//! Files that R's package fst wrote, against what R reads from them.

use crate::common;

use common::shared;
use md5::{Digest, Md5};
use serde_json::Value;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use tare::compress::ReadAt;
use tare::fst::{self, ColumnKind, Data, Table, TextEncoding, Texts, TimeScale};
use tare::ErrorKind;

fn json(path: &str) -> Option<Value> {
    let path = shared(path)?;
    Some(serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
}

fn text_bytes(texts: &Texts) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in texts.iter() {
        bytes.extend_from_slice(text.unwrap_or(b"\x01"));
        bytes.push(0);
    }
    bytes
}

/// The bytes of which the fixtures hold the md5.
fn canonical(data: &Data) -> Vec<u8> {
    match data {
        Data::Logical(values) | Data::Int(values) | Data::Factor { codes: values, .. } => values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect(),
        Data::Double(values) => values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect(),
        Data::Int64(values) => values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect(),
        Data::Raw(values) => values.clone(),
        Data::Text(texts) => text_bytes(texts),
    }
}

fn md5(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in Md5::digest(bytes) {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

fn attribute<'a>(tree: &'a Value, name: &str) -> Option<&'a Value> {
    let all = tree["attributes"].as_array()?;
    let found = all.iter().find(|attribute| attribute["name"] == name)?;
    Some(&found["value"])
}

fn words(tree: Option<&Value>) -> Vec<&str> {
    let values = tree.and_then(|tree| tree["values"].as_array());
    values
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Whether a table is the data frame of an expectation.
fn same(table: &Table, tree: &Value, name: &str) {
    let elements = tree["elements"].as_array().cloned().unwrap_or_default();
    assert_eq!(elements.len(), table.columns.len(), "{name}");
    let names: Vec<_> = table
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(words(attribute(tree, "names")), names, "{name}");
    for (column, tree) in table.columns.iter().zip(&elements) {
        let name = format!("{name}: {}", column.name);
        assert_eq!(tree["type"], column.kind.type_name(), "{name}");
        assert_eq!(tree["length"], column.data.len() as u64, "{name}");
        assert_eq!(table.rows, column.data.len() as u64, "{name}");
        assert_eq!(tree["md5"], md5(&canonical(&column.data)), "{name}");
        assert_eq!(
            words(attribute(tree, "class")),
            column.kind.classes(),
            "{name}"
        );
        let zone: Vec<_> = column.zone.as_deref().into_iter().collect();
        assert_eq!(words(attribute(tree, "tzone")), zone, "{name}");
        if matches!(column.kind, ColumnKind::Difftime | ColumnKind::DifftimeInt) {
            let units: Vec<_> = column.scale.units().into_iter().collect();
            assert_eq!(words(attribute(tree, "units")), units, "{name}");
        }
        let levels = attribute(tree, "levels");
        match &column.data {
            Data::Factor { levels: found, .. } => {
                let levels = levels.unwrap();
                assert_eq!(levels["length"], found.len() as u64, "{name}");
                assert_eq!(levels["md5"], md5(&text_bytes(found)), "{name}");
            }
            _ => assert_eq!(None, levels, "{name}"),
        }
    }
}

#[test]
fn every_fixture_reads_as_r_reads_it() {
    let Some(manifest) = json("fixtures/manifest.json") else {
        return;
    };
    let files = manifest["files"].as_array().unwrap();
    let files: Vec<_> = files.iter().filter(|file| file["group"] == "fst").collect();
    assert_eq!(17, files.len());
    for entry in files {
        let file = entry["file"].as_str().unwrap();
        let bytes = std::fs::read(shared(&format!("fixtures/{file}")).unwrap()).unwrap();
        let tree = json(&format!("fixtures/{}", entry["expected"].as_str().unwrap())).unwrap();
        let reader = fst::open(bytes.as_slice()).unwrap();
        let table = reader.read(None, None).unwrap();
        same(&table, &tree, file);
        assert_eq!(entry["rows"], table.rows, "{file}");
        let codes: Vec<_> = table
            .columns
            .iter()
            .map(|column| column.kind.code())
            .collect();
        assert_eq!(entry["column_types"], Value::from(codes), "{file}");
        let keys: Vec<_> = table
            .keys
            .iter()
            .map(|key| table.columns[*key].name.as_str())
            .collect();
        let expected: Vec<_> = entry["keys"].as_array().into_iter().flatten().collect();
        assert_eq!(expected, keys, "{file}");
        let stored: u64 = reader
            .schema()
            .iter()
            .map(|column| column.stored_bytes)
            .sum();
        assert!(stored <= bytes.len() as u64, "{file}");
    }
}

fn third_party(path: &str) -> Option<Vec<u8>> {
    Some(std::fs::read(shared(&format!("data/r/{path}"))?).unwrap())
}

#[test]
fn an_older_layout_reads() {
    let Some(bytes) = third_party("fst/data1.fst") else {
        return;
    };
    let table = fst::open(bytes).unwrap().read(None, None).unwrap();
    assert_eq!((15, 10_000), (table.columns.len(), table.rows));
    for column in &table.columns {
        assert_eq!(10_000, column.data.len(), "{}", column.name);
    }
    let Data::Factor { codes, levels } = &table.columns[4].data else {
        panic!("column 4 is {:?}", table.columns[4].kind)
    };
    assert_eq!(7, levels.len());
    let most = codes.iter().max();
    assert_eq!(Some(&7), most);
    assert_eq!(TimeScale::Nanoseconds, table.columns[11].scale);
    assert_eq!(ColumnKind::Nanotime, table.columns[11].kind);
}

#[test]
fn the_oldest_layout_is_refused_with_what_to_do() {
    let Some(bytes) = third_party("fst/previousversion.fst") else {
        return;
    };
    let error = fst::open(bytes).unwrap_err();
    assert_eq!(ErrorKind::Unsupported, error.kind());
    assert!(
        error
            .to_string()
            .contains("re-written with fst 0.8.0 to 0.8.10"),
        "{error}"
    );
}

#[test]
fn compression_changes_nothing() {
    for name in ["df", "iris"] {
        let tables = ["c0", "c50", "c100"].map(|compress| {
            let bytes = third_party(&format!("fst-qs2/{name}_{compress}.fst"))?;
            Some(fst::open(bytes).unwrap().read(None, None).unwrap())
        });
        let [Some(one), Some(two), Some(three)] = tables else {
            return;
        };
        assert_eq!(one, two, "{name}");
        assert_eq!(one, three, "{name}");
    }
}

#[test]
fn numbers_are_those_of_the_text_beside_them() {
    let Some(bytes) = third_party("fst-qs2/iris_c100.fst") else {
        return;
    };
    let Some(text) = third_party("fst-qs2/iris.csv") else {
        return;
    };
    let table = fst::open(bytes).unwrap().read(None, None).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut lines = text.lines();
    let header: Vec<_> = lines
        .next()
        .unwrap()
        .split(',')
        .map(|name| name.trim_matches('"'))
        .collect();
    let names: Vec<_> = table
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(header, names);
    for (row, line) in lines.enumerate() {
        for (column, text) in table.columns.iter().zip(line.split(',')) {
            match &column.data {
                Data::Double(values) => {
                    assert_eq!(
                        text.parse::<f64>().unwrap().to_bits(),
                        values[row].to_bits()
                    );
                }
                Data::Factor { codes, levels } => {
                    let level = levels.get(usize::try_from(codes[row]).unwrap() - 1);
                    assert_eq!(Some(text.trim_matches('"').as_bytes()), level);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// What of `whole` stands in `rows`.
fn slice(whole: &Data, rows: std::ops::Range<usize>) -> Data {
    match whole {
        Data::Logical(values) => Data::Logical(values[rows].to_vec()),
        Data::Int(values) => Data::Int(values[rows].to_vec()),
        Data::Double(values) => Data::Double(values[rows].to_vec()),
        Data::Int64(values) => Data::Int64(values[rows].to_vec()),
        Data::Raw(values) => Data::Raw(values[rows].to_vec()),
        Data::Text(texts) => {
            let mut part = Texts::new(texts.encoding());
            rows.for_each(|row| part.push(texts.get(row)));
            Data::Text(part)
        }
        Data::Factor { codes, levels } => Data::Factor {
            codes: codes[rows].to_vec(),
            levels: levels.clone(),
        },
    }
}

#[test]
fn rows_and_columns_are_slices_of_the_whole() {
    let Some(folder) = shared("fixtures/fst") else {
        return;
    };
    let mut files: Vec<_> = [
        "big9000.c0",
        "big20000.c50",
        "big20000.c100",
        "alltypes.c0",
        "alltypes.c100",
    ]
    .map(|name| std::fs::read(folder.join(format!("{name}.fst"))).unwrap())
    .to_vec();
    files.extend(third_party("fst/data1.fst"));
    let edges = [
        0, 1, 5, 12, 2046, 2047, 2048, 2049, 4095, 4096, 4097, 8999, 16_383, 16_384, 16_385, 20_000,
    ];
    for bytes in files {
        let reader = fst::open(bytes.as_slice()).unwrap();
        let whole = reader.read(None, None).unwrap();
        let rows = usize::try_from(whole.rows).unwrap();
        for start in edges.into_iter().filter(|edge| *edge <= rows) {
            for end in edges
                .into_iter()
                .filter(|edge| *edge <= rows && *edge >= start)
            {
                let range = start as u64..end as u64;
                let part = reader.read(None, Some(range.clone())).unwrap();
                assert_eq!(range.end - range.start, part.rows);
                for (one, all) in part.columns.iter().zip(&whole.columns) {
                    let expected = slice(&all.data, start..end);
                    assert_eq!(expected, one.data, "{} {range:?}", one.name);
                }
            }
        }
        let last = whole.columns.len() - 1;
        let some = reader.read_at(Some(&[last, 0]), None).unwrap();
        assert_eq!(
            [&whole.columns[last], &whole.columns[0]],
            [&some.columns[0], &some.columns[1]]
        );
    }
}

/// Counts the bytes that are read.
struct Counting<'a> {
    bytes: &'a [u8],
    read: AtomicU64,
}

impl ReadAt for Counting<'_> {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let size = self.bytes.read_at(offset, into)?;
        self.read.fetch_add(size as u64, Ordering::Relaxed);
        Ok(size)
    }

    fn size(&self) -> io::Result<u64> {
        self.bytes.size()
    }
}

#[test]
fn a_part_reads_only_the_blocks_that_hold_it() {
    let Some(bytes) = third_party("fst/data1.fst") else {
        return;
    };
    let source = Counting {
        bytes: &bytes,
        read: AtomicU64::new(0),
    };
    let reader = fst::open(&source).unwrap();
    let names = [0, 1].map(|column| reader.schema()[column].name.clone());
    let names = [names[0].as_str(), names[1].as_str()];
    let table = reader.read(Some(&names), Some(5000..6000)).unwrap();
    assert_eq!(1000, table.rows);
    let read = source.read.load(Ordering::Relaxed);
    assert!(read * 50 < bytes.len() as u64, "{read} of {}", bytes.len());
}

#[test]
fn what_is_not_there_is_refused() {
    let Some(path) = shared("fixtures/fst/keyed.c50.fst") else {
        return;
    };
    let reader = fst::open(std::fs::File::open(path).unwrap()).unwrap();
    let error = reader.read(Some(&["k1", "k3"]), None).unwrap_err();
    assert_eq!(ErrorKind::NotFound, error.kind());
    assert!(error.to_string().contains("k1, k2, v"), "{error}");
    let error = reader.read(None, Some(0..4)).unwrap_err();
    assert_eq!(ErrorKind::Usage, error.kind());
    let part = reader.read(Some(&["v", "k1"]), None).unwrap();
    assert_eq!(vec![1], part.keys);
    let part = reader.read(Some(&["v", "k2"]), None).unwrap();
    assert_eq!(Vec::<usize>::new(), part.keys);
}

#[test]
fn encodings_are_those_of_the_file() {
    for (name, encoding, text) in [
        ("latin1", TextEncoding::Latin1, &b"caf\xe9"[..]),
        ("utf8", TextEncoding::Utf8, "caf\u{e9}".as_bytes()),
    ] {
        let Some(path) = shared(&format!("fixtures/fst/{name}.c50.fst")) else {
            return;
        };
        let table = fst::open(std::fs::File::open(path).unwrap())
            .unwrap()
            .read(None, None)
            .unwrap();
        let Data::Text(texts) = &table.columns[0].data else {
            panic!("{name}")
        };
        assert_eq!(
            (encoding, Some(text)),
            (texts.encoding(), texts.get(0)),
            "{name}"
        );
    }
}

#[test]
fn every_blob_is_the_raw_vector_it_was_made_of() {
    let Some(manifest) = json("fixtures/manifest.json") else {
        return;
    };
    let files = manifest["files"].as_array().unwrap();
    let files: Vec<_> = files
        .iter()
        .filter(|file| file["group"] == "compress_fst")
        .collect();
    assert_eq!(4, files.len());
    for entry in files {
        let read = |key: &str| {
            let name = entry[key].as_str().unwrap();
            std::fs::read(shared(&format!("fixtures/{name}")).unwrap()).unwrap()
        };
        let (blob, expected) = (read("file"), read("expected"));
        let options = fst::ReadOptions::default();
        let found = fst::blob::decompress(&blob, &options).unwrap();
        assert!(expected == found, "{}", entry["file"]);
        if entry["hash"] == true {
            let mut damaged = blob.clone();
            let middle = damaged.len() / 2;
            damaged[middle] ^= 1;
            let error = fst::blob::decompress(&damaged, &options).unwrap_err();
            assert_eq!(ErrorKind::ChecksumMismatch, error.kind());
        }
        let error = fst::blob::decompress(&blob[..blob.len() - 1], &options).unwrap_err();
        assert!(error.is_truncated());
    }
}
