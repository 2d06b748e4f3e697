//! What a file is, told by its headers and its table, without decoding.

use super::container::{Step, Walker};
use super::input::{unreadable, Input};
use super::locate::listed;
use super::options::check_cancel;
use super::read_at::ReadAt;
use super::sniff::sniff;
use super::sparse::Sparse;
use super::{gzip, lz4, seek_table, walker, Completeness, Kind, Layout, ReadOptions};
use crate::Result;

/// What is known of a file that was not decoded. None stands where only decoding would tell: of
/// ordinary gzip members, bzip2 and xz, and for the plain size of zstd and lz4 frames whose
/// headers do not say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// What its bytes are.
    pub kind: Kind,
    /// `Seekable` with a table, an index, or of BGZF; `Single` for one frame; None else.
    pub layout: Option<Layout>,
    /// zstd frames, lz4 blocks (of linked ones and legacy: frames) or BGZF members that hold
    /// something; 1 without a compressor.
    pub units: Option<u64>,
    /// Plain bytes, as the headers or the table claim them.
    pub plain_bytes: Option<u64>,
    /// Bytes of the file.
    pub stored_bytes: u64,
    /// Whether a seek table or index ends it that covers all of it.
    pub has_index: bool,
    /// What proves the end.
    pub completeness: Option<Completeness>,
    /// Whether it looks like a file of this crate that was cut between two chunks.
    pub looks_cut: bool,
}

/// What a walk found; without any, nothing is known.
#[derive(Default)]
pub(super) struct Found {
    pub(super) layout: Option<Layout>,
    pub(super) units: Option<u64>,
    pub(super) plain_bytes: Option<u64>,
    pub(super) has_index: bool,
    pub(super) completeness: Option<Completeness>,
    pub(super) looks_cut: bool,
}

/// Looks at the headers of a file, and at its table if one ends it.
///
/// Only headers are read, a few bytes of each frame, block or member: what is between them is
/// gone past. With a table, only that and the first bytes of what it lists.
///
/// # Errors
/// `Truncated` or `Malformed` with the offset, as far as headers show it; `Unsupported` for a
/// dictionary or an old version; `Io`.
///
/// # Example
/// ```
/// use tare::compress::{compress, survey, Compressor, ReadOptions, WriteOptions};
///
/// let stored = compress(&[7; 5000], &Compressor::parse("zstd")?, &WriteOptions::default())?;
/// let found = survey(&stored, &ReadOptions::default())?;
/// assert_eq!((Some(1), Some(5000)), (found.units, found.plain_bytes));
/// # Ok::<(), tare::Error>(())
/// ```
pub fn survey<R: ReadAt>(source: &R, options: &ReadOptions) -> Result<Survey> {
    let size = source.size().map_err(|error| unreadable(error, 0))?;
    let mut input = Sparse::new(source, size);
    let kind = match options.kind {
        Some(kind) => kind,
        None => sniff(&mut input)?,
    };
    let found = find(source, size, kind, &mut input, options);
    let found = found.map_err(|error| error.with_format(kind.name()))?;
    Ok(Survey {
        kind,
        layout: found.layout,
        units: found.units,
        plain_bytes: found.plain_bytes,
        stored_bytes: size,
        has_index: found.has_index,
        completeness: found.completeness,
        looks_cut: found.looks_cut,
    })
}

fn find<R: ReadAt>(
    source: &R,
    size: u64,
    kind: Kind,
    input: &mut Sparse<'_, R>,
    options: &ReadOptions,
) -> Result<Found> {
    match kind {
        Kind::None => Ok(Found {
            units: Some(1),
            plain_bytes: Some(size),
            completeness: Some(Completeness::Unproven),
            ..Found::default()
        }),
        Kind::Zstd | Kind::Lz4 => {
            if let Some(entries) = seek_table::find(source, size, kind)? {
                let chunks = listed(source, &mut *walker(kind, options), input, &entries)?;
                let plain = chunks.iter().map(|chunk| chunk.plain_size);
                return Ok(Found {
                    layout: Some(Layout::Seekable),
                    units: Some(chunks.len() as u64),
                    plain_bytes: Some(plain.fold(0, u64::saturating_add)),
                    has_index: true,
                    completeness: Some(Completeness::Proven),
                    looks_cut: false,
                });
            }
            if kind == Kind::Lz4 {
                return lz4::survey(input, options);
            }
            // However long frames are, nothing of them is held.
            let options = ReadOptions {
                max_frame: usize::MAX,
                read_ahead: true,
                ..options.clone()
            };
            walk(&mut *walker(kind, &options), input, &options, false)
        }
        Kind::Gzip => {
            // A unit a member.
            let options = ReadOptions {
                read_ahead: false,
                ..options.clone()
            };
            walk(&mut gzip::Walk::new(&options), input, &options, true)
        }
        Kind::Bz2 | Kind::Xz | Kind::Zlib => Ok(Found::default()),
    }
}

/// Goes from unit to unit; what comes without a length ends all knowledge.
fn walk(
    walker: &mut dyn Walker,
    input: &mut dyn Input,
    options: &ReadOptions,
    seekable: bool,
) -> Result<Found> {
    let mut frames = 0_u64;
    let mut units = 0_u64;
    let mut plain = Some(0_u64);
    loop {
        check_cancel(options.cancel.as_ref())?;
        match walker.step(input)? {
            Step::Unit(unit) => {
                frames = frames.saturating_add(1);
                units = units.saturating_add(u64::from(unit.claim != Some(0)));
                plain = plain
                    .zip(unit.claim)
                    .map(|(sum, claim)| sum.saturating_add(claim));
                input.advance(unit.stored);
            }
            Step::Passed => {}
            Step::End => break,
            Step::Serial | Step::Wait => return Ok(Found::default()),
        }
    }
    let layout = match frames {
        _ if seekable => Some(Layout::Seekable),
        1 => Some(Layout::Single),
        _ => None,
    };
    Ok(Found {
        layout,
        units: Some(units),
        plain_bytes: plain,
        has_index: false,
        completeness: Some(walker.completeness()),
        looks_cut: walker.looks_cut(),
    })
}
