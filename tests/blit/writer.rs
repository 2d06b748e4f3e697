//! What is written otherwise than by default comes back all the same: a pool, compressed strings,
//! lines, pieces taken out while writing.

use proptest::prelude::*;
use tare::blit::{from_json, from_ndjson, Duplicates, JsonOptions, Options, View, Writer};
use tare::ErrorKind;

fn back(document: &[u8]) -> String {
    let view = View::open(document).unwrap();
    view.validate().unwrap();
    String::from_utf8(view.to_json(&JsonOptions::default()).unwrap()).unwrap()
}

const POOLED: Options = Options {
    pool: true,
    ..plain()
};

const fn plain() -> Options {
    Options {
        layout: tare::blit::Layout::Columns,
        numbers: tare::blit::Numbers::Value,
        duplicates: tare::blit::Duplicates::Last,
        surrogates: tare::blit::Surrogates::Error,
        checksum: tare::blit::Checksum::Off,
        aligned: false,
        pool: false,
        compress_strings: None,
        canonical: false,
    }
}

#[test]
fn strings_of_mixed_lists_are_kept_once() {
    // Five bytes are too few, and a list of strings alone is no mixed one.
    let text = r#"[["second string",1],["first string","short",2],[["first string","short",3],["first string","second string"]],{"list":["first string","second string"]},{"a":"first string","b":0,"c":"second string"}]"#;
    let document = from_json(text.as_bytes(), &POOLED).unwrap();
    assert_eq!(text, back(&document));
    let count = |part: &[u8]| {
        document
            .windows(part.len())
            .filter(|at| *at == part)
            .count()
    };
    assert_eq!(2, count(b"short"));
    // The most frequent first; once more where there are strings only.
    assert_eq!(2, count(b"first stringsecond string"));
    assert_eq!((2, 2), (count(b"first string"), count(b"second string")));
    let without = from_json(text.as_bytes(), &plain()).unwrap();
    assert!(document.len() < without.len());
    assert_eq!(text, back(&without));
}

#[test]
fn without_repeated_strings_there_is_no_pool() {
    let text = br#"[["only once",1],["and this",2,"too"]]"#;
    assert_eq!(
        from_json(text, &plain()).unwrap(),
        from_json(text, &POOLED).unwrap()
    );
}

#[test]
fn more_than_256_pooled_strings_have_longer_ids() {
    let row = |i: usize| {
        format!(
            "[\"string number {i}\",{i},\"string number {}\"]",
            (i * 7) % 700
        )
    };
    let rows: Vec<String> = (0..700).map(row).collect();
    // Tuples would be columns of strings: an object between them leaves lists by themselves.
    let text = format!("[{},{{}}]", rows.join(",{},"));
    let document = from_json(text.as_bytes(), &POOLED).unwrap();
    assert_eq!(text, back(&document));
    let without = from_json(text.as_bytes(), &plain()).unwrap();
    assert!(document.len() * 4 < without.len() * 3);
}

#[test]
fn long_strings_are_compressed_where_it_pays() {
    let options = Options {
        compress_strings: Some(512),
        ..plain()
    };
    let long = "all work and no play ".repeat(40);
    let noise: String = (0..1500_u32)
        .map(|i| i.wrapping_mul(i).wrapping_mul(7919) >> 5)
        .map(|x| char::from(b'0' + u8::try_from(x % 70).unwrap()))
        .filter(|c| *c != '\\')
        .collect();
    for text in [
        format!("\"{long}\""),
        format!("[\"{long}\",1,\"short\"]"),
        format!("[\"{long}\",\"short\",\"{long}x\"]"),
        format!("{{\"a\":\"{long}\",\"b\":\"{noise}\"}}"),
    ] {
        let document = from_json(text.as_bytes(), &options).unwrap();
        assert_eq!(text, back(&document));
        assert!(document.len() + 600 < from_json(text.as_bytes(), &plain()).unwrap().len());
    }
    let short = format!("[\"{}\",1]", &long[..511]);
    for text in [short, format!("[\"{noise}\",1]")] {
        let document = from_json(text.as_bytes(), &options).unwrap();
        assert_eq!(from_json(text.as_bytes(), &plain()).unwrap(), document);
    }
    let few = Options {
        compress_strings: Some(511),
        ..plain()
    };
    let error = from_json(b"1", &few).unwrap_err();
    assert_eq!(ErrorKind::Usage, error.kind());
}

