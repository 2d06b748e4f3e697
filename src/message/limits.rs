//! How messages are delimited, and how much of them is taken.

/// How a stream of bytes is cut into messages.
///
/// # Example
/// ```
/// use tare::message::Framing;
/// assert_eq!(("frame", "msgpack"), (Framing::Frame.name(), Framing::Wrap.name()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Tare's own: 5 bytes in front of each message, or of each part of one.
    Frame,
    /// `MessagePack` values one after the other; each is a message.
    Msgpack,
    /// A CBOR sequence (RFC 8742); each data item is a message.
    Cbor,
    /// Lines that end with LF or CR LF, each a JSON value.
    Ndjson,
    /// Any bytes, each message inside one `MessagePack` `bin`; `str` is read too.
    Wrap,
}

impl Framing {
    /// What errors name as the format at work.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::Msgpack | Self::Wrap => "msgpack",
            Self::Cbor => "cbor",
            Self::Ndjson => "ndjson",
        }
    }
}

/// What a [`Framer`](super::Framer) takes, and what it insists on.
///
/// # Example
/// ```
/// use tare::message::Limits;
/// let limits = Limits { max_message: 1 << 20, ..Limits::default() };
/// assert_eq!(512, limits.max_depth);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of one message, its parts added; 64 MiB. A frame or a string that announces
    /// more is refused before its bytes are read.
    pub max_message: u64,
    /// Most values inside each other in `msgpack` and `cbor`; 512.
    pub max_depth: u16,
    /// Most bytes of whole messages that wait to be taken, between 64 KiB and 1 MiB; then
    /// reading stops. 8 MiB, which is 1 MiB here: what waits elsewhere is counted there.
    pub max_ready: usize,
    /// Bytes read at once in the beginning, doubled to 1 MiB while reads fill them; 64 KiB.
    pub read_size: usize,
    /// Refuses frames without a checksum; `frame` only, off.
    pub require_crc: bool,
    /// Passes over lines that are too long, instead of ending there; `ndjson` only, off.
    pub skip_bad_lines: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message: 64 << 20,
            max_depth: 512,
            max_ready: 8 << 20,
            read_size: 64 << 10,
            require_crc: false,
            skip_bad_lines: false,
        }
    }
}
