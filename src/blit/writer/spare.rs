//! Room that short documents leave to the next one of their thread.

use std::cell::Cell;

use super::Open;
use crate::blit::emit::Emitter;
use crate::blit::node::{Node, Tape};

/// Bytes that a thread keeps at most.
pub(super) const MOST: usize = 1 << 20;

/// Room that a writer leaves to the next one, and the names that it met.
pub struct Room(pub(super) Spare);

/// What a writer fills, empty.
pub(super) struct Spare {
    pub(super) emitter: Box<Emitter>,
    pub(super) tape: Tape<'static>,
    pub(super) values: Vec<Node>,
    pub(super) open: Vec<Open>,
}

thread_local! {
    static KEPT: Cell<Option<Box<Spare>>> = const { Cell::new(None) };
}

impl Spare {
    /// What the last writer of this thread left, or new.
    pub(super) fn take() -> Self {
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        kept.map_or_else(
            || Self {
                emitter: Box::default(),
                tape: Tape::default(),
                values: Vec::new(),
                open: Vec::new(),
            },
            |kept| *kept,
        )
    }

    /// Forgets what is in it, but for what the emitter has.
    pub(super) fn emptied(mut self) -> Self {
        self.tape.clear();
        self.values.clear();
        self.open.clear();
        self
    }

    /// Leaves it to the next.
    pub(super) fn keep(self) {
        // At the end of a thread there is no next.
        let _ = KEPT.try_with(|kept| kept.set(Some(Box::new(self))));
    }
}
