//! Reading and writing a descriptor that does not block, and waiting for it, without Python in between.

use std::fs::File;
use std::io::{self, IoSliceMut, Read};
use std::mem::ManuallyDrop;
use std::os::fd::{BorrowedFd, FromRawFd};
use std::time::{Duration, Instant};

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use rustix::event::{poll, PollFd, PollFlags};
use rustix::time::Timespec;

use super::deadline::{moment, GRACE};
use super::inner::Inner;
use super::session::Session;
use crate::error::os_error;

/// Bytes that are read before anything else is looked at.
const ROUND: usize = 1 << 20;
/// What may follow a message in the read that ends it: a checksum, and the next header.
const BEHIND: usize = 9;

/// Why nothing more is read for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Something is there: a message, the end, an error.
    Ready,
    /// Not in time.
    Late,
    /// A message has been on its way for too long.
    Slow,
    /// Something is to be written, which must not be waited for.
    Unsent,
}

/// How a descriptor is read.
#[derive(Clone, Copy)]
pub struct Source {
    pub descriptor: i32,
    /// Bytes of one read.
    pub most: usize,
    /// A fifo that was opened by its name: before its first writer it reads as at its end.
    pub is_fifo: bool,
    /// When waiting ends; none is never.
    pub due: Option<Instant>,
    /// How long a message may be on its way.
    pub longest: Option<Duration>,
}

impl Source {
    pub fn new(
        py: Python<'_>,
        (descriptor, most, is_fifo, longest): (i32, usize, bool, Option<f64>),
        seconds: Option<f64>,
    ) -> PyResult<Self> {
        Ok(Self {
            descriptor,
            most,
            is_fifo,
            due: moment(py, seconds)?,
            longest: longest.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        })
    }

    /// Reads until `ready` says that it is enough, or nothing comes in time.
    pub fn fill(
        self,
        py: Python<'_>,
        session: &Session,
        round: usize,
        mut ready: impl FnMut(&mut Inner) -> bool,
    ) -> PyResult<Stop> {
        loop {
            if ready(&mut session.lock()) {
                return Ok(Stop::Ready);
            }
            let read = py.detach(|| self.read(&mut session.lock_detached(), round));
            let read = read.map_err(|error| os_error(py, error))?;
            // A short read emptied the descriptor: another would say so at its price.
            if read.is_some_and(|total| total >= round.min(self.most))
                || (read.is_some() && ready(&mut session.lock()))
            {
                if let Some(stop) = self.overdue(py, session)? {
                    return Ok(stop);
                }
                continue;
            }
            if let Some(stop) = self.wait(py, session)? {
                return Ok(stop);
            }
        }
    }

    /// Reads what is there; how many bytes, if any came, or the end did.
    fn read(self, inner: &mut Inner, round: usize) -> io::Result<Option<usize>> {
        let file = borrowed(self.descriptor);
        let (total, mut ended) = inner.read(&*file, round, self.most)?;
        inner.more = total >= ROUND;
        if ended && self.is_fifo && total == 0 {
            ended = self.was_written();
        }
        if ended {
            inner.end();
        }
        inner.clock(self.longest);
        Ok((total > 0 || ended).then_some(total))
    }

    /// Whether writers were there and are gone.
    fn was_written(self) -> bool {
        let ready = ready_for(self.descriptor, PollFlags::IN, Some(Duration::ZERO));
        ready.is_ok_and(|events| events.contains(PollFlags::HUP))
    }

    /// Waits for more; why not.
    fn wait(self, py: Python<'_>, session: &Session) -> PyResult<Option<Stop>> {
        let mut until = self.due;
        {
            let mut inner = session.lock();
            inner.rest();
            if let Some((slow, _)) = inner.slow.filter(|_| self.longest.is_some()) {
                if slow <= Instant::now() {
                    return Ok(Some(Stop::Slow));
                }
                until = Some(until.map_or(slow, |due| due.min(slow)));
            }
            if inner.unsent() > 0 {
                return Ok(Some(Stop::Unsent));
            }
        }
        let now = Instant::now();
        if self.due.is_some_and(|due| due <= now) {
            return Ok(Some(Stop::Late));
        }
        let left = until.map(|until| until.saturating_duration_since(now));
        await_for(py, self.descriptor, PollFlags::IN, left)?;
        Ok(None)
    }

    /// Whether it is time to stop although more may be there; signals are heard.
    pub fn overdue(self, py: Python<'_>, session: &Session) -> PyResult<Option<Stop>> {
        py.check_signals()?;
        let late = |due: Instant| due.elapsed() >= GRACE;
        let slow = session.lock().slow.filter(|_| self.longest.is_some());
        Ok(if slow.is_some_and(|(slow, _)| late(slow)) {
            Some(Stop::Slow)
        } else {
            self.due.is_some_and(late).then_some(Stop::Late)
        })
    }

    /// Reads the message under way into a buffer of the caller, if it is a large one that fits:
    /// none if not.
    pub fn place(
        self,
        py: Python<'_>,
        session: &Session,
        target: &PyUntypedBuffer,
    ) -> PyResult<Option<Stop>> {
        self.place_into(py, session, Lent { target, _py: py })
    }

    /// As `place`.
    pub fn place_into(
        self,
        py: Python<'_>,
        session: &Session,
        mut target: impl Target,
    ) -> PyResult<Option<Stop>> {
        if !session.lock().framer.begin_placed(target.bytes()) {
            return Ok(None);
        }
        let found = self.placed(py, session, &mut target);
        session.lock().framer.end_placed(target.bytes());
        found.map(Some)
    }

