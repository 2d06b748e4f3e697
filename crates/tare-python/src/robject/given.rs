//! Plain Python and `NumPy` as R's values.

use std::collections::HashMap;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PyMemoryView,
    PyString, PyTuple,
};
use tare::robject::arrow::{from_arrow, FromArrow};
use tare::robject::{Body, Builder, Graft, Id, LossKind, Losses, RObject};
use tare::{Error, ErrorKind};

use super::arrow::imported;
use super::handle::Handle;
use super::numpy;
use super::options::option;
use super::report::{entries, Entry};
use super::scalars::{self, Scalars};
use crate::error::to_py;

/// Lists and dicts inside each other at most, as for files.
const MOST_DEPTH: usize = 10_000;

/// What is still to be done: values come before the list that holds them.
enum Step<'py> {
    Value(Bound<'py, PyAny>, usize, Option<Label>),
    List(usize, Option<Vec<String>>),
    Leave,
}

/// The step of a path.
enum Label {
    Name(String),
    Index(usize),
}

/// A conversion at work.
struct Work<'a, 'py> {
    py: Python<'py>,
    build: Builder,
    losses: Losses,
    other: Option<&'a Bound<'py, PyAny>>,
    done: Vec<Id>,
    /// Where the nodes of objects of R went, by the address of their arena, which is kept alive: what
    /// several of them share, such as an environment, stays one.
    grafted: HashMap<usize, (RObject, HashMap<Id, Id>)>,
}

/// An R value of plain Python, `NumPy` and Arrow.
#[pyfunction]
pub fn r_from_python<'py>(
    value: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
) -> PyResult<(Handle, Vec<Entry>)> {
    let py = value.py();
    let other = options.get_item("other")?.filter(|other| !other.is_none());
    let mut work = Work {
        py,
        build: Builder::new(),
        losses: Losses::new(option(options, "strict")?.unwrap_or(false)),
        other: other.as_ref(),
        done: Vec::new(),
        grafted: HashMap::new(),
    };
    work.run(value)?;
    let root = work.done.pop().unwrap_or(Id::NULL);
    Ok((Handle(work.build.finish(root)), entries(work.losses)))
}

