//! Every golden file of qs2's data format and of `dput`, compared with what R says.

use crate::r_expected;
use crate::r_files;

use serde_json::Value;
use tare::compress::decompress;
use tare::robject::{self, ReadOptions, WriteOptions};

use r_expected::{compare, compare_by, verdict, Rules};
use r_files::{group, text, Fixture, Tally};

/// What lies below the blocks of a qs2 file, by nothing but their description.
fn payload(file: &[u8]) -> Vec<u8> {
    let (mut at, mut plain) = (24, Vec::new());
    while at < file.len() {
        let word = u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        let size = (word & 0x7fff_ffff) as usize;
        let frame = &file[at + 4..at + 4 + size];
        let block = decompress(frame, &tare::compress::ReadOptions::default()).unwrap();
        let (whole, rest) = block.split_at(block.len() / 8 * 8);
        if word >> 31 == 1 {
            let planes = whole.len() / 8;
            plain.extend((0..whole.len()).map(|to| whole[to % 8 * planes + to / 8]));
            plain.extend_from_slice(rest);
        } else {
            plain.extend_from_slice(&block);
        }
        at += 4 + size;
    }
    plain
}

/// The tree of a file. Strings marked as bytes lie in it as they are, and R then calls them UTF-8:
/// bytes that are none stay bytes here.
fn tree(file: &Fixture) -> Value {
    let mut tree = file.expected();
    if file.text("object") == "chr_mixed_enc" {
        tree["values"][3] = serde_json::json!({ "bytes": "fffe0162" });
        tree["encoding"][3] = Value::from("bytes");
    }
    tree
}

fn qdata(file: &Fixture, tally: &mut Tally) -> Result<(), String> {
    let object = robject::qdata::parse(&file.bytes, &ReadOptions::default()).map_err(text)?;
    let report = compare(&object, &tree(file));
    tally.add("digests", report.digests);
    verdict(&report)?;
    let again = robject::qdata::serialize(&object, &WriteOptions::default()).map_err(text)?;
    if payload(&again) != payload(&file.bytes) {
        return Err("the payload written anew differs".to_string());
    }
    let again = robject::qdata::parse(&again, &ReadOptions::default()).map_err(text)?;
    verdict(&compare(&again, &tree(file)))
}

#[test]
fn qdata_is_what_r_wrote_and_comes_back() {
    let Some(files) = group("qdata") else { return };
    let mut tally = Tally::default();
    for file in &files {
        let outcome = qdata(file, &mut tally);
        tally.note(&file.name, outcome);
    }
    tally.assert_all(58);
}

/// Takes the digests of every vector away, and what `dput` does not keep: see the guide.
fn without_digests(tree: &mut Value) {
    match tree {
        Value::Object(map) => {
            map.shift_remove("md5");
            map.shift_remove("bits_be");
            map.values_mut().for_each(without_digests);
        }
        Value::Array(items) => items.iter_mut().for_each(without_digests),
        _ => {}
    }
}

/// A finite double as 15 digits keep it, and without the sign of 0.
fn of_15_digits(tree: &mut Value) {
    match tree {
        Value::Array(items) => items.iter_mut().for_each(of_15_digits),
        Value::String(token) => {
            let Ok(value) = token.parse::<f64>() else {
                return;
            };
            if value.is_finite() && value != 0.0 {
                let short: f64 = format!("{value:.14e}").parse().unwrap();
                *token = format!("{short:.17e}");
            } else if value == 0.0 {
                *token = "0".to_string();
            }
        }
        _ => {}
    }
}

fn dput(file: &Fixture, tally: &mut Tally) -> Result<(), String> {
    let source = std::str::from_utf8(&file.bytes).unwrap();
    let exact = file.text("control").starts_with("exact");
    let parsed = robject::dput::parse(source, &ReadOptions::default());
    let object = file.text("object");
    if matches!(object, "closure_global" | "formula" | "call") {
        tally.add("refused", 1);
        return match parsed {
            Ok(_) => Err("code was read".to_string()),
            Err(error) if error.offset().is_none() => Err(format!("no offset: {error}")),
            Err(error) if !error.to_string().contains("line 1") => Err(format!("no line: {error}")),
            Err(_) => Ok(()),
        };
    }
    let mut expected = file.expected();
    let lossy = matches!(object, "cplx" | "integer64") || (object == "dbl" && !exact);
    if lossy {
        tally.add("lossy", 1);
        without_digests(&mut expected);
        if !exact {
            of_15_digits(&mut expected["values"]);
        }
        if object == "cplx" {
            // `complex(real = NaN, imaginary = -0)` is written with 0.
            expected["values"][2][1] = Value::from("0");
        }
    }
    let rules = Rules {
        digests: !lossy,
        ..Rules::default()
    };
    verdict(&compare_by(rules, &parsed.map_err(text)?, &expected))
}

#[test]
fn dput_is_what_r_wrote_and_code_is_refused() {
    let Some(files) = group("dput") else { return };
    let mut tally = Tally::default();
    for file in &files {
        let outcome = dput(file, &mut tally);
        tally.note(&file.name, outcome);
    }
    tally.assert_all(44);
    assert_eq!((6, 5), (tally.sum("refused"), tally.sum("lossy")));
}
