//! A large message written straight from the caller's bytes.

use std::io::IoSlice;

use super::frame::{COMPRESSED, MAX_LENGTH};
use super::{crc, FrameWriter, Framing};
use crate::Result;

/// From so many bytes on a copy costs more than it saves.
const LARGE: usize = 64 << 10;

impl FrameWriter {
    /// Queues a message as [`push`](Self::push) does, but lets `write` take of it what it can
    /// first, so that only the rest is copied. `write` is given slices and says how many bytes it
    /// took; it is called until it takes none.
    pub(super) fn push_through(
        &mut self,
        payload: &[u8],
        compressed: bool,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> usize,
    ) -> Result<()> {
        let direct = self.framing == Framing::Frame
            && payload.len() >= LARGE
            && payload.len() <= MAX_LENGTH as usize
            && self.pending() == 0;
        if !direct {
            return self.push(payload, compressed);
        }
        self.check(payload, compressed)?;
        let flags = if compressed { COMPRESSED } else { 0 };
        let header = self.header(flags, payload.len());
        let sum = self
            .crc
            .then(|| crc::more(crc::of(&header), payload).to_le_bytes());
        let sum = sum.as_ref().map_or(&[][..], |sum| &sum[..]);
        let mut rests: [&[u8]; 3] = [&header, payload, sum];
        while rests.iter().any(|rest| !rest.is_empty()) {
            let mut took = write(&rests.map(IoSlice::new));
            if took == 0 {
                break;
            }
            self.position = self.position.saturating_add(took as u64);
            for rest in &mut rests {
                let n = took.min(rest.len());
                *rest = rest.get(n..).unwrap_or_default();
                took = took.saturating_sub(n);
            }
        }
        for rest in rests {
            self.batch.extend_from_slice(rest);
        }
        self.count();
        Ok(())
    }
}
