//! Frames and self-delimiting messages, read and written without a transport.

#![allow(
    dead_code,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::items_after_statements,
    clippy::match_same_arms,
    clippy::needless_pass_by_value,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at once, and shares its readers with the fuzz targets"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/cpu.rs"]
mod cpu;
mod faults;
mod fixtures;
mod hostile;
mod property;
mod vectors;

include!("../../fuzz/messages.rs");

/// The bytes that hex digits say.
fn unhex(digits: &str) -> Vec<u8> {
    let digits: Vec<_> = digits.chars().filter(char::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2).map(|pair| pair.iter().collect::<String>());
    pairs
        .map(|pair| u8::from_str_radix(&pair, 16).unwrap())
        .collect()
}

/// What a writer queued, taken in pieces of at most `most` bytes.
fn written(writer: &mut tare::message::FrameWriter, most: usize) -> Vec<u8> {
    let mut stream = Vec::new();
    while writer.pending() > 0 {
        let mut slices = [std::io::IoSlice::new(&[]); 4];
        let n = writer.slices(&mut slices);
        assert!(n > 0, "pending, but nothing to write");
        let all: Vec<u8> = slices[..n]
            .iter()
            .flat_map(|slice| slice.to_vec())
            .collect();
        let part = all.len().min(most);
        stream.extend_from_slice(&all[..part]);
        writer.advance(part);
    }
    stream
}

/// One frame of a payload.
fn frame(payload: &[u8]) -> Vec<u8> {
    let mut writer = tare::message::FrameWriter::new(tare::message::Framing::Frame, false);
    writer.push(payload, false).unwrap();
    written(&mut writer, usize::MAX)
}
