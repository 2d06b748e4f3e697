//! Finding the blocks of a stream, so that independent ones can be decoded in parallel.

use std::collections::VecDeque;
use std::sync::Arc;

use xxhash_rust::xxh32::xxh32;

use super::decode::{block_size, Content, Frame, WINDOW_BYTES};
use super::header::{Begin, Header};
use super::index::{is_marked, Run};
use super::unit::{Decoder, CHECKED, LINKED};
use super::{malformed, mismatch, BEST_RATIO, STORED, WORD_BYTES};
use crate::compress::container::{Listed, Make, Step, Unit, UnitDecoder, Walker, END_MARK};
use crate::compress::input::{ends, Input};
use crate::compress::output::Output;
use crate::compress::seek_table::Entry;
use crate::compress::{Completeness, ReadOptions, Trailing};
use crate::{Error, ErrorKind, Result};

/// The blocks of all frames of a stream.
pub(in crate::compress) struct Frames {
    trailing: Trailing,
    read_ahead: bool,
    state: State,
    run: Run,
    /// Frames of independent blocks whose end was not delivered yet, in order.
    open: VecDeque<Content>,
    began: bool,
    proof: Proof,
}

/// What is known of the end.
#[derive(Default)]
pub(super) struct Proof {
    begun: u64,
    legacy: bool,
    /// Whether an index that covers all since the last one was the last thing seen.
    covered: bool,
    /// Whether such an index was missing where a frame follows another.
    uncovered: bool,
}

enum State {
    Between,
    /// In a frame of independent blocks; whether none of them came yet.
    Blocks {
        header: Header,
        first: bool,
    },
    Serial(Box<Serial>),
}

/// A frame decoded block after block: `output` holds what was not given out, and the window.
struct Serial {
    frame: Frame,
    output: Output<'static>,
    given: usize,
}

impl Frames {
    pub(in crate::compress) fn new(options: &ReadOptions) -> Self {
        Self {
            trailing: options.trailing,
            read_ahead: options.read_ahead,
            state: State::Between,
            run: Run::default(),
            open: VecDeque::new(),
            began: false,
            proof: Proof::default(),
        }
    }

    fn begin(&mut self, input: &mut dyn Input) -> Result<Step> {
        let begin = match Begin::ahead(input) {
            Err(error) if self.began && self.stops_at(&error) => return Ok(Step::End),
            Ok(None) => return Ok(Step::End),
            Ok(Some(begin)) => begin,
            Err(error) => return Err(error),
        };
        if begin == Begin::Skippable {
            return self.skippable(input);
        }
        self.began = true;
        self.proof.frame(begin == Begin::Legacy);
        let start = input.offset();
        let state = match begin {
            Begin::Legacy => Serial::begin(Frame::legacy(input)?),
            _ => self.header(input)?,
        };
        self.run.part(input.offset().saturating_sub(start), Some(0));
        self.state = state;
        self.step(input)
    }

