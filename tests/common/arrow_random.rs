//! Random Arrow batches from a seed, and what a row of an array says whatever its type.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BinaryViewBuilder, BooleanBuilder, FixedSizeBinaryBuilder, LargeBinaryBuilder,
    LargeStringBuilder, StringBuilder, StringViewBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    make_array, Array, ArrayRef, DictionaryArray, FixedSizeListArray, LargeListArray, ListArray,
    MapArray, NullArray, PrimitiveArray, RecordBatch, RecordBatchOptions, RunArray, StructArray,
};
use arrow_buffer::{i256, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};

/// Numbers from a seed.
pub struct Dice(pub u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, most: usize) -> usize {
        (self.roll() % most as u64) as usize
    }

    fn whole(&mut self) -> i64 {
        match self.below(6) {
            0 => self.roll() as i64,
            1 => [0, 1, -1, i64::MAX, i64::MIN, i64::from(i32::MIN)][self.below(6)],
            _ => self.below(200) as i64 - 20,
        }
    }

    fn float(&mut self) -> f64 {
        match self.below(8) {
            0 => f64::from_bits(self.roll()),
            1 => [
                f64::NAN,
                -0.0,
                f64::INFINITY,
                5e-324,
                f64::from_bits(0x7FF0_0000_0000_07A2),
                f64::from_bits(0xFFF8_0000_0000_0001),
            ][self.below(6)],
            _ => self.below(100) as f64 / 4.0,
        }
    }

    fn text(&mut self) -> String {
        let texts = [
            "",
            "a",
            "NA",
            "caf\u{e9}",
            "\u{4e2d}\u{1f600}",
            "two words",
            "b",
        ];
        texts[self.below(texts.len())].to_string()
    }

    fn nulls(&mut self, rows: usize) -> Option<NullBuffer> {
        match self.below(3) {
            0 => None,
            1 => Some((0..rows).map(|_| self.below(4) != 0).collect()),
            _ => Some((0..rows).map(|_| self.below(2) == 0).collect()),
        }
    }

    fn primitive<T: ArrowPrimitiveType>(
        &mut self,
        rows: usize,
        one: impl Fn(&mut Self) -> T::Native,
    ) -> PrimitiveArray<T> {
        let values: Vec<T::Native> = (0..rows).map(|_| one(self)).collect();
        PrimitiveArray::new(values.into(), self.nulls(rows))
    }

    /// Values of a type of a day or of less than one.
    fn within(&mut self, most: i64) -> i64 {
        (self.roll() % most as u64) as i64
    }

    fn array(&mut self, rows: usize, depth: usize) -> ArrayRef {
        let kinds = if depth == 0 { 37 } else { 46 };
        match self.below(kinds) {
            0 => Arc::new(NullArray::new(rows)),
            1 => {
                let mut build = BooleanBuilder::new();
                for _ in 0..rows {
                    build.append_option([Some(true), Some(false), None][self.below(3)]);
                }
                Arc::new(build.finish())
            }
            2 => Arc::new(self.primitive::<Int8Type>(rows, |dice| dice.whole() as i8)),
            3 => Arc::new(self.primitive::<Int16Type>(rows, |dice| dice.whole() as i16)),
            4 => Arc::new(self.primitive::<Int32Type>(rows, |dice| dice.whole() as i32)),
            5 | 6 => Arc::new(self.primitive::<Int64Type>(rows, Self::whole)),
            7 => Arc::new(self.primitive::<UInt8Type>(rows, |dice| dice.whole() as u8)),
            8 => Arc::new(self.primitive::<UInt16Type>(rows, |dice| dice.whole() as u16)),
            9 => Arc::new(self.primitive::<UInt32Type>(rows, |dice| dice.whole() as u32)),
            10 => Arc::new(self.primitive::<UInt64Type>(rows, |dice| dice.whole() as u64)),
            11 => Arc::new(self.primitive::<Float32Type>(rows, |dice| dice.float() as f32)),
            12 | 13 => Arc::new(self.primitive::<Float64Type>(rows, Self::float)),
            14 => {
                let array = self.primitive::<Decimal128Type>(rows, |dice| dice.whole().into());
                Arc::new(array.with_precision_and_scale(30, 2).unwrap())
            }
            15 => {
                let one = |dice: &mut Self| i256::from_i128(dice.whole().into());
                let array = self.primitive::<Decimal256Type>(rows, one);
                Arc::new(array.with_precision_and_scale(40, 0).unwrap())
            }
            16 => {
                let mut build = StringBuilder::new();
                for _ in 0..rows {
                    let text = self.text();
                    build.append_option((self.below(4) != 0).then_some(text));
                }
                Arc::new(build.finish())
            }
            17 => {
                let mut build = LargeStringBuilder::new();
                for _ in 0..rows {
                    let text = self.text();
                    build.append_option((self.below(4) != 0).then_some(text));
                }
                Arc::new(build.finish())
            }
            18 => {
                let mut build = StringViewBuilder::new();
                for _ in 0..rows {
                    let text = self.text().repeat(5);
                    build.append_option((self.below(4) != 0).then_some(text));
                }
                Arc::new(build.finish())
            }
            19 => {
                let mut build = BinaryBuilder::new();
                for _ in 0..rows {
                    let bytes = self.text().into_bytes();
                    build.append_option((self.below(4) != 0).then_some(bytes));
                }
                Arc::new(build.finish())
            }
            20 => {
                let mut build = LargeBinaryBuilder::new();
                for _ in 0..rows {
                    let bytes = [0, 255, self.below(256) as u8];
                    build.append_option((self.below(4) != 0).then_some(bytes));
                }
                Arc::new(build.finish())
            }
            21 => {
                let mut build = BinaryViewBuilder::new();
                for _ in 0..rows {
                    let bytes = self.text().into_bytes();
                    build.append_option((self.below(4) != 0).then_some(bytes));
                }
                Arc::new(build.finish())
            }
            22 => {
                let mut build = FixedSizeBinaryBuilder::new(2);
                for _ in 0..rows {
                    let bytes = [0, self.below(256) as u8];
                    match self.below(4) {
                        0 => build.append_null(),
                        _ => build.append_value(bytes).unwrap(),
                    }
                }
                Arc::new(build.finish())
            }
            23 => Arc::new(self.primitive::<Date32Type>(rows, |dice| dice.whole() as i32)),
            24 => {
                let day = |dice: &mut Self| (dice.below(200_000) as i64 - 50_000) * 86_400_000;
                Arc::new(self.primitive::<Date64Type>(rows, day))
            }
            25 => Arc::new(self.zoned(|dice| {
                dice.primitive::<TimestampSecondType>(rows, |dice| dice.within(4_000_000_000))
            })),
            26 => Arc::new(self.zoned(|dice| {
                dice.primitive::<TimestampMillisecondType>(rows, |dice| {
                    dice.within(4_000_000_000_000)
                })
            })),
            27 => Arc::new(self.zoned(|dice| {
                dice.primitive::<TimestampMicrosecondType>(rows, |dice| {
                    dice.within(4_000_000_000_000_000)
                })
            })),
            28 => Arc::new(self.zoned(|dice| {
                dice.primitive::<TimestampNanosecondType>(rows, |dice| {
                    dice.within(4_000_000_000_000_000_000)
                })
            })),
            29 => Arc::new(
                self.primitive::<Time32SecondType>(rows, |dice| dice.within(86_400) as i32),
            ),
            30 => {
                Arc::new(self.primitive::<Time32MillisecondType>(rows, |dice| {
                    dice.within(86_400_000) as i32
                }))
            }
            31 => Arc::new(
                self.primitive::<Time64MicrosecondType>(rows, |dice| dice.within(86_400_000_000)),
            ),
            32 => {
                Arc::new(self.primitive::<Time64NanosecondType>(rows, |dice| {
                    dice.within(86_400_000_000_000)
                }))
            }
            33 => Arc::new(self.primitive::<DurationSecondType>(rows, |dice| dice.within(1 << 40))),
            34 => Arc::new(
                self.primitive::<DurationMicrosecondType>(rows, |dice| dice.within(1 << 50)),
            ),
            35 => self.dictionary(rows),
            36 => {
                let ends = self.primitive::<Int32Type>(rows, |dice| dice.below(2) as i32);
                let ends: Vec<i32> = (1..).take(ends.len()).collect();
                let values = self.primitive::<Int32Type>(rows, |dice| dice.below(9) as i32);
                Arc::new(
                    RunArray::try_new(&PrimitiveArray::<Int32Type>::from(ends), &values).unwrap(),
                )
            }
            37 | 38 => self.structs(rows, depth),
            39 => {
                let (ends, items) = self.items(rows, depth);
                let field = Arc::new(Field::new("item", items.data_type().clone(), true));
                Arc::new(ListArray::new(field, ends, items, self.nulls(rows)))
            }
            40 => {
                let (ends, items) = self.items(rows, depth);
                let ends = OffsetBuffer::new(ends.iter().map(|end| i64::from(*end)).collect());
                let field = Arc::new(Field::new("item", items.data_type().clone(), true));
                Arc::new(LargeListArray::new(field, ends, items, self.nulls(rows)))
            }
            41 => {
                let items = self.array(rows * 2, depth - 1);
                let field = Arc::new(Field::new("item", items.data_type().clone(), true));
                Arc::new(FixedSizeListArray::new(field, 2, items, self.nulls(rows)))
            }
            42 => self.map(rows, depth),
            43 | 44 => self.whole_lists(rows),
            _ => {
                let (ends, items) = self.items(rows, depth);
                let field = Arc::new(Field::new("item", items.data_type().clone(), true));
                Arc::new(ListArray::new(field, ends, items, None))
            }
        }
    }

    fn zoned<T: ArrowTimestampType>(
        &mut self,
        make: impl Fn(&mut Self) -> PrimitiveArray<T>,
    ) -> PrimitiveArray<T> {
        let array = make(self);
        match self.below(3) {
            0 => array,
            1 => array.with_timezone("UTC"),
            _ => array.with_timezone("Asia/Tokyo"),
        }
    }

    fn dictionary(&mut self, rows: usize) -> ArrayRef {
        let nulls = self.nulls(rows);
        let count = 1 + self.below(5);
        let codes: Vec<i32> = (0..rows).map(|_| self.below(count) as i32).collect();
        let codes = PrimitiveArray::<Int32Type>::new(codes.into(), nulls);
        let values: ArrayRef = if self.below(2) == 0 {
            let values: Vec<Option<String>> = (0..count)
                .map(|at| (self.below(6) != 0).then(|| format!("level {at}")))
                .collect();
            Arc::new(arrow_array::StringArray::from(values))
        } else {
            Arc::new(self.primitive::<Int32Type>(count, |dice| dice.below(9) as i32))
        };
        Arc::new(DictionaryArray::try_new(codes, values).unwrap())
    }

    fn structs(&mut self, rows: usize, depth: usize) -> ArrayRef {
        let columns: Vec<ArrayRef> = (0..=self.below(3))
            .map(|_| self.array(rows, depth - 1))
            .collect();
        let fields: Fields = columns
            .iter()
            .enumerate()
            .map(|(at, column)| Field::new(format!("f{at}"), column.data_type().clone(), true))
            .collect();
        Arc::new(StructArray::new(fields, columns, self.nulls(rows)))
    }

    fn items(&mut self, rows: usize, depth: usize) -> (OffsetBuffer<i32>, ArrayRef) {
        let lengths: Vec<usize> = (0..rows).map(|_| self.below(4)).collect();
        let items = self.array(lengths.iter().sum(), depth - 1);
        (OffsetBuffer::from_lengths(lengths), items)
    }

    /// Lists of whole numbers, small ones in most rows and any in some.
    fn whole_lists(&mut self, rows: usize) -> ArrayRef {
        let lengths: Vec<usize> = (0..rows).map(|_| self.below(4)).collect();
        let of_rows = lengths.iter().map(|length| {
            let small = self.below(3) != 0;
            let value = |dice: &mut Self| {
                if small {
                    dice.below(200) as i64
                } else {
                    dice.whole()
                }
            };
            (0..*length).map(|_| value(self)).collect::<Vec<_>>()
        });
        let values: Vec<i64> = of_rows.collect::<Vec<_>>().concat();
        let nulls = self.nulls(values.len());
        let items: ArrayRef = match self.below(4) {
            0 => {
                let values = values.iter().map(|value| *value as i32).collect();
                Arc::new(PrimitiveArray::<Int32Type>::new(values, nulls))
            }
            1 => {
                let values = values.iter().map(|value| *value as u32).collect();
                Arc::new(PrimitiveArray::<UInt32Type>::new(values, nulls))
            }
            2 => {
                let values = values.iter().map(|value| *value as u64).collect();
                Arc::new(PrimitiveArray::<UInt64Type>::new(values, nulls))
            }
            _ => Arc::new(PrimitiveArray::<Int64Type>::new(values.into(), nulls)),
        };
        let field = Arc::new(Field::new("item", items.data_type().clone(), true));
        let ends = OffsetBuffer::from_lengths(lengths);
        Arc::new(ListArray::new(field, ends, items, self.nulls(rows)))
    }

    fn map(&mut self, rows: usize, depth: usize) -> ArrayRef {
        let lengths: Vec<usize> = (0..rows).map(|_| self.below(3)).collect();
        let total = lengths.iter().sum();
        let keys: Vec<String> = (0..total).map(|at| format!("k{at}")).collect();
        let keys: ArrayRef = Arc::new(arrow_array::StringArray::from(keys));
        let values = self.array(total, depth - 1);
        let fields = Fields::from(vec![
            Field::new("key", DataType::Utf8, false),
            Field::new("value", values.data_type().clone(), true),
        ]);
        let entries = StructArray::new(fields.clone(), vec![keys, values], None);
        let field = Arc::new(Field::new("entries", DataType::Struct(fields), false));
        let ends = OffsetBuffer::from_lengths(lengths);
        Arc::new(MapArray::new(field, ends, entries, self.nulls(rows), false))
    }
}

