//! The headers of a long frame's blocks, looked at as its bytes go by.
//!
//! libzstd is more lenient where it streams than where it has the whole frame; what a file says
//! must not depend on how it is read.

use super::header::{Block, Header};
use crate::Error;

/// Where the next block of a frame begins, and what is known of its header.
pub(super) struct Blocks {
    /// Offset of the next header, in the stored stream.
    next: u64,
    /// Its first bytes, as far as they came.
    head: [u8; 3],
    have: usize,
    most: u64,
    ended: bool,
}

impl Blocks {
    /// For a frame that starts at an offset.
    pub(super) fn new(header: &Header, start: u64) -> Self {
        Self {
            next: start.saturating_add(header.bytes as u64),
            head: [0; 3],
            have: 0,
            most: header.most_block(),
            ended: false,
        }
    }

    /// How many of `bytes`, which lie at `offset`, may be decoded: all, or those before the
    /// header of a block that cannot be, and its error.
    pub(super) fn check(&mut self, bytes: &[u8], offset: u64) -> (usize, Option<Error>) {
        while !self.ended {
            let at = self.next.saturating_add(self.have as u64);
            let place = usize::try_from(at.saturating_sub(offset)).unwrap_or(usize::MAX);
            let Some(&byte) = bytes.get(place) else {
                break;
            };
            if let Some(kept) = self.head.get_mut(self.have) {
                *kept = byte;
            }
            if self.have < 2 {
                self.have = self.have.saturating_add(1);
                continue;
            }
            let block = match Block::read(self.head, self.most) {
                Ok(block) => block,
                Err(error) => {
                    let good = self.next.saturating_sub(offset);
                    let good = usize::try_from(good).unwrap_or(usize::MAX);
                    return (good, Some(error.with_offset(self.next)));
                }
            };
            let size = (block.stored as u64).saturating_add(3);
            self.next = self.next.saturating_add(size);
            self.have = 0;
            self.ended = block.last;
        }
        (bytes.len(), None)
    }
}
