//! Compressing a stream of any length, on all cores, in memory that does not depend on it.

mod chunks;
mod sink;
mod stream;

use std::fmt;
use std::io::{self, Write};

use self::chunks::Chunks;
use self::sink::Sink;
use self::stream::Stream;
use super::chunked::{Ring, Stop};
use super::container::Encoding;
use super::options::check_cancel;
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
    Stream(Stream),
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
            Way::Stream(encoder) => Engine::Stream(Stream::new(encoder)),
            Way::Chunks(container) => {
                let work = Encoding(container.encoder());
                let cancel = options.cancel.clone();
                let ring = Ring::new(work, plan.crew, cancel);
                let total = options.content_size;
                let chunks = Chunks::new(container, ring, plan.chunk_size, total);
                Engine::Chunks(Box::new(chunks))
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

    /// Bytes that buffers take now; the libraries' own contexts come on top.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        match &self.engine {
            Engine::Chunks(chunks) => chunks.buffer_bytes(),
            Engine::Stream(stream) => stream.buffer_bytes(),
        }
    }

    /// The sink, to look at.
    #[must_use]
    pub fn get_ref(&self) -> &W {
        &self.sink.inner
    }

    fn summary(&mut self) -> Summary {
        let (units, peak_buffers, index) = match &mut self.engine {
            Engine::Chunks(chunks) => (chunks.units, chunks.ring.made(), chunks.index()),
            Engine::Stream(_) => (1, 1, None),
        };
        Summary {
            bytes_in: self.bytes_in,
            bytes_out: self.sink.written,
            units,
            compressor: self.compressor,
            layout: self.layout,
            completeness: Completeness::Proven,
            peak_buffers,
            index,
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
            Engine::Stream(stream) => {
                check_cancel(self.options.cancel.as_ref())?;
                let stop = Stop::of(self.options.cancel.as_ref());
                stream.take(plain, &mut self.sink, &stop)?;
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
        if let Some(said) = self
            .options
            .content_size
            .filter(|&said| said != self.bytes_in)
        {
            let text = format!(
                "{} bytes were written, the content size says {said}",
                self.bytes_in
            );
            return Err(Error::new(ErrorKind::Usage, text));
        }
        match &mut self.engine {
            Engine::Stream(stream) => {
                stream.end(&mut self.sink, &Stop::of(self.options.cancel.as_ref()))
            }
            Engine::Chunks(chunks) => {
                let cancel = self.options.cancel.as_ref();
                chunks.end(&mut self.sink, cancel, self.bytes_in)
            }
        }
    }

    fn give_up_held(&mut self) -> Result<()> {
        match &mut self.engine {
            Engine::Stream(stream) => {
                stream.flush(&mut self.sink, &Stop::of(self.options.cancel.as_ref()))?;
            }
            Engine::Chunks(chunks) => {
                chunks.boundary(&mut self.sink)?;
            }
        }
        self.sink.flush()
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
