//! From R to Arrow: one column for a vector, a struct for a data frame.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    make_array, Array, ArrayRef, FixedSizeListArray, NullArray, RecordBatch, StructArray,
};
use arrow_schema::{DataType, Field, Fields, Schema};

use super::super::kind::Special;
use super::super::loss::{LossKind, Losses};
use super::super::model::{Arena, Body, Id, RObject};
use super::super::text::{escaped, Recoder};
use super::extra::{self, Meaning};
use super::flat::refused;
use super::lists::list_of_values;
use super::{key, rows, ATTRIBUTES_KEY, MOST_DEPTH, TYPE_KEY};
use crate::{Error, ErrorKind, Result};

/// How to make Arrow arrays. Further fields may come: end with `..ToArrow::default()`.
#[derive(Clone, Debug)]
pub struct ToArrow {
    /// Whether the first loss is an error.
    pub strict: bool,
    /// Whether attributes and R's own types are kept in metadata.
    pub metadata: bool,
    /// The columns of a data frame that are wanted; None for all.
    pub columns: Option<Vec<String>>,
    /// Whether a missing double becomes NaN in place of a missing value.
    pub nan: bool,
}

impl Default for ToArrow {
    fn default() -> Self {
        Self {
            strict: false,
            metadata: true,
            columns: None,
            nan: false,
        }
    }
}

/// An R value as Arrow.
#[derive(Clone, Debug)]
pub struct Arrowed {
    /// Its type and metadata; for a data frame a struct with the metadata of the schema.
    pub field: Field,
    /// The values.
    pub array: ArrayRef,
    /// Whether it is a data frame.
    pub is_table: bool,
}

impl Arrowed {
    /// A data frame as a record batch; None for other values.
    #[must_use]
    pub fn batch(&self) -> Option<RecordBatch> {
        let array = self.array.as_any().downcast_ref::<StructArray>()?;
        if !self.is_table {
            return None;
        }
        let schema = Schema::new(array.fields().clone());
        let schema = schema.with_metadata(self.field.metadata().clone());
        let rows = arrow_array::RecordBatchOptions::new().with_row_count(Some(array.len()));
        let columns = array.columns().to_vec();
        RecordBatch::try_new_with_options(Arc::new(schema), columns, &rows).ok()
    }
}

/// A vector as Arrow, with what the type does not say.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub array: ArrayRef,
    /// The metadata of its field.
    pub notes: Vec<(&'static str, String)>,
    /// Whether the levels of a factor are in order.
    pub ordered: bool,
}

impl Default for Column {
    fn default() -> Self {
        Self::new(NullArray::new(0))
    }
}

impl Column {
    pub fn new(array: impl Array + 'static) -> Self {
        Self {
            array: Arc::new(array),
            notes: Vec::new(),
            ordered: false,
        }
    }

    /// The same, said to be of an R type that the Arrow type does not tell.
    pub fn of(mut self, kind: &str) -> Self {
        self.notes.push((TYPE_KEY, kind.to_string()));
        self
    }

    /// Its field.
    pub fn field(&self, name: &str, notes: bool) -> Field {
        let field = match self.array.data_type() {
            DataType::Dictionary(..) => Field::new(name, self.array.data_type().clone(), true)
                .with_dict_is_ordered(self.ordered),
            other => Field::new(name, other.clone(), true),
        };
        let all = self.notes.iter().filter(|_| notes);
        let metadata = all.map(|(key, value)| ((*key).to_string(), value.clone()));
        field.with_metadata(metadata.collect())
    }
}

