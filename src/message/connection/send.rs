//! The sending half of a connection.

use std::collections::VecDeque;
use std::io::{ErrorKind as IoKind, IoSlice};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use rustix::event::{PollFd, PollFlags};

use super::{closed, hold, try_hold, Connection};
use crate::message::deadline::SLICE;
use crate::message::wire::{is_timeout, os_error, Link, Stream};
use crate::message::{Call, Control, FrameWriter, Framing};
use crate::{Error, ErrorKind, Result};

/// Slices of one write.
const SLICES: usize = 64;
/// Most bytes that a write to a pipe moves whole.
const ATOMIC: usize = 4096;

/// What is queued, and where it goes.
#[derive(Debug)]
pub(super) struct Writing {
    pub writer: FrameWriter,
    pub link: Option<Arc<Link>>,
    /// What is still to be said in front of the first message.
    hello: Option<String>,
    /// Length of each queued message, where writes take whole ones.
    sizes: VecDeque<usize>,
    /// The system's error that ended it.
    failed: Option<(i32, IoKind)>,
    finished: bool,
}

impl Writing {
    pub fn new(writer: FrameWriter, link: Arc<Link>, hello: Option<String>) -> Self {
        Self {
            writer,
            link: Some(link),
            hello,
            sizes: VecDeque::new(),
            failed: None,
            finished: false,
        }
    }

    fn link(&self) -> Result<Arc<Link>> {
        self.link.clone().ok_or_else(closed)
    }

    /// Refuses to queue what can never leave.
    fn check(&self) -> Result<()> {
        if let Some(error) = self.error() {
            return Err(error);
        }
        if self.finished {
            let text = "END was said: nothing can follow it here; open another connection";
            return Err(Error::new(ErrorKind::Usage, text));
        }
        Ok(())
    }

    fn error(&self) -> Option<Error> {
        let (code, kind) = self.failed?;
        let source = if code == 0 {
            kind.into()
        } else {
            std::io::Error::from_raw_os_error(code)
        };
        Some(os_error(source, "cannot send"))
    }

    fn greet(&mut self) -> Result<()> {
        match self.hello.take() {
            Some(hello) => self.writer.control(Control::Hello(&hello)),
            None => Ok(()),
        }
    }

    /// Writes what can be written without waiting; whether that was all.
    pub fn push_out(&mut self, atomic: bool) -> Result<bool> {
        if let Some(error) = self.error() {
            return Err(error);
        }
        let link = self.link()?;
        while self.writer.pending() > 0 {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let used = self.writer.slices(&mut slices);
            let slices = slices.get(..used).unwrap_or_default();
            let wrote = if atomic {
                let whole = whole_messages(&self.sizes);
                let bytes = slices.iter().flat_map(|slice| slice.iter());
                let piece: Vec<u8> = bytes.copied().take(whole).collect();
                write(&link, &[IoSlice::new(&piece)])
            } else {
                write(&link, slices)
            };
            match wrote {
                Ok(0) => return Ok(false),
                Ok(n) => {
                    self.writer.advance(n);
                    if atomic {
                        self.sent(n);
                    }
                }
                Err(error) => return Err(self.fail(&error)),
            }
        }
        Ok(true)
    }

    /// Forgets the sizes of messages that were written.
    fn sent(&mut self, mut n: usize) {
        while let Some(size) = self.sizes.front_mut() {
            if n < *size {
                *size = size.saturating_sub(n);
                return;
            }
            n = n.saturating_sub(*size);
            self.sizes.pop_front();
        }
    }

    fn fail(&mut self, error: &std::io::Error) -> Error {
        self.failed = Some((error.raw_os_error().unwrap_or(0), error.kind()));
        self.error()
            .unwrap_or_else(|| Error::new(ErrorKind::Internal, "no error"))
    }

    /// No more is sent; a peer at a socket learns of it.
    pub fn half_close(&mut self) -> Result<()> {
        let link = self.link()?;
        if link.stream != Stream::Socket {
            let text = "only a socket is closed one way: close it";
            return Err(Error::new(ErrorKind::Usage, text));
        }
        self.finished = true;
        rustix::net::shutdown(&link.fd, rustix::net::Shutdown::Write)
            .map_err(|error| os_error(error.into(), "cannot end the sending"))
    }
}

/// Bytes of as many messages as one write moves whole.
fn whole_messages(sizes: &VecDeque<usize>) -> usize {
    let mut whole = 0_usize;
    for size in sizes {
        match whole.checked_add(*size) {
            Some(more) if more <= ATOMIC || whole == 0 => whole = more,
            _ => break,
        }
    }
    whole
}

