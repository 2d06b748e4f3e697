//! `_tare.MessageSession`: framer and writer without a descriptor, for TLS and asyncio.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};
use tare::message::{Control, Event, FrameWriter, Framer, State};
use tare::{Error, ErrorKind};

use super::fault::raised;
use super::given::{framing, limits, option};
use super::taken::{Batch, Taken};
use crate::buffers::{fill, with_bytes, writable};
use crate::error::os_error;

/// How many slices are looked at at once: more would be copied anyway.
const SLICES: usize = 64;
/// From so many bytes on a payload is lent to the writer instead of copied.
pub(super) const LENT: usize = 64 << 10;

/// Both directions of a stream that somebody else reads and writes.
pub(super) struct Inner {
    framer: Framer,
    writer: FrameWriter,
    /// What the framer had no room for.
    spill: Vec<u8>,
    /// What is said before the first message, and still is to be said.
    hello: Option<String>,
    says_end: bool,
    finished: bool,
    /// The token that must come first.
    expected: Option<Vec<u8>>,
    peer_codec: Option<String>,
    /// What the peer says of the messages behind those taken last.
    next_codec: Option<String>,
    sent: u64,
    written: u64,
    /// Bytes that the framer took.
    fed: u64,
    /// Where the message that was taken last ended.
    last_end: u64,
    /// A last line without its end is taken for whole.
    takes_last_line: bool,
    max_message: u64,
}

impl Inner {
    /// Queues a message, and HELLO before the first.
    #[inline]
    pub(super) fn push(&mut self, payload: &[u8], compressed: bool) -> tare::Result<()> {
        if payload.len() as u64 > self.max_message {
            return Err(self.too_long(payload.len()));
        }
        if self.hello.is_some() {
            self.greet()?;
        }
        self.writer.push(payload, compressed)?;
        self.sent = self.sent.saturating_add(1);
        Ok(())
    }

    /// As `push`; what is large is not copied.
    #[inline]
    pub(super) fn push_object(
        &mut self,
        payload: &Bound<'_, PyBytes>,
        compressed: bool,
    ) -> tare::Result<()> {
        let bytes = payload.as_bytes();
        if bytes.len() < LENT || bytes.len() as u64 > self.max_message {
            return self.push(bytes, compressed);
        }
        self.greet()?;
        let lent = Bytes::from_owner(PyBackedBytes::from(payload.clone()));
        self.writer.push_shared(lent, compressed)?;
        self.sent = self.sent.saturating_add(1);
        Ok(())
    }

