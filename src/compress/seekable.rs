//! Reading any part of a compressed file by its plain offset.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use super::chunked::{Buffers, Crew, Ring};
use super::container::{of_unit, Decoding, Make, Unit, UnitDecoder};
use super::locate::{locate, Located};
use super::options::{self, check_cancel};
use super::read_at::{append, ReadAt};
use super::{ChunkInfo, Completeness, Kind, ReadOptions};
use crate::{Error, ErrorKind, Result};

/// Decoded chunks that are kept for the next reads.
const KEPT: usize = 2;

/// Gives the plain bytes of a compressed file from any offset on.
///
/// Chunks are found by the seek table or index at the file's end, else by walking over the
/// stored bytes without decoding them, where every unit says its plain size. Only the chunks
/// that a read touches are decoded and verified. Reading on from chunk to chunk decodes ahead
/// in parallel.
///
/// # Example
/// ```
/// use std::io::Write;
/// use tare::compress::{Compressor, ReadOptions, SeekableReader, WriteOptions, Writer};
///
/// let options = WriteOptions { chunk_size: Some(64 << 10), ..WriteOptions::default() };
/// let mut writer = Writer::new(Vec::new(), Compressor::parse("zstd:1")?, options)?;
/// for line in 0..100_000_u32 {
///     writeln!(writer, "{line:07}").unwrap();
/// }
/// let (stored, _) = writer.finish()?;
/// let reader = SeekableReader::new(stored, ReadOptions::default())?;
/// let mut line = [0; 7];
/// reader.read_at(8 * 54_321, &mut line)?;
/// assert_eq!((b"0054321", 800_000), (&line, reader.len()));
/// # Ok::<(), tare::Error>(())
/// ```
pub struct SeekableReader<R: ReadAt> {
    source: R,
    options: ReadOptions,
    kind: Kind,
    chunks: Vec<ChunkInfo>,
    completeness: Completeness,
    looks_cut: bool,
    make: Arc<Make<dyn UnitDecoder>>,
    idle: Mutex<Vec<Box<dyn UnitDecoder>>>,
    kept: Mutex<VecDeque<Kept>>,
    position: u64,
    current: Option<Kept>,
    ahead: Mutex<Option<Ahead>>,
}

/// A decoded chunk, by its number.
type Kept = (usize, Arc<Vec<u8>>);

/// Chunks in work ahead of a sequential reader.
struct Ahead {
    ring: Ring<Decoding>,
    submitted: usize,
    taken: usize,
}

impl<R: ReadAt> SeekableReader<R> {
    /// Finds the chunks of `source`.
    ///
    /// # Errors
    /// `Unsupported` if it is one unit that is too long to be decoded for a part of it, or of a
    /// kind without units; `Usage` if the chunks can only be found by decoding once, for which
    /// `build_index` must be set; what is wrong with it, at its offset; `Io`.
    pub fn new(source: R, options: ReadOptions) -> Result<Self> {
        let Located {
            kind,
            chunks,
            completeness,
            looks_cut,
            make,
        } = locate(&source, &options)?;
        Ok(Self {
            source,
            options,
            kind,
            chunks,
            completeness,
            looks_cut,
            make,
            idle: Mutex::default(),
            kept: Mutex::default(),
            position: 0,
            current: None,
            ahead: Mutex::default(),
        })
    }

    /// Plain bytes in all.
    #[must_use]
    pub fn len(&self) -> u64 {
        let last = self.chunks.last();
        last.map_or(0, |chunk| {
            chunk.plain_offset.saturating_add(chunk.plain_size)
        })
    }

    /// Whether there are no plain bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the stored bytes are.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Where each chunk lies, stored and plain; chunks without plain bytes are left out.
    #[must_use]
    pub fn chunks(&self) -> &[ChunkInfo] {
        &self.chunks
    }

    /// What proves that the end is the end.
    #[must_use]
    pub fn completeness(&self) -> Completeness {
        self.completeness
    }

    /// Whether the end looks like that of a file of this crate that was cut between two chunks.
    #[must_use]
    pub fn looks_cut(&self) -> bool {
        self.looks_cut
    }

