//! Values that are begun and wait for the items inside them.

use crate::robject::{Cell, Id, Strings};

use super::code::CodeFrame;

/// A value that is begun.
pub(super) enum Frame {
    /// The attributes of a node that is complete but for them.
    Attributes(Id),
    /// A symbol: its name.
    Symbol(i32),
    /// Cells of a pairlist, call or `...`.
    Pairs(Pairs),
    /// A value of a fixed number of items.
    Parts(Parts),
    /// The elements of a list or expression.
    Items {
        flags: i32,
        left: u64,
        made: Vec<Id>,
    },
    /// Strings, of which the one pushed last waits for its attributes.
    Texts {
        flags: i32,
        left: u64,
        made: Box<Strings>,
    },
    /// The strings of a namespace, package or persistent name.
    Names {
        flags: i32,
        left: i32,
        made: Vec<Id>,
    },
    /// Compiled code.
    Code(Box<CodeFrame>),
}

/// What the next item of a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Attributes,
    Tag,
    Value,
    Tail,
}

/// Cells so far, and the one at hand.
pub(super) struct Pairs {
    pub(super) cells: Vec<Cell>,
    pub(super) cell: Cell,
    pub(super) has_tag: bool,
    pub(super) place: Place,
}

impl Pairs {
    /// Begins with the cell of these flags.
    pub(super) fn new(flags: i32) -> Self {
        let (cell, has_tag, place) = begin(flags);
        Self {
            cells: Vec::new(),
            cell,
            has_tag,
            place,
        }
    }

    /// Ends the cell at hand and begins the next.
    pub(super) fn next(&mut self, flags: i32) {
        self.cells.push(self.cell);
        (self.cell, self.has_tag, self.place) = begin(flags);
    }

    /// Takes an item before the tail; whether the cell is complete.
    pub(super) fn take(&mut self, item: Id) -> bool {
        match self.place {
            Place::Attributes => {
                self.cell.attributes = item;
                self.place = if self.has_tag {
                    Place::Tag
                } else {
                    Place::Value
                };
                false
            }
            Place::Tag => {
                self.cell.tag = Some(item);
                self.place = Place::Value;
                false
            }
            Place::Value | Place::Tail => {
                self.cell.value = item;
                true
            }
        }
    }
}

fn begin(flags: i32) -> (Cell, bool, Place) {
    let has_tag = super::has_tag(flags);
    let place = match (super::has_attributes(flags), has_tag) {
        (true, _) => Place::Attributes,
        (false, true) => Place::Tag,
        (false, false) => Place::Value,
    };
    let cell = Cell {
        code: super::code(flags),
        is_object: super::is_object(flags),
        levels: super::levels(flags),
        attributes: Id::NULL,
        tag: None,
        value: Id::NULL,
    };
    (cell, has_tag, place)
}

/// Up to four items in order.
pub(super) struct Parts {
    pub(super) flags: i32,
    /// The node, where it had to be made before its items; else `NULL`.
    pub(super) id: Id,
    /// The int in front of an environment.
    pub(super) locked: i32,
    pub(super) items: [Option<Id>; 4],
    at: usize,
    end: usize,
    /// The item between them that is not there.
    left_out: Option<usize>,
}

impl Parts {
    /// Waits for the items from number `at` up to `end`.
    pub(super) fn new(flags: i32, at: usize, end: usize) -> Self {
        Self {
            flags,
            id: Id::NULL,
            locked: 0,
            items: [None; 4],
            at,
            end,
            left_out: None,
        }
    }

    /// The same without item `place`, which is not the first.
    pub(super) fn without(mut self, place: usize) -> Self {
        self.left_out = Some(place);
        self
    }

    /// Takes an item; whether it was the last.
    pub(super) fn take(&mut self, item: Id) -> bool {
        if let Some(place) = self.items.get_mut(self.at) {
            *place = Some(item);
        }
        self.at = self.at.saturating_add(1);
        if self.left_out == Some(self.at) {
            self.at = self.at.saturating_add(1);
        }
        self.at >= self.end
    }

    /// Item `at`, `NULL` if there was none.
    pub(super) fn item(&self, at: usize) -> Id {
        self.items.get(at).copied().flatten().unwrap_or(Id::NULL)
    }
}
