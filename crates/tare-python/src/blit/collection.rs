//! Many documents in one file; `python/tare/blit/collection.py` is its face.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread::{current, sleep, ThreadId};
use std::time::Duration;

use pyo3::exceptions::{PyIndexError, PyOverflowError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tare::blit::collection::{
    repair, Collection as Core, Docs, ReadOptions, WriteOptions, Writer as CoreWriter,
};
use tare::blit::{Options, Surrogates, View};
use tare::compress::Compressor;
use tare::{Error, ErrorKind};

use super::fault::Fault;
use super::held::{Held, Names};
use super::objects;
use super::options::{self, Count, Writing};
use super::path::{self, bytes_of};
use super::raw::Seen;
use super::view::{given, placed, whole};
use super::walk::Walk;
use crate::buffers::with_bytes;
use crate::error::to_py;

/// How long a thread waits that finds another one at work.
const PAUSE: Duration = Duration::from_micros(100);

/// A collection, and its documents ready to be found.
pub struct Opened {
    /// Dropped before the collection that it reads; never given out with this lifetime.
    docs: Docs<'static>,
    core: Arc<Core>,
    /// The names of each commit as Python has them.
    pub names: Box<[Names]>,
}

impl Opened {
    fn of(core: Core) -> tare::Result<Arc<Self>> {
        let core = Arc::new(core);
        let docs = forever(&core.docs()?);
        let names = (0..core.commits()).map(|_| Names::new()).collect();
        Ok(Arc::new(Self { docs, core, names }))
    }

    pub fn docs(&self) -> &Docs<'_> {
        &self.docs
    }
}

#[allow(unsafe_code, reason = "documents and their collection in one object")]
fn forever(docs: &Docs<'_>) -> Docs<'static> {
    // SAFETY: they are kept in `Opened` beside the collection that they read, which lies in an `Arc`
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

    /// Document `i`, from 0 on, as a view whatever it is.
    fn view<'py>(&self, py: Python<'py>, i: u64) -> PyResult<Bound<'py, PyAny>> {
        let held = Held::in_collection(&self.opened, i).map_err(|error| to_py(py, error))?;
        whole(py, held)
    }

    /// Document `i`, from the end if it is negative.
    fn document<'py>(&self, py: Python<'py>, i: Index) -> PyResult<Bound<'py, PyAny>> {
        let n = self.opened.docs().len();
        let Some(place) = i.of(n) else {
            let text = match i {
                Index(Some(i)) => format!("there is no document {i}: there are {n}"),
                Index(None) => format!("a number beyond all documents: there are {n}"),
            };
            return Err(PyIndexError::new_err(text));
        };
        let held = Held::in_collection(&self.opened, place).map_err(|error| to_py(py, error))?;
        let value = held.root().map_err(|error| to_py(py, error))?;
        match objects::scalar(py, &value)? {
            Some(scalar) => Ok(scalar),
            None => placed(py, held, value, true),
        }
    }

    /// The value at a path of document `i`, from the end if it is negative; `default` where there
    /// is none.
    fn find<'py>(
        &self,
        py: Python<'py>,
        i: Index,
        path: &Bound<'py, PyAny>,
        default: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(i) = i.of(self.opened.docs().len()) else {
            return Ok(default);
        };
        let held = Held::in_collection(&self.opened, i).map_err(|error| to_py(py, error))?;
        let root = held.root().map_err(|error| to_py(py, error))?;
        match path::find(&root, path)? {
            Some(value) => given(py, &held, value),
            None => Ok(default),
        }
    }

    fn validate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let seen = py.detach(|| self.opened.core.validate());
        let seen = seen.map_err(|error| to_py(py, error))?;
        let found = PyDict::new(py);
        found.set_item("bytes", seen.bytes)?;
        found.set_item("kinds", seen.kinds)?;
        found.set_item("depth", seen.depth)?;
        found.set_item("keys", seen.keys)?;
        found.set_item("shapes", seen.shapes)?;
        Ok(found.into_any())
    }

    /// Where the bytes go.
    fn account<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| self.opened.core.account());
        let found = found.map_err(|error| to_py(py, error))?;
        let result = PyDict::new(py);
        result.set_item("bytes", found.bytes)?;
        result.set_item("documents", found.documents)?;
        result.set_item("commits", found.commits)?;
        result.set_item("chunks", found.chunks)?;
        result.set_item("compressed", found.compressed)?;
        result.set_item("keys", found.keys)?;
        result.set_item("shapes", found.shapes)?;
        result.set_item("stored", found.stored)?;
        result.set_item("raw", found.raw)?;
        result.set_item("parts", found.parts)?;
        result.set_item("kinds", found.kinds)?;
        Ok(result.into_any())
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

/// The number of a document as Python gives it; None for one that no collection has.
#[derive(Clone, Copy)]
struct Index(Option<i64>);

