//! The receiving half of a connection.

use std::io::ErrorKind as IoKind;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::reading::{Filled, Reading};
use super::{hold, try_hold, Connection, ROUND};
use crate::message::deadline::SLICE;
use crate::message::wire::{is_timeout, timed_out, Link, Stream};
use crate::message::{Call, Control, Event, Message};
use crate::{Error, ErrorKind, Result};

/// A file that is followed is looked at this often.
const FOLLOW: Duration = Duration::from_millis(10);

/// A message that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its bytes, as the sender gave them; empty if they went to a buffer of the caller.
    pub bytes: Vec<u8>,
    /// Its length.
    pub length: usize,
    /// Whether the bytes are one compressed stream.
    pub compressed: bool,
    /// Where it begins, in bytes from the start of the stream.
    pub offset: u64,
    /// How many messages came before it.
    pub number: u64,
}

/// What [`Connection::take`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Messages that were lent.
    pub messages: usize,
    /// Offset behind the last message that was taken, ever.
    pub end: u64,
    /// Whether the stream is at its end, and nothing is left.
    pub at_end: bool,
}

impl Connection {
    /// Waits until a message is whole, the stream ends or fails: then [`take`](Self::take) and
    /// [`receive`](Self::receive) do not wait. What is queued to be sent leaves meanwhile.
    ///
    /// # Errors
    /// `Io` at the deadline, and from the check of the call; nothing is lost.
    pub fn await_ready(&self, call: &mut Call<'_>) -> Result<()> {
        let mut reading = self.readable(call)?;
        self.make_ready(&mut reading, call)
    }

    /// Whether a whole message, an end or an error is there by the deadline. Part of a message is
    /// taken in, and does not count.
    ///
    /// # Errors
    /// `Usage` if closed; from the check of the call.
    pub fn poll(&self, call: &mut Call<'_>) -> Result<bool> {
        match self.await_ready(call) {
            Ok(()) => Ok(true),
            Err(error) if is_timeout(&error) && !self.is_closed() => {
                let failed = try_hold(&self.reading).is_some_and(|mut it| it.pass_controls());
                Ok(failed)
            }
            Err(error) => Err(error),
        }
    }

