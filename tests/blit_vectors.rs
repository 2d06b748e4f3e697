//! The golden files of `vectors/blit`: what was written once is read for ever, and what is wrong
//! is refused by its rule, at its byte.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test stops at once"
)]

use tare::blit::{from_json, JsonOptions, Options, Surrogates, View, Writer};

#[test]
fn halves_of_pairs_have_the_weakest_tag_as_names_and_as_values() {
    let keep = Options {
        surrogates: Surrogates::Keep,
        ..Options::default()
    };
    let text = br#"{"a\ude00":"\ud800"}"#;
    let document = from_json(text, &keep).unwrap();
    let mut writer = Writer::new(keep).unwrap();
    writer.begin_object().unwrap();
    writer.key_wtf8(b"a\xED\xB8\x80").unwrap();
    writer.wtf8(b"\xED\xA0\x80").unwrap();
    writer.end().unwrap();
    assert_eq!(document, writer.finish().unwrap());
    let view = View::open(&document).unwrap();
    view.validate().unwrap();
    assert_eq!(text[..], view.to_json(&JsonOptions::default()).unwrap());
}
