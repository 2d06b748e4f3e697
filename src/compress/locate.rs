//! Finding the chunks of a file: by its table, else by walking over it.

use std::sync::Arc;

use super::chunked::{Crew, Ring};
use super::container::{Decoding, Listed, Make, Step, Unit, UnitDecoder, Walker};
use super::input::{unreadable, Input};
use super::read_at::{append, ReadAt};
use super::seek_table::Entry;
use super::sniff::sniff;
use super::sparse::Sparse;
use super::{options, seek_table, walker, ChunkInfo, Completeness, Kind, ReadOptions};
use crate::{Error, ErrorKind, Result};

/// Plain bytes in a chunk of a file that is not compressed.
const PLAIN_CHUNK: u64 = 1 << 20;

/// Enough of a unit to see how much it holds.
const HEAD_BYTES: usize = 18;

/// What is needed to read any part of a file.
pub(super) struct Located {
    pub(super) kind: Kind,
    pub(super) chunks: Vec<ChunkInfo>,
    pub(super) completeness: Completeness,
    pub(super) looks_cut: bool,
    pub(super) make: Arc<Make<dyn UnitDecoder>>,
}

pub(super) fn locate<R: ReadAt>(source: &R, options: &ReadOptions) -> Result<Located> {
    let size = source.size().map_err(|error| unreadable(error, 0))?;
    // Headers are read, and what lies between only where it must be decoded.
    let mut input = Sparse::new(source, size);
    let kind = match options.kind {
        Some(kind) => kind,
        None => sniff(&mut input)?,
    };
    let mut walker = walker(kind, options);
    let with_format = |error: Error| error.with_format(kind.name());
    let make = walker.decoder();
    let (chunks, completeness) = match kind {
        Kind::None => (plain_chunks(size), Completeness::Unproven),
        Kind::Zstd | Kind::Lz4 => {
            match seek_table::find(source, size, kind).map_err(with_format)? {
                Some(entries) => {
                    let chunks = listed(source, &mut *walker, &mut input, &entries);
                    let chunks = chunks.map_err(with_format)?;
                    (chunks, Completeness::Proven)
                }
                None => walk(&mut *walker, &mut input, options).map_err(with_format)?,
            }
        }
        _ => walk(&mut *walker, &mut input, options).map_err(with_format)?,
    };
    if options.strict && kind != Kind::None && completeness == Completeness::Unproven {
        let text = "ends at a frame boundary and nothing proves that this is the end";
        return Err(with_format(
            Error::new(ErrorKind::Truncated, text).with_offset(size),
        ));
    }
    Ok(Located {
        kind,
        chunks,
        completeness,
        looks_cut: completeness == Completeness::Unproven && walker.looks_cut(),
        make,
    })
}

fn plain_chunks(size: u64) -> Vec<ChunkInfo> {
    let mut chunks = Chunks::default();
    let mut at = 0_u64;
    while at < size {
        let bytes = size.saturating_sub(at).min(PLAIN_CHUNK);
        let unit = Unit {
            start: at,
            stored: usize::try_from(bytes).unwrap_or(usize::MAX),
            ..Unit::default()
        };
        chunks.push(&unit, bytes);
        at = at.saturating_add(bytes);
    }
    chunks.found
}

/// The chunks that a table lists. Each unit's first bytes are looked at: a read decodes only
/// what it touches, and would not see that a unit before it is longer than is said.
pub(super) fn listed<R: ReadAt>(
    source: &R,
    walker: &mut dyn Walker,
    input: &mut dyn Input,
    entries: &[Entry],
) -> Result<Vec<ChunkInfo>> {
    while matches!(walker.step(input)?, Step::Passed) {}
    let mut chunks = Chunks::default();
    let mut start = 0_u64;
    let mut head = Vec::new();
    let mut decoder = None;
    for &entry in entries {
        head.clear();
        append(source, start, HEAD_BYTES, &mut head).map_err(|error| unreadable(error, start))?;
        let listed = match entry.stored {
            0 if entry.plain == 0 => Ok(Listed::Nothing),
            _ => walker.listed(entry, start, &head),
        };
        match listed.map_err(|error| error.with_offset(start))? {
            Listed::Nothing => {}
            Listed::Unit(unit) => chunks.push(&unit, u64::from(entry.plain)),
            Listed::Doubtful(unit) => {
                let decoder = match &mut decoder {
                    Some(decoder) => decoder,
                    None => decoder.insert((walker.decoder())()?),
                };
                verify(source, &mut **decoder, &unit)?;
                chunks.push(&unit, u64::from(entry.plain));
            }
        }
        start = start.saturating_add(u64::from(entry.stored));
    }
    Ok(chunks.found)
}

