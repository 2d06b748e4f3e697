//! `tare.blit.Edit`: changes over a document; and values replaced where they lie.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyString};
use tare::blit::{
    Changes, Current, Edit as Core, Options, Surrogates, Tree, Value, View as CoreView, Writer,
};
use tare::{Error, ErrorKind};

use super::encode::alone;
use super::held::Held;
use super::options::{like, Writing};
use super::path::{bytes_of, pointer_of, push_step, Path};
use super::raw::Seen;
use super::view::{given, whole, View};
use super::walk::Walk;
use super::{objects, support};
use crate::buffers::{copied, fill, lent, writable};
use crate::error::{instance, to_py};

/// Changes over a document, by JSON pointers; ``-`` is the place behind an array's last element.
///
/// The document stays as it is. All raise `NotFound`, a `KeyError` too, for a place that is not there, and
/// `UsageError` for what is no pointer or no patch; then nothing is changed. An edit costs as much as the
/// path to it is long, a patch or merge of several changes as much as all changes so far.
///
/// Halves of surrogate pairs, in values and in names, are taken as they are: whether they are kept, or an
/// error, `to_blit` decides.
#[pyclass(frozen, mapping, module = "tare.blit")]
pub struct Edit {
    held: Arc<Held>,
    changes: Mutex<Changes>,
}

/// Edit a document, or a value of one.
///
/// >>> from tare import blit
/// >>> changes = blit.edit(blit.view(blit.encode({"to": "LHR", "delays": [5]})))
/// >>> changes.set("/to", "JFK")
/// >>> changes.insert("/delays/-", 90)
/// >>> blit.view(changes.to_blit()).to_json()
/// b'{"to":"JFK","delays":[5,90]}'
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

    /// Does something to the edit, which nobody else has meanwhile: what is shared is copied to be
    /// changed. Nothing is changed by an error.
    fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Core<'_>) -> tare::Result<T>,
    ) -> PyResult<T> {
        let mut changes = self.changes();
        let none = Core::new(*self.held.view()).into_changes();
        let all = std::mem::replace(&mut *changes, none);
        let mut edit = Core::resume(*self.held.view(), all);
        let done = work(&mut edit);
        *changes = edit.into_changes();
        drop(changes);
        done.map_err(|error| raised(py, error))
    }

    /// The value at a pointer as it is now.
    fn at<'py>(&self, py: Python<'py>, pointer: &[u8]) -> PyResult<Option<Bound<'py, PyAny>>> {
        let raise = |error| raised(py, error);
        let edit = Core::resume(*self.held.view(), self.changes().clone());
        let value = match edit.get(pointer).map_err(raise)? {
            None => return Ok(None),
            Some(Current::Value(value)) => match value.place() {
                Some(place) => given(py, &self.held, self.held.at(place).map_err(raise)?)?,
                None => objects::scalar(py, &value)?.into_pyobject(py)?,
            },
            Some(Current::Array(_) | Current::Object(_)) => {
                // What was changed lies nowhere: it is a document of its own, as it is now.
                let options = Options {
                    surrogates: Surrogates::Keep,
                    ..like(self.held.view())
                };
                let part = py.detach(|| edit.part(pointer, &options)).map_err(raise)?;
                let part = part.unwrap_or_default();
                whole(py, Held::open(copied(py, &part)?.as_any())?)?
            }
        };
        Ok(Some(value))
    }

    /// The value of a name of the outermost object, if that is one.
    fn named<'py>(&self, key: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = key.py();
        let mut pointer = Vec::new();
        push_step(&mut pointer, &bytes_of(key)?);
        let edit = Core::resume(*self.held.view(), self.changes().clone());
        let root = edit.get("").map_err(|error| raised(py, error))?;
        match root {
            Some(Current::Object(_) | Current::Value(Value::Object(_))) => self.at(py, &pointer),
            _ => Ok(None),
        }
    }

    /// The value of a name, else at a pointer.
    fn found<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Ok(name) = key.cast::<PyString>() {
            if let Some(value) = self.named(name)? {
                return Ok(Some(value));
            }
            let pointer = bytes_of(name)?;
            if !pointer.is_empty() && !pointer.starts_with(b"/") {
                return Ok(None);
            }
            return self.at(key.py(), &pointer);
        }
        if key.is_instance_of::<Path>() {
            return self.at(key.py(), &pointer_of(key)?);
        }
        Ok(None)
    }
}

