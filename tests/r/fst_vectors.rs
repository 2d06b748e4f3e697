//! Golden files of fst's format: written once, read for ever.

use std::path::{Path, PathBuf};
use tare::fst::{self, Column, ColumnKind, Data, Table, Texts, TimeScale, WriteOptions};

const NA: i32 = i32::MIN;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/fst")
}

fn texts(all: &[Option<&str>]) -> Texts {
    all.iter().copied().collect()
}

/// A column of each kind; row 5 is missing.
fn kinds() -> Table {
    let rows = 12;
    let int = |of: fn(i32) -> i32| -> Vec<i32> {
        (0..rows)
            .map(|row| if row == 5 { NA } else { of(row) })
            .collect()
    };
    let double = |of: fn(f64) -> f64| -> Vec<f64> {
        let na = f64::from_bits(0x7FF0_0000_0000_07A2);
        (0..rows)
            .map(|row| if row == 5 { na } else { of(f64::from(row)) })
            .collect()
    };
    let long = |step: i64| -> Vec<i64> {
        (0..rows)
            .map(|row| {
                if row == 5 {
                    i64::MIN
                } else {
                    i64::from(row) * step
                }
            })
            .collect()
    };
    let words = [
        "a",
        "",
        "caf\u{e9}",
        "\u{4e2d}",
        "zz",
        "?",
        "b",
        "b",
        "b",
        "c",
        "NA",
        "d",
    ];
    let words: Vec<_> = words
        .into_iter()
        .enumerate()
        .map(|(row, word)| (row != 5).then_some(word))
        .collect();
    let levels = texts(&[Some("hi"), Some("lo"), Some("mid")]);
    let mut columns = Vec::new();
    for kind in ColumnKind::ALL {
        let data = match kind {
            ColumnKind::Character => Data::Text(texts(&words)),
            ColumnKind::Factor | ColumnKind::Ordered => Data::Factor {
                codes: int(|row| row % 3 + 1),
                levels: levels.clone(),
            },
            ColumnKind::Integer => Data::Int(int(|row| row * 100_000_000 - 7)),
            ColumnKind::PosixctInt => Data::Int(int(|row| row + 1_357_016_400)),
            ColumnKind::DifftimeInt | ColumnKind::ItimeInt => Data::Int(int(|row| row * 11)),
            ColumnKind::DateInt => Data::Int(int(|row| row + 15_706)),
            ColumnKind::Date => Data::Double(double(|row| row + 15_706.0)),
            ColumnKind::Posixct => Data::Double(double(|row| row * 0.25 + 1_357_016_400.0)),
            ColumnKind::Difftime | ColumnKind::Itime => Data::Double(double(|row| row * 1.5)),
            ColumnKind::Logical => Data::Logical(int(|row| row % 2)),
            ColumnKind::Integer64 => Data::Int64(long(1 << 40)),
            ColumnKind::Nanotime => Data::Int64(long(1_000_000_007)),
            ColumnKind::Raw => Data::Raw((0..rows as u8).map(|row| row.wrapping_mul(23)).collect()),
            _ => Data::Double(double(|row| row / 3.0)),
        };
        let mut column = Column::new(format!("{kind:?}"), data);
        column.kind = kind;
        column.scale = match kind {
            ColumnKind::Nanotime => TimeScale::Nanoseconds,
            ColumnKind::Difftime => TimeScale::Hours,
            ColumnKind::DifftimeInt | ColumnKind::ItimeInt | ColumnKind::Itime => {
                TimeScale::Seconds
            }
            _ => TimeScale::None,
        };
        column.zone = kind.has_zone().then(|| "America/New_York".to_string());
        columns.push(column);
    }
    Table {
        columns,
        rows: rows as u64,
        keys: vec![],
    }
}

fn table(columns: Vec<Column>, keys: &[usize]) -> Table {
    let rows = columns.first().map_or(0, |column| column.data.len() as u64);
    Table {
        columns,
        rows,
        keys: keys.to_vec(),
    }
}

fn cases() -> Vec<(&'static str, u8, Table)> {
    let factor = |levels: usize| {
        let levels: Vec<_> = (0..levels).map(|level| format!("l{level}")).collect();
        let codes = (0..5).map(|row| {
            if levels.is_empty() {
                NA
            } else {
                row % levels.len() as i32 + 1
            }
        });
        let codes = codes.collect();
        let levels = levels.iter().map(|level| Some(level.as_str())).collect();
        Data::Factor { codes, levels }
    };
    let word = |row: usize| (row % 7 != 3).then(|| format!("row {row}"));
    let many: Vec<_> = (0..2050).map(word).collect();
    vec![
        ("kinds.c0.fst", 0, kinds()),
        ("kinds.c50.fst", 50, kinds()),
        ("kinds.c70.fst", 70, kinds()),
        (
            "none.c50.fst",
            50,
            table(
                vec![
                    Column::new("a", Data::Int(vec![])),
                    Column::new("b", Data::Text(texts(&[]))),
                ],
                &[],
            ),
        ),
        (
            "keyed.c50.fst",
            50,
            table(
                vec![
                    Column::new(
                        "k1",
                        Data::Text(texts(&[None, Some("a"), Some("a"), Some("b")])),
                    ),
                    Column::new("k2", Data::Int(vec![9, NA, 1, 0])),
                    Column::new("v", Data::Double(vec![0.5, 1.5, 2.5, 3.5])),
                ],
                &[0, 1],
            ),
        ),
        (
            "names.c0.fst",
            0,
            table(
                ["", "x", "x", "na me", "\u{e9}t\u{e9}"]
                    .map(|name| Column::new(name, Data::Raw(vec![1, 2])))
                    .to_vec(),
                &[],
            ),
        ),
        (
            "blocks.c50.fst",
            50,
            table(
                vec![
                    Column::new("t", Data::Text(many.iter().map(Option::as_deref).collect())),
                    Column::new(
                        "d",
                        Data::Double((0..2050).map(|row| f64::from(row) / 8.0).collect()),
                    ),
                    Column::new("l", Data::Logical((0..2050).map(|row| row % 2).collect())),
                ],
                &[],
            ),
        ),
        (
            "factors.c50.fst",
            50,
            table(
                [0, 1, 200]
                    .map(|levels| Column::new(format!("f{levels}"), factor(levels)))
                    .to_vec(),
                &[],
            ),
        ),
    ]
}

#[test]
fn golden_tables_read_as_they_were_written() {
    for (name, compress, table) in cases() {
        let path = folder().join(name);
        let options = WriteOptions {
            compress,
            ..WriteOptions::default()
        };
        if !path.exists() {
            std::fs::write(&path, fst::to_vec(&table, &options).unwrap()).unwrap();
        }
        let bytes = std::fs::read(&path).unwrap();
        let found = fst::open(bytes.as_slice())
            .unwrap()
            .read(None, None)
            .unwrap();
        assert_eq!(table, found, "{name}");
        if compress == 0 {
            assert!(bytes == fst::to_vec(&table, &options).unwrap(), "{name}");
        }
    }
}

#[test]
fn golden_blobs_read_as_they_were_made() {
    let plain = b"weighed, and found wanting; ".repeat(20);
    for (name, plain) in [("blob.lz4.bin", plain.as_slice()), ("blob.plain.bin", &[])] {
        let blob = std::fs::read(folder().join(name)).unwrap();
        let found = fst::blob::decompress(&blob, &fst::ReadOptions::default()).unwrap();
        assert!(plain == found, "{name}");
    }
}
