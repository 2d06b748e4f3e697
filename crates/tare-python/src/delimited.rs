//! Text with delimiters as Arrow columns, and the fields and rows of it.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{Field, Fields};
use pyo3::prelude::*;
use tare::delimited::{self, Style};

use crate::ndjson::NdjsonRows;

/// Of each column: codes, zeros with a minus, and which words stand in how many fields.
type Told = (bool, bool, Vec<(usize, u64)>);

#[pyfunction]
#[pyo3(signature = (text, delimiter, words, *, quotes=true, escapes=false))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "a Python list is copied once in any case"
)]
pub fn look_at_fields(
    py: Python<'_>,
    text: &[u8],
    delimiter: u8,
    words: Vec<Vec<u8>>,
    quotes: bool,
    escapes: bool,
) -> Vec<Told> {
    let mut style = Style::new(delimiter);
    (style.quotes, style.escapes) = (quotes, escapes);
    let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
    let found = py.detach(|| delimited::look_at_fields(text, style, &words));
    let found = found.into_iter();
    found
        .map(|column| (column.codes, column.signed_zeros, column.words))
        .collect()
}

/// Of each column: whether it is codes, which words stand in how many fields, and the ends of whole numbers.
type ToldOfColumn = (bool, Vec<(usize, u64)>, Option<(i64, i64)>);

#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "Python lists are copied once in any case"
)]
pub fn read_columns(
    py: Python<'_>,
    text: &[u8],
    delimiter: u8,
    words: Vec<Vec<u8>>,
    names: Vec<String>,
) -> Option<(NdjsonRows, Vec<ToldOfColumn>)> {
    let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
    let columns = py.detach(|| delimited::read_columns(text, delimiter, &words))?;
    if columns.len() != names.len() {
        return None;
    }
    let (mut fields, mut arrays) = (Vec::new(), Vec::<ArrayRef>::new());
    let mut told = Vec::new();
    for (column, name) in columns.into_iter().zip(names) {
        fields.push(Field::new(name, column.values.data_type().clone(), true));
        arrays.push(column.values);
        told.push((column.codes, column.words, column.ends));
    }
    let rows = StructArray::try_new(Fields::from(fields), arrays, None).ok()?;
    let field = Field::new("", rows.data_type().clone(), false);
    Some((NdjsonRows(field, Arc::new(rows)), told))
}

#[pyfunction]
pub fn whole_rows(py: Python<'_>, text: &[u8], delimiter: u8) -> Option<(usize, bool)> {
    py.detach(|| delimited::whole_rows(text, delimiter))
}

#[pyfunction]
pub fn row_end(py: Python<'_>, text: &[u8]) -> usize {
    py.detach(|| delimited::row_end(text))
}

#[pyfunction]
pub fn lines_of_rows(py: Python<'_>, text: &[u8], delimiter: u8) -> Option<usize> {
    py.detach(|| delimited::lines_of_rows(text, delimiter))
}
