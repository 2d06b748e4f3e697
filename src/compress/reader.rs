//! Decompressing a stream of any length, on all cores, in memory that does not depend on it.

use std::fmt;
use std::io::{self, BufRead, Read};

use super::chunked::{Cell, Crew, Ring};
use super::container::{of_unit, Decoding, Step, Unit, Walker, END_MARK};
use super::input::{Input, Source};
use super::options::{self, check_cancel};
use super::sniff::sniff;
use super::{walker, Completeness, Compressor, Info, Kind, Layout, ReadOptions, Summary};
use crate::{Error, ErrorKind, Result};

/// Plain bytes decoded at once where units cannot be told apart.
const SERIAL_BYTES: usize = 128 << 10;

/// Gives the plain bytes of a compressed stream.
///
/// The calling thread does all reading from `R`, in order; whole frames, blocks and members are
/// decoded by workers. Everything before the first damage is given out, then its error: what a
/// serial decoder would do. The end is only reached where the last unit ends and nothing follows.
///
/// # Example
/// ```
/// use std::io::Read;
/// use tare::compress::{compress, Compressor, ReadOptions, Reader, WriteOptions};
///
/// let stored = compress(b"weighed", &Compressor::parse("gzip")?, &WriteOptions::default())?;
/// let mut plain = String::new();
/// Reader::new(&stored[..], ReadOptions::default())?.read_to_string(&mut plain).unwrap();
/// assert_eq!("weighed", plain);
/// # Ok::<(), tare::Error>(())
/// ```
pub struct Reader<R: Read> {
    input: Source<R>,
    options: ReadOptions,
    kind: Kind,
    walker: Box<dyn Walker>,
    ring: Ring<Decoding>,
    /// The unit, or part, whose bytes are being given out, and how many were.
    current: Option<Cell<Unit>>,
    given: usize,
    /// Where the walker is beyond the units in work.
    ahead: Ahead,
    /// An error that comes after the bytes at hand.
    late: Option<Error>,
    /// The first error, which every later call gets again.
    failed: Option<(ErrorKind, String)>,
    units: u64,
    empty_units: u64,
    plain_bytes: u64,
}

enum Ahead {
    /// More units may come.
    Units,
    /// A part that is decoded byte after byte.
    Serial,
    /// What the walker can only look at once all before it is delivered.
    Wait,
    /// An error, to be given after all before it.
    Failed(Error),
    End,
}

impl<R: Read> Reader<R> {
    /// Looks at the first bytes of `source`, to tell its compressor if none is named.
    ///
    /// `source` is read in steps of 128 KiB; give it unbuffered.
    ///
    /// # Errors
    /// `Io` if it cannot be read; `Malformed` or `Truncated` if it is not of the kind named.
    pub fn new(source: R, options: ReadOptions) -> Result<Self> {
        let threads = options::check_threads(options.threads)?;
        let mut input = Source::new(source);
        let kind = match options.kind {
            Some(kind) => kind,
            None => sniff(&mut input)?,
        };
        let walker = walker(kind, &options);
        let crew = Crew::new(if options.read_ahead { threads } else { Some(1) });
        let work = Decoding(walker.decoder());
        Ok(Self {
            ring: Ring::new(work, crew, options.cancel.clone()),
            input,
            options,
            kind,
            walker,
            current: None,
            given: 0,
            ahead: Ahead::Units,
            late: None,
            failed: None,
            units: 0,
            empty_units: 0,
            plain_bytes: 0,
        })
    }

