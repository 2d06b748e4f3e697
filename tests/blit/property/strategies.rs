//! Documents of any kind, of shapes that the layout is made for.

use proptest::prelude::*;

use super::node::Node;

pub fn scalar() -> impl Strategy<Value = Node> {
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

pub fn document() -> impl Strategy<Value = Node> {
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