    /// Whether the bytes of no frame are where reading should stop.
    fn stops_at(&self, error: &Error) -> bool {
        let no_frame = matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Truncated);
        no_frame && self.trailing == Trailing::Stop
    }

    fn header(&mut self, input: &mut dyn Input) -> Result<State> {
        let header = Header::read(input)?;
        if !header.independent {
            return Ok(Serial::begin(Frame::new(header)));
        }
        self.open.push_back(Content::new(&header));
        let first = true;
        Ok(State::Blocks { header, first })
    }

    fn skippable(&mut self, input: &mut dyn Input) -> Result<Step> {
        if is_marked(input)? && !self.run.is_settled() {
            return Ok(Step::Wait);
        }
        self.began = true;
        // Other skippable frames take nothing from what an index before them proves.
        let covers = self.run.skippable(input)?;
        self.proof.cover(covers);
        Ok(Step::Passed)
    }

    /// The block, or end mark, ahead.
    fn block(&mut self, header: &Header, first: bool, input: &mut dyn Input) -> Result<Step> {
        let start = input.offset();
        let word = word_at(input, 0)?;
        if word == 0 {
            return self.end_mark(header, input);
        }
        let size = block_size(word, header, start)?;
        let stored = WORD_BYTES
            .saturating_add(size)
            .saturating_add(if header.block_checksums {
                WORD_BYTES
            } else {
                0
            });
        let held = input.has(stored)?;
        if held < stored {
            return Err(ends(start, held, stored));
        }
        if size == 0 {
            return self.empty_block(start, stored, input);
        }
        let claim = if first {
            self.lone_claim(header, stored, input)?
        } else {
            None
        };
        let most = if word & STORED == 0 {
            size.saturating_mul(BEST_RATIO)
        } else {
            size
        };
        let bound = claim.and_then(|claim| usize::try_from(claim).ok());
        let bound = bound
            .unwrap_or(header.block_bytes)
            .min(header.block_bytes)
            .min(most);
        self.state = State::Blocks {
            header: *header,
            first: false,
        };
        self.run.part(stored as u64, None);
        Ok(Step::Unit(Unit {
            start,
            stored,
            claim,
            bound,
            tag: if header.block_checksums { CHECKED } else { 0 },
        }))
    }

    /// Goes past a block without bytes, which is no end mark.
    fn empty_block(&mut self, at: u64, stored: usize, input: &mut dyn Input) -> Result<Step> {
        if stored > WORD_BYTES && word_at(input, WORD_BYTES)? != xxh32(&[], 0) {
            return Err(mismatch("the block's checksum does not match", at));
        }
        input.advance(stored);
        self.run.part(stored as u64, Some(0));
        Ok(Step::Passed)
    }

    /// The plain bytes of a frame's first block, if it is the only one. That is not looked for
    /// where what follows may be long in coming.
    fn lone_claim(
        &self,
        header: &Header,
        stored: usize,
        input: &mut dyn Input,
    ) -> Result<Option<u64>> {
        let fits = |size: &u64| *size <= header.block_bytes as u64;
        let claim = header.content_size.filter(fits).filter(|_| self.read_ahead);
        if claim.is_none() {
            return Ok(None);
        }
        let lone = input.peek(stored, WORD_BYTES)? == [0; WORD_BYTES];
        Ok(claim.filter(|_| lone))
    }

    /// The end mark goes with the blocks, so that the content is whole when it is looked at.
    fn end_mark(&mut self, header: &Header, input: &mut dyn Input) -> Result<Step> {
        let start = input.offset();
        let (stored, expected) = if header.content_checksum {
            (2 * WORD_BYTES, word_at(input, WORD_BYTES)?)
        } else {
            (WORD_BYTES, 0)
        };
        self.state = State::Between;
        self.run.part(stored as u64, Some(0));
        Ok(Step::Unit(Unit {
            start,
            stored,
            claim: Some(0),
            bound: 0,
            tag: END_MARK | u64::from(expected),
        }))
    }
}

impl Walker for Frames {
    fn decoder(&self) -> Arc<Make<dyn UnitDecoder>> {
        Arc::new(|| Ok(Box::new(Decoder)))
    }

    fn step(&mut self, input: &mut dyn Input) -> Result<Step> {
        match &self.state {
            State::Between => self.begin(input),
            State::Serial(_) => Ok(Step::Serial),
            State::Blocks { header, first } => {
                let (header, first) = (*header, *first);
                self.block(&header, first, input)
            }
        }
    }

    fn serial(&mut self, input: &mut dyn Input, into: &mut [u8]) -> Result<usize> {
        let State::Serial(serial) = &mut self.state else {
            return Ok(0);
        };
        let made = serial.decode(input, into, &mut self.run)?;
        if made == 0 {
            self.state = State::Between;
        }
        Ok(made)
    }

    fn delivered(&mut self, unit: &Unit, plain: &[u8]) -> Result<()> {
        if unit.tag & END_MARK == 0 {
            self.run.decoded(plain.len());
            return match self.open.front_mut() {
                Some(content) => content.update(plain),
                None => Ok(()),
            };
        }
        let expected = u32::try_from(unit.tag & u64::from(u32::MAX)).unwrap_or_default();
        match self.open.pop_front() {
            Some(content) => content.end(expected, unit.start),
            None => Ok(()),
        }
    }

