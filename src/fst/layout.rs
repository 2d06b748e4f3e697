//! The headers of a file: where its columns lie, and what they are.
//!
//! Every header begins with the XXH64 (seed [`SEED`]) of what follows in it.

use super::fault::{fault, malformed, too_much};
use super::joined;
use super::kind::{ColumnKind, TimeScale};
use super::source::{u16_at, u32_at, u64_at, Source};
use super::texts::TextEncoding;
use crate::compress::ReadAt;
use crate::{ErrorKind, Result};
use xxhash_rust::xxh64::xxh64;

/// The seed of all hashes.
pub(super) const SEED: u64 = 912_824_571;
/// What stands at byte 44 since fst 0.9.9; 0 in older files.
pub(super) const MAGIC: u32 = 0x5041_4150;
/// The version of every header.
pub(super) const VERSION: u32 = 1;
/// Bytes of the table header.
pub(super) const TABLE: u64 = 48;
/// Bytes of a chunk set without its columns, of the header of names, of a chunk index, of a data
/// chunk without its columns.
pub(super) const CHUNK_SET: u64 = 80;
pub(super) const NAMES: u64 = 24;
pub(super) const CHUNK_INDEX: u64 = 96;
pub(super) const DATA_CHUNK: u64 = 24;

/// What the headers say.
pub(super) struct Layout {
    pub(super) rows: u64,
    pub(super) keys: Vec<usize>,
    pub(super) columns: Vec<Place>,
}

/// One column: what it is and where it lies.
pub(super) struct Place {
    pub(super) name: String,
    pub(super) kind: ColumnKind,
    pub(super) scale: TimeScale,
    pub(super) at: u64,
    /// Where the next column begins, or the file ends.
    pub(super) end: u64,
}

/// Whether bytes begin as a file of fst 0.8 or later does: 48 are enough.
///
/// # Example
/// ```
/// assert!(!tare::fst::sniff(b"a,b,c"));
/// ```
#[must_use]
pub fn sniff(head: &[u8]) -> bool {
    // A magic in front of damage is still fst: its reader says what is wrong.
    let told = |head: &[u8]| u32_at(head, 44) == MAGIC || check_table(head).is_ok();
    head.get(..48).is_some_and(told)
}

/// Reads and checks every header.
pub(super) fn read<S: ReadAt>(source: &Source<S>, budget: Option<u64>) -> Result<Layout> {
    let head = source.bytes("the table header", 0, TABLE)?;
    check_table(&head)?;
    let columns = count(u32_at(&head, 28), "columns", 28)?;
    let keys = count(u32_at(&head, 40), "keys", 40)?;
    if let Some(budget) = budget.filter(|budget| u64::from(columns).saturating_mul(64) > *budget) {
        let text = format!("{columns} columns, more than memory_budget of {budget} bytes holds");
        return Err(too_much(text, 28));
    }
    let keys = read_keys(source, keys, columns)?;
    let at = u64_at(&head, 32);
    if at < TABLE {
        return Err(malformed("a chunk set within the table header", 32));
    }
    let wide = CHUNK_SET.saturating_add(u64::from(columns).saturating_mul(8));
    let set = header(source, "chunk set", at, wide)?;
    if u32_at(&set, 72) != columns {
        return Err(malformed(
            "a chunk set of another number of columns",
            at.saturating_add(72),
        ));
    }
    if u64_at(&set, 40) != 0 {
        let text = "a table of several chunk sets, which no known version of fst writes";
        return Err(fault(ErrorKind::Unsupported, text, at.saturating_add(40)));
    }
    let rows = u64_at(&set, 64);
    let after = at.saturating_add(wide);
    let (names, index_at) = read_names(source, after, columns)?;
    let positions = read_positions(source, index_at, rows, columns)?;
    let columns = places(&set, names, &positions, (at, source.size))?;
    Ok(Layout {
        rows,
        keys,
        columns,
    })
}

/// A header whose hash is that of its content, and whose version is known.
fn header<S: ReadAt>(source: &Source<S>, what: &str, at: u64, len: u64) -> Result<Vec<u8>> {
    let bytes = source.bytes(&format!("the {what}"), at, len)?;
    check_hash(&bytes, what, at)?;
    let version = u32_at(&bytes, 8);
    if version != VERSION {
        let text = format!("version {version} of the {what}, expected {VERSION}");
        return Err(fault(ErrorKind::Unsupported, text, at.saturating_add(8)));
    }
    Ok(bytes)
}

fn check_hash(bytes: &[u8], what: &str, at: u64) -> Result<()> {
    if hash(bytes) == u64_at(bytes, 0) {
        return Ok(());
    }
    let text = format!("the checksum of the {what} is wrong");
    Err(fault(ErrorKind::ChecksumMismatch, text, at))
}

/// The hash of a header: of what follows its first 8 bytes.
pub(super) fn hash(header: &[u8]) -> u64 {
    xxh64(header.get(8..).unwrap_or_default(), SEED)
}

