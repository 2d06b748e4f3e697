//! The index at the end of a file, held against the parts that came before it.
//!
//! It lists a frame's header, its blocks, and its end mark with the checksum, so that the sums
//! of stored bytes are offsets in the file.

use std::collections::VecDeque;

use super::header;
use crate::compress::input::{skip, Input};
use crate::compress::seek_table::{self, Check};
use crate::compress::Kind;
use crate::Result;

/// The parts that went by, of which the last ones may not be decoded yet.
#[derive(Debug)]
pub(super) struct Run {
    check: Check,
    /// Parts from the first one on that is not decoded: at most those in work.
    waiting: VecDeque<Part>,
}

#[derive(Debug)]
enum Part {
    /// Stored bytes, and plain ones once decoded.
    Unit(u64, Option<u64>),
    Skippable(u64),
}

impl Default for Run {
    fn default() -> Self {
        Self {
            check: Check::of(Kind::Lz4),
            waiting: VecDeque::new(),
        }
    }
}

impl Run {
    /// A header, block or end mark went by; None where its plain bytes are to come.
    pub(super) fn part(&mut self, stored: u64, plain: Option<u64>) {
        self.waiting.push_back(Part::Unit(stored, plain));
        self.settle();
    }

    /// The next block that was waited for was decoded.
    pub(super) fn decoded(&mut self, bytes: usize) {
        if let Some(Part::Unit(_, plain @ None)) = self.waiting.front_mut() {
            *plain = Some(bytes as u64);
        }
        self.settle();
    }

    /// Whether all parts are decoded.
    pub(super) fn is_settled(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Goes past a skippable frame; whether it is an index of all parts since the last one.
    ///
    /// # Errors
    /// `Malformed` for an index of other parts than went by; `Truncated`; `Io`.
    pub(super) fn skippable(&mut self, input: &mut dyn Input) -> Result<bool> {
        let may_be_index = is_marked(input)?;
        let size = header::skippable(input)?;
        if may_be_index {
            return self.check.table(input, size);
        }
        skip(input, u64::from(size))?;
        let stored = u64::from(size).saturating_add(seek_table::HEAD_BYTES as u64);
        self.waiting.push_back(Part::Skippable(stored));
        self.settle();
        Ok(false)
    }

    fn settle(&mut self) {
        while let Some(part) = self.waiting.front() {
            match *part {
                Part::Unit(_, None) => return,
                Part::Unit(stored, plain) => self.check.unit(stored, plain),
                Part::Skippable(stored) => self.check.skipped(stored),
            }
            self.waiting.pop_front();
        }
    }
}

/// Whether the skippable frame ahead has the magic number of an index.
pub(super) fn is_marked(input: &mut dyn Input) -> Result<bool> {
    let head = input.ahead(4)?;
    Ok(head
        .first_chunk::<4>()
        .is_some_and(|&magic| u32::from_le_bytes(magic) == seek_table::MAGIC))
}
