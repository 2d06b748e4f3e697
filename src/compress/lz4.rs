//! LZ4 frames, as defined in the LZ4 Frame Format Description 1.6.4: written by liblz4, read
//! by our own frame layer over the block decoder of `lz4_flex`, which has no `unsafe`.

use std::io::Write;

use lz4::liblz4::BlockChecksum;
use lz4::{BlockMode, BlockSize, ContentChecksum, EncoderBuilder};
use lz4_flex::block::{decompress_into_with_dict, DecompressError};
use xxhash_rust::xxh32::{xxh32, Xxh32};

use super::{Compressor, Output};
use crate::{Error, ErrorKind, Result};

pub(super) const COMPRESSOR: Compressor = Compressor {
    name: "lz4",
    levels: Some((-64, 12)),
    default_level: Some(1),
    extension: ".lz4",
    magic: b"\x04\x22\x4d\x18",
    encode,
    decode,
};

const LEGACY_MAGIC: &[u8] = b"\x02\x21\x4c\x18";
/// Legacy frames: every block but the last holds this many plain bytes.
const LEGACY_BLOCK_BYTES: usize = 8 << 20;
/// How far back a linked block may refer.
const WINDOW_BYTES: usize = 64 << 10;
/// High bit of a block's size: stored as it is.
const STORED: u32 = 1 << 31;

fn encode(data: &[u8], level: i32) -> Result<Vec<u8>> {
    // In liblz4 -n means acceleration n + 1, in our ids -n is acceleration n.
    let native = if level < 0 { level.saturating_add(1) } else { level };
    let packed = Vec::with_capacity(data.len() / 2);
    let mut builder = EncoderBuilder::new();
    builder
        .level(native.cast_unsigned())
        .block_mode(BlockMode::Independent)
        .block_size(block_size(data.len()))
        .block_checksum(BlockChecksum::NoBlockChecksum)
        .checksum(ContentChecksum::ChecksumEnabled)
        .content_size(data.len() as u64)
        .auto_flush(true);
    let internal = |error: std::io::Error| {
        Error::new(ErrorKind::Internal, format!("liblz4 failed: {error}")).with_format("lz4")
    };
    let mut encoder = builder.build(packed).map_err(internal)?;
    encoder.write_all(data).map_err(internal)?;
    let (packed, end) = encoder.finish();
    end.map_err(internal)?;
    Ok(packed)
}

/// The smallest block that holds everything, so that short inputs need little memory.
fn block_size(len: usize) -> BlockSize {
    match len {
        0..=0x1_0000 => BlockSize::Max64KB,
        0x1_0001..=0x4_0000 => BlockSize::Max256KB,
        0x4_0001..=0x10_0000 => BlockSize::Max1MB,
        _ => BlockSize::Max4MB,
    }
}

fn decode(data: &[u8], output: &mut Output) -> Result<()> {
    let mut input = Input { data, at: 0 };
    loop {
        let start = input.at;
        let magic = input.magic()?;
        match magic {
            [0x04, 0x22, 0x4d, 0x18] => frame(&mut input, output)?,
            [0x02, 0x21, 0x4c, 0x18] => legacy(&mut input, output)?,
            [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                let size = input.u32()?;
                input.take(size as usize)?;
            }
            _ => return Err(no_frame(start)),
        }
        if input.is_empty() {
            return Ok(());
        }
    }
}

fn no_frame(start: usize) -> Error {
    let text = if start == 0 {
        "not an lz4 file: it does not start with 04 22 4D 18"
    } else {
        "bytes after the last frame that are no lz4 frame"
    };
    malformed(text, start)
}

/// What the header of a frame says.
struct Header {
    independent: bool,
    block_checksums: bool,
    content_checksum: bool,
    content_size: Option<u64>,
    block_bytes: usize,
}

fn header(input: &mut Input<'_>) -> Result<Header> {
    let start = input.at;
    let flags = input.u8()?;
    let block = input.u8()?;
    if flags >> 6 != 1 || flags & 0b10 != 0 || block & 0b1000_1111 != 0 {
        let text = "a frame of another version, or with reserved bits set";
        return Err(Error::new(ErrorKind::Unsupported, text).with_offset(start as u64));
    }
    let block_bytes = match block >> 4 {
        4 => 64 << 10,
        5 => 256 << 10,
        6 => 1 << 20,
        7 => 4 << 20,
        other => return Err(malformed(format!("no block size {other}; 4 to 7 exist"), start)),
    };
    let content_size = if flags & 0b1000 == 0 { None } else { Some(input.u64()?) };
    if flags & 1 != 0 {
        let text = "the frame needs a dictionary";
        return Err(Error::new(ErrorKind::Unsupported, text).with_offset(start as u64));
    }
    let described = input.data.get(start..input.at).unwrap_or_default();
    let [_, expected, ..] = xxh32(described, 0).to_le_bytes();
    let at = input.at;
    if input.u8()? != expected {
        return Err(mismatch("the header's checksum does not match", at));
    }
    Ok(Header {
        independent: flags & 0b10_0000 != 0,
        block_checksums: flags & 0b1_0000 != 0,
        content_checksum: flags & 0b100 != 0,
        content_size,
        block_bytes,
    })
}