#[test]
fn canonical_documents_have_neither() {
    for options in [
        Options {
            compress_strings: Some(512),
            ..plain()
        },
        POOLED,
    ] {
        let canonical = Options {
            canonical: true,
            ..options
        };
        let error = from_json(b"1", &canonical).unwrap_err();
        assert_eq!(ErrorKind::Usage, error.kind());
    }
}

#[test]
fn lines_are_the_elements_of_an_array() {
    let rows: Vec<String> = (0..70_000)
        .map(|i| format!("{{\"id\":{i},\"name\":\"n{}\"}}", i % 97))
        .collect();
    let lines = format!("{}\r\n\n", rows.join("\n"));
    let options = Options::default();
    let array = format!("[{}]", rows.join(","));
    assert_eq!(
        from_json(array.as_bytes(), &options).unwrap(),
        from_ndjson(lines.as_bytes(), &options).unwrap()
    );
    assert_eq!("[]", back(&from_ndjson(b"\n \n", &options).unwrap()));
    assert_eq!("[1,[2]]", back(&from_ndjson(b"1\n[2]", &options).unwrap()));
    let error = from_ndjson(b"{}\n\n{nothing}\n[]", &options).unwrap_err();
    assert_eq!(Some(5), error.offset());
    assert!(error.to_string().contains("line 3: "), "{error}");
    for (text, offset) in [
        (&b"1\n[2\n3"[..], 4),
        (b"1\n\n2 3\n", 5),
        (b"{}\n\"\xFF\"", 4),
        (b"\n}", 1),
    ] {
        let error = from_ndjson(text, &options).unwrap_err();
        assert_eq!(Some(offset), error.offset(), "{error}");
    }
}

#[test]
fn a_long_array_takes_the_memory_of_a_segment() {
    for aligned in [false, true] {
        let options = Options {
            aligned,
            ..Options::default()
        };
        let row = |i: u64| {
            format!(
                "{{\"id\":{},\"x\":{}.5,\"s\":\"{}\"}}",
                i * 9_999_999,
                i,
                i % 5
            )
        };
        let (mut whole, mut pieces) =
            (Writer::new(options).unwrap(), Writer::new(options).unwrap());
        let mut document = Vec::new();
        whole.begin_array().unwrap();
        pieces.begin_array().unwrap();
        let (mut early, mut most) = (0, 0);
        for i in 0..300_000 {
            whole.json(row(i).as_bytes()).unwrap();
            pieces.json(row(i).as_bytes()).unwrap();
            document.extend(pieces.drain());
            let memory = pieces.memory();
            most = most.max(memory);
            if i == 140_000 {
                early = most;
            }
        }
        assert!(most < early + 4096, "memory grows with the array");
        assert!(most < 32 << 20, "{most}");
        assert!(document.len() > 1 << 20);
        whole.end().unwrap();
        pieces.end().unwrap();
        document.extend(pieces.finish().unwrap());
        assert!(whole.finish().unwrap() == document);
        View::open(&document).unwrap().validate().unwrap();
    }
}

#[test]
fn numbers_then_others_are_segments_all_the_same() {
    // The first segments are held back: until something else comes, they are no segments.
    let numbers: Vec<String> = (0..140_000).map(|i| i.to_string()).collect();
    let text = format!("[{},\"x\",{{\"a\":1}}]", numbers.join(","));
    let document = from_json(text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(text, back(&document));
    let mut writer = Writer::new(Options::default()).unwrap();
    writer.begin_array().unwrap();
    for i in 0..140_000 {
        writer.int(i).unwrap();
    }
    writer.str("x").unwrap();
    writer.begin_object().unwrap();
    writer.key("a").unwrap();
    writer.int(1).unwrap();
    writer.end().unwrap();
    writer.end().unwrap();
    assert!(document == writer.finish().unwrap());
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_string()),
        Just("true".to_string()),
        (-200_i64..200).prop_map(|i| i.to_string()),
        (0_u32..4).prop_map(|i| format!("\"some string {i}\"")),
        (0_usize..900).prop_map(|n| format!("\"{}\"", "xyz \u{e9}".repeat(n))),
    ];
    leaf.prop_recursive(5, 80, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8)
                .prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(inner, 0..6).prop_map(|items| {
                let entry = |(i, item): (usize, &String)| format!("\"k{i}\":{item}");
                let entries: Vec<String> = items.iter().enumerate().map(entry).collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn pools_and_compressed_strings_change_nothing(text in json(), pool in any::<bool>(), compressed in any::<bool>()) {
        let options = Options { pool, compress_strings: compressed.then_some(600), ..Options::default() };
        let document = from_json(text.as_bytes(), &options).unwrap();
        prop_assert_eq!(text, back(&document));
    }
}

/// Arrays of objects of a few names, also twice, in any order, with and without escapes.
fn rows() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "a",
        "b",
        "name",
        "longer than others",
        "e\\n",
        "\u{e9}",
    ]);
    let row = prop::collection::vec((name, 0..3_u8), 0..5).prop_map(|cells| {
        let cells = cells.iter().map(|(name, value)| match value {
            0 => format!("\"{name}\":{{\"in {name}\":{{}}}}"),
            _ => format!("\"{name}\":{value}"),
        });
        format!("{{{}}}", cells.collect::<Vec<_>>().join(","))
    });
    let rows = prop::collection::vec(row, 1..10);
    rows.prop_map(|rows| format!("[{}]", rows.join(",")))
}

