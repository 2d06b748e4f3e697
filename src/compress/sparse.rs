//! A file as an input of which only what is looked at is read: headers, not what lies between.

use super::input::{unreadable, Input};
use super::read_at::{append, ReadAt};
use crate::Result;

/// Bytes read at once, at least: a header, and with luck the next one.
const STEP_BYTES: usize = 1 << 10;

/// The bytes of `source`, of which a few behind one offset are held.
pub(super) struct Sparse<'a, R: ?Sized> {
    source: &'a R,
    size: u64,
    offset: u64,
    held: Vec<u8>,
    /// Offset of the first byte held.
    held_at: u64,
}

impl<'a, R: ReadAt + ?Sized> Sparse<'a, R> {
    /// An input of `size` bytes.
    pub(super) fn new(source: &'a R, size: u64) -> Self {
        Self {
            source,
            size,
            offset: 0,
            held: Vec::new(),
            held_at: 0,
        }
    }

    /// The `size` bytes from `from` on; fewer only where the input ends.
    fn at(&mut self, from: u64, size: usize) -> Result<&[u8]> {
        let held = from
            .checked_sub(self.held_at)
            .and_then(|skipped| usize::try_from(skipped).ok())
            .filter(|&skipped| self.held.len() >= skipped.saturating_add(size));
        let skipped = if let Some(skipped) = held {
            skipped
        } else {
            self.held.clear();
            self.held_at = from;
            let size = size.max(STEP_BYTES);
            append(self.source, from, size, &mut self.held)
                .map_err(|error| unreadable(error, from))?;
            0
        };
        let rest = self.held.get(skipped..).unwrap_or_default();
        Ok(rest.get(..size).unwrap_or(rest))
    }
}

impl<R: ReadAt + ?Sized> Input for Sparse<'_, R> {
    fn ahead(&mut self, size: usize) -> Result<&[u8]> {
        self.at(self.offset, size)
    }

    fn peek(&mut self, skipped: usize, size: usize) -> Result<&[u8]> {
        self.at(self.offset.saturating_add(skipped as u64), size)
    }

    fn has(&mut self, size: usize) -> Result<usize> {
        let left = self.size.saturating_sub(self.offset);
        Ok(usize::try_from(left).unwrap_or(usize::MAX).min(size))
    }

    fn some(&mut self) -> Result<&[u8]> {
        self.at(self.offset, STEP_BYTES)
    }

    fn advance(&mut self, size: usize) {
        self.offset = self.offset.saturating_add(size as u64).min(self.size);
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn pass(&mut self, size: u64) -> Result<u64> {
        let passed = size.min(self.size.saturating_sub(self.offset));
        self.offset = self.offset.saturating_add(passed);
        Ok(passed)
    }
}
