//! The frames of a file, gone over from header to header without decoding.

use super::decode::{block_size, LEGACY_BOUND};
use super::header::{self, Begin, Header};
use super::index::is_marked;
use super::walk::Proof;
use super::{array, malformed, WORD_BYTES};
use crate::compress::input::{ends, skip, Input};
use crate::compress::options::check_cancel;
use crate::compress::seek_table::{Check, HEAD_BYTES};
use crate::compress::survey::Found;
use crate::compress::{Kind, Layout, ReadOptions};
use crate::Result;

/// What the headers of a file say.
pub(in crate::compress) fn survey(input: &mut dyn Input, options: &ReadOptions) -> Result<Found> {
    let mut walk = Walk {
        proof: Proof::default(),
        check: Check::of(Kind::Lz4),
        units: 0,
        plain: Some(0),
    };
    let mut frames = 0_u64;
    let mut began = false;
    while let Some(begin) = Begin::ahead(input)? {
        check_cancel(options.cancel.as_ref())?;
        began = true;
        match begin {
            Begin::Skippable => walk.skippable(input)?,
            Begin::Frame => walk.frame(input)?,
            Begin::Legacy => walk.legacy(input)?,
        }
        frames = frames.saturating_add(u64::from(begin != Begin::Skippable));
    }
    let has_index = frames > 0 && walk.proof.is_covered();
    Ok(Found {
        layout: match frames {
            _ if has_index => Some(Layout::Seekable),
            1 => Some(Layout::Single),
            _ => None,
        },
        units: Some(walk.units),
        plain_bytes: walk.plain,
        has_index,
        completeness: began.then(|| walk.proof.completeness()),
        looks_cut: false,
    })
}

struct Walk {
    proof: Proof,
    /// Parts since the last index; what blocks hold is not known.
    check: Check,
    /// Blocks that can be decoded by themselves, and frames of others.
    units: u64,
    plain: Option<u64>,
}

impl Walk {
    fn skippable(&mut self, input: &mut dyn Input) -> Result<()> {
        let may_be_index = is_marked(input)?;
        let size = header::skippable(input)?;
        let covers = may_be_index && self.check.table(input, size)?;
        self.proof.cover(covers);
        if !may_be_index {
            skip(input, u64::from(size))?;
            let stored = u64::from(size).saturating_add(HEAD_BYTES as u64);
            self.check.skipped(stored);
        }
        Ok(())
    }

    fn frame(&mut self, input: &mut dyn Input) -> Result<()> {
        self.proof.frame(false);
        let header = Header::read(input)?;
        let linked = !header.independent;
        self.units = self.units.saturating_add(u64::from(linked));
        let read = input.offset().saturating_sub(header.start);
        self.check.unit(read, Some(0));
        self.plain = self
            .plain
            .zip(header.content_size)
            .map(|(sum, size)| sum.saturating_add(size));
        loop {
            let at = input.offset();
            let word = u32::from_le_bytes(array(input)?);
            let checksum = if word == 0 {
                header.content_checksum
            } else {
                header.block_checksums
            };
            let size = block_size(word, &header, at)?;
            let behind = size.saturating_add(if checksum { WORD_BYTES } else { 0 });
            pass(input, behind)?;
            let stored = behind.saturating_add(WORD_BYTES) as u64;
            // Empty blocks and the end mark hold nothing; of others it is not said.
            self.check.unit(stored, (size == 0).then_some(0));
            if word == 0 {
                return Ok(());
            }
            let alone = !linked && size > 0;
            self.units = self.units.saturating_add(u64::from(alone));
        }
    }

    /// Blocks up to the end or the next magic number.
    fn legacy(&mut self, input: &mut dyn Input) -> Result<()> {
        self.proof.frame(true);
        self.plain = None;
        self.units = self.units.saturating_add(1);
        header::legacy(input)?;
        self.check.unit(WORD_BYTES as u64, Some(0));
        loop {
            let at = input.offset();
            let head = input.ahead(WORD_BYTES)?;
            if head.is_empty() || Begin::of(head).is_some() {
                return Ok(());
            }
            let size = u32::from_le_bytes(array(input)?);
            let behind = input.ahead(WORD_BYTES)?;
            if behind.is_empty() || Begin::of(behind).is_some() {
                // The plain size that Linux adds to its kernel images.
                return Ok(());
            }
            if size > LEGACY_BOUND {
                return Err(malformed("no legacy block can be this long", at));
            }
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            pass(input, size)?;
            let stored = size.saturating_add(WORD_BYTES) as u64;
            self.check.unit(stored, None);
        }
    }
}

/// Goes past bytes that must be there.
fn pass(input: &mut dyn Input, size: usize) -> Result<()> {
    let held = input.has(size)?;
    if held < size {
        return Err(ends(input.offset(), held, size));
    }
    input.advance(size);
    Ok(())
}
