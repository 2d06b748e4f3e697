//! Documents of a text of lines, whose chunks are made on all cores.
//!
//! The calling thread cuts the text into chunks and writes what comes back, in order. The file is
//! the one that [`Writer::push_json`] of each line makes, whatever the number of threads.

use std::sync::{Arc, PoisonError, RwLock};

use super::chunks;
use super::layout::Codec;
use super::writer::{WriteOptions, Writer, MOST_RAW};
use crate::blit::json_in::push_json;
use crate::blit::writer::{self, Apart, Known, Made};
use crate::compress::chunked::{Cell, Crew, Ring, Stop, Work};
use crate::compress::default_threads;
use crate::{Error, ErrorKind, Result};

/// Bytes of source that are in work at once, at most; the least that is worth it.
const MOST_AT_WORK: usize = 32 << 20;
/// Bytes of names and shapes that all threads keep at most, as they would be written.
const MOST_KNOWN: usize = 8 << 20;
/// A longer document is not copied for another thread.
const LONG: usize = 1 << 20;

impl Writer {
    /// Appends the value of each line of a text, and gives how many there were; blank lines are
    /// left out.
    ///
    /// The bytes of the file are those that [`push_json`](Self::push_json) of each line gives.
    /// `threads` make the chunks; None for [`default_threads`], 1 starts none. Each of them takes
    /// a few times the memory of a chunk, which is less than 2 MB unless `chunk_size` is more.
    ///
    /// # Errors
    /// As [`push_json`](Self::push_json), with the offset in the text; the lines before the one that
    /// is wrong are appended.
    ///
    /// # Example
    /// ```
    /// use tare::blit::collection::{Writer, WriteOptions};
    ///
    /// let mut writer = Writer::to(std::io::sink(), &WriteOptions::default())?;
    /// assert_eq!(2, writer.push_ndjson(b"{\"id\": 1}\n\n{\"id\": 2}\n", None)?);
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn push_ndjson(&mut self, text: &[u8], threads: Option<usize>) -> Result<u64> {
        let before = self.len();
        let mut lines = Lines { text, at: 0 };
        // The chunk that others began.
        while self.is_begun() {
            let Some(line) = lines.next() else {
                break;
            };
            self.push_line(&line)?;
        }
        let size = self.options.chunk_size;
        if lines.rest().len() / 2 >= size && threads != Some(1) {
            let most = MOST_AT_WORK.checked_div(size).unwrap_or(1).max(1);
            let threads = threads.unwrap_or_else(default_threads).min(most);
            if threads > 1 {
                self.push_apart(&mut lines, threads)?;
            }
        }
        for line in lines {
            self.push_line(&line)?;
        }
        Ok(self.len().saturating_sub(before))
    }

    fn push_line(&mut self, line: &Line<'_>) -> Result<()> {
        self.push_json(line.text).map_err(|error| {
            let offset = error.offset().unwrap_or(0);
            error.with_offset(offset.saturating_add(line.at as u64))
        })
    }

    /// Appends the lines of whole chunks; those of the last one stay.
    fn push_apart(&mut self, lines: &mut Lines<'_>, threads: usize) -> Result<()> {
        let known = Arc::new(RwLock::new(Known::default()));
        follow(&known, self, self.ended());
        let work = Chunking {
            options: self.options,
            known: Arc::clone(&known),
        };
        let mut ring = Ring::new(work, Crew::new(Some(threads)), None);
        for cut in Cuts::of(lines, self.options.chunk_size) {
            let names = self.values.dictionary_bytes().saturating_mul(threads);
            let is_much = names > MOST_KNOWN;
            if is_much
                || cut.is_two
                || cut.text.len() > self.options.chunk_size.saturating_add(LONG)
            {
                while let Some((cell, made)) = ring.take()? {
                    self.take(&mut ring, cell, made.is_ok(), &known)?;
                }
                let ended = self.ended();
                self.write_here(cut.text, cut.at)?;
                follow(&known, self, ended);
                continue;
            }
            let mut cell = loop {
                if let Some(cell) = ring.cell() {
                    break cell;
                }
                match ring.take()? {
                    Some((cell, made)) => self.take(&mut ring, cell, made.is_ok(), &known)?,
                    None => break Cell::default(),
                }
            };
            cell.input.extend_from_slice(cut.text);
            cell.note.at = cut.at;
            ring.submit(cell)?;
            while let Some((cell, made)) = ring.try_take() {
                self.take(&mut ring, cell, made.is_ok(), &known)?;
            }
        }
        while let Some((cell, made)) = ring.take()? {
            self.take(&mut ring, cell, made.is_ok(), &known)?;
        }
        Ok(())
    }

    /// Writes a chunk that was made apart, or makes it here if that did not work out.
    fn take(
        &mut self,
        ring: &mut Ring<Chunking>,
        mut cell: Cell<Note>,
        is_made: bool,
        known: &RwLock<Known>,
    ) -> Result<()> {
        let made = cell.note.made.take().filter(|_| is_made);
        let made = made.filter(|made| read(known).is_of(made));
        let ended = self.ended();
        let is_written = match made {
            Some(made) => self.whole(|writer| writer.write_made(&mut cell, &made))?,
            None => false,
        };
        if !is_written {
            self.write_here(&cell.input, cell.note.at)?;
        }
        follow(known, self, ended);
        ring.recycle(cell);
        Ok(())
    }

