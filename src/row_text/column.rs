//! Columns of every type that has a text, ready to write any of their cells.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, BooleanArray, FixedSizeListArray, MapArray, PrimitiveArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};

use super::integers::Integers;
use super::numbers::{push_float, push_float32, Floats};
use super::texts::{push_json, push_quoted, Texts};
use super::times::{Style, Times};
use super::{unwritten, Form, Json};
use crate::Result;

/// Fields inside each other, at most.
const MOST_LEVELS: usize = 64;
/// Keys of a map that are compared with each other, one by one.
const FEW_KEYS: usize = 8;

/// What a column is written as.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// JSON; None for the fields of a CSV.
    json: Option<Json>,
    floats: Floats,
    times: Style,
    /// Whether maps are objects.
    objects: bool,
    level: usize,
}

/// Cells and which of them are null.
#[derive(Debug)]
pub(super) struct Column {
    cells: Cells,
    nulls: Option<NullBuffer>,
    look: Look,
}

#[derive(Debug)]
enum Cells {
    Null,
    Bool(BooleanArray),
    Integer(Integers),
    Half(PrimitiveArray<Float16Type>),
    Single(PrimitiveArray<Float32Type>),
    Double(PrimitiveArray<Float64Type>),
    Text(Texts),
    /// Texts of what is in no quotes.
    Bare(Texts),
    Time(Times),
    Object(Object),
    List(Spans, Box<Column>),
    Map(Map),
    Levels(Integers, Box<Column>),
}

/// Where the items of each list are.
#[derive(Debug)]
enum Spans {
    Short(OffsetBuffer<i32>),
    Long(OffsetBuffer<i64>),
    Fixed(FixedSizeListArray),
}

#[derive(Debug)]
struct Map {
    spans: Spans,
    keys: Box<Column>,
    values: Box<Column>,
}

/// Columns under names: a row, or a struct.
#[derive(Debug)]
pub(super) struct Object {
    /// What stands in front of each value: a bracket or comma, the name, a colon.
    heads: Vec<Box<[u8]>>,
    columns: Vec<Column>,
}

impl Object {
    /// The columns of a table.
    ///
    /// # Errors
    /// `Unsupported`.
    pub(super) fn of_row(rows: &StructArray, form: Form) -> Result<Self> {
        let look = |field: &Field| match form {
            Form::Lines(json) | Form::Items(json) => Look {
                json: Some(json),
                floats: if json == Json::Compact {
                    Floats::Compact
                } else {
                    Floats::Python
                },
                times: Style::Json,
                objects: has_text_keys(field.data_type()),
                level: 0,
            },
            Form::Delimited(_) => Look {
                json: None,
                floats: Floats::Arrow,
                times: Style::Arrow,
                objects: false,
                level: 0,
            },
        };
        let json = match form {
            Form::Lines(json) | Form::Items(json) => Some(json),
            Form::Delimited(_) => None,
        };
        Self::new(rows, json, look)
    }

    fn new(rows: &StructArray, json: Option<Json>, look: impl Fn(&Field) -> Look) -> Result<Self> {
        let mut heads = Vec::new();
        let mut names = HashSet::new();
        for (at, field) in rows.fields().iter().enumerate() {
            // A mapping has each name once; a CSV may have it twice.
            if json.is_some() && !names.insert(field.name()) {
                return Err(unwritten(format_args!(
                    "the name {:?}, which stands twice,",
                    field.name()
                )));
            }
            let mut head = Vec::new();
            if let Some(json) = json {
                head.extend_from_slice(if at == 0 { b"{" } else { json.comma() });
                push_json(&mut head, field.name(), json);
                head.extend_from_slice(json.colon());
            }
            heads.push(head.into());
        }
        let columns = rows.columns().iter().zip(rows.fields());
        let columns = columns.map(|(column, field)| Column::new(column, field, look(field)));
        Ok(Self {
            heads,
            columns: columns.collect::<Result<_>>()?,
        })
    }

    /// Appends an object of JSON.
    #[inline]
    pub(super) fn push(&self, out: &mut Vec<u8>, row: usize) {
        if self.heads.is_empty() {
            out.push(b'{');
        }
        for (head, column) in self.heads.iter().zip(&self.columns) {
            out.extend_from_slice(head);
            column.push(out, row);
        }
        out.push(b'}');
    }

