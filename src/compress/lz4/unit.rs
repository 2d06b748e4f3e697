//! Independent blocks, each decoded by itself; on a worker.

use lz4_flex::block::decompress_into;
use xxhash_rust::xxh32::xxh32;

use super::{malformed, mismatch, unsupported, STORED, WORD_BYTES};
use crate::compress::container::{Unit, UnitDecoder, END_MARK};
use crate::{Error, ErrorKind, Result};

/// Tag of blocks with a checksum behind them.
pub(super) const CHECKED: u64 = 1 << 32;
/// Tag of what an index lists in a frame whose blocks cannot be decoded by themselves.
pub(super) const LINKED: u64 = 1 << 33;

/// Decodes independent blocks.
pub(super) struct Decoder;

impl UnitDecoder for Decoder {
    fn decode(&mut self, unit: &Unit, stored: &[u8], plain: &mut Vec<u8>) -> Result<()> {
        let at = unit.start;
        if unit.tag & END_MARK != 0 {
            return Ok(());
        }
        if unit.tag & LINKED != 0 {
            let text = "its blocks refer to those before them: read it from its start";
            return Err(unsupported(text, at));
        }
        let (word, block) = split(unit, stored)?;
        plain.try_reserve_exact(unit.bound).map_err(|_| {
            let text = format!("no memory for a block of {} bytes", unit.bound);
            Error::new(ErrorKind::Limit, text).with_offset(at)
        })?;
        if word & STORED == 0 {
            plain.resize(unit.bound, 0);
            let made = decompress_into(block, plain)
                .map_err(|error| malformed(format!("a damaged block: {error}"), at))?;
            plain.truncate(made);
        } else {
            plain.extend_from_slice(block);
        }
        match unit.claim {
            Some(claim) if claim != plain.len() as u64 => {
                let text = format!("a block of {} bytes that should hold {claim}", plain.len());
                Err(malformed(text, at))
            }
            _ => Ok(()),
        }
    }
}

/// A block's size word and bytes, its checksum verified.
///
/// # Errors
/// `Malformed` if they do not fill the unit; `ChecksumMismatch`.
fn split<'a>(unit: &Unit, stored: &'a [u8]) -> Result<(u32, &'a [u8])> {
    let other = || malformed("a block of another length than was said", unit.start);
    let (&word, rest) = stored.split_first_chunk::<WORD_BYTES>().ok_or_else(other)?;
    let word = u32::from_le_bytes(word);
    let size = usize::try_from(word & !STORED).unwrap_or(usize::MAX);
    let (block, rest) = rest.split_at_checked(size).ok_or_else(other)?;
    let checksum = match (rest, unit.tag & CHECKED) {
        ([], 0) => return Ok((word, block)),
        ([a, b, c, d], CHECKED) => u32::from_le_bytes([*a, *b, *c, *d]),
        _ => return Err(other()),
    };
    if xxh32(block, 0) != checksum {
        return Err(mismatch("the block's checksum does not match", unit.start));
    }
    Ok((word, block))
}
