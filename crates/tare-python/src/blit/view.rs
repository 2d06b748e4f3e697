//! `tare.blit.View` and what it is of: a value that is read where it lies.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PySlice, PyString};
use tare::blit::{ArrayView, ObjectView as CoreObject, Value};

use super::held::Held;
use super::{objects, options};
use crate::buffers::copied;
use crate::error::to_py;

/// From this many bytes on the GIL is released.
const LONG: usize = 64 << 10;

/// A value of a document, and the document.
#[pyclass(frozen, subclass, module = "tare.blit")]
pub struct View {
    held: Arc<Held>,
    /// Of the document that `held` keeps; dropped with it, lent for no longer.
    value: Value<'static>,
    is_root: bool,
}

/// An object: a `Mapping`.
#[pyclass(frozen, extends = View, mapping, module = "tare.blit")]
pub struct ObjectView;

/// An array: a `Sequence`.
#[pyclass(frozen, extends = View, sequence, module = "tare.blit")]
pub struct ListView;

/// Opens a document.
#[pyfunction]
pub fn view<'py>(buffer: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = buffer.py();
    let held = Held::open(buffer)?;
    let value = held.root().map_err(|error| to_py(py, error))?;
    placed(py, held, value, true)
}

/// A container as a view, a scalar as a Python value.
fn given<'py>(
    py: Python<'py>,
    held: &Arc<Held>,
    value: Value<'static>,
) -> PyResult<Bound<'py, PyAny>> {
    match objects::scalar(py, &value)? {
        Some(scalar) => Ok(scalar),
        None => placed(py, Arc::clone(held), value, false),
    }
}

fn placed<'py>(
    py: Python<'py>,
    held: Arc<Held>,
    value: Value<'static>,
    is_root: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let is_object = matches!(value, Value::Object(_));
    let is_array = matches!(value, Value::Array(_));
    let base = PyClassInitializer::from(View {
        held,
        value,
        is_root,
    });
    if is_object {
        return Ok(Bound::new(py, base.add_subclass(ObjectView))?.into_any());
    }
    if is_array {
        return Ok(Bound::new(py, base.add_subclass(ListView))?.into_any());
    }
    Ok(Bound::new(py, base)?.into_any())
}

impl View {
    fn object(&self) -> PyResult<&CoreObject<'static>> {
        match &self.value {
            Value::Object(object) => Ok(object),
            _ => Err(PyTypeError::new_err("no object")),
        }
    }

    fn array(&self) -> PyResult<&ArrayView<'static>> {
        match &self.value {
            Value::Array(array) => Ok(array),
            _ => Err(PyTypeError::new_err("no array")),
        }
    }

    pub fn value(&self) -> &Value<'_> {
        &self.value
    }
}

#[pymethods]
impl View {
    /// The whole value as Python objects.
    #[pyo3(signature = (*, decimal = false, max_elements = 1 << 28))]
    fn to_python<'py>(
        &self,
        py: Python<'py>,
        decimal: bool,
        max_elements: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let most = self.is_root;
        super::made::made(py, (&self.held, &self.value), most, decimal, max_elements)
    }

    #[pyo3(signature = (order = "insertion", *, nan = "error", bytes = "error", max_output = 1 << 32))]
    fn to_json<'py>(
        &self,
        py: Python<'py>,
        order: &str,
        nan: &str,
        bytes: &str,
        max_output: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let options = options::json(py, order, nan, bytes, max_output)?;
        let text = if self.is_root {
            let view = self.held.view();
            if view.data().len() < LONG {
                view.to_json(&options)
            } else {
                py.detach(|| view.to_json(&options))
            }
        } else {
            let alone = super::encode::alone(&self.value).map_err(|error| to_py(py, error))?;
            py.detach(|| tare::blit::View::open(&alone).and_then(|view| view.to_json(&options)))
        };
        copied(py, &text.map_err(|error| to_py(py, error))?)
    }

    fn validate(&self, py: Python<'_>) -> PyResult<()> {
        let view = self.held.view();
        let found = if view.data().len() < LONG {
            view.validate()
        } else {
            py.detach(|| view.validate())
        };
        found.map(|_| ()).map_err(|error| to_py(py, error))
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let other = match other.cast::<View>() {
            Ok(other) => objects::whole(py, &other.get().value)?,
            Err(_) => other.clone(),
        };
        objects::whole(py, &self.value)?.eq(other)
    }
}

