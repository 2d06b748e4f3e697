//! Where files come from: bytes of Python, or a path.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tare::robject::{self, Encoding, RObject, WriteOptions};
use tare::{Error, ErrorKind};

use super::handle::encoding_name;
use super::options::choice;
use crate::buffers::with_bytes;
use crate::error::to_py;
use crate::signals::Signals;
use crate::stored::Stored;

const ENCODINGS: [Encoding; 4] = [
    Encoding::Xdr,
    Encoding::Ascii,
    Encoding::AsciiHex,
    Encoding::Native,
];

/// Bytes of Python, or the path of a file.
pub enum Place<'a> {
    Bytes(&'a [u8]),
    Path(PathBuf),
}

/// A path, or a file object of Python.
pub enum Sink {
    Path(PathBuf),
    Object(Stored),
}

impl Sink {
    /// Where bytes go, as Python says it.
    pub fn of(sink: &Bound<'_, PyAny>, signals: &Signals) -> PyResult<Self> {
        if is_path(sink)? {
            return Ok(Self::Path(sink.extract()?));
        }
        Stored::writing(sink, signals).map(Self::Object)
    }
}

fn is_path(place: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(place.is_instance_of::<PyString>() || place.hasattr("__fspath__")?)
}

/// An error of the system, with the path.
pub fn system(error: std::io::Error, path: &Path) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
        .with_path(path)
        .with_source(error)
}

/// Does work on bytes or a path with the GIL released.
pub fn from_source<T: Send>(
    source: &Bound<'_, PyAny>,
    work: impl FnOnce(&Place<'_>) -> T + Send,
) -> PyResult<T> {
    let py = source.py();
    if is_path(source)? {
        let place = Place::Path(source.extract()?);
        return Ok(py.detach(|| work(&place)));
    }
    with_bytes(source, |bytes| Ok(py.detach(|| work(&Place::Bytes(bytes)))))
}

/// How numbers are written.
pub fn encoding(options: &Bound<'_, PyDict>) -> PyResult<Option<Encoding>> {
    let words = ENCODINGS.map(encoding_name);
    let at = choice(options, "encoding", &words)?;
    Ok(at.and_then(|at| ENCODINGS.get(at).copied()))
}

/// The plain bytes of an object's serialization.
pub fn serialized(py: Python<'_>, object: &RObject, options: &WriteOptions) -> PyResult<Vec<u8>> {
    let made = py.detach(|| robject::rds::serialize(object, options));
    made.map_err(|error| to_py(py, error))
}

/// How a word says that numbers are written.
pub fn encoding_of(py: Python<'_>, word: Option<&str>) -> PyResult<Option<Encoding>> {
    let options = PyDict::new(py);
    options.set_item("encoding", word)?;
    encoding(&options)
}

/// A sink that can go back, for formats that fill in their head last.
pub fn memory() -> Cursor<Vec<u8>> {
    Cursor::new(Vec::new())
}
