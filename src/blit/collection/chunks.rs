//! The bytes of chunks: where they lie, or as they were decoded.

use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use super::layout::{Codec, Entry};
use super::wrong;
use crate::compress::{compress, decompress, Compressor, Kind, ReadOptions, WriteOptions};
use crate::{Error, ErrorKind, Result};

/// Most raw bytes for each that an LZ4 block has.
const LZ4_RATIO: u64 = 255;

/// The raw bytes of a chunk.
#[derive(Clone, Debug)]
pub(super) enum Bytes<'c> {
    Lent(&'c [u8]),
    Held(Arc<Vec<u8>>),
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Lent(bytes) => bytes,
            Self::Held(bytes) => bytes,
        }
    }
}

/// Whether chunks can be compressed so.
///
/// # Errors
/// `Usage` for others than none, zstd and lz4.
pub(super) fn check_compressor(compressor: &Compressor) -> Result<()> {
    if matches!(compressor.kind(), Kind::None | Kind::Zstd | Kind::Lz4) {
        return Ok(());
    }
    let text = format!("chunks by {}: by none, zstd or lz4", compressor.name());
    Err(Error::new(ErrorKind::Usage, text).with_format("blit"))
}

/// The bytes of a chunk as they are stored: compressed, where that saves some.
///
/// # Errors
/// `Limit`, `Internal` of the compressor.
pub(super) fn encode(raw: Vec<u8>, compressor: Option<&Compressor>) -> Result<(Codec, Vec<u8>)> {
    let compressed = match compressor.map(Compressor::kind).zip(compressor) {
        Some((Kind::Zstd, compressor)) => {
            let options = WriteOptions {
                threads: Some(1),
                // The index has one.
                checksum: false,
                ..WriteOptions::default()
            };
            (Codec::Zstd, compress(&raw, compressor, &options)?)
        }
        Some((Kind::Lz4, compressor)) => (Codec::Lz4, block(&raw, compressor)?),
        _ => return Ok((Codec::None, raw)),
    };
    if compressed.1.len() < raw.len() {
        return Ok(compressed);
    }
    Ok((Codec::None, raw))
}

fn block(raw: &[u8], compressor: &Compressor) -> Result<Vec<u8>> {
    use lz4::block::{compress as lz4, CompressionMode};
    let mode = match compressor.level() {
        Some(level @ 2..) => CompressionMode::HIGHCOMPRESSION(level),
        Some(level @ ..=-1) => CompressionMode::FAST(level.saturating_neg()),
        _ => CompressionMode::DEFAULT,
    };
    lz4(raw, Some(mode), false).map_err(|error| {
        let text = format!("LZ4 failed: {error}");
        Error::new(ErrorKind::Internal, text).with_format("blit")
    })
}

/// Whether the stored bytes of a chunk are those that were written.
///
/// # Errors
/// C6.
pub(super) fn check(entry: &Entry, stored: &[u8]) -> Result<()> {
    if xxhash_rust::xxh3::xxh3_64(stored) == entry.checksum {
        return Ok(());
    }
    let text = "the checksum of a chunk does not match: it was changed";
    Err(wrong(ErrorKind::ChecksumMismatch, "C6", text, entry.offset))
}

/// Whether a chunk may take the memory that it says it needs.
///
/// # Errors
/// C6: `Limit`, `Malformed`.
pub(super) fn check_size(entry: &Entry, most: u64) -> Result<()> {
    if u64::from(entry.raw) > most {
        let text = format!("a chunk of {} bytes, and max_chunk = {most}", entry.raw);
        return Err(wrong(ErrorKind::Limit, "C6", &text, entry.offset));
    }
    let (stored, raw) = (u64::from(entry.stored), u64::from(entry.raw));
    let possible = match entry.codec {
        Codec::None => raw == stored,
        Codec::Zstd => true,
        Codec::Lz4 => raw <= stored.saturating_mul(LZ4_RATIO),
    };
    if possible {
        return Ok(());
    }
    let text = "a chunk that cannot have the length that it says";
    Err(wrong(ErrorKind::Malformed, "C6", text, entry.offset))
}

