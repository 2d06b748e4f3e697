//! Telling a compressor by a stream's first bytes, never by a file's name.

use super::input::{skip, Input};
use super::Kind;
use crate::Result;

/// The most bytes of a head that [`of`] looks at.
pub(super) const HEAD_BYTES: usize = 13;

/// The kind of a stream; skippable frames before its first other one are gone past.
///
/// What is of no known kind, empty input among it, is `None`.
pub(super) fn sniff(input: &mut dyn Input) -> Result<Kind> {
    let mut skipped = false;
    loop {
        let head = input.ahead(HEAD_BYTES)?;
        if !is_skippable(head) {
            // Skippable frames alone are an empty stream of zstd or lz4.
            return Ok(match of(head) {
                Kind::None if skipped => Kind::Zstd,
                kind => kind,
            });
        }
        let Some(&size) = head.get(4..).and_then(|rest| rest.first_chunk::<4>()) else {
            return Ok(Kind::Zstd);
        };
        let size = u64::from(u32::from_le_bytes(size));
        skip(input, size.saturating_add(8))?;
        skipped = true;
    }
}

/// The kind that `head`, the first bytes of a stream, belongs to; `None` for what is of no other.
///
/// # Example
/// ```
/// use tare::compress::{sniff, Kind};
///
/// assert_eq!((Kind::Gzip, Kind::None), (sniff(b"\x1f\x8b\x08"), sniff(b"a,b,c")));
/// ```
#[must_use]
pub fn of(head: &[u8]) -> Kind {
    match head {
        [0x28 | 0x1e | 0x22..=0x27, 0xb5, 0x2f, 0xfd, ..] => Kind::Zstd,
        [0x04, 0x22, 0x4d, 0x18, ..] | [0x02, 0x21, 0x4c, 0x18, ..] => Kind::Lz4,
        [0x1f, 0x8b, 0x08, ..] => Kind::Gzip,
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Kind::Bz2,
        [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, ..] => Kind::Xz,
        [0x5d, 0x00, 0x00, ..] if is_lzma_alone(head) => Kind::Xz,
        _ => Kind::None,
    }
}

/// 50 to 5F, then 2A 4D 18: RFC 8878, 3.1.2, and the LZ4 frame format.
pub(super) fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Properties 5D, a dictionary of 2^n or 2^n + 2^(n-1) bytes, and a size that is unknown or
/// below 256 GiB: what `xz` itself accepts as lzma-alone.
pub(super) fn is_lzma_alone(head: &[u8]) -> bool {
    let [0x5d, rest @ ..] = head else {
        return false;
    };
    let Some((&dictionary, rest)) = rest.split_first_chunk::<4>() else {
        return false;
    };
    let Some(&size) = rest.first_chunk::<8>() else {
        return false;
    };
    let dictionary = u32::from_le_bytes(dictionary);
    let lowest = dictionary.trailing_zeros();
    let plausible = dictionary == u32::MAX
        || (dictionary >= 1 << 12
            && (dictionary.is_power_of_two()
                || dictionary.checked_shr(lowest).is_some_and(|top| top == 3)));
    let size = u64::from_le_bytes(size);
    plausible && (size == u64::MAX || size < 1 << 38)
}
