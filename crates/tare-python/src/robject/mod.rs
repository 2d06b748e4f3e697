//! The Python face of `tare::robject`: handles on R objects, and their values across.

mod arrow;
mod buffer;
mod files;
mod given;
mod handle;
mod numpy;
mod options;
mod plain;
mod report;
mod scalars;
mod sources;
mod tables;

use pyo3::prelude::*;

pub use arrow::{array_capsules, imported, schema_capsule, schema_of};
pub use handle::Handle;

/// Adds the functions and classes that `tare.r` is made of.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("RObject", py.get_type::<handle::Handle>())?;
    module.add("RArrow", py.get_type::<arrow::Made>())?;
    module.add("RBuffer", py.get_type::<buffer::Buffer>())?;
    for function in [
        wrap_pyfunction!(arrow::r_from_arrow, module)?,
        wrap_pyfunction!(files::r_inspect, module)?,
        wrap_pyfunction!(files::r_read, module)?,
        wrap_pyfunction!(files::r_write, module)?,
        wrap_pyfunction!(files::sniff_r, module)?,
        wrap_pyfunction!(given::r_from_python, module)?,
        wrap_pyfunction!(tables::fst_read, module)?,
        wrap_pyfunction!(tables::fst_schema, module)?,
        wrap_pyfunction!(tables::fst_write, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
