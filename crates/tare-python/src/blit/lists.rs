//! `tare.blit.ListView`: an array of a document, as a `Sequence`.

use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyString};
use tare::blit::{ArrayView, Value};
use tare::{Error, ErrorKind};

use super::columns::Chunk;
use super::path;
use super::view::{given, View};
use crate::error::to_py;

/// An array of a document: a `collections.abc.Sequence`.
#[pyclass(frozen, extends = View, sequence, module = "tare.blit")]
pub struct ListView;

/// The elements of an array, one after another.
#[pyclass(frozen, module = "tare.blit")]
pub struct Elements {
    list: Py<ListView>,
    /// How many were given.
    next: AtomicUsize,
    backwards: bool,
}

/// The elements of an array, and how many like each lie side by side.
#[pyclass(frozen, module = "tare._tare")]
pub struct Runs {
    list: Py<ListView>,
    next: AtomicUsize,
}

/// Most elements that a slice has.
const MOST: usize = 1 << 28;
/// Signals are looked for after so many elements.
const PATIENCE: usize = 1 << 14;

fn array<'a>(view: &'a Bound<'_, View>) -> PyResult<&'a ArrayView<'static>> {
    match view.get().lasting() {
        Value::Array(array) => Ok(array),
        _ => Err(PyTypeError::new_err("no array")),
    }
}

#[inline]
fn at<'py>(view: &Bound<'py, View>, i: usize) -> PyResult<Bound<'py, PyAny>> {
    let py = view.py();
    let value = array(view)?.get(i).map_err(|error| to_py(py, error))?;
    given(py, &view.get().held, value)
}

#[pymethods]
impl ListView {
    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Ok(array(slf.as_super())?.len())
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let view = slf.as_super();
        let n = array(view)?.len();
        if let Ok(slice) = key.cast::<PySlice>() {
            let range = slice.indices(n.try_into()?)?;
            if range.slicelength > MOST {
                let text = "more than 2^28 elements in a slice: iterate, or take them in parts";
                let error = Error::new(ErrorKind::Limit, text).with_format("blit");
                return Err(to_py(slf.py(), error));
            }
            let list = PyList::empty(slf.py());
            let mut i = range.start;
            for done in 0..range.slicelength {
                signals(slf.py(), done)?;
                list.append(at(view, i.unsigned_abs())?)?;
                i = i.saturating_add(range.step);
            }
            return Ok(list.into_any());
        }
        let i: isize = key.extract().map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(slf.py()) {
                let text = format!("an index beyond all of {n} elements");
                return PyIndexError::new_err(text);
            }
            error
        })?;
        let from_end = || n.checked_sub(i.unsigned_abs());
        let place = usize::try_from(i).ok().or_else(from_end);
        match place.filter(|&place| place < n) {
            Some(place) => at(view, place),
            None => Err(PyIndexError::new_err(format!("index {i} of {n} elements"))),
        }
    }

    fn __iter__(slf: Bound<'_, Self>) -> Elements {
        Elements {
            list: slf.unbind(),
            next: AtomicUsize::new(0),
            backwards: false,
        }
    }

    fn __reversed__(slf: Bound<'_, Self>) -> Elements {
        Elements {
            list: slf.unbind(),
            next: AtomicUsize::new(0),
            backwards: true,
        }
    }

    fn __contains__(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(Self::find(slf, value, 0, usize::MAX)?.is_some())
    }

    /// Where a value is first.
    ///
    /// Raises:
    ///     ValueError: It is not there.
    ///
    /// >>> from tare import blit
    /// >>> blit.view(blit.encode([5, 90])).index(90)
    /// 1
    #[pyo3(signature = (value, start = 0, stop = isize::MAX))]
    fn index(
        slf: &Bound<'_, Self>,
        value: &Bound<'_, PyAny>,
        start: isize,
        stop: isize,
    ) -> PyResult<usize> {
        let n = array(slf.as_super())?.len();
        let place = |i: isize| {
            let from_end = n.saturating_sub(i.unsigned_abs());
            usize::try_from(i).unwrap_or(from_end)
        };
        let found = Self::find(slf, value, place(start), place(stop))?;
        found.ok_or_else(|| PyValueError::new_err("the value is not in the array"))
    }

    /// How often a value is there.
    ///
    /// >>> from tare import blit
    /// >>> blit.view(blit.encode([5, 90, 5])).count(5)
    /// 2
    fn count(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        let mut count = 0;
        Self::each(slf, 0, usize::MAX, |_, n, element| {
            if element.eq(value)? {
                count += n;
            }
            Ok(true)
        })?;
        Ok(count)
    }

    /// All elements, each with how many like it lie side by side as far as their list says it.
    ///
    /// >>> from tare import blit
    /// >>> [n for _, n in blit.view(blit.encode([5] * 100)).runs()]
    /// [100]
    fn runs(slf: Bound<'_, Self>) -> Runs {
        Runs {
            list: slf.unbind(),
            next: AtomicUsize::new(0),
        }
    }

    /// The pieces of a column; None where elements lie row by row.
    ///
    /// >>> from tare import blit
    /// >>> rows = blit.view(blit.encode([{"delay": 5}, {"delay": 700}]))
    /// >>> [len(chunk) for chunk in rows.chunks(["delay"])]
    /// [2]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "what comes from Python comes as a value"
    )]
    fn chunks(
        slf: &Bound<'_, Self>,
        names: Vec<Bound<'_, PyString>>,
    ) -> PyResult<Option<Vec<Chunk>>> {
        let view = slf.as_super();
        let names: Result<Vec<&str>, _> = names.iter().map(|name| name.to_str()).collect();
        let Ok(names) = names else {
            return Ok(None); // halves of pairs are looked for row by row
        };
        let found = array(view)?.column(&names);
        let found = found.map_err(|error| to_py(slf.py(), error))?;
        let held = &view.get().held;
        Ok(found.map(|chunks| {
            let chunks = chunks.into_iter();
            chunks.map(|chunk| Chunk::of(held, chunk)).collect()
        }))
    }

    /// The names of the columns, where the elements are objects in columns.
    ///
    /// >>> from tare import blit
    /// >>> blit.view(blit.encode([{"to": "JFK", "delay": 5}, {"to": "LHR", "delay": 7}])).names()
    /// ['to', 'delay']
    fn names(slf: &Bound<'_, Self>) -> PyResult<Option<Vec<Py<PyAny>>>> {
        let (view, py) = (slf.as_super(), slf.py());
        let raise = |error| to_py(py, error);
        let Some(chunks) = array(view)?.column(&[]).map_err(raise)? else {
            return Ok(None);
        };
        let [chunk] = chunks.as_slice() else {
            return Ok(None);
        };
        let Some(ids) = chunk.names().map_err(raise)? else {
            return Ok(None);
        };
        let held = &view.get().held;
        let name = |id| held.name(py, id).map(|name| name.clone_ref(py));
        ids.into_iter().map(name).collect::<PyResult<_>>().map(Some)
    }

    /// One value of every element: a name, or a JSON pointer, with numbers for elements of arrays.
    ///
    /// Raises:
    ///     UsageError: A pointer that is none, or a name that no element has.
    ///
    /// >>> from tare import blit
    /// >>> blit.view(blit.encode([{"delay": 5}, {"delay": 700}])).column("delay").to_list()
    /// [5, 700]
    fn column<'py>(
        slf: &Bound<'py, Self>,
        path: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let class = slf.py().import("tare.blit.columns")?.getattr("Column")?;
        class.call1((slf, path))
    }

    /// A table of Arrow, of an array of objects.
    ///
    /// Raises:
    ///     Unsupported: The elements are no objects, or a column's values are of several kinds.
    ///
    /// >>> from tare import blit
    /// >>> blit.view(blit.encode([{"delay": 5}, {"delay": 700}])).to_arrow().to_pydict()
    /// {'delay': [5, 700]}
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let table = slf.py().import("tare.blit.columns")?.getattr("table")?;
        table.call1((slf,))
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        slf: &Bound<'py, Self>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::to_arrow(slf)?.call_method1("__arrow_c_stream__", (requested_schema,))
    }

    /// The value at a JSON pointer: ``""``, what begins with ``/``, or a `Path`.
    ///
    /// >>> from tare import blit
    /// >>> blit.view(blit.encode([{"to": "JFK"}])).get("/0/to")
    /// 'JFK'
    #[pyo3(signature = (path, default = None))]
    fn get<'py>(
        slf: &Bound<'py, Self>,
        path: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let view = slf.as_super();
        match path::find(view.get().lasting(), path)? {
            Some(value) => given(slf.py(), &view.get().held, value),
            None => Ok(default.unwrap_or_else(|| slf.py().None().into_bound(slf.py()))),
        }
    }
}

