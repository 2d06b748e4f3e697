//! The container of qs2 and qdata: a header of 24 bytes, then zstd frames of at most 1 MiB each.
//!
//! | Offset | Bytes | Field |
//! |---|---|---|
//! | 0 | 4 | magic: `0B 0E 0A` and `C1` (qs2) or `CD` (qdata) |
//! | 4 | 1 | version of the format, 1 |
//! | 5 | 1 | compressor, 1 for zstd |
//! | 6 | 1 | byte order of the payload: 1 big, 2 little |
//! | 7 | 1 | whether blocks may be byte-shuffled |
//! | 8 | 8 | zero |
//! | 16 | 8 | XXH3-64 of all that follows, little-endian; 0 for none |
//! | 24 | | blocks: size in 4 bytes, its bit 31 for a shuffled one, then one zstd frame |

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::io::{self, Cursor, Read};

use xxhash_rust::xxh3::{xxh3_64, Xxh3Default};
use zstd_safe::DCtx;

use super::ahead::Ahead;
use super::plain::{Given, Plain, Source};
use super::pool::Pool;
use super::{RObject, ReadOptions};
use crate::compress::default_threads;
use crate::{Error, ErrorKind, Result};

/// Most plain bytes of a block.
pub(super) const BLOCK: usize = 1 << 20;

/// Most stored bytes of a block: what zstd needs at worst for 1 MiB, `ZSTD_compressBound`.
pub(super) const STORED: usize = BLOCK + (BLOCK >> 8);

/// The bit of a block's size that says that it is shuffled.
pub(super) const SHUFFLED: u32 = 1 << 31;

pub(super) const HEADER: usize = 24;

/// Most threads that decode ahead: each has a block at work and one that waits, of 1 MiB plain and
/// up to 1 MiB stored.
const MOST_AHEAD: usize = 4;

/// Which payload the blocks have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Qs2,
    Qdata,
}

impl Payload {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Qs2 => "qs2",
            Self::Qdata => "qdata",
        }
    }

    pub(super) fn magic(self) -> [u8; 4] {
        match self {
            Self::Qs2 => *b"\x0b\x0e\x0a\xc1",
            Self::Qdata => *b"\x0b\x0e\x0a\xcd",
        }
    }
}

/// What the header says beside the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Whether blocks may be shuffled.
    pub(super) shuffle: bool,
    /// XXH3-64 of the blocks; None for unchecked files.
    pub(super) hash: Option<u64>,
}

impl Head {
    /// Reads the header of a file whose payload is `payload`.
    pub(super) fn parse(bytes: &[u8; HEADER], payload: Payload) -> Result<Self> {
        let [a, b, c, d, version, compressor, endian, shuffle, zeros @ ..] = *bytes;
        let [z0, z1, z2, z3, z4, z5, z6, z7, hash @ ..] = zeros;
        let error = |kind, text: String, at| {
            let error = Error::new(kind, text).with_format(payload.name());
            Err(error.with_offset(at))
        };
        if [a, b, c, d] != payload.magic() {
            let found = format!("found {a:02X} {b:02X} {c:02X} {d:02X}");
            let text = format!("{found}, which begins no {} file", payload.name());
            return error(ErrorKind::Malformed, text, 0);
        }
        if version != 1 {
            let text = format!("version {version} of the format, of which 1 is read");
            return error(ErrorKind::Unsupported, text, 4);
        }
        if compressor != 1 {
            let text = format!("compressor {compressor}, of which 1 (zstd) is read");
            return error(ErrorKind::Unsupported, text, 5);
        }
        if endian == 1 {
            let text = "written by a big-endian machine, which is not read";
            return error(ErrorKind::Unsupported, text.to_string(), 6);
        }
        if endian != 2 || shuffle > 1 || [z0, z1, z2, z3, z4, z5, z6, z7] != [0; 8] {
            let text = "unknown values in the header, from byte 6 to 15";
            return error(ErrorKind::Malformed, text.to_string(), 6);
        }
        let hash = u64::from_le_bytes(hash);
        Ok(Self {
            shuffle: shuffle == 1,
            hash: (hash != 0).then_some(hash),
        })
    }
}

