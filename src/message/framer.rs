//! The reader of messages, without a transport: bytes go in, whole messages come out.

use super::buffers::{Body, Shared, FIRST, LARGE};
use super::frame::Control;
use super::scan::{cbor, msgpack};
use super::state::Failure;
use super::unit::{Event, Found, Message, Place, Scanner, Transport, Under};
use super::{Framing, Limits, State};
use crate::{Error, Result};

/// Most offsets of skipped lines that are kept.
const MAX_SKIPPED: usize = 1000;

/// Cuts a stream of bytes into messages.
///
/// Bytes are read into what [`reserve`](Self::reserve) offers, or fed; [`next`](Self::next) lends
/// each whole message. Every byte is looked at once, however the stream is cut. Memory grows with
/// the bytes received, never with what they announce: at most `max_message` and twice 1 MiB.
///
/// Whole messages come before an error behind them; an error stays.
///
/// # Example
/// ```
/// use tare::message::{FrameWriter, Framer, Framing, Limits, State};
/// let mut writer = FrameWriter::new(Framing::Frame, false);
/// writer.push(b"hi", false)?;
/// let mut framer = Framer::new(Framing::Frame, Limits::default());
/// for byte in [0xE0, 2, 0, 0, 0, b'h', b'i'] {
///     assert!(framer.next()?.is_none());
///     framer.feed(&[byte]);
/// }
/// assert_eq!(b"hi", framer.next()?.unwrap().bytes);
/// framer.end();
/// assert!(framer.next()?.is_none());
/// assert_eq!(State::EofClean, framer.state());
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Debug)]
pub struct Framer {
    pub(super) framing: Framing,
    pub(super) limits: Limits,
    pub(super) shared: Shared,
    pub(super) body: Body,
    /// The body was lent with the last message.
    pub(super) lent: Option<usize>,
    pub(super) under: Under,
    pub(super) scanner: Scanner,
    /// Bytes of the message under way that the scanner saw.
    pub(super) scanned: usize,
    pub(super) found: Option<Found>,
    pub(super) failure: Option<Failure>,
    pub(super) transport: Transport,
    /// Least number of bytes that are missing; 0 between messages.
    pub(super) hint: u64,
    /// Offset in the stream of the first byte of the shared buffer.
    pub(super) base: u64,
    /// Bytes of the body that were offered last.
    pub(super) offered: usize,
    /// Most bytes of a frame that is taken without a second look; `None` where each needs one.
    pub(super) quick: Option<usize>,
    /// Offset behind the last unit that was taken.
    pub(super) done: u64,
    pub(super) number: u64,
    pub(super) since_end: Option<u64>,
    pub(super) after_end: bool,
    control_skipped: u64,
    pub(super) blank: u64,
    pub(super) discarding: bool,
    skipped: u64,
    skipped_at: Vec<u64>,
}

impl Framer {
    /// A reader at the start of a stream. It owns no buffer before bytes come.
    #[must_use]
    pub fn new(framing: Framing, limits: Limits) -> Self {
        let scanner = match framing {
            Framing::Msgpack => Scanner::Msgpack(msgpack::Scan::new()),
            Framing::Cbor => Scanner::Cbor(cbor::Scan::new()),
            Framing::Frame | Framing::Ndjson | Framing::Wrap => Scanner::None,
        };
        let most = usize::try_from(limits.max_message).unwrap_or(LARGE);
        let plain = framing == Framing::Frame && !limits.require_crc;
        let quick = plain.then_some(most.min(LARGE));
        Self {
            framing,
            limits,
            shared: Shared::default(),
            body: Body::default(),
            lent: None,
            under: Under::default(),
            scanner,
            scanned: 0,
            found: None,
            failure: None,
            transport: Transport::Open,
            hint: 0,
            base: 0,
            offered: 0,
            quick,
            done: 0,
            number: 0,
            since_end: Some(0),
            after_end: false,
            control_skipped: 0,
            blank: 0,
            discarding: false,
            skipped: 0,
            skipped_at: Vec::new(),
        }
    }

