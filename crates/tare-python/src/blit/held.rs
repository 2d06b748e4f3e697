//! A document with the object whose bytes it is.

use std::sync::Arc;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::blit::{Value, View};

use crate::buffers::{kept, with_bytes};
use crate::error::to_py;

/// An opened document, and what keeps its bytes where they are.
pub struct Held {
    /// Dropped before the owner, whose bytes it reads; never given out with this lifetime.
    view: View<'static>,
    owner: Owner,
}

enum Owner {
    Bytes(Py<PyBytes>),
    Buffer(PyUntypedBuffer),
    Copy(Box<[u8]>),
}

impl Held {
    /// Opens the document of a buffer: `bytes`, a `memoryview` of them and a read-only memory map
    /// without a copy.
    pub fn open(buffer: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        if let Ok(bytes) = buffer.cast::<PyBytes>() {
            return Self::of(buffer.py(), Owner::Bytes(bytes.clone().unbind()));
        }
        if let Some(kept) = kept(buffer)? {
            return Self::of(buffer.py(), Owner::Buffer(kept));
        }
        let copy = with_bytes(buffer, |bytes| Ok(Box::from(bytes)))?;
        Self::of(buffer.py(), Owner::Copy(copy))
    }

    fn of(py: Python<'_>, owner: Owner) -> PyResult<Arc<Self>> {
        let view = View::open(bytes(py, &owner)).map_err(|error| to_py(py, error))?;
        let view = forever(view);
        Ok(Arc::new(Self { view, owner }))
    }

    pub fn view(&self) -> &View<'_> {
        &self.view
    }

    /// The object whose bytes the document is, where it is one.
    pub fn owner<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        match &self.owner {
            Owner::Bytes(bytes) => Some(bytes.bind(py).clone()),
            _ => None,
        }
    }

    /// The whole value, to be kept beside this.
    pub fn root(self: &Arc<Self>) -> tare::Result<Value<'static>> {
        lasting(self).root()
    }
}

fn bytes<'a>(py: Python<'_>, owner: &'a Owner) -> &'a [u8] {
    match owner {
        Owner::Bytes(bytes) => bytes.as_bytes(py),
        Owner::Buffer(buffer) => crate::buffers::lent(buffer),
        Owner::Copy(copy) => copy,
    }
}

#[allow(unsafe_code, reason = "a value and its owner in one object")]
fn forever(view: View<'_>) -> View<'static> {
    // SAFETY: the view is kept in `Held` beside the owner of its bytes, which nobody changes
    // (`bytes`, a read-only map, a copy of its own), which do not move, and which are dropped
    // after it. `Held` lends it for its own lifetime only.
    unsafe { std::mem::transmute::<View<'_>, View<'static>>(view) }
}

#[allow(unsafe_code, reason = "a value and its owner in one object")]
fn lasting(held: &Arc<Held>) -> &'static View<'static> {
    // SAFETY: the view lies in an `Arc`, so that it does not move, and every value that is read
    // of it is kept beside a clone of that `Arc` (`View` of `view.rs`) or dropped at once.
    unsafe { &*std::ptr::from_ref(&held.view) }
}
