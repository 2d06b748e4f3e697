//! Columns of values that hold others: objects and lists.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use hashbrown::HashMap;

use super::column::Column;
use super::found::{within, Found, Names};
use super::texts::{append, offset};
use super::{internal, many, space, Change, ChangeKind, Types};
use crate::blit::{cut, plain_end, wrong};
use crate::{Error, ErrorKind, Result};

/// Objects of given names: a column for each.
#[derive(Debug)]
pub(super) struct Object {
    fields: Vec<FieldRef>,
    columns: Vec<Column>,
    /// Each name as lines have it, with the quote behind it; None if it needs escapes.
    quoted: Vec<Option<Box<[u8]>>>,
    places: HashMap<Box<[u8]>, usize>,
    /// For each column the last row, counted from one, that had a value for it.
    seen: Vec<usize>,
    /// For each column how many objects had no such name.
    missing: Vec<u64>,
    rows: usize,
    /// Those of the rows that are no null.
    objects: u64,
    valid: NullBufferBuilder,
}

/// Names of objects, where lines tell them.
const MOST_NAMES: usize = 1 << 12;

impl Object {
    pub(super) fn new(fields: &Fields, level: usize) -> Result<Self> {
        let columns = fields.iter().map(|field| {
            let made = Column::new(field.data_type(), level.saturating_add(1));
            made.map_err(|error| within(error, field.name()))
        });
        let columns = columns.collect::<Result<_>>()?;
        let names = || fields.iter().map(|field| field.name().as_bytes());
        let places: HashMap<_, _> = names().map(Box::from).zip(0..).collect();
        if places.len() < fields.len() {
            let text = "two columns of one name are not read from lines of JSON";
            return Err(Error::new(ErrorKind::Unsupported, text).with_format("ndjson"));
        }
        let quoted = names().map(|name| {
            let is_plain = plain_end(name, 0).0 == name.len();
            is_plain.then(|| [name, b"\""].concat().into())
        });
        Ok(Self {
            fields: fields.iter().cloned().collect(),
            columns,
            quoted: quoted.collect(),
            places,
            seen: vec![0; fields.len()],
            missing: vec![0; fields.len()],
            rows: 0,
            objects: 0,
            valid: NullBufferBuilder::new(0),
        })
    }

    pub(super) fn fields(&self) -> Fields {
        self.fields.iter().cloned().collect()
    }

    /// Takes the object behind a brace; gives where the text goes on behind the one that ends it.
    pub(super) fn take(&mut self, text: &[u8], at: usize, types: Types<'_>) -> Result<usize> {
        self.rows = self.rows.saturating_add(1);
        self.objects = self.objects.saturating_add(1);
        let mut at = space(text, at);
        let (mut likely, mut found) = (0, 0_usize);
        if text.get(at) != Some(&b'}') {
            loop {
                let (place, value) = self.name(text, at, likely, types)?;
                let before = self.seen.get_mut(place);
                if before.is_some_and(|row| std::mem::replace(row, self.rows) == self.rows) {
                    return Err(within(
                        wrong("the name stands twice", at),
                        self.named(place),
                    ));
                }
                found = found.wrapping_add(1);
                let Some(column) = self.columns.get_mut(place) else {
                    return Err(wrong("a name without a column", at));
                };
                let end = column.take(text, value, types.within());
                let end = end.map_err(|error| within(error, self.named(place)))?;
                likely = place.wrapping_add(1);
                at = space(text, end);
                match text.get(at) {
                    Some(b',') => at = space(text, at.wrapping_add(1)),
                    Some(b'}') => break,
                    Some(_) => return Err(wrong("',' or '}' is missing", at)),
                    None => return Err(cut(at)),
                }
            }
        }
        at = at.wrapping_add(1);
        let lacking = self.columns.len().saturating_sub(found);
        if lacking > 0 {
            types.fill(lacking)?;
            let columns = self.columns.iter_mut().zip(&mut self.missing);
            for ((column, missing), seen) in columns.zip(&self.seen) {
                if *seen != self.rows {
                    *missing = missing.wrapping_add(1);
                    column.push_null(types.within())?;
                }
            }
        }
        self.valid.append_non_null();
        Ok(at)
    }