    /// Reads plain bytes from `offset` on until `into` is full or they end; several threads may.
    ///
    /// # Errors
    /// As [`Reader::pull`](super::Reader::pull), for the chunks that the range touches.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize> {
        let mut filled = 0_usize;
        while let Some(place) = into.get_mut(filled..).filter(|place| !place.is_empty()) {
            let at = offset.saturating_add(filled as u64);
            let Some(number) = self.chunk_at(at) else {
                break;
            };
            let plain = self.chunk(number)?;
            let size = copy(&plain, at.saturating_sub(self.start_of(number)), place);
            if size == 0 {
                break;
            }
            filled = filled.saturating_add(size);
        }
        Ok(filled)
    }

    /// Bytes that decoded chunks and the list of chunks take now.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let chunks = kept.iter().chain(&self.current);
        let decoded = chunks.fold(0_usize, |sum, (_, plain)| {
            sum.saturating_add(plain.capacity())
        });
        drop(kept);
        let ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let ahead = ahead
            .as_ref()
            .map_or(0, |ahead| ahead.ring.buffer_bytes(&[]));
        let list = size_of::<ChunkInfo>().saturating_mul(self.chunks.capacity());
        decoded.saturating_add(ahead).saturating_add(list)
    }

    fn start_of(&self, number: usize) -> u64 {
        self.chunks
            .get(number)
            .map_or(0, |chunk| chunk.plain_offset)
    }

    /// The chunk that holds the plain byte at `offset`.
    fn chunk_at(&self, offset: u64) -> Option<usize> {
        let ends = |chunk: &ChunkInfo| chunk.plain_offset.saturating_add(chunk.plain_size);
        let number = self.chunks.partition_point(|chunk| ends(chunk) <= offset);
        (number < self.chunks.len()).then_some(number)
    }

    /// A chunk's plain bytes: those kept, or decoded now.
    fn chunk(&self, number: usize) -> Result<Arc<Vec<u8>>> {
        if let Some(found) = self.find_kept(number) {
            return Ok(found);
        }
        check_cancel(self.options.cancel.as_ref())?;
        let mut stored = Vec::new();
        let unit = self.load(number, &mut stored)?;
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut decoder = match idle {
            Some(decoder) => decoder,
            None => (self.make)()?,
        };
        let mut plain = Vec::new();
        let result = decoder.decode(&unit, &stored, &mut plain);
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(decoder);
        result
            .and_then(|()| self.check(number, plain.len()))
            .map_err(|error| self.of_chunk(number, error))?;
        let plain = Arc::new(plain);
        self.keep(number, &plain);
        Ok(plain)
    }

    fn find_kept(&self, number: usize) -> Option<Arc<Vec<u8>>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|(kept, _)| *kept == number);
        found.map(|(_, plain)| Arc::clone(plain))
    }

    fn keep(&self, number: usize, plain: &Arc<Vec<u8>>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        while kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back((number, Arc::clone(plain)));
    }

    fn unit(&self, number: usize) -> Unit {
        let chunk = self.chunks.get(number);
        chunk.map_or_else(Unit::default, |chunk| Unit {
            start: chunk.stored_offset,
            stored: usize::try_from(chunk.stored_size).unwrap_or(usize::MAX),
            claim: Some(chunk.plain_size),
            bound: usize::try_from(chunk.plain_size).unwrap_or(usize::MAX),
            tag: chunk.tag,
        })
    }

    fn ahead(&mut self) -> &mut Option<Ahead> {
        self.ahead.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a chunk's stored bytes.
    fn load(&self, number: usize, stored: &mut Vec<u8>) -> Result<Unit> {
        let unit = self.unit(number);
        let read = append(&self.source, unit.start, unit.stored, stored);
        let read = read.map_err(|error| super::input::unreadable(error, unit.start))?;
        if read < unit.stored {
            let at = unit.start.saturating_add(read as u64);
            let text = "the file became shorter while it was read";
            return Err(Error::new(ErrorKind::Truncated, text).with_offset(at));
        }
        Ok(unit)
    }

    /// A table says how long a chunk is; what was decoded must agree.
    fn check(&self, number: usize, made: usize) -> Result<()> {
        let said = self.chunks.get(number).map_or(0, |chunk| chunk.plain_size);
        if said == made as u64 {
            return Ok(());
        }
        let text = format!("the chunk holds {made} bytes, the table says {said}");
        Err(Error::new(ErrorKind::Malformed, text))
    }

    fn of_chunk(&self, number: usize, error: Error) -> Error {
        let (start, from) = (self.unit(number).start, self.start_of(number));
        let claim = self.unit(number).claim.unwrap_or_default();
        let error = match error.offset() {
            Some(_) => error,
            None => error.with_offset(start),
        };
        let until = from.saturating_add(claim);
        let number = (number as u64).saturating_add(1);
        of_unit(error, self.kind, number, from, Some(until)).with_format(self.kind.name())
    }

    /// The next chunk for a sequential read, decoded ahead in parallel once it is one.
    fn next_chunk(&mut self, number: usize) -> Result<Arc<Vec<u8>>> {
        let follows = self
            .current
            .as_ref()
            .is_some_and(|(last, _)| last.checked_add(1) == Some(number));
        if !follows || self.options.threads == Some(1) {
            *self.ahead() = None;
            return self.chunk(number);
        }
        let mut ahead = match self.ahead().take().filter(|ahead| ahead.taken == number) {
            Some(ahead) => ahead,
            None => Ahead {
                ring: Ring::new(
                    Decoding(Arc::clone(&self.make)),
                    Crew {
                        threads: options::check_threads(self.options.threads)?,
                        buffers: Buffers::Spare(1),
                    },
                    self.options.cancel.clone(),
                ),
                submitted: number,
                taken: number,
            },
        };
        while ahead.submitted < self.chunks.len() {
            let Some(mut cell) = ahead.ring.cell() else {
                break;
            };
            cell.note = self.load(ahead.submitted, &mut cell.input)?;
            ahead.ring.submit(cell)?;
            ahead.submitted = ahead.submitted.saturating_add(1);
        }
        let Some((mut cell, result)) = ahead.ring.take()? else {
            return self.chunk(number);
        };
        let made = cell.output.len();
        result
            .and_then(|()| self.check(number, made))
            .map_err(|error| self.of_chunk(number, error))?;
        let plain = Arc::new(std::mem::take(&mut cell.output));
        ahead.ring.recycle(cell);
        ahead.taken = ahead.taken.saturating_add(1);
        *self.ahead() = Some(ahead);
        Ok(plain)
    }
}

