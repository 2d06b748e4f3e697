//! Reading a file of any format, told by its bytes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use crate::compress::{self, expected_bytes, CancelToken, Kind, Reader};
use crate::{Error, ErrorKind, Result};

use super::options::Format;
use super::rds::{self, Chunks, Slice, Stream, Window};
use super::source::{inflating, trailer, with_thread, wrapper, Direct, Source};
use super::{columns, qdata, qs, qs2, rdata, sniff, Columns, RObject, ReadOptions};

/// The largest plain size that is inflated into one buffer, which is quicker than a stream.
const ONE_BUFFER: usize = 64 << 20;
/// Plain bytes for each stored one, where nothing tells them.
const LIKELY_RATIO: u64 = 12;
/// Below so many stored bytes a thread costs more than it gains.
const SHORT_BYTES: usize = 128 << 10;

/// What was read, and what is known of the file.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) object: RObject,
    pub(super) format: Format,
    pub(super) wrapper: Kind,
    /// Bytes once the compressor around it is undone.
    pub(super) plain: u64,
}

/// Reads an object from a file of any format but fst: RDS, `RData`, qs2, qdata and qs, in whatever
/// R compresses them with.
///
/// The format is told by the bytes. `RData` becomes a list with names. Up to 64 MiB of plain bytes
/// are inflated at once, more chunk by chunk on a thread of its own, so that at most 16 MiB are
/// taken beside the object. A data frame may be read in part: [`ReadOptions::columns`].
///
/// # Errors
/// `Truncated`, `Malformed`, `ChecksumMismatch` and `Unsupported` with the byte offset in the plain
/// bytes, or in the stored ones where the compressor found it; `Limit` for what `options` refuse;
/// `Cancelled`; `Io`; `Usage` for a column that is not there.
///
/// # Example
/// ```
/// use tare::robject::{read, write, Body, Builder, ReadOptions, WriteOptions};
///
/// let mut build = Builder::new();
/// let root = build.push(Body::Double(vec![0.5, -1.0]))?;
/// let mut file = Vec::new();
/// write(&build.finish(root), &mut file, &WriteOptions::default())?;
/// let object = read(&file, &ReadOptions::default())?;
/// assert!(matches!(&object.node().body, Body::Double(all) if *all == [0.5, -1.0]));
/// # Ok::<(), tare::Error>(())
/// ```
pub fn read<'a>(source: impl Into<Source<'a>>, options: &ReadOptions) -> Result<RObject> {
    load(source.into(), options).map(|loaded| loaded.object)
}

/// As [`read()`], with the format that the file is in.
///
/// # Errors
/// As [`read()`].
///
/// # Example
/// ```
/// use tare::robject::{read_told, write_rdata, Format, ReadOptions, WriteOptions};
///
/// let mut file = Vec::new();
/// write_rdata(&[], &mut file, &WriteOptions::default())?;
/// assert_eq!(Format::Rdata, read_told(&file, &ReadOptions::default())?.1);
/// # Ok::<(), tare::Error>(())
/// ```
pub fn read_told<'a>(
    source: impl Into<Source<'a>>,
    options: &ReadOptions,
) -> Result<(RObject, Format)> {
    let loaded = load(source.into(), options)?;
    Ok((loaded.object, loaded.format))
}

/// Reads the named objects of an `RData` file, in order.
///
/// # Errors
/// As [`read()`]; `Usage` for a file of another format.
///
/// # Example
/// ```
/// use tare::robject::{read_rdata, write_rdata, Builder, ReadOptions, WriteOptions};
///
/// let mut build = Builder::new();
/// let text = build.strings(["x"])?;
/// let objects = [("letter".to_owned(), build.finish(text))];
/// let mut file = Vec::new();
/// write_rdata(&objects, &mut file, &WriteOptions::default())?;
/// assert_eq!("letter", read_rdata(&file, &ReadOptions::default())?[0].0);
/// # Ok::<(), tare::Error>(())
/// ```
pub fn read_rdata<'a>(
    source: impl Into<Source<'a>>,
    options: &ReadOptions,
) -> Result<Vec<(String, RObject)>> {
    let loaded = load(source.into(), options)?;
    if loaded.format != Format::Rdata {
        let text = format!("a file of {}, not of rdata", loaded.format.name());
        return Err(Error::new(ErrorKind::Usage, text));
    }
    Ok(rdata::parts(&loaded.object))
}

