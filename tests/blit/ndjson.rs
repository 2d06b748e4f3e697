//! Lines of JSON as columns: what is read is what stands there, and nothing else is.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::Array;
use arrow_schema::{DataType, Field, Fields};
use proptest::prelude::*;
use serde_json::{json, Value};
use tare::ndjson::{ChangeKind, Reader};
use tare::ErrorKind;

include!("../../fuzz/ndjson_rows.rs");

fn one(kind: DataType) -> Reader {
    Reader::new(&Fields::from(vec![Field::new("v", kind, true)])).unwrap()
}

fn refused(kind: DataType, line: &str) -> String {
    one(kind).read(line.as_bytes()).unwrap_err().to_string()
}

#[test]
fn every_type_is_read() {
    let text = br#"{"i": -12, "u": 18446744073709551615, "f": 1.5e3, "t": "a\u00e9\n\ud83d\ude00", "b": true}
 {"a": [[1, 2], [], null], "o": {"f": 2, "a": ["x", null]}, "x\"\\\n\u00e9": [{"f": 0.1}, null, {}]}

{ }"#;
    let rows = Reader::new(&ndjson_rows::fields()).unwrap();
    let rows = { rows }.read(text).unwrap();
    let empty = json!({"i": null, "u": null, "f": null, "t": null, "b": null, "n": null, "a": null, "o": null, "x\"\\\n\u{e9}": null});
    let with = |more: Value| {
        let mut row = empty.clone();
        for (name, value) in more.as_object().unwrap() {
            row[name] = value.clone();
        }
        row
    };
    let expected = vec![
        with(json!({"i": -12, "u": u64::MAX, "f": 1500.0, "t": "a\u{e9}\n\u{1f600}", "b": true})),
        with(
            json!({"a": [[1, 2], [], null], "o": {"f": 2.0, "a": ["x", null]},
            "x\"\\\n\u{e9}": [{"f": 0.1, "a": null}, null, {"f": null, "a": null}]}),
        ),
        empty.clone(),
    ];
    assert_eq!(expected, ndjson_rows::values(&rows));
}

#[test]
fn what_the_columns_change_is_counted() {
    let text = br#"{"i": 1, "u": 2, "f": 1, "t": "", "b": true, "n": null, "a": null, "o": {"f": -0, "a": []}, "x\"\\\n\u00e9": null}
{"i": null, "u": null, "f": 1.0, "t": null, "b": null, "n": null, "a": [[1, 2], []], "o": null}
{"i": 1, "u": 2, "f": 1e0, "t": "", "b": true, "n": null, "a": null, "o": {}, "x\"\\\n\u00e9": [{"f": 3}, null, {}]}"#;
    let mut reader = Reader::new(&ndjson_rows::fields()).unwrap();
    let counted = |reader: &Reader| -> Vec<_> {
        let all = reader.changes().into_iter();
        all.map(|one| (one.path, one.kind, one.count)).collect()
    };
    assert!(counted(&reader).is_empty());
    let each = |times: u64| -> Vec<_> {
        let expected = [
            ("f", ChangeKind::Whole, 1),
            ("o.f", ChangeKind::Missing, 1),
            ("o.f", ChangeKind::Whole, 1),
            ("o.a", ChangeKind::Missing, 1),
            ("x\"\\\n\u{e9}", ChangeKind::Missing, 1),
            ("x\"\\\n\u{e9}[].f", ChangeKind::Missing, 1),
            ("x\"\\\n\u{e9}[].f", ChangeKind::Whole, 1),
            ("x\"\\\n\u{e9}[].a", ChangeKind::Missing, 2),
        ];
        let all = expected.into_iter();
        all.map(|(path, kind, count)| (path.to_owned(), kind, count * times))
            .collect()
    };
    for times in 1..=3 {
        reader.read(text).unwrap();
        assert_eq!(each(times), counted(&reader));
    }
    reader.read(b"{").unwrap_err();
    assert!(counted(&reader).is_empty());
}

