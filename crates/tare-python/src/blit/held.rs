//! A document with the object whose bytes it is.

use std::sync::{Arc, OnceLock};

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::blit::collection::Document;
use tare::blit::{Find, FindOptions, JsonPath, Place, Value, View};
use tare::{Error, ErrorKind};

use super::collection::Opened;
use super::names;
use crate::buffers::{kept, with_bytes};
use crate::error::to_py;

/// An opened document, and what keeps its bytes where they are.
pub struct Held {
    /// Dropped before the owner, whose bytes it reads; never given out with this lifetime.
    view: View<'static>,
    owner: Owner,
    /// Dropped after the owner, which may read the collection.
    names: Shared,
}

/// Names as Python has them, each once: those of a document, or of the commit that it is in.
pub type Names = OnceLock<Box<[OnceLock<Py<PyAny>>]>>;

enum Shared {
    Own(Names),
    Commit(Arc<Opened>, usize),
}

enum Owner {
    Bytes(Py<PyBytes>),
    Buffer(PyUntypedBuffer),
    Copy(Arc<[u8]>),
    /// A document, whose place the view borrows, of a collection, whose bytes it borrows.
    Document(
        #[allow(dead_code, reason = "it is kept for the view that borrows it")]
        Arc<Document<'static>>,
    ),
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
        let copy = with_bytes(buffer, |bytes| Ok(Arc::from(bytes)))?;
        Self::of(buffer.py(), Owner::Copy(copy))
    }

    /// Opens a copy of a document.
    pub fn copy(py: Python<'_>, document: &[u8]) -> PyResult<Arc<Self>> {
        Self::of(py, Owner::Copy(Arc::from(document)))
    }

    fn of(py: Python<'_>, owner: Owner) -> PyResult<Arc<Self>> {
        let view = View::open(bytes(py, &owner)).map_err(|error| to_py(py, error))?;
        let view = forever(view);
        Ok(Arc::new(Self {
            view,
            owner,
            names: Shared::Own(OnceLock::new()),
        }))
    }

    /// Document `i` of a collection.
    pub fn in_collection(collection: &Arc<Opened>, i: u64) -> tare::Result<Arc<Self>> {
        let document = Arc::new(collection.docs().get(i)?);
        let view = forever(document.view());
        let commit = document.commit();
        Ok(Arc::new(Self {
            view,
            owner: Owner::Document(kept_document(document)),
            names: Shared::Commit(Arc::clone(collection), commit),
        }))
    }

    /// Bytes that are its own, not another object's.
    pub fn size(&self) -> usize {
        match &self.owner {
            Owner::Copy(copy) => copy.len(),
            _ => 0,
        }
    }

    /// The object whose bytes they are, if it is `bytes`.
    pub fn owner<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        match &self.owner {
            Owner::Bytes(bytes) => Some(bytes.bind(py).clone()),
            _ => None,
        }
    }

    /// Whether it is a document of a collection: its bytes are a chunk, not a document.
    pub fn is_in_collection(&self) -> bool {
        matches!(self.owner, Owner::Document(_))
    }

    pub fn view(&self) -> &View<'_> {
        &self.view
    }

    /// Names as Python has them, those that were needed so far.
    fn names(&self) -> &[OnceLock<Py<PyAny>>] {
        let names = match &self.names {
            Shared::Own(names) => names,
            Shared::Commit(opened, commit) => match opened.names.get(*commit) {
                Some(names) => names,
                None => return &[],
            },
        };
        names.get_or_init(|| {
            let names = (0..self.view.names()).map(|_| OnceLock::new());
            names.collect()
        })
    }

    /// Makes all names at once, for a walk that needs most of them.
    pub fn all_names(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        names::with_known(py, |known| {
            let mut names = Vec::with_capacity(self.view.names().min(self.view.data().len()));
            for name in self.view.each_name() {
                let name = name.map_err(|error| to_py(py, error))?;
                names.push(match known(name) {
                    Some(made) => made,
                    None => self.odd_name(py, name)?,
                });
            }
            Ok(names)
        })
    }

    /// A name by its id.
    #[inline]
    pub fn name(&self, py: Python<'_>, id: usize) -> PyResult<&Py<PyAny>> {
        match self.names().get(id) {
            Some(place) => match place.get() {
                Some(name) => Ok(name),
                None => self.first(py, id, place),
            },
            None => Err(no_name(py)),
        }
    }

    fn first<'a>(
        &self,
        py: Python<'_>,
        id: usize,
        place: &'a OnceLock<Py<PyAny>>,
    ) -> PyResult<&'a Py<PyAny>> {
        let name = self.view.name(id).map_err(|error| to_py(py, error))?;
        let made = match names::with_known(py, |known| known(name)) {
            Some(made) => made,
            None => self.odd_name(py, name)?,
        };
        Ok(place.get_or_init(|| made))
    }

    /// A name with halves of surrogate pairs, or none.
    #[cold]
    fn odd_name(&self, py: Python<'_>, name: &[u8]) -> PyResult<Py<PyAny>> {
        if !self.view.has_surrogates() {
            return Err(self.bad_name(py, name));
        }
        let made = super::objects::wtf8(py, name).map(Bound::unbind);
        made.map_err(|_| self.bad_name(py, name))
    }

    /// The error of a name that is not UTF-8, and the byte.
    #[cold]
    fn bad_name(&self, py: Python<'_>, name: &[u8]) -> PyErr {
        let valid = std::str::from_utf8(name).map_or_else(|error| error.valid_up_to(), str::len);
        let data = self.view.data();
        // The names of a collection lie elsewhere.
        let at = (name.as_ptr() as usize).checked_sub(data.as_ptr() as usize);
        let at = at.filter(|&at| at < data.len());
        let text = "a name that is not UTF-8 (rule V10)";
        let error = Error::new(ErrorKind::Malformed, text).with_format("blit");
        to_py(
            py,
            match at {
                Some(at) => error.with_offset(at.saturating_add(valid) as u64),
                None => error,
            },
        )
    }

    /// The value at a place, to be kept beside this.
    pub fn at(self: &Arc<Self>, place: Place) -> tare::Result<Value<'static>> {
        lasting(self).at(place)
    }

    /// A search in a value of this document, to be kept beside this.
    pub fn found(
        self: &Arc<Self>,
        value: Value<'static>,
        query: &'static JsonPath,
        options: FindOptions<'static>,
    ) -> tare::Result<Find<'static>> {
        lasting(self).find_in(value, query, options)
    }

    /// The whole value, to be kept beside this.
    pub fn root(self: &Arc<Self>) -> tare::Result<Value<'static>> {
        lasting(self).root()
    }
}

