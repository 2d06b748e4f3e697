//! Plain serializations of objects.

use std::io::Write;

use crate::robject::{Arena, Encoding, RObject, WriteOptions};
use crate::{Error, ErrorKind, Result};

use super::emit::{is_code, Emitter, Rules};
use super::output::Output;
use super::NAME;

/// Writes a serialization into memory: its header and the object.
///
/// Where `options` do not say it, the version, the writer and the native encoding are those of the
/// file the object was read from, else 3, 4.2.2 and UTF-8; numbers are written as XDR.
///
/// # Errors
/// `Usage` for other versions than 2 and 3; `Limit` and `Unsupported` where version 2 needs a
/// deferred vector that cannot be made.
///
/// # Example
/// ```
/// use tare::robject::{rds, Encoding, ReadOptions, WriteOptions};
///
/// let plain = b"A\n2\n262658\n131840\n14\n1\n0.1\n";
/// let object = rds::parse(plain, &ReadOptions::default())?;
/// let options = WriteOptions {
///     encoding: Some(Encoding::Ascii),
///     ..WriteOptions::default()
/// };
/// assert_eq!(&plain[..], rds::serialize(&object, &options)?);
/// # Ok::<(), tare::Error>(())
/// ```
pub fn serialize(object: &RObject, options: &WriteOptions) -> Result<Vec<u8>> {
    let (buffer, _) = run(object, options, None)?;
    Ok(buffer)
}

/// As [`serialize`], into a sink by and by; answers the bytes written.
///
/// # Errors
/// As [`serialize`], and `Io` for what the sink refuses.
pub fn serialize_to(object: &RObject, options: &WriteOptions, mut sink: impl Write) -> Result<u64> {
    let (_, size) = run(object, options, Some(&mut sink))?;
    Ok(size)
}

fn run(
    object: &RObject,
    options: &WriteOptions,
    sink: Option<&mut dyn Write>,
) -> Result<(Vec<u8>, u64)> {
    let arena = object.arena();
    let mut out = Output::new(options.encoding.unwrap_or_default(), sink);
    let inner = || {
        let rules = header(&mut out, arena, options)?;
        let mut emitter = Emitter::new(arena, out, rules);
        emitter.item(object.id())?;
        emitter.out.finish()
    };
    inner().map_err(|error: Error| error.with_format(NAME))
}

/// The header that `options` ask for, and the rules that follow from it.
pub(super) fn header(out: &mut Output<'_>, arena: &Arena, options: &WriteOptions) -> Result<Rules> {
    let from = arena.header();
    let version = options.version.unwrap_or(from.version);
    out.plain(match out.encoding() {
        Encoding::Xdr => b"X\n",
        Encoding::Native => b"B\n",
        Encoding::Ascii | Encoding::AsciiHex => b"A\n",
    });
    let least = match version {
        2 => 0x0002_0300,
        3 => 0x0003_0500,
        _ => {
            let text = format!("no serialization version {version}; 2 and 3 are written");
            return Err(Error::new(ErrorKind::Usage, text));
        }
    };
    out.int(version)?;
    out.int(options.r_version.unwrap_or(from.r_version))?;
    let same = version == from.version;
    out.int(if same { from.min_reader } else { least })?;
    if version == 3 {
        let name = from.native_encoding.as_deref().unwrap_or(b"UTF-8");
        out.length(name.len())?;
        out.text(name)?;
    }
    Ok(Rules {
        expand: version == 2,
        data_only: options.data_only,
    })
}

/// Writes `magic` and a pairlist of named objects, which may lie in several arenas.
pub(crate) fn write_named<'a>(
    first: &'a Arena,
    objects: &[(&'a str, &'a RObject)],
    magic: &[u8],
    options: &WriteOptions,
    sink: &mut dyn Write,
) -> Result<u64> {
    let mut out = Output::new(options.encoding.unwrap_or_default(), Some(sink));
    out.plain(magic);
    let rules = header(&mut out, first, options)?;
    let mut emitter = Emitter::new(first, out, rules);
    for (name, object) in objects {
        if rules.data_only && is_code(&object.node().body) {
            continue;
        }
        emitter.enter_arena(object.arena());
        emitter.cell(name, object.id())?;
    }
    emitter.out.int(254)?;
    let (_, size) = emitter.out.finish()?;
    Ok(size)
}
