//! Arguments that Python gives.

use std::convert::Infallible;

use pyo3::prelude::*;
use tare::store::{Expect, Packing, SetOptions};

use super::keys;
use crate::error::to_py;
use crate::signals::Signals;

/// An argument that may be left out, which None is not.
pub enum Given {
    Absent,
    Value(Py<PyAny>),
}

impl<'py> FromPyObject<'_, 'py> for Given {
    type Error = Infallible;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> Result<Self, Self::Error> {
        Ok(Self::Value(value.to_owned().unbind()))
    }
}

/// How a value is set, as keywords say it.
///
/// # Errors
/// `UsageError`
pub fn set_options(
    py: Python<'_>,
    compressor: Option<&str>,
    if_hash: Option<&str>,
    if_absent: bool,
    signals: Option<&Signals>,
) -> PyResult<SetOptions> {
    let packing = compressor.map(Packing::parse).transpose();
    let expect = match if_hash {
        _ if if_absent => Expect::Absent,
        Some(text) => Expect::Is(keys::hash(py, text)?),
        None => Expect::Any,
    };
    Ok(SetOptions {
        packing: packing.map_err(|error| to_py(py, error))?,
        expect,
        cancel: signals.map(Signals::token),
        ..SetOptions::default()
    })
}
