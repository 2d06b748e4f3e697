//! LZ4 frames, as defined in the LZ4 Frame Format Description 1.6.4: written by liblz4, read
//! by our own frame layer over the block decoder of `lz4_flex`, which has no `unsafe`.

use std::io::Write;

use lz4::liblz4::BlockChecksum;
use lz4::{BlockMode, BlockSize, ContentChecksum, EncoderBuilder};
use lz4_flex::block::{decompress_into_with_dict, DecompressError};
use xxhash_rust::xxh32::{xxh32, Xxh32};

use crate::compress::input::{ends, Input, Slice, Source};
use crate::compress::output::Output;
use crate::compress::{believed_bytes, Kind};
use crate::{Error, ErrorKind, Result};


const MAGIC_BYTES: usize = 4;
const LEGACY_MAGIC: &[u8] = b"\x02\x21\x4c\x18";
/// What follows the first byte, 50 to 5F, of a skippable frame's magic number.
const SKIPPABLE_MAGIC_END: &[u8] = b"\x2a\x4d\x18";
/// Legacy frames: every block but the last holds this many plain bytes.
const LEGACY_BLOCK_BYTES: usize = 8 << 20;
/// `LZ4_compressBound` of such a block: what no compressed one can exceed.
const LEGACY_BOUND: u32 = (8 << 20) + (8 << 20) / 255 + 16;
/// No block of LZ4 holds more plain bytes per stored byte.
const BEST_RATIO: usize = 255;
/// How far back a linked block may refer.
const WINDOW_BYTES: usize = 64 << 10;
/// High bit of a block's size: stored as it is.
const STORED: u32 = 1 << 31;

pub(in crate::compress) fn decode(data: &[u8], output: &mut Output<'_>) -> Result<()> {
    let mut units = Units::new(Slice::new(data));
    units.stored_bytes = Some(data.len());
    while units.next(output)? {}
    Ok(())
}

/// The content size of the first frame, as its header has it.
pub(in crate::compress) fn expect(data: &[u8]) -> Option<u64> {
    let (head, rest) = data.split_at_checked(6)?;
    let [0x04, 0x22, 0x4d, 0x18, flags, _] = head else {
        return None;
    };
    let size = rest.first_chunk::<8>()?;
    (flags & 0b1000 != 0).then_some(u64::from_le_bytes(*size))
}


/// What the header of a frame says, and what was decoded of the frame.
struct Frame {
    start: u64,
    independent: bool,
    block_checksums: bool,
    content_checksum: Option<Xxh32>,
    content_size: Option<u64>,
    block_bytes: usize,
    made: u64,
}

enum State {
    Between,
    Frame(Frame),
    /// A legacy frame: whether its last block was seen (the first short one), and its plain bytes.
    Legacy {
        last: bool,
        made: u32,
    },
}

/// The blocks of all frames of an input, decoded one after the other.
struct Units<I> {
    input: I,
    state: State,
    /// How long the whole input is, where that is known.
    stored_bytes: Option<usize>,
}

impl<I: Input> Units<I> {
    fn new(input: I) -> Self {
        Self {
            input,
            state: State::Between,
            stored_bytes: None,
        }
    }

    /// Decodes one unit (a header, a block, an end mark) behind `output`; false at the end.
    fn next(&mut self, output: &mut Output<'_>) -> Result<bool> {
        self.state = match std::mem::replace(&mut self.state, State::Between) {
            State::Between => match self.begin(output)? {
                Some(state) => state,
                None => return Ok(false),
            },
            State::Frame(frame) => self.frame_block(frame, output)?,
            State::Legacy { last, made } => self.legacy_block(last, made, output)?,
        };
        Ok(true)
    }

    fn begin(&mut self, output: &mut Output<'_>) -> Result<Option<State>> {
        let start = self.input.offset();
        let head = self.input.ahead(MAGIC_BYTES)?;
        if head.is_empty() && start > 0 {
            return Ok(None);
        }
        let begun = [Kind::Lz4.magic(), LEGACY_MAGIC]
            .iter()
            .any(|magic| magic.starts_with(head));
        if !begun && !is_skippable(head) {
            return Err(no_frame(start));
        }
        match self.input.array::<MAGIC_BYTES>()? {
            [0x04, ..] => self.header(output).map(State::Frame).map(Some),
            [0x02, ..] => Ok(Some(State::Legacy {
                last: false,
                made: 0,
            })),
            _ => {
                let size = u32::from_le_bytes(self.input.array()?);
                self.skip(u64::from(size))?;
                Ok(Some(State::Between))
            }
        }
    }

