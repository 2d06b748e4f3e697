//! The two buffers of a [`Framer`](super::Framer): the one that reads go through, and the one of
//! a message that is too large for it.

/// Bodies above this have a buffer of their own.
pub(super) const LARGE: usize = 64 << 10;
/// Neither buffer is larger before bytes to fill it have come.
pub(super) const FIRST: usize = 1 << 20;
/// What may follow a body in the same read: its checksum and the next header.
pub(super) const BEHIND: usize = 9;
/// Largest body buffer that serves the next message too.
const KEEP: usize = FIRST + 4096;
/// Largest rest of bytes that moves out of a buffer that is given back.
const SMALL: usize = 4096;

/// Bytes read and not yet taken: those from `start` to `end`.
#[derive(Debug, Default)]
pub(super) struct Shared {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The last read filled all that was offered.
    filled: bool,
}

impl Shared {
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Bytes of the buffer that begin `at`, however much of it was taken since.
    #[inline]
    pub fn range(&self, at: usize, length: usize) -> &[u8] {
        let end = at.wrapping_add(length);
        self.buffer.get(at..end).unwrap_or_default()
    }

    #[inline]
    pub fn start(&self) -> usize {
        self.start
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.end.saturating_sub(self.start)
    }

    pub fn memory(&self) -> usize {
        self.buffer.capacity()
    }

    #[inline]
    pub fn take(&mut self, n: usize) {
        self.start = self.start.wrapping_add(n).min(self.end);
    }

    /// Room behind the bytes, at least `wanted` where `most` allows it.
    pub fn room(&mut self, first: usize, wanted: usize, most: usize) -> &mut [u8] {
        let length = self.len();
        let size = self.buffer.len();
        let mut needed = length.saturating_add(wanted.max(1)).max(first);
        if self.filled && length == 0 {
            needed = needed.max(size.saturating_mul(2).min(FIRST));
        } else if length == size {
            needed = needed.max(size.saturating_mul(2));
        }
        self.filled = false;
        if needed > size && size < most {
            self.grow(needed.min(most));
        } else if self.start > 0 {
            let room = size.saturating_sub(self.end);
            if length == 0 {
                (self.start, self.end) = (0, 0);
            } else if length <= SMALL || room < wanted || room < size / 2 {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, length);
            }
        }
        self.buffer.get_mut(self.end..).unwrap_or_default()
    }

    pub fn commit(&mut self, n: usize) {
        self.end = self.end.saturating_add(n).min(self.buffer.len());
        self.filled = self.end == self.buffer.len();
    }

    /// Adds bytes that came with a body.
    pub fn put(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let room = self.room(LARGE, bytes.len(), usize::MAX);
        if let Some(room) = room.get_mut(..bytes.len()) {
            room.copy_from_slice(bytes);
        }
        self.commit(bytes.len());
        self.filled = false;
    }

    fn grow(&mut self, size: usize) {
        let mut buffer = vec![0; size];
        let bytes = self.bytes();
        let length = bytes.len();
        if let Some(room) = buffer.get_mut(..length) {
            room.copy_from_slice(bytes);
        }
        self.buffer = buffer;
        (self.start, self.end) = (0, length);
    }

    /// Gives the buffer away, but for the few bytes in it; `None` if they are many.
    pub fn give(&mut self) -> Option<Vec<u8>> {
        let length = self.len();
        if self.buffer.len() <= SMALL || length > SMALL {
            return None;
        }
        let rest = self.bytes().to_vec();
        (self.start, self.end) = (0, length);
        Some(std::mem::replace(&mut self.buffer, rest))
    }

    /// Takes a buffer, if it has none.
    pub fn lend(&mut self, mut buffer: Vec<u8>) {
        let length = self.len();
        if buffer.len() < LARGE || self.buffer.len() > SMALL {
            return;
        }
        if let Some(room) = buffer.get_mut(..length) {
            room.copy_from_slice(self.bytes());
            (self.start, self.end) = (0, length);
            self.buffer = buffer;
        }
    }
}

/// The message under way, if it has a buffer of its own. Of `bytes`, the first `filled` are the
/// message's; those behind were filled by messages before, or with zeros.
#[derive(Debug, Default)]
pub(super) struct Body {
    bytes: Vec<u8>,
    filled: usize,
}

impl Body {
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.filled).unwrap_or_default()
    }

    pub fn len(&self) -> usize {
        self.filled
    }

    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Forgets the message; keeps a buffer that is not large.
    pub fn clear(&mut self) {
        self.filled = 0;
        if self.bytes.capacity() > KEEP {
            self.bytes = Vec::new();
        }
    }

    pub fn free(&mut self) {
        if self.filled == 0 {
            self.bytes = Vec::new();
        }
    }

    /// The buffer, if no message is in it.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        (self.filled == 0).then(|| std::mem::take(&mut self.bytes))
    }

    /// Takes a buffer, if it has none.
    pub fn lend(&mut self, buffer: Vec<u8>) {
        if self.bytes.is_empty() {
            self.bytes = buffer;
        }
    }

    pub fn append(&mut self, bytes: &[u8]) {
        let end = self.filled.saturating_add(bytes.len());
        if let Some(room) = self.bytes.get_mut(self.filled..end) {
            room.copy_from_slice(bytes);
        } else {
            self.bytes.truncate(self.filled);
            self.bytes.extend_from_slice(bytes);
        }
        self.filled = end;
    }

    /// What the next size is: no more than `announced` bytes behind those that are there, and
    /// no more than was received already, or 1 MiB.
    fn target(&self, announced: usize) -> usize {
        let most = self
            .filled
            .saturating_mul(2)
            .max(FIRST.saturating_add(BEHIND));
        self.filled.saturating_add(announced).min(most)
    }

    /// Room for what is `announced`, or for a piece of it.
    pub fn room(&mut self, announced: usize) -> &mut [u8] {
        if self.filled == self.bytes.len() {
            let target = self.target(announced);
            if self.filled == 0 {
                self.bytes = vec![0; target];
            } else {
                self.bytes.reserve_exact(target.saturating_sub(self.filled));
                self.bytes.resize(target, 0);
            }
        }
        let end = self.filled.saturating_add(announced).min(self.bytes.len());
        self.bytes.get_mut(self.filled..end).unwrap_or_default()
    }

    /// The buffer itself, to be added to, where that spares filling it with zeros first.
    pub fn spare(&mut self, announced: usize) -> Option<&mut Vec<u8>> {
        if self.filled != self.bytes.len() {
            return None;
        }
        let target = self.target(announced);
        if self.bytes.capacity() == self.filled {
            self.bytes.reserve_exact(target.saturating_sub(self.filled));
        }
        Some(&mut self.bytes)
    }

    /// What was added to the buffer itself.
    pub fn added(&self) -> usize {
        self.bytes.len().saturating_sub(self.filled)
    }

    pub fn commit(&mut self, n: usize) {
        self.filled = self.filled.saturating_add(n).min(self.bytes.len());
    }

    /// Moves what lies behind the first `length` bytes to `shared`; returns how many they were.
    pub fn cut(&mut self, length: usize, shared: &mut Shared) -> usize {
        let behind = self.bytes.get(length..self.filled).unwrap_or_default();
        let moved = behind.len();
        shared.put(behind);
        self.filled = self.filled.min(length);
        moved
    }

    /// The message alone.
    pub fn give(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.truncate(length.min(self.filled));
        self.filled = 0;
        bytes
    }
}