    /// Reads some plain bytes as [`Read::read`] does, with the crate's own error.
    ///
    /// # Errors
    /// `Truncated`, `Malformed`, `ChecksumMismatch` or `Unsupported` with the byte offset in the
    /// stored stream; `Limit`; `Cancelled`; `Io` if the source cannot be read. The first error
    /// is the answer to every later call.
    pub fn pull(&mut self, into: &mut [u8]) -> Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let ready = self.fill()?;
        let size = ready.len().min(into.len());
        if let (Some(from), Some(to)) = (ready.get(..size), into.get_mut(..size)) {
            to.copy_from_slice(from);
        }
        self.consume(size);
        Ok(size)
    }

    /// The next plain bytes, at least one; none at the end. See [`BufRead::fill_buf`].
    ///
    /// # Errors
    /// As [`pull`](Self::pull).
    pub fn fill(&mut self) -> Result<&[u8]> {
        if let Some((kind, text)) = &self.failed {
            let text = format!("an earlier read failed: {text}");
            return Err(Error::new(*kind, text).with_format(self.kind.name()));
        }
        if self.buffer().is_empty() {
            if let Err(error) = self.advance() {
                let error = error.with_format(self.kind.name());
                self.failed = Some((error.kind(), error.to_string()));
                return Err(error);
            }
        }
        Ok(self.buffer())
    }

    /// What is known so far.
    pub fn info(&self) -> Info {
        let good = self.failed.is_none() && self.late.is_none();
        let ended = good && matches!(self.ahead, Ahead::End) && self.ring.in_work() == 0;
        Info {
            kind: self.kind,
            units: self.units,
            empty_units: self.empty_units,
            stored_bytes: self.input.offset(),
            plain_bytes: self.plain_bytes,
            completeness: ended.then(|| self.walker.completeness()),
            looks_cut: ended && self.walker.looks_cut(),
        }
    }

    /// Reads to the end, without giving the bytes out, and says what there was.
    ///
    /// # Errors
    /// As [`pull`](Self::pull).
    pub fn finish(mut self) -> Result<(R, Summary)> {
        loop {
            let size = self.fill()?.len();
            if size == 0 {
                break;
            }
            self.consume(size);
        }
        let summary = Summary {
            bytes_in: self.input.offset(),
            bytes_out: self.plain_bytes,
            units: self.units,
            compressor: Compressor::new(self.kind, None)?,
            layout: Layout::Auto,
            completeness: self.walker.completeness(),
            peak_buffers: self.ring.made(),
            index: None,
        };
        Ok((self.into_parts().0, summary))
    }

    /// The source, and what was read of it but belongs to no unit that was taken.
    pub fn into_parts(self) -> (R, Vec<u8>) {
        self.input.into_parts()
    }

    /// The plain bytes that are decoded and not consumed, as `BufReader::buffer`; may be none.
    #[must_use]
    pub fn buffer(&self) -> &[u8] {
        let plain = self.current.as_ref().map(|cell| cell.output.as_slice());
        plain
            .unwrap_or_default()
            .get(self.given..)
            .unwrap_or_default()
    }

    /// Bytes that buffers take now; the libraries' own contexts come on top.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        let current: Vec<&Cell<Unit>> = self.current.iter().collect();
        let cells = self.ring.buffer_bytes(&current);
        cells.saturating_add(self.input.buffer_bytes())
    }

    /// Makes the next plain bytes ready; leaves none at the end.
    fn advance(&mut self) -> Result<()> {
        if let Some(cell) = self.current.take() {
            self.ring.recycle(cell);
        }
        self.given = 0;
        loop {
            if self.late.is_none() {
                self.look_ahead()?;
            }
            if let Some(error) = self.late.take() {
                return Err(error);
            } else if let Some((cell, result)) = self.ring.take()? {
                self.late = result.err().map(|error| self.placed(error, &cell));
                // A batch may be good up to a member that is not: those before it come first.
                if self.late.is_none() || !cell.output.is_empty() {
                    self.deliver(cell)?;
                }
            } else if matches!(self.ahead, Ahead::Serial) {
                self.serial()?;
            } else if matches!(self.ahead, Ahead::Units | Ahead::Wait) {
                self.ahead = Ahead::Units;
                continue;
            } else if let Ahead::Failed(error) = std::mem::replace(&mut self.ahead, Ahead::End) {
                return Err(error);
            } else {
                return self.check_end();
            }
            if !self.buffer().is_empty() {
                return Ok(());
            }
        }
    }

    /// The error of a unit, with its number from 1 on and the plain bytes that are lost.
    fn placed(&self, error: Error, cell: &Cell<Unit>) -> Error {
        let number = self.units.saturating_add(1);
        let until = cell
            .note
            .claim
            .map(|claim| self.plain_bytes.saturating_add(claim));
        let from = self.plain_bytes.saturating_add(cell.output.len() as u64);
        of_unit(error, self.kind, number, from, until)
    }

    /// Submits units until there is no cell for one more, or something else comes.
    fn look_ahead(&mut self) -> Result<()> {
        while matches!(self.ahead, Ahead::Units) {
            if !self.options.read_ahead && self.ring.in_work() > 0 {
                return Ok(());
            }
            let Some(mut cell) = self.ring.cell() else {
                return Ok(());
            };
            let unit = match self.step() {
                Ok(Step::Unit(unit)) => unit,
                other => {
                    self.ring.recycle(cell);
                    self.note(other);
                    continue;
                }
            };
            match self.load(&unit, &mut cell) {
                Ok(()) => {
                    cell.note = unit;
                    self.ring.submit(cell)?;
                }
                Err(error) => {
                    self.ring.recycle(cell);
                    self.ahead = Ahead::Failed(error);
                }
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Step> {
        check_cancel(self.options.cancel.as_ref())?;
        self.walker.step(&mut self.input)
    }

    fn note(&mut self, step: Result<Step>) {
        match step {
            Ok(Step::Unit(_)) => {}
            Ok(Step::Passed) => self.empty_units = self.empty_units.saturating_add(1),
            Ok(Step::Serial) => self.ahead = Ahead::Serial,
            Ok(Step::Wait) => self.ahead = Ahead::Wait,
            Ok(Step::End) => self.ahead = Ahead::End,
            Err(error) => self.ahead = Ahead::Failed(error),
        }
    }

    /// Moves a unit's bytes into a cell.
    fn load(&mut self, unit: &Unit, cell: &mut Cell<Unit>) -> Result<()> {
        let stored = self.input.ahead(unit.stored)?;
        cell.input.try_reserve(stored.len()).map_err(|_| {
            let text = format!("no memory for a unit of {} stored bytes", unit.stored);
            Error::new(ErrorKind::Limit, text).with_offset(unit.start)
        })?;
        cell.input.extend_from_slice(stored);
        self.input.advance(unit.stored);
        Ok(())
    }

    fn deliver(&mut self, cell: Cell<Unit>) -> Result<()> {
        self.walker.delivered(&cell.note, &cell.output)?;
        let counted = cell.note.tag & END_MARK == 0;
        self.units = self.units.saturating_add(u64::from(counted));
        let start = cell.note.start;
        self.count(cell.output.len(), start)?;
        self.show(cell);
        Ok(())
    }

    fn serial(&mut self) -> Result<()> {
        check_cancel(self.options.cancel.as_ref())?;
        let mut cell = self.ring.cell().unwrap_or_default();
        cell.output.resize(SERIAL_BYTES, 0);
        let made = self.walker.serial(&mut self.input, &mut cell.output)?;
        cell.output.truncate(made);
        if made == 0 {
            self.ahead = Ahead::Units;
            self.units = self.units.saturating_add(1);
        }
        self.count(made, self.input.offset())?;
        self.show(cell);
        Ok(())
    }

    /// Makes a cell's bytes the ones given out. One without any before it goes back: otherwise
    /// a few empty units would use up all cells.
    fn show(&mut self, cell: Cell<Unit>) {
        if let Some(empty) = self.current.replace(cell) {
            self.ring.recycle(empty);
        }
    }

    /// Counts plain bytes that come next against the limits.
    fn count(&mut self, more: usize, at: u64) -> Result<()> {
        self.plain_bytes = self.plain_bytes.saturating_add(more as u64);
        if let Some(most) = self
            .options
            .max_output
            .filter(|&most| self.plain_bytes > most)
        {
            let text = format!("more than {most} plain bytes: raise max_output to read on");
            return Err(Error::new(ErrorKind::Limit, text).with_offset(at));
        }
        if let Some(ratio) = self.options.max_ratio {
            // Behind the unit at work there may be more stored bytes, never fewer.
            let most = self.input.offset().saturating_mul(ratio);
            if self.plain_bytes > most {
                let text = format!(
                    "more than {ratio} plain bytes for each stored one: raise max_ratio to read on"
                );
                return Err(Error::new(ErrorKind::Limit, text).with_offset(at));
            }
        }
        Ok(())
    }

    fn check_end(&self) -> Result<()> {
        if self.options.strict && self.walker.completeness() == Completeness::Unproven {
            let text = "ends at a frame boundary and nothing proves that this is the end";
            let at = self.input.offset();
            return Err(Error::new(ErrorKind::Truncated, text).with_offset(at));
        }
        Ok(())
    }
}

impl<R: Read> Read for Reader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(self.pull(into)?)
    }
}

impl<R: Read> BufRead for Reader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.fill()?)
    }

    fn consume(&mut self, size: usize) {
        self.given = self.given.saturating_add(size.min(self.buffer().len()));
    }
}

impl<R: Read> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("info", &self.info())
            .finish_non_exhaustive()
    }
}