    /// Appends the fields of a line of CSV.
    #[inline]
    pub(super) fn push_fields(&self, out: &mut Vec<u8>, row: usize, delimiter: u8) {
        let mut columns = self.columns.iter();
        if let Some(first) = columns.next() {
            first.push(out, row);
        }
        for column in columns {
            out.push(delimiter);
            column.push(out, row);
        }
    }
}

impl Column {
    fn new(array: &dyn Array, field: &Field, look: Look) -> Result<Self> {
        let level = look.level.saturating_add(1);
        if level > MOST_LEVELS {
            return Err(unwritten(format_args!(
                "a value in more than {MOST_LEVELS} levels"
            )));
        }
        let look = Look { level, ..look };
        let cells = Cells::new(array, field, look)?;
        // A row of a dictionary is null by its level too.
        Ok(Self {
            cells,
            nulls: array.nulls().cloned(),
            look,
        })
    }

    #[inline]
    fn push(&self, out: &mut Vec<u8>, row: usize) {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return self.push_null(out);
        }
        match &self.cells {
            Cells::Null => self.push_null(out),
            Cells::Integer(array) => array.push(out, row),
            Cells::Double(array) => push_float(out, array.value(row), self.look.floats),
            Cells::Text(texts) => match self.look.json {
                Some(json) => push_json(out, texts.value(row), json),
                None => push_quoted(out, texts.value(row).as_bytes()),
            },
            Cells::Bare(texts) => out.extend_from_slice(texts.value(row).as_bytes()),
            Cells::Time(times) => times.push(out, row),
            Cells::Bool(array) if array.value(row) => out.extend_from_slice(b"true"),
            Cells::Bool(_) => out.extend_from_slice(b"false"),
            Cells::Half(array) => push_float(out, array.value(row).into(), self.look.floats),
            Cells::Single(array) if self.look.json.is_some() => {
                push_float(out, array.value(row).into(), self.look.floats);
            }
            Cells::Single(array) => push_float32(out, array.value(row)),
            Cells::Levels(places, levels) => levels.push(out, places.place(row)),
            Cells::Object(object) => object.push(out, row),
            Cells::List(spans, items) => {
                let (start, end) = spans.of(row);
                self.push_items(out, start, end, |out, at| items.push(out, at));
            }
            Cells::Map(map) => self.push_map(out, map, row),
        }
    }

    #[inline]
    fn push_null(&self, out: &mut Vec<u8>) {
        if self.look.json.is_some() {
            out.extend_from_slice(b"null");
        }
    }

    /// Appends an array of JSON.
    fn push_items(
        &self,
        out: &mut Vec<u8>,
        start: usize,
        end: usize,
        push: impl Fn(&mut Vec<u8>, usize),
    ) {
        let comma = self.look.json.map_or(&b""[..], Json::comma);
        out.push(b'[');
        for at in start..end {
            if at > start {
                out.extend_from_slice(comma);
            }
            push(out, at);
        }
        out.push(b']');
    }

    fn push_map(&self, out: &mut Vec<u8>, map: &Map, row: usize) {
        let (start, end) = map.spans.of(row);
        let json = self.look.json.unwrap_or(Json::Compact);
        if !self.look.objects {
            return self.push_items(out, start, end, |out, at| {
                out.push(b'[');
                map.keys.push(out, at);
                out.extend_from_slice(json.comma());
                map.values.push(out, at);
                out.push(b']');
            });
        }
        out.push(b'{');
        for at in start..end {
            if at > start {
                out.extend_from_slice(json.comma());
            }
            map.keys.push(out, at);
            out.extend_from_slice(json.colon());
            map.values.push(out, at);
        }
        out.push(b'}');
    }
}

