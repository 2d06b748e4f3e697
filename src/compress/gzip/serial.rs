//! One member, decoded as it comes: by zlib-rs, which says where the deflate data ends.

use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::Crc;

use super::header::{pass, truncated, TRAILER_BYTES};
use crate::compress::input::Input;
use crate::{Error, ErrorKind, Result};

/// A member behind its header.
pub(super) struct Serial {
    inflate: Decompress,
    crc: Crc,
    start: u64,
    made: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Body,
    Trailer,
    Over,
}

impl Serial {
    /// Without a member yet.
    pub(super) fn new() -> Self {
        Self {
            inflate: Decompress::new(false),
            crc: Crc::new(),
            start: 0,
            made: 0,
            state: State::Over,
        }
    }

    /// Goes past the header ahead, whose magic number was checked.
    ///
    /// # Errors
    /// As of [`pass`].
    pub(super) fn begin(&mut self, input: &mut dyn Input) -> Result<()> {
        if self.inflate.total_in() > 0 {
            // Not `reset`: behind a member without content it says at once that the next has ended.
            self.inflate = Decompress::new(false);
        }
        self.start = input.offset();
        self.crc = Crc::new();
        self.made = 0;
        self.state = State::Body;
        pass(input)
    }

    /// Fills the start of `into` (not empty); 0 where the member is over and was verified.
    ///
    /// # Errors
    /// `Truncated`, `Malformed`, `ChecksumMismatch` with the offset; `Io`.
    pub(super) fn decode(&mut self, input: &mut dyn Input, into: &mut [u8]) -> Result<usize> {
        if self.state == State::Body {
            let made = self.inflate(input, into)?;
            if made > 0 {
                return Ok(made);
            }
        }
        if self.state == State::Trailer {
            self.state = State::Over;
            self.check(input)?;
        }
        Ok(0)
    }

    fn inflate(&mut self, input: &mut dyn Input, into: &mut [u8]) -> Result<usize> {
        loop {
            let at = input.offset();
            let held = input.some()?;
            let empty = held.is_empty();
            let (taken, made) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self.inflate.decompress(held, into, FlushDecompress::None);
            let status = status.map_err(|_| {
                let text = format!(
                    "deflate data that is none, in the member that starts at byte {}",
                    self.start
                );
                Error::new(ErrorKind::Malformed, text).with_offset(at)
            })?;
            let taken = step(self.inflate.total_in(), taken);
            let made = step(self.inflate.total_out(), made);
            self.crc.update(into.get(..made).unwrap_or_default());
            self.made = self.made.saturating_add(made as u64);
            input.advance(taken);
            if status == Status::StreamEnd {
                self.state = State::Trailer;
                return Ok(made);
            }
            if made > 0 {
                return Ok(made);
            }
            if empty {
                return Err(truncated(self.start, at));
            }
            if taken == 0 {
                let text = "zlib-rs takes no more of the member";
                return Err(Error::new(ErrorKind::Internal, text).with_offset(at));
            }
        }
    }

    fn check(&self, input: &mut dyn Input) -> Result<()> {
        let (at, start) = (input.offset(), self.start);
        let ahead = input.ahead(TRAILER_BYTES)?;
        let Some(&[a, b, c, d, size @ ..]) = ahead.first_chunk::<TRAILER_BYTES>() else {
            return Err(truncated(start, at.saturating_add(ahead.len() as u64)));
        };
        input.advance(TRAILER_BYTES);
        if u32::from_le_bytes([a, b, c, d]) != self.crc.sum() {
            let text =
                format!("the checksum of the member that starts at byte {start} does not match");
            return Err(Error::new(ErrorKind::ChecksumMismatch, text).with_offset(at));
        }
        let size = u32::from_le_bytes(size);
        if u64::from(size) != self.made & u64::from(u32::MAX) {
            let text = format!(
                "the member holds {} bytes, its trailer says {size}",
                self.made
            );
            return Err(Error::new(ErrorKind::Malformed, text).with_offset(at));
        }
        Ok(())
    }
}

fn step(now: u64, before: u64) -> usize {
    usize::try_from(now.saturating_sub(before)).unwrap_or_default()
}