    /// Reads what is there, at most about `round` bytes; how many came, and whether the end did.
    fn read(
        &mut self,
        mut source: impl Read,
        round: usize,
        most: usize,
    ) -> io::Result<(usize, bool)> {
        let mut total = 0_usize;
        while total < round {
            let room = self.framer.reserve();
            let size = room.len().min(most);
            let Some(room) = room.get_mut(..size).filter(|room| !room.is_empty()) else {
                break;
            };
            match source.read(room) {
                Ok(0) => return Ok((total, true)),
                Ok(n) => {
                    self.framer.commit(n);
                    self.fed = self.fed.saturating_add(n as u64);
                    total = total.saturating_add(n);
                    if n < size {
                        break; // what comes from now on, the descriptor tells
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What came before it is used; the error comes again.
                Err(_) if total > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok((total, false))
    }

    /// Writes once; how many bytes were taken, none if there is no room.
    fn write(&mut self, mut target: impl Write) -> io::Result<Option<usize>> {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let used = self.writer.slices(&mut slices);
        match target.write_vectored(slices.get(..used).unwrap_or_default()) {
            Ok(n) => {
                self.writer.advance(n);
                self.written = self.written.saturating_add(n as u64);
                Ok(Some(n))
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            },
        }
    }

    #[cold]
    fn too_long(&self, size: usize) -> Error {
        let text = format!(
            "a message of {size} bytes, over max_message = {}: raise it, or send less at once",
            self.max_message
        );
        Error::new(ErrorKind::Limit, text).with_format(self.framer.framing().name())
    }

    /// Bytes that are queued.
    pub(super) fn unsent(&self) -> usize {
        self.writer.pending()
    }

    fn greet(&mut self) -> tare::Result<()> {
        match self.hello.take() {
            Some(hello) => self.writer.control(Control::Hello(&hello)),
            None => Ok(()),
        }
    }

    fn finish(&mut self) -> tare::Result<()> {
        if self.says_end && !self.finished {
            self.finished = true;
            self.greet()?;
            let messages = self.sent;
            self.writer.control(Control::End { messages })?;
        }
        Ok(())
    }

    fn feed(&mut self, bytes: &[u8]) {
        let taken = if self.spill.is_empty() {
            self.framer.feed(bytes)
        } else {
            0
        };
        self.fed = self.fed.saturating_add(taken as u64);
        self.spill
            .extend_from_slice(bytes.get(taken..).unwrap_or_default());
    }

    /// Gives the framer what it had no room for; whether it took any.
    fn feed_spill(&mut self) -> bool {
        if self.spill.is_empty() {
            return false;
        }
        let taken = self.framer.feed(&self.spill);
        self.fed = self.fed.saturating_add(taken as u64);
        self.spill.drain(..taken);
        if self.spill.is_empty() {
            self.spill = Vec::new();
        }
        taken > 0
    }

    /// Takes whole messages up to what another codec was announced for.
    fn gather<'py>(
        &mut self,
        py: Python<'py>,
        count: usize,
        budget: usize,
    ) -> PyResult<Option<Batch<'py>>> {
        let mut batch = Batch::new(self.last_end);
        if let Some(codec) = self.next_codec.take() {
            self.peer_codec = Some(codec);
        }
        while batch.len() < count && (batch.len() == 0 || batch.bytes() < budget) {
            let stopped = match self.framer.next_event() {
                Ok(Some(Event::Message(message))) => {
                    batch.push(py, &message)?;
                    self.last_end = self.framer.position();
                    batch.ended(self.last_end);
                    continue;
                }
                Ok(Some(Event::Control(Control::Hello(codec)))) => {
                    if batch.len() > 0 {
                        self.next_codec = Some(codec.to_owned());
                        break;
                    }
                    self.peer_codec = Some(codec.to_owned());
                    continue;
                }
                Ok(Some(Event::Control(_))) => continue,
                Ok(None) => None,
                // Good messages come first; the error stays and comes again.
                Err(_) if batch.len() > 0 => break,
                Err(error) => Some(raised(py, error)),
            };
            match stopped {
                None if self.feed_spill() => {}
                None => break,
                Some(_) if self.takes_last_line && self.framer.accept_last_line() => {}
                Some(error) => return Err(error),
            }
        }
        self.feed_spill();
        Ok((batch.len() > 0).then_some(batch))
    }
}

#[pyclass(frozen, name = "MessageSession")]
pub struct Session(Mutex<Inner>);

impl Session {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        // Held with the GIL, and never while other Python code runs.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Session {
    #[new]
    fn new(wire: &str, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let framing = framing(wire)?;
        let limits = limits(options)?;
        let crc = option(options, "crc")?.unwrap_or(false);
        Ok(Self(Mutex::new(Inner {
            max_message: limits.max_message,
            framer: match option(options, "midway")? {
                Some(true) => Framer::new(framing, limits).joined_midway(),
                _ => Framer::new(framing, limits),
            },
            writer: FrameWriter::new(framing, crc),
            spill: Vec::new(),
            hello: option(options, "hello")?,
            says_end: option(options, "end")?.unwrap_or(false),
            finished: false,
            expected: option(options, "expected")?,
            peer_codec: None,
            next_codec: None,
            sent: 0,
            written: 0,
            fed: 0,
            last_end: 0,
            takes_last_line: false,
        })))
    }

    #[pyo3(signature = (payload, compressed=false))]
    fn send(&self, py: Python<'_>, payload: &Bound<'_, PyAny>, compressed: bool) -> PyResult<()> {
        if let Ok(bytes) = payload.cast_exact::<PyBytes>() {
            let done = self.lock().push_object(bytes, compressed);
            return done.map_err(|error| raised(py, error));
        }
        with_bytes(payload, |bytes| {
            let done = self.lock().push(bytes, compressed);
            done.map_err(|error| raised(py, error))
        })
    }

    /// Queues payloads from an index on until `limit` bytes wait; the index of the next.
    #[pyo3(signature = (payloads, start, limit, flags=None))]
    fn send_many(
        &self,
        py: Python<'_>,
        payloads: &Bound<'_, PyList>,
        start: usize,
        limit: usize,
        flags: Option<&[u8]>,
    ) -> PyResult<usize> {
        let mut index = start;
        let mut inner = self.lock();
        while inner.writer.pending() < limit || index == start {
            let Ok(payload) = payloads.get_item(index) else {
                break;
            };
            let compressed = flags.is_some_and(|flags| flags.get(index).is_some_and(|&f| f != 0));
            let done = if let Ok(bytes) = payload.cast_exact::<PyBytes>() {
                inner.push_object(bytes, compressed)
            } else {
                drop(inner); // an exporter of a buffer may be Python code
                self.send(py, &payload, compressed)?;
                inner = self.lock();
                Ok(())
            };
            done.map_err(|error| raised(py, error))?;
            index = index.saturating_add(1);
        }
        Ok(index)
    }

    fn token(&self, py: Python<'_>, token: &[u8]) -> PyResult<()> {
        let done = self.lock().writer.control(Control::Token(token));
        done.map_err(|error| raised(py, error))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let done = self.lock().finish();
        done.map_err(|error| raised(py, error))
    }

    #[pyo3(signature = (limit=None))]
    fn outgoing<'py>(
        &self,
        py: Python<'py>,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let inner = self.lock();
        let mut slices = [IoSlice::new(&[]); SLICES];
        let size = inner.writer.pending().min(limit.unwrap_or(usize::MAX));
        let used = inner.writer.slices(&mut slices);
        let slices = slices.get(..used).unwrap_or_default();
        let there = slices.iter().map(|slice| slice.len()).sum::<usize>();
        let size = size.min(there);
        PyBytes::new_with(py, size, |mut place| {
            for slice in slices {
                let n = place.len().min(slice.len());
                let (head, rest) = place.split_at_mut(n);
                head.copy_from_slice(slice.get(..n).unwrap_or_default());
                place = rest;
            }
            Ok(())
        })
    }

    fn written(&self, count: usize) {
        let mut inner = self.lock();
        inner.writer.advance(count);
        inner.written = inner.written.saturating_add(count as u64);
    }

    fn received(&self, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let buffer = crate::buffers::contiguous(data)?;
        // Copied with the GIL held: nobody changes it meanwhile.
        self.lock().feed(crate::buffers::lent(&buffer));
        Ok(())
    }

    /// Reads what a descriptor that does not block has: how many bytes, and whether it is at its end.
    fn read_from(
        &self,
        py: Python<'_>,
        descriptor: i32,
        round: usize,
        most: usize,
    ) -> PyResult<(usize, bool)> {
        let file = borrowed(descriptor);
        let done = py.detach(|| self.lock().read(&*file, round, most));
        done.map_err(|error| os_error(py, error))
    }

    /// Writes what a descriptor that does not block takes: how many bytes, None if it has no room.
    fn write_to(&self, py: Python<'_>, descriptor: i32) -> PyResult<Option<usize>> {
        let file = borrowed(descriptor);
        let done = py.detach(|| self.lock().write(&*file));
        done.map_err(|error| os_error(py, error))
    }

    /// Frees what an idle connection does not need.
    fn rest(&self) {
        let mut inner = self.lock();
        inner.framer.release();
        inner.writer.release();
    }

    /// The payload of one message into a buffer: its length; the message, if it does not fit; None
    /// if none is whole.
    fn take_into<'py>(
        &self,
        py: Python<'py>,
        buffer: &Bound<'py, PyAny>,
    ) -> PyResult<Option<(usize, Option<Taken<'py>>)>> {
        let target = writable(buffer)?;
        let mut inner = self.lock();
        if let Some(codec) = inner.next_codec.take() {
            inner.peer_codec = Some(codec);
        }
        let inner = &mut *inner;
        loop {
            let size = match inner.framer.next_event() {
                Ok(Some(Event::Message(message)))
                    if message.compressed || message.bytes.len() > target.len_bytes() =>
                {
                    let mut batch = Batch::new(inner.last_end);
                    batch.push(py, &message)?;
                    let size = message.bytes.len();
                    inner.last_end = inner.framer.position();
                    batch.ended(inner.last_end);
                    return Ok(Some((size, Some(batch.taken(py)?))));
                }
                Ok(Some(Event::Message(message))) => Some(fill(py, &target, message.bytes)),
                Ok(Some(Event::Control(Control::Hello(codec)))) => {
                    inner.peer_codec = Some(codec.to_owned());
                    None
                }
                Ok(Some(Event::Control(_))) => None,
                Ok(None) => return Ok(None),
                Err(error) => return Err(raised(py, error)),
            };
            if let Some(size) = size {
                inner.last_end = inner.framer.position();
                return Ok(Some((size, None)));
            }
        }
    }

