//! Whether to compress, by a sample: what does not shrink is stored as it is, and mapped when read.

use crate::compress::{self, Compressor, Kind, WriteOptions};
use crate::Result;

/// Objects of fewer plain bytes are never compressed.
pub const LEAST_PACKED: usize = 128;

/// Bytes of each of the three pieces of the sample: the beginning, the middle, the end.
const PIECE: usize = 32 << 10;

/// Compressed is stored what shrinks below so many hundredths. Doubles whose 53 bits are random come to 94:
/// a twentieth of the size for several times the time of reading.
const WORTH: usize = 90;

/// Whether so many plain bytes are worth being stored as so many.
pub(super) fn is_worth(plain: usize, stored: usize) -> bool {
    stored < plain / 100 * WORTH
}

/// `zstd:3`, or none if a sample of the bytes shrinks by less than a tenth.
pub(super) fn choose(plain: &[u8]) -> Result<Compressor> {
    let none = Compressor::new(Kind::None, None)?;
    if plain.len() < LEAST_PACKED {
        return Ok(none);
    }
    let zstd = Compressor::new(Kind::Zstd, Some(3))?;
    let sample;
    let sampled: &[u8] = if plain.len() <= 3 * PIECE {
        plain
    } else {
        let middle = plain.len() / 2 - PIECE / 2;
        let starts = [0, middle, plain.len() - PIECE];
        let pieces = starts.map(|start| plain.get(start..start + PIECE).unwrap_or_default());
        sample = pieces.concat();
        &sample
    };
    let options = WriteOptions {
        threads: Some(1),
        content_size: Some(sampled.len() as u64),
        ..WriteOptions::default()
    };
    let quick = Compressor::new(Kind::Zstd, Some(1))?;
    let stored = compress::compress(sampled, &quick, &options)?;
    Ok(if is_worth(sampled.len(), stored.len()) {
        zstd
    } else {
        none
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_shrink_stays_plain() -> Result<()> {
        let mut state = 7_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            u8::try_from(state >> 56).unwrap_or_default()
        };
        let noise: Vec<u8> = (0..200_000).map(|_| random()).collect();
        let text = b"weighed, and found wanting\n".repeat(9000);
        assert_eq!(Kind::None, choose(&noise)?.kind());
        assert_eq!(Kind::Zstd, choose(&text)?.kind());
        assert_eq!(Kind::None, choose(&text[..100])?.kind());
        assert_eq!(Kind::Zstd, choose(&text[..1000])?.kind());
        Ok(())
    }
}
