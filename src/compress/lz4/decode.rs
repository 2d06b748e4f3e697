//! Blocks decoded one after the other: those of a buffer, of linked and of legacy frames.

use lz4_flex::block::{decompress_into_with_dict, DecompressError};
use xxhash_rust::xxh32::{xxh32, Xxh32};

use super::header::{self, Begin, Header};
use super::index::Run;
use super::{array, malformed, mismatch, BEST_RATIO, STORED};
use crate::compress::believed_bytes;
use crate::compress::input::{ends, Input, Slice};
use crate::compress::output::Output;
use crate::{Error, Result};

/// Legacy frames: every block but the last holds this many plain bytes.
const LEGACY_BLOCK_BYTES: usize = 8 << 20;
/// `LZ4_compressBound` of such a block: what no compressed one can exceed.
pub(super) const LEGACY_BOUND: u32 = (8 << 20) + (8 << 20) / 255 + 16;
/// How far back a linked block may refer.
pub(super) const WINDOW_BYTES: usize = 64 << 10;

/// Decodes all frames of a buffer, on the calling thread.
pub(in crate::compress) fn decode(data: &[u8], output: &mut Output<'_>) -> Result<()> {
    let mut input = Slice::new(data);
    let mut run = Run::default();
    while let Some(begin) = Begin::ahead(&mut input)? {
        let start = input.offset();
        let mut frame = match begin {
            Begin::Skippable => {
                run.skippable(&mut input)?;
                continue;
            }
            Begin::Legacy => Frame::legacy(&mut input)?,
            Begin::Frame => {
                let header = Header::read(&mut input)?;
                if let Some(size) = header.content_size {
                    output.check(size, start)?;
                    output.place(believed_bytes(size, data.len()), start)?;
                }
                Frame::new(header)
            }
        };
        run.part(input.offset().saturating_sub(start), Some(0));
        while frame.next(&mut input, output, &mut run)? {}
    }
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

/// What was delivered of a frame, to hold its end against.
pub(super) struct Content {
    start: u64,
    size: Option<u64>,
    made: u64,
    checksum: Option<Xxh32>,
}

impl Content {
    pub(super) fn new(header: &Header) -> Self {
        Self {
            start: header.start,
            size: header.content_size,
            made: 0,
            checksum: header.content_checksum.then(|| Xxh32::new(0)),
        }
    }

    /// Takes in what a block holds.
    ///
    /// # Errors
    /// `Malformed` beyond the size that the header says.
    pub(super) fn update(&mut self, plain: &[u8]) -> Result<()> {
        self.made = self.made.saturating_add(plain.len() as u64);
        if self.size.is_some_and(|size| size < self.made) {
            return Err(self.other_size());
        }
        if let Some(checksum) = &mut self.checksum {
            checksum.update(plain);
        }
        Ok(())
    }

    /// Holds the content against its size, and against the checksum behind the end mark at
    /// `at`.
    ///
    /// # Errors
    /// `Malformed` for another size, `ChecksumMismatch`.
    pub(super) fn end(&self, expected: u32, at: u64) -> Result<()> {
        if self.size.is_some_and(|size| size != self.made) {
            return Err(self.other_size());
        }
        match &self.checksum {
            Some(checksum) if checksum.digest() != expected => {
                let text = "the checksum of the content does not match";
                Err(mismatch(text, at.saturating_add(4)))
            }
            _ => Ok(()),
        }
    }

    fn other_size(&self) -> Error {
        let (made, size) = (self.made, self.size.unwrap_or_default());
        let text = format!("the frame holds {made} bytes or more, its header says {size}");
        malformed(text, self.start)
    }
}

/// A frame whose blocks are decoded in order.
pub(super) enum Frame {
    Current {
        header: Header,
        content: Content,
    },
    /// Whether its last block was seen (the first short one), and its plain bytes modulo 2^32.
    Legacy {
        last: bool,
        made: u32,
    },
}

impl Frame {
    /// A frame whose header was gone past.
    pub(super) fn new(header: Header) -> Self {
        let content = Content::new(&header);
        Self::Current { header, content }
    }

    /// Goes past the magic number of a legacy frame.
    pub(super) fn legacy(input: &mut dyn Input) -> Result<Self> {
        header::legacy(input)?;
        Ok(Self::Legacy {
            last: false,
            made: 0,
        })
    }

    /// Decodes a block, or the end mark, behind `output`; false once the frame is over.
    pub(super) fn next(
        &mut self,
        input: &mut dyn Input,
        output: &mut Output<'_>,
        run: &mut Run,
    ) -> Result<bool> {
        let (at, from) = (input.offset(), output.len());
        let more = match self {
            Self::Current { header, content } => current_block(header, content, input, output)?,
            Self::Legacy { last, made } => legacy_block(last, made, input, output)?,
        };
        let stored = input.offset().saturating_sub(at);
        if stored > 0 {
            run.part(stored, Some(output.len().saturating_sub(from) as u64));
        }
        Ok(more)
    }
}

fn current_block(
    header: &Header,
    content: &mut Content,
    input: &mut dyn Input,
    output: &mut Output<'_>,
) -> Result<bool> {
    let at = input.offset();
    let word = u32::from_le_bytes(array(input)?);
    if word == 0 {
        let expected = match content.checksum {
            Some(_) => u32::from_le_bytes(array(input)?),
            None => 0,
        };
        return content.end(expected, at).map(|()| false);
    }
    let size = block_size(word, header, at)?;
    let from = output.len();
    let around = if header.block_checksums { 4 } else { 0 };
    let stored = stored(input, size.saturating_add(around))?;
    let (stored, checksum) = stored.split_at_checked(size).unwrap_or((stored, &[]));
    if header.block_checksums && xxh32(stored, 0).to_le_bytes() != checksum {
        return Err(mismatch("the block's checksum does not match", at));
    }
    if word & STORED == 0 {
        let reach = if header.independent { 0 } else { content.made };
        let window = usize::try_from(reach)
            .unwrap_or(WINDOW_BYTES)
            .min(WINDOW_BYTES);
        // With the frame's own size the last block needs no place that is never filled.
        let left = content.size.map(|size| size.saturating_sub(content.made));
        let left = left.and_then(|left| usize::try_from(left).ok());
        let most = header.block_bytes.min(left.unwrap_or(usize::MAX));
        block(stored, most, window, at, output)?;
    } else {
        output.copy(stored, at)?;
    }
    input.advance(size.saturating_add(around));
    content.update(output.since(from))?;
    Ok(true)
}

/// The stored bytes of a block, from its size word at `at`.
///
/// # Errors
/// `Malformed` if they are more than the frame allows.
pub(super) fn block_size(word: u32, header: &Header, at: u64) -> Result<usize> {
    let size = usize::try_from(word & !STORED).unwrap_or(usize::MAX);
    if size > header.block_bytes {
        return Err(malformed("a block above the frame's block size", at));
    }
    Ok(size)
}

/// A legacy frame has no end mark: it ends with the input or where a magic number is. The
/// plain size modulo 2^32 may follow, which Linux adds to its kernel images.
fn legacy_block(
    last: &mut bool,
    made: &mut u32,
    input: &mut dyn Input,
    output: &mut Output<'_>,
) -> Result<bool> {
    let at = input.offset();
    let head = input.ahead(4)?;
    if head.is_empty() || Begin::of(head).is_some() {
        return Ok(false);
    }
    let size = u32::from_le_bytes(array(input)?);
    if *last && size == *made {
        return Ok(false);
    }
    if size > LEGACY_BOUND || *last {
        let text = "no legacy block can be this long, or follow a short one";
        return Err(malformed(text, at));
    }
    let from = output.len();
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    block(stored(input, size)?, LEGACY_BLOCK_BYTES, 0, at, output)?;
    input.advance(size);
    let plain = output.len().saturating_sub(from);
    *last = plain < LEGACY_BLOCK_BYTES;
    *made = made.wrapping_add(u32::try_from(plain).unwrap_or(u32::MAX));
    Ok(true)
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
fn stored(input: &mut dyn Input, size: usize) -> Result<&[u8]> {
    let offset = input.offset();
    let stored = input.ahead(size)?;
    if stored.len() < size {
        return Err(ends(offset, stored.len(), size));
    }
    Ok(stored)
}
