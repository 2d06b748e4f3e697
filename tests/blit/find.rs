//! Queries: the standard's rules, and another implementation of it beside ours.

use proptest::prelude::*;
use serde_json::Value as Json;
use tare::blit::{from_json, JsonPath, Layout, Options, Value, View};
use tare::ErrorKind;

/// What a query finds: the pointer to each value, and the value as text.
fn ours(view: &View<'_>, path: &JsonPath) -> Vec<(String, String)> {
    let found = view.find(path).unwrap();
    found
        .map(|found| {
            let (path, value) = found.unwrap();
            let pointed = view.pointer(&path.pointer()).unwrap().unwrap();
            assert_eq!(format!("{pointed:?}"), format!("{value:?}"), "{path}");
            (path.pointer(), text(&value).to_string())
        })
        .collect()
}

/// A value as `serde_json` has it.
pub fn text(value: &Value<'_>) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::from(*value),
        Value::Int(value) => Json::from(*value),
        Value::Uint(value) => Json::from(*value),
        Value::Float(value) => Json::from(*value),
        Value::NumText(text) => serde_json::from_str(text).unwrap(),
        Value::Str(text) => Json::from(text.as_ref()),
        Value::Array(array) => array
            .iter()
            .map(|item| self::text(&item.unwrap()))
            .collect(),
        Value::Object(object) => {
            let all = object.iter().map(Result::unwrap);
            Json::Object(
                all.map(|(name, value)| (name.into_owned(), self::text(&value)))
                    .collect(),
            )
        }
        other => panic!("{other:?} is not JSON"),
    }
}

fn theirs(json: &Json, path: &str) -> Result<Vec<(String, String)>, String> {
    let path = serde_json_path::JsonPath::parse(path).map_err(|error| error.to_string())?;
    let found = path.query_located(json);
    Ok(found
        .iter()
        .map(|node| (node.location().to_json_pointer(), node.node().to_string()))
        .collect())
}

/// A comparison in words that the other implementation has as the standard does: of what has no
/// order it says that one is greater, and of two nothings that neither is at most the other.
/// (Nor does it know negative indices in what is compared; those are tested below.)
fn in_their_words(a: &str, op: &str, b: &str) -> String {
    match op {
        ">" => format!("({b} < {a})"),
        "<=" => format!("({a} < {b} || {a} == {b})"),
        ">=" => format!("({b} < {a} || {a} == {b})"),
        _ => format!("({a} {op} {b})"),
    }
}

fn check(json: &Json, query: &str) {
    check_both(json, query, query);
}

/// Finds in both layouts what the other implementation finds, or refuses what it refuses.
fn check_both(json: &Json, query: &str, same: &str) {
    let source = json.to_string();
    let parsed = JsonPath::parse(query);
    let expected = theirs(json, same);
    assert_eq!(
        parsed.is_err(),
        expected.is_err(),
        "{query}: {:?}, and theirs {expected:?}",
        parsed.as_ref().err()
    );
    let Ok(path) = parsed else {
        return;
    };
    for layout in [Layout::Columns, Layout::Rows] {
        let options = Options {
            layout,
            ..Options::default()
        };
        let document = from_json(source.as_bytes(), &options).unwrap();
        let view = View::open(&document).unwrap();
        assert_eq!(
            expected.as_ref().unwrap(),
            &ours(&view, &path),
            "{query} of {source}"
        );
        let values: Vec<String> = view
            .find(&path)
            .unwrap()
            .values()
            .map(|value| text(&value.unwrap()).to_string())
            .collect();
        let all = expected
            .as_ref()
            .unwrap()
            .iter()
            .map(|found| found.1.clone());
        assert_eq!(all.collect::<Vec<_>>(), values);
    }
}