    /// Says that the stream did not begin where this reader does: the count of its first END is
    /// not held against the messages seen.
    #[must_use]
    pub fn joined_midway(mut self) -> Self {
        self.since_end = None;
        self
    }

    /// Where to read into; empty if reading is to stop: `max_ready` bytes of whole messages wait,
    /// or the stream is at its end or broken.
    pub fn reserve(&mut self) -> &mut [u8] {
        self.look();
        self.offered = 0;
        if self.failure.is_some() || self.transport != Transport::Open {
            return &mut [];
        }
        if let Some(announced) = self.body_wants() {
            let room = self.body.room(announced);
            self.offered = room.len();
            return room;
        }
        let first = self.limits.read_size.clamp(LARGE, FIRST);
        let most = if self.found.is_some() {
            self.limits.max_ready.clamp(LARGE, FIRST)
        } else {
            usize::MAX
        };
        let wanted = usize::try_from(self.hint).unwrap_or(1).min(2 * LARGE);
        self.shared.room(first, wanted, most)
    }

    /// Takes in `n` bytes that were read into what [`reserve`](Self::reserve) offered last.
    pub fn commit(&mut self, n: usize) {
        if self.offered > 0 {
            let n = n.min(self.offered);
            self.offered = 0;
            self.body.commit(n);
            self.body_got(n);
        } else {
            self.shared.commit(n);
        }
    }

    /// The buffer of a large body itself, to be added to behind its end, where that spares
    /// filling it with zeros; its capacity is what may be read. `None` otherwise: use
    /// [`reserve`](Self::reserve). [`commit_spare`](Self::commit_spare) takes in what was added.
    pub fn spare(&mut self) -> Option<&mut Vec<u8>> {
        self.look();
        if self.failure.is_some() || self.transport != Transport::Open {
            return None;
        }
        let announced = self.body_wants()?;
        self.body.spare(announced)
    }

    /// Takes in what was added to [`spare`](Self::spare).
    pub fn commit_spare(&mut self) {
        let n = self.body.added();
        self.body.commit(n);
        self.body_got(n);
    }

