//! Tables that are written, read back, and held against the headers of fst's own files.

use crate::common;

use common::{noise, shared};
use std::io::{Cursor, Seek, SeekFrom, Write};
use tare::fst::{
    self, Column, ColumnKind, Data, Table, TextEncoding, Texts, TimeScale, WriteOptions,
};
use tare::ErrorKind;

const NA: i32 = i32::MIN;

fn options(compress: u8) -> WriteOptions {
    WriteOptions {
        compress,
        threads: Some(2),
        ..WriteOptions::default()
    }
}

fn again(table: &Table, options: &WriteOptions) -> Table {
    let file = fst::to_vec(table, options).unwrap();
    fst::open(file).unwrap().read(None, None).unwrap()
}

fn texts(rows: usize, of: impl Fn(usize) -> Option<String>) -> Texts {
    let mut texts = Texts::new(TextEncoding::Utf8);
    (0..rows).for_each(|row| texts.push(of(row).as_deref().map(str::as_bytes)));
    texts
}

/// Every kind of column, values at random, every tenth missing.
fn table(rows: usize) -> Table {
    let random: Vec<u64> = noise(11, rows * 8)
        .chunks_exact(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let int = |most: u64| -> Vec<i32> {
        let of = |value: &u64| {
            if value % 10 == 0 {
                NA
            } else {
                (value / 10 % most) as i32
            }
        };
        random.iter().map(of).collect()
    };
    let double = |most: u64| -> Vec<f64> {
        let of = |value: &u64| match value % 10 {
            0 => f64::from_bits(0x7FF0_0000_0000_07A2),
            1 => f64::NAN,
            _ => (value / 10 % most) as f64 / 4.0,
        };
        random.iter().map(of).collect()
    };
    let code = |levels: u64| -> Vec<i32> {
        int(levels)
            .into_iter()
            .map(|code| if code == NA { NA } else { code + 1 })
            .collect()
    };
    let mut columns = Vec::new();
    for kind in ColumnKind::ALL {
        let levels = |count: usize| texts(count, |level| Some(format!("level {level}")));
        let data = match kind {
            ColumnKind::Character => Data::Text(texts(rows, |row| match random[row] % 10 {
                0 => None,
                1 => Some(String::new()),
                2 => Some("caf\u{e9} \u{4e2d}".to_string()),
                _ => Some(format!("text {}", random[row] % 1000)),
            })),
            ColumnKind::Factor => Data::Factor {
                codes: code(100),
                levels: levels(100),
            },
            ColumnKind::Ordered => Data::Factor {
                codes: code(3000),
                levels: levels(3000),
            },
            ColumnKind::Integer => Data::Int(int(1 << 31)),
            ColumnKind::PosixctInt => Data::Int(int(128)),
            ColumnKind::DifftimeInt => Data::Int(int(129)),
            ColumnKind::DateInt => Data::Int(int(32_769)),
            ColumnKind::ItimeInt => Data::Int(int(86_400)),
            ColumnKind::Double => {
                Data::Double(random.iter().map(|bits| f64::from_bits(*bits)).collect())
            }
            ColumnKind::Logical => Data::Logical(int(2)),
            ColumnKind::Integer64 => Data::Int64(
                random
                    .iter()
                    .map(|bits| i64::from_le_bytes(bits.to_le_bytes()))
                    .collect(),
            ),
            ColumnKind::Nanotime => {
                Data::Int64((0..rows as i64).map(|row| row * 1_000_000_007).collect())
            }
            ColumnKind::Raw => Data::Raw(random.iter().map(|bits| *bits as u8 & 15).collect()),
            _ => Data::Double(double(1000)),
        };
        let mut column = Column::new(format!("{kind:?}"), data);
        column.kind = kind;
        column.scale = match kind {
            ColumnKind::Nanotime => TimeScale::Nanoseconds,
            ColumnKind::Difftime => TimeScale::Hours,
            ColumnKind::DifftimeInt => TimeScale::Days,
            ColumnKind::ItimeInt | ColumnKind::Itime => TimeScale::Seconds,
            _ => TimeScale::None,
        };
        column.zone = kind.has_zone().then(|| "Europe/Berlin".to_string());
        columns.push(column);
    }
    Table {
        columns,
        rows: rows as u64,
        keys: vec![],
    }
}

#[test]
fn every_kind_comes_back_at_every_edge_of_a_block() {
    let edges = [
        0, 1, 2, 7, 8, 9, 31, 32, 33, 2046, 2047, 2048, 2049, 4095, 4096, 4097, 16_383, 16_384,
        16_385,
    ];
    for rows in edges {
        let table = table(rows);
        for compress in [0, 1, 50, 51] {
            assert!(
                table == again(&table, &options(compress)),
                "{rows} rows, compress {compress}"
            );
        }
    }
    let table = table(2100);
    assert!(table == again(&table, &options(100)));
}

#[test]
fn threads_change_nothing() {
    let table = table(70_000);
    for compress in [0, 50, 55] {
        let mut options = options(compress);
        let files: Vec<_> = [1, 2, 5]
            .into_iter()
            .map(|threads| {
                options.threads = Some(threads);
                fst::to_vec(&table, &options).unwrap()
            })
            .collect();
        assert!(files[0] == files[1] && files[0] == files[2], "{compress}");
        let read = fst::ReadOptions {
            threads: Some(1),
            ..fst::ReadOptions::default()
        };
        let one = fst::open_with(files[0].as_slice(), &read)
            .unwrap()
            .read(None, None)
            .unwrap();
        assert!(table == one);
        assert!(
            table
                == fst::open(files[0].as_slice())
                    .unwrap()
                    .read(None, None)
                    .unwrap()
        );
    }
}

#[test]
fn parts_are_slices_of_what_was_written() {
    let table = table(9000);
    for compress in [0, 50, 60] {
        let file = fst::to_vec(&table, &options(compress)).unwrap();
        let reader = fst::open(file).unwrap();
        for range in [
            0..1,
            2046..2049,
            4095..4097,
            4096..8192,
            1..9000,
            8999..9000,
            5000..5000,
        ] {
            let part = reader.read(None, Some(range.clone())).unwrap();
            for (part, whole) in part.columns.iter().zip(&table.columns) {
                let (Data::Int(part), Data::Int(whole)) = (&part.data, &whole.data) else {
                    continue;
                };
                assert_eq!(
                    &whole[range.start as usize..range.end as usize],
                    part.as_slice()
                );
            }
            let Data::Text(found) = &part.columns[0].data else {
                panic!()
            };
            let Data::Text(whole) = &table.columns[0].data else {
                panic!()
            };
            for (at, row) in (range.start..range.end).enumerate() {
                assert_eq!(whole.get(row as usize), found.get(at), "row {row}");
            }
        }
    }
}

/// The headers of a file, with everything that depends on how blocks were compressed set to 0.
fn headers(bytes: &[u8]) -> Vec<u8> {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let columns = word(28) & 0xFFFF_FFFF;
    let names = word(32) + 80 + 8 * columns + 24;
    let index = names + word(names + 8);
    let data = word(index + 32);
    let mut head = bytes[..data + 24 + 8 * columns].to_vec();
    head[data..data + 8].fill(0);
    for position in 1..columns {
        let at = data + 24 + 8 * position;
        head[at..at + 8].fill(0);
    }
    head
}

#[test]
fn headers_are_those_of_fst_itself() {
    let Some(folder) = shared("fixtures/fst") else {
        return;
    };
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "fst") {
            continue;
        }
        let name = path.display().to_string();
        let bytes = std::fs::read(&path).unwrap();
        let table = fst::open(bytes.as_slice())
            .unwrap()
            .read(None, None)
            .unwrap();
        let compress = if name.contains(".c0.") { 0 } else { 50 };
        let ours = fst::to_vec(&table, &options(compress)).unwrap();
        assert!(headers(&bytes) == headers(&ours), "{name}");
        if compress == 0 {
            // Without compression there is one way to write a column.
            assert!(bytes == ours, "{name}");
        }
        let again = fst::open(ours).unwrap().read(None, None).unwrap();
        let latin1 = name.contains("latin1");
        assert!(latin1 || table == again, "{name}");
        if latin1 {
            let Data::Text(texts) = &again.columns[0].data else {
                panic!()
            };
            assert_eq!(Some("caf\u{e9}".as_bytes()), texts.get(0));
            assert_eq!(TextEncoding::Utf8, texts.encoding());
        }
        seen += 1;
    }
    assert_eq!(17, seen);
}

