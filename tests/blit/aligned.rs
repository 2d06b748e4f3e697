//! Documents whose long lists of numbers are aligned: every reader gives what it gives of others,
//! the numbers can be used where they lie, and padding holds nothing.

use crate::common;

use common::folder::Folder;
use tare::blit::collection::{Collection, ReadOptions, WriteOptions};
use tare::blit::{
    from_json, ColumnNumbers, JsonOptions, JsonPath, KeyOrder, Options, Packed, Value, View,
};
use tare::ErrorKind;

fn aligned() -> Options {
    Options {
        aligned: true,
        ..Options::default()
    }
}

/// The text of a cell.
type Cell = fn(i64) -> String;

/// Numbers of each width, and those that could be written shorter where they are not aligned.
fn columns() -> Vec<(&'static str, Cell)> {
    vec![
        ("one", |i| (i % 100 - 50).to_string()),
        ("two", |i| (i % 100 * 300).to_string()),
        ("three", |i| (i % 100 * 80_000).to_string()),
        ("five", |i| (i % 100 * 6_000_000_000).to_string()),
        ("eight", |i| (i64::MIN + i).to_string()),
        ("based", |i| (1_700_000_000_000 + i).to_string()),
        ("tenths", |i| format!("{i}.1")),
        ("halves", |i| format!("{i}.5")),
        ("both", |i| {
            if i % 2 == 0 {
                i.to_string()
            } else {
                format!("{i}.25")
            }
        }),
        ("thirds", |i| format!("0.333333333333{}7", 100 + i % 800)),
        ("gaps", |i| {
            if i % 3 == 0 {
                "null".into()
            } else {
                (i * 70_000).to_string()
            }
        }),
        ("text", |i| format!("\"{i}\"")),
        ("list", |i| format!("[{i},{}]", i * 1000)),
    ]
}

fn text(n: i64) -> String {
    let row = |i: i64| {
        let cells: Vec<String> = columns()
            .iter()
            .map(|(k, of)| format!("\"{k}\":{}", of(i)))
            .collect();
        format!("{{{}}}", cells.join(","))
    };
    let rows: Vec<String> = (0..n).map(row).collect();
    let mut text = format!("{{\"n\":{n},\"rows\":[{}]", rows.join(","));
    for (name, of) in columns() {
        let all: Vec<String> = (0..n).map(of).collect();
        text.push_str(&format!(",\"{name} alone\":[{}]", all.join(",")));
    }
    text + "}"
}

/// Everything that readers say of a document.
fn said(document: &[u8]) -> Vec<String> {
    let view = View::open(document).unwrap();
    view.validate().unwrap();
    let mut all = Vec::new();
    for order in [KeyOrder::Insertion, KeyOrder::Lexical] {
        let options = JsonOptions {
            order,
            ..JsonOptions::default()
        };
        all.push(String::from_utf8(view.to_json(&options).unwrap()).unwrap());
    }
    let query = JsonPath::parse("$..[?@ > 5]").unwrap();
    for found in view.find(&query).unwrap() {
        let (path, value) = found.unwrap();
        all.push(format!("{path} {value:?}"));
    }
    for (name, _) in columns() {
        for i in [0, 1, 17, 62, 63, 64, 65] {
            for pointer in [format!("/rows/{i}/{name}"), format!("/{name} alone/{i}")] {
                all.push(format!("{:?}", view.pointer(&pointer).unwrap()));
            }
        }
    }
    all
}

