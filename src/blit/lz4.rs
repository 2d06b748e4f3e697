//! Strings that are stored as an LZ4 block: tag 0B.

use super::layout::{broken, malformed, Back};
use super::list::Extent;
use crate::{ErrorKind, Result};

/// Most bytes of one string.
const MOST: usize = 1 << 30;
/// Most bytes of the strings of one walk together.
pub(super) const MOST_TOGETHER: usize = u32::MAX as usize;
/// What a byte of a block can be at most.
const RATIO: usize = 255;

/// The plain bytes of an extent; at most `left`.
///
/// # Errors
/// V15 for a block that is none, or of another length than it says; `Limit`.
pub(super) fn unpack(data: &[u8], (at, end): Extent, left: usize) -> Result<Vec<u8>> {
    let mut back = Back::new(data, at, end);
    let length = back.rv()?;
    let block = data.get(at..back.end).unwrap_or_default();
    if length > MOST.min(left) {
        let text = format!("a compressed string of {length} bytes");
        return Err(broken(ErrorKind::Limit, "V15", &text, at));
    }
    let wrong = || malformed("V15", "a compressed string that is damaged", at);
    if length > block.len().saturating_mul(RATIO) {
        return Err(wrong());
    }
    let text = lz4_flex::block::decompress(block, length).map_err(|_| wrong())?;
    if text.len() != length {
        return Err(wrong());
    }
    Ok(text)
}
