//! Arrow's strings, dictionaries, structs and lists as R's vectors, factors, data frames and lists.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{make_array, Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields};

use super::super::loss::LossKind;
use super::super::model::{Body, Id, NA_INT};
use super::super::Strings;
use super::flat::refused;
use super::from::{gather, na, taken, From, Made};
use super::keyed::{Key, Notes};
use crate::{Error, ErrorKind, Result};

impl From<'_> {
    pub(super) fn strings(&mut self, chunks: &[ArrayRef]) -> Result<Made> {
        let rows = chunks.iter().map(arrow_array::Array::len).sum();
        let bytes = chunks.iter().map(text_bytes).sum();
        let mut strings = Strings::with_capacity(rows, bytes);
        for chunk in chunks {
            for row in 0..chunk.len() {
                match text_at(chunk, row) {
                    None => strings.push_na(),
                    Some(text) if memchr::memchr(0, text.as_bytes()).is_some() => {
                        return Err(self.zero(strings.len()));
                    }
                    Some(text) => strings.push_str(text),
                }
            }
        }
        self.vector(Body::Character(Box::new(strings)))
    }

    fn zero(&self, at: usize) -> Error {
        let place = at.saturating_add(1);
        let path = self.losses.path();
        let text = format!(
            "string {place}{}{path} holds a zero byte, which no string of R can: cast it to binary",
            if path.is_empty() { "" } else { " of " }
        );
        Error::new(ErrorKind::Unsupported, text)
    }

    /// A factor where the values are strings; else the values themselves.
    pub(super) fn dictionary(
        &mut self,
        field: &Field,
        values: &DataType,
        chunks: &[ArrayRef],
        notes: &Notes,
        key: &Key,
    ) -> Result<Made> {
        let texts = matches!(
            values,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        );
        if texts {
            return self.factor_from(field, chunks);
        }
        let mut flat = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            flat.extend(dictionary_values(chunk)?);
        }
        self.losses
            .add(LossKind::TypeChanged, "dictionary", "its values", 1)?;
        let inner = Field::new(field.name(), values.clone(), true);
        self.bare(&inner, &flat, notes, key)
    }

    fn factor_from(&mut self, field: &Field, chunks: &[ArrayRef]) -> Result<Made> {
        let mut levels: Vec<String> = Vec::new();
        let mut known: HashMap<String, i32> = HashMap::new();
        let mut codes = Vec::with_capacity(chunks.iter().map(arrow_array::Array::len).sum());
        for chunk in chunks {
            let Some(dictionary) = chunk.as_any_dictionary_opt() else {
                continue;
            };
            let values = dictionary.values();
            let mut places = Vec::with_capacity(values.len());
            for at in 0..values.len() {
                let Some(text) = text_at(values, at) else {
                    places.push(NA_INT);
                    continue;
                };
                if text.contains('\0') {
                    return Err(self.zero(at));
                }
                let next = i32::try_from(levels.len().saturating_add(1));
                let next = next.map_err(|_| self.cannot("more than 2,147,483,646 levels"))?;
                let place = *known.entry(text.to_string()).or_insert(next);
                if place == next {
                    levels.push(text.to_string());
                }
                places.push(place);
            }
            let keys = dictionary.normalized_keys_of();
            let code = |at: Option<usize>| at.and_then(|at| places.get(at).copied());
            codes.extend(keys.into_iter().map(|at| code(at).unwrap_or(NA_INT)));
        }
        let id = self.build.push(Body::Integer(codes))?;
        let levels = self.build.strings(levels.iter().map(String::as_str))?;
        let mut made = Made::plain(id);
        made.attributes.push((Cow::Borrowed("levels"), levels));
        let ordered = field.dict_is_ordered() == Some(true);
        self.classed(
            made,
            if ordered {
                &["ordered", "factor"]
            } else {
                &["factor"]
            },
        )
    }

    /// A data frame, or what else was made a struct.
    pub(super) fn structs(
        &mut self,
        field: &Field,
        chunks: &[ArrayRef],
        notes: &Notes,
        key: &Key,
    ) -> Result<Made> {
        let DataType::Struct(fields) = field.data_type() else {
            return Err(self.cannot("a struct without fields"));
        };
        if notes.kind == "complex" && fields.len() == 2 {
            return self.complexes(chunks);
        }
        let missing: usize = chunks.iter().map(arrow_array::Array::null_count).sum();
        let (r, kept) = ("missing row", "a row of NA");
        self.losses
            .add(LossKind::IdentityLost, r, kept, missing as u64)?;
        let mut columns = Vec::with_capacity(fields.len());
        for (at, inner) in fields.iter().enumerate() {
            let mut parts = Vec::with_capacity(chunks.len());
            for chunk in chunks {
                let array = chunk.as_struct();
                parts.push(masked(array.column(at), array.nulls())?);
            }
            self.losses.enter_name(inner.name());
            columns.push(self.column(inner, &parts, &key.column(at, inner.name()))?);
            self.losses.leave();
        }
        let rows: usize = chunks.iter().map(arrow_array::Array::len).sum();
        if matches!(notes.kind.as_str(), "list" | "value") {
            return self.records(fields, &columns, chunks, notes.kind == "value");
        }
        let id = self.build.push(Body::List(columns))?;
        let names = self
            .build
            .strings(fields.iter().map(|field| field.name().as_str()))?;
        let mut made = Made::plain(id);
        made.attributes.push((Cow::Borrowed("names"), names));
        if notes.kind == "POSIXlt" && key.has_class() {
            return Ok(made);
        }
        let rows = i32::try_from(rows).map_err(|_| self.cannot("more than 2^31 rows"))?;
        let made = if key.is_tibble() {
            self.classed(made, &["tbl_df", "tbl", "data.frame"])
        } else {
            self.classed(made, &["data.frame"])
        };
        let mut made = made?;
        let automatic = Body::Integer(vec![NA_INT, rows.wrapping_neg()]);
        let automatic = match rows {
            0 => Body::Integer(Vec::new()),
            _ => automatic,
        };
        let row_names = self.build.push(automatic)?;
        made.attributes
            .push((Cow::Borrowed("row.names"), row_names));
        Ok(made)
    }

    /// Rows that were lists with names: each a list again, `NULL` where it is missing.
    fn records(
        &mut self,
        fields: &Fields,
        columns: &[Id],
        chunks: &[ArrayRef],
        one: bool,
    ) -> Result<Made> {
        let present = chunks
            .iter()
            .flat_map(|chunk| (0..chunk.len()).map(|at| chunk.is_valid(at)));
        let mut lists = Vec::new();
        for (row, here) in present.enumerate() {
            if !here {
                lists.push(Id::NULL);
                continue;
            }
            let arena = self.build.arena();
            let part = |id: &Id| arena.elements(*id).get(row).copied().unwrap_or(Id::NULL);
            let values = columns.iter().map(part).collect();
            let list = self.build.push(Body::List(values))?;
            let names = self
                .build
                .strings(fields.iter().map(|field| field.name().as_str()))?;
            self.build.set_attributes(list, &[("names", names)])?;
            lists.push(list);
        }
        match lists.as_slice() {
            [list] if one => Ok(Made::plain(*list)),
            _ => self.vector(Body::List(lists)),
        }
    }

    fn complexes(&mut self, chunks: &[ArrayRef]) -> Result<Made> {
        let mut parts: [Vec<ArrayRef>; 2] = [Vec::new(), Vec::new()];
        for chunk in chunks {
            let array = chunk.as_struct();
            for (at, part) in parts.iter_mut().enumerate() {
                part.push(masked(array.column(at), array.nulls())?);
            }
        }
        let [re, im] = parts.map(|part| gather::<Float64Type, _>(&part, na(), |value| value));
        let pairs = re.into_iter().zip(im).map(|(re, im)| [re, im]);
        self.vector(Body::Complex(pairs.collect()))
    }

    /// A list with a vector for each row; a matrix, where it was one.
    pub(super) fn lists(
        &mut self,
        field: &Field,
        chunks: &[ArrayRef],
        notes: &Notes,
        key: &Key,
    ) -> Result<Made> {
        if let (DataType::FixedSizeList(item, width), true) = (field.data_type(), notes.matrix) {
            return self.matrix(item, *width, chunks, notes, key);
        }
        let records = matches!(field.data_type(), DataType::Map(..));
        if records {
            self.losses
                .add(LossKind::TypeChanged, "map", "list of data frames", 1)?;
        }
        let item = match field.data_type() {
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::Map(item, _) => Arc::clone(item),
            _ => return Err(self.cannot("a list without items")),
        };
        let key = self.items_key(item.data_type(), chunks, key)?;
        let mut items = Vec::with_capacity(chunks.iter().map(arrow_array::Array::len).sum());
        for chunk in chunks {
            for row in 0..chunk.len() {
                items.push(match list_at(chunk, row) {
                    None => Id::NULL,
                    Some(values) => self.column(&item, &[values], &key)?,
                });
            }
        }
        self.vector(Body::List(items))
    }

    /// Rows of fixed size as the columns of a matrix.
    fn matrix(
        &mut self,
        item: &FieldRef,
        width: i32,
        chunks: &[ArrayRef],
        notes: &Notes,
        key: &Key,
    ) -> Result<Made> {
        let width = usize::try_from(width).unwrap_or(0);
        let rows: usize = chunks.iter().map(arrow_array::Array::len).sum();
        let mut data = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let array = chunk.as_fixed_size_list();
            data.push(
                array
                    .values()
                    .slice(
                        array.value_offset(0).try_into().unwrap_or(0),
                        array.len().saturating_mul(width),
                    )
                    .to_data(),
            );
        }
        let total = rows.saturating_mul(width);
        let sources = data.iter().collect();
        let mut turned = MutableArrayData::new(sources, true, total);
        for column in 0..width {
            for (at, part) in data.iter().enumerate() {
                for place in (column..part.len()).step_by(width) {
                    let step = turned.try_extend(at, place, place.saturating_add(1));
                    step.map_err(|error| refused(&error))?;
                }
            }
        }
        let plain = Field::new("item", item.data_type().clone(), true);
        let plain = plain.with_metadata(notes.item_metadata());
        let inner = key.width().and_then(|width| width.child(0));
        let values = make_array(turned.freeze());
        let id = self.column(&plain, &[values], &Key::of_width(inner))?;
        let mut made = Made::plain(id);
        // The vector has attributes of its own kind; dimensions come with those put back.
        let own: Vec<(String, Id)> = {
            let arena = self.build.arena();
            let all = arena.attributes(id);
            all.map(|(name, value)| (super::super::text::escaped(name), value))
                .collect()
        };
        made.attributes.extend(
            own.into_iter()
                .map(|(name, value)| (Cow::Owned(name), value)),
        );
        if !notes.has_attributes() {
            let sizes = [rows, width].map(|n| i32::try_from(n).unwrap_or(NA_INT));
            let dim = self.build.push(Body::Integer(sizes.to_vec()))?;
            made.attributes.push((Cow::Borrowed("dim"), dim));
        }
        Ok(made)
    }
}

