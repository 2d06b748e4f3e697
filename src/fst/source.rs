//! Reading exactly what is asked for, from a file whose size is known.

use super::fault::{fault, truncated, FORMAT};
use crate::compress::ReadAt;
use crate::{Error, ErrorKind, Result};

/// A file and its size.
pub(super) struct Source<S> {
    pub(super) inner: S,
    pub(super) size: u64,
}

impl<S: ReadAt> Source<S> {
    pub(super) fn new(inner: S) -> Result<Self> {
        let size = inner.size().map_err(|below| io(below, 0))?;
        Ok(Self { inner, size })
    }

    /// Fails where `what` of `len` bytes at `at` goes beyond the end.
    pub(super) fn holds(&self, what: &str, at: u64, len: u64) -> Result<u64> {
        let end = at.saturating_add(len);
        if end > self.size {
            return Err(truncated(what, end, self.size));
        }
        Ok(end)
    }

    /// Fills `into` from `at` on.
    pub(super) fn fill(&self, what: &str, at: u64, into: &mut [u8]) -> Result<()> {
        self.holds(what, at, into.len() as u64)?;
        let mut done = 0_usize;
        while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let from = at.saturating_add(done as u64);
            match self.inner.read_at(from, rest) {
                Ok(0) => return Err(truncated(what, at.saturating_add(into.len() as u64), from)),
                Ok(size) => done = done.saturating_add(size),
                Err(below) if below.kind() == std::io::ErrorKind::Interrupted => {}
                Err(below) => return Err(io(below, from)),
            }
        }
        Ok(())
    }

    /// `len` bytes from `at` on; takes memory only for what the file holds.
    pub(super) fn bytes(&self, what: &str, at: u64, len: u64) -> Result<Vec<u8>> {
        self.holds(what, at, len)?;
        let len = usize::try_from(len).map_err(|_| truncated(what, len, self.size))?;
        let mut bytes = Vec::new();
        reserve(&mut bytes, len, at)?;
        bytes.resize(len, 0);
        self.fill(what, at, &mut bytes)?;
        Ok(bytes)
    }

    /// `len` bytes from `at` on in a buffer that is used again.
    pub(super) fn again<'a>(
        &self,
        what: &str,
        (at, len): (u64, usize),
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a mut [u8]> {
        self.holds(what, at, len as u64)?;
        if buffer.len() < len {
            let more = len.saturating_sub(buffer.len());
            reserve(buffer, more, at)?;
            buffer.resize(len, 0);
        }
        let bytes = buffer.get_mut(..len).unwrap_or_default();
        self.fill(what, at, bytes)?;
        Ok(bytes)
    }
}

/// Place for `more` values, or an error instead of an end of the process.
pub(super) fn reserve<T>(into: &mut Vec<T>, more: usize, at: u64) -> Result<()> {
    into.try_reserve_exact(more).map_err(|below| {
        let bytes = more.saturating_mul(size_of::<T>());
        let text = format!("no memory for {bytes} bytes");
        fault(ErrorKind::Limit, text, at).with_source(below)
    })
}

/// `len` zeros, from pages that the system hands out as they are touched; or an error.
pub(super) fn zeros<T: Clone + Default>(len: usize, at: u64) -> Result<Vec<T>> {
    let mut probe: Vec<T> = Vec::new();
    reserve(&mut probe, len, at)?;
    drop(probe);
    Ok(vec![T::default(); len])
}

pub(super) fn io(below: std::io::Error, at: u64) -> Error {
    let text = format!("cannot read: {below}");
    Error::new(ErrorKind::Io, text)
        .with_format(FORMAT)
        .with_offset(at)
        .with_source(below)
}

/// Little-endian numbers of a slice; 0 behind its end, which callers have checked.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    found.copied().map_or(0, u16::from_le_bytes)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    found.copied().map_or(0, u32::from_le_bytes)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    found.copied().map_or(0, u64::from_le_bytes)
}
