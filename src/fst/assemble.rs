//! The parts of a file put behind each other; what depends on their length is filled in later.

use std::io::{Seek, SeekFrom, Write};

use super::encode::{mark, Encoded, Entry, Family};
use super::fault::{fault, FORMAT};
use super::kind::Form;
use super::strings::PER;
use super::table::{Column, Data};
use super::texts::Texts;
use crate::{Error, ErrorKind, Result};

/// One part of a column.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    /// Its beginning: position, annotation or a factor's head.
    Begin(&'a Column),
    /// Strings, or a factor's levels.
    Texts(&'a Texts),
    /// Where a factor's codes begin is filled in.
    Codes,
    /// Numbers or codes.
    Numbers(&'a Column, bool),
}

fn cannot(below: std::io::Error) -> Error {
    let text = format!("cannot write: {below}");
    Error::new(ErrorKind::Io, text)
        .with_format(FORMAT)
        .with_source(below)
}

/// Where the bytes go, counted from where writing began.
pub(super) struct Sink<W> {
    inner: W,
    start: u64,
    pub(super) at: u64,
}

impl<W: Write + Seek> Sink<W> {
    pub(super) fn new(mut inner: W) -> Result<Self> {
        let start = inner.stream_position().map_err(cannot)?;
        Ok(Self {
            inner,
            start,
            at: 0,
        })
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.inner.write_all(bytes).map_err(cannot)?;
        self.at = self.at.saturating_add(bytes.len() as u64);
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.inner.flush().map_err(cannot)
    }

    /// Writes over what is there, and goes back to the end.
    pub(super) fn patch(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
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
pub(super) struct Plan<'a> {
    steps: &'a [Step<'a>],
    next: usize,
    positions: Vec<u64>,
    /// Where the head of the factor at hand lies.
    head: u64,
    open: Option<Open>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(steps: &'a [Step<'a>]) -> Self {
        Self {
            steps,
            next: 0,
            positions: Vec::new(),
            head: 0,
            open: None,
        }
    }

    /// Where the columns that were begun lie.
    pub(super) fn positions(&self) -> &[u64] {
        &self.positions
    }

    /// Ends what is open and begins every step up to `step`.
    pub(super) fn advance<W: Write + Seek>(
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
    pub(super) fn add<W: Write + Seek>(
        &mut self,
        encoded: &Encoded,
        out: &mut Sink<W>,
    ) -> Result<()> {
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
