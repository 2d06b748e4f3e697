//! Finding the frames of a stream, so that they can be decoded in parallel.

use std::sync::Arc;

use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use super::blocks::Blocks;
use super::decode::{check_content_size, check_head, check_window, failed, new_context, truncated};
use super::header::{Block, Header, LONGEST_BYTES};
use crate::compress::container::{Listed, Make, Step, Unit, UnitDecoder, Walker};
use crate::compress::input::{skip, Input};
use crate::compress::seek_table::{self, Check, Entry};
use crate::compress::sniff::is_skippable;
use crate::compress::{Completeness, Kind, ReadOptions, Trailing};
use crate::{Error, ErrorKind, Result};

/// The frames of a stream.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, not a state"
)]
pub(in crate::compress) struct Frames {
    max_frame: u64,
    max_window: u64,
    /// Whether bytes are wanted as soon as they can be decoded, not when a frame is whole.
    live: bool,
    trailing: Trailing,
    /// Frames since the last seek table, to hold the next one against.
    run: Check,
    /// Frames in all, and whether a lone one could be the first chunk of a longer file.
    seen: u64,
    suspect: bool,
    /// Whether a table that covers all frames before it was the last thing seen.
    covered: bool,
    chunks: Chunks,
    serial: Option<Serial>,
    began: bool,
}

/// Whether the frames since the last table could be chunks of ours: equal powers of two, the
/// last one maybe less.
#[derive(Default)]
struct Chunks {
    /// The first one's size; None before one came.
    size: Option<u64>,
    ended: bool,
    other: bool,
}

impl Chunks {
    fn push(&mut self, claim: Option<u64>) {
        let size = self.size.or(claim);
        let sized = claim.is_some_and(|claim| size >= Some(claim));
        self.other |= self.ended || !sized || !size.is_some_and(is_chunk);
        self.ended |= claim < size;
        self.size = size;
    }

    fn are_ours(&self) -> bool {
        self.size.is_some() && !self.other
    }
}

/// Whether so many plain bytes are a chunk that `WriteOptions::chunk_size` allows.
fn is_chunk(size: u64) -> bool {
    size.is_power_of_two() && (64 << 10..=64 << 20).contains(&size)
}

/// A frame that is decoded as it comes, since it is too long to be held.
struct Serial {
    context: DCtx<'static>,
    blocks: Blocks,
    start: u64,
    claim: Option<u64>,
    made: u64,
    ended: bool,
}

impl Frames {
    pub(in crate::compress) fn new(options: &ReadOptions) -> Self {
        Self {
            max_frame: options.max_frame as u64,
            max_window: options.max_window,
            live: !options.read_ahead,
            trailing: options.trailing,
            run: Check::of(Kind::Zstd),
            seen: 0,
            suspect: false,
            covered: true,
            chunks: Chunks::default(),
            serial: None,
            began: false,
        }
    }

    /// Walks over the frame ahead: a unit, or serial if it is too long to be held whole.
    fn frame(&mut self, input: &mut dyn Input) -> Result<Step> {
        let start = input.offset();
        let at = |error: Error| error.with_offset(start);
        let head = input.ahead(LONGEST_BYTES)?;
        let end = start.saturating_add(head.len() as u64);
        let Some(header) = Header::read(head).map_err(at)? else {
            return Err(truncated(start, end));
        };
        check_window(&header, self.max_window, start)?;
        let long = header
            .content_size
            .is_some_and(|size| size > self.max_frame);
        if long || self.live {
            return self.begin_serial(start, &header);
        }
        let Some((stored, bound)) = measure(input, &header, self.max_frame)? else {
            return self.begin_serial(start, &header);
        };
        self.count(stored as u64, header.content_size);
        let bound = header.content_size.unwrap_or(bound);
        Ok(Step::Unit(Unit {
            start,
            stored,
            claim: header.content_size,
            bound: usize::try_from(bound).unwrap_or(usize::MAX),
            tag: 0,
        }))
    }

