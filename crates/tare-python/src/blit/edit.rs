//! `tare.blit.Edit`: changes over a document; and values replaced where they lie.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use tare::blit::{Changes, Edit as Core, Options, Tree, Value, View as CoreView, Writer};

use super::encode::alone;
use super::held::Held;
use super::options::{like, Writing};
use super::raw::Seen;
use super::view::View;
use super::walk::Walk;
use crate::buffers::{copied, fill, lent, writable};
use crate::error::to_py;

/// Changes over a document.
#[pyclass(frozen, module = "tare.blit")]
pub struct Edit {
    held: Arc<Held>,
    changes: Mutex<Changes>,
}

/// Starts to edit the document of a view.
#[pyfunction]
pub fn edit(view: &Bound<'_, View>) -> PyResult<Edit> {
    let py = view.py();
    let this = view.get();
    let held = if this.is_root() {
        Arc::clone(&this.held)
    } else {
        let document = alone(py, this.held.view(), this.value())?;
        Held::open(PyBytes::new(py, &document).as_any())?
    };
    let changes = Core::new(*held.view()).into_changes();
    Ok(Edit {
        held,
        changes: Mutex::new(changes),
    })
}

impl Edit {
    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to the edit; nothing is changed by an error.
    fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Core<'_>) -> tare::Result<T>,
    ) -> PyResult<T> {
        let mut changes = self.changes();
        let mut edit = Core::resume(*self.held.view(), changes.clone());
        let done = work(&mut edit).map_err(|error| raised(py, error))?;
        *changes = edit.into_changes();
        Ok(done)
    }
}

#[pymethods]
impl Edit {
    fn set(&self, pointer: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let tree = tree(value)?;
        self.with(value.py(), |edit| edit.set(pointer, tree))
    }

    fn insert(&self, pointer: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let tree = tree(value)?;
        self.with(value.py(), |edit| edit.insert(pointer, tree))
    }

    fn delete(&self, py: Python<'_>, pointer: &str) -> PyResult<()> {
        self.with(py, |edit| edit.delete(pointer))
    }

    /// Carries out a JSON Patch (RFC 6902): text, or its operations.
    fn patch(&self, patch: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = patch.py();
        if let Some(text) = text(patch)? {
            return self.with(py, |edit| edit.patch(&text));
        }
        let document = encoded(patch)?;
        let view = CoreView::open(&document).map_err(|error| to_py(py, error))?;
        self.with(py, |edit| edit.patch_view(&view))
    }

    /// Carries out a JSON Merge Patch (RFC 7396): text, or its value.
    fn merge(&self, patch: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = patch.py();
        if let Some(text) = text(patch)? {
            return self.with(py, |edit| edit.merge(&text));
        }
        let document = encoded(patch)?;
        let view = CoreView::open(&document).map_err(|error| to_py(py, error))?;
        self.with(py, |edit| edit.merge_view(&view))
    }

    /// The changed document, which keeps what the document keeps unless it is told otherwise.
    #[pyo3(signature = (*, canonical = false, layout = None, numbers = None, duplicates = None,
        surrogates = None, checksum = None, aligned = false, pool = false,
        compress_strings = None))]
    #[allow(clippy::too_many_arguments, reason = "Python's keywords")]
    fn to_blit<'py>(
        &self,
        py: Python<'py>,
        canonical: bool,
        layout: Option<&str>,
        numbers: Option<&str>,
        duplicates: Option<&str>,
        surrogates: Option<&str>,
        checksum: Option<bool>,
        aligned: bool,
        pool: bool,
        compress_strings: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let writing = Writing {
            canonical,
            layout,
            numbers,
            duplicates,
            surrogates,
            checksum,
            aligned,
            pool,
            compress_strings,
        };
        let mut options = writing.options(py)?;
        if !canonical {
            let source = like(self.held.view());
            options.duplicates = duplicates.map_or(source.duplicates, |_| options.duplicates);
            options.surrogates = surrogates.map_or(source.surrogates, |_| options.surrogates);
        }
        let changes = self.changes().clone();
        let edit = Core::resume(*self.held.view(), changes);
        let document = py.detach(|| edit.to_blit(&options));
        copied(py, &document.map_err(|error| to_py(py, error))?)
    }
}

/// An error of an edit: what is not there is a `KeyError`.
fn raised(py: Python<'_>, error: tare::Error) -> PyErr {
    if error.kind() == tare::ErrorKind::NotFound {
        return PyKeyError::new_err(error.to_string());
    }
    to_py(py, error)
}

/// JSON text, where a patch is given so.
fn text(patch: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    if let Ok(text) = patch.cast::<PyString>() {
        return Ok(Some(text.to_str()?.as_bytes().to_vec()));
    }
    let bytes = patch.cast::<PyBytes>();
    Ok(bytes.ok().map(|bytes| bytes.as_bytes().to_vec()))
}

fn encoded(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let py = value.py();
    let mut writer = Writer::new(Options::default()).map_err(|error| to_py(py, error))?;
    Walk::new(py, &mut writer, None, false)
        .value(Seen::of(value))
        .map_err(|fault| fault.raise(py))?;
    writer.finish().map_err(|error| to_py(py, error))
}

fn tree(value: &Bound<'_, PyAny>) -> PyResult<Tree> {
    let document = encoded(value)?;
    let tree = CoreView::open(&document).and_then(|view| Tree::from_view(&view));
    tree.map_err(|error| to_py(value.py(), error))
}

/// Replaces a scalar where it lies in a writable buffer.
#[pyfunction]
pub fn patch(document: &Bound<'_, PyAny>, pointer: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = value.py();
    let raise = |error| raised(py, error);
    let buffer = writable(document)?;
    let encoded = encoded(value)?;
    let view = CoreView::open(&encoded).map_err(raise)?;
    let root: Value<'_> = view.root().map_err(raise)?;
    let mut bytes = lent(&buffer).to_vec();
    tare::blit::patch(&mut bytes, pointer, &root).map_err(raise)?;
    fill(py, &buffer, &bytes);
    Ok(())
}
