//! What a match becomes: a token, literals, an offset, as defined in the LZ4 Block Format
//! Description.

#![allow(clippy::inline_always, reason = "once for each match")]

use super::wide;

/// Most bytes that the short form of a sequence is written with: a token, 16 literals, of which
/// the last two may be none, an offset and one byte of length.
pub(super) const SHORT_BYTES: usize = 20;
/// The number that a half of a token cannot hold itself.
const LONG: usize = 15;

/// Bytes to write, and where they came from.
#[derive(Clone, Copy)]
pub(super) struct Sequence {
    /// The first literal.
    pub(super) anchor: usize,
    pub(super) literals: usize,
    pub(super) offset: u16,
    /// Bytes of the match beyond `MIN_MATCH`.
    pub(super) more: usize,
}

impl Sequence {
    /// Writes it at `end`; the end then. None if there is no room.
    ///
    /// Almost all have few literals and a short match: 16 literals are written whatever their
    /// number, and a byte of length even if none counts, since a branch would be guessed wrong.
    #[inline(always)]
    pub(super) fn put(self, plain: &[u8], stored: &mut [u8], end: usize) -> Option<usize> {
        // One branch, not three.
        let short = (self.literals < LONG) & (self.more < LONG + 255);
        let room = (end + SHORT_BYTES <= stored.len()) & (self.anchor + 16 <= plain.len());
        if !(short & room) {
            return self.put_long(plain, stored, end);
        }
        let after = end + 1 + self.literals;
        #[allow(clippy::cast_possible_truncation, reason = "below 256 when it counts")]
        let (token, rest) = (
            (self.literals << 4 | self.more.min(LONG)) as u8,
            self.more.wrapping_sub(LONG) as u8,
        );
        #[allow(unsafe_code, reason = "see `wide`")]
        // SAFETY: 16 bytes from the anchor on are there; what is written ends at most at
        // `after + 3 <= end + 18`, or at `end + 17`, and SHORT_BYTES are there.
        unsafe {
            wide::write(stored, end, [token]);
            wide::write(stored, end + 1, wide::read::<16>(plain, self.anchor));
            wide::write(stored, after, self.offset.to_le_bytes());
            wide::write(stored, after + 2, [rest]);
        }
        Some(after + 2 + usize::from(self.more >= LONG))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn put_long(self, plain: &[u8], stored: &mut [u8], end: usize) -> Option<usize> {
        let mut place = Place { stored, end };
        let token = (self.literals.min(LONG) << 4) | self.more.min(LONG);
        place.put(&[u8::try_from(token).ok()?])?;
        place.put_rest(self.literals)?;
        place.put(plain.get(self.anchor..)?.get(..self.literals)?)?;
        place.put(&self.offset.to_le_bytes())?;
        place.put_rest(self.more)?;
        Some(place.end)
    }
}

/// Writes the literals after the last match.
pub(super) fn put_last(literals: &[u8], stored: &mut [u8], end: usize) -> Option<usize> {
    let mut place = Place { stored, end };
    place.put(&[u8::try_from(literals.len().min(LONG) << 4).ok()?])?;
    place.put_rest(literals.len())?;
    place.put(literals)?;
    Some(place.end)
}

/// Bytes written one after another, checked.
struct Place<'a> {
    stored: &'a mut [u8],
    end: usize,
}

impl Place<'_> {
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        let place = self.stored.get_mut(self.end..)?.get_mut(..bytes.len())?;
        place.copy_from_slice(bytes);
        self.end += bytes.len();
        Some(())
    }

    /// What of a length its half of the token does not hold.
    fn put_rest(&mut self, length: usize) -> Option<()> {
        let Some(mut rest) = length.checked_sub(LONG) else {
            return Some(());
        };
        loop {
            let byte = u8::try_from(rest).unwrap_or(u8::MAX);
            self.put(&[byte])?;
            if byte < u8::MAX {
                return Some(());
            }
            rest -= usize::from(byte);
        }
    }
}

/// Bytes from `at` to `most` that repeat those at `from`, where the first 16 do.
#[cold]
#[inline(never)]
pub(super) fn long_match(plain: &[u8], at: usize, from: usize, most: usize) -> usize {
    assert!(
        from < at && most <= plain.len(),
        "a match behind, and within"
    );
    let mut equal = 16;
    while at + equal + 16 <= most {
        #[allow(unsafe_code, reason = "see `wide`")]
        // SAFETY: 16 bytes are there from the later place on.
        let more = unsafe { wide::equal_after(plain, at + equal, from + equal) };
        equal += more;
        if more < 16 {
            return equal;
        }
    }
    let ahead = plain.get(at + equal..most).unwrap_or_default();
    let behind = plain.get(from + equal..most).unwrap_or_default();
    let pairs = ahead.iter().zip(behind);
    equal + pairs.take_while(|(left, right)| left == right).count()
}
