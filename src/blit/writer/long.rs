//! A long array at the root, which is written in segments.

use super::{Open, Writer};
use crate::blit::emit::is_packed;
use crate::blit::layout::SEGMENT;
use crate::blit::node::{self, Mask, Node};
use crate::Result;

/// An array at the root that is written in segments while it comes.
#[derive(Default)]
pub(super) struct Long {
    /// Kinds of its elements so far, and how many of those that wait were looked at.
    mask: Mask,
    seen: usize,
    /// Elements that are written.
    pub(super) n: usize,
    pub(super) began: bool,
}

impl Writer<'_> {
    /// Comes before each element of an array: cuts one at the root that is long.
    #[inline]
    pub(in crate::blit) fn expect_element(&mut self) -> Result<()> {
        let long = self.open.len() == 1 && self.values.len() >= SEGMENT;
        if long && !self.is_many && !self.options.pool {
            return self.cut();
        }
        Ok(())
    }

    /// Writes what is full of a long array at the root, unless it is numbers only so far.
    fn cut(&mut self) -> Result<()> {
        let unseen = self.values.get(self.long.seen..).unwrap_or_default();
        self.long.mask |= node::kinds(unseen);
        self.long.seen = self.values.len();
        if is_packed(self.long.mask) {
            return Ok(());
        }
        self.settle_names();
        let all = std::mem::take(&mut self.values);
        let whole = all.len().saturating_sub(all.len() % SEGMENT);
        let (full, rest) = all.split_at_checked(whole).unwrap_or((&all, &[]));
        for segment in full.chunks(SEGMENT) {
            self.emitter.segment(&self.tape, segment)?;
        }
        self.long.began = true;
        self.long.n = self.long.n.saturating_add(full.len());
        self.long.seen = 0;
        self.values.extend_from_slice(rest);
        // A rest is there only where many numbers came before anything else.
        if rest.is_empty() {
            self.tape.clear();
            self.values = all;
            self.values.clear();
        }
        Ok(())
    }

    pub(super) fn end_long(&mut self, open: Open) -> Result<()> {
        self.settle_names();
        let rest: Vec<Node> = self.values.drain(open.values..).collect();
        self.long.n = self.long.n.saturating_add(rest.len());
        self.emitter.segment(&self.tape, &rest)?;
        self.emitter.segmented(0, self.long.n);
        Ok(())
    }
}