#[test]
fn nothing_is_rounded() {
    let mut floats = one(DataType::Float64);
    let text = b"{\"v\": 9007199254740992}\n{\"v\": 1152921504606846976}\n{\"v\": 10000000000000000000000}\n{\"v\": -0}";
    let rows = floats.read(text).unwrap();
    let found = rows.column(0).as_primitive::<Float64Type>();
    assert_eq!(
        &[
            9_007_199_254_740_992.0,
            1_152_921_504_606_846_976.0,
            1e22,
            0.0
        ],
        &found.values()[..]
    );
    assert!(found.value(3).is_sign_positive()); // as a whole number has it
    for text in [
        "9007199254740993",
        "-9007199254740993",
        "10000000000000000000001",
        "1e400",
    ] {
        let said = refused(DataType::Float64, &format!("{{\"v\": {text}}}"));
        assert!(
            said.contains(&format!("v: {text} is no double, at byte 6")),
            "{said}"
        );
    }
    for text in [
        "1.0",
        "1e3",
        "9223372036854775808",
        "99999999999999999999",
        "\"1\"",
        "true",
        "[1]",
    ] {
        let said = refused(DataType::Int64, &format!("{{\"v\": {text}}}"));
        assert!(said.contains("is no int64, at byte 6"), "{said}");
    }
    let rows = one(DataType::Int64)
        .read(b"{\"v\": 9223372036854775807}\n{\"v\": -9223372036854775808}")
        .unwrap();
    assert_eq!(
        &[i64::MAX, i64::MIN],
        &rows.column(0).as_primitive::<Int64Type>().values()[..]
    );
}

