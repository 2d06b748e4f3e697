//! From Arrow to R: a vector for an array, a data frame for a struct.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int16Type, Int32Type, Int8Type,
    UInt16Type, UInt8Type,
};
use arrow_array::{make_array, Array, ArrayRef, RecordBatch, StructArray};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, Field};

use super::super::loss::{LossKind, Losses};
use super::super::model::{Body, Id, RObject, NA_INT, NA_REAL};
use super::super::{rds, Builder, ReadOptions};
use super::flat::refused;
use super::keyed::{Key, Notes};
use super::to::too_deep;
use super::{key, MOST_DEPTH};
use crate::{Error, ErrorKind, Result};

/// What becomes of 64-bit integers, which base R does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Int64 {
    /// Integers where all values of a column fit, those of all its lists where they are in lists;
    /// else `integer64` of the package bit64.
    #[default]
    Auto,
    /// `integer64` in every case.
    Integer64,
    /// Doubles; what they cannot hold is reported.
    Double,
}

/// How to make R values. Further fields may come: end with `..FromArrow::default()`.
#[derive(Clone, Debug)]
pub struct FromArrow {
    /// Whether the first loss is an error.
    pub strict: bool,
    /// Whether the key `r` and the fields' own metadata are read.
    pub metadata: bool,
    /// What becomes of 64-bit integers.
    pub int64: Int64,
}

impl Default for FromArrow {
    fn default() -> Self {
        Self {
            strict: false,
            metadata: true,
            int64: Int64::Auto,
        }
    }
}

/// Record batches of one schema as a data frame, with the attributes of the schema's key `r`.
///
/// # Errors
/// As [`from_arrow`]; `Usage` for no batch at all.
pub fn from_batches(batches: &[RecordBatch], options: &FromArrow) -> Result<(RObject, Losses)> {
    let Some(first) = batches.first() else {
        let text = "no record batch: give an empty one, which says what the columns are";
        return Err(Error::new(ErrorKind::Usage, text));
    };
    let schema = first.schema();
    let field = Field::new("", DataType::Struct(schema.fields().clone()), false);
    let field = field.with_metadata(schema.metadata().clone());
    let chunks: Vec<ArrayRef> = batches
        .iter()
        .map(|batch| -> ArrayRef { Arc::new(StructArray::from(batch.clone())) })
        .collect();
    from_arrow(&field, &chunks, options)
}

/// Arrow arrays of one type, one behind the other, as an R value, and what was lost.
///
/// A struct becomes a data frame, a dictionary of strings a factor, lists a list of vectors,
/// binary a list of raw vectors. Numbers widen to the next type that R has.
///
/// # Errors
/// `Unsupported` for unions and intervals, for strings with a zero byte, and in a strict
/// conversion for the first loss; what [`read_r_key`](super::read_r_key) says for a key that is
/// no serialization.
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int64Array};
/// use arrow_schema::{DataType, Field};
/// use tare::robject::arrow::{from_arrow, FromArrow};
///
/// let array: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
/// let field = Field::new("", DataType::Int64, true);
/// let (object, losses) = from_arrow(&field, &[array], &FromArrow::default())?;
/// assert_eq!(Some(&[1, i32::MIN][..]), object.arena().integers_of(object.id()));
/// assert_eq!("type_changed", losses.list()[0].kind.name());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn from_arrow(
    field: &Field,
    chunks: &[ArrayRef],
    options: &FromArrow,
) -> Result<(RObject, Losses)> {
    let mut from = From {
        build: Builder::new(),
        losses: Losses::new(options.strict),
        options,
        depth: 0,
    };
    let text = field.metadata().get(key::KEY).filter(|_| options.metadata);
    let key = text.map(|text| super::read_r_key(text)).transpose()?;
    let key = Key::new(key);
    let root = from.column(field, chunks, &key)?;
    Ok((from.build.finish(root), from.losses))
}

/// A conversion at work.
pub(super) struct From<'a> {
    pub build: Builder,
    pub losses: Losses,
    pub options: &'a FromArrow,
    pub depth: usize,
}