pub(super) fn load(source: Source<'_>, options: &ReadOptions) -> Result<Loaded> {
    let Some(Columns::Named(names)) = &options.columns else {
        return once(source, options);
    };
    let of = |columns| ReadOptions {
        columns,
        ..options.clone()
    };
    let (names_alone, all) = (of(Some(Columns::At(Vec::new()))), of(None));
    let (first, mut file) = match &source {
        Source::Bytes(bytes) => (from_bytes(bytes, &names_alone)?, None),
        Source::File(file) => {
            let mut seeking: &File = file;
            let again = seeking
                .stream_position()
                .and_then(|start| Ok((start, file.try_clone()?)));
            let Ok((start, again)) = again else {
                return selected(once(source, &all)?, names);
            };
            let read = from_file(again, &names_alone)?;
            (read, Some((seeking, start)))
        }
        Source::Stream(_) => return selected(once(source, &all)?, names),
    };
    let found = columns::places(&first.object, names)?;
    drop(first);
    let wanted = of(found.clone().map(Columns::At));
    if let Some((file, start)) = &mut file {
        let back = file.seek(SeekFrom::Start(*start));
        back.map_err(|error| {
            let text = format!("cannot read the input a second time: {error}");
            Error::new(ErrorKind::Io, text).with_source(error)
        })?;
    }
    let loaded = once(source, &wanted)?;
    match found {
        Some(places) => Ok(Loaded {
            object: columns::select(loaded.object, &places)?,
            ..loaded
        }),
        None => Ok(loaded),
    }
}

/// The columns of these names, of what was read whole.
fn selected(loaded: Loaded, names: &[String]) -> Result<Loaded> {
    let Some(places) = columns::places(&loaded.object, names)? else {
        return Ok(loaded);
    };
    Ok(Loaded {
        object: columns::select(loaded.object, &places)?,
        ..loaded
    })
}

fn once(source: Source<'_>, options: &ReadOptions) -> Result<Loaded> {
    match source {
        Source::Bytes(bytes) => from_bytes(bytes, options),
        Source::Stream(stream) => from_stream(stream, options),
        Source::File(file) => from_file(file, options),
    }
}

fn from_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Loaded> {
    check(options.cancel.as_ref())?;
    let kind = wrapper(bytes);
    let (object, format, size) = if kind == Kind::None {
        plain(bytes, options)?
    } else if let Some(plain_bytes) = inflate(bytes, kind, options)? {
        plain(&plain_bytes, options)?
    } else if bytes.len() < SHORT_BYTES || options.threads == Some(1) {
        let reader = Reader::new(bytes, serial(options))?;
        chunked(Box::new(Direct(Box::new(reader))), options)?
    } else {
        with_thread(bytes, options, |chunks| chunked(chunks, options))?
    };
    Ok(Loaded {
        object,
        format,
        wrapper: kind,
        plain: size,
    })
}

fn serial(options: &ReadOptions) -> compress::ReadOptions {
    compress::ReadOptions {
        threads: Some(1),
        ..inflating(options)
    }
}

/// Whether the plain bytes are said to be few enough for one buffer; the claim is a hint alone.
fn one_buffer(bytes: &[u8], kind: Kind, options: &ReadOptions) -> bool {
    let claim = expected_bytes(bytes, Some(kind)).map(|size| size as u64);
    kind == Kind::Gzip && claim.is_some_and(|claim| fits(bytes.len() as u64, claim, options))
}

