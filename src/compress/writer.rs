//! Compressing a stream of any length, on all cores, in memory that does not depend on it.

use std::fmt;
use std::io::{self, ErrorKind as IoKind, Write};

use super::chunked::{Cell, Ring, Stop};
use super::container::{Container, Encoding, StreamEncoder};
use super::options::{self, check_cancel};
use super::plan::{Plan, Way};
use super::{Completeness, Compressor, Layout, Summary, WriteOptions};
use crate::{Error, ErrorKind, Result};

/// Compresses what is written to it, into `W`.
///
/// The calling thread does all writing to `W`, in order; workers only compute. The bytes never
/// depend on the number of threads or on how the input is cut into writes, flushes excepted.
/// Dropped without [`finish`](Self::finish), it leaves a stream that every reader refuses.
///
/// # Example
/// ```
/// use std::io::Write;
/// use tare::compress::{decompress, Compressor, ReadOptions, WriteOptions, Writer};
///
/// let mut writer = Writer::new(Vec::new(), Compressor::parse("zstd:3")?, WriteOptions::default())?;
/// for _ in 0..1000 {
///     writer.write_all(b"weighed, and found wanting\n").unwrap();
/// }
/// let (stored, summary) = writer.finish()?;
/// assert_eq!((27_000, stored.len() as u64), (summary.bytes_in, summary.bytes_out));
/// assert_eq!(27_000, decompress(&stored, &ReadOptions::default())?.len());
/// # Ok::<(), tare::Error>(())
/// ```
pub struct Writer<W: Write> {
    sink: Sink<W>,
    engine: Engine,
    compressor: Compressor,
    options: WriteOptions,
    layout: Layout,
    bytes_in: u64,
    /// The first error, which every later call gets again.
    failed: Option<(ErrorKind, String)>,
}

enum Engine {
    Chunks(Box<Chunks>),
    Stream(Box<dyn StreamEncoder>),
}

/// Chunks in work, and what lays them out.
struct Chunks {
    container: Box<dyn Container>,
    ring: Ring<Encoding>,
    chunk_size: usize,
    /// The chunk that is being filled.
    filling: Option<Cell<()>>,
    begun: bool,
    /// Plain bytes of the whole stream, where that is known before its first unit is written.
    total: Option<u64>,
    units: u64,
    /// Place for heads and tails.
    stored: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Starts a stream; nothing is written to `sink` before there is something to say.
    ///
    /// # Errors
    /// `Usage` for options that the compressor's container does not have; `Limit` if the memory
    /// allowed is too little, with the figure needed.
    pub fn new(sink: W, compressor: Compressor, options: WriteOptions) -> Result<Self> {
        let plan = Plan::new(&compressor, &options)?;
        let layout = plan.layout;
        let engine = match plan.way {
            Way::Stream(encoder) => Engine::Stream(encoder),
            Way::Chunks(container) => {
                let work = Encoding(container.encoder());
                let cancel = options.cancel.clone();
                Engine::Chunks(Box::new(Chunks {
                    ring: Ring::new(work, plan.threads, plan.slots, cancel),
                    container,
                    chunk_size: plan.chunk_size,
                    filling: None,
                    begun: false,
                    total: options.content_size,
                    units: 0,
                    stored: Vec::new(),
                }))
            }
        };
        Ok(Self {
            sink: Sink::new(sink),
            engine,
            compressor,
            options,
            layout,
            bytes_in: 0,
            failed: None,
        })
    }

    /// Writes all of `plain`, with the crate's own error.
    ///
    /// # Errors
    /// `Io` if the sink fails; `Usage` beyond the content size that was said; `Cancelled`;
    /// `Internal` if a library fails. The first error is the answer to every later call.
    pub fn push(&mut self, plain: &[u8]) -> Result<()> {
        self.guarded(|writer| writer.write_plain(plain))
    }

