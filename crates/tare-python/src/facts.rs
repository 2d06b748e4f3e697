//! What the core knows of a stream, as tuples that `tare.compress` names.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::IntoPyObjectExt;
use tare::compress::{Completeness, Info, Layout, ReadAt, SeekableReader, Summary, Survey};

/// Bytes in, bytes out, units, compressor, layout, completeness, buffers, index.
pub fn summary<'py>(py: Python<'py>, summary: &Summary) -> PyResult<Bound<'py, PyAny>> {
    (
        summary.bytes_in,
        summary.bytes_out,
        summary.units,
        summary.compressor.to_string(),
        summary.layout.name(),
        summary.completeness.name(),
        summary.peak_buffers,
        summary.index.as_ref().map(|index| PyBytes::new(py, index)),
    )
        .into_bound_py_any(py)
}

/// Kind, units, stored bytes, plain bytes, whether the end is proven (None before it), and
/// whether it looks cut.
pub fn info<'py>(py: Python<'py>, info: &Info) -> PyResult<Bound<'py, PyAny>> {
    (
        info.kind.name(),
        info.units,
        info.stored_bytes,
        info.plain_bytes,
        info.completeness.map(|end| end == Completeness::Proven),
        info.looks_cut,
    )
        .into_bound_py_any(py)
}

/// Kind, layout, units, plain bytes, stored bytes, whether an index is in it, whether the end is
/// proven, whether it looks cut; None where only decoding would tell.
pub fn survey<'py>(py: Python<'py>, found: &Survey) -> PyResult<Bound<'py, PyAny>> {
    (
        found.kind.name(),
        found.layout.map(Layout::name),
        found.units,
        found.plain_bytes,
        found.stored_bytes,
        found.has_index,
        found.completeness.map(|end| end == Completeness::Proven),
        found.looks_cut,
    )
        .into_bound_py_any(py)
}

/// Plain bytes, units, whether the end is proven, kind, whether the end looks cut.
pub fn of_seekable<R: ReadAt>(
    reader: &SeekableReader<R>,
) -> (u64, usize, bool, &'static str, bool) {
    (
        reader.len(),
        reader.chunks().len(),
        reader.completeness() == Completeness::Proven,
        reader.kind().name(),
        reader.looks_cut(),
    )
}
