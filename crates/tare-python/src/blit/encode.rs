//! Documents from Python objects and from JSON text.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use tare::blit::{Options, Surrogates, Value, View, Writer};

use super::options::Writing;
use super::raw::Seen;
use super::walk::Walk;
use crate::buffers::{copied, with_bytes};
use crate::error::to_py;

/// From this many bytes on the GIL is released.
const LONG: usize = 64 << 10;

#[pyfunction]
#[pyo3(signature = (obj, *, default = None, canonical = false, layout = None, numbers = None,
    duplicates = None, surrogates = None, checksum = None, aligned = false))]
#[allow(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn encode<'py>(
    obj: &Bound<'py, PyAny>,
    default: Option<Bound<'py, PyAny>>,
    canonical: bool,
    layout: Option<&str>,
    numbers: Option<&str>,
    duplicates: Option<&str>,
    surrogates: Option<&str>,
    checksum: Option<bool>,
    aligned: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = obj.py();
    let options = Writing {
        canonical,
        layout,
        numbers,
        duplicates,
        surrogates,
        checksum,
        aligned,
    };
    let mut writer = Writer::new(options.options(py)?).map_err(|error| to_py(py, error))?;
    let keep = surrogates == Some("keep");
    Walk::new(py, &mut writer, default, keep)
        .value(Seen::of(obj))
        .map_err(|fault| fault.raise(py))?;
    let document = writer.finish().map_err(|error| to_py(py, error))?;
    copied(py, &document)
}

#[pyfunction]
#[pyo3(signature = (data, *, canonical = false, layout = None, numbers = None,
    duplicates = None, surrogates = None, checksum = None, aligned = false))]
#[allow(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn from_json<'py>(
    data: &Bound<'py, PyAny>,
    canonical: bool,
    layout: Option<&str>,
    numbers: Option<&str>,
    duplicates: Option<&str>,
    surrogates: Option<&str>,
    checksum: Option<bool>,
    aligned: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = Writing {
        canonical,
        layout,
        numbers,
        duplicates,
        surrogates,
        checksum,
        aligned,
    };
    of_text(data, &options, tare::blit::from_json)
}

#[pyfunction]
#[pyo3(signature = (data, *, canonical = false, layout = None, numbers = None,
    duplicates = None, surrogates = None, checksum = None, aligned = false))]
#[allow(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn from_ndjson<'py>(
    data: &Bound<'py, PyAny>,
    canonical: bool,
    layout: Option<&str>,
    numbers: Option<&str>,
    duplicates: Option<&str>,
    surrogates: Option<&str>,
    checksum: Option<bool>,
    aligned: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = Writing {
        canonical,
        layout,
        numbers,
        duplicates,
        surrogates,
        checksum,
        aligned,
    };
    of_text(data, &options, tare::blit::from_ndjson)
}

/// A document of text: bytes or str.
fn of_text<'py>(
    data: &Bound<'py, PyAny>,
    options: &Writing<'_>,
    parse: fn(&[u8], &Options) -> tare::Result<Vec<u8>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = data.py();
    let options = options.options(py)?;
    let work = |text: &[u8]| {
        let document = if text.len() < LONG {
            parse(text, &options)
        } else {
            py.detach(|| parse(text, &options))
        };
        copied(py, &document.map_err(|error| to_py(py, error))?)
    };
    match data.cast::<PyString>() {
        Ok(text) => work(text.to_str()?.as_bytes()),
        Err(_) => with_bytes(data, work),
    }
}

/// A value of a document as one of its own.
pub fn alone(view: &View<'_>, value: &Value<'_>, mut options: Options) -> tare::Result<Vec<u8>> {
    if view.has_surrogates() {
        options.surrogates = Surrogates::Keep;
    }
    let mut writer = Writer::new(options)?;
    again(&mut writer, view, value)?;
    writer.finish()
}

/// Writes a value of a document.
pub fn again(writer: &mut Writer<'_>, view: &View<'_>, value: &Value<'_>) -> tare::Result<()> {
    match value {
        Value::Null => writer.null(),
        Value::Bool(value) => writer.bool(*value),
        Value::Int(value) => writer.int(*value),
        Value::Uint(value) => writer.uint(*value),
        Value::Float(value) => writer.float(*value),
        Value::NumText(text) => writer.number_text(text),
        Value::Str(text) => writer.str(text),
        Value::Wtf8(bytes) => writer.wtf8(bytes),
        Value::Bytes(bytes) => writer.bytes(bytes),
        Value::Array(array) => {
            writer.begin_array()?;
            for item in array.iter() {
                again(writer, view, &item?)?;
            }
            writer.end()
        }
        Value::Object(object) => {
            writer.begin_object()?;
            for entry in object.entries() {
                let (id, value) = entry?;
                writer.key_wtf8(view.name(id)?)?;
                again(writer, view, &value)?;
            }
            writer.end()
        }
    }
}