    /// Ends the stream and gives the sink back, with what was done. The sink is not flushed.
    ///
    /// # Errors
    /// As [`push`](Self::push); also `Usage` if fewer bytes came than were said.
    pub fn finish(mut self) -> Result<(W, Summary)> {
        self.guarded(Self::end)?;
        let summary = self.summary();
        Ok((self.sink.into_inner(), summary))
    }

    /// Ends the work and gives the sink back as it is: a stream that every reader refuses.
    pub fn abort(self) -> W {
        self.sink.into_inner()
    }

    /// Plain bytes taken and stored bytes written so far.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.bytes_in, self.sink.written)
    }

    /// The sink, to look at.
    #[must_use]
    pub fn get_ref(&self) -> &W {
        &self.sink.inner
    }

    fn summary(&self) -> Summary {
        let (units, peak_buffers) = match &self.engine {
            Engine::Chunks(chunks) => (chunks.units, chunks.ring.made()),
            Engine::Stream(_) => (1, 1),
        };
        Summary {
            bytes_in: self.bytes_in,
            bytes_out: self.sink.written,
            units,
            compressor: self.compressor,
            layout: self.layout,
            completeness: Completeness::Proven,
            peak_buffers,
        }
    }

    fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if let Some((kind, text)) = &self.failed {
            let text = format!("an earlier write failed: {text}");
            return Err(Error::new(*kind, text).with_format(self.compressor.name()));
        }
        work(self).map_err(|error| {
            let error = error.with_format(self.compressor.name());
            self.failed = Some((error.kind(), error.to_string()));
            error
        })
    }

    fn write_plain(&mut self, plain: &[u8]) -> Result<()> {
        let total = self.bytes_in.saturating_add(plain.len() as u64);
        if let Some(said) = self.options.content_size.filter(|&said| total > said) {
            let text = format!("{total} bytes were written, the content size says {said}");
            return Err(Error::new(ErrorKind::Usage, text));
        }
        match &mut self.engine {
            Engine::Stream(encoder) => {
                check_cancel(self.options.cancel.as_ref())?;
                let stop = Stop::of(self.options.cancel.as_ref());
                // In parts, so that what is stored of a large write does not pile up.
                for part in plain.chunks(1 << 20) {
                    let mut stored = Vec::new();
                    encoder.write(part, &mut stored, &stop)?;
                    self.sink.write(&stored, 0)?;
                }
            }
            Engine::Chunks(chunks) => {
                let mut rest = plain;
                while !rest.is_empty() {
                    rest = chunks.fill(rest, &mut self.sink)?;
                }
            }
        }
        self.bytes_in = total;
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        if let Some(said) = self.options.content_size.filter(|&said| said != self.bytes_in) {
            let text = format!("{} bytes were written, the content size says {said}", self.bytes_in);
            return Err(Error::new(ErrorKind::Usage, text));
        }
        match &mut self.engine {
            Engine::Stream(encoder) => {
                let mut stored = Vec::new();
                encoder.finish(&mut stored)?;
                self.sink.write(&stored, 0)
            }
            Engine::Chunks(chunks) => {
                let cancel = self.options.cancel.as_ref();
                chunks.end(&mut self.sink, cancel, self.bytes_in)
            }
        }
    }

    fn give_up_held(&mut self) -> Result<()> {
        match &mut self.engine {
            Engine::Stream(encoder) => {
                let mut stored = Vec::new();
                encoder.flush(&mut stored)?;
                self.sink.write(&stored, 0)?;
            }
            Engine::Chunks(chunks) => {
                chunks.boundary(&mut self.sink)?;
            }
        }
        self.sink.flush()
    }
}

impl Chunks {
    /// Takes bytes into the chunk that is being filled; gives those that did not fit.
    fn fill<'a, W: Write>(
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

