//! `tare.blit.ObjectView`: an object of a document, as a `Mapping`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyString};
use tare::blit::{ObjectView as CoreObject, Value};

use super::objects::wtf8_of;
use super::view::{given, View};
use super::{path, support};
use crate::error::to_py;

/// An object of a document: a `collections.abc.Mapping`.
#[pyclass(frozen, extends = View, mapping, module = "tare.blit")]
pub struct ObjectView;

fn object<'a>(view: &'a Bound<'_, View>) -> PyResult<&'a CoreObject<'static>> {
    match view.get().lasting() {
        Value::Object(object) => Ok(object),
        _ => Err(PyTypeError::new_err("no object")),
    }
}

#[inline]
fn find(view: &Bound<'_, View>, key: &Bound<'_, PyAny>) -> PyResult<Option<Value<'static>>> {
    let Ok(name) = key.cast::<PyString>() else {
        return Ok(None);
    };
    let found = match name.to_str() {
        Ok(name) => object(view)?.get(name),
        Err(_) => object(view)?.get_wtf8(&wtf8_of(name.as_any())?),
    };
    found.map_err(|error| to_py(view.py(), error))
}

impl ObjectView {
    fn all<'py>(view: &Bound<'py, View>) -> PyResult<Bound<'py, PyList>> {
        let py = view.py();
        let this = view.get();
        let list = PyList::empty(py);
        for entry in object(view)?.entries() {
            let (id, value) = entry.map_err(|error| to_py(py, error))?;
            let name = this.held.name(py, id)?.clone_ref(py);
            list.append((name, given(py, &this.held, value)?))?;
        }
        Ok(list)
    }

    fn names<'py>(view: &Bound<'py, View>) -> PyResult<Bound<'py, PyList>> {
        let py = view.py();
        let list = PyList::empty(py);
        for entry in object(view)?.entries() {
            let (id, _) = entry.map_err(|error| to_py(py, error))?;
            list.append(view.get().held.name(py, id)?.clone_ref(py))?;
        }
        Ok(list)
    }
}

#[pymethods]
impl ObjectView {
    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        let count = object(slf.as_super())?.count();
        count.map_err(|error| to_py(slf.py(), error))
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let view = slf.as_super();
        match find(view, key)? {
            Some(value) => given(slf.py(), &view.get().held, value),
            None => Err(missing(slf, key)),
        }
    }

    fn __contains__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(find(slf.as_super(), key)?.is_some())
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        Self::names(slf.as_super())?.try_iter()
    }

    fn __reversed__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        let names = Self::names(slf.as_super())?;
        names.reverse()?;
        names.try_iter()
    }

    /// Names and values, all at once.
    ///
    /// >>> from tare import blit
    /// >>> blit.view(blit.encode({"to": "JFK", "delay": 5})).entries()
    /// [('to', 'JFK'), ('delay', 5)]
    fn entries<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        Self::all(slf.as_super())
    }

    /// The names, in the order in which they were written.
    ///
    /// >>> from tare import blit
    /// >>> list(blit.view(blit.encode({"to": "JFK", "delay": 5})).keys())
    /// ['to', 'delay']
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        support::get(slf.py(), "Keys")?.call1((slf,))
    }

    /// The values.
    ///
    /// >>> from tare import blit
    /// >>> list(blit.view(blit.encode({"to": "JFK", "delay": 5})).values())
    /// ['JFK', 5]
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        support::get(slf.py(), "Values")?.call1((slf,))
    }

    /// Names and values.
    ///
    /// >>> from tare import blit
    /// >>> list(blit.view(blit.encode({"to": "JFK", "delay": 5})).items())
    /// [('to', 'JFK'), ('delay', 5)]
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        support::get(slf.py(), "Items")?.call1((slf,))
    }

    /// The value of a name, else at a JSON pointer: ``""``, what begins with ``/``, or a `Path`.
    ///
    /// >>> from tare import blit
    /// >>> flight = blit.view(blit.encode({"to": "JFK", "delays": [5, 90]}))
    /// >>> flight.get("to"), flight.get("/delays/1"), flight.get("from", "?")
    /// ('JFK', 90, '?')
    #[pyo3(signature = (path, default = None))]
    fn get<'py>(
        slf: &Bound<'py, Self>,
        path: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let view = slf.as_super();
        let found = match find(view, path)? {
            Some(value) => Some(value),
            None => path::find(view.get().lasting(), path)?,
        };
        match found {
            Some(value) => given(py, &view.get().held, value),
            None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }
}

/// The error that tells near names, once it is shown.
#[cold]
fn missing(slf: &Bound<'_, ObjectView>, key: &Bound<'_, PyAny>) -> PyErr {
    let made = support::get(slf.py(), "MissingName").and_then(|class| class.call1((key, slf)));
    made.map_or_else(|error| error, PyErr::from_value)
}
