//! Errors of a store as Python's.

use pyo3::prelude::*;
use tare::store::Key;
use tare::{Error, ErrorKind};

use crate::error::to_py;

/// The exception; there being no store is a file that is not found.
pub fn raised(py: Python<'_>, error: Error) -> PyErr {
    if error.kind() == ErrorKind::NotFound {
        return pyo3::exceptions::PyFileNotFoundError::new_err(error.to_string());
    }
    to_py(py, error)
}

/// The exception of what was about one key.
pub fn about(py: Python<'_>, error: Error, key: Key<'_>) -> PyErr {
    let known = error.detail("key").is_some();
    let error = if known {
        error
    } else {
        error
            .with_detail("key", key.key)
            .with_detail("namespace", key.namespace)
    };
    raised(py, error)
}

/// The error of keys that are missing.
pub fn missing(py: Python<'_>, keys: &[Key<'_>], store: &str) -> PyErr {
    let shown: Vec<String> = keys.iter().take(3).map(ToString::to_string).collect();
    let more = if keys.len() > 3 {
        format!(", and {} more", keys.len() - 3)
    } else {
        String::new()
    };
    let mut error = Error::new(
        ErrorKind::KeyNotFound,
        format!("no key {}{more}", shown.join(", ")),
    )
    .with_detail("store", store);
    if let Some(first) = keys.first() {
        error = error
            .with_detail("key", first.key)
            .with_detail("namespace", first.namespace);
    }
    for key in keys {
        error = error.with_detail("keys", key.key);
    }
    raised(py, error)
}