    fn free_cell<W: Write>(
        &mut self,
        sink: &mut Sink<W>,
    ) -> Result<Cell<()>> {
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

    fn submit<W: Write>(
        &mut self,
        sink: &mut Sink<W>,
    ) -> Result<()> {
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

    fn drain<W: Write>(
        &mut self,
        sink: &mut Sink<W>,
    ) -> Result<()> {
        while let Some((cell, result)) = self.ring.take()? {
            self.write(cell, result, sink)?;
        }
        Ok(())
    }

    /// Ends the chunk at work, writes all, and gives up what was held back.
    fn boundary<W: Write>(
        &mut self,
        sink: &mut Sink<W>,
    ) -> Result<()> {
        if self.filling.as_ref().is_some_and(|cell| !cell.input.is_empty()) {
            self.submit(sink)?;
        }
        self.drain(sink)?;
        sink.write(&[], 0)
    }

    fn end<W: Write>(
        &mut self,
        sink: &mut Sink<W>,
        cancel: Option<&options::CancelToken>,
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

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, plain: &[u8]) -> io::Result<usize> {
        self.push(plain)?;
        Ok(plain.len())
    }

    /// A boundary: everything so far can be decoded by a reader, and the sink is flushed.
    fn flush(&mut self) -> io::Result<()> {
        Ok(self.guarded(Self::give_up_held)?)
    }
}

impl<W: Write> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("compressor", &self.compressor)
            .field("layout", &self.layout)
            .field("bytes_in", &self.bytes_in)
            .finish_non_exhaustive()
    }
}

/// Makes place for `more` bytes without asking for more than a chunk at once.
fn reserve(place: &mut Vec<u8>, more: usize, chunk_size: usize) -> Result<()> {
    let needed = place.len().saturating_add(more);
    if needed <= place.capacity() {
        return Ok(());
    }
    // Doubling up to the chunk: a small object never pays for a whole chunk.
    let wanted = needed.max(place.capacity().saturating_mul(2)).min(chunk_size.max(needed));
    let more = wanted.saturating_sub(place.len());
    place.try_reserve_exact(more).map_err(|_| {
        let text = format!("no memory for a chunk of {chunk_size} bytes");
        Error::new(ErrorKind::Limit, text)
    })
}

/// The sink, the bytes held back from it, and how many it got.
struct Sink<W> {
    inner: W,
    held: Vec<u8>,
    written: u64,
}

impl<W: Write> Sink<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            held: Vec::new(),
            written: 0,
        }
    }

    fn into_inner(self) -> W {
        self.inner
    }

    /// Keeps bytes for the next write.
    fn hold(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// Writes what was held back, then `bytes` but their last `keep`, which are held back.
    fn write(&mut self, bytes: &[u8], keep: usize) -> Result<()> {
        let (now, later) = bytes
            .split_at_checked(bytes.len().saturating_sub(keep))
            .unwrap_or((bytes, &[]));
        if self.held.is_empty() {
            self.write_all(now)?;
        } else {
            // In one call with some of what follows, so that no kill leaves a whole-looking end.
            let mut held = std::mem::take(&mut self.held);
            let (first, rest) = now.split_at_checked(4096).unwrap_or((now, &[]));
            held.extend_from_slice(first);
            self.write_all(&held)?;
            self.write_all(rest)?;
            held.clear();
            self.held = held;
        }
        self.held.extend_from_slice(later);
        Ok(())
    }

    fn write_all(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let error = match self.inner.write(bytes) {
                Ok(0) => io::Error::new(IoKind::WriteZero, "the sink takes no more bytes"),
                Ok(size) => {
                    self.written = self.written.saturating_add(size as u64);
                    bytes = bytes.get(size..).unwrap_or_default();
                    continue;
                }
                Err(error) if error.kind() == IoKind::Interrupted => continue,
                Err(error) => error,
            };
            return Err(unwritable(error, self.written));
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.inner.flush().map_err(|error| unwritable(error, self.written))
    }
}

fn unwritable(error: io::Error, at: u64) -> Error {
    Error::new(ErrorKind::Io, format!("cannot write the output: {error}"))
        .with_offset(at)
        .with_source(error)
}
