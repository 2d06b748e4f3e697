//! The stored bytes of a collection: mapped, or read piece by piece.

use std::borrow::Cow;
use std::fs::File;
use std::io;

use memmap2::Mmap;

use super::{io_error, wrong};
use crate::compress::ReadAt;
use crate::{ErrorKind, Result};

/// A file that is read at any place.
#[derive(Debug)]
pub(super) enum Source {
    /// The bytes up to the end of a commit: what is behind it may be cut off at any time.
    Map(Mmap),
    /// A file, and how many of its bytes there are to be read.
    File(File, u64),
}

impl Source {
    /// A file, as long as it is at the moment.
    pub(super) fn whole(file: File) -> Result<Self> {
        let len = file.size().map_err(io_error)?;
        Ok(Self::File(file, len))
    }

    /// Takes the length that a file has by now, and gives whether that is another one.
    pub(super) fn measure(&mut self) -> Result<bool> {
        let Self::File(file, len) = self else {
            return Ok(false);
        };
        let before = std::mem::replace(len, file.size().map_err(io_error)?);
        Ok(before != *len)
    }

    /// The bytes up to `end`, where a commit ends: mapped, or in the file as before.
    pub(super) fn up_to(self, end: u64, mmap: bool) -> Result<Self> {
        let Self::File(file, _) = self else {
            return Ok(self);
        };
        // There are no maps of what is no file.
        let maps = mmap && file.metadata().is_ok_and(|data| data.is_file());
        match usize::try_from(end).ok().filter(|_| maps) {
            Some(end) => super::map::map(&file, end).map(Self::Map).map_err(io_error),
            None => Ok(Self::File(file, end)),
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Map(map) => map.len() as u64,
            Self::File(_, len) => *len,
        }
    }

    /// All bytes, where they are mapped.
    #[inline]
    pub(super) fn mapped(&self) -> Option<&[u8]> {
        match self {
            Self::Map(map) => Some(map),
            Self::File(..) => None,
        }
    }

    /// So many bytes from a place on.
    ///
    /// # Errors
    /// `Truncated` if there are fewer; what the system says.
    pub(super) fn read(&self, at: u64, len: u64) -> Result<Cow<'_, [u8]>> {
        let cut = || {
            let text = format!("{len} bytes at {at} of a file that has {}", self.len());
            wrong(ErrorKind::Truncated, "C2", &text, self.len())
        };
        let end = at.checked_add(len).filter(|&end| end <= self.len());
        let end = end.ok_or_else(cut)?;
        let (start, size) = (usize::try_from(at), usize::try_from(len));
        match self {
            Self::Map(map) => {
                let (start, end) = (start.ok(), usize::try_from(end).ok());
                let bytes = start.zip(end).and_then(|(start, end)| map.get(start..end));
                bytes.map(Cow::Borrowed).ok_or_else(cut)
            }
            Self::File(file, _) => {
                let mut bytes = vec![0; size.map_err(|_| cut())?];
                match read_exact(file, at, &mut bytes) {
                    Ok(()) => Ok(Cow::Owned(bytes)),
                    // It was longer before.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(cut()),
                    Err(error) => Err(io_error(error)),
                }
            }
        }
    }
}

/// Fills `into` from a place of a file.
fn read_exact(file: &File, mut at: u64, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        match file.read_at(at, into) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(size) => {
                at = at.saturating_add(size as u64);
                into = into.get_mut(size..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
