//! The memory that reading may take.

use crate::{Error, ErrorKind, Result};

use super::{Node, ReadOptions};

/// What is left of a memory budget, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Account {
    budget: Option<u64>,
    taken: u64,
    format: &'static str,
}

impl Account {
    pub(super) fn new(options: &ReadOptions, format: &'static str) -> Self {
        Self {
            budget: options.memory_budget,
            taken: 0,
            format,
        }
    }

    /// Takes `count` elements of `size` bytes.
    #[inline]
    pub(super) fn take(&mut self, count: u64, size: usize) -> Result<()> {
        let bytes = count.saturating_mul(size as u64);
        self.taken = self.taken.saturating_add(bytes);
        match self.budget {
            Some(budget) if self.taken > budget => Err(self.beyond()),
            _ => Ok(()),
        }
    }

    /// Takes a node and its id.
    #[inline]
    pub(super) fn node(&mut self) -> Result<()> {
        self.take(1, size_of::<Node>().saturating_add(4))
    }

    /// What may still be taken; None without a budget.
    pub(super) fn left(&self) -> Option<u64> {
        Some(self.budget?.saturating_sub(self.taken))
    }

    #[cold]
    fn beyond(&self) -> Error {
        let text = format!(
            "the object needs {} bytes of memory or more, beyond memory_budget of {}",
            self.taken,
            self.budget.unwrap_or_default()
        );
        Error::new(ErrorKind::Limit, text).with_format(self.format)
    }
}
