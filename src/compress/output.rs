//! The growing result of a decompressor: bounded by the caller, never by what the data claims.

use crate::{Error, ErrorKind, Result};

/// Decoded bytes so far, and how many there may be.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    max_bytes: u64,
}

impl Output {
    pub(super) fn new(max_bytes: Option<u64>) -> Self {
        Self {
            bytes: Vec::new(),
            max_bytes: max_bytes.unwrap_or(u64::MAX),
        }
    }

    /// Bytes decoded so far.
    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// How many more bytes may come.
    pub(super) fn room(&self) -> u64 {
        self.max_bytes.saturating_sub(self.len())
    }

    /// Refuses `more` bytes beyond what is there if the limit forbids them.
    ///
    /// # Errors
    /// `Limit`, with the number of bytes needed.
    pub(super) fn check(&self, more: u64, offset: u64) -> Result<()> {
        if more <= self.room() {
            return Ok(());
        }
        let text = format!(
            "decompresses to {} bytes or more, the limit max_bytes is {}",
            self.len().saturating_add(more),
            self.max_bytes
        );
        Err(Error::new(ErrorKind::Limit, text).with_offset(offset))
    }

    /// Whether more bytes came than are allowed.
    pub(super) fn over(&self) -> bool {
        self.len() > self.max_bytes
    }

    /// The error of a result that grew beyond the limit without having said so before.
    pub(super) fn exceeded(&self, offset: u64) -> Error {
        let text = format!(
            "decompresses to more than max_bytes = {} bytes",
            self.max_bytes
        );
        Error::new(ErrorKind::Limit, text).with_offset(offset)
    }

    /// Makes place for `more` bytes; the caller has checked that they are plausible.
    ///
    /// # Errors
    /// `Limit` if the machine has no such memory.
    pub(super) fn reserve(&mut self, more: usize, offset: u64) -> Result<()> {
        self.bytes.try_reserve(more).map_err(|error| {
            let text = format!("no memory for {more} more bytes");
            Error::new(ErrorKind::Limit, text)
                .with_offset(offset)
                .with_source(error)
        })
    }
}
