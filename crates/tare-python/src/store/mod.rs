//! The Python face of `tare::store`, on which `tare.store` is built.

mod hashing;

use pyo3::prelude::*;

/// Adds the functions and classes that `tare.store` is made of.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Blake3", py.get_type::<hashing::Blake3>())?;
    Ok(())
}
