//! The published compliance suite of RFC 9535: every case, but those that need a function which
//! is not there.

use crate::find::text;
use serde_json::{json, Value as Json};
use tare::blit::{from_json, JsonPath, Layout, Options, View};
use tare::ErrorKind;

/// Functions of the standard that queries may not have here.
const MISSING: [&str; 3] = ["match", "search", "value"];

fn cases() -> Vec<Json> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/vectors/blit/jsonpath/cts.json"
    );
    let suite: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    suite["tests"].as_array().unwrap().clone()
}

fn needs_missing(case: &Json) -> bool {
    let selector = case["selector"].as_str().unwrap();
    MISSING
        .iter()
        .any(|name| selector.contains(&format!("{name}(")))
}

/// Values and paths, as the suite writes them.
fn found(document: &Json, layout: Layout, selector: &str) -> (Json, Json) {
    let options = Options {
        layout,
        ..Options::default()
    };
    let document = from_json(document.to_string().as_bytes(), &options).unwrap();
    let view = View::open(&document).unwrap();
    let query = JsonPath::parse(selector).unwrap();
    let both = view.find(&query).unwrap().map(|found| {
        let (path, value) = found.unwrap();
        (text(&value), json!(path.to_string()))
    });
    let (values, paths): (Vec<Json>, Vec<Json>) = both.unzip();
    let alone = view.find(&query).unwrap().values();
    let alone: Vec<Json> = alone.map(|value| text(&value.unwrap())).collect();
    assert_eq!(values, alone, "{selector}");
    (Json::Array(values), Json::Array(paths))
}

#[test]
fn every_case_passes_that_needs_no_missing_function() {
    let mut passed = 0;
    for case in cases().iter().filter(|case| !needs_missing(case)) {
        let (name, selector) = (&case["name"], case["selector"].as_str().unwrap());
        passed += 1;
        if case["invalid_selector"] == json!(true) {
            let error = JsonPath::parse(selector).expect_err(selector);
            assert_eq!(ErrorKind::Usage, error.kind(), "{name}: {selector}");
            continue;
        }
        for layout in [Layout::Columns, Layout::Rows] {
            let (values, paths) = found(&case["document"], layout, selector);
            if let Some(result) = case.get("result") {
                assert_eq!(*result, values, "{name}: {selector}");
                assert_eq!(case["result_paths"], paths, "{name}: {selector}");
                continue;
            }
            // Members of an object have no order.
            let results = case["results"].as_array().unwrap();
            let at = results.iter().position(|result| *result == values);
            let at = at.unwrap_or_else(|| panic!("{name}: {selector} gave {values}"));
            assert_eq!(case["results_paths"][at], paths, "{name}: {selector}");
        }
    }
    assert_eq!(623, passed);
}

#[test]
fn every_other_case_is_refused_by_its_function() {
    let (mut refused, mut invalid) = (0, 0);
    for case in cases().iter().filter(|case| needs_missing(case)) {
        let selector = case["selector"].as_str().unwrap();
        let error = JsonPath::parse(selector).expect_err(selector);
        if case["invalid_selector"] == json!(true) {
            invalid += 1;
            assert!(
                matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Usage),
                "{selector}"
            );
        } else {
            refused += 1;
            assert_eq!(ErrorKind::Unsupported, error.kind(), "{selector}: {error}");
        }
    }
    assert_eq!((55, 9), (refused, invalid));
}
