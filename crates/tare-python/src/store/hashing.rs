//! BLAKE3 of bytes that come in parts: what `tare.store.hashing` feeds.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use tare::robject::canonical_bytes;
use tare::store::{Algorithm, Hasher};

use crate::buffers::{copied_bytes, in_steps, with_bytes};
use crate::error::to_py;
use crate::robject::Handle;

/// From this many bytes on the GIL is released.
const LONG: usize = 64 << 10;
/// Bytes of a step of what others may change.
const STEP_BYTES: usize = 1 << 20;

/// BLAKE3 of the canonical form of an R object: equal for all that R calls identical.
#[pyfunction]
pub fn r_canonical(py: Python<'_>, object: &Handle) -> PyResult<String> {
    let mut hasher = Hasher::new(Algorithm::Blake3, 0);
    let done = py.detach(|| canonical_bytes(&object.0, |bytes| hasher.update(bytes)));
    done.map_err(|error| to_py(py, error))?;
    Ok(hasher.finish().hex())
}

#[pyclass(frozen, module = "tare._tare")]
pub struct Blake3(Mutex<Hasher>);

#[pymethods]
impl Blake3 {
    #[new]
    fn new() -> Self {
        Self(Mutex::new(Hasher::new(Algorithm::Blake3, 0)))
    }

    fn update(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        if copied_bytes(data)?.is_some_and(|size| size > STEP_BYTES) {
            return in_steps(data, STEP_BYTES, |step| {
                py.detach(|| self.take(step));
                Ok(())
            });
        }
        with_bytes(data, |bytes| {
            if bytes.len() < LONG {
                self.take(bytes);
            } else {
                py.detach(|| self.take(bytes));
            }
            Ok(())
        })
    }

    fn hexdigest(&self) -> String {
        let hasher = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hasher.clone().finish().hex()
    }
}

impl Blake3 {
    fn take(&self, bytes: &[u8]) {
        let mut hasher = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hasher.update(bytes);
    }
}