/// Rows with everything that makes columns of different kinds.
fn table(rows: usize) -> Json {
    (0..rows)
        .map(|i| {
            let mut row = serde_json::json!({
                "id": i,
                "delay": (i * 37 % 101) as i64 - 20,
                "wide": (i as i64) << 40,
                "x": i as f64 / 4.0,
                "third": i as f64 / 3.0,
                "mixed": if i % 3 == 0 { Json::from(i) } else { Json::from(i as f64 + 0.5) },
                "word": (["red", "green", "blue"][i % 3]),
                "text": format!("row {i}"),
                "on": i % 2 == 0,
                "same": 7,
                "maybe": if i % 5 == 0 { Json::Null } else { Json::from(i % 7) },
                "at": {"lat": i, "names": [i % 4, "n"]},
                "list": (0..i % 4).collect::<Vec<_>>(),
            });
            if i % 4 == 1 {
                row["gap"] = Json::from(i);
                row["odd"] = if i % 8 == 1 {
                    Json::Null
                } else {
                    Json::from("o")
                };
            }
            if i % 6 == 2 {
                row["deep"] = serde_json::json!({"v": i % 10});
            }
            row
        })
        .collect()
}

#[test]
fn rows_are_filtered_as_others_filter_them() {
    let sides = [
        "@.id",
        "@.delay",
        "@.wide",
        "@.x",
        "@.third",
        "@.mixed",
        "@.word",
        "@.text",
        "@.on",
        "@.same",
        "@.maybe",
        "@.at.lat",
        "@.at.names[0]",
        "@.gap",
        "@.odd",
        "@.deep.v",
        "@.none",
        "@.at",
        "@['list'][0]",
        "length(@.text)",
        "count(@.list[*])",
        "length(@.list)",
    ];
    let literals = [
        "7",
        "20.5",
        "-0",
        "1e1",
        "'green'",
        "\"row 3\"",
        "true",
        "null",
        "$[3].id",
        "$.no",
    ];
    for rows in [3, 20, 70] {
        let json = table(rows);
        for side in sides {
            for (op, literal) in ["==", "!=", "<", "<=", ">", ">="]
                .iter()
                .flat_map(|op| literals.map(|literal| (op, literal)))
            {
                let same = in_their_words(side, op, literal);
                check_both(
                    &json,
                    &format!("$[?{side} {op} {literal}].id"),
                    &format!("$[?{same}].id"),
                );
            }
            check_both(
                &json,
                &format!("$[?5<={side}]"),
                &format!("$[?{}]", in_their_words("5", "<=", side)),
            );
            check(&json, &format!("$[?{side} == @.id]['word','id']"));
            if !side.contains('(') {
                check(&json, &format!("$[?{side}].id"));
                check(&json, &format!("$[?!{side}].id"));
                let query = |above: &str| format!("$[?!({above} && @.on) || @.word=='red'].id");
                check_both(
                    &json,
                    &query(&format!("{side} > 3")),
                    &query(&format!("3 < {side}")),
                );
            }
        }
        for query in [
            "$..v",
            "$..names[0]",
            "$[1:9:3]['at']",
            "$..[?@.lat>4]",
            "$..[1]",
            "$[?@.at[?@==3]].id",
        ] {
            check(&json, query);
        }
    }
}

#[test]
fn filters_go_on_over_chunks_and_segments() {
    let n = 140_000;
    let rows: Vec<String> = (0..n)
        .map(|i| {
            format!(
                "{{\"i\":{i},\"even\":{},\"w\":\"{}\"}}",
                i % 2 == 0,
                ["a", "b"][i / 70_000]
            )
        })
        .collect();
    let source = format!("[{}]", rows.join(","));
    let document = from_json(source.as_bytes(), &Options::default()).unwrap();
    let view = View::open(&document).unwrap();
    let find = |query: &str| {
        let path = JsonPath::parse(query).unwrap();
        let values = view.find(&path).unwrap().values();
        let values = values.map(|value| match value.unwrap() {
            Value::Int(value) => value,
            other => panic!("{other:?}"),
        });
        values.collect::<Vec<_>>()
    };
    let expected: Vec<i64> = (65_530..65_540).chain(131_070..131_075).collect();
    assert_eq!(
        expected,
        find("$[?@.i>=65530 && @.i<65540 || @.i >= 131070 && @.i < 131075].i")
    );
    assert_eq!(
        vec![69_998, 70_000],
        find("$[?@.i > 69997 && @.i < 70001 && @.even==true].i")
    );
    assert_eq!(70_000, find("$[?@.w == 'b'].i").len());
    let late = JsonPath::parse("$[?@.i > 139998]").unwrap();
    let found: Vec<_> = view
        .find(&late)
        .unwrap()
        .map(|found| found.unwrap().0.to_string())
        .collect();
    assert_eq!(vec!["$[139999]"], found);
}

