//! Options as `tare.messages` gives them, checked there.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tare::message::{Framing, Limits};

/// The framing that a name of the Python layer stands for.
pub fn framing(name: &str) -> PyResult<Framing> {
    Ok(match name {
        "frame" => Framing::Frame,
        "msgpack" => Framing::Msgpack,
        "cbor" => Framing::Cbor,
        "ndjson" => Framing::Ndjson,
        "wrap" => Framing::Wrap,
        _ => return Err(PyValueError::new_err(format!("no wire {name:?}"))),
    })
}

/// One option; None where it is not given, or None.
pub fn option<T: for<'a, 'py> FromPyObject<'a, 'py>>(
    options: &Bound<'_, PyDict>,
    name: &str,
) -> PyResult<Option<T>> {
    match options.get_item(name)? {
        Some(value) if !value.is_none() => value.extract().map(Some).map_err(Into::into),
        _ => Ok(None),
    }
}

/// The limits among the options.
pub fn limits(options: &Bound<'_, PyDict>) -> PyResult<Limits> {
    let mut limits = Limits::default();
    if let Some(most) = option(options, "max_message")? {
        limits.max_message = most;
    }
    if let Some(most) = option(options, "max_depth")? {
        limits.max_depth = most;
    }
    if let Some(most) = option(options, "max_ready")? {
        limits.max_ready = most;
    }
    if let Some(required) = option(options, "require_crc")? {
        limits.require_crc = required;
    }
    Ok(limits)
}