#[test]
fn a_line_is_one_object_of_known_names() {
    for (line, said, at) in [
        ("{\"v\": 1, \"v\": 2}", "v: the name stands twice", 9),
        ("{\"v\": 1, \"w\": 2}", "there is no column \"w\"", 10),
        ("{\"v\": 1} {\"v\": 2}", "something after the object", 9),
        ("[1]", "no object, so no row of a table", 0),
        ("{\"v\": 1,}", "a name is missing", 8),
        ("{\"v\": 01}", "',' or '}' is missing", 7),
        ("{\"v\" 1}", "':' is missing", 5),
        ("{\"v\": nul}", "v: a value is missing", 6),
    ] {
        let block = format!("{{\"v\": 7}}\n{line}\n");
        let error = one(DataType::Int64).read(block.as_bytes()).unwrap_err();
        assert_eq!(
            (ErrorKind::Malformed, Some(9 + at)),
            (error.kind(), error.offset()),
            "{error}"
        );
        assert!(error.to_string().contains(said), "{error}");
    }
    let said = refused(DataType::Utf8, r#"{"v": "\ud800 "}"#);
    assert!(said.contains("v: half of a surrogate pair"), "{said}");
}

#[test]
fn a_block_that_failed_leaves_nothing_behind() {
    let mut reader = one(DataType::Int64);
    assert!(reader.read(b"{\"v\": 1}\n{\"v\": x}").is_err());
    assert_eq!(1, reader.read(b"{\"v\": 2}").unwrap().len());
    assert_eq!(0, reader.read(b"\n \r\n").unwrap().len());
}

#[test]
fn types_that_are_not_read_are_named() {
    let error =
        Reader::new(&Fields::from(vec![Field::new("v", DataType::Date32, true)])).unwrap_err();
    assert_eq!(ErrorKind::Unsupported, error.kind());
    assert!(
        error.to_string().contains("v: columns of type Date32"),
        "{error}"
    );
    let twice = Fields::from(vec![
        Field::new("v", DataType::Null, true),
        Field::new("v", DataType::Null, true),
    ]);
    assert!(Reader::new(&twice)
        .unwrap_err()
        .to_string()
        .contains("two columns of one name"));
    let mut kind = DataType::Int64;
    for _ in 0..200 {
        kind = DataType::List(Field::new("item", kind, true).into());
    }
    assert!(Reader::new(&Fields::from(vec![Field::new("v", kind, true)])).is_err());
}

#[test]
fn cut_anywhere_it_is_an_error_or_the_lines_before() {
    let line =
        br#"{"i": -12, "f": 1.5e3, "t": "a\u00e9", "b": true, "a": [[1], null], "o": {"f": 2}}"#;
    let text = [&line[..], b"\n", line].concat();
    for end in 0..=text.len() {
        let read = Reader::new(&ndjson_rows::fields())
            .unwrap()
            .read(&text[..end]);
        let whole = [
            (0, 0),
            (line.len(), 1),
            (line.len() + 1, 1),
            (text.len(), 2),
        ];
        match whole.iter().find(|one| one.0 == end) {
            Some(&(_, rows)) => assert_eq!(rows, read.unwrap().len()),
            None => assert_eq!(ErrorKind::Truncated, read.unwrap_err().kind(), "{end}"),
        }
    }
}

fn value(kind: DataType) -> BoxedStrategy<Value> {
    let some = match kind {
        DataType::Int64 => prop_oneof![any::<i64>(), -1000_i64..1000]
            .prop_map(Value::from)
            .boxed(),
        DataType::UInt64 => any::<u64>().prop_map(Value::from).boxed(),
        DataType::Float64 => prop_oneof![
            any::<f64>().prop_map(Value::from),
            (-1_000_000_i64..1_000_000).prop_map(Value::from),
            (1_i64..1 << 60).prop_map(|n| Value::from(n << 2 >> (n % 50))),
            (-100_000_i32..100_000).prop_map(|n| Value::from(f64::from(n) / 100.0)),
        ]
        .boxed(),
        DataType::Utf8 => prop_oneof![any::<String>(), "[ -~]{0,40}"]
            .prop_map(Value::from)
            .boxed(),
        DataType::Boolean => any::<bool>().prop_map(Value::from).boxed(),
        DataType::List(field) => prop::collection::vec(value(field.data_type().clone()), 0..4)
            .prop_map(Value::from)
            .boxed(),
        DataType::Struct(fields) => row(&fields),
        _ => Just(Value::Null).boxed(),
    };
    prop_oneof![1 => Just(Value::Null), 6 => some].boxed()
}

/// Some of the names, in any order.
fn row(fields: &Fields) -> BoxedStrategy<Value> {
    let cells: Vec<_> = fields
        .iter()
        .map(|field| {
            (
                Just(field.name().clone()),
                value(field.data_type().clone()),
                0..5_u8,
            )
        })
        .collect();
    let cells = (cells, any::<bool>());
    let made = cells.prop_map(|(cells, reversed)| {
        let mut cells: Vec<_> = cells.into_iter().filter(|cell| cell.2 > 0).collect();
        if reversed {
            cells.reverse();
        }
        Value::Object(
            cells
                .into_iter()
                .map(|(name, value, _)| (name, value))
                .collect(),
        )
    });
    made.boxed()
}

/// A column of null has nothing else.
fn text(rows: &[Value], pretty: bool) -> String {
    let lines = rows.iter().map(|row| {
        let text = row.to_string();
        if pretty {
            format!(
                " {}\r",
                text.replace("{\"", "{ \t\"").replace(":[", " : [ ")
            )
        } else {
            text
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

proptest! {
    #[test]
    fn rows_are_what_another_parser_finds(
        rows in prop::collection::vec(row(&ndjson_rows::fields()), 0..6), pretty in any::<bool>()
    ) {
        let text = text(&rows, pretty);
        ndjson_rows::agrees(text.as_bytes());
    }

    #[test]
    fn damaged_rows_are_too(
        rows in prop::collection::vec(row(&ndjson_rows::fields()), 1..4),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..4),
    ) {
        let mut text = text(&rows, false).into_bytes();
        for (at, byte, how) in damage {
            let at = at.index(text.len());
            match how {
                0 => text[at] = byte,
                1 => text.truncate(at + 1),
                2 => text.insert(at, b"{}[]\",:0-.e \n\\tn"[usize::from(byte) % 16]),
                _ => drop(text.remove(at)),
            }
            if text.is_empty() {
                return Ok(());
            }
        }
        ndjson_rows::agrees(&text);
    }
}