/// One write; 0 if nothing can be written now.
fn write(link: &Link, slices: &[IoSlice<'_>]) -> std::io::Result<usize> {
    loop {
        match link.wire.write(link.fd(), slices) {
            Err(error) if error.kind() == IoKind::Interrupted => {}
            Err(error) if error.kind() == IoKind::WouldBlock => return Ok(0),
            Ok(0) => return Err(IoKind::WriteZero.into()),
            done => return done,
        }
    }
}

impl Connection {
    /// Sends a message: queues all of it or nothing, and writes it.
    ///
    /// With more than `high` bytes unsent it first waits until there are fewer than `low`; a
    /// deadline there is an error, and nothing of the message was queued. Behind that the message
    /// counts as sent: what the peer did not take by the deadline stays queued, and leaves with
    /// the next call.
    ///
    /// # Errors
    /// `Limit` over `max_message`, `Usage` where the framing cannot hold it or the connection is
    /// closed, `Io` from the system, and at the deadline.
    pub fn send(&self, payload: &[u8], compressed: bool, call: &mut Call<'_>) -> Result<()> {
        self.enter()?;
        let mut writing = self.writable(payload.len(), call)?;
        let mut failure = None;
        if self.options.atomic || writing.writer.pending() > 0 || writing.hello.is_some() {
            self.put(&mut writing, payload, compressed)?;
        } else {
            let link = writing.link()?;
            let this = &mut *writing;
            let mut short = false;
            let mut through = |slices: &[IoSlice<'_>]| loop {
                // A short write filled the descriptor: another would say so at its price.
                let wrote = if std::mem::take(&mut short) {
                    Ok(0)
                } else {
                    write(&link, slices)
                };
                match wrote {
                    Ok(0) => match self.await_room(&link, call) {
                        Ok(()) => {}
                        Err(error) => {
                            failure = Some(error);
                            return 0;
                        }
                    },
                    Ok(n) => {
                        short = n < slices.iter().map(|slice| slice.len()).sum();
                        return n;
                    }
                    Err(error) => {
                        this.failed = Some((error.raw_os_error().unwrap_or(0), error.kind()));
                        return 0;
                    }
                }
            };
            this.writer
                .push_through(payload, compressed, &mut through)?;
            self.note(this);
        }
        let done = match failure {
            Some(error) => Err(error),
            None => self.drain(&mut writing, 0, call),
        };
        match done {
            Err(error) if is_timeout(&error) => Ok(()),
            done => done,
        }
    }

    /// As [`send`](Self::send), of bytes that are shared: what has to wait is not copied.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_shared(&self, payload: Bytes, compressed: bool, call: &mut Call<'_>) -> Result<()> {
        self.enter()?;
        let mut writing = self.writable(payload.len(), call)?;
        if self.options.atomic {
            self.put(&mut writing, &payload, compressed)?;
        } else {
            writing.greet()?;
            writing.writer.push_shared(payload, compressed)?;
            self.note(&writing);
        }
        match self.drain(&mut writing, 0, call) {
            Err(error) if is_timeout(&error) => Ok(()),
            done => done,
        }
    }

    /// Queues a message without writing; see [`wants_flush`](Self::wants_flush). Never waits for
    /// the peer, so that what is queued is bounded by who calls [`flush`](Self::flush).
    ///
    /// # Errors
    /// As [`send`](Self::send), without those of the system.
    pub fn queue(&self, payload: &[u8], compressed: bool) -> Result<()> {
        // Whether this is the process that made it is asked when it is written.
        if self.is_closed() {
            return Err(closed());
        }
        self.check_size(payload.len())?;
        let mut writing = hold(&self.writing);
        writing.check()?;
        self.put(&mut writing, payload, compressed)
    }

    /// Queues many messages without writing, until `batch` bytes are queued; how many were.
    ///
    /// # Errors
    /// As [`queue`](Self::queue), of the message behind those that were queued.
    pub fn queue_many(&self, payloads: &mut dyn Iterator<Item = (&[u8], bool)>) -> Result<usize> {
        self.enter()?;
        let mut writing = hold(&self.writing);
        writing.check()?;
        let mut queued = 0_usize;
        while writing.writer.pending() < self.options.batch {
            let Some((payload, compressed)) = payloads.next() else {
                break;
            };
            self.check_size(payload.len())?;
            self.put(&mut writing, payload, compressed)?;
            queued = queued.saturating_add(1);
        }
        Ok(queued)
    }

    /// Whether `batch` bytes are queued: time for [`flush`](Self::flush).
    #[must_use]
    pub fn wants_flush(&self) -> bool {
        self.unsent() >= self.options.batch
    }

    /// Writes all that is queued.
    ///
    /// # Errors
    /// `Io` from the system, and at the deadline; what was not written stays queued.
    pub fn flush(&self, call: &mut Call<'_>) -> Result<()> {
        self.enter()?;
        if self.unsent() == 0 && !self.options.sync {
            return Ok(());
        }
        let mut writing = self.hold_within(&self.writing, call)?;
        self.drain(&mut writing, 0, call)?;
        self.sync(&writing)
    }

    /// Writes until fewer than `low` bytes are queued, if more than `high` are: back-pressure for
    /// who queues.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn relieve(&self, call: &mut Call<'_>) -> Result<()> {
        self.enter()?;
        if self.unsent() <= self.options.high {
            return Ok(());
        }
        let mut writing = self.hold_within(&self.writing, call)?;
        self.drain(&mut writing, self.options.low, call)
    }

    /// Says END, and what was to be said in front of the first message.
    pub(super) fn say_end(&self, call: &mut Call<'_>) -> Result<()> {
        if self.options.framing != Framing::Frame || self.options.atomic {
            return Ok(());
        }
        let mut writing = self.hold_within(&self.writing, call)?;
        if writing.finished {
            return Ok(());
        }
        writing.greet()?;
        writing.finished = true;
        writing.writer.end()?;
        self.note(&writing);
        match self.drain(&mut writing, 0, call) {
            // All messages left; a peer that has gone needs no END.
            Err(error) if gone(&error) => {}
            done => done?,
        }
        self.sync(&writing)
    }

    /// Says the token, and the codec behind it.
    pub(super) fn greet(&self, call: &mut Call<'_>) -> Result<()> {
        let mut writing = self.hold_within(&self.writing, call)?;
        if let Some(token) = &self.options.token {
            writing.writer.control(Control::Token(token.bytes()))?;
        }
        writing.greet()?;
        self.note(&writing);
        self.drain(&mut writing, 0, call)
    }

    /// Writes what can be written at once, unless another thread is at it; whether more is queued.
    pub(super) fn push_some(&self) -> bool {
        if self.unsent() == 0 {
            return false;
        }
        let Some(mut writing) = try_hold(&self.writing) else {
            return false;
        };
        // Who sends next gets the error: a receiver may still have what the peer said.
        let all = writing.push_out(self.options.atomic);
        self.note(&writing);
        matches!(all, Ok(false))
    }

    /// Frees the buffer of a sender that has nothing to send.
    pub(super) fn rest(&self) {
        if self.unsent() == 0 {
            if let Some(mut writing) = try_hold(&self.writing) {
                writing.writer.release();
            }
        }
    }

    /// The lock, once the marks allow another message.
    fn writable(&self, size: usize, call: &mut Call<'_>) -> Result<MutexGuard<'_, Writing>> {
        self.check_size(size)?;
        let mut writing = self.hold_within(&self.writing, call)?;
        writing.check()?;
        if writing.writer.pending() > self.options.high {
            self.drain(&mut writing, self.options.low, call)?;
        }
        Ok(writing)
    }

    fn check_size(&self, size: usize) -> Result<()> {
        if !self.mode.writes() {
            let text = "opened to receive only: open it with mode w";
            return Err(Error::new(ErrorKind::Usage, text));
        }
        let most = self.options.limits.max_message;
        if size as u64 > most {
            let text = format!("a message of {size} bytes, over max_message = {most}: raise it at both ends, or send less at once");
            return Err(Error::new(ErrorKind::Limit, text)
                .with_format(self.options.framing.name())
                .with_detail("needed", size.to_string()));
        }
        Ok(())
    }

    fn put(&self, writing: &mut Writing, payload: &[u8], compressed: bool) -> Result<()> {
        if self.options.atomic {
            let whole = payload.len().saturating_add(9);
            if whole > ATOMIC {
                let text = format!("a message of {} bytes: with atomic=True one has at most {} with its frame, so that writers do not mix", payload.len(), ATOMIC);
                return Err(Error::new(ErrorKind::Limit, text));
            }
        }
        writing.greet()?;
        let before = writing.writer.pending();
        writing.writer.push(payload, compressed)?;
        if self.options.atomic {
            let size = writing.writer.pending().saturating_sub(before);
            writing.sizes.push_back(size);
        }
        self.note(writing);
        Ok(())
    }

    fn note(&self, writing: &Writing) {
        self.unsent
            .store(writing.writer.pending(), Ordering::Release);
    }

    /// Writes until at most `left` bytes are queued.
    fn drain(&self, writing: &mut Writing, left: usize, call: &mut Call<'_>) -> Result<()> {
        loop {
            let done = writing.push_out(self.options.atomic);
            self.note(writing);
            if done? || writing.writer.pending() < left {
                return Ok(());
            }
            let link = writing.link()?;
            self.await_room(&link, call)?;
        }
    }

    /// Waits until something can be written.
    fn await_room(&self, link: &Link, call: &mut Call<'_>) -> Result<()> {
        loop {
            let mut fds = [PollFd::from_borrowed_fd(link.fd(), PollFlags::OUT)];
            let found = call.slice(&mut fds, None, SLICE, "the peer does not read")?;
            self.enter()?;
            if found > 0 {
                return Ok(());
            }
        }
    }

    fn sync(&self, writing: &Writing) -> Result<()> {
        match &writing.link {
            Some(link) if self.options.sync && link.stream == Stream::File => {
                rustix::fs::fsync(&link.fd)
                    .map_err(|error| os_error(error.into(), "cannot have the disk keep the file"))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a peer has closed its end.
fn gone(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let source = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    source
        .is_some_and(|source| matches!(source.kind(), IoKind::BrokenPipe | IoKind::ConnectionReset))
}
