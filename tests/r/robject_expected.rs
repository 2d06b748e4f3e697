//! The comparison with golden files finds every wrong value, name, mark and order.

use crate::r_expected;

use serde_json::{json, Value};
use tare::robject::{
    Body, Builder, Cell, Id, Node, RObject, Special, Strings, TextEncoding, NA_INT, NA_REAL,
};

use r_expected::compare;

fn digest(bytes: &[u8]) -> String {
    use md5::{Digest, Md5};
    Md5::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn cell(code: u8, tag: Option<Id>, value: Id) -> Cell {
    Cell {
        code,
        is_object: false,
        levels: 0,
        attributes: Id::NULL,
        tag,
        value,
    }
}

/// An environment that holds itself, a promise that was forced and a list.
fn environment(build: &mut Builder, list: Id) -> Id {
    let environment = build.reserve().unwrap();
    let names: Vec<Id> = ["self", "b", "a"]
        .iter()
        .map(|name| build.symbol(name).unwrap())
        .collect();
    let forced = build.push(Body::Logical(vec![0])).unwrap();
    let promise = Body::Promise {
        environment: None,
        value: forced,
        expression: Id::NULL,
    };
    let promise = build.push(promise).unwrap();
    let frame = Body::Pairs {
        cells: vec![cell(2, Some(names[0]), environment)],
        tail: Id::NULL,
    };
    let frame = build.push(frame).unwrap();
    let chain = vec![
        cell(2, Some(names[1]), list),
        cell(2, Some(names[2]), promise),
    ];
    let chain = build
        .push(Body::Pairs {
            cells: chain,
            tail: Id::NULL,
        })
        .unwrap();
    let hashtab = build.push(Body::List(vec![Id::NULL, chain])).unwrap();
    let enclosure = Special::EmptyEnv.id();
    build.fill(
        environment,
        Node::new(Body::Environment {
            locked: 1,
            enclosure,
            frame,
            hashtab,
        }),
    );
    environment
}

/// One of everything that trees have, with its tree.
fn all() -> (RObject, Value) {
    let mut build = Builder::new();
    let integers = build.push(Body::Integer(vec![7, NA_INT])).unwrap();
    let mut texts = Strings::default();
    texts.push_str("a");
    texts.push(b"\xe9", TextEncoding::Latin1.levels());
    texts.push_na();
    texts.push(b"\xff", TextEncoding::Bytes.levels());
    let texts = build.push(Body::Character(Box::new(texts))).unwrap();
    let plain = build.strings(["x", "NA"]).unwrap();
    build
        .set_attributes(integers, &[("names", plain), ("note", texts)])
        .unwrap();
    let doubles = vec![1.5, f64::from_bits(NA_REAL), f64::NAN, -0.0, f64::INFINITY];
    let doubles = build.push(Body::Double(doubles)).unwrap();
    let complex = build
        .push(Body::Complex(vec![[0.5, f64::NEG_INFINITY]]))
        .unwrap();
    let raw = build.push(Body::Raw((0..50).collect())).unwrap();
    let list = build
        .push(Body::List(vec![integers, doubles, complex, raw]))
        .unwrap();
    let environment = environment(&mut build, list);
    let (f, x) = (build.symbol("f").unwrap(), build.symbol("x").unwrap());
    let missing = Special::MissingArg.id();
    let call = vec![cell(6, None, f), cell(2, Some(x), missing)];
    let call = build
        .push(Body::Pairs {
            cells: call,
            tail: Id::NULL,
        })
        .unwrap();
    let formals = build.pairlist(&[("x", missing)]).unwrap();
    let closure = build
        .push(Body::Closure {
            environment,
            formals,
            body: call,
        })
        .unwrap();
    let name = build
        .push(Body::Char(Some(Box::from(&b"stats"[..]))))
        .unwrap();
    let namespace = build
        .push(Body::Named {
            code: 249,
            names: vec![name],
        })
        .unwrap();
    let sum = build
        .push(Body::Builtin {
            special: false,
            name: Box::from(&b"sum"[..]),
        })
        .unwrap();
    let s4 = build.push(Body::S4).unwrap();
    let package = build.strings([".GlobalEnv"]).unwrap();
    let class = build.strings(["Point"]).unwrap();
    build
        .set_attributes(class, &[("package", package)])
        .unwrap();
    build
        .set_attributes(s4, &[("y", raw), ("x", plain), ("class", class)])
        .unwrap();
    let root = [environment, call, closure, namespace, sum, s4];
    let root = build.push(Body::Expression(root.to_vec())).unwrap();
    let plain =
        json!({"type": "character", "length": 2, "md5": digest(b"x\0NA\0"), "values": ["x", "NA"]});
    let texts = json!({"type": "character", "length": 4, "md5": digest(b"a\0\xe9\0\x01\0\xff\0"),
        "values": ["a", "\u{e9}", null, {"bytes": "ff"}], "encoding": ["unknown", "latin1", "unknown", "bytes"],
        "bytes_hex": ["61", "e9", null, "ff"]});
    let bits = [
        0x3ff8_0000_0000_0000,
        NA_REAL,
        0x7ff8_0000_0000_0000,
        1 << 63,
        0x7ff0_0000_0000_0000_u64,
    ];
    let bytes: Vec<u8> = bits.iter().flat_map(|one| one.to_le_bytes()).collect();
    let bits: Vec<String> = bits.iter().map(|one| format!("{one:016x}")).collect();
    let bytes_of = |parts: [f64; 2]| parts.map(|one| one.to_bits().to_le_bytes()).concat();
    let raw = json!({"type": "raw", "length": 50, "md5": digest(&(0..50).collect::<Vec<u8>>()),
        "head": ["00010203040506070809"], "tail": ["2d2e2f3031"]});
    let raw = || raw.clone();
    let tree = json!({"type": "expression", "length": 6, "deparse": "not compared", "elements": [
        {"type": "environment", "id": 1, "locked": true, "bindings": {
            "a": {"type": "logical", "length": 1, "md5": digest(&[0; 4]), "values": [false]},
            "b": {"type": "list", "length": 4, "elements": [
                {"type": "integer", "length": 2, "md5": digest(&[7, 0, 0, 0, 0, 0, 0, 128]), "values": [7, null],
                 "attributes": [{"name": "names", "value": plain.clone()}, {"name": "note", "value": texts}]},
                {"type": "double", "length": 5, "md5": digest(&bytes), "values": ["1.5", "NA", "NaN", "-0", "Inf"], "bits_be": bits},
                {"type": "complex", "length": 1, "md5": digest(&bytes_of([0.5, f64::NEG_INFINITY])), "values": [["0.5", "-Inf"]]},
                raw(),
            ]},
            "self": {"type": "ref", "id": 1},
        }, "parent": {"type": "emptyenv"}},
        {"type": "language", "deparse": "not compared", "tags": ["", "x"],
         "elements": [{"type": "symbol", "name": "f"}, {"type": "missing-arg"}]},
        {"type": "closure", "deparse": "not compared", "env": {"type": "ref", "id": 1},
         "formals": {"type": "pairlist", "length": 1, "tags": ["x"], "elements": [{"type": "missing-arg"}]}},
        {"type": "namespace", "name": "stats"},
        {"type": "builtin", "name": "sum"},
        {"type": "S4", "class": "Point", "package": ".GlobalEnv", "slots": {"y": raw(), "x": plain}},
    ]});
    (build.finish(root), tree)
}

/// Every tree that differs from `tree` in one place: in a leaf, in the order, or in what there is.
fn mutants(tree: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    let mut push = |what: String, value: Value| found.push((what, value));
    match tree {
        Value::Null => push(path.into(), json!(0)),
        Value::Bool(one) => push(path.into(), json!(!one)),
        Value::Number(one) => {
            push(path.into(), json!(one.as_i64().unwrap() + 1));
            push(format!("{path} as null"), Value::Null);
        }
        Value::String(one) => {
            push(path.into(), json!(format!("{one}1")));
            push(format!("{path} as null"), Value::Null);
            let other = if one == "NaN" { "NA" } else { "NaN" };
            push(format!("{path} as {other}"), json!(other));
        }
        Value::Array(items) => {
            for at in 0..items.len() {
                let mut fewer = items.clone();
                fewer.remove(at);
                push(format!("{path} without {at}"), Value::Array(fewer));
            }
            let mut more = items.clone();
            more.push(items.last().cloned().unwrap_or(Value::Null));
            push(format!("{path} with one more"), Value::Array(more));
            for at in 1..items.len() {
                let mut swapped = items.clone();
                swapped.swap(at - 1, at);
                if swapped != *items {
                    push(format!("{path} swapped at {at}"), Value::Array(swapped));
                }
            }
        }
        Value::Object(map) => {
            let mut more = map.clone();
            more.insert("unknown".into(), json!(1));
            push(format!("{path} with an unknown key"), Value::Object(more));
            for key in map.keys().filter(|key| *key != "deparse") {
                let mut fewer = map.clone();
                fewer.shift_remove(key);
                push(format!("{path} without {key}"), Value::Object(fewer));
            }
        }
    }
    let mut below = Vec::new();
    match tree {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                mutants(item, &format!("{path}[{at}]"), &mut below);
                for (what, mutant) in below.drain(..) {
                    let mut items = items.clone();
                    items[at] = mutant;
                    found.push((what, Value::Array(items)));
                }
            }
        }
        Value::Object(map) => {
            for (key, item) in map.iter().filter(|(key, _)| *key != "deparse") {
                mutants(item, &format!("{path}.{key}"), &mut below);
                for (what, mutant) in below.drain(..) {
                    let mut map = map.clone();
                    map.insert(key.clone(), mutant);
                    found.push((what, Value::Object(map)));
                }
            }
        }
        _ => {}
    }
}