impl ListView {
    fn find(
        slf: &Bound<'_, Self>,
        value: &Bound<'_, PyAny>,
        start: usize,
        stop: usize,
    ) -> PyResult<Option<usize>> {
        let mut found = None;
        Self::each(slf, start, stop, |i, _, element| {
            found = element.eq(value)?.then_some(i);
            Ok(found.is_none())
        })?;
        Ok(found)
    }

    /// Calls with every element, its place and how many like it lie side by side there, until
    /// that gives false.
    fn each<'py>(
        slf: &Bound<'py, Self>,
        start: usize,
        stop: usize,
        mut call: impl FnMut(usize, usize, Bound<'py, PyAny>) -> PyResult<bool>,
    ) -> PyResult<()> {
        let view = slf.as_super();
        let stop = stop.min(array(view)?.len());
        let mut i = start;
        for done in 0.. {
            if i >= stop {
                break;
            }
            signals(slf.py(), done)?;
            let same = array(view)?.same(i);
            let same = same.map_err(|error| to_py(slf.py(), error))?.max(1);
            let same = same.min(stop - i);
            if !call(i, same, at(view, i)?)? {
                break;
            }
            i += same;
        }
        Ok(())
    }
}

/// Lets handlers of signals run from time to time.
#[inline]
fn signals(py: Python<'_>, done: usize) -> PyResult<()> {
    if done % PATIENCE == PATIENCE - 1 {
        py.check_signals()?;
    }
    Ok(())
}

#[pymethods]
impl Elements {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let list = self.list.bind(py).as_super();
        let i = self.next.fetch_add(1, Ordering::Relaxed);
        let n = array(list)?.len();
        if i >= n {
            self.next.store(usize::MAX / 2, Ordering::Relaxed);
            return Ok(None);
        }
        signals(py, i)?;
        at(list, if self.backwards { n - 1 - i } else { i }).map(Some)
    }

    fn __length_hint__(&self, py: Python<'_>) -> PyResult<usize> {
        let n = array(self.list.bind(py).as_super())?.len();
        Ok(n.saturating_sub(self.next.load(Ordering::Relaxed)))
    }
}

#[pymethods]
impl Runs {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyAny>, usize)>> {
        let list = self.list.bind(py).as_super();
        let i = self.next.load(Ordering::Relaxed);
        let n = array(list)?.len();
        if i >= n {
            return Ok(None);
        }
        let same = array(list)?.same(i).map_err(|error| to_py(py, error))?;
        let same = same.clamp(1, n - i);
        let element = at(list, i)?;
        self.next.store(i + same, Ordering::Relaxed);
        Ok(Some((element, same)))
    }
}