#[test]
fn odd_names_and_many_of_them() {
    let names = ["", "", "na me", "\u{e9}t\u{e9}", "\0", "a\"b"];
    let column = |name: &str| Column::new(name, Data::Int(vec![1, NA, -5]));
    let columns = names.into_iter().map(column).collect();
    let table = Table {
        columns,
        rows: 3,
        keys: vec![],
    };
    assert_eq!(table, again(&table, &options(50)));
    for count in [0, 2046, 2047, 2048, 5000] {
        let columns = (0..count)
            .map(|at| Column::new(format!("c{at}"), Data::Raw(vec![9])))
            .collect();
        let table = Table {
            columns,
            rows: 1,
            keys: vec![],
        };
        assert!(table == again(&table, &options(50)), "{count}");
    }
}

#[test]
fn levels_of_any_number() {
    for count in [0, 1, 127, 128, 2047, 2048, 32_767, 32_768, 40_000] {
        let levels = texts(count, |level| Some(format!("{level}")));
        let mut codes = vec![NA; 3];
        if count > 0 {
            codes.extend([1, count as i32, NA]);
        }
        let rows = codes.len() as u64;
        let columns = vec![Column::new("f", Data::Factor { codes, levels })];
        let table = Table {
            columns,
            rows,
            keys: vec![],
        };
        for compress in [0, 50, 51] {
            assert!(
                table == again(&table, &options(compress)),
                "{count} at {compress}"
            );
        }
    }
}

