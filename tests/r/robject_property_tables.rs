//! Random data as dput text, as tables of fst, as variables of `RData`: the same when read again.

use crate::r_dump;
use crate::r_tree;

use proptest::prelude::*;
use tare::fst::{self, Column, ColumnKind, Data, Table, TextEncoding, Texts, TimeScale};
use tare::robject::{
    dput, frame, read_rdata, write_rdata, Encoding, Kind, RObject, ReadOptions, WriteOptions,
    NA_REAL,
};

use r_dump::{dump, Loose};
use r_tree::{tree, Kinds};

fn settings(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(settings(600))]

    #[test]
    fn dput_text_makes_the_object_again(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let object = tree(&bytes, Kinds::Data);
        let (text, losses) = match dput::write(&object) {
            Ok(written) => written,
            Err(error) => panic!("{error}"),
        };
        let again = dput::parse(&text, &ReadOptions::default());
        let again = again.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let real = losses.iter().any(|loss| !loss.kind.is_information());
        if !real && !odd(&object) {
            prop_assert!(object.identical(&again).unwrap(), "{text}");
        }
        // What was lost once is lost: nothing more goes the second time.
        let (twice, _) = dput::write(&again).unwrap();
        prop_assert_eq!(&text, &twice);
    }

    #[test]
    fn dput_takes_anything_or_says_what_it_cannot(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let object = tree(&bytes, Kinds::All);
        // Without code there is more that it takes, and what is left out is told.
        let data = dput::write_data(&object);
        if let Ok((text, losses)) = &data {
            let again = dput::parse(text, &ReadOptions::default());
            let again = again.unwrap_or_else(|error| panic!("{error}\n{text}"));
            if losses.is_empty() && !odd(&object) {
                prop_assert!(object.identical(&again).unwrap(), "{}", text);
            }
        }
        if let Ok((text, losses)) = dput::write(&object) {
            prop_assert!(data.is_ok());
            let again = dput::parse(&text, &ReadOptions::default());
            let again = again.unwrap_or_else(|error| panic!("{error}\n{text}"));
            if losses.is_empty() && !odd(&object) {
                prop_assert!(object.identical(&again).unwrap(), "{text}");
            }
        }
    }
}

#[test]
fn a_shape_that_r_does_not_take_is_refused() {
    // Found by the property above: `structure(.., dim = c(1.5, 0))` was written, and not read.
    let bytes = [
        49, 0, 0, 0, 26, 8, 0, 0, 0, 50, 0, 236, 37, 2, 0, 24, 0, 0, 64, 0, 0, 0, 0, 129, 82, 0, 1,
        7, 29, 67, 0, 4, 82, 23, 0, 0, 0, 22, 0, 0, 22, 0, 0, 0, 16, 0, 100, 0, 0, 22,
    ];
    let error = dput::write_data(&tree(&bytes, Kinds::All)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("dim of other than whole numbers"),
        "{error}"
    );
}

/// Whether some value has names that are no text, which R's `structure()` makes text of.
fn odd(object: &RObject) -> bool {
    let arena = object.arena();
    let names = arena.ids().filter_map(|id| arena.attribute(id, "names"));
    names
        .into_iter()
        .any(|names| arena.kind(names) != Kind::Character)
}

const NAMES: [&str; 8] = ["x", "x", "", "a b", ".h", "\u{e9}\u{4e2d}", "if", "a\nb\\"];

