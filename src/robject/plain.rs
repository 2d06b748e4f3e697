//! The plain bytes of a file that comes in blocks, without the whole of it in memory.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use crate::{Error, ErrorKind, Result};

/// What gives plain bytes block by block.
pub(super) trait Source {
    /// Puts the next block in place of what `block` holds, behind `front` bytes of no meaning;
    /// false behind the last.
    fn next(&mut self, block: &mut Vec<u8>, front: usize) -> Result<bool>;

    /// Where in the file the source stands, for errors.
    fn offset(&self) -> u64;

    /// At most this many plain bytes may follow; None if that is not known.
    fn at_most(&self) -> Option<u64> {
        None
    }
}

/// A cursor over them.
pub(super) struct Plain<'a> {
    source: Box<dyn Source + 'a>,
    block: Vec<u8>,
    /// Read so far of `block`.
    at: usize,
    /// Plain bytes in front of `block`.
    before: u64,
    format: &'static str,
}

impl<'a> Plain<'a> {
    pub(super) fn new(source: impl Source + 'a, format: &'static str) -> Self {
        Self {
            source: Box::new(source),
            block: Vec::new(),
            at: 0,
            before: 0,
            format,
        }
    }

    /// How many plain bytes were read.
    pub(super) fn position(&self) -> u64 {
        self.before.saturating_add(self.at as u64)
    }

    /// An error at this place.
    #[cold]
    pub(super) fn error(&self, kind: ErrorKind, text: impl Into<String>) -> Error {
        let text = format!("{}, at plain byte {}", text.into(), self.position());
        let error = Error::new(kind, text).with_format(self.format);
        error.with_offset(self.source.offset())
    }

    /// The error of data that ends here.
    #[cold]
    pub(super) fn ended(&self) -> Error {
        self.error(ErrorKind::Truncated, "the data end inside a value")
    }

    /// What of the block at hand is unread; of the next one where that is all, empty at the end.
    #[inline]
    pub(super) fn run(&mut self) -> Result<&[u8]> {
        if self.at >= self.block.len() {
            self.next_block()?;
        }
        Ok(self.block.get(self.at..).unwrap_or_default())
    }

    /// Puts the next block into a buffer of the caller's own, behind `front` bytes of no meaning;
    /// false at the end. Not to be mixed with the other ways of reading.
    pub(super) fn block_into(&mut self, block: &mut Vec<u8>, front: usize) -> Result<bool> {
        self.source.next(block, front)
    }

    fn next_block(&mut self) -> Result<()> {
        loop {
            self.before = self.position();
            self.at = 0;
            let more = self.source.next(&mut self.block, 0);
            match more {
                Ok(true) if self.block.is_empty() => {}
                Ok(true) => return Ok(()),
                Ok(false) => {
                    self.block.clear();
                    return Ok(());
                }
                Err(error) => {
                    self.block.clear();
                    return Err(error);
                }
            }
        }
    }

    /// Goes on by `bytes`, no more than the run has.
    #[inline]
    pub(super) fn advance(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    /// The next byte.
    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8> {
        if let Some(byte) = self.block.get(self.at).copied() {
            self.advance(1);
            return Ok(byte);
        }
        self.array::<1>().map(|[byte]| byte)
    }

    /// The next `N` bytes.
    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let here = self.block.get(self.at..).and_then(<[u8]>::first_chunk);
        if let Some(array) = here.copied() {
            self.advance(N);
            return Ok(array);
        }
        let mut array = [0; N];
        self.fill(&mut array)?;
        Ok(array)
    }

    /// Fills `place` with the next bytes.
    pub(super) fn fill(&mut self, mut place: &mut [u8]) -> Result<()> {
        while !place.is_empty() {
            let run = self.run()?;
            let size = run.len().min(place.len());
            if size == 0 {
                return Err(self.ended());
            }
            let (now, later) = place.split_at_mut(size);
            now.copy_from_slice(run.get(..size).unwrap_or_default());
            place = later;
            self.advance(size);
        }
        Ok(())
    }

    /// Gives the next `bytes` to `take`, run by run.
    pub(super) fn runs(&mut self, mut bytes: u64, mut take: impl FnMut(&[u8])) -> Result<()> {
        while bytes > 0 {
            let run = self.run()?;
            let size = usize::try_from(bytes).unwrap_or(usize::MAX).min(run.len());
            if size == 0 {
                return Err(self.ended());
            }
            take(run.get(..size).unwrap_or_default());
            self.advance(size);
            bytes = bytes.saturating_sub(size as u64);
        }
        Ok(())
    }

    /// `Truncated` at once if `bytes` more cannot come, without place for any.
    pub(super) fn expect(&self, bytes: u64) -> Result<()> {
        let here = self.block.len().saturating_sub(self.at) as u64;
        match self.source.at_most() {
            Some(most) if bytes > most.saturating_add(here) => Err(self.ended()),
            _ => Ok(()),
        }
    }

    /// `count` elements of `N` bytes each; place is made as they come.
    pub(super) fn elements<const N: usize, T>(
        &mut self,
        count: u64,
        element: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>> {
        self.expect(count.saturating_mul(N as u64))?;
        let mut left = usize::try_from(count).map_err(|_| self.ended())?;
        let mut elements = Vec::new();
        while left > 0 {
            let here = self.run()?.len().div_euclid(N);
            let size = here.min(left).max(1);
            grow(&mut elements, size, left);
            if here == 0 {
                let array = self.array()?;
                elements.push(element(array));
            } else {
                let bytes = size.saturating_mul(N);
                let run = self.run()?.get(..bytes).unwrap_or_default();
                elements.extend(run.chunks_exact(N).map(|bytes| {
                    let mut array = [0; N];
                    array.copy_from_slice(bytes);
                    element(array)
                }));
                self.advance(bytes);
            }
            left = left.saturating_sub(size);
        }
        Ok(elements)
    }

    /// The end, or an error of bytes that follow.
    pub(super) fn finish(&mut self) -> Result<()> {
        if self.run()?.is_empty() {
            return Ok(());
        }
        let text = "bytes behind the end of the object";
        Err(self.error(ErrorKind::Malformed, text))
    }
}

/// Place for `now` more of the `left` that are claimed: twice what there is, 4 MiB at least.
fn grow<T>(elements: &mut Vec<T>, now: usize, left: usize) {
    if elements.capacity().saturating_sub(elements.len()) < now {
        let step = elements
            .len()
            .max(usize::div_euclid(4 << 20, size_of::<T>().max(1)));
        elements.reserve_exact(step.max(now).min(left.max(now)));
    }
}
