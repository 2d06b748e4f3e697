//! What R wrote, read and written again: the same bytes, for every file there is.

use crate::common;

use common::rds_files::{difference, files, fixtures};

use std::fs;
use std::path::Path;

use tare::compress::{decompress, ReadOptions as Plain};
use tare::robject::{rds, Encoding, ReadOptions, WriteOptions};

/// Written in the form it was read from.
fn again(plain: &[u8]) -> tare::Result<Vec<u8>> {
    let object = rds::parse(plain, &ReadOptions::default())?;
    let options = WriteOptions {
        encoding: Some(object.arena().header().encoding),
        ..WriteOptions::default()
    };
    let mut streamed = Vec::new();
    let size = rds::serialize_to(&object, &options, &mut streamed)?;
    assert_eq!(size, streamed.len() as u64);
    let whole = rds::serialize(&object, &options)?;
    assert!(whole == streamed, "written by and by it is another");
    Ok(whole)
}

#[test]
fn every_fixture_keeps_its_bytes() {
    let Some(folder) = common::shared("fixtures/rds") else {
        return;
    };
    let (mut count, mut wrong) = (0, Vec::new());
    for (name, path) in fixtures(&folder) {
        count += 1;
        let plain = decompress(&fs::read(&path).unwrap(), &Plain::default()).unwrap();
        match again(&plain) {
            Ok(got) => wrong.extend(difference(&plain, &got).map(|text| format!("{name}: {text}"))),
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(count > 1000, "{count} fixtures");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_third_party_file_keeps_its_bytes() {
    let Some(folder) = common::shared("data/r") else {
        return;
    };
    let (mut count, mut wrong) = (0, Vec::new());
    for path in files(&folder, &[".rds", ".rds.xz", ".RDS"]) {
        let name = path.display().to_string();
        let mut plain = fs::read(&path).unwrap();
        if name.ends_with(".rds.xz") {
            plain = decompress(&plain, &Plain::default()).unwrap();
        }
        plain = decompress(&plain, &Plain::default()).unwrap();
        count += 1;
        match again(&plain) {
            // Text with CRLF is written with LF.
            Ok(got) if plain.starts_with(b"A\r") => {
                let lines: Vec<u8> = plain.iter().copied().filter(|b| *b != b'\r').collect();
                wrong.extend(difference(&lines, &got).map(|text| format!("{name}: {text}")));
            }
            Ok(got) => wrong.extend(difference(&plain, &got).map(|text| format!("{name}: {text}"))),
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(count > 50, "{count} files");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn compiled_code_keeps_its_bytes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/robject/bytecode.rds");
    let plain = fs::read(path).unwrap();
    assert_eq!(None, difference(&plain, &again(&plain).unwrap()));
    let object = rds::parse(&plain, &ReadOptions::default()).unwrap();
    for encoding in [Encoding::Native, Encoding::Ascii, Encoding::AsciiHex] {
        let options = WriteOptions {
            encoding: Some(encoding),
            ..WriteOptions::default()
        };
        let other = rds::serialize(&object, &options).unwrap();
        assert_eq!(
            None,
            difference(&other, &again(&other).unwrap()),
            "{encoding:?}"
        );
    }
}
