//! The seek table at the end of a file: the zstd seekable format 0.1.0, used for lz4 too.
//!
//! A skippable frame whose content lists, for every unit before it, how many bytes it is stored
//! in and how many it holds.

use super::container::Unit;
use super::input::{ends, skip, unreadable, Input};
use super::read_at::{append, ReadAt};
use super::Kind;
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

impl Entry {
    /// The first eight bytes of an entry; a checksum may follow.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (&stored, rest) = bytes.split_first_chunk::<4>()?;
        Some(Self {
            stored: u32::from_le_bytes(stored),
            plain: u32::from_le_bytes(*rest.first_chunk()?),
        })
    }

    /// The unit at `start` that it lists.
    pub(super) fn unit(self, start: u64) -> Unit {
        Unit {
            start,
            stored: usize::try_from(self.stored).unwrap_or(usize::MAX),
            claim: Some(u64::from(self.plain)),
            bound: usize::try_from(self.plain).unwrap_or(usize::MAX),
            tag: 0,
        }
    }
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
        let size = u64::from(units)
            .saturating_mul(8)
            .saturating_add(FOOTER_BYTES as u64);
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
    kind: Kind,
}

/// More units than this are not remembered; a table over them proves nothing.
const MOST_REMEMBERED: usize = 1 << 22;

impl Check {
    /// For the tables of one kind of file.
    pub(super) fn of(kind: Kind) -> Self {
        Self {
            run: Vec::new(),
            whole: true,
            kind,
        }
    }

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

    /// Goes past the content, `size` bytes, of a skippable frame with the table's magic number;
    /// whether it is a table and covers all units since the last one.
    ///
    /// # Errors
    /// `Malformed` if it is a table of other units than went by; `Truncated`; `Io`.
    pub(super) fn table(&mut self, input: &mut dyn Input, size: u32) -> Result<bool> {
        let start = input.offset();
        let size = u64::from(size);
        let Some(listing) = size.checked_sub(FOOTER_BYTES as u64) else {
            skip(input, size)?;
            self.skipped(size.saturating_add(HEAD_BYTES as u64));
            return Ok(false);
        };
        // Whether entries have checksums is said at the end only: both are compared meanwhile.
        let mut plain = Comparison::new(&self.run, listing, 8);
        let mut checked = Comparison::new(&self.run, listing, 12);
        let end = start.saturating_add(listing);
        while input.offset() < end {
            let left = end.saturating_sub(input.offset());
            let held = input.some()?;
            if held.is_empty() {
                return Err(ends(input.offset(), 0, 1));
            }
            let part = usize::try_from(left).unwrap_or(held.len()).min(held.len());
            let bytes = held.get(..part).unwrap_or_default();
            plain.take(bytes);
            checked.take(bytes);
            input.advance(part);
        }
        let footer = input.ahead(FOOTER_BYTES)?;
        let held = footer.len();
        let Some(&footer) = footer.first_chunk::<FOOTER_BYTES>() else {
            return Err(ends(input.offset(), held, FOOTER_BYTES));
        };
        input.advance(FOOTER_BYTES);
        let Some(footer) = Footer::read(footer, self.kind) else {
            self.skipped(size.saturating_add(HEAD_BYTES as u64));
            return Ok(false);
        };
        let found = if footer.checksums { checked } else { plain };
        if found.units != Some(u64::from(footer.units)) || (self.whole && !found.equal) {
            let text = "a seek table of other frames than come before it";
            let at = start.saturating_sub(HEAD_BYTES as u64);
            return Err(Error::new(ErrorKind::Malformed, text).with_offset(at));
        }
        let covers = self.whole && u64::from(footer.units) == self.run.len() as u64;
        self.run.clear();
        self.whole = true;
        Ok(covers)
    }
}

/// The last bytes of a table.
struct Footer {
    units: u32,
    checksums: bool,
}

impl Footer {
    /// None if the bytes are no footer of this format. What the entries of an lz4 index could have
    /// beside sizes is not defined: its descriptor is 0.
    fn read(bytes: [u8; FOOTER_BYTES], kind: Kind) -> Option<Self> {
        let [a, b, c, d, descriptor, magic @ ..] = bytes;
        let units = u32::from_le_bytes([a, b, c, d]);
        let reserved = if kind == Kind::Lz4 { 0xff } else { 0b0111_1100 };
        let known = u32::from_le_bytes(magic) == FOOTER_MAGIC && descriptor & reserved == 0;
        let few = usize::try_from(units).is_ok_and(|units| units <= MOST_UNITS);
        (known && few).then_some(Self {
            units,
            checksums: descriptor & 0x80 != 0,
        })
    }
}

