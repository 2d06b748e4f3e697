//! Arbitrary documents: whatever goes in comes out, from every source, in every layout.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::match_wildcard_for_single_variants,
    clippy::trivially_copy_pass_by_ref,
    reason = "a test stops at once, and makes its own small numbers"
)]

use proptest::prelude::*;
use tare::blit::{
    from_json, patch, Checksum, Current, Edit, JsonOptions, KeyOrder, Layout, Options, Tree, Value,
    View, Writer,
};
use tare::ErrorKind;

/// A value, as exactly as the format keeps it: floats by their bits, order of names included.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Null,
    Bool(bool),
    Int(i64),
    /// Above 2^63 - 1.
    Uint(u64),
    Float(u64),
    /// Text that is no value of the others.
    NumText(String),
    Str(String),
    Bytes(Vec<u8>),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    fn of(value: &Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Uint(value) => Self::Uint(*value),
            Value::Float(value) => Self::Float(value.to_bits()),
            Value::NumText(text) => Self::NumText((*text).to_string()),
            Value::Str(text) => Self::Str(text.to_string()),
            Value::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
            Value::Array(array) => {
                Self::Array(array.iter().map(|item| Self::of(&item.unwrap())).collect())
            }
            Value::Object(object) => {
                let all = object.iter().map(Result::unwrap);
                Self::Object(
                    all.map(|(name, value)| (name.into_owned(), Self::of(&value)))
                        .collect(),
                )
            }
            other => panic!("{other:?}"),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Null => writer.null(),
            Self::Bool(value) => writer.bool(*value),
            Self::Int(value) => writer.int(*value),
            Self::Uint(value) => writer.uint(*value),
            Self::Float(bits) => writer.float(f64::from_bits(*bits)),
            Self::NumText(text) => writer.number_text(text),
            Self::Str(text) => writer.str(text),
            Self::Bytes(bytes) => writer.bytes(bytes),
            Self::Array(items) => {
                writer.begin_array().unwrap();
                for item in items {
                    item.write(writer);
                }
                writer.end()
            }
            Self::Object(members) => {
                writer.begin_object().unwrap();
                for (name, value) in members {
                    writer.key(name).unwrap();
                    value.write(writer);
                }
                writer.end()
            }
        }
        .unwrap();
    }

    fn encode(&self, options: &Options) -> Vec<u8> {
        let mut writer = Writer::new(*options).unwrap();
        self.write(&mut writer);
        writer.finish().unwrap()
    }

    /// Its JSON text, by rules of its own; None if it has none.
    fn text(&self) -> Option<String> {
        let all = |items: Vec<Option<String>>| items.into_iter().collect::<Option<Vec<_>>>();
        Some(match self {
            Self::Null => "null".to_string(),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Uint(value) => value.to_string(),
            Self::Float(bits) => {
                let value = f64::from_bits(*bits);
                if !value.is_finite() {
                    return None;
                }
                // With all digits of an exponent, which is another text of the same value.
                format!("{value:e}")
            }
            Self::NumText(text) => text.clone(),
            Self::Str(text) => serde_json::to_string(text).unwrap(),
            Self::Bytes(_) => return None,
            Self::Array(items) => {
                let items = all(items.iter().map(Self::text).collect())?;
                format!("[{}]", items.join(" , "))
            }
            Self::Object(members) => {
                let members = members.iter().map(|(name, value)| {
                    Some(format!(
                        "{}\n: {}",
                        serde_json::to_string(name).unwrap(),
                        value.text()?
                    ))
                });
                format!("{{{}}}", all(members.collect())?.join(","))
            }
        })
    }

    /// With the names of all objects in the order of their bytes.
    fn sorted(&self) -> Self {
        match self {
            Self::Array(items) => Self::Array(items.iter().map(Self::sorted).collect()),
            Self::Object(members) => {
                let mut members: Vec<_> = members
                    .iter()
                    .map(|(name, value)| (name.clone(), value.sorted()))
                    .collect();
                members.sort_by(|a, b| a.0.cmp(&b.0));
                Self::Object(members)
            }
            other => other.clone(),
        }
    }

    /// Pointers to everything in it.
    fn pointers(&self, at: &str, out: &mut Vec<(String, Node)>) {
        out.push((at.to_string(), self.clone()));
        match self {
            Self::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    item.pointers(&format!("{at}/{i}"), out);
                }
            }
            Self::Object(members) => {
                for (name, value) in members {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    value.pointers(&format!("{at}/{name}"), out);
                }
            }
            _ => {}
        }
    }
}

