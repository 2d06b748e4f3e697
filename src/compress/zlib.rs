//! zlib streams (RFC 1950), by zlib-rs: read only when named, since two bytes are too little to
//! tell them by; never written.

use flate2::{Decompress, DecompressError, FlushDecompress, Status};

use super::input::ends;
use super::streams::{Library, Progress, StreamDecoder, Streams};
use super::ReadOptions;
use crate::{Error, ErrorKind, Result};

pub(super) type Walk = Streams<Zlib>;

impl Walk {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self::of(Zlib, options)
    }
}

/// CMF and FLG, deflate data, Adler-32 of the content.
pub(super) struct Zlib;

impl Library for Zlib {
    type Decoder = Stream;

    const HEAD_BYTES: usize = 2;

    fn begin(&self, head: &[u8], start: u64, first: bool) -> Result<Stream> {
        if !first {
            return Err(malformed("bytes after the stream").with_offset(start));
        }
        let (method, flags) = match *head {
            [method, flags, ..] => (method, flags),
            [method] if is_method(method) => return Err(ends(start, 1, Self::HEAD_BYTES)),
            [] => return Err(ends(start, 0, Self::HEAD_BYTES)),
            [_] => return Err(no_zlib(start)),
        };
        // RFC 1950, 2.2: both bytes, as a number, are a multiple of 31.
        if !is_method(method) || (u32::from(method) << 8 | u32::from(flags)) % 31 != 0 {
            return Err(no_zlib(start));
        }
        if flags & DICTIONARY != 0 {
            let text = "the stream needs a dictionary";
            return Err(Error::new(ErrorKind::Unsupported, text).with_offset(start));
        }
        Ok(Stream {
            inflate: Decompress::new(true),
            late: None,
        })
    }
}

/// FLG, bit 5.
const DICTIONARY: u8 = 1 << 5;

/// CMF: method 8, deflate, and a window of at most 32 KiB.
fn is_method(byte: u8) -> bool {
    byte & 0x0f == 8 && byte >> 4 <= 7
}

fn no_zlib(start: u64) -> Error {
    malformed("not a zlib stream: it does not start with its two bytes").with_offset(start)
}

fn malformed(text: &str) -> Error {
    Error::new(ErrorKind::Malformed, text)
}

/// One stream, and an error that comes after the bytes before it.
pub(super) struct Stream {
    inflate: Decompress,
    late: Option<Error>,
}

impl StreamDecoder for Stream {
    fn decode(&mut self, stored: &[u8], into: &mut [u8]) -> Result<Progress> {
        if let Some(error) = self.late.take() {
            return Err(error);
        }
        let (taken, made) = (self.inflate.total_in(), self.inflate.total_out());
        let result = self.inflate.decompress(stored, into, FlushDecompress::None);
        let count = |now: u64, before| usize::try_from(now.saturating_sub(before));
        let mut progress = Progress {
            taken: count(self.inflate.total_in(), taken).unwrap_or_default(),
            made: count(self.inflate.total_out(), made).unwrap_or_default(),
            ended: false,
        };
        match result {
            Ok(status) => progress.ended = status == Status::StreamEnd,
            Err(error) if progress.made > 0 => self.late = Some(damaged(&error)),
            Err(error) => return Err(damaged(&error)),
        }
        Ok(progress)
    }
}

fn damaged(error: &DecompressError) -> Error {
    match error.message() {
        // zlib's own words, which a test holds on to.
        Some("incorrect data check") => {
            let text = "the checksum of the stream does not match";
            Error::new(ErrorKind::ChecksumMismatch, text)
        }
        _ => malformed("deflate data that is none"),
    }
}
