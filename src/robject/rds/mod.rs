//! R's serialization, versions 2 and 3, in its four encodings: read into an arena and written.
//!
//! The layout is that of R's own manual "R Internals", 1.8, and of files that R 4.2.2 wrote.
//! Plain bytes alone: [`robject::read`](super::read()) undoes compression around them.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod budget;
mod code;
mod emit;
mod emit_code;
mod frame;
mod input;
mod output;
mod parse;
mod serialize;
mod text;
mod wanted;
mod window;

use crate::{Error, ErrorKind, Result};

use super::{Builder, Header, Id, RObject, ReadOptions};
use input::Form;
pub(crate) use output::of_sink;
use parse::Parser;
pub(crate) use serialize::write_named;
pub use serialize::{serialize, serialize_to};
pub(crate) use window::{Bytes, Chunks, Slice, Stream, Window, FRONT};

/// The format of errors.
pub(crate) const NAME: &str = "rds";

/// The type code of a single string.
const CHAR: i32 = 9;
const OBJECT: i32 = 1 << 8;
const ATTRIBUTES: i32 = 1 << 9;
const TAG: i32 = 1 << 10;

/// The type code of an item.
#[inline]
fn code(flags: i32) -> u8 {
    let [code, ..] = flags.to_le_bytes();
    code
}

#[inline]
fn is_object(flags: i32) -> bool {
    flags & OBJECT != 0
}

#[inline]
fn has_attributes(flags: i32) -> bool {
    flags & ATTRIBUTES != 0
}

#[inline]
fn has_tag(flags: i32) -> bool {
    flags & TAG != 0
}

/// The same bits without a sign.
#[inline]
fn unsigned(value: i32) -> u32 {
    u32::from_le_bytes(value.to_le_bytes())
}

/// The same bits with a sign.
#[inline]
fn signed(value: u32) -> i32 {
    i32::from_le_bytes(value.to_le_bytes())
}

/// The general purpose bits.
#[inline]
fn levels(flags: i32) -> u16 {
    let bits = unsigned(flags) >> 12 & 0xffff;
    u16::try_from(bits).unwrap_or_default()
}

/// Reads a serialization: `X\n`, `A\n` or `B\n` and what follows, to its end.
///
/// Nothing is evaluated. How the file was written is kept: [`Arena::header`](super::Arena::header).
///
/// # Errors
/// `Truncated` if the input ends too early; `Malformed` for what R does not write, and for bytes
/// behind the end; `Unsupported` for other versions and types; `Limit` for what `options` refuse.
///
/// # Example
/// ```
/// use tare::robject::{rds, Body, ReadOptions};
///
/// let plain = b"A\n3\n262658\n197888\n5\nUTF-8\n13\n2\n7\nNA\n";
/// let object = rds::parse(plain, &ReadOptions::default())?;
/// assert!(matches!(&object.node().body, Body::Integer(all) if *all == [7, i32::MIN]));
/// assert_eq!(0x4_0202, object.arena().header().r_version);
/// # Ok::<(), tare::Error>(())
/// ```
pub fn parse(plain: &[u8], options: &ReadOptions) -> Result<RObject> {
    read_plain(Slice::new(plain), options)
}

/// As [`parse`], from a window, to its end.
pub(crate) fn read_plain<W: Window>(window: W, options: &ReadOptions) -> Result<RObject> {
    let mut build = Builder::reading(options);
    let (root, header) =
        read_whole(window, &mut build, options).map_err(|error| error.with_format(NAME))?;
    build.set_header(header);
    Ok(build.finish(root))
}

/// The root and the header of a serialization, to the end of the window.
pub(crate) fn read_whole<W: Window>(
    mut window: W,
    build: &mut Builder,
    options: &ReadOptions,
) -> Result<(Id, Header)> {
    let form = begin(&mut window)?;
    let mut parser = Parser::new(window, form, build, options, false);
    parser.wanted = wanted::Wanted::of(options);
    let mut header = parser.header()?;
    let root = parser.item(options)?;
    header.encoding = parser.input.encoding();
    parser.input.end()?;
    Ok((root, header))
}

/// Reads a serialization that other bytes may follow into a builder: its value, and the bytes used.
///
/// Its symbols are those that the builder has, by name. The header is checked and not kept.
///
/// # Errors
/// As [`parse`], without an error for bytes behind the end.
pub fn parse_into(build: &mut Builder, plain: &[u8], options: &ReadOptions) -> Result<(Id, usize)> {
    let mut inner = || {
        let mut window = Slice::new(plain);
        let form = begin(&mut window)?;
        let mut parser = Parser::new(window, form, build, options, true);
        parser.header()?;
        let root = parser.item(options)?;
        parser.input.last_line()?;
        let used = usize::try_from(parser.input.window.offset()).unwrap_or(usize::MAX);
        Ok((root, used))
    };
    inner().map_err(|error: Error| error.with_format(NAME))
}

/// The two bytes in front; a line feed may stand before `A`, and a carriage return behind it.
fn begin(window: &mut impl Window) -> Result<Form> {
    let (form, size) = match window.ahead(4)? {
        [b'X', b'\n', ..] => (Form::Big, 2),
        [b'B', b'\n', ..] => (Form::Little, 2),
        [b'A', b'\n', ..] => (Form::Text, 2),
        [b'\n', b'A', b'\n', ..] | [b'A', b'\r', b'\n', ..] => (Form::Text, 3),
        [b'\n', b'A', b'\r', b'\n', ..] => (Form::Text, 4),
        []
        | [b'X' | b'A' | b'B' | b'\n']
        | [b'\n', b'A']
        | [b'A', b'\r']
        | [b'\n', b'A', b'\r'] => {
            let text = "ends before the two bytes that begin a serialization";
            return Err(Error::new(ErrorKind::Truncated, text).with_offset(0));
        }
        other => {
            let shown = other.get(..4).unwrap_or(other).escape_ascii().to_string();
            let text = format!(
                "begins with {shown}; a serialization of R does with X, A or B and a line feed"
            );
            return Err(Error::new(ErrorKind::Malformed, text).with_offset(0));
        }
    };
    window.advance(size);
    Ok(form)
}
