//! Messages over a descriptor: blocking with a deadline outside, never blocking inside.

mod reading;
mod receive;
mod send;

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use super::transport::{self, Opened};
use super::wire::{Link, Stream, Wire};
use super::{Call, FrameWriter, Framing, Mode, Options, State, Url};
use crate::{Error, ErrorKind, Result};
use reading::Reading;
pub use receive::{Received, Taken};
use send::Writing;

/// Most bytes that are read of one connection before another is looked at.
pub(super) const ROUND: usize = 1 << 20;

/// Messages over one descriptor: a socket, a pipe, a file.
///
/// Its calls take `&self`: one thread may send while another receives; two in the same direction
/// take turns. Each call that may wait has a [`Call`] with its deadline. What was received is lent
/// or taken; what is sent is all queued, or nothing of it.
///
/// A child made by fork does not use the connection of its parent: that is `Usage`.
///
/// # Example
/// ```
/// use tare::message::{Call, Connection, Mode, Options};
/// let (one, other) = std::os::unix::net::UnixStream::pair()?;
/// let one = Connection::over(one.into(), Mode::Both, &Options::default())?;
/// let other = Connection::over(other.into(), Mode::Both, &Options::default())?;
/// one.send(b"hi", false, &mut Call::forever())?;
/// one.close(&mut Call::forever())?;
/// assert_eq!(b"hi", &*other.receive(&mut Call::forever())?.unwrap().bytes);
/// assert!(other.receive(&mut Call::forever())?.is_none());
/// assert_eq!("ended", other.state()?.name());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # When not
/// Behind TLS, or in an event loop of another: use [`Framer`](super::Framer) and [`FrameWriter`].
#[derive(Debug)]
pub struct Connection {
    reading: Mutex<Reading>,
    writing: Mutex<Writing>,
    /// Bytes that are queued, so that a receiver need not ask for the lock.
    unsent: AtomicUsize,
    closed: AtomicBool,
    number: RawFd,
    owner: u32,
    mode: Mode,
    options: Options,
    /// Counts it with its listener as long as it is open.
    seat: Mutex<Option<Seat>>,
    keep: Mutex<Option<OwnedFd>>,
}

/// A place among the connections of a listener.
#[derive(Debug)]
pub(super) struct Seat(pub Arc<AtomicUsize>);

impl Seat {
    pub fn take(taken: &Arc<AtomicUsize>) -> Self {
        taken.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(taken))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What went through a connection, in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Whole messages taken.
    pub messages_in: u64,
    /// Messages queued.
    pub messages_out: u64,
    /// Bytes of the messages taken, framing included.
    pub bytes_in: u64,
    /// Bytes of the messages queued, framing included.
    pub bytes_out: u64,
    /// Bytes of the message that is not whole yet.
    pub partial: usize,
    /// Bytes queued and not written.
    pub unsent: usize,
    /// Control frames of unknown kinds.
    pub control_skipped: u64,
    /// Lines skipped.
    pub skipped: u64,
    /// Whether the peer said END, and nothing followed.
    pub ended: bool,
}

impl Connection {
    /// Connects, or opens a fifo, a file or a descriptor.
    ///
    /// # Errors
    /// `Usage` for a URL or a mode that does not exist, `Unsupported` for a token that would cross
    /// a network in the clear, `Truncated` for a file to append to whose end is cut; `Io` from the
    /// system, and at the deadline: see [`is_timeout`](super::is_timeout).
    pub fn open(url: &str, mode: Mode, options: &Options, call: &mut Call<'_>) -> Result<Self> {
        options.check()?;
        let url = Url::parse(url)?;
        let opened = transport::open(&url, mode, options, call)?;
        let mut options = options.clone();
        options.crc = Some(options.crc.unwrap_or(matches!(url, Url::File(_))));
        let connection = Self::new(opened, None, options)?;
        if connection.options.token.is_some()
            && matches!(url, Url::Tcp(..) | Url::Unix(_) | Url::Abstract(_))
        {
            connection.greet(call)?;
        }
        Ok(connection)
    }

    /// Takes a descriptor over: a socket, a pipe, a file. A pipe is made non-blocking, until it is
    /// given back or closed.
    ///
    /// # Errors
    /// `Io` if it is not open, `Usage` for a folder.
    pub fn over(fd: OwnedFd, mode: Mode, options: &Options) -> Result<Self> {
        options.check()?;
        let opened = transport::fd::directed(fd, mode)?;
        Self::new(opened, None, options.clone())
    }