    /// Lends whole messages that are there, at most `count`, and no more behind `budget` bytes.
    /// Never waits: none are lent while another thread receives. Messages lent at once are
    /// of one codec.
    ///
    /// # Errors
    /// What is wrong with the stream, if no message comes before it: the same at each call. That
    /// of `lend`, whose message counts as taken.
    pub fn take(
        &self,
        count: usize,
        budget: usize,
        lend: &mut dyn FnMut(&Message<'_>) -> Result<()>,
    ) -> Result<Taken> {
        self.enter()?;
        let Some(mut reading) = try_hold(&self.reading) else {
            return Ok(Taken {
                messages: 0,
                end: 0,
                at_end: false,
            });
        };
        let mut left = budget;
        let mut messages = 0_usize;
        let mut at_end = false;
        while messages < count && left > 0 {
            // Another codec may follow: what was lent is of the one before.
            if messages > 0 && reading.framer.ready() && reading.at_control() {
                break;
            }
            match reading.next() {
                Ok(Some(message)) => {
                    left = left.saturating_sub(message.bytes.len().max(1));
                    lend(&message)?;
                    messages = messages.saturating_add(1);
                }
                Ok(None) => {
                    at_end = messages == 0 && reading.framer.state().is_final();
                    break;
                }
                Err(_) if messages > 0 => break,
                Err(error) => return Err(error),
            }
        }
        let end = reading.framer.position();
        if !reading.framer.ready() {
            reading.release();
        }
        Ok(Taken {
            messages,
            end,
            at_end,
        })
    }

    /// Receives one message; none at the end.
    ///
    /// # Errors
    /// `Io` at the deadline, and nothing is lost; `Truncated`, `Malformed`, `ChecksumMismatch`,
    /// `Limit` or `Io` of the stream, at each further call too.
    pub fn receive(&self, call: &mut Call<'_>) -> Result<Option<Received>> {
        let mut reading = self.readable(call)?;
        self.make_ready(&mut reading, call)?;
        let received = reading.receive();
        if !reading.framer.ready() {
            reading.release();
        }
        received
    }

    /// Receives messages until the deadline, at most `count`; at an end, those before it. An
    /// error behind the first message is left for the next call.
    ///
    /// # Errors
    /// As [`receive`](Self::receive), but for the deadline.
    pub fn receive_all(&self, count: usize, call: &mut Call<'_>) -> Result<Vec<Received>> {
        let mut all = Vec::new();
        while all.len() < count {
            match self.receive(call) {
                Ok(Some(received)) => all.push(received),
                Ok(None) => break,
                Err(error) if is_timeout(&error) && !self.has_failed() => break,
                Err(_) if !all.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    fn has_failed(&self) -> bool {
        hold(&self.reading).failure.is_some()
    }

    /// Receives one message into a buffer; none at the end. A large one goes there from the
    /// descriptor without a copy.
    ///
    /// # Errors
    /// `Limit` if the buffer is too short: the message stays, for a call with a larger one. Beside
    /// that as [`receive`](Self::receive).
    pub fn receive_into(&self, into: &mut [u8], call: &mut Call<'_>) -> Result<Option<Received>> {
        let mut reading = self.readable(call)?;
        let link = Arc::clone(reading.link()?);
        loop {
            if reading.pass_controls() {
                break;
            }
            if let Some(length) = reading.framer.large_message() {
                room(length, into)?;
                self.receive_placed(&mut reading, &link, into, call)?;
                continue;
            }
            if reading.read_once(&link).is_none() && !reading.pass_controls() {
                reading.clock(Filled::Dry);
                self.await_more(&mut reading, &link, call)?;
            }
        }
        reading.clock(Filled::Ready);
        if let Some(length) = reading.waiting() {
            room(length, into)?;
        }
        let Some(message) = reading.next()? else {
            return Ok(None);
        };
        if let (None, Some(room)) = (message.placed, into.get_mut(..message.bytes.len())) {
            room.copy_from_slice(message.bytes);
        }
        Ok(Some(Received {
            bytes: Vec::new(),
            length: message.placed.unwrap_or(message.bytes.len()),
            compressed: message.compressed,
            offset: message.offset,
            number: message.number,
        }))
    }

    /// The rest of a large message, straight into the buffer.
    fn receive_placed(
        &self,
        reading: &mut Reading,
        link: &Link,
        into: &mut [u8],
        call: &mut Call<'_>,
    ) -> Result<()> {
        reading.clock(Filled::Dry);
        let due = reading.due();
        let Some(mut placed) = reading.framer.place(into) else {
            return Ok(());
        };
        // As long as it waits here, what came stays where it is.
        let mut waited = Ok(());
        let got = loop {
            if placed.is_done() {
                return Ok(());
            }
            let (rest, behind) = placed.reserve();
            let offered = rest.len();
            match link.wire.read_two(link.fd(), rest, behind) {
                Ok(read) if read > 0 => {
                    placed.commit(read);
                    // A short read emptied the descriptor: another would say so at its price.
                    if read < offered && !placed.is_done() {
                        waited = self.await_bytes(link, due, call);
                        if waited.is_err() || due.is_some_and(|due| due <= Instant::now()) {
                            break None;
                        }
                    }
                }
                Err(error) if error.kind() == IoKind::Interrupted => {}
                Err(error) if error.kind() == IoKind::WouldBlock => {
                    waited = self.await_bytes(link, due, call);
                    if waited.is_err() || due.is_some_and(|due| due <= Instant::now()) {
                        break None;
                    }
                }
                other => break Some(other),
            }
        };
        drop(placed);
        if let Some(got) = got {
            reading.judge(link, got);
        }
        reading.expire();
        waited
    }

    /// Bytes of the message that is not whole yet.
    ///
    /// # Errors
    /// `Usage` if closed.
    pub fn partial(&self) -> Result<Vec<u8>> {
        self.own()?;
        Ok(hold(&self.reading).framer.partial().to_vec())
    }

    /// How many bytes are there of the message that is not whole yet.
    #[must_use]
    pub fn partial_size(&self) -> usize {
        hold(&self.reading).framer.partial().len()
    }

    /// Whether a whole message was received and not taken; those behind it were not looked at.
    #[must_use]
    pub fn has_pending(&self) -> bool {
        let reading = try_hold(&self.reading);
        reading.is_some_and(|mut it| it.pass_controls() && it.framer.found.is_some())
    }

    /// The codec that the peer says it sends; that of the messages taken last.
    #[must_use]
    pub fn peer_codec(&self) -> Option<String> {
        hold(&self.reading).peer_codec.clone()
    }

    fn readable(&self, call: &mut Call<'_>) -> Result<MutexGuard<'_, Reading>> {
        self.enter()?;
        if !self.mode.reads() {
            let text = "opened to send only: open it with mode r";
            return Err(Error::new(ErrorKind::Usage, text));
        }
        self.hold_within(&self.reading, call)
    }

    fn make_ready(&self, reading: &mut Reading, call: &mut Call<'_>) -> Result<()> {
        let link = Arc::clone(reading.link()?);
        // What is queued is sent first: the peer may wait for it before it says more.
        self.push_some();
        loop {
            match reading.fill(ROUND)? {
                Filled::Ready => return Ok(()),
                Filled::Spent => {
                    call.check()?;
                    self.enter()?;
                    if !reading.expire() && call.is_over() {
                        return Err(timed_out("no whole message"));
                    }
                }
                Filled::Dry => self.await_more(reading, &link, call)?,
            }
        }
    }

    /// Waits until there is something to read, sends meanwhile what is queued, and ends the stream
    /// when the message under way takes too long.
    fn await_more(&self, reading: &mut Reading, link: &Link, call: &mut Call<'_>) -> Result<()> {
        if reading.began.is_none() {
            reading.release();
        }
        self.await_bytes(link, reading.due(), call)?;
        reading.expire();
        Ok(())
    }

    /// Waits until there is something to read or the message under way is due; what is queued
    /// to be sent leaves meanwhile.
    fn await_bytes(&self, link: &Link, due: Option<Instant>, call: &mut Call<'_>) -> Result<()> {
        let what = "no whole message";
        while due.is_none_or(|due| due > Instant::now()) {
            let mut events = PollFlags::IN;
            if self.push_some() {
                events |= PollFlags::OUT;
            }
            if link.stream == Stream::File {
                call.slice(&mut [], due, FOLLOW, what)?;
                return self.enter();
            }
            let mut fds = [PollFd::from_borrowed_fd(link.fd(), events)];
            let found = call.slice(&mut fds, due, SLICE, what)?;
            self.enter()?;
            let [fd] = fds;
            if found > 0 && fd.revents().intersects(!PollFlags::OUT) {
                break;
            }
        }
        Ok(())
    }

    /// Takes in what is there, for one round of [`wait`](crate::message::wait); whether a
    /// message, the end or an error is there. None if another thread is at it.
    pub(in crate::message) fn look(&self, read: bool) -> Result<Option<bool>> {
        self.enter()?;
        self.push_some();
        let Some(mut reading) = try_hold(&self.reading) else {
            return Ok(None);
        };
        if reading.pass_controls() || reading.expire() {
            return Ok(Some(true));
        }
        if !read || !self.mode.reads() {
            return Ok(Some(false));
        }
        let filled = reading.fill(ROUND)?;
        if filled == Filled::Dry {
            reading.release();
            self.rest();
        }
        Ok(Some(filled == Filled::Ready))
    }

    /// What is to be waited for: the descriptor, whether it is written too, when a message is due.
    pub(in crate::message) fn watched(&self) -> Option<(Arc<Link>, bool, Option<Instant>)> {
        let reading = try_hold(&self.reading)?;
        let link = reading.link.clone()?;
        Some((link, self.unsent() > 0, reading.due()))
    }

    /// Whether a stranger proved itself: none as long as nothing whole came.
    pub(in crate::message) fn trusted(&self) -> Result<Option<bool>> {
        let Some(token) = &self.options.token else {
            return Ok(Some(true));
        };
        let mut reading = hold(&self.reading);
        let link = Arc::clone(reading.link()?);
        loop {
            if reading.framer.ready() {
                let said = matches!(reading.framer.next_event(), Ok(Some(Event::Control(Control::Token(said)))) if token.is(said));
                return Ok(Some(said));
            }
            // A message, or what announces one, is no token.
            if reading.framer.partial().len() > 64 || reading.framer.large_message().is_some() {
                return Ok(Some(false));
            }
            match reading.read_once(&link) {
                Some(_) => {}
                None if reading.framer.ready() => {}
                None => return Ok(None),
            }
        }
    }
}

fn room(length: usize, into: &[u8]) -> Result<()> {
    if length <= into.len() {
        return Ok(());
    }
    let text = format!(
        "the message has {length} bytes, the buffer {}: give a larger one",
        into.len()
    );
    Err(Error::new(ErrorKind::Limit, text).with_detail("needed", length.to_string()))
}
