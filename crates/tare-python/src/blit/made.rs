//! Values of a document as Python objects, a column at a time.
//!
//! Everything is made with the GIL held and the collector of cycles paused: what is made has no
//! cycles, and looking for them at every 700 objects would take longer than making them.

use std::ptr::NonNull;

use pyo3::ffi;
use pyo3::prelude::*;
use tare::blit::{MadeColumn, Maker, Value};
use tare::{Error, ErrorKind, Result};

use super::held::{no_name, Held};
use super::objects;
use crate::error::to_py;

/// Signals are looked for after so many containers.
const PATIENCE: usize = 1 << 16;

/// A value and all in it as Python objects.
///
/// `most` says that most names of the document are needed, as of its whole value.
pub fn made<'py>(
    py: Python<'py>,
    (held, value): (&Held, &Value<'_>),
    most: bool,
    decimal: bool,
    max_elements: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let paused = Paused::new();
    let mut objects = Objects {
        py,
        names: if most {
            Names::All(held.all_names(py)?)
        } else {
            Names::Some(held)
        },
        surrogates: held.view().has_surrogates(),
        decimal,
        raised: None,
        wait: PATIENCE,
    };
    let result = value.make(&mut objects, max_elements);
    drop(paused);
    match result {
        Ok(made) => Ok(made.bound(py)),
        Err(error) => Err(objects.raised.take().unwrap_or_else(|| to_py(py, error))),
    }
}

/// The collector of cycles does not run as long as this is there.
struct Paused(bool);

/// A reference to an object that is its owner's own.
pub struct Owned(NonNull<ffi::PyObject>);

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

impl Names<'_> {
    #[inline]
    fn get(&self, py: Python<'_>, id: usize) -> PyResult<&Py<PyAny>> {
        match self {
            Self::All(names) => names.get(id).ok_or_else(|| no_name(py)),
            Self::Some(held) => held.name(py, id),
        }
    }
}

struct Objects<'a, 'py> {
    py: Python<'py>,
    names: Names<'a>,
    /// Whether strings may have halves of surrogate pairs.
    surrogates: bool,
    decimal: bool,
    /// What Python raised, behind an error of the core.
    raised: Option<PyErr>,
    wait: usize,
}

#[allow(unsafe_code, reason = "objects are made by the functions of Python")]
mod raw {
    // SAFETY of this module: `Owned` holds one reference of its own to an object, every function
    // is called with the GIL held (`Objects` has the token; `Owned` never leaves `made`, whose
    // result becomes a `Bound`), with pointers that `Owned` keeps alive, and gives a new
    // reference or null where Python says so. Lists are filled before anyone else sees them.
    use super::{ffi, Bound, NonNull, Owned, Paused, PyAny, Python};

    impl Paused {
        pub fn new() -> Self {
            // SAFETY: see above.
            Self(unsafe { ffi::PyGC_Disable() } != 0)
        }
    }

    impl Drop for Paused {
        fn drop(&mut self) {
            if self.0 {
                // SAFETY: see above.
                unsafe { ffi::PyGC_Enable() };
            }
        }
    }

    impl Drop for Owned {
        #[inline]
        fn drop(&mut self) {
            // SAFETY: see above.
            unsafe { ffi::Py_DECREF(self.0.as_ptr()) }
        }
    }

    impl Owned {
        /// What a function gave that gives a new reference; None for its error.
        #[inline]
        fn new(object: *mut ffi::PyObject) -> Option<Self> {
            NonNull::new(object).map(Self)
        }

        #[inline]
        pub fn of(object: Bound<'_, PyAny>) -> Option<Self> {
            Self::new(object.into_ptr())
        }

