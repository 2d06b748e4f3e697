//! Writing a file: a serialization and the compressor around it, by and by.

use std::io::{Seek, Write};

use crate::compress::{self, Compressor, Kind, Layout, Writer};
use crate::{Error, ErrorKind, Result};

use super::loss::Loss;
use super::options::Format;
use super::{dput, qdata, qs2, rdata, rds, walk, RObject, WriteOptions};

/// Plain bytes in a gzip member.
const MEMBER: usize = 1 << 20;

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteReport {
    /// Stored bytes.
    pub bytes: u64,
    /// What was left out or changed.
    pub loss: Vec<Loss>,
}

/// Writes an object as a file of the format that `options` name.
///
/// gzip is written as members of 1 MiB on all threads, which R and gzip read as one file; the bytes
/// do not depend on the number of threads. Version 2 has no deferred vectors: they are written as
/// their values and reported. Memory is bounded, but that qs2, qdata and text
/// are made whole: [`write_file`] writes qs2 and qdata by and by.
///
/// # Errors
/// `Usage` for options that the format does not have; `Unsupported` for objects it cannot hold;
/// `Io` for what the sink refuses; `Cancelled`.
///
/// # Example
/// ```
/// use tare::compress::Compressor;
/// use tare::robject::{write, Builder, WriteOptions};
///
/// let mut build = Builder::new();
/// let root = build.strings(["weighed"])?;
/// let options = WriteOptions {
///     compressor: Some(Compressor::parse("none")?),
///     ..WriteOptions::default()
/// };
/// let mut file = Vec::new();
/// let report = write(&build.finish(root), &mut file, &options)?;
/// assert_eq!(report.bytes, file.len() as u64);
/// assert!(file.starts_with(b"X\n"));
/// # Ok::<(), tare::Error>(())
/// ```
pub fn write(
    object: &RObject,
    mut sink: impl Write,
    options: &WriteOptions,
) -> Result<WriteReport> {
    let bytes = match options.format {
        Format::Rds => wrapped(&mut sink, options, |plain| {
            rds::serialize_to(object, options, plain)
        })?,
        Format::Rdata => {
            let objects = rdata::parts(object);
            if objects.len() != object.length() || objects.iter().any(|(name, _)| name.is_empty()) {
                let text = "RData holds named objects: write a list whose elements all have names";
                return Err(Error::new(ErrorKind::Usage, text).with_format("rdata"));
            }
            return write_rdata(&objects, sink, options);
        }
        Format::Qs2 => whole(&mut sink, &qs2::serialize(object, options)?)?,
        Format::Qdata => {
            let mut losses = super::Losses::new(false);
            let bytes = whole(&mut sink, &qdata::write(object, options, &mut losses)?)?;
            let loss = losses.into_list();
            return Ok(WriteReport { bytes, loss });
        }
        Format::Dput => {
            let (text, loss) = if options.data_only {
                dput::write_data(object)?
            } else {
                dput::write(object)?
            };
            let bytes = whole(&mut sink, text.as_bytes())?;
            return Ok(WriteReport { bytes, loss });
        }
        Format::Qs => {
            let text = "qs files are read alone: write qs2, which took their place";
            return Err(Error::new(ErrorKind::Unsupported, text).with_format("qs"));
        }
    };
    let loss = match options.format {
        Format::Rds | Format::Qs2 => lost(object, options),
        _ => Vec::new(),
    };
    Ok(WriteReport { bytes, loss })
}

/// As [`write()`], of a sink that seeks: qs2 and qdata go there block by block, and their checksum is
/// put into the header at the end. Of a file that does not seek, such as a pipe, the same is written.
///
/// # Errors
/// As [`write()`]. What was written until then stays: give a file under another name.
///
/// # Example
/// ```
/// use std::io::Cursor;
/// use tare::robject::{write_file, Builder, Format, WriteOptions};
///
/// let mut build = Builder::new();
/// let root = build.strings(["weighed"])?;
/// let options = WriteOptions {
///     format: Format::Qs2,
///     ..WriteOptions::default()
/// };
/// let mut file = Cursor::new(Vec::new());
/// let report = write_file(&build.finish(root), &mut file, &options)?;
/// assert_eq!(report.bytes, file.into_inner().len() as u64);
/// # Ok::<(), tare::Error>(())
/// ```
pub fn write_file(
    object: &RObject,
    mut file: impl Write + Seek,
    options: &WriteOptions,
) -> Result<WriteReport> {
    let (Format::Qs2 | Format::Qdata, Ok(start)) = (options.format, file.stream_position()) else {
        return write(object, file, options);
    };
    let loss = if options.format == Format::Qs2 {
        qs2::serialize_to(object, options, &mut file)?;
        lost(object, options)
    } else {
        let mut losses = super::Losses::new(false);
        qdata::serialize_to(object, options, &mut losses, &mut file)?;
        losses.into_list()
    };
    let end = file.stream_position().map_err(rds::of_sink)?;
    let bytes = end.saturating_sub(start);
    Ok(WriteReport { bytes, loss })
}