/// Whether so many stored bytes, said to be `claim` plain ones, are inflated into one buffer.
fn fits(stored: u64, claim: u64, options: &ReadOptions) -> bool {
    // Of several members the claim is that of the last: what it does not tell is guessed.
    let plain = if claim < stored {
        stored.saturating_mul(LIKELY_RATIO)
    } else {
        claim
    };
    let budget = options.memory_budget.unwrap_or(u64::MAX);
    plain.saturating_add(stored) <= ONE_BUFFER as u64 && plain <= budget
}

/// The plain bytes in one buffer; None where they are too many for that.
fn inflate(bytes: &[u8], kind: Kind, options: &ReadOptions) -> Result<Option<Vec<u8>>> {
    if !one_buffer(bytes, kind, options) {
        return Ok(None);
    }
    let settings = compress::ReadOptions {
        kind: Some(kind),
        threads: Some(1),
        // A wrong claim ends here and not in memory.
        max_output: Some(ONE_BUFFER as u64),
        cancel: options.cancel.clone(),
        ..compress::ReadOptions::default()
    };
    let plain = match compress::decompress(bytes, &settings) {
        // More than one buffer is to hold: they are read as a stream.
        Err(error) if error.kind() == ErrorKind::Limit => return Ok(None),
        plain => plain?,
    };
    let most = (bytes.len() as u64).saturating_mul(options.max_ratio.unwrap_or(u64::MAX));
    if plain.len() as u64 > most {
        let ratio = options.max_ratio.unwrap_or_default();
        let text = format!(
            "more than {ratio} plain bytes for each stored one: raise max_ratio to read on"
        );
        return Err(Error::new(ErrorKind::Limit, text).with_format(kind.name()));
    }
    Ok(Some(plain))
}

/// Stored bytes of a stream that does not seek which are held, so that one buffer may be inflated.
const HELD_BYTES: usize = 6 << 20;

/// A file says at its end how much is in it, before anything of it is held.
fn from_file(mut file: File, options: &ReadOptions) -> Result<Loaded> {
    check(options.cancel.as_ref())?;
    let head = take(&mut file, sniff::HEAD)?;
    let known = trailer(&file).filter(|_| wrapper(&head) == Kind::Gzip);
    let Some((rest, last)) = known else {
        return streamed(&head, Box::new(file), options);
    };
    let stored = rest.saturating_add(head.len() as u64);
    if fits(stored, u64::from(u32::from_le_bytes(last)), options) {
        let bytes = more(head, &mut file, ONE_BUFFER)?;
        if bytes.len() < ONE_BUFFER {
            return from_bytes(&bytes, options);
        }
        return streamed(&bytes, Box::new(file), options);
    }
    streamed(&head, Box::new(file), options)
}

fn from_stream(mut stream: Box<dyn Read + Send + '_>, options: &ReadOptions) -> Result<Loaded> {
    check(options.cancel.as_ref())?;
    let mut head = take(&mut stream, sniff::HEAD)?;
    if wrapper(&head) == Kind::Gzip {
        head = more(head, &mut stream, HELD_BYTES)?;
        if head.len() < HELD_BYTES {
            return from_bytes(&head, options);
        }
    }
    streamed(&head, stream, options)
}

/// A stream of which `head` was read, chunk by chunk.
fn streamed(
    head: &[u8],
    stream: Box<dyn Read + Send + '_>,
    options: &ReadOptions,
) -> Result<Loaded> {
    let kind = wrapper(head);
    let format = sniff::plain(head);
    let whole = head.chain(stream);
    let (object, format, size) = if kind == Kind::None {
        bare(whole, format, options)?
    } else if options.threads == Some(1) {
        let reader = Reader::new(whole, serial(options))?;
        chunked(Box::new(Direct(Box::new(reader))), options)?
    } else {
        with_thread(whole, options, |chunks| chunked(chunks, options))?
    };
    Ok(Loaded {
        object,
        format,
        wrapper: kind,
        plain: size,
    })
}