    /// Copies bytes in; returns how many were taken, fewer than all if
    /// [`reserve`](Self::reserve) offered no room for the others.
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0_usize;
        loop {
            let rest = bytes.get(taken..).unwrap_or_default();
            if rest.is_empty() {
                return taken;
            }
            let room = self.reserve();
            let n = room.len().min(rest.len());
            let (Some(room), Some(rest)) = (room.get_mut(..n), rest.get(..n)) else {
                return taken;
            };
            if n == 0 {
                return taken;
            }
            room.copy_from_slice(rest);
            self.commit(n);
            taken = taken.saturating_add(n);
        }
    }

    /// The next whole message, passing over control frames; `None` if there is none yet, or
    /// none any more: see [`state`](Self::state).
    ///
    /// # Errors
    /// What is wrong with the stream behind the messages before, the same at each further call:
    /// `Truncated`, `Malformed`, `ChecksumMismatch` or `Limit`.
    #[allow(clippy::should_implement_trait, reason = "it lends")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Message<'_>>> {
        match self.take_quickly() {
            Some(taken) => Ok(Some(self.lend(taken))),
            None => self.next_slowly(),
        }
    }

    fn next_slowly(&mut self) -> Result<Option<Message<'_>>> {
        loop {
            let Some(found) = self.step()? else {
                return Ok(None);
            };
            if let Place::Control { .. } = found.place {
                self.take_control(found)?;
                continue;
            }
            return Ok(Some(self.take_message(found)));
        }
    }

    /// The next whole message or control frame; as [`next`](Self::next) beside.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    #[inline]
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>> {
        match self.take_quickly() {
            Some(taken) => Ok(Some(Event::Message(self.lend(taken)))),
            None => self.next_event_slowly(),
        }
    }

    fn next_event_slowly(&mut self) -> Result<Option<Event<'_>>> {
        let Some(found) = self.step()? else {
            return Ok(None);
        };
        if let Place::Control { .. } = found.place {
            return self.take_control(found).map(|it| Some(Event::Control(it)));
        }
        Ok(Some(Event::Message(self.take_message(found))))
    }

    /// Whether [`next_event`](Self::next_event) has something to give, be it the end or an error.
    pub fn ready(&mut self) -> bool {
        self.look();
        self.found.is_some() || self.failure.is_some() || self.transport != Transport::Open
    }

    /// The bytes of the message that [`next`](Self::next) lent last, without a copy, if they lie
    /// in a buffer of their own: above 64 KiB, or in parts.
    pub fn take_body(&mut self) -> Option<Vec<u8>> {
        let length = self.lent.take()?;
        Some(self.body.give(length))
    }

    /// Says that the transport is at its end.
    pub fn end(&mut self) {
        self.stop(Transport::AtEnd);
    }

    /// Says that the transport failed. Whole messages before are still given.
    pub fn fail(&mut self) {
        self.stop(Transport::Failed);
    }

    /// Says that this end closed. Whole messages before are still given.
    pub fn close(&mut self) {
        self.stop(Transport::Closed);
    }

    fn stop(&mut self, transport: Transport) {
        if self.transport == Transport::Open {
            self.transport = transport;
        }
    }

    /// Takes a last line without LF for whole: `ndjson` at the end of a transport that cannot cut,
    /// where the line decodes. False if there is none.
    pub fn accept_last_line(&mut self) -> bool {
        self.look();
        let cut = matches!(
            self.failure.map(|failure| failure.state),
            Some(State::EofTruncated { .. })
        );
        let taken = cut && self.framing == Framing::Ndjson;
        if taken {
            self.failure = None;
            self.last_line();
        }
        taken
    }

    /// Where the stream stands, behind what was taken.
    pub fn state(&mut self) -> State {
        self.look();
        if self.found.is_some() {
            return State::Ok;
        }
        if let Some(failure) = self.failure {
            return failure.state;
        }
        match self.transport {
            Transport::Open if self.hint > 0 => State::NeedMore { hint: self.hint },
            Transport::Open => State::Ok,
            Transport::AtEnd if self.after_end => State::Ended,
            Transport::AtEnd => State::EofClean,
            Transport::Failed => State::Failed,
            Transport::Closed => State::Closed,
        }
    }

    /// The bytes of the unfinished message, without heads and checksums of frames.
    pub fn partial(&mut self) -> &[u8] {
        self.look();
        if self.found.is_some() {
            return &[];
        }
        self.unfinished()
    }

    /// Offset in the stream behind the last message, control frame or blank line that was taken.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.done
    }

    /// Whole messages that were taken.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.number
    }

    /// Control frames of kinds that are not known, passed over.
    #[must_use]
    pub fn control_skipped(&self) -> u64 {
        self.control_skipped
    }

    /// Blank lines passed over.
    #[must_use]
    pub fn blank_lines(&self) -> u64 {
        self.blank
    }

    /// Lines that were skipped, and the offsets of the first 1,000.
    #[must_use]
    pub fn skipped(&self) -> (u64, &[u64]) {
        (self.skipped, &self.skipped_at)
    }

    /// Counts a line at `offset` as skipped: also for lines that do not decode.
    pub fn note_skipped(&mut self, offset: u64) {
        self.skipped = self.skipped.saturating_add(1);
        if self.skipped_at.len() < MAX_SKIPPED {
            self.skipped_at.push(offset);
        }
    }

    /// The framing it was made with.
    #[must_use]
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// The limits it was made with.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// All bytes received and not taken, to be given to another reader: those of the message
    /// under way are there with their heads only if it has not begun to be put together.
    #[must_use]
    pub fn buffered(&self) -> &[u8] {
        self.shared.bytes()
    }

    /// Bytes of the buffers that it owns at the moment.
    #[must_use]
    pub fn memory(&self) -> usize {
        let stack = match &self.scanner {
            Scanner::Msgpack(scan) => scan.memory(),
            Scanner::Cbor(scan) => scan.memory(),
            Scanner::None => 0,
        };
        let buffers = self.shared.memory().saturating_add(self.body.memory());
        buffers.saturating_add(stack)
    }

    /// Frees what an idle connection does not need; the few bytes that wait are kept.
    pub fn release(&mut self) {
        self.take_buffer();
        if !self.under.in_body
            && !matches!(
                self.found,
                Some(Found {
                    place: Place::Body,
                    ..
                })
            )
        {
            self.lent = None;
            self.body.clear();
            self.body.free();
        }
        if self.scanned == 0 {
            match &mut self.scanner {
                Scanner::Msgpack(scan) => scan.shrink(),
                Scanner::Cbor(scan) => scan.shrink(),
                Scanner::None => {}
            }
        }
    }

    /// The next unit, which the framer then has forgotten.
    #[inline]
    fn step(&mut self) -> Result<Option<Found>> {
        self.look();
        if let Some(found) = self.found.take() {
            return Ok(Some(found));
        }
        match self.failure {
            Some(failure) => Err(self.error(failure)),
            None => Ok(None),
        }
    }

    #[cold]
    fn error(&self, failure: Failure) -> Error {
        let limit = match failure.state {
            State::TooDeep { .. } => u64::from(self.limits.max_depth),
            _ => self.limits.max_message,
        };
        failure.error(self.framing, self.number, limit)
    }

    #[inline]
    fn take_message(&mut self, found: Found) -> Message<'_> {
        let number = self.counted();
        let mut placed = None;
        let bytes = match found.place {
            Place::Shared { head, total } | Place::Control { head, total } => {
                let at = self.shared.start().saturating_add(head);
                self.consume(total);
                self.done = self.base;
                self.shared.range(at, found.length)
            }
            Place::Body => {
                self.done = self.base;
                self.lent = Some(found.length);
                self.body.bytes().get(..found.length).unwrap_or_default()
            }
            Place::Placed => {
                self.done = self.base;
                placed = Some(found.length);
                &[]
            }
        };
        Message {
            bytes,
            offset: found.offset,
            number,
            compressed: found.compressed,
            parts: found.parts,
            placed,
        }
    }

    fn take_control(&mut self, found: Found) -> Result<Control<'_>> {
        let Place::Control { head, total } = found.place else {
            return Err(Error::new(crate::ErrorKind::Internal, "no control frame"));
        };
        let at = self.shared.start().saturating_add(head);
        let payload = self.shared.range(at, found.length);
        let fault = match Control::read(payload) {
            Ok(Control::End { messages }) => match self.since_end {
                Some(count) if count != messages => {
                    Some("an END whose count is not that of the messages received")
                }
                _ => None,
            },
            Ok(_) => None,
            Err(what) => Some(what),
        };
        if let Some(what) = fault {
            let failure = self.malformed(found.offset, what);
            return Err(self.error(failure));
        }
        self.consume(total);
        self.done = self.base;
        self.after_end = false;
        let payload = self.shared.range(at, found.length);
        let control = Control::read(payload).unwrap_or(Control::Other { kind: 0, rest: &[] });
        match control {
            Control::End { .. } => {
                self.since_end = Some(0);
                self.after_end = true;
            }
            Control::Other { .. } => {
                self.control_skipped = self.control_skipped.saturating_add(1);
            }
            Control::Hello(_) | Control::Token(_) => {}
        }
        Ok(control)
    }

    /// Takes bytes off the shared buffer. Counters of 64 bits do not come to their end.
    #[inline]
    pub(super) fn consume(&mut self, n: usize) {
        self.shared.take(n);
        self.base = self.base.wrapping_add(n as u64);
    }

    pub(super) fn malformed(&mut self, offset: u64, what: &'static str) -> Failure {
        self.fault(State::Malformed { offset }, what)
    }

    pub(super) fn fault(&mut self, state: State, what: &'static str) -> Failure {
        let failure = Failure { state, what };
        self.failure = Some(failure);
        failure
    }

    /// Units passed over without being taken.
    pub(super) fn passed(&mut self) {
        self.done = self.base;
    }
}
