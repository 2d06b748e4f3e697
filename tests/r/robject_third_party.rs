//! R's files from elsewhere: R's own data sets, tricky objects, the suites of other readers.

use crate::common;
use crate::r_expected;
use crate::r_files;
use crate::r_fst;

use std::path::{Path, PathBuf};

use md5::{Digest, Md5};
use serde_json::{json, Map, Value};
use tare::compress::decompress;
use tare::robject::{self, Body, Encoding, RObject, ReadOptions, WriteOptions};

use r_expected::{compare_by, verdict, Rules};
use r_files::{text, Tally};

/// All files below the folder of R's files, in order.
fn files() -> Option<(PathBuf, Vec<String>)> {
    let root = common::shared("data/r")?;
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(&root).unwrap();
                found.push(name.to_str().unwrap().to_string());
            }
        }
    }
    found.sort();
    Some((root, found))
}

fn plain(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let sniffed = [&b"\x1f\x8b"[..], b"BZh", b"\xfd7zXZ\0"];
    if sniffed.iter().any(|magic| bytes.starts_with(magic)) {
        return decompress(&bytes, &tare::compress::ReadOptions::default()).unwrap();
    }
    bytes
}

/// A tree of those files in the words of the fixtures: an object of attributes becomes a list.
fn translated(tree: &Value) -> Value {
    let map = tree.as_object().unwrap();
    let mut out = Map::new();
    let kind = map["type"].as_str().unwrap();
    out.insert("type".into(), kind.into());
    for (key, value) in map {
        match (key.as_str(), kind) {
            ("type" | "head", _) | ("length", "NULL") => {}
            ("attributes", _) => {
                let pairs = value.as_object().unwrap().iter();
                let pairs =
                    pairs.map(|(name, value)| json!({"name": name, "value": translated(value)}));
                out.insert(key.clone(), pairs.collect());
            }
            ("value", "list") => {
                let items = value.as_array().unwrap().iter().map(translated);
                out.insert("elements".into(), items.collect());
            }
            ("value", _) => {
                let name = if map.contains_key("head") {
                    "first"
                } else {
                    "values"
                };
                out.insert(name.into(), value.clone());
            }
            _ => {
                out.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(out)
}

/// The body in XDR of version 2: the same for the same value, however it was written.
fn body(object: &RObject) -> Result<Vec<u8>, String> {
    let options = WriteOptions {
        version: Some(2),
        encoding: Some(Encoding::Xdr),
        ..WriteOptions::default()
    };
    let mut written = robject::rds::serialize(object, &options).map_err(text)?;
    Ok(written.split_off(14))
}

fn expected(path: &Path) -> Result<(), String> {
    let about = path.with_extension("expected.json");
    let about: Value = serde_json::from_slice(&std::fs::read(about).unwrap()).unwrap();
    let object = robject::rds::parse(&plain(path), &ReadOptions::default()).map_err(text)?;
    let header = object.arena().header();
    let ascii = matches!(header.encoding, Encoding::Ascii | Encoding::AsciiHex);
    if (about["version"].as_i64(), about["ascii"].as_bool())
        != (Some(header.version.into()), Some(ascii))
    {
        return Err(format!("{header:?}"));
    }
    let rules = Rules {
        digests: false,
        full_row_names: true,
        calls: false,
    };
    verdict(&compare_by(rules, &object, &translated(&about["value"])))?;
    // R's own digest of the object: of version 2 in XDR, behind the header.
    let digest = Md5::digest(body(&object)?);
    let digest = r_expected::hex(&digest);
    if about["serialize_md5"].as_str() == Some(digest.as_str()) {
        return Ok(());
    }
    Err(format!("written as version 2 it has digest {digest}"))
}

#[test]
fn data_sets_of_r_are_what_r_says() {
    let Some((root, files)) = files() else { return };
    let mut tally = Tally::default();
    for name in files.iter().filter(|name| name.ends_with(".expected.json")) {
        let name = name.replace(".expected.json", ".rds");
        tally.note(&name, expected(&root.join(&name)));
    }
    tally.assert_all(73);
}

/// The serialization of an `RData` file or of an RDS file.
fn inner(plain: &[u8]) -> &[u8] {
    let magic = [&b"RDX2\n"[..], b"RDX3\n", b"RDA2\n", b"RDA3\n"];
    let named = magic.iter().any(|magic| plain.starts_with(magic));
    &plain[if named { 5 } else { 0 }..]
}

fn read(path: &Path) -> Result<(RObject, Vec<u8>), String> {
    let plain = inner(&plain(path)).to_vec();
    let object = robject::rds::parse(&plain, &ReadOptions::default()).map_err(text)?;
    Ok((object, plain))
}

fn same_again(path: &Path, tally: &mut Tally) -> Result<(), String> {
    let (object, plain) = read(path)?;
    let options = WriteOptions {
        encoding: Some(object.arena().header().encoding),
        ..WriteOptions::default()
    };
    let again = robject::rds::serialize(&object, &options).map_err(text)?;
    // Text files of Windows end their lines with two bytes.
    let lines = plain.starts_with(b"A\r\n");
    tally.add("of Windows", usize::from(lines));
    let plain = if lines {
        plain.into_iter().filter(|byte| *byte != b'\r').collect()
    } else {
        plain
    };
    if again == plain {
        return Ok(());
    }
    let at = again.iter().zip(&plain).take_while(|(a, b)| a == b).count();
    Err(format!("differs from byte {at} of {}", plain.len()))
}

#[test]
fn every_file_is_read_and_written_back_to_the_byte() {
    let Some((root, files)) = files() else { return };
    let mut tally = Tally::default();
    for name in &files {
        let extension = name.rsplit('.').next().unwrap();
        if matches!(extension, "rds" | "rda" | "RData" | "ser") {
            let outcome = same_again(&root.join(name), &mut tally);
            tally.note(name, outcome);
        }
    }
    tally.assert_all(159);
    assert_eq!(2, tally.sum("of Windows"));
}

#[test]
fn the_same_value_written_in_two_ways_is_read_as_one() {
    let Some((root, files)) = files() else { return };
    let mut tally = Tally::default();
    let mut compare = |one: &str, two: String| {
        let bodies = [one, &two].map(|name| body(&read(&root.join(name))?.0));
        let outcome = match bodies {
            [Ok(one), Ok(two)] if one == two => Ok(()),
            [Ok(_), Ok(_)] => Err(format!("is not {two}")),
            [one, two] => Err(format!("{:?} {:?}", one.err(), two.err())),
        };
        tally.note(one, outcome);
    };
    for name in &files {
        let newer = name.replace("data_v2", "data_v3");
        // The sources that these calls keep were saved at two times: R too says that they differ.
        let differs = name.ends_with("expr.rda");
        if newer != *name && files.contains(&newer) && !differs {
            compare(name, newer);
        }
        let binary = name.replace("_ascii", "");
        if name.starts_with("RData.jl") && binary != *name && files.contains(&binary) {
            compare(name, binary);
        }
    }
    compare(
        "r-tricky/dfmix_native_le.ser",
        "r-tricky/dfmix_xdr.ser".into(),
    );
    compare("r-tricky/dfmix_xdr.ser", "r-tricky/dfmix_1.rds".into());
    tally.assert_all(20);
}

#[test]
fn compiled_code_is_kept_as_it_stands() {
    let Some((root, _)) = files() else { return };
    for name in ["test_function.rda", "test_function_arg.rda"] {
        let (object, _) = read(&root.join("vnmabus-rdata").join(name)).unwrap();
        let arena = object.arena();
        let compiled = arena
            .ids()
            .filter(|id| matches!(arena.node(*id).body, Body::Bytecode(_)));
        assert!(compiled.count() > 0, "{name}");
    }
}

/// Tables of fst against the same table as RDS, value by value.
#[test]
fn tables_of_fst_are_those_of_rds() {
    let Some((root, _)) = files() else { return };
    let mut tally = Tally::default();
    for table in ["df", "iris"] {
        let (object, _) = read(&root.join(format!("fst-qs2/{table}.rds"))).unwrap();
        for level in [0, 50, 100] {
            let name = format!("fst-qs2/{table}_c{level}.fst");
            let file = std::fs::read(root.join(&name)).unwrap();
            let outcome = tare::fst::open(&file[..]).and_then(|reader| reader.read(None, None));
            let outcome = outcome.map_err(text).and_then(|read| {
                let bodies = (body(&object)?, body(&r_fst::data_frame(&read))?);
                let same = bodies.0 == bodies.1;
                same.then_some(())
                    .ok_or_else(|| "differs from the RDS file".to_string())
            });
            tally.note(&name, outcome);
        }
    }
    tally.assert_all(6);
}

#[test]
fn old_tables_of_fst_are_read_or_refused_by_name() {
    let Some((root, _)) = files() else { return };
    let file = std::fs::read(root.join("fst/data1.fst")).unwrap();
    let table = tare::fst::open(&file[..])
        .unwrap()
        .read(None, None)
        .unwrap();
    assert_eq!((15, 10_000), (table.columns.len(), table.rows));
    let file = std::fs::read(root.join("fst/previousversion.fst")).unwrap();
    let error = tare::fst::open(&file[..]).unwrap_err();
    assert_eq!(tare::ErrorKind::Unsupported, error.kind());
    assert!(error.to_string().contains("0.8"), "{error}");
}

/// qs2 and qdata against the same table as RDS.
#[test]
fn tables_of_qdata_are_those_of_rds() {
    let Some((root, _)) = files() else { return };
    for table in ["df", "iris"] {
        let (object, _) = read(&root.join(format!("fst-qs2/{table}.rds"))).unwrap();
        let file = std::fs::read(root.join(format!("fst-qs2/{table}.qdata"))).unwrap();
        let read = robject::qdata::parse(&file, &ReadOptions::default()).unwrap();
        assert!(body(&object).unwrap() == body(&read).unwrap(), "{table}");
    }
}
