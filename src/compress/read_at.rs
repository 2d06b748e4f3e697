//! Stored bytes at any offset, from a shared reference.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

/// Bytes that can be read at any offset, by several threads at once.
pub trait ReadAt {
    /// Reads some bytes from `offset` on into the start of `into`; 0 at the end.
    ///
    /// # Errors
    /// What the system says.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// How many bytes there are.
    ///
    /// # Errors
    /// What the system says.
    fn size(&self) -> io::Result<u64>;
}

impl ReadAt for [u8] {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let mut rest = self.get(offset..).unwrap_or_default();
        rest.read(into)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, into)
    }

    fn size(&self) -> io::Result<u64> {
        self.as_slice().size()
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, into)
    }

    fn size(&self) -> io::Result<u64> {
        (**self).size()
    }
}

impl ReadAt for File {
    #[cfg(unix)]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, into, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, into, offset)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

/// A `Read + Seek` that several threads read by turns.
#[derive(Debug)]
pub struct Locked<T>(Mutex<T>);

impl<T: Read + Seek> Locked<T> {
    /// Puts a lock around it; its position is no longer its owner's.
    pub fn new(inner: T) -> Self {
        Self(Mutex::new(inner))
    }
}

impl<T: Read + Seek> ReadAt for Locked<T> {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.seek(SeekFrom::Start(offset))?;
        inner.read(into)
    }

    fn size(&self) -> io::Result<u64> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.seek(SeekFrom::End(0))
    }
}

/// Reads from an offset on to the end.
pub(super) struct From<'a, R: ?Sized> {
    pub(super) source: &'a R,
    pub(super) offset: u64,
}

impl<R: ReadAt + ?Sized> Read for From<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.source.read_at(self.offset, into)?;
        self.offset = self.offset.saturating_add(size as u64);
        Ok(size)
    }
}

/// Appends exactly `size` bytes from `offset` on to `into`; fewer only where the source ends.
pub(super) fn append<R: ReadAt + ?Sized>(
    source: &R,
    offset: u64,
    size: usize,
    into: &mut Vec<u8>,
) -> io::Result<usize> {
    let from = From { source, offset };
    from.take(size as u64).read_to_end(into)
}