#[pymethods]
impl Edit {
    /// The value of a name, else at a JSON pointer, with the changes so far: as `ObjectView.get`.
    ///
    /// A container in which something was changed is encoded for it as a document of its own; later changes
    /// are not seen there.
    ///
    /// Raises:
    ///     UsageError: What begins with ``/`` and is no pointer.
    ///
    /// >>> from tare import blit
    /// >>> changes = blit.edit(blit.view(blit.encode({"to": "LHR", "delays": [5]})))
    /// >>> changes.set("/delays/0", 90)
    /// >>> changes.get("/delays/0"), changes["to"], changes.get("/from")
    /// (90, 'LHR', None)
    #[pyo3(signature = (path, default = None))]
    fn get<'py>(
        &self,
        path: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = path.py();
        let found = self.found(path)?.or(default);
        Ok(found.unwrap_or_else(|| py.None().into_bound(py)))
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        if let Some(found) = self.found(key)? {
            return Ok(found);
        }
        if key.is_instance_of::<PyString>() || key.is_instance_of::<Path>() {
            let class = support::get(py, "MissingName")?;
            return Err(PyErr::from_value(class.call1((key.str()?,))?));
        }
        self.item(key)
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.found(key)?.is_some())
    }

    /// Put a value in the place of another, or under a new name.
    ///
    /// >>> from tare import blit
    /// >>> changes = blit.edit(blit.view(blit.encode({"to": "LHR"})))
    /// >>> changes.set("/to", "JFK")
    /// >>> changes["to"]
    /// 'JFK'
    fn set(&self, pointer: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (at, tree) = (pointer_of(pointer)?, tree(value)?);
        self.with(value.py(), |edit| edit.set(at, tree))
    }

    /// Put a value in front of an element, or under a name.
    ///
    /// >>> from tare import blit
    /// >>> changes = blit.edit(blit.view(blit.encode([1, 3])))
    /// >>> changes.insert("/1", 2)
    /// >>> blit.view(changes.to_blit()).to_python()
    /// [1, 2, 3]
    fn insert(&self, pointer: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (at, tree) = (pointer_of(pointer)?, tree(value)?);
        self.with(value.py(), |edit| edit.insert(at, tree))
    }

    /// Take a value out.
    ///
    /// >>> from tare import blit
    /// >>> changes = blit.edit(blit.view(blit.encode({"to": "LHR", "delay": 5})))
    /// >>> changes.delete("/to")
    /// >>> blit.view(changes.to_blit()).to_python()
    /// {'delay': 5}
    fn delete(&self, pointer: &Bound<'_, PyAny>) -> PyResult<()> {
        let at = pointer_of(pointer)?;
        self.with(pointer.py(), |edit| edit.delete(at))
    }

    /// Carry out a JSON Patch (RFC 6902): text, or a list of operations.
    ///
    /// >>> from tare import blit
    /// >>> changes = blit.edit(blit.view(blit.encode({"delays": [5]})))
    /// >>> changes.patch([{"op": "add", "path": "/delays/-", "value": 90}])
    /// >>> changes["delays"].to_python()
    /// [5, 90]
    fn patch(&self, patch: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = patch.py();
        if let Some(text) = text(patch)? {
            return self.with(py, |edit| edit.patch(&text));
        }
        let document = encoded(patch)?;
        let view = CoreView::open(&document).map_err(|error| to_py(py, error))?;
        self.with(py, |edit| edit.patch_view(&view))
    }

    /// Carry out a JSON Merge Patch (RFC 7396): text, or its value.
    ///
    /// >>> from tare import blit
    /// >>> changes = blit.edit(blit.view(blit.encode({"to": "LHR", "delay": 5})))
    /// >>> changes.merge({"to": "JFK", "delay": None})
    /// >>> blit.view(changes.to_blit()).to_python()
    /// {'to': 'JFK'}
    fn merge(&self, patch: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = patch.py();
        if let Some(text) = text(patch)? {
            return self.with(py, |edit| edit.merge(&text));
        }
        let document = encoded(patch)?;
        let view = CoreView::open(&document).map_err(|error| to_py(py, error))?;
        self.with(py, |edit| edit.merge_view(&view))
    }

    /// The changed document.
    ///
    /// The options are those of `Writing`. A document that keeps duplicates or halves of surrogate
    /// pairs goes on keeping them where nothing else is said.
    ///
    /// >>> from tare import blit
    /// >>> changes = blit.edit(blit.view(blit.encode([1])))
    /// >>> blit.view(changes.to_blit(checksum=True)).to_python()
    /// [1]
    #[pyo3(signature = (**options))]
    fn to_blit<'py>(
        &self,
        py: Python<'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let writing = Writing::read(options)?;
        let mut options = writing.options;
        if !options.canonical {
            let source = like(self.held.view());
            if !writing.says_duplicates {
                options.duplicates = source.duplicates;
            }
            if !writing.says_surrogates {
                options.surrogates = source.surrogates;
            }
        }
        let changes = self.changes().clone();
        let edit = Core::resume(*self.held.view(), changes);
        let document = py.detach(|| edit.to_blit(&options));
        copied(py, &document.map_err(|error| to_py(py, error))?)
    }
}

