//! Objects by the functions of Python's stable interface, without a check for each.
//!
//! Making and reading objects is most of the work there is; what `PyO3` does beside it (attaching,
//! checking types, errors) is measurable in it, and is done here once for many objects.

#![allow(
    unsafe_code,
    reason = "the functions of Python take pointers to objects"
)]

// SAFETY of this module: `Owned` holds a reference of its own to an object, `Seen` one of somebody
// else's, who keeps it as long as the lifetime says. Both exist with the GIL held only: neither
// is `Send`, and those who make them have its token. Every function is called with pointers that
// are kept alive so, of the type that it asks for, and gives a new reference, a borrowed one or
// null as Python's documentation says.

use std::marker::PhantomData;
use std::ptr::NonNull;

use pyo3::ffi;
use pyo3::prelude::*;

/// The collector of cycles does not run as long as this is there, but for what is
/// [`lifted`](Self::lifted).
pub struct Paused {
    /// Whether it ran before, and is to run again.
    ran: bool,
}

/// A reference to an object that is its owner's own.
pub struct Owned(NonNull<ffi::PyObject>);

/// An object that somebody else keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seen<'a>(NonNull<ffi::PyObject>, PhantomData<&'a Owned>);

/// What an object is, by its exact type.
#[derive(Clone, Copy)]
pub enum Exact {
    None,
    Bool(bool),
    Int,
    Float,
    Str,
    List,
    Tuple,
    Dict,
    Bytes,
    Other,
}

impl<'a> Seen<'a> {
    #[inline]
    pub fn of(object: &'a Bound<'_, PyAny>) -> Self {
        // SAFETY: see above; no `Bound` is null.
        Self(
            unsafe { NonNull::new_unchecked(object.as_ptr()) },
            PhantomData,
        )
    }

    #[inline]
    fn new(object: *mut ffi::PyObject) -> Option<Self> {
        NonNull::new(object).map(|object| Self(object, PhantomData))
    }

    /// A number that no other object has as long as this one is kept.
    #[inline]
    pub fn address(self) -> usize {
        self.0.as_ptr() as usize
    }

    /// A reference of its own.
    #[inline]
    pub fn kept(self) -> Owned {
        // SAFETY: see above.
        unsafe { ffi::Py_INCREF(self.0.as_ptr()) };
        Owned(self.0)
    }

    pub fn bound(self, py: Python<'_>) -> Bound<'_, PyAny> {
        self.kept().bound(py)
    }

    #[inline]
    pub fn exact(self) -> Exact {
        let object = self.0.as_ptr();
        // SAFETY: see above; the types are statics of the interpreter.
        unsafe {
            let kind = ffi::Py_TYPE(object);
            if kind == &raw mut ffi::PyUnicode_Type {
                Exact::Str
            } else if kind == &raw mut ffi::PyLong_Type {
                Exact::Int
            } else if kind == &raw mut ffi::PyFloat_Type {
                Exact::Float
            } else if kind == &raw mut ffi::PyDict_Type {
                Exact::Dict
            } else if kind == &raw mut ffi::PyList_Type {
                Exact::List
            } else if kind == &raw mut ffi::PyBool_Type {
                Exact::Bool(object == ffi::Py_True())
            } else if object == ffi::Py_None() {
                Exact::None
            } else if kind == &raw mut ffi::PyTuple_Type {
                Exact::Tuple
            } else if kind == &raw mut ffi::PyBytes_Type {
                Exact::Bytes
            } else {
                Exact::Other
            }
        }
    }

    /// Whether it is a `str`, and no instance of a subclass.
    #[inline]
    pub fn is_str(self) -> bool {
        // SAFETY: see above.
        unsafe { ffi::Py_TYPE(self.0.as_ptr()) == &raw mut ffi::PyUnicode_Type }
    }

    /// The text of a `str`; None, and an error of Python, for halves of surrogate pairs.
    #[inline]
    pub fn text(self) -> Option<&'a str> {
        let mut size = 0;
        // SAFETY: see above; the text is UTF-8 of `size` bytes, which the object keeps as long as
        // it lives.
        unsafe {
            let text = ffi::PyUnicode_AsUTF8AndSize(self.0.as_ptr(), &raw mut size);
            if text.is_null() {
                return None;
            }
            let text = std::slice::from_raw_parts(text.cast::<u8>(), size.unsigned_abs());
            Some(std::str::from_utf8_unchecked(text))
        }
    }

    /// The value of an `int`; None if it is not in i64.
    #[inline]
    pub fn int(self) -> Option<i64> {
        let mut beyond = 0;
        // SAFETY: see above.
        let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(self.0.as_ptr(), &raw mut beyond) };
        (beyond == 0).then_some(value)
    }

    /// The value of a `float`.
    #[inline]
    pub fn float(self) -> f64 {
        // SAFETY: see above.
        unsafe { ffi::PyFloat_AsDouble(self.0.as_ptr()) }
    }

    /// How many items a `list` has.
    #[inline]
    pub fn items_of_list(self) -> isize {
        // SAFETY: see above.
        unsafe { ffi::PyList_Size(self.0.as_ptr()) }
    }

    /// Item `i` of a `list`; None beyond its end, which may have come nearer, and an error of
    /// Python.
    ///
    /// It is to be kept before any code of others runs, which may change the list.
    #[inline]
    pub fn item_of_list(self, i: isize) -> Option<Self> {
        // SAFETY: see above; the function checks the place.
        Self::new(unsafe { ffi::PyList_GetItem(self.0.as_ptr(), i) })
    }

    /// How many items a `tuple` has.
    #[inline]
    pub fn items_of_tuple(self) -> isize {
        // SAFETY: see above.
        unsafe { ffi::PyTuple_Size(self.0.as_ptr()) }
    }

    /// Item `i` of a `tuple`; None beyond its end, and an error of Python.
    #[inline]
    pub fn item_of_tuple(self, i: isize) -> Option<Self> {
        // SAFETY: see above; the function checks the place.
        Self::new(unsafe { ffi::PyTuple_GetItem(self.0.as_ptr(), i) })
    }

    /// How many entries a `dict` has.
    #[inline]
    pub fn entries(self) -> isize {
        // SAFETY: see above.
        unsafe { ffi::PyDict_Size(self.0.as_ptr()) }
    }

    /// The entry of a `dict` behind `at`; as with lists, to be kept before anything else runs.
    #[inline]
    pub fn next_entry(self, at: &mut isize) -> Option<(Self, Self)> {
        let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: see above; a place that is not there any more is the end.
        unsafe {
            let there = ffi::PyDict_Next(self.0.as_ptr(), at, &raw mut key, &raw mut value);
            if there == 0 {
                return None;
            }
        }
        Some((Self::new(key)?, Self::new(value)?))
    }
}

impl Paused {
    pub fn new() -> Self {
        // SAFETY: see above.
        let ran = unsafe { ffi::PyGC_Disable() } != 0;
        Self { ran }
    }

    /// Runs code of others, here or in another thread, with the collector as it was before; what
    /// they then say of it holds. All code that Python may run is to run so.
    pub fn lifted<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.end();
        let done = work();
        *self = Self::new();
        done
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.ran) {
            // SAFETY: see above.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        self.end();
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
    pub fn seen(&self) -> Seen<'_> {
        Seen(self.0, PhantomData)
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
        let done = unsafe { ffi::PyDict_SetItem(self.0.as_ptr(), key.as_ptr(), value.0.as_ptr()) };
        (done == 0).then_some(())
    }
}