impl<'py> Work<'_, 'py> {
    fn run(&mut self, value: &Bound<'py, PyAny>) -> PyResult<()> {
        let mut open = vec![Step::Value(value.clone(), 0, None)];
        let mut met = 0_u32;
        while let Some(step) = open.pop() {
            met = met.wrapping_add(1);
            if met % 4096 == 0 {
                self.py.check_signals()?;
            }
            match step {
                Step::Value(value, depth, label) => {
                    if depth > MOST_DEPTH {
                        let text = format!("values more than {MOST_DEPTH} deep in each other");
                        return Err(self.raised(Error::new(ErrorKind::Limit, text)));
                    }
                    match &label {
                        Some(Label::Name(name)) => self.losses.enter_name(name),
                        Some(Label::Index(index)) => self.losses.enter_index(*index),
                        None => {}
                    }
                    if label.is_some() {
                        open.push(Step::Leave);
                    }
                    self.value(&value, depth, &mut open)?;
                }
                Step::List(length, names) => self.list(length, names)?,
                Step::Leave => self.losses.leave(),
            }
        }
        Ok(())
    }

    /// A value, or the steps that make it.
    fn value(
        &mut self,
        value: &Bound<'py, PyAny>,
        depth: usize,
        open: &mut Vec<Step<'py>>,
    ) -> PyResult<()> {
        if value.is_none() {
            self.done.push(Id::NULL);
            return Ok(());
        }
        if let Ok(handle) = value.cast::<Handle>() {
            return self.graft(handle.get());
        }
        if let Ok(list) = value.cast::<PyList>() {
            return self.sequence(list.iter().collect(), depth, open);
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            return self.sequence(tuple.iter().collect(), depth, open);
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            return self.dict(dict, depth, open);
        }
        if is_scalar(value)? {
            return self.scalars(std::slice::from_ref(value));
        }
        let bytes = value.is_instance_of::<PyBytes>()
            || value.is_instance_of::<PyByteArray>()
            || value.is_instance_of::<PyMemoryView>();
        if bytes {
            let copy = crate::buffers::with_bytes(value, |bytes| Ok(bytes.to_vec()))?;
            return self.push(Body::Raw(copy));
        }
        if value.hasattr("__array_interface__")? {
            let id = numpy::vector(&mut self.build, &mut self.losses, value)?;
            if let Some(id) = id {
                self.done.push(id);
                return Ok(());
            }
            // Arrays of objects and of text are lists first.
            let list = value.call_method0("tolist")?;
            return match list.cast::<PyList>() {
                Ok(list) => self.sequence(list.iter().collect(), depth, open),
                Err(_) => self.value(&list, depth, open),
            };
        }
        self.foreign(value)
    }

    /// What another makes, or gives as Arrow.
    fn foreign(&mut self, value: &Bound<'py, PyAny>) -> PyResult<()> {
        if let Some(other) = self.other {
            let made = other.call1((value,))?;
            if let Ok(handle) = made.cast::<Handle>() {
                return self.graft(handle.get());
            }
        }
        if value.hasattr("__arrow_c_array__")? || value.hasattr("__arrow_c_stream__")? {
            let (field, chunks) = imported(value)?;
            for chunk in &chunks {
                let checked = arrow_array::Array::to_data(chunk).validate_full();
                checked.map_err(|error| {
                    let text = format!("the Arrow array is not valid: {error}");
                    self.raised(Error::new(ErrorKind::Malformed, text))
                })?;
            }
            let made = from_arrow(&field, &chunks, &FromArrow::default());
            let (object, losses) = made.map_err(|error| self.raised(error))?;
            for loss in losses.list() {
                self.losses
                    .add_at(&loss.path, loss.kind, &loss.r, &loss.kept, loss.count)
                    .map_err(|error| to_py(self.py, error))?;
            }
            return self.graft(&Handle(object));
        }
        let (name, path) = (value.get_type().name()?, self.losses.path());
        let place = if path.is_empty() {
            "the value itself"
        } else {
            path
        };
        let text = format!("R has nothing like {name}, at {place}: make it a list, dict or array");
        Err(PyTypeError::new_err(text))
    }

    fn graft(&mut self, handle: &Handle) -> PyResult<()> {
        let arena = std::sync::Arc::as_ptr(handle.0.arena()).addr();
        let known = self.grafted.entry(arena);
        let (_, places) = known.or_insert_with(|| (handle.0.clone(), HashMap::new()));
        let copied = self.build.graft_into(&handle.0, Graft::All, places);
        let (id, _) = copied.map_err(|error| self.raised(error))?;
        self.done.push(id);
        Ok(())
    }

    /// A vector, where all items are scalars of one kind; else a list.
    fn sequence(
        &mut self,
        items: Vec<Bound<'py, PyAny>>,
        depth: usize,
        open: &mut Vec<Step<'py>>,
    ) -> PyResult<()> {
        if !items.is_empty() && scalars::alike(&items)? {
            return self.scalars(&items);
        }
        open.push(Step::List(items.len(), None));
        for (index, item) in items.into_iter().enumerate().rev() {
            open.push(Step::Value(
                item,
                depth.saturating_add(1),
                Some(Label::Index(index)),
            ));
        }
        Ok(())
    }

    fn dict(
        &mut self,
        dict: &Bound<'py, PyDict>,
        depth: usize,
        open: &mut Vec<Step<'py>>,
    ) -> PyResult<()> {
        let mut names = Vec::with_capacity(dict.len());
        let mut values = Vec::with_capacity(dict.len());
        let mut other = 0_u64;
        for (key, value) in dict.iter() {
            other += u64::from(!key.is_instance_of::<PyString>());
            names.push(key.str()?.to_str()?.to_string());
            values.push(value);
        }
        self.lost(
            LossKind::IdentityLost,
            "key that is no str",
            "its text",
            other,
        )?;
        open.push(Step::List(values.len(), Some(names.clone())));
        for (name, value) in names.into_iter().zip(values).rev() {
            open.push(Step::Value(
                value,
                depth.saturating_add(1),
                Some(Label::Name(name)),
            ));
        }
        Ok(())
    }

    fn list(&mut self, length: usize, names: Option<Vec<String>>) -> PyResult<()> {
        let parts = self.done.split_off(self.done.len().saturating_sub(length));
        self.push(Body::List(parts))?;
        if let (Some(names), Some(id)) = (names, self.done.last().copied()) {
            let texts: Vec<&str> = names.iter().map(String::as_str).collect();
            if let Some(name) = texts.iter().find(|name| name.contains('\0')) {
                return Err(self.zero(name));
            }
            let made = self.build.strings(texts);
            let names = made.and_then(|names| self.build.set_attributes(id, &[("names", names)]));
            names.map_err(|error| self.raised(error))?;
        }
        Ok(())
    }

    fn scalars(&mut self, items: &[Bound<'py, PyAny>]) -> PyResult<()> {
        let Scalars { body, attributes } = scalars::vector(items, &mut self.losses)?;
        if let Body::Character(strings) = &body {
            if memchr_zero(strings.bytes()) {
                return Err(self.zero("a string"));
            }
        }
        self.push(body)?;
        let Some(id) = self.done.last().copied().filter(|_| !attributes.is_empty()) else {
            return Ok(());
        };
        let mut pairs = Vec::with_capacity(attributes.len());
        for (name, texts) in &attributes {
            let value = self.build.strings(texts.iter().map(String::as_str));
            pairs.push((*name, value.map_err(|error| self.raised(error))?));
        }
        let done = self.build.set_attributes(id, &pairs);
        done.map_err(|error| self.raised(error))
    }

    fn push(&mut self, body: Body) -> PyResult<()> {
        let id = self.build.push(body);
        self.done.push(id.map_err(|error| self.raised(error))?);
        Ok(())
    }

    fn lost(&mut self, kind: LossKind, r: &str, kept: &str, count: u64) -> PyResult<()> {
        let added = self.losses.add(kind, r, kept, count);
        added.map_err(|error| to_py(self.py, error))
    }

    fn zero(&self, what: &str) -> PyErr {
        let text = format!("{what:?} holds a zero byte, which no string of R can: give bytes");
        self.raised(Error::new(ErrorKind::Unsupported, text))
    }

    fn raised(&self, error: Error) -> PyErr {
        to_py(self.py, error)
    }
}

fn memchr_zero(bytes: &[u8]) -> bool {
    bytes.contains(&0)
}

/// Whether a value is a vector of one element.
fn is_scalar(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.is_instance_of::<PyBool>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyComplex>()
        || value.is_instance_of::<PyString>()
        || scalars::is_time(value)?)
}
