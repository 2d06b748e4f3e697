//! What a connection may be told.

use std::fmt;
use std::time::Duration;

use super::{Framing, Limits};
use crate::{Error, ErrorKind, Result};

/// What a client proves itself with: 16 to 64 bytes that no message and no debug text shows.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    /// A token of 16 to 64 bytes.
    ///
    /// # Errors
    /// `Usage` for another length.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        let bytes = bytes.into();
        if !(16..=64).contains(&bytes.len()) {
            let text = format!("token: expected 16 to 64 bytes, not {}", bytes.len());
            return Err(Error::new(ErrorKind::Usage, text));
        }
        Ok(Self(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether `other` is the same, in a time that tells nothing: equality of digests.
    pub(super) fn is(&self, other: &[u8]) -> bool {
        blake3::hash(&self.0) == blake3::hash(other)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Which way messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Both: sockets, and descriptors that are open both ways.
    Both,
    /// Receive only.
    Read,
    /// Send only; a file is emptied first.
    Write,
    /// Send only, behind what a file holds.
    Append,
}

impl Mode {
    /// The mode of a letter, `r`, `w` or `a`; none is both.
    ///
    /// # Errors
    /// `Usage` for other text.
    pub fn parse(text: Option<&str>) -> Result<Self> {
        Ok(match text {
            None => Self::Both,
            Some("r") => Self::Read,
            Some("w") => Self::Write,
            Some("a") => Self::Append,
            Some(other) => {
                let text = format!("mode={other:?}: expected r, w or a");
                return Err(Error::new(ErrorKind::Usage, text));
            }
        })
    }

    pub(super) fn reads(self) -> bool {
        matches!(self, Self::Both | Self::Read)
    }

    pub(super) fn writes(self) -> bool {
        self != Self::Read
    }
}

/// Options of a connection, and of all that a listener accepts.
///
/// # Example
/// ```
/// use tare::message::Options;
/// let options = Options { high: 4 << 20, ..Options::default() };
/// assert_eq!(256 << 10, options.low);
/// ```
#[derive(Clone, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "options that are set apart from each other"
)]
pub struct Options {
    /// How messages are delimited; `frame`.
    pub framing: Framing,
    /// What is taken from the peer.
    pub limits: Limits,
    /// A checksum on each frame that is sent; unless said, on for `file:` and off otherwise.
    pub crc: Option<bool>,
    /// Id of the codec that HELLO says in front of the first message; none says nothing.
    pub hello: Option<String>,
    /// Id of the codec that the peer must send, if it says one; only its format is compared.
    pub expects: Option<String>,
    /// Say END on close; on, `frame` only.
    pub end: bool,
    /// So many queued bytes are worth a write; 64 KiB. See
    /// [`wants_flush`](super::Connection::wants_flush).
    pub batch: usize,
    /// With more unsent bytes than this a send waits; 1 MiB.
    pub high: usize,
    /// It waits until there are fewer than this; 256 KiB.
    pub low: usize,
    /// From first to last byte of one received message; none, and 30 s in [`Options::listening`].
    pub message_timeout: Option<Duration>,
    /// What a client says first, and a listener demands.
    pub token: Option<Token>,
    /// Most connections of a listener at once; 1,024.
    pub max_connections: usize,
    /// Connect again for so long while there is nobody; none tries once.
    pub retry: Option<Duration>,
    /// Bytes the kernel is asked to hold in a fifo.
    pub pipe_size: Option<usize>,
    /// Keep a writing end of a fifo open, so that its reader outlives writers.
    pub keep: bool,
    /// Whole messages of at most 4,096 bytes per write, for several writers of a fifo.
    pub atomic: bool,
    /// The end of a file is no end: wait for more.
    pub follow: bool,
    /// Cut an unfinished message off the end of a file that is appended to.
    pub repair: bool,
    /// Have the disk keep a file at each flush.
    pub sync: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            framing: Framing::Frame,
            limits: Limits::default(),
            crc: None,
            hello: None,
            expects: None,
            end: true,
            batch: 64 << 10,
            high: 1 << 20,
            low: 256 << 10,
            message_timeout: None,
            token: None,
            max_connections: 1024,
            retry: None,
            pipe_size: None,
            keep: false,
            atomic: false,
            follow: false,
            repair: false,
            sync: false,
        }
    }
}

impl Options {
    /// The defaults of what is accepted: a stranger may be slow on purpose, so a message may take
    /// 30 s.
    #[must_use]
    pub fn listening() -> Self {
        Self {
            message_timeout: Some(Duration::from_secs(30)),
            ..Self::default()
        }
    }

    /// Refuses what does not go together.
    pub(super) fn check(&self) -> Result<()> {
        let text = if self.low > self.high {
            format!(
                "low={} is above high={}: it must not be",
                self.low, self.high
            )
        } else if self.token.is_some() && self.framing != Framing::Frame {
            "token: only the framing frame has one".to_owned()
        } else if self.max_connections == 0 {
            "max_connections=0: expected 1 or more".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Usage, text))
    }
}
