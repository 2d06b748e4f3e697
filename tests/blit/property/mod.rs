//! Arbitrary documents: whatever goes in comes out, from every source, in every layout.

mod node;
mod strategies;

use proptest::prelude::*;
use tare::blit::{
    from_json, patch, Checksum, Current, Edit, JsonOptions, KeyOrder, Layout, Options, Tree, Value,
    View,
};
use tare::ErrorKind;

use node::Node;
use strategies::{document, scalar};

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
