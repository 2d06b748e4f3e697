//! R's values as plain Python: lists, dicts, strings and scalars.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyDict, PyList};
use pyo3::IntoPyObjectExt;
use tare::robject::{
    is_na, Body, Decoded, Id, LossKind, Losses, RObject, Recoder, Strings, NA_INT,
};

use super::handle::Handle;
use crate::error::to_py;

/// What is still to be done: the parts of a list come before the list.
enum Step {
    /// A list, and the place of its path.
    Open(Id, usize),
    /// Its parts are there.
    Close(Id, usize),
}

/// A conversion at work.
struct Work<'a, 'py> {
    py: Python<'py>,
    object: &'a RObject,
    recoder: Recoder,
    scalars: bool,
    leaf: &'a Bound<'py, PyAny>,
    /// Lists that are ready, by node.
    ready: HashMap<Id, Bound<'py, PyAny>>,
    /// Where each list lies: the path of the list around it, and a label.
    places: Vec<(usize, String)>,
    recoded: u64,
    no_text: u64,
    /// Character vectors without strings: lists that do not say of what.
    empty: u64,
}

/// A value as plain Python; `leaf` makes of a handle and a path what is not made here.
pub fn converted<'py>(
    py: Python<'py>,
    object: &RObject,
    scalars: bool,
    leaf: &Bound<'py, PyAny>,
    losses: &mut Losses,
) -> PyResult<Bound<'py, PyAny>> {
    let mut work = Work {
        py,
        object,
        recoder: Recoder::of(object.arena()),
        scalars,
        leaf,
        ready: HashMap::new(),
        places: vec![(0, String::new())],
        recoded: 0,
        no_text: 0,
        empty: 0,
    };
    let value = work.run(object.id())?;
    let raised = |error| to_py(py, error);
    let (r, kept) = ("character of no strings", "an empty list");
    losses
        .add(LossKind::TypeChanged, r, kept, work.empty)
        .map_err(raised)?;
    let (r, kept) = ("latin1 or native", "str");
    losses
        .add(LossKind::EncodingChanged, r, kept, work.recoded)
        .map_err(raised)?;
    let (r, kept) = (
        "string that is no text, or unmarked and not UTF-8 (encoding= names it)",
        "bytes",
    );
    losses
        .add(LossKind::BytesString, r, kept, work.no_text)
        .map_err(raised)?;
    Ok(value)
}