/// The keys of a dictionary as positions, None for a missing one.
trait Keys {
    fn normalized_keys_of(&self) -> Vec<Option<usize>>;
}

impl Keys for dyn arrow_array::array::AnyDictionaryArray + '_ {
    fn normalized_keys_of(&self) -> Vec<Option<usize>> {
        let keys = self.keys();
        if self.values().is_empty() {
            return vec![None; keys.len()]; // normalized_keys wants a value to point at
        }
        let places = self.normalized_keys().into_iter().enumerate();
        places
            .map(|(row, place)| keys.is_valid(row).then_some(place))
            .collect()
    }
}

/// The values of a dictionary, each as often as its rows say; None for no dictionary.
pub(super) fn dictionary_values(array: &ArrayRef) -> Result<Option<ArrayRef>> {
    let Some(dictionary) = array.as_any_dictionary_opt() else {
        return Ok(None);
    };
    let keys = dictionary.normalized_keys_of();
    taken(dictionary.values(), keys.into_iter(), array.len()).map(Some)
}

/// An array that is missing where the struct around it is, too.
pub(super) fn masked(array: &ArrayRef, outer: Option<&NullBuffer>) -> Result<ArrayRef> {
    let Some(outer) = outer.filter(|nulls| nulls.null_count() > 0) else {
        return Ok(Arc::clone(array));
    };
    let kept = matches!(
        array.data_type(),
        DataType::Null | DataType::Union(..) | DataType::RunEndEncoded(..)
    );
    if kept {
        return Ok(Arc::clone(array));
    }
    let both = NullBuffer::union(Some(outer), array.nulls());
    let mut data = array.to_data();
    if data.offset() != 0 {
        // Marks of missing values begin where the buffers do: a slice is copied.
        let mut whole = MutableArrayData::new(vec![&data], false, data.len());
        let step = whole.try_extend(0, 0, data.len());
        step.map_err(|error| refused(&error))?;
        data = whole.freeze();
    }
    let data = data.into_builder().nulls(both).build();
    Ok(make_array(data.map_err(|error| refused(&error))?))
}

