//! Where the bytes of a document go, as plain Python data.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tare::blit::View;

use crate::buffers::with_bytes;
use crate::error::to_py;

/// Where the bytes of a document go.
///
/// Returns:
///     ``bytes`` of the document; ``parts``: bytes by what they are, which add up to it; ``kinds``: for each
///     kind of list how many there are, and their bytes without those of lists in them; ``flags`` that are
///     set; ``root``: kind of the outermost list; how many ``keys``, ``shapes``, strings of the ``pool``.
///
/// Raises:
///     Truncated, Malformed, Unsupported, Limit: The document is not what it says.
///
/// >>> from tare import blit
/// >>> from tare._tare import blit_account
/// >>> blit_account(blit.encode([1, 2]))["root"]
/// 'GENERIC'
#[pyfunction]
pub fn account<'py>(buffer: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let py = buffer.py();
    let found = with_bytes(buffer, |bytes| {
        let found = View::open(bytes).and_then(|view| view.account());
        found.map_err(|error| to_py(py, error))
    })?;
    let result = PyDict::new(py);
    result.set_item("bytes", found.bytes)?;
    result.set_item("flags", found.flags)?;
    result.set_item("root", found.root)?;
    result.set_item("keys", found.keys)?;
    result.set_item("shapes", found.shapes)?;
    result.set_item("pool", found.pool)?;
    result.set_item("parts", found.parts)?;
    result.set_item("kinds", found.kinds)?;
    Ok(result)
}
