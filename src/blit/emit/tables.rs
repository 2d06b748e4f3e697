//! Lists of arrays and of objects, as columns.

use super::{Count, Emitter, WORTHWHILE};
use crate::blit::layout::{kind, push_rv};
use crate::blit::lens;
use crate::blit::node::{self, Node, Tape};
use crate::Result;

/// Most columns of a table.
const MOST_COLUMNS: usize = 256;
/// After so many rows it shows whether they are alike.
const EARLY: usize = 16;
/// In a sequence's map: it has no such column.
const NONE: u16 = u16::MAX;

/// The columns of objects that are alike enough.
pub(super) struct Table {
    /// Names of the columns.
    columns: Vec<u32>,
    /// For each of `sequences`, the place of each column's value in such an object.
    places: Vec<Vec<u16>>,
    /// The different key sequences of the rows.
    sequences: Vec<u32>,
    /// Which of them each row has, if there are several.
    which: Vec<u32>,
}

impl Emitter {
    /// Arrays as columns if all are as long and their cells differ, else as one list.
    pub(super) fn arrays(
        &mut self,
        tape: &Tape<'_>,
        items: &[Node],
        first: Node,
        count: Count,
    ) -> Result<()> {
        if let Some(k) = tuple(tape, items, first) {
            return self.tuples(tape, items, k, count);
        }
        let mut cells = self.spare.pop().unwrap_or_default();
        for &item in items {
            cells.extend_from_slice(tape.children(item, item.count as usize));
        }
        let result = self.list(tape, &cells, Count::Written);
        cells.clear();
        self.spare.push(cells);
        result?;
        let base = self.lengths.len();
        self.lengths
            .extend(items.iter().map(|item| item.count as usize));
        let mode = lens::write(&mut self.out, self.lengths.get(base..).unwrap_or_default());
        self.lengths.truncate(base);
        self.end(kind::NESTED, mode, items.len(), count);
        Ok(())
    }

    fn tuples(&mut self, tape: &Tape<'_>, items: &[Node], k: usize, count: Count) -> Result<()> {
        let base = self.lengths.len();
        for j in 0..k {
            let cells = items.iter().map(|&item| {
                let row = tape.children(item, k);
                row.get(j).copied().unwrap_or(Node::NULL)
            });
            self.column(tape, cells)?;
        }
        let mode = lens::write(&mut self.out, self.lengths.get(base..).unwrap_or_default());
        self.lengths.truncate(base);
        push_rv(&mut self.out, k as u64);
        self.end(kind::TUPLES, mode, items.len(), count);
        Ok(())
    }

    /// Writes a column, and keeps its length.
    fn column(&mut self, tape: &Tape<'_>, cells: impl Iterator<Item = Node>) -> Result<()> {
        let mut column = self.spare.pop().unwrap_or_default();
        column.extend(cells);
        let before = self.out.len();
        let result = self.list(tape, &column, Count::Given);
        column.clear();
        self.spare.push(column);
        self.lengths.push(self.out.len().saturating_sub(before));
        result
    }

    /// The columns of rows, if these are alike enough and their order can be restored.
    pub(super) fn table(&mut self, rows: &[Node]) -> Option<Table> {
        // Where each sequence is among those of the rows.
        let mut known = std::mem::take(&mut self.known);
        if known.len() < self.sequences.len() {
            known.resize(self.sequences.len(), u32::MAX);
        }
        let mut table = Table {
            columns: Vec::new(),
            places: Vec::new(),
            sequences: Vec::new(),
            which: Vec::new(),
        };
        let fits = self.fits(rows, &mut table, &mut known);
        for &sequence in &table.sequences {
            if let Some(place) = known.get_mut(sequence as usize) {
                *place = u32::MAX;
            }
        }
        self.known = known;
        if !fits {
            return None;
        }
        for &sequence in &table.sequences {
            let names = self.sequences.names(sequence);
            table.places.push(places_of(&table.columns, names));
        }
        Some(table)
    }