/// Queries that are taken or refused as the standard says, whatever the document.
#[rustfmt::skip]
const QUERIES: &[&str] = &[
    "$", "$ ", " $", "", "@", "$.", "$..", "$.*", "$..*", "$.a", "$ .a", "$. a", "$.a ", "$.1", "$.d1", "$._", "$.-",
    "$.\u{263A}", "$['a']", "$[\"a\"]", "$['']", "$[\"\"]", "$['\\'']", "$[\"\\\"\"]", "$['\\\"']", "$[\"\\'\"]",
    "$['\"']", "$[\"'\"]", "$['\\\\']", "$['\\n']", "$['\n']", "$['\\u263A']", "$['\\u263a']", "$['\\uD83D\\uDE00']",
    "$['\\uD83D']", "$['\\uDE00']", "$['\\uD83D\\u0041']", "$['\\u00']", "$['\\x']", "$['\\/']", "$['a", "$['a'",
    "$[a]", "$[]", "$[ 'a' ]", "$[ 'a' , 'b' ]", "$['a','a']", "$['a',]", "$[,'a']", "$['a' 'b']", "$ ['a']",
    "$\n['a']\t.*", "$.a[0]", "$.a[-1]", "$.a[-0]", "$.a[00]", "$.a[01]", "$.a[1.0]", "$.a[+1]",
    "$.a[9007199254740991]", "$.a[9007199254740992]", "$.a[-9007199254740991]", "$.a[-9007199254740992]", "$.a[:]",
    "$.a[::]", "$.a[1:]", "$.a[:1]", "$.a[::2]", "$.a[::-1]", "$.a[ 0 : 2 : 1 ]", "$.a[-2:]", "$.a[2:0:-1]",
    "$.a[::0]", "$.a[0:3:2]", "$.a[:::]", "$.a[1:2:3:4]", "$.a[0, 1:3, *, -1]", "$.a[-]", "$.a[:-0]", "$.a[01:]",
    "$.a[::01]", "$.a[:9007199254740992]", "$..a", "$.. a", "$..[0]", "$..['a','b']", "$..[*]", "$...a", "$.a..",
    "$[*]", "$[?@]", "$[? @ ]", "$[?@.a]", "$[?!@.a]", "$[?! @.a]", "$[?(@.a)]", "$[?!(@.a)]", "$[?!!@.a]",
    "$[?((@.a))]", "$[?@.a==1]", "$[?@.a== 1 ]", "$[?@.a=1]", "$[?@.a===1]", "$[?@ == 1]", "$[?1 == 1]", "$[?1]",
    "$[?true]", "$[?'a']", "$[?@.a && @.b]", "$[?@.a & @.b]", "$[?@.a || @.b]", "$[?@.a and @.b]", "$[?@.a && ]",
    "$[?&& @.a]", "$[?@.a == @.*]", "$[?@.* == 1]", "$[?@..a == 1]", "$[?@['a','b'] == 1]", "$[?@[0:1] == 1]",
    "$[?@[0] == 1]", "$[?@[1] == @[0]]", "$[?@ == [1]]", "$[?@ == {}]", "$[?@ == TRUE]", "$[?@ == nul]",
    "$[?@ == 'a\\'b']", "$[?@ == \"\\uD83D\\uDE00\"]", "$[?@ == 01]", "$[?@ == -0]", "$[?@ == -0.0]", "$[?@ == 1.]",
    "$[?@ == .5]", "$[?@ == 1e2]", "$[?@ == 1E+2]", "$[?@ == +1]", "$[?@ == 1e]", "$[?@ == 1.5e-1]", "$[?@ == --1]",
    "$[?length(@) == 2]", "$[?length(@)]", "$[?!length(@)]", "$[?length(@) > length('a')]", "$[?length (@) == 2]",
    "$[?length( @ ) == 2]", "$[?length() == 2]", "$[?length(@,@) == 2]", "$[?length(@.*) == 2]", "$[?length(1) == 1]",
    "$[?length(true) == 1]", "$[?length('\u{1F600}x') == 2]", "$[?length(length('ab')) == 1]", "$[?count(@) == 1]",
    "$[?count(@.*) == 2]", "$[?count(@..*) > 2]", "$[?count(1) == 1]", "$[?count('a') == 1]",
    "$[?count(length(@)) == 1]", "$[?count() == 1]", "$[?count(@.*)]", "$[?length(count(@.*)) == 1]",
    "$[?nope(@) == 1]", "$[?Length(@) == 1]", "$[?count(@['a','a']) == 2]", "$[?@.a[?@ == 1]]", "$[?@[?@[?@ > 1]]]",
    "$[?$.b]", "$[?$.b.a.a == 1]", "$[?$['d1'] == 1]", "$[?@<1]", "$[?@>1]", "$[?@<='x']", "$[?@.none==@.nope]",
    "$[?@.none<@.nope]", "$[?@.none!=@.nope]", "$.g[?@==$.g[0]]", "$[?@==$.f]", "$[?@==$.e]", "$[?@ < 1 == 2]",
    "$[?(@ < 1) == true]", "$[?!@ < 1]", "$[?!(@ < 1)]", "$[?@.a,?@.b]", "$[?@.a, 'a', 0]", "$.a[?@>1, ?@<2]",
    "$..[?@.a]", "$.b[?@.a].a", "$[(@.a)]", "$[?@.a]]", "$[?(@.a]", "$[?@.a)]", "$[?@ . a]", "$[?@ ['a']]",
    "$[?@\n.a]", "$.a[?@.b == 'x' && !@.d || @ == 1]",
];

