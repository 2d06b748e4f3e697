//! Columns of the one type that all their fields have.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float64Type, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{ArrayRef, BooleanArray, Int64Array, NullArray, PrimitiveArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};

use super::cells::{cells, Cell};
use super::values::{whole, Judge, Value, EXACT};

/// A column whose type was found in its fields.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Column {
    /// Its values: null, int64, float64, boolean, date32, timestamp in seconds or nanoseconds, with or without UTC, utf8.
    pub values: ArrayRef,
    /// Whether it is text because numbers have leading zeros.
    pub codes: bool,
    /// Which of the words stand for missing values, the first one first, and in how many fields.
    pub words: Vec<(usize, u64)>,
    /// The least and the most of whole numbers.
    pub ends: Option<(i64, i64)>,
}

/// Reads a text whose first row names the columns, if there is no doubt what its fields are.
///
/// A column is whole numbers, numbers, truths, days, moments or text; a field that is empty, or one of the words, and not in
/// quotes, is missing. Blank lines are no rows. None where a reader may take another view: fields beyond the header or
/// too few, quotes within fields, lone CRs, one column, numbers beyond 2^53, with a plus or with blanks around them,
/// hexadecimal, NaN, times without a day, days beside moments, and the like, unless another field makes the column text.
///
/// # Arguments
/// - `words`: what a missing value may be written as, beside an empty field.
#[must_use]
pub fn read_columns(text: &[u8], delimiter: u8, words: &[&[u8]]) -> Option<Vec<Column>> {
    let judge = Judge::new();
    let columns = cells(text, delimiter)?.into_iter();
    columns
        .map(|cells| column(text, &cells, &judge, words))
        .collect()
}

/// What the values of a column are, as bits.
const INT: u8 = 1;
const DOUBLE: u8 = 2;
const CODE: u8 = 4;
const BOOL: u8 = 8;
const DAY: u8 = 16;
const MOMENT: u8 = 32;
const DOUBTFUL: u8 = 64;

fn column(text: &[u8], cells: &[Cell], judge: &Judge, words: &[&[u8]]) -> Option<Column> {
    let mut found = Vec::new();
    let whole = Whole::of(text, cells, words, &mut found);
    if whole.numbers.len() == cells.len() && whole.valid.contains(&true) {
        return whole.column(found);
    }
    let mut values = whole.values(cells.len());
    let mut kinds = if whole.valid.contains(&true) { INT } else { 0 };
    for &cell in cells.get(values.len()..).unwrap_or_default() {
        let field = cell.of(text);
        if is_missing(cell, field, words, &mut found) {
            values.push(None);
            continue;
        }
        let value = judge.value(field);
        kinds |= match value {
            Value::Int(_) => INT,
            Value::Double(_) => DOUBLE,
            Value::Code => CODE,
            Value::Bool(_) => BOOL,
            Value::Day(_) => DAY,
            Value::Moment(_) => MOMENT,
            Value::Doubtful => DOUBTFUL,
            Value::Text => return texts(text, cells, words, false),
        };
        values.push(Some(value));
    }
    let array: ArrayRef = match kinds {
        0 => Arc::new(NullArray::new(values.len())),
        _ if kinds & !(INT | DOUBLE) == 0 => primitive::<Float64Type>(&values, double)?,
        _ if kinds & CODE != 0 && kinds & !(INT | DOUBLE | CODE) == 0 => {
            return texts(text, cells, words, true);
        }
        BOOL => {
            let truths = values.iter().map(|value| match value {
                Some(Value::Bool(value)) => Some(*value),
                _ => None,
            });
            Arc::new(truths.collect::<BooleanArray>())
        }
        DAY => primitive::<Date32Type>(&values, |value| match value {
            Value::Day(value) => Some(value),
            _ => None,
        })?,
        MOMENT => moments(&values)?,
        _ => return None,
    };
    Some(Column {
        values: array,
        codes: false,
        words: found,
        ends: None,
    })
}

/// The whole numbers and missing values that a column begins with: most columns of numbers are nothing else.
struct Whole {
    /// Those of missing values are 0.
    numbers: Vec<i64>,
    valid: Vec<bool>,
}

impl Whole {
    fn of(text: &[u8], cells: &[Cell], words: &[&[u8]], found: &mut Vec<(usize, u64)>) -> Self {
        let mut numbers = Vec::with_capacity(cells.len());
        let mut valid = Vec::with_capacity(cells.len());
        for &cell in cells {
            let field = cell.of(text);
            if let Some(number) = whole(field) {
                numbers.push(number);
                valid.push(true);
            } else if is_missing(cell, field, words, found) {
                numbers.push(0);
                valid.push(false);
            } else {
                break;
            }
        }
        Self { numbers, valid }
    }

    fn values(&self, capacity: usize) -> Vec<Option<Value>> {
        let mut values = Vec::with_capacity(capacity);
        let each = self.numbers.iter().zip(&self.valid);
        values.extend(each.map(|(&number, &valid)| valid.then_some(Value::Int(number))));
        values
    }

