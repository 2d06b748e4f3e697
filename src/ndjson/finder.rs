//! Lines as columns whose types are found on the way, on several threads.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::{Array, StructArray};
use arrow_schema::Fields;

use super::array;
use super::found::Names;
use super::widen::widened;
use super::{most_filled, Change, Reader, Types};
use crate::{Error, Result};

/// Lines that one thread reads at a time, which are a batch of rows.
const BLOCK_BYTES: usize = 2 << 20;

/// Reads lines into columns, and finds out what types these have.
///
/// One type is that of all values of a path, and the narrowest one: whole numbers are int64, or uint64 where one is
/// beyond 2^63, or doubles where one value is none and none is beyond 2^53. Everything may be null. Objects are structs
/// with all names that any of them has, in the order in which these first appear.
///
/// # Example
/// ```
/// use arrow_array::Array;
/// use tare::ndjson::Finder;
///
/// let mut finder = Finder::new();
/// finder.read(b"{\"id\": 1}\n{\"id\": 2, \"v\": [1, 2.5]}\n", 2)?;
/// assert_eq!("v", finder.fields()[1].name());
/// let batches = finder.take()?;
/// assert_eq!(2, batches[0].len());
/// assert_eq!(vec![("v".to_owned(), 1)], finder.changes().into_iter().take(1).map(|c| (c.path, c.count)).collect::<Vec<_>>());
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Debug)]
pub struct Finder {
    readers: Vec<Reader>,
    names: Names,
    batches: Vec<StructArray>,
    /// Bytes of lines, and rows, so far.
    bytes: u64,
    rows: u64,
    /// Nulls of names that whole batches have not, so far.
    filled: usize,
    block_bytes: usize,
}

impl Default for Finder {
    fn default() -> Self {
        Self {
            readers: Vec::new(),
            names: Names::default(),
            batches: Vec::new(),
            bytes: 0,
            rows: 0,
            filled: 0,
            block_bytes: BLOCK_BYTES,
        }
    }
}

impl Finder {
    /// Nothing is known of the lines.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The types and the order of names that other lines had: those of these lines may widen them.
    #[must_use]
    pub fn of(fields: &Fields) -> Self {
        Self {
            names: Names::of_fields(fields),
            ..Self::default()
        }
    }

    /// With another size of the blocks that one thread reads at a time, so that short texts have many.
    #[doc(hidden)]
    #[must_use]
    pub fn with_block_bytes(self, bytes: usize) -> Self {
        Self {
            block_bytes: bytes.max(1),
            ..self
        }
    }

    /// Takes the rows of whole lines, which stand behind those before; the last one need not end in a line feed.
    ///
    /// At most so many threads read, one of which is this one.
    ///
    /// # Errors
    /// As [`Reader::read`], with the byte offset in all lines; `Malformed` too where no one type holds all values of a
    /// path, and `Limit` with more than 4,096 names in objects or far more missing names than there are bytes. The rows
    /// of such lines are not among the batches, and nothing more is to be read.
    pub fn read(&mut self, lines: &[u8], threads: usize) -> Result<()> {
        let blocks = blocks(lines, self.block_bytes);
        let threads = threads.clamp(1, blocks.len().max(1));
        let fields = self.names.fields();
        while self.readers.len() < threads {
            self.readers.push(Reader::finding(&fields)?);
        }
        let readers: Vec<_> = self.readers.iter_mut().take(threads).collect();
        let done = side_by_side(&blocks, readers, |reader, block| {
            reader.read_found(lines.get(block.clone()).unwrap_or_default())
        });
        for (at, read) in done {
            let start = blocks.get(at).map_or(0, |block| block.start);
            let read = read.map_err(|error| placed(error, self.bytes, start))?;
            self.add(read)?;
        }
        self.bytes = self.bytes.saturating_add(lines.len() as u64);
        Ok(())
    }