fn text_at(array: &ArrayRef, row: usize) -> Option<&str> {
    if array.is_null(row) {
        return None;
    }
    if let Some(array) = array.as_string_opt::<i32>() {
        return Some(array.value(row));
    }
    if let Some(array) = array.as_string_opt::<i64>() {
        return Some(array.value(row));
    }
    Some(array.as_string_view_opt()?.value(row))
}

fn text_bytes(array: &ArrayRef) -> usize {
    if let Some(array) = array.as_string_opt::<i32>() {
        return array.value_data().len();
    }
    array
        .as_string_opt::<i64>()
        .map_or(0, |array| array.value_data().len())
}

/// The values of a row of lists; None where it is missing.
pub(super) fn list_at(array: &ArrayRef, row: usize) -> Option<ArrayRef> {
    if array.is_null(row) {
        return None;
    }
    if let Some(array) = array.as_list_opt::<i32>() {
        return Some(array.value(row));
    }
    if let Some(array) = array.as_list_opt::<i64>() {
        return Some(array.value(row));
    }
    if let Some(array) = array.as_fixed_size_list_opt() {
        return Some(array.value(row));
    }
    if let Some(array) = array.as_list_view_opt::<i32>() {
        return Some(array.value(row));
    }
    if let Some(array) = array.as_list_view_opt::<i64>() {
        return Some(array.value(row));
    }
    let entries: ArrayRef = Arc::new(array.as_map_opt()?.value(row));
    Some(entries)
}
