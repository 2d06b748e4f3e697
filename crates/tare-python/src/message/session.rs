//! `_tare.MessageSession`: framer and writer without a descriptor, for TLS and asyncio.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tare::message::{Control, Event, FrameWriter, Framer, State};
use tare::{Error, ErrorKind};

use super::given::{framing, limits, option};
use super::taken::{Batch, Taken};
use crate::buffers::with_bytes;
use crate::error::to_py;

/// One direction each way of a stream that somebody else reads and writes.
struct Inner {
    framer: Framer,
    writer: FrameWriter,
    /// What the framer had no room for.
    spill: Vec<u8>,
    /// What is said before the first message, and still is to be said.
    hello: Option<String>,
    says_end: bool,
    /// The token that must come first.
    expected: Option<Vec<u8>>,
    peer_codec: Option<String>,
    /// What a peer says of the messages behind those taken last.
    next_codec: Option<String>,
    finished: bool,
    sent: u64,
    sent_bytes: u64,
    taken: u64,
    max_message: u64,
    failed: Option<i32>,
    ended: bool,
}

#[pyclass(frozen, name = "MessageSession")]
pub struct Session(Mutex<Inner>);

impl Session {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Held for no longer than bytes are copied, and never while Python runs.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Session {
    #[new]
    fn new(wire: &str, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let framing = framing(wire)?;
        let limits = limits(options)?;
        let max_message = limits.max_message;
        let crc = option(options, "crc")?.unwrap_or(false);
        Ok(Self(Mutex::new(Inner {
            framer: Framer::new(framing, limits),
            writer: FrameWriter::new(framing, crc),
            spill: Vec::new(),
            hello: option(options, "hello")?,
            says_end: option(options, "end")?.unwrap_or(false),
            expected: option(options, "expected")?,
            peer_codec: None,
            next_codec: None,
            finished: false,
            sent: 0,
            sent_bytes: 0,
            taken: 0,
            max_message,
            failed: None,
            ended: false,
        })))
    }

    #[pyo3(signature = (payload, compressed=false))]
    fn send(&self, py: Python<'_>, payload: &Bound<'_, PyAny>, compressed: bool) -> PyResult<()> {
        with_bytes(payload, |bytes| {
            let done = self.lock().push(bytes, compressed);
            done.map_err(|error| to_py(py, error))
        })
    }

    fn token(&self, py: Python<'_>, token: Vec<u8>) -> PyResult<()> {
        let done = self.lock().writer.control(Control::Token(&token));
        done.map_err(|error| to_py(py, error))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.lock().finish().map_err(|error| to_py(py, error))
    }
}
