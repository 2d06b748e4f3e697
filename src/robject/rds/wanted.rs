//! Elements of the outermost list that nobody asked for: read, and given up one by one.

use crate::robject::{Columns, Id, ReadOptions};

use super::parse::Parser;
use super::window::Window;

/// The elements that are kept, and how things stood before the one at hand.
#[derive(Debug)]
pub(super) struct Wanted {
    places: Vec<usize>,
    nodes: usize,
    table: usize,
    left: u64,
}

impl Wanted {
    /// What `options` ask for.
    pub(super) fn of(options: &ReadOptions) -> Option<Self> {
        let Some(Columns::At(places)) = &options.columns else {
            return None;
        };
        Some(Self {
            places: places.clone(),
            nodes: 0,
            table: 0,
            left: 0,
        })
    }
}

impl<W: Window> Parser<'_, W> {
    /// Notes how things stand before an element of the outermost list.
    pub(super) fn mark(&mut self) {
        let (nodes, table) = self.made();
        let left = self.input.budget.left();
        if let Some(wanted) = &mut self.wanted {
            (wanted.nodes, wanted.table, wanted.left) = (nodes, table, left);
        }
    }

    /// The element at a place of the outermost list: `NULL` for one that is not wanted.
    pub(super) fn kept(&mut self, at: usize, item: Id) -> Id {
        let Some(wanted) = &self.wanted else {
            return item;
        };
        if wanted.places.contains(&at) {
            self.mark();
            return item;
        }
        let (nodes, table, left) = (wanted.nodes, wanted.table, wanted.left);
        if self.made().1 == table {
            self.give_up(nodes);
        } else {
            // Later values may refer to something in it: its own elements alone are given up.
            self.give_up_elements(item);
        }
        self.input.budget.give_back(left);
        let (now, _) = self.made();
        let kept = now.saturating_sub(nodes).saturating_mul(NODE_BYTES);
        // Less than what was given back, which was charged before.
        let _ = self.input.budget.charge(kept as u64);
        self.mark();
        Id::NULL
    }
}

/// What a node takes.
const NODE_BYTES: usize = size_of::<crate::robject::Node>();
