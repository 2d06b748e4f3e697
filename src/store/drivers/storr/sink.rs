//! Objects that come by and by: a temporary file.

use std::io::{self, BufWriter, Write};

use super::files::fault;
use super::scratch::{Scratch, Temp, Whole};
use crate::store::{Durability, ObjectHint, Sink, Staged};
use crate::{Error, ErrorKind, Result};

/// Small pieces are gathered up to so many bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// A temporary file that an object is written to.
pub(super) struct FileSink {
    file: BufWriter<Temp>,
    bytes: u64,
    sync: bool,
}

/// An object in a temporary file.
pub(super) struct StagedFile {
    pub(super) file: Whole,
    pub(super) synced: bool,
}

impl FileSink {
    pub(super) fn new(scratch: &Scratch, hint: &ObjectHint) -> Result<Self> {
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER_BYTES, scratch.create()?),
            bytes: 0,
            sync: hint.durability > Durability::None,
        })
    }
}

impl Write for Temp {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = (&self.file).write(bytes);
        // The store's own error, so that a full disk is told as one.
        written.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => fault("write a temporary file", self.path(), error).into(),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for FileSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = self.file.write(bytes)?;
        self.bytes = self.bytes.saturating_add(size as u64);
        Ok(size)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Sink for FileSink {
    fn finish(self: Box<Self>) -> Result<Staged> {
        let stored_len = self.bytes;
        let temp = match self.file.into_inner() {
            Ok(temp) => temp,
            Err(failed) => return Err(own(failed.into_error())),
        };
        if self.sync {
            temp.sync()?;
        }
        let place = Box::new(StagedFile {
            file: temp.closed(),
            synced: self.sync,
        });
        Ok(Staged { stored_len, place })
    }
}

/// The error that [`Temp`] answered through the buffer.
fn own(error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(own) => own,
        Err(error) => {
            let text = format!("cannot write a temporary file: {error}");
            Error::new(ErrorKind::Io, text)
                .with_format(super::NAME)
                .with_source(error)
        }
    }
}