/// A batch of up to five columns and forty rows, with metadata.
pub fn batch(seed: u64) -> RecordBatch {
    let mut dice = Dice(seed);
    let rows = dice.below(4) * dice.below(12);
    let columns: Vec<ArrayRef> = (0..dice.below(6)).map(|_| dice.array(rows, 2)).collect();
    let fields: Vec<Field> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| Field::new(format!("c{at}"), column.data_type().clone(), true))
        .collect();
    let note = ("note".to_string(), "kept by others".to_string());
    let schema = Schema::new(fields).with_metadata([note].into());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let columns = columns.into_iter().map(|array| {
        // Arrays of a slice begin inside their buffers.
        let data = array.to_data();
        make_array(data.slice(0, rows))
    });
    RecordBatch::try_new_with_options(schema.into(), columns.collect(), &options).unwrap()
}

/// What a row says: the same for a number of any type, for text of any layout, for a code and its level.
pub fn shown(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) || matches!(array.data_type(), DataType::Null) {
        return "null".to_string();
    }
    macro_rules! number {
        ($type:ty) => {
            format!("n{}", array.as_primitive::<$type>().value(row))
        };
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            // Read as text: an integer made a double and then divided would be rounded twice.
            let value = array.as_primitive::<Decimal128Type>().value(row);
            float(format!("{value}e{}", -scale).parse().unwrap())
        }
        DataType::Decimal256(..) => {
            let value = array.as_primitive::<Decimal256Type>().value(row);
            float(value.to_i128().unwrap() as f64)
        }
        DataType::Utf8 => format!("{:?}", array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => format!("{:?}", array.as_string::<i64>().value(row)),
        DataType::Utf8View => format!("{:?}", array.as_string_view().value(row)),
        DataType::Binary => bytes(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => bytes(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => bytes(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().value(row)),
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().value(row);
            format!("n{days}")
        }
        DataType::Date64 => {
            let ms = array.as_primitive::<Date64Type>().value(row);
            format!("n{}", ms / 86_400_000)
        }
        DataType::Timestamp(unit, zone) => {
            let nanos = i128::from(long(array, row)) * scale(*unit);
            let _ = zone;
            format!("time {nanos}")
        }
        DataType::Time32(unit) | DataType::Time64(unit) => {
            format!("of day {}", i128::from(long(array, row)) * scale(*unit))
        }
        DataType::Duration(unit) => format!("long {}", i128::from(long(array, row)) * scale(*unit)),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let place = dictionary.normalized_keys()[row];
            shown(dictionary.values(), place)
        }
        DataType::RunEndEncoded(..) => {
            let runs = array.as_run::<Int32Type>();
            shown(runs.values(), runs.get_physical_index(row))
        }
        DataType::Struct(_) => {
            let parts = array.as_struct().columns().iter();
            format!(
                "{{{}}}",
                parts.map(|part| shown(part, row) + ",").collect::<String>()
            )
        }
        DataType::List(_) => all(&array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => all(&array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => all(&array.as_fixed_size_list().value(row)),
        DataType::Map(..) => {
            let entries: ArrayRef = Arc::new(array.as_map().value(row));
            all(&entries)
        }
        other => panic!("{other} is not shown"),
    }
}

fn all(items: &ArrayRef) -> String {
    let parts = (0..items.len()).map(|row| shown(items, row) + ",");
    format!("[{}]", parts.collect::<String>())
}

fn long(array: &ArrayRef, row: usize) -> i64 {
    let data = array.to_data();
    match array.data_type().primitive_width() {
        Some(4) => i64::from(data.buffer::<i32>(0)[row]),
        _ => data.buffer::<i64>(0)[row],
    }
}

fn scale(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Whole numbers as those of other types; each NaN is one, but for the bits that are missing to R.
fn float(value: f64) -> String {
    if tare::robject::is_na(value) {
        return "null".to_string();
    }
    let whole = value.fract() == 0.0 && value.abs() < 1e37;
    match (value.is_nan(), whole) {
        (true, _) => "NaN".to_string(),
        (false, true) if value == 0.0 && value.is_sign_negative() => "n-0".to_string(),
        (false, true) => format!("n{}", value as i128),
        (false, false) => format!("n{value:e}"),
    }
}

fn bytes(bytes: &[u8]) -> String {
    format!("bytes {bytes:?}")
}