/// Trees that say less than they might, but nothing wrong: the digest holds what is left out.
fn says_less(what: &str) -> bool {
    what.ends_with("without bits_be") || what.ends_with("without bytes_hex")
}

#[test]
fn every_change_of_the_tree_is_found() {
    let (object, tree) = all();
    compare(&object, &tree).assert_same("all");
    let mut found = Vec::new();
    mutants(&tree, "$", &mut found);
    assert!(found.len() > 400, "{} changes", found.len());
    let missed: Vec<&String> = found
        .iter()
        .filter(|(what, tree)| !says_less(what) && compare(&object, tree).faults.is_empty())
        .map(|(what, _)| what)
        .collect();
    assert!(missed.is_empty(), "{} missed: {missed:#?}", missed.len());
}

#[test]
fn an_environment_of_another_identity_is_found() {
    let mut build = Builder::new();
    let empty = || {
        Node::new(Body::Environment {
            locked: 0,
            enclosure: Special::EmptyEnv.id(),
            frame: Id::NULL,
            hashtab: Id::NULL,
        })
    };
    let (one, two) = (
        build.push_node(empty()).unwrap(),
        build.push_node(empty()).unwrap(),
    );
    let shared = build.push(Body::List(vec![one, one])).unwrap();
    let apart = build.push(Body::List(vec![one, two])).unwrap();
    let object = build.finish(shared);
    let made = |id: u32| json!({"type": "environment", "id": id, "locked": false, "bindings": {}, "parent": {"type": "emptyenv"}});
    let list = |second: Value| json!({"type": "list", "length": 2, "elements": [made(1), second]});
    let (by_place, by_value) = (list(json!({"type": "ref", "id": 1})), list(made(2)));
    compare(&object, &by_place).assert_same("shared");
    assert!(!compare(&object, &by_value).faults.is_empty());
    compare(&object.at(apart), &by_value).assert_same("apart");
    assert!(!compare(&object.at(apart), &by_place).faults.is_empty());
}
