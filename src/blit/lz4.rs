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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blit::{Value, View};

    /// A document that is one compressed string, said to be `length` bytes long.
    fn document(block: &[u8], length: u64) -> Vec<u8> {
        let mut out = b"BLT1".to_vec();
        out.extend_from_slice(block);
        crate::blit::layout::push_rv(&mut out, length);
        out.extend_from_slice(&[0, 0, 0, 0, 0x0B, 0, 1, 10, b'B', b'T']);
        out
    }

    #[test]
    fn a_compressed_string_is_read() {
        let text = "a \"quote\" ".repeat(50);
        let block = lz4_flex::block::compress(text.as_bytes());
        let document = document(&block, text.len() as u64);
        let view = View::open(&document).unwrap();
        let root = view.root().unwrap();
        assert!(matches!(&root, Value::Str(found) if *found == text));
        let json = view.to_json(&crate::blit::JsonOptions::default()).unwrap();
        assert_eq!(serde_json::to_vec(&text).unwrap(), json);
        view.validate().unwrap();
    }

    #[test]
    fn lengths_that_are_not_so_are_refused() {
        let text = "abcdefgh".repeat(50);
        let block = lz4_flex::block::compress(text.as_bytes());
        for (length, kind) in [
            (399, ErrorKind::Malformed),
            (401, ErrorKind::Malformed),
            (1 << 20, ErrorKind::Malformed),
            (1 << 31, ErrorKind::Limit),
        ] {
            let document = document(&block, length);
            let view = View::open(&document).unwrap();
            assert_eq!(kind, view.root().unwrap_err().kind(), "{length}");
            assert_eq!(kind, view.validate().unwrap_err().kind(), "{length}");
        }
    }
}
