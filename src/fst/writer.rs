//! Writing a table: columns in order, blocks encoded by threads, positions filled in at the end.

use std::io::{Cursor, Seek, SeekFrom, Write};
use std::ops::Range;

use super::element::store;
use super::encode::{self, is_run, mark, Encoded, Entry, Family, Press};
use super::fault::{fault, FORMAT};
use super::heads;
use super::kind::Form;
use super::options::WriteOptions;
use super::pool;
use super::proof;
use super::strings::PER;
use super::table::{Column, Data, Table};
use super::texts::Texts;
use crate::{Error, ErrorKind, Result};

/// Blocks that one thread encodes at a time.
const GROUP: usize = 16;

/// One part of a column.
#[derive(Clone, Copy)]
enum Step<'a> {
    /// Its beginning: position, annotation or a factor's head.
    Begin(&'a Column),
    /// Strings, or a factor's levels.
    Texts(&'a Texts),
    /// Where a factor's codes begin is filled in.
    Codes,
    /// Numbers or codes.
    Numbers(&'a Column, bool),
}

/// Some rows of a step.
struct Piece {
    step: usize,
    rows: Range<usize>,
}

/// Writes a table to a sink, from its position on; gives the bytes written.
///
/// The file has one chunk, as those of fst 0.9.9. Strings are written as UTF-8, latin1 is
/// recoded; those of an unknown encoding stay as they are. Keys are written where
/// [`WriteOptions::keys`] or the table names them. The same table gives the same bytes, whatever
/// the number of threads.
///
/// # Errors
/// `Usage` for columns of different lengths, data that are not of their column's kind, codes
/// without a level, keys by which the rows are not sorted, and `compress` over 100; `Io` where the
/// sink fails, and `Cancelled`: what was written is then no valid file.
///
/// # Example
/// ```
/// use tare::fst::{self, Column, Data, Table, WriteOptions};
///
/// let table = Table {
///     columns: vec![
///         Column::new("carrier", Data::Text([Some("UA"), None].into_iter().collect())),
///         Column::new("distance", Data::Double(vec![1089.5, 229.0])),
///     ],
///     rows: 2,
///     keys: vec![],
/// };
/// let mut file = std::io::Cursor::new(Vec::new());
/// fst::write(&table, &mut file, &WriteOptions::default())?;
/// assert_eq!(table, fst::open(file.into_inner())?.read(None, None)?);
/// # Ok::<(), tare::Error>(())
/// ```
pub fn write<W: Write + Seek>(table: &Table, sink: W, options: &WriteOptions) -> Result<u64> {
    let family = Family::of(options.compress)?;
    proof::check(table)?;
    let keys = proof::keys(table, options.keys.as_deref())?;
    let steps = steps(table, family);
    let pieces = pieces(&steps);
    let mut out = Sink::new(sink)?;
    let positions = vec![0; table.columns.len()];
    out.put(&heads::build(table, &keys, &positions))?;
    let mut plan = Plan {
        steps: &steps,
        next: 0,
        positions: Vec::new(),
        head: 0,
        open: None,
    };
    let make = |index: usize, press: &mut Press| match pieces.get(index) {
        Some(piece) => encode_piece(family, &steps, piece, press),
        None => Ok(Encoded::default()),
    };
    let threads = options
        .threads
        .unwrap_or_else(crate::compress::default_threads);
    pool::ordered(
        pieces.len(),
        threads,
        options.cancel.as_ref(),
        make,
        |index, encoded| {
            if let Some(piece) = pieces.get(index) {
                plan.advance(piece.step, family, &mut out)?;
                plan.add(&encoded, &mut out)?;
            }
            Ok(())
        },
    )?;
    plan.advance(steps.len(), family, &mut out)?;
    let total = out.at;
    out.patch(0, &heads::build(table, &keys, &plan.positions))?;
    out.inner.flush().map_err(cannot)?;
    Ok(total)
}

/// The same into memory.
///
/// # Errors
/// As [`write()`].
///
/// # Example
/// ```
/// use tare::fst::{self, Column, Data, Table, WriteOptions};
///
/// let columns = vec![Column::new("n", Data::Int(vec![1, 2, 3]))];
/// let table = Table { columns, rows: 3, keys: vec![0] };
/// let file = fst::to_vec(&table, &WriteOptions::default())?;
/// assert_eq!([0], fst::open(file)?.keys());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn to_vec(table: &Table, options: &WriteOptions) -> Result<Vec<u8>> {
    let mut sink = Cursor::new(Vec::new());
    write(table, &mut sink, options)?;
    Ok(sink.into_inner())
}

fn cannot(below: std::io::Error) -> Error {
    let text = format!("cannot write: {below}");
    Error::new(ErrorKind::Io, text)
        .with_format(FORMAT)
        .with_source(below)
}

/// What is done for each column, in the order of the file.
fn steps(table: &Table, family: Family) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for column in &table.columns {
        steps.push(Step::Begin(column));
        match &column.data {
            Data::Text(texts) => steps.push(Step::Texts(texts)),
            Data::Factor { levels, .. } => {
                steps.push(Step::Texts(levels));
                steps.push(Step::Codes);
                let run = is_run(family, Form::Factor, levels.len());
                steps.push(Step::Numbers(column, run));
            }
            _ => steps.push(Step::Numbers(column, is_run(family, column.kind.form(), 0))),
        }
    }
    steps
}

