//! Where a stream of messages stands, and the error that belongs to it.

use super::Framing;
use crate::{Error, ErrorKind};

/// Where a stream of messages stands. Offsets are bytes from the start of the stream.
///
/// # Example
/// ```
/// use tare::message::{Framer, Framing, Limits, State};
/// let mut framer = Framer::new(Framing::Frame, Limits::default());
/// framer.feed(&[0xE0, 2, 0, 0, 0, b'h']);
/// assert_eq!(State::NeedMore { hint: 1 }, framer.state());
/// framer.end();
/// assert_eq!(State::EofTruncated { offset: 0 }, framer.state());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Between messages, or with whole messages to take.
    Ok,
    /// Inside a message.
    NeedMore {
        /// The least number of bytes that are missing.
        hint: u64,
    },
    /// The transport ended directly behind an END: the sender finished on purpose.
    Ended,
    /// The transport ended between messages.
    EofClean,
    /// The transport ended inside a message.
    EofTruncated {
        /// Where the unfinished message begins.
        offset: u64,
    },
    /// No further bytes can mend the stream.
    Malformed {
        /// The frame or the byte that is wrong.
        offset: u64,
    },
    /// A frame is not what its checksum says.
    BadChecksum {
        /// Where the frame begins.
        offset: u64,
    },
    /// A message over `max_message`.
    TooBig {
        /// Where the message begins.
        offset: u64,
        /// The bytes it has at least.
        needed: u64,
    },
    /// A message over `max_depth`.
    TooDeep {
        /// Where the message begins.
        offset: u64,
        /// The values inside each other that it has at least.
        needed: u64,
    },
    /// The transport failed.
    Failed,
    /// Closed by this end.
    Closed,
}

impl State {
    /// The state's word, as `need_more`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NeedMore { .. } => "need_more",
            Self::Ended => "ended",
            Self::EofClean => "eof_clean",
            Self::EofTruncated { .. } => "eof_truncated",
            Self::Malformed { .. } => "malformed",
            Self::BadChecksum { .. } => "bad_checksum",
            Self::TooBig { .. } => "too_big",
            Self::TooDeep { .. } => "too_deep",
            Self::Failed => "failed",
            Self::Closed => "closed",
        }
    }

    /// Whether nothing will follow.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Ok | Self::NeedMore { .. })
    }

    /// Whether it is one that [`Framer::next`](super::Framer::next) answers with an error.
    #[must_use]
    pub fn is_error(self) -> bool {
        self.is_final() && !matches!(self, Self::Ended | Self::EofClean)
    }

    /// The byte where the stream went wrong.
    #[must_use]
    pub fn offset(self) -> Option<u64> {
        match self {
            Self::EofTruncated { offset }
            | Self::Malformed { offset }
            | Self::BadChecksum { offset }
            | Self::TooBig { offset, .. }
            | Self::TooDeep { offset, .. } => Some(offset),
            _ => None,
        }
    }
}

/// An error state, with what was found there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    pub state: State,
    pub what: &'static str,
}

impl Failure {
    /// The error that a caller sees; the same each time.
    pub fn error(self, framing: Framing, number: u64, limit: u64) -> Error {
        let (kind, text) = match self.state {
            State::EofTruncated { .. } => (
                ErrorKind::Truncated,
                "the stream ends inside a message: the sender stopped or was cut off".to_owned(),
            ),
            State::BadChecksum { .. } => (
                ErrorKind::ChecksumMismatch,
                "a frame is not what its checksum says: it was damaged on the way".to_owned(),
            ),
            State::TooBig { needed, .. } => (
                ErrorKind::Limit,
                format!("a message of {needed} bytes or more, over max_message = {limit}: raise it, or send less at once"),
            ),
            State::TooDeep { needed, .. } => (
                ErrorKind::Limit,
                format!("{needed} values inside each other or more, over max_depth = {limit}: raise it if the sender is trusted"),
            ),
            State::Failed => (ErrorKind::Io, "the transport failed".to_owned()),
            State::Closed => (ErrorKind::Usage, "closed: open another connection".to_owned()),
            _ => (ErrorKind::Malformed, self.what.to_owned()),
        };
        let mut error = Error::new(kind, text)
            .with_format(framing.name())
            .with_detail("message_number", number.to_string());
        if let Some(offset) = self.state.offset() {
            error = error.with_offset(offset);
        }
        if let State::TooBig { needed, .. } | State::TooDeep { needed, .. } = self.state {
            error = error.with_detail("needed", needed.to_string());
        }
        error
    }
}
