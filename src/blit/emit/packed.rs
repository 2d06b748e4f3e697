//! Strings as LZ4 blocks.

use super::Emitter;
use crate::blit::layout::push_rv;
use crate::blit::node::{Node, Tape};

/// What a byte of a block may be at most.
const RATIO: usize = 255;
/// Longest string that is read back.
const MOST: usize = 1 << 30;

impl Emitter {
    /// The block and the plain length of a string that is long enough, if that saves an eighth.
    #[inline]
    pub(super) fn packed(&self, tape: &Tape<'_>, node: Node) -> Option<Vec<u8>> {
        let from = self.compress_from?;
        if (node.count as usize) < from {
            return None;
        }
        packed(tape.bytes(node))
    }
}

fn packed(text: &[u8]) -> Option<Vec<u8>> {
    // Halves of surrogate pairs stay in strings whose tag allows them.
    if text.len() > MOST || std::str::from_utf8(text).is_err() {
        return None;
    }
    let mut packed = lz4_flex::block::compress(text);
    if packed.len().saturating_mul(RATIO) < text.len() {
        return None;
    }
    push_rv(&mut packed, text.len() as u64);
    let most = text.len().saturating_sub(text.len() / 8);
    (packed.len() <= most).then_some(packed)
}