/// Decodes a chunk that was checked, of a codec other than none.
///
/// # Errors
/// C6.
pub(super) fn decode(entry: &Entry, stored: &[u8]) -> Result<Vec<u8>> {
    let size = entry.raw as usize;
    let raw = match entry.codec {
        Codec::None => stored.to_vec(),
        Codec::Zstd => {
            let options = ReadOptions {
                kind: Some(Kind::Zstd),
                threads: Some(1),
                max_output: Some(entry.raw.into()),
                ..ReadOptions::default()
            };
            decompress(stored, &options).map_err(|error| undecodable(entry, error))?
        }
        Codec::Lz4 => {
            let mut raw = vec![0; size];
            let decoded = lz4_flex::block::decompress_into(stored, &mut raw);
            let length = decoded.map_err(|error| undecodable(entry, error))?;
            raw.truncate(length);
            raw
        }
    };
    if raw.len() == size {
        return Ok(raw);
    }
    let text = format!("a chunk of {} bytes that says it has {size}", raw.len());
    Err(wrong(ErrorKind::Malformed, "C6", &text, entry.offset))
}

fn undecodable(entry: &Entry, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    let error = error.into();
    let text = format!("a chunk that does not decompress: {error}");
    wrong(ErrorKind::Malformed, "C6", &text, entry.offset).with_source(error)
}

/// Number of a commit, and of a chunk in it.
type Key = (usize, usize);

/// Decoded chunks, those used last.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    chunks: HashMap<Key, (Arc<Vec<u8>>, u64)>,
    /// By when they were used.
    order: BTreeMap<u64, Key>,
    bytes: usize,
    now: u64,
}

impl Cache {
    pub(super) fn get(&self, key: Key) -> Option<Arc<Vec<u8>>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &mut *kept;
        let (chunk, used) = kept.chunks.get_mut(&key)?;
        kept.now = kept.now.wrapping_add(1);
        kept.order.remove(used);
        kept.order.insert(kept.now, key);
        *used = kept.now;
        Some(Arc::clone(chunk))
    }

    /// Keeps a chunk, and drops others until all are at most `most` bytes; one is always kept,
    /// unless that is 0.
    pub(super) fn put(&self, key: Key, chunk: &Arc<Vec<u8>>, most: usize) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &mut *kept;
        if most == 0 || kept.chunks.contains_key(&key) {
            return;
        }
        kept.now = kept.now.wrapping_add(1);
        kept.bytes = kept.bytes.saturating_add(size(chunk));
        kept.order.insert(kept.now, key);
        kept.chunks.insert(key, (Arc::clone(chunk), kept.now));
        while kept.bytes > most && kept.chunks.len() > 1 {
            let Some((_, oldest)) = kept.order.pop_first() else {
                return;
            };
            if let Some((chunk, _)) = kept.chunks.remove(&oldest) {
                kept.bytes = kept.bytes.saturating_sub(size(&chunk));
            }
        }
    }
}

/// Bytes that a chunk takes, with what is needed to find it.
fn size(chunk: &Arc<Vec<u8>>) -> usize {
    const EACH: usize = 128;
    chunk.capacity().saturating_add(EACH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chunks_used_last_are_kept() {
        let cache = Cache::default();
        let chunk = || Arc::new(vec![0; 872]);
        for key in 0..3 {
            cache.put((0, key), &chunk(), 3000);
        }
        assert!(cache.get((0, 0)).is_some());
        cache.put((0, 3), &chunk(), 3000);
        let there = |key| cache.get((0, key)).is_some();
        assert_eq!([true, false, true, true], [0, 1, 2, 3].map(there));
        cache.put((1, 0), &Arc::new(vec![0; 5000]), 3000);
        assert!(cache.get((1, 0)).is_some());
        assert!(!there(3));
        cache.put((1, 1), &chunk(), 0);
        assert!(cache.get((1, 1)).is_none());
    }

    #[test]
    fn chunks_that_lie_about_their_length_are_refused() {
        let plain = b"weighed, and found wanting".repeat(20);
        let block = lz4_flex::block::compress(&plain);
        let entry = |stored: &[u8], raw: usize| Entry {
            offset: 16,
            stored: u32::try_from(stored.len()).unwrap(),
            raw: u32::try_from(raw).unwrap(),
            first: 0,
            codec: Codec::Lz4,
            checksum: xxhash_rust::xxh3::xxh3_64(stored),
        };
        let right = entry(&block, plain.len());
        check(&right, &block).unwrap();
        assert_eq!(plain, decode(&right, &block).unwrap());
        for raw in [plain.len() - 1, plain.len() + 1] {
            let error = decode(&entry(&block, raw), &block).unwrap_err();
            assert_eq!(ErrorKind::Malformed, error.kind());
        }
        let bomb = check_size(&entry(&block, 1 << 20), 1 << 30).unwrap_err();
        assert_eq!(ErrorKind::Malformed, bomb.kind());
        let long = check_size(&right, 100).unwrap_err();
        assert_eq!(ErrorKind::Limit, long.kind());
    }
}
