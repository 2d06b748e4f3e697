//! One map from the core's error kinds to the classes of `tare.errors`.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tare::{Error, ErrorKind};

/// The Python exception for an error of the core; an unknown kind becomes `TareError`.
pub fn to_py(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::Io => return PyOSError::new_err(error.to_string()),
        ErrorKind::Truncated => "Truncated",
        ErrorKind::Malformed => "Malformed",
        ErrorKind::ChecksumMismatch => "ChecksumMismatch",
        ErrorKind::Unsupported => "Unsupported",
        ErrorKind::Limit => "Limit",
        ErrorKind::NotFound | ErrorKind::Usage => "UsageError",
        _ => "TareError",
    };
    instance(py, class, error).unwrap_or_else(|error| error)
}

fn instance(py: Python<'_>, class: &str, error: &Error) -> PyResult<PyErr> {
    let keywords = PyDict::new(py);
    keywords.set_item("format", error.format())?;
    keywords.set_item("offset", error.offset())?;
    keywords.set_item("path", error.path().map(|path| path.display().to_string()))?;
    let class = py.import("tare.errors")?.getattr(class)?;
    let value = class.call((error.to_string(),), Some(&keywords))?;
    Ok(PyErr::from_value(value))
}
