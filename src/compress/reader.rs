//! Reading a compressed stream of any length in bounded memory.

use std::fmt;
use std::io::{self, Read};

use super::Compressor;
use crate::{Error, ErrorKind, Result};

/// What a compressor's stream decoder does.
pub(super) trait Decode: Send {
    /// Fills the start of `into` (not empty) with plain bytes; 0 at the proven end.
    fn decode(&mut self, into: &mut [u8]) -> Result<usize>;
}

/// The plain bytes of a compressed stream.
///
/// As strict as [`Compressor::decompress`]: the end is only reached where the last frame or
/// member ends and nothing follows. After an error every further read gives `Internal`.
///
/// # Example
/// ```
/// use std::io::Read;
///
/// let gzip = tare::compress::by_name("gzip")?;
/// let packed = gzip.compress(b"weighed", None)?;
/// let mut plain = String::new();
/// gzip.reader(packed.as_slice()).read_to_string(&mut plain).unwrap();
/// assert_eq!("weighed", plain);
/// # Ok::<(), tare::Error>(())
/// ```
pub struct Reader<'a> {
    compressor: &'static Compressor,
    decoder: Option<Box<dyn Decode + 'a>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(compressor: &'static Compressor, decoder: Box<dyn Decode + 'a>) -> Self {
        Self {
            compressor,
            decoder: Some(decoder),
        }
    }

    /// Reads some plain bytes, as [`Read::read`] does, with the crate's own error.
    ///
    /// # Errors
    /// As [`Compressor::decompress`]; `Io` if the stream below cannot be read.
    pub fn pull(&mut self, into: &mut [u8]) -> Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let Some(decoder) = &mut self.decoder else {
            let text = "read again after an error";
            return Err(Error::new(ErrorKind::Internal, text).with_format(self.compressor.name));
        };
        decoder.decode(into).map_err(|error| {
            self.decoder = None;
            error.with_format(self.compressor.name)
        })
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.pull(into).map_err(|error| {
            let kind = match error.kind() {
                ErrorKind::Truncated => io::ErrorKind::UnexpectedEof,
                ErrorKind::Malformed | ErrorKind::ChecksumMismatch => io::ErrorKind::InvalidData,
                _ => io::ErrorKind::Other,
            };
            io::Error::new(kind, error)
        })
    }
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("compressor", &self.compressor.name)
            .finish_non_exhaustive()
    }
}