/// An R value as Arrow arrays, and what was lost.
///
/// A data frame becomes a struct array, one field a column; a list becomes a list array where all
/// its elements are of one type, a struct of one row where it has a name for each; other vectors
/// become arrays of their type. Numbers and text stored as UTF-8 share memory with the object.
///
/// | R | Arrow |
/// |---|---|
/// | logical, integer, double, raw | boolean, int32, float64, uint8 |
/// | complex | struct of `re` and `im` |
/// | character | string, large string from 2 GiB on, binary where some is no text |
/// | factor | dictionary of int32 and string, with its order |
/// | Date | date32; float64 with parts of days |
/// | `POSIXct`, nanotime | timestamp in us, or ns where that keeps more, with its zone |
/// | difftime, hms | duration; time64 within one day |
/// | integer64 | int64 |
/// | matrix in a data frame | list of fixed size |
/// | list of raw vectors | binary |
///
/// # Errors
/// `Unsupported` for what Arrow has no type for, and in a strict conversion for the first loss;
/// `Limit` for deferred vectors beyond the memory budget and for lists too deep in each other.
///
/// # Example
/// ```
/// use arrow_array::{cast::AsArray, types::Int32Type, Array};
/// use tare::robject::{arrow, Body, Builder, NA_INT};
///
/// let mut build = Builder::new();
/// let one = build.push(Body::Integer(vec![1, NA_INT, 3]))?;
/// let object = build.finish(one);
/// let (made, losses) = arrow::to_arrow(&object, &arrow::ToArrow::default())?;
/// let array = made.array.as_primitive::<Int32Type>();
/// assert_eq!((3, 1, 3), (array.len(), array.null_count(), array.value(2)));
/// assert!(losses.list().is_empty());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn to_arrow(object: &RObject, options: &ToArrow) -> Result<(Arrowed, Losses)> {
    let mut to = To {
        arena: object.arena(),
        object,
        recoder: Recoder::of(object.arena()),
        losses: Losses::new(options.strict),
        options,
        kept: false,
        depth: 0,
        elements: None,
    };
    let is_table = extra::meaning(to.arena, object.id()) == Meaning::Frame;
    to.kept = options.metadata && is_table;
    let mut column = to.root(object.id())?;
    let mut metadata = HashMap::new();
    if to.kept {
        let wanted = options.columns.as_deref();
        if let Some(text) = key::write(object, wanted, &mut to.losses)? {
            metadata.insert(key::KEY.to_string(), text);
        }
        let notes = column.notes.drain(..);
        let own = notes.filter(|(key, _)| *key == ATTRIBUTES_KEY);
        metadata.extend(own.map(|(key, text)| (key.to_string(), text)));
    }
    let mut field = column.field("", options.metadata).with_nullable(!is_table);
    if is_table {
        field = field.with_metadata(metadata);
    }
    let array = column.array;
    Ok((
        Arrowed {
            field,
            array,
            is_table,
        },
        to.losses,
    ))
}

/// A conversion at work.
pub(super) struct To<'a> {
    pub arena: &'a Arc<Arena>,
    pub object: &'a RObject,
    pub recoder: Recoder,
    pub losses: Losses,
    pub options: &'a ToArrow,
    /// Whether attributes of columns are kept in metadata.
    pub kept: bool,
    pub depth: usize,
    /// Inside the elements of a list: what they lost, counted together.
    pub elements: Option<Vec<(LossKind, String, u64)>>,
}