/// A stream that nothing is around, of a format told by its first bytes.
fn bare(
    stream: impl Read,
    format: Option<Format>,
    options: &ReadOptions,
) -> Result<(RObject, Format, u64)> {
    let mut bytes = 0;
    let stream = Measured {
        stream,
        bytes: &mut bytes,
    };
    // The readers of blocks take as much at a time as they need.
    let (object, format) = match format {
        Some(Format::Qs2) => (qs2::read(stream, options), Format::Qs2),
        Some(Format::Qdata) => (qdata::read(stream, options), Format::Qdata),
        Some(Format::Qs) => (qs::read(stream, options), Format::Qs),
        _ => return chunked(Box::new(Direct(Box::new(stream))), options),
    };
    Ok((object?, format, bytes))
}

/// Counts the bytes of a stream.
struct Measured<'a, R> {
    stream: R,
    bytes: &'a mut u64,
}

impl<R: Read> Read for Measured<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let size = self.stream.read(into)?;
        *self.bytes = self.bytes.saturating_add(size as u64);
        Ok(size)
    }
}

fn take(stream: &mut dyn Read, most: usize) -> Result<Vec<u8>> {
    more(Vec::new(), stream, most)
}

/// Reads on until there are `most` bytes or no more.
fn more(mut head: Vec<u8>, stream: &mut dyn Read, most: usize) -> Result<Vec<u8>> {
    let wanted = most.saturating_sub(head.len()) as u64;
    let read = stream.take(wanted).read_to_end(&mut head);
    match read {
        Ok(_) => Ok(head),
        Err(error) => {
            let text = format!("cannot read the input: {error}");
            Err(Error::new(ErrorKind::Io, text).with_source(error))
        }
    }
}

fn check(cancel: Option<&CancelToken>) -> Result<()> {
    if cancel.is_some_and(CancelToken::is_cancelled) {
        return Err(Error::new(ErrorKind::Cancelled, "stopped on request"));
    }
    Ok(())
}

/// Plain bytes of any format, whole.
fn plain(bytes: &[u8], options: &ReadOptions) -> Result<(RObject, Format, u64)> {
    let format = sniff::plain(bytes).ok_or_else(|| sniff::unknown(bytes))?;
    let object = match format {
        Format::Rds => rds::parse(bytes, options),
        Format::Rdata => rdata::read_plain(Slice::new(bytes), options),
        Format::Qs2 => qs2::parse(bytes, options),
        Format::Qdata => qdata::parse(bytes, options),
        Format::Qs => qs::parse(bytes, options),
        Format::Dput => Err(sniff::unknown(bytes)),
    };
    Ok((object?, format, bytes.len() as u64))
}

/// Plain bytes of any format, chunk by chunk.
fn chunked(chunks: Box<dyn Chunks + '_>, options: &ReadOptions) -> Result<(RObject, Format, u64)> {
    let mut bytes = 0;
    let mut window = Stream::new(Counted {
        chunks,
        bytes: &mut bytes,
        options,
    });
    let head = window.ahead(sniff::HEAD)?;
    let format = sniff::plain(head).ok_or_else(|| sniff::unknown(head))?;
    let object = match format {
        Format::Rds => rds::read_plain(window, options),
        Format::Rdata => rdata::read_plain(window, options),
        Format::Qs2 => qs2::read(rds::Bytes::new(window), options),
        Format::Qdata => qdata::read(rds::Bytes::new(window), options),
        Format::Qs => qs::read(rds::Bytes::new(window), options),
        Format::Dput => Err(sniff::unknown(window.ahead(sniff::HEAD)?)),
    };
    Ok((object?, format, bytes))
}

/// Counts the bytes of the chunks, and asks between them whether to stop: a vector may be long.
struct Counted<'a, C> {
    chunks: C,
    bytes: &'a mut u64,
    options: &'a ReadOptions,
}

impl<C: Chunks> Chunks for Counted<'_, C> {
    fn next(&mut self, used: Vec<u8>) -> Result<Option<Vec<u8>>> {
        check(self.options.cancel.as_ref())?;
        let chunk = self.chunks.next(used)?;
        let size = chunk
            .as_ref()
            .map_or(0, |chunk| chunk.len().saturating_sub(rds::FRONT));
        *self.bytes = self.bytes.saturating_add(size as u64);
        Ok(chunk)
    }
}
