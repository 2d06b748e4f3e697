//! Small messages, which most are, and the buffers that framers have together.

use super::buffers::{BEHIND, FIRST, LARGE};
use super::unit::{Found, Message, Place, Quick};
use super::{crc, frame, Framer, Framing};

impl Framer {
    /// Gives the small messages that wait to `work`, one after the other and with the offset behind
    /// each, as long as it says true. It stops in front of all else: what is not whole, not small,
    /// damaged or no message; [`next_event`](Self::next_event) goes on from there.
    ///
    /// # Errors
    /// That of `work`, which then did not take the message: it stays.
    ///
    /// # Example
    /// ```
    /// use tare::message::{Framer, Framing, Limits};
    /// let mut framer = Framer::new(Framing::Frame, Limits::default());
    /// framer.feed(b"\xe0\x02\0\0\0hi\xe0\x01\0\0\0!\xe0");
    /// let mut all = Vec::new();
    /// framer.take_small(|message, _end| {
    ///     all.extend_from_slice(message.bytes);
    ///     Ok::<_, tare::Error>(true)
    /// })?;
    /// assert_eq!((&b"hi!"[..], 2, 13), (&*all, framer.messages(), framer.position()));
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn take_small<E>(
        &mut self,
        mut work: impl FnMut(&Message<'_>, u64) -> Result<bool, E>,
    ) -> Result<(), E> {
        let framed = self.framing == Framing::Frame;
        if !framed || self.found.is_some() || self.failure.is_some() || self.under.in_body {
            return Ok(());
        }
        if self.lent.take().is_some() {
            self.body.clear();
        }
        let most = usize::try_from(self.limits.max_message).map_or(LARGE, |most| most.min(LARGE));
        let bare = !self.limits.require_crc;
        let mut rest = self.shared.bytes();
        let (mut taken, mut count) = (0_usize, 0_u64);
        let mut done = Ok(());
        while let Some((header, behind)) = rest.split_first_chunk::<{ frame::HEADER }>() {
            let Some((tag, length)) = frame::small(*header) else {
                break;
            };
            let Some((bytes, mut behind)) = behind.split_at_checked(length) else {
                break;
            };
            let mut total = length.wrapping_add(frame::HEADER);
            if tag & frame::CRC != 0 {
                let Some((sum, after)) = behind.split_first_chunk::<{ frame::SUM }>() else {
                    break;
                };
                let covered = rest.get(..total).unwrap_or_default();
                if u32::from_le_bytes(*sum) != crc::of(covered) {
                    break;
                }
                behind = after;
                total = total.wrapping_add(frame::SUM);
            } else if !bare {
                break;
            }
            if length > most {
                break;
            }
            let compressed = tag & frame::COMPRESSED != 0;
            let message = Message {
                bytes,
                offset: self.base.wrapping_add(taken as u64),
                number: self.number.wrapping_add(count),
                compressed,
                parts: 1,
                placed: None,
            };
            let behind_it = taken.wrapping_add(total);
            let goes_on = match work(&message, self.base.wrapping_add(behind_it as u64)) {
                Ok(goes_on) => goes_on,
                Err(error) => {
                    done = Err(error);
                    break;
                }
            };
            taken = behind_it;
            count = count.wrapping_add(1);
            rest = behind;
            if !goes_on {
                break;
            }
        }
        if count > 0 {
            self.hint = 0;
            self.consume(taken);
            self.done = self.base;
            self.number = self.number.wrapping_add(count);
            self.after_end = false;
            self.since_end = self.since_end.map(|since| since.wrapping_add(count));
        }
        done
    }

    /// Takes a small message in one frame without a checksum, if all of it waits: what most are.
    #[inline]
    pub(super) fn take_quickly(&mut self) -> Option<Quick> {
        let most = self.quick?;
        let busy = self.found.is_some() || self.failure.is_some() || self.lent.is_some();
        if busy || self.under.in_body {
            return None;
        }
        let (header, rest) = self
            .shared
            .bytes()
            .split_first_chunk::<{ frame::HEADER }>()?;
        let (tag, length) = frame::small(*header)?;
        if tag & frame::CRC != 0 || length > most || length > rest.len() {
            return None;
        }
        let offset = self.base;
        let at = self.shared.start().wrapping_add(frame::HEADER);
        self.hint = 0;
        self.consume(length.wrapping_add(frame::HEADER));
        self.done = self.base;
        let number = self.counted();
        let compressed = tag & frame::COMPRESSED != 0;
        Some(Quick {
            at,
            length,
            offset,
            number,
            compressed,
        })
    }

    #[inline]
    pub(super) fn lend(&self, taken: Quick) -> Message<'_> {
        Message {
            bytes: self.shared.range(taken.at, taken.length),
            offset: taken.offset,
            number: taken.number,
            compressed: taken.compressed,
            parts: 1,
            placed: None,
        }
    }

    /// Counts a message; returns its number.
    #[inline]
    pub(super) fn counted(&mut self) -> u64 {
        let number = self.number;
        self.number = number.wrapping_add(1);
        self.after_end = false;
        if let Some(count) = &mut self.since_end {
            *count = count.wrapping_add(1);
        }
        number
    }

    /// Whether what [`next_event`](Self::next_event) gives next is a control frame.
    pub fn at_control(&mut self) -> bool {
        self.look();
        let place = self.found.map(|found| found.place);
        matches!(place, Some(Place::Control { .. }))
    }

    /// The buffer that reads go through, for another framer to use; `None` if it has none or many
    /// bytes wait in it.
    pub fn take_buffer(&mut self) -> Option<Vec<u8>> {
        self.shared.give()
    }

    /// Lends a buffer of at least 64 KiB, from [`take_buffer`](Self::take_buffer) of another.
    pub fn lend_buffer(&mut self, buffer: Vec<u8>) {
        self.shared.lend(buffer);
    }

    /// Takes a buffer of those that framers have together, if the next read needs one.
    pub fn borrow_buffer(&mut self, pool: &mut Vec<Vec<u8>>) {
        if pool.is_empty() {
            return;
        }
        self.look();
        if let Some(announced) = self.body_wants() {
            let least = announced.min(FIRST.saturating_add(BEHIND));
            let large = pool.iter().position(|buffer| buffer.len() >= least);
            if let (0, Some(at)) = (self.body.memory(), large) {
                self.body.lend(pool.swap_remove(at));
            }
        } else if self.shared.memory() < LARGE {
            if let Some(buffer) = pool.pop() {
                self.shared.lend(buffer);
            }
        }
    }

    /// Gives back what it has no bytes in, so that a connection that is idle has no buffer; more
    /// than `most` are not kept.
    pub fn return_buffers(&mut self, pool: &mut Vec<Vec<u8>>, most: usize) {
        let mut keep = |buffer: Vec<u8>| {
            if pool.len() < most && buffer.len() >= LARGE {
                pool.push(buffer);
            }
        };
        if let Some(buffer) = self.shared.give() {
            keep(buffer);
        }
        let waits = matches!(
            self.found,
            Some(Found {
                place: Place::Body,
                ..
            })
        );
        if !self.under.in_body && !waits && self.body.memory() > 0 {
            self.lent = None;
            self.body.clear();
            if let Some(buffer) = self.body.take() {
                keep(buffer);
            }
        }
    }
}