    fn received_end(&self) {
        let mut inner = self.lock();
        inner.feed_spill();
        if inner.spill.is_empty() {
            inner.framer.end();
        }
    }

    fn received_failure(&self, _number: i32) {
        self.lock().framer.fail();
    }

    fn take<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        budget: usize,
    ) -> PyResult<Option<Taken<'py>>> {
        let batch = self.lock().gather(py, count, budget)?;
        batch.map(|batch| batch.taken(py)).transpose()
    }

    #[getter]
    fn ready(&self) -> bool {
        self.lock().framer.ready()
    }

    #[getter]
    fn at_end(&self) -> bool {
        let state = self.lock().framer.state();
        matches!(state, State::Ended | State::EofClean)
    }

    #[getter]
    fn full(&self) -> bool {
        !self.lock().spill.is_empty()
    }

    #[getter]
    fn trusted(&self, py: Python<'_>) -> PyResult<bool> {
        let mut inner = self.lock();
        let Some(expected) = inner.expected.clone() else {
            return Ok(true);
        };
        let given = match inner.framer.next_event() {
            Ok(Some(Event::Control(Control::Token(token)))) => token.to_vec(),
            Ok(None) => return Ok(false),
            _ => Vec::new(),
        };
        let same = py
            .import("hmac")?
            .call_method1("compare_digest", (&given[..], &expected[..]))?;
        if !same.is_truthy()? {
            let error = Error::new(ErrorKind::Usage, "the peer has not the right token");
            return Err(raised(py, error));
        }
        inner.expected = None;
        Ok(true)
    }

    #[getter]
    fn unsent(&self) -> usize {
        self.lock().writer.pending()
    }

    /// Whether one is there at least: those behind it were not looked at.
    #[getter]
    fn pending(&self) -> usize {
        let mut inner = self.lock();
        usize::from(inner.framer.ready() && inner.framer.state() == State::Ok)
    }

    #[getter]
    fn partial_size(&self) -> usize {
        self.lock().framer.partial().len()
    }

    #[getter]
    fn peer_codec(&self) -> Option<String> {
        self.lock().peer_codec.clone()
    }

    /// Whether a message has begun and is not whole.
    #[getter]
    fn inside(&self) -> bool {
        matches!(self.lock().framer.state(), State::NeedMore { .. })
    }

    fn partial<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.lock().framer.partial())
    }

    fn accept_last_line(&self) {
        self.lock().takes_last_line = true;
    }

    fn read_ahead<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let inner = self.lock();
        let ahead = inner.framer.buffered();
        let known = inner.framer.position().saturating_add(ahead.len() as u64);
        if known != inner.fed {
            let text = "a large message is half received: receive it, then detach";
            return Err(raised(py, Error::new(ErrorKind::Usage, text)));
        }
        Ok(PyBytes::new(py, &[ahead, &inner.spill].concat()))
    }

    fn note_skipped(&self, offset: u64) {
        self.lock().framer.note_skipped(offset);
    }

    fn status(&self) -> (&'static str, Option<u64>, Option<u64>) {
        told(self.lock().framer.state())
    }

    fn position(&self) -> (u64, u64) {
        let inner = self.lock();
        let queued = inner.writer.pending() as u64;
        (inner.last_end, inner.written.saturating_add(queued))
    }

    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut inner = self.lock();
        let facts = PyDict::new(py);
        facts.set_item("messages_in", inner.framer.messages())?;
        facts.set_item("messages_out", inner.sent)?;
        facts.set_item("bytes_in", inner.last_end)?;
        let queued = inner.writer.pending();
        facts.set_item("bytes_out", inner.written.saturating_add(queued as u64))?;
        facts.set_item("partial", inner.framer.partial().len())?;
        facts.set_item("unsent", queued)?;
        facts.set_item("control_skipped", inner.framer.control_skipped())?;
        facts.set_item("skipped", inner.framer.skipped().0)?;
        facts.set_item("ended", inner.framer.state() == State::Ended)?;
        Ok(facts)
    }
}

/// A descriptor of Python's as a file, which it stays the owner of.
#[allow(unsafe_code, reason = "a number alone does not say who closes it")]
fn borrowed(descriptor: i32) -> ManuallyDrop<File> {
    // SAFETY: it is never closed here, and Python keeps it open while it calls; one that was closed
    // beneath it is refused by the system.
    ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) })
}

/// A state as Python gets it: name, offset, hint.
fn told(state: State) -> (&'static str, Option<u64>, Option<u64>) {
    let hint = match state {
        State::NeedMore { hint } => Some(hint),
        _ => None,
    };
    (state.name(), state.offset(), hint)
}
