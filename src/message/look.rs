//! How a [`Framer`] finds the next whole message in what it received.

use super::buffers::{BEHIND, LARGE};
use super::frame::{self, Header, Start};
use super::scan::{ndjson, wrap, Step};
use super::state::Failure;
use super::unit::{Found, Place, Scanner, Transport, Under};
use super::{crc, Framer, Framing, State};

impl Framer {
    /// Looks for the next unit, unless one waits already.
    #[inline]
    pub(super) fn look(&mut self) {
        if self.found.is_some() || self.failure.is_some() {
            return;
        }
        if self.lent.take().is_some() {
            self.body.clear();
        }
        match self.framing {
            Framing::Frame => self.look_frames(),
            Framing::Wrap => self.look_wrapped(),
            Framing::Ndjson => self.look_lines(),
            Framing::Msgpack | Framing::Cbor => self.look_values(),
        }
        if self.transport != Transport::Open {
            self.look_at_end();
        }
    }

    #[cold]
    fn look_at_end(&mut self) {
        if self.found.is_some() || self.failure.is_some() {
            return;
        }
        let state = match self.transport {
            Transport::Failed => State::Failed,
            Transport::Closed => State::Closed,
            Transport::AtEnd if self.hint > 0 && !self.only_space() => State::EofTruncated {
                offset: self.begun(),
            },
            Transport::AtEnd | Transport::Open => return,
        };
        self.failure = Some(Failure { state, what: "" });
    }

    /// Whether all that is left of the stream is space behind the last line.
    fn only_space(&self) -> bool {
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
        self.framing == Framing::Ndjson && self.unfinished().iter().all(blank)
    }

    /// Where the message under way begins.
    fn begun(&self) -> u64 {
        if self.under.in_body || self.under.parts > 0 {
            self.under.offset
        } else {
            self.base
        }
    }

    /// The bytes of the message under way.
    pub(super) fn unfinished(&self) -> &[u8] {
        let bytes = self.shared.bytes();
        let head = match self.framing {
            _ if self.under.in_body => return self.body.bytes(),
            Framing::Frame => frame::HEADER,
            Framing::Wrap => match wrap::read(bytes) {
                wrap::Start::Whole { head, .. } => head,
                _ => bytes.len(),
            },
            Framing::Msgpack | Framing::Cbor | Framing::Ndjson => 0,
        };
        bytes.get(head..).unwrap_or_default()
    }

    /// How many more bytes may go to the buffer of the message under way; `None` if it has none.
    pub(super) fn body_wants(&mut self) -> Option<usize> {
        if self.found.is_some() {
            return None;
        }
        let announced = match self.framing {
            Framing::Frame | Framing::Wrap => {
                if !self.under.in_body || self.under.left == 0 {
                    return None;
                }
                self.under.left.saturating_add(BEHIND as u64)
            }
            Framing::Msgpack | Framing::Cbor | Framing::Ndjson => {
                let large = self.hint > LARGE as u64 || self.shared.len() >= LARGE;
                if !self.under.in_body && (!large || self.discarding) {
                    return None;
                }
                self.move_to_body();
                self.hint.saturating_add(4096).max(LARGE as u64)
            }
        };
        Some(usize::try_from(announced).unwrap_or(usize::MAX))
    }

    /// Gives a value or line that is too large for the shared buffer one of its own.
    fn move_to_body(&mut self) {
        if self.under.in_body {
            return;
        }
        self.under.in_body = true;
        self.under.offset = self.base;
        self.body.append(self.shared.bytes());
        let length = self.shared.len();
        self.consume(length);
    }

    /// Looks at `n` bytes that came into the buffer of the message under way.
    pub(super) fn body_got(&mut self, n: usize) {
        self.base = self.base.saturating_add(n as u64);
        if !matches!(self.framing, Framing::Frame | Framing::Wrap) {
            return;
        }
        let own = usize::try_from(self.under.left)
            .unwrap_or(usize::MAX)
            .min(n);
        let end = self.body.len().saturating_sub(n.saturating_sub(own));
        if self.under.crc {
            let from = end.saturating_sub(own);
            let new = self.body.bytes().get(from..end).unwrap_or_default();
            self.under.sum = crc::more(self.under.sum, new);
        }
        self.under.left = self.under.left.saturating_sub(own as u64);
        if own < n {
            let moved = self.body.cut(end, &mut self.shared);
            self.base = self.base.saturating_sub(moved as u64);
        }
    }