    fn fits(&self, rows: &[Node], table: &mut Table, known: &mut [u32]) -> bool {
        let (mut cells, mut last, mut at, mut width) = (0_usize, None, 0, 0);
        for (i, row) in rows.iter().enumerate() {
            if last != Some(row.count) {
                last = Some(row.count);
                let names = self.sequences.names(row.count);
                width = names.len();
                let Some(place) = known.get_mut(row.count as usize) else {
                    return false;
                };
                if *place == u32::MAX {
                    *place = u32::try_from(table.sequences.len()).unwrap_or(u32::MAX);
                    table.sequences.push(row.count);
                    if !merge(&mut table.columns, names) {
                        return false;
                    }
                }
                at = *place;
                if at > 0 && table.which.is_empty() {
                    table.which.reserve(rows.len());
                    table.which.resize(i, 0);
                }
            }
            if at > 0 || !table.which.is_empty() {
                table.which.push(at);
            }
            cells = cells.saturating_add(width);
            let early = i.wrapping_add(1) == EARLY;
            if early && table.columns.len().saturating_mul(EARLY) > cells.saturating_mul(3) {
                return false;
            }
        }
        let places = table.columns.len().saturating_mul(rows.len());
        !table.columns.is_empty() && places <= cells.saturating_mul(2)
    }

    /// Writes a table.
    pub(super) fn columns(
        &mut self,
        tape: &Tape<'_>,
        rows: &[Node],
        table: &Table,
        count: Count,
    ) -> Result<()> {
        let base = self.lengths.len();
        let mut at_each = Vec::with_capacity(table.sequences.len());
        for j in 0..table.columns.len() {
            at_each.clear();
            let place = |places: &Vec<u16>| places.get(j).copied().unwrap_or(NONE);
            at_each.extend(table.places.iter().map(place));
            if let (true, Some(&place)) = (table.which.is_empty(), at_each.first()) {
                let cell = |&row| tape.child(row, usize::from(place));
                self.column(tape, rows.iter().map(cell))?;
                continue;
            }
            let cells = rows.iter().zip(&table.which).map(|(&row, &which)| {
                match at_each.get(which as usize) {
                    Some(&place) if place != NONE => tape.child(row, usize::from(place)),
                    _ => Node::ABSENT,
                }
            });
            self.column(tape, cells)?;
        }
        let mode = lens::write(&mut self.out, self.lengths.get(base..).unwrap_or_default());
        self.lengths.truncate(base);
        let sequence = self.sequences.number(&table.columns)?;
        self.shape(sequence);
        self.end(kind::TABLE, mode, rows.len(), count);
        Ok(())
    }
}

/// The one length of all arrays, if they make better columns than a list.
fn tuple(tape: &Tape<'_>, items: &[Node], first: Node) -> Option<usize> {
    let k = first.count as usize;
    if items.len() < WORTHWHILE || !(2..=256).contains(&k) {
        return None;
    }
    if !items.iter().all(|item| item.count == first.count) {
        return None;
    }
    let mask = items
        .iter()
        .fold(0, |mask, &item| mask | node::kinds(tape.children(item, k)));
    let others = mask & !node::NULLS;
    (others != 0 && !node::one_class(others)).then_some(k)
}

/// Takes the names of a row into the columns, keeping the order of both; false if there is none.
fn merge(columns: &mut Vec<u32>, names: &[u32]) -> bool {
    let mut at = 0;
    for &name in names {
        match columns.iter().position(|&column| column == name) {
            Some(found) if found >= at => at = found.wrapping_add(1),
            Some(_) => return false,
            None => {
                columns.insert(at.min(columns.len()), name);
                at = at.wrapping_add(1);
            }
        }
        if columns.len() > MOST_COLUMNS {
            return false;
        }
    }
    true
}

/// Where each column's value is in an object with these names, which are in the columns' order.
fn places_of(columns: &[u32], names: &[u32]) -> Vec<u16> {
    let mut names = (0..NONE).zip(names).peekable();
    let place = |column: &u32| {
        names
            .next_if(|&(_, name)| name == column)
            .map_or(NONE, |(place, _)| place)
    };
    columns.iter().map(place).collect()
}