proptest! {
    #![proptest_config(settings(150))]

    #[test]
    fn variables_come_back_in_order(
        parts in prop::collection::vec((0..8_usize, prop::collection::vec(any::<u8>(), 0..80)), 0..5),
        version in 2..4_i32,
        encoding in 0..4_usize,
    ) {
        let made = |(at, bytes): &(usize, Vec<u8>)| (NAMES[*at].to_string(), tree(bytes, Kinds::All));
        let objects: Vec<(String, RObject)> = parts.iter().map(made).collect();
        let encoding = [Encoding::Xdr, Encoding::Ascii, Encoding::AsciiHex, Encoding::Native][encoding];
        let options = WriteOptions {
            version: Some(version),
            encoding: Some(encoding),
            ..WriteOptions::default()
        };
        let mut file = Vec::new();
        write_rdata(&objects, &mut file, &options).unwrap();
        let again = read_rdata(&file, &ReadOptions::default()).unwrap();
        let names = |all: &[(String, RObject)]| all.iter().map(|one| one.0.clone()).collect::<Vec<_>>();
        prop_assert_eq!(names(&objects), names(&again));
        let loose = Loose {
            nan: matches!(encoding, Encoding::Ascii | Encoding::AsciiHex),
            decimal: encoding == Encoding::Ascii,
            expand: version == 2,
        };
        for ((_, one), (_, two)) in objects.iter().zip(&again) {
            prop_assert_eq!(dump(one, loose), dump(two, loose));
        }
    }
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, most: u64) -> u64 {
        self.roll() % most
    }

    /// How values of a column are spread: the most, and one missing in so many.
    fn spread(&mut self) -> (u64, u64) {
        let most = [1, 2, 100, 128, 129, 32_768, 32_769, 1 << 31][self.below(8) as usize];
        (most, [1, 2, 10, u64::MAX][self.below(4) as usize])
    }

    fn ints(&mut self, rows: usize) -> Vec<i32> {
        let ((most, missing), negative) = (self.spread(), self.below(4) == 0);
        let one = |dice: &mut Self| match dice.below(missing) {
            0 => i32::MIN,
            _ if negative => -(dice.below(most) as i32),
            _ => dice.below(most) as i32,
        };
        (0..rows).map(|_| one(self)).collect()
    }

    fn doubles(&mut self, rows: usize) -> Vec<f64> {
        let ((most, missing), whole) = (self.spread(), self.below(2) == 0);
        let one = |dice: &mut Self| match dice.below(missing) {
            0 => f64::from_bits(NA_REAL),
            _ if whole => f64::from(dice.below(most) as u32),
            _ => f64::from_bits(dice.roll()),
        };
        (0..rows).map(|_| one(self)).collect()
    }

    fn texts(&mut self, rows: usize) -> Texts {
        let encodings = [
            TextEncoding::Utf8,
            TextEncoding::Latin1,
            TextEncoding::Native,
        ];
        let encoding = encodings[self.below(3) as usize];
        let (most, missing) = self.spread();
        let mut texts = Texts::new(encoding);
        for _ in 0..rows {
            if self.below(missing) == 0 {
                texts.push(None);
                continue;
            }
            let number = self.below(most);
            let text = match (self.below(8), encoding) {
                (0, _) => Vec::new(),
                (1, TextEncoding::Latin1) => b"caf\xe9".to_vec(),
                (1, _) => "caf\u{e9} \u{4e2d}".as_bytes().to_vec(),
                (2, _) if number % 97 == 0 => b"long ".repeat(2000),
                _ => number.to_string().into_bytes(),
            };
            texts.push(Some(&text));
        }
        texts
    }

    fn column(&mut self, rows: usize) -> Column {
        let kinds = ColumnKind::ALL;
        let kind = kinds[self.below(kinds.len() as u64) as usize];
        let data = match kind {
            ColumnKind::Character => Data::Text(self.texts(rows)),
            ColumnKind::Factor | ColumnKind::Ordered => {
                let count = [0, 1, 3, 127, 128, 3000, 40_000][self.below(7) as usize];
                let mut levels = Texts::new(TextEncoding::Utf8);
                (0..count).for_each(|at: u64| levels.push(Some(format!("level {at}").as_bytes())));
                let missing = self.spread().1;
                let one = |dice: &mut Self| match dice.below(missing) {
                    _ if count == 0 => i32::MIN,
                    0 => i32::MIN,
                    _ => dice.below(count) as i32 + 1,
                };
                let codes = (0..rows).map(|_| one(self)).collect();
                Data::Factor { codes, levels }
            }
            ColumnKind::Logical => {
                let missing = self.spread().1;
                let one = |dice: &mut Self| match dice.below(missing) {
                    0 => i32::MIN,
                    _ => dice.below(2) as i32,
                };
                Data::Logical((0..rows).map(|_| one(self)).collect())
            }
            ColumnKind::Integer64 | ColumnKind::Nanotime => {
                let (most, missing) = self.spread();
                let one = |dice: &mut Self| match dice.below(missing) {
                    0 => i64::MIN,
                    1 => dice.roll() as i64,
                    _ => dice.below(most) as i64,
                };
                Data::Int64((0..rows).map(|_| one(self)).collect())
            }
            ColumnKind::Raw => Data::Raw((0..rows).map(|_| self.roll() as u8).collect()),
            ColumnKind::Integer
            | ColumnKind::PosixctInt
            | ColumnKind::DifftimeInt
            | ColumnKind::DateInt
            | ColumnKind::ItimeInt => Data::Int(self.ints(rows)),
            _ => Data::Double(self.doubles(rows)),
        };
        let name = NAMES[self.below(8) as usize];
        let mut column = Column::new(name, data);
        column.kind = kind;
        let scales = [
            TimeScale::Seconds,
            TimeScale::Minutes,
            TimeScale::Hours,
            TimeScale::Days,
        ];
        column.scale = match kind {
            ColumnKind::Nanotime => TimeScale::Nanoseconds,
            ColumnKind::Difftime | ColumnKind::DifftimeInt => scales[self.below(4) as usize],
            ColumnKind::Itime | ColumnKind::ItimeInt => TimeScale::Seconds,
            _ => TimeScale::None,
        };
        let zones = [None, Some(""), Some("Europe/Berlin")];
        let zone = zones[self.below(3) as usize].filter(|_| kind.has_zone());
        column.zone = zone.map(str::to_string);
        column
    }
}

