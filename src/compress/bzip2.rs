//! bzip2 streams, by libbzip2 (in Rust); what R's `saveRDS(compress = "bzip2")` writes.

use bzip2::{Action, Compress, Compression, Decompress, Error as Failure, Status};

use super::chunked::Stop;
use super::container::StreamEncoder;
use super::input::{ends, Input};
use super::plan::{Needs, Request};
use super::streams::{Library, Progress, StreamDecoder, Streams};
use super::{Kind, ReadOptions};
use crate::{Error, ErrorKind, Result};

/// Place made at once for what the library writes.
const STEP_BYTES: usize = 64 << 10;

pub(super) type Walk = Streams<Bzip2>;

impl Walk {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self::of(Bzip2, options)
    }
}

pub(super) fn stream(request: &Request) -> Box<dyn StreamEncoder> {
    Box::new(Encoder {
        level: request.level,
        stream: None,
        streams: 0,
    })
}

/// A compressor takes 400 kB and eight times its block of 100 kB a level: libbzip2's manual.
pub(super) fn needs(request: &Request) -> Needs {
    let level = u64::from(request.level.unsigned_abs());
    Needs {
        context: level.saturating_mul(800_000).saturating_add(400_000),
        bound: 0,
    }
}

/// Writes one stream, and a further one after each flush.
struct Encoder {
    level: i32,
    stream: Option<Compress>,
    streams: u64,
}

impl Encoder {
    /// Calls the library until it has taken all of `plain` and, at an end, given all out.
    fn run(&mut self, plain: &[u8], stored: &mut Vec<u8>, action: Action) -> Result<()> {
        let level = Compression::new(self.level.unsigned_abs());
        let stream = self.stream.get_or_insert_with(|| {
            self.streams = self.streams.saturating_add(1);
            Compress::new(level, 0)
        });
        let mut rest = plain;
        loop {
            reserve(stored)?;
            let before = stream.total_in();
            let status = stream.compress_vec(rest, stored, action).map_err(failed)?;
            let taken = stream.total_in().saturating_sub(before);
            let taken = usize::try_from(taken).unwrap_or(usize::MAX);
            rest = rest.get(taken..).unwrap_or_default();
            if status == Status::StreamEnd || (action == Action::Run && rest.is_empty()) {
                return Ok(());
            }
        }
    }
}

impl StreamEncoder for Encoder {
    fn write(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        for part in plain.chunks(256 << 10) {
            stop.check()?;
            self.run(part, stored, Action::Run)?;
        }
        Ok(())
    }

    /// Ends the stream: only at its end are no bits kept back that a reader needs.
    fn flush(&mut self, stored: &mut Vec<u8>, _stop: &Stop<'_>) -> Result<()> {
        if self.stream.is_some() {
            self.run(&[], stored, Action::Finish)?;
            self.stream = None;
        }
        Ok(())
    }

    fn finish(&mut self, stored: &mut Vec<u8>, _stop: &Stop<'_>) -> Result<()> {
        if self.stream.is_some() || self.streams == 0 {
            self.run(&[], stored, Action::Finish)?;
        }
        Ok(())
    }
}

fn reserve(stored: &mut Vec<u8>) -> Result<()> {
    stored.try_reserve(STEP_BYTES).map_err(|_| {
        let text = format!("no memory for {STEP_BYTES} bytes of output");
        Error::new(ErrorKind::Limit, text)
    })
}

fn failed(error: Failure) -> Error {
    Error::new(ErrorKind::Internal, format!("libbzip2 failed: {error}"))
}

/// What follows `BZh` and the digit in a stream without blocks: the end's magic number, and the
/// sum of no checksums.
const NO_BLOCKS: [u8; 10] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0, 0, 0, 0];

/// `BZh`, a digit of 1 to 9, then blocks.
pub(super) struct Bzip2;

impl Library for Bzip2 {
    type Decoder = Decompress;

    const HEAD_BYTES: usize = 4;

    fn begin(&self, head: &[u8], start: u64, first: bool) -> Result<Decompress> {
        if let [b'B', b'Z', b'h', b'1'..=b'9'] = head {
            return Ok(Decompress::new(false));
        }
        if head.len() < Self::HEAD_BYTES && Kind::Bz2.magic().starts_with(head) {
            return Err(ends(start, head.len(), Self::HEAD_BYTES));
        }
        let text = if first {
            "not a bzip2 file: it does not start with BZh1 to BZh9"
        } else {
            "bytes after the last stream that are no bzip2 stream"
        };
        Err(Error::new(ErrorKind::Malformed, text).with_offset(start))
    }

    /// A decoder takes and clears 4 MB, whatever the stream holds.
    fn empty(&self, input: &mut dyn Input) -> Result<usize> {
        if !matches!(
            input.ahead(Self::HEAD_BYTES)?,
            [b'B', b'Z', b'h', b'1'..=b'9']
        ) {
            return Ok(0);
        }
        // No stream is shorter than this.
        let rest = input.peek(Self::HEAD_BYTES, NO_BLOCKS.len())?;
        let none = *rest == NO_BLOCKS;
        Ok(if none {
            Self::HEAD_BYTES.saturating_add(NO_BLOCKS.len())
        } else {
            0
        })
    }
}

impl StreamDecoder for Decompress {
    fn decode(&mut self, stored: &[u8], into: &mut [u8]) -> Result<Progress> {
        let (taken, made) = (self.total_in(), self.total_out());
        let status = self.decompress(stored, into).map_err(damaged)?;
        let count = |now: u64, before| usize::try_from(now.saturating_sub(before));
        Ok(Progress {
            taken: count(self.total_in(), taken).unwrap_or_default(),
            made: count(self.total_out(), made).unwrap_or_default(),
            ended: status == Status::StreamEnd,
        })
    }
}

fn damaged(error: Failure) -> Error {
    // libbzip2 tells damage and a wrong checksum apart to nobody.
    let text = match error {
        Failure::Data => "a damaged block, or its checksum does not match".to_string(),
        error => error.to_string(),
    };
    Error::new(ErrorKind::Malformed, text)
}