    /// Takes the objects of an array, the whole text of one value of JSON, as rows.
    ///
    /// # Errors
    /// As [`read`](Self::read); it is no array, or has something else than objects.
    pub fn read_array(&mut self, text: &[u8], threads: usize) -> Result<()> {
        let fields = self.names.fields();
        let Some(cuts) = array::cuts(text, self.block_bytes)? else {
            return Ok(());
        };
        let threads = threads.clamp(1, cuts.len().max(1));
        let done = side_by_side(&cuts, vec![(); threads], |(), cut| {
            // Where a cut is none, what was read is of other objects, and nothing is to be known of them.
            let mut reader = Reader::finding(&fields)?;
            reader.read_elements(text, cut.clone())
        });
        let mut at = cuts.first().map_or(0, |cut| cut.start);
        for (place, read) in done {
            let Some(cut) = cuts.get(place) else {
                continue;
            };
            if cut.end <= at {
                continue;
            }
            let read = if cut.start == at {
                read
            } else {
                Reader::finding(&fields)?.read_elements(text, at..cut.end)
            };
            let (next, read) = read.map_err(|error| placed(error, self.bytes, 0))?;
            self.add(read)?;
            at = next;
        }
        array::end(text, at).map_err(|error| placed(error, self.bytes, 0))?;
        self.bytes = self.bytes.saturating_add(text.len() as u64);
        Ok(())
    }

    fn add(&mut self, (rows, names): Found) -> Result<()> {
        self.names.add(names)?;
        self.rows = self.rows.saturating_add(rows.len() as u64);
        if !rows.is_empty() {
            self.batches.push(rows);
        }
        Ok(())
    }

    /// The columns of the lines so far.
    #[must_use]
    pub fn fields(&self) -> Fields {
        self.names.fields()
    }

    /// How many rows there were.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// What was not as the columns have it, in all lines so far.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        self.names.changes(None, self.rows, &mut changes);
        changes
    }

    /// The rows that were not taken before, with the columns of the lines so far.
    ///
    /// # Errors
    /// `Limit`: far more missing names than there are bytes. `Internal`.
    pub fn take(&mut self) -> Result<Vec<StructArray>> {
        let fields = self.fields();
        let bytes = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        let most = most_filled(bytes);
        let room = Cell::new(most.saturating_sub(self.filled));
        let types = Types::Found {
            level: 0,
            room: &room,
        };
        let batches = std::mem::take(&mut self.batches).into_iter();
        let batches = batches.map(|rows| widened(&rows, &fields, types)).collect();
        self.filled = most.saturating_sub(room.get());
        batches
    }
}

/// Rows, and what their values were.
type Found = (StructArray, Names);

#[cold]
fn placed(error: Error, before: u64, start: usize) -> Error {
    match error.offset() {
        Some(offset) => {
            let start = before.saturating_add(start as u64);
            error.with_offset(start.saturating_add(offset))
        }
        None => error,
    }
}

/// What was made of parts of a text, one by one, by several threads, in order; behind an error there may be nothing.
fn side_by_side<W: Send, T: Send>(
    parts: &[Range<usize>],
    with: Vec<W>,
    read: impl Fn(&mut W, &Range<usize>) -> Result<T> + Sync,
) -> Vec<(usize, Result<T>)> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(parts.len()));
    let run = |mut with: W| loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(part) = parts.get(at) else {
            return;
        };
        let read = read(&mut with, part);
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.push((at, read));
    };
    let run = &run;
    let mut with = with.into_iter();
    let mine = with.next();
    std::thread::scope(|scope| {
        for one in with {
            let named = std::thread::Builder::new().name("tare-ndjson".to_owned());
            // Without another thread this one reads all.
            drop(named.spawn_scoped(scope, move || run(one)));
        }
        if let Some(mine) = mine {
            run(mine);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|one| one.0);
    done
}

/// The lines in blocks that end where lines do.
fn blocks(lines: &[u8], size: usize) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let least = start.saturating_add(size);
        let behind = lines.get(least..).unwrap_or_default();
        let end = memchr::memchr(b'\n', behind);
        let end = end.map_or(lines.len(), |end| {
            least.saturating_add(end).saturating_add(1)
        });
        blocks.push(start..end);
        start = end;
    }
    blocks
}
