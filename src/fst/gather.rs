//! The columns of one read: planned, counted against the limits, filled by threads.

use std::ops::Range;

use super::codec::Scratch;
use super::element::Element;
use super::fault::{malformed, too_much};
use super::joined;
use super::kind::Form;
use super::layout::Place;
use super::numeric::{check_codes, check_logicals, Numeric};
use super::options::ReadOptions;
use super::packing::NA;
use super::pool::{run, Job};
use super::reader::{ColumnInfo, Parts};
use super::source::{zeros, Source};
use super::strings::{self, Block};
use super::table::{Column, Data};
use super::texts::{TextEncoding, Texts};
use crate::compress::ReadAt;
use crate::Result;

/// What is plain memory, whatever the file's size.
const SLACK: u64 = 64 << 20;
/// Rows of strings that are best read together.
const STRIDE: u64 = strings::PER * 16;

/// The numbers of a column while they are read.
enum Numbers {
    None,
    Int(Vec<i32>),
    Double(Vec<f64>),
    Int64(Vec<i64>),
    Byte(Vec<u8>),
}

/// One column while it is read.
struct Work<'a> {
    info: &'a ColumnInfo,
    at: u64,
    parts: Parts,
    numbers: Numbers,
    /// Where strings end, the first entry 0; empty where there are none.
    ends: Vec<i32>,
    blocks: Vec<Block>,
    text: Vec<u8>,
    /// Which strings: rows, or all levels.
    strings: Range<u64>,
}

/// A read of some columns.
pub(super) struct Gather<'a, S> {
    source: &'a Source<S>,
    options: &'a ReadOptions,
    all: u64,
    rows: Range<u64>,
    columns: Vec<Work<'a>>,
    taken: u64,
}

impl<'a, S: ReadAt + Sync> Gather<'a, S> {
    pub(super) fn new(
        source: &'a Source<S>,
        options: &'a ReadOptions,
        all: u64,
        rows: Range<u64>,
    ) -> Self {
        Self {
            source,
            options,
            all,
            rows,
            columns: Vec::new(),
            taken: 0,
        }
    }

    /// Plans a column and takes the memory for its numbers.
    pub(super) fn add(&mut self, place: &Place, info: &'a ColumnInfo) -> Result<()> {
        let parts = Parts::open(self.source, place, self.all)?;
        let form = info.kind.form();
        let count = self.rows.end.saturating_sub(self.rows.start);
        let strings = match form {
            Form::Text => self.rows.clone(),
            Form::Factor => 0..parts.levels,
            _ => 0..0,
        };
        let ends = strings.end.saturating_sub(strings.start);
        let numbers = count.saturating_mul(form.size() as u64);
        self.take(numbers.saturating_add(ends.saturating_mul(4)), place.at)?;
        let len = Self::narrow(count, place.at)?;
        let ends = if strings.is_empty() {
            0
        } else {
            ends.saturating_add(1)
        };
        let at = place.at;
        self.columns.push(Work {
            info,
            at,
            parts,
            numbers: match form {
                Form::Text => Numbers::None,
                Form::Factor | Form::Int | Form::Logical => Numbers::Int(zeros(len, at)?),
                Form::Double => Numbers::Double(zeros(len, at)?),
                Form::Int64 => Numbers::Int64(zeros(len, at)?),
                Form::Byte => Numbers::Byte(zeros(len, at)?),
            },
            ends: zeros(Self::narrow(ends, at)?, at)?,
            blocks: Vec::new(),
            text: Vec::new(),
            strings,
        });
        Ok(())
    }

    fn narrow(count: u64, at: u64) -> Result<usize> {
        usize::try_from(count).map_err(|_| too_much(format!("{count} values"), at))
    }

