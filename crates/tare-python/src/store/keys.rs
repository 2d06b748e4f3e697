//! Keys from Python: one or many, with namespaces that are repeated as often as needed.

use pyo3::prelude::*;
use pyo3::types::PyString;
use tare::store::{Hash, Key};
use tare::{Error, ErrorKind};

use crate::error::to_py;

/// The text of a key or a namespace.
///
/// # Errors
/// `KeyInvalid` for what is no text.
#[inline]
pub fn text<'a>(what: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    match what.cast::<PyString>().map(PyStringText::to_text) {
        Ok(Ok(text)) => Ok(text),
        _ => Err(no_text(what)),
    }
}

trait PyStringText {
    fn to_text(&self) -> PyResult<&str>;
}

impl PyStringText for Bound<'_, PyString> {
    #[inline]
    fn to_text(&self) -> PyResult<&str> {
        self.to_str()
    }
}

#[cold]
fn no_text(what: &Bound<'_, PyAny>) -> PyErr {
    let py = what.py();
    let text = if what.is_instance_of::<PyString>() {
        "a key is text, and this one has half of a surrogate pair".to_owned()
    } else {
        let name = what.get_type().fully_qualified_name();
        let name = name.map_or_else(|_| "?".to_owned(), |name| name.to_string());
        format!("a key is text, not {name}")
    };
    to_py(py, Error::new(ErrorKind::KeyInvalid, text))
}

/// A hash that hex digits spell.
///
/// # Errors
/// `UsageError`
pub fn hash(py: Python<'_>, text: &str) -> PyResult<Hash> {
    Hash::parse(text).ok_or_else(|| {
        let shown: String = text.chars().take(80).collect();
        let text = format!("{shown:?} is no hash: it is lower-case hex digits");
        to_py(py, Error::new(ErrorKind::Usage, text))
    })
}

/// One key, or several.
pub struct Several {
    /// Namespaces and keys.
    pairs: Vec<(String, String)>,
    /// Whether one was given, and no list.
    pub is_one: bool,
}

impl Several {
    /// Keys and namespaces, each a text or a list of texts; one is repeated for each of the other.
    ///
    /// # Errors
    /// `KeyInvalid`; `UsageError` for lists of different lengths.
    pub fn read(
        keys: &Bound<'_, PyAny>,
        namespaces: Option<&Bound<'_, PyAny>>,
        usual: &str,
    ) -> PyResult<Self> {
        let (names, one_key) = texts(keys)?;
        let (spaces, one_space) = match namespaces.filter(|given| !given.is_none()) {
            None => (vec![usual.to_owned()], true),
            Some(given) => texts(given)?,
        };
        let n = if one_key { spaces.len() } else { names.len() };
        if (!one_space && spaces.len() != n) || (!one_key && names.len() != n) {
            let text = format!(
                "{} keys and {} namespaces: one of them, or as many of both",
                names.len(),
                spaces.len()
            );
            return Err(to_py(keys.py(), Error::new(ErrorKind::Usage, text)));
        }
        let at = |list: &[String], i: usize| {
            let i = if list.len() == 1 { 0 } else { i };
            list.get(i).cloned().unwrap_or_default()
        };
        Ok(Self {
            pairs: (0..n).map(|i| (at(&spaces, i), at(&names, i))).collect(),
            is_one: one_key && one_space,
        })
    }

    /// As the core has them.
    pub fn keys(&self) -> Vec<Key<'_>> {
        let pairs = self.pairs.iter();
        pairs.map(|(space, key)| Key::new(space, key)).collect()
    }

    /// The answers for all, or the one.
    pub fn answer<'py, T>(&self, py: Python<'py>, answers: Vec<T>) -> PyResult<Bound<'py, PyAny>>
    where
        T: IntoPyObject<'py>,
    {
        use pyo3::IntoPyObjectExt;

        if !self.is_one {
            return answers.into_bound_py_any(py);
        }
        match answers.into_iter().next() {
            Some(answer) => answer.into_bound_py_any(py),
            None => Ok(py.None().into_bound(py)),
        }
    }
}

/// A text or a list of texts, and whether it was one.
fn texts(given: &Bound<'_, PyAny>) -> PyResult<(Vec<String>, bool)> {
    if given.is_instance_of::<PyString>() {
        return Ok((vec![text(given)?.to_owned()], true));
    }
    let Ok(items) = given.try_iter() else {
        return Err(no_text(given));
    };
    let items = items.map(|item| Ok(text(&item?)?.to_owned()));
    Ok((items.collect::<PyResult<_>>()?, false))
}
