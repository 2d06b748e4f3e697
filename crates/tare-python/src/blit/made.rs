//! Values of a document as Python objects, a column at a time.
//!
//! Everything is made with the GIL held and the collector of cycles paused: what is made has no
//! cycles, and looking for them at every 700 objects would take longer than making them.

use pyo3::prelude::*;
use tare::blit::{Chunk, MadeColumn, Maker, Value};
use tare::{Error, ErrorKind, Result};

use super::held::{no_name, Held};
use super::objects;
use super::raw::{Owned, Paused};
use crate::error::to_py;

/// Signals are looked for after so many containers.
const PATIENCE: usize = 1 << 16;

/// What numbers become that are kept as text.
#[derive(Clone, Copy)]
pub enum Numbers {
    /// An `int`, else a `float`.
    Plain,
    /// An `int`, else a `Decimal`.
    Decimal,
    /// What equals whatever number they are.
    Compared,
}

/// A value and all in it as Python objects.
///
/// `most` says that most names of the document are needed, as of its whole value.
pub fn made<'py>(
    py: Python<'py>,
    (held, value): (&Held, &Value<'_>),
    most: bool,
    numbers: Numbers,
    max_elements: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let names = if most {
        Names::All(held.all_names(py)?)
    } else {
        Names::Some(held)
    };
    let mut objects = Objects::new(py, held, names, numbers);
    let result = value.make(&mut objects, max_elements);
    objects.given(result)
}

/// All elements of a column as a list; None for those that are absent.
pub fn column<'py>(py: Python<'py>, held: &Held, chunk: &Chunk<'_>) -> PyResult<Bound<'py, PyAny>> {
    const MOST: u64 = 1 << 28;
    let mut objects = Objects::new(py, held, Names::Some(held), Numbers::Plain);
    let result = chunk.make(&mut objects, MOST).and_then(|items| {
        let n = items.len();
        let items = items
            .into_iter()
            .map(|item| item.unwrap_or_else(Owned::none));
        objects.array(n, items)
    });
    objects.given(result)
}

/// A string; None if the text is not UTF-8, or there is no room.
#[inline]
pub fn text<'py>(py: Python<'py>, text: &[u8]) -> Option<Bound<'py, PyAny>> {
    let made = Owned::text(text).map(|made| made.bound(py));
    if made.is_none() {
        drop(PyErr::take(py));
    }
    made
}

/// Names by their ids.
enum Names<'a> {
    All(Vec<Py<PyAny>>),
    /// Made as they are needed, and kept there.
    Some(&'a Held),
}

struct Objects<'a, 'py> {
    py: Python<'py>,
    names: Names<'a>,
    /// Whether strings may have halves of surrogate pairs.
    surrogates: bool,
    numbers: Numbers,
    /// What Python raised, behind an error of the core.
    raised: Option<PyErr>,
    wait: usize,
    paused: Paused,
}

impl<'a, 'py> Objects<'a, 'py> {
    fn new(py: Python<'py>, held: &Held, names: Names<'a>, numbers: Numbers) -> Self {
        Self {
            py,
            names,
            surrogates: held.view().has_surrogates(),
            numbers,
            raised: None,
            wait: PATIENCE,
            paused: Paused::new(),
        }
    }

    /// What was made, or the error of Python.
    fn given(self, result: Result<Owned>) -> PyResult<Bound<'py, PyAny>> {
        let Self { py, raised, .. } = self;
        drop(self.paused);
        match result {
            Ok(made) => Ok(made.bound(py)),
            Err(error) => Err(raised.unwrap_or_else(|| to_py(py, error))),
        }
    }

    /// A name, which is made with code of others where it is no text.
    #[inline]
    fn name(&mut self, id: usize) -> Result<&Py<PyAny>> {
        let py = self.py;
        let found = match &self.names {
            Names::All(names) if id < names.len() => names.get(id).ok_or_else(|| no_name(py)),
            Names::Some(held) if !self.surrogates => held.name(py, id),
            Names::All(_) => Err(self.paused.lifted(|| no_name(py))),
            Names::Some(held) => self.paused.lifted(|| held.name(py, id)),
        };
        match found {
            Ok(name) => Ok(name),
            Err(error) => {
                self.raised = Some(error);
                Err(raised())
            }
        }
    }
}

impl Objects<'_, '_> {
    /// What was made, or the error that Python raised instead.
    #[inline]
    fn checked(&mut self, made: Option<Owned>) -> Result<Owned> {
        match made {
            Some(made) => Ok(made),
            None => Err(self.failed()),
        }
    }

    #[cold]
    fn failed(&mut self) -> Error {
        let error = PyErr::take(self.py);
        self.raise(error.unwrap_or_else(|| {
            pyo3::exceptions::PyMemoryError::new_err("an object could not be made")
        }))
    }

    #[cold]
    fn raise(&mut self, error: PyErr) -> Error {
        self.raised = Some(error);
        raised()
    }

    fn bound(&mut self, made: PyResult<Bound<'_, PyAny>>) -> Result<Owned> {
        match made {
            Ok(made) => self.checked_bound(made),
            Err(error) => Err(self.raise(error)),
        }
    }

    fn checked_bound(&mut self, made: Bound<'_, PyAny>) -> Result<Owned> {
        let made = Owned::of(made);
        self.checked(made)
    }