    fn skip(&mut self, size: u64) -> Result<()> {
        let end = self.input.offset().saturating_add(size);
        loop {
            let left = end.saturating_sub(self.input.offset());
            if left == 0 {
                return Ok(());
            }
            let held = self.input.some()?.len();
            if held == 0 {
                let text = "the input ends inside a skippable frame";
                let at = self.input.offset();
                return Err(Error::new(ErrorKind::Truncated, text).with_offset(at));
            }
            self.input
                .advance(usize::try_from(left).unwrap_or(held).min(held));
        }
    }

    fn header(&mut self, output: &mut Output<'_>) -> Result<Frame> {
        let start = self.input.offset();
        let [flags, block] = self.input.array()?;
        if flags >> 6 != 1 || flags & 0b10 != 0 || block & 0b1000_1111 != 0 {
            let text = "a frame of another version, or with reserved bits set";
            return Err(unsupported(text, start));
        }
        let block_bytes = match block >> 4 {
            4 => 64 << 10,
            5 => 256 << 10,
            6 => 1 << 20,
            7 => 4 << 20,
            other => {
                let text = format!("no block size {other}; 4 to 7 exist");
                return Err(malformed(text, start));
            }
        };
        let mut described = vec![flags, block];
        let mut content_size = None;
        if flags & 0b1000 != 0 {
            let size = self.input.array::<8>()?;
            described.extend(size);
            content_size = Some(u64::from_le_bytes(size));
        }
        if flags & 1 != 0 {
            return Err(unsupported("the frame needs a dictionary", start));
        }
        let at = self.input.offset();
        let [_, expected, ..] = xxh32(&described, 0).to_le_bytes();
        if self.input.array()? != [expected] {
            return Err(mismatch("the header's checksum does not match", at));
        }
        if let (Some(size), Some(stored)) = (content_size, self.stored_bytes) {
            output.check(size, start)?;
            output.place(believed_bytes(size, stored), start)?;
        }
        Ok(Frame {
            start,
            independent: flags & 0b10_0000 != 0,
            block_checksums: flags & 0b1_0000 != 0,
            content_checksum: (flags & 0b100 != 0).then(|| Xxh32::new(0)),
            content_size,
            block_bytes,
            made: 0,
        })
    }

    fn frame_block(&mut self, mut frame: Frame, output: &mut Output<'_>) -> Result<State> {
        let at = self.input.offset();
        let size = u32::from_le_bytes(self.input.array()?);
        if size == 0 {
            self.frame_end(&frame)?;
            return Ok(State::Between);
        }
        let size_bytes = usize::try_from(size & !STORED).unwrap_or(usize::MAX);
        if size_bytes > frame.block_bytes {
            return Err(malformed("a block above the frame's block size", at));
        }
        let from = output.len();
        let reach = if frame.independent { 0 } else { frame.made };
        let reach = usize::try_from(reach).unwrap_or(WINDOW_BYTES);
        let window = reach.min(WINDOW_BYTES);
        let stored = stored(&mut self.input, size_bytes)?;
        if size & STORED == 0 {
            // With the frame's own size the last block needs no place that is never filled.
            let left = frame
                .content_size
                .map(|size| size.saturating_sub(frame.made));
            let left = left.and_then(|left| usize::try_from(left).ok());
            let most = frame.block_bytes.min(left.unwrap_or(usize::MAX));
            block(stored, most, window, at, output)?;
        } else {
            output.copy(stored, at)?;
        }
        let expected = xxh32_if(frame.block_checksums, stored);
        self.input.advance(size_bytes);
        if let Some(expected) = expected {
            if u32::from_le_bytes(self.input.array()?) != expected {
                return Err(mismatch("the block's checksum does not match", at));
            }
        }
        let made = output.since(from);
        frame.made = frame.made.saturating_add(made.len() as u64);
        if let Some(checksum) = &mut frame.content_checksum {
            checksum.update(made);
        }
        Ok(State::Frame(frame))
    }

    fn frame_end(&mut self, frame: &Frame) -> Result<()> {
        let made = frame.made;
        if let Some(size) = frame.content_size.filter(|&size| size != made) {
            let text = format!("the frame holds {made} bytes, its header says {size}");
            return Err(malformed(text, frame.start));
        }
        let at = self.input.offset();
        if let Some(checksum) = &frame.content_checksum {
            if u32::from_le_bytes(self.input.array()?) != checksum.digest() {
                return Err(mismatch("the checksum of the content does not match", at));
            }
        }
        Ok(())
    }

