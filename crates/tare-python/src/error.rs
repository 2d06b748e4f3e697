//! One map from the core's error kinds to the classes of `tare.errors`.

use std::io;

use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use tare::{Error, ErrorKind};

/// Facts that errors of stores carry beside the text.
const STORE_FACTS: [&str; 7] = [
    "key",
    "namespace",
    "store",
    "hash",
    "place",
    "expected",
    "got",
];

/// The Python exception for an error of the core; an unknown kind becomes `TareError`.
///
/// An error of the system, or of a Python file object, is raised as it was.
pub fn to_py(py: Python<'_>, error: Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::Io => return as_it_was(py, error),
        ErrorKind::Cancelled => return PyKeyboardInterrupt::new_err(error.to_string()),
        ErrorKind::Truncated => "Truncated",
        ErrorKind::Malformed => "Malformed",
        ErrorKind::ChecksumMismatch => "ChecksumMismatch",
        ErrorKind::Unsupported => "Unsupported",
        ErrorKind::Limit => "Limit",
        ErrorKind::NotFound | ErrorKind::Usage => "UsageError",
        ErrorKind::NotPatchable => "NotPatchable",
        ErrorKind::KeyNotFound => "KeyNotFound",
        ErrorKind::ObjectNotFound => "HashNotFound",
        ErrorKind::Corrupt => "Corrupt",
        ErrorKind::ConfigMismatch => "ConfigMismatch",
        ErrorKind::Busy => "Busy",
        ErrorKind::NoSpace => "NoSpace",
        ErrorKind::KeyInvalid => "KeyInvalid",
        ErrorKind::Collision => "Collision",
        ErrorKind::Conflict => "Conflict",
        ErrorKind::ReadOnly => "ReadOnly",
        ErrorKind::StoreVersion => "StoreVersion",
        _ => "TareError",
    };
    instance(py, class, &error).unwrap_or_else(|error| error)
}

/// The exception for an error of the system: its number decides the class.
pub fn os_error(py: Python<'_>, error: io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else {
        return PyErr::from(error);
    };
    let text = py
        .import("os")
        .and_then(|os| os.call_method1("strerror", (number,)))
        .and_then(|text| text.extract::<String>());
    PyOSError::new_err((number, text.unwrap_or_else(|_| error.to_string())))
}

fn as_it_was(py: Python<'_>, error: Error) -> PyErr {
    let text = error.to_string();
    if let Some(source) = error.into_source() {
        if let Ok(below) = source.downcast::<io::Error>() {
            return os_error(py, *below);
        }
    }
    PyOSError::new_err(text)
}

/// An exception of a class of `tare.errors`.
pub fn instance(py: Python<'_>, class: &str, error: &Error) -> PyResult<PyErr> {
    let keywords = PyDict::new(py);
    keywords.set_item("format", error.format())?;
    keywords.set_item("offset", error.offset())?;
    keywords.set_item("path", error.path().map(|path| path.display().to_string()))?;
    let errors = py.import("tare.errors")?;
    let class = errors.getattr(class)?;
    if class
        .cast::<PyType>()?
        .is_subclass(&errors.getattr("StoreError")?)?
    {
        let keys = error.details().iter().filter(|(name, _)| *name == "keys");
        let keys: Vec<&str> = keys.map(|(_, key)| key.as_str()).collect();
        for name in STORE_FACTS {
            keywords.set_item(name, error.detail(name))?;
        }
        keywords.set_item("keys", keys)?;
    }
    let value = class.call((error.to_string(),), Some(&keywords))?;
    Ok(PyErr::from_value(value))
}