        pub fn bound(self, py: Python<'_>) -> Bound<'_, PyAny> {
            let object = std::mem::ManuallyDrop::new(self).0.as_ptr();
            // SAFETY: see above.
            unsafe { Bound::from_owned_ptr(py, object) }
        }

        #[inline]
        pub fn again(&self) -> Self {
            // SAFETY: see above.
            unsafe { ffi::Py_INCREF(self.0.as_ptr()) };
            Self(self.0)
        }

        #[inline]
        pub fn is(&self, other: &Self) -> bool {
            self.0 == other.0
        }

        #[inline]
        fn give(self) -> *mut ffi::PyObject {
            std::mem::ManuallyDrop::new(self).0.as_ptr()
        }

        #[inline]
        pub fn none() -> Self {
            // SAFETY: see above.
            unsafe {
                let none = ffi::Py_None();
                ffi::Py_INCREF(none);
                Self(NonNull::new_unchecked(none))
            }
        }

        #[inline]
        pub fn bool(value: bool) -> Option<Self> {
            // SAFETY: see above.
            Self::new(unsafe { ffi::PyBool_FromLong(value.into()) })
        }

        #[inline]
        pub fn int(value: i64) -> Option<Self> {
            // SAFETY: see above.
            Self::new(unsafe { ffi::PyLong_FromLongLong(value) })
        }

        #[inline]
        pub fn uint(value: u64) -> Option<Self> {
            // SAFETY: see above.
            Self::new(unsafe { ffi::PyLong_FromUnsignedLongLong(value) })
        }

        #[inline]
        pub fn float(value: f64) -> Option<Self> {
            // SAFETY: see above.
            Self::new(unsafe { ffi::PyFloat_FromDouble(value) })
        }

        #[inline]
        pub fn text(text: &[u8]) -> Option<Self> {
            let size = text.len().try_into().ok()?;
            // SAFETY: see above; the text is `size` bytes long, and is checked to be UTF-8.
            Self::new(unsafe { ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), size) })
        }

        /// A list of `n` items, of which there must be as many.
        #[inline]
        pub fn list(n: usize, items: impl Iterator<Item = Self>) -> Option<Self> {
            let size = n.try_into().ok()?;
            // SAFETY: see above.
            let list = Self::new(unsafe { ffi::PyList_New(size) })?;
            let mut i = 0;
            for item in items {
                // SAFETY: see above; the place is checked, and takes the reference.
                unsafe { ffi::PyList_SetItem(list.0.as_ptr(), i, item.give()) };
                i += 1;
            }
            (i == size).then_some(list)
        }

        pub fn dict() -> Option<Self> {
            // SAFETY: see above.
            Self::new(unsafe { ffi::PyDict_New() })
        }

        /// A copy of a dict: its table as it is, without hashing anything.
        #[inline]
        pub fn copy(&self) -> Option<Self> {
            // SAFETY: see above.
            Self::new(unsafe { ffi::PyDict_Copy(self.0.as_ptr()) })
        }

        /// Sets an entry of a dict.
        #[inline]
        pub fn set(&self, key: &pyo3::Py<PyAny>, value: &Self) -> Option<()> {
            // SAFETY: see above.
            let done =
                unsafe { ffi::PyDict_SetItem(self.0.as_ptr(), key.as_ptr(), value.0.as_ptr()) };
            (done == 0).then_some(())
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
        Error::new(ErrorKind::Cancelled, "Python raised")
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
            if let Err(error) = self.py.check_signals() {
                return Err(self.raise(error));
            }
        }
        Ok(())
    }

    /// A string that is not ASCII throughout, or not UTF-8.
    #[cold]
    fn odd(&mut self, text: &[u8]) -> Result<Owned> {
        drop(PyErr::take(self.py));
        let made = objects::wtf8(self.py, text);
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
            match self.names.get(self.py, name) {
                Ok(name) if dict.set(name, value).is_some() => {}
                Ok(_) => return Err(self.failed()),
                Err(error) => return Err(self.raise(error)),
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
        let made = objects::number(self.py, text, self.decimal);
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
            match self.names.get(self.py, name) {
                Ok(name) if dict.set(name, &value).is_some() => {}
                Ok(_) => return Err(self.failed()),
                Err(error) => return Err(self.raise(error)),
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
        for i in 0..n {
            self.wait()?;
            let before = i
                .checked_sub(1)
                .and_then(|_| out.last().and_then(Option::as_ref));
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
                    self.filled(&dict, names, row)?;
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

/// Whether row `i` has the same names as the one before.
fn alike(columns: &[MadeColumn<Owned>], i: usize) -> bool {
    columns.iter().all(|cells| {
        matches!(
            cells.get(i.wrapping_sub(1)..=i),
            Some([Some(_), Some(_)] | [None, None])
        )
    })
}
