//! Values by a query, one after the other.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use tare::blit::{Find, FindOptions, JsonPath, Place, Value};
use tare::{Error, ErrorKind};

use super::held::Held;
use super::view::given;
use crate::error::to_py;

/// With so many values found, the others are counted first: few bytes can be any number of them.
const MANY: usize = 1 << 20;

/// A search that goes on where it stands.
struct Search {
    /// Dropped before what it reads; never given out with this lifetime.
    find: Find<'static>,
    held: Arc<Held>,
    #[allow(dead_code, reason = "it is kept for the search that borrows it")]
    query: Arc<JsonPath>,
    /// The container that was given last: others in the same place are the same object.
    last: Option<(Place, Py<PyAny>)>,
}

impl Search {
    /// Searches a value that lies in a held document.
    fn new(
        py: Python<'_>,
        held: &Arc<Held>,
        value: Value<'static>,
        query: Arc<JsonPath>,
        max_elements: u64,
    ) -> PyResult<Self> {
        let options = FindOptions {
            max_elements,
            check: Some(&check),
        };
        let find = held.found(value, lasting(&query), options);
        Ok(Self {
            find: find.map_err(|error| raised(py, error))?,
            held: Arc::clone(held),
            query,
            last: None,
        })
    }

    fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(value) = self.find.next_value() else {
            return Ok(None);
        };
        let value = value.map_err(|error| raised(py, error))?;
        let place = value.place();
        match (&self.last, place) {
            (Some((last, object)), Some(place)) if *last == place => {
                return Ok(Some(object.bind(py).clone()));
            }
            _ => {}
        }
        let object = given(py, &self.held, value)?;
        self.last = place.map(|place| (place, object.clone().unbind()));
        Ok(Some(object))
    }
}

/// All values that a query finds in one that lies in a held document.
pub fn all<'py>(
    held: &Arc<Held>,
    value: &Value<'static>,
    query: &Bound<'py, PyString>,
    max_elements: u64,
) -> PyResult<Bound<'py, PyList>> {
    let py = query.py();
    let query = parsed(query)?;
    let search = || Search::new(py, held, value.clone(), Arc::clone(&query), max_elements);
    let mut found = search()?;
    let list = PyList::empty(py);
    while let Some(value) = found.next(py)? {
        if list.len() == MANY {
            let mut others = search()?;
            while let Some(other) = others.find.next_value() {
                other.map_err(|error| raised(py, error))?;
            }
        }
        list.append(value)?;
    }
    Ok(list)
}

/// Values that a query finds, each looked for when it is asked for.
#[pyclass(frozen, module = "tare._tare")]
pub struct Found {
    search: Mutex<Search>,
}

impl Found {
    pub fn new(
        held: &Arc<Held>,
        value: &Value<'static>,
        query: &Bound<'_, PyString>,
        max_elements: u64,
    ) -> PyResult<Self> {
        let parsed = parsed(query)?;
        let search = Search::new(query.py(), held, value.clone(), parsed, max_elements)?;
        Ok(Self {
            search: Mutex::new(search),
        })
    }

    /// The search, which is not waited for: the one who has it may wait for the GIL.
    fn search(&self) -> PyResult<MutexGuard<'_, Search>> {
        match self.search.try_lock() {
            Ok(search) => Ok(search),
            Err(TryLockError::Poisoned(search)) => Ok(search.into_inner()),
            Err(TryLockError::WouldBlock) => Err(PyValueError::new_err("it is searching already")),
        }
    }
}

#[pymethods]
impl Found {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.search()?.next(py)
    }
}

fn parsed(query: &Bound<'_, PyString>) -> PyResult<Arc<JsonPath>> {
    let raise = |error| to_py(query.py(), error);
    let text = query.to_str().map_err(|_| {
        let text = "a query with half of a surrogate pair, which is no text";
        raise(Error::new(ErrorKind::Usage, text).with_format("blit"))
    })?;
    JsonPath::parse(text).map(Arc::new).map_err(raise)
}

/// Lets other threads and handlers of signals run; what those raise is left with Python.
fn check() -> tare::Result<()> {
    Python::attach(|py| {
        py.detach(|| ());
        py.check_signals().map_err(|error| {
            error.restore(py);
            Error::new(ErrorKind::Cancelled, "Python raised")
        })
    })
}

/// The exception of an error, or the one that ended the search.
fn raised(py: Python<'_>, error: Error) -> PyErr {
    if error.kind() == ErrorKind::Cancelled {
        if let Some(raised) = PyErr::take(py) {
            return raised;
        }
    }
    to_py(py, error)
}

#[allow(unsafe_code, reason = "a query and its search in one object")]
fn lasting(query: &Arc<JsonPath>) -> &'static JsonPath {
    // SAFETY: it lies in an `Arc`, so that it does not move; `Search` keeps a clone of that and
    // drops it after `find`, which alone reads it: values that are found lie in the document.
    unsafe { &*Arc::as_ptr(query) }
}
