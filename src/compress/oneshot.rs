//! One buffer in, one buffer out.

use std::io::BufRead;

use super::chunked::Stop;
use super::input::Slice;
use super::options::{check_cancel, MAX_WINDOW};
use super::output::{Output, Placed};
use super::plan::{Plan, Way};
use super::{believed_bytes, gzip, lz4, none, sniff, zstd};
use super::{Compressor, Kind, Layout, ReadOptions, Reader, Trailing, WriteOptions, Writer};
use crate::{Error, ErrorKind, Result};

/// Compresses one buffer; the layout is `Single` unless one is named.
///
/// The same data, compressor and options give the same bytes, whatever the threads.
///
/// # Errors
/// `Usage` for options that the compressor does not have; `Limit` for memory; `Internal` if a
/// library fails.
///
/// # Example
/// ```
/// use tare::compress::{compress, decompress, Compressor, ReadOptions, WriteOptions};
///
/// let plain = b"weighed, and found wanting".repeat(100);
/// let stored = compress(&plain, &Compressor::parse("zstd:3")?, &WriteOptions::default())?;
/// assert!(stored.len() < plain.len() / 10);
/// assert_eq!(plain, decompress(&stored, &ReadOptions::default())?);
/// # Ok::<(), tare::Error>(())
/// ```
pub fn compress(plain: &[u8], compressor: &Compressor, options: &WriteOptions) -> Result<Vec<u8>> {
    let mut options = options.clone();
    options.content_size = Some(plain.len() as u64);
    if options.layout == Layout::Auto && compressor.layout == Layout::Auto {
        options.layout = Layout::Single;
    }
    let named = |error: Error| error.with_format(compressor.name());
    if options.index {
        let text = "one buffer has no place for an index: use a Writer";
        return Err(named(Error::new(ErrorKind::Usage, text)));
    }
    let planned = Plan::new(compressor, &options).map_err(named)?;
    let cancel = options.cancel.as_ref();
    let mut stored = Vec::new();
    match (planned.way, compressor.kind(), planned.layout) {
        // The whole member is here, so it need not be a stream.
        (Way::Stream(_), Kind::Gzip, Layout::Single) => {
            let level = compressor.level().unwrap_or_default();
            check_cancel(cancel)?;
            gzip::whole(plain, level, &mut stored, &Stop::of(cancel)).map_err(named)?;
        }
        (Way::Chunks(mut container), ..) if plain.len() < planned.chunk_size => {
            check_cancel(cancel)?;
            let lone = container.lone(plain, &mut stored, &Stop::of(cancel));
            lone.map_err(named)?;
        }
        _ => {
            let mut writer = Writer::new(stored, *compressor, options)?;
            writer.push(plain)?;
            return Ok(writer.finish()?.0);
        }
    }
    Ok(stored)
}

/// Decompresses one buffer, telling its compressor by its first bytes if none is named.
///
/// Memory follows what is decoded, never what the data claims.
///
/// # Errors
/// `Truncated`, `Malformed`, `ChecksumMismatch` or `Unsupported` with the byte offset in
/// `stored`; `Limit` if the result would be longer than `max_output`.
pub fn decompress(stored: &[u8], options: &ReadOptions) -> Result<Vec<u8>> {
    let mut output = Output::new(options.max_output);
    fill(stored, options, &mut output)?;
    Ok(output.into_vec())
}

/// Decompresses as [`decompress`] does, into `place` if that suffices.
///
/// # Errors
/// As `decompress`; what `place` holds then says nothing.
///
/// # Example
/// ```
/// use tare::compress::{compress, decompress_into, expected_bytes, Compressor, Placed, ReadOptions};
///
/// let stored = compress(b"weighed", &Compressor::parse("lz4")?, &Default::default())?;
/// let mut place = vec![0; expected_bytes(&stored, None).unwrap_or(0)];
/// match decompress_into(&stored, &mut place, &ReadOptions::default())? {
///     Placed::Lent(size) => assert_eq!(b"weighed", &place[..size]),
///     Placed::Own(_) => panic!("the header had the size"),
/// }
/// # Ok::<(), tare::Error>(())
/// ```
pub fn decompress_into(stored: &[u8], place: &mut [u8], options: &ReadOptions) -> Result<Placed> {
    let mut output = Output::lent(place, options.max_output);
    fill(stored, options, &mut output)?;
    Ok(output.placed())
}

/// How many bytes `stored` seems to decompress to: its own claim, where that is plausible.
#[must_use]
pub fn expected_bytes(stored: &[u8], kind: Option<Kind>) -> Option<usize> {
    let claim = match kind_of(stored, kind)? {
        Kind::None => Some(stored.len() as u64),
        Kind::Zstd => zstd::expect(stored),
        Kind::Lz4 => lz4::expect(stored),
        Kind::Gzip => gzip::expect(stored),
        Kind::Bz2 | Kind::Xz | Kind::Zlib => None,
    }?;
    let believed = believed_bytes(claim, stored.len());
    (believed as u64 == claim).then_some(believed)
}

/// The kind that is named, else the one that the first bytes say, skippable frames aside; None if
/// these are cut.
fn kind_of(stored: &[u8], named: Option<Kind>) -> Option<Kind> {
    named.or_else(|| sniff::sniff(&mut Slice::new(stored)).ok())
}

/// Decodes one buffer straight into the output; of a kind that its errors name.
type Direct = (Kind, fn(&[u8], &mut Output<'_>) -> Result<()>);

/// The decoder without threads and copies, where it suffices: short inputs, and one zstd frame.
fn direct(stored: &[u8], options: &ReadOptions) -> Option<Direct> {
    let usual = !options.strict
        && options.trailing == Trailing::Refuse
        && options.max_ratio.is_none()
        && options.max_window == MAX_WINDOW;
    if !usual {
        return None;
    }
    let short = stored.len() <= SHORT_BYTES || options.threads == Some(1);
    let kind = kind_of(stored, options.kind)?;
    match kind {
        Kind::None => Some((kind, none::decode)),
        Kind::Zstd if short || zstd::is_one_frame(stored) => Some((kind, zstd::decode)),
        Kind::Lz4 if short => Some((kind, lz4::decode)),
        Kind::Gzip if short => Some((kind, gzip::decode)),
        _ => None,
    }
}

/// Below this many stored bytes threads cost more than they gain.
const SHORT_BYTES: usize = 1 << 20;

fn fill(stored: &[u8], options: &ReadOptions, output: &mut Output<'_>) -> Result<()> {
    if let Some((kind, decode)) = direct(stored, options) {
        return decode(stored, output).map_err(|error| error.with_format(kind.name()));
    }
    let mut reader = Reader::new(stored, options.clone())?;
    loop {
        let ready = reader.fill()?;
        let size = ready.len();
        if size == 0 {
            return Ok(());
        }
        output.copy(ready, 0)?;
        reader.consume(size);
    }
}
