//! Which codecs the blocks of a column have: in files of the package fst, and in those written here.

use crate::common;

use std::collections::BTreeSet;

use tare::fst::{self, Column, ColumnKind, Data, Table, TextEncoding, Texts, WriteOptions};

/// The type of a column as the file has it, and a codec: -1 for a plain run, 100 and the codec for
/// a run of another; two of 1,000 for the sizes and the text of strings.
type Seen = BTreeSet<(u16, i32)>;

fn int(bytes: &[u8], at: usize, size: usize) -> usize {
    let mut word = [0; 8];
    word[..size].copy_from_slice(&bytes[at..at + size]);
    u64::from_le_bytes(word) as usize
}

/// Codecs of a column of strings, and its bytes.
fn strings(file: &[u8], at: usize, rows: usize, seen: &mut Vec<i32>) -> usize {
    let compressed = int(file, at, 4) & 1 == 1;
    let blocks = rows.div_ceil(int(file, at + 4, 4));
    let (mut place, mut end) = (at + 8, at);
    for _ in 0..blocks {
        end = at + int(file, place, 8);
        if compressed {
            seen.push((int(file, place + 8, 2) * 1000 + int(file, place + 10, 2)) as i32);
        } else {
            seen.push(-1);
        }
        place += if compressed { 16 } else { 8 };
    }
    end
}

fn numbers(file: &[u8], at: usize, rows: usize) -> Vec<i32> {
    let annotation = int(file, at, 4);
    let at = at
        + 4
        + if annotation >> 31 == 1 {
            annotation & 0x7fff_ffff
        } else {
            0
        };
    let (blocks, per) = (int(file, at, 4), int(file, at + 4, 4));
    match (blocks, per) {
        (0, 0) => vec![-1],
        (0, codec) => vec![100 + codec as i32],
        (_, per) => (0..rows.div_ceil(per))
            .map(|block| (int(file, at + 8 + 8 * block, 8) >> 48) as i32)
            .collect(),
    }
}

/// What the columns of a file have.
fn codecs(file: &[u8], seen: &mut Seen) {
    let (count, set) = (int(file, 28, 4), int(file, 32, 8));
    let rows = int(file, set + 64, 8);
    let kinds = |at: usize| int(file, set + 80 + 2 * count + 2 * at, 2) as u16;
    let names = set + 80 + 8 * count + 24;
    let index = if count == 0 {
        names
    } else {
        strings(file, names, count, &mut Vec::new())
    };
    let chunk = int(file, index + 32, 8);
    for column in 0..count {
        if rows == 0 {
            continue;
        }
        let at = int(file, chunk + 24 + 8 * column, 8);
        let mut found = Vec::new();
        match kinds(column) {
            6 => {
                strings(file, at, rows, &mut found);
            }
            7 => {
                let levels = int(file, at + 4, 4);
                let mut texts = Vec::new();
                if levels > 0 {
                    strings(file, at + 16, levels, &mut texts);
                }
                seen.extend(texts.into_iter().map(|code| (6, code)));
                found = numbers(file, int(file, at + 8, 8), rows);
            }
            _ => found = numbers(file, at, rows),
        }
        seen.extend(found.into_iter().map(|code| (kinds(column), code)));
    }
}

fn table(rows: usize) -> Table {
    let noise = common::noise(5, rows * 8);
    let word = |row: usize| int(&noise, row * 8, 8) as u64;
    let ints = |most: u64| {
        (0..rows)
            .map(|row| (word(row) % most) as i32)
            .collect::<Vec<_>>()
    };
    let mut texts = Texts::new(TextEncoding::Utf8);
    for row in 0..rows {
        let text = format!("text {}", word(row) % 100);
        texts.push((row % 9 != 0).then_some(text.as_bytes()));
    }
    let mut columns = vec![Column::new("text", Data::Text(texts))];
    for most in [2, 100, 1000, 30_000, 40_000] {
        let mut levels = Texts::new(TextEncoding::Utf8);
        (0..most).for_each(|level: u64| levels.push(Some(level.to_string().as_bytes())));
        let codes = ints(most).into_iter().map(|code| code + 1).collect();
        columns.push(Column::new("factor", Data::Factor { codes, levels }));
        columns.push(Column::new("int", Data::Int(ints(most))));
        let doubles = ints(most).into_iter().map(f64::from).collect();
        columns.push(Column::new("double", Data::Double(doubles)));
        let longs = ints(most).into_iter().map(i64::from).collect();
        columns.push(Column::new("long", Data::Int64(longs)));
        let mut days = Column::new("day", Data::Int(ints(most)));
        days.kind = ColumnKind::DateInt;
        columns.push(days);
    }
    let bits = (0..rows).map(|row| f64::from_bits(word(row))).collect();
    columns.push(Column::new("noise", Data::Double(bits)));
    columns.push(Column::new(
        "noise",
        Data::Int64((0..rows).map(|row| word(row) as i64).collect()),
    ));
    columns.push(Column::new(
        "noise",
        Data::Int((0..rows).map(|row| word(row) as i32).collect()),
    ));
    columns.push(Column::new(
        "noise",
        Data::Raw((0..rows).map(|row| word(row) as u8).collect()),
    ));
    columns.push(Column::new("same", Data::Int(vec![7; rows])));
    columns.push(Column::new("logical", Data::Logical(ints(2))));
    columns.push(Column::new("true", Data::Logical(vec![1; rows])));
    Table {
        columns,
        rows: rows as u64,
        keys: vec![],
    }
}

#[test]
fn no_codec_is_written_that_files_of_fst_do_not_have() {
    let Some(folder) = common::shared("fixtures/fst") else {
        return;
    };
    let mut known = Seen::new();
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "fst") {
            codecs(&std::fs::read(path).unwrap(), &mut known);
            files += 1;
        }
    }
    assert_eq!((17, 24), (files, known.len()), "{known:?}");
    // 40,000 levels are in a file of LZ4 alone; their codes are a column of integers.
    assert!(known.contains(&(7, 2)) && known.contains(&(8, 4)));
    known.extend([(7, 4), (7, -1)]);
    // Text of no letters at all has no codec.
    known.extend([(6, 2000), (6, 4000)]);
    // Without compression, too, fst packs codes as shorts; no file has more than 127 levels there.
    let mut written = Seen::new();
    for rows in [1, 12, 5000, 40_000] {
        for compress in [0, 1, 30, 50, 51, 75] {
            let options = WriteOptions {
                compress,
                ..WriteOptions::default()
            };
            codecs(&fst::to_vec(&table(rows), &options).unwrap(), &mut written);
        }
    }
    let new: Vec<_> = written.difference(&known).collect();
    assert!(new.is_empty(), "{new:?}");
    assert!(written.len() >= 20, "{written:?}");
}