/// A vector, and the attributes that it is to get.
pub(super) struct Made {
    pub id: Id,
    pub attributes: Vec<(Cow<'static, str>, Id)>,
}

impl Made {
    pub fn plain(id: Id) -> Self {
        Self {
            id,
            attributes: Vec::new(),
        }
    }
}

impl From<'_> {
    /// The vector of a column, with its attributes.
    pub(super) fn column(&mut self, field: &Field, chunks: &[ArrayRef], key: &Key) -> Result<Id> {
        if self.depth >= MOST_DEPTH {
            return Err(too_deep());
        }
        self.depth = self.depth.saturating_add(1);
        let notes = Notes::of(field, self.options.metadata);
        let made = self.bare(field, chunks, &notes, key);
        self.depth = self.depth.saturating_sub(1);
        let mut made = made?;
        self.put_back(&mut made, &notes, key)?;
        if !made.attributes.is_empty() {
            let pairs: Vec<(&str, Id)> = made
                .attributes
                .iter()
                .map(|(name, id)| (name.as_ref(), *id))
                .collect();
            self.build.set_attributes(made.id, &pairs)?;
        }
        Ok(made.id)
    }

    pub(super) fn bare(
        &mut self,
        field: &Field,
        chunks: &[ArrayRef],
        notes: &Notes,
        key: &Key,
    ) -> Result<Made> {
        match field.data_type() {
            DataType::Null => {
                let length = chunks.iter().map(arrow_array::Array::len).sum();
                match notes.kind.as_str() {
                    "NULL" => return Ok(Made::plain(Id::NULL)),
                    "list" => return self.vector(Body::List(vec![Id::NULL; length])),
                    _ => {}
                }
                self.vector(Body::Logical(vec![NA_INT; length]))
            }
            DataType::Boolean => self.booleans(chunks),
            DataType::UInt8 if notes.kind == "raw" => self.raws(chunks),
            DataType::Int8 => self.small::<Int8Type>(field, chunks),
            DataType::Int16 => self.small::<Int16Type>(field, chunks),
            DataType::UInt8 => self.small::<UInt8Type>(field, chunks),
            DataType::UInt16 => self.small::<UInt16Type>(field, chunks),
            DataType::Int32 => self.integers_from(chunks, key),
            DataType::UInt32 | DataType::Int64 | DataType::UInt64 => {
                self.long(field.data_type(), chunks, notes, key)
            }
            DataType::Float16 => {
                let values = gather::<Float16Type, _>(chunks, na(), f64::from);
                self.widened(field, Body::Double(values))
            }
            DataType::Float32 => {
                let values = gather::<Float32Type, _>(chunks, na(), f64::from);
                self.widened(field, Body::Double(values))
            }
            DataType::Float64 => {
                let values = gather::<Float64Type, _>(chunks, na(), |value| value);
                let made = self.vector(Body::Double(values))?;
                self.classed(made, if notes.kind == "Date" { &["Date"] } else { &[] })
            }
            DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..) => self.decimals(field.data_type(), chunks),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => self.strings(chunks),
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => self.binaries(field, chunks, notes),
            DataType::Date32
            | DataType::Date64
            | DataType::Timestamp(..)
            | DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Duration(_) => self.times(field.data_type(), chunks, notes),
            DataType::Dictionary(_, values) => self.dictionary(field, values, chunks, notes, key),
            DataType::Struct(_) => self.structs(field, chunks, notes, key),
            DataType::RunEndEncoded(_, values) => {
                let flat = self.expanded_runs(chunks)?;
                self.widened_type(field)?;
                self.bare(values, &flat, notes, key)
            }
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::ListView(_)
            | DataType::LargeListView(_)
            | DataType::Map(..) => self.lists(field, chunks, notes, key),
            other => Err(self.cannot(&other.to_string())),
        }
    }

    pub(super) fn vector(&mut self, body: Body) -> Result<Made> {
        Ok(Made::plain(self.build.push(body)?))
    }

    /// A vector whose type is wider than the array's.
    fn widened(&mut self, field: &Field, body: Body) -> Result<Made> {
        self.widened_type(field)?;
        self.vector(body)
    }

    pub(super) fn widened_type(&mut self, field: &Field) -> Result<()> {
        let r = field.data_type().to_string();
        // The report's `r` is what was there, `kept` what is: R has no word for the type.
        self.losses
            .add(LossKind::TypeChanged, &r, "the next type that R has", 1)
    }

    /// With a class, where there is one.
    pub(super) fn classed(&mut self, made: Made, class: &[&'static str]) -> Result<Made> {
        let mut made = made;
        if !class.is_empty() {
            let class = self.build.strings(class.iter().copied())?;
            made.attributes.push((Cow::Borrowed("class"), class));
        }
        Ok(made)
    }

    fn booleans(&mut self, chunks: &[ArrayRef]) -> Result<Made> {
        let mut values = Vec::with_capacity(chunks.iter().map(arrow_array::Array::len).sum());
        for chunk in chunks {
            let bits = chunk.as_boolean();
            values.extend(bits.iter().map(|bit| bit.map_or(NA_INT, i32::from)));
        }
        self.vector(Body::Logical(values))
    }

    /// Bytes; a missing one is no byte that R has.
    fn raws(&mut self, chunks: &[ArrayRef]) -> Result<Made> {
        let missing: usize = chunks.iter().map(arrow_array::Array::null_count).sum();
        self.losses
            .add(LossKind::ValueDropped, "missing byte", "00", missing as u64)?;
        let values = gather::<UInt8Type, _>(chunks, 0, |value| value);
        self.vector(Body::Raw(values))
    }

    fn small<T: ArrowPrimitiveType>(&mut self, field: &Field, chunks: &[ArrayRef]) -> Result<Made>
    where
        T::Native: Into<i32>,
    {
        let values = gather::<T, _>(chunks, NA_INT, Into::into);
        self.widened(field, Body::Integer(values))
    }

    /// 32-bit integers; the smallest is R's NA, so that its like are doubles.
    fn integers_from(&mut self, chunks: &[ArrayRef], key: &Key) -> Result<Made> {
        let values = gather::<Int32Type, _>(chunks, NA_INT, |value| value);
        let smallest = values.iter().filter(|&&value| value == NA_INT).count();
        let missing: usize = chunks.iter().map(arrow_array::Array::null_count).sum();
        let wide = key.width().map_or(smallest > missing, |width| width.wide);
        if !wide {
            return self.vector(Body::Integer(values));
        }
        self.losses
            .add(LossKind::TypeChanged, "int32 of -2147483648", "double", 1)?;
        let values = gather::<Int32Type, _>(chunks, na(), f64::from);
        self.vector(Body::Double(values))
    }

    /// Strings as bytes, or values that no type held.
    fn binaries(&mut self, field: &Field, chunks: &[ArrayRef], notes: &Notes) -> Result<Made> {
        let mut items = Vec::with_capacity(chunks.iter().map(arrow_array::Array::len).sum());
        let mut texts = (notes.kind == "character").then(super::super::Strings::default);
        for chunk in chunks {
            for row in 0..chunk.len() {
                let bytes = bytes_at(chunk, row);
                if let Some(texts) = &mut texts {
                    match bytes {
                        Some(bytes) if bytes.is_ascii() => texts.push(bytes, 1 << 6),
                        Some(bytes) => texts.push(bytes, 1 << 1),
                        None => texts.push_na(),
                    }
                    continue;
                }
                items.push(match bytes {
                    None => Id::NULL,
                    Some(stored) if notes.kind == "list" && notes.storage == "rds" => {
                        rds::parse_into(&mut self.build, stored, &ReadOptions::default())?.0
                    }
                    Some(bytes) => self.build.push(Body::Raw(bytes.to_vec()))?,
                });
            }
        }
        if matches!(field.data_type(), DataType::FixedSizeBinary(_)) {
            self.widened_type(field)?;
        }
        match texts {
            Some(texts) => self.vector(Body::Character(Box::new(texts))),
            None => self.vector(Body::List(items)),
        }
    }

    /// Values of runs, each as often as its run is long.
    pub(super) fn expanded_runs(&self, chunks: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        use arrow_array::types::Int64Type;
        let mut flat = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let places: Vec<usize> = match chunk.data_type() {
                DataType::RunEndEncoded(ends, _) => match ends.data_type() {
                    DataType::Int16 => run_places::<Int16Type>(chunk),
                    DataType::Int32 => run_places::<Int32Type>(chunk),
                    _ => run_places::<Int64Type>(chunk),
                },
                _ => Vec::new(),
            };
            let Some(values) = chunk.as_any_run_end_values() else {
                return Err(self.cannot("a run-end-encoded array"));
            };
            let places = places.into_iter().map(Some);
            flat.push(taken(&values, places, chunk.len())?);
        }
        Ok(flat)
    }

    /// The error for a type that R has nothing like.
    pub(super) fn cannot(&self, what: &str) -> Error {
        let path = match self.losses.path() {
            "" => "the array itself",
            path => path,
        };
        let text = format!("R has no type for {what}, at {path}: cast it first, or leave it out");
        Error::new(ErrorKind::Unsupported, text)
    }
}