// --- strategies ---

fn scalar() -> impl Strategy<Value = Node> {
    let whole = prop_oneof![
        any::<i64>(),
        -40_i64..100,
        any::<i32>().prop_map(i64::from),
        any::<i16>().prop_map(i64::from),
        (0_u32..63, any::<bool>()).prop_map(|(bits, up)| if up {
            1 << bits
        } else {
            -(1 << bits) - 1
        }),
    ];
    let real = prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        any::<f32>().prop_map(f64::from),
        (-100_000_i64..100_000, 0_i32..6).prop_map(|(m, e)| m as f64 / 10_f64.powi(e)),
        Just(-0.0),
        Just(0.0),
        Just(f64::MIN_POSITIVE),
        Just(5e-324),
        Just(f64::MAX),
        Just(f64::INFINITY),
    ];
    // Which NaN it is carries no meaning.
    let real = real.prop_map(|x| Node::Float(if x.is_nan() { f64::NAN } else { x }.to_bits()));
    prop_oneof![
        2 => Just(Node::Null),
        2 => any::<bool>().prop_map(Node::Bool),
        4 => whole.prop_map(Node::Int),
        1 => (1_u64 << 63..).prop_map(Node::Uint),
        4 => real,
        1 => prop_oneof![Just("-0"), Just("1e400"), Just("0.12345678901234567890"), Just("18446744073709551616")]
            .prop_map(|text| Node::NumText(text.to_string())),
        3 => "[a-z]{0,9}".prop_map(Node::Str),
        2 => any::<String>().prop_map(Node::Str),
        1 => ("[a-z\u{e9}]{1,9}", 100_usize..300).prop_map(|(text, n)| Node::Str(text.repeat(n))),
        // Long enough to be compressed.
        1 => ("[a-z]{1,9}", 100_usize..300).prop_map(|(text, n)| Node::Str(text.repeat(n))),
        1 => "[\\x00-\\x7F\u{e9}\u{1F600}\"\\\\]{0,6}".prop_map(Node::Str),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-e]", 2 => "[a-z]{1,8}", 1 => any::<String>(), 1 => Just(String::new())]
}

fn members(value: impl Strategy<Value = Node>) -> impl Strategy<Value = Node> {
    prop::collection::vec((name(), value), 0..7).prop_map(|members| {
        let mut kept: Vec<(String, Node)> = Vec::new();
        for (name, value) in members {
            if !kept.iter().any(|(known, _)| *known == name) {
                kept.push((name, value));
            }
        }
        Node::Object(kept)
    })
}

/// Lists of one kind, with gaps or without: what columns are made of.
fn column() -> impl Strategy<Value = Vec<Node>> {
    let one = prop_oneof![
        scalar().prop_map(|node| vec![node]),
        prop::collection::vec(scalar(), 2..5),
        prop::collection::vec("[a-c]{3}".prop_map(Node::Str), 1..4),
        prop::collection::vec((0_i64..300).prop_map(Node::Int), 30),
        prop::collection::vec((1_i64 << 40..(1 << 40) + 99).prop_map(Node::Int), 30),
        prop::collection::vec(
            (-999_i64..999).prop_map(|m| Node::Float((m as f64 / 100.0).to_bits())),
            30
        ),
    ];
    (
        one,
        prop_oneof![0_usize..40, 0_usize..3, 14_usize..19],
        0_u64..5,
        any::<u64>(),
    )
        .prop_map(|(some, n, gaps, seed)| {
            let mut state = seed | 1;
            let mut next = move || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state >> 20
            };
            (0..n)
                .map(|_| {
                    if next() % 7 < gaps {
                        Node::Null
                    } else {
                        some[next() as usize % some.len()].clone()
                    }
                })
                .collect()
        })
}

