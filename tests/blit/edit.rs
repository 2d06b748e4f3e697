//! Documents that are changed: in place, and by changes over them; the published suites.

use serde_json::{json, Value as Json};
use tare::blit::{
    from_json, patch, Checksum, Current, Edit, JsonOptions, Layout, Options, Tree, Value, View,
};
use tare::ErrorKind;

const LAYOUTS: [Layout; 2] = [Layout::Columns, Layout::Rows];

fn encode(json: &Json, layout: Layout) -> Vec<u8> {
    let options = Options {
        layout,
        ..Options::default()
    };
    from_json(json.to_string().as_bytes(), &options).unwrap()
}

fn back(document: &[u8]) -> Json {
    let view = View::open(document).unwrap();
    view.validate().unwrap();
    serde_json::from_slice(&view.to_json(&JsonOptions::default()).unwrap()).unwrap()
}

fn result(edit: &Edit<'_>) -> Json {
    back(&edit.to_blit(&Options::default()).unwrap())
}

/// What the changed document is when it is read value by value.
fn read(current: &Current<'_>) -> Json {
    match current {
        Current::Value(value) => plain(value),
        Current::Array(array) => array.iter().map(|item| read(&item.unwrap())).collect(),
        Current::Object(object) => {
            let all = object.entries().unwrap();
            for (name, value) in &all {
                let again = object.get(name).unwrap().unwrap();
                assert_eq!(read(value), read(&again));
            }
            Json::Object(
                all.iter()
                    .map(|(name, value)| (name.to_string(), read(value)))
                    .collect(),
            )
        }
    }
}

fn plain(value: &Value<'_>) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Uint(value) => json!(value),
        Value::Float(value) => json!(value),
        Value::NumText(text) => serde_json::from_str(text).unwrap(),
        Value::Str(text) => json!(text),
        Value::Array(array) => array.iter().map(|item| plain(&item.unwrap())).collect(),
        Value::Object(object) => {
            let all = object.iter().map(Result::unwrap);
            Json::Object(
                all.map(|(name, value)| (name.into_owned(), plain(&value)))
                    .collect(),
            )
        }
        other => panic!("{other:?} is not JSON"),
    }
}

// --- the published suites ---

#[test]
fn the_json_patch_suite_is_carried_out_as_it_says() {
    let (mut run, mut refused) = (0, 0);
    for file in ["tests.json", "spec_tests.json"] {
        let path = format!(
            "{}/vectors/blit/json-patch/{file}",
            env!("CARGO_MANIFEST_DIR")
        );
        let cases: Vec<Json> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        for case in &cases {
            // A reader of the suite loses the second of two names: nothing is left to refuse.
            let lost = case["error"]
                .as_str()
                .is_some_and(|error| error.contains("two 'op'"));
            if lost || case.get("patch").is_none() {
                continue;
            }
            for layout in LAYOUTS {
                let document = encode(&case["doc"], layout);
                let mut edit = Edit::new(View::open(&document).unwrap());
                let done = edit.patch(case["patch"].to_string().as_bytes());
                if case.get("error").is_some() {
                    assert!(done.is_err(), "{case}");
                    assert_eq!(case["doc"], result(&edit), "changed by {case}");
                    refused += 1;
                    continue;
                }
                done.unwrap_or_else(|error| panic!("{error} in {case}"));
                // Where nothing is expected, the patch is only to be carried out.
                if let Some(expected) = case.get("expected") {
                    assert_eq!(*expected, result(&edit), "{case}");
                    assert_eq!(*expected, read(&edit.get("").unwrap().unwrap()), "{case}");
                }
                run += 1;
            }
        }
    }
    assert_eq!((2 * 70, 2 * 23), (run, refused));
}

#[test]
fn an_operation_of_two_meanings_is_refused() {
    let document = encode(&json!({"foo": "bar"}), Layout::Columns);
    let mut edit = Edit::new(View::open(&document).unwrap());
    let patch = br#"[{"op": "add", "path": "/baz", "value": "qux", "op": "remove"}]"#;
    let error = edit.patch(patch).unwrap_err();
    assert!(
        error.to_string().contains("\"op\" is there twice"),
        "{error}"
    );
}