/// R's missing double.
pub(super) fn na() -> f64 {
    f64::from_bits(NA_REAL)
}

/// The values of all chunks, each made another; missing ones are `missing`.
pub(super) fn gather<T: ArrowPrimitiveType, R: Copy>(
    chunks: &[ArrayRef],
    missing: R,
    make: impl Fn(T::Native) -> R,
) -> Vec<R> {
    let mut all = Vec::with_capacity(chunks.iter().map(arrow_array::Array::len).sum());
    for chunk in chunks {
        let Some(array) = chunk.as_primitive_opt::<T>() else {
            continue;
        };
        let values = array.values().iter().copied();
        match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => all.extend(values.map(&make)),
            Some(nulls) => {
                let present = nulls.iter();
                let each = values.zip(present);
                all.extend(each.map(|(value, here)| if here { make(value) } else { missing }));
            }
        }
    }
    all
}

/// The bytes of a row; None where it is missing.
fn bytes_at(chunk: &ArrayRef, row: usize) -> Option<&[u8]> {
    if chunk.is_null(row) {
        return None;
    }
    if let Some(array) = chunk.as_binary_opt::<i32>() {
        return Some(array.value(row));
    }
    if let Some(array) = chunk.as_binary_opt::<i64>() {
        return Some(array.value(row));
    }
    if let Some(array) = chunk.as_binary_view_opt() {
        return Some(array.value(row));
    }
    Some(chunk.as_fixed_size_binary_opt()?.value(row))
}

