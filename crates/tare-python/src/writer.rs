//! `tare._tare.Writer`: the core's writer into a file of the system or a Python file object.

use pyo3::prelude::*;
use tare::compress::{Compressor, Summary, Writer as CoreWriter};
use tare::{Error, ErrorKind};

use crate::buffers::with_bytes;
use crate::error::to_py;
use crate::facts;
use crate::options::Writing;
use crate::shared::Shared;
use crate::signals::Signals;
use crate::stored::Stored;

/// Small writes are gathered, with the GIL held, until so many bytes are together.
const GATHERED_BYTES: usize = 64 << 10;

#[pyclass(frozen, module = "tare._tare")]
pub struct Writer {
    state: Shared<State>,
    signals: Signals,
    descriptor: Option<i32>,
    kind: &'static str,
}

struct State {
    writer: CoreWriter<Stored>,
    gathered: Vec<u8>,
}

impl State {
    fn push_gathered(&mut self) -> tare::Result<()> {
        let result = self.writer.push(&self.gathered);
        self.gathered.clear();
        result
    }

    fn write(&mut self, bytes: &[u8]) -> tare::Result<()> {
        self.push_gathered()?;
        if bytes.len() < GATHERED_BYTES {
            self.gathered.extend_from_slice(bytes);
            return Ok(());
        }
        self.writer.push(bytes)
    }

    fn flush(&mut self) -> tare::Result<()> {
        self.push_gathered()?;
        std::io::Write::flush(&mut self.writer).map_err(unwrapped)
    }

    fn finish(mut self) -> tare::Result<Summary> {
        self.push_gathered()?;
        let (mut sink, summary) = self.writer.finish()?;
        let flushed = std::io::Write::flush(&mut sink);
        flushed.map_err(|error| {
            let text = format!("cannot write the output: {error}");
            Error::new(ErrorKind::Io, text).with_source(error)
        })?;
        Ok(summary)
    }
}

/// The core's own error, which `Write::flush` wraps.
fn unwrapped(error: std::io::Error) -> Error {
    error
        .downcast::<Error>()
        .unwrap_or_else(|error| Error::new(ErrorKind::Io, error.to_string()).with_source(error))
}

#[pymethods]
impl Writer {
    #[new]
    fn new(file: &Bound<'_, PyAny>, compressor: &str, options: Writing) -> PyResult<Self> {
        let py = file.py();
        let signals = Signals::default();
        let compressor = Compressor::parse(compressor).map_err(|error| to_py(py, error))?;
        let kind = compressor.name();
        let options = options.options(py, &signals)?;
        let sink = Stored::writing(file, &signals)?;
        let descriptor = sink.descriptor();
        let writer =
            CoreWriter::new(sink, compressor, options).map_err(|error| to_py(py, error))?;
        let gathered = Vec::new();
        Ok(Self {
            state: Shared::new(State { writer, gathered }),
            signals,
            descriptor,
            kind,
        })
    }

    fn write(&self, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let py = data.py();
        with_bytes(data, |bytes| {
            let gathered = self.state.at_once(py, |state| {
                let fits = state.gathered.len().saturating_add(bytes.len()) <= GATHERED_BYTES;
                if fits {
                    state.gathered.extend_from_slice(bytes);
                }
                fits
            })?;
            if gathered != Some(true) {
                self.run(py, |state| state.write(bytes))?;
            }
            Ok(bytes.len())
        })
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, State::flush)
    }

    /// Ends the stream; None if it was ended before.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(state) = self.state.take(py)? else {
            return Ok(None);
        };
        let result = py.detach(|| state.finish());
        match result {
            Ok(summary) => facts::summary(py, &summary).map(Some),
            Err(error) => Err(self.signals.raise(py, error)),
        }
    }

    /// Ends the work without ending the stream.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        let state = self.state.take(py)?;
        py.detach(|| drop(state));
        Ok(())
    }

    /// Plain bytes taken, and stored bytes written, so far.
    fn progress(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.state.detached(py, |state| {
            let (taken, written) = state.writer.progress();
            (taken.saturating_add(state.gathered.len() as u64), written)
        })
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.kind
    }

    #[getter]
    fn descriptor(&self) -> Option<i32> {
        self.descriptor
    }

    fn __sizeof__(&self, py: Python<'_>) -> usize {
        let held = self.state.detached(py, |state| {
            let gathered = state.gathered.capacity();
            state.writer.buffer_bytes().saturating_add(gathered)
        });
        size_of::<Self>().saturating_add(held.unwrap_or(0))
    }
}

impl Writer {
    fn run(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> tare::Result<()> + Send,
    ) -> PyResult<()> {
        let result = self.state.detached(py, work)?;
        result.map_err(|error| self.signals.raise(py, error))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.state.forget_if_forked();
    }
}
