//! Where one value of a self-delimiting format ends, found without building it.
//!
//! A scan is kept between reads: what it saw once it does not see again, but for the few bytes of
//! an item's head that arrives in pieces. It allocates nothing per item; its stack has an entry
//! per open item, at most `max_depth`. Whether a scan fails, and where, does not depend on how
//! the bytes were cut: each check is made when the last byte that it needs is there.

pub(super) mod cbor;
pub(super) mod msgpack;
pub(super) mod ndjson;
pub(super) mod wrap;

/// What a scan came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// All bytes were looked at but those behind `taken`; at least `hint` are missing.
    More { taken: usize, hint: u64 },
    /// The value ends here.
    Done { taken: usize },
    /// The byte here cannot stand here.
    Malformed { taken: usize, what: &'static str },
    /// The value has so many bytes at least.
    TooBig { needed: u64 },
    /// So many values stand inside each other.
    TooDeep { needed: u64 },
}

/// `n` as a size in memory, where larger than any counts as the largest.
pub(super) fn size(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// The number in the first `N` bytes, the greatest first; `Err` with how many of them are missing.
#[inline]
pub(super) fn number<const N: usize>(bytes: &[u8]) -> Result<u64, u64> {
    match bytes.first_chunk::<N>() {
        Some(bytes) => Ok(bytes
            .iter()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte))),
        None => Err((N as u64).saturating_sub(bytes.len() as u64)),
    }
}