    /// Counts memory against the limits before it is taken.
    fn take(&mut self, bytes: u64, at: u64) -> Result<()> {
        self.taken = self.taken.saturating_add(bytes);
        let budget = self.options.memory_budget.filter(|most| self.taken > *most);
        if let Some(budget) = budget {
            let text = format!(
                "{} bytes or more, beyond memory_budget of {budget}",
                self.taken
            );
            return Err(too_much(text, at));
        }
        let ratio = self.options.max_ratio.unwrap_or(u64::MAX);
        let most = self.source.size.saturating_mul(ratio).saturating_add(SLACK);
        if self.taken > most {
            let text = format!(
                "{} bytes or more of a file of {}, beyond max_ratio of {ratio}",
                self.taken, self.source.size
            );
            return Err(too_much(text, at));
        }
        Ok(())
    }

    /// Reads them all.
    pub(super) fn finish(mut self) -> Result<Vec<Column>> {
        self.read_numbers()?;
        self.take_texts()?;
        self.read_texts()?;
        self.columns.into_iter().map(Work::finish).collect()
    }

    /// Numbers of all columns, and where strings end.
    fn read_numbers(&mut self) -> Result<()> {
        let mut jobs: Vec<Job<'_, Vec<Block>>> = Vec::new();
        let mut owners = Vec::new();
        let (source, rows) = (self.source, &self.rows);
        for (owner, work) in self.columns.iter_mut().enumerate() {
            let form = work.info.kind.form();
            let before = jobs.len();
            if let Some(place) = &work.parts.numeric {
                let check = Check {
                    form,
                    levels: work.parts.levels,
                    at: work.at,
                };
                match &mut work.numbers {
                    Numbers::None => {}
                    Numbers::Int(into) if form == Form::Factor && work.parts.levels == 0 => {
                        into.fill(NA);
                    }
                    Numbers::Int(into) => {
                        let check = move |values: &[i32]| check.check(values);
                        split(source, place, rows, into, check, &mut jobs);
                    }
                    Numbers::Double(into) => {
                        split(source, place, rows, into, |_| Ok(()), &mut jobs);
                    }
                    Numbers::Int64(into) => split(source, place, rows, into, |_| Ok(()), &mut jobs),
                    Numbers::Byte(into) => split(source, place, rows, into, |_| Ok(()), &mut jobs),
                }
            } else if let (Form::Factor, Numbers::Int(into)) = (form, &mut work.numbers) {
                into.fill(NA);
            }
            if let Some(place) = &work.parts.texts {
                let into = work.ends.get_mut(1..).unwrap_or_default();
                split_ends(source, place, &work.strings, into, &mut jobs);
            }
            owners.resize(
                owners
                    .len()
                    .saturating_add(jobs.len().saturating_sub(before)),
                owner,
            );
        }
        let done = run(jobs, self.options.threads, self.options.cancel.as_ref())?;
        for (owner, blocks) in owners.into_iter().zip(done) {
            if let Some(work) = self.columns.get_mut(owner) {
                work.blocks.extend(blocks);
            }
        }
        Ok(())
    }

    /// Memory for the text of each column, once it is known how much there is.
    fn take_texts(&mut self) -> Result<()> {
        for column in 0..self.columns.len() {
            let Some(work) = self.columns.get(column) else {
                break;
            };
            let total: u64 = work.blocks.iter().map(|block| block.take as u64).sum();
            let at = work.at;
            self.take(total, at)?;
            let len = Self::narrow(total, at)?;
            if let Some(work) = self.columns.get_mut(column) {
                work.text = zeros(len, at)?;
            }
        }
        Ok(())
    }

    /// Text of all columns.
    fn read_texts(&mut self) -> Result<()> {
        let mut jobs: Vec<Job<'_, ()>> = Vec::new();
        let source = self.source;
        for work in &mut self.columns {
            let mut rest = work.text.as_mut_slice();
            for group in work.blocks.chunks(16) {
                let total = group.iter().map(|block| block.take).sum();
                let (mut into, behind) = std::mem::take(&mut rest)
                    .split_at_mut_checked(total)
                    .unwrap_or_default();
                rest = behind;
                jobs.push(Box::new(move |scratch| {
                    for block in group {
                        let (part, behind) = std::mem::take(&mut into)
                            .split_at_mut_checked(block.take)
                            .unwrap_or_default();
                        into = behind;
                        block.read_text(source, part, scratch)?;
                    }
                    Ok(())
                }));
            }
        }
        run(jobs, self.options.threads, self.options.cancel.as_ref()).map(drop)
    }
}