/// Decodes a unit, to see whether it holds what is said.
fn verify<R: ReadAt>(source: &R, decoder: &mut dyn UnitDecoder, unit: &Unit) -> Result<()> {
    let (mut stored, mut plain) = (Vec::new(), Vec::new());
    let start = unit.start;
    append(source, start, unit.stored, &mut stored).map_err(|error| unreadable(error, start))?;
    decoder.decode(unit, &stored, &mut plain)?;
    if unit.claim == Some(plain.len() as u64) {
        return Ok(());
    }
    let text = "a table of units that hold other than it says";
    Err(Error::new(ErrorKind::Malformed, text).with_offset(start))
}

/// Walks over all units; those that do not say their plain size are decoded if that is allowed.
fn walk(
    walker: &mut dyn Walker,
    input: &mut dyn Input,
    options: &ReadOptions,
) -> Result<(Vec<ChunkInfo>, Completeness)> {
    let mut chunks = Chunks::default();
    let mut decoding: Option<Ring<Decoding>> = None;
    loop {
        options::check_cancel(options.cancel.as_ref())?;
        let unit = match walker.step(input)? {
            Step::Passed => continue,
            Step::End => break,
            Step::Serial => return Err(too_long(input.offset())),
            Step::Wait => match &mut decoding {
                Some(ring) => {
                    collect_all(ring, walker, &mut chunks)?;
                    continue;
                }
                None => return Err(no_sizes(input.offset())),
            },
            Step::Unit(unit) => unit,
        };
        if let (Some(claim), None) = (unit.claim, &decoding) {
            chunks.push(&unit, claim);
            input.advance(unit.stored);
            continue;
        }
        let ring = match &mut decoding {
            Some(ring) => ring,
            None if options.build_index => decoding.insert(ring(walker, options)?),
            None => return Err(no_sizes(unit.start)),
        };
        let mut cell = loop {
            match ring.cell() {
                Some(cell) => break cell,
                None => collect(ring, walker, &mut chunks)?,
            }
        };
        cell.input.extend_from_slice(input.ahead(unit.stored)?);
        input.advance(unit.stored);
        cell.note = unit;
        ring.submit(cell)?;
    }
    if let Some(mut ring) = decoding {
        collect_all(&mut ring, walker, &mut chunks)?;
    }
    Ok((chunks.found, walker.completeness()))
}

fn ring(walker: &dyn Walker, options: &ReadOptions) -> Result<Ring<Decoding>> {
    let crew = Crew::new(options::check_threads(options.threads)?);
    let work = Decoding(walker.decoder());
    Ok(Ring::new(work, crew, options.cancel.clone()))
}

fn collect_all(
    ring: &mut Ring<Decoding>,
    walker: &mut dyn Walker,
    chunks: &mut Chunks,
) -> Result<()> {
    while ring.in_work() > 0 {
        collect(ring, walker, chunks)?;
    }
    Ok(())
}

/// Takes one decoded unit, for its size.
fn collect(ring: &mut Ring<Decoding>, walker: &mut dyn Walker, chunks: &mut Chunks) -> Result<()> {
    if let Some((cell, result)) = ring.take()? {
        result?;
        walker.delivered(&cell.note, &cell.output)?;
        chunks.push(&cell.note, cell.output.len() as u64);
        ring.recycle(cell);
    }
    Ok(())
}

/// Chunks, and where the next one begins in the plain bytes.
#[derive(Default)]
struct Chunks {
    found: Vec<ChunkInfo>,
    plain: u64,
}

impl Chunks {
    fn push(&mut self, unit: &Unit, plain: u64) {
        if plain == 0 {
            return;
        }
        self.found.push(ChunkInfo {
            stored_offset: unit.start,
            stored_size: unit.stored as u64,
            plain_offset: self.plain,
            plain_size: plain,
            tag: unit.tag,
        });
        self.plain = self.plain.saturating_add(plain);
    }
}

fn too_long(at: u64) -> Error {
    let text = "one unit that is too long, or has no length, to be decoded for a part of it: \
                read it from its start, or write it anew with layout=seekable";
    Error::new(ErrorKind::Unsupported, text).with_offset(at)
}

fn no_sizes(at: u64) -> Error {
    let text = "its units do not say how much they hold: set build_index, and all is decoded once";
    Error::new(ErrorKind::Usage, text).with_offset(at)
}