#[pymethods]
impl ObjectView {
    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        let count = slf.as_super().get().object()?.count();
        count.map_err(|error| to_py(slf.py(), error))
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match find(slf, key)? {
            Some(value) => given(slf.py(), &slf.as_super().get().held, value),
            None => Err(PyKeyError::new_err((key.clone().unbind(),))),
        }
    }

    fn __contains__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(find(slf, key)?.is_some())
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::keys(slf)?.into_any().try_iter().map(Bound::into_any)
    }

    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let py = slf.py();
        let list = PyList::empty(py);
        for entry in slf.as_super().get().object()?.iter() {
            list.append(&*entry.map_err(|error| to_py(py, error))?.0)?;
        }
        Ok(list)
    }

    #[pyo3(signature = (path, default = None))]
    fn get<'py>(
        slf: &Bound<'py, Self>,
        path: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.as_super().get();
        let found = match find(slf, path)? {
            Some(value) => Some(value),
            None => pointed(this, path)?,
        };
        match found {
            Some(value) => given(py, &this.held, value),
            None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }
}

fn find(slf: &Bound<'_, ObjectView>, key: &Bound<'_, PyAny>) -> PyResult<Option<Value<'static>>> {
    let Ok(name) = key.cast::<PyString>() else {
        return Ok(None);
    };
    let object = slf.as_super().get().object()?;
    object
        .get(name.to_str()?)
        .map_err(|error| to_py(slf.py(), error))
}

/// The value at a JSON pointer from this one on.
fn pointed(from: &View, path: &Bound<'_, PyAny>) -> PyResult<Option<Value<'static>>> {
    let Ok(text) = path.cast::<PyString>() else {
        return Ok(None);
    };
    let text = text.to_str()?;
    if !text.is_empty() && !text.starts_with('/') {
        return Ok(None);
    }
    let mut value = from.value.clone();
    for step in text.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let next = match value {
            Value::Array(array) => match step.parse::<usize>() {
                Ok(i) if i < array.len() => array.get(i).map(Some),
                _ => Ok(None),
            },
            Value::Object(object) => object.get(&step),
            _ => Ok(None),
        };
        match next.map_err(|error| to_py(path.py(), error))? {
            Some(next) => value = next,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

#[pymethods]
impl ListView {
    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Ok(slf.as_super().get().array()?.len())
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.as_super().get();
        let array = this.array()?;
        let at = |i: usize| {
            let value = array.get(i).map_err(|error| to_py(py, error))?;
            given(py, &this.held, value)
        };
        if let Ok(slice) = key.cast::<PySlice>() {
            let range = slice.indices(array.len().try_into()?)?;
            let list = PyList::empty(py);
            let mut i = range.start;
            for _ in 0..range.slicelength {
                list.append(at(i.unsigned_abs())?)?;
                i = i.saturating_add(range.step);
            }
            return Ok(list.into_any());
        }
        let i: isize = key.extract()?;
        let from_end = || array.len().checked_sub(i.unsigned_abs());
        let place = usize::try_from(i).ok().or_else(from_end);
        match place.filter(|&place| place < array.len()) {
            Some(place) => at(place),
            None => Err(PyIndexError::new_err(format!(
                "index {i} of {} elements",
                array.len()
            ))),
        }
    }

    #[pyo3(signature = (path, default = None))]
    fn get<'py>(
        slf: &Bound<'py, Self>,
        path: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.as_super().get();
        match pointed(this, path)? {
            Some(value) => given(slf.py(), &this.held, value),
            None => Ok(default.unwrap_or_else(|| slf.py().None().into_bound(slf.py()))),
        }
    }
}