/// What the numbers of a column must be.
#[derive(Clone, Copy)]
struct Check {
    form: Form,
    levels: u64,
    at: u64,
}

impl Check {
    fn check(self, values: &[i32]) -> Result<()> {
        match self.form {
            Form::Factor => {
                let levels = usize::try_from(self.levels).unwrap_or(usize::MAX);
                check_codes(values, levels, self.at)
            }
            Form::Logical => check_logicals(values, self.at),
            _ => Ok(()),
        }
    }
}

/// Cuts rows at multiples of `stride`.
fn cuts(rows: &Range<u64>, stride: u64) -> impl Iterator<Item = Range<u64>> {
    let (mut start, end) = (rows.start, rows.end);
    std::iter::from_fn(move || {
        let from = start;
        let next = from
            .checked_div(stride)?
            .saturating_add(1)
            .saturating_mul(stride);
        start = next.min(end);
        (from < end).then_some(from..start)
    })
}

/// Pieces of work that fill `into` with the numbers of `rows`.
fn split<'a, S: ReadAt + Sync, T: Element>(
    source: &'a Source<S>,
    place: &'a Numeric,
    rows: &Range<u64>,
    into: &'a mut [T],
    check: impl Fn(&[T]) -> Result<()> + Copy + Send + 'a,
    jobs: &mut Vec<Job<'a, Vec<Block>>>,
) {
    let mut rest = into;
    for part in cuts(rows, place.stride()) {
        let count = usize::try_from(part.end.saturating_sub(part.start)).unwrap_or(0);
        let (values, behind) = std::mem::take(&mut rest)
            .split_at_mut_checked(count)
            .unwrap_or_default();
        rest = behind;
        jobs.push(Box::new(move |scratch: &mut Scratch| {
            place.read(source, part, values, scratch)?;
            check(values)?;
            Ok(Vec::new())
        }));
    }
}

/// Pieces of work that find where strings end.
fn split_ends<'a, S: ReadAt + Sync>(
    source: &'a Source<S>,
    place: &'a strings::Place,
    rows: &Range<u64>,
    into: &'a mut [i32],
    jobs: &mut Vec<Job<'a, Vec<Block>>>,
) {
    let mut rest = into;
    for part in cuts(rows, STRIDE) {
        let count = usize::try_from(part.end.saturating_sub(part.start)).unwrap_or(0);
        let (ends, behind) = std::mem::take(&mut rest)
            .split_at_mut_checked(count)
            .unwrap_or_default();
        rest = behind;
        jobs.push(Box::new(move |scratch: &mut Scratch| {
            place.read_ends(source, part, ends, scratch)
        }));
    }
}

impl Work<'_> {
    fn finish(self) -> Result<Column> {
        let encoding = self.parts.texts.as_ref().map(|place| place.encoding);
        let mut texts = Texts::new(encoding.unwrap_or(TextEncoding::Native));
        if !self.ends.is_empty() {
            texts.bytes = self.text;
            texts.validity = joined::validity(&self.blocks, self.ends.len().saturating_sub(1));
            let total = texts.bytes.len() as u64;
            texts.offsets = joined::offsets(self.ends, &self.blocks, total);
        }
        let data = match (self.info.kind.form(), self.numbers) {
            (Form::Factor, Numbers::Int(codes)) => Data::Factor {
                codes,
                levels: texts,
            },
            (Form::Logical, Numbers::Int(values)) => Data::Logical(values),
            (_, Numbers::Int(values)) => Data::Int(values),
            (_, Numbers::Double(values)) => Data::Double(values),
            (_, Numbers::Int64(values)) => Data::Int64(values),
            (_, Numbers::Byte(values)) => Data::Raw(values),
            (Form::Text, Numbers::None) => Data::Text(texts),
            (_, Numbers::None) => return Err(malformed("a column without values", self.at)),
        };
        Ok(Column {
            name: self.info.name.clone(),
            kind: self.info.kind,
            scale: self.info.scale,
            zone: self.info.zone.clone(),
            data,
        })
    }
}
