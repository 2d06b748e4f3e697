//! Frame and block headers, walked without decoding: RFC 8878, 3.1.1.

use crate::{Error, ErrorKind, Result};

/// The most bytes of a magic number and a frame header.
pub(super) const LONGEST_BYTES: usize = 18;
/// No block holds more plain bytes.
const MOST_BLOCK_BYTES: u64 = 128 << 10;

/// What a frame's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Bytes of magic number and header.
    pub(super) bytes: usize,
    /// Bytes that a streaming decoder keeps.
    pub(super) window: u64,
    pub(super) content_size: Option<u64>,
    pub(super) checksum: bool,
}

impl Header {
    /// Reads the header at the start of `head`, magic number included; None if it is cut.
    ///
    /// # Errors
    /// `Malformed` for reserved bits, `Unsupported` for a dictionary, both without an offset.
    pub(super) fn read(head: &[u8]) -> Result<Option<Self>> {
        let Some(&descriptor) = head.get(4) else {
            return Ok(None);
        };
        if descriptor & 0b1000 != 0 {
            let text = "a frame header with its reserved bit set";
            return Err(Error::new(ErrorKind::Malformed, text));
        }
        let single_segment = descriptor & 0b10_0000 != 0;
        let mut at = 5_usize;
        let mut take = |bytes: usize| {
            let field = head.get(at..at.saturating_add(bytes));
            at = at.saturating_add(bytes);
            field.map(little_endian)
        };
        let window = if single_segment {
            Some(None)
        } else {
            take(1).map(|code| Some(window_bytes(code)))
        };
        let dictionary = take(match descriptor & 0b11 {
            3 => 4,
            bytes => usize::from(bytes),
        });
        let content_size = match descriptor >> 6 {
            0 if !single_segment => Some(None),
            0 => take(1).map(Some),
            1 => take(2).map(|size| Some(size.saturating_add(256))),
            2 => take(4).map(Some),
            _ => take(8).map(Some),
        };
        let (Some(window), Some(dictionary), Some(content_size)) =
            (window, dictionary, content_size)
        else {
            return Ok(None);
        };
        if dictionary != 0 {
            let text = format!("the frame needs the dictionary {dictionary}");
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        Ok(Some(Self {
            bytes: at,
            window: window.or(content_size).unwrap_or_default(),
            content_size,
            checksum: descriptor & 0b100 != 0,
        }))
    }

    /// The most plain bytes of one block.
    pub(super) fn most_block(&self) -> u64 {
        self.window.min(MOST_BLOCK_BYTES)
    }
}

/// What a block's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) last: bool,
    /// Stored bytes behind the header.
    pub(super) stored: usize,
    /// The most plain bytes it can hold.
    pub(super) bound: u64,
}

impl Block {
    /// Reads three bytes.
    ///
    /// # Errors
    /// `Malformed` for the reserved type, an empty compressed block, or a size above the frame's maximum; no offset.
    pub(super) fn read(bytes: [u8; 3], most: u64) -> Result<Self> {
        let [low, middle, high] = bytes;
        let word = u32::from_le_bytes([low, middle, high, 0]);
        let size = word >> 3;
        let (stored, bound) = match (word >> 1) & 3 {
            0 => (size, u64::from(size)),
            1 => (1, u64::from(size)),
            2 => (size, most),
            _ => return Err(malformed("a block of the reserved type")),
        };
        if word & 0b110 == 0b100 && size == 0 {
            // RFC 8878, 3.1.1.3: its literals' header alone takes a byte.
            return Err(malformed("a compressed block without bytes"));
        }
        if u64::from(size) > most.max(1) {
            return Err(malformed("a block above the frame's block size"));
        }
        Ok(Self {
            last: word & 1 != 0,
            stored: usize::try_from(stored).unwrap_or(usize::MAX),
            bound,
        })
    }
}

fn malformed(text: &str) -> Error {
    Error::new(ErrorKind::Malformed, text)
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |sum, &byte| (sum << 8) | u64::from(byte))
}

/// RFC 8878, 3.1.1.1.2: an exponent above 10 and eighths of that power.
fn window_bytes(code: u64) -> u64 {
    let base = 1_u64 << (code >> 3).saturating_add(10).min(63);
    base.saturating_add((base >> 3).saturating_mul(code & 7))
}
