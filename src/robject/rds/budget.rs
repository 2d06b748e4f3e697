//! How much memory and depth reading may take.

use crate::robject::ReadOptions;
use crate::{Error, ErrorKind, Result};

/// Counts bytes against the budget, and open values against the depth.
#[derive(Debug)]
pub(super) struct Budget {
    most: u64,
    left: u64,
    depth: usize,
}

impl Budget {
    pub(super) fn new(options: &ReadOptions) -> Self {
        let most = options.memory_budget.unwrap_or(u64::MAX);
        Self {
            most,
            left: most,
            depth: options.max_depth,
        }
    }

    /// Counts bytes that are about to be taken.
    ///
    /// # Errors
    /// `Limit` if there are not so many left.
    #[inline]
    pub(super) fn charge(&mut self, bytes: u64) -> Result<()> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(over(self.most)),
        }
    }

    /// Bytes that may still be taken.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Goes back to what was left, once what was taken since is given up.
    pub(super) fn give_back(&mut self, left: u64) {
        self.left = left;
    }

    /// # Errors
    /// `Limit` if more values than allowed are open inside each other.
    #[inline]
    pub(super) fn check_depth(&self, open: usize) -> Result<()> {
        if open > self.depth {
            let text = format!(
                "more than {} values inside each other: raise max_depth to read on",
                self.depth
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        Ok(())
    }
}

#[cold]
fn over(most: u64) -> Error {
    let text = format!("needs more than {most} bytes of memory: raise memory_budget to read on");
    Error::new(ErrorKind::Limit, text)
}
