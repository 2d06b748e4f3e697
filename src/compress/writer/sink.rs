//! Where stored bytes go: all of each, in order, a few of the last ones held back.

use std::io::{self, ErrorKind as IoKind, Write};

use crate::{Error, ErrorKind, Result};

/// The sink, the bytes held back from it, and how many it got.
pub(super) struct Sink<W> {
    pub(super) inner: W,
    held: Vec<u8>,
    pub(super) written: u64,
}

impl<W: Write> Sink<W> {
    pub(super) fn new(inner: W) -> Self {
        Self {
            inner,
            held: Vec::new(),
            written: 0,
        }
    }

    pub(super) fn into_inner(self) -> W {
        self.inner
    }

    /// Keeps bytes for the next write.
    pub(super) fn hold(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// Writes what was held back, then `bytes` but their last `keep`, which are held back.
    pub(super) fn write(&mut self, bytes: &[u8], keep: usize) -> Result<()> {
        let (now, later) = bytes
            .split_at_checked(bytes.len().saturating_sub(keep))
            .unwrap_or((bytes, &[]));
        if self.held.is_empty() {
            self.write_all(now)?;
        } else {
            // In one call with some of what follows, so that no kill leaves a whole-looking end.
            let mut held = std::mem::take(&mut self.held);
            let (first, rest) = now.split_at_checked(4096).unwrap_or((now, &[]));
            held.extend_from_slice(first);
            self.write_all(&held)?;
            self.write_all(rest)?;
            held.clear();
            self.held = held;
        }
        self.held.extend_from_slice(later);
        Ok(())
    }

    fn write_all(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let error = match self.inner.write(bytes) {
                Ok(0) => io::Error::new(IoKind::WriteZero, "the sink takes no more bytes"),
                Ok(size) if size > bytes.len() => {
                    let text = format!("the sink took {size} of {} bytes", bytes.len());
                    io::Error::new(IoKind::InvalidData, text)
                }
                Ok(size) => {
                    self.written = self.written.saturating_add(size as u64);
                    bytes = bytes.get(size..).unwrap_or_default();
                    continue;
                }
                Err(error) if error.kind() == IoKind::Interrupted => continue,
                Err(error) => error,
            };
            return Err(unwritable(error, self.written));
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.inner
            .flush()
            .map_err(|error| unwritable(error, self.written))
    }
}

fn unwritable(error: io::Error, at: u64) -> Error {
    Error::new(ErrorKind::Io, format!("cannot write the output: {error}"))
        .with_offset(at)
        .with_source(error)
}
