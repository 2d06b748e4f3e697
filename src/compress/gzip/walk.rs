//! Finding the members of a stream: BGZF's by their lengths, in batches; others as they come.

use std::sync::Arc;

use super::decode::BatchDecoder;
use super::header::{bgzf_bytes, check_magic, truncated, MARKER};
use super::serial::Serial;
use crate::compress::container::{Make, Step, Unit, UnitDecoder, Walker};
use crate::compress::input::Input;
use crate::compress::{Completeness, ReadOptions, Trailing};
use crate::{Error, ErrorKind, Result};

/// Bytes of a batch from which on it takes no further member, plain or stored.
const BATCH_BYTES: usize = 1 << 20;
/// Most plain bytes of a BGZF member.
const MOST_PLAIN: u32 = 1 << 16;

/// What the last member seen is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Ordinary,
    Bgzf,
    /// BGZF's own, which ends a file.
    Marker,
}

/// The members of a stream.
pub(in crate::compress) struct Members {
    trailing: Trailing,
    /// Whether to wait for more members than one.
    batches: bool,
    count: u64,
    /// Whether any is of BGZF.
    bgzf: bool,
    last: Last,
    serial: Serial,
    /// What went wrong behind the batch that was given last.
    later: Option<Error>,
}

impl Members {
    pub(in crate::compress) fn new(options: &ReadOptions) -> Self {
        Self {
            trailing: options.trailing,
            batches: options.read_ahead,
            count: 0,
            bgzf: false,
            last: Last::Ordinary,
            serial: Serial::new(),
            later: None,
        }
    }

    /// The BGZF members ahead as one unit; None if an ordinary one is ahead.
    fn batch(&mut self, input: &mut dyn Input) -> Result<Option<Unit>> {
        let (start, before) = (input.offset(), self.count);
        let mut stored = 0_usize;
        let mut plain = 0_usize;
        loop {
            let member = match bgzf_member(input, stored) {
                Ok(Some(member)) => member,
                Ok(None) => break,
                Err(error) if stored == 0 => return Err(error),
                Err(error) => {
                    self.later = Some(error);
                    break;
                }
            };
            stored = stored.saturating_add(member.stored);
            plain = plain.saturating_add(member.plain);
            self.count = self.count.saturating_add(1);
            self.last = if member.marker {
                Last::Marker
            } else {
                Last::Bgzf
            };
            self.bgzf = true;
            if !self.batches || plain >= BATCH_BYTES || stored >= BATCH_BYTES {
                break;
            }
        }
        Ok((stored > 0).then_some(Unit {
            start,
            stored,
            claim: Some(plain as u64),
            bound: plain,
            // Members before it, for the number of one that is damaged.
            tag: before,
        }))
    }

    /// Goes past zeros behind the last member, which tapes and dd pad with.
    fn padding(input: &mut dyn Input) -> Result<()> {
        let start = input.offset();
        loop {
            let held = input.some()?;
            if held.is_empty() {
                return Ok(());
            }
            let zeros = held.iter().take_while(|&&byte| byte == 0).count();
            if zeros < held.len() {
                let text = "bytes after the last member and its padding";
                return Err(Error::new(ErrorKind::Malformed, text).with_offset(start));
            }
            input.advance(zeros);
        }
    }
}

impl Walker for Members {
    fn decoder(&self) -> Arc<Make<dyn UnitDecoder>> {
        Arc::new(|| Ok(Box::new(BatchDecoder::new())))
    }

    fn step(&mut self, input: &mut dyn Input) -> Result<Step> {
        if let Some(error) = self.later.take() {
            return Err(error);
        }
        let start = input.offset();
        let first = self.count == 0;
        let head = input.ahead(3)?;
        if !first {
            let padded = head.first() == Some(&0) && self.trailing == Trailing::Refuse;
            if padded {
                Self::padding(input)?;
                return Ok(Step::End);
            }
            if head.is_empty() {
                return Ok(Step::End);
            }
        }
        match check_magic(head, start, first) {
            Err(_) if !first && self.trailing == Trailing::Stop => return Ok(Step::End),
            other => other?,
        }
        if let Some(unit) = self.batch(input)? {
            return Ok(Step::Unit(unit));
        }
        self.serial.begin(input)?;
        self.count = self.count.saturating_add(1);
        self.last = Last::Ordinary;
        Ok(Step::Serial)
    }

    fn serial(&mut self, input: &mut dyn Input, into: &mut [u8]) -> Result<usize> {
        self.serial.decode(input, into)
    }

    fn delivered(&mut self, _unit: &Unit, _plain: &[u8]) -> Result<()> {
        Ok(())
    }

    fn completeness(&self) -> Completeness {
        let lone = self.count == 1 && !self.bgzf;
        if self.last == Last::Marker || lone {
            Completeness::Proven
        } else {
            Completeness::Unproven
        }
    }

    fn looks_cut(&self) -> bool {
        self.last == Last::Bgzf
    }
}

/// A BGZF member that is there whole.
struct Bgzf {
    stored: usize,
    plain: usize,
    marker: bool,
}

/// The BGZF member `at` bytes ahead; None if it is none.
fn bgzf_member(input: &mut dyn Input, at: usize) -> Result<Option<Bgzf>> {
    let Some(stored) = bgzf_bytes(input, at)? else {
        return Ok(None);
    };
    let start = input.offset().saturating_add(at as u64);
    let end = at.saturating_add(stored);
    let size_at = end.saturating_sub(4);
    let Some(&plain) = input.peek(size_at, 4)?.first_chunk::<4>() else {
        let held = input.has(end)?.saturating_sub(at) as u64;
        return Err(truncated(start, start.saturating_add(held)));
    };
    let plain = u32::from_le_bytes(plain);
    if plain > MOST_PLAIN {
        let text = format!("a BGZF member that says it holds {plain} bytes, above 65,536");
        return Err(Error::new(ErrorKind::Malformed, text).with_offset(start));
    }
    Ok(Some(Bgzf {
        stored,
        plain: usize::try_from(plain).unwrap_or_default(),
        marker: stored == MARKER.len() && *input.peek(at, stored)? == MARKER,
    }))
}
