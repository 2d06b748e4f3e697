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
//! [`Relay`] emulates a link between two hosts.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod buffers;
mod crc;
mod frame;
mod framer;
mod limits;
mod look;
mod part;
mod placed;
mod relay;
mod scan;
mod state;
mod writer;

pub use frame::Control;
pub use framer::{Event, Framer, Message};
pub use limits::{Framing, Limits};
pub use part::{PartWriter, Whole};
pub use placed::Placed;
pub use relay::{Link, Relay};
pub use state::State;
pub use writer::FrameWriter;