    fn placed(self, py: Python<'_>, session: &Session, target: &mut impl Target) -> PyResult<Stop> {
        let file = borrowed(self.descriptor);
        loop {
            let waits: io::Result<bool> = {
                let mut inner = session.lock();
                let into = target.bytes();
                let room = inner.framer.placed_room();
                let rest = into.get_mut(room).unwrap_or_default();
                let offered = rest.len().min(self.most).min(ROUND);
                let whole = rest.len() == offered;
                let rest = rest.get_mut(..offered).unwrap_or_default();
                let mut behind = [0; BEHIND];
                let last = if whole { &mut behind[..] } else { &mut [] };
                let read =
                    (&*file).read_vectored(&mut [IoSliceMut::new(rest), IoSliceMut::new(last)]);
                match read {
                    Ok(0) => {
                        inner.end();
                        return Ok(Stop::Ready);
                    }
                    Ok(n) => {
                        inner.framer.commit_placed(into, &behind, n);
                        inner.fed = inner.fed.saturating_add(n as u64);
                        if inner.framer.ready() {
                            return Ok(Stop::Ready);
                        }
                        inner.clock(self.longest);
                        Ok(n < offered) // what comes from now on, the descriptor tells
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
                    Err(error) => Err(error),
                }
            };
            if waits.map_err(|error| os_error(py, error))? {
                if let Some(stop) = self.wait(py, session)? {
                    return Ok(stop);
                }
            } else if let Some(stop) = self.overdue(py, session)? {
                return Ok(stop);
            }
        }
    }
}

/// Bytes that a message is read into.
pub trait Target {
    /// The same ones each time; nobody keeps them while others look.
    fn bytes(&mut self) -> &mut [u8];
}

impl Target for &mut [u8] {
    fn bytes(&mut self) -> &mut [u8] {
        self
    }
}

/// A buffer of the caller.
struct Lent<'a, 'py> {
    target: &'a PyUntypedBuffer,
    _py: Python<'py>,
}

impl Target for Lent<'_, '_> {
    #[allow(
        unsafe_code,
        reason = "the bytes of a Python buffer lie behind a pointer"
    )]
    fn bytes(&mut self) -> &mut [u8] {
        let size = self.target.len_bytes();
        if size == 0 {
            return &mut [];
        }
        // SAFETY: `writable` checked that the buffer is contiguous and may be written to, and its
        // exporter keeps it in place while it is held. The slice is borrowed from `self`, so that
        // there is one at a time, and none while the GIL is released.
        unsafe { std::slice::from_raw_parts_mut(self.target.buf_ptr().cast::<u8>(), size) }
    }
}

/// Writes what is queued until no more than `down_to` bytes are; false if there was no room in time.
pub fn push_out(
    py: Python<'_>,
    session: &Session,
    descriptor: i32,
    down_to: usize,
    due: Option<Instant>,
) -> PyResult<bool> {
    let file = borrowed(descriptor);
    loop {
        let (unsent, wrote) = py.detach(|| {
            let mut inner = session.lock_detached();
            let wrote = if inner.unsent() > down_to {
                inner.write(&*file)
            } else {
                Ok(None)
            };
            inner.rest_writer();
            (inner.unsent(), wrote)
        });
        wrote.map_err(|error| os_error(py, error))?;
        if unsent <= down_to {
            return Ok(true);
        }
        let now = Instant::now();
        let left = due.map(|due| due.saturating_duration_since(now));
        let events = await_for(py, descriptor, PollFlags::OUT, left)?;
        if events.is_empty() && due.is_some_and(|due| due <= Instant::now()) {
            return Ok(false);
        }
    }
}

/// Waits with the GIL released; signals are heard.
fn await_for(
    py: Python<'_>,
    descriptor: i32,
    events: PollFlags,
    left: Option<Duration>,
) -> PyResult<PollFlags> {
    let ready = py.detach(|| ready_for(descriptor, events, left));
    py.check_signals()?;
    match ready {
        Ok(found) if found.contains(PollFlags::NVAL) => {
            Err(os_error(py, rustix::io::Errno::BADF.into()))
        }
        Ok(found) => Ok(found),
        Err(rustix::io::Errno::INTR) => Ok(PollFlags::empty()),
        Err(error) => Err(os_error(py, error.into())),
    }
}

#[allow(unsafe_code, reason = "a number alone does not say who closes it")]
fn ready_for(
    descriptor: i32,
    events: PollFlags,
    left: Option<Duration>,
) -> rustix::io::Result<PollFlags> {
    if descriptor < 0 {
        return Err(rustix::io::Errno::BADF);
    }
    // SAFETY: it is only asked about, not kept, and is no -1; one that was closed beneath its owner
    // the system reports as such.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let mut asked = [PollFd::new(&borrowed, events)];
    poll(&mut asked, timespec(left).as_ref())?;
    let [answer] = asked;
    Ok(answer.revents())
}

/// What the system takes for a time; none is for ever.
pub fn timespec(left: Option<Duration>) -> Option<Timespec> {
    left.and_then(|left| Timespec::try_from(left).ok())
}

/// A descriptor of Python's as a file, which it stays the owner of.
#[allow(unsafe_code, reason = "a number alone does not say who closes it")]
pub fn borrowed(descriptor: i32) -> ManuallyDrop<File> {
    // SAFETY: it is never closed here, and Python keeps it open while it calls; one that was closed
    // beneath it is refused by the system.
    ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) })
}
