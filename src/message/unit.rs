//! What a [`Framer`](super::Framer) finds, and what it knows of the message under way.

use super::frame::Control;
use super::scan::{cbor, msgpack};

/// A whole message, lent until the framer is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its bytes, as the sender gave them to its writer.
    pub bytes: &'a [u8],
    /// Where it begins, in bytes from the start of the stream.
    pub offset: u64,
    /// How many messages came before it.
    pub number: u64,
    /// Whether the bytes are one compressed stream.
    pub compressed: bool,
    /// In how many frames it came.
    pub parts: u32,
    /// Its length, if the bytes were received into a buffer of the caller: see [`Framer::place`](super::Framer::place).
    pub placed: Option<usize>,
}

/// What a stream holds: messages, and what is said between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A whole message.
    Message(Message<'a>),
    /// A control frame.
    Control(Control<'a>),
}

/// Where a whole unit lies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Behind `head` bytes of the unit's `total` in the shared buffer.
    Shared { head: usize, total: usize },
    /// In a buffer of its own.
    Body,
    /// In a buffer of the caller.
    Placed,
    /// As `Shared`; a control frame.
    Control { head: usize, total: usize },
}

/// A whole unit that waits to be taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub place: Place,
    pub length: usize,
    pub offset: u64,
    pub compressed: bool,
    pub parts: u32,
}

/// A message that is received frame by frame, or in a buffer of its own.
#[derive(Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is one of the header's, or says where bytes go"
)]
pub(super) struct Under {
    /// The message's bytes go to a buffer of their own.
    pub in_body: bool,
    /// A part of it is under way.
    pub open: bool,
    /// Bytes of the part's payload that are still to come.
    pub left: u64,
    /// The part's checksum follows.
    pub crc: bool,
    /// The checksum so far.
    pub sum: u32,
    /// Another part follows.
    pub more: bool,
    /// Where the part's frame begins.
    pub frame: u64,
    /// Where the message begins.
    pub offset: u64,
    pub compressed: bool,
    pub parts: u32,
    /// Bytes that went to the caller's buffer.
    pub placed: usize,
    pub is_placed: bool,
}

#[derive(Debug)]
pub(super) enum Scanner {
    None,
    Msgpack(msgpack::Scan),
    Cbor(cbor::Scan),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Open,
    AtEnd,
    Failed,
    Closed,
}

/// A small message that was taken off the shared buffer, where its bytes still lie.
#[derive(Clone, Copy)]
pub(super) struct Quick {
    pub at: usize,
    pub length: usize,
    pub offset: u64,
    pub number: u64,
    pub compressed: bool,
}
