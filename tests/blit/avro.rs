//! Plain records of Avro as columns: what was encoded, or nothing.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::Array;
use proptest::prelude::*;
use tare::avro::{read_blocks, Field, Kind};

const KINDS: [Kind; 7] = [
    Kind::Boolean,
    Kind::Int,
    Kind::Long,
    Kind::Float,
    Kind::Double,
    Kind::Text,
    Kind::Bytes,
];

/// A whole number as the specification's example does it: zigzag, seven bits a byte, the low ones first.
fn number(value: i64) -> Vec<u8> {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    let mut bytes = Vec::new();
    while rest > 0x7f {
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

#[test]
fn numbers_of_the_specification_are_read() {
    // https://avro.apache.org/docs/1.12.0/specification/#primitive-types
    for (bytes, value) in [
        (&[0x00][..], 0),
        (&[0x01], -1),
        (&[0x02], 1),
        (&[0x03], -2),
        (&[0x04], 2),
        (&[0x7f], -64),
        (&[0x80, 0x01], 64),
    ] {
        let columns = read_blocks(&[(bytes, 1)], &[Field::new(Kind::Int)]).unwrap();
        assert_eq!(value, columns[0].as_primitive::<Int32Type>().value(0));
    }
}

#[test]
fn blocks_without_rows_are_columns_without_values() {
    let columns = read_blocks(&[(&[], 0)], &KINDS.map(Field::new)).unwrap();
    assert!(columns.iter().all(arrow_array::Array::is_empty));
    assert!(read_blocks(&[(&[], 3)], &[]).is_none());
}

type Row = (Option<i64>, String, Option<f64>);

proptest! {
    #[test]
    fn rows_come_back(blocks in proptest::collection::vec(proptest::collection::vec(any::<Row>(), 0..20), 1..4)) {
        let encoded: Vec<(Vec<u8>, usize)> = blocks.iter().map(|rows| {
            let bytes = rows.iter().flat_map(|(long, text, double)| {
                let long = long.map_or(vec![0], |value| [vec![2], number(value)].concat());
                let len = i64::try_from(text.len()).unwrap();
                let double = double.map_or(vec![2], |value| [vec![0], value.to_le_bytes().to_vec()].concat());
                [long, number(len), text.clone().into_bytes(), double].concat()
            });
            (bytes.collect(), rows.len())
        }).collect();
        let given: Vec<(&[u8], usize)> = encoded.iter().map(|(bytes, rows)| (&bytes[..], *rows)).collect();
        let fields = [
            Field::new(Kind::Long).nullable(true),
            Field::new(Kind::Text),
            Field::new(Kind::Double).nullable(false),
        ];
        let columns = read_blocks(&given, &fields).unwrap();
        let rows: Vec<&Row> = blocks.iter().flatten().collect();
        let longs = columns[0].as_primitive::<Int64Type>().iter();
        prop_assert!(longs.eq(rows.iter().map(|row| row.0)));
        let texts = columns[1].as_string::<i32>().iter();
        prop_assert!(texts.eq(rows.iter().map(|row| Some(&row.1[..]))));
        let doubles = columns[2].as_primitive::<Float64Type>().iter();
        let bits = |value: Option<f64>| value.map(f64::to_bits);
        prop_assert!(doubles.map(bits).eq(rows.iter().map(|row| bits(row.2))));

        // A byte more or less, or a row more, is nothing that is read.
        let (bytes, count) = given[0];
        prop_assert!(read_blocks(&[(bytes, count + 1)], &fields).is_none());
        prop_assert!(read_blocks(&[(&[bytes, &[0]].concat(), count)], &fields).is_none());
        if let Some((_, less)) = bytes.split_last() {
            prop_assert!(read_blocks(&[(less, count)], &fields).is_none());
        }
    }

    #[test]
    fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..64), rows in any::<usize>(), few in 0..20_usize) {
        for kind in KINDS {
            for field in [Field::new(kind), Field::new(kind).nullable(true)] {
                for rows in [rows, few] {
                    if let Some(columns) = read_blocks(&[(&bytes, rows)], &[field]) {
                        prop_assert_eq!(rows, columns[0].len());
                    }
                }
            }
        }
    }
}