    fn column(self, words: Vec<(usize, u64)>) -> Option<Column> {
        let each = self.numbers.iter().zip(&self.valid);
        let ends = each
            .filter(|(_, &valid)| valid)
            .fold((i64::MAX, i64::MIN), |(least, most), (&number, _)| {
                (least.min(number), most.max(number))
            });
        let missing = self.valid.contains(&false);
        let valid = missing.then(|| NullBuffer::from(self.valid));
        let numbers = Int64Array::try_new(ScalarBuffer::from(self.numbers), valid);
        Some(Column {
            values: Arc::new(numbers.ok()?),
            codes: false,
            words,
            ends: Some(ends),
        })
    }
}

/// Whether a field is missing; the word is counted.
#[inline]
fn is_missing(cell: Cell, field: &[u8], words: &[&[u8]], found: &mut Vec<(usize, u64)>) -> bool {
    if cell.is_enclosed() {
        return false;
    }
    let Some(first) = field.first() else {
        return true;
    };
    if !matches!(first, b'A'..=b'Z' | b'a'..=b'z' | b'#') {
        return false;
    }
    let Some(word) = words.iter().position(|&word| word == field) else {
        return false;
    };
    match found.iter_mut().find(|(known, _)| *known == word) {
        Some((_, count)) => *count = count.wrapping_add(1),
        None => found.push((word, 1)),
    }
    true
}

fn double(value: Value) -> Option<f64> {
    match value {
        Value::Double(value) => Some(value),
        #[allow(clippy::cast_precision_loss, reason = "at most 2^53")]
        Value::Int(value) if value.unsigned_abs() <= EXACT => Some(value as f64),
        _ => None,
    }
}

/// The values as numbers; None if one is none.
fn primitive<T: ArrowPrimitiveType>(
    values: &[Option<Value>],
    number: impl Fn(Value) -> Option<T::Native>,
) -> Option<ArrayRef> {
    Some(Arc::new(numbers::<T>(values, number)?))
}

fn numbers<T: ArrowPrimitiveType>(
    values: &[Option<Value>],
    number: impl Fn(Value) -> Option<T::Native>,
) -> Option<PrimitiveArray<T>> {
    let mut valid = NullBufferBuilder::new(values.len());
    let mut made = Vec::with_capacity(values.len());
    for value in values {
        if let Some(value) = value {
            made.push(number(*value)?);
            valid.append_non_null();
        } else {
            made.push(T::Native::default());
            valid.append_null();
        }
    }
    PrimitiveArray::try_new(ScalarBuffer::from(made), valid.finish()).ok()
}

/// Moments, all of them with a zone or none.
fn moments(values: &[Option<Value>]) -> Option<ArrayRef> {
    let (mut zoned, mut plain, mut fine) = (false, false, false);
    for value in values {
        if let Some(Value::Moment(moment)) = value {
            zoned |= moment.has_zone;
            plain |= !moment.has_zone;
            fine |= moment.is_fine;
        }
    }
    if zoned && plain {
        return None;
    }
    let zone = zoned.then(|| Arc::<str>::from("UTC"));
    if fine {
        let array = numbers::<TimestampNanosecondType>(values, |value| match value {
            Value::Moment(moment) => moment
                .seconds
                .checked_mul(1_000_000_000)?
                .checked_add(moment.nanoseconds),
            _ => None,
        })?;
        return Some(Arc::new(array.with_timezone_opt(zone)));
    }
    let array = numbers::<TimestampSecondType>(values, |value| match value {
        Value::Moment(moment) => Some(moment.seconds),
        _ => None,
    })?;
    Some(Arc::new(array.with_timezone_opt(zone)))
}

/// The fields as text, as they are written.
fn texts(text: &[u8], cells: &[Cell], words: &[&[u8]], codes: bool) -> Option<Column> {
    let mut found = Vec::new();
    let mut valid = NullBufferBuilder::new(cells.len());
    let mut offsets = Vec::with_capacity(cells.len().saturating_add(1));
    offsets.push(0_i32);
    let size = cells.iter().map(|cell| cell.of(text).len()).sum();
    let mut bytes = Vec::with_capacity(size);
    for &cell in cells {
        let field = cell.of(text);
        if is_missing(cell, field, words, &mut found) {
            valid.append_null();
        } else {
            valid.append_non_null();
            if cell.has_doubled() {
                append_halved(&mut bytes, field);
            } else {
                bytes.extend_from_slice(field);
            }
        }
        offsets.push(i32::try_from(bytes.len()).ok()?);
    }
    let array = StringArray::try_new(
        OffsetBuffer::new(ScalarBuffer::from(offsets)),
        Buffer::from_vec(bytes),
        valid.finish(),
    );
    Some(Column {
        values: Arc::new(array.ok()?),
        codes,
        words: found,
        ends: None,
    })
}

/// Appends a field with one quote in the place of two.
fn append_halved(bytes: &mut Vec<u8>, field: &[u8]) {
    let mut rest = field;
    while let Some(quote) = memchr::memchr(b'"', rest) {
        let (before, behind) = rest
            .split_at_checked(quote.wrapping_add(1))
            .unwrap_or((rest, &[]));
        bytes.extend_from_slice(before);
        rest = behind.get(1..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest);
}
