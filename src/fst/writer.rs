//! Writing a table: columns in order, blocks encoded by threads, positions filled in at the end.

use std::io::{Cursor, Seek, Write};
use std::ops::Range;

use super::assemble::{Plan, Sink, Step};
use super::element::store;
use super::encode::{self, is_run, Encoded, Family, Press};
use super::heads;
use super::kind::Form;
use super::options::WriteOptions;
use super::pool;
use super::proof;
use super::strings::PER;
use super::table::{Data, Table};
use crate::Result;

/// Blocks that one thread encodes at a time.
const GROUP: usize = 16;

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
    let mut plan = Plan::new(&steps);
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
    out.patch(0, &heads::build(table, &keys, plan.positions()))?;
    out.flush()?;
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