/// Objects that are alike, some without some of their names.
fn rows(value: impl Strategy<Value = Node> + Clone) -> impl Strategy<Value = Node> {
    let columns = prop::collection::vec((any::<u64>(), prop::collection::vec(value, 1..4)), 1..5);
    (columns, 1_usize..40).prop_map(|(columns, n)| {
        let row = |i: usize| {
            let cells = columns
                .iter()
                .enumerate()
                .filter_map(|(j, (gaps, values))| {
                    let there = gaps % 3 != 0 || gaps >> (i % 64) & 1 == 0;
                    there.then(|| (format!("c{j}"), values[(i * 7 + j) % values.len()].clone()))
                });
            Node::Object(cells.collect())
        };
        Node::Array((0..n).map(row).collect())
    })
}

fn document() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![3 => scalar(), 1 => column().prop_map(Node::Array), 1 => Just(Node::Object(Vec::new()))];
    leaf.prop_recursive(5, 120, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..9).prop_map(Node::Array),
            members(inner.clone()),
            rows(inner.clone()),
            // Arrays of one length: tuples.
            (prop::collection::vec(inner, 2..4), 1_usize..20).prop_map(|(cells, n)| {
                let row = |i: usize| {
                    let mut row = cells.clone();
                    row.rotate_left(usize::from(i % 5 == 4));
                    Node::Array(row)
                };
                Node::Array((0..n).map(row).collect())
            }),
        ]
    })
}

/// All ways in which the same value is written.
fn options() -> Vec<Options> {
    let mut all = Vec::new();
    for layout in [Layout::Columns, Layout::Rows] {
        for checksum in [Checksum::On, Checksum::Off] {
            for aligned in [false, true] {
                all.push(Options {
                    layout,
                    checksum,
                    aligned,
                    ..Options::default()
                });
            }
        }
    }
    for pool in [false, true] {
        all.push(Options {
            pool,
            compress_strings: Some(512),
            ..Options::default()
        });
    }
    all.push(Options {
        canonical: true,
        ..Options::default()
    });
    all
}

