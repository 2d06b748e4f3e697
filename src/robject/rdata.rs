//! `RData`: the pairlist of named objects that `save` writes, behind a magic number.

use std::io::Write;

use crate::{Error, ErrorKind, Result};

use super::rds::{self, Slice, Window};
use super::{Body, Builder, Encoding, Id, RObject, ReadOptions, WriteOptions};

/// The format of errors.
const NAME: &str = "rdata";
/// `RDX3` and a line feed.
const MAGIC_BYTES: usize = 5;

/// Reads the plain bytes of an `RData` file: its objects with their names, in order.
///
/// The objects share an arena, so that what they share stays one.
///
/// # Errors
/// As [`rds::parse`]; `Unsupported` for the formats before R 1.4.
pub fn parse(plain: &[u8], options: &ReadOptions) -> Result<Vec<(String, RObject)>> {
    Ok(parts(&read_plain(Slice::new(plain), options)?))
}

/// The objects as one list with names, in an arena of their own.
pub(super) fn read_plain<W: Window>(window: W, options: &ReadOptions) -> Result<RObject> {
    let inner = |mut window: W| {
        magic(&mut window)?;
        let mut build = Builder::reading(options);
        let (root, header) = rds::read_whole(window, &mut build, options)?;
        build.set_header(header);
        let list = listed(&mut build, root)?;
        Ok(build.finish(list))
    };
    inner(window).map_err(|error: Error| error.with_format(NAME))
}

fn magic(window: &mut impl Window) -> Result<()> {
    let head = window.ahead(MAGIC_BYTES)?;
    match head {
        [b'R', b'D', b'X' | b'A' | b'B', b'2' | b'3', b'\n', ..] => {}
        [b'R', b'D', b'X' | b'A' | b'B', b'1', b'\n', ..] => {
            let text = "RData version 1, of R before 1.4; load and save it with R 1.4 to 4.x";
            return Err(Error::new(ErrorKind::Unsupported, text).with_offset(0));
        }
        short if short.len() < MAGIC_BYTES => {
            let text = "ends before the magic number does";
            return Err(Error::new(ErrorKind::Truncated, text).with_offset(0));
        }
        _ => {
            let text = "does not begin with RDX3, RDX2, RDA3, RDA2, RDB3 or RDB2";
            return Err(Error::new(ErrorKind::Malformed, text).with_offset(0));
        }
    }
    window.advance(MAGIC_BYTES);
    Ok(())
}

/// A list with names in place of a pairlist.
fn listed(build: &mut Builder, root: Id) -> Result<Id> {
    let cells = match &build.node(root).body {
        Body::Special(_) if root.is_null() => Vec::new(),
        Body::Pairs { cells, tail } if tail.is_null() => cells.clone(),
        _ => {
            let text = "holds no list of named objects";
            return Err(Error::new(ErrorKind::Malformed, text));
        }
    };
    let mut names = Vec::with_capacity(cells.len());
    for cell in &cells {
        let name = cell.tag.and_then(|tag| build.arena().symbol(tag));
        let Some(name) = name else {
            return Err(Error::new(ErrorKind::Malformed, "an object without a name"));
        };
        names.push(String::from_utf8_lossy(name).into_owned());
    }
    let list = build.push(Body::List(cells.iter().map(|cell| cell.value).collect()))?;
    let names = build.strings(names.iter().map(String::as_str))?;
    build.set_attributes(list, &[("names", names)])?;
    Ok(list)
}

/// The elements of a list with their names, each an object of the same arena.
pub(super) fn parts(list: &RObject) -> Vec<(String, RObject)> {
    let arena = list.arena();
    let Body::List(values) = &arena.node(list.id()).body else {
        return Vec::new();
    };
    let names = arena.attribute(list.id(), "names");
    let texts = names.map(|names| &arena.node(names).body);
    let name_of = |at: usize| match texts {
        Some(Body::Character(names)) => {
            let bytes = names.get(at).and_then(|text| text.bytes);
            String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
        }
        _ => String::new(),
    };
    let values = values.iter().enumerate();
    values.map(|(at, id)| (name_of(at), list.at(*id))).collect()
}

/// Writes the plain bytes of an `RData` file into memory.
///
/// # Errors
/// As [`rds::serialize`].
///
/// # Example
/// ```
/// use tare::robject::{rdata, Body, Builder, ReadOptions, WriteOptions};
///
/// let mut build = Builder::new();
/// let one = build.push(Body::Integer(vec![1]))?;
/// let objects = [("one".to_owned(), build.finish(one))];
/// let plain = rdata::serialize(&objects, &WriteOptions::default())?;
/// assert!(plain.starts_with(b"RDX3\nX\n"));
/// assert_eq!("one", rdata::parse(&plain, &ReadOptions::default())?[0].0);
/// # Ok::<(), tare::Error>(())
/// ```
pub fn serialize(objects: &[(String, RObject)], options: &WriteOptions) -> Result<Vec<u8>> {
    let mut made = Vec::new();
    serialize_to(objects, options, &mut made)?;
    Ok(made)
}

/// As [`serialize`], into a sink by and by; answers the bytes written.
///
/// # Errors
/// As [`rds::serialize_to`].
pub fn serialize_to(
    objects: &[(String, RObject)],
    options: &WriteOptions,
    mut sink: impl Write,
) -> Result<u64> {
    let empty;
    let first = if let Some((_, first)) = objects.first() {
        first.arena()
    } else {
        empty = Builder::new().finish(Id::NULL);
        empty.arena()
    };
    let version = options.version.unwrap_or(first.header().version);
    let letter = match options.encoding.unwrap_or_default() {
        Encoding::Xdr => 'X',
        Encoding::Native => 'B',
        Encoding::Ascii | Encoding::AsciiHex => 'A',
    };
    let magic = format!("RD{letter}{version}\n");
    let objects: Vec<(&str, &RObject)> = objects.iter().map(|(name, one)| (&**name, one)).collect();
    rds::write_named(first, &objects, magic.as_bytes(), options, &mut sink)
        .map_err(|error| error.with_format(NAME))
}
