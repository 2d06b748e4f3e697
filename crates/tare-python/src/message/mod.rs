//! The Python face of `tare::message`, on which `tare.messages` is built.

#![allow(
    clippy::doc_markdown,
    reason = "what documents a function or a class is what Python's help() shows"
)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "arguments as Python gives them"
)]

mod batcher;
mod deadline;
mod fault;
mod given;
mod inner;
mod large;
mod pool;
mod pull;
mod session;
mod taken;
mod watch;

use pyo3::prelude::*;

pub(crate) use pull::borrowed;

/// Adds the classes that `tare.messages` is made of.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("MessageBatcher", py.get_type::<batcher::Batcher>())?;
    module.add("MessageDeadline", py.get_type::<deadline::Deadline>())?;
    module.add("MessageMarks", py.get_type::<taken::Marks>())?;
    module.add("MessageSession", py.get_type::<session::Session>())?;
    module.add_function(wrap_pyfunction!(watch::message_needing, module)?)?;
    module.add_function(wrap_pyfunction!(watch::message_poll, module)?)
}
