//! Rows of Arrow tables as text.

use std::ffi::c_int;

use arrow_array::cast::AsArray;
use arrow_array::Array;
use arrow_schema::DataType;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use tare::row_text::{Form, Json};
use tare::{Error, ErrorKind};

use crate::error::to_py;
use crate::robject::imported;

/// The rows of a record batch, which can be written.
#[pyclass(frozen, module = "tare._tare")]
pub struct RowText(tare::row_text::RowText);

#[pymethods]
impl RowText {
    #[new]
    fn new(rows: &Bound<'_, PyAny>, form: &str) -> PyResult<Self> {
        let form = match form.as_bytes() {
            b"lines" => Form::Lines(Json::Compact),
            b"items" => Form::Items(Json::Compact),
            b"spaced items" => Form::Items(Json::Spaced),
            b"ascii items" => Form::Items(Json::Ascii),
            [delimiter] if delimiter.is_ascii() => Form::Delimited(*delimiter),
            _ => return Err(PyValueError::new_err(format!("invalid form {form:?}"))),
        };
        let py = rows.py();
        let (_, chunks) = imported(rows)?;
        let [chunk] = &chunks[..] else {
            return Err(PyTypeError::new_err("expected one record batch"));
        };
        if !matches!(chunk.data_type(), DataType::Struct(_)) {
            return Err(PyTypeError::new_err("expected a record batch"));
        }
        let made = py.detach(|| {
            // Strings and offsets of another library are not believed.
            chunk.to_data().validate_full().map_err(|error| {
                let text = format!("the Arrow array is not valid: {error}");
                Error::new(ErrorKind::Malformed, text)
            })?;
            tare::row_text::RowText::new(chunk.as_struct(), form)
        });
        Ok(Self(made.map_err(|error| to_py(py, error))?))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Some rows, on so many threads: their text in parts.
    #[pyo3(signature = (start, end, threads=1))]
    fn write(&self, py: Python<'_>, start: usize, end: usize, threads: usize) -> Vec<TextBytes> {
        let texts = py.detach(|| self.0.write_on(threads, start, end));
        texts.into_iter().map(TextBytes).collect()
    }
}

/// Bytes of text, read-only.
#[pyclass(frozen, module = "tare._tare")]
pub struct TextBytes(Vec<u8>);

#[pymethods]
impl TextBytes {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[allow(
        unsafe_code,
        clippy::needless_pass_by_value,
        reason = "the buffer protocol is a struct that is filled in place"
    )]
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no place for the buffer"));
        }
        let bytes = &slf.get().0;
        let size = ffi::Py_ssize_t::try_from(bytes.len())?;
        // SAFETY: CPython gives a pointer to a Py_buffer that it owns. The bytes lie in this object, which the
        // buffer keeps alive, and nothing changes or moves them; they are said to be read-only.
        let code = unsafe {
            ffi::PyBuffer_FillInfo(
                view,
                slf.as_ptr(),
                bytes.as_ptr().cast_mut().cast(),
                size,
                1,
                flags,
            )
        };
        if code == 0 {
            return Ok(());
        }
        Err(PyErr::fetch(slf.py()))
    }
}
