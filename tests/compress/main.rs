//! Compressors in their containers: written, read, cut and damaged, beside the stock tools.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::case_sensitive_file_extension_comparisons,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at once, and makes its own small numbers"
)]

mod bzip2_xz;
mod chunked;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/cpu.rs"]
#[cfg(unix)]
#[allow(dead_code, reason = "how work grows is asked elsewhere")]
mod cpu;
mod engine;
mod faults;
mod gzip;
mod kinds;
mod lz4;
mod seek_table_peer;
mod skips;
mod survey;
mod vectors;
mod zlib;
mod zstd;
mod zstd_headers;

// The module of headers that `zstd_headers` takes from the sources finds its error here.
use tare::{Error, ErrorKind, Result};

use std::io::Write;

/// Lines of a table, the same each time.
fn lines(size: usize) -> Vec<u8> {
    let mut data = Vec::with_capacity(size + 40);
    let mut state = 88_172_645_463_325_252_u64;
    while data.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        writeln!(data, "{},JFK,{}", state % 1000, state % 7).unwrap();
    }
    data.truncate(size);
    data
}
