//! The drivers of servers, each with a real server of its own.

#![cfg(any(
    feature = "store-object",
    feature = "store-postgres",
    feature = "store-redis"
))]
#![allow(
    dead_code,
    clippy::panic,
    clippy::unwrap_used,
    reason = "each driver's tests use some of it, and a test stops at once"
)]

#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "store-object")]
mod object;
#[cfg(feature = "store-object")]
mod object_faults;
#[cfg(feature = "store-postgres")]
mod postgres;
#[cfg(feature = "store-redis")]
mod redis;
mod shared;