/// Reads a document in all ways, which must be those of `node`.
fn check(node: &Node, document: &[u8]) {
    let view = View::open(document).unwrap();
    view.validate().unwrap();
    assert_eq!(*node, Node::of(&view.root().unwrap()));
    let json = JsonOptions {
        bytes_as_base64: true,
        nan: tare::blit::NonFinite::Literal,
        ..JsonOptions::default()
    };
    let lexical = view
        .to_json(&JsonOptions {
            order: KeyOrder::Lexical,
            ..json
        })
        .unwrap();
    let sorted = node.sorted().encode(&Options::default());
    assert_eq!(
        View::open(&sorted).unwrap().to_json(&json).unwrap(),
        lexical
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_goes_in_comes_out_in_every_layout(node in document()) {
        for options in options() {
            check(&node, &node.encode(&options));
        }
    }

    #[test]
    fn every_source_gives_the_same_bytes(node in document()) {
        for options in [Options::default(), Options { canonical: true, ..Options::default() }] {
            let document = node.encode(&options);
            if let Some(text) = node.text() {
                prop_assert_eq!(&document, &from_json(text.as_bytes(), &options).unwrap());
            }
            let view = View::open(&document).unwrap();
            // Walked over, whatever layout it had before.
            for other in self::options() {
                let other = node.encode(&other);
                let edit = Edit::new(View::open(&other).unwrap());
                prop_assert_eq!(&document, &edit.to_blit(&options).unwrap());
            }
            // As a tree.
            let mut edit = Edit::new(view);
            edit.set("", Tree::from_view(&view).unwrap()).unwrap();
            prop_assert_eq!(&document, &edit.to_blit(&options).unwrap());
        }
    }

    #[test]
    fn lookups_find_what_a_walk_finds(node in document()) {
        let mut all = Vec::new();
        node.pointers("", &mut all);
        for options in [Options::default(), Options { layout: Layout::Rows, ..Options::default() }] {
            let document = node.encode(&options);
            let view = View::open(&document).unwrap();
            for (pointer, expected) in all.iter().take(300) {
                let found = view.pointer(pointer).unwrap().unwrap();
                prop_assert_eq!(expected, &Node::of(&found), "{}", pointer);
                if let Value::Object(object) = found {
                    prop_assert!(object.get("not there").unwrap().is_none());
                    prop_assert_eq!(object.iter().count(), object.count().unwrap());
                }
                let missing = format!("{pointer}/99999");
                prop_assert!(view.pointer(&missing).unwrap().is_none());
            }
        }
    }

    #[test]
    fn a_patch_is_what_the_overlay_gives(node in document(), with in scalar(), which in any::<prop::sample::Index>()) {
        let mut all = Vec::new();
        node.pointers("", &mut all);
        let (pointer, old) = which.get(&all);
        let scalar = with.encode(&Options::default());
        let scalar = View::open(&scalar).unwrap();
        let value = scalar.root().unwrap();
        for options in options() {
            let document = node.encode(&options);
            let mut patched = document.clone();
            match patch(&mut patched, pointer, &value) {
                Ok(()) => {
                    let view = View::open(&document).unwrap();
                    let mut edit = Edit::new(view);
                    edit.set(pointer, Tree::of(&scalar, &value).unwrap()).unwrap();
                    let plain = Options::default();
                    let expected = edit.to_blit(&plain).unwrap();
                    View::open(&patched).unwrap().validate().unwrap();
                    let again = Edit::new(View::open(&patched).unwrap()).to_blit(&plain).unwrap();
                    prop_assert_eq!(expected, again, "{} of {:?} to {:?}", pointer, old, with);
                }
                Err(error) => {
                    prop_assert_eq!(ErrorKind::NotPatchable, error.kind());
                    prop_assert_eq!(document, patched);
                }
            }
        }
    }

    #[test]
    fn changes_are_those_of_a_tree(
        node in document(),
        steps in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..4, document()), 1..8),
    ) {
        let base = node.encode(&Options::default());
        let mut edit = Edit::new(View::open(&base).unwrap());
        let mut model = node;
        for (which, what, with) in steps {
            let mut all = Vec::new();
            model.pointers("", &mut all);
            let pointer = which.get(&all).0.clone();
            let with_bytes = with.encode(&Options::default());
            let tree = Tree::from_view(&View::open(&with_bytes).unwrap()).unwrap();
            let done = match what {
                0 => edit.delete(&pointer),
                1 => edit.insert(&pointer, tree),
                _ => edit.set(&pointer, tree),
            };
            let expected = change(&mut model, &pointer, what, with);
            prop_assert_eq!(expected, done.is_ok(), "{}", pointer);
        }
        let document = edit.to_blit(&Options::default()).unwrap();
        check(&model, &document);
        prop_assert_eq!(&model, &now(&edit.get("").unwrap().unwrap()));
    }
}

fn now(current: &Current<'_>) -> Node {
    match current {
        Current::Value(value) => Node::of(value),
        Current::Array(array) => {
            Node::Array(array.iter().map(|item| now(&item.unwrap())).collect())
        }
        Current::Object(object) => {
            let all = object.entries().unwrap();
            Node::Object(
                all.iter()
                    .map(|(name, value)| (name.to_string(), now(value)))
                    .collect(),
            )
        }
    }
}

/// The same change of a tree; false if there is nothing to change.
fn change(model: &mut Node, pointer: &str, what: u8, with: Node) -> bool {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        if what > 0 {
            *model = with;
        }
        return what > 0;
    };
    let mut at = model;
    for step in parent.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        at = match at {
            Node::Array(items) => &mut items[step.parse::<usize>().unwrap()],
            Node::Object(members) => {
                &mut members
                    .iter_mut()
                    .find(|(name, _)| *name == step)
                    .unwrap()
                    .1
            }
            _ => return false,
        };
    }
    let last = last.replace("~1", "/").replace("~0", "~");
    match at {
        Node::Array(items) => {
            let i: usize = last.parse().unwrap();
            match what {
                0 => drop(items.remove(i)),
                1 => items.insert(i, with),
                _ => items[i] = with,
            }
        }
        Node::Object(members) => {
            let i = members.iter().position(|(name, _)| *name == last).unwrap();
            if what == 0 {
                members.remove(i);
            } else {
                members[i].1 = with;
            }
        }
        _ => return false,
    }
    true
}