impl Edit {
    /// The elements of the outermost array at an index or in a slice.
    fn item<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        let n = {
            let edit = Core::resume(*self.held.view(), self.changes().clone());
            match edit.get("").map_err(|error| raised(py, error))? {
                Some(Current::Array(array)) => Some(array.len()),
                Some(Current::Value(Value::Array(array))) => Some(array.len()),
                _ => None,
            }
        };
        let (Some(n), true) = (n, key.is_instance_of::<PyInt>()) else {
            let whole = self.at(py, b"")?;
            return whole.into_pyobject(py)?.get_item(key);
        };
        let i: isize = key.extract().unwrap_or(isize::MAX);
        let from_end = || n.checked_sub(i.unsigned_abs());
        let place = usize::try_from(i).ok().or_else(from_end);
        let found = match place.filter(|&place| place < n) {
            Some(place) => self.at(py, format!("/{place}").as_bytes())?,
            None => None,
        };
        let text = || format!("index {key} of {n} elements");
        found.ok_or_else(|| PyIndexError::new_err(text()))
    }
}

/// An error of an edit: what is not there is a `KeyError` too.
fn raised(py: Python<'_>, error: Error) -> PyErr {
    if error.kind() == ErrorKind::NotFound {
        return instance(py, "NotFound", &error).unwrap_or_else(|error| error);
    }
    to_py(py, error)
}

/// JSON text, where a patch is given so.
fn text(patch: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    if let Ok(text) = patch.cast::<PyString>() {
        return bytes_of(text).map(|text| Some(text.into_owned()));
    }
    let bytes = patch.cast::<PyBytes>();
    Ok(bytes.ok().map(|bytes| bytes.as_bytes().to_vec()))
}

fn encoded(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let py = value.py();
    // Whether halves of pairs are kept is asked where the changed document is written.
    let options = Options {
        surrogates: Surrogates::Keep,
        ..Options::default()
    };
    let mut writer = Writer::new(options).map_err(|error| to_py(py, error))?;
    Walk::new(py, &mut writer, None, true)
        .value(Seen::of(value))
        .map_err(|fault| fault.raise(py))?;
    writer.finish().map_err(|error| to_py(py, error))
}

fn tree(value: &Bound<'_, PyAny>) -> PyResult<Tree> {
    let document = encoded(value)?;
    let tree = CoreView::open(&document).and_then(|view| Tree::from_view(&view));
    tree.map_err(|error| to_py(value.py(), error))
}

/// Replace a value where it lies in a `bytearray`, by one that takes the same place.
///
/// Raises:
///     NotPatchable: It needs another place; `blit.edit` puts it in.
///     NotFound: There is no value at the pointer; a `KeyError` too.
///     UsageError: The text is no pointer, or the document cannot be written to.
///
/// >>> from tare import blit
/// >>> document = bytearray(blit.encode({"to": "LHR"}))
/// >>> blit.patch(document, "/to", "JFK")
/// >>> blit.view(document)["to"]
/// 'JFK'
#[pyfunction]
pub fn patch(
    document: &Bound<'_, PyAny>,
    pointer: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let py = value.py();
    let raise = |error| raised(py, error);
    let pointer = pointer_of(pointer)?;
    let buffer = writable(document).map_err(|error| {
        if !error.is_instance_of::<PyValueError>(py) {
            return error;
        }
        let text = "bytes that cannot be written to: patch a bytearray of them";
        to_py(py, Error::new(ErrorKind::Usage, text).with_format("blit"))
    })?;
    let encoded = encoded(value)?;
    let view = CoreView::open(&encoded).map_err(raise)?;
    let root: Value<'_> = view.root().map_err(raise)?;
    let mut bytes = lent(&buffer).to_vec();
    tare::blit::patch(&mut bytes, pointer, &root).map_err(raise)?;
    fill(py, &buffer, &bytes);
    Ok(())
}
