//! Where the fields of a text lie, by column.

use memchr::memchr;

use super::{has, with, BOM};

/// Text that is cut into fields is shorter: two bits of a length say what the field is.
const MOST_BYTES: usize = 1 << 30;
const ENCLOSED: u32 = 1 << 31;
const DOUBLED: u32 = 1 << 30;

/// Where a field lies, without the quotes that enclose it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    start: u32,
    /// With two bits: whether quotes enclose it, and whether it holds doubled ones.
    len: u32,
}

impl Cell {
    #[inline]
    fn new(start: usize, end: usize, bits: u32) -> Option<Self> {
        Some(Self {
            start: u32::try_from(start).ok()?,
            len: u32::try_from(end.checked_sub(start)?).ok()? | bits,
        })
    }

    /// Its bytes; quotes within it are still doubled.
    #[inline]
    pub(super) fn of(self, text: &[u8]) -> &[u8] {
        let start = self.start as usize;
        let len = (self.len & !(ENCLOSED | DOUBLED)) as usize;
        text.get(start..start.saturating_add(len))
            .unwrap_or_default()
    }

    #[inline]
    pub(super) fn is_enclosed(self) -> bool {
        self.len & ENCLOSED != 0
    }

    #[inline]
    pub(super) fn has_doubled(self) -> bool {
        self.len & DOUBLED != 0
    }
}

/// The fields below the header, by column; None if the text is not plain.
///
/// Plain is: two columns or more; as many fields in each row as in the first; lines that end in LF, or CRLF; quotes
/// that enclose whole fields, and stand nowhere else.
pub(super) fn cells(text: &[u8], delimiter: u8) -> Option<Vec<Vec<Cell>>> {
    if text.len() >= MOST_BYTES {
        return None;
    }
    let cut = Cut {
        text,
        delimiter,
        ends: with([delimiter, b'\r', b'\n', b'"']),
    };
    let mut at = if text.starts_with(BOM) { BOM.len() } else { 0 };
    at = cut.past_blank_lines(at)?;
    let mut columns: Vec<Vec<Cell>> = Vec::new();
    loop {
        let (_, end) = cut.cell(at)?;
        columns.push(Vec::new());
        match cut.behind(end)? {
            (next, true) => at = next,
            (next, false) => {
                at = next;
                break;
            }
        }
    }
    if columns.len() < 2 {
        return None;
    }
    let last = columns.len().checked_sub(1)?;
    loop {
        at = cut.past_blank_lines(at)?;
        if at >= text.len() {
            return Some(columns);
        }
        for (place, column) in columns.iter_mut().enumerate() {
            let (cell, end) = cut.cell(at)?;
            column.push(cell);
            let (next, more) = cut.behind(end)?;
            if more != (place < last) {
                return None;
            }
            at = next;
        }
    }
}

struct Cut<'t> {
    text: &'t [u8],
    delimiter: u8,
    /// Bytes that end a field, and the quote, which does not.
    ends: [bool; 256],
}

impl Cut<'_> {
    #[inline]
    fn past_blank_lines(&self, at: usize) -> Option<usize> {
        let mut at = at;
        loop {
            match self.text.get(at) {
                Some(b'\n') => at = at.wrapping_add(1),
                Some(b'\r') if self.text.get(at.wrapping_add(1)) == Some(&b'\n') => {
                    at = at.wrapping_add(2);
                }
                Some(b'\r') => return None,
                _ => return Some(at),
            }
        }
    }

    /// The field that begins at a place, and where it ends, quotes included.
    #[inline]
    fn cell(&self, at: usize) -> Option<(Cell, usize)> {
        let rest = self.text.get(at..).unwrap_or_default();
        if rest.first() == Some(&b'"') {
            return self.enclosed(at.wrapping_add(1));
        }
        let len = rest.iter().position(|&byte| has(&self.ends, byte));
        let end = at.wrapping_add(len.unwrap_or(rest.len()));
        Some((Cell::new(at, end, 0)?, end))
    }

    /// The field whose text begins behind its quote.
    fn enclosed(&self, start: usize) -> Option<(Cell, usize)> {
        let (mut at, mut bits) = (start, ENCLOSED);
        loop {
            let quote = at.wrapping_add(memchr(b'"', self.text.get(at..)?)?);
            let behind = quote.wrapping_add(1);
            if self.text.get(behind) != Some(&b'"') {
                return Some((Cell::new(start, quote, bits)?, behind));
            }
            bits |= DOUBLED;
            at = quote.wrapping_add(2);
        }
    }

    /// What begins behind a field, and whether it is another of its row.
    #[inline]
    fn behind(&self, end: usize) -> Option<(usize, bool)> {
        match self.text.get(end) {
            Some(&byte) if byte == self.delimiter => Some((end.wrapping_add(1), true)),
            Some(b'\n') => Some((end.wrapping_add(1), false)),
            Some(b'\r') if self.text.get(end.wrapping_add(1)) == Some(&b'\n') => {
                Some((end.wrapping_add(2), false))
            }
            None => Some((end, false)),
            _ => None,
        }
    }
}