    fn count(&mut self, stored: u64, claim: Option<u64>) {
        self.seen = self.seen.saturating_add(1);
        self.covered = false;
        self.suspect = claim.is_some_and(|size| size >= 64 << 10 && size.is_power_of_two());
        self.chunks.push(claim);
        self.run.unit(stored, claim);
    }

    fn begin_serial(&mut self, start: u64, header: &Header) -> Result<Step> {
        let mut context = new_context()?;
        let log = header
            .window
            .max(1 << 10)
            .next_power_of_two()
            .trailing_zeros();
        context
            .set_parameter(DParameter::WindowLogMax(log.min(31)))
            .map_err(|code| failed(code, start))?;
        self.serial = Some(Serial {
            context,
            blocks: Blocks::new(header, start),
            start,
            claim: header.content_size,
            made: 0,
            ended: false,
        });
        Ok(Step::Serial)
    }

    fn skippable(&mut self, input: &mut dyn Input) -> Result<Step> {
        let [a, b, c, d] = array::<4>(input)?;
        let size = u32::from_le_bytes(array::<4>(input)?);
        if u32::from_le_bytes([a, b, c, d]) == seek_table::MAGIC {
            self.covered = self.run.table(input, size)? && self.seen > 0;
            if self.covered {
                self.chunks = Chunks::default();
            }
        } else {
            skip(input, u64::from(size))?;
            self.run.skipped(u64::from(size).saturating_add(8));
        }
        Ok(Step::Passed)
    }
}

impl Walker for Frames {
    fn decoder(&self) -> Arc<Make<dyn UnitDecoder>> {
        Arc::new(|| Ok(Box::new(Decoder(new_context()?))))
    }

    fn step(&mut self, input: &mut dyn Input) -> Result<Step> {
        let start = input.offset();
        let head = input.ahead(4)?;
        if head.is_empty() && (self.began || start > 0) {
            return Ok(Step::End);
        }
        let skippable = match check_head(head, start) {
            Err(_) if self.began && self.trailing == Trailing::Stop => return Ok(Step::End),
            other => other?,
        };
        self.began = true;
        if skippable {
            self.skippable(input)
        } else {
            self.frame(input)
        }
    }

    fn serial(&mut self, input: &mut dyn Input, into: &mut [u8]) -> Result<usize> {
        let Some(serial) = &mut self.serial else {
            return Ok(0);
        };
        if !serial.ended {
            let made = serial.decode(input, into)?;
            if made > 0 {
                return Ok(made);
            }
        }
        let stored = input.offset().saturating_sub(serial.start);
        let (made, claim) = (serial.made, serial.claim);
        self.serial = None;
        self.count(stored, Some(made));
        // A chunk of ours says its size; a frame that does not is no first of several.
        self.suspect &= claim.is_some();
        self.chunks.other |= claim.is_none();
        Ok(0)
    }

    fn delivered(&mut self, _unit: &Unit, _plain: &[u8]) -> Result<()> {
        Ok(())
    }

    fn listed(&self, entry: Entry, start: u64, head: &[u8]) -> Result<Listed> {
        let claim = if is_skippable(head) {
            Some(0)
        } else {
            check_head(head.get(..4).unwrap_or(head), start)?;
            Header::read(head)?.and_then(|header| header.content_size)
        };
        if claim.is_some_and(|claim| claim != u64::from(entry.plain)) {
            let text = "a seek table of frames that hold other than it says";
            return Err(Error::new(ErrorKind::Malformed, text));
        }
        // A frame that does not say its size is believed to hold what is listed, until decoded.
        Ok(match (entry.plain, claim) {
            (0, Some(_)) => Listed::Nothing,
            (0, None) => Listed::Doubtful(entry.unit(start)),
            _ => Listed::Unit(entry.unit(start)),
        })
    }

    fn completeness(&self) -> Completeness {
        let proven = self.covered && self.seen > 0 || self.seen == 1 && !self.suspect;
        if proven {
            Completeness::Proven
        } else {
            Completeness::Unproven
        }
    }

