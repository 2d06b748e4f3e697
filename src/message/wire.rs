//! A descriptor, and the system calls that move its bytes.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FileType, OFlags};
use rustix::net::{RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags};

use crate::{Error, ErrorKind, Result};

/// What a descriptor is, which decides how it is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stream {
    /// A stream socket: its calls never wait, whatever the descriptor's own mode.
    Socket,
    /// A pipe or fifo.
    Pipe,
    /// A regular file, which never waits.
    File,
    /// A terminal or another device.
    Device,
}

/// The system calls under a connection: what a test puts its faults into.
///
/// None of them waits where nothing can be moved: that is `WouldBlock`.
pub trait Wire: Send + Sync {
    /// As read(2).
    ///
    /// # Errors
    /// Those of the system.
    fn read(&self, fd: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize>;

    /// Reads into one buffer and then another.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn read_two(&self, fd: BorrowedFd<'_>, into: &mut [u8], behind: &mut [u8])
        -> io::Result<usize>;

    /// Adds to `into`, which has spare capacity.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn append(&self, fd: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<usize>;

    /// As writev(2).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn write(&self, fd: BorrowedFd<'_>, from: &[IoSlice<'_>]) -> io::Result<usize>;
}

/// The system's own calls.
#[derive(Clone, Copy, Debug)]
pub struct System(pub Stream);

impl Wire for System {
    fn read(&self, fd: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
        Ok(match self.0 {
            Stream::Socket => rustix::net::recv(fd, into, RecvFlags::DONTWAIT)?.1,
            // The mode of a terminal is not this end's to change.
            Stream::Device if !has_bytes(fd) => return Err(io::ErrorKind::WouldBlock.into()),
            _ => rustix::io::read(fd, into)?,
        })
    }

    fn read_two(
        &self,
        fd: BorrowedFd<'_>,
        into: &mut [u8],
        behind: &mut [u8],
    ) -> io::Result<usize> {
        let mut slices = [IoSliceMut::new(into), IoSliceMut::new(behind)];
        Ok(match self.0 {
            Stream::Socket => {
                let mut control = RecvAncillaryBuffer::default();
                rustix::net::recvmsg(fd, &mut slices, &mut control, RecvFlags::DONTWAIT)?.bytes
            }
            Stream::Device if !has_bytes(fd) => return Err(io::ErrorKind::WouldBlock.into()),
            _ => rustix::io::readv(fd, &mut slices)?,
        })
    }

    fn append(&self, fd: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<usize> {
        let spare = spare_capacity(into);
        Ok(match self.0 {
            Stream::Socket => rustix::net::recv(fd, spare, RecvFlags::DONTWAIT)?.1,
            Stream::Device if !has_bytes(fd) => return Err(io::ErrorKind::WouldBlock.into()),
            _ => rustix::io::read(fd, spare)?,
        })
    }

    fn write(&self, fd: BorrowedFd<'_>, from: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(match self.0 {
            // A peer that has gone is an error, not a signal.
            Stream::Socket => rustix::net::sendmsg(
                fd,
                from,
                &mut SendAncillaryBuffer::default(),
                SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
            )?,
            _ => rustix::io::writev(fd, from)?,
        })
    }
}

/// Whether a read would not wait.
fn has_bytes(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    super::deadline::poll(&mut fds, std::time::Duration::ZERO).is_ok_and(|found| found > 0)
}

/// A descriptor with the calls it is moved by.
pub(super) struct Link {
    pub fd: OwnedFd,
    pub stream: Stream,
    pub wire: Box<dyn Wire>,
    /// The mode it had, if this end changed it.
    restore: Option<OFlags>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("fd", &self.fd)
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// Takes a descriptor of any kind; a pipe is made non-blocking until it is given back.
    pub fn new(fd: OwnedFd) -> Result<Self> {
        let status = rustix::fs::fstat(&fd)
            .map_err(|error| os_error(error.into(), "cannot use the descriptor"))?;
        let stream = match FileType::from_raw_mode(status.st_mode) {
            FileType::Socket => Stream::Socket,
            FileType::Fifo => Stream::Pipe,
            FileType::RegularFile => Stream::File,
            FileType::Directory => {
                return Err(Error::new(
                    ErrorKind::Usage,
                    "a folder holds no messages: name a file in it",
                ))
            }
            _ => Stream::Device,
        };
        let mut restore = None;
        if stream == Stream::Pipe {
            let flags = rustix::fs::fcntl_getfl(&fd)
                .map_err(|error| os_error(error.into(), "cannot use the descriptor"))?;
            if !flags.contains(OFlags::NONBLOCK) {
                rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK)
                    .map_err(|error| os_error(error.into(), "cannot use the descriptor"))?;
                restore = Some(flags);
            }
        }
        Ok(Self {
            fd,
            stream,
            wire: Box::new(System(stream)),
            restore,
        })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Gives the descriptor back as it was.
    pub fn into_fd(self) -> OwnedFd {
        self.restore_mode();
        self.fd
    }

    /// Undoes what was changed about the descriptor, which others may share.
    pub fn restore_mode(&self) {
        if let Some(flags) = self.restore {
            let _ = rustix::fs::fcntl_setfl(&self.fd, flags);
        }
    }
}

/// The error of a system call.
pub(super) fn os_error(error: io::Error, doing: &str) -> Error {
    Error::new(ErrorKind::Io, format!("{doing}: {error}")).with_source(error)
}

/// The error at a deadline: `Io` over `TimedOut`, without a number of the system.
pub(super) fn timed_out(what: &str) -> Error {
    let source = io::Error::new(io::ErrorKind::TimedOut, "timed out");
    Error::new(ErrorKind::Io, format!("timed out: {what}")).with_source(source)
}

/// Whether an error is a deadline's.
#[must_use]
pub fn is_timeout(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let source = source.and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|source| {
        source.kind() == io::ErrorKind::TimedOut && source.raw_os_error().is_none()
    })
}
