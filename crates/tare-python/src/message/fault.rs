//! Errors of connections as exceptions: with the number of the message.

use std::io;

use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;
use tare::{Error, ErrorKind};

use crate::error::to_py;

/// The exception for an error of the core; a deadline is a `TimeoutError`.
pub fn raised(py: Python<'_>, error: Error) -> PyErr {
    if error.kind() == ErrorKind::Io {
        let below = std::error::Error::source(&error);
        let below = below.and_then(|below| below.downcast_ref::<io::Error>());
        if below.is_some_and(|below| {
            below.kind() == io::ErrorKind::TimedOut && below.raw_os_error().is_none()
        }) {
            return PyTimeoutError::new_err(error.to_string());
        }
    }
    let number = error.detail("message_number");
    let number = number.and_then(|number| number.parse::<u64>().ok());
    let exception = to_py(py, error);
    if let Some(number) = number {
        // An error of the system takes no more facts, and needs none.
        let _ = exception.value(py).setattr("message_number", number);
    }
    exception
}
