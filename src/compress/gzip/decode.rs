//! gzip, as defined in RFC 1952: written by libdeflate, read by zlib-rs through flate2.

use std::io::{self, BufRead, ErrorKind as IoKind, Read};

use flate2::bufread::GzDecoder;
use libdeflater::{CompressionLvl, Compressor as Deflate};

use crate::compress::input::{ends, unreadable, Input, Slice, Source};
use crate::compress::output::Output;
use crate::compress::{believed_bytes, Kind};
use crate::{Error, ErrorKind, Result};


/// Bytes asked for when the place is full.
const PROBE: usize = 4096;

/// The plain size modulo 2^32, as the last member's trailer has it: RFC 1952, 2.3.1, ISIZE.
pub(in crate::compress) fn expect(data: &[u8]) -> Option<u64> {
    let size = data.last_chunk::<4>()?;
    Some(u64::from(u32::from_le_bytes(*size)))
}

pub(in crate::compress) fn decode(data: &[u8], output: &mut Output<'_>) -> Result<()> {
    let claim = expect(data).unwrap_or(0).min(output.room());
    output.place(believed_bytes(claim, data.len()), 0)?;
    let mut members = Members::new(Slice::new(data));
    let mut probe = [0; PROBE];
    loop {
        // One byte more than allowed is asked for, so that a longer result shows.
        let most = usize::try_from(output.room().saturating_add(1)).unwrap_or(usize::MAX);
        let at = members.at();
        let (_, place) = output.place(0, at)?;
        let size = place.len().min(most);
        let made = if size == 0 {
            // Full: only if more comes is more place needed.
            let made = members.decode(probe.get_mut(..most.min(PROBE)).unwrap_or_default())?;
            output.copy(probe.get(..made).unwrap_or_default(), at)?;
            made
        } else {
            let made = members.decode(place.get_mut(..size).unwrap_or_default())?;
            output.commit(made);
            made
        };
        if made == 0 {
            return Ok(());
        }
        if output.over() {
            return Err(output.exceeded(members.at()));
        }
    }
}


/// The members of an input, decoded one after the other.
struct Members<I: Input + BufRead> {
    state: State<I>,
    start: u64,
}

enum State<I> {
    Between(I),
    Inside(Box<GzDecoder<I>>),
    /// Only seen where an error is on its way out.
    Moving,
}

impl<I: Input + BufRead> Members<I> {
    fn new(input: I) -> Self {
        Self {
            state: State::Between(input),
            start: 0,
        }
    }

    fn at(&self) -> u64 {
        match &self.state {
            State::Between(input) => input.offset(),
            State::Inside(decoder) => decoder.get_ref().offset(),
            State::Moving => self.start,
        }
    }

    /// Begins the next member; false where the input ends behind a member.
    fn begin(&mut self, mut input: I) -> Result<bool> {
        let first = input.offset() == 0;
        if !first && ends_here(&mut input)? {
            self.state = State::Between(input);
            return Ok(false);
        }
        self.start = input.offset();
        check_magic(input.ahead(Kind::Gzip.magic().len())?, self.start)?;
        self.state = State::Inside(Box::new(GzDecoder::new(input)));
        Ok(true)
    }

    fn failed(&self, error: io::Error, input: &I) -> Error {
        let (at, start) = (input.offset(), self.start);
        if input.failed() {
            return unreadable(error, at);
        }
        if error.kind() == IoKind::UnexpectedEof {
            let text = format!("the input ends inside the member that starts at byte {start}");
            return Error::new(ErrorKind::Truncated, text).with_offset(at);
        }
        let text = error.to_string();
        if text.contains("checksum") {
            let text =
                format!("the checksum of the member that starts at byte {start} does not match");
            return Error::new(ErrorKind::ChecksumMismatch, text).with_offset(at);
        }
        Error::new(ErrorKind::Malformed, text).with_offset(at)
    }
}

trait Decode { fn decode(&mut self, into: &mut [u8]) -> Result<usize>; }
impl<I: Input + BufRead + Send> Decode for Members<I> {
    fn decode(&mut self, into: &mut [u8]) -> Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, State::Moving) {
                State::Between(input) => {
                    if !self.begin(input)? {
                        return Ok(0);
                    }
                }
                State::Inside(mut decoder) => match decoder.read(into) {
                    Ok(0) => self.state = State::Between(decoder.into_inner()),
                    Ok(made) => {
                        self.state = State::Inside(decoder);
                        return Ok(made);
                    }
                    Err(error) => return Err(self.failed(error, decoder.get_ref())),
                },
                State::Moving => {
                    let text = "read again after an error".to_string();
                    return Err(internal(text));
                }
            }
        }
    }
}

/// Whether the input ends behind a member; zeros to its end are padding, as of tapes and dd.
fn ends_here<I: Input>(input: &mut I) -> Result<bool> {
    while input.ahead(1)? == [0] {
        input.advance(1);
        if input.ahead(1)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(input.ahead(1)?.is_empty())
}

fn check_magic(head: &[u8], start: u64) -> Result<()> {
    let magic = Kind::Gzip.magic();
    if head.len() < magic.len() && magic.starts_with(head) {
        return Err(ends(start, head.len(), magic.len()));
    }
    if head == magic {
        return Ok(());
    }
    let text = if start == 0 {
        "not a gzip file: it does not start with 1F 8B 08"
    } else {
        "bytes after the last member that are no gzip member"
    };
    Err(Error::new(ErrorKind::Malformed, text).with_offset(start))
}

fn internal(text: String) -> Error {
    Error::new(ErrorKind::Internal, text).with_format("gzip")
}
