//! Writing zstd: a frame a chunk and a seek table, or one frame by libzstd's own threads.

use std::ops::RangeInclusive;
use std::sync::Arc;

use zstd_safe::zstd_sys::ZSTD_EndDirective as Directive;
use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer};

use super::spare;
use crate::compress::chunked::Stop;
use crate::compress::container::{Container, Make, StreamEncoder, UnitEncoder};
use crate::compress::options::default_threads;
use crate::compress::plan::Request;
use crate::compress::seek_table::SeekTable;
use crate::compress::skip::is_incompressible;
use crate::{Error, ErrorKind, Result};

/// From this level on a chunk takes long enough to look between its parts whether to stop.
const SLOW_LEVEL: i32 = 13;
/// From this level on it pays to ask first whether a chunk can be compressed at all.
const SKIPPING_LEVEL: i32 = 7;
/// The levels whose short matches, of five bytes, cost more in numbers as text than they save.
const SHORT_MATCHING: RangeInclusive<i32> = 3..=4;
/// Chunks up to this size get other parameters from libzstd.
const SMALL_BYTES: usize = 256 << 10;
/// Plain bytes between two looks.
const PART_BYTES: usize = 256 << 10;

/// One frame a chunk, then a seek table.
pub(super) struct Frames {
    request: Request,
    table: SeekTable,
}

impl Frames {
    pub(super) fn new(request: Request) -> Self {
        Self {
            request,
            table: SeekTable::default(),
        }
    }
}

impl Container for Frames {
    fn encoder(&self) -> Arc<Make<dyn UnitEncoder>> {
        let request = self.request;
        Arc::new(move || Ok(Box::new(FrameEncoder::new(&request)?)))
    }

    fn head(&mut self, _total: Option<u64>, _stored: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn unit(&mut self, plain: &[u8], stored: &[u8]) -> Result<()> {
        self.table.push(stored.len(), plain.len())
    }

    fn tail(&mut self, stored: &mut Vec<u8>) -> Result<()> {
        self.table.write(stored)
    }

    fn lone(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        let mut encoder = FrameEncoder::with(spare::encoder()?, &self.request)?;
        let result = encoder.encode(plain, stored, stop);
        spare::keep_encoder(encoder.context);
        result
    }

    fn held_back(&self) -> usize {
        4
    }
}

/// Encodes whole frames, with their content size.
pub(super) struct FrameEncoder {
    context: CCtx<'static>,
    level: i32,
}

impl FrameEncoder {
    pub(super) fn new(request: &Request) -> Result<Self> {
        Self::with(new_context()?, request)
    }

    fn with(mut context: CCtx<'static>, request: &Request) -> Result<Self> {
        set(&mut context, CParameter::CompressionLevel(request.level))?;
        set(&mut context, CParameter::ContentSizeFlag(true))?;
        set(&mut context, CParameter::ChecksumFlag(request.checksum))?;
        Ok(Self {
            context,
            level: request.level,
        })
    }
}

impl UnitEncoder for FrameEncoder {
    fn encode(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        reserve(stored, zstd_safe::compress_bound(plain.len()))?;
        let tuned = SHORT_MATCHING.contains(&self.level) && plain.len() > SMALL_BYTES;
        // 0 is the level's own; a context may come from other data.
        let least = if tuned && has_numbers(plain) { 6 } else { 0 };
        set(&mut self.context, CParameter::MinMatch(least))?;
        if self.level >= SKIPPING_LEVEL && is_incompressible(plain) {
            set(&mut self.context, CParameter::CompressionLevel(1))?;
            let result = self.context.compress2(stored, plain).map_err(failed);
            set(&mut self.context, CParameter::CompressionLevel(self.level))?;
            return result.map(|_| ());
        }
        if self.level < SLOW_LEVEL {
            // Straight from `plain`, without the buffers that streaming would allocate.
            return match self.context.compress2(stored, plain) {
                Ok(_) => Ok(()),
                Err(code) => Err(failed(code)),
            };
        }
        self.context
            .set_pledged_src_size(Some(plain.len() as u64))
            .map_err(failed)?;
        let mut rest = plain;
        loop {
            if let Err(error) = stop.check() {
                let _ = self.context.reset(zstd_safe::ResetDirective::SessionOnly);
                return Err(error);
            }
            let (part, later) = rest.split_at_checked(PART_BYTES).unwrap_or((rest, &[]));
            let mut input = InBuffer::around(part);
            let mut place = OutBuffer::around_pos(stored, stored.len());
            let left = end(&mut self.context, &mut place, &mut input, later.is_empty())?;
            if later.is_empty() {
                return whole(left);
            }
            rest = later;
        }
    }
}

/// Whether `plain` looks like numbers as text: at least 15 % digits, at its start and middle.
///
/// Of 16 such files in CSV and JSON, 13 became smaller with matches of six bytes or more at
/// level 3, by up to 7 % (flights.csv 3.3 %), and none larger by more than 1 %, in 4 to 8 %
/// less time. Text, programs and binary numbers become larger, and keep the level's own.
fn has_numbers(plain: &[u8]) -> bool {
    const SAMPLE_BYTES: usize = 4 << 10;
    let (start, middle) = plain.split_at(plain.len() >> 1);
    let digits = |part: &[u8]| {
        let sample = part.iter().take(SAMPLE_BYTES);
        sample.filter(|byte| byte.is_ascii_digit()).count()
    };
    let found = digits(start).saturating_add(digits(middle));
    found.saturating_mul(100) >= SAMPLE_BYTES.saturating_mul(2 * 15)
}

/// One frame by libzstd's own threads: the same bytes for every number of them.
pub(super) struct Single {
    context: CCtx<'static>,
    place: Vec<u8>,
}

impl Single {
    pub(super) fn new(request: &Request) -> Result<Self> {
        let mut context = new_context()?;
        set(&mut context, CParameter::CompressionLevel(request.level))?;
        set(&mut context, CParameter::ContentSizeFlag(true))?;
        set(&mut context, CParameter::ChecksumFlag(request.checksum))?;
        let threads = request.threads.unwrap_or_else(default_threads).max(1);
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        let job = u32::try_from(request.chunk_size).unwrap_or(u32::MAX);
        // Without a worker libzstd writes other bytes than with one or more.
        set(&mut context, CParameter::NbWorkers(threads))?;
        set(&mut context, CParameter::JobSize(job))?;
        context
            .set_pledged_src_size(request.content_size)
            .map_err(failed)?;
        Ok(Self {
            context,
            place: Vec::with_capacity(zstd_safe::CCtx::out_size()),
        })
    }

