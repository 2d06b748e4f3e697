//! Writing gzip: BGZF, a member a chunk, or one member.

use std::sync::Arc;

use flate2::{Compress, Compression, FlushCompress, Status};
use libdeflater::{crc32, CompressionLvl, Compressor as Deflate, Crc};

use super::index::Index;
use super::{header, BGZF_PLAIN};
use crate::compress::chunked::Stop;
use crate::compress::container::{Container, Make, StreamEncoder, UnitEncoder};
use crate::compress::skip::is_incompressible;
use crate::compress::Layout;
use crate::{Error, ErrorKind, Result};

/// Longest header, trailer, and slack for libdeflate: it leaves the last bytes of its place free.
pub(super) const MOST_BESIDE: usize = 18 + 8 + 16;
/// From this level on it pays to look first whether a chunk can be compressed at all.
const SEARCHING_LEVEL: i32 = 7;
/// A few slices say nothing about more bytes than these.
const MOST_JUDGED: usize = 4 << 20;
/// Plain bytes of a stored deflate block: RFC 1951, 3.2.4.
const STORED_BLOCK: usize = 65_535;
/// Place made at once for what zlib-rs writes.
const STEP_BYTES: usize = 64 << 10;

/// BGZF and its end marker, or one ordinary member a chunk.
pub(super) struct Members {
    level: i32,
    bgzf: bool,
    index: Option<Index>,
}

impl Members {
    pub(super) fn new(level: i32, layout: Layout, index: bool) -> Result<Self> {
        compression(level)?;
        Ok(Self {
            level,
            bgzf: layout == Layout::Seekable,
            index: index.then(Index::default),
        })
    }
}

impl Container for Members {
    fn encoder(&self) -> Arc<Make<dyn UnitEncoder>> {
        let (level, bgzf) = (self.level, self.bgzf);
        Arc::new(move || Ok(Box::new(MemberEncoder::new(level, bgzf)?)))
    }

    fn head(&mut self, _total: Option<u64>, _stored: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn unit(&mut self, _plain: &[u8], stored: &[u8]) -> Result<()> {
        match &mut self.index {
            Some(index) => index.push(stored),
            None => Ok(()),
        }
    }

    fn tail(&mut self, stored: &mut Vec<u8>) -> Result<()> {
        if self.bgzf {
            stored.extend_from_slice(&header::MARKER);
        }
        Ok(())
    }

    fn lone(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        // Only BGZF can be indexed, however short it is.
        let bgzf = self.bgzf && (plain.len() > BGZF_PLAIN || self.index.is_some());
        MemberEncoder::new(self.level, bgzf)?.encode(plain, stored, stop)?;
        if bgzf {
            self.unit(plain, stored)?;
            self.tail(stored)?;
        }
        Ok(())
    }

    fn held_back(&self) -> usize {
        4
    }

    fn index(&mut self) -> Option<Vec<u8>> {
        self.index.as_mut().map(Index::take)
    }

    fn index_bytes(&self) -> usize {
        self.index.as_ref().map_or(0, Index::bytes)
    }
}

/// Encodes chunks by libdeflate.
struct MemberEncoder {
    deflate: Deflate,
    level: i32,
    bgzf: bool,
    /// For chunks that no level makes smaller.
    quick: Option<Deflate>,
}

impl MemberEncoder {
    fn new(level: i32, bgzf: bool) -> Result<Self> {
        Ok(Self {
            deflate: Deflate::new(compression(level)?),
            level,
            bgzf,
            quick: None,
        })
    }
}

impl UnitEncoder for MemberEncoder {
    fn encode(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        let mut deflate = &mut self.deflate;
        let judged = self.level >= SEARCHING_LEVEL && plain.len() <= MOST_JUDGED;
        if judged && is_incompressible(plain) {
            let quick = compression(1)?;
            deflate = self.quick.get_or_insert_with(|| Deflate::new(quick));
        }
        if !self.bgzf {
            return member(deflate, plain, stored);
        }
        for plain in plain.chunks(BGZF_PLAIN) {
            stop.check()?;
            bgzf_member(deflate, plain, stored)?;
        }
        Ok(())
    }
}

/// Appends one ordinary member that holds all of `plain`; for callers that have it at once.
///
/// # Errors
/// `Limit` for memory.
pub(in crate::compress) fn whole(
    plain: &[u8],
    level: i32,
    stored: &mut Vec<u8>,
    stop: &Stop<'_>,
) -> Result<()> {
    stop.check()?;
    MemberEncoder::new(level, false)?.encode(plain, stored, stop)
}

fn compression(level: i32) -> Result<CompressionLvl> {
    let level = CompressionLvl::new(level);
    level.map_err(|_| Error::new(ErrorKind::Usage, "no such level of libdeflate"))
}

fn member(deflate: &mut Deflate, plain: &[u8], stored: &mut Vec<u8>) -> Result<()> {
    stored.extend_from_slice(&header::PLAIN);
    body(deflate, plain, stored)?;
    trailer(crc32(plain), plain.len() as u64, stored);
    Ok(())
}

fn bgzf_member(deflate: &mut Deflate, plain: &[u8], stored: &mut Vec<u8>) -> Result<()> {
    let start = stored.len();
    stored.extend_from_slice(&header::BGZF);
    let size_at = stored.len();
    stored.extend([0, 0]);
    body(deflate, plain, stored)?;
    trailer(crc32(plain), plain.len() as u64, stored);
    let last = stored.len().saturating_sub(start).saturating_sub(1);
    let last = u16::try_from(last);
    let place = stored
        .get_mut(size_at..)
        .and_then(|rest| rest.first_chunk_mut::<2>());
    match (last, place) {
        (Ok(last), Some(place)) => *place = last.to_le_bytes(),
        _ => {
            return Err(Error::new(
                ErrorKind::Internal,
                "a BGZF member above 64 KiB",
            ))
        }
    }
    Ok(())
}

/// Appends raw deflate, stored where that is not longer.
fn body(deflate: &mut Deflate, plain: &[u8], stored: &mut Vec<u8>) -> Result<()> {
    let start = stored.len();
    let blocks = plain.len().div_ceil(STORED_BLOCK).max(1);
    let most = plain
        .len()
        .saturating_add(blocks.saturating_mul(5))
        .saturating_add(16);
    // The trailer's place too, so that nothing is moved for its sake.
    stored
        .try_reserve(most.saturating_add(8))
        .map_err(|_| no_memory(most))?;
    stored.resize(start.saturating_add(most), 0);
    let place = stored.get_mut(start..).unwrap_or_default();
    if let Ok(size) = deflate.deflate_compress(plain, place) {
        stored.truncate(start.saturating_add(size));
        return Ok(());
    }
    stored.truncate(start);
    let mut rest = plain;
    for left in (0..blocks).rev() {
        let (block, later) = rest.split_at_checked(STORED_BLOCK).unwrap_or((rest, &[]));
        let size = u16::try_from(block.len()).unwrap_or(u16::MAX);
        stored.push(u8::from(left == 0));
        stored.extend(size.to_le_bytes());
        stored.extend((!size).to_le_bytes());
        stored.extend_from_slice(block);
        rest = later;
    }
    Ok(())
}

/// CRC32 and ISIZE, which is modulo 2^32: RFC 1952, 2.3.1.
fn trailer(crc: u32, size: u64, stored: &mut Vec<u8>) {
    stored.extend(crc.to_le_bytes());
    stored.extend(size.to_le_bytes().iter().take(4));
}

/// One member: by libdeflate if it is no longer than a chunk, else by zlib-rs as it comes.
pub(super) struct Single {
    level: i32,
    chunk_size: usize,
    /// The beginning, until it is known which of the two it will be.
    first: Vec<u8>,
    stream: Option<Stream>,
}

impl Single {
    pub(super) fn new(level: i32, chunk_size: usize) -> Result<Self> {
        compression(level)?;
        Ok(Self {
            level,
            chunk_size,
            first: Vec::new(),
            stream: None,
        })
    }