    /// Begins a part, or the only one, whose payload goes to a buffer of its own.
    fn begin(&mut self, head: usize, length: u32) {
        if self.under.parts == 0 {
            self.under.offset = self.base;
            self.under.in_body = true;
        }
        self.under.parts = self.under.parts.saturating_add(1);
        self.under.frame = self.base;
        self.under.left = u64::from(length);
        self.consume(head);
    }

    /// Moves what is there of the payload; whether it is whole then.
    fn gather(&mut self) -> bool {
        let bytes = self.shared.bytes();
        let own = usize::try_from(self.under.left).unwrap_or(usize::MAX);
        let own = bytes.get(..own).unwrap_or(bytes);
        if !own.is_empty() {
            if self.under.crc {
                self.under.sum = crc::more(self.under.sum, own);
            }
            self.body.append(own);
            let n = own.len();
            self.under.left = self.under.left.saturating_sub(n as u64);
            self.consume(n);
        }
        self.under.left == 0
    }

    /// The message in its own buffer is whole.
    fn finish(&mut self) {
        let under = std::mem::take(&mut self.under);
        let (place, length) = if under.is_placed {
            (Place::Placed, under.placed)
        } else {
            (Place::Body, self.body.len())
        };
        self.found = Some(Found {
            place,
            length,
            offset: under.offset,
            compressed: under.compressed,
            parts: under.parts.max(1),
        });
    }

    #[inline]
    fn look_frames(&mut self) {
        loop {
            if self.under.open {
                if !self.gather_frame() {
                    return;
                }
                continue;
            }
            if self.found.is_some() {
                return;
            }
            let bytes = self.shared.bytes();
            let header = match Header::read(bytes) {
                Start::Whole(header) => header,
                Start::Short(missing) => {
                    let begun = !bytes.is_empty() || self.under.parts > 0;
                    self.hint = if begun { missing } else { 0 };
                    return;
                }
                Start::Bad(what) => {
                    self.malformed(self.base, what);
                    return;
                }
            };
            let plain = header.tag & !(frame::CRC | frame::COMPRESSED) == 0;
            let length = header.length as usize;
            if plain && self.under.parts == 0 && length <= LARGE && self.allowed(header) {
                self.whole(header, bytes.len());
                return;
            }
            if !self.begin_frame(header) {
                return;
            }
        }
    }

    #[inline]
    fn allowed(&self, header: Header) -> bool {
        u64::from(header.length) <= self.limits.max_message
            && (header.has(frame::CRC) || !self.limits.require_crc)
    }

    /// A message or control frame in one frame, if all of it is there.
    #[inline]
    fn whole(&mut self, header: Header, have: usize) {
        let length = header.length as usize;
        let covered = frame::HEADER.saturating_add(length);
        let sum = if header.has(frame::CRC) {
            frame::SUM
        } else {
            0
        };
        let total = covered.saturating_add(sum);
        if have < total {
            self.hint = total.saturating_sub(have) as u64;
            return;
        }
        self.hint = 0;
        if sum > 0 && !self.sum_holds(covered) {
            let offset = self.base;
            self.fault(State::BadChecksum { offset }, "");
            return;
        }
        let head = frame::HEADER;
        let place = if header.has(frame::CONTROL) {
            Place::Control { head, total }
        } else {
            Place::Shared { head, total }
        };
        let compressed = header.has(frame::COMPRESSED);
        self.found = Some(Found {
            place,
            length,
            offset: self.base,
            compressed,
            parts: 1,
        });
    }

    fn sum_holds(&self, covered: usize) -> bool {
        let (frame, rest) = self
            .shared
            .bytes()
            .split_at_checked(covered)
            .unwrap_or_default();
        rest.first_chunk().map(|sum| u32::from_le_bytes(*sum)) == Some(crc::of(frame))
    }

