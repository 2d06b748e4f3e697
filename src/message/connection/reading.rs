//! What a connection has received, and where it comes from.

use std::cell::Cell;
use std::io::ErrorKind as IoKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::closed;
use super::receive::Received;
use crate::message::transport::fifo;
use crate::message::unit::{Found, Place};
use crate::message::wire::{os_error, timed_out, Link, Stream};
use crate::message::{Control, Event, Framer, Framing, Message, Options, State};
use crate::{Error, ErrorKind, Result};

/// A connection that is closed takes in at most so much of what lies unread.
const DRAIN: usize = 1 << 20;

thread_local! {
    /// The buffer that reads go through, of whichever connection reads in this thread.
    static SPARE: Cell<Option<Vec<u8>>> = const { Cell::new(None) };
}

/// What ended the stream from this side, for good.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failure {
    System(i32, IoKind),
    Slow,
}

/// What was received, and where it comes from.
#[derive(Debug)]
pub(super) struct Reading {
    pub framer: Framer,
    pub link: Option<Arc<Link>>,
    pub failure: Option<Failure>,
    /// The message under way began then, at that position.
    pub began: Option<(Instant, u64)>,
    pub peer_codec: Option<String>,
    mismatch: bool,
    expects: Option<String>,
    message_timeout: Option<Duration>,
    follow: bool,
}

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filled {
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
    pub fn waiting(&self) -> Option<usize> {
        self.framer.found.map(|found| found.length)
    }

    /// Reads until a message is whole, nothing is there, or about `budget` bytes were read.
    pub fn fill(&mut self, budget: usize) -> Result<Filled> {
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
    pub fn read_once(&mut self, link: &Link) -> Option<(usize, usize)> {
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
    pub fn judge(&mut self, link: &Link, got: std::io::Result<usize>) -> Option<usize> {
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
    pub fn clock(&mut self, filled: Filled) {
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
    pub fn expire(&mut self) -> bool {
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
    pub fn next(&mut self) -> Result<Option<Message<'_>>> {
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

    pub fn receive(&mut self) -> Result<Option<Received>> {
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
            received.bytes = self.framer.take_body().unwrap_or_default();
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
