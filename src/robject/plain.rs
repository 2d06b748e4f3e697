//! The plain bytes of a file that comes in blocks, without the whole of it in memory.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use super::rds::{Window, FRONT};
use super::shuffle;
use crate::{Error, ErrorKind, Result};

/// Plain bytes that are made of byte planes at once: they stay in the nearest cache until they are
/// parsed.
const TILE: usize = 16 << 10;

/// What a source gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// Nothing: there is no more.
    End,
    /// Bytes as they are.
    Plain,
    /// The byte planes of elements of 8 bytes.
    Planes,
}

/// What gives plain bytes block by block.
pub(super) trait Source {
    /// Puts the next block in place of what `block` holds, behind `front` bytes of no meaning.
    fn next(&mut self, block: &mut Vec<u8>, front: usize) -> Result<Given>;

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
    /// A block, or some elements of `planes`, behind `front` bytes.
    block: Vec<u8>,
    /// Read so far of `block`.
    at: usize,
    /// With `at` the plain bytes read; a little below 0 where bytes stand in front.
    before: u64,
    /// A block of byte planes, behind `front` bytes, and how many of its bytes were turned.
    planes: Vec<u8>,
    turned: usize,
    /// Bytes in front of a block, to which what was left of the one before is copied.
    front: usize,
    over: bool,
    format: &'static str,
}

impl<'a> Plain<'a> {
    pub(super) fn new(source: impl Source + 'a, format: &'static str) -> Self {
        Self {
            source: Box::new(source),
            block: Vec::new(),
            at: 0,
            before: 0,
            planes: Vec::new(),
            turned: 0,
            front: 0,
            over: false,
            format,
        }
    }

    /// To be read as a [`Window`], before anything is read.
    pub(super) fn window(&mut self) -> &mut Self {
        self.front = FRONT;
        self
    }

    /// How many plain bytes were read.
    pub(super) fn position(&self) -> u64 {
        self.before.wrapping_add(self.at as u64)
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

    /// The next run, which is not empty but at the end.
    fn next_block(&mut self) -> Result<()> {
        self.before = self.position();
        self.at = 0;
        loop {
            if self.turn() {
                break;
            }
            match self.source.next(&mut self.block, self.front) {
                Ok(Given::Plain) if self.block.len() <= self.front => {}
                Ok(Given::Plain) => break,
                Ok(Given::Planes) => {
                    std::mem::swap(&mut self.block, &mut self.planes);
                    self.turned = 0;
                }
                Ok(Given::End) => {
                    self.over = true;
                    self.block.clear();
                    return Ok(());
                }
                Err(error) => {
                    self.block.clear();
                    return Err(error);
                }
            }
        }
        self.at = self.front;
        self.before = self.before.wrapping_sub(self.front as u64);
        Ok(())
    }

    /// Turns the next elements of the planes at hand; false where there are none.
    fn turn(&mut self) -> bool {
        let planes = self.planes.get(self.front..).unwrap_or_default();
        let left = planes.len().saturating_sub(self.turned);
        if left == 0 {
            return false;
        }
        // What is left of a block behind whole elements comes with the last of them.
        let size = if left < TILE.saturating_add(8) {
            left
        } else {
            TILE
        };
        self.block.resize(self.front.saturating_add(size), 0);
        let place = self.block.get_mut(self.front..).unwrap_or_default();
        shuffle::unshuffle_8_part(planes, self.turned, place);
        self.turned = self.turned.saturating_add(size);
        true
    }

    /// Fetches blocks until `want` bytes lie ready, or there is none left.
    #[cold]
    fn join(&mut self, want: usize) -> Result<()> {
        while self.block.len().saturating_sub(self.at) < want && !self.over {
            let rest = self.block.get(self.at..).unwrap_or_default().to_vec();
            let size = rest.len() as u64;
            self.next_block()?;
            // What was left is put in front of the block.
            if let Some(start) = self.at.checked_sub(rest.len()) {
                if let Some(front) = self.block.get_mut(start..self.at) {
                    front.copy_from_slice(&rest);
                }
                self.before = self.before.wrapping_add(size);
                self.at = start;
            } else {
                self.block.splice(..self.at, rest);
                self.before = self.before.wrapping_add(self.at as u64);
                self.at = 0;
            }
        }
        Ok(())
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
        let behind = self.front.saturating_add(self.turned);
        let here = here.saturating_add(self.planes.len().saturating_sub(behind) as u64);
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

impl Window for &mut Plain<'_> {
    #[inline]
    fn ahead(&mut self, want: usize) -> Result<&[u8]> {
        if self.block.len().saturating_sub(self.at) < want {
            self.join(want)?;
        }
        Ok(self.block.get(self.at..).unwrap_or_default())
    }

    #[inline]
    fn advance(&mut self, size: usize) {
        self.at = self.at.saturating_add(size).min(self.block.len());
    }

    fn offset(&self) -> u64 {
        self.position()
    }

    fn left(&self) -> Option<u64> {
        let ready = self.block.len().saturating_sub(self.at) as u64;
        self.over.then_some(ready)
    }
}

/// Place for `now` more of the `left` that are claimed: twice what there is, 16 MiB at least.
fn grow<T>(elements: &mut Vec<T>, now: usize, left: usize) {
    if elements.capacity().saturating_sub(elements.len()) < now {
        let step = elements
            .len()
            .max(usize::div_euclid(16 << 20, size_of::<T>().max(1)));
        elements.reserve_exact(step.max(now).min(left.max(now)));
    }
}