/// The cases of RFC 7396, appendix A, and what else its rules say.
#[test]
fn merge_patches_do_what_the_standard_says() {
    for (target, patch, expected) in [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (
            json!({"a": "b"}),
            json!({"b": "c"}),
            json!({"a": "b", "b": "c"}),
        ),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (
            json!({"a": "b", "b": "c"}),
            json!({"a": null}),
            json!({"b": "c"}),
        ),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        ),
        (
            json!({"a": [{"b": "c"}]}),
            json!({"a": [1]}),
            json!({"a": [1]}),
        ),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"a": "b"}), json!(["c"]), json!(["c"])),
        (json!({"a": "foo"}), Json::Null, Json::Null),
        (json!({"a": "foo"}), json!("bar"), json!("bar")),
        (
            json!({"e": null}),
            json!({"a": 1}),
            json!({"e": null, "a": 1}),
        ),
        (
            json!([1, 2]),
            json!({"a": "b", "c": null}),
            json!({"a": "b"}),
        ),
        (
            json!({}),
            json!({"a": {"bb": {"ccc": null}}}),
            json!({"a": {"bb": {}}}),
        ),
        (
            json!({"a/b": {"~": 1}}),
            json!({"a/b": {"~": {"": 2}}}),
            json!({"a/b": {"~": {"": 2}}}),
        ),
        (
            json!({"a": [null]}),
            json!({"b": [null, {"c": null}]}),
            json!({"a": [null], "b": [null, {"c": null}]}),
        ),
        (
            json!({"x": {"y": {"z": 1}}, "w": 0}),
            json!({"x": {"y": {"z": null}, "v": 2}}),
            json!({"x": {"y": {}, "v": 2}, "w": 0}),
        ),
    ] {
        for layout in LAYOUTS {
            let document = encode(&target, layout);
            let mut edit = Edit::new(View::open(&document).unwrap());
            edit.merge(patch.to_string().as_bytes()).unwrap();
            assert_eq!(
                expected.to_string(),
                result(&edit).to_string(),
                "{target} with {patch}"
            );
        }
    }
}

// --- changes over a document ---

#[test]
fn reads_see_changes_and_order_is_kept() {
    let json = json!({"a": 1, "rows": [{"id": 1, "t": "x"}, {"id": 2, "t": "y"}, {"id": 3, "t": "z"}], "z": null});
    for layout in LAYOUTS {
        let document = encode(&json, layout);
        let mut edit = Edit::new(View::open(&document).unwrap());
        edit.set("/rows/1/t", "new".into()).unwrap();
        edit.set("/rows/1/more", Tree::array([Tree::null(), true.into()]))
            .unwrap();
        edit.insert("/rows/1", Tree::from_json(b"{\"id\": 9}").unwrap())
            .unwrap();
        edit.delete("/a").unwrap();
        edit.set("/a", 2.5.into()).unwrap();
        edit.delete("/rows/3/t").unwrap();
        let expected = json!({"rows": [{"id": 1, "t": "x"}, {"id": 9}, {"id": 2, "t": "new", "more": [null, true]}, {"id": 3}], "z": null, "a": 2.5});
        assert_eq!(expected.to_string(), result(&edit).to_string());
        assert_eq!(
            expected.to_string(),
            read(&edit.get("").unwrap().unwrap()).to_string()
        );
        assert!(matches!(
            edit.get("/rows/2/id").unwrap(),
            Some(Current::Value(Value::Int(2)))
        ));
        assert!(edit.get("/rows/4").unwrap().is_none());
        assert!(edit.get("/rows/3/t").unwrap().is_none());
        let changes = edit.into_changes();
        let edit = Edit::resume(View::open(&document).unwrap(), changes);
        assert_eq!(expected, result(&edit));
        assert_eq!(json.to_string(), back(&document).to_string());
    }
}

