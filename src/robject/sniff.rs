//! Telling a file by its first bytes, never by its name.

use std::io::Read;

use crate::compress::{Kind, Reader};
use crate::{Error, ErrorKind};

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
/// 1 KiB is enough, but of bzip2, whose first block is made as a whole: 1 MiB holds one. Text made by `dput` has no first bytes of its own and is never told.
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
    let wrapper = wrapper(head);
    if wrapper == Kind::None {
        let format = plain(head)?;
        return Some(Sniffed { wrapper, format });
    }
    let mut settings = inflating(&ReadOptions::default());
    settings.threads = Some(1);
    settings.read_ahead = false;
    let mut inside = Vec::new();
    let mut reader = Reader::new(head, settings).ok()?.take(HEAD as u64);
    // A head ends inside its first frame: what was made of it before is enough.
    let _ = reader.read_to_end(&mut inside);
    let format = plain(&inside)?;
    Some(Sniffed { wrapper, format })
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
