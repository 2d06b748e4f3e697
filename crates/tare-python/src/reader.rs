//! `tare._tare.Reader`: the core's stream readers over a Python file object.

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyBlockingIOError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::compress::{by_name, Reader as CoreReader};
use tare::{Error, ErrorKind};

use crate::error::to_py;

#[pyclass(frozen, module = "tare._tare")]
pub struct Reader(Mutex<CoreReader<'static>>);

#[pymethods]
impl Reader {
    #[new]
    fn new(py: Python<'_>, name: &str, read: Py<PyAny>) -> PyResult<Self> {
        let compressor = by_name(name).map_err(|error| to_py(py, &error))?;
        Ok(Self(Mutex::new(compressor.reader(PyStream(read)))))
    }

    /// The mutex is only waited for with the GIL released, so that no thread can wait for both.
    fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        let result = py.detach(|| {
            let mut plain = vec![0; size];
            let mut reader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let read = reader.pull(&mut plain)?;
            plain.truncate(read);
            Ok(plain)
        });
        match result {
            Ok(plain) => Ok(PyBytes::new(py, &plain)),
            Err(error) => Err(reading(py, error)),
        }
    }
}

/// An error of the Python file object is raised as it was.
fn reading(py: Python<'_>, error: Error) -> PyErr {
    if error.kind() == ErrorKind::Io {
        let text = error.to_string();
        if let Some(source) = error.into_source() {
            if let Ok(below) = source.downcast::<io::Error>() {
                return PyErr::from(*below);
            }
        }
        return PyOSError::new_err(text);
    }
    to_py(py, &error)
}

/// The `read` method of a Python file object.
struct PyStream(Py<PyAny>);

impl Read for PyStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let answer = self.0.bind(py).call1((into.len(),))?;
            if answer.is_none() {
                return Err(PyBlockingIOError::new_err("the file has no bytes yet"));
            }
            let bytes: &[u8] = answer.extract()?;
            let place = into.get_mut(..bytes.len());
            let place = place.ok_or_else(|| PyValueError::new_err("read gave more than asked"))?;
            place.copy_from_slice(bytes);
            Ok(bytes.len())
        })
        .map_err(io::Error::from)
    }
}