#[test]
fn what_is_not_there_cannot_be_changed() {
    let document = encode(&json!({"a": [1, 2], "s": 1}), Layout::Columns);
    let mut edit = Edit::new(View::open(&document).unwrap());
    for pointer in ["/b/c", "/a/2", "/a/-", "/a/01", "/a/x", "/s/x", "/a/0/x"] {
        assert_eq!(
            ErrorKind::NotFound,
            edit.set(pointer, 1.into()).unwrap_err().kind(),
            "{pointer}"
        );
        assert_eq!(
            ErrorKind::NotFound,
            edit.delete(pointer).unwrap_err().kind(),
            "{pointer}"
        );
    }
    assert_eq!(
        ErrorKind::NotFound,
        edit.insert("/a/3", 1.into()).unwrap_err().kind()
    );
    assert_eq!(
        ErrorKind::Usage,
        edit.set("a", 1.into()).unwrap_err().kind()
    );
    assert_eq!(ErrorKind::Usage, edit.delete("").unwrap_err().kind());
    assert_eq!(json!({"a": [1, 2], "s": 1}), result(&edit));
    edit.set("", "all".into()).unwrap();
    assert_eq!(json!("all"), result(&edit));
}

#[test]
fn a_name_that_is_there_twice_is_there_once_when_it_was_set() {
    let keep = Options {
        duplicates: tare::blit::Duplicates::Keep,
        ..Options::default()
    };
    let document = from_json(br#"{"a":1,"b":2,"a":3}"#, &keep).unwrap();
    let text = |edit: &Edit<'_>| {
        let document = edit.to_blit(&keep).unwrap();
        String::from_utf8(
            View::open(&document)
                .unwrap()
                .to_json(&JsonOptions::default())
                .unwrap(),
        )
        .unwrap()
    };
    let mut edit = Edit::new(View::open(&document).unwrap());
    edit.set("/b", 4.into()).unwrap();
    assert_eq!(r#"{"a":1,"b":4,"a":3}"#, text(&edit));
    edit.set("/a", 5.into()).unwrap();
    assert_eq!(r#"{"a":5,"b":4}"#, text(&edit));
    edit.delete("/a").unwrap();
    assert_eq!(r#"{"b":4}"#, text(&edit));
}

#[test]
fn many_changes_of_a_long_array_are_those_of_a_vector() {
    let mut expected: Vec<i64> = (0..70_000).collect();
    let document = encode(&json!({"rows": expected}), Layout::Columns);
    let mut edit = Edit::new(View::open(&document).unwrap());
    let mut state = 7_usize;
    for step in 0..3000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let i = (state >> 33) % expected.len();
        let at = format!("/rows/{i}");
        match state >> 20 & 3 {
            0 => {
                edit.insert(&at, Tree::from(-step)).unwrap();
                expected.insert(i, -step);
            }
            1 => {
                edit.delete(&at).unwrap();
                expected.remove(i);
            }
            _ => {
                edit.set(&at, Tree::from(step)).unwrap();
                expected[i] = step;
            }
        }
    }
    assert_eq!(json!({"rows": expected}), result(&edit));
}

/// Twice as much with each operation: neither time nor memory until it is written, and then a limit.
#[test]
fn copies_of_copies_end() {
    let document = encode(&json!({"a": [1, 2, 3]}), Layout::Columns);
    let mut edit = Edit::new(View::open(&document).unwrap());
    let operations: Vec<String> = (0..200)
        .map(|i| format!("{{\"op\":\"copy\",\"from\":\"\",\"path\":\"/c{i}\"}}"))
        .collect();
    edit.patch(format!("[{}]", operations.join(",")).as_bytes())
        .unwrap();
    assert!(edit.get("/c199/c198/a/2").unwrap().is_some());
    // Into itself, as deep as no document may be.
    let mut deep = Edit::new(View::open(&document).unwrap());
    let mut path = String::new();
    for _ in 0..3000 {
        path.push_str("/a");
        deep.set(&path, Tree::object([("a", 1.into())])).unwrap();
    }
    assert_eq!(
        ErrorKind::Limit,
        deep.to_blit(&Options::default()).unwrap_err().kind()
    );
}

// --- in place ---

/// Every kind of list that is patched, or is not.
fn tables() -> Json {
    let rows: Json = (0..20)
        .map(|i| {
            let mut row = json!({
                "id": i * 300, "x": i as f64 / 3.0, "f": i as f64 + 0.25, "on": i % 2 == 0,
                "word": (["red", "green"][i as usize % 2]), "text": format!("row {i:02}"),
                "mixed": [json!(i), json!("s"), json!(null), json!(1.5e300), json!(70_000), json!(true)],
                "wide": 1_000_000_000_000_i64 + i,
            });
            if i % 3 == 0 {
                row["gap"] = json!(i * 1000);
            }
            row
        })
        .collect();
    json!({"rows": rows, "s": "plain", "e": "a\"b", "u": 18_446_744_073_709_551_615_u64, "n": 7, "b": false, "nul": null, "bits": [true, false, true, false]})
}

#[test]
fn patched_is_what_encoded_anew_would_be() {
    let json = tables();
    let values = [
        Value::Null,
        Value::Bool(true),
        Value::Bool(false),
        Value::Int(-1),
        Value::Int(3),
        Value::Int(-300),
        Value::Int(70_001),
        Value::Int(i64::MIN),
        Value::Uint(u64::MAX - 1),
        Value::Float(0.1),
        Value::Float(-0.0),
        Value::Float(0.25),
        Value::Float(7.0),
        Value::Float(1e300),
        Value::Str("other".into()),
        Value::Str("row 99".into()),
        Value::Str("a\"c".into()),
        Value::Str("c\u{e9}ll".into()),
        Value::Str("".into()),
    ];
    let mut pointers: Vec<String> = ["s", "e", "u", "n", "b", "nul", "bits/1", "bits", "rows"]
        .map(|name| format!("/{name}"))
        .to_vec();
    for row in [0, 3, 19] {
        for name in [
            "id", "x", "f", "on", "word", "text", "wide", "gap", "mixed", "mixed/0", "mixed/1",
            "mixed/2", "mixed/3", "mixed/4", "mixed/5",
        ] {
            pointers.push(format!("/rows/{row}/{name}"));
        }
    }
    let (mut patched, mut refused) = (0, 0);
    for layout in LAYOUTS {
        for checksum in [Checksum::On, Checksum::Off] {
            let options = Options {
                layout,
                checksum,
                ..Options::default()
            };
            let document = from_json(json.to_string().as_bytes(), &options).unwrap();
            for pointer in &pointers {
                for value in &values {
                    let mut changed = document.clone();
                    match patch(&mut changed, pointer, value) {
                        Ok(()) => {
                            let edit_view = &View::open(&document).unwrap();
                            let mut edit = Edit::new(*edit_view);
                            edit.set(pointer, Tree::of(edit_view, value).unwrap())
                                .unwrap();
                            assert_eq!(
                                result(&edit).to_string(),
                                back(&changed).to_string(),
                                "{pointer} {value:?}"
                            );
                            assert_eq!(document.len(), changed.len());
                            patched += 1;
                        }
                        Err(error) => {
                            let kind = error.kind();
                            let missing = json.pointer(pointer).is_none();
                            let expected = if missing {
                                ErrorKind::NotFound
                            } else {
                                ErrorKind::NotPatchable
                            };
                            assert_eq!(expected, kind, "{error}");
                            assert_eq!(document, changed);
                            refused += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(patched > 400 && refused > 1000, "{patched} {refused}");
}

#[test]
fn what_can_be_patched_is_what_the_specification_says() {
    let rows = encode(&tables(), Layout::Rows);
    let columns = encode(&tables(), Layout::Columns);
    let is = |document: &[u8], pointer: &str, value: Value<'_>| {
        let mut changed = document.to_vec();
        patch(&mut changed, pointer, &value).is_ok()
    };
    // A column of two bytes each; one with a base; floats; bits; strings that are shared, or not.
    assert!(is(&columns, "/rows/2/id", Value::Int(-32_768)));
    assert!(!is(&columns, "/rows/2/id", Value::Int(32_768)));
    assert!(!is(&columns, "/rows/2/wide", Value::Int(1_000_000_000_001)));
    assert!(is(&columns, "/rows/2/x", Value::Float(1e-300)));
    assert!(!is(&columns, "/rows/2/x", Value::Int(1)));
    assert!(is(&columns, "/rows/2/on", Value::Bool(false)));
    assert!(!is(&columns, "/rows/2/word", Value::Str("red".into())));
    assert!(is(&rows, "/rows/2/word", Value::Str("red".into())));
    assert!(is(&columns, "/rows/2/text", Value::Str("abcdef".into())));
    assert!(!is(&columns, "/rows/2/text", Value::Str("abcde".into())));
    assert!(!is(
        &columns,
        "/rows/2/text",
        Value::Str("abcd\u{e9}".into())
    ));
    assert!(!is(&columns, "/rows/2/text", Value::Str("abcde\"".into())));
    assert!(is(&columns, "/e", Value::Str("\n\u{e9}".into())));
    assert!(is(&columns, "/u", Value::Int(-5)) && is(&columns, "/u", Value::Float(0.1)));
    assert!(is(&columns, "/n", Value::Null) && is(&columns, "/nul", Value::Bool(true)));
    assert!(is(&columns, "/b", Value::Int(95)) && !is(&columns, "/b", Value::Int(96)));
    assert!(!is(&columns, "/b", Value::Str("".into())));
}

#[test]
fn a_patch_clears_canonical_and_does_not_bless_damage() {
    let canonical = Options {
        canonical: true,
        ..Options::default()
    };
    let mut document = from_json(b"{\"a\":[1,2,3]}", &canonical).unwrap();
    patch(&mut document, "/a/0", &Value::Int(9)).unwrap();
    let plain = Options {
        checksum: Checksum::Off,
        ..Options::default()
    };
    assert_eq!(from_json(b"{\"a\":[9,2,3]}", &plain).unwrap(), document);

    let on = Options {
        checksum: Checksum::On,
        ..Options::default()
    };
    let mut document = from_json(b"{\"a\":[1,2,3]}", &on).unwrap();
    document[5] ^= 4;
    let before = document.clone();
    let error = patch(&mut document, "/a/0", &Value::Int(9)).unwrap_err();
    assert_eq!(ErrorKind::ChecksumMismatch, error.kind());
    assert_eq!(before, document);
}

#[test]
fn a_merge_patch_of_two_meanings_has_none() {
    let keep = Options {
        duplicates: tare::blit::Duplicates::Keep,
        ..Options::default()
    };
    let patch = from_json(br#"{"a":1,"a":{"b":2}}"#, &keep).unwrap();
    let document = from_json(b"{}", &Options::default()).unwrap();
    let mut edit = Edit::new(View::open(&document).unwrap());
    let error = edit.merge_view(&View::open(&patch).unwrap()).unwrap_err();
    assert_eq!(ErrorKind::Usage, error.kind());
    assert_eq!(document, edit.to_blit(&Options::default()).unwrap());
}

#[test]
fn names_with_halves_of_pairs_are_edited_by_bytes() {
    let keep = Options {
        surrogates: tare::blit::Surrogates::Keep,
        ..Options::default()
    };
    let document = from_json(br#"{"\ud83d":{"\ude00":1000}}"#, &keep).unwrap();
    let mut edit = Edit::new(View::open(&document).unwrap());
    let pointer = b"/\xED\xA0\xBD/\xED\xB8\x80";
    assert!(matches!(
        edit.get(pointer),
        Ok(Some(Current::Value(Value::Int(1000))))
    ));
    edit.set(pointer, Tree::from(2)).unwrap();
    assert_eq!(
        from_json(br#"{"\ude00":2}"#, &keep).unwrap(),
        edit.part(b"/\xED\xA0\xBD", &keep).unwrap().unwrap()
    );
    assert!(edit.part("/nothing", &keep).unwrap().is_none());
    edit.merge(br#"{"\ud83d":{"\ude00":null}}"#).unwrap();
    let changed = edit.to_blit(&keep).unwrap();
    assert_eq!(from_json(br#"{"\ud83d":{}}"#, &keep).unwrap(), changed);
    let mut patched = document.clone();
    tare::blit::patch(&mut patched, pointer, &Value::Int(5000)).unwrap();
    let view = View::open(&patched).unwrap();
    let json = view.to_json(&tare::blit::JsonOptions::default()).unwrap();
    assert_eq!(br#"{"\ud83d":{"\ude00":5000}}"#[..], json);
}