    /// Lets handlers of signals run from time to time.
    #[inline]
    fn wait(&mut self) -> Result<()> {
        self.wait = self.wait.wrapping_sub(1);
        if self.wait == 0 {
            self.wait = PATIENCE;
            let py = self.py;
            if let Err(error) = self.paused.lifted(|| py.check_signals()) {
                return Err(self.raise(error));
            }
        }
        Ok(())
    }

    /// A string that is not ASCII throughout, or not UTF-8.
    #[cold]
    fn odd(&mut self, text: &[u8]) -> Result<Owned> {
        let py = self.py;
        drop(PyErr::take(py));
        let made = self.paused.lifted(|| objects::wtf8(py, text));
        if made.is_err() || !self.surrogates {
            let text = "a string that is not UTF-8 (rule V14): validate() says where";
            return Err(Error::new(ErrorKind::Malformed, text).with_format("blit"));
        }
        self.bound(made)
    }

    /// Sets what is there.
    fn filled<'m>(
        &mut self,
        dict: &Owned,
        names: &[usize],
        values: impl Iterator<Item = Option<&'m Owned>>,
    ) -> Result<()> {
        for (&name, value) in names.iter().zip(values) {
            let Some(value) = value else { continue };
            if dict.set(self.name(name)?, value).is_none() {
                return Err(self.failed());
            }
        }
        Ok(())
    }
}

impl Maker for Objects<'_, '_> {
    type Made = Owned;

    #[inline]
    fn null(&mut self) -> Result<Owned> {
        Ok(Owned::none())
    }

    #[inline]
    fn bool(&mut self, value: bool) -> Result<Owned> {
        self.checked(Owned::bool(value))
    }

    #[inline]
    fn int(&mut self, value: i64) -> Result<Owned> {
        self.checked(Owned::int(value))
    }

    fn uint(&mut self, value: u64) -> Result<Owned> {
        self.checked(Owned::uint(value))
    }

    #[inline]
    fn float(&mut self, value: f64) -> Result<Owned> {
        self.checked(Owned::float(value))
    }

    fn number_text(&mut self, text: &str) -> Result<Owned> {
        let (py, numbers) = (self.py, self.numbers);
        let made = self.paused.lifted(|| match numbers {
            Numbers::Plain => objects::number(py, text, false),
            Numbers::Decimal => objects::number(py, text, true),
            Numbers::Compared => objects::compared(py, text),
        });
        self.bound(made)
    }

    #[inline]
    fn text(&mut self, text: &[u8], _ascii: bool) -> Result<Owned> {
        match Owned::text(text) {
            Some(made) => Ok(made),
            None => self.odd(text),
        }
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<Owned> {
        let made = crate::buffers::copied(self.py, bytes).map(Bound::into_any);
        self.bound(made)
    }

    #[inline]
    fn again(&mut self, made: &Owned) -> Owned {
        made.again()
    }

    #[inline]
    fn array(&mut self, n: usize, items: impl Iterator<Item = Owned>) -> Result<Owned> {
        self.wait()?;
        self.checked(Owned::list(n, items))
    }

    fn object(
        &mut self,
        names: &[usize],
        values: impl Iterator<Item = Option<Owned>>,
    ) -> Result<Owned> {
        self.wait()?;
        let dict = self.checked(Owned::dict())?;
        for (&name, value) in names.iter().zip(values) {
            let Some(value) = value else { continue };
            if dict.set(self.name(name)?, &value).is_none() {
                return Err(self.failed());
            }
        }
        Ok(dict)
    }

    fn rows(
        &mut self,
        names: &[usize],
        columns: &mut [MadeColumn<Owned>],
        n: usize,
        out: &mut MadeColumn<Owned>,
    ) -> Result<()> {
        // A copy must not be made of a dict whose names are there twice: it has the last only.
        let mut distinct = false;
        for i in 0..n {
            self.wait()?;
            let before = i.checked_sub(1).and_then(|_| out.last());
            let before = before.and_then(Option::as_ref).filter(|_| distinct);
            let dict = match before {
                Some(dict) if alike(columns, i) => {
                    let dict = dict.copy();
                    let dict = self.checked(dict)?;
                    self.changed(&dict, names, columns, i)?;
                    dict
                }
                _ => {
                    let dict = self.checked(Owned::dict())?;
                    let row = columns
                        .iter()
                        .map(|cells| cells.get(i).and_then(Option::as_ref));
                    let there = row.clone().flatten().count();
                    self.filled(&dict, names, row)?;
                    distinct = usize::try_from(dict.seen().entries()) == Ok(there);
                    dict
                }
            };
            out.push(Some(dict));
        }
        for column in columns {
            column.clear();
        }
        Ok(())
    }
}

impl Objects<'_, '_> {
    /// Sets what is another object than in the row before.
    fn changed(
        &mut self,
        dict: &Owned,
        names: &[usize],
        columns: &[MadeColumn<Owned>],
        i: usize,
    ) -> Result<()> {
        let row = columns.iter().map(|cells| {
            let Some([Some(before), Some(value)]) = cells.get(i.wrapping_sub(1)..=i) else {
                return None;
            };
            (!value.is(before)).then_some(value)
        });
        self.filled(dict, names, row)
    }
}

#[cold]
fn raised() -> Error {
    Error::new(ErrorKind::Cancelled, "Python raised")
}

/// Whether row `i` has the same names as the one before.
fn alike(columns: &[MadeColumn<Owned>], i: usize) -> bool {
    columns.iter().all(|cells| {
        matches!(
            cells.get(i.wrapping_sub(1)..=i),
            Some([Some(_), Some(_)] | [None, None])
        )
    })
}