    fn listed(&self, entry: Entry, start: u64, head: &[u8]) -> Result<Listed> {
        let other = || malformed("an index of other blocks than there are", start);
        let (header, word) = match (&self.state, head.first_chunk::<WORD_BYTES>()) {
            (State::Blocks { header, .. }, Some(&word)) => (header, u32::from_le_bytes(word)),
            // Linked blocks: their decoder refuses them.
            _ if entry.plain == 0 => return Ok(Listed::Nothing),
            _ => {
                let tag = LINKED;
                let unit = entry.unit(start);
                return Ok(Listed::Unit(Unit { tag, ..unit }));
            }
        };
        // The frame's header, its end mark, or a skippable frame.
        if start == header.start || word == 0 || crate::compress::sniff::is_skippable(head) {
            return match entry.plain {
                0 => Ok(Listed::Nothing),
                _ => Err(other()),
            };
        }
        let size = usize::try_from(word & !STORED).unwrap_or(usize::MAX);
        let (checksum, tag) = if header.block_checksums {
            (WORD_BYTES, CHECKED)
        } else {
            (0, 0)
        };
        let unit = entry.unit(start);
        let whole = WORD_BYTES.saturating_add(size).saturating_add(checksum);
        let fits = word & STORED == 0 || unit.bound == size;
        if unit.stored != whole || unit.bound > header.block_bytes || !fits {
            return Err(other());
        }
        let unit = Unit { tag, ..unit };
        Ok(
            match word & STORED == 0 && unit.bound < header.block_bytes {
                true => Listed::Doubtful(unit),
                false if entry.plain == 0 => Listed::Nothing,
                false => Listed::Unit(unit),
            },
        )
    }

    fn completeness(&self) -> Completeness {
        match self.state {
            State::Between => self.proof.completeness(),
            // Its end mark did not come.
            _ => Completeness::Unproven,
        }
    }
}

impl Proof {
    pub(super) fn frame(&mut self, legacy: bool) {
        self.uncovered |= self.begun > 0 && !self.covered;
        self.covered = false;
        self.legacy |= legacy;
        self.begun = self.begun.saturating_add(1);
    }

    /// A skippable frame went by, and whether it is an index of all since the last one.
    pub(super) fn cover(&mut self, covers: bool) {
        self.covered |= covers;
    }

    /// Whether indexes cover all frames.
    pub(super) fn is_covered(&self) -> bool {
        self.begun > 0 && self.covered && !self.uncovered
    }

    pub(super) fn completeness(&self) -> Completeness {
        let alone = self.begun == 1 && !self.legacy;
        if alone || self.is_covered() {
            Completeness::Proven
        } else {
            Completeness::Unproven
        }
    }
}

impl Serial {
    fn begin(frame: Frame) -> State {
        State::Serial(Box::new(Self {
            frame,
            output: Output::new(None),
            given: 0,
        }))
    }

    /// Fills the start of `into`; 0 only where the frame ended.
    fn decode(&mut self, input: &mut dyn Input, into: &mut [u8], run: &mut Run) -> Result<usize> {
        while self.output.len() == self.given {
            self.output.forget_all_but(WINDOW_BYTES);
            self.given = self.output.len();
            if !self.frame.next(input, &mut self.output, run)? {
                return Ok(0);
            }
        }
        let rest = self.output.since(self.given);
        let size = rest.len().min(into.len());
        if let (Some(from), Some(to)) = (rest.get(..size), into.get_mut(..size)) {
            to.copy_from_slice(from);
        }
        self.given = self.given.saturating_add(size);
        Ok(size)
    }
}

/// The word `skipped` bytes ahead.
fn word_at(input: &mut dyn Input, skipped: usize) -> Result<u32> {
    let offset = input.offset();
    let end = skipped.saturating_add(WORD_BYTES);
    match input.peek(skipped, WORD_BYTES)?.first_chunk::<WORD_BYTES>() {
        Some(&word) => Ok(u32::from_le_bytes(word)),
        None => Err(ends(offset, input.has(end)?, end)),
    }
}
