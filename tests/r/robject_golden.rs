//! Every golden file of R's formats is read and compared with what R says it holds.
//!
//! Each test counts what it compared, so that no file is left out unseen.

use crate::r_expected;
use crate::r_files;

use tare::compress::{decompress, Compressor};
use tare::robject::{self, Body, Encoding, Kind, RObject, ReadOptions, WriteOptions};
use tare::ErrorKind;

use r_expected::{compare, verdict};
use r_files::{group, text, Fixture, Tally};

fn read(bytes: &[u8]) -> tare::Result<RObject> {
    robject::read(bytes, &ReadOptions::default())
}

/// The bytes below the compressor; those of the file where there is none.
fn plain(file: &Fixture) -> Result<Vec<u8>, String> {
    match file.text("compression") {
        "none" => Ok(file.bytes.clone()),
        _ => decompress(&file.bytes, &tare::compress::ReadOptions::default()).map_err(text),
    }
}

/// Whether the header of an object says what the manifest does.
fn header(file: &Fixture, object: &RObject) -> Result<(), String> {
    let header = object.arena().header();
    let (version, encoding) = (file.entry["version"].as_i64(), file.text("encoding"));
    if version.is_some_and(|version| version != i64::from(header.version)) {
        return Err(format!("version {}", header.version));
    }
    let right = match header.encoding {
        Encoding::Xdr => encoding.is_empty() || encoding == "xdr",
        // Where no double stands both look alike.
        Encoding::Ascii | Encoding::AsciiHex => encoding == "ascii" || encoding == "asciihex",
        Encoding::Native => encoding == "native",
    };
    right
        .then_some(())
        .ok_or_else(|| format!("encoding {:?}", header.encoding))
}

fn rds(file: &Fixture, tally: &mut Tally) -> Result<(), String> {
    let object = read(&file.bytes).map_err(text)?;
    header(file, &object)?;
    let plain = plain(file)?;
    let options = WriteOptions {
        encoding: Some(object.arena().header().encoding),
        ..WriteOptions::default()
    };
    let again = robject::rds::serialize(&object, &options).map_err(text)?;
    if again != plain {
        let at = again.iter().zip(&plain).take_while(|(a, b)| a == b).count();
        return Err(format!(
            "written anew it differs from byte {at} of {}",
            plain.len()
        ));
    }
    let report = compare(&object, &file.expected());
    tally.add("unforced", report.unforced);
    tally.add("digests", report.digests);
    verdict(&report)
}

#[test]
fn rds_is_what_r_wrote_and_is_written_back_to_the_byte() {
    let Some(files) = group("rds") else { return };
    let mut tally = Tally::default();
    for file in &files {
        let outcome = rds(file, &mut tally);
        tally.note(&file.name, outcome);
    }
    tally.assert_all(1186);
    // The one object with a promise, which R forced when it printed it.
    assert_eq!(12, tally.sum("unforced"), "promises that are not forced");
    assert_eq!(3615, tally.sum("digests"), "digests of vectors");
}

#[test]
fn three_billion_numbers_stay_deferred() {
    let Some(files) = group("rds-hostile") else {
        return;
    };
    assert_eq!(1, files.len());
    let object = read(&files[0].bytes).unwrap();
    let (arena, id) = (object.arena(), object.id());
    assert_eq!(
        (Kind::Double, 3_000_000_000),
        (arena.kind(id), arena.length(id))
    );
    let error = arena.data(id, Some(1 << 30)).unwrap_err();
    assert_eq!(ErrorKind::Limit, error.kind(), "{error}");
    let error = robject::arrow::to_arrow(&object, &robject::arrow::ToArrow::default()).unwrap_err();
    assert_eq!(ErrorKind::Limit, error.kind(), "{error}");
    let again = robject::rds::serialize(&object, &WriteOptions::default()).unwrap();
    let plain = decompress(&files[0].bytes, &tare::compress::ReadOptions::default()).unwrap();
    assert_eq!(plain, again);
}

/// How a bad file is refused: with the format and a place in the file.
fn refusal(bytes: &[u8]) -> Result<(), String> {
    let Err(error) = read(bytes) else {
        return Err("was read".to_string());
    };
    let kind = matches!(
        error.kind(),
        ErrorKind::Malformed | ErrorKind::Truncated | ErrorKind::Unsupported
    );
    // Of an empty file no format can be named.
    let named = error.format().is_some() || bytes.is_empty();
    let told = kind && named && error.offset().is_some();
    told.then_some(())
        .ok_or_else(|| format!("{:?}: {error}", error.kind()))
}

#[test]
fn bad_files_are_refused_with_format_and_offset() {
    let Some(files) = group("bad") else { return };
    let mut tally = Tally::default();
    for file in &files {
        let outcome = if file.name == "rds/BAD_huge_length.rds" {
            huge_length(&file.bytes)
        } else {
            refusal(&file.bytes)
        };
        tally.note(&file.name, outcome);
    }
    tally.assert_all(5);
}

/// The forged length of this file missed its place: it is five doubles, and R reads them too.
/// Where the length is, at byte 27, it is refused.
fn huge_length(bytes: &[u8]) -> Result<(), String> {
    let object = read(bytes).map_err(text)?;
    let first = f64::from_bits(0x3ff0_0000_7fff_ffff);
    match &object.node().body {
        Body::Double(values) if *values == [first, 2.0, 3.0, 4.0, 5.0] => {}
        other => return Err(format!("{other:?}")),
    }
    let mut forged = bytes.to_vec();
    forged[27..31].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
    refusal(&forged)
}

fn rdata(file: &Fixture, tally: &mut Tally) -> Result<(), String> {
    let objects = robject::read_rdata(&file.bytes, &ReadOptions::default()).map_err(text)?;
    let expected = file.entry["objects"].as_object().unwrap();
    let mut names: Vec<&String> = objects.iter().map(|(name, _)| name).collect();
    names.sort();
    if names != expected.keys().collect::<Vec<_>>() {
        return Err(format!("names {names:?}"));
    }
    for (name, object) in &objects {
        header(file, object)?;
        let report = compare(object, &file.tree(expected[name].as_str().unwrap()));
        verdict(&report).map_err(|fault| format!("{name}: {fault}"))?;
        tally.add("objects", 1);
    }
    let mut again = Vec::new();
    let options = WriteOptions {
        encoding: objects
            .first()
            .map(|(_, one)| one.arena().header().encoding),
        version: file.entry["version"]
            .as_i64()
            .and_then(|one| i32::try_from(one).ok()),
        compressor: Some(Compressor::parse("none").unwrap()),
        ..WriteOptions::default()
    };
    robject::write_rdata(&objects, &mut again, &options).map_err(text)?;
    let plain = match file.text("compression") {
        "" => decompress(&file.bytes, &tare::compress::ReadOptions::default()).map_err(text)?,
        _ => plain(file)?,
    };
    (again == plain)
        .then_some(())
        .ok_or_else(|| "written anew it differs".to_string())
}

#[test]
fn rdata_is_what_r_wrote_and_is_written_back_to_the_byte() {
    let Some(files) = group("rdata") else { return };
    let mut tally = Tally::default();
    for file in &files {
        let outcome = rdata(file, &mut tally);
        tally.note(&file.name, outcome);
    }
    tally.assert_all(12);
    assert_eq!(71, tally.sum("objects"), "objects compared");
}
