//! Telling a file by its first bytes, never by its name.

use std::io::Read;

use crate::compress::{Kind, Reader};
use crate::{Error, ErrorKind, Result};

use super::options::Format;
use super::source::{inflating, wrapper};
use super::ReadOptions;

/// What first bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sniffed {
    /// The compressor around it.
    pub wrapper: Kind,
    /// The format inside.
    pub format: Format,
}

/// Bytes that are enough to tell every format.
pub(super) const HEAD: usize = 64;

/// The format of what begins with these plain bytes; None for no format of R's.
pub(super) fn plain(head: &[u8]) -> Option<Format> {
    Some(match head {
        [0x0b, 0x0e, 0x0a, 0xc1, ..] => Format::Qs2,
        [0x0b, 0x0e, 0x0a, 0xcd, ..] => Format::Qdata,
        [0x0b, 0x0e, 0x0a, 0x0c, ..] => Format::Qs,
        [b'R', b'D', b'X' | b'A' | b'B', b'1' | b'2' | b'3', b'\n', ..] => Format::Rdata,
        [b'X' | b'A' | b'B', b'\n', ..]
        | [b'A', b'\r', b'\n', ..]
        | [b'\n', b'A', b'\n' | b'\r', ..] => Format::Rds,
        _ => return None,
    })
}

/// The format and compressor of a file that begins with `head`; None for what is none of R's.
///
/// A compressor may give nothing before its first block is whole: [`sniff_stream`] reads on until then.
/// Text made by `dput` has no first bytes of its own and is never told.
///
/// # Example
/// ```
/// use tare::compress::Kind;
/// use tare::robject::{sniff, Format};
///
/// let found = sniff(b"RDX3\nX\n").unwrap();
/// assert_eq!((Kind::None, Format::Rdata), (found.wrapper, found.format));
/// assert_eq!(None, sniff(b"a,b,c\n"));
/// ```
#[must_use]
pub fn sniff(head: &[u8]) -> Option<Sniffed> {
    sniff_stream(head).ok().flatten()
}

/// As [`sniff()`], of a stream from its start: no more of it is read than tells its format.
///
/// # Errors
/// `Io` where the first bytes cannot be read; what is damaged behind them is none of R's.
///
/// # Example
/// ```
/// use tare::compress::Kind;
/// use tare::robject::{sniff_stream, Builder, Format, Id, WriteOptions};
///
/// let options = WriteOptions { compressor: Some("bz2".parse()?), ..WriteOptions::default() };
/// let mut file = Vec::new();
/// tare::robject::write(&Builder::new().finish(Id::NULL), &mut file, &options)?;
/// let found = sniff_stream(&file[..])?.unwrap();
/// assert_eq!((Kind::Bz2, Format::Rds), (found.wrapper, found.format));
/// # Ok::<(), tare::Error>(())
/// ```
pub fn sniff_stream(mut stream: impl Read + Send) -> Result<Option<Sniffed>> {
    let mut head = Vec::with_capacity(HEAD);
    let read = stream.by_ref().take(HEAD as u64).read_to_end(&mut head);
    read.map_err(|error| {
        let text = format!("cannot read the input: {error}");
        Error::new(ErrorKind::Io, text).with_source(error)
    })?;
    let wrapper = wrapper(&head);
    let told = |format| Sniffed { wrapper, format };
    if wrapper == Kind::None {
        return Ok(plain(&head).map(told));
    }
    let mut settings = inflating(&ReadOptions::default());
    settings.threads = Some(1);
    settings.read_ahead = false;
    let mut inside = Vec::new();
    if let Ok(reader) = Reader::new(head.as_slice().chain(stream), settings) {
        // What was made before a fault is enough.
        let _ = reader.take(HEAD as u64).read_to_end(&mut inside);
    }
    Ok(plain(&inside).map(told))
}

/// The error for what is none of R's formats.
pub(super) fn unknown(head: &[u8]) -> Error {
    if head.len() < 2 {
        let text = "ends before the bytes that tell a format of R";
        return Error::new(ErrorKind::Truncated, text).with_offset(head.len() as u64);
    }
    let shown = head.get(..16).unwrap_or(head).escape_ascii().to_string();
    let text = format!(
        "begins with \"{shown}\", which is no RDS, RData, qs2, qdata or qs file; text of dput is read only where it is named"
    );
    Error::new(ErrorKind::Malformed, text).with_offset(0)
}