    /// The column of the name at a place, and where its value begins; most names come in the order of the columns.
    #[inline]
    fn name(
        &mut self,
        text: &[u8],
        at: usize,
        likely: usize,
        types: Types<'_>,
    ) -> Result<(usize, usize)> {
        let start = at.wrapping_add(1);
        if text.get(at) != Some(&b'"') {
            return Err(match text.get(at) {
                None => cut(at),
                Some(_) => wrong("a name is missing", at),
            });
        }
        let rest = text.get(start..).unwrap_or_default();
        let (place, end) = match self.quoted.get(likely) {
            Some(Some(name)) if rest.starts_with(name) => (likely, start.wrapping_add(name.len())),
            _ => self.other_name(text, start, types)?,
        };
        let colon = space(text, end);
        match text.get(colon) {
            Some(b':') => Ok((place, space(text, colon.wrapping_add(1)))),
            Some(_) => Err(wrong("':' is missing", colon)),
            None => Err(cut(colon)),
        }
    }

    #[inline(never)]
    fn other_name(
        &mut self,
        text: &[u8],
        start: usize,
        types: Types<'_>,
    ) -> Result<(usize, usize)> {
        let end = plain_end(text, start).0;
        let run = text.get(start..end).unwrap_or_default();
        if let (Some(&place), Some(b'"')) = (self.places.get(run), text.get(end)) {
            return Ok((place, end.wrapping_add(1)));
        }
        let mut name = Vec::new();
        let end = append(&mut name, text, start)?;
        if let Some(&place) = self.places.get(&name[..]) {
            return Ok((place, end));
        }
        if types.are_found() {
            return Ok((self.add(name, types)?, end));
        }
        let name: String = String::from_utf8_lossy(&name).chars().take(60).collect();
        Err(wrong(&format!("there is no column {name:?}"), start))
    }

    /// A column for a name that no object had before; gives its place.
    fn add(&mut self, name: Vec<u8>, types: Types<'_>) -> Result<usize> {
        let place = self.columns.len();
        if place >= MOST_NAMES {
            return Err(many("names in objects"));
        }
        let before = self.rows.saturating_sub(1);
        types.fill(before)?;
        let Ok(text) = std::str::from_utf8(&name) else {
            return Err(wrong("bytes that are not UTF-8", 0));
        };
        if name.contains(&0) {
            let text = "a name with a NUL, which Arrow's C interface does not have";
            return Err(Error::new(ErrorKind::Unsupported, text).with_format("ndjson"));
        }
        let field = Field::new(text, DataType::Null, true);
        self.fields.push(Arc::new(field));
        let is_plain = plain_end(&name, 0).0 == name.len();
        let quoted = is_plain.then(|| [&name[..], b"\""].concat().into());
        self.quoted.push(quoted);
        self.places.insert(name.into(), place);
        self.columns.push(Column::Null(before));
        self.seen.push(0);
        self.missing.push(self.objects.saturating_sub(1));
        Ok(place)
    }

    /// What the values of an array that came of these columns were, since the last time, by their names.
    pub(super) fn found(&mut self, array: &StructArray) -> Result<Names> {
        let objects = array.len().saturating_sub(array.null_count()) as u64;
        self.objects = 0;
        let mut names = Names::default();
        let columns = self.columns.iter_mut().zip(&mut self.missing);
        let columns = columns.zip(self.fields.iter().zip(array.columns()));
        for ((column, missing), (field, values)) in columns {
            let present = objects.saturating_sub(std::mem::take(missing));
            let found = column.found(values, present);
            let found = found.map_err(|error| within(error, field.name()))?;
            names.push(field.name(), found);
        }
        Ok(names)
    }

    fn named(&self, place: usize) -> &str {
        self.fields.get(place).map_or("", |field| field.name())
    }