/// What `parse` makes of the plain bytes of a file in memory.
///
/// The checksum is verified before anything is parsed. Of a file that ends too early the error
/// says so, whatever the checksum.
pub(super) fn parse_slice(
    src: &[u8],
    payload: Payload,
    options: &ReadOptions,
    parse: impl FnOnce(&mut Plain<'_>) -> Result<RObject>,
) -> Result<RObject> {
    let mut rest = src;
    let head = head(&mut rest, payload)?;
    let damaged = head.hash.is_some_and(|hash| hash != digest(rest));
    let blocks = Blocks::new(rest, payload, head, options, false).with_size(rest.len() as u64);
    let object = run(blocks, options, parse);
    match object {
        Err(error) if error.is_truncated() => Err(error),
        _ if damaged => Err(mismatch(payload)),
        object => object,
    }
}

/// As [`parse_slice`] of a stream: the checksum is verified before the object is given out.
pub(super) fn parse_stream(
    mut src: impl Read,
    payload: Payload,
    options: &ReadOptions,
    parse: impl FnOnce(&mut Plain<'_>) -> Result<RObject>,
) -> Result<RObject> {
    let head = head(&mut src, payload)?;
    run(
        Blocks::new(src, payload, head, options, true),
        options,
        parse,
    )
}

/// Parses with the blocks decoded here, or by as many other threads as are asked for.
fn run<R: Read>(
    blocks: Blocks<'_, R>,
    options: &ReadOptions,
    parse: impl FnOnce(&mut Plain<'_>) -> Result<RObject>,
) -> Result<RObject> {
    let name = blocks.payload.name();
    let threads = options.threads.unwrap_or_else(default_threads);
    if !(1..=256).contains(&threads) {
        let text = format!("no {threads} threads; from 1 to 256 can be asked for");
        return Err(Error::new(ErrorKind::Usage, text).with_format(name));
    }
    if threads == 1 {
        let decoder = Decoder::new(blocks.payload)?;
        let frame = Frame::default();
        let source = Here {
            blocks,
            decoder,
            frame,
        };
        return parse(&mut Plain::new(source, name));
    }
    let pool = Pool::new();
    std::thread::scope(|scope| {
        let ahead = Ahead::new(blocks, scope, &pool, threads.min(MOST_AHEAD));
        parse(&mut Plain::new(ahead, name))
    })
}

fn head(src: &mut impl Read, payload: Payload) -> Result<Head> {
    let mut bytes = [0; HEADER];
    let got = read_up_to(src, &mut bytes, payload.name())?;
    let known = payload.magic();
    let same = known.iter().zip(&bytes).take(got).all(|(a, b)| a == b);
    if got < HEADER && same {
        let text = format!("{got} bytes of a header of {HEADER}");
        let error = Error::new(ErrorKind::Truncated, text).with_format(payload.name());
        return Err(error.with_offset(got as u64));
    }
    Head::parse(&bytes, payload)
}

/// The checksum: 0 stands for none, so that a digest of 0 is stored as 1.
pub(super) fn digest(blocks: &[u8]) -> u64 {
    xxh3_64(blocks).max(1)
}

fn mismatch(payload: Payload) -> Error {
    let text = "the file's checksum is not that of its blocks: the file was damaged";
    let error = Error::new(ErrorKind::ChecksumMismatch, text).with_format(payload.name());
    error.with_offset(16)
}

/// Reads until `place` is full or the input ends.
pub(super) fn read_up_to(
    src: &mut impl Read,
    place: &mut [u8],
    format: &'static str,
) -> Result<usize> {
    let mut got = 0_usize;
    loop {
        let free = place.get_mut(got..).unwrap_or_default();
        if free.is_empty() {
            return Ok(got);
        }
        match src.read(free) {
            Ok(0) => return Ok(got),
            Ok(size) => got = got.saturating_add(size),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let text = format!("cannot read: {error}");
                let error = Error::new(ErrorKind::Io, text).with_source(error);
                return Err(error.with_format(format));
            }
        }
    }
}

/// A block as it stands in the file.
#[derive(Debug, Default)]
pub(super) struct Frame {
    stored: Vec<u8>,
    shuffled: bool,
    /// Where its size stands.
    pub(super) offset: u64,
}

impl Frame {
    /// What its decoded bytes are.
    pub(super) fn given(&self) -> Given {
        if self.shuffled {
            Given::Planes
        } else {
            Given::Plain
        }
    }
}

/// Block after block of a file, not yet decoded.
pub(super) struct Blocks<'o, R> {
    src: R,
    /// Where in the file `src` stands.
    offset: u64,
    /// Bytes left in it, where that is known.
    left: Option<u64>,
    payload: Payload,
    head: Head,
    hash: Option<Box<Xxh3Default>>,
    options: &'o ReadOptions,
}

impl<'o, R: Read> Blocks<'o, R> {
    fn new(src: R, payload: Payload, head: Head, options: &'o ReadOptions, check: bool) -> Self {
        Self {
            src,
            offset: HEADER as u64,
            left: None,
            payload,
            head,
            hash: (check && head.hash.is_some()).then(Box::default),
            options,
        }
    }

    fn with_size(mut self, left: u64) -> Self {
        self.left = Some(left);
        self
    }

    pub(super) fn payload(&self) -> Payload {
        self.payload
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// At most this many plain bytes are in the blocks that were not read.
    pub(super) fn at_most(&self) -> Option<u64> {
        // The least block is a size and a frame of 9 bytes.
        let blocks = self.left?.div_ceil(13);
        Some(blocks.saturating_mul(BLOCK as u64))
    }

    fn error(&self, kind: ErrorKind, text: impl Into<String>) -> Error {
        let error = Error::new(kind, text).with_format(self.payload.name());
        error.with_offset(self.offset)
    }

    pub(super) fn check_cancelled(&self) -> Result<()> {
        match &self.options.cancel {
            Some(cancel) if cancel.is_cancelled() => {
                Err(Error::new(ErrorKind::Cancelled, "stopped on request"))
            }
            _ => Ok(()),
        }
    }

    /// The size field of the next block; None at the end of the file.
    fn size(&mut self) -> Result<Option<u32>> {
        let mut size = [0; 4];
        match read_up_to(&mut self.src, &mut size, self.payload.name())? {
            0 => return Ok(None),
            4 => {}
            _ => return Err(self.error(ErrorKind::Truncated, "the size of a block is cut")),
        }
        if let Some(hash) = &mut self.hash {
            hash.update(&size);
        }
        Ok(Some(u32::from_le_bytes(size)))
    }

    /// Reads the next block; false at the end of the file.
    pub(super) fn frame(&mut self, frame: &mut Frame) -> Result<bool> {
        let Some(field) = self.size()? else {
            return Ok(false);
        };
        let size = (field & !SHUFFLED) as usize;
        frame.shuffled = field & SHUFFLED != 0;
        frame.offset = self.offset;
        if size > STORED || size == 0 || (frame.shuffled && !self.head.shuffle) {
            let text = format!("a block of size {field:#X}, which no writer makes");
            return Err(self.error(ErrorKind::Malformed, text));
        }
        frame.stored.resize(size, 0);
        let got = read_up_to(&mut self.src, &mut frame.stored, self.payload.name())?;
        if got < size {
            let text = format!("{got} bytes of a block of {size}");
            return Err(self.error(ErrorKind::Truncated, text));
        }
        if let Some(hash) = &mut self.hash {
            hash.update(&frame.stored);
        }
        let whole = (size as u64).saturating_add(4);
        self.offset = self.offset.saturating_add(whole);
        self.left = self.left.map(|left| left.saturating_sub(whole));
        Ok(true)
    }

    /// The end of the file: an error, if the checksum is wrong.
    pub(super) fn ended(&mut self) -> Result<()> {
        let Some(hash) = self.hash.take() else {
            return Ok(());
        };
        match self.head.hash {
            Some(told) if told != hash.digest().max(1) => Err(mismatch(self.payload)),
            _ => Ok(()),
        }
    }
}

/// Blocks decoded by the thread that asks for them.
struct Here<'o, R> {
    blocks: Blocks<'o, R>,
    decoder: Decoder,
    frame: Frame,
}

impl<R: Read> Source for Here<'_, R> {
    fn next(&mut self, block: &mut Vec<u8>, front: usize) -> Result<Given> {
        self.blocks.check_cancelled()?;
        if !self.blocks.frame(&mut self.frame)? {
            self.blocks.ended()?;
            return Ok(Given::End);
        }
        self.decoder.decode(&self.frame, block, front)?;
        Ok(self.frame.given())
    }

    fn offset(&self) -> u64 {
        self.frame.offset
    }

    fn at_most(&self) -> Option<u64> {
        self.blocks.at_most()
    }
}

