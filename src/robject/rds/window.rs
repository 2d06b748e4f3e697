//! What the parser reads from: a slice whole, or a stream chunk by chunk.

use crate::Result;

/// Plain bytes in order, some of which lie ready behind each other.
pub(crate) trait Window {
    /// What lies ready: at least `want` bytes, fewer only at the end.
    ///
    /// # Errors
    /// Those of the source.
    fn ahead(&mut self, want: usize) -> Result<&[u8]>;

    /// Goes past bytes that lay ready.
    fn advance(&mut self, size: usize);

    /// Bytes gone past.
    fn offset(&self) -> u64;

    /// Bytes left in all, where that is known.
    fn left(&self) -> Option<u64>;
}

/// All bytes in one slice.
#[derive(Debug)]
pub(crate) struct Slice<'a> {
    rest: &'a [u8],
    size: usize,
}

impl<'a> Slice<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            size: bytes.len(),
        }
    }
}

impl Window for Slice<'_> {
    #[inline]
    fn ahead(&mut self, _want: usize) -> Result<&[u8]> {
        Ok(self.rest)
    }

    #[inline]
    fn advance(&mut self, size: usize) {
        self.rest = self.rest.get(size..).unwrap_or_default();
    }

    fn offset(&self) -> u64 {
        self.size.saturating_sub(self.rest.len()) as u64
    }

    fn left(&self) -> Option<u64> {
        Some(self.rest.len() as u64)
    }
}

/// Where the chunks of a [`Stream`] come from.
pub(crate) trait Chunks {
    /// The next chunk, in a buffer that begins with [`FRONT`] bytes of no meaning; None at the end.
    /// `used` is the buffer before it, to be filled anew.
    ///
    /// # Errors
    /// Those of the source.
    fn next(&mut self, used: Vec<u8>) -> Result<Option<Vec<u8>>>;
}

/// Bytes in front of each chunk that take what was left of the one before.
pub(crate) const FRONT: usize = 256;

/// Chunk by chunk: what an item needs of two chunks is put together in front of the second.
pub(crate) struct Stream<C> {
    chunks: C,
    chunk: Vec<u8>,
    at: usize,
    gone: u64,
    over: bool,
}

impl<C: Chunks + ?Sized> Chunks for Box<C> {
    fn next(&mut self, used: Vec<u8>) -> Result<Option<Vec<u8>>> {
        (**self).next(used)
    }
}

impl<C: Chunks> Stream<C> {
    pub(crate) fn new(chunks: C) -> Self {
        Self {
            chunks,
            chunk: Vec::new(),
            at: 0,
            gone: 0,
            over: false,
        }
    }

    fn ready(&self) -> usize {
        self.chunk.len().saturating_sub(self.at)
    }

    /// Fetches chunks until `want` bytes lie ready, or there is none left.
    #[cold]
    fn fetch(&mut self, want: usize) -> Result<()> {
        while self.ready() < want && !self.over {
            let rest = self.chunk.get(self.at..).unwrap_or_default().to_vec();
            let used = std::mem::take(&mut self.chunk);
            let Some(mut next) = self.chunks.next(used)? else {
                self.over = true;
                self.chunk = rest;
                self.at = 0;
                return Ok(());
            };
            self.at = if let Some(at) = FRONT.checked_sub(rest.len()) {
                if let Some(front) = next.get_mut(at..FRONT) {
                    front.copy_from_slice(&rest);
                }
                at
            } else {
                next.splice(..FRONT.min(next.len()), rest);
                0
            };
            self.chunk = next;
        }
        Ok(())
    }
}

impl<C: Chunks> Window for Stream<C> {
    #[inline]
    fn ahead(&mut self, want: usize) -> Result<&[u8]> {
        if self.ready() < want {
            self.fetch(want)?;
        }
        Ok(self.chunk.get(self.at..).unwrap_or_default())
    }

    #[inline]
    fn advance(&mut self, size: usize) {
        let size = size.min(self.ready());
        self.at = self.at.saturating_add(size);
        self.gone = self.gone.saturating_add(size as u64);
    }

    fn offset(&self) -> u64 {
        self.gone
    }

    fn left(&self) -> Option<u64> {
        self.over.then_some(self.ready() as u64)
    }
}

/// A window as a stream of bytes, for readers that take one.
pub(crate) struct Bytes<W>(W);

impl<W: Window> Bytes<W> {
    pub(crate) fn new(window: W) -> Self {
        Self(window)
    }
}

impl<W: Window> std::io::Read for Bytes<W> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let ready = self.0.ahead(1)?;
        let size = ready.len().min(into.len());
        if let (Some(from), Some(to)) = (ready.get(..size), into.get_mut(..size)) {
            to.copy_from_slice(from);
        }
        self.0.advance(size);
        Ok(size)
    }
}
