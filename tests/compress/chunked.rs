//! Streams of every length, layout and number of threads come back, and are the same bytes.

use crate::lines;
use std::io::Write;
use tare::compress::{decompress, Compressor, Layout, ReadOptions, WriteOptions, Writer};

#[test]
fn sizes_around_the_chunk_come_back() {
    let chunk = 64 << 10;
    for size in [0, 1, chunk - 1, chunk, chunk + 1, 5 * chunk, 5 * chunk + 7] {
        let plain = lines(size);
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
