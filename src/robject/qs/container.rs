//! The container: header, blocks or one stream, hash.

use std::io::Read;

use xxhash_rust::xxh32::Xxh32;
use zstd_safe::{DCtx, InBuffer, OutBuffer};

use super::super::blocks::read_up_to;
use super::super::plain::{Given, Source};
use super::super::ReadOptions;
use crate::compress::CancelToken;
use crate::{Error, ErrorKind, Result};

/// Most plain bytes of a block.
const BLOCK: usize = 1 << 19;

/// Most stored bytes of a block: the worst of lz4, whose bound is above that of zstd.
const STORED: usize = BLOCK + BLOCK / 255 + 16;

/// Bytes that are read at once where there are no blocks.
const STEP: usize = 128 << 10;

/// Least bytes of a zstd frame's header, its magic included.
const FRAME_START: usize = 5;

/// Bytes in front of each block of a zstd frame.
const BLOCK_HEAD: usize = 3;

const HASH_SEED: u32 = 12_345;

/// Which vectors are stored by byte planes: a bit for each type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shuffles(u8);

impl Shuffles {
    pub(super) fn logical(self) -> bool {
        self.0 & 1 != 0
    }

    pub(super) fn integer(self) -> bool {
        self.0 & 2 != 0
    }

    pub(super) fn double(self) -> bool {
        self.0 & 4 != 0
    }

    pub(super) fn complex(self) -> bool {
        self.0 & 8 != 0
    }
}

enum Form {
    Zstd(DCtx<'static>),
    Lz4,
    Stream(DCtx<'static>),
    Bare,
}

/// The plain bytes of a file.
pub(super) struct Blocks<'a, R> {
    src: R,
    offset: u64,
    /// Bytes of the file behind `offset`, where that is known.
    rest: Option<u64>,
    form: Form,
    /// Blocks, or plain bytes, that follow; 0 where all were read.
    left: u64,
    hash: Option<Xxh32>,
    ended: bool,
    stored: Vec<u8>,
    /// Read so far of `stored`, in a stream.
    at: usize,
    /// What zstd wants next of a stream: what it is in and the 3 bytes in front of the next block.
    hint: usize,
    options: &'a ReadOptions,
}

impl<'a, R: Read> Blocks<'a, R> {
    pub(super) fn new(
        mut src: R,
        size: Option<u64>,
        options: &'a ReadOptions,
    ) -> Result<(Self, Shuffles)> {
        let mut first = [0; 8];
        let got = read_up_to(&mut src, &mut first, "qs")?;
        let magic = first == *b"\x0b\x0e\x0a\x0c\0\0\0\0";
        let old = matches!(first, [1..=3, ..]);
        let begun = b"\x0b\x0e\x0a\x0c\0\0\0\0".starts_with(first.get(..got).unwrap_or_default());
        let cut = got < 8 && begun;
        if !(magic || old || cut) {
            let text = format!("found {first:02X?}, which begins no qs file");
            return Err(Error::new(ErrorKind::Malformed, text)
                .with_format("qs")
                .with_offset(0));
        }
        // The oldest files begin with the fields at once: four of the count are read already.
        let mut fields = [0; 12];
        let known = if magic { 0 } else { got };
        for (place, byte) in fields.iter_mut().zip(first.iter().take(known)) {
            *place = *byte;
        }
        let place = fields.get_mut(known..).unwrap_or_default();
        let wanted = place.len();
        let more = read_up_to(&mut src, place, "qs")?;
        let offset = got.saturating_add(more) as u64;
        if got < 8 || more < wanted {
            let text = format!("{offset} bytes of a header");
            return Err(Error::new(ErrorKind::Truncated, text)
                .with_format("qs")
                .with_offset(offset));
        }
        let [version, hashed, kind, endian, count @ ..] = fields;
        let base = if magic { 8 } else { 0 };
        check(version, hashed, endian, base)?;
        let blocks = Self {
            src,
            offset,
            rest: size.map(|size| size.saturating_sub(offset)),
            form: form(kind >> 4, base)?,
            left: u64::from_le_bytes(count),
            hash: (hashed == 1).then(|| Xxh32::new(HASH_SEED)),
            ended: false,
            stored: Vec::new(),
            at: 0,
            hint: FRAME_START + BLOCK_HEAD,
            options,
        };
        Ok((blocks, Shuffles(kind & 15)))
    }

    fn error(&self, kind: ErrorKind, text: impl Into<String>) -> Error {
        let error = Error::new(kind, text).with_format("qs");
        error.with_offset(self.offset)
    }

    /// Fills `place`, or says that the file ends.
    fn fill(&mut self, place: &mut [u8], what: &str) -> Result<()> {
        let got = read_up_to(&mut self.src, place, "qs")?;
        self.offset = self.offset.saturating_add(got as u64);
        self.rest = self.rest.map(|rest| rest.saturating_sub(got as u64));
        if got < place.len() {
            let text = format!("{what}: {got} bytes of {}", place.len());
            return Err(self.error(ErrorKind::Truncated, text));
        }
        Ok(())
    }