const EDGES: [u64; 16] = [
    0, 1, 2046, 2047, 2048, 2049, 4094, 4095, 4096, 4097, 16_383, 16_384, 16_385, 32_768, 7, 33,
];

proptest! {
    #![proptest_config(settings(120))]

    #[test]
    fn tables_of_fst_are_what_was_written(seed in any::<u64>(), compress in 0..=100_u8, columns in 0..7_usize) {
        let mut dice = Dice(seed);
        let rows = match dice.below(4) {
            0 => dice.below(5000),
            _ => EDGES[dice.below(16) as usize],
        };
        let rows = if columns == 0 { 0 } else { rows };
        let columns: Vec<Column> = (0..columns).map(|_| dice.column(rows as usize)).collect();
        // Denser levels take long and are the same bytes in other blocks.
        let compress = if rows > 5000 { compress % 60 } else { compress };
        let table = Table { rows, columns, keys: vec![] };
        let options = fst::WriteOptions { compress, ..fst::WriteOptions::default() };
        let file = fst::to_vec(&table, &options).unwrap();
        let reader = fst::open(file.as_slice()).unwrap();
        let whole = reader.read(None, None).unwrap();
        prop_assert_eq!(whole.columns.len(), table.columns.len());
        for (one, two) in table.columns.iter().zip(&whole.columns) {
            prop_assert!(alike(one, two), "{:?} {:?}: {:.300?} {:.300?}", one.kind, one.name, one, two);
        }
        // A part is the slice of the whole.
        let from = dice.below(rows + 1);
        let to = from + dice.below(rows - from + 1);
        let part = reader.read(None, Some(from..to)).unwrap();
        let sliced = fst::open(fst::to_vec(&part, &options).unwrap()).unwrap().read(None, None).unwrap();
        for ((one, two), whole) in part.columns.iter().zip(&sliced.columns).zip(&whole.columns) {
            prop_assert_eq!(one.data.len() as u64, to - from);
            prop_assert!(alike(one, two));
            prop_assert!(slice_of(&one.data, &whole.data, from as usize), "{:?} {from}..{to}", one.kind);
        }
        // As a data frame and back nothing is lost but marks of strings.
        let rows_before = whole.rows;
        let object = frame::from_fst(whole).unwrap();
        let (back, _) = frame::to_fst(&object, false).unwrap();
        prop_assert_eq!(rows_before, back.rows);
        let back = fst::open(fst::to_vec(&back, &options).unwrap()).unwrap().read(None, None).unwrap();
        for (one, two) in table.columns.iter().zip(&back.columns) {
            prop_assert_eq!(one.kind, two.kind);
            if !matches!(one.data, Data::Text(_)) {
                prop_assert!(alike(one, two), "{:?}: {:.300?} {:.300?}", one.kind, one, two);
            }
        }
    }
}

/// Equal, whatever mark text without a letter beyond ASCII has.
fn alike(one: &Column, two: &Column) -> bool {
    let same = one.name == two.name && one.kind == two.kind && one.scale == two.scale;
    let zone = one.zone == two.zone;
    let data = match (&one.data, &two.data) {
        (Data::Text(one), Data::Text(two)) => {
            one.len() == two.len() && (0..one.len()).all(|at| decoded(one, at) == decoded(two, at))
        }
        (one, two) => one == two,
    };
    same && zone && data
}

fn decoded(texts: &Texts, at: usize) -> Option<String> {
    let bytes = texts.get(at)?;
    Some(match texts.encoding() {
        TextEncoding::Latin1 => bytes.iter().map(|byte| char::from(*byte)).collect(),
        _ => String::from_utf8(bytes.to_vec()).unwrap(),
    })
}

/// Whether a part is what the whole has from a row on.
fn slice_of(part: &Data, whole: &Data, from: usize) -> bool {
    let to = from + part.len();
    match (part, whole) {
        (Data::Logical(part), Data::Logical(whole)) | (Data::Int(part), Data::Int(whole)) => {
            part[..] == whole[from..to]
        }
        (Data::Double(part), Data::Double(whole)) => {
            let bits = |values: &[f64]| values.iter().map(|one| one.to_bits()).collect::<Vec<_>>();
            bits(part) == bits(&whole[from..to])
        }
        (Data::Int64(part), Data::Int64(whole)) => part[..] == whole[from..to],
        (Data::Raw(part), Data::Raw(whole)) => part[..] == whole[from..to],
        (Data::Text(part), Data::Text(whole)) => {
            (from..to).all(|row| part.get(row - from) == whole.get(row))
        }
        (
            Data::Factor { codes, levels },
            Data::Factor {
                codes: all,
                levels: known,
            },
        ) => codes[..] == all[from..to] && levels == known,
        _ => false,
    }
}
