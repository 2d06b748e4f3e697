//! What the verbs of a store are made of: keys, values on their way in and out, what is missing.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::store::{Hash, Key, KeyRecord, Pending, SetOptions, Store};
use tare::{Error, ErrorKind};

use super::core::Core;
use super::given::Given;
use super::keys::{text, Several};
use super::reading::{self, Found};
use super::values::{self, Codec, Encoded, Source};
use super::{fault, streams};
use crate::buffers::copied;
use crate::error::to_py;
use crate::signals::Signals;

/// From this many bytes on a signal ends the writing of a value.
pub const SIGNALLED: usize = 64 << 10;

impl Core {
    #[inline]
    pub fn key<'a>(
        &'a self,
        key: &'a Bound<'_, PyAny>,
        namespace: Option<&'a Bound<'_, PyAny>>,
    ) -> PyResult<Key<'a>> {
        Ok(Key::new(self.space(namespace)?, text(key)?))
    }

    #[inline]
    pub fn space<'a>(&'a self, namespace: Option<&'a Bound<'_, PyAny>>) -> PyResult<&'a str> {
        match namespace {
            Some(given) if !given.is_none() => text(given),
            _ => Ok(&self.namespace),
        }
    }

    pub fn several(
        &self,
        keys: &Bound<'_, PyAny>,
        namespace: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Several> {
        Several::read(keys, namespace, &self.namespace)
    }

    /// A value as bytes: here, or by `tare.store`; `whole` asks for no stream.
    pub fn encoded(
        slf: &Bound<'_, Self>,
        value: &Bound<'_, PyAny>,
        codec: Option<&str>,
        whole: bool,
    ) -> PyResult<Encoded> {
        let py = slf.py();
        if codec.is_none() && slf.get().quick {
            let mut bytes = Vec::new();
            match values::quick(value, &mut bytes) {
                Some(Ok(known)) => {
                    return Ok(Encoded {
                        codec: Codec::Known(known),
                        source: Source::Own(bytes),
                    })
                }
                // What no document holds as it is may have another codec.
                Some(Err(error)) if !error.is_instance_of::<PyTypeError>(py) => {
                    return Err(refused(slf, value, error))
                }
                Some(Err(_)) | None => {}
            }
        }
        let made = slf.call_method1(pyo3::intern!(py, "_encoded"), (value, codec, whole))?;
        values::made(&made)
    }

    /// Sets a key to what was encoded.
    pub fn put(
        slf: &Bound<'_, Self>,
        key: Key<'_>,
        encoded: &Encoded,
        mut options: SetOptions,
    ) -> PyResult<String> {
        let py = slf.py();
        let this = slf.get();
        let store = this.shared.store()?;
        let codec = encoded.codec.name();
        let signals = (encoded.source.len() >= SIGNALLED).then(Signals::default);
        options.cancel = signals.as_ref().map(Signals::token);
        if let Source::Stream(stream) = &encoded.source {
            this.refuse_batch(py)?;
            let signals = signals.unwrap_or_default();
            return streams::set(stream.bind(py), &store, key, codec, &options, &signals);
        }
        let parts = encoded.source.parts();
        let done = if this.shared.batches.is_open() {
            let batches = &this.shared.batches;
            py.detach(|| {
                let set = |pending: &mut Pending| pending.set(key, codec, &parts, &options);
                batches.with(set)
            })
            .ok_or_else(|| no_batch(py))?
        } else {
            py.detach(|| store.set(key, codec, tare::store::Source::Bytes(&parts), &options))
        };
        match done {
            Ok(hash) => Ok(hash.hex()),
            Err(error) if error.kind() == ErrorKind::Cancelled => {
                Err(signals.unwrap_or_default().raise(py, error))
            }
            Err(error) => Err(fault::about(py, error, key)),
        }
    }

    /// The hash of what a value is; None for one that has none.
    pub fn canonical_of(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<Option<Hash>> {
        let found = slf.call_method1(pyo3::intern!(slf.py(), "_canonical"), (value,))?;
        let found: Option<String> = found.extract()?;
        found
            .map(|text| super::keys::hash(slf.py(), &text))
            .transpose()
    }

    pub fn refuse_batch(&self, py: Python<'_>) -> PyResult<()> {
        if self.shared.batches.is_open() {
            let text = "a stream cannot wait for the end of a batch: set it outside, or its bytes";
            return Err(to_py(py, Error::new(ErrorKind::Usage, text)));
        }
        Ok(())
    }

    /// What is to be given for a key that is missing.
    pub fn missed<'py>(
        slf: &Bound<'py, Self>,
        key: Key<'_>,
        default: Given,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let found = slf.call_method1(
            pyo3::intern!(py, "_missed"),
            (key.key, key.namespace, matches!(default, Given::Absent)),
        )?;
        let (there, value): (bool, Bound<'py, PyAny>) = found.extract()?;
        match default {
            _ if there => Ok(value),
            Given::Value(default) => Ok(default.into_bound(py)),
            Given::Absent => {
                let store = slf.get().shared.store()?;
                Err(fault::missing(py, &[key], &store.info().url))
            }
        }
    }

    pub fn look<'py>(
        slf: &Bound<'py, Self>,
        key: Key<'_>,
        default: Given,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let store = slf.get().shared.store()?;
        let found = py.detach(|| reading::look(&store, key));
        match found.map_err(|error| fault::about(py, error, key))? {
            Some(found) => {
                reading::value_at(py, found, key, |codec, bytes| decoded(slf, codec, bytes))
            }
            None => Self::missed(slf, key, default),
        }
    }

    pub fn records(&self, py: Python<'_>, several: &Several) -> PyResult<Vec<Option<KeyRecord>>> {
        let store = self.shared.store()?;
        let keys = several.keys();
        let found = py.detach(|| store.get_records(&keys));
        found.map_err(|error| fault::raised(py, error))
    }

    pub fn store(&self) -> PyResult<Store> {
        self.shared.store()
    }
}

/// What `tare.store` makes of bytes of a codec.
pub fn decoded<'py>(
    slf: &Bound<'py, Core>,
    codec: &str,
    bytes: Bound<'py, PyBytes>,
) -> PyResult<Bound<'py, PyAny>> {
    slf.call_method1(pyo3::intern!(slf.py(), "_decoded"), (codec, bytes))
}

/// The error of a document that holds what no document does, in the words of a store.
#[cold]
fn refused(slf: &Bound<'_, Core>, value: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = slf.py();
    let told = slf.call_method1("_refused", (value, error.clone_ref(py)));
    told.map_or_else(|raised| raised, PyErr::from_value)
}

#[cold]
fn no_batch(py: Python<'_>) -> PyErr {
    to_py(py, Error::new(ErrorKind::Usage, "the batch has ended"))
}

/// All plain bytes at a key, whatever their codec is, and the codec.
///
/// # Errors
/// As `get`.
pub fn bytes<'py>(
    py: Python<'py>,
    store: &Store,
    key: Key<'_>,
) -> PyResult<(String, Bound<'py, PyAny>)> {
    let found = py.detach(|| reading::look(store, key));
    let found = found.map_err(|error| fault::about(py, error, key))?;
    match found {
        None => Err(fault::missing(py, &[key], &store.info().url)),
        Some(Found::Bytes(codec, bytes)) => Ok((codec, copied(py, &bytes)?.into_any())),
        Some(Found::Object(object)) => {
            let codec = object.codec.clone();
            let found = Found::Object(object);
            let raw = Some(values::RAW);
            Ok((
                codec,
                reading::value(py, found, raw, |_, bytes| Ok(bytes.into_any()))?,
            ))
        }
    }
}
