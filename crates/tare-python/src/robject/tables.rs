//! Files of R's package fst.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::IntoPyObjectExt;
use tare::compress::ReadAt;
use tare::fst::{self, Reader};
use tare::robject::frame;

use super::files::known_encoding;
use super::handle::Handle;
use super::options::option;
use super::report::{entries, Entry};
use super::sources::{from_source, memory, system, Place};
use crate::buffers::copied;
use crate::error::to_py;
use crate::signals::Signals;

/// Bytes that are enough to tell the format.
const HEAD: u64 = 4096;

/// Whether a file or bytes begin as an fst file does.
pub fn is_fst(place: &Place<'_>) -> tare::Result<bool> {
    match place {
        Place::Bytes(bytes) => Ok(fst::sniff(bytes)),
        Place::Path(path) => {
            let mut head = Vec::new();
            let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
            read.map_err(|error| system(error, path))?;
            Ok(fst::sniff(&head))
        }
    }
}

/// Names, kinds and units of the columns, rows and keys.
#[pyfunction]
pub fn fst_schema<'py>(source: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let py = source.py();
    let signals = Signals::default();
    let options = reading(&signals);
    let found = from_source(source, |place| match place {
        Place::Bytes(bytes) => Ok(Facts::of(&fst::open_with(*bytes, &options)?)),
        Place::Path(path) => {
            let file = File::open(path).map_err(|error| system(error, path))?;
            Ok(Facts::of(&fst::open_with(file, &options)?))
        }
    })?;
    let facts = found.map_err(|error| signals.raise(py, error))?;
    let columns = PyList::empty(py);
    for (name, type_name, classes, units, zone) in facts.columns {
        columns.append((name, type_name, classes, units, zone))?;
    }
    let said = PyDict::new(py);
    said.set_item("columns", columns)?;
    said.set_item("rows", facts.rows)?;
    said.set_item("keys", facts.keys)?;
    said.set_item("file_bytes", facts.file_bytes)?;
    Ok(said)
}

type ColumnFacts = (
    String,
    &'static str,
    Vec<&'static str>,
    Option<&'static str>,
    Option<String>,
);

/// What headers say.
struct Facts {
    columns: Vec<ColumnFacts>,
    rows: u64,
    keys: Vec<usize>,
    file_bytes: u64,
}

impl Facts {
    fn of<S: ReadAt + Sync>(reader: &Reader<S>) -> Self {
        let column = |column: &fst::ColumnInfo| {
            let classes = column.kind.classes().to_vec();
            let units = column.scale.units();
            let zone = column.zone.clone();
            (
                column.name.clone(),
                column.kind.type_name(),
                classes,
                units,
                zone,
            )
        };
        Self {
            columns: reader.schema().iter().map(column).collect(),
            rows: reader.rows(),
            keys: reader.keys().to_vec(),
            file_bytes: reader.file_bytes(),
        }
    }
}

/// Columns and rows of a file as a data frame.
#[pyfunction]
#[pyo3(signature = (source, columns=None, rows=None, options=None))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "what comes from Python comes as a value"
)]
pub fn fst_read(
    source: &Bound<'_, PyAny>,
    columns: Option<Vec<String>>,
    rows: Option<(u64, u64)>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Handle> {
    let py = source.py();
    let signals = Signals::default();
    let mut reader = reading(&signals);
    let mut encoding: Option<String> = None;
    if let Some(options) = options {
        encoding = option(options, "encoding")?;
        known_encoding(encoding.as_deref()).map_err(|error| to_py(py, error))?;
        reader.memory_budget = option(options, "memory_budget")?.or(reader.memory_budget);
        reader.max_ratio = option(options, "max_ratio")?.or(reader.max_ratio);
        reader.threads = option(options, "threads")?;
    }
    let names: Option<Vec<&str>> = columns
        .as_ref()
        .map(|names| names.iter().map(String::as_str).collect());
    let read = from_source(source, |place| {
        let (names, rows) = (names.as_deref(), rows.map(|(start, end)| start..end));
        let table = match place {
            Place::Bytes(bytes) => fst::open_with(*bytes, &reader)?.read(names, rows),
            Place::Path(path) => {
                let file = File::open(path).map_err(|error| system(error, path))?;
                fst::open_with(file, &reader)?.read(names, rows)
            }
        };
        frame::from_fst(table?).map(|object| object.with_unmarked(encoding))
    })?;
    read.map(Handle).map_err(|error| signals.raise(py, error))
}

/// Writes a data frame.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "what comes from Python comes as a value"
)]
pub fn fst_write<'py>(
    value: &Bound<'py, Handle>,
    path: Option<PathBuf>,
    options: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, Vec<Entry>)> {
    let py = value.py();
    let signals = Signals::default();
    let strict = option(options, "strict")?.unwrap_or(false);
    let keys = option::<Vec<String>>(options, "keys")?;
    let mut writing = fst::WriteOptions {
        compress: option(options, "compress")?.unwrap_or(50),
        threads: option(options, "threads")?,
        cancel: Some(signals.token()),
        ..fst::WriteOptions::default()
    };
    let object = &value.get().0;
    let written = py.detach(|| {
        let (table, losses) = frame::to_fst(object, strict)?;
        writing.keys = keys.map(|keys| positions(&table, &keys)).transpose()?;
        if let Some(path) = &path {
            let file = File::create(path).map_err(|error| system(error, path))?;
            return Ok((fst::write(&table, file, &writing)?, None, losses));
        }
        let mut sink = memory();
        let size = fst::write(&table, &mut sink, &writing)?;
        Ok((size, Some(sink.into_inner()), losses))
    });
    let (size, bytes, losses) = written.map_err(|error| signals.raise(py, error))?;
    let said = match bytes {
        Some(bytes) => copied(py, &bytes)?.into_any(),
        None => size.into_bound_py_any(py)?,
    };
    Ok((said, entries(losses)))
}

/// Where the columns of some names stand.
fn positions(table: &fst::Table, names: &[String]) -> tare::Result<Vec<usize>> {
    let place = |name: &String| {
        let found = table.columns.iter().position(|column| column.name == *name);
        found.ok_or_else(|| {
            let text = format!("no column {name:?} to be a key");
            tare::Error::new(tare::ErrorKind::Usage, text).with_format("fst")
        })
    };
    names.iter().map(place).collect()
}

fn reading(signals: &Signals) -> fst::ReadOptions {
    fst::ReadOptions {
        cancel: Some(signals.token()),
        ..fst::ReadOptions::default()
    }
}
