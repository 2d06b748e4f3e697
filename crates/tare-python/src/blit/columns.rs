//! Pieces of columns, as plain data that `tare.blit.columns` makes arrays of.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::blit::{Chunk as Core, ColumnNumbers, Packed};
use tare::{Error, ErrorKind};

use super::held::Held;
use super::made;
use crate::error::to_py;

/// Elements of a column that lie together; the buffer of the document they are in.
#[pyclass(frozen, module = "tare._tare")]
pub struct Chunk {
    held: Arc<Held>,
    /// Of the document that `held` keeps; dropped with it.
    core: Core<'static>,
}

/// Most elements that are made of a column: a few bytes can say any number of them.
const MOST: u64 = 1 << 28;

/// What numbers are, as `NumPy` names it, and the bytes of them.
type Numbers<'py> = (&'static str, Bound<'py, PyBytes>);

impl Chunk {
    pub fn of(held: &Arc<Held>, core: Core<'static>) -> Self {
        Self {
            held: Arc::clone(held),
            core,
        }
    }

    /// Where bytes of the document begin.
    fn offset(&self, bytes: &[u8]) -> usize {
        let start = self.held.view().data().as_ptr() as usize;
        (bytes.as_ptr() as usize).wrapping_sub(start)
    }
}

#[pymethods]
impl Chunk {
    fn __len__(&self) -> usize {
        self.core.len()
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.core.kind()
    }

    /// The type of numbers that can be used where they lie, and the offset of the first.
    fn packed(&self) -> Option<(&'static str, usize)> {
        let (packed, bytes) = self.core.packed()?;
        let name = match packed {
            Packed::Int(1) => "<i1",
            Packed::Int(2) => "<i2",
            Packed::Int(4) => "<i4",
            Packed::Int(_) => "<i8",
            Packed::Float(4) => "<f4",
            Packed::Float(_) => "<f8",
        };
        Some((name, self.offset(bytes)))
    }

    /// Numbers and truth values, decoded.
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<Option<Numbers<'py>>> {
        let found = self.core.numbers().map_err(|error| to_py(py, error))?;
        Ok(found.map(|numbers| match numbers {
            ColumnNumbers::Ints(values) => {
                ("<i8", bytes(py, &values, |value: &i64| value.to_le_bytes()))
            }
            ColumnNumbers::Floats(values) => {
                ("<f8", bytes(py, &values, |value: &f64| value.to_le_bytes()))
            }
            ColumnNumbers::Bools(values) => ("|b1", bytes(py, &values, |&value| [u8::from(value)])),
        }))
    }

    /// A bit for each element, and those whose bit is set; None without gaps.
    fn present<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyBytes>, Self)>> {
        let found = self.core.present().map_err(|error| to_py(py, error))?;
        Ok(found.map(|(bits, core)| (PyBytes::new(py, bits), Self::of(&self.held, core))))
    }

    /// Bytes of a code, the offset of the first, and the strings; None unless there are codes.
    fn codes(&self, py: Python<'_>) -> PyResult<Option<(usize, usize, Self)>> {
        let found = self.core.codes().map_err(|error| to_py(py, error))?;
        Ok(found.map(|codes| {
            let offset = self.offset(codes.codes);
            (codes.width, offset, Self::of(&self.held, codes.texts))
        }))
    }

    /// Offsets of 4 bytes into the text of all strings, and where that begins and ends; None
    /// unless all are strings, and UTF-8.
    fn texts<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyBytes>, usize, usize)>> {
        let found = self.core.texts().map_err(|error| to_py(py, error))?;
        let Some((text, ends)) = found else {
            return Ok(None);
        };
        let whole = std::str::from_utf8(text).ok();
        let fits = i32::try_from(text.len()).is_ok();
        let Some(whole) = whole.filter(|_| fits) else {
            return Ok(None);
        };
        if !ends.iter().all(|&end| whole.is_char_boundary(end)) {
            let text = "a string that begins within a character (rule V14)";
            let error = Error::new(ErrorKind::Malformed, text).with_format("blit");
            return Err(to_py(py, error));
        }
        let mut offsets = Vec::with_capacity(ends.len() + 1);
        offsets.push(0_i32);
        offsets.extend(ends.iter().map(|&end| i32::try_from(end).unwrap_or(0)));
        let offsets = bytes(py, &offsets, |end| end.to_le_bytes());
        let start = self.offset(text);
        Ok(Some((offsets, start, start + text.len())))
    }

    /// The value of all elements, where the list says it once for all of them.
    fn alike<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyAny>,)>> {
        let raise = |error| to_py(py, error);
        let Some(value) = self.core.alike().map_err(raise)? else {
            return Ok(None);
        };
        let n = self.core.len() as u64;
        // It counts as often as it is there.
        let most = MOST
            .checked_div(n)
            .and_then(|most| most.checked_sub(1))
            .ok_or_else(|| raise(many()))?;
        value.count(most).map_err(raise)?;
        made::made(py, (&self.held, &value), false, made::Numbers::Plain, MOST)
            .map(|made| Some((made,)))
    }

    /// All elements as Python objects.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        made::column(py, &self.held, &self.core)
    }

    /// Lends the bytes of the document, which this object keeps.
    #[allow(
        unsafe_code,
        clippy::needless_pass_by_value,
        reason = "the buffer protocol hands out pointers, and this is its form"
    )]
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let data = slf.get().held.view().data();
        let size = ffi::Py_ssize_t::try_from(data.len())?;
        let start = data.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: Python gives a view to fill in; the bytes are those of the document, which
        // `held` keeps in place as long as this object lives, of which the view takes a
        // reference. They are lent read-only: who asks to write gets an error.
        let done = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, size, 1, flags) };
        if done == 0 {
            return Ok(());
        }
        let error = PyErr::take(slf.py());
        Err(error.unwrap_or_else(|| PyBufferError::new_err("the document cannot be written to")))
    }
}

#[cold]
fn many() -> Error {
    let text = "more than 2^28 equal elements in a column";
    Error::new(ErrorKind::Limit, text).with_format("blit")
}

/// Numbers one after another, little-endian.
fn bytes<'py, T, const N: usize>(
    py: Python<'py>,
    values: &[T],
    each: impl Fn(&T) -> [u8; N],
) -> Bound<'py, PyBytes> {
    let all: Vec<u8> = values.iter().flat_map(each).collect();
    PyBytes::new(py, &all)
}