fn rows<'v>(view: &'v View<'_>) -> tare::blit::ArrayView<'v> {
    match view.pointer("/rows").unwrap() {
        Some(Value::Array(rows)) => rows,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_reader_says_the_same() {
    for n in [1, 63, 64, 65, 200, 1000] {
        let text = text(n);
        let plain = from_json(text.as_bytes(), &Options::default()).unwrap();
        let padded = from_json(text.as_bytes(), &aligned()).unwrap();
        assert_eq!(said(&plain), said(&padded), "{n}");
        let (plain, padded) = (View::open(&plain).unwrap(), View::open(&padded).unwrap());
        for (name, _) in columns() {
            let column = |view: &View<'_>| {
                let column = rows(view).column(&[name]).unwrap();
                column.map(|all| all[0].numbers().unwrap())
            };
            assert_eq!(column(&plain), column(&padded), "{name}");
        }
    }
}

#[test]
fn numbers_lie_at_multiples_of_their_width() {
    for n in [64, 65, 200, 1000] {
        let document = from_json(text(n).as_bytes(), &aligned()).unwrap();
        let view = View::open(&document).unwrap();
        for (name, width) in [
            ("one", 1),
            ("two", 2),
            ("three", 4),
            ("five", 8),
            ("eight", 8),
            ("based", 8),
            ("tenths", 8),
            ("halves", 4),
            ("thirds", 8),
        ] {
            let column = rows(&view).column(&[name]).unwrap();
            let column = column.unwrap_or_else(|| panic!("no column {name}"))[0];
            let (packed, bytes) = column
                .packed()
                .unwrap_or_else(|| panic!("{name} is not packed"));
            let (Packed::Int(found) | Packed::Float(found)) = packed;
            assert_eq!(width, found, "{name}");
            let at = bytes.as_ptr() as usize - document.as_ptr() as usize;
            assert_eq!(0, at % width, "{name} of {n} lies at {at}");
            assert_eq!(usize::try_from(n).unwrap() * width, bytes.len());
            assert!(matches!(
                column.numbers().unwrap(),
                Some(ColumnNumbers::Ints(_) | ColumnNumbers::Floats(_))
            ));
        }
    }
}

#[test]
fn forged_padding_is_refused() {
    // A string of each length before the numbers puts them at each distance from a multiple.
    for width in [2, 4, 8] {
        let (mut refused, mut gaps) = (0, 0);
        for ahead in 0..8 {
            let least = 1_u64 << (width * 8 - 2);
            let numbers: Vec<String> = (0..70).map(|i| (least + i).to_string()).collect();
            let text = format!("[\"{}\",[{}]]", "x".repeat(ahead), numbers.join(","));
            let document = from_json(text.as_bytes(), &aligned()).unwrap();
            let start = 4 + ahead;
            let gap = start.next_multiple_of(width) - start;
            gaps += gap;
            assert_eq!(
                document[start + gap..][..width],
                least.to_le_bytes()[..width]
            );
            for at in start..start + gap {
                for bit in 0..8 {
                    let mut forged = document.clone();
                    forged[at] ^= 1 << bit;
                    let error = View::open(&forged).unwrap().validate().unwrap_err();
                    assert_eq!(ErrorKind::Malformed, error.kind());
                    assert!(error.to_string().contains("V29"), "{error}");
                    refused += 1;
                }
            }
            // The same bytes without the flag are no padding.
            let mut plain = document.clone();
            let flags = plain.len() - 5;
            assert_eq!(4, plain[flags] & 4);
            plain[flags] &= !4;
            let valid = View::open(&plain).unwrap().validate();
            match valid {
                Ok(_) => assert_eq!(0, gap),
                Err(error) => assert!(error.to_string().contains("V18"), "{error}"),
            }
        }
        assert!(gaps > 0);
        assert_eq!(gaps * 8, refused);
    }
}

#[test]
fn chunks_of_collections_are_aligned_in_the_file() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let options = WriteOptions {
        document: aligned(),
        chunk_size: 30_000,
        ..WriteOptions::default()
    };
    let mut lines = String::new();
    for i in 0..3000 {
        let cells: Vec<String> = columns()
            .iter()
            .map(|(k, of)| format!("\"{k}\":{}", of(i)))
            .collect();
        lines.push_str(&format!("{{{}}}\n", cells.join(",")));
    }
    let mut writer = Collection::create(&path, &options).unwrap();
    writer.push_ndjson(lines.as_bytes(), Some(2)).unwrap();
    writer.commit().unwrap();
    let collection = Collection::open(&path, &ReadOptions::default()).unwrap();
    collection.validate().unwrap();
    assert!(collection.chunks() > 5);
    for (i, line) in (0..).zip(lines.lines()) {
        let document = collection.get(i).unwrap();
        assert_eq!(
            line.as_bytes(),
            document.view().to_json(&JsonOptions::default()).unwrap()
        );
    }
    // Numbers of a chunk count from its beginning, which is a multiple of 64 of the file.
    let bytes = std::fs::read(&path).unwrap();
    let eight: Vec<u8> = (0..64_i64)
        .flat_map(|i| (i64::MIN + i).to_le_bytes())
        .collect();
    let at = bytes
        .windows(eight.len())
        .position(|window| window == eight)
        .unwrap();
    assert_eq!(0, at % 8);
}
