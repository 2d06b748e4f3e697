//! Where decoders read from: a slice, or a stream with bytes read ahead.

use std::io::{self, ErrorKind as IoKind, Read};

use crate::{Error, ErrorKind, Result};

/// Encoded bytes with look-ahead, and the offset of the next one.
pub(super) trait Input {
    /// The next `size` bytes; fewer only where the input ends.
    ///
    /// # Errors
    /// `Io` if the stream below cannot be read.
    fn ahead(&mut self, size: usize) -> Result<&[u8]>;

    /// The `size` bytes that are `skipped` bytes ahead; fewer only where the input ends.
    ///
    /// # Errors
    /// As `ahead`.
    fn peek(&mut self, skipped: usize, size: usize) -> Result<&[u8]> {
        let ahead = self.ahead(skipped.saturating_add(size))?;
        Ok(ahead.get(skipped..).unwrap_or_default())
    }

    /// How many of the next `size` bytes there are.
    ///
    /// # Errors
    /// As `ahead`.
    fn has(&mut self, size: usize) -> Result<usize> {
        Ok(self.ahead(size)?.len())
    }

    /// The bytes that are there already, at least one; none where the input ends.
    ///
    /// # Errors
    /// As `ahead`.
    fn some(&mut self) -> Result<&[u8]>;

    /// Goes past `size` bytes that were ahead, or that it was said to have.
    fn advance(&mut self, size: usize);

    /// How many bytes were gone past.
    fn offset(&self) -> u64;

    /// Goes past `size` bytes without holding them; gives how many there were.
    ///
    /// # Errors
    /// As `ahead`.
    fn pass(&mut self, size: u64) -> Result<u64> {
        let end = self.offset().saturating_add(size);
        loop {
            let left = end.saturating_sub(self.offset());
            let held = if left == 0 { 0 } else { self.some()?.len() };
            if held == 0 {
                return Ok(size.saturating_sub(left));
            }
            self.advance(usize::try_from(left).unwrap_or(held).min(held));
        }
    }
}

/// Goes past `size` bytes without holding them.
///
/// # Errors
/// `Truncated` if there are fewer; `Io` as above.
pub(super) fn skip(input: &mut dyn Input, size: u64) -> Result<()> {
    if input.pass(size)? == size {
        return Ok(());
    }
    let text = "the input ends inside a skippable frame";
    Err(Error::new(ErrorKind::Truncated, text).with_offset(input.offset()))
}

/// The error of an input of which only `found` of `needed` bytes at `offset` are there.
pub(super) fn ends(offset: u64, found: usize, needed: usize) -> Error {
    let end = offset.saturating_add(found as u64);
    let text = match end {
        0 => "the input is empty".to_string(),
        _ => format!("the input ends where {needed} bytes from byte {offset} on belong"),
    };
    Error::new(ErrorKind::Truncated, text).with_offset(end)
}

/// The error of a stream that cannot be read; the stream's own error is kept below it.
pub(super) fn unreadable(error: io::Error, offset: u64) -> Error {
    Error::new(ErrorKind::Io, format!("cannot read the input: {error}"))
        .with_offset(offset)
        .with_source(error)
}

/// A slice as an input, without copying.
pub(super) struct Slice<'a> {
    data: &'a [u8],
    at: usize,
    /// Offset of the first byte in the stored stream.
    start: u64,
}

impl<'a> Slice<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self::from(data, 0)
    }

    /// A part of a stored stream, from its byte `start` on.
    pub(super) fn from(data: &'a [u8], start: u64) -> Self {
        Self { data, at: 0, start }
    }

    fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or_default()
    }
}

impl Input for Slice<'_> {
    fn ahead(&mut self, size: usize) -> Result<&[u8]> {
        let rest = self.rest();
        Ok(rest.get(..size).unwrap_or(rest))
    }

    fn some(&mut self) -> Result<&[u8]> {
        Ok(self.rest())
    }

    fn advance(&mut self, size: usize) {
        self.at = self.at.saturating_add(size).min(self.data.len());
    }

    fn offset(&self) -> u64 {
        self.start.saturating_add(self.at as u64)
    }
}

/// A stream as an input: its buffer grows with the bytes that came, never with a claim.
pub(super) struct Source<R> {
    stream: R,
    /// Initialised memory, of which `start..end` was read and not gone past.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
}

impl<R: Read> Source<R> {
    /// Bytes asked of the stream at once, at least.
    const STEP: usize = 128 << 10;

    pub(super) fn new(stream: R) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            offset: 0,
        }
    }

    /// The stream, and the bytes read of it that were not gone past.
    pub(super) fn into_parts(self) -> (R, Vec<u8>) {
        let mut rest = self.buffer;
        rest.truncate(self.end);
        rest.drain(..self.start.min(rest.len()));
        (self.stream, rest)
    }

    /// Bytes that the buffer takes.
    pub(super) fn buffer_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    fn held(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Reads once from the stream; false at its end.
    fn more(&mut self) -> io::Result<bool> {
        self.make_room();
        let result = loop {
            let place = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.stream.read(place) {
                Err(error) if error.kind() == IoKind::Interrupted => {}
                other => break other,
            }
        };
        let read = *result.as_ref().unwrap_or(&0);
        self.end = self.end.saturating_add(read).min(self.buffer.len());
        result.map(|read| read > 0)
    }

    /// Makes room for a step behind what is held: by moving it to the front where that moves
    /// less than it frees, so that no byte is moved more than once on average, else by growing.
    fn make_room(&mut self) {
        let held = self.end.saturating_sub(self.start);
        if self.start >= held {
            self.buffer.copy_within(self.start..self.end, 0);
            self.start = 0;
            self.end = held;
        }
        let room = self.buffer.len().saturating_sub(self.end);
        if room < Self::STEP {
            // Doubling what is held, so that long units are read in few and large steps.
            let more = held.max(Self::STEP);
            self.buffer.resize(self.end.saturating_add(more), 0);
        }
    }
}

impl<R: Read> Input for Source<R> {
    fn ahead(&mut self, size: usize) -> Result<&[u8]> {
        while self.held().len() < size {
            let offset = self.offset;
            if !self.more().map_err(|error| unreadable(error, offset))? {
                break;
            }
        }
        let held = self.held();
        Ok(held.get(..size).unwrap_or(held))
    }

    fn some(&mut self) -> Result<&[u8]> {
        self.ahead(1)?;
        Ok(self.held())
    }

    fn advance(&mut self, size: usize) {
        let size = size.min(self.held().len());
        self.start = self.start.saturating_add(size);
        self.offset = self.offset.saturating_add(size as u64);
    }

    fn offset(&self) -> u64 {
        self.offset
    }
}
