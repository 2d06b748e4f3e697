//! Writing zstd: a frame a chunk, and a seek table.

use std::ops::RangeInclusive;
use std::sync::Arc;

use zstd_safe::zstd_sys::ZSTD_EndDirective as Directive;
use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer};

use super::spare;
use crate::compress::chunked::Stop;
use crate::compress::container::{Container, Make, UnitEncoder};
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
pub(super) const PART_BYTES: usize = 256 << 10;

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
        let least = if tuned { least_match(plain) } else { 0 };
        // 0 is the level's own; a context may come from other data. Few short matches need no
        // table that spills out of the cache.
        let chain = if least > 6 { 14 } else { 0 };
        set(&mut self.context, CParameter::MinMatch(least))?;
        set(&mut self.context, CParameter::ChainLog(chain))?;
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

/// Bytes that a match has at least: more than the level's own 5 (said by 0) in numbers as text,
/// told by the share of digits at its start and middle.
///
/// From 45 % on 7, with a table of 2^14 short matches instead of 2^16: of nine files in CSV, JSON
/// and a log, seven became smaller than by level 3's own, by 3 to 7 % (flights.csv 3.7 %), two
/// larger by 0.3 %, all in 2 to 40 % less time (flights.csv 10 %). From 15 % on 6, where 7 costs size (worldcitiespop.csv 5 %): at most 1.2 % larger. Text,
/// programs and binary numbers become larger with both, and keep the level's own.
fn least_match(plain: &[u8]) -> u32 {
    const SAMPLE_BYTES: usize = 4 << 10;
    let (start, middle) = plain.split_at(plain.len() >> 1);
    let digits = |part: &[u8]| {
        let sample = part.iter().take(SAMPLE_BYTES);
        sample.filter(|byte| byte.is_ascii_digit()).count()
    };
    let found = digits(start).saturating_add(digits(middle));
    match found.saturating_mul(100) / (2 * SAMPLE_BYTES) {
        45.. => 7,
        15.. => 6,
        _ => 0,
    }
}

pub(super) fn new_context() -> Result<CCtx<'static>> {
    CCtx::try_create().ok_or_else(|| Error::new(ErrorKind::Limit, "no memory for a zstd context"))
}

pub(super) fn set(context: &mut CCtx<'_>, parameter: CParameter) -> Result<()> {
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

pub(super) fn failed(code: usize) -> Error {
    let text = format!("libzstd failed: {}", zstd_safe::get_error_name(code));
    Error::new(ErrorKind::Internal, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_text_are_told_by_their_digits() {
        let mut table = Vec::new();
        let mut named = Vec::new();
        for number in 0..100_000_u32 {
            table.extend(format!("2013,{},UA,{number}\n", number % 365).bytes());
            named.extend(format!("carrier,{},origin\n", 10_000 + number % 9973).bytes());
        }
        assert_eq!(7, least_match(&table));
        assert_eq!(6, least_match(&named));
        assert_eq!(
            0,
            least_match(&b"it was the best of times, ".repeat(40_000))
        );
        assert_eq!(0, least_match(&1.5_f64.to_le_bytes().repeat(100_000)));
    }
}
