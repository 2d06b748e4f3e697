//! Real collections are as small as they should be, and come back.

use std::io::Read;
use std::path::Path;

use tare::blit::collection::{Collection, ReadOptions, WriteOptions};
use tare::blit::JsonOptions;
use tare::compress::{compress, Compressor};

use crate::common;

use common::folder::Folder;

/// Collections, how much of each is taken, and their most percent of the minified JSON, which is
/// three points above the model of the layout.
const GATES: &[(&str, usize, f64)] = &[
    ("data/docs/zips.ndjson.xz", usize::MAX, 33.6),
    ("data/docs/restaurant.ndjson.xz", usize::MAX, 48.5),
    ("data/docs/companies.ndjson.xz", 8_000_000, 72.2),
    ("data/docs/gh_events.ndjson.xz", usize::MAX, 74.6),
    ("data/docs/books.ndjson.xz", usize::MAX, 90.1),
    ("data/json/amazon_cellphones.ndjson.xz", usize::MAX, 96.6),
];

/// The lines of a file, each minified, up to so many bytes.
fn lines(path: &Path, most: usize) -> Vec<Vec<u8>> {
    let mut text = Vec::new();
    let options = tare::compress::ReadOptions::default();
    tare::compress::Reader::new(std::fs::File::open(path).unwrap(), options)
        .unwrap()
        .read_to_end(&mut text)
        .unwrap();
    let mut bytes = 0_usize;
    let lines = text.split(|&byte| byte == b'\n');
    lines
        .filter(|line| !line.trim_ascii().is_empty())
        .map(|line| {
            let value: serde_json::Value = serde_json::from_slice(line).unwrap();
            serde_json::to_vec(&value).unwrap()
        })
        .take_while(|line| {
            bytes = bytes.saturating_add(line.len());
            bytes <= most
        })
        .collect()
}

#[test]
fn real_collections_are_small_and_come_back() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let zstd = Compressor::parse("zstd:3").unwrap();
    let mut wrong = Vec::new();
    for &(name, most, gate) in GATES {
        let Some(source) = common::shared(name) else {
            continue;
        };
        let lines = lines(&source, most);
        let json: usize = lines.iter().map(Vec::len).sum();
        let percent = |options: &WriteOptions, of: usize| {
            let mut writer = Collection::create(&path, options).unwrap();
            for line in &lines {
                writer.push_json(line).unwrap();
            }
            writer.commit().unwrap();
            path.metadata().unwrap().len() as f64 * 100.0 / of as f64
        };
        let text = compress(
            &lines.concat(),
            &zstd,
            &tare::compress::WriteOptions::default(),
        )
        .unwrap();
        let compressed = WriteOptions {
            compressor: Some(zstd),
            ..WriteOptions::default()
        };
        let z = percent(&compressed, text.len());
        let found = percent(&WriteOptions::default(), json);
        eprintln!("{name}: {found:.1} % of {json}, by zstd {z:.0} % of the whole text by zstd");
        if found > gate {
            wrong.push(format!("{name}: {found:.1} % > {gate} %"));
        }
        let collection = Collection::open(&path, &ReadOptions::default()).unwrap();
        collection.validate().unwrap();
        let docs = collection.docs().unwrap();
        for (line, document) in lines.iter().zip(docs.iter()).step_by(17) {
            let document = document.unwrap();
            let again = document.view().to_json(&JsonOptions::default()).unwrap();
            let json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
            assert_eq!(json(line), json(&again), "{name}");
        }
        assert_eq!(lines.len() as u64, docs.len());
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
