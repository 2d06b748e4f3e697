//! A stream cut into chunks, which workers encode and the calling thread writes in order.

use std::io::Write;

use super::sink::Sink;
use crate::compress::chunked::{Cell, Ring, Stop};
use crate::compress::container::{Container, Encoding};
use crate::compress::options::{check_cancel, CancelToken};
use crate::{Error, ErrorKind, Result};

/// Chunks in work, and what lays them out.
pub(super) struct Chunks {
    container: Box<dyn Container>,
    pub(super) ring: Ring<Encoding>,
    chunk_size: usize,
    /// The chunk that is being filled.
    filling: Option<Cell<()>>,
    begun: bool,
    /// Plain bytes of the whole stream, where that is known before its first unit is written.
    total: Option<u64>,
    pub(super) units: u64,
    /// Place for heads and tails.
    stored: Vec<u8>,
}

impl Chunks {
    pub(super) fn new(
        container: Box<dyn Container>,
        ring: Ring<Encoding>,
        chunk_size: usize,
        total: Option<u64>,
    ) -> Self {
        Self {
            container,
            ring,
            chunk_size,
            filling: None,
            begun: false,
            total,
            units: 0,
            stored: Vec::new(),
        }
    }

    /// Takes bytes into the chunk that is being filled; gives those that did not fit.
    pub(super) fn fill<'a, W: Write>(
        &mut self,
        plain: &'a [u8],
        sink: &mut Sink<W>,
    ) -> Result<&'a [u8]> {
        if !self.begun && self.container.eager() {
            self.begin(sink)?;
            sink.write(&[], 0)?;
        }
        // A full chunk waits here until one more byte comes: the last one may end differently.
        let full = |cell: &Cell<()>| cell.input.len() >= self.chunk_size;
        if self.filling.as_ref().is_some_and(full) {
            self.submit(sink)?;
        }
        let mut cell = match self.filling.take() {
            Some(cell) => cell,
            None => self.free_cell(sink)?,
        };
        let room = self.chunk_size.saturating_sub(cell.input.len());
        let (now, later) = plain.split_at_checked(room).unwrap_or((plain, &[]));
        reserve(&mut cell.input, now.len(), self.chunk_size)?;
        cell.input.extend_from_slice(now);
        self.filling = Some(cell);
        Ok(later)
    }

    /// Bytes that buffers take.
    pub(super) fn buffer_bytes(&self) -> usize {
        let filling: Vec<&Cell<()>> = self.filling.iter().collect();
        let cells = self.ring.buffer_bytes(&filling);
        let beside = self.container.index_bytes();
        cells
            .saturating_add(self.stored.capacity())
            .saturating_add(beside)
    }

    /// The index that stands beside the stream, if one was asked for; after `end`, once.
    pub(super) fn index(&mut self) -> Option<Vec<u8>> {
        self.container.index()
    }

    fn free_cell<W: Write>(&mut self, sink: &mut Sink<W>) -> Result<Cell<()>> {
        loop {
            if let Some(cell) = self.ring.cell() {
                return Ok(cell);
            }
            match self.ring.take()? {
                Some((cell, result)) => self.write(cell, result, sink)?,
                None => return Ok(Cell::default()),
            }
        }
    }

    fn submit<W: Write>(&mut self, sink: &mut Sink<W>) -> Result<()> {
        if let Some(cell) = self.filling.take() {
            self.ring.submit(cell)?;
        }
        while let Some((cell, result)) = self.ring.try_take() {
            self.write(cell, result, sink)?;
        }
        Ok(())
    }

    /// Writes a finished chunk, the next in order.
    fn write<W: Write>(
        &mut self,
        cell: Cell<()>,
        result: Result<()>,
        sink: &mut Sink<W>,
    ) -> Result<()> {
        result?;
        self.begin(sink)?;
        self.container.unit(&cell.input, &cell.output)?;
        self.units = self.units.saturating_add(1);
        sink.write(&cell.output, self.container.held_back())?;
        self.ring.recycle(cell);
        Ok(())
    }

    fn begin<W: Write>(&mut self, sink: &mut Sink<W>) -> Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        self.stored.clear();
        self.container.head(self.total, &mut self.stored)?;
        sink.hold(&self.stored);
        Ok(())
    }

    fn drain<W: Write>(&mut self, sink: &mut Sink<W>) -> Result<()> {
        while let Some((cell, result)) = self.ring.take()? {
            self.write(cell, result, sink)?;
        }
        Ok(())
    }

    /// Ends the chunk at work, writes all, and gives up what was held back.
    pub(super) fn boundary<W: Write>(&mut self, sink: &mut Sink<W>) -> Result<()> {
        if self
            .filling
            .as_ref()
            .is_some_and(|cell| !cell.input.is_empty())
        {
            self.submit(sink)?;
        }
        self.drain(sink)?;
        sink.write(&[], 0)
    }

    pub(super) fn end<W: Write>(
        &mut self,
        sink: &mut Sink<W>,
        cancel: Option<&CancelToken>,
        bytes_in: u64,
    ) -> Result<()> {
        let alone = !self.begun && self.ring.in_work() == 0;
        let filled = self.filling.as_ref().map_or(0, |cell| cell.input.len());
        self.stored.clear();
        if alone && filled < self.chunk_size {
            let cell = self.filling.take().unwrap_or_default();
            check_cancel(cancel)?;
            let stop = Stop::of(cancel);
            self.container.lone(&cell.input, &mut self.stored, &stop)?;
            self.units = 1;
            return sink.write(&self.stored, 0);
        }
        // What is known now was not before: a lone full chunk is the whole content.
        if alone {
            self.total = Some(bytes_in);
        }
        if filled > 0 {
            self.submit(sink)?;
        }
        self.drain(sink)?;
        self.stored.clear();
        self.container.tail(&mut self.stored)?;
        sink.write(&self.stored, 0)
    }
}

/// Makes place for `more` bytes without asking for more than a chunk at once.
fn reserve(place: &mut Vec<u8>, more: usize, chunk_size: usize) -> Result<()> {
    let needed = place.len().saturating_add(more);
    if needed <= place.capacity() {
        return Ok(());
    }
    // Doubling up to the chunk: a small object never pays for a whole chunk.
    let wanted = needed
        .max(place.capacity().saturating_mul(2))
        .min(chunk_size.max(needed));
    let more = wanted.saturating_sub(place.len());
    place.try_reserve_exact(more).map_err(|_| {
        let text = format!("no memory for a chunk of {chunk_size} bytes");
        Error::new(ErrorKind::Limit, text)
    })
}
