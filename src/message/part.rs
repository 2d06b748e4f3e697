//! A message written piece by piece, whose length is known only at its end.

use std::io::{self, Write};

use super::writer::{FrameWriter, BATCH};
use super::{crc, frame, Framing};
use crate::{Error, ErrorKind, Result};

/// A message that is being written; from [`FrameWriter::open`].
///
/// Its bytes go behind a header that is filled in when their number is known: after each 256 KiB
/// in the framing `frame`, where a long message takes several parts, and at the end in the others.
/// [`finish`](Self::finish) ends the message; dropped before, nothing of it is queued.
///
/// # Example
/// ```
/// use std::io::Write;
/// use tare::message::{FrameWriter, Framer, Framing, Limits};
/// let mut writer = FrameWriter::new(Framing::Frame, false);
/// let mut message = writer.open(false);
/// message.write_all(b"any ")?;
/// message.write_all(b"length")?;
/// message.finish()?;
/// assert_eq!(5 + 10, writer.pending());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PartWriter<'w> {
    writer: &'w mut FrameWriter,
    flags: u8,
    /// Bytes of the stream in front of the message.
    before: u64,
    /// Segments of the queue that are the message's.
    sealed: usize,
    /// The part's header begins there in the batch, if the batch was not closed since.
    at: usize,
    finished: bool,
}

/// Room for the head of a `bin`, of which shorter ones use the end.
const WRAP_HEAD: usize = 5;

impl<'w> PartWriter<'w> {
    pub(super) fn new(writer: &'w mut FrameWriter, compressed: bool) -> Self {
        let flags = if compressed { frame::COMPRESSED } else { 0 };
        let before = writer.position().saturating_add(writer.pending() as u64);
        let at = writer.batch.len();
        let mut part = Self {
            writer,
            flags,
            before,
            sealed: 0,
            at,
            finished: false,
        };
        part.begin();
        part
    }

    fn head(&self) -> usize {
        match self.writer.framing {
            Framing::Frame => frame::HEADER,
            Framing::Wrap => WRAP_HEAD,
            Framing::Msgpack | Framing::Cbor | Framing::Ndjson => 0,
        }
    }

    fn begin(&mut self) {
        let head = self.head();
        self.at = self.writer.batch.len();
        self.writer.batch.resize(self.at.saturating_add(head), 0);
    }

    /// Bytes of the part so far.
    fn length(&self) -> usize {
        let head = self.at.saturating_add(self.head());
        self.writer.batch.len().saturating_sub(head)
    }

    /// Fills the part's header in, and adds its checksum.
    fn patch(&mut self, flags: u8) {
        let header = self.writer.header(self.flags | flags, self.length());
        let end = self.at.saturating_add(frame::HEADER);
        if let Some(room) = self.writer.batch.get_mut(self.at..end) {
            room.copy_from_slice(&header);
        }
        if self.writer.crc {
            let sum = crc::of(self.writer.batch.get(self.at..).unwrap_or_default());
            self.writer.batch.extend_from_slice(&sum.to_le_bytes());
        }
    }

    /// Ends the message and queues it.
    ///
    /// # Errors
    /// As [`FrameWriter::push`]; nothing is queued then.
    pub fn finish(mut self) -> Result<()> {
        self.writer.check_open()?;
        let compressed = self.flags != 0;
        let length = self.length();
        let begin = self.at.saturating_add(self.head());
        let payload = self.writer.batch.get(begin..).unwrap_or_default();
        match self.writer.framing {
            Framing::Frame => self.patch(0),
            framing => {
                self.writer.check(payload, compressed)?;
                if framing == Framing::Ndjson {
                    self.writer.batch.push(b'\n');
                }
                if framing == Framing::Wrap {
                    // A bin of 32 bits whatever the length: its head was left room for.
                    let length = u32::try_from(length).map_err(|_| {
                        Error::new(ErrorKind::Usage, "a msgpack bin holds at most 4 GiB")
                    })?;
                    let [a, b, c, d] = length.to_le_bytes();
                    if let Some(room) = self.writer.batch.get_mut(self.at..begin) {
                        room.copy_from_slice(&[0xC6, d, c, b, a]);
                    }
                }
            }
        }
        self.finished = true;
        self.writer.count();
        Ok(())
    }

    /// The writer, for the parts that are whole to be written; the others wait. Once one is,
    /// the message can no longer be given up: dropped unfinished, the stream is broken.
    pub fn written(&mut self) -> Whole<'_> {
        Whole {
            writer: self.writer,
        }
    }
}

/// The whole parts of a message that is being written; from [`PartWriter::written`].
#[derive(Debug)]
pub struct Whole<'p> {
    writer: &'p mut FrameWriter,
}

impl Whole<'_> {
    /// Bytes that can be written now.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.writer.sealed_pending()
    }

    /// As [`FrameWriter::slices`], without the part that is not whole.
    pub fn slices<'a>(&'a self, out: &mut [io::IoSlice<'a>]) -> usize {
        self.writer.sealed_slices(out)
    }

    /// As [`FrameWriter::advance`].
    pub fn advance(&mut self, n: usize) {
        let n = n.min(self.pending());
        self.writer.advance(n);
    }
}

impl Write for PartWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.check_open()?;
        if self.writer.framing != Framing::Frame {
            self.writer.batch.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        if self.length() >= BATCH {
            self.patch(frame::MORE);
            self.writer.seal_behind(self.at);
            self.sealed = self.sealed.saturating_add(1);
            self.begin();
        }
        let room = BATCH.saturating_sub(self.length());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.writer.batch.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PartWriter<'_> {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        self.writer.batch.truncate(self.at);
        if !self.writer.rewind(self.sealed, self.before) {
            self.writer.broken = true;
        }
    }
}