    /// What is not a small message in one frame. False if there is nothing to go on with.
    fn begin_frame(&mut self, header: Header) -> bool {
        let bad = if self.limits.require_crc && !header.has(frame::CRC) {
            Some("a frame without a checksum, which require_crc asks for")
        } else if header.has(frame::CONTROL) && self.under.parts > 0 {
            Some("a control frame between the parts of a message")
        } else if header.has(frame::CONTROL) && header.length as usize > frame::MAX_CONTROL + 1 {
            Some("a control frame of more than 64 KiB")
        } else if header.has(frame::CONTROL) && header.length == 0 {
            Some("a control frame without a kind")
        } else if header.has(frame::MORE) && header.length == 0 {
            Some("an empty part that is not the last")
        } else if self.under.parts > 0 && header.has(frame::COMPRESSED) != self.under.compressed {
            Some("parts of one message of which some are compressed")
        } else {
            None
        };
        if let Some(what) = bad {
            self.malformed(self.base, what);
            return false;
        }
        if header.has(frame::CONTROL) {
            self.whole(header, self.shared.len());
            return false;
        }
        let so_far = if self.under.parts > 0 {
            self.body.len() as u64
        } else {
            0
        };
        let needed = so_far.saturating_add(u64::from(header.length));
        if needed > self.limits.max_message {
            let offset = self.begun();
            self.fault(State::TooBig { offset, needed }, "");
            return false;
        }
        self.begin(frame::HEADER, header.length);
        self.under.compressed = header.has(frame::COMPRESSED);
        self.under.more = header.has(frame::MORE);
        self.under.crc = header.has(frame::CRC);
        self.under.open = true;
        if self.under.crc {
            self.under.sum = crc::of(&header.bytes());
        }
        true
    }

    /// Goes on with the part under way. False if more bytes are needed.
    fn gather_frame(&mut self) -> bool {
        let sum = if self.under.crc { frame::SUM } else { 0 };
        if !self.gather() {
            self.hint = self.under.left.saturating_add(sum as u64);
            return false;
        }
        if self.under.crc {
            let bytes = self.shared.bytes();
            let Some(sum) = bytes.first_chunk::<{ frame::SUM }>() else {
                self.hint = frame::SUM.saturating_sub(bytes.len()) as u64;
                return false;
            };
            if u32::from_le_bytes(*sum) != self.under.sum {
                let offset = self.under.frame;
                self.fault(State::BadChecksum { offset }, "");
                return false;
            }
            self.consume(frame::SUM);
        }
        self.under.open = false;
        self.hint = 0;
        if !self.under.more {
            self.finish();
        }
        true
    }

    fn look_wrapped(&mut self) {
        if !self.under.in_body {
            let bytes = self.shared.bytes();
            let (head, length) = match wrap::read(bytes) {
                wrap::Start::Whole { head, length } => (head, length),
                wrap::Start::Short(missing) => {
                    self.hint = if bytes.is_empty() { 0 } else { missing };
                    return;
                }
                wrap::Start::Bad(what) => {
                    self.malformed(self.base, what);
                    return;
                }
            };
            let offset = self.base;
            let needed = u64::from(length);
            if needed > self.limits.max_message {
                self.fault(State::TooBig { offset, needed }, "");
                return;
            }
            let small = length as usize;
            if small <= LARGE {
                let total = head.saturating_add(small);
                self.hint = total.saturating_sub(bytes.len()) as u64;
                if self.hint == 0 {
                    let place = Place::Shared { head, total };
                    let compressed = false;
                    self.found = Some(Found {
                        place,
                        length: small,
                        offset,
                        compressed,
                        parts: 1,
                    });
                }
                return;
            }
            self.begin(head, length);
        }
        if self.gather() {
            self.hint = 0;
            self.finish();
        } else {
            self.hint = self.under.left;
        }
    }