/// The table header is how a file is known to be one.
fn check_table(head: &[u8]) -> Result<()> {
    let magic = u32_at(head, 44);
    if hash(head) != u64_at(head, 0) {
        if magic == MAGIC {
            return check_hash(head, "table header", 0);
        }
        let text = "no table header of fst 0.8 or later; a file of fst before 0.8 can be \
                    re-written with fst 0.8.0 to 0.8.10";
        return Err(fault(ErrorKind::Unsupported, text, 0));
    }
    if magic != MAGIC && magic != 0 {
        let text = format!("found {magic:08X}, expected 50414150 or 0");
        return Err(fault(ErrorKind::Unsupported, text, 44));
    }
    let (version, most) = (u32_at(head, 8), u32_at(head, 24));
    if version != VERSION || most > VERSION {
        let text = format!(
            "version {} of the format, expected {VERSION}",
            version.max(most)
        );
        return Err(fault(ErrorKind::Unsupported, text, 8));
    }
    let flags = u32_at(head, 12);
    if flags > 1 {
        let text = format!("table flags {flags}, expected 1 or 0");
        return Err(fault(ErrorKind::Unsupported, text, 12));
    }
    Ok(())
}

/// A count that is written as an i32.
fn count(found: u32, what: &str, at: u64) -> Result<u32> {
    if i32::try_from(found).is_err() {
        return Err(malformed(format!("a negative number of {what}"), at));
    }
    Ok(found)
}

/// The columns by which rows are sorted.
fn read_keys<S: ReadAt>(source: &Source<S>, keys: u32, columns: u32) -> Result<Vec<usize>> {
    if keys == 0 {
        return Ok(Vec::new());
    }
    if keys > columns {
        return Err(malformed(format!("{keys} keys of {columns} columns"), 40));
    }
    let len = u64::from(keys)
        .saturating_mul(4)
        .next_multiple_of(8)
        .saturating_add(8);
    let bytes = source.bytes("the key index", TABLE, len)?;
    check_hash(&bytes, "key index", TABLE)?;
    let places = bytes.get(8..).unwrap_or_default().chunks_exact(4);
    let mut found = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (place, _) in places.zip(0..keys) {
        let key = u32_at(place, 0);
        if key >= columns || !seen.insert(key) {
            let text = format!("key column {key} of {columns}");
            return Err(malformed(text, TABLE.saturating_add(8)));
        }
        found.push(usize::try_from(key).unwrap_or(usize::MAX));
    }
    Ok(found)
}

/// The names of all columns, and where they end.
fn read_names<S: ReadAt>(source: &Source<S>, at: u64, columns: u32) -> Result<(Vec<String>, u64)> {
    header(source, "header of names", at, NAMES)?;
    let place = at.saturating_add(NAMES);
    let (texts, end) = joined::read_small(source, place, u64::from(columns))?;
    let encoding = texts.encoding();
    let mut names = Vec::new();
    for name in texts.iter() {
        let Some(name) = name else {
            return Err(malformed("a column whose name is missing", place));
        };
        names.push(text(name, encoding));
    }
    Ok((names, end))
}

/// Text of any encoding; what is not UTF-8 and has no mark is taken for latin1.
pub(super) fn text(bytes: &[u8], encoding: TextEncoding) -> String {
    match (encoding, std::str::from_utf8(bytes)) {
        (TextEncoding::Native | TextEncoding::Utf8, Ok(text)) => text.to_owned(),
        _ => bytes.iter().copied().map(char::from).collect(),
    }
}

/// Where each column lies.
fn read_positions<S: ReadAt>(
    source: &Source<S>,
    at: u64,
    rows: u64,
    columns: u32,
) -> Result<Vec<u64>> {
    let index = header(source, "chunk index", at, CHUNK_INDEX)?;
    if u64_at(&index, 64) != rows {
        let text = "a table of several chunks, which no known version of fst writes";
        return Err(fault(ErrorKind::Unsupported, text, at.saturating_add(64)));
    }
    let place = u64_at(&index, 32);
    if place < at.saturating_add(CHUNK_INDEX) {
        let text = "a data chunk in front of its index";
        return Err(malformed(text, at.saturating_add(32)));
    }
    let len = DATA_CHUNK.saturating_add(u64::from(columns).saturating_mul(8));
    let chunk = header(source, "data chunk", place, len)?;
    let mut least = place.saturating_add(len);
    let mut positions = Vec::new();
    let words = chunk.get(24..).unwrap_or_default().chunks_exact(8);
    for (column, word) in words.enumerate() {
        let position = u64_at(word, 0);
        if position < least {
            let text =
                format!("column {column} at byte {position}, before the end of what is in front");
            return Err(malformed(text, place));
        }
        source.holds("a column", position, 0)?;
        least = position;
        positions.push(position);
    }
    Ok(positions)
}

/// Kinds, names and positions together.
fn places(
    set: &[u8],
    names: Vec<String>,
    positions: &[u64],
    (at, size): (u64, u64),
) -> Result<Vec<Place>> {
    let width = positions.len().saturating_mul(2);
    let code = |array: usize, column: usize| {
        let place = width
            .saturating_mul(array)
            .saturating_add(column.saturating_mul(2));
        u16_at(set, place.saturating_add(80))
    };
    let mut columns = Vec::new();
    for ((column, name), position) in names.into_iter().enumerate().zip(positions) {
        let (attribute, form, base) = (code(0, column), code(1, column), code(2, column));
        let found = ColumnKind::of(attribute).zip(TimeScale::of(code(3, column)));
        let Some((kind, scale)) =
            found.filter(|(kind, _)| kind.form().code() == form && kind.form().base() == base)
        else {
            let text = format!("column {column} of attribute {attribute}, type {form}, base {base}, which no known version of fst writes");
            return Err(fault(
                ErrorKind::Unsupported,
                text,
                at.saturating_add(CHUNK_SET),
            ));
        };
        let next = positions.get(column.saturating_add(1)).copied();
        columns.push(Place {
            name,
            kind,
            scale,
            at: *position,
            end: next.unwrap_or(size),
        });
    }
    Ok(columns)
}