    /// As [`over`](Self::over), with system calls of the caller's: for tests of what they do.
    ///
    /// # Errors
    /// As [`over`](Self::over).
    pub fn over_wire(
        fd: OwnedFd,
        wire: Box<dyn Wire>,
        mode: Mode,
        options: &Options,
    ) -> Result<Self> {
        options.check()?;
        let opened = transport::fd::directed(fd, mode)?;
        Self::new(opened, Some(wire), options.clone())
    }

    fn new(opened: Opened, wire: Option<Box<dyn Wire>>, options: Options) -> Result<Self> {
        let mut link = Link::new(opened.fd)?;
        if let Some(wire) = wire {
            link.wire = wire;
        }
        if options.atomic && link.stream != Stream::Pipe {
            let text = "atomic: only writes to a pipe are whole";
            return Err(Error::new(ErrorKind::Usage, text));
        }
        let number = link.fd.as_raw_fd();
        let link = Arc::new(link);
        let mut writer = FrameWriter::new(options.framing, options.crc.unwrap_or(false));
        writer.since_end = opened.since_end;
        let frames = options.framing == Framing::Frame && !options.atomic;
        Ok(Self {
            reading: Mutex::new(Reading::new(Arc::clone(&link), &options)),
            writing: Mutex::new(Writing::new(
                writer,
                link,
                frames.then(|| options.hello.clone()).flatten(),
            )),
            unsent: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            number,
            owner: std::process::id(),
            mode: opened.mode,
            options,
            seat: Mutex::new(None),
            keep: Mutex::new(opened.keep),
        })
    }

    pub(super) fn seated(self, seat: Seat) -> Self {
        *hold(&self.seat) = Some(seat);
        self
    }

    /// The descriptor, to be waited for and nothing else.
    ///
    /// # Errors
    /// `Usage` after [`close`](Self::close) or [`detach`](Self::detach).
    pub fn fileno(&self) -> Result<RawFd> {
        self.enter()?;
        Ok(self.number)
    }

    /// Which way its messages go.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Its options.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether it was closed here.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// State of the stream that is received.
    ///
    /// # Errors
    /// `Usage` in a child of fork.
    pub fn state(&self) -> Result<State> {
        self.own()?;
        if self.is_closed() {
            return Ok(State::Closed);
        }
        Ok(hold(&self.reading).state())
    }

    /// Bytes of whole messages received and taken, and of messages queued to be sent.
    #[must_use]
    pub fn tell(&self) -> (u64, u64) {
        let bytes_in = hold(&self.reading).framer.position();
        let writing = hold(&self.writing);
        let queued = writing.writer.pending() as u64;
        (bytes_in, writing.writer.position().saturating_add(queued))
    }

    /// What went through it.
    #[must_use]
    pub fn facts(&self) -> Facts {
        let (bytes_in, bytes_out) = self.tell();
        let messages_out = hold(&self.writing).writer.messages();
        let mut reading = hold(&self.reading);
        Facts {
            messages_in: reading.framer.messages(),
            messages_out,
            bytes_in,
            bytes_out,
            partial: reading.framer.partial().len(),
            unsent: self.unsent(),
            control_skipped: reading.framer.control_skipped(),
            skipped: reading.framer.skipped().0,
            ended: reading.framer.state() == State::Ended,
        }
    }

