//! The receiving half of a connection.

use std::cell::Cell;
use std::io::ErrorKind as IoKind;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::{closed, hold, try_hold, Connection, ROUND};
use crate::message::deadline::SLICE;
use crate::message::transport::fifo;
use crate::message::unit::{Found, Place};
use crate::message::wire::{is_timeout, os_error, timed_out, Link, Stream};
use crate::message::{Call, Control, Event, Framer, Framing, Message, Options, State};
use crate::{Error, ErrorKind, Result};

/// A file that is followed is looked at this often.
const FOLLOW: Duration = Duration::from_millis(10);
/// A connection that is closed takes in at most so much of what lies unread.
const DRAIN: usize = 1 << 20;

thread_local! {
    /// The buffer that reads go through, of whichever connection reads in this thread.
    static SPARE: Cell<Option<Vec<u8>>> = const { Cell::new(None) };
}

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

/// What ended the stream from this side, for good.
#[derive(Clone, Copy, Debug)]
enum Failure {
    System(i32, IoKind),
    Slow,
}

/// What was received, and where it comes from.
#[derive(Debug)]
pub(super) struct Reading {
    pub framer: Framer,
    pub link: Option<Arc<Link>>,
    failure: Option<Failure>,
    /// The message under way began then, at that position.
    began: Option<(Instant, u64)>,
    pub peer_codec: Option<String>,
    mismatch: bool,
    expects: Option<String>,
    message_timeout: Option<Duration>,
    follow: bool,
}

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filled {
    /// A whole message, the end, or an error.
    Ready,
    /// Nothing more for now.
    Dry,
    /// As much as was asked for, and no whole message yet.
    Spent,
}

impl Reading {
    pub fn new(link: Arc<Link>, options: &Options) -> Self {
        Self {
            framer: Framer::new(options.framing, options.limits),
            link: Some(link),
            failure: None,
            began: None,
            peer_codec: None,
            mismatch: false,
            expects: options.expects.clone(),
            message_timeout: options.message_timeout,
            follow: options.follow,
        }
    }

    pub fn link(&self) -> Result<&Arc<Link>> {
        self.link.as_ref().ok_or_else(closed)
    }

    pub fn state(&mut self) -> State {
        self.pass_controls();
        self.framer.state()
    }

    /// Hears what is said between messages; whether a message, the end or an error comes next.
    pub fn pass_controls(&mut self) -> bool {
        while self.framer.ready() {
            if !self.at_control() {
                return true;
            }
            match self.framer.next_event() {
                Ok(Some(Event::Control(Control::Hello(codec)))) => {
                    let expected = self.expects.as_deref();
                    self.mismatch = expected.is_some_and(|own| format_of(own) != format_of(codec));
                    self.peer_codec = Some(codec.to_owned());
                }
                Ok(_) => {}
                Err(_) => return true,
            }
        }
        false
    }

    /// Whether what comes next is a control frame.
    pub fn at_control(&self) -> bool {
        let place = self.framer.found.map(|found| found.place);
        matches!(place, Some(Place::Control { .. }))
    }

    /// The length of the message that waits to be taken.
    fn waiting(&self) -> Option<usize> {
        self.framer.found.map(|found| found.length)
    }

    /// Reads until a message is whole, nothing is there, or about `budget` bytes were read.
    fn fill(&mut self, budget: usize) -> Result<Filled> {
        let link = Arc::clone(self.link()?);
        let mut left = budget;
        let filled = loop {
            if self.pass_controls() {
                break Filled::Ready;
            }
            if left == 0 {
                break Filled::Spent;
            }
            match self.read_once(&link) {
                Some((read, offered)) => {
                    left = left.saturating_sub(read);
                    // A short read emptied the socket; a file has more until it gives nothing.
                    if read < offered && link.stream != Stream::File {
                        left = 0;
                        if !self.pass_controls() {
                            break Filled::Dry;
                        }
                    }
                }
                None if self.framer.ready() => break Filled::Ready,
                None => break Filled::Dry,
            }
        };
        self.clock(filled);
        Ok(filled)
    }

    /// One read: the bytes it brought, and how many it could have; none if nothing is there.
    fn read_once(&mut self, link: &Link) -> Option<(usize, usize)> {
        if let Some(buffer) = SPARE.take() {
            self.framer.lend_buffer(buffer);
        }
        let (got, offered) = if let Some(spare) = self.framer.spare() {
            let offered = spare.capacity().saturating_sub(spare.len());
            let got = link.wire.append(link.fd(), spare);
            self.framer.commit_spare();
            (got, offered)
        } else {
            let room = self.framer.reserve();
            let offered = room.len();
            if offered == 0 {
                return None;
            }
            let got = link.wire.read(link.fd(), room);
            if let Ok(read) = got {
                self.framer.commit(read);
            }
            (got, offered)
        };
        self.judge(link, got).map(|read| (read, offered))
    }

    /// What the outcome of a read means; none if it brought nothing.
    fn judge(&mut self, link: &Link, got: std::io::Result<usize>) -> Option<usize> {
        match got {
            Ok(0) => {
                let more = match link.stream {
                    Stream::File => self.follow,
                    // Before the first writer a fifo gives nothing, and is not at its end.
                    Stream::Pipe => !fifo::has_ended(&link.fd),
                    _ => false,
                };
                if !more {
                    self.end(link.stream);
                }
                None
            }
            Ok(read) => Some(read),
            Err(error) if error.kind() == IoKind::Interrupted => Some(0),
            Err(error) if error.kind() == IoKind::WouldBlock => None,
            Err(error) => {
                let code = error.raw_os_error().unwrap_or(0);
                self.failure = Some(Failure::System(code, error.kind()));
                self.framer.fail();
                None
            }
        }
    }