/// The error of a name that cannot be read.
#[cold]
pub fn no_name(py: Python<'_>) -> PyErr {
    let text = "a name that is not there, or not UTF-8 (rule V10): validate() says where";
    to_py(
        py,
        Error::new(ErrorKind::Malformed, text).with_format("blit"),
    )
}

fn bytes<'a>(py: Python<'_>, owner: &'a Owner) -> &'a [u8] {
    match owner {
        Owner::Bytes(bytes) => bytes.as_bytes(py),
        Owner::Buffer(buffer) => crate::buffers::lent(buffer),
        Owner::Copy(copy) => copy,
        Owner::Document(_) => &[],
    }
}

#[allow(unsafe_code, reason = "a document and its collection in one object")]
fn kept_document(document: Arc<Document<'_>>) -> Arc<Document<'static>> {
    // SAFETY: it is kept in `Owner::Document`, and dropped before the collection that it reads,
    // which `Shared::Commit` keeps. What lies in the `Arc` does not move.
    unsafe { std::mem::transmute::<Arc<Document<'_>>, Arc<Document<'static>>>(document) }
}

#[allow(
    unsafe_code,
    clippy::large_types_passed_by_value,
    reason = "a value and its owner in one object, where it moves to"
)]
fn forever(view: View<'_>) -> View<'static> {
    // SAFETY: the view is kept in `Held` beside the owner of its bytes, which nobody changes
    // (`bytes`, a read-only map, a copy of its own, a chunk of a collection), which do not move,
    // and which are dropped after it. `Held` lends it for its own lifetime only.
    unsafe { std::mem::transmute::<View<'_>, View<'static>>(view) }
}

#[allow(unsafe_code, reason = "a value and its owner in one object")]
fn lasting(held: &Arc<Held>) -> &'static View<'static> {
    // SAFETY: the view lies in an `Arc`, so that it does not move, and every value that is read
    // of it is kept beside a clone of that `Arc` (`View` of `view.rs`) or dropped at once.
    unsafe { &*std::ptr::from_ref(&held.view) }
}
