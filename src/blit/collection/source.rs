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
    Map(Mmap),
    /// A file, and how long it was when it was opened.
    File(File, u64),
}

impl Source {
    /// Maps a file, or keeps it open.
    pub(super) fn open(file: File, mmap: bool) -> Result<Self> {
        let len = file.size().map_err(io_error)?;
        // There are no maps of no bytes, and none of what is no file.
        if mmap && len > 0 && file.metadata().is_ok_and(|data| data.is_file()) {
            return super::map::map(&file).map(Self::Map).map_err(io_error);
        }
        Ok(Self::File(file, len))
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
                read_exact(file, at, &mut bytes).map_err(io_error)?;
                Ok(Cow::Owned(bytes))
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
