//! Where decoders write to: a vector that grows, or memory that the caller lends.
//!
//! Bounded by the caller's limit, never by what the data claims.

use crate::{Error, ErrorKind, Result};

/// Decoded bytes so far, and how many there may be.
#[derive(Debug)]
pub(super) struct Output<'a> {
    place: Place<'a>,
    len: usize,
    max_bytes: u64,
}

/// Initialised bytes, of which the first `len` are decoded ones.
#[derive(Debug)]
enum Place<'a> {
    Own(Vec<u8>),
    Lent(&'a mut [u8]),
}

/// Where the decoded bytes are in the end.
#[derive(Debug)]
#[must_use]
pub enum Placed {
    /// In the first so many bytes of the memory that was lent.
    Lent(usize),
    /// In a vector, because they were more than the memory lent.
    Own(Vec<u8>),
}

impl<'a> Output<'a> {
    pub(super) fn new(max_bytes: Option<u64>) -> Self {
        Self {
            place: Place::Own(Vec::new()),
            len: 0,
            max_bytes: max_bytes.unwrap_or(u64::MAX),
        }
    }

    pub(super) fn lent(place: &'a mut [u8], max_bytes: Option<u64>) -> Self {
        Self {
            place: Place::Lent(place),
            ..Self::new(max_bytes)
        }
    }

    /// Number of bytes decoded so far.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The bytes decoded so far, from one of them on.
    pub(super) fn since(&self, from: usize) -> &[u8] {
        self.place.bytes().get(from..self.len).unwrap_or_default()
    }

    /// How many more bytes may come.
    pub(super) fn room(&self) -> u64 {
        self.max_bytes.saturating_sub(self.len as u64)
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
            "decompresses to {} bytes or more, the limit max_output is {}",
            (self.len as u64).saturating_add(more),
            self.max_bytes
        );
        Err(Error::new(ErrorKind::Limit, text).with_offset(offset))
    }

    /// Whether more bytes came than are allowed.
    pub(super) fn over(&self) -> bool {
        self.len as u64 > self.max_bytes
    }

    /// The error of a result that grew beyond the limit without having said so before.
    pub(super) fn exceeded(&self, offset: u64) -> Error {
        let text = format!(
            "decompresses to more than max_output = {} bytes",
            self.max_bytes
        );
        Error::new(ErrorKind::Limit, text).with_offset(offset)
    }

    /// The decoded bytes, and place for at least `size` more.
    ///
    /// # Errors
    /// `Limit` if the machine has no such memory.
    pub(super) fn place(&mut self, size: usize, offset: u64) -> Result<(&[u8], &mut [u8])> {
        let end = self.len.saturating_add(size);
        if self.place.bytes().len() < end {
            self.grow(end).map_err(|error| {
                let text = format!("no memory for {size} more bytes");
                Error::new(ErrorKind::Limit, text)
                    .with_offset(offset)
                    .with_source(error)
            })?;
        }
        let (done, place) = match &mut self.place {
            Place::Own(own) => own.split_at_mut(self.len),
            Place::Lent(lent) => lent.split_at_mut(self.len),
        };
        Ok((done, place))
    }

    /// Counts `size` bytes at the start of the place as decoded.
    pub(super) fn commit(&mut self, size: usize) {
        self.len = self.len.saturating_add(size);
    }

    /// Adds bytes that need no decoding.
    ///
    /// # Errors
    /// As `check` and `place`.
    pub(super) fn copy(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        self.check(bytes.len() as u64, offset)?;
        let (_, place) = self.place(bytes.len(), offset)?;
        if let Some(place) = place.get_mut(..bytes.len()) {
            place.copy_from_slice(bytes);
        }
        self.commit(bytes.len());
        Ok(())
    }

    /// Drops all decoded bytes but the last `keep`.
    pub(super) fn forget_all_but(&mut self, keep: usize) {
        let from = self.len.saturating_sub(keep);
        if from > 0 {
            let end = self.len;
            match &mut self.place {
                Place::Own(own) => own.copy_within(from..end, 0),
                Place::Lent(lent) => lent.copy_within(from..end, 0),
            }
            self.len = end.saturating_sub(from);
        }
    }

    /// The decoded bytes as a vector.
    pub(super) fn into_vec(self) -> Vec<u8> {
        match self.place {
            Place::Own(mut own) => {
                own.truncate(self.len);
                own
            }
            Place::Lent(lent) => lent.get(..self.len).unwrap_or_default().to_vec(),
        }
    }

    /// Where the decoded bytes are.
    pub(super) fn placed(self) -> Placed {
        match self.place {
            Place::Lent(_) => Placed::Lent(self.len),
            Place::Own(_) => Placed::Own(self.into_vec()),
        }
    }

    fn grow(&mut self, end: usize) -> std::result::Result<(), std::collections::TryReserveError> {
        match &mut self.place {
            Place::Own(own) if own.is_empty() => {
                // The first place is exactly as large as was asked, and the system gives it
                // zeroed: tried first, because `vec!` would end the process.
                Vec::<u8>::new().try_reserve_exact(end)?;
                *own = vec![0; end];
            }
            Place::Own(own) => {
                own.try_reserve(end.saturating_sub(own.len()))?;
                own.resize(own.capacity(), 0);
            }
            Place::Lent(lent) => {
                let mut own = Vec::new();
                own.try_reserve(end.max(lent.len().saturating_mul(2)))?;
                own.extend_from_slice(lent.get(..self.len).unwrap_or_default());
                own.resize(own.capacity(), 0);
                self.place = Place::Own(own);
            }
        }
        Ok(())
    }
}

impl Place<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Place::Own(own) => own,
            Place::Lent(lent) => lent,
        }
    }
}
