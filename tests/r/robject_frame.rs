//! Every golden file of fst as the data frame that R had, and as a table again.

use crate::common;
use crate::r_expected;

use std::fs;

use serde_json::Value;
use tare::fst;
use tare::robject::frame::{from_fst, to_fst};
use tare::robject::{Body, Builder, LossKind};

use r_expected::{compare_by, Rules};

#[test]
fn golden_files_are_the_data_frames_of_r_and_tables_again() {
    let Some(manifest) = common::shared("fixtures/manifest.json") else {
        return;
    };
    let manifest: Value = serde_json::from_slice(&fs::read(manifest).unwrap()).unwrap();
    let files = manifest["files"].as_array().unwrap();
    let mut seen = 0;
    for entry in files.iter().filter(|entry| entry["group"] == "fst") {
        let name = entry["file"].as_str().unwrap();
        let stored = fs::read(common::shared(&format!("fixtures/{name}")).unwrap()).unwrap();
        let table = fst::open(&stored[..]).unwrap().read(None, None).unwrap();
        let object = from_fst(table.clone()).unwrap();
        let expected = entry["expected"].as_str().unwrap();
        let expected = fs::read(common::shared(&format!("fixtures/{expected}")).unwrap()).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let mut report = compare_by(Rules::default(), &object, &expected);
        // A table has the text of its names, not R's mark on it.
        report
            .faults
            .retain(|fault| !fault.starts_with("$@names: encoding"));
        report.assert_same(name);
        let (again, losses) = to_fst(&object, false).unwrap();
        let latin1 = |loss: &tare::robject::Loss| loss.kind == LossKind::EncodingChanged;
        assert!(
            losses.list().iter().all(latin1),
            "{name}: {:?}",
            losses.list()
        );
        assert_eq!(table.rows, again.rows, "{name}");
        assert_eq!(table.columns.len(), again.columns.len(), "{name}");
        for (one, two) in table.columns.iter().zip(&again.columns) {
            assert_eq!(
                (&one.name, one.kind, &one.zone),
                (&two.name, two.kind, &two.zone)
            );
            assert_eq!(one.scale.units(), two.scale.units(), "{name}: {}", one.name);
            let text = matches!(one.data, fst::Data::Text(_) | fst::Data::Factor { .. });
            assert!(text || one.data == two.data, "{name}: {}", one.name);
        }
        seen += 1;
    }
    assert_eq!(17, seen);
}

#[test]
fn what_fst_has_no_place_for_is_reported_or_refused() {
    let mut build = Builder::new();
    let numbers = build.push(Body::Integer(vec![1, 2])).unwrap();
    let label = build.strings(["metres"]).unwrap();
    build.set_attributes(numbers, &[("label", label)]).unwrap();
    let frame = build.push(Body::List(vec![numbers])).unwrap();
    let names = build.strings(["x"]).unwrap();
    let class = build.strings(["tbl_df", "tbl", "data.frame"]).unwrap();
    let rows = build.strings(["a", "b"]).unwrap();
    let pairs = [("names", names), ("class", class), ("row.names", rows)];
    build.set_attributes(frame, &pairs).unwrap();
    let object = build.finish(frame);
    let (_, losses) = to_fst(&object, false).unwrap();
    let said: Vec<String> = losses.list().iter().map(ToString::to_string).collect();
    let expected = [
        "$x@label: attribute_dropped: metres",
        "@class: class_dropped: tbl_df, tbl, data.frame, kept data.frame",
        "@row.names: row_names_dropped: row names (2 values)",
    ];
    assert_eq!(expected.map(String::from).to_vec(), said);
    assert!(to_fst(&object, true).is_err());
    let error = to_fst(&object.at(numbers), false).unwrap_err();
    assert_eq!(tare::ErrorKind::Unsupported, error.kind());
}

#[test]
fn rows_have_names_of_their_own_unless_they_are_numbered_from_1_on() {
    let cases = [
        (vec![i32::MIN, -3], 0),
        (vec![i32::MIN, 3], 0),
        (vec![1, 2, 3], 0),
        (vec![3, 4, 5], 3),
        (vec![1, 2, 4], 3),
    ];
    for (numbers, told) in cases {
        let mut build = Builder::new();
        let column = build.push(Body::Integer(vec![7, 8, 9])).unwrap();
        let list = build.push(Body::List(vec![column])).unwrap();
        let names = build.strings(["a"]).unwrap();
        let class = build.strings(["data.frame"]).unwrap();
        let rows = build.push(Body::Integer(numbers.clone())).unwrap();
        let pairs = [("names", names), ("class", class), ("row.names", rows)];
        build.set_attributes(list, &pairs).unwrap();
        let (_, losses) = to_fst(&build.finish(list), false).unwrap();
        let counted: u64 = losses.list().iter().map(|loss| loss.count).sum();
        assert_eq!(told, counted, "{numbers:?}");
        if told > 0 {
            assert_eq!(LossKind::RowNamesDropped, losses.list()[0].kind);
        }
    }
}