impl Index {
    /// From 0 on, if there is one of `n`.
    fn of(self, n: u64) -> Option<u64> {
        match self.0 {
            Some(i) if i < 0 => n.checked_sub(i.unsigned_abs()),
            Some(i) => Some(i.unsigned_abs()).filter(|&i| i < n),
            None => None,
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Index {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match value.extract() {
            Ok(i) => Ok(Self(Some(i))),
            Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => Ok(Self(None)),
            Err(error) => Err(error),
        }
    }
}

/// A collection that is appended to.
#[pyclass(frozen, module = "tare.blit")]
pub struct Writer {
    /// None once it is closed.
    core: Mutex<Option<CoreWriter>>,
    /// The thread that encodes an object, whose code may come back here.
    pushing: Mutex<Option<ThreadId>>,
    /// Halves of surrogate pairs are kept.
    keeps_surrogates: bool,
}

#[pymethods]
impl Writer {
    /// `mode` is one of `w`, `x`, `a`; the options are those of documents.
    #[new]
    #[pyo3(signature = (path, mode, compressor, chunk_size, **options))]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "what comes from Python comes as a value"
    )]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        mode: &str,
        compressor: Option<&str>,
        chunk_size: Count,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let document = document_options(options)?;
        let open = || {
            let options = WriteOptions {
                compressor: compressor.map(Compressor::parse).transpose()?,
                chunk_size: chunk_size.size(),
                document,
            };
            match mode {
                "w" => Core::create(&path, &options),
                "x" => Core::create_new(&path, &options),
                _ => Core::append(&path, &options),
            }
        };
        let core = py.detach(open).map_err(|error| to_py(py, error))?;
        let core = Mutex::new(Some(core));
        Ok(Self {
            core,
            pushing: Mutex::default(),
            keeps_surrogates: document.surrogates == Surrogates::Keep,
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |writer| {
            Ok(usize::try_from(writer.len()).unwrap_or(usize::MAX))
        })
    }

    /// Appends a document of Python objects.
    fn push(&self, obj: &Bound<'_, PyAny>, default: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        let py = obj.py();
        let mut inner = self.taken(py)?;
        let Some(writer) = inner.as_mut() else {
            return Err(to_py(py, closed()));
        };
        *self.pushing() = Some(current().id());
        let pushed = writer.push_with(|writer| -> Result<(), Box<Fault>> {
            Walk::new(py, writer, default, self.keeps_surrogates).value(Seen::of(obj))
        });
        *self.pushing() = None;
        pushed.map_err(|fault| fault.raise(py))
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

    /// Keeps what another collection keeps; before the first document.
    fn keep_as(&self, py: Python<'_>, reader: &Reader) -> PyResult<()> {
        let like = reader.opened.core.like();
        self.with(py, |writer| writer.keep_as(&like))
    }

    /// Appends a JSON text.
    fn append_json(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(text) = text.cast::<PyString>() {
            let text = bytes_of(text)?; // of halves of pairs the parser says where they are
            return self.with(py, |writer| writer.push_json(&text));
        }
        with_bytes(text, |text| self.with(py, |writer| writer.push_json(text)))
    }

    /// Appends the JSON text of each line.
    fn append_ndjson(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        threads: Option<Count>,
    ) -> PyResult<u64> {
        let threads = threads.map(Count::size);
        with_bytes(text, |text| {
            self.with(py, |writer| writer.push_ndjson(text, threads))
        })
    }

    fn commit(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, CoreWriter::commit)
    }

    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, CoreWriter::rollback)
    }

    /// Lets the file go; what was not committed is cut off.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let writer = self.taken(py)?.take();
        py.detach(|| drop(writer));
        Ok(())
    }
}

impl Writer {
    /// The writer, for what needs the GIL as well.
    fn taken(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<CoreWriter>>> {
        loop {
            self.refuse_inside()?;
            // Not waited for: who has it may wait for the GIL.
            match self.core.try_lock() {
                Ok(inner) => return Ok(inner),
                Err(TryLockError::Poisoned(inner)) => return Ok(inner.into_inner()),
                Err(TryLockError::WouldBlock) => py.detach(|| sleep(PAUSE)),
            }
        }
    }

    /// An error in code that is called while this thread encodes an object.
    fn refuse_inside(&self) -> PyResult<()> {
        if *self.pushing() == Some(current().id()) {
            let text = "a collection that is used while it encodes an object";
            return Err(PyRuntimeError::new_err(text));
        }
        Ok(())
    }

    /// The writer; not to be waited for with the GIL.
    fn lock(&self) -> MutexGuard<'_, Option<CoreWriter>> {
        self.core
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn pushing(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.pushing
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Works with the writer, other threads of Python going on meanwhile.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut CoreWriter) -> tare::Result<T> + Send,
    ) -> PyResult<T> {
        self.refuse_inside()?;
        let done = py.detach(|| match self.lock().as_mut() {
            Some(writer) => work(writer),
            None => Err(closed()),
        });
        done.map_err(|error| to_py(py, error))
    }
}

/// The options of documents of a collection.
fn document_options(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    for (name, value) in keywords.into_iter().flatten() {
        let name: String = name.extract()?;
        let is_said = match &name[..] {
            "checksum" => !value.is_none(),
            "canonical" | "pool" => value.is_truthy()?,
            _ => false,
        };
        if is_said {
            let text = format!("{name} is of one document, not of a collection");
            return Err(options::usage(value.py(), text));
        }
    }
    Ok(Writing::read(keywords)?.options)
}

#[cold]
fn closed() -> Error {
    Error::new(ErrorKind::Usage, "the collection is closed").with_format("blit")
}

/// Cuts off what follows the last whole commit; documents there are, and bytes cut.
#[pyfunction(name = "repair")]
#[allow(
    clippy::needless_pass_by_value,
    reason = "what comes from Python comes as a value"
)]
pub fn repaired(py: Python<'_>, path: PathBuf) -> PyResult<(u64, u64)> {
    let done = py.detach(|| repair(&path));
    let done = done.map_err(|error| to_py(py, error))?;
    Ok((done.documents, done.cut))
}
