//! What messages cost without a transport: `cargo run --release --example bench_messages`.
//!
//! Small ones are written in batches of 64 KiB and read from them; values are scanned. Nanoseconds
//! per message, the best and the median of several rounds; `--json` for `make bench NAME=messages`.
//! `ROUNDS=n` and `ONLY=name` help to count instructions.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a measurement stops at once"
)]

use std::hint::black_box;
use std::io::IoSlice;
use std::time::Instant;

use tare::message::{FrameWriter, Framer, Framing, Limits};

/// Writes and reads `count` messages in batches of 64 KiB; returns their number.
fn through(framing: Framing, crc: bool, payload: &[u8], count: usize) -> usize {
    let mut writer = FrameWriter::new(framing, crc);
    let mut framer = Framer::new(framing, Limits::default());
    let mut received = 0;
    let mut sent = 0;
    while sent < count {
        while writer.pending() < 64 << 10 && sent < count {
            writer.push(black_box(payload), false).unwrap();
            sent += 1;
        }
        while writer.pending() > 0 {
            let mut slices = [IoSlice::new(&[])];
            writer.slices(&mut slices);
            let room = framer.reserve();
            let n = room.len().min(slices[0].len());
            room[..n].copy_from_slice(&slices[0][..n]);
            framer.commit(n);
            writer.advance(n);
            while let Some(message) = framer.next().unwrap() {
                black_box(message.bytes);
                received += 1;
            }
        }
    }
    received
}

/// Reads a stream in pieces.
fn pieces(framing: Framing, stream: &[u8], size: usize) -> usize {
    let mut framer = Framer::new(framing, Limits::default());
    let mut received = 0;
    for piece in stream.chunks(size) {
        framer.feed(piece);
        while let Some(message) = framer.next().unwrap() {
            black_box(message.bytes);
            received += 1;
        }
    }
    received
}

/// Prints the best and the median of several rounds, per message and per byte.
fn report(name: &str, bytes: usize, mut work: impl FnMut() -> usize) {
    if std::env::var("ONLY").is_ok_and(|only| only != name) {
        return;
    }
    let rounds = std::env::var("ROUNDS").map_or(7, |rounds| rounds.parse().unwrap());
    let mut count = 0;
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            count = work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let [best, median] = [times[0], times[rounds / 2]];
    let [lowest, each] = [best, median].map(|time| time / count as f64 * 1e9);
    if std::env::args().any(|argument| argument == "--json") {
        println!(r#"{{"name":"{name}","median_ns":{each},"lowest_ns":{lowest}}}"#);
        return;
    }
    let rate = bytes as f64 / best / 1e9;
    println!(
        "{name:<22} {count:>8} messages {lowest:>14.1} ns each, median {each:.1} {rate:>7.2} GB/s"
    );
}

fn main() {
    let million = 1_000_000;
    let small = [7; 32];
    report("frame-32", 37 * million, || {
        through(Framing::Frame, false, &small, million)
    });
    report("frame-32-crc", 41 * million, || {
        through(Framing::Frame, true, &small, million)
    });
    report("wrap-32", 34 * million, || {
        through(Framing::Wrap, false, &small, million)
    });
    let map = b"\x83\xa2id\xce\x00\x01\x00\x00\xa4name\xa5alice\xa5score\xcb\x40\x45\x00\x00\x00\x00\x00\x00";
    report("msgpack-map", map.len() * million, || {
        through(Framing::Msgpack, false, map, million)
    });
    let line = br#"{"id":65536,"name":"alice","score":42.5}"#;
    report("ndjson-map", line.len() * million, || {
        through(Framing::Ndjson, false, line, million)
    });
    let map = b"\xa3\x62id\x1a\x00\x01\x00\x00\x64name\x65alice\x65score\xfb\x40\x45\x00\x00\x00\x00\x00\x00";
    report("cbor-map", map.len() * million, || {
        through(Framing::Cbor, false, map, million)
    });

    let mut ints = b"\xdd\x00\x40\x00\x00".to_vec();
    ints.extend(b"\xce\x00\x01\x02\x03".repeat(4 << 20));
    for size in [usize::MAX, 1 << 20, 64 << 10, 2000] {
        let name = format!("msgpack-ints/{}", if size > ints.len() { 0 } else { size });
        report(&name, ints.len(), || pieces(Framing::Msgpack, &ints, size));
    }
    let mut writer = FrameWriter::new(Framing::Frame, false);
    writer.push(&vec![7; 1_000_000], false).unwrap();
    let mut slices = [IoSlice::new(&[])];
    writer.slices(&mut slices);
    let frame = slices[0].to_vec();
    for size in [usize::MAX, 10_000, 100] {
        let name = format!("frame-1MB/{}", if size > frame.len() { 0 } else { size });
        report(&name, frame.len(), || pieces(Framing::Frame, &frame, size));
    }
}