    /// Calls the library until it has taken all of `plain` and, at an end, given all out.
    fn run(&mut self, plain: &[u8], stored: &mut Vec<u8>, how: Directive) -> Result<()> {
        let mut input = InBuffer::around(plain);
        loop {
            self.place.clear();
            let mut place = OutBuffer::around(&mut self.place);
            let stepped = self.context.compress_stream2(&mut place, &mut input, how);
            let left = stepped.map_err(failed)?;
            stored.extend_from_slice(&self.place);
            let taken = input.pos == plain.len();
            if taken && (left == 0 || how == Directive::ZSTD_e_continue) {
                return Ok(());
            }
        }
    }
}

impl StreamEncoder for Single {
    fn write(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        for part in plain.chunks(PART_BYTES) {
            stop.check()?;
            self.run(part, stored, Directive::ZSTD_e_continue)?;
        }
        Ok(())
    }

    fn flush(&mut self, stored: &mut Vec<u8>) -> Result<()> {
        self.run(&[], stored, Directive::ZSTD_e_flush)
    }

    fn finish(&mut self, stored: &mut Vec<u8>) -> Result<()> {
        self.run(&[], stored, Directive::ZSTD_e_end)
    }
}

pub(super) fn new_context() -> Result<CCtx<'static>> {
    CCtx::try_create().ok_or_else(|| Error::new(ErrorKind::Limit, "no memory for a zstd context"))
}

fn set(context: &mut CCtx<'_>, parameter: CParameter) -> Result<()> {
    context.set_parameter(parameter).map(|_| ()).map_err(failed)
}

/// Compresses with place enough for all that can come.
fn end(
    context: &mut CCtx<'_>,
    place: &mut OutBuffer<'_, Vec<u8>>,
    input: &mut InBuffer<'_>,
    last: bool,
) -> Result<usize> {
    let how = if last {
        Directive::ZSTD_e_end
    } else {
        Directive::ZSTD_e_continue
    };
    context.compress_stream2(place, input, how).map_err(failed)
}

fn whole(left: usize) -> Result<()> {
    if left == 0 {
        return Ok(());
    }
    let text = "libzstd asked for more place than its own bound";
    Err(Error::new(ErrorKind::Internal, text))
}

fn reserve(stored: &mut Vec<u8>, more: usize) -> Result<()> {
    stored.try_reserve_exact(more).map_err(|_| {
        let text = format!("no memory for {more} bytes of output");
        Error::new(ErrorKind::Limit, text)
    })
}

fn failed(code: usize) -> Error {
    let text = format!("libzstd failed: {}", zstd_safe::get_error_name(code));
    Error::new(ErrorKind::Internal, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_text_are_told_by_their_digits() {
        let mut table = Vec::new();
        for number in 0..100_000_u32 {
            table.extend(format!("2013,{},UA,N{number},EWR\n", number % 365).bytes());
        }
        assert!(has_numbers(&table));
        assert!(!has_numbers(&b"it was the best of times, ".repeat(40_000)));
        assert!(!has_numbers(&1.5_f64.to_le_bytes().repeat(100_000)));
    }
}
