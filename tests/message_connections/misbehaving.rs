//! System calls that misbehave on purpose, at the calls they are told to.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use tare::message::{Stream, System, Wire};

/// What one system call does.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// What it should, but with so many bytes at most.
    Short(usize),
    /// Fails with this error of the system, and moves nothing.
    Errno(i32),
}

/// What each call does: its number decides.
pub type Plan = dyn Fn(usize) -> Option<Fault> + Send + Sync;

/// Counts calls, and spoils those that the plans name.
#[derive(Clone)]
pub struct Misbehaving {
    pub reads: Arc<AtomicUsize>,
    pub writes: Arc<AtomicUsize>,
    read: Arc<Plan>,
    write: Arc<Plan>,
}

impl Misbehaving {
    pub fn new(
        read: impl Fn(usize) -> Option<Fault> + Send + Sync + 'static,
        write: impl Fn(usize) -> Option<Fault> + Send + Sync + 'static,
    ) -> Self {
        Self {
            reads: Arc::default(),
            writes: Arc::default(),
            read: Arc::new(read),
            write: Arc::new(write),
        }
    }

    fn reads(&self, offered: usize) -> io::Result<usize> {
        let call = self.reads.fetch_add(1, Ordering::Relaxed);
        spoil((self.read)(call), offered)
    }
}

fn spoil(fault: Option<Fault>, offered: usize) -> io::Result<usize> {
    match fault {
        None => Ok(offered),
        Some(Fault::Short(most)) => Ok(offered.min(most)),
        Some(Fault::Errno(code)) => Err(io::Error::from_raw_os_error(code)),
    }
}

const SYSTEM: System = System(Stream::Socket);

impl Wire for Misbehaving {
    fn read(&self, fd: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
        let most = self.reads(into.len())?;
        SYSTEM.read(fd, &mut into[..most])
    }

    fn read_two(
        &self,
        fd: BorrowedFd<'_>,
        into: &mut [u8],
        behind: &mut [u8],
    ) -> io::Result<usize> {
        let most = self.reads(into.len() + behind.len())?;
        let own = most.min(into.len());
        SYSTEM.read_two(fd, &mut into[..own], &mut behind[..most - own])
    }

    fn append(&self, fd: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<usize> {
        let most = self.reads(into.capacity() - into.len())?;
        let mut piece = vec![0; most];
        let read = SYSTEM.read(fd, &mut piece)?;
        into.extend_from_slice(&piece[..read]);
        Ok(read)
    }

    fn write(&self, fd: BorrowedFd<'_>, from: &[IoSlice<'_>]) -> io::Result<usize> {
        let call = self.writes.fetch_add(1, Ordering::Relaxed);
        let offered = from.iter().map(|slice| slice.len()).sum();
        let most = spoil((self.write)(call), offered)?;
        let bytes: Vec<u8> = from
            .iter()
            .flat_map(|it| it.iter())
            .copied()
            .take(most)
            .collect();
        SYSTEM.write(fd, &[IoSlice::new(&bytes)])
    }
}
