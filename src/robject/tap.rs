//! What a file says of its own size, while its bytes go by.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::io::{self, Read};
use std::sync::{Arc, Mutex};

/// Bytes of a header of qs2 and qdata; the last eight are the checksum.
const HEAD: usize = 24;
/// Bytes of a zstd frame that hold the size of its content.
const FRAME_HEAD: usize = 18;

/// Counts the bytes of a file, and those its blocks say that they become.
#[derive(Clone, Debug, Default)]
pub(super) struct Tap {
    pub(super) stored: u64,
    /// The header; then the beginning of the block at hand.
    held: Vec<u8>,
    in_blocks: bool,
    /// Bytes of the block at hand that are still to come.
    rest: u64,
    /// What the blocks of qs2 and qdata become; None for other files, and where a block does not say.
    payload: Option<u64>,
    checked: Option<bool>,
    /// Whether what follows is of no interest.
    over: bool,
}

impl Tap {
    /// What the blocks of a file of qs2 or qdata become, in bytes.
    pub(super) fn payload(&self) -> Option<u64> {
        self.payload
    }

    /// Whether the file has a checksum; None for formats without a place for one.
    pub(super) fn checked(&self) -> Option<bool> {
        self.checked
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.stored = self.stored.saturating_add(bytes.len() as u64);
        let mut bytes = bytes;
        while !self.over && !bytes.is_empty() {
            if self.rest > 0 {
                let size = usize::try_from(self.rest)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                self.rest = self.rest.saturating_sub(size as u64);
                bytes = bytes.get(size..).unwrap_or_default();
                continue;
            }
            let wanted = if self.in_blocks {
                FRAME_HEAD.saturating_add(4)
            } else {
                HEAD
            };
            let size = wanted.saturating_sub(self.held.len()).min(bytes.len());
            self.held
                .extend_from_slice(bytes.get(..size).unwrap_or_default());
            bytes = bytes.get(size..).unwrap_or_default();
            if self.in_blocks {
                self.block();
            } else if self.held.len() == HEAD {
                self.header();
            }
        }
    }

    fn header(&mut self) {
        let of_blocks = matches!(self.held.as_slice(), [0x0b, 0x0e, 0x0a, 0xc1 | 0xcd, ..]);
        if of_blocks {
            let hash = self.held.get(16..).unwrap_or_default();
            self.checked = Some(hash.iter().any(|byte| *byte != 0));
            self.payload = Some(0);
        }
        let qs = matches!(self.held.as_slice(), [0x0b, 0x0e, 0x0a, 0x0c, ..]);
        if qs {
            self.checked = self.held.get(9).map(|has| *has != 0);
        }
        self.in_blocks = of_blocks;
        self.over = !of_blocks;
        self.held.clear();
    }

    /// A block: its size, then a frame that begins with the size of its content.
    fn block(&mut self) {
        let [a, b, c, d, frame @ ..] = self.held.as_slice() else {
            return;
        };
        let size = u32::from_le_bytes([*a, *b, *c, *d]) & !super::blocks::SHUFFLED;
        let have = frame.len() as u64;
        if have < u64::from(size).min(FRAME_HEAD as u64) {
            return;
        }
        if have > u64::from(size) {
            // Shorter than any frame: the reader says what is wrong.
            (self.over, self.payload) = (true, None);
            return;
        }
        let content = zstd_safe::get_frame_content_size(frame).ok().flatten();
        self.payload = self
            .payload
            .and_then(|sum| Some(sum.saturating_add(content?)));
        self.rest = u64::from(size).saturating_sub(have);
        self.held.clear();
    }
}

/// A stream whose bytes go by a tap.
pub(super) struct Tapped<R> {
    pub(super) stream: R,
    pub(super) tap: Arc<Mutex<Tap>>,
}

impl<R: Read> Read for Tapped<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.stream.read(into)?;
        if let Ok(mut tap) = self.tap.lock() {
            tap.feed(into.get(..size).unwrap_or_default());
        }
        Ok(size)
    }
}
