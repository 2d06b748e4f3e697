//! The index that `bgzip` keeps beside a BGZF file, `.gzi`: where each member but the first
//! begins, stored and plain. All numbers are u64, little-endian: how many, then the pairs.

use super::header::bgzf_bytes;
use crate::compress::input::{Input, Slice};
use crate::{Error, ErrorKind, Result};

/// What is known of the members so far.
#[derive(Default)]
pub(super) struct Index {
    /// The pairs as they are written; 16 bytes a member.
    pairs: Vec<u8>,
    count: u64,
    /// Where the next member begins.
    stored: u64,
    plain: u64,
}

impl Index {
    /// Takes note of members that stand one behind the other, in order.
    ///
    /// # Errors
    /// `Internal` if it is other than BGZF; `Limit` for memory.
    pub(super) fn push(&mut self, members: &[u8]) -> Result<()> {
        let mut input = Slice::new(members);
        while let Some(size) = bgzf_bytes(&mut input, 0)? {
            let member = input.ahead(size)?;
            let Some(&plain) = member.last_chunk::<4>() else {
                break;
            };
            if self.stored > 0 {
                self.begin()?;
            }
            self.stored = self.stored.saturating_add(size as u64);
            let plain = u64::from(u32::from_le_bytes(plain));
            self.plain = self.plain.saturating_add(plain);
            input.advance(size);
        }
        if input.offset() == members.len() as u64 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Internal, "no BGZF member to index"))
    }

    /// Lists the member that begins here.
    fn begin(&mut self) -> Result<()> {
        self.pairs.try_reserve(16).map_err(|_| {
            let text = format!("no memory for an index of {} members", self.count);
            Error::new(ErrorKind::Limit, text)
        })?;
        self.pairs.extend(self.stored.to_le_bytes());
        self.pairs.extend(self.plain.to_le_bytes());
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// The bytes of the file; nothing may be pushed afterwards.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let mut file = std::mem::take(&mut self.pairs);
        file.splice(..0, self.count.to_le_bytes());
        file
    }

    pub(super) fn bytes(&self) -> usize {
        self.pairs.capacity()
    }
}