    /// One of the blocks.
    fn block(&mut self, block: &mut Vec<u8>) -> Result<()> {
        let mut size = [0; 4];
        self.fill(&mut size, "the size of a block")?;
        let size = u32::from_le_bytes(size) as usize;
        if size > STORED || size == 0 {
            let text = format!("a block of {size} bytes, which no writer makes");
            return Err(self.error(ErrorKind::Malformed, text));
        }
        let mut stored = std::mem::take(&mut self.stored);
        stored.resize(size, 0);
        let filled = self.fill(&mut stored, "a block");
        self.stored = stored;
        filled?;
        let failed = if let Form::Zstd(context) = &mut self.form {
            block.clear();
            block.reserve_exact(BLOCK);
            let done = context.decompress(block, &self.stored);
            done.err()
                .map(|code| zstd_safe::get_error_name(code).to_string())
        } else {
            block.resize(BLOCK, 0);
            let done = lz4_flex::block::decompress_into(&self.stored, block);
            block.truncate(done.as_ref().map_or(0, |size| *size));
            done.err().map(|error| error.to_string())
        };
        match failed {
            None => Ok(()),
            Some(text) => Err(self.error(ErrorKind::Malformed, format!("a block: {text}"))),
        }
    }

    /// The next bytes of a file without a compressor.
    fn bare(&mut self, block: &mut Vec<u8>) -> Result<()> {
        let size = usize::try_from(self.left).unwrap_or(STEP).min(STEP);
        block.resize(size, 0);
        self.fill(block, "the data")?;
        self.left = self.left.saturating_sub(size as u64);
        Ok(())
    }

    /// The next bytes of the one zstd stream.
    fn stream(&mut self, block: &mut Vec<u8>) -> Result<()> {
        block.clear();
        block.reserve_exact(STEP);
        while block.is_empty() {
            if self.at >= self.stored.len() {
                self.refill()?;
            }
            let Form::Stream(context) = &mut self.form else {
                return Ok(());
            };
            let mut input = InBuffer::around(wanted(&self.stored, self.at, self.hint));
            let mut output = OutBuffer::around(block);
            let done = context.decompress_stream(&mut output, &mut input);
            self.at = self.at.saturating_add(input.pos());
            let hint = done.map_err(|code| {
                let name = zstd_safe::get_error_name(code);
                self.error(ErrorKind::Malformed, format!("the stream: {name}"))
            })?;
            self.hint = hint;
            let made = block.len() as u64;
            let over = made > self.left || (hint == 0 && made < self.left);
            if over {
                let text = "the stream has not as many bytes as the header says";
                return Err(self.error(ErrorKind::Malformed, text));
            }
            self.left = self.left.saturating_sub(made);
        }
        Ok(())
    }

    /// More of the stored bytes of a stream. Those behind it stay in `stored`.
    fn refill(&mut self) -> Result<()> {
        self.stored.resize(STEP, 0);
        let got = read_up_to(&mut self.src, &mut self.stored, "qs")?;
        self.stored.truncate(got);
        self.at = 0;
        self.offset = self.offset.saturating_add(got as u64);
        self.rest = self.rest.map(|rest| rest.saturating_sub(got as u64));
        if got == 0 {
            return Err(self.error(ErrorKind::Truncated, "the stream is cut"));
        }
        Ok(())
    }

    /// Makes `stored` hold `least` bytes that follow, or all if there are fewer: how many.
    fn held(&mut self, least: usize) -> Result<usize> {
        self.stored.drain(..self.at.min(self.stored.len()));
        self.at = 0;
        let have = self.stored.len();
        if have < least {
            self.stored.resize(least, 0);
            let place = self.stored.get_mut(have..).unwrap_or_default();
            let got = read_up_to(&mut self.src, place, "qs")?;
            self.stored.truncate(have.saturating_add(got));
            self.offset = self.offset.saturating_add(got as u64);
            self.rest = self.rest.map(|rest| rest.saturating_sub(got as u64));
        }
        Ok(self.stored.len())
    }

    /// Goes to the end of the one frame, whose plain bytes were all given.
    ///
    /// The package does not end its frames: nothing but the hash stands behind the last block.
    fn end_stream(&mut self) -> Result<()> {
        let hash: usize = if self.hash.is_some() { 4 } else { 0 };
        if self.hint == 0 || self.held(hash.saturating_add(1))? <= hash {
            return Ok(());
        }
        let mut none = [0; 1];
        loop {
            let Form::Stream(context) = &mut self.form else {
                return Ok(());
            };
            let mut input = InBuffer::around(wanted(&self.stored, self.at, self.hint));
            let mut output = OutBuffer::around(&mut none[..]);
            let done = context.decompress_stream(&mut output, &mut input);
            let made = output.pos();
            self.at = self.at.saturating_add(input.pos());
            match done {
                Ok(0) if made == 0 => return Ok(()),
                Ok(hint) if made == 0 => self.hint = hint,
                _ => {
                    let text = "the stream goes on behind the end that the header tells";
                    return Err(self.error(ErrorKind::Malformed, text));
                }
            }
            if self.at >= self.stored.len() {
                self.refill()?;
            }
        }
    }