impl<R: ReadAt> Read for SeekableReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(number) = self.chunk_at(self.position) else {
            return Ok(0);
        };
        let plain = match &self.current {
            Some((current, plain)) if *current == number => Arc::clone(plain),
            _ => self.next_chunk(number)?,
        };
        let within = self.position.saturating_sub(self.start_of(number));
        let size = copy(&plain, within, into);
        self.current = Some((number, plain));
        self.position = self.position.saturating_add(size as u64);
        Ok(size)
    }
}

impl<R: ReadAt> Seek for SeekableReader<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(by) => self.len().checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        let before = || io::Error::new(io::ErrorKind::InvalidInput, "seek before the first byte");
        self.position = position.ok_or_else(before)?;
        Ok(self.position)
    }
}

impl<R: ReadAt> fmt::Debug for SeekableReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeekableReader")
            .field("kind", &self.kind)
            .field("chunks", &self.chunks.len())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Copies from `plain`, from one of its bytes on, into the start of `into`.
fn copy(plain: &[u8], from: u64, into: &mut [u8]) -> usize {
    let from = usize::try_from(from).unwrap_or(usize::MAX);
    let rest = plain.get(from..).unwrap_or_default();
    let size = rest.len().min(into.len());
    if let (Some(rest), Some(into)) = (rest.get(..size), into.get_mut(..size)) {
        into.copy_from_slice(rest);
    }
    size
}
