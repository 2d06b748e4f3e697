//! `tare._tare.compress` and `decompress`: the core's one-shot compressors.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::compress::by_name;

use crate::error::to_py;

#[pyfunction]
#[pyo3(signature = (name, data, level=None))]
pub fn compress<'py>(
    py: Python<'py>,
    name: &str,
    data: &Bound<'py, PyAny>,
    level: Option<i32>,
) -> PyResult<Bound<'py, PyBytes>> {
    with_bytes(data, |bytes| {
        let packed = py.detach(|| by_name(name)?.compress(bytes, level));
        packed
            .map(|packed| PyBytes::new(py, &packed))
            .map_err(|error| to_py(py, &error))
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
        let plain = py.detach(|| by_name(name)?.decompress(bytes, max_bytes));
        plain
            .map(|plain| PyBytes::new(py, &plain))
            .map_err(|error| to_py(py, &error))
    })
}

/// Lends the bytes of `data`: those of `bytes` and of read-only buffers as they are, those of
/// writable buffers as a copy, since another thread may change them while the GIL is released.
fn with_bytes<T>(data: &Bound<'_, PyAny>, work: impl FnOnce(&[u8]) -> PyResult<T>) -> PyResult<T> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return work(bytes.as_bytes());
    }
    let buffer = PyBuffer::<u8>::get(data)?;
    if !buffer.is_c_contiguous() {
        return Err(PyBufferError::new_err("the buffer is not contiguous"));
    }
    work(&buffer.to_vec(data.py())?)
}
