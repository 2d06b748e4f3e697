//! The worked examples of the specification, byte by byte.

use tare::blit::{from_json, JsonOptions, KeyOrder, Options, View};

/// JSON, what comes between `BLT1` and the trailer, the trailer.
const WORKED: &[(&str, &str, &str)] = &[
    ("{}", "", "00 00 00 00 0D 00 01 0A 42 54"),
    ("[]", "", "00 00 00 00 0C 00 01 0A 42 54"),
    ("null", "", "00 00 00 00 00 00 01 0A 42 54"),
    ("7", "", "00 00 00 00 A7 00 01 0A 42 54"),
    ("-0", "2D 30", "00 00 00 00 10 00 01 0A 42 54"),
    ("[1,2,3]", "01 02 03 03 02", "00 00 00 00 0C 00 01 0A 42 54"),
    (
        "[1.5,2.25]",
        "96 00 E1 00 02 02 14",
        "00 00 00 00 0C 00 01 0A 42 54",
    ),
    ("[0.1,1]", "01 0A 01 02 84", "00 00 00 00 0C 00 01 0A 42 54"),
    (
        "[\"a\",1]",
        "61 09 A1 01 02 80",
        "00 00 00 00 0C 00 01 0A 42 54",
    ),
    (
        "[[1,2],[3]]",
        "01 02 03 03 02 02 02 86",
        "00 00 00 00 0C 00 01 0A 42 54",
    ),
    (
        "[1,null,3,null,5,6,7,8]",
        "01 03 05 06 07 08 06 02 F5 00 08 09",
        "00 00 00 00 0C 00 01 0A 42 54",
    ),
    (
        "{\"a\":1,\"b\":\"x\"}",
        "78 A1 09 00 80 00 61 62 01 09 A1 1F 3F 00 02 01 80",
        "04 01 07 02 0D 00 01 0A 42 54",
    ),
    (
        "[{\"id\":1,\"n\":\"a\"},{\"id\":2,\"n\":\"b\"}]",
        "01 02 02 61 62 01 09 A1 03 00 02 85 69 64 6E 02 09 81 83 0A 00 02 01 80",
        "04 01 08 02 0C 00 01 0A 42 54",
    ),
    (
        "{\"a\":{\"b\":-200}}",
        "38 FF 03 81 00 0D 81 01 62 61 01 09 A1 3F 1F 00 00 01 00 02 A0",
        "06 02 07 02 0D 00 01 0A 42 54",
    ),
];

#[test]
fn the_worked_examples_have_their_bytes() {
    for (json, body, trailer) in WORKED {
        let document = from_json(json.as_bytes(), &Options::default()).unwrap();
        let hex: Vec<String> = document.iter().map(|byte| format!("{byte:02X}")).collect();
        let expected = format!("42 4C 54 31 {body} {trailer}").replace("  ", " ");
        assert_eq!(expected, hex.join(" "), "{json}");
    }
}

#[test]
fn the_worked_examples_are_read() {
    for (json, body, trailer) in WORKED {
        let hex = format!("42 4C 54 31 {body} {trailer}");
        let bytes: Vec<u8> = hex
            .split_whitespace()
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect();
        let view = View::open(&bytes).unwrap();
        view.validate().unwrap();
        for order in [KeyOrder::Insertion, KeyOrder::Lexical] {
            let options = JsonOptions {
                order,
                ..JsonOptions::default()
            };
            assert_eq!(json.as_bytes(), view.to_json(&options).unwrap());
        }
        for path in ["/0", "/a/b", "/1/n", "/b", "/7"] {
            view.pointer(path).unwrap();
        }
    }
}