    /// The bytes behind the data: what the stream's buffer holds of them, then the file's.
    fn tail(&mut self, place: &mut [u8]) -> Result<usize> {
        let held = self.stored.get(self.at..).unwrap_or_default();
        let held = if matches!(self.form, Form::Stream(_)) {
            held
        } else {
            &[]
        };
        let size = held.len().min(place.len());
        let (first, rest) = place.split_at_mut(size);
        first.copy_from_slice(held.get(..size).unwrap_or_default());
        self.at = self.at.saturating_add(size);
        let got = read_up_to(&mut self.src, rest, "qs")?;
        Ok(size.saturating_add(got))
    }

    fn finish(&mut self) -> Result<()> {
        self.ended = true;
        if matches!(self.form, Form::Stream(_)) {
            self.end_stream()?;
        }
        if let Some(hash) = self.hash.take() {
            let mut told = [0; 4];
            if self.tail(&mut told)? < 4 {
                return Err(self.error(ErrorKind::Truncated, "the hash is cut"));
            }
            if u32::from_le_bytes(told) != hash.digest() {
                let text = "the file's hash is not that of its data: the file was damaged";
                return Err(self.error(ErrorKind::ChecksumMismatch, text));
            }
        }
        if self.tail(&mut [0])? > 0 {
            return Err(self.error(ErrorKind::Malformed, "bytes behind the end of the file"));
        }
        Ok(())
    }
}

/// What of the stored bytes is given to zstd: never more than it is in, since a frame need not end.
fn wanted(stored: &[u8], at: usize, hint: usize) -> &[u8] {
    let size = match hint.saturating_sub(BLOCK_HEAD) {
        0 => hint.max(1),
        size => size,
    };
    let rest = stored.get(at..).unwrap_or_default();
    rest.get(..size).unwrap_or(rest)
}

fn check(version: u8, hashed: u8, endian: u8, base: u64) -> Result<()> {
    let error = |kind, text: String, at: u64| {
        let error = Error::new(kind, text).with_format("qs");
        Err(error.with_offset(base.saturating_add(at)))
    };
    if !(1..=3).contains(&version) {
        let text = format!("version {version} of the format, of which 1 to 3 are read");
        return error(ErrorKind::Unsupported, text, 0);
    }
    if hashed > 1 {
        let text = format!("{hashed:#04X} where 1 stands for a hash and 0 for none");
        return error(ErrorKind::Malformed, text, 1);
    }
    match endian {
        0 => Ok(()),
        1 => {
            let text = "written by a big-endian machine, which is not read";
            error(ErrorKind::Unsupported, text.to_string(), 3)
        }
        _ => error(ErrorKind::Malformed, format!("byte order {endian}"), 3),
    }
}

fn form(code: u8, base: u64) -> Result<Form> {
    let context = || {
        let made = DCtx::try_create();
        made.ok_or_else(|| Error::new(ErrorKind::Limit, "no memory for a zstd context"))
    };
    match code {
        0 => Ok(Form::Zstd(context()?)),
        1 | 2 => Ok(Form::Lz4),
        3 => Ok(Form::Stream(context()?)),
        4 => Ok(Form::Bare),
        _ => {
            let text = format!("compressor {code}, of which 0 to 4 are known");
            let error = Error::new(ErrorKind::Unsupported, text).with_format("qs");
            Err(error.with_offset(base.saturating_add(2)))
        }
    }
}

impl<R: Read> Source for Blocks<'_, R> {
    fn next(&mut self, block: &mut Vec<u8>, front: usize) -> Result<Given> {
        let cancel = self.options.cancel.as_ref();
        if cancel.is_some_and(CancelToken::is_cancelled) {
            return Err(Error::new(ErrorKind::Cancelled, "stopped on request"));
        }
        if self.left == 0 {
            if !self.ended {
                self.finish()?;
            }
            return Ok(Given::End);
        }
        debug_assert!(front == 0, "qs is read by Plain alone");
        match self.form {
            Form::Zstd(_) | Form::Lz4 => {
                self.block(block)?;
                self.left = self.left.saturating_sub(1);
            }
            Form::Stream(_) => self.stream(block)?,
            Form::Bare => self.bare(block)?,
        }
        if let Some(hash) = &mut self.hash {
            hash.update(block);
        }
        Ok(Given::Plain)
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn at_most(&self) -> Option<u64> {
        match self.form {
            Form::Zstd(_) | Form::Lz4 => {
                // The least block is a size and one byte.
                let blocks = self.rest.map_or(self.left, |rest| self.left.min(rest / 5));
                Some(blocks.saturating_mul(BLOCK as u64))
            }
            Form::Stream(_) => Some(self.left),
            Form::Bare => Some(self.rest.map_or(self.left, |rest| rest.min(self.left))),
        }
    }
}
