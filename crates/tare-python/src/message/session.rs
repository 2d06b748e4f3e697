//! `_tare.MessageSession`: framer and writer without a descriptor, for TLS and asyncio.

use std::io::IoSlice;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyList};
use tare::message::{Control, Event, FrameWriter, Framer, State};
use tare::{Error, ErrorKind};

use super::deadline::moment;
use super::fault::raised;
use super::given::{framing, limits, option};
use super::inner::{Inner, SLICES};
use super::pool;
use super::pull::{borrowed, push_out, Source, Stop};
use super::taken::Taken;
use crate::buffers::{with_bytes, writable};
use crate::error::os_error;

/// Bytes that are read before anything else is looked at.
const ROUND: usize = 1 << 20;
/// What `pull` gives.
#[derive(IntoPyObject)]
pub(super) enum Pulled<'py> {
    Taken(Taken<'py>),
    AtEnd(Option<bool>),
    Not(&'static str),
}

/// What `pull_into` gives.
#[derive(IntoPyObject)]
enum PulledInto<'py> {
    Taken((usize, Option<Taken<'py>>)),
    AtEnd(Option<bool>),
    Not(&'static str),
}

/// A reason as Python gets it.
pub(super) fn told_why(stop: Stop) -> &'static str {
    match stop {
        Stop::Ready => "ready",
        Stop::Late => "late",
        Stop::Slow => "slow",
        Stop::Unsent => "unsent",
    }
}

#[pyclass(frozen, name = "MessageSession")]
pub struct Session(Mutex<Inner>);

impl Session {
    /// Locked by who has the GIL, and not while Python code runs (which making a list, a dict or an
    /// exception may do). Another thread may hold it without the GIL: then it is waited for without
    /// it too, because that thread may want the GIL first.
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        match self.0.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => Python::attach(|py| {
                let locked = self.0.lock_py_attached(py);
                locked.unwrap_or_else(PoisonError::into_inner)
            }),
        }
    }

    /// Locked by who released the GIL.
    pub(super) fn lock_detached(&self) -> MutexGuard<'_, Inner> {
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
            more: false,
            given: false,
            watched: None,
            slow: None,
            usual: 0,
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
        pool::lend_writer(&mut inner.writer);
        while inner.writer.pending() < limit || index == start {
            let Some(payload) = item(payloads, index) else {
                break;
            };
            let compressed = flags.is_some_and(|flags| flags.get(index).is_some_and(|&f| f != 0));
            let done = if let Ok(bytes) = payload.cast_exact::<PyBytes>() {
                inner.push_object(&bytes, compressed)
            } else {
                drop(inner); // an exporter of a buffer may be Python code, which may change the list
                let payload = payload.to_owned();
                self.send(py, &payload, compressed)?;
                inner = self.lock();
                Ok(())
            };
            if let Err(error) = done {
                drop(inner);
                return Err(raised(py, error));
            }
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
        let done = py.detach(|| {
            let mut inner = self.lock_detached();
            let done = inner.read(&*file, round, most);
            inner.more = done.as_ref().is_ok_and(|(total, _)| *total >= round);
            done
        });
        done.map_err(|error| os_error(py, error))
    }

    /// Writes what a descriptor that does not block takes: how many bytes, None if it has no room.
    fn write_to(&self, py: Python<'_>, descriptor: i32) -> PyResult<Option<usize>> {
        let file = borrowed(descriptor);
        let done = py.detach(|| self.lock_detached().write(&*file));
        done.map_err(|error| os_error(py, error))
    }

    /// Frees what an idle connection does not need.
    fn rest(&self) {
        let mut inner = self.lock();
        inner.rest();
        inner.rest_writer();
        inner.framer.release();
        inner.writer.release();
    }

    /// As `take`, from a descriptor that does not block, which it waits for; else why it has none.
    #[pyo3(signature = (source, count, budget, seconds=None))]
    fn pull<'py>(
        &self,
        py: Python<'py>,
        source: (i32, usize, bool, Option<f64>),
        count: usize,
        budget: usize,
        seconds: Option<f64>,
    ) -> PyResult<Pulled<'py>> {
        let source = Source::new(py, source, seconds)?;
        loop {
            let batch = self.lock().gather(py, count, budget);
            if let Some(batch) = batch.map_err(|broken| broken.raised(py))? {
                return Ok(Pulled::Taken(batch.taken(py)?));
            }
            if self.at_end() {
                return Ok(Pulled::AtEnd(None));
            }
            if let Some(stop) = source.overdue(py, self)? {
                return Ok(Pulled::Not(told_why(stop)));
            }
            if source.due.is_none() {
                if let Some(pulled) = self.pull_large(py, source)? {
                    return Ok(pulled);
                }
            }
            // What follows is only looked at in the next turn: an error must come from there.
            let mut looked = false;
            let stop = source.fill(py, self, ROUND, |_| std::mem::replace(&mut looked, true))?;
            if stop != Stop::Ready {
                return Ok(Pulled::Not(told_why(stop)));
            }
        }
    }

    /// Whether a message is there, the end or an error; else why not.
    #[pyo3(signature = (source, seconds=None))]
    fn look(
        &self,
        py: Python<'_>,
        source: (i32, usize, bool, Option<f64>),
        seconds: Option<f64>,
    ) -> PyResult<&'static str> {
        let source = Source::new(py, source, seconds)?;
        source.fill(py, self, ROUND, Inner::hear).map(told_why)
    }

    /// As `take_into`, from a descriptor that does not block, which it waits for; else why it has none.
    #[pyo3(signature = (source, buffer, seconds=None))]
    fn pull_into<'py>(
        &self,
        py: Python<'py>,
        source: (i32, usize, bool, Option<f64>),
        buffer: &Bound<'py, PyAny>,
        seconds: Option<f64>,
    ) -> PyResult<PulledInto<'py>> {
        let source = Source::new(py, source, seconds)?;
        let target = writable(buffer)?;
        loop {
            if let Some(taken) = self.take_into(py, buffer)? {
                return Ok(PulledInto::Taken(taken));
            }
            if self.at_end() {
                return Ok(PulledInto::AtEnd(None));
            }
            if let Some(stop) = source.overdue(py, self)? {
                return Ok(PulledInto::Not(told_why(stop)));
            }
            let stop = if let Some(stop) = source.place(py, self, &target)? {
                stop
            } else {
                let mut looked = false;
                source.fill(py, self, 1, |_| std::mem::replace(&mut looked, true))?
            };
            if stop != Stop::Ready {
                return Ok(PulledInto::Not(told_why(stop)));
            }
        }
    }

    /// Writes until no more than so many bytes are queued; False if there was no room in time.
    #[pyo3(signature = (descriptor, down_to, seconds=None))]
    fn push_out(
        &self,
        py: Python<'_>,
        descriptor: i32,
        down_to: usize,
        seconds: Option<f64>,
    ) -> PyResult<bool> {
        push_out(py, self, descriptor, down_to, moment(py, seconds)?)
    }

    /// Remembers since when a message has been on its way.
    fn clock(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<()> {
        let longest = moment(py, seconds)?.map(|due| due.saturating_duration_since(Instant::now()));
        self.lock().clock(longest);
        Ok(())
    }

    /// Seconds that the message under way has left; None if none is.
    fn clock_left(&self) -> Option<f64> {
        let (due, _) = self.lock().slow?;
        Some(due.saturating_duration_since(Instant::now()).as_secs_f64())
    }

    /// From now on `wait` may look at this descriptor itself; none, and it asks.
    #[pyo3(signature = (descriptor=None))]
    fn watch(&self, descriptor: Option<i32>) {
        self.lock().watched = descriptor.map(|descriptor| (descriptor, std::process::id()));
    }

    /// What was given is used up.
    fn settled(&self) {
        self.lock().given = false;
    }

    #[getter]
    fn more(&self) -> bool {
        self.lock().more
    }

    /// The payload of one message into a buffer: its length; the message, if it does not fit; None
    /// if none is whole.
    fn take_into<'py>(
        &self,
        py: Python<'py>,
        buffer: &Bound<'py, PyAny>,
    ) -> PyResult<Option<(usize, Option<Taken<'py>>)>> {
        let target = writable(buffer)?;
        let placed = self.place_one(py, &target);
        match placed.map_err(|broken| broken.raised(py))? {
            Some((size, None)) => Ok(Some((size, None))),
            Some((size, Some(batch))) => Ok(Some((size, Some(batch.taken(py)?)))),
            None => Ok(None),
        }
    }

    fn received_end(&self) {
        self.lock().end();
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
        let batch = self.lock().gather(py, count, budget);
        let batch = batch.map_err(|broken| broken.raised(py))?;
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
        let (expected, given) = {
            let mut inner = self.lock();
            let Some(expected) = inner.expected.clone() else {
                return Ok(true);
            };
            let given = match inner.framer.next_event() {
                Ok(Some(Event::Control(Control::Token(token)))) => token.to_vec(),
                Ok(None) => return Ok(false),
                _ => Vec::new(),
            };
            (expected, given)
        };
        let same = py
            .import("hmac")?
            .call_method1("compare_digest", (&given[..], &expected[..]))?;
        if !same.is_truthy()? {
            let error = Error::new(ErrorKind::Usage, "the peer has not the right token");
            return Err(raised(py, error));
        }
        self.lock().expected = None;
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
        let all = {
            let inner = self.lock();
            let ahead = inner.framer.buffered();
            let known = inner.framer.position().saturating_add(ahead.len() as u64);
            (known == inner.fed).then(|| [ahead, &inner.spill].concat())
        };
        let text = "a large message is half received: receive it, then detach";
        let all = all.ok_or_else(|| raised(py, Error::new(ErrorKind::Usage, text)))?;
        Ok(PyBytes::new(py, &all))
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
        let facts = PyDict::new(py);
        // Texts and numbers alone, which run no Python code.
        let mut inner = self.lock();
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

/// An item of a list, borrowed: no other Python code runs while it is looked at.
#[allow(
    unsafe_code,
    reason = "a reference counted up and down costs as much as a copy"
)]
fn item<'a, 'py>(list: &'a Bound<'py, PyList>, index: usize) -> Option<Borrowed<'a, 'py, PyAny>> {
    if index >= list.len() {
        return None;
    }
    let index = isize::try_from(index).ok()?;
    // SAFETY: the list has the item, and keeps it as long as nothing changes the list, for which
    // Python code would have to run.
    unsafe {
        let item = pyo3::ffi::PyList_GetItem(list.as_ptr(), index);
        (!item.is_null()).then(|| Borrowed::from_ptr(list.py(), item))
    }
}

/// A state as Python gets it: name, offset, hint.
fn told(state: State) -> (&'static str, Option<u64>, Option<u64>) {
    let hint = match state {
        State::NeedMore { hint } => Some(hint),
        _ => None,
    };
    (state.name(), state.offset(), hint)
}
