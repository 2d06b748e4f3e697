//! What `compress_fst` makes of a raw vector: blocks that are compressed one by one.
//!
//! | Bytes | Field |
//! |---|---|
//! | 4 | XXH32 (seed 912824571) of the rest of the header |
//! | 4, 4 | plain bytes of a block; version 1 |
//! | 4 | method: 1 LZ4, 3 zstd; bit 31 where the blocks are hashed |
//! | 8, 8 | plain length; XXH64 of the XXH64 of each block (the same seed), or 0 |
//! | 8 for each block and 8 | where blocks begin and the last ends, from the start of the blob |

use super::codec::{Codec, Method, Packing, Zstd};
use super::fault::{fault, malformed, too_much, truncated};
use super::layout::{SEED, VERSION};
use super::options::ReadOptions;
use super::source::{reserve, u32_at, u64_at};
use crate::{ErrorKind, Result};
use xxhash_rust::xxh32::xxh32;
use xxhash_rust::xxh64::xxh64;

/// Bytes of the header in front of the offsets.
const FIXED: usize = 32;
/// The bit of the method that says that blocks are hashed.
const HASHED: u32 = 1 << 31;
/// Most plain bytes of a block.
const MOST: u32 = 1 << 30;

/// The header of a blob.
struct Header {
    block: usize,
    method: Method,
    /// The hash of all blocks, where there is one.
    hash: Option<u64>,
    plain: usize,
    offsets: Vec<usize>,
}

/// The raw vector that a blob holds.
///
/// The header's checksum is verified, and that of the blocks where the writer was asked for one;
/// every block must hold exactly what the header says.
///
/// # Errors
/// `Truncated` for a blob that is cut; `ChecksumMismatch`, `Malformed` and `Unsupported` for what
/// is none; `Limit` for more than `max_ratio` or `memory_budget` allow. The format in errors is
/// `fst`.
///
/// # Example
/// ```
/// use tare::fst::{blob, ReadOptions};
///
/// let error = blob::decompress(&[0; 20], &ReadOptions::default()).unwrap_err();
/// assert!(error.is_truncated());
/// ```
pub fn decompress(blob: &[u8], options: &ReadOptions) -> Result<Vec<u8>> {
    let header = read_header(blob, options)?;
    if let Some(expected) = header.hash {
        check_blocks(blob, &header, expected)?;
    }
    let mut plain = Vec::new();
    reserve(&mut plain, header.plain, 16)?;
    plain.resize(header.plain, 0);
    let mut zstd = Zstd::default();
    for (pair, into) in header
        .offsets
        .windows(2)
        .zip(plain.chunks_mut(header.block))
    {
        let [from, to] = pair else { break };
        let stored = blob.get(*from..*to).unwrap_or_default();
        let at = *from as u64;
        if !header
            .method
            .plausible(stored.len() as u64, into.len() as u64)
        {
            let text = format!(
                "a block of {} bytes for {} plain ones",
                stored.len(),
                into.len()
            );
            return Err(malformed(text, at));
        }
        header.method.expand(stored, into, &mut zstd, at)?;
    }
    Ok(plain)
}

fn read_header(blob: &[u8], options: &ReadOptions) -> Result<Header> {
    let size = blob.len() as u64;
    if blob.len() < FIXED {
        return Err(truncated("the header of a blob", FIXED as u64, size));
    }
    let (block, plain) = (u32_at(blob, 4), u64_at(blob, 16));
    let unknown = |text: String, at: u64| fault(ErrorKind::Unsupported, text, at);
    if u32_at(blob, 8) != VERSION {
        let text = format!("version {} of a blob, expected {VERSION}", u32_at(blob, 8));
        return Err(unknown(text, 8));
    }
    if block == 0 || block > MOST {
        return Err(malformed(format!("blocks of {block} bytes"), 4));
    }
    let blocks = plain.div_ceil(u64::from(block));
    let len = blocks.saturating_add(5).saturating_mul(8);
    if len > size {
        return Err(truncated("the header of a blob", len, size));
    }
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let rest = blob.get(4..len).unwrap_or_default();
    if xxh32(rest, u32::try_from(SEED).unwrap_or_default()) != u32_at(blob, 0) {
        let text = "the checksum of the header of a blob is wrong";
        return Err(fault(ErrorKind::ChecksumMismatch, text, 0));
    }
    let word = u32_at(blob, 12);
    let method = u16::try_from(word & !HASHED)
        .ok()
        .and_then(Codec::of)
        .filter(|codec| codec.packing == Packing::Plain)
        .map(|codec| codec.method)
        .ok_or_else(|| unknown(format!("codec {word:08X} of a blob"), 12))?;
    let most = options.max_ratio.unwrap_or(u64::MAX);
    let most = size.saturating_mul(most).saturating_add(64 << 20);
    let most = options.memory_budget.unwrap_or(u64::MAX).min(most);
    if plain > most {
        let text =
            format!("{plain} plain bytes, beyond memory_budget or max_ratio, which allow {most}");
        return Err(too_much(text, 16));
    }
    Ok(Header {
        block: usize::try_from(block).unwrap_or(usize::MAX),
        method,
        hash: (word & HASHED != 0).then(|| u64_at(blob, 24)),
        plain: usize::try_from(plain).unwrap_or(usize::MAX),
        offsets: read_offsets(blob, len)?,
    })
}

/// Where blocks begin, and where the last ends: with the blob.
fn read_offsets(blob: &[u8], header: usize) -> Result<Vec<usize>> {
    let mut least = header as u64;
    let mut offsets = Vec::new();
    let words = blob.get(FIXED..header).unwrap_or_default().chunks_exact(8);
    for (word, at) in words.zip((FIXED as u64..).step_by(8)) {
        let offset = u64_at(word, 0);
        if offset < least || (offsets.is_empty() && offset != least) {
            let text = format!("a block at byte {offset}, expected {least} or more");
            return Err(malformed(text, at));
        }
        least = offset;
        offsets.push(usize::try_from(offset).unwrap_or(usize::MAX));
    }
    let size = blob.len() as u64;
    if least > size {
        return Err(truncated("a block", least, size));
    }
    if least < size {
        let text = format!("{} bytes behind the last block", size.saturating_sub(least));
        return Err(malformed(text, least));
    }
    Ok(offsets)
}

/// The hash of the hashes of all blocks as they are stored.
fn check_blocks(blob: &[u8], header: &Header, expected: u64) -> Result<()> {
    let mut hashes = Vec::new();
    for pair in header.offsets.windows(2) {
        let [from, to] = pair else { break };
        let block = blob.get(*from..*to).unwrap_or_default();
        hashes.extend_from_slice(&xxh64(block, SEED).to_le_bytes());
    }
    if xxh64(&hashes, SEED) == expected {
        return Ok(());
    }
    let text = "the checksum of the blocks of a blob is wrong";
    Err(fault(ErrorKind::ChecksumMismatch, text, 24))
}