#[test]
fn text_is_taken_and_refused_as_others_do() {
    let json = serde_json::json!({
        "a": [1, [2, 3], {"b": "x", "c": null}], "b": {"a": {"a": 1}}, "": 0, "\u{263A}": "\u{1F600}",
        "a b": true, "'": 1, "\"": 2, "\\": 3, "\n": 4, "d1": 1.0, "e": [], "f": {}, "g": [[1], [1]],
    });
    for query in QUERIES {
        check(&json, query);
    }
    for (a, op, b) in [
        ("@", ">=", "null"),
        ("@", "<=", "true"),
        ("@.none", "<=", "@.nope"),
        ("@", ">", "true"),
        ("@.e", ">=", "$.e"),
    ] {
        check_both(
            &json,
            &format!("$[?{a}{op}{b}]"),
            &format!("$[?{}]", in_their_words(a, op, b)),
        );
    }
}

#[test]
fn what_is_compared_may_count_from_the_end() {
    let json = serde_json::json!([{"l": [1, 2]}, {"l": [2, 1, 1]}, {"l": []}, {"l": [1, 1]}]);
    let document = from_json(json.to_string().as_bytes(), &Options::default()).unwrap();
    let view = View::open(&document).unwrap();
    for (query, expected) in [
        ("$[?@.l[-1] == 1]", vec!["/1", "/3"]),
        ("$[?@.l[-2] == @.l[-1]]", vec!["/1", "/2", "/3"]),
        ("$[?@.l[-3] == 2]", vec!["/1"]),
        ("$[?$[-1].l[0] == @.l[0]]", vec!["/0", "/3"]),
    ] {
        let path = JsonPath::parse(query).unwrap();
        let found: Vec<_> = ours(&view, &path)
            .into_iter()
            .map(|found| found.0)
            .collect();
        assert_eq!(expected, found, "{query}");
    }
}