    /// A legacy frame has no end mark: it ends with the input or where a magic number is. The
    /// plain size modulo 2^32 may follow, which Linux adds to its kernel images.
    fn legacy_block(&mut self, last: bool, made: u32, output: &mut Output<'_>) -> Result<State> {
        let at = self.input.offset();
        let head = self.input.ahead(MAGIC_BYTES)?;
        if head.is_empty() || head == Kind::Lz4.magic() || head == LEGACY_MAGIC {
            return Ok(State::Between);
        }
        if head.len() == MAGIC_BYTES && is_skippable(head) {
            return Ok(State::Between);
        }
        let size = u32::from_le_bytes(self.input.array()?);
        if last && size == made {
            return Ok(State::Between);
        }
        if size > LEGACY_BOUND || last {
            let text = "no legacy block can be this long, or follow a short one";
            return Err(malformed(text, at));
        }
        let from = output.len();
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let stored = stored(&mut self.input, size)?;
        block(stored, LEGACY_BLOCK_BYTES, 0, at, output)?;
        self.input.advance(size);
        let block_made = output.len().saturating_sub(from);
        let block_bytes = u32::try_from(block_made).unwrap_or(u32::MAX);
        Ok(State::Legacy {
            last: block_made < LEGACY_BLOCK_BYTES,
            made: made.wrapping_add(block_bytes),
        })
    }
}

/// Blocks of a stream: `output` holds what was not given out, and the window before it.
struct Blocks<I> {
    units: Units<I>,
    output: Output<'static>,
    given: usize,
}

trait Decode { fn decode(&mut self, into: &mut [u8]) -> Result<usize>; }
impl<I: Input + Send> Decode for Blocks<I> {
    fn decode(&mut self, into: &mut [u8]) -> Result<usize> {
        while self.output.len() == self.given {
            self.output.forget_all_but(WINDOW_BYTES);
            self.given = self.output.len();
            if !self.units.next(&mut self.output)? {
                return Ok(0);
            }
        }
        let mut rest = self.output.since(self.given);
        let read = std::io::Read::read(&mut rest, into).unwrap_or(0);
        self.given = self.given.saturating_add(read);
        Ok(read)
    }
}

/// Decodes one block behind `output`, of whose end `window` bytes may be referred to.
fn block(
    stored: &[u8],
    block_bytes: usize,
    window: usize,
    at: u64,
    output: &mut Output<'_>,
) -> Result<()> {
    let most = block_bytes.min(stored.len().saturating_mul(BEST_RATIO));
    let allowed = usize::try_from(output.room()).unwrap_or(usize::MAX);
    let size = most.min(allowed);
    let (done, place) = output.place(size, at)?;
    let window = done.get(done.len().saturating_sub(window)..);
    let place = place.get_mut(..size).unwrap_or_default();
    match decompress_into_with_dict(stored, place, window.unwrap_or_default()) {
        Ok(made) => {
            output.commit(made);
            Ok(())
        }
        Err(DecompressError::OutputTooSmall { .. }) if size < most => Err(output.exceeded(at)),
        Err(error) => Err(malformed(format!("a damaged block: {error}"), at)),
    }
}

/// The stored bytes of a block, which stay ahead until they were used.
fn stored<I: Input>(input: &mut I, size: usize) -> Result<&[u8]> {
    let offset = input.offset();
    let stored = input.ahead(size)?;
    if stored.len() < size {
        return Err(ends(offset, stored.len(), size));
    }
    Ok(stored)
}

fn xxh32_if(wanted: bool, bytes: &[u8]) -> Option<u32> {
    wanted.then(|| xxh32(bytes, 0))
}

/// Whether `head` is, or begins, the magic number of a skippable frame.
fn is_skippable(head: &[u8]) -> bool {
    let [first, rest @ ..] = head else {
        return false;
    };
    matches!(first, 0x50..=0x5f) && SKIPPABLE_MAGIC_END.starts_with(rest)
}

fn no_frame(start: u64) -> Error {
    let text = if start == 0 {
        "not an lz4 file: it does not start with 04 22 4D 18"
    } else {
        "bytes after the last frame that are no lz4 frame"
    };
    malformed(text, start)
}

fn malformed(text: impl Into<String>, at: u64) -> Error {
    Error::new(ErrorKind::Malformed, text).with_offset(at)
}

fn unsupported(text: &str, at: u64) -> Error {
    Error::new(ErrorKind::Unsupported, text).with_offset(at)
}

fn mismatch(text: &str, at: u64) -> Error {
    Error::new(ErrorKind::ChecksumMismatch, text).with_offset(at)
}
