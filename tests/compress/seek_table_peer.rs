//! The seek table against the zstd project's own code for it, `contrib/seekable_format`.

use std::io::Write;

use tare::compress::{
    decompress, Completeness, Compressor, ReadOptions, Reader, SeekableReader, WriteOptions, Writer,
};
use tare::ErrorKind;
use zstd_safe::seekable::{Seekable, SeekableCStream};
use zstd_safe::{InBuffer, OutBuffer};

use crate::common;
use common::text;

const CHUNK: usize = 64 << 10;

fn ours(plain: &[u8]) -> Vec<u8> {
    let options = WriteOptions {
        chunk_size: Some(CHUNK),
        ..WriteOptions::default()
    };
    let compressor = Compressor::parse("zstd:1").unwrap();
    let mut writer = Writer::new(Vec::new(), compressor, options).unwrap();
    writer.write_all(plain).unwrap();
    writer.finish().unwrap().0
}

/// Frames of `frame` plain bytes by the zstd project's writer; its table may have checksums.
fn theirs(plain: &[u8], checksums: bool, frame: u32) -> Vec<u8> {
    let mut stream = SeekableCStream::create();
    stream.init(1, checksums, frame).unwrap();
    let mut stored = vec![0; plain.len() + (1 << 20)];
    let mut output = OutBuffer::around(&mut stored[..]);
    let mut input = InBuffer::around(plain);
    while input.pos() < plain.len() {
        stream.compress_stream(&mut output, &mut input).unwrap();
    }
    while stream.end_stream(&mut output).unwrap() > 0 {}
    let size = output.pos();
    stored.truncate(size);
    stored
}

#[test]
fn the_contrib_reader_finds_every_byte_of_ours() {
    for size in [CHUNK, CHUNK + 1, 5 * CHUNK + 1000] {
        let plain = text(size);
        let stored = ours(&plain);
        let mut reader = Seekable::create();
        reader.init_buff(&stored).unwrap();
        let frames = size.div_ceil(CHUNK);
        assert_eq!(frames, reader.num_frames() as usize);
        for offset in [0, 1, CHUNK - 1, size - 1, size / 2] {
            let mut part = vec![0; 3000.min(size - offset)];
            let made = reader.decompress(&mut part[..], offset as u64).unwrap();
            assert_eq!(part.len(), made);
            assert!(plain[offset..offset + made] == part, "{size} {offset}");
        }
    }
}

#[test]
fn tables_of_the_contrib_writer_are_used_with_checksums_and_without() {
    let plain = text(5 * CHUNK + 1000);
    for checksums in [false, true] {
        let stored = theirs(&plain, checksums, 50_000);
        assert_eq!(
            if checksums { 0x80 } else { 0 },
            stored[stored.len() - 5],
            "the descriptor"
        );
        assert!(plain == decompress(&stored, &ReadOptions::default()).unwrap());
        let mut reader = Reader::new(&stored[..], ReadOptions::default()).unwrap();
        std::io::copy(&mut reader, &mut std::io::sink()).unwrap();
        assert_eq!(Some(Completeness::Proven), reader.info().completeness);
        let reader = SeekableReader::new(stored.clone(), ReadOptions::default()).unwrap();
        assert_eq!(plain.len().div_ceil(50_000), reader.chunks().len());
        let mut part = [0; 3000];
        assert_eq!(3000, reader.read_at(149_000, &mut part).unwrap());
        assert!(plain[149_000..152_000] == part);
        // One that lists another size is refused.
        let mut lying = stored.clone();
        let entry = if checksums { 12 } else { 8 };
        let last = stored.len() - 9 - entry;
        lying[last + 4] ^= 1;
        let error = decompress(&lying, &ReadOptions::default()).unwrap_err();
        assert_eq!(ErrorKind::Malformed, error.kind());
    }
}
