//! Member headers: RFC 1952, 2.3, and BGZF's subfield: the SAM format, 4.1.

use libdeflater::Crc;

use crate::compress::input::{ends, Input};
use crate::compress::Kind;
use crate::{Error, ErrorKind, Result};

/// An ordinary member's header as it is written: no flags, no time, OS 3 (Unix).
pub(super) const PLAIN: [u8; 10] = *b"\x1f\x8b\x08\0\0\0\0\0\0\x03";
/// A BGZF member's up to its BSIZE.
pub(super) const BGZF: [u8; 16] = *b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0";
/// The empty member that ends a BGZF file.
pub(super) const MARKER: [u8; 28] =
    *b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0";
/// CRC32 and ISIZE.
pub(super) const TRAILER_BYTES: usize = 8;
/// Magic number, flags, time, extra flags, operating system.
const FIXED_BYTES: usize = 10;

// FLG, from bit 1 on.
const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// Whether a member that starts with `head` has a checksum of its header.
pub(super) fn has_checksum(head: &[u8]) -> bool {
    head.get(3).is_some_and(|flags| flags & HEADER_CRC != 0)
}

/// # Errors
/// `Truncated` if `head` is the beginning of a magic number, `Malformed` if it is none.
pub(super) fn check_magic(head: &[u8], start: u64, first: bool) -> Result<()> {
    let magic = Kind::Gzip.magic();
    if head.starts_with(magic) {
        return Ok(());
    }
    if magic.starts_with(head) {
        return Err(ends(start, head.len(), magic.len()));
    }
    let text = if first {
        "not a gzip file: it does not start with 1F 8B 08"
    } else {
        "bytes after the last member that are no gzip member"
    };
    Err(Error::new(ErrorKind::Malformed, text).with_offset(start))
}

/// Goes past the header ahead, whose magic number was checked. Names and comments may be of
/// any length: nothing is held.
///
/// # Errors
/// `Truncated`; `Malformed` for reserved flags; `ChecksumMismatch`; `Io`.
pub(super) fn pass(input: &mut dyn Input) -> Result<()> {
    let mut header = Header {
        start: input.offset(),
        input,
        crc: Crc::new(),
    };
    let fixed = header.take::<FIXED_BYTES>()?;
    let [_, _, _, flags, ..] = fixed;
    if flags & RESERVED != 0 {
        let text = "a header with reserved flags";
        return Err(Error::new(ErrorKind::Malformed, text).with_offset(header.start));
    }
    if flags & EXTRA != 0 {
        let size = u16::from_le_bytes(header.take::<2>()?);
        header.skip(usize::from(size))?;
    }
    if flags & NAME != 0 {
        header.skip_text()?;
    }
    if flags & COMMENT != 0 {
        header.skip_text()?;
    }
    if flags & HEADER_CRC != 0 {
        let at = header.input.offset();
        let [low, high, ..] = header.crc.sum().to_le_bytes();
        if header.take::<2>()? != [low, high] {
            let text = "the checksum of a member's header does not match";
            return Err(Error::new(ErrorKind::ChecksumMismatch, text).with_offset(at));
        }
    }
    Ok(())
}

/// A header that is gone past, and the checksum of it so far.
struct Header<'a> {
    input: &'a mut dyn Input,
    start: u64,
    crc: Crc,
}

impl Header<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let ahead = self.input.ahead(N)?;
        let held = ahead.len();
        let Some(&bytes) = ahead.first_chunk::<N>() else {
            return Err(self.cut(held));
        };
        self.crc.update(&bytes);
        self.input.advance(N);
        Ok(bytes)
    }

    fn skip(&mut self, size: usize) -> Result<()> {
        let mut left = size;
        while left > 0 {
            let held = self.input.some()?;
            let now = held.get(..left).unwrap_or(held);
            let size = now.len();
            self.crc.update(now);
            self.input.advance(size);
            if size == 0 {
                return Err(self.cut(0));
            }
            left = left.saturating_sub(size);
        }
        Ok(())
    }

    /// Goes past text and the zero that ends it.
    fn skip_text(&mut self) -> Result<()> {
        loop {
            let held = self.input.some()?;
            let zero = held.iter().position(|&byte| byte == 0);
            let size = zero.map_or(held.len(), |zero| zero.saturating_add(1));
            self.crc.update(held.get(..size).unwrap_or(held));
            self.input.advance(size);
            if zero.is_some() {
                return Ok(());
            }
            if size == 0 {
                return Err(self.cut(0));
            }
        }
    }

    /// The error of an input that ends `held` bytes further on.
    fn cut(&self, held: usize) -> Error {
        truncated(self.start, self.input.offset().saturating_add(held as u64))
    }
}

/// The error of an input that ends inside a member.
pub(super) fn truncated(start: u64, end: u64) -> Error {
    let text = format!("the input ends inside the member that starts at byte {start}");
    Error::new(ErrorKind::Truncated, text).with_offset(end)
}

/// How long the BGZF member is that is `at` bytes ahead; None if an ordinary one is there, or
/// something else, or its header is cut.
///
/// # Errors
/// `Malformed` for a length that leaves no place for data; `Io`.
pub(super) fn bgzf_bytes(input: &mut dyn Input, at: usize) -> Result<Option<usize>> {
    let start = input.offset().saturating_add(at as u64);
    let extra_at = at.saturating_add(FIXED_BYTES + 2);
    let head = input.peek(at, FIXED_BYTES + 2)?;
    let Some(&[0x1f, 0x8b, 0x08, flags, .., low, high]) = head.first_chunk::<{ FIXED_BYTES + 2 }>()
    else {
        return Ok(None);
    };
    if flags & EXTRA == 0 {
        return Ok(None);
    }
    let extra_bytes = usize::from(u16::from_le_bytes([low, high]));
    let extra = input.peek(extra_at, extra_bytes)?.get(..extra_bytes);
    let Some(last) = extra.and_then(bsize) else {
        return Ok(None);
    };
    let size = usize::from(last).saturating_add(1);
    if size <= extra_bytes.saturating_add(FIXED_BYTES + 2 + TRAILER_BYTES) {
        let text = format!("a BGZF member of {size} bytes has no place for data");
        return Err(Error::new(ErrorKind::Malformed, text).with_offset(start));
    }
    Ok(Some(size))
}

/// BSIZE, from the subfield BC among others: RFC 1952, 2.3.1.1.
fn bsize(mut extra: &[u8]) -> Option<u16> {
    loop {
        let (&[one, two, low, high], rest) = extra.split_first_chunk::<4>()?;
        let size = usize::from(u16::from_le_bytes([low, high]));
        let (field, later) = rest.split_at_checked(size)?;
        match (one, two, field) {
            (b'B', b'C', &[low, high]) => return Some(u16::from_le_bytes([low, high])),
            _ => extra = later,
        }
    }
}
