//! Text with delimiters: what is plain comes as columns, what is not is left; what fields are is told of any text.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int64Type, TimestampSecondType};
use arrow_array::Array;
use proptest::prelude::*;
use tare::delimited::{lines_of_rows, look_at_fields, read_columns, row_end, whole_rows, Style};

const WORDS: &[&[u8]] = &[b"NA", b"null"];

/// The type of a column of these fields, beside another one; None if they are left to others.
fn kind(fields: &[&str]) -> Option<String> {
    let rows: Vec<_> = fields.iter().map(|field| format!("{field},x\n")).collect();
    let text = format!("v,w\n{}", rows.concat());
    let columns = read_columns(text.as_bytes(), b',', WORDS)?;
    Some(columns[0].values.data_type().to_string())
}

#[test]
fn a_column_is_what_all_its_fields_are() {
    for (fields, expected) in [
        (&["", "NA"][..], "Null"),
        (&["1", "-2", "NA"], "Int64"),
        (&["0", "\"7\""], "Int64"),
        (&["1", "2.5", "-1e-3", ".5", "5."], "Float64"),
        (&["true", "FALSE", ""], "Boolean"),
        (&["2024-02-29", "1999-12-31"], "Date32"),
        (
            &["2024-02-29 23:59:59", "2024-02-29T00:00:00"],
            "Timestamp(s)",
        ),
        (
            &["2024-02-29 23:59:59.5", "2024-02-29T00:00:00"],
            "Timestamp(ns)",
        ),
        (&["2024-02-29T23:59:59Z", ""], "Timestamp(s, \"UTC\")"),
        (
            &["2024-02-29T23:59:59+01:00", "2024-02-29 23:59:59.5-0500"],
            "Timestamp(ns, \"UTC\")",
        ),
        (&["007", "7"], "Utf8"),
        (&["007", "7.5"], "Utf8"),
        (&["x", "1"], "Utf8"),
        (&["1", "\"\""], "Utf8"),
        (&["10.0.0.1"], "Utf8"),
        (&["555-1234"], "Utf8"),
        (&["-"], "Utf8"),
        (&["\"a\nb\""], "Utf8"),
        // What is doubtful by itself is text beside what is nothing else.
        (&["0x1F", "12:30", "London"], "Utf8"),
    ] {
        assert_eq!(Some(expected.to_owned()), kind(fields), "{fields:?}");
    }
}

#[test]
fn what_readers_may_take_another_way_is_left() {
    for fields in [
        &["0x1F"][..],
        &["+5"],
        &[" 5"],
        &["5 "],
        &["-0"],
        &["nan"],
        &["1", "inf"],
        &["12:30"],
        &["2024-02-30"],
        &["2024-02-29", "2024-02-29 10:00:00"],
        &["2024-02-29 10:00:00", "2024-02-29 10:00:00Z"],
        &["2024-02-29 10:00:00+25:00"],
        &["9007199254740993.0"],
        &["1234567890123456789"],
        &["9007199254740993", "0.5"],
        &["1e-400"],
        &["1", "true"],
        &["2024-02-29", "7"],
        &["\"a\"b"],
        &["1,2"],
        &["1\r2"],
    ] {
        assert_eq!(None, kind(fields), "{fields:?}");
    }
    assert!(read_columns(b"v\n1\n", b',', WORDS).is_none());
    assert!(read_columns(b"v,w\n1\n", b',', WORDS).is_none());
    assert!(read_columns(b"v,w\n1,\"x\n", b',', WORDS).is_none());
    assert!(read_columns(b"v,w\n1,\xff\n", b',', WORDS).is_none());
    assert!(read_columns(b"v,w\n1,5\" pipe\n", b',', WORDS).is_none());
}

#[test]
fn values_are_those_of_the_text() {
    let text = "\u{feff}\r\ni,f,d,m,t\r\n-12,0.1,1970-01-02,1970-01-01 00:01:01,\"a \"\"b\"\"\"\r\n\r\nNA,1e3,,,NA\r\n";
    let columns = read_columns(text.as_bytes(), b',', WORDS).unwrap();
    let column = |at: usize| &columns[at].values;
    assert_eq!(-12, column(0).as_primitive::<Int64Type>().value(0));
    assert!(column(0).is_null(1));
    assert_eq!(
        &[0.1, 1000.0],
        &column(1).as_primitive::<Float64Type>().values()[..]
    );
    assert_eq!(1, column(2).as_primitive::<Date32Type>().value(0));
    assert_eq!(61, column(3).as_primitive::<TimestampSecondType>().value(0));
    assert_eq!("a \"b\"", column(4).as_string::<i32>().value(0));
    assert!(column(4).is_null(1));
    assert_eq!(
        (vec![(0, 1)], vec![]),
        (columns[0].words.clone(), columns[1].words.clone())
    );
}

#[test]
fn codes_are_text_as_it_stands() {
    let columns = read_columns(b"zip,n\n01067,1\n,2\n80331,3\n", b',', WORDS).unwrap();
    assert_eq!((true, false), (columns[0].codes, columns[1].codes));
    let zips: Vec<_> = columns[0].values.as_string::<i32>().iter().collect();
    assert_eq!(vec![Some("01067"), None, Some("80331")], zips);
}

