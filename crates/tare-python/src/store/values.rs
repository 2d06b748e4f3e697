//! Values as bytes and back: documents and bytes here, all others by `tare.store`.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::blit;
use crate::buffers::{contiguous, lent};

/// The codec of bytes as they are.
pub const RAW: &str = "raw";
/// The codec of documents.
pub const BLIT: &str = "blit";
/// Up to this many bytes a buffer that others may change is copied before the GIL is released.
const COPIED: usize = 1 << 20;

/// A value as bytes.
pub struct Encoded {
    pub codec: Codec,
    pub source: Source,
}

/// The name of a codec.
pub enum Codec {
    Known(&'static str),
    Named(String),
}

impl Codec {
    pub fn name(&self) -> &str {
        match self {
            Self::Known(name) => name,
            Self::Named(name) => name,
        }
    }
}

/// Where the bytes of a value are.
pub enum Source {
    /// In memory of ours.
    Own(Vec<u8>),
    /// In memory of others, which is kept until it is written.
    Parts(Vec<Part>),
    /// What writes them into a file, or is read as one.
    Stream(Py<PyAny>),
}

/// One of the parts of a value, which lie one behind the other.
pub enum Part {
    Copy(Vec<u8>),
    Lent(PyUntypedBuffer),
}

impl Part {
    /// Takes the bytes of a buffer: many are lent, few copied.
    ///
    /// Whoever changes an array while it is set changes what is written: the object is then damaged, which
    /// reading tells.
    fn of(buffer: &Bound<'_, PyAny>) -> PyResult<Self> {
        let held = contiguous(buffer)?;
        if held.len_bytes() <= COPIED && !buffer.is_exact_instance_of::<PyBytes>() {
            return Ok(Self::Copy(lent(&held).to_vec()));
        }
        Ok(Self::Lent(held))
    }

    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Copy(bytes) => bytes,
            Self::Lent(buffer) => lent(buffer),
        }
    }
}

impl Source {
    /// The parts, where they are in memory.
    pub fn parts(&self) -> Vec<&[u8]> {
        match self {
            Self::Own(bytes) => vec![bytes],
            Self::Parts(parts) => parts.iter().map(Part::bytes).collect(),
            Self::Stream(_) => Vec::new(),
        }
    }

    /// Bytes in memory.
    pub fn len(&self) -> usize {
        match self {
            Self::Own(bytes) => bytes.len(),
            Self::Parts(parts) => parts.iter().map(|part| part.bytes().len()).sum(),
            Self::Stream(_) => usize::MAX,
        }
    }
}

/// A value of a type that needs no look at Python's classes, as bytes; None for all others.
///
/// # Errors
/// What the encoder says.
#[inline]
pub fn quick(value: &Bound<'_, PyAny>, into: &mut Vec<u8>) -> Option<PyResult<&'static str>> {
    if let Ok(bytes) = value.cast_exact::<PyBytes>() {
        into.extend_from_slice(bytes.as_bytes());
        return Some(Ok(RAW));
    }
    let is_document = value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyDict>()
        || value.is_exact_instance_of::<PyList>()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_none()
        || value.is_exact_instance_of::<PyBool>();
    is_document.then(|| blit::document(value, into).map(|()| BLIT))
}

/// The document of a value that comes back as it is.
///
/// Raises:
///     Unsupported: A part would come back as another type, or has no place in a document.
#[pyfunction]
pub fn store_document<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let mut bytes = Vec::new();
    blit::document(value, &mut bytes)?;
    Ok(PyBytes::new(value.py(), &bytes))
}

/// What `tare.store` made of a value: its codec, and its parts or a stream.
///
/// # Errors
/// What a buffer says that cannot be lent.
pub fn made(pair: &Bound<'_, PyAny>) -> PyResult<Encoded> {
    let (codec, source): (String, Bound<'_, PyAny>) = pair.extract()?;
    let source = match source.cast::<PyList>() {
        Err(_) => Source::Stream(source.unbind()),
        Ok(parts) => {
            let parts = parts.iter().map(|part| Part::of(&part));
            Source::Parts(parts.collect::<PyResult<_>>()?)
        }
    };
    Ok(Encoded {
        codec: Codec::Named(codec),
        source,
    })
}