impl Cells {
    fn new(array: &dyn Array, field: &Field, look: Look) -> Result<Self> {
        let kind = array.data_type();
        if field.metadata().contains_key("ARROW:extension:name") {
            return Err(unwritten("an extension type"));
        }
        let is_bare = look.json.is_none() && field.metadata().contains_key(super::BARE);
        let scalar = match kind {
            DataType::Null => Some(Self::Null),
            DataType::Boolean => Some(Self::Bool(array.as_boolean().clone())),
            DataType::Float16 => Some(Self::Half(array.as_primitive().clone())),
            DataType::Float32 => Some(Self::Single(array.as_primitive().clone())),
            DataType::Float64 => Some(Self::Double(array.as_primitive().clone())),
            _ => Integers::of(array)
                .map(Self::Integer)
                .or_else(|| Texts::of(array).map(if is_bare { Self::Bare } else { Self::Text }))
                .or_else(|| Times::of(array, look.times).map(Self::Time)),
        };
        if let Some(cells) = scalar {
            return Ok(cells);
        }
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let Some(places) = Integers::of(dictionary.keys()) else {
                return Err(unwritten(kind));
            };
            let levels = dictionary.values();
            let field = Field::new(field.name(), levels.data_type().clone(), true);
            return Ok(Self::Levels(
                places,
                Box::new(Column::new(levels, &field, look)?),
            ));
        }
        let Some(json) = look.json else {
            return Err(unwritten(kind));
        };
        let inner =
            |values: &dyn Array, field: &Field| Column::new(values, field, look).map(Box::new);
        Ok(match kind {
            DataType::Struct(_) => {
                Self::Object(Object::new(array.as_struct(), Some(json), |_| look)?)
            }
            DataType::List(field) => {
                let list = array.as_list::<i32>();
                Self::List(
                    Spans::Short(list.offsets().clone()),
                    inner(list.values(), field)?,
                )
            }
            DataType::LargeList(field) => {
                let list = array.as_list::<i64>();
                Self::List(
                    Spans::Long(list.offsets().clone()),
                    inner(list.values(), field)?,
                )
            }
            DataType::FixedSizeList(field, _) => {
                let list = array.as_fixed_size_list();
                Self::List(Spans::Fixed(list.clone()), inner(list.values(), field)?)
            }
            DataType::Map(_, _) => Self::Map(Map::new(array.as_map(), look)?),
            _ => return Err(unwritten(kind)),
        })
    }
}

impl Map {
    fn new(map: &MapArray, look: Look) -> Result<Self> {
        let (keys, values) = map.entries_fields();
        if map.keys().null_count() > 0 {
            return Err(unwritten("a map with a key that is null"));
        }
        let spans = Spans::Short(map.offsets().clone());
        if look.objects {
            let texts = Texts::of(map.keys()).ok_or_else(|| unwritten(map.data_type()))?;
            let rows = (0..map.len()).filter(|&row| map.is_valid(row));
            if rows
                .map(|row| spans.of(row))
                .any(|span| has_one_twice(&texts, span))
            {
                return Err(unwritten("a map with the same key twice"));
            }
        }
        Ok(Self {
            spans,
            keys: Box::new(Column::new(map.keys(), keys, look)?),
            values: Box::new(Column::new(map.values(), values, look)?),
        })
    }
}

fn has_one_twice(keys: &Texts, (start, end): (usize, usize)) -> bool {
    if end.saturating_sub(start) <= FEW_KEYS {
        return (start..end).any(|at| (start..at).any(|other| keys.value(at) == keys.value(other)));
    }
    let mut seen = HashSet::new();
    (start..end).any(|at| !seen.insert(keys.value(at)))
}

impl Spans {
    /// From where to where the items of a list are.
    #[inline]
    fn of(&self, row: usize) -> (usize, usize) {
        let next = row.saturating_add(1);
        match self {
            Self::Short(offsets) => {
                let at = |row: usize| offsets.get(row).and_then(|&at| usize::try_from(at).ok());
                (at(row).unwrap_or(0), at(next).unwrap_or(0))
            }
            Self::Long(offsets) => {
                let at = |row: usize| offsets.get(row).and_then(|&at| usize::try_from(at).ok());
                (at(row).unwrap_or(0), at(next).unwrap_or(0))
            }
            Self::Fixed(list) => {
                let size = usize::try_from(list.value_length()).unwrap_or(0);
                (row.saturating_mul(size), next.saturating_mul(size))
            }
        }
    }
}

/// Whether a type has maps, those of levels of categories aside, and the keys of all of them are texts.
fn has_text_keys(kind: &DataType) -> bool {
    let mut keys = Vec::new();
    gather_keys(kind, &mut keys);
    !keys.is_empty() && keys.into_iter().all(|is_text| is_text)
}

fn gather_keys(kind: &DataType, keys: &mut Vec<bool>) {
    match kind {
        DataType::Map(entries, _) => {
            if let DataType::Struct(fields) = entries.data_type() {
                let key = fields.first().map(|field| field.data_type());
                let texts = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View];
                keys.push(key.is_some_and(|key| texts.contains(key)));
            }
            gather_keys(entries.data_type(), keys);
        }
        DataType::Struct(fields) => {
            for field in fields {
                gather_keys(field.data_type(), keys);
            }
        }
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            gather_keys(field.data_type(), keys);
        }
        _ => {}
    }
}
