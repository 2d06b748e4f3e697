//! Every golden file of qs2's data format is read, compared with what R says, and written back.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at once"
)]

mod common;
#[path = "common/r_expected.rs"]
mod r_expected;
#[path = "common/r_files.rs"]
mod r_files;

use serde_json::Value;
use tare::compress::decompress;
use tare::robject::{self, RObject, ReadOptions, WriteOptions};

use r_expected::{compare, verdict};
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
