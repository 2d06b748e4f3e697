//! A large body received into a buffer of the caller.

use std::ops::Range;

use super::buffers::BEHIND;
use super::unit::{Found, Place};
use super::{crc, frame, Framer, Framing};

/// A large message whose bytes go to a buffer of the caller; from [`Framer::place`].
///
/// Once [`is_done`](Self::is_done), [`Framer::next`] gives a message that is
/// [`placed`](super::Message::placed) and lends no bytes: they are in the buffer. Dropped before,
/// what came is copied back and nothing is lost.
#[derive(Debug)]
pub struct Placed<'f, 'b> {
    framer: &'f mut Framer,
    into: &'b mut [u8],
    behind: [u8; BEHIND],
}

impl Framer {
    /// Lets the message under way be received into `into`, if it is a large one in one frame, or
    /// wrapped, and `into` holds all of it: no copy but of what came already.
    pub fn place<'f, 'b>(&'f mut self, into: &'b mut [u8]) -> Option<Placed<'f, 'b>> {
        if !self.begin_placed(into) {
            return None;
        }
        Some(Placed {
            framer: self,
            into,
            behind: [0; BEHIND],
        })
    }

    /// As [`place`](Self::place), for who cannot keep `into` borrowed between reads: each call
    /// that follows is given the same bytes again. False if nothing begins.
    ///
    /// After it, [`placed_room`](Self::placed_room) says where to read and
    /// [`commit_placed`](Self::commit_placed) takes it in, until the framer is
    /// [`ready`](Self::ready); then, or to give up before, [`end_placed`](Self::end_placed).
    pub fn begin_placed(&mut self, into: &mut [u8]) -> bool {
        self.look();
        let fits = self
            .large_message()
            .is_some_and(|length| length <= into.len());
        let came = self.body.bytes();
        let Some(start) = into.get_mut(..came.len()) else {
            return false;
        };
        if !fits || self.under.is_placed {
            return false;
        }
        start.copy_from_slice(came);
        self.under.placed = came.len();
        self.under.is_placed = true;
        self.body.clear();
        true
    }

    /// The rest of the message that is placed, in the caller's bytes.
    #[must_use]
    pub fn placed_room(&self) -> Range<usize> {
        let left = usize::try_from(self.under.left).unwrap_or(usize::MAX);
        let end = self.under.placed.saturating_add(left);
        self.under.placed..end
    }

    /// Takes in `n` bytes that were read into the room, and what did not fit there into `behind`.
    pub fn commit_placed(&mut self, into: &[u8], behind: &[u8], n: usize) {
        let under = &mut self.under;
        let own = usize::try_from(under.left).unwrap_or(usize::MAX).min(n);
        let end = under.placed.saturating_add(own);
        if under.crc {
            let new = into.get(under.placed..end).unwrap_or_default();
            under.sum = crc::more(under.sum, new);
        }
        under.placed = end;
        under.left = under.left.saturating_sub(own as u64);
        self.base = self.base.saturating_add(own as u64);
        let rest = n.saturating_sub(own);
        self.shared.put(behind.get(..rest).unwrap_or(behind));
    }

    /// Ends it: of a message that is not whole, what came is copied back and nothing is lost.
    pub fn end_placed(&mut self, into: &[u8]) {
        self.look();
        if let Some(Found {
            place: Place::Placed,
            ..
        }) = self.found
        {
            return;
        }
        let under = &mut self.under;
        let came = into.get(..under.placed).unwrap_or_default();
        self.body.append(came);
        under.placed = 0;
        under.is_placed = false;
    }

    /// Bytes of the large message under way, if its last part has begun.
    pub fn large_message(&mut self) -> Option<usize> {
        self.look();
        let under = &self.under;
        let framed = matches!(self.framing, Framing::Frame | Framing::Wrap);
        if !framed || !under.in_body || under.more || under.left == 0 || self.found.is_some() {
            return None;
        }
        let left = usize::try_from(under.left).ok()?;
        self.body.len().checked_add(left)
    }
}

impl Placed<'_, '_> {
    /// Where to read into, one behind the other: the rest of the message, and what may follow it.
    pub fn reserve(&mut self) -> (&mut [u8], &mut [u8]) {
        let room = self.framer.placed_room();
        let rest = self.into.get_mut(room).unwrap_or_default();
        (rest, &mut self.behind)
    }

    /// Takes in `n` bytes that were read into what [`reserve`](Self::reserve) offered.
    pub fn commit(&mut self, n: usize) {
        self.framer.commit_placed(self.into, &self.behind, n);
    }

    /// Whether the message is whole, or broken: [`Framer::next`] tells.
    pub fn is_done(&mut self) -> bool {
        self.framer.ready()
    }

    /// Bytes of the message that are there.
    #[must_use]
    pub fn received(&self) -> usize {
        self.framer.under.placed
    }

    /// Least number of bytes that are still to come, with the checksum.
    #[must_use]
    pub fn missing(&self) -> u64 {
        let sum = if self.framer.under.crc {
            frame::SUM as u64
        } else {
            0
        };
        self.framer.under.left.saturating_add(sum)
    }
}

impl Drop for Placed<'_, '_> {
    fn drop(&mut self) {
        self.framer.end_placed(self.into);
    }
}
