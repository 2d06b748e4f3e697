//! The Python face of `tare::robject`: handles on R objects, and their values across.

mod arrow;
mod buffer;
mod given;
mod handle;
mod numpy;
mod options;
mod plain;
mod report;
mod scalars;

use pyo3::prelude::*;

/// Adds the functions and classes that `tare.r` is made of.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("RObject", py.get_type::<handle::Handle>())?;
    module.add("RArrow", py.get_type::<arrow::Made>())?;
    module.add("RBuffer", py.get_type::<buffer::Buffer>())?;
    module.add_function(wrap_pyfunction!(arrow::r_from_arrow, module)?)?;
    module.add_function(wrap_pyfunction!(given::r_from_python, module)?)
}