    /// What was not as its columns have it; `above` are the column and the path in it that these are below, if they
    /// are not those of the table.
    pub(super) fn changes(&self, above: Option<(&str, &str)>, found: &mut Vec<Change>) {
        let columns = self.fields.iter().zip(&self.columns).zip(&self.missing);
        for ((field, column), &missing) in columns {
            let name = field.name();
            let (of, path) = match above {
                None => (name.as_str(), name.clone()),
                Some((of, path)) => (of, format!("{path}.{name}")),
            };
            if missing > 0 {
                found.push(Change {
                    column: of.to_owned(),
                    path: path.clone(),
                    kind: ChangeKind::Missing,
                    count: missing,
                });
            }
            column.changes(of, &path, found);
        }
    }

    pub(super) fn push_null(&mut self, types: Types<'_>) -> Result<()> {
        types.fill(self.columns.len())?;
        self.rows = self.rows.saturating_add(1);
        self.valid.append_null();
        let mut columns = self.columns.iter_mut();
        columns.try_for_each(|column| column.push_null(types.within()))
    }

    pub(super) fn finish(&mut self) -> Result<StructArray> {
        let rows = std::mem::take(&mut self.rows);
        self.seen.fill(0);
        let valid = self.valid.finish();
        let arrays = self.columns.iter_mut().map(Column::finish);
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        // Where types are found, those of the columns are others than when their names were.
        if (self.fields.iter().zip(&arrays))
            .any(|(field, array)| field.data_type() != array.data_type())
        {
            let fields = self.fields.iter().zip(&arrays);
            self.fields = fields.map(|(field, array)| of_type(field, array)).collect();
        }
        let fields = self.fields();
        StructArray::try_new_with_length(fields, arrays, valid, rows)
            .map_err(|error| internal(&error))
    }
}

/// Lists: the column of all their values, and where each list ends.
#[derive(Debug)]
pub(super) struct List {
    field: FieldRef,
    values: Column,
    count: usize,
    offsets: Vec<i32>,
    valid: NullBufferBuilder,
}

impl List {
    pub(super) fn new(field: &FieldRef, level: usize) -> Result<Self> {
        Ok(Self {
            field: field.clone(),
            values: Column::new(field.data_type(), level.saturating_add(1))?,
            count: 0,
            offsets: vec![0],
            valid: NullBufferBuilder::new(0),
        })
    }

    /// Takes the list behind a bracket; gives where the text goes on behind the one that ends it.
    pub(super) fn take(&mut self, text: &[u8], at: usize, types: Types<'_>) -> Result<usize> {
        let mut at = space(text, at);
        if text.get(at) != Some(&b']') {
            loop {
                at = space(text, self.values.take(text, at, types.within())?);
                self.count = self.count.saturating_add(1);
                match text.get(at) {
                    Some(b',') => at = space(text, at.wrapping_add(1)),
                    Some(b']') => break,
                    Some(_) => return Err(wrong("',' or ']' is missing", at)),
                    None => return Err(cut(at)),
                }
            }
        }
        self.offsets.push(offset(self.count)?);
        self.valid.append_non_null();
        Ok(at.wrapping_add(1))
    }

    /// What the values of all lists of an array that came of this column were, since the last time.
    pub(super) fn found(&mut self, array: &ArrayRef) -> Result<Found> {
        let Some(array) = array.as_list_opt::<i32>() else {
            return Ok(Found::default());
        };
        let items = array.values();
        self.values.found(items, items.len() as u64)
    }

    pub(super) fn changes(&self, of: &str, path: &str, found: &mut Vec<Change>) {
        self.values.changes(of, &format!("{path}[]"), found);
    }

    pub(super) fn push_null(&mut self) -> Result<()> {
        self.offsets.push(offset(self.count)?);
        self.valid.append_null();
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        self.count = 0;
        let offsets = std::mem::replace(&mut self.offsets, vec![0]);
        let values = self.values.finish()?;
        if self.field.data_type() != values.data_type() {
            self.field = of_type(&self.field, &values);
        }
        let array = ListArray::try_new(
            self.field.clone(),
            OffsetBuffer::new(ScalarBuffer::from(offsets)),
            values,
            self.valid.finish(),
        );
        Ok(Arc::new(array.map_err(|error| internal(&error))?))
    }
}

/// A field with the type of an array.
fn of_type(field: &FieldRef, array: &ArrayRef) -> FieldRef {
    let field = Field::clone(field).with_data_type(array.data_type().clone());
    Arc::new(field)
}
