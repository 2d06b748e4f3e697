//! Lines as columns whose types are found on the way, on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::{Array, StructArray};
use arrow_schema::Fields;

use super::found::Names;
use super::widen::widened;
use super::{Change, Reader};
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
/// use arrow_schema::DataType;
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
#[derive(Debug, Default)]
pub struct Finder {
    readers: Vec<Reader>,
    names: Names,
    batches: Vec<StructArray>,
    /// Bytes of lines, and rows, so far.
    bytes: u64,
    rows: u64,
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

    /// Takes the rows of whole lines, which stand behind those before; the last one need not end in a line feed.
    ///
    /// At most so many threads read, one of which is this one.
    ///
    /// # Errors
    /// As [`Reader::read`], with the byte offset in all lines; `Malformed` too where no one type holds all values of a
    /// path, and `Limit` with more than 4,096 names in objects or far more missing names than there are bytes. The rows
    /// of such lines are not among the batches, and nothing more is to be read.
    pub fn read(&mut self, lines: &[u8], threads: usize) -> Result<()> {
        let blocks = blocks(lines);
        let threads = threads.clamp(1, blocks.len().max(1));
        let fields = self.names.fields();
        while self.readers.len() < threads {
            self.readers.push(Reader::finding(&fields)?);
        }
        let work = Work {
            blocks,
            next: AtomicUsize::new(0),
            done: Mutex::default(),
        };
        let (mine, others) = match self.readers.split_first_mut() {
            Some((mine, others)) => (mine, others),
            None => return Ok(()),
        };
        std::thread::scope(|scope| {
            for reader in others.iter_mut().take(threads.saturating_sub(1)) {
                let named = std::thread::Builder::new().name("tare-ndjson".to_owned());
                // Without another thread this one reads all.
                drop(named.spawn_scoped(scope, || work.run(reader)));
            }
            work.run(mine);
        });
        let mut done = work.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|block| block.0);
        for (at, read) in done {
            let (rows, names) = read.map_err(|error| self.placed(error, &work.blocks, at))?;
            self.names.add(names)?;
            self.rows = self.rows.saturating_add(rows.len() as u64);
            if rows.len() > 0 {
                self.batches.push(rows);
            }
        }
        self.bytes = self.bytes.saturating_add(lines.len() as u64);
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
        self.names.changes("", "", self.rows, &mut changes);
        changes
    }

    /// The rows that were not taken before, with the columns of the lines so far.
    ///
    /// # Errors
    /// `Internal`.
    pub fn take(&mut self) -> Result<Vec<StructArray>> {
        let fields = self.fields();
        let batches = std::mem::take(&mut self.batches).into_iter();
        batches.map(|rows| widened(&rows, &fields)).collect()
    }

    #[cold]
    fn placed(&self, error: Error, blocks: &[&[u8]], at: usize) -> Error {
        let before = blocks.iter().take(at).map(|block| block.len() as u64);
        match error.offset() {
            Some(offset) => {
                let start = before.sum::<u64>().saturating_add(self.bytes);
                error.with_offset(start.saturating_add(offset))
            }
            None => error,
        }
    }
}

type Block = (usize, Result<(StructArray, Names)>);

/// Blocks that threads take one by one.
struct Work<'t> {
    blocks: Vec<&'t [u8]>,
    next: AtomicUsize,
    done: Mutex<Vec<Block>>,
}

impl Work<'_> {
    fn run(&self, reader: &mut Reader) {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(block) = self.blocks.get(at) else {
                return;
            };
            let read = reader.read_found(block);
            if read.is_err() {
                // What stands behind it is of no use; what stands before it is in work.
                self.next.store(self.blocks.len(), Ordering::Relaxed);
            }
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((at, read));
        }
    }
}

/// The lines in blocks that end where lines do.
fn blocks(lines: &[u8]) -> Vec<&[u8]> {
    let mut blocks = Vec::new();
    let mut rest = lines;
    while !rest.is_empty() {
        let behind = rest.get(BLOCK_BYTES..).unwrap_or_default();
        let end = memchr::memchr(b'\n', behind);
        let end = end.map_or(rest.len(), |end| end.saturating_add(BLOCK_BYTES + 1));
        let (block, later) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        blocks.push(block);
        rest = later;
    }
    blocks
}
