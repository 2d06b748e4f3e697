//! Every golden file of fst is read and compared with what R says it holds.

use crate::r_expected;
use crate::r_files;
use crate::r_fst;

use serde_json::Value;

use r_expected::{compare, verdict};
use r_files::{group, text, Fixture, Tally};
use r_fst::data_frame;

fn fst(file: &Fixture) -> Result<(), String> {
    let reader = tare::fst::open(&file.bytes[..]).map_err(text)?;
    let table = reader.read(None, None).map_err(text)?;
    let number = |value: &Value| value.as_u64().unwrap();
    let columns = file.entry["columns"].as_array().unwrap().iter();
    let names: Vec<&str> = columns.map(|name| name.as_str().unwrap()).collect();
    let found: Vec<&str> = table.columns.iter().map(|one| one.name.as_str()).collect();
    let kinds: Vec<u64> = table
        .columns
        .iter()
        .map(|one| u64::from(one.kind.code()))
        .collect();
    let expected = file.entry["column_types"].as_array().unwrap();
    let expected: Vec<u64> = expected.iter().map(number).collect();
    if (number(&file.entry["rows"]), &names, &expected) != (table.rows, &found, &kinds) {
        return Err(format!("{} rows, {found:?}, {kinds:?}", table.rows));
    }
    let keys = file.entry.get("keys").and_then(Value::as_array);
    let keys = keys.map(|keys| keys.iter().map(|key| key.as_str().unwrap()).collect());
    let keys: Vec<&str> = keys.unwrap_or_default();
    let found: Vec<&str> = table.keys.iter().map(|key| found[*key]).collect();
    if keys != found {
        return Err(format!("keys {found:?}"));
    }
    verdict(&compare(&data_frame(&table), &file.expected()))
}

#[test]
fn fst_is_what_r_wrote() {
    let Some(files) = group("fst") else { return };
    let mut tally = Tally::default();
    for file in &files {
        let outcome = fst(file);
        tally.note(&file.name, outcome);
    }
    tally.assert_all(17);
}

#[test]
fn compress_fst_is_what_r_wrote() {
    let Some(files) = group("compress_fst") else {
        return;
    };
    let mut tally = Tally::default();
    for file in &files {
        let plain = tare::fst::blob::decompress(&file.bytes, &tare::fst::ReadOptions::default());
        let outcome = plain.map_err(text).and_then(|plain| {
            let same = plain == file.other(file.text("expected"));
            same.then_some(()).ok_or_else(|| "other bytes".to_string())
        });
        tally.note(&file.name, outcome);
    }
    tally.assert_all(4);
}
