//! Options that come in a dict: each may be missing.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tare::{Error, ErrorKind};

use crate::error::to_py;

/// The value of an option; None where it is missing or None.
pub fn option<'py, T>(options: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let Some(value) = options.get_item(name)?.filter(|value| !value.is_none()) else {
        return Ok(None);
    };
    value.extract::<T>().map(Some).map_err(|error| {
        let error: PyErr = error.into();
        PyTypeError::new_err(format!("option {name}: {error}"))
    })
}

/// Which of some words an option is.
pub fn choice(options: &Bound<'_, PyDict>, name: &str, words: &[&str]) -> PyResult<Option<usize>> {
    let Some(given) = option::<String>(options, name)? else {
        return Ok(None);
    };
    let found = words.iter().position(|word| *word == given);
    found.map(Some).ok_or_else(|| {
        let text = format!("{name} is one of {}, not `{given}`", words.join(", "));
        to_py(options.py(), Error::new(ErrorKind::Usage, text))
    })
}