    fn stream(&mut self, stored: &mut Vec<u8>) -> Result<&mut Stream> {
        if self.stream.is_none() {
            let first = std::mem::take(&mut self.first);
            let stream = self.stream.insert(Stream::new(self.level));
            stored.extend_from_slice(&header::PLAIN);
            stream.run(&first, stored, FlushCompress::None)?;
        }
        let none = || Error::new(ErrorKind::Internal, "no stream was begun");
        self.stream.as_mut().ok_or_else(none)
    }
}

impl StreamEncoder for Single {
    fn write(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        let held = self.first.len().saturating_add(plain.len());
        if self.stream.is_none() && held <= self.chunk_size {
            self.first
                .try_reserve(plain.len())
                .map_err(|_| no_memory(held))?;
            self.first.extend_from_slice(plain);
            return Ok(());
        }
        let stream = self.stream(stored)?;
        for part in plain.chunks(256 << 10) {
            stop.check()?;
            stream.run(part, stored, FlushCompress::None)?;
        }
        Ok(())
    }

    fn flush(&mut self, stored: &mut Vec<u8>, _stop: &Stop<'_>) -> Result<()> {
        if self.stream.is_none() && self.first.is_empty() {
            return Ok(());
        }
        self.stream(stored)?.run(&[], stored, FlushCompress::Sync)
    }

    fn finish(&mut self, stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        match &mut self.stream {
            None => whole(&self.first, self.level, stored, stop),
            Some(stream) => {
                stream.run(&[], stored, FlushCompress::Finish)?;
                trailer(stream.crc.sum(), stream.size, stored);
                Ok(())
            }
        }
    }
}

/// Raw deflate of a stream of any length, by zlib-rs.
struct Stream {
    deflate: Compress,
    crc: Crc,
    size: u64,
}

impl Stream {
    /// zlib's levels end at 9; libdeflate's 10 to 12 search longer than that.
    fn new(level: i32) -> Self {
        let level = Compression::new(level.unsigned_abs().min(9));
        Self {
            deflate: Compress::new(level, false),
            crc: Crc::new(),
            size: 0,
        }
    }

    /// Calls the library until it has taken all of `plain` and given out what `how` asks for.
    fn run(&mut self, plain: &[u8], stored: &mut Vec<u8>, how: FlushCompress) -> Result<()> {
        self.crc.update(plain);
        self.size = self.size.saturating_add(plain.len() as u64);
        let mut rest = plain;
        loop {
            stored
                .try_reserve(STEP_BYTES)
                .map_err(|_| no_memory(STEP_BYTES))?;
            let before = self.deflate.total_in();
            let status = self
                .deflate
                .compress_vec(rest, stored, how)
                .map_err(|error| {
                    Error::new(ErrorKind::Internal, format!("zlib-rs failed: {error}"))
                })?;
            let taken = self.deflate.total_in().saturating_sub(before);
            rest = rest
                .get(usize::try_from(taken).unwrap_or(usize::MAX)..)
                .unwrap_or_default();
            // Place that was left over shows that there was no more to give out.
            let drained = rest.is_empty() && stored.len() < stored.capacity();
            let over = match how {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => drained,
            };
            if over {
                return Ok(());
            }
        }
    }
}

fn no_memory(bytes: usize) -> Error {
    let text = format!("no memory for {bytes} bytes of output");
    Error::new(ErrorKind::Limit, text)
}
