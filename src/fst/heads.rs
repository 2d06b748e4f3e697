//! The headers of a file that is written: all of what stands in front of the first column.

use super::layout::{hash, CHUNK_INDEX, CHUNK_SET, DATA_CHUNK, MAGIC, NAMES, TABLE, VERSION};
use super::strings::PER;
use super::table::Table;

/// Slots of a chunk index; one is used.
const SLOTS: u16 = 4;

/// Bytes that are filled from the front.
#[derive(Default)]
struct Head(Vec<u8>);

impl Head {
    fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn zeros(&mut self, count: usize) -> &mut Self {
        self.0.resize(self.0.len().saturating_add(count), 0);
        self
    }

    /// The beginning of most headers: place for the hash, version, flags, free bytes.
    fn begin(flags: u32) -> Self {
        let mut head = Self::default();
        head.u64(0).u32(VERSION).u32(flags).u64(0);
        head
    }

    /// Appends it, with its hash, to what stands in front.
    fn seal(mut self, out: &mut Vec<u8>) {
        let sum = hash(&self.0);
        if let Some(place) = self.0.first_chunk_mut() {
            *place = sum.to_le_bytes();
        }
        out.append(&mut self.0);
    }
}

/// All headers of a table whose columns lie at `positions`; their length does not depend on them.
pub(super) fn build(table: &Table, keys: &[u32], positions: &[u64]) -> Vec<u8> {
    let columns = u32::try_from(table.columns.len()).unwrap_or(u32::MAX);
    let width = table.columns.len().saturating_mul(8) as u64;
    let key_bytes = (keys.len().saturating_mul(4) as u64).next_multiple_of(8);
    let set_at = match keys.len() {
        0 => TABLE,
        _ => TABLE.saturating_add(8).saturating_add(key_bytes),
    };
    let names = names(table);
    let index_at = set_at
        .saturating_add(CHUNK_SET)
        .saturating_add(width)
        .saturating_add(NAMES)
        .saturating_add(names.len() as u64);
    let mut out = Vec::new();
    let mut head = Head::begin(1);
    head.u32(VERSION).u32(columns).u64(set_at);
    head.u32(u32::try_from(keys.len()).unwrap_or(u32::MAX))
        .u32(MAGIC);
    head.seal(&mut out);
    if !keys.is_empty() {
        let mut head = Head::default();
        head.u64(0);
        for key in keys {
            head.u32(*key);
        }
        head.zeros((keys.len() % 2).saturating_mul(4));
        head.seal(&mut out);
    }
    chunk_set(table, columns).seal(&mut out);
    Head::begin(0).seal(&mut out);
    out.extend_from_slice(&names);
    let mut head = Head::begin(0);
    head.u16(SLOTS).zeros(6);
    head.u64(index_at.saturating_add(CHUNK_INDEX)).zeros(24);
    head.u64(table.rows).zeros(24);
    head.seal(&mut out);
    let mut head = Head::begin(0);
    for column in 0..table.columns.len() {
        head.u64(positions.get(column).copied().unwrap_or_default());
    }
    debug_assert_eq!(DATA_CHUNK.saturating_add(width), head.0.len() as u64);
    head.seal(&mut out);
    out
}

/// The rows and what the columns are.
fn chunk_set(table: &Table, columns: u32) -> Head {
    let mut head = Head::begin(0);
    head.zeros(40).u64(table.rows).u32(columns).zeros(4);
    let forms = || table.columns.iter().map(|column| column.kind.form());
    for column in &table.columns {
        head.u16(column.kind.code());
    }
    for form in forms() {
        head.u16(form.code());
    }
    for form in forms() {
        head.u16(form.base());
    }
    for column in &table.columns {
        head.u16(column.stored_scale().code());
    }
    head
}

/// The names as a column of strings: as fst writes it, not compressed and without a mark.
fn names(table: &Table) -> Vec<u8> {
    if table.columns.is_empty() {
        return Vec::new();
    }
    let per = usize::try_from(PER).unwrap_or(1);
    let groups = || table.columns.chunks(per);
    let mut head = Head::default();
    head.u32(0).u32(u32::try_from(PER).unwrap_or(0));
    let mut end = groups().len().saturating_mul(8).saturating_add(8) as u64;
    for group in groups() {
        let text: usize = group.iter().map(|column| column.name.len()).sum();
        let flags = (group.len() / 32).saturating_add(1);
        let sizes = group.len().saturating_add(flags).saturating_mul(4);
        end = end.saturating_add(sizes as u64).saturating_add(text as u64);
        head.u64(end);
    }
    for group in groups() {
        let mut last = 0_u32;
        for column in group {
            let len = u32::try_from(column.name.len()).unwrap_or(u32::MAX);
            last = last.saturating_add(len);
            head.u32(last);
        }
        head.zeros((group.len() / 32).saturating_add(1).saturating_mul(4));
        for column in group {
            head.0.extend_from_slice(column.name.as_bytes());
        }
    }
    head.0
}