/// Rows of an array, None for a missing one.
pub(super) fn taken(
    array: &ArrayRef,
    places: impl Iterator<Item = Option<usize>>,
    length: usize,
) -> Result<ArrayRef> {
    let data = array.to_data();
    let mut rows = MutableArrayData::new(vec![&data], true, length);
    for place in places {
        let step = match place {
            Some(at) => rows.try_extend(0, at, at.saturating_add(1)),
            None => rows.try_extend_nulls(1),
        };
        step.map_err(|error| refused(&error))?;
    }
    Ok(make_array(rows.freeze()))
}

/// For each row, where its value lies.
fn run_places<T: arrow_array::types::RunEndIndexType>(chunk: &ArrayRef) -> Vec<usize> {
    let Some(runs) = chunk.as_run_opt::<T>() else {
        return Vec::new();
    };
    (0..runs.len())
        .map(|row| runs.get_physical_index(row))
        .collect()
}

/// The values of a run-end-encoded array.
trait RunValues {
    fn as_any_run_end_values(&self) -> Option<ArrayRef>;
}

impl RunValues for ArrayRef {
    fn as_any_run_end_values(&self) -> Option<ArrayRef> {
        use arrow_array::types::Int64Type;
        if let Some(runs) = self.as_run_opt::<Int16Type>() {
            return Some(Arc::clone(runs.values()));
        }
        if let Some(runs) = self.as_run_opt::<Int32Type>() {
            return Some(Arc::clone(runs.values()));
        }
        Some(Arc::clone(self.as_run_opt::<Int64Type>()?.values()))
    }
}