#[test]
fn paths_are_normalized_as_the_standard_has_them() {
    let text = r#"{"a'b\\\n\u0001\u0008\u000c\r\t\"\u00e9": [0, {"": 1}]}"#;
    let document = from_json(text.as_bytes(), &Options::default()).unwrap();
    let view = View::open(&document).unwrap();
    let all = JsonPath::parse("$..*").unwrap();
    let paths = view
        .find(&all)
        .unwrap()
        .map(|found| found.unwrap().0.to_string());
    let name = "$['a\\'b\\\\\\n\\u0001\\b\\f\\r\\t\"\u{e9}']";
    let expected = ["", "[0]", "[1]", "[1]['']"].map(|rest| format!("{name}{rest}"));
    assert_eq!(expected.to_vec(), paths.collect::<Vec<_>>());
}

#[test]
fn what_is_outside_the_subset_says_so() {
    for function in ["match(@.a, 'x')", "search(@.a, 'x')", "value(@.a) == 1"] {
        let error = JsonPath::parse(&format!("$[?{function}]")).unwrap_err();
        assert_eq!(ErrorKind::Unsupported, error.kind());
        assert!(
            error.to_string().contains("length() and count() are"),
            "{error}"
        );
        assert_eq!(Some(3), error.offset());
    }
    let error = JsonPath::parse("$.a[?@.b = 1]").unwrap_err();
    assert_eq!((ErrorKind::Usage, Some(9)), (error.kind(), error.offset()));
}

#[test]
fn hostile_queries_and_documents_end() {
    for (open, close) in [("(", ")"), ("!(", ")"), ("@[?", "]"), ("length(", ")==1")] {
        let query = format!("$[?{}@{}]", open.repeat(5000), close.repeat(5000));
        assert_eq!(
            ErrorKind::Limit,
            JsonPath::parse(&query).unwrap_err().kind(),
            "{open}"
        );
    }
    let long = format!("${}", ".a".repeat(40_000));
    assert_eq!(ErrorKind::Limit, JsonPath::parse(&long).unwrap_err().kind());
    let deep = format!("{}{}", "[".repeat(1024), "]".repeat(1024));
    let document = from_json(deep.as_bytes(), &Options::default()).unwrap();
    let view = View::open(&document).unwrap();
    let all = JsonPath::parse("$..*").unwrap();
    assert_eq!(1023, view.find(&all).unwrap().count());
    let way = JsonPath::parse(&format!("$[?@{} == 1]", "[0]".repeat(10_000))).unwrap();
    assert_eq!(0, view.find(&way).unwrap().count());
    // Every value times every value, which the limit ends.
    let wide = from_json(
        format!("[{}0]", "0,".repeat(100_000)).as_bytes(),
        &Options::default(),
    )
    .unwrap();
    let view = View::open(&wide).unwrap();
    let square = JsonPath::parse("$[?count($[*]) > 1]").unwrap();
    let mut found = view.find_within(&square, 1_000_000).unwrap();
    let error = found.next().unwrap().unwrap_err();
    assert_eq!(ErrorKind::Limit, error.kind());
    assert!(found.next().is_none());
}

fn json() -> impl Strategy<Value = Json> {
    let number = prop_oneof![
        (-3_i64..9).prop_map(Json::from),
        (-20_i64..20).prop_map(|n| Json::from(n as f64 / 4.0)),
    ];
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        number,
        "[ab]{0,2}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::vec(("[abc]", inner.clone()), 0..4)
                .prop_map(|all| Json::Object(all.into_iter().collect())),
            // Rows that are alike, so that there are tables.
            prop::collection::vec((inner.clone(), inner.clone(), inner, any::<bool>()), 2..12)
                .prop_map(|rows| rows
                    .into_iter()
                    .map(|(a, b, c, has)| {
                        let mut row = serde_json::json!({"a": a, "b": b});
                        if has {
                            row["c"] = c;
                        }
                        row
                    })
                    .collect()),
        ]
    })
}

