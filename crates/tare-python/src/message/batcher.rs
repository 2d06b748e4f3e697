//! `_tare.MessageBatcher`: what `send` is within a batch.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::fault::raised;
use super::inner::LENT;
use super::session::Session;
use crate::buffers::with_bytes;

/// `send` of a connection within a batch: queues, and has what has grown flushed.
#[pyclass(frozen, name = "MessageBatcher")]
pub struct Batcher {
    session: Py<Session>,
    flush: Py<PyAny>,
    limit: usize,
}

#[pymethods]
impl Batcher {
    #[new]
    fn new(session: Py<Session>, flush: Py<PyAny>, limit: usize) -> Self {
        Self {
            session,
            flush,
            limit,
        }
    }

    #[pyo3(signature = (data, timeout=None))]
    fn send(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        // Errors become exceptions when the session is no longer locked: making one runs Python code.
        let push = |bytes: &[u8]| {
            let done = {
                let mut inner = self.session.get().lock();
                let done = inner.push(bytes, false);
                done.map(|()| inner.unsent())
            };
            done.map_err(|error| raised(py, error))
        };
        let waits = match data.cast_exact::<PyBytes>() {
            Ok(bytes) if bytes.as_bytes().len() >= LENT => {
                let done = {
                    let mut inner = self.session.get().lock();
                    let done = inner.push_object(bytes, false);
                    done.map(|()| inner.unsent())
                };
                done.map_err(|error| raised(py, error))?
            }
            Ok(bytes) => push(bytes.as_bytes())?,
            Err(_) => with_bytes(data, push)?,
        };
        if waits >= self.limit {
            match timeout {
                Some(timeout) => self.flush.call1(py, (timeout,))?,
                None => self.flush.call0(py)?,
            };
        }
        Ok(())
    }
}