/// Decodes blocks, one after the other.
pub(super) struct Decoder {
    context: DCtx<'static>,
    payload: Payload,
}

impl Decoder {
    pub(super) fn new(payload: Payload) -> Result<Self> {
        let context = DCtx::try_create().ok_or_else(|| {
            let text = "no memory for a zstd context";
            Error::new(ErrorKind::Limit, text).with_format(payload.name())
        })?;
        Ok(Self { context, payload })
    }

    /// Puts what is in a frame into `block`, behind `front` bytes of no meaning: plain bytes, or
    /// their byte planes.
    pub(super) fn decode(
        &mut self,
        frame: &Frame,
        block: &mut Vec<u8>,
        front: usize,
    ) -> Result<()> {
        let malformed = |text: String| {
            let error = Error::new(ErrorKind::Malformed, text).with_format(self.payload.name());
            error.with_offset(frame.offset.saturating_add(4))
        };
        let refused = |code| {
            malformed(format!(
                "a block's frame: {}",
                zstd_safe::get_error_name(code)
            ))
        };
        let stored = &frame.stored;
        let size = zstd_safe::find_frame_compressed_size(stored).map_err(refused)?;
        if size != stored.len() {
            let text = format!("a frame of {size} bytes in a block of {}", stored.len());
            return Err(malformed(text));
        }
        block.resize(front, 0);
        block.reserve_exact(BLOCK);
        // Into the place behind them, which is not set to zero before.
        let mut place = Cursor::new(&mut *block);
        place.set_position(front as u64);
        let size = self.context.decompress(&mut place, stored);
        if size.map_err(refused)? > BLOCK {
            return Err(malformed(format!("a block of more than {BLOCK} bytes")));
        }
        Ok(())
    }
}