/// All rows in pieces of some blocks.
fn pieces(steps: &[Step<'_>]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (step, what) in steps.iter().enumerate() {
        let (rows, per) = match what {
            Step::Texts(texts) => (texts.len(), usize::try_from(PER).unwrap_or(1)),
            Step::Numbers(column, _) => (column.data.len(), column.kind.form().per_block()),
            Step::Begin(_) | Step::Codes => continue,
        };
        let stride = per.saturating_mul(GROUP);
        for start in (0..rows).step_by(stride) {
            let end = start.saturating_add(stride).min(rows);
            pieces.push(Piece {
                step,
                rows: start..end,
            });
        }
    }
    pieces
}

fn encode_piece(
    family: Family,
    steps: &[Step<'_>],
    piece: &Piece,
    press: &mut Press,
) -> Result<Encoded> {
    fn part<'a, T>(values: &'a [T], rows: &Range<usize>) -> &'a [T] {
        values.get(rows.clone()).unwrap_or_default()
    }
    let rows = &piece.rows;
    let mut run = Encoded::default();
    match steps.get(piece.step) {
        Some(Step::Texts(texts)) => encode::strings(family, texts, rows.clone(), press),
        Some(Step::Numbers(column, false)) => {
            let form = column.kind.form();
            match &column.data {
                Data::Logical(values) | Data::Int(values) | Data::Factor { codes: values, .. } => {
                    encode::numbers(family, form, part(values, rows), press)
                }
                Data::Double(values) => encode::numbers(family, form, part(values, rows), press),
                Data::Int64(values) => encode::numbers(family, form, part(values, rows), press),
                Data::Raw(values) => encode::numbers(family, form, part(values, rows), press),
                Data::Text(_) => Ok(run),
            }
        }
        Some(Step::Numbers(column, true)) => {
            match &column.data {
                Data::Logical(values) | Data::Int(values) | Data::Factor { codes: values, .. } => {
                    store(part(values, rows), &mut run.bytes);
                }
                Data::Double(values) => store(part(values, rows), &mut run.bytes),
                Data::Int64(values) => store(part(values, rows), &mut run.bytes),
                Data::Raw(values) => store(part(values, rows), &mut run.bytes),
                Data::Text(_) => {}
            }
            Ok(run)
        }
        _ => Ok(run),
    }
}

/// Where the bytes go, counted from where writing began.
struct Sink<W> {
    inner: W,
    start: u64,
    at: u64,
}

impl<W: Write + Seek> Sink<W> {
    fn new(mut inner: W) -> Result<Self> {
        let start = inner.stream_position().map_err(cannot)?;
        Ok(Self {
            inner,
            start,
            at: 0,
        })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.inner.write_all(bytes).map_err(cannot)?;
        self.at = self.at.saturating_add(bytes.len() as u64);
        Ok(())
    }

    /// Writes over what is there, and goes back to the end.
    fn patch(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        let place = SeekFrom::Start(self.start.saturating_add(at));
        self.inner.seek(place).map_err(cannot)?;
        self.inner.write_all(bytes).map_err(cannot)?;
        let end = SeekFrom::Start(self.start.saturating_add(self.at));
        self.inner.seek(end).map_err(cannot)?;
        Ok(())
    }
}

/// A part with an index, of which blocks are being written.
struct Open {
    /// What offsets count from.
    base: u64,
    kind: Indexed,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Indexed {
    Numbers(Form),
    Texts { compressed: bool },
}

/// The place of writing in the steps.
struct Plan<'a> {
    steps: &'a [Step<'a>],
    next: usize,
    positions: Vec<u64>,
    /// Where the head of the factor at hand lies.
    head: u64,
    open: Option<Open>,
}

