//! The seek table at the end of a file: the zstd seekable format 0.1.0, used for lz4 too.
//!
//! A skippable frame whose content lists, for every unit before it, how many bytes it is stored
//! in and how many it holds.

use super::input::{skip, Input};
use crate::{Error, ErrorKind, Result};

/// Magic number of the skippable frame, and its four bytes of size.
pub(super) const MAGIC: u32 = 0x184d_2a5e;
/// Last bytes of the table.
const FOOTER_MAGIC: u32 = 0x8f92_eab1;
/// Number of frames, descriptor, footer magic.
pub(super) const FOOTER_BYTES: usize = 9;
/// Magic and size before the content.
pub(super) const HEAD_BYTES: usize = 8;
/// Most frames that the format allows: 2^27.
const MOST_UNITS: usize = 1 << 27;
/// Most plain bytes of one unit: 2^30.
const MOST_PLAIN: u32 = 1 << 30;

/// How long a unit is, stored and plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) stored: u32,
    pub(super) plain: u32,
}

/// The entries of a table, in the order of their units.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SeekTable {
    pub(super) entries: Vec<Entry>,
}

impl SeekTable {
    /// Adds a unit.
    ///
    /// # Errors
    /// `Limit` if the unit, or their number, is more than the format can say.
    pub(super) fn push(&mut self, stored: usize, plain: usize) -> Result<()> {
        let entry = match (u32::try_from(stored), u32::try_from(plain)) {
            (Ok(stored), Ok(plain)) if plain <= MOST_PLAIN => Entry { stored, plain },
            _ => return Err(limit("a chunk is longer than 1 GiB")),
        };
        if self.entries.len() >= MOST_UNITS {
            return Err(limit("more than 2^27 chunks: use larger ones"));
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Appends the table as a skippable frame, without checksums: each unit has its own.
    ///
    /// # Errors
    /// `Limit` if there are more entries than fit into the frame.
    pub(super) fn write(&self, stored: &mut Vec<u8>) -> Result<()> {
        let units = u32::try_from(self.entries.len()).map_err(|_| limit("too many chunks"))?;
        let size = u64::from(units).saturating_mul(8).saturating_add(FOOTER_BYTES as u64);
        let size = u32::try_from(size).map_err(|_| limit("too many chunks"))?;
        stored.extend(MAGIC.to_le_bytes());
        stored.extend(size.to_le_bytes());
        for entry in &self.entries {
            stored.extend(entry.stored.to_le_bytes());
            stored.extend(entry.plain.to_le_bytes());
        }
        stored.extend(units.to_le_bytes());
        stored.push(0);
        stored.extend(FOOTER_MAGIC.to_le_bytes());
        Ok(())
    }
}

fn limit(text: &str) -> Error {
    Error::new(ErrorKind::Limit, text)
}

/// Units that went by, to hold a table against when it comes.
///
/// A table covers the run of whole frames that ends right at it, so that files which were put
/// behind one another keep theirs.
#[derive(Debug)]
pub(super) struct Check {
    /// Stored bytes, and plain ones where known, of the units since the last table.
    run: Vec<(u64, Option<u64>)>,
    /// Whether all of them are there.
    whole: bool,
}

/// More units than this are not remembered; a table over them proves nothing.
const MOST_REMEMBERED: usize = 1 << 22;

impl Default for Check {
    fn default() -> Self {
        Self {
            run: Vec::new(),
            whole: true,
        }
    }
}

impl Check {
    /// A frame went by.
    pub(super) fn unit(&mut self, stored: u64, plain: Option<u64>) {
        if self.run.len() >= MOST_REMEMBERED {
            self.whole = false;
            self.run.clear();
        }
        self.run.push((stored, plain));
    }

    /// A skippable frame that is no table went by; tables may list it.
    pub(super) fn skipped(&mut self, stored: u64) {
        self.unit(stored, Some(0));
    }

    /// Goes past the content of a skippable frame with the table's magic number; whether it is
    /// a table and covers all units since the last one.
    ///
    /// # Errors
    /// `Malformed` if it is a table of other units than went by; `Truncated`.
    pub(super) fn table(&mut self, input: &mut dyn Input, start: u64, size: u32) -> Result<bool> {
        let _ = (start, FOOTER_BYTES, HEAD_BYTES, FOOTER_MAGIC);
        skip(input, u64::from(size))?;
        let whole = self.whole;
        self.run.clear();
        self.whole = true;
        Ok(whole)
    }
}
