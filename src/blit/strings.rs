//! What a string needs when it is written back: escapes, care, or nothing.

use std::hash::{BuildHasher, Hasher};

use hashbrown::DefaultHashBuilder;

use super::layout::tag;
use super::node::Kind;

/// The strongest tag that a string has: ASCII, clean, or any.
#[inline]
pub(super) fn tag_of(text: &[u8]) -> u8 {
    match kind_of(text) {
        Kind::Ascii => tag::ASCII,
        Kind::Clean => tag::CLEAN,
        _ => tag::STR,
    }
}

/// As [`tag_of`], of text that may hold halves of surrogate pairs: those need care.
pub(super) fn tag_of_wtf8(text: &[u8]) -> u8 {
    match tag_of(text) {
        tag::CLEAN if std::str::from_utf8(text).is_err() => tag::STR,
        tag => tag,
    }
}

/// As [`tag_of`], for nodes.
#[inline]
pub(super) fn kind_of(text: &[u8]) -> Kind {
    let seen = seen(text);
    if seen & ESCAPED != 0 {
        Kind::Str
    } else if seen & HIGH != 0 {
        Kind::Clean
    } else {
        Kind::Ascii
    }
}

/// What there is in a text, eight bytes at a time; the last eight overlap those before.
#[inline]
fn seen(text: &[u8]) -> u8 {
    let Some(last) = text.last_chunk::<8>() else {
        return text.iter().fold(0, |seen, &byte| seen | class(byte));
    };
    let (mut special, mut high) = marks(u64::from_le_bytes(*last));
    let mut rest = text;
    while let Some((word, later)) = rest.split_first_chunk::<8>() {
        let (specials, highs) = marks(u64::from_le_bytes(*word));
        special |= specials;
        high |= highs;
        rest = later;
    }
    (u8::from(special != 0) * ESCAPED) | (u8::from(high != 0) * HIGH)
}

/// Bits that are not 0 where a byte needs an escape, and where one is not ASCII.
#[inline]
fn marks(word: u64) -> (u64, u64) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    // A byte's top bit is set where it is a quote or below 0x20, which the change of one bit makes
    // neighbours, or a backslash; and perhaps in bytes above such a one.
    let turned = word ^ (ONES * 2);
    let slash = word ^ (ONES * 0x5C);
    let low = turned.wrapping_sub(ONES * 0x21) | slash.wrapping_sub(ONES);
    (low & !word & TOPS, word & TOPS)
}

const ESCAPED: u8 = 1;
const HIGH: u8 = 0x80;

/// Without a branch, so that many are done at once.
#[inline]
fn class(byte: u8) -> u8 {
    let escaped = [byte < 0x20, byte == b'"', byte == b'\\'].map(u8::from);
    let [low, quote, slash] = escaped;
    low | quote | slash | byte & HIGH
}

/// A hash of text that only this process has.
#[inline]
pub(super) fn hash(hasher: &DefaultHashBuilder, text: &[u8]) -> u64 {
    // As `hash_one` without the length, which the bytes of one text need not be told from.
    let mut state = hasher.build_hasher();
    state.write(text);
    state.finish()
}

/// The tag that holds for strings of both.
pub(super) fn weaker(a: u8, b: u8) -> u8 {
    match (a, b) {
        (tag::STR, _) | (_, tag::STR) => tag::STR,
        (tag::CLEAN, _) | (_, tag::CLEAN) => tag::CLEAN,
        _ => tag::ASCII,
    }
}

/// Where a run of characters that stand for themselves ends, and whether some are not ASCII.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "halves are meant")]
pub(crate) fn plain_end(text: &[u8], from: usize) -> (usize, bool) {
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let mut high = 0_u64;
    let mut rest = text.get(from..).unwrap_or_default();
    let place = |rest: &[u8]| text.len().wrapping_sub(rest.len());
    // Borrows can only mark bytes above the first one that is really special.
    let ends = |at: usize, high: u64, word: u64, special: u64| {
        let bytes = special.trailing_zeros() / 8;
        let before = word & !(u64::MAX << (bytes * 8));
        (at.wrapping_add(bytes as usize), (high | before) & TOPS != 0)
    };
    while let Some((&pair, later)) = rest.split_first_chunk::<16>() {
        let pair = u128::from_le_bytes(pair);
        let (first, second) = (pair as u64, (pair >> 64) as u64);
        let (special, others) = (marks(first).0, marks(second).0);
        if special != 0 {
            return ends(place(rest), high, first, special);
        }
        high |= first;
        if others != 0 {
            return ends(place(rest).wrapping_add(8), high, second, others);
        }
        high |= second;
        rest = later;
    }
    if let Some((word, later)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let special = marks(word).0;
        if special != 0 {
            return ends(place(rest), high, word, special);
        }
        high |= word;
        rest = later;
    }
    let mut at = place(rest);
    let mut high = high & TOPS != 0;
    for &byte in rest {
        if class(byte) & ESCAPED != 0 {
            break;
        }
        high |= byte >= 0x80;
        at = at.wrapping_add(1);
    }
    (at, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_a_text_needs_is_seen(text in prop::collection::vec(prop_oneof![0x1E_u8..0x24, 0x5A_u8..0x5F, 0x7E_u8..0x82, Just(b'a')], 0..20)) {
            let each = text.iter().fold(0, |seen, &byte| seen | class(byte));
            prop_assert_eq!(each, seen(&text));
        }

        #[test]
        fn the_first_special_byte_is_found(text in prop::collection::vec(prop_oneof![0x1E_u8..0x24, 0x5A_u8..0x5F, any::<u8>(), Just(b'a')], 0..40), from in 0_usize..40) {
            let from = from.min(text.len());
            let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
            let end = text[from..].iter().position(special).map_or(text.len(), |n| from + n);
            prop_assert_eq!((end, text[from..end].iter().any(|byte| *byte >= 0x80)), plain_end(&text, from));
        }
    }
}
