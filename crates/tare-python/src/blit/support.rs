//! Names of `tare.blit.support`, looked up once.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyModule;

static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// A class of the module.
pub fn get<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let module =
        MODULE.get_or_try_init(py, || py.import("tare.blit.support").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}
