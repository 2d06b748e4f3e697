//! The Python face of `tare::robject`: handles on R objects, and their values across.

mod buffer;
mod handle;
mod report;

use pyo3::prelude::*;

/// Adds the functions and classes that `tare.r` is made of.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("RObject", py.get_type::<handle::Handle>())?;
    module.add("RBuffer", py.get_type::<buffer::Buffer>())
}
