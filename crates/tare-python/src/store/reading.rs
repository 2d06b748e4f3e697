//! Objects of a store as Python's bytes.

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::store::{Gathered, Gotten, Key, Object, Store};
use tare::ErrorKind;

use super::fault;
use super::values::{BLIT, RAW};
use crate::blit;
use crate::buffers::{copied, filled};
use crate::error::to_py;

/// From this many bytes on an object is read into the bytes that Python gets.
const LARGE: u64 = 64 << 10;
/// Bytes that are read and hashed at a time, while they are in the processor's cache.
const STEP: usize = 256 << 10;

/// What lies at a key.
pub enum Found {
    /// Verified bytes, and their codec.
    Bytes(String, Bytes),
    /// A large object, still to be read.
    Object(Box<Object>),
}

/// Looks a key up, and reads what is small; None if there is no such key.
///
/// # Errors
/// What the store says.
pub fn look(store: &Store, key: Key<'_>) -> tare::Result<Option<Found>> {
    match store.get(key) {
        Ok(object) => opened(store, object).map(Some),
        Err(error) if error.kind() == ErrorKind::KeyNotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads an object if it is small.
///
/// # Errors
/// What the store says.
pub fn opened(store: &Store, mut object: Object) -> tare::Result<Found> {
    let large = object.meta.plain_len.is_some_and(|len| len >= LARGE);
    if large && store.options().cache_bytes == 0 {
        return Ok(Found::Object(Box::new(object)));
    }
    let codec = std::mem::take(&mut object.codec);
    Ok(Found::Bytes(codec, object.bytes()?))
}

/// A value: documents and bytes are made here, all others by `decode`, called with codec and bytes.
///
/// # Errors
/// `Corrupt`; what the decoder says.
pub fn value<'py>(
    py: Python<'py>,
    found: Found,
    codec: Option<&str>,
    decode: impl FnOnce(&str, Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    match found {
        Found::Bytes(own, bytes) => small(py, codec.unwrap_or(&own), &bytes, decode),
        Found::Object(mut object) => {
            let own = std::mem::take(&mut object.codec);
            let bytes = whole(py, *object)?;
            match codec.unwrap_or(&own) {
                BLIT => blit::value_of(py, bytes.as_bytes()),
                RAW => Ok(bytes.into_any()),
                other => decode(other, bytes),
            }
        }
    }
}

#[inline]
fn small<'py>(
    py: Python<'py>,
    codec: &str,
    bytes: &[u8],
    decode: impl FnOnce(&str, Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    match codec {
        BLIT => blit::value_of(py, bytes),
        RAW => copied(py, bytes).map(Bound::into_any),
        other => decode(other, copied(py, bytes)?),
    }
}

/// The values of keys, with what is small read and verified.
///
/// # Errors
/// What the store says.
pub fn gathered(store: &Store, keys: &[Key<'_>]) -> tare::Result<Gathered> {
    let cached = store.options().cache_bytes > 0;
    store.gather(keys, if cached { u64::MAX } else { LARGE })
}

/// As [`value_at`], of one of many; None where there is no such key.
///
/// # Errors
/// `Corrupt`; what the decoder says.
pub fn value_of<'py>(
    py: Python<'py>,
    gotten: Gotten<'_>,
    key: Key<'_>,
    decode: impl FnOnce(&str, Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let made = match gotten {
        Gotten::Absent => return Ok(None),
        Gotten::Bytes(codec, bytes) => small(py, codec, bytes, decode),
        Gotten::Object(object) => value(py, Found::Object(object), None, decode),
    };
    made.map(Some).map_err(|error| at_key(py, error, key))
}

/// All bytes of a large object, read into what Python gets.
///
/// # Errors
/// `Corrupt`.
fn whole(py: Python<'_>, object: Object) -> PyResult<Bound<'_, PyBytes>> {
    let Some(len) = object.likely_len() else {
        let bytes = py.detach(|| object.bytes());
        return copied(py, &bytes.map_err(|error| to_py(py, error))?);
    };
    let len = usize::try_from(len)?;
    filled(py, len, |place| {
        let done = py.detach(|| -> tare::Result<()> {
            let mut reader = object.reader()?;
            let mut rest = place;
            while !rest.is_empty() {
                let end = STEP.min(rest.len());
                let step = rest.get_mut(..end).unwrap_or_default();
                let got = reader.pull(step)?;
                if got == 0 {
                    break; // shorter than its record is an error that the reader tells
                }
                rest = rest.split_at_mut(got).1;
            }
            // The verdict comes with the end; what is longer than its record is read to there.
            let mut more = [0; 4096];
            while reader.pull(&mut more)? > 0 {}
            Ok(())
        });
        done.map_err(|error| to_py(py, error))
    })
}

/// As [`value`], of a key: an error tells it.
///
/// # Errors
/// `Corrupt`; what the decoder says.
pub fn value_at<'py>(
    py: Python<'py>,
    found: Found,
    key: Key<'_>,
    decode: impl FnOnce(&str, Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    value(py, found, None, decode).map_err(|error| at_key(py, error, key))
}

/// Tells the key beside an error of a store that does not have it; what does not decode is damaged.
#[cold]
fn at_key(py: Python<'_>, error: PyErr, key: Key<'_>) -> PyErr {
    let told = || -> PyResult<PyErr> {
        let errors = py.import("tare.errors")?;
        if error.is_instance(py, &errors.getattr("DecodeError")?) {
            let text = format!("the value of the key {key} cannot be decoded: {error}");
            let text = tare::Error::new(ErrorKind::Corrupt, text);
            let damaged = fault::about(py, text, key);
            damaged.set_cause(py, Some(error.clone_ref(py)));
            return Ok(damaged);
        }
        let value = error.value(py);
        if value.is_instance(&errors.getattr("StoreError")?)? && value.getattr("key")?.is_none() {
            value.setattr("key", key.key)?;
            value.setattr("keys", (key.key,))?;
            value.setattr("namespace", key.namespace)?;
        }
        Ok(error.clone_ref(py))
    };
    told().unwrap_or_else(|_| error.clone_ref(py))
}
