//! The Python face of `tare::blit`: documents of Python objects, and views that read them in place.

#![allow(
    clippy::doc_link_with_quotes,
    clippy::doc_markdown,
    reason = "what documents a function or a class is what Python's help() shows"
)]

mod account;
mod collection;
mod columns;
mod edit;
mod encode;
mod fault;
mod find;
mod held;
mod lists;
mod made;
mod maps;
mod met;
mod names;
mod objects;
mod options;
mod path;
mod raw;
mod room;
mod shown;
mod support;
mod view;
mod walk;

use pyo3::prelude::*;

pub use encode::document;
pub use view::value_of;

/// Adds the functions and classes, which `tare.blit` gives their names.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    for function in [
        wrap_pyfunction!(account::account, module)?,
        wrap_pyfunction!(collection::repaired, module)?,
        wrap_pyfunction!(edit::edit, module)?,
        wrap_pyfunction!(edit::patch, module)?,
        wrap_pyfunction!(encode::encode, module)?,
        wrap_pyfunction!(encode::from_ndjson, module)?,
        wrap_pyfunction!(encode::from_json, module)?,
        wrap_pyfunction!(view::view, module)?,
    ] {
        let name: String = function.getattr("__name__")?.extract()?;
        function.setattr("__module__", "tare.blit")?; // where users, and pickles, find it
        module.add(format!("blit_{name}"), function)?;
    }
    let py = module.py();
    module.add("BlitChunk", py.get_type::<columns::Chunk>())?;
    module.add("BlitEdit", py.get_type::<edit::Edit>())?;
    module.add("BlitReader", py.get_type::<collection::Reader>())?;
    module.add("BlitWriter", py.get_type::<collection::Writer>())?;
    module.add("BlitView", module.py().get_type::<view::View>())?;
    module.add("BlitObjectView", module.py().get_type::<maps::ObjectView>())?;
    module.add("BlitListView", module.py().get_type::<lists::ListView>())?;
    module.add("BlitPath", module.py().get_type::<path::Path>())
}