    fn look_values(&mut self) {
        let bytes = if self.under.in_body {
            self.body.bytes()
        } else {
            self.shared.bytes()
        };
        let new = bytes.get(self.scanned..).unwrap_or_default();
        if bytes.is_empty() {
            self.hint = 0;
            return;
        }
        let before = self.scanned as u64;
        let step = match &mut self.scanner {
            Scanner::Msgpack(scan) => scan.scan(new, before, &self.limits),
            Scanner::Cbor(scan) => scan.scan(new, before, &self.limits),
            Scanner::None => return,
        };
        match step {
            Step::More { taken, hint } => {
                self.scanned = self.scanned.saturating_add(taken);
                self.hint = hint;
            }
            Step::Done { taken } => {
                let total = self.scanned.saturating_add(taken);
                match &mut self.scanner {
                    Scanner::Msgpack(scan) => scan.restart(),
                    Scanner::Cbor(scan) => scan.restart(),
                    Scanner::None => {}
                }
                self.whole_value(total, total);
            }
            Step::Malformed { taken, what } => {
                let at = before.saturating_add(taken as u64);
                self.malformed(self.begun().saturating_add(at), what);
            }
            Step::TooBig { needed } => {
                let offset = self.begun();
                self.fault(State::TooBig { offset, needed }, "");
            }
            Step::TooDeep { needed } => {
                let offset = self.begun();
                self.fault(State::TooDeep { offset, needed }, "");
            }
        }
    }

    /// A value or line of `total` bytes is whole, of which the first `length` are the message.
    fn whole_value(&mut self, total: usize, length: usize) {
        let offset = self.begun();
        let place = if self.leave_body(total) {
            Place::Body
        } else {
            Place::Shared { head: 0, total }
        };
        self.found = Some(Found {
            place,
            length,
            offset,
            compressed: false,
            parts: 1,
        });
    }

    /// Ends the value or line under way behind `total` bytes; whether it had its own buffer.
    fn leave_body(&mut self, total: usize) -> bool {
        let in_body = self.under.in_body;
        self.scanned = 0;
        self.hint = 0;
        if in_body {
            let moved = self.body.cut(total, &mut self.shared);
            self.base = self.base.saturating_sub(moved as u64);
            self.under = Under::default();
        }
        in_body
    }

    /// Ends a line that is no message.
    fn pass_line(&mut self, total: usize) {
        if self.leave_body(total) {
            self.body.clear();
        } else {
            self.consume(total);
        }
        self.passed();
    }

    fn look_lines(&mut self) {
        loop {
            if self.discarding {
                let bytes = self.shared.bytes();
                let end = memchr::memchr(b'\n', bytes);
                let n = end.map_or(bytes.len(), |at| at.saturating_add(1));
                self.consume(n);
                self.passed();
                self.hint = 0;
                if end.is_none() {
                    return;
                }
                self.discarding = false;
            }
            let bytes = if self.under.in_body {
                self.body.bytes()
            } else {
                self.shared.bytes()
            };
            let length = bytes.len();
            match ndjson::scan(bytes, self.scanned, self.limits.max_message) {
                ndjson::Line::More => {
                    self.scanned = length;
                    self.hint = u64::from(length > 0);
                    return;
                }
                ndjson::Line::Whole { taken, length } => {
                    self.whole_value(taken, length);
                    return;
                }
                ndjson::Line::Blank { taken } => {
                    self.blank = self.blank.saturating_add(1);
                    self.pass_line(taken);
                }
                ndjson::Line::TooLong { taken } => {
                    let offset = self.begun();
                    if !self.limits.skip_bad_lines {
                        let needed = self.limits.max_message.saturating_add(1);
                        self.fault(State::TooBig { offset, needed }, "");
                        return;
                    }
                    self.note_skipped(offset);
                    self.discarding = taken.is_none();
                    self.pass_line(taken.unwrap_or(length));
                }
            }
        }
    }

    /// Makes a message of a line without an end.
    pub(super) fn last_line(&mut self) {
        let bytes = self.unfinished();
        let (total, length) = (bytes.len(), ndjson::content(bytes).len());
        self.whole_value(total, length);
    }
}