    /// The transport is at its end. A file's last line is whole without LF, if it is JSON: a
    /// stream's may be cut, as 12 of 123.
    fn end(&mut self, stream: Stream) {
        let is_value = stream == Stream::File
            && self.framer.framing() == Framing::Ndjson
            && serde_json::from_slice::<serde_json::Value>(self.framer.partial()).is_ok();
        self.framer.end();
        if is_value {
            self.framer.accept_last_line();
        }
    }

    /// Starts or stops the clock of the message under way.
    fn clock(&mut self, filled: Filled) {
        if self.message_timeout.is_none() || filled == Filled::Ready {
            self.began = None;
            return;
        }
        let at = self.framer.position();
        if !matches!(self.framer.state(), State::NeedMore { .. }) {
            self.began = None;
        } else if self.began.is_none_or(|(_, position)| position != at) {
            self.began = Some((Instant::now(), at));
        }
    }

    /// When the message under way must be whole.
    pub fn due(&self) -> Option<Instant> {
        let (began, _) = self.began?;
        began.checked_add(self.message_timeout?)
    }

    /// Ends the stream if the message under way took too long; whether it did.
    fn expire(&mut self) -> bool {
        let late = self.due().is_some_and(|due| due <= Instant::now());
        if late {
            self.failure = Some(Failure::Slow);
            self.framer.fail();
        }
        late
    }

    /// The error that stands behind the last message, if it is not one of the framing.
    fn error(&self) -> Option<Error> {
        match self.failure? {
            Failure::System(code, kind) => {
                let source = if code == 0 {
                    kind.into()
                } else {
                    std::io::Error::from_raw_os_error(code)
                };
                Some(os_error(source, "cannot receive"))
            }
            Failure::Slow => {
                let limit = self.message_timeout.unwrap_or_default();
                let text = format!("a message was not whole {limit:?} after it began (message_timeout): the peer is too slow, or stopped");
                Some(timed_out(&text).with_detail("option", "message_timeout"))
            }
        }
    }

    fn mismatched(&self) -> Option<Error> {
        if !self.mismatch {
            return None;
        }
        let (own, peer) = (self.expects.as_deref()?, self.peer_codec.as_deref()?);
        let text =
            format!("the peer sends {peer}, this end expects {own}: open it with that codec");
        let error = Error::new(ErrorKind::Unsupported, text).with_format("frame");
        Some(error.with_detail("peer_codec", peer))
    }

    /// Gives the buffer back that an idle connection does not need.
    pub fn release(&mut self) {
        if let Some(buffer) = self.framer.take_buffer() {
            SPARE.set(Some(buffer));
        }
        if !self.framer.ready() {
            self.framer.release();
        }
    }

    /// The next message, if it is whole.
    fn next(&mut self) -> Result<Option<Message<'_>>> {
        if !self.pass_controls() {
            return Ok(None);
        }
        if let Some(error) = self.mismatched() {
            return Err(error);
        }
        if self.framer.found.is_none() {
            if let Some(error) = self.error() {
                return Err(error);
            }
        }
        self.framer.next()
    }

    fn receive(&mut self) -> Result<Option<Received>> {
        let Some(message) = self.next()? else {
            return Ok(None);
        };
        let mut received = Received {
            bytes: Vec::new(),
            length: message.placed.unwrap_or(message.bytes.len()),
            compressed: message.compressed,
            offset: message.offset,
            number: message.number,
        };
        // What lies in a buffer of its own is given, and not copied.
        if message.bytes.len() <= 64 << 10 {
            received.bytes = message.bytes.to_vec();
        } else {
            received.bytes = match self.framer.take_body() {
                Some(body) => body,
                None => Vec::new(),
            };
        }
        Ok(Some(received))
    }

    /// Bytes read ahead, as they came.
    pub fn ahead(&self) -> Result<Vec<u8>> {
        let under = &self.framer.under;
        let found_apart = matches!(
            self.framer.found,
            Some(Found {
                place: Place::Body | Place::Placed,
                ..
            })
        );
        if under.in_body || under.open || found_apart {
            let text = "a large message was taken in and not given: receive it first";
            return Err(Error::new(ErrorKind::Usage, text));
        }
        Ok(self.framer.buffered().to_vec())
    }

    /// Takes in what lies unread, without keeping it.
    pub fn drain(&mut self) {
        let Some(link) = self.link.clone() else {
            return;
        };
        if link.stream != Stream::Socket {
            return;
        }
        let mut sink = vec![0; 64 << 10];
        let mut left = DRAIN;
        while left > 0 {
            match link.wire.read(link.fd(), &mut sink) {
                Ok(read) if read > 0 => left = left.saturating_sub(read),
                _ => return,
            }
        }
    }

    pub fn close(&mut self) {
        self.link = None;
        self.framer.close();
    }
}

/// The format of a codec's id.
fn format_of(id: &str) -> &str {
    id.split([':', '+', ',']).next().unwrap_or(id)
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
            match link.wire.read_two(link.fd(), rest, behind) {
                Ok(read) if read > 0 => placed.commit(read),
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