impl<'py> Work<'_, 'py> {
    fn run(&mut self, root: Id) -> PyResult<Bound<'py, PyAny>> {
        if !self.is_plain_list(root) {
            return self.value(root, 0, None);
        }
        let mut open = vec![Step::Open(root, 0)];
        let mut met = 0_u32;
        while let Some(step) = open.pop() {
            met = met.wrapping_add(1);
            if met % 4096 == 0 {
                self.py.check_signals()?;
            }
            match step {
                Step::Open(id, place) => {
                    if self.ready.contains_key(&id) {
                        continue;
                    }
                    open.push(Step::Close(id, place));
                    let names = self.names(id);
                    for (at, child) in self.object.arena().elements(id).iter().enumerate() {
                        if self.is_plain_list(*child) {
                            self.places.push((place, label(names.as_deref(), at)));
                            open.push(Step::Open(*child, self.places.len() - 1));
                        }
                    }
                }
                Step::Close(id, place) => {
                    let list = self.list(id, place)?;
                    self.ready.insert(id, list);
                }
            }
        }
        let root = self.ready.remove(&root);
        root.map_or_else(|| Ok(self.py.None().into_bound(self.py)), Ok)
    }

    /// A list whose parts are ready.
    fn list(&mut self, id: Id, place: usize) -> PyResult<Bound<'py, PyAny>> {
        let names = self.names(id);
        let children = self.object.arena().elements(id);
        let mut values = Vec::with_capacity(children.len());
        for (at, child) in children.iter().enumerate() {
            values.push(match self.ready.get(child) {
                Some(value) => value.clone(),
                None => self.value(*child, place, Some((names.as_deref(), at)))?,
            });
        }
        let Some(names) = names else {
            return Ok(PyList::new(self.py, values)?.into_any());
        };
        let dict = PyDict::new(self.py);
        for (name, value) in names.iter().zip(values) {
            dict.set_item(name, value)?;
        }
        Ok(dict.into_any())
    }

    /// Whether a node is a list that becomes a list or dict: no attributes but names, and those
    /// all there and different.
    fn is_plain_list(&self, id: Id) -> bool {
        let arena = self.object.arena();
        if !matches!(arena.node(id).body, Body::List(_)) {
            return false;
        }
        let mut attributes = arena.attributes(id);
        attributes.all(|(name, _)| name == b"names")
            && (arena.node(id).attributes.is_null() || self.names(id).is_some())
    }

    fn names(&self, id: Id) -> Option<Vec<String>> {
        let names: Option<Vec<String>> = self.object.at(id).names()?.into_iter().collect();
        let names = names.filter(|names| names.len() == self.object.arena().elements(id).len())?;
        let different: HashSet<&str> = names.iter().map(String::as_str).collect();
        let all = different.len() == names.len() && !different.contains("");
        all.then_some(names)
    }

    /// A value that is no list.
    fn value(
        &mut self,
        id: Id,
        place: usize,
        last: Option<(Option<&[String]>, usize)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arena = self.object.arena();
        let node = arena.node(id);
        if id.is_null() {
            return Ok(self.py.None().into_bound(self.py));
        }
        let vector = node.attributes.is_null() && !node.is_object;
        if vector && (self.scalars && arena.length(id) == 1 || is_text(&node.body)) {
            let body = arena
                .data(id, None)
                .map_err(|error| to_py(self.py, error))?;
            if let Some(value) = self.vector(body)? {
                return Ok(value);
            }
        }
        let mut path = self.path(place);
        if let Some((names, at)) = last {
            path.push_str(&label(names, at));
        }
        self.leaf.call1((Handle(self.object.at(id)), path))
    }

    /// Strings, and scalars where they are asked for.
    fn vector(&mut self, body: &Body) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = self.py;
        if let Body::Character(strings) = body {
            return self.strings(strings).map(Some);
        }
        let none = || Ok(Some(py.None().into_bound(py)));
        Ok(Some(match body {
            Body::Logical(values) | Body::Integer(values) if values.first() == Some(&NA_INT) => {
                return none();
            }
            Body::Logical(values) => (values.first() != Some(&0)).into_bound_py_any(py)?,
            Body::Integer(values) => values.first().into_bound_py_any(py)?,
            Body::Double(values) => match values.first() {
                Some(value) if is_na(*value) => return none(),
                value => value.into_bound_py_any(py)?,
            },
            Body::Complex(values) => match values.first() {
                Some([re, im]) if !is_na(*re) && !is_na(*im) => {
                    PyComplex::from_doubles(py, *re, *im).into_any()
                }
                _ => return none(),
            },
            _ => return Ok(None),
        }))
    }

    fn strings(&mut self, strings: &Strings) -> PyResult<Bound<'py, PyAny>> {
        let mut values = Vec::with_capacity(strings.len());
        self.empty += u64::from(strings.is_empty());
        for text in strings.iter() {
            values.push(match self.recoder.decode(text) {
                None => self.py.None().into_bound(self.py),
                Some(Decoded::Same(text)) => text.into_bound_py_any(self.py)?,
                Some(Decoded::Recoded(text)) => {
                    self.recoded += 1;
                    text.into_bound_py_any(self.py)?
                }
                Some(Decoded::Bytes(bytes)) => {
                    self.no_text += 1;
                    PyBytes::new(self.py, bytes).into_any()
                }
            });
        }
        match values.pop() {
            Some(one) if self.scalars && values.is_empty() => Ok(one),
            last => {
                values.extend(last);
                Ok(PyList::new(self.py, values)?.into_any())
            }
        }
    }

    /// Where a list lies, as R writes it.
    fn path(&self, place: usize) -> String {
        let mut labels = Vec::new();
        let mut at = place;
        while at != 0 {
            let Some((before, label)) = self.places.get(at) else {
                break;
            };
            labels.push(label.as_str());
            at = *before;
        }
        labels.reverse();
        labels.concat()
    }
}

fn is_text(body: &Body) -> bool {
    matches!(body, Body::Character(_))
}

/// The step to an element: its name, or its position.
fn label(names: Option<&[String]>, at: usize) -> String {
    let mut losses = Losses::new(false);
    match names.and_then(|names| names.get(at)) {
        Some(name) => losses.enter_name(name),
        None => losses.enter_index(at),
    }
    let mut text = String::new();
    let _ = write!(text, "{}", losses.path());
    text
}
