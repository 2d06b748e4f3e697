//! What comes before the blocks: magic numbers and frame headers.

use xxhash_rust::xxh32::xxh32;

use super::{array, malformed, unsupported};
use crate::compress::input::{ends, Input};
use crate::compress::{sniff, Kind};
use crate::Result;

const MAGIC_BYTES: usize = 4;
const LEGACY_MAGIC: &[u8] = b"\x02\x21\x4c\x18";

/// What a magic number begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    Frame,
    Legacy,
    Skippable,
}

impl Begin {
    /// What begins at the next byte; None where the input ends behind a frame.
    ///
    /// # Errors
    /// `Truncated` for a cut magic number, or an empty input; `Malformed` for other bytes.
    pub(super) fn ahead(input: &mut dyn Input) -> Result<Option<Self>> {
        let start = input.offset();
        let head = input.ahead(MAGIC_BYTES)?;
        if head.is_empty() && start > 0 {
            return Ok(None);
        }
        if let Some(begin) = Self::of(head) {
            return Ok(Some(begin));
        }
        let cut = [Kind::Lz4.magic(), LEGACY_MAGIC]
            .iter()
            .any(|magic| magic.starts_with(head));
        if cut || is_cut_skippable(head) {
            return Err(ends(start, head.len(), MAGIC_BYTES));
        }
        let text = match start {
            0 => "not an lz4 file: it does not start with 04 22 4D 18",
            _ => "bytes after the last frame that are no lz4 frame",
        };
        Err(malformed(text, start))
    }

    /// What a whole magic number begins.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        if head == Kind::Lz4.magic() {
            Some(Self::Frame)
        } else if head == LEGACY_MAGIC {
            Some(Self::Legacy)
        } else {
            sniff::is_skippable(head).then_some(Self::Skippable)
        }
    }
}

/// 50 to 5F, then 2A 4D 18, but not all of it.
fn is_cut_skippable(head: &[u8]) -> bool {
    matches!(
        head,
        [0x50..=0x5f] | [0x50..=0x5f, 0x2a] | [0x50..=0x5f, 0x2a, 0x4d]
    )
}

/// Goes past the magic number and the size of a skippable frame.
pub(super) fn skippable(input: &mut dyn Input) -> Result<u32> {
    array::<MAGIC_BYTES>(input)?;
    Ok(u32::from_le_bytes(array(input)?))
}

/// Goes past the magic number of a legacy frame, which is all it has for a header.
pub(super) fn legacy(input: &mut dyn Input) -> Result<()> {
    array::<MAGIC_BYTES>(input).map(|_| ())
}

/// What a frame's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Offset of the frame in the stored stream.
    pub(super) start: u64,
    pub(super) independent: bool,
    pub(super) block_checksums: bool,
    pub(super) content_checksum: bool,
    pub(super) content_size: Option<u64>,
    /// The most bytes of a block, plain and stored.
    pub(super) block_bytes: usize,
}

/// Bits of FLG.
const VERSION: u8 = 0b0100_0000;
const INDEPENDENT: u8 = 0b10_0000;
const BLOCK_CHECKSUMS: u8 = 0b1_0000;
const CONTENT_SIZE: u8 = 0b1000;
const CONTENT_CHECKSUM: u8 = 0b100;
const RESERVED: u8 = 0b10;
const DICTIONARY: u8 = 0b1;
/// Bits of BD that are not the block's size.
const BD_RESERVED: u8 = 0b1000_1111;

impl Header {
    /// Goes past the magic number and the header of a frame.
    ///
    /// # Errors
    /// `Unsupported` for another version, reserved bits or a dictionary; `Malformed` for a block
    /// size that does not exist or a wrong header checksum; `Truncated`.
    pub(super) fn read(input: &mut dyn Input) -> Result<Self> {
        let start = input.offset();
        array::<MAGIC_BYTES>(input)?;
        let at = input.offset();
        let [flags, block] = array(input)?;
        if flags >> 6 != 1 || flags & RESERVED != 0 || block & BD_RESERVED != 0 {
            let text = "a frame of another version, or with reserved bits set";
            return Err(unsupported(text, at));
        }
        let Some(block_bytes) = block_bytes(block >> 4) else {
            let text = format!("no block size {}; 4 to 7 exist", block >> 4);
            return Err(malformed(text, at));
        };
        if flags & DICTIONARY != 0 {
            return Err(unsupported("the frame needs a dictionary", at));
        }
        let mut described = vec![flags, block];
        let mut content_size = None;
        if flags & CONTENT_SIZE != 0 {
            let size = array::<8>(input)?;
            described.extend(size);
            content_size = Some(u64::from_le_bytes(size));
        }
        let at = input.offset();
        if array(input)? != [header_checksum(&described)] {
            return Err(malformed("the header's checksum does not match", at));
        }
        Ok(Self {
            start,
            independent: flags & INDEPENDENT != 0,
            block_checksums: flags & BLOCK_CHECKSUMS != 0,
            content_checksum: flags & CONTENT_CHECKSUM != 0,
            content_size,
            block_bytes,
        })
    }

    /// Appends the magic number and the header; `start` says nothing here.
    pub(super) fn write(&self, stored: &mut Vec<u8>) {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let flags = VERSION
            | flag(self.independent, INDEPENDENT)
            | flag(self.block_checksums, BLOCK_CHECKSUMS)
            | flag(self.content_size.is_some(), CONTENT_SIZE)
            | flag(self.content_checksum, CONTENT_CHECKSUM);
        let mut described = vec![flags, block_code(self.block_bytes) << 4];
        if let Some(size) = self.content_size {
            described.extend(size.to_le_bytes());
        }
        stored.extend(Kind::Lz4.magic());
        stored.extend(&described);
        stored.push(header_checksum(&described));
    }
}

fn header_checksum(described: &[u8]) -> u8 {
    let [_, second, ..] = xxh32(described, 0).to_le_bytes();
    second
}

fn block_bytes(code: u8) -> Option<usize> {
    match code {
        4 => Some(64 << 10),
        5 => Some(256 << 10),
        6 => Some(1 << 20),
        7 => Some(4 << 20),
        _ => None,
    }
}

/// The smallest block size that `bytes` fit into.
fn block_code(bytes: usize) -> u8 {
    match bytes {
        ..=0x1_0000 => 4,
        0x1_0001..=0x4_0000 => 5,
        0x4_0001..=0x10_0000 => 6,
        _ => 7,
    }
}
