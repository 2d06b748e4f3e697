//! Values that come and go by and by.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use tare::store::{Key, ObjectWriter, SetOptions, Source, Store, Verified};
use tare::{Error, ErrorKind};

use super::fault;
use super::given::set_options;
use crate::buffers::{copied_bytes, fill, in_steps, with_bytes, writable};
use crate::error::to_py;
use crate::shared::Shared;
use crate::signals::Signals;
use crate::stored::Stored;

/// Bytes that are read and hashed at a time.
const STEP: usize = 256 << 10;

/// Sets a key to what a file object gives, or to what a function writes into one.
///
/// # Errors
/// What the store or the file says.
pub fn set(
    stream: &Bound<'_, PyAny>,
    store: &Store,
    key: Key<'_>,
    codec: &str,
    options: &SetOptions,
    signals: &Signals,
) -> PyResult<String> {
    let py = stream.py();
    if stream.is_callable() {
        let writer = py.detach(|| store.writer(codec, options));
        let writer = writer.map_err(|error| fault::about(py, error, key))?;
        let writer = Bound::new(py, Writer::new(writer))?;
        if let Err(error) = stream.call1((&writer,)) {
            return Err(writer.get().failure(py).unwrap_or(error));
        }
        return writer.get().name(py, key.key, key.namespace);
    }
    let mut source = Stored::reading(stream, 0, signals)?;
    let done = py.detach(|| store.set(key, codec, Source::Read(&mut source), options));
    match done {
        Ok(hash) => Ok(hash.hex()),
        Err(error) if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Io) => {
            Err(signals.raise(py, error))
        }
        Err(error) => Err(fault::about(py, error, key)),
    }
}

/// The plain bytes of an object by and by; the end is told only if all were right.
#[pyclass(frozen, module = "tare._tare", name = "StoreReader")]
pub struct Reader {
    state: Shared<(Verified, Vec<u8>)>,
}

impl Reader {
    pub fn open(py: Python<'_>, store: &Store, key: Key<'_>) -> PyResult<(Self, String)> {
        let found = py.detach(|| {
            let object = store.get(key)?;
            let codec = object.codec.clone();
            Ok((object.reader()?, codec))
        });
        let (reader, codec) = found.map_err(|error| fault::about(py, error, key))?;
        let state = Shared::new((reader, Vec::new()));
        Ok((Self { state }, codec))
    }
}

#[pymethods]
impl Reader {
    /// Reads with the GIL released, and copies with the GIL held: the buffer is the caller's.
    fn readinto(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        let target = writable(buffer)?;
        let size = target.len_bytes().min(STEP);
        if size == 0 {
            return Ok(0);
        }
        let got = self.state.detached(py, |(reader, place)| {
            place.resize(size, 0);
            let got = reader.pull(place)?;
            Ok(place.get(..got).unwrap_or_default().to_vec())
        })?;
        let got = got.map_err(|error| fault::raised(py, error))?;
        Ok(fill(py, &target, &got))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let reader = self.state.take(py)?;
        py.detach(|| drop(reader));
        Ok(())
    }
}

/// An object that is written by and by, and named when it is complete.
#[pyclass(frozen, module = "tare._tare", name = "StoreWriter")]
pub struct Writer {
    state: Shared<ObjectWriter>,
    /// The core's error, which a library in between may have changed.
    failure: Arc<Mutex<Option<Error>>>,
}

impl Writer {
    fn new(writer: ObjectWriter) -> Self {
        Self {
            state: Shared::new(writer),
            failure: Arc::default(),
        }
    }

    pub fn open(
        py: Python<'_>,
        store: &Store,
        codec: &str,
        compressor: Option<&str>,
    ) -> PyResult<Self> {
        let options = set_options(py, compressor, None, false, None)?;
        let writer = py.detach(|| store.writer(codec, &options));
        Ok(Self::new(writer.map_err(|error| fault::raised(py, error))?))
    }

    /// What the store said, whatever became of it on its way.
    fn failure(&self, py: Python<'_>) -> Option<PyErr> {
        let mut place = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        place.take().map(|error| fault::raised(py, error))
    }

    fn push(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        let done = self.state.detached(py, |writer| writer.push(bytes))?;
        done.map_err(|error| {
            let text = error.to_string();
            let mut place = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            *place = Some(error);
            to_py(py, Error::new(ErrorKind::Io, text))
        })
    }
}

#[pymethods]
impl Writer {
    /// Takes further bytes; how many.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        if let Some(size) = copied_bytes(data)? {
            in_steps(data, STEP, |step| self.push(py, step))?;
            return Ok(size);
        }
        with_bytes(data, |bytes| {
            self.push(py, bytes)?;
            Ok(bytes.len())
        })
    }

    /// Ends the object and lets a key name it.
    fn name(&self, py: Python<'_>, key: &str, namespace: &str) -> PyResult<String> {
        if let Some(failure) = self.failure(py) {
            return Err(failure);
        }
        let key = Key::new(namespace, key);
        let writer = self.state.take(py)?;
        let Some(writer) = writer else {
            let text = "the object is complete, or was given up";
            return Err(to_py(py, Error::new(ErrorKind::Usage, text)));
        };
        let done = py.detach(|| writer.name(key));
        done.map(|hash| hash.hex())
            .map_err(|error| fault::about(py, error, key))
    }

    /// Gives the object up: nothing is left of it.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        let writer = self.state.take(py)?;
        py.detach(|| drop(writer));
        Ok(())
    }

    fn flush(&self) {}

    #[getter]
    fn closed(&self) -> bool {
        false
    }

    fn writable(&self) -> bool {
        true
    }

    fn readable(&self) -> bool {
        false
    }

    fn seekable(&self) -> bool {
        false
    }
}