#[test]
fn fields_of_any_text_are_told() {
    let text = b"a;b;c\n\n+491701234567;NA;-0\n \"x;\"null\";-00 \n0x1F;null;-0.0\n1;NA;+12345\n";
    let found = look_at_fields(text, Style::new(b';'), WORDS);
    let told: Vec<_> = found
        .iter()
        .map(|one| (one.codes, one.signed_zeros))
        .collect();
    assert_eq!(vec![(true, false), (false, false), (true, true)], told);
    assert_eq!(vec![(0, 2), (1, 1)], found[1].words);
    let mut style = Style::new(b',');
    style.escapes = true;
    let found = look_at_fields(b"a,b\n\"x\\\",\",007\n1\\,2,8\n", style, WORDS);
    assert_eq!((false, true), (found[0].codes, found[1].codes));
    style.quotes = false;
    style.escapes = false;
    let found = look_at_fields(b"a,b\n\"01,02\"\n", style, WORDS);
    assert_eq!((false, true), (found[0].codes, found[1].codes));
}

/// Where the last whole row ends and whether an end of a line is in quotes, byte by byte.
fn rows_one_by_one(text: &[u8]) -> Option<(usize, bool)> {
    let border = |at: usize| text.get(at).is_none_or(|byte| b",\r\n\"".contains(byte));
    let (mut open, mut end, mut within, mut told) = (false, 0, false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' => {
                if (open && !border(at + 1)) || (!open && at > 0 && !border(at - 1)) {
                    return None;
                }
                open = !open;
            }
            b'\n' if open => within = true,
            b'\n' => (end, told) = (at + 1, within),
            _ => {}
        }
    }
    Some((end, told))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whole_rows_are_those_of_a_walk(text in "[,a\"\n]{0,24}") {
        prop_assert_eq!(rows_one_by_one(text.as_bytes()), whole_rows(text.as_bytes(), b','));
    }

    #[test]
    fn rows_end_where_a_walk_says(text in "[,a\"\n]{0,24}") {
        if let Some((end, _)) = rows_one_by_one(text.as_bytes()) {
            prop_assert_eq!(end, row_end(text.as_bytes()));
        }
    }

    #[test]
    fn lines_are_rows_if_a_walk_says_so(text in "([,a]{1,3}|\"[,a]{0,2}\"|\"a|a\"|\r?\n|\r){0,9}") {
        let ends: Vec<&str> = text.strip_suffix('\n').unwrap_or(&text).split('\n').collect();
        let plain = text.is_empty() || ends.iter().all(|line| {
            let bare = line.strip_suffix('\r').unwrap_or(line);
            let last = !text.ends_with('\n') && std::ptr::eq(*line, *ends.last().unwrap());
            let faulty = bare.is_empty() || bare.contains('\r') || (last && bare != *line);
            !faulty && bare.matches('"').count() % 2 == 0
        });
        let rows = rows_one_by_one(text.as_bytes());
        let expected = (plain && rows.is_some_and(|(_, within)| !within))
            .then(|| text.lines().count());
        prop_assert_eq!(expected, lines_of_rows(text.as_bytes(), b','));
    }

    #[test]
    fn whole_numbers_are_what_they_are_among_others(numbers in proptest::collection::vec(proptest::option::of(any::<i64>()), 1..20)) {
        let kept: Vec<Option<i64>> = numbers.iter().map(|number| number.map(|number| number % 1_000_000)).collect();
        let row = |number: &Option<i64>| number.map_or(String::new(), |number| number.to_string());
        let rows: Vec<String> = kept.iter().map(|number| row(number) + ",x\n").collect();
        let text = rows.concat();
        let alone = read_columns(format!("v,w\n{text}").as_bytes(), b',', WORDS).unwrap();
        let beside = read_columns(format!("v,w\n{text}0.5,x\n").as_bytes(), b',', WORDS).unwrap();
        let doubles = beside[0].values.as_primitive::<Float64Type>();
        if kept.iter().all(Option::is_none) {
            prop_assert_eq!("Null", alone[0].values.data_type().to_string());
            prop_assert_eq!(None, alone[0].ends);
        } else {
            let whole: Vec<Option<i64>> = alone[0].values.as_primitive::<Int64Type>().iter().collect();
            prop_assert_eq!(&kept, &whole);
            let found = kept.iter().flatten();
            let ends = (*found.clone().min().unwrap(), *found.max().unwrap());
            prop_assert_eq!(Some(ends), alone[0].ends);
        }
        for (at, number) in kept.iter().enumerate() {
            prop_assert_eq!(number.map(|number| number as f64), (!doubles.is_null(at)).then(|| doubles.value(at)));
        }
    }

    #[test]
    fn both_looks_agree(text in "(((0?[0-9]{1,2}|NA|null|x|\"0?1\"|\"NA\"|),){2}(1|02|NA)\r?\n){1,6}") {
        let text = format!("a,b,c\n{text}");
        let looked = look_at_fields(text.as_bytes(), Style::new(b','), WORDS);
        for (column, fields) in read_columns(text.as_bytes(), b',', WORDS).unwrap().iter().zip(looked) {
            prop_assert_eq!(&column.words, &fields.words);
            prop_assert!(!column.codes || fields.codes);
        }
    }

    #[test]
    fn any_bytes_are_taken(text in proptest::collection::vec(any::<u8>(), 0..64), picked in "[,;\"\r\n\\\\0-9A-Z+-]{0,64}") {
        for text in [&text[..], picked.as_bytes()] {
            let mut style = Style::new(b',');
            style.escapes = true;
            let _ = look_at_fields(text, style, WORDS);
            let _ = whole_rows(text, b',');
            let _ = row_end(text);
            let _ = lines_of_rows(text, b',');
            let _ = read_columns(text, b',', WORDS);
        }
    }
}
