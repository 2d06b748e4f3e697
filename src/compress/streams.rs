//! Streams of a library that are decoded as they come, one after the other: bzip2 and xz.

use std::sync::Arc;

use super::container::{Make, Step, Unit, UnitDecoder, Walker};
use super::input::Input;
use super::{Completeness, ReadOptions, Trailing};
use crate::{Error, ErrorKind, Result};

/// What a library does with the streams of its format.
pub(super) trait Library: Send {
    type Decoder: StreamDecoder;

    /// How many bytes tell whether a stream begins.
    const HEAD_BYTES: usize;

    /// A decoder for the stream at `start` that begins with `head`, cut where the input ends;
    /// `first` if it is the first of the file.
    ///
    /// # Errors
    /// `Malformed` if none begins so, `Truncated` if `head` is too short to tell.
    fn begin(&self, head: &[u8], start: u64, first: bool) -> Result<Self::Decoder>;

    /// How many bytes the stream ahead is, if it surely holds nothing; 0 if that is not known.
    /// Many such are gone past without a decoder for each.
    ///
    /// # Errors
    /// `Io`.
    fn empty(&self, input: &mut dyn Input) -> Result<usize> {
        let _ = input;
        Ok(0)
    }

    /// Goes past padding behind a stream.
    ///
    /// # Errors
    /// `Malformed` for padding that is not allowed; `Io`.
    fn padding(&self, input: &mut dyn Input) -> Result<()> {
        let _ = input;
        Ok(())
    }
}

/// Decodes one stream.
pub(super) trait StreamDecoder: Send {
    /// Decodes from `stored`, empty where the input ends, into `into`.
    ///
    /// # Errors
    /// What is wrong with the stream, without an offset.
    fn decode(&mut self, stored: &[u8], into: &mut [u8]) -> Result<Progress>;
}

/// What one call of a decoder did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Stored bytes taken.
    pub(super) taken: usize,
    /// Plain bytes made.
    pub(super) made: usize,
    /// Whether the stream ended, behind the bytes taken.
    pub(super) ended: bool,
}

/// The streams of an input.
pub(super) struct Streams<L: Library> {
    library: L,
    trailing: Trailing,
    decoder: Option<L::Decoder>,
    /// Offset of the stream at work.
    start: u64,
    ended: bool,
    count: u64,
}

impl<L: Library> Streams<L> {
    pub(super) fn of(library: L, options: &ReadOptions) -> Self {
        Self {
            library,
            trailing: options.trailing,
            decoder: None,
            start: 0,
            ended: false,
            count: 0,
        }
    }

    fn truncated(&self, at: u64) -> Error {
        let text = format!(
            "the input ends inside the stream that starts at byte {}",
            self.start
        );
        Error::new(ErrorKind::Truncated, text).with_offset(at)
    }
}

impl<L: Library> Walker for Streams<L> {
    fn decoder(&self) -> Arc<Make<dyn UnitDecoder>> {
        Arc::new(|| Ok(Box::new(NoUnits)))
    }

    fn step(&mut self, input: &mut dyn Input) -> Result<Step> {
        let first = self.count == 0;
        if !first && self.trailing == Trailing::Refuse {
            self.library.padding(input)?;
        }
        let start = input.offset();
        if !first && input.ahead(L::HEAD_BYTES)?.is_empty() {
            return Ok(Step::End);
        }
        let empty = self.library.empty(input)?;
        if empty > 0 {
            input.advance(empty);
            self.decoder = None;
            self.count = self.count.saturating_add(1);
            return Ok(Step::Serial);
        }
        let head = input.ahead(L::HEAD_BYTES)?;
        self.decoder = match self.library.begin(head, start, first) {
            Err(_) if !first && self.trailing == Trailing::Stop => return Ok(Step::End),
            other => Some(other?),
        };
        self.start = start;
        self.ended = false;
        self.count = self.count.saturating_add(1);
        Ok(Step::Serial)
    }

    fn serial(&mut self, input: &mut dyn Input, into: &mut [u8]) -> Result<usize> {
        let Some(decoder) = self.decoder.as_mut().filter(|_| !self.ended) else {
            return Ok(0);
        };
        loop {
            let at = input.offset();
            let held = input.some()?;
            let empty = held.is_empty();
            let progress = decoder.decode(held, into);
            let progress = progress.map_err(|error| error.with_offset(at))?;
            input.advance(progress.taken);
            self.ended = progress.ended;
            if progress.ended || progress.made > 0 {
                return Ok(progress.made);
            }
            if empty {
                return Err(self.truncated(at));
            }
            if progress.taken == 0 {
                let text = "the library takes no more of the stream";
                return Err(Error::new(ErrorKind::Malformed, text).with_offset(at));
            }
        }
    }

    fn delivered(&mut self, _unit: &Unit, _plain: &[u8]) -> Result<()> {
        Ok(())
    }

    fn completeness(&self) -> Completeness {
        // One stream ends itself; behind several more could have been.
        match self.count {
            1 => Completeness::Proven,
            _ => Completeness::Unproven,
        }
    }
}

/// Stands where decoders of units do: these streams have none.
struct NoUnits;

impl UnitDecoder for NoUnits {
    fn decode(&mut self, unit: &Unit, _stored: &[u8], _plain: &mut Vec<u8>) -> Result<()> {
        let text = "a unit of a format without units";
        Err(Error::new(ErrorKind::Internal, text).with_offset(unit.start))
    }
}
