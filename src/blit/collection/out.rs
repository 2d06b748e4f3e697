//! Where a collection is written to.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;

use super::io_error;
use super::layout::END;
use crate::{Error, Result};

/// A file, and its name for errors; or what takes bytes once.
pub(super) enum Out {
    File(File, PathBuf),
    Pipe(Box<dyn Write + Send + Sync>),
}

impl Out {
    /// Writes all of it.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match self {
            Self::File(file, _) => file.write_all(bytes),
            Self::Pipe(pipe) => pipe.write_all(bytes),
        };
        written.map_err(|error| self.error(error))
    }

    /// Makes a commit of what ends at `end`: writes the last bytes of its footer.
    pub(super) fn seal(&mut self, end: u64) -> Result<()> {
        let Self::File(file, _) = self else {
            return Ok(());
        };
        let at = end.saturating_sub(END.len() as u64);
        let sealed = file.seek(SeekFrom::Start(at));
        let sealed = sealed.and_then(|_| file.write_all(END));
        sealed.map_err(|error| self.error(error))
    }

    /// Makes sure that all is stored.
    pub(super) fn sync(&mut self) -> Result<()> {
        let Self::File(file, _) = self else {
            return Ok(());
        };
        file.sync_data().map_err(|error| self.error(error))
    }

    /// Makes sure that all is stored, and then says in the header where it ends.
    pub(super) fn record(&mut self, end: u64) -> Result<()> {
        let record = || match self {
            Self::Pipe(pipe) => pipe.flush(),
            Self::File(file, _) => {
                file.sync_data()?;
                file.seek(SeekFrom::Start(8))?;
                file.write_all(&end.to_le_bytes())?;
                file.seek(SeekFrom::Start(end)).map(drop)
            }
        };
        let recorded: io::Result<()> = { record }();
        recorded.map_err(|error| self.error(error))
    }

    /// Cuts a file, and goes on there.
    pub(super) fn cut(&mut self, end: u64) -> Result<()> {
        let Self::File(file, _) = self else {
            return Ok(());
        };
        let cut = file.set_len(end);
        let cut = cut.and_then(|()| file.seek(SeekFrom::Start(end)).map(drop));
        cut.map_err(|error| self.error(error))
    }

    fn error(&self, error: io::Error) -> Error {
        self.told(io_error(error))
    }

    /// The error with the name of the file.
    pub(super) fn told(&self, error: Error) -> Error {
        match self {
            Self::File(_, path) => error.with_path(path),
            Self::Pipe(_) => error,
        }
    }
}
