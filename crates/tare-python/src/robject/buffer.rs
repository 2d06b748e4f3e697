//! The numbers of a vector as a Python buffer: no copy, read-only.

use std::ffi::{c_int, c_void, CStr};
use std::ptr;

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use tare::robject::{Body, RObject};

use crate::error::to_py;

/// The values of one vector in the arena, which is kept alive.
#[pyclass(frozen, name = "RBuffer", module = "tare._tare")]
pub struct Buffer {
    object: RObject,
    format: &'static CStr,
    /// Elements; and bytes of each.
    shape: [isize; 1],
    strides: [isize; 1],
}

impl Buffer {
    /// The values of a vector of numbers or bytes; a deferred one is made.
    pub fn new(py: Python<'_>, object: &RObject) -> PyResult<Self> {
        let body = py.detach(|| object.data());
        let (format, size, length) = match body.map_err(|error| to_py(py, error))? {
            Body::Logical(values) | Body::Integer(values) => (c"i", 4, values.len()),
            Body::Double(values) => (c"d", 8, values.len()),
            Body::Complex(values) => (c"Zd", 16, values.len()),
            Body::Raw(values) => (c"B", 1, values.len()),
            _ => {
                let text = format!("a value of type {} has no buffer", object.kind().name());
                return Err(PyTypeError::new_err(text));
            }
        };
        Ok(Self {
            object: object.clone(),
            format,
            shape: [isize::try_from(length)?],
            strides: [size],
        })
    }

    /// Where the values lie; the same for as long as the arena lives.
    fn address(&self) -> Option<*const c_void> {
        Some(match self.object.data().ok()? {
            Body::Logical(values) | Body::Integer(values) => values.as_ptr().cast(),
            Body::Double(values) => values.as_ptr().cast(),
            Body::Complex(values) => values.as_ptr().cast(),
            Body::Raw(values) => values.as_ptr().cast(),
            _ => return None,
        })
    }
}

#[pymethods]
impl Buffer {
    fn __len__(&self) -> usize {
        self.shape[0].unsigned_abs()
    }

    /// The struct module's letter of the items.
    #[getter]
    fn format(&self) -> &'static str {
        self.format.to_str().unwrap_or_default()
    }

    #[allow(
        unsafe_code,
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
        let this = slf.get();
        let Some(address) = this.address() else {
            return Err(PyBufferError::new_err("no values"));
        };
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err(
                "the values of an R object cannot be written to",
            ));
        }
        let asked = |flag| flags & flag == flag;
        let given = |wanted: bool, place: *const isize| {
            if wanted {
                place.cast_mut()
            } else {
                ptr::null_mut()
            }
        };
        // SAFETY: CPython gives a pointer to a Py_buffer that it owns and nobody else uses
        // meanwhile. The address, shape, strides and format live in this object or are static:
        // `obj` keeps the object alive until the buffer is released, the object keeps the arena
        // alive, and the vectors of an arena never move or change. Zero elements have a dangling
        // but aligned address, which nobody reads.
        unsafe {
            let view = &mut *view;
            view.buf = address.cast_mut();
            view.len = this.shape[0] * this.strides[0];
            view.itemsize = this.strides[0];
            view.readonly = 1;
            view.ndim = 1;
            view.format = if asked(ffi::PyBUF_FORMAT) {
                this.format.as_ptr().cast_mut()
            } else {
                ptr::null_mut()
            };
            view.shape = given(asked(ffi::PyBUF_ND), this.shape.as_ptr());
            view.strides = given(asked(ffi::PyBUF_STRIDES), this.strides.as_ptr());
            view.suboffsets = ptr::null_mut();
            view.internal = ptr::null_mut();
            view.obj = slf.into_ptr();
        }
        Ok(())
    }
}
