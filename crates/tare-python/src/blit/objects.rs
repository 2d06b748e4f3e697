//! Values of a document as Python objects.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString};
use pyo3::IntoPyObjectExt;
use tare::blit::Value;
use tare::{Error, ErrorKind};

use crate::error::to_py;

/// A value that is no container; None for one that is.
pub fn scalar<'py>(py: Python<'py>, value: &Value<'_>) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(Some(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => value.into_bound_py_any(py)?,
        Value::Int(value) => PyInt::new(py, *value).into_any(),
        Value::Uint(value) => PyInt::new(py, *value).into_any(),
        Value::Float(value) => PyFloat::new(py, *value).into_any(),
        Value::NumText(text) => number(py, text, false)?,
        Value::Str(text) => PyString::new(py, text).into_any(),
        Value::Wtf8(bytes) => wtf8(py, bytes)?,
        Value::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        Value::Array(_) | Value::Object(_) => return Ok(None),
    }))
}

/// Text with halves of surrogate pairs.
pub fn wtf8<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    PyBytes::new(py, bytes).call_method1("decode", ("utf-8", "surrogatepass"))
}

/// The bytes of text with halves of surrogate pairs, whatever a subclass of `str` has to say of it.
pub fn wtf8_of(text: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let py = text.py();
    let bytes = py
        .get_type::<PyString>()
        .call_method1("encode", (text, "utf-8", "surrogatepass"))?;
    bytes.extract()
}

/// A number that is kept as text: an `int` exactly, else a `float`, or a `Decimal`.
pub fn number<'py>(py: Python<'py>, text: &str, decimal: bool) -> PyResult<Bound<'py, PyAny>> {
    if !text.contains(['.', 'e', 'E']) {
        return py.get_type::<PyInt>().call1((text,)).map_err(|_| {
            let text = format!(
                "an integer of {} digits, more than sys.set_int_max_str_digits() allows",
                text.len()
            );
            to_py(py, Error::new(ErrorKind::Limit, text).with_format("blit"))
        });
    }
    if decimal {
        return py
            .import("decimal")?
            .getattr("Decimal")?
            .call1((text,))
            .map_err(|_| {
                let text = format!("a number whose exponent no Decimal has: {text:.40}");
                to_py(py, Error::new(ErrorKind::Limit, text).with_format("blit"))
            });
    }
    py.get_type::<PyFloat>().call1((text,))
}

/// As [`number`], to be compared: exactly with an `int` or a `Decimal`, as a `float` with one.
pub fn compared<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    if !text.contains(['.', 'e', 'E']) {
        if let Ok(integer) = py.get_type::<PyInt>().call1((text,)) {
            return Ok(integer);
        }
    }
    super::support::get(py, "NumberText")?.call1((text,))
}
