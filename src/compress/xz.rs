//! xz streams and, for reading, lzma-alone files, by liblzma.

use liblzma::stream::{Action, Check, Error as Failure, Status, Stream, TELL_UNSUPPORTED_CHECK};

use super::chunked::Stop;
use super::container::StreamEncoder;
use super::input::{ends, Input};
use super::plan::{Needs, Request};
use super::sniff::is_lzma_alone;
use super::streams::{Library, Progress, StreamDecoder, Streams};
use super::{Kind, ReadOptions};
use crate::{Error, ErrorKind, Result};

/// Place made at once for what the library writes.
const STEP_BYTES: usize = 64 << 10;
/// What decoding takes beside the dictionary, generously.
const BESIDE_DICTIONARY: u64 = 16 << 20;
/// Memory of an encoder in MiB by level: the manual page of xz.
const ENCODER_MIB: [u64; 10] = [3, 9, 17, 32, 48, 94, 94, 186, 370, 674];

pub(super) type Walk = Streams<Xz>;

impl Walk {
    pub(super) fn new(options: &ReadOptions) -> Self {
        let memory = options.max_window.saturating_add(BESIDE_DICTIONARY);
        Self::of(Xz { memory }, options)
    }
}

pub(super) fn stream(request: &Request) -> Result<Box<dyn StreamEncoder>> {
    // CRC64 is what xz itself and R write.
    let stream = Stream::new_easy_encoder(request.level.unsigned_abs(), Check::Crc64);
    let stream = stream.map_err(|error| match error {
        Failure::Mem => Error::new(ErrorKind::Limit, "no memory for an xz encoder"),
        error => failed(error),
    })?;
    Ok(Box::new(Encoder(stream)))
}

pub(super) fn needs(request: &Request) -> Needs {
    let level = usize::try_from(request.level).unwrap_or_default();
    let mib = ENCODER_MIB.get(level).copied().unwrap_or(674);
    Needs {
        context: mib << 20,
        bound: 0,
    }
}

/// Writes one stream.
struct Encoder(Stream);

impl Encoder {
    /// Calls the library until it has taken all of `plain` and, at an end, given all out.
    fn run(&mut self, plain: &[u8], stored: &mut Vec<u8>, action: Action) -> Result<()> {
        let running = matches!(action, Action::Run);
        let mut rest = plain;
        loop {
            stored.try_reserve(STEP_BYTES).map_err(|_| {
                let text = format!("no memory for {STEP_BYTES} bytes of output");
                Error::new(ErrorKind::Limit, text)
            })?;
            let before = self.0.total_in();
            let status = self.0.process_vec(rest, stored, action);
            let status = status.map_err(failed)?;
            let taken = self.0.total_in().saturating_sub(before);
            let taken = usize::try_from(taken).unwrap_or(usize::MAX);
            rest = rest.get(taken..).unwrap_or_default();
            if status == Status::StreamEnd || (running && rest.is_empty()) {
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

    fn flush(&mut self, stored: &mut Vec<u8>, _stop: &Stop<'_>) -> Result<()> {
        self.run(&[], stored, Action::SyncFlush)
    }

    fn finish(&mut self, stored: &mut Vec<u8>, _stop: &Stop<'_>) -> Result<()> {
        self.run(&[], stored, Action::Finish)
    }
}

fn failed(error: Failure) -> Error {
    Error::new(ErrorKind::Internal, format!("liblzma failed: {error}"))
}

/// The xz format 1.2.1, or lzma-alone at the start of a file.
pub(super) struct Xz {
    /// Most bytes that decoding may take.
    memory: u64,
}

impl Library for Xz {
    type Decoder = Decoder;

    const HEAD_BYTES: usize = 13;

    fn begin(&self, head: &[u8], start: u64, first: bool) -> Result<Decoder> {
        let magic = Kind::Xz.magic();
        let stream = if head.starts_with(magic) {
            Stream::new_stream_decoder(self.memory, TELL_UNSUPPORTED_CHECK)
        } else if first && is_lzma_alone(head) {
            Stream::new_lzma_decoder(self.memory)
        } else {
            return Err(no_stream(head, start, first));
        };
        let memory = self.memory;
        match stream {
            Ok(stream) => Ok(Decoder { stream, memory }),
            Err(error) => Err(damaged(error, memory).with_offset(start)),
        }
    }

    /// Zeros in fours: the xz format, 2.2.
    fn padding(&self, input: &mut dyn Input) -> Result<()> {
        let start = input.offset();
        loop {
            let held = input.some()?;
            let zeros = held.iter().take_while(|&&byte| byte == 0).count();
            let over = zeros == 0 || zeros < held.len();
            input.advance(zeros);
            let padded = input.offset().saturating_sub(start);
            if over && padded % 4 == 0 {
                return Ok(());
            }
            if over {
                let text = format!("{padded} bytes of padding, not a multiple of four");
                return Err(Error::new(ErrorKind::Malformed, text).with_offset(start));
            }
        }
    }
}

fn no_stream(head: &[u8], start: u64, first: bool) -> Error {
    let magic = Kind::Xz.magic();
    let lzma_alone = first && head.first() == Some(&0x5d) && head.len() < Xz::HEAD_BYTES;
    if lzma_alone || magic.starts_with(head) {
        return ends(
            start,
            head.len(),
            magic.len().max(head.len().saturating_add(1)),
        );
    }
    let text = if first {
        "neither an xz file, which starts with FD 37 7A 58 5A 00, nor lzma-alone"
    } else {
        "bytes after the last stream that are no xz stream"
    };
    Error::new(ErrorKind::Malformed, text).with_offset(start)
}

/// Decodes one stream, of either format.
pub(super) struct Decoder {
    stream: Stream,
    memory: u64,
}

impl StreamDecoder for Decoder {
    fn decode(&mut self, stored: &[u8], into: &mut [u8]) -> Result<Progress> {
        let (taken, made) = (self.stream.total_in(), self.stream.total_out());
        let status = self.stream.process(stored, into, Action::Run);
        let status = status.map_err(|error| damaged(error, self.memory))?;
        let count = |now: u64, before| usize::try_from(now.saturating_sub(before));
        Ok(Progress {
            taken: count(self.stream.total_in(), taken).unwrap_or_default(),
            made: count(self.stream.total_out(), made).unwrap_or_default(),
            ended: status == Status::StreamEnd,
        })
    }
}

fn damaged(error: Failure, memory: u64) -> Error {
    let (kind, text) = match error {
        Failure::MemLimit => {
            let text = format!(
                "its dictionary needs more than {memory} bytes: raise max_window, and it takes as much memory"
            );
            return Error::new(ErrorKind::Limit, text);
        }
        Failure::Mem => (ErrorKind::Limit, "no memory for its dictionary"),
        Failure::Options | Failure::UnsupportedCheck | Failure::NoCheck => (
            ErrorKind::Unsupported,
            "a filter or check that is not known",
        ),
        Failure::Data => (
            ErrorKind::Malformed,
            "damaged, or its checksum does not match",
        ),
        Failure::Format => (ErrorKind::Malformed, "no xz stream"),
        Failure::Program => (ErrorKind::Internal, "liblzma was called wrongly"),
    };
    Error::new(kind, text)
}