impl To<'_> {
    /// The value itself: a list is one of values, or a struct.
    fn root(&mut self, id: Id) -> Result<Column> {
        let body = self.arena.data(id, None)?;
        let list = extra::meaning(self.arena, id) == Meaning::Plain;
        match body {
            Body::List(_) | Body::Expression(_) if list => self.root_list(id),
            Body::Pairs { cells, .. } if cells.iter().all(|cell| cell.code == 2) => {
                self.losses
                    .add(LossKind::TypeChanged, "pairlist", "list", 1)?;
                let children: Vec<Id> = cells.iter().map(|cell| cell.value).collect();
                match self.values(&children)? {
                    Some(array) => Ok(Column {
                        array,
                        ..Column::default()
                    }),
                    None => Err(self.mixed()),
                }
            }
            _ => self.column(id),
        }
    }

    fn root_list(&mut self, id: Id) -> Result<Column> {
        let named = self.distinct_names(id).is_some();
        let found = if named {
            self.values(&[id])?
        } else {
            let children = self.arena.elements(id).to_vec();
            self.values(&children)?
        };
        let array = found.ok_or_else(|| self.mixed())?;
        if named {
            let column = Column {
                array,
                ..Column::default()
            };
            return Ok(column.of("value"));
        }
        self.with_attributes(id, Meaning::Plain, list_of_values(array))
    }

    /// The column of a vector, with its attributes kept or reported.
    pub(super) fn column(&mut self, id: Id) -> Result<Column> {
        if self.depth >= MOST_DEPTH {
            return Err(too_deep());
        }
        self.depth = self.depth.saturating_add(1);
        let column = self.bare(id);
        self.depth = self.depth.saturating_sub(1);
        let column = column?;
        if let Some((class, _)) = self.arena.altrep_class(id) {
            let class = escaped(class);
            self.losses
                .add(LossKind::AltrepExpanded, &class, "its values", 1)?;
        }
        let meaning = extra::meaning(self.arena, id);
        self.with_attributes(id, meaning, column)
    }

    fn bare(&mut self, id: Id) -> Result<Column> {
        let arena = self.arena;
        let meaning = extra::meaning(arena, id);
        if matches!(meaning, Meaning::Frame | Meaning::LongTime) {
            return self.frame(id, meaning);
        }
        let body = arena.data(id, None)?;
        match (meaning, body) {
            (Meaning::Factor, _) => self.factor(id, body),
            (Meaning::Date, _) => self.date(id, body),
            (Meaning::Time, _) => self.time(id, body),
            (Meaning::Duration | Meaning::Hms, _) => self.duration(id, body, meaning),
            (Meaning::Nanotime, Body::Double(values)) => Ok(self.nanotime(id, values)),
            (Meaning::Integer64, Body::Double(values)) => {
                Ok(Column::new(self.integers64(id, values)).of("integer64"))
            }
            (_, Body::Special(Special::Null)) => Ok(Column::default().of("NULL")),
            (_, Body::Logical(values)) => self.logicals(values),
            (_, Body::Integer(values)) => Ok(self.integers(id, values)),
            (_, Body::Double(values)) => self.doubles(id, values),
            (_, Body::Complex(values)) => self.complex(values),
            (_, Body::Raw(_)) => Ok(self.raw(id)),
            (_, Body::Character(strings)) => self.texts(id, strings),
            (_, Body::List(children)) => self.list_column(children),
            _ => Err(self.cannot(&format!("a value of type {}", arena.kind(id).name()))),
        }
    }

    /// A data frame, or the parts of a time, as a struct.
    fn frame(&mut self, id: Id, meaning: Meaning) -> Result<Column> {
        let (arena, children) = (self.arena, self.arena.elements(id));
        let frame = self.object.at(id);
        let names = frame.names().unwrap_or_default();
        let mut rows = (meaning == Meaning::Frame)
            .then(|| arena.rows(id))
            .flatten();
        let wanted = self.options.columns.as_ref().filter(|_| self.depth == 1);
        let (mut fields, mut columns, mut unnamed) = (Vec::new(), Vec::new(), 0_u64);
        for (at, child) in children.iter().enumerate() {
            let name = names.get(at).cloned().flatten().unwrap_or_default();
            if wanted.is_some_and(|wanted| !wanted.contains(&name)) {
                continue;
            }
            self.losses.enter_name(&name);
            if name.contains('\0') {
                return Err(self.cannot("a column whose name holds a zero byte"));
            }
            unnamed = unnamed.saturating_add(u64::from(matches!(names.get(at), None | Some(None))));
            let mut column = self.column(*child)?;
            let length = column.array.len();
            let whole = *rows.get_or_insert(length);
            if length != whole {
                column = self.folded(*child, column, whole)?;
            }
            self.losses.leave();
            fields.push(column.field(&name, self.options.metadata));
            columns.push(column.array);
        }
        if self.elements.is_none() || unnamed == 0 {
            let (r, kept) = ("a name that is NA or missing", "an empty one");
            self.losses
                .add_at("@names", LossKind::DuplicateNames, r, kept, unnamed)?;
        } else {
            self.note_element(LossKind::DuplicateNames, "names that are NA");
        }
        let (fields, rows) = (Fields::from(fields), rows.unwrap_or(0));
        let array = if columns.is_empty() {
            StructArray::new_empty_fields(rows, None)
        } else {
            StructArray::try_new(fields, columns, None).map_err(|error| refused(&error))?
        };
        let column = Column::new(array);
        Ok(match meaning {
            Meaning::LongTime => column.of("POSIXlt"),
            _ => column,
        })
    }

    /// A matrix in a data frame: each row a list of fixed size.
    fn folded(&mut self, id: Id, column: Column, rows: usize) -> Result<Column> {
        let length = column.array.len();
        let dim = self.object.at(id).dim().unwrap_or_default();
        let first = dim.first().and_then(|&n| usize::try_from(n).ok());
        let width = length.checked_div(rows).unwrap_or(0);
        let fits = first == Some(rows) && width.checked_mul(rows) == Some(length);
        let (true, Ok(size)) = (fits, i32::try_from(width)) else {
            let text = format!("a column of {length} values in a data frame of {rows} rows");
            return Err(self.cannot(&text));
        };
        let data = column.array.to_data();
        let mut turned = arrow_data::transform::MutableArrayData::new(vec![&data], false, length);
        for row in 0..rows {
            for at in (row..length).step_by(rows.max(1)) {
                let step = turned.try_extend(0, at, at.saturating_add(1));
                step.map_err(|error| refused(&error))?;
            }
        }
        let items = make_array(turned.freeze());
        let item = Arc::new(column.field("item", false));
        let array = FixedSizeListArray::try_new(item, size, items, None);
        let kind = column.notes.iter().find(|(key, _)| *key == TYPE_KEY);
        let kind = kind.map_or_else(String::new, |(_, kind)| format!(":{kind}"));
        let mut column = column;
        column.notes.retain(|(key, _)| *key != TYPE_KEY);
        column.array = Arc::new(array.map_err(|error| refused(&error))?);
        Ok(column.of(&format!("matrix{kind}")))
    }

    /// Keeps or reports the attributes that the type does not say.
    pub(super) fn with_attributes(
        &mut self,
        id: Id,
        meaning: Meaning,
        column: Column,
    ) -> Result<Column> {
        if self.arena.node(id).attributes.is_null() {
            return Ok(column);
        }
        let mut column = column;
        let mut own = extra::own_attributes(self.arena, id, meaning);
        let row_names = (meaning == Meaning::Frame).then(|| rows::given(self.arena, id));
        let row_names = row_names.flatten();
        if self.kept && self.elements.is_none() {
            let mut more = Vec::new();
            if let Some(names) = row_names {
                own.push((b"row.names", names));
            }
            let ordered = meaning == Meaning::Frame
                && self.arena.inherits(id, "data.table")
                && rows::ORDER
                    .iter()
                    .any(|name| self.arena.attribute(id, name).is_some());
            if ordered || row_names.is_some() {
                more.push((rows::DIGEST, self.digest(id)));
            }
            if self.arena.node(id).levels & extra::S4_BIT != 0 {
                more.push((extra::S4, Body::Logical(vec![1])));
            }
            if !own.is_empty() || !more.is_empty() {
                let text = key::attributes(self.object, &own, more, &mut self.losses)?;
                column.notes.push((ATTRIBUTES_KEY, text));
            }
            return Ok(column);
        }
        if let Some(names) = row_names {
            let (kind, count) = (LossKind::RowNamesDropped, self.arena.length(names));
            self.losses
                .add_at("@row.names", kind, "row names", "", count as u64)?;
        }
        let mut dropped = extra::kept(self.arena, id, meaning);
        dropped.extend(own);
        for (name, value) in dropped {
            self.dropped(name, value, meaning)?;
        }
        Ok(column)
    }

    pub(super) fn dropped(&mut self, name: &[u8], value: Id, meaning: Meaning) -> Result<()> {
        if matches!(meaning, Meaning::Frame | Meaning::LongTime) && name == b"names" {
            return Ok(());
        }
        if name == b".internal.selfref" {
            return self.losses.add_selfref();
        }
        let is_class = name == b"class";
        if is_class && meaning == Meaning::Frame {
            let classes = self.object.at(value).texts().unwrap_or_default();
            if classes.len() == 1 {
                return Ok(()); // data.frame, which a table is
            }
        }
        let kind = if is_class {
            LossKind::ClassDropped
        } else {
            LossKind::AttributeDropped
        };
        let name = escaped(name);
        if self.elements.is_some() {
            self.note_element(kind, &name);
            return Ok(());
        }
        let shown = self.object.at(value).summary();
        self.losses.add_at(&format!("@{name}"), kind, &shown, "", 1)
    }

    /// Counts what an element of a list lost.
    fn note_element(&mut self, kind: LossKind, name: &str) {
        let elements = self.elements.get_or_insert_default();
        let known = elements
            .iter_mut()
            .find(|(k, n, _)| *k == kind && *n == name);
        match known {
            Some((_, _, count)) => *count = count.saturating_add(1),
            None => elements.push((kind, name.to_string(), 1)),
        }
    }

    /// What the rows of a data frame are told by, of the columns that are made.
    fn digest(&self, id: Id) -> Body {
        let children = self.arena.elements(id);
        let wanted = self.options.columns.as_ref().filter(|_| self.depth == 0);
        let names = wanted.and_then(|_| self.object.at(id).names());
        let names = names.unwrap_or_default();
        let made = children.iter().enumerate().filter(|(at, _)| {
            let name = names.get(*at).cloned().flatten().unwrap_or_default();
            wanted.is_none_or(|wanted| wanted.contains(&name))
        });
        rows::digest(self.arena, made.map(|(_, child)| *child))
    }

    /// The error for a value that Arrow has no type for.
    pub(super) fn cannot(&self, what: &str) -> Error {
        let path = match self.losses.path() {
            "" => "the value itself",
            path => path,
        };
        let text = format!("{what} has no Arrow type, at {path}: take it as an R object instead");
        Error::new(ErrorKind::Unsupported, text)
    }

    fn mixed(&self) -> Error {
        self.cannot("a list of values of different types")
    }
}

pub(super) fn too_deep() -> Error {
    let text = format!("lists more than {MOST_DEPTH} deep in each other have no Arrow type");
    Error::new(ErrorKind::Limit, text)
}
