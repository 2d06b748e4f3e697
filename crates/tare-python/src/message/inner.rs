//! What a `MessageSession` holds: a framer, a writer, and what was said on both sides.

use std::io::{self, IoSlice, Read, Write};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use tare::message::{Control, Event, FrameWriter, Framer, State};
use tare::{Error, ErrorKind};

use super::fault::raised;
use super::pool;
use super::taken::{Batch, Head};
use crate::buffers::copied;

/// How many slices are looked at at once: more would be copied anyway.
pub(super) const SLICES: usize = 64;
/// From so many bytes on a payload is lent to the writer instead of copied.
pub(super) const LENT: usize = 64 << 10;

/// Why nothing was gathered. It becomes an exception when no session is locked any more: making one
/// runs Python code.
pub(super) enum Broken {
    Core(Error),
    Python(PyErr),
}

impl Broken {
    pub(super) fn raised(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Core(error) => raised(py, error),
            Self::Python(error) => error,
        }
    }
}

impl From<PyErr> for Broken {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// Both directions of a stream that somebody else reads and writes.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and most combinations occur"
)]
pub(super) struct Inner {
    pub(super) framer: Framer,
    pub(super) writer: FrameWriter,
    /// What the framer had no room for.
    pub(super) spill: Vec<u8>,
    /// What is said before the first message, and still is to be said.
    pub(super) hello: Option<String>,
    pub(super) says_end: bool,
    pub(super) finished: bool,
    /// The token that must come first.
    pub(super) expected: Option<Vec<u8>>,
    pub(super) peer_codec: Option<String>,
    /// What the peer says of the messages behind those taken last.
    pub(super) next_codec: Option<String>,
    pub(super) sent: u64,
    pub(super) written: u64,
    /// Bytes that the framer took.
    pub(super) fed: u64,
    /// Where the message that was taken last ended.
    pub(super) last_end: u64,
    /// A last line without its end is taken for whole.
    pub(super) takes_last_line: bool,
    pub(super) max_message: u64,
    /// Whether the last reads stopped before nothing was left.
    pub(super) more: bool,
    /// A batch was given, which may not be used up.
    pub(super) given: bool,
    /// What `wait` watches, and in which process; none where it has to ask.
    pub(super) watched: Option<(i32, u32)>,
    /// Until when the message under way must be whole, and where it begins.
    pub(super) slow: Option<(Instant, u64)>,
    /// Messages of the batch before.
    pub(super) usual: usize,
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
    pub(super) fn read(
        &mut self,
        mut source: impl Read,
        round: usize,
        most: usize,
    ) -> io::Result<(usize, bool)> {
        let mut total = 0_usize;
        pool::lend(&mut self.framer);
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
    pub(super) fn write(&mut self, mut target: impl Write) -> io::Result<Option<usize>> {
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

    pub(super) fn finish(&mut self) -> tare::Result<()> {
        if self.says_end && !self.finished {
            self.finished = true;
            self.greet()?;
            let messages = self.sent;
            self.writer.control(Control::End { messages })?;
        }
        Ok(())
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
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
    pub(super) fn feed_spill(&mut self) -> bool {
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
    pub(super) fn gather<'py>(
        &mut self,
        py: Python<'py>,
        count: usize,
        budget: usize,
    ) -> Result<Option<Batch<'py>>, Broken> {
        let mut batch = Batch::new(self.last_end, self.usual.min(count));
        if let Some(codec) = self.next_codec.take() {
            self.peer_codec = Some(codec);
        }
        while batch.len() < count && (batch.len() == 0 || batch.bytes() < budget) {
            self.framer.take_small(|message, end| {
                let payload = copied(py, message.bytes)?;
                batch.push(payload, message.bytes.len(), Head::of(message), end);
                Ok::<_, PyErr>(batch.len() < count && batch.bytes() < budget)
            })?;
            if batch.len() > 0 {
                self.last_end = self.framer.position();
                if batch.len() >= count || batch.bytes() >= budget {
                    break;
                }
            }
            let stopped = match self.framer.next_event() {
                Ok(Some(Event::Message(message))) => {
                    let (payload, size) = (copied(py, message.bytes)?, message.bytes.len());
                    let head = Head::of(&message);
                    self.last_end = self.framer.position();
                    batch.push(payload, size, head, self.last_end);
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
                Err(error) => Some(error),
            };
            match stopped {
                None if self.feed_spill() => {}
                None => break,
                Some(_) if self.takes_last_line && self.framer.accept_last_line() => {}
                Some(error) => return Err(Broken::Core(error)),
            }
        }
        self.feed_spill();
        if batch.len() == 0 {
            return Ok(None);
        }
        self.usual = batch.len();
        self.given = true;
        self.rest();
        Ok(Some(batch))
    }

    /// Gives back buffers that nothing is in.
    pub(super) fn rest(&mut self) {
        pool::return_framer(&mut self.framer);
    }

    /// Gives back the buffer of messages that were all written.
    pub(super) fn rest_writer(&mut self) {
        pool::return_writer(&mut self.writer);
    }

    /// The stream ends here.
    pub(super) fn end(&mut self) {
        self.feed_spill();
        if self.spill.is_empty() {
            self.framer.end();
        }
    }

    /// Hears what is said between messages; whether a message, the end or an error comes next.
    pub(super) fn hear(&mut self) -> bool {
        loop {
            if !self.framer.ready() {
                if !self.feed_spill() {
                    return false;
                }
                continue;
            }
            if !self.framer.at_control() {
                return true;
            }
            match self.framer.next_event() {
                Ok(Some(Event::Control(Control::Hello(codec)))) => {
                    // Of what is taken from now on; what was taken before was of the other.
                    self.next_codec = Some(codec.to_owned());
                }
                Ok(_) => {}
                Err(_) => return true,
            }
        }
    }

    /// Remembers since when a message has been on its way.
    pub(super) fn clock(&mut self, longest: Option<Duration>) {
        let Some(longest) = longest else {
            return;
        };
        if !matches!(self.framer.state(), State::NeedMore { .. }) {
            self.slow = None;
        } else if self.slow.is_none_or(|(_, at)| at != self.last_end) {
            let due = Instant::now().checked_add(longest);
            self.slow = due.map(|due| (due, self.last_end));
        }
    }
}
