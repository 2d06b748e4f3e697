//! Moving whole values between processes: messages over any stream of bytes.
//!
//! [`Framer`] and [`FrameWriter`] know no transport: they turn bytes into messages and messages
//! into bytes. [`Framing::Frame`] puts a header of 5 bytes in front of each message; the others read
//! and write values that tell their own end, as other programs send them. Payloads are moved, not
//! understood: codecs and compressors work above.
//!
//! Use it to send values one by one over a pipe or a socket and to learn how the stream ended:
//! finished, cut, damaged. Do not use it inside a file that has an index of its own.
//!
//! [`Connection`] is both over a descriptor: a socket, a pipe, a file; [`Listener`] accepts them, and
//! [`wait()`] tells which of several has a whole message.
//!
//! [`Relay`] emulates a link between two hosts.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod buffers;
#[cfg(unix)]
mod connection;
mod crc;
#[cfg(unix)]
mod deadline;
mod frame;
mod framer;
mod limits;
#[cfg(unix)]
mod listener;
mod look;
#[cfg(unix)]
mod options;
mod part;
mod placed;
#[cfg(unix)]
mod poll;
mod quick;
#[allow(
    clippy::arithmetic_side_effects,
    reason = "it moves bytes and decodes none"
)]
mod relay;
mod scan;
mod state;
#[cfg(unix)]
mod through;
#[cfg(unix)]
mod transport;
mod unit;
#[cfg(unix)]
mod wire;
mod writer;

pub use frame::Control;
pub use framer::Framer;
pub use limits::{Framing, Limits};
pub use part::{PartWriter, Whole};
pub use placed::Placed;
pub use relay::{Link, Relay};
pub use state::State;
pub use unit::{Event, Message};
pub use writer::FrameWriter;

#[cfg(unix)]
pub use connection::{Connection, Facts, Received, Taken};
#[cfg(unix)]
pub use deadline::Call;
#[cfg(unix)]
pub use listener::Listener;
#[cfg(unix)]
pub use options::{Mode, Options, Token};
#[cfg(unix)]
pub use poll::{wait, Pollable};
#[cfg(unix)]
pub use transport::Url;
#[cfg(unix)]
pub use wire::{is_timeout, Stream, System, Wire};
