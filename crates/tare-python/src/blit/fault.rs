//! What ends the encoding of an object, and where in the object it is.

use pyo3::prelude::*;
use tare::{Error, ErrorKind};

use crate::error::{instance, to_py};

/// An error, and the steps to where it is, from the inside out.
pub struct Fault {
    error: What,
    path: Vec<String>,
}

enum What {
    Core(Error),
    /// A value that no document holds.
    Value(Error),
    Raised(PyErr),
}

#[allow(
    clippy::unnecessary_box_returns,
    reason = "a result of one word costs nothing where nothing goes wrong"
)]
impl Fault {
    fn boxed(error: What) -> Box<Self> {
        Box::new(Self {
            error,
            path: Vec::new(),
        })
    }

    /// An object of a type that has no place in a document.
    #[cold]
    pub fn refused(object: &Bound<'_, PyAny>, place: &str) -> Box<Self> {
        let name = object.get_type().fully_qualified_name();
        let name = name.map_or_else(|_| "?".to_owned(), |name| name.to_string());
        let shown: String = name.chars().take(80).collect();
        let mut text = format!("a document has no {place} of the type {shown}");
        if place == "value" {
            text.push_str(": default= says what becomes of it");
        }
        Self::boxed(What::Core(Error::new(ErrorKind::Unsupported, text)))
    }

    /// A value of a type that has a place, but not this one.
    #[cold]
    pub fn value(text: &str) -> Box<Self> {
        Self::boxed(What::Value(Error::new(ErrorKind::Usage, text)))
    }

    /// Says that it is under a name.
    #[cold]
    pub fn under(mut self: Box<Self>, name: &str) -> Box<Self> {
        let first = |c: char| c.is_ascii_alphabetic() || c == '_';
        let plain = name.starts_with(first)
            && name.len() <= 80
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        self.path.push(if plain {
            format!(".{name}")
        } else {
            let shown: String = name.escape_default().take(80).collect();
            format!("[\"{shown}\"]")
        });
        self
    }

    /// Says that it is at a place of an array.
    #[cold]
    pub fn at(mut self: Box<Self>, i: isize) -> Box<Self> {
        self.path.push(format!("[{i}]"));
        self
    }

    /// The exception, with the path in front of its text.
    #[cold]
    pub fn raise(self, py: Python<'_>) -> PyErr {
        const SHOWN: usize = 16;
        let (error, class) = match self.error {
            What::Raised(error) => return error,
            What::Core(error) => (error, None),
            What::Value(error) => (error, Some("EncodeError")),
        };
        let mut path: String = "$".to_owned();
        path.extend(self.path.iter().rev().take(SHOWN).map(String::as_str));
        if self.path.len() > SHOWN {
            path.push_str("...");
        }
        let error = error.with_format("blit").with_path(path);
        match class {
            Some(class) => instance(py, class, &error).unwrap_or_else(|error| error),
            None => to_py(py, error),
        }
    }
}

impl From<Error> for Box<Fault> {
    #[cold]
    fn from(error: Error) -> Self {
        Fault::boxed(What::Core(error))
    }
}

impl From<PyErr> for Box<Fault> {
    #[cold]
    fn from(error: PyErr) -> Self {
        Fault::boxed(What::Raised(error))
    }
}
