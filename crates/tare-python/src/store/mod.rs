//! The Python face of `tare::store`, on which `tare.store` is built.

#![allow(
    clippy::doc_markdown,
    reason = "what documents a function or a class is what Python's help() shows"
)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::unused_self,
    reason = "arguments as Python gives them, and methods that file objects have"
)]

mod batches;
mod core;
mod fault;
mod given;
mod hashing;
mod keys;
mod many;
mod opening;
mod reading;
mod reports;
mod streams;
mod transfer;
mod upkeep;
mod values;
mod verbs;

use pyo3::prelude::*;

/// Adds the functions and classes that `tare.store` is made of.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Blake3", py.get_type::<hashing::Blake3>())?;
    module.add("StoreCore", py.get_type::<core::Core>())?;
    module.add("StoreHandle", py.get_type::<opening::Handle>())?;
    module.add("StoreReader", py.get_type::<streams::Reader>())?;
    module.add("StoreWriter", py.get_type::<streams::Writer>())?;
    module.add_function(wrap_pyfunction!(hashing::r_canonical, module)?)?;
    module.add_function(wrap_pyfunction!(opening::store_open, module)?)?;
    module.add_function(wrap_pyfunction!(values::store_document, module)?)?;
    module.add_function(wrap_pyfunction!(transfer::store_copy, module)?)
}