fn frame(input: &mut Input<'_>, output: &mut Output) -> Result<()> {
    let start = input.at;
    let header = header(input)?;
    if let Some(size) = header.content_size {
        output.check(size, start as u64)?;
        // LZ4 cannot do better than 255 to 1, so a larger claim is a lie.
        let most = input.left().saturating_mul(255);
        let size = usize::try_from(size).unwrap_or(most).min(most);
        output.reserve(size, start as u64)?;
    }
    let frame_from = output.bytes.len();
    let mut content = Xxh32::new(0);
    loop {
        let at = input.at;
        let size = input.u32()?;
        if size == 0 {
            break;
        }
        let stored = input.take((size & !STORED) as usize)?;
        if header.block_checksums && input.u32()? != xxh32(stored, 0) {
            return Err(mismatch("the block's checksum does not match", at));
        }
        let from = output.bytes.len();
        let window = if header.independent { from } else { frame_from };
        let dictionary_from = window.max(from.saturating_sub(WINDOW_BYTES));
        if size & STORED == 0 {
            block(stored, header.block_bytes, dictionary_from, at, output)?;
        } else if stored.len() > header.block_bytes {
            return Err(malformed("a block above the frame's block size", at));
        } else {
            output.check(stored.len() as u64, at as u64)?;
            output.reserve(stored.len(), at as u64)?;
            output.bytes.extend_from_slice(stored);
        }
        if header.content_checksum {
            content.update(output.bytes.get(from..).unwrap_or_default());
        }
    }
    let made = output.bytes.len().saturating_sub(frame_from) as u64;
    if header.content_size.is_some_and(|size| size != made) {
        let text = format!("the frame holds {made} bytes, its header says another number");
        return Err(malformed(text, start));
    }
    let at = input.at;
    if header.content_checksum && input.u32()? != content.digest() {
        return Err(mismatch("the checksum of the content does not match", at));
    }
    Ok(())
}

/// A legacy frame: blocks until the input ends or another magic number begins.
fn legacy(input: &mut Input<'_>, output: &mut Output) -> Result<()> {
    // LZ4_compressBound of a block: what no compressed block can exceed.
    const BOUND: u32 = (8 << 20) + (8 << 20) / 255 + 16;
    let mut last = false;
    while !input.is_empty() {
        let at = input.at;
        if input.at_magic() {
            return Ok(());
        }
        let size = input.u32()?;
        if size > BOUND || last {
            return Err(malformed("no legacy block can be this long, or follow a short one", at));
        }
        let stored = input.take(size as usize)?;
        let from = output.bytes.len();
        block(stored, LEGACY_BLOCK_BYTES, from, at, output)?;
        last = output.bytes.len().saturating_sub(from) < LEGACY_BLOCK_BYTES;
    }
    Ok(())
}

/// Decodes one block behind `output`, of which the bytes from `dictionary_from` on may be used.
fn block(
    stored: &[u8],
    block_bytes: usize,
    dictionary_from: usize,
    at: usize,
    output: &mut Output,
) -> Result<()> {
    let from = output.bytes.len();
    let most = block_bytes.min(stored.len().saturating_mul(255));
    let allowed = usize::try_from(output.room()).unwrap_or(usize::MAX);
    let place = most.min(allowed);
    output.reserve(place, at as u64)?;
    output.bytes.resize(from.saturating_add(place), 0);
    let (before, target) = output.bytes.split_at_mut(from);
    let dictionary = before.get(dictionary_from..).unwrap_or_default();
    match decompress_into_with_dict(stored, target, dictionary) {
        Ok(made) => {
            output.bytes.truncate(from.saturating_add(made));
            Ok(())
        }
        Err(error) => {
            output.bytes.truncate(from);
            if place < most && matches!(error, DecompressError::OutputTooSmall { .. }) {
                return Err(output.exceeded(at as u64));
            }
            Err(malformed(format!("a damaged block: {error}"), at))
        }
    }
}

fn malformed(text: impl Into<String>, at: usize) -> Error {
    Error::new(ErrorKind::Malformed, text).with_offset(at as u64)
}

fn mismatch(text: &str, at: usize) -> Error {
    Error::new(ErrorKind::ChecksumMismatch, text).with_offset(at as u64)
}

/// The encoded bytes and how far they are read.
struct Input<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn left(&self) -> usize {
        self.data.len().saturating_sub(self.at)
    }

    fn is_empty(&self) -> bool {
        self.left() == 0
    }

    fn take(&mut self, size: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(size);
        let bytes = end.and_then(|end| self.data.get(self.at..end));
        let Some(bytes) = bytes else {
            let text = format!("the input ends where {size} more bytes belong");
            let whole = self.data.len() as u64;
            return Err(Error::new(ErrorKind::Truncated, text).with_offset(whole));
        };
        self.at = self.at.saturating_add(size);
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn magic(&mut self) -> Result<[u8; 4]> {
        let rest = self.data.get(self.at..).unwrap_or_default();
        let known = [COMPRESSOR.magic, LEGACY_MAGIC];
        let begun = known.iter().any(|magic| magic.starts_with(rest))
            || matches!(rest, [0x50..=0x5f] | [0x50..=0x5f, 0x2a] | [0x50..=0x5f, 0x2a, 0x4d]);
        if rest.len() < 4 && !begun {
            return Err(no_frame(self.at));
        }
        self.array()
    }

    fn at_magic(&self) -> bool {
        let rest = self.data.get(self.at..).unwrap_or_default();
        rest.starts_with(COMPRESSOR.magic)
            || rest.starts_with(LEGACY_MAGIC)
            || matches!(rest, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
    }
}
