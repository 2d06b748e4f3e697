//! The writer of messages, without a transport: messages go in, slices of bytes come out.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::Bytes;

use super::frame::{self, Control, Header};
use super::part::PartWriter;
use super::scan::wrap;
use super::{crc, Framing};
use crate::{Error, ErrorKind, Result};

/// A payload of so many bytes is not copied by [`FrameWriter::push_shared`].
pub(super) const SHARED: usize = 64 << 10;
/// The batch of small messages is closed once it has so many bytes.
pub(super) const BATCH: usize = 256 << 10;
/// A batch of no more is worth no sharing.
const SMALL: usize = 4 << 10;
/// No batch that is written and empty keeps more.
const KEEP: usize = 2 * BATCH;

/// Bytes that are to be written.
#[derive(Debug)]
enum Segment {
    Own(Vec<u8>),
    Shared(Bytes),
}

impl Segment {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// Turns messages into the bytes of a stream.
///
/// Small messages are copied one behind the other, so that one write takes many. What was
/// queued stays queued until [`advance`](Self::advance) says that it was written.
///
/// # Example
/// ```
/// use std::io::IoSlice;
/// use tare::message::{FrameWriter, Framing};
///
/// let mut writer = FrameWriter::new(Framing::Frame, false);
/// writer.push(b"hi", false)?;
/// let mut slices = [IoSlice::new(&[]); 8];
/// assert_eq!(1, writer.slices(&mut slices));
/// assert_eq!(b"\xe0\x02\0\0\0hi", &*slices[0]);
/// writer.advance(7);
/// assert_eq!(0, writer.pending());
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Debug)]
pub struct FrameWriter {
    pub(super) framing: Framing,
    pub(super) crc: bool,
    queue: VecDeque<Segment>,
    /// What follows the queue: small messages.
    pub(super) batch: Vec<u8>,
    /// Bytes of the first segment that were written.
    written: usize,
    queued: usize,
    messages: u64,
    pub(super) since_end: u64,
    pub(super) position: u64,
    pub(super) broken: bool,
}

impl FrameWriter {
    /// A writer at the start of a stream; `crc` adds a checksum to each frame. The other framings
    /// have none: they put one value behind the other (`msgpack`, `cbor`), an LF behind each line
    /// (`ndjson`), or the head of a `bin` in front of each (`wrap`).
    #[must_use]
    pub fn new(framing: Framing, crc: bool) -> Self {
        Self {
            framing,
            crc: crc && framing == Framing::Frame,
            queue: VecDeque::new(),
            batch: Vec::new(),
            written: 0,
            queued: 0,
            messages: 0,
            since_end: 0,
            position: 0,
            broken: false,
        }
    }

    /// Queues a message: all of it, or nothing if there is an error. More than 2 GiB - 1 go in
    /// several parts.
    ///
    /// A value of `msgpack` or `cbor` is trusted to be one whole value.
    ///
    /// # Errors
    /// `Usage` if the framing cannot hold such a message.
    #[inline]
    pub fn push(&mut self, payload: &[u8], compressed: bool) -> Result<()> {
        if self.framing == Framing::Frame && payload.len() <= SHARED && !self.broken {
            let flags = if compressed { frame::COMPRESSED } else { 0 };
            self.batch
                .reserve(payload.len().wrapping_add(frame::HEADER + frame::SUM));
            self.frame(flags, payload);
            self.count();
            return Ok(());
        }
        self.push_any(payload, compressed)
    }

    fn push_any(&mut self, payload: &[u8], compressed: bool) -> Result<()> {
        self.check(payload, compressed)?;
        match self.framing {
            Framing::Frame => {
                for (flags, part) in parts(payload, compressed) {
                    self.frame(flags, part);
                }
            }
            Framing::Msgpack | Framing::Cbor => self.batch.extend_from_slice(payload),
            Framing::Ndjson => {
                self.batch.extend_from_slice(payload);
                self.batch.push(b'\n');
            }
            Framing::Wrap => {
                self.wrap_head(payload.len());
                self.batch.extend_from_slice(payload);
            }
        }
        self.count();
        Ok(())
    }