    /// Bytes that are queued and not written.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.unsent.load(Ordering::Acquire)
    }

    /// Flushes, says END, and closes. It is closed whatever the outcome.
    ///
    /// # Errors
    /// `Io` if not all was written: from the system, or at the deadline.
    pub fn close(&self, call: &mut Call<'_>) -> Result<()> {
        self.shut(call, self.options.end)
    }

    /// Closes without END: who broke off did not finish. What is queued is flushed if the call
    /// has time for it.
    ///
    /// # Errors
    /// As [`close`](Self::close).
    pub fn abandon(&self, call: &mut Call<'_>) -> Result<()> {
        self.shut(call, false)
    }

    fn shut(&self, call: &mut Call<'_>, end: bool) -> Result<()> {
        if self.owner != std::process::id() {
            // The parent's stream is not this process's to end.
            self.closed.store(true, Ordering::Release);
            return Ok(());
        }
        if self.is_closed() {
            return Ok(());
        }
        let mut done = Ok(());
        if self.mode.writes() {
            done = self.flush(call);
            if done.is_ok() && end {
                done = self.say_end(call);
            }
        }
        self.closed.store(true, Ordering::Release);
        self.let_go();
        done
    }

    /// Ends the sending direction of a socket: END, and the peer's receiver is at its end;
    /// receiving goes on.
    ///
    /// # Errors
    /// As [`close`](Self::close); `Usage` for what is no socket.
    pub fn finish(&self, call: &mut Call<'_>) -> Result<()> {
        self.enter()?;
        self.flush(call)?;
        if self.options.end {
            self.say_end(call)?;
        }
        let mut writing = self.hold_within(&self.writing, call)?;
        writing.half_close()
    }

    /// The descriptor and the bytes that were read ahead, for whoever reads on. What is queued is
    /// flushed first; the connection is closed without touching the descriptor.
    ///
    /// # Errors
    /// `Usage` inside a large message, part of which was taken in: receive it first; `Io` from
    /// flushing.
    pub fn detach(&self, call: &mut Call<'_>) -> Result<(OwnedFd, Vec<u8>)> {
        self.enter()?;
        if self.mode.writes() {
            self.flush(call)?;
        }
        let mut reading = self.hold_within(&self.reading, call)?;
        let mut writing = self.hold_within(&self.writing, call)?;
        let ahead = reading.ahead()?;
        let link = Arc::clone(reading.link()?);
        self.closed.store(true, Ordering::Release);
        (reading.link, writing.link) = (None, None);
        drop((reading, writing));
        *hold(&self.seat) = None;
        *hold(&self.keep) = None;
        match Arc::try_unwrap(link) {
            Ok(link) => Ok((link.into_fd(), ahead)),
            // Somebody waits for it in this moment.
            Err(link) => {
                link.restore_mode();
                let fd = link.fd.try_clone();
                let fd = fd.map_err(|error| super::wire::os_error(error, "cannot detach"))?;
                Ok((fd, ahead))
            }
        }
    }

    /// Drops the descriptor; wakes who waits for it.
    fn let_go(&self) {
        let link = hold_soon(&self.writing).and_then(|mut writing| writing.link.take());
        if let Some(link) = &link {
            if link.stream == Stream::Socket {
                let _ = rustix::net::shutdown(&link.fd, rustix::net::Shutdown::Write);
            } else {
                link.restore_mode();
            }
        }
        if let Some(mut reading) = hold_soon(&self.reading) {
            // What lies unread would make the system reset the connection, and take from the
            // peer what it has not read yet.
            reading.drain();
            reading.close();
        }
        if let Some(link) = &link {
            if link.stream == Stream::Socket {
                let _ = rustix::net::shutdown(&link.fd, rustix::net::Shutdown::Both);
            }
        }
        *hold(&self.seat) = None;
        *hold(&self.keep) = None;
    }

    /// Refuses the connection of a parent.
    fn own(&self) -> Result<()> {
        if self.owner == std::process::id() {
            return Ok(());
        }
        let text =
            "a connection was made before fork: only the parent uses it; open another in the child";
        Err(Error::new(ErrorKind::Usage, text))
    }

    /// Refuses what is closed, too.
    fn enter(&self) -> Result<()> {
        self.own()?;
        if self.is_closed() {
            return Err(closed());
        }
        Ok(())
    }

    /// Takes a lock that another thread may hold while it waits.
    fn hold_within<'m, T>(
        &self,
        mutex: &'m Mutex<T>,
        call: &mut Call<'_>,
    ) -> Result<MutexGuard<'m, T>> {
        let mut pause = Duration::from_micros(50);
        loop {
            if let Some(held) = try_hold(mutex) {
                return Ok(held);
            }
            call.pause(pause, "another thread uses the connection")?;
            self.enter()?;
            pause = pause.saturating_mul(2).min(Duration::from_millis(10));
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.is_closed() && self.owner == std::process::id() {
            // Without END: dropped is not finished. What fits at once still goes.
            let _ = self.abandon(&mut Call::now());
        }
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Usage, "the connection is closed: open another")
}

/// A lock whose data a panic elsewhere did not harm: each change is complete.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn try_hold<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(held) => Some(held),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// As `hold`, of a lock that another thread gives up soon, because it sees that it is closed.
fn hold_soon<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    for _ in 0..500 {
        if let Some(held) = try_hold(mutex) {
            return Some(held);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}
