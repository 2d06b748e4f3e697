//! Messages over real sockets, pipes and files, and with peers that misbehave.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test stops at once"
)]

mod ends;
mod faults;
mod flow;
mod listening;
mod misbehaving;
mod peers;
mod places;
mod waiting;
