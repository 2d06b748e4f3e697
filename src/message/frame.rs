//! The bytes of a frame, version 1: a tag, a length, the payload and perhaps a checksum.
//!
//! ```text
//! offset size
//! 0      1    tag     1110 k c z m: CONTROL, CRC, COMPRESSED, MORE
//! 1      4    length  u32, least byte first, of the payload alone; bit 31 is 0
//! 5      n    payload
//! 5+n    0|4  crc32c  of all before it, least byte first; if CRC
//! ```
//! The layout is Tare's own; the crc32c is that of RFC 3720, B.4.

/// Bytes in front of a payload.
pub(super) const HEADER: usize = 5;
/// Bytes of a checksum.
pub(super) const SUM: usize = 4;
/// Most bytes of one frame's payload: the largest signed 32-bit number.
pub(super) const MAX_LENGTH: u32 = 0x7FFF_FFFF;
/// Most bytes of a control frame behind its kind.
pub(super) const MAX_CONTROL: usize = 64 << 10;

const VERSION: u8 = 0xE0;
pub(super) const MORE: u8 = 0x01;
pub(super) const COMPRESSED: u8 = 0x02;
pub(super) const CRC: u8 = 0x04;
pub(super) const CONTROL: u8 = 0x08;

pub(super) const HELLO: u8 = 1;
pub(super) const END: u8 = 2;
pub(super) const TOKEN: u8 = 3;

/// What is said about a connection, between messages.
///
/// # Example
/// ```
/// use tare::message::{Control, FrameWriter, Framing};
/// let mut writer = FrameWriter::new(Framing::Frame, false);
/// writer.control(Control::Hello("json"))?;
/// assert_eq!(10, writer.pending());
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control<'a> {
    /// The codec of what follows: an id of at most 255 bytes.
    Hello(&'a str),
    /// The sender finished on purpose.
    End {
        /// Messages since the start, or since the END before.
        messages: u64,
    },
    /// What a client proves itself with: 16 to 64 bytes.
    Token(&'a [u8]),
    /// A kind of a later version; to be passed over.
    Other {
        /// The kind.
        kind: u8,
        /// What it says, at most 64 KiB.
        rest: &'a [u8],
    },
}

/// The first five bytes of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub tag: u8,
    pub length: u32,
}

/// What the bytes at the start of a frame are.
pub(super) enum Start {
    Whole(Header),
    /// So many bytes are missing.
    Short(u64),
    Bad(&'static str),
}

impl Header {
    pub fn has(self, flag: u8) -> bool {
        self.tag & flag != 0
    }

    pub fn bytes(self) -> [u8; HEADER] {
        let [a, b, c, d] = self.length.to_le_bytes();
        [VERSION | self.tag, a, b, c, d]
    }

    /// Reads a header, or as much of one as is there: a wrong first byte is refused at once.
    pub fn read(bytes: &[u8]) -> Start {
        let Some((&[tag, a, b, c, d], _)) = bytes.split_first_chunk::<HEADER>() else {
            return match bytes.first() {
                Some(&tag) => Self::tag(tag).map_or_else(Start::Bad, |_| {
                    Start::Short((HEADER as u64).saturating_sub(bytes.len() as u64))
                }),
                None => Start::Short(HEADER as u64),
            };
        };
        let length = u32::from_le_bytes([a, b, c, d]);
        match Self::tag(tag) {
            Err(what) => Start::Bad(what),
            Ok(_) if length > MAX_LENGTH => {
                Start::Bad("a frame of more than 2^31 - 1 bytes: not a stream of frames")
            }
            Ok(tag) => Start::Whole(Self { tag, length }),
        }
    }

    fn tag(tag: u8) -> Result<u8, &'static str> {
        if tag & 0xF0 != VERSION {
            return Err("expected a frame of version 1, whose first byte is E0 to EF: the peer does not send frames, or sends those of another version");
        }
        let flags = tag & 0x0F;
        if flags & CONTROL != 0 && flags & (MORE | COMPRESSED) != 0 {
            return Err("a control frame in parts or compressed");
        }
        Ok(flags)
    }
}

/// The tag and the length, if the header is that of a message in one frame.
#[inline]
pub(super) fn small([tag, a, b, c, d]: [u8; HEADER]) -> Option<(u8, usize)> {
    let length = u32::from_le_bytes([a, b, c, d]);
    let whole = tag & !(COMPRESSED | CRC) == VERSION && length <= MAX_LENGTH;
    whole.then_some((tag, length as usize))
}

impl<'a> Control<'a> {
    /// The control frame of a payload; what it is not, if it is none.
    pub(super) fn read(payload: &'a [u8]) -> Result<Self, &'static str> {
        let (&kind, rest) = payload
            .split_first()
            .ok_or("a control frame without a kind")?;
        match kind {
            HELLO if rest.len() > 255 => Err("a codec id of more than 255 bytes"),
            HELLO => std::str::from_utf8(rest)
                .map(Control::Hello)
                .map_err(|_| "a codec id that is not UTF-8"),
            END => match rest.try_into() {
                Ok(count) => Ok(Control::End {
                    messages: u64::from_le_bytes(count),
                }),
                Err(_) => Err("an END whose count has not 8 bytes"),
            },
            TOKEN if !(16..=64).contains(&rest.len()) => Err("a token that has not 16 to 64 bytes"),
            TOKEN => Ok(Control::Token(rest)),
            kind => Ok(Control::Other { kind, rest }),
        }
    }

    /// Kind, and what follows it; what is wrong with it, if it is not to be sent.
    pub(super) fn parts(&self, count: &'a mut [u8; 8]) -> Result<(u8, &'a [u8]), &'static str> {
        match *self {
            Control::Hello(id) if id.len() > 255 => Err("a codec id of more than 255 bytes"),
            Control::Hello(id) => Ok((HELLO, id.as_bytes())),
            Control::End { messages } => {
                *count = messages.to_le_bytes();
                Ok((END, count))
            }
            Control::Token(token) if !(16..=64).contains(&token.len()) => {
                Err("a token has 16 to 64 bytes")
            }
            Control::Token(token) => Ok((TOKEN, token)),
            Control::Other { rest, .. } if rest.len() > MAX_CONTROL => {
                Err("a control frame of more than 64 KiB")
            }
            Control::Other {
                kind: HELLO | END | TOKEN,
                ..
            } => Err("a kind of control frame that has a name of its own"),
            Control::Other { kind, rest } => Ok((kind, rest)),
        }
    }
}