impl Plan<'_> {
    /// Ends what is open and begins every step up to `step`.
    fn advance<W: Write + Seek>(
        &mut self,
        step: usize,
        family: Family,
        out: &mut Sink<W>,
    ) -> Result<()> {
        while self.next <= step {
            if let Some(open) = self.open.take() {
                close(&open, out)?;
            }
            let Some(what) = self.steps.get(self.next).copied() else {
                break;
            };
            self.next = self.next.saturating_add(1);
            match what {
                Step::Begin(column) => self.begin(column, out)?,
                Step::Codes => {
                    let codes = out.at;
                    out.patch(self.head.saturating_add(8), &codes.to_le_bytes())?;
                }
                Step::Texts(texts) if texts.is_empty() => {}
                Step::Texts(texts) => {
                    let compressed = family != Family::Packed;
                    let base = out.at;
                    let flags = mark(texts).wrapping_shl(1) | u32::from(compressed);
                    out.put(&flags.to_le_bytes())?;
                    out.put(&u32::try_from(PER).unwrap_or(0).to_le_bytes())?;
                    let blocks = (texts.len() as u64).div_ceil(PER);
                    let width = if compressed { 16 } else { 8 };
                    put_zeros(blocks.saturating_mul(width), out)?;
                    self.open = Some(Open {
                        base,
                        kind: Indexed::Texts { compressed },
                        entries: Vec::new(),
                    });
                }
                Step::Numbers(column, _) if column.data.is_empty() => {}
                Step::Numbers(column, true) => {
                    put_unannotated(column, out)?;
                    out.put(&[0; 8])?;
                }
                Step::Numbers(column, false) => {
                    put_unannotated(column, out)?;
                    let form = column.kind.form();
                    let base = out.at;
                    let blocks = column.data.len().div_ceil(form.per_block());
                    put_zeros((blocks as u64).saturating_add(2).saturating_mul(8), out)?;
                    self.open = Some(Open {
                        base,
                        kind: Indexed::Numbers(form),
                        entries: Vec::new(),
                    });
                }
            }
        }
        Ok(())
    }

    /// The beginning of a column.
    fn begin<W: Write + Seek>(&mut self, column: &Column, out: &mut Sink<W>) -> Result<()> {
        self.positions.push(out.at);
        match &column.data {
            Data::Text(_) => Ok(()),
            Data::Factor { levels, .. } => {
                self.head = out.at;
                let count = u32::try_from(levels.len()).map_err(|_| {
                    let text = format!("a factor with {} levels", levels.len());
                    Error::new(ErrorKind::Usage, text).with_format(FORMAT)
                })?;
                out.put(&1_u32.to_le_bytes())?;
                out.put(&count.to_le_bytes())?;
                out.put(&[0; 8])
            }
            _ => match &column.zone {
                None => out.put(&[0; 4]),
                Some(zone) => {
                    let len = u32::try_from(zone.len()).unwrap_or(u32::MAX);
                    out.put(&(len | 1 << 31).to_le_bytes())?;
                    out.put(zone.as_bytes())
                }
            },
        }
    }

    /// Adds blocks to what is open.
    fn add<W: Write + Seek>(&mut self, encoded: &Encoded, out: &mut Sink<W>) -> Result<()> {
        if let Some(open) = &mut self.open {
            open.entries.extend_from_slice(&encoded.entries);
        }
        out.put(&encoded.bytes)
    }
}

/// The codes of a factor begin as a column of numbers does, with an annotation that is never there.
fn put_unannotated<W: Write + Seek>(column: &Column, out: &mut Sink<W>) -> Result<()> {
    match column.kind.form() {
        Form::Factor => out.put(&[0; 4]),
        _ => Ok(()),
    }
}

fn put_zeros<W: Write + Seek>(count: u64, out: &mut Sink<W>) -> Result<()> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    out.put(&vec![0; count])
}

/// Fills in the index of a part whose blocks are written.
fn close<W: Write + Seek>(open: &Open, out: &mut Sink<W>) -> Result<()> {
    let mut index = Vec::new();
    match open.kind {
        Indexed::Numbers(form) => {
            let largest = open
                .entries
                .iter()
                .map(|entry| entry.len)
                .max()
                .unwrap_or_default();
            let per = u32::try_from(form.per_block()).unwrap_or(0);
            index.extend_from_slice(&u32::try_from(largest).unwrap_or(u32::MAX).to_le_bytes());
            index.extend_from_slice(&per.to_le_bytes());
            let mut at = (open.entries.len() as u64)
                .saturating_add(2)
                .saturating_mul(8);
            for entry in &open.entries {
                let word = at | u64::from(entry.code).wrapping_shl(48);
                index.extend_from_slice(&word.to_le_bytes());
                at = at.saturating_add(entry.len);
            }
            if at >> 48 != 0 {
                return Err(fault(ErrorKind::Limit, "a column of 256 TiB", out.at));
            }
            index.extend_from_slice(&at.to_le_bytes());
            out.patch(open.base, &index)
        }
        Indexed::Texts { compressed } => {
            let width = if compressed { 16 } else { 8 };
            let mut at = (open.entries.len() as u64)
                .saturating_mul(width)
                .saturating_add(8);
            for entry in &open.entries {
                at = at.saturating_add(entry.len);
                index.extend_from_slice(&at.to_le_bytes());
                if compressed {
                    index.extend_from_slice(&entry.code.to_le_bytes());
                    index.extend_from_slice(&entry.text.to_le_bytes());
                    index.extend_from_slice(&entry.sizes.to_le_bytes());
                }
            }
            out.patch(open.base.saturating_add(8), &index)
        }
    }
}