    fn looks_cut(&self) -> bool {
        self.completeness() == Completeness::Unproven && self.chunks.are_ours()
    }
}

impl Serial {
    /// Fills the start of `into`; 0 only where the frame ended.
    fn decode(&mut self, input: &mut dyn Input, into: &mut [u8]) -> Result<usize> {
        loop {
            let offset = input.offset();
            let held = input.some()?;
            let ended = held.is_empty();
            let (good, bad) = self.blocks.check(held, offset);
            let mut stored = InBuffer::around(held.get(..good).unwrap_or(held));
            let mut place = OutBuffer::around(&mut *into);
            let hint = self.context.decompress_stream(&mut place, &mut stored);
            let hint = hint.map_err(|code| failed(code, self.start))?;
            let (made, taken) = (place.pos(), stored.pos);
            input.advance(taken);
            self.made = self.made.saturating_add(made as u64);
            // The hint is 0 only where the frame ended and all of it was given out.
            if hint == 0 {
                self.ended = true;
                check_content_size(self.claim, self.made, self.start)?;
                return Ok(made);
            }
            if made > 0 {
                return Ok(made);
            }
            if let (0, Some(bad)) = (taken, bad) {
                return Err(bad);
            }
            if ended {
                return Err(truncated(self.start, input.offset()));
            }
        }
    }
}

/// The stored bytes of the frame ahead, and the most plain ones that its blocks can hold; None
/// if either is above `most`.
///
/// # Errors
/// `Malformed` for blocks that cannot be, or hold less than the header claims; `Truncated`; `Io`.
pub(super) fn measure(
    input: &mut dyn Input,
    header: &Header,
    most: u64,
) -> Result<Option<(usize, u64)>> {
    let start = input.offset();
    let mut stored = header.bytes;
    let mut bound = 0_u64;
    loop {
        let end = stored.saturating_add(3);
        let Some(&bytes) = input.peek(stored, 3)?.first_chunk::<3>() else {
            let held = input.has(end)? as u64;
            return Err(truncated(start, start.saturating_add(held)));
        };
        let at = start.saturating_add(stored as u64);
        let block = Block::read(bytes, header.most_block()).map_err(|e| e.with_offset(at))?;
        stored = end.saturating_add(block.stored);
        bound = bound.saturating_add(block.bound);
        if bound > most || stored as u64 > most {
            return Ok(None);
        }
        if block.last {
            break;
        }
    }
    stored = stored.saturating_add(if header.checksum { 4 } else { 0 });
    let held = input.has(stored)?;
    if held < stored {
        return Err(truncated(start, start.saturating_add(held as u64)));
    }
    if header.content_size.is_some_and(|size| size > bound) {
        let text = "the header claims more than the frame's blocks can hold";
        return Err(Error::new(ErrorKind::Malformed, text).with_offset(start));
    }
    Ok(Some((stored, bound)))
}

/// Decodes whole frames.
struct Decoder(DCtx<'static>);

impl UnitDecoder for Decoder {
    fn decode(&mut self, unit: &Unit, stored: &[u8], plain: &mut Vec<u8>) -> Result<()> {
        plain.try_reserve_exact(unit.bound).map_err(|_| {
            let text = format!("no memory for a frame of {} bytes", unit.bound);
            Error::new(ErrorKind::Limit, text).with_offset(unit.start)
        })?;
        let result = self
            .0
            .decompress(plain, stored)
            .map_err(|code| failed(code, unit.start))
            .and_then(|made| check_content_size(unit.claim, made as u64, unit.start));
        if result.is_err() {
            plain.clear();
        }
        result
    }
}

fn array<const N: usize>(input: &mut dyn Input) -> Result<[u8; N]> {
    let offset = input.offset();
    let ahead = input.ahead(N)?;
    let Some(array) = ahead.first_chunk::<N>().copied() else {
        return Err(crate::compress::input::ends(offset, ahead.len(), N));
    };
    input.advance(N);
    Ok(array)
}
