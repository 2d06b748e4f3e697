//! Lines of JSON as record batches.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyTuple};
use tare::ndjson::{ArrayLines, Change, ChangeKind, Finder, Reader, Structure};

use crate::error::to_py;
use crate::robject::{array_capsules, schema_capsule, schema_of};

/// Reads blocks of lines for the columns of a schema.
#[pyclass(frozen, module = "tare._tare")]
pub struct NdjsonReader(Mutex<Reader>);

#[pymethods]
impl NdjsonReader {
    #[new]
    fn new(schema: &Bound<'_, PyAny>) -> PyResult<Self> {
        let field = schema_of(schema)?;
        let DataType::Struct(fields) = field.data_type() else {
            return Err(PyTypeError::new_err("not the schema of a table"));
        };
        let reader = Reader::new(fields).map_err(|error| to_py(schema.py(), error))?;
        Ok(Self(Mutex::new(reader)))
    }

    fn read(&self, py: Python<'_>, lines: &[u8]) -> PyResult<NdjsonRows> {
        let read = py.detach(|| {
            let mut reader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            reader.read(lines)
        });
        let rows = read.map_err(|error| to_py(py, error))?;
        let field = Field::new("", rows.data_type().clone(), false);
        Ok(NdjsonRows(field, Arc::new(rows)))
    }

    /// What was not as the columns have it: column, path, `missing` or `whole`, and how often.
    fn changes(&self) -> Vec<Told> {
        let reader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reader.changes().into_iter().map(told).collect()
    }
}

/// Column, path, `missing` or `whole`, and how often.
type Told = (String, String, &'static str, u64);

fn told(change: Change) -> Told {
    let kind = match change.kind {
        ChangeKind::Missing => "missing",
        ChangeKind::Whole => "whole",
        _ => "other",
    };
    (change.column, change.path, kind, change.count)
}

/// Reads lines into columns, and finds out what types these have.
#[pyclass(frozen, module = "tare._tare")]
pub struct NdjsonFinder(Mutex<Finder>);

impl NdjsonFinder {
    fn with<T>(&self, act: impl FnOnce(&mut Finder) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl NdjsonFinder {
    #[new]
    #[pyo3(signature = (schema=None))]
    fn new(schema: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(schema) = schema else {
            return Ok(Self(Mutex::new(Finder::new())));
        };
        let field = schema_of(schema)?;
        let DataType::Struct(fields) = field.data_type() else {
            return Err(PyTypeError::new_err("not the schema of a table"));
        };
        Ok(Self(Mutex::new(Finder::of(fields))))
    }

    #[pyo3(signature = (lines, threads=None))]
    fn read(&self, py: Python<'_>, lines: &[u8], threads: Option<usize>) -> PyResult<()> {
        let threads = threads.unwrap_or_else(tare::compress::default_threads);
        let read = py.detach(|| self.with(|finder| finder.read(lines, threads)));
        read.map_err(|error| to_py(py, error))
    }

    #[pyo3(signature = (text, threads=None))]
    fn read_array(&self, py: Python<'_>, text: &[u8], threads: Option<usize>) -> PyResult<()> {
        let threads = threads.unwrap_or_else(tare::compress::default_threads);
        let read = py.detach(|| self.with(|finder| finder.read_array(text, threads)));
        read.map_err(|error| to_py(py, error))
    }

    /// The rows that were not taken before.
    fn take(&self, py: Python<'_>) -> PyResult<Vec<NdjsonRows>> {
        let taken = py.detach(|| self.with(Finder::take));
        let taken = taken.map_err(|error| to_py(py, error))?.into_iter();
        let rows = taken.map(|rows| {
            let field = Field::new("", rows.data_type().clone(), false);
            NdjsonRows(field, Arc::new(rows))
        });
        Ok(rows.collect())
    }

    /// The columns of the lines so far, as a schema of Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let fields = self.with(|finder| finder.fields());
        schema_capsule(py, &Field::new("", DataType::Struct(fields), false))
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.with(|finder| finder.rows())).unwrap_or(usize::MAX)
    }

    fn changes(&self) -> Vec<Told> {
        self.with(|finder| finder.changes().into_iter().map(told).collect())
    }
}

/// Rows, to be taken by any library that knows Arrow's C data interface.
#[pyclass(frozen, module = "tare._tare")]
pub struct NdjsonRows(pub Field, pub ArrayRef);

#[pymethods]
impl NdjsonRows {
    fn __len__(&self) -> usize {
        self.1.len()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema); // a wish, which producers may leave
        array_capsules(py, &self.0, &self.1)
    }
}

/// Passes over JSON text and counts what stands in it.
#[pyclass(frozen, module = "tare._tare")]
pub struct JsonStructure(Mutex<Structure>);

#[pymethods]
impl JsonStructure {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    #[pyo3(name = "pass_over")]
    fn pass(&self, py: Python<'_>, text: &[u8]) {
        py.detach(|| {
            let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            found.pass(text);
        });
    }

    fn counts(&self) -> Vec<(&'static str, i64)> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = found.counts();
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        vec![
            ("length", number(counts.length)),
            ("depth", counts.depth),
            ("depth_at", number(counts.depth_at)),
            ("open_levels", counts.open_levels),
            ("in_string", i64::from(counts.in_string)),
            ("strings", number(counts.strings)),
            ("keys", number(counts.keys)),
            ("numbers", number(counts.numbers)),
            ("words", number(counts.words)),
            ("structure", number(counts.structure)),
            ("space", number(counts.space)),
            ("values", number(counts.values)),
            ("key_count", number(counts.key_count)),
            ("lines", number(counts.lines)),
            ("in_line", i64::from(counts.in_line)),
        ]
    }
}

/// Lines of JSON, checked, without white space between tokens, and how many they are.
#[pyfunction]
pub fn json_elements<'py>(
    py: Python<'py>,
    lines: &[u8],
    separator: &[u8],
) -> PyResult<(Bound<'py, PyBytes>, u64)> {
    let made = py.detach(|| tare::ndjson::elements(lines, separator));
    let (text, count) = made.map_err(|error| to_py(py, error))?;
    Ok((PyBytes::new(py, &text), count))
}

/// Cuts the text of an array into lines.
#[pyclass(frozen, module = "tare._tare")]
pub struct JsonArrayLines(Mutex<ArrayLines>);

#[pymethods]
impl JsonArrayLines {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    #[pyo3(name = "pass_over")]
    fn pass<'py>(&self, py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let lines = py.detach(|| {
            let mut array = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            array.pass(text)
        });
        Ok(PyBytes::new(py, &lines.map_err(|error| to_py(py, error))?))
    }

    fn end(&self, py: Python<'_>) -> PyResult<()> {
        let mut array = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *array)
            .end()
            .map_err(|error| to_py(py, error))
    }
}