/// A table's entries, held against the units that went by while they are read.
struct Comparison<'a> {
    run: &'a [(u64, Option<u64>)],
    entry_bytes: usize,
    /// How many entries there are; None if they do not fill the table.
    units: Option<u64>,
    equal: bool,
    entry: Vec<u8>,
}

impl<'a> Comparison<'a> {
    fn new(run: &'a [(u64, Option<u64>)], listing: u64, entry_bytes: usize) -> Self {
        let whole = listing.checked_rem(entry_bytes as u64) == Some(0);
        let units = listing.checked_div(entry_bytes as u64).filter(|_| whole);
        // The run that the table is about ends right at it.
        let first = units
            .and_then(|units| usize::try_from(units).ok())
            .and_then(|units| run.len().checked_sub(units));
        Self {
            run: first.and_then(|first| run.get(first..)).unwrap_or_default(),
            entry_bytes,
            units,
            equal: first.is_some(),
            entry: Vec::with_capacity(entry_bytes),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while self.equal && !rest.is_empty() {
            let room = self.entry_bytes.saturating_sub(self.entry.len());
            let (now, later) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            self.entry.extend_from_slice(now);
            rest = later;
            if self.entry.len() == self.entry_bytes {
                let entry = Entry::read(&self.entry);
                let (unit, following) = match self.run.split_first() {
                    Some((unit, following)) => (Some(unit), following),
                    None => (None, self.run),
                };
                self.run = following;
                self.equal = unit.zip(entry).is_some_and(|((stored, plain), entry)| {
                    *stored == u64::from(entry.stored)
                        && plain.is_none_or(|plain| plain == u64::from(entry.plain))
                });
                self.entry.clear();
            }
        }
    }
}

/// The table at the end of `source`, if it covers everything before it.
///
/// # Errors
/// `Malformed` if it covers more than there is before it; `Io`.
pub(super) fn find<R: ReadAt + ?Sized>(
    source: &R,
    size: u64,
    kind: Kind,
) -> Result<Option<Vec<Entry>>> {
    let io = |error| unreadable(error, size);
    let Some(footer_at) = size.checked_sub(FOOTER_BYTES as u64) else {
        return Ok(None);
    };
    let mut footer = Vec::new();
    append(source, footer_at, FOOTER_BYTES, &mut footer).map_err(io)?;
    let Some(footer) = footer
        .first_chunk()
        .and_then(|&footer| Footer::read(footer, kind))
    else {
        return Ok(None);
    };
    let entry_bytes = if footer.checksums { 12_usize } else { 8 };
    let listing = u64::from(footer.units).saturating_mul(entry_bytes as u64);
    let Some(start) = footer_at
        .checked_sub(listing)
        .and_then(|at| at.checked_sub(HEAD_BYTES as u64))
    else {
        return Ok(None);
    };
    let mut table = Vec::new();
    let bytes = usize::try_from(footer_at.saturating_sub(start)).unwrap_or(usize::MAX);
    append(source, start, bytes, &mut table).map_err(io)?;
    let said = listing.saturating_add(FOOTER_BYTES as u64);
    let is = |at: usize, number: u64| {
        let field = table.get(at..).and_then(|rest| rest.first_chunk::<4>());
        field.is_some_and(|&field| u64::from(u32::from_le_bytes(field)) == number)
    };
    if !is(0, u64::from(MAGIC)) || !is(4, said) {
        return Ok(None);
    }
    let listed = table.get(HEAD_BYTES..).unwrap_or_default();
    let entries: Vec<Entry> = listed
        .chunks_exact(entry_bytes)
        .filter_map(Entry::read)
        .collect();
    let covered = entries.iter().fold(0_u64, |sum, entry| {
        sum.saturating_add(u64::from(entry.stored))
    });
    if covered > start {
        let text = format!("a seek table over {covered} bytes, of which {start} come before it");
        return Err(Error::new(ErrorKind::Malformed, text).with_offset(start));
    }
    if entries.iter().any(|entry| entry.plain > MOST_PLAIN) {
        let text = "a seek table with a frame of more than 1 GiB";
        return Err(Error::new(ErrorKind::Malformed, text).with_offset(start));
    }
    // A table of nothing proves nothing.
    Ok((covered == start && start > 0).then_some(entries))
}