/// Writes named objects as an `RData` file, whatever format `options` name.
///
/// # Errors
/// As [`write()`].
pub fn write_rdata(
    objects: &[(String, RObject)],
    mut sink: impl Write,
    options: &WriteOptions,
) -> Result<WriteReport> {
    let bytes = wrapped(&mut sink, options, |plain| {
        rdata::serialize_to(objects, options, plain)
    })?;
    let mut loss = Vec::new();
    for (name, object) in objects {
        let mut path = super::Losses::new(false);
        path.enter_name(name);
        loss.extend(lost(object, options).into_iter().map(|mut one| {
            one.path.insert_str(0, path.path());
            one
        }));
    }
    Ok(WriteReport { bytes, loss })
}

fn lost(object: &RObject, options: &WriteOptions) -> Vec<Loss> {
    let version = options.version.unwrap_or(object.arena().header().version);
    if version != 2 && !options.data_only {
        return Vec::new();
    }
    walk::losses(object, options.data_only, version == 2)
}

fn whole(sink: &mut dyn Write, bytes: &[u8]) -> Result<u64> {
    sink.write_all(bytes).map_err(rds::of_sink)?;
    Ok(bytes.len() as u64)
}

/// Counts what goes through.
struct Counted<'a> {
    sink: &'a mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let size = self.sink.write(bytes)?;
        self.bytes = self.bytes.saturating_add(size as u64);
        Ok(size)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.sink.flush()
    }
}

/// Puts the compressor between `fill` and the sink; the stored bytes.
fn wrapped(
    sink: &mut dyn Write,
    options: &WriteOptions,
    fill: impl FnOnce(&mut dyn Write) -> Result<u64>,
) -> Result<u64> {
    let mut compressor = match options.compressor {
        Some(compressor) => compressor,
        None => Compressor::new(Kind::Gzip, Some(6))?,
    };
    let mut counted = Counted { sink, bytes: 0 };
    if compressor.kind() == Kind::None {
        fill(&mut counted)?;
        return Ok(counted.bytes);
    }
    let layout = layout(&compressor, options)?;
    if compressor.kind() == Kind::Gzip && compressor.chunk_size.is_none() {
        compressor.chunk_size = Some(MEMBER);
    }
    let settings = compress::WriteOptions {
        threads: options.threads,
        layout,
        cancel: options.cancel.clone(),
        ..compress::WriteOptions::default()
    };
    let mut writer = Writer::new(&mut counted, compressor, settings)?;
    fill(&mut writer)?;
    writer.finish()?;
    Ok(counted.bytes)
}

/// Members that R reads as one file, or a single one for readers that stop after the first.
fn layout(compressor: &Compressor, options: &WriteOptions) -> Result<Layout> {
    let usage = |text: String| Err(Error::new(ErrorKind::Usage, text));
    match (compressor.kind(), options.members) {
        (Kind::Lz4 | Kind::Zlib, _) => {
            let name = compressor.name();
            usage(format!(
                "R reads no {name}; there are gzip, bz2, xz, zstd and none"
            ))
        }
        (_, Some(1)) => Ok(Layout::Single),
        (_, Some(members)) => usage(format!(
            "no {members} members; None is one each MiB, or ask for 1"
        )),
        (Kind::Gzip, None) if compressor.layout == Layout::Auto => Ok(Layout::Members),
        // One frame alone: other readers of R's files know no seek table.
        (Kind::Zstd, None) if compressor.layout == Layout::Auto => Ok(Layout::Single),
        (_, None) => Ok(compressor.layout),
    }
}