/// Where the layout changes: implied lengths, ranks of gaps, codes, segments.
#[test]
fn lists_of_every_length_that_matters_come_back() {
    let make: [fn(i64) -> Node; 10] = [
        |i| Node::Int(i * 3),
        |i| if i % 7 == 3 { Node::Null } else { Node::Int(i) },
        |i| Node::Str("x".repeat(i as usize % 5)),
        |i| Node::Str(["one", "two", "three"][i as usize % 3].to_string()),
        |i| {
            if i % 2 == 0 {
                Node::Bool(i % 3 == 0)
            } else {
                Node::Null
            }
        },
        |i| Node::Float((i as f64 / 8.0 + 0.125).to_bits()),
        |i| Node::Array((0..i % 3).map(Node::Int).collect()),
        |i| {
            let mut row = vec![("id".to_string(), Node::Int(i))];
            if i % 4 != 1 {
                row.push(("t".to_string(), Node::Str(format!("t{}", i % 50))));
            }
            Node::Object(row)
        },
        |i| Node::Array(vec![Node::Int(i), Node::Str(i.to_string())]),
        |i| {
            if i % 3 == 0 {
                Node::Int(i)
            } else {
                Node::Str(i.to_string())
            }
        },
    ];
    for n in [
        0, 1, 2, 7, 8, 15, 16, 17, 33, 511, 512, 513, 1024, 1025, 4097,
    ] {
        for make in make {
            let node = Node::Object(vec![(
                "list".to_string(),
                Node::Array((0..n).map(make).collect()),
            )]);
            for options in options() {
                check(&node, &node.encode(&options));
            }
        }
    }
    for n in [65_535, 65_536, 65_537, 131_072, 131_073] {
        for make in make {
            let root = Node::Array((0..n).map(make).collect());
            let document = root.encode(&Options::default());
            let view = View::open(&document).unwrap();
            view.validate().unwrap();
            let Value::Array(array) = view.root().unwrap() else {
                panic!("no array");
            };
            let packed = matches!(make(0), Node::Int(_) | Node::Float(_))
                && !matches!(make(3), Node::Null)
                && !matches!(make(1), Node::Str(_));
            assert_eq!(
                n > 65_536 && !packed,
                array.kind() == "SEGMENTED",
                "{n} {}",
                array.kind()
            );
            let (Node::Array(expected), Node::Array(found)) =
                (&root, Node::of(&view.root().unwrap()))
            else {
                panic!("no array");
            };
            let wrong = (0..expected.len()).find(|&i| found.get(i) != expected.get(i));
            assert_eq!(
                (None, expected.len()),
                (wrong, found.len()),
                "{n} of {:?}",
                make(3)
            );
            // The root is written while it comes, and inside another it is not: the list is the same.
            let text = root.text().unwrap();
            assert_eq!(
                document,
                from_json(text.as_bytes(), &Options::default()).unwrap()
            );
            assert_eq!(
                document,
                Edit::new(view).to_blit(&Options::default()).unwrap()
            );
        }
    }
}

#[test]
fn bytes_and_names_of_any_kind_come_back() {
    let many: Vec<(String, Node)> = (0..5000)
        .map(|i| (format!("name {i}"), Node::Int(i)))
        .collect();
    for node in [
        Node::Bytes(vec![0, 255, 10]),
        Node::Array(vec![Node::Bytes(Vec::new()), Node::Bytes(vec![1; 300])]),
        Node::Object(many),
        Node::Object(vec![
            ("\u{0}\"\\\n".to_string(), Node::Null),
            ("\u{10FFFF}".to_string(), Node::Bytes(vec![7])),
        ]),
    ] {
        for options in options() {
            check(&node, &node.encode(&options));
        }
    }
}
