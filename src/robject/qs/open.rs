//! Values whose parts are being read.

use super::super::model::{Cell, Id};

/// One of them.
#[derive(Debug)]
pub(super) enum Open {
    /// A value that was read, but for its attributes.
    Attributes { id: Id, cells: Vec<Cell>, left: u32 },
    /// The elements of a list.
    Elements { id: Id, items: Vec<Id>, left: u64 },
    /// The cells of a pairlist.
    Cells {
        id: Id,
        cells: Vec<Cell>,
        left: u32,
        flagged: bool,
    },
    /// Tag, value and rest of a cell, or what a closure or promise has in their places.
    Single {
        id: Id,
        code: u8,
        flags: u32,
        parts: Parts,
    },
    /// Enclosure, frame and hash table of an environment.
    Environment { id: Id, locked: bool, parts: Parts },
}

/// Up to three parts of a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    parts: [Option<Id>; 3],
}

impl Parts {
    pub(super) fn push(&mut self, id: Id) {
        if let Some(free) = self.parts.iter_mut().find(|part| part.is_none()) {
            *free = Some(id);
        }
    }

    /// All three, once they are there.
    pub(super) fn all(&self) -> Option<[Id; 3]> {
        let [a, b, c] = self.parts;
        Some([a?, b?, c?])
    }
}

/// A cell of a pairlist, whose flags hold levels and object bit.
pub(super) fn cell(tag: Option<Id>, value: Id, flags: u32) -> Cell {
    Cell {
        code: 2,
        is_object: is_object(flags),
        levels: levels(flags),
        attributes: Id::NULL,
        tag,
        value,
    }
}

/// The general purpose bits: the low half of the flags of a cell.
pub(super) fn levels(flags: u32) -> u16 {
    let [low, high, ..] = flags.to_le_bytes();
    u16::from_le_bytes([low, high])
}

/// Whether R dispatches on it: bit 16.
pub(super) fn is_object(flags: u32) -> bool {
    flags & (1 << 16) != 0
}