#[test]
fn keys_are_written_only_of_sorted_rows() {
    let na = f64::from_bits(0x7FF0_0000_0000_07A2);
    let columns = vec![
        Column::new("a", Data::Int(vec![NA, 1, 1, 2])),
        Column::new(
            "b",
            Data::Text(
                [None, Some("a"), Some("b"), Some("B")]
                    .into_iter()
                    .collect(),
            ),
        ),
        Column::new("c", Data::Double(vec![na, f64::NAN, -1.0, 0.5])),
    ];
    let table = Table {
        columns,
        rows: 4,
        keys: vec![],
    };
    for keys in [vec![0], vec![0, 1], vec![2], vec![2, 0, 1], vec![]] {
        let options = WriteOptions {
            keys: Some(keys.clone()),
            ..options(50)
        };
        let file = fst::to_vec(&table, &options).unwrap();
        assert_eq!(keys, fst::open(file).unwrap().keys());
    }
    for keys in [vec![1], vec![0, 0], vec![3]] {
        let options = WriteOptions {
            keys: Some(keys.clone()),
            ..options(50)
        };
        let error = fst::to_vec(&table, &options).unwrap_err();
        assert_eq!(ErrorKind::Usage, error.kind(), "{keys:?}");
    }
    let sorted = Table {
        keys: vec![0],
        ..table
    };
    assert_eq!(vec![0], again(&sorted, &options(50)).keys);
}

#[test]
fn what_is_no_table_is_refused() {
    let of = |column: Column| Table {
        columns: vec![column],
        rows: 2,
        keys: vec![],
    };
    let factor = |code| Data::Factor {
        codes: vec![1, code],
        levels: texts(2, |_| Some(String::new())),
    };
    let mut kind = Column::new("k", Data::Int(vec![1, 2]));
    kind.kind = ColumnKind::Double;
    let mut zone = Column::new("z", Data::Int(vec![1, 2]));
    zone.zone = Some("UTC".to_string());
    let tables = [
        of(Column::new("short", Data::Int(vec![1]))),
        of(Column::new("f", factor(0))),
        of(Column::new("f", factor(3))),
        of(Column::new("l", Data::Logical(vec![1, 2]))),
        of(kind),
        of(zone),
    ];
    for table in tables {
        let error = fst::to_vec(&table, &options(50)).unwrap_err();
        assert_eq!(ErrorKind::Usage, error.kind(), "{table:?}");
        assert_eq!(Some("fst"), error.format());
    }
    let table = of(Column::new("n", Data::Int(vec![1, 2])));
    let error = fst::to_vec(&table, &options(101)).unwrap_err();
    assert_eq!(ErrorKind::Usage, error.kind());
}

/// A disk that is full after some bytes.
struct Full(Cursor<Vec<u8>>, usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.get_ref().len() > self.1 {
            return Err(std::io::Error::other("no space left"));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for Full {
    fn seek(&mut self, place: SeekFrom) -> std::io::Result<u64> {
        self.0.seek(place)
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_no_valid_file() {
    let table = table(20_000);
    for most in [0, 1000, 50_000, 300_000] {
        let mut sink = Full(Cursor::new(Vec::new()), most);
        let error = fst::write(&table, &mut sink, &options(50)).unwrap_err();
        assert_eq!(ErrorKind::Io, error.kind());
        assert!(fst::open(sink.0.into_inner()).is_err());
    }
}

#[test]
fn a_file_may_begin_behind_other_bytes() {
    let table = table(100);
    let mut sink = Cursor::new(b"front".to_vec());
    sink.seek(SeekFrom::End(0)).unwrap();
    let written = fst::write(&table, &mut sink, &options(50)).unwrap();
    let all = sink.into_inner();
    assert_eq!(all.len() as u64, written + 5);
    assert!(fst::to_vec(&table, &options(50)).unwrap() == all[5..]);
}
