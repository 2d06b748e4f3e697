//! Streams of every length, layout and number of threads come back, and are the same bytes.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at once"
)]

use std::io::Write;
use tare::compress::{decompress, Compressor, Layout, ReadOptions, WriteOptions, Writer};

fn text(size: usize) -> Vec<u8> {
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

#[test]
fn sizes_around_the_chunk_come_back() {
    let chunk = 64 << 10;
    for size in [0, 1, chunk - 1, chunk, chunk + 1, 5 * chunk, 5 * chunk + 7] {
        let plain = text(size);
        for layout in [Layout::Seekable, Layout::Single] {
            let mut all = Vec::new();
            for threads in [1, 2, 3, 8] {
                let options = WriteOptions {
                    threads: Some(threads),
                    chunk_size: Some(chunk),
                    layout,
                    ..WriteOptions::default()
                };
                let mut writer =
                    Writer::new(Vec::new(), Compressor::parse("zstd:3").unwrap(), options).unwrap();
                for part in plain.chunks(10_001) {
                    writer.write_all(part).unwrap();
                }
                let (stored, summary) = writer.finish().unwrap();
                assert_eq!(stored.len() as u64, summary.bytes_out);
                let read = ReadOptions {
                    threads: Some(threads),
                    strict: layout == Layout::Seekable,
                    ..ReadOptions::default()
                };
                assert!(
                    plain == decompress(&stored, &read).unwrap(),
                    "{size} {layout:?}"
                );
                all.push(stored);
            }
            assert!(
                all.windows(2).all(|pair| pair[0] == pair[1]),
                "{size} {layout:?}"
            );
        }
    }
}