/// A query, and the same for the other implementation.
fn query() -> impl Strategy<Value = (String, String)> {
    let literal = prop_oneof![
        Just("1".to_string()),
        Just("0.5".to_string()),
        Just("'a'".to_string()),
        Just("null".to_string()),
        Just("true".to_string()),
        (-3_i64..9).prop_map(|n| n.to_string()),
    ];
    let single = prop::collection::vec(
        prop_oneof![
            "[abc]".prop_map(|name| format!(".{name}")),
            (0_i64..3).prop_map(|i| format!("[{i}]"))
        ],
        0..3,
    )
    .prop_map(|steps| steps.concat());
    let side = prop_oneof![
        2 => single.clone().prop_map(|steps| format!("@{steps}")),
        1 => single.clone().prop_map(|steps| format!("${steps}")),
        2 => literal,
        1 => single.clone().prop_map(|steps| format!("length(@{steps})")),
        1 => single.clone().prop_map(|steps| format!("count(@{steps}[*])")),
    ];
    let op = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let same = |text: String| (text.clone(), text);
    let basic = prop_oneof![
        (side.clone(), op, side)
            .prop_map(|(a, op, b)| (format!("{a} {op} {b}"), in_their_words(&a, op, &b))),
        single
            .clone()
            .prop_map(move |steps| same(format!("@{steps}"))),
        single.prop_map(move |steps| same(format!("!@{steps}..a"))),
    ];
    let expr = basic.prop_recursive(2, 6, 2, |inner| {
        (
            inner.clone(),
            prop::sample::select(vec!["&&", "||"]),
            inner,
            any::<bool>(),
        )
            .prop_map(|(a, op, b, not)| {
                let not = if not { "!" } else { "" };
                (
                    format!("{not}({} {op} {})", a.0, b.0),
                    format!("{not}({} {op} {})", a.1, b.1),
                )
            })
    });
    let selector = prop_oneof![
        Just(same("*".to_string())),
        "[abc]".prop_map(move |name| same(format!("'{name}'"))),
        (-3_i64..4).prop_map(move |i| same(i.to_string())),
        (-4_i64..5, -4_i64..5, -3_i64..4).prop_map(move |(a, b, c)| same(format!("{a}:{b}:{c}"))),
        expr.prop_map(|(a, b)| (format!("?{a}"), format!("?{b}"))),
    ];
    let segment = (any::<bool>(), prop::collection::vec(selector, 1..3)).prop_map(|(deep, all)| {
        let (a, b): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let deep = if deep { ".." } else { "" };
        (
            format!("{deep}[{}]", a.join(",")),
            format!("{deep}[{}]", b.join(",")),
        )
    });
    prop::collection::vec(segment, 0..4).prop_map(|segments| {
        let (a, b): (Vec<_>, Vec<_>) = segments.into_iter().unzip();
        (format!("${}", a.concat()), format!("${}", b.concat()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn any_query_of_any_document_finds_what_others_find(json in json(), query in query()) {
        check_both(&json, &query.0, &query.1);
    }
}

#[test]
fn descendants_by_name_leave_out_what_has_no_such_name() {
    let rows: Vec<String> = (0..2000)
        .map(|i| {
            let name = if i % 700 == 3 { ",\"name\":1" } else { "" };
            format!(r#"{{"at":[[{i},1],[2,{i}]],"tags":[{{"t":"a"}}],"in":[{{"id":{i}{name}}}]}}"#)
        })
        .collect();
    let json: Json = serde_json::from_str(&format!("[{}]", rows.join(","))).unwrap();
    for layout in [Layout::Columns, Layout::Rows] {
        let options = Options {
            layout,
            ..Options::default()
        };
        let document = from_json(json.to_string().as_bytes(), &options).unwrap();
        let view = View::open(&document).unwrap();
        for query in [
            "$..name",
            "$..['name','none']",
            "$..t",
            "$..none",
            "$..in..name",
            "$..[0]",
        ] {
            let path = JsonPath::parse(query).unwrap();
            assert_eq!(theirs(&json, query).unwrap(), ours(&view, &path), "{query}");
        }
    }
    // Rows, and in each the one column that may have it, but none of the numbers and tags.
    let document = from_json(json.to_string().as_bytes(), &Options::default()).unwrap();
    let view = View::open(&document).unwrap();
    for (query, most) in [("$..name", 16_000), ("$..none", 10)] {
        let path = JsonPath::parse(query).unwrap();
        let found = view.find_within(&path, most).unwrap();
        let all: tare::Result<Vec<_>> = found.collect();
        all.unwrap_or_else(|error| panic!("{query}: {error}"));
    }
}
