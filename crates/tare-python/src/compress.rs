//! `tare._tare.compress` and `decompress`: the core's one-shot compressors.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::compress::{by_name, Placed};
use tare::Result;

use crate::error::to_py;

/// Below this many bytes the GIL is kept: letting it go would cost more than the work.
const KEEP_GIL_BYTES: usize = 4 << 10;

#[pyfunction]
#[pyo3(signature = (name, data, level=None))]
pub fn compress<'py>(
    py: Python<'py>,
    name: &str,
    data: &Bound<'py, PyAny>,
    level: Option<i32>,
) -> PyResult<Bound<'py, PyBytes>> {
    with_bytes(data, |bytes| {
        let packed = detached(py, bytes.len(), || by_name(name)?.compress(bytes, level));
        let packed = packed.map_err(|error| to_py(py, &error))?;
        Ok(PyBytes::new(py, &packed))
    })
}

#[pyfunction]
#[pyo3(signature = (name, data, max_bytes=None))]
pub fn decompress<'py>(
    py: Python<'py>,
    name: &str,
    data: &Bound<'py, PyAny>,
    max_bytes: Option<u64>,
) -> PyResult<Bound<'py, PyBytes>> {
    with_bytes(data, |bytes| {
        let compressor = by_name(name).map_err(|error| to_py(py, &error))?;
        let allowed = |&size: &usize| max_bytes.is_none_or(|most| size as u64 <= most);
        let expected = compressor
            .expected_bytes(bytes)
            .filter(allowed)
            .unwrap_or(0);
        let mut placed = Placed::Lent(0);
        let plain = PyBytes::new_with(py, expected, |place| {
            let work = || compressor.decompress_into(bytes, place, max_bytes);
            let size = expected.max(bytes.len());
            placed = detached(py, size, work).map_err(|error| to_py(py, &error))?;
            Ok(())
        })?;
        match placed {
            Placed::Lent(size) if size == expected => Ok(plain),
            Placed::Lent(size) => {
                let plain = plain.as_bytes().get(..size).unwrap_or_default();
                Ok(PyBytes::new(py, plain))
            }
            Placed::Own(plain) => Ok(PyBytes::new(py, &plain)),
        }
    })
}

fn detached<T: Send>(
    py: Python<'_>,
    size: usize,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    if size < KEEP_GIL_BYTES {
        return work();
    }
    py.detach(work)
}

/// Lends the bytes of `data`: those of read-only buffers as they are, those of writable ones as
/// a copy, because another thread may change them while the GIL is released.
fn with_bytes<T>(data: &Bound<'_, PyAny>, work: impl FnOnce(&[u8]) -> PyResult<T>) -> PyResult<T> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return work(bytes.as_bytes());
    }
    let buffer = PyUntypedBuffer::get(data)?;
    if !buffer.is_c_contiguous() {
        return Err(PyBufferError::new_err("the buffer is not contiguous"));
    }
    let bytes = lent(&buffer);
    if !buffer.readonly() {
        let copy = bytes.to_vec();
        return work(&copy);
    }
    work(bytes)
}

/// The bytes of a contiguous buffer, whatever its items are, for as long as it is held.
#[allow(
    unsafe_code,
    reason = "the bytes of a Python buffer lie behind a pointer"
)]
fn lent(buffer: &PyUntypedBuffer) -> &[u8] {
    if buffer.len_bytes() == 0 {
        return &[];
    }
    // SAFETY: the caller checked that the buffer is contiguous, its exporter says that it is
    // `len_bytes` long and keeps it alive and in place until it is released, which the borrow
    // does not outlive. Nobody writes meanwhile: a writable buffer is copied while the GIL is
    // held, and of a read-only one its exporter promises it.
    unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.len_bytes()) }
}