    /// Queues a message that is shared: from 64 KiB on its bytes are not copied.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_shared(&mut self, payload: Bytes, compressed: bool) -> Result<()> {
        if payload.len() < SHARED {
            return self.push(&payload, compressed);
        }
        self.check(&payload, compressed)?;
        match self.framing {
            Framing::Frame => {
                for (flags, part) in parts(&payload, compressed) {
                    let header = self.header(flags, part.len());
                    self.batch.extend_from_slice(&header);
                    self.queue_shared(payload.slice_ref(part));
                    if self.crc {
                        let sum = crc::more(crc::of(&header), part);
                        self.batch.extend_from_slice(&sum.to_le_bytes());
                    }
                }
            }
            Framing::Wrap => {
                self.wrap_head(payload.len());
                self.queue_shared(payload);
            }
            Framing::Msgpack | Framing::Cbor => self.queue_shared(payload),
            Framing::Ndjson => {
                self.queue_shared(payload);
                self.batch.push(b'\n');
            }
        }
        self.count();
        Ok(())
    }

    /// Begins a message whose bytes are written one after the other: see [`PartWriter`].
    pub fn open(&mut self, compressed: bool) -> PartWriter<'_> {
        PartWriter::new(self, compressed)
    }

    /// Queues a control frame.
    ///
    /// # Errors
    /// `Usage` in another framing than `frame`, and for what a reader would refuse.
    pub fn control(&mut self, control: Control<'_>) -> Result<()> {
        let refused = |what: &str| Error::new(ErrorKind::Usage, what).with_format("frame");
        self.check_open()?;
        if self.framing != Framing::Frame {
            return Err(refused("only the framing frame has control frames"));
        }
        let mut count = [0; 8];
        let (kind, rest) = control.parts(&mut count).map_err(refused)?;
        let mut payload = Vec::with_capacity(rest.len().saturating_add(1));
        payload.push(kind);
        payload.extend_from_slice(rest);
        self.frame(frame::CONTROL, &payload);
        if let Control::End { .. } = control {
            self.since_end = 0;
        }
        self.settle();
        Ok(())
    }

    /// Queues an END with the number of messages since the one before.
    ///
    /// # Errors
    /// As [`control`](Self::control).
    pub fn end(&mut self) -> Result<()> {
        let messages = self.since_end;
        self.control(Control::End { messages })
    }

    /// Fills `out` with the bytes that are to be written next; returns how many slices those are.
    pub fn slices<'a>(&'a self, out: &mut [IoSlice<'a>]) -> usize {
        let queued = self.queue.iter().map(Segment::bytes);
        fill(
            queued.chain(std::iter::once(&*self.batch)),
            self.written,
            out,
        )
    }

    /// Forgets `n` bytes: they were written.
    pub fn advance(&mut self, n: usize) {
        let mut left = n.min(self.pending());
        self.position = self.position.saturating_add(left as u64);
        while left > 0 {
            let Some(first) = self.queue.front() else {
                self.written = self.written.saturating_add(left);
                break;
            };
            let rest = first.bytes().len().saturating_sub(self.written);
            if left < rest {
                self.written = self.written.saturating_add(left);
                return;
            }
            left = left.saturating_sub(rest);
            self.queued = self.queued.saturating_sub(first.bytes().len());
            self.written = 0;
            let spent = self.queue.pop_front();
            if let (Some(Segment::Own(mut spent)), true) = (spent, self.batch.capacity() == 0) {
                spent.clear();
                self.batch = spent;
            }
        }
        if self.queue.is_empty() && self.written >= self.batch.len() {
            self.written = 0;
            self.batch.clear();
            if self.batch.capacity() > KEEP {
                self.batch = Vec::new();
            }
        }
    }

    /// Bytes that are queued and not written.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.queued
            .saturating_add(self.batch.len())
            .saturating_sub(self.written)
    }

    /// Messages that were queued.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Bytes that were written.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The framing it was made with.
    #[must_use]
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Frees the batch, if all of it was written.
    pub fn release(&mut self) {
        if self.pending() == 0 {
            self.batch = Vec::new();
            self.queue = VecDeque::new();
        }
    }

    /// Takes a buffer for small messages of those that writers have together, if it has none.
    pub fn borrow_buffer(&mut self, pool: &mut Vec<Vec<u8>>) {
        if self.batch.capacity() == 0 {
            self.batch = pool.pop().unwrap_or_default();
            self.batch.clear();
        }
    }

    /// Gives it back, if all was written; more than `most`, and small ones, are not kept there.
    pub fn return_buffer(&mut self, pool: &mut Vec<Vec<u8>>, most: usize) {
        if self.pending() == 0 && self.batch.capacity() > SMALL {
            let batch = std::mem::take(&mut self.batch);
            if pool.len() < most {
                pool.push(batch);
            }
        }
    }

    /// Whether a message can be queued.
    pub(super) fn check(&self, payload: &[u8], compressed: bool) -> Result<()> {
        self.check_open()?;
        let what = match self.framing {
            Framing::Frame => return Ok(()),
            _ if compressed => "only the framing frame says that a message is compressed: use it",
            Framing::Ndjson if memchr::memchr(b'\n', payload).is_some() => {
                "a line cannot hold an LF: write the value without line breaks"
            }
            Framing::Ndjson if payload.iter().all(u8::is_ascii_whitespace) => {
                "an empty line is no message"
            }
            Framing::Ndjson if payload.ends_with(b"\r") => {
                "a line cannot end with a CR, which readers take for a part of its end"
            }
            Framing::Msgpack | Framing::Cbor if payload.is_empty() => "no bytes are no value",
            Framing::Wrap if u32::try_from(payload.len()).is_err() => {
                "a msgpack bin holds at most 4 GiB: use the framing frame"
            }
            _ => return Ok(()),
        };
        Err(Error::new(ErrorKind::Usage, what).with_format(self.framing.name()))
    }

    pub(super) fn check_open(&self) -> Result<()> {
        if self.broken {
            let text =
                "a message was given up after a part of it was written: open another connection";
            return Err(Error::new(ErrorKind::Usage, text).with_format(self.framing.name()));
        }
        Ok(())
    }

    #[inline]
    pub(super) fn header(&self, flags: u8, length: usize) -> [u8; frame::HEADER] {
        let crc = if self.crc { frame::CRC } else { 0 };
        let length = u32::try_from(length).unwrap_or(frame::MAX_LENGTH);
        Header {
            tag: flags | crc,
            length,
        }
        .bytes()
    }

    #[inline]
    fn frame(&mut self, flags: u8, payload: &[u8]) {
        let header = self.header(flags, payload.len());
        let begin = self.batch.len();
        self.batch.extend_from_slice(&header);
        self.batch.extend_from_slice(payload);
        if self.crc {
            let sum = crc::of(self.batch.get(begin..).unwrap_or_default());
            self.batch.extend_from_slice(&sum.to_le_bytes());
        }
    }

    fn wrap_head(&mut self, length: usize) {
        let (head, n) = wrap::head(u32::try_from(length).unwrap_or(u32::MAX));
        self.batch.extend_from_slice(head.get(..n).unwrap_or(&head));
    }

    /// Counts a message; closes the batch once it is large.
    #[inline]
    pub(super) fn count(&mut self) {
        self.messages = self.messages.wrapping_add(1);
        self.since_end = self.since_end.wrapping_add(1);
        self.settle();
    }

    #[inline]
    fn settle(&mut self) {
        if self.batch.len() >= BATCH {
            self.seal();
        }
    }

    /// Closes the batch.
    pub(super) fn seal(&mut self) {
        if !self.batch.is_empty() {
            let batch = std::mem::take(&mut self.batch);
            self.queued = self.queued.saturating_add(batch.len());
            self.queue.push_back(Segment::Own(batch));
        }
    }

    fn queue_shared(&mut self, payload: Bytes) {
        self.seal();
        self.queued = self.queued.saturating_add(payload.len());
        self.queue.push_back(Segment::Shared(payload));
    }

    /// Closes the batch behind its first `at` bytes, which become a segment of their own.
    pub(super) fn seal_behind(&mut self, at: usize) {
        if at > 0 {
            let behind = self.batch.split_off(at);
            self.seal();
            self.batch = behind;
        }
        self.seal();
    }

    /// Bytes of the closed batches that are not written.
    pub(super) fn sealed_pending(&self) -> usize {
        self.queued.saturating_sub(self.written)
    }

    /// As [`slices`](Self::slices), of the closed batches.
    pub(super) fn sealed_slices<'a>(&'a self, out: &mut [IoSlice<'a>]) -> usize {
        fill(self.queue.iter().map(Segment::bytes), self.written, out)
    }

    /// Drops the last `segments`, in front of which the stream has `before` bytes; false if some
    /// of theirs were written.
    pub(super) fn rewind(&mut self, segments: usize, before: u64) -> bool {
        if self.position > before {
            return false;
        }
        for _ in 0..segments {
            if let Some(dropped) = self.queue.pop_back() {
                self.queued = self.queued.saturating_sub(dropped.bytes().len());
            }
        }
        true
    }
}

/// Puts what is not empty into `out`, without the first `skip` bytes.
fn fill<'a>(
    all: impl Iterator<Item = &'a [u8]>,
    mut skip: usize,
    out: &mut [IoSlice<'a>],
) -> usize {
    let mut n = 0_usize;
    for bytes in all {
        let bytes = bytes.get(std::mem::take(&mut skip)..).unwrap_or_default();
        if bytes.is_empty() {
            continue;
        }
        let Some(slice) = out.get_mut(n) else {
            break;
        };
        *slice = IoSlice::new(bytes);
        n = n.saturating_add(1);
    }
    n
}

/// The frames of a message, with their flags: one, unless it is larger than a frame can be.
fn parts(payload: &[u8], compressed: bool) -> impl Iterator<Item = (u8, &[u8])> {
    let flags = if compressed { frame::COMPRESSED } else { 0 };
    let most = frame::MAX_LENGTH as usize;
    let mut rest = Some(payload);
    std::iter::from_fn(move || {
        let payload = rest?;
        match payload.split_at_checked(most) {
            Some((part, behind)) if !behind.is_empty() => {
                rest = Some(behind);
                Some((flags | frame::MORE, part))
            }
            _ => {
                rest = None;
                Some((flags, payload))
            }
        }
    })
}
