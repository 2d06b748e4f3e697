//! Damaged documents: an error or another valid document, never a panic, never a hang.

use tare::blit::{from_json, Checksum, JsonOptions, KeyOrder, NonFinite, Options, Value, View};
use tare::ErrorKind;

/// Documents that have every kind of list, each below 2 KiB.
fn documents() -> Vec<Vec<u8>> {
    let rows: Vec<String> = (0..20)
        .map(|i| {
            let gap = if i % 3 == 0 { String::new() } else { format!(",\"gap\":{i}") };
            let word = ["red", "green", "blue"][i % 3];
            format!(
                "{{\"id\":{i},\"x\":{}.5,\"word\":\"{word}\",\"on\":{},\"xy\":[{i},\"{i}\"]{gap},\"n\":[{}]}}",
                i * 7, i % 2 == 0, "1,".repeat(i % 4) + "2"
            )
        })
        .collect();
    let texts = [
        "{}".to_string(),
        "[1,2,3,70000]".to_string(),
        "{\"a\":{\"b\":[null,1.25,\"x\\ny\"]},\"c\":\"\u{e9}\",\"d\":12345678901234567890,\"e\":-0}".to_string(),
        "[0.1,2.25,3.5,1e300]".to_string(),
        "[1000000000001,1000000000002,1000000000003,1000000000009,1000000000007]".to_string(),
        "[true,false,true,null,true,true,true,true,false,null]".to_string(),
        format!("[{}]", rows.join(",")),
        "[[1,2],[],[3,[4]],\"a\",{\"k\":[]}]".to_string(),
        "[\"a\",\"b\",\"a\",\"b\",\"a\",\"b\",\"a\",\"b\",\"a\",\"b\",\"a\",\"b\",\"a\",\"b\",\"a\",\"b\",\"a\"]".to_string(),
        "{\"key\":\"value\",\"other\":{\"key\":[1.5,2.5,\"\u{1F600}\"]}}".to_string(),
    ];
    let options = Options {
        checksum: Checksum::Off,
        ..Options::default()
    };
    texts
        .iter()
        .map(|text| from_json(text.as_bytes(), &options).unwrap())
        .collect()
}

/// Reads everything; whether that went well.
fn walk(view: &View<'_>) -> bool {
    let options = JsonOptions {
        nan: NonFinite::Literal,
        bytes_as_base64: true,
        max_output: 1 << 20,
        ..JsonOptions::default()
    };
    let lexical = JsonOptions {
        order: KeyOrder::Lexical,
        ..options
    };
    let limited = |json: tare::Result<Vec<u8>>| json.is_ok();
    limited(view.to_json(&options))
        & limited(view.to_json(&lexical))
        & view.root().is_ok_and(|root| visit(root, &mut 20_000))
}

fn visit(value: Value<'_>, left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    if *left == 0 {
        return true;
    }
    match value {
        Value::Array(array) => array
            .iter()
            .take(3000)
            .all(|item| item.is_ok_and(|item| visit(item, left))),
        Value::Object(object) => object.iter().take(3000).all(|entry| {
            entry.is_ok_and(|(name, value)| object.get(&name).is_ok() && visit(value, left))
        }),
        _ => true,
    }
}

#[test]
fn every_prefix_is_refused() {
    for document in documents() {
        assert!(View::open(&document).unwrap().validate().is_ok());
        for end in 0..document.len() {
            let cut = &document[..end];
            let error = View::open(cut)
                .and_then(|view| view.validate())
                .unwrap_err();
            let kind = error.kind();
            assert!(
                matches!(
                    kind,
                    ErrorKind::Truncated | ErrorKind::Malformed | ErrorKind::Unsupported
                ),
                "{error}"
            );
        }
    }
}

#[test]
fn every_flipped_bit_is_an_error_or_another_valid_document() {
    for document in documents() {
        for bit in 0..document.len() * 8 {
            let mut flipped = document.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let Ok(view) = View::open(&flipped) else {
                continue;
            };
            let valid = view.validate();
            let read = walk(&view);
            if let Ok(summary) = valid {
                assert_eq!(flipped.len(), summary.bytes);
                assert!(read, "valid, but not to be read: bit {bit} of {document:?}");
            }
        }
    }
}
