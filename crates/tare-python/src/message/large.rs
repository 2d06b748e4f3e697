//! Messages that are received straight into Python's memory.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::message::{Control, Event};

use super::inner::Broken;
use super::pull::{Source, Stop};
use super::session::{told_why, Pulled, Session};
use super::taken::{Batch, Head};
use crate::buffers::{copied, fill, filled};

/// From so many bytes on a message is received into the bytes that Python gets, ...
const WHOLE: usize = 4 << 20;
/// ... once so many of them have come.
const CAME: usize = 1 << 20;

impl Session {
    /// Reads the message under way into the bytes that Python gets, if it is a large one of which
    /// much has come: announced lengths alone take no memory.
    pub(super) fn pull_large<'py>(
        &self,
        py: Python<'py>,
        source: Source,
    ) -> PyResult<Option<Pulled<'py>>> {
        let length = {
            let framer = &mut self.lock().framer;
            let length = framer.large_message().filter(|&length| length >= WHOLE);
            length.filter(|_| framer.partial().len() >= CAME)
        };
        let Some(length) = length else {
            return Ok(None);
        };
        let mut stop = None;
        let payload = filled(py, length, |place| {
            stop = source.place_into(py, self, place)?;
            Ok(())
        })?;
        if stop != Some(Stop::Ready) {
            return Ok(stop.map(|stop| Pulled::Not(told_why(stop))));
        }
        match self.placed(payload, length) {
            Some(batch) => Ok(Some(Pulled::Taken(batch.taken(py)?))),
            None => Ok(None),
        }
    }

    /// The message that was read into `payload`, if it is whole.
    fn placed<'py>(&self, payload: Bound<'py, PyBytes>, length: usize) -> Option<Batch<'py>> {
        let mut inner = self.lock();
        let inner = &mut *inner;
        let head = match inner.framer.next_event() {
            Ok(Some(Event::Message(message))) if message.placed == Some(length) => {
                Head::of(&message)
            }
            _ => return None,
        };
        let mut batch = Batch::new(inner.last_end, 1);
        inner.last_end = inner.framer.position();
        batch.push(payload, length, head, inner.last_end);
        inner.given = true;
        inner.rest();
        Some(batch)
    }

    /// The payload of one message into a buffer, or the message if it does not fit.
    pub(super) fn place_one<'py>(
        &self,
        py: Python<'py>,
        target: &PyUntypedBuffer,
    ) -> Result<Option<(usize, Option<Batch<'py>>)>, Broken> {
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
                    let mut batch = Batch::new(inner.last_end, 1);
                    let (payload, head) = (copied(py, message.bytes)?, Head::of(&message));
                    let size = message.bytes.len();
                    inner.last_end = inner.framer.position();
                    batch.push(payload, size, head, inner.last_end);
                    return Ok(Some((size, Some(batch))));
                }
                Ok(Some(Event::Message(message))) => match message.placed {
                    Some(size) => Some(size),
                    None => Some(fill(py, target, message.bytes)),
                },
                Ok(Some(Event::Control(Control::Hello(codec)))) => {
                    inner.peer_codec = Some(codec.to_owned());
                    None
                }
                Ok(Some(Event::Control(_))) => None,
                Ok(None) => return Ok(None),
                Err(error) => return Err(Broken::Core(error)),
            };
            if let Some(size) = size {
                inner.last_end = inner.framer.position();
                inner.rest();
                return Ok(Some((size, None)));
            }
        }
    }
}