    /// False if its shapes have no room for their ids.
    fn write_made(&mut self, cell: &mut Cell<Note>, made: &Made) -> Result<bool> {
        if !self.values.take_over(&mut cell.output, made)? {
            return Ok(false);
        }
        let (mut stored, note) = (std::mem::take(&mut cell.output), &cell.note);
        let (mut codec, size) = (note.codec, note.size);
        if !made.is_final() {
            (codec, stored) = chunks::encode(stored, self.options.compressor.as_ref())?;
        }
        self.store(codec, &stored, size, note.documents)?;
        self.close_if_full()?;
        Ok(true)
    }

    /// Makes a chunk of lines on this thread, or two.
    fn write_here(&mut self, text: &[u8], at: usize) -> Result<()> {
        for line in (Lines { text, at: 0 }) {
            let line = Line {
                at: line.at.saturating_add(at),
                ..line
            };
            self.push_line(&line)?;
        }
        Ok(())
    }
}

fn read(known: &RwLock<Known>) -> std::sync::RwLockReadGuard<'_, Known> {
    known.read().unwrap_or_else(PoisonError::into_inner)
}

/// Tells the other threads what the writer has had since it had ended so many documents.
fn follow(known: &RwLock<Known>, writer: &Writer, ended: u64) {
    let is_new = writer.ended() != ended;
    if is_new || read(known).is_behind(&writer.values) {
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        if is_new {
            known.again();
        }
        known.follow(&writer.values);
    }
}

/// A line without its end, and where it begins.
struct Line<'t> {
    text: &'t [u8],
    at: usize,
}

/// The lines of a text that are not blank.
struct Lines<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Lines<'t> {
    fn rest(&self) -> &'t [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                return None;
            }
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (line, at) = (rest.get(..end).unwrap_or_default(), self.at);
            self.at = at.saturating_add(end).saturating_add(1);
            if !line.trim_ascii().is_empty() {
                return Some(Line { text: line, at });
            }
        }
    }
}

/// The lines of a chunk.
struct Cut<'t> {
    text: &'t [u8],
    at: usize,
    /// Whether the last line is long, and so ends the chunk before it, if it is a document.
    is_two: bool,
}

/// Cuts lines into chunks, and leaves those of the last one.
struct Cuts<'l, 't> {
    lines: &'l mut Lines<'t>,
    size: usize,
}

impl<'l, 't> Cuts<'l, 't> {
    fn of(lines: &'l mut Lines<'t>, size: usize) -> Self {
        Self { lines, size }
    }
}

impl<'t> Iterator for Cuts<'_, 't> {
    type Item = Cut<'t>;

    fn next(&mut self) -> Option<Cut<'t>> {
        let (at, mut source) = (self.lines.at, 0_usize);
        while let Some(line) = self.lines.next() {
            let before = source;
            source = source.saturating_add(line.text.len());
            if source >= self.size {
                let end = line.at.saturating_add(line.text.len());
                return Some(Cut {
                    text: self.lines.text.get(at..end).unwrap_or_default(),
                    at,
                    is_two: before > 0 && line.text.len() >= self.size,
                });
            }
        }
        self.lines.at = at;
        None
    }
}

/// What goes with the lines of a chunk.
#[derive(Default)]
struct Note {
    /// Where they begin in the text.
    at: usize,
    made: Option<Made>,
    documents: u32,
    /// Bytes before they were compressed.
    size: u32,
    codec: Codec,
}

/// Lines to chunks.
struct Chunking {
    options: WriteOptions,
    known: Arc<RwLock<Known>>,
}

impl Work for Chunking {
    type Context = Option<Apart>;
    type Note = Note;

    const NAME: &'static str = "tare-blit";

    fn context(&self) -> Result<Self::Context> {
        Ok(None)
    }

    fn run(
        &self,
        context: &mut Self::Context,
        cell: &mut Cell<Note>,
        stop: &Stop<'_>,
    ) -> Result<()> {
        // What an error leaves is not used again.
        let mut apart = match context.take() {
            Some(apart) => apart,
            None => Apart::of(writer::Writer::many(self.options.document)?),
        };
        apart.learn(&read(&self.known))?;
        let met = apart.writer.met();
        for line in (Lines {
            text: &cell.input,
            at: 0,
        }) {
            stop.check()?;
            push_json(line.text, &mut apart.writer)?;
        }
        let documents = apart.writer.complete();
        let (raw, made) = apart.chunk(met)?;
        // The calling thread says what is wrong.
        let too_much = || Error::new(ErrorKind::Limit, "a chunk that takes more than 1 GiB");
        let note = &mut cell.note;
        if raw.len() > MOST_RAW {
            return Err(too_much());
        }
        note.documents = u32::try_from(documents).map_err(|_| too_much())?;
        note.size = u32::try_from(raw.len()).map_err(|_| too_much())?;
        (note.codec, cell.output) = if made.is_final() {
            chunks::encode(raw, self.options.compressor.as_ref())?
        } else {
            (Codec::None, raw)
        };
        note.made = Some(made);
        *context = Some(apart);
        Ok(())
    }
}
