//! Lines and arrays of JSON as columns whose types are found in them.

use arrow_array::{Array, StructArray};
use arrow_schema::{DataType, Field, Fields};
use tare::ndjson::{ChangeKind, Finder, Reader};
use tare::ErrorKind;

fn found(text: &str) -> (Fields, Vec<StructArray>, Vec<(String, ChangeKind, u64)>) {
    let mut finder = Finder::new();
    finder.read(text.as_bytes(), 2).unwrap();
    let changes = finder.changes().into_iter();
    let changes = changes.map(|one| (one.path, one.kind, one.count)).collect();
    (finder.fields(), finder.take().unwrap(), changes)
}

fn types(text: &str) -> Vec<DataType> {
    let fields = found(text).0;
    fields
        .iter()
        .map(|field| field.data_type().clone())
        .collect()
}

fn list(kind: DataType) -> DataType {
    DataType::List(Field::new("item", kind, true).into())
}

#[test]
fn a_type_is_that_of_all_values() {
    for (text, kind) in [
        ("{\"v\": null}", DataType::Null),
        ("{\"v\": null}\n{\"v\": true}", DataType::Boolean),
        ("{\"v\": -0}\n{\"v\": -1}", DataType::Int64),
        ("{\"v\": 1}\n{\"v\": 9223372036854775808}", DataType::UInt64),
        (
            "{\"v\": 1}\n{\"v\": 1e2}\n{\"v\": -9007199254740992}",
            DataType::Float64,
        ),
        ("{\"v\": []}\n{\"v\": null}", list(DataType::Null)),
        (
            "{\"v\": [[1]]}\n{\"v\": [null, [], [0.5]]}",
            list(list(DataType::Float64)),
        ),
        ("{\"v\": \"\\ud83d\\ude00\"}", DataType::Utf8),
    ] {
        assert_eq!(vec![kind], types(text), "{text}");
    }
}

#[test]
fn names_come_in_the_order_in_which_they_appear() {
    let (fields, rows, changes) = found(
        "{\"b\": {\"y\": 1}}\n\n{\"a\": 1, \"b\": {\"x\": 2.5, \"y\": 0.5}}\n{\"b\": null}\n{\"b\": {}}\n",
    );
    let inner = Fields::from(vec![
        Field::new("y", DataType::Float64, true),
        Field::new("x", DataType::Float64, true),
    ]);
    let expected = Fields::from(vec![
        Field::new("b", DataType::Struct(inner), true),
        Field::new("a", DataType::Int64, true),
    ]);
    assert_eq!(expected, fields);
    assert_eq!(4, rows.iter().map(Array::len).sum::<usize>());
    let told = |path: &str, kind, count| (path.to_owned(), kind, count);
    assert_eq!(
        vec![
            told("b.y", ChangeKind::Missing, 1),
            told("b.y", ChangeKind::Whole, 1),
            told("b.x", ChangeKind::Missing, 2),
            told("a", ChangeKind::Missing, 3),
        ],
        changes
    );
}

#[test]
fn values_without_one_type_are_refused() {
    for text in [
        "{\"v\": 1}\n{\"v\": \"x\"}",
        "{\"v\": 9007199254740993}\n{\"v\": 0.5}",
        "{\"v\": 0.5}\n{\"v\": 1152921504606846976}",
        "{\"v\": -1}\n{\"v\": 18446744073709551615}",
        "{\"v\": 18446744073709551616}",
        "{\"v\": [1]}\n{\"v\": {}}",
        "{\"v\": 1, \"v\": 1}",
        "[1]",
        "{\"v\": NaN}",
    ] {
        let error = Finder::new().read(text.as_bytes(), 1).unwrap_err();
        assert_eq!(ErrorKind::Malformed, error.kind(), "{text}");
        // In lines of their own, read one after another.
        let mut finder = Finder::new();
        let mut lines = text.lines().map(|line| finder.read(line.as_bytes(), 1));
        assert!(lines.any(|read| read.is_err()), "{text}");
    }
    let deep = format!("{{\"v\": {}1{}}}", "[".repeat(80), "]".repeat(80));
    let error = Finder::new().read(deep.as_bytes(), 1).unwrap_err();
    assert_eq!(ErrorKind::Unsupported, error.kind());
}

#[test]
fn rows_are_those_of_a_reader_of_known_types() {
    let line = |n: u32| {
        let more = if n % 5 == 0 {
            ", \"late\": [{\"k\": 1}, {}]"
        } else {
            ""
        };
        let v = if n > 70_000 { "0.5" } else { "7" };
        format!(
            "{{\"n\": {n}, \"v\": {v}, \"t\": \"{}\"{more}}}\n",
            "x".repeat(60)
        )
    };
    let text: String = (1..80_000).map(line).collect();
    assert!(text.len() > 6 << 20);
    for threads in [1, 3] {
        let mut finder = Finder::new();
        finder.read(text.as_bytes(), threads).unwrap();
        let mut reader = Reader::new(&finder.fields()).unwrap();
        let whole = reader.read(text.as_bytes()).unwrap();
        let mut at = 0;
        for rows in finder.take().unwrap() {
            assert_eq!(whole.slice(at, rows.len()), rows);
            at += rows.len();
        }
        assert_eq!(whole.len(), at);
        assert_eq!(reader.changes(), finder.changes());
        // Nothing is left, and the types are known for what comes.
        assert!(finder.take().unwrap().is_empty());
        let array = format!("[{}]", text.trim_end().replace('\n', ",\n "));
        let mut other = Finder::of(&finder.fields());
        other.read_array(array.as_bytes(), threads).unwrap();
        assert_eq!(finder.changes(), other.changes());
        assert_eq!(other.rows(), finder.rows());
    }
}

#[test]
fn an_array_ends_where_the_text_does() {
    for text in [
        "", "[", "[{}", "[{}]]", "[{},]", "[,]", "[{} {}]", "{}", "[{}] x",
    ] {
        assert!(
            Finder::new().read_array(text.as_bytes(), 2).is_err(),
            "{text}"
        );
    }
    for (text, rows) in [(" [ ] ", 0), ("[{}]\n", 1), ("[ {\"a\": 1} , {} ]", 2)] {
        let mut finder = Finder::new();
        finder.read_array(text.as_bytes(), 2).unwrap();
        assert_eq!(rows, finder.rows(), "{text}");
    }
}
