//! Many documents in one file; `python/tare/blit/collection.py` is its face.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::PyString;
use tare::blit::collection::{
    repair, Collection as Core, Docs, ReadOptions, WriteOptions, Writer as CoreWriter,
};
use tare::blit::View;
use tare::compress::Compressor;
use tare::{Error, ErrorKind};

use super::held::Held;
use super::view;
use crate::buffers::with_bytes;
use crate::error::to_py;

/// A collection, and its documents ready to be found.
pub struct Opened {
    /// Dropped before the collection that it reads; never given out with this lifetime.
    docs: Docs<'static>,
    core: Box<Core>,
}

impl Opened {
    fn of(core: Core) -> tare::Result<Arc<Self>> {
        let core = Box::new(core);
        let docs = forever(&core.docs()?);
        Ok(Arc::new(Self { docs, core }))
    }

    pub fn docs(&self) -> &Docs<'_> {
        &self.docs
    }
}

#[allow(unsafe_code, reason = "documents and their collection in one object")]
fn forever(docs: &Docs<'_>) -> Docs<'static> {
    // SAFETY: they are kept in `Opened` beside the collection that they read, which lies in a box
    // of its own, is never changed, and is dropped after them. `Opened` lends them for its own
    // lifetime only.
    unsafe { std::mem::transmute::<Docs<'_>, Docs<'static>>(docs.clone()) }
}

/// An open collection.
#[pyclass(frozen, module = "tare.blit")]
pub struct Reader {
    opened: Arc<Opened>,
}

#[pymethods]
impl Reader {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, mmap: bool) -> PyResult<Self> {
        let options = ReadOptions {
            mmap,
            ..ReadOptions::default()
        };
        let opened = py.detach(|| Core::open(path, &options).and_then(Opened::of));
        let opened = opened.map_err(|error| to_py(py, error))?;
        Ok(Self { opened })
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.opened.core.len()).unwrap_or(usize::MAX)
    }

    /// Document `i`, from 0 on.
    fn document<'py>(&self, py: Python<'py>, i: u64) -> PyResult<Bound<'py, PyAny>> {
        let held = Held::in_collection(&self.opened, i).map_err(|error| to_py(py, error))?;
        view::whole(py, held)
    }

    fn validate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let seen = py.detach(|| self.opened.core.validate());
        let seen = seen.map_err(|error| to_py(py, error))?;
        let found = pyo3::types::PyDict::new(py);
        found.set_item("bytes", seen.bytes)?;
        found.set_item("kinds", seen.kinds)?;
        found.set_item("depth", seen.depth)?;
        found.set_item("keys", seen.keys)?;
        found.set_item("shapes", seen.shapes)?;
        Ok(found.into_any())
    }

    #[getter]
    fn commits(&self) -> usize {
        self.opened.core.commits()
    }

    #[getter]
    fn chunks(&self) -> usize {
        self.opened.core.chunks()
    }
}

/// A collection that is appended to.
#[pyclass(frozen, module = "tare.blit")]
pub struct Writer {
    /// None once it is closed.
    core: Mutex<Option<CoreWriter>>,
}

#[pymethods]
impl Writer {
    /// `mode` is one of `w`, `x`, `a`.
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        mode: &str,
        compressor: Option<&str>,
        chunk_size: usize,
    ) -> PyResult<Self> {
        let open = || {
            let options = WriteOptions {
                compressor: compressor.map(Compressor::parse).transpose()?,
                chunk_size,
                ..WriteOptions::default()
            };
            match mode {
                "w" => Core::create(&path, &options),
                "x" => Core::create_new(&path, &options),
                _ => Core::append(&path, &options),
            }
        };
        let core = py.detach(open).map_err(|error| to_py(py, error))?;
        let core = Mutex::new(Some(core));
        Ok(Self { core })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |writer| {
            Ok(usize::try_from(writer.len()).unwrap_or(usize::MAX))
        })
    }

    /// Appends an encoded document.
    fn append_document(&self, py: Python<'_>, document: &Bound<'_, PyAny>) -> PyResult<()> {
        with_bytes(document, |bytes| {
            self.with(py, |writer| writer.push(&View::open(bytes)?))
        })
    }

    /// Appends document `i` of another collection.
    fn append_from(&self, py: Python<'_>, reader: &Reader, i: u64) -> PyResult<()> {
        self.with(py, |writer| {
            writer.push(&reader.opened.docs().get(i)?.view())
        })
    }

    /// Appends a JSON text.
    fn append_json(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(text) = text.cast::<PyString>() {
            let text = text.to_str()?;
            return self.with(py, |writer| writer.push_json(text.as_bytes()));
        }
        with_bytes(text, |text| self.with(py, |writer| writer.push_json(text)))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, CoreWriter::commit)
    }

    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, CoreWriter::rollback)
    }

    /// Lets the file go; what was not committed is cut off.
    fn close(&self, py: Python<'_>) {
        let writer = self.lock().take();
        py.detach(|| drop(writer));
    }
}

impl Writer {
    fn lock(&self) -> MutexGuard<'_, Option<CoreWriter>> {
        self.core
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Works with the writer, other threads of Python going on meanwhile.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut CoreWriter) -> tare::Result<T> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| match self.lock().as_mut() {
            Some(writer) => work(writer),
            None => {
                let text = "the collection is closed";
                Err(Error::new(ErrorKind::Usage, text).with_format("blit"))
            }
        });
        done.map_err(|error| to_py(py, error))
    }
}

/// Cuts off what follows the last whole commit; documents there are, and bytes cut.
#[pyfunction(name = "repair")]
pub fn repaired(py: Python<'_>, path: PathBuf) -> PyResult<(u64, u64)> {
    let done = py.detach(|| repair(&path));
    let done = done.map_err(|error| to_py(py, error))?;
    Ok((done.documents, done.cut))
}