/// Writes objects of objects, each name by its text or as one that was met.
fn objects(writer: &mut Writer<'_>, rows: &[Vec<u8>], met: &mut Vec<tare::blit::Name>) {
    writer.begin_array().unwrap();
    for row in rows {
        writer.begin_object().unwrap();
        for (i, &name) in row.iter().enumerate() {
            match met.get(usize::from(name)) {
                Some(&known) if i % 2 == 0 => {
                    writer.key_again(known).unwrap();
                }
                _ => {
                    let (known, _) = writer.intern(&format!("n{name}")).unwrap();
                    if usize::from(name) == met.len() {
                        met.push(known);
                    }
                }
            }
            writer.int(i64::from(name)).unwrap();
        }
        writer.end().unwrap();
    }
    writer.end().unwrap();
}

proptest! {
    #[test]
    fn documents_in_the_room_of_others_are_the_same(
        documents in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(0_u8..9, 0..6), 0..12), 1..8),
    ) {
        let (mut room, mut met) = (None, Vec::new());
        for rows in &documents {
            let (mut writer, knows) = match room.take() {
                Some(room) => Writer::reusing(plain(), room).unwrap(),
                None => (Writer::new(plain()).unwrap(), false),
            };
            if !knows {
                met.clear();
            }
            objects(&mut writer, rows, &mut met);
            let (document, left) = writer.finish_for_reuse(<[u8]>::to_vec).unwrap();
            room = left;
            let mut writer = Writer::new(plain()).unwrap();
            objects(&mut writer, rows, &mut Vec::new());
            prop_assert_eq!(writer.finish().unwrap(), document);
        }
    }

    #[test]
    fn a_text_gives_the_same_whatever_came_before_it(
        texts in prop::collection::vec((rows(), 0_usize..3), 1..10),
    ) {
        let options = |which: usize| Options {
            duplicates: [Duplicates::Last, Duplicates::Keep, Duplicates::Error][which],
            ..plain()
        };
        let after_others = texts.iter().map(|(text, which)| from_json(text.as_bytes(), &options(*which)));
        let after_others: Vec<_> = after_others.collect();
        for ((text, which), found) in texts.iter().zip(after_others) {
            // A writer begins without what others left.
            let mut writer = Writer::new(options(*which)).unwrap();
            match writer.json(text.as_bytes()) {
                Ok(()) => prop_assert_eq!(writer.finish().unwrap(), found.unwrap()),
                Err(error) => prop_assert_eq!(error.kind(), found.unwrap_err().kind()),
            }
        }
    }

    #[test]
    fn arrays_of_numbers_at_once_are_those_one_by_one(
        numbers in prop::collection::vec(prop_oneof![
            (-5_i64..5).prop_map(tare::blit::Number::Int),
            any::<f64>().prop_map(tare::blit::Number::Float),
        ], 0..40),
        before in any::<bool>(),
    ) {
        let (mut once, mut each) = (Writer::new(plain()).unwrap(), Writer::new(plain()).unwrap());
        for writer in [&mut once, &mut each] {
            writer.begin_array().unwrap();
            if before {
                writer.null().unwrap();
            }
        }
        // What is not taken leaves nothing behind.
        let cut = numbers.iter().map(|&number| Some(number)).chain([None]);
        prop_assert!(!once.numbers(cut).unwrap());
        prop_assert!(once.numbers(numbers.iter().map(|&number| Some(number))).unwrap());
        each.begin_array().unwrap();
        for number in numbers {
            match number {
                tare::blit::Number::Int(value) => each.int(value).unwrap(),
                tare::blit::Number::Float(value) => each.float(value).unwrap(),
            }
        }
        each.end().unwrap();
        for writer in [&mut once, &mut each] {
            writer.end().unwrap();
        }
        prop_assert_eq!(each.finish().unwrap(), once.finish().unwrap());
    }
}
