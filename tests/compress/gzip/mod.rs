//! gzip as it is written and read: BGZF, members, one member; damaged, cut and foreign files.

use std::io::{Read, Write};

use proptest::prelude::*;
use tare::compress::{
    compress, decompress, decompress_into, expected_bytes, Completeness, Compressor, Kind, Layout,
    Placed, ReadOptions, Reader, SeekableReader, Trailing, WriteOptions, Writer,
};
use tare::{ErrorKind, Result};

use crate::common;
mod index;
mod read;
mod written;
use common::{noise, sample, shared, text, tool, Drip};

const MARKER: &[u8] = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0";
const BGZF_PLAIN: usize = 65_280;

fn write(plain: &[u8], id: &str, threads: usize, chunk: usize, piece: usize) -> Vec<u8> {
    let options = WriteOptions {
        threads: Some(threads),
        chunk_size: Some(chunk),
        ..WriteOptions::default()
    };
    let mut writer = Writer::new(Vec::new(), Compressor::parse(id).unwrap(), options).unwrap();
    for part in plain.chunks(piece) {
        writer.write_all(part).unwrap();
    }
    let (stored, summary) = writer.finish().unwrap();
    assert_eq!(
        (plain.len() as u64, stored.len() as u64),
        (summary.bytes_in, summary.bytes_out)
    );
    stored
}

fn gzip(plain: &[u8], id: &str) -> Vec<u8> {
    write(plain, id, 1, 64 << 10, usize::MAX >> 1)
}

/// Reads as a stream, in pieces of at most `piece` stored bytes.
fn stream(stored: &[u8], piece: usize, options: ReadOptions) -> Result<(Vec<u8>, Completeness)> {
    let options = ReadOptions {
        kind: Some(Kind::Gzip),
        ..options
    };
    let mut reader = Reader::new(Drip::new(stored, piece), options)?;
    let mut plain = Vec::new();
    let mut place = vec![0; piece.clamp(2, 70_000)];
    loop {
        let read = reader.pull(&mut place)?;
        if read == 0 {
            return Ok((plain, reader.info().completeness.unwrap()));
        }
        plain.extend_from_slice(&place[..read]);
    }
}

fn one_shot(stored: &[u8]) -> Result<Vec<u8>> {
    let options = ReadOptions {
        kind: Some(Kind::Gzip),
        max_output: Some(1 << 28),
        ..ReadOptions::default()
    };
    decompress(stored, &options)
}

/// Asserts that all ways of reading give `plain`.
fn reads_as(plain: &[u8], stored: &[u8]) {
    assert!(plain == one_shot(stored).unwrap(), "one-shot");
    for (piece, threads) in [(1 << 20, 2), (4099, 1)] {
        let options = ReadOptions {
            threads: Some(threads),
            ..ReadOptions::default()
        };
        let (read, _) = stream(stored, piece, options).unwrap();
        assert!(plain == read, "stream of {piece}");
    }
}

/// Asserts that all ways of reading fail alike; gives the error's offset.
fn fails_as(kind: ErrorKind, stored: &[u8]) -> u64 {
    let error = one_shot(stored).expect_err("one-shot must refuse it");
    assert_eq!(kind, error.kind(), "one-shot: {error}");
    assert_eq!(Some("gzip"), error.format());
    let streamed = stream(stored, 4096, ReadOptions::default());
    let streamed = streamed.expect_err("the stream must be refused");
    assert_eq!(kind, streamed.kind(), "stream: {streamed}");
    assert_eq!(error.offset(), streamed.offset(), "{error} / {streamed}");
    error.offset().unwrap()
}

fn completeness(stored: &[u8]) -> Completeness {
    stream(stored, 1 << 20, ReadOptions::default()).unwrap().1
}

/// A BGZF member of given raw deflate data and trailer.
fn bgzf(deflate: &[u8], crc: u32, size: u32) -> Vec<u8> {
    let mut member = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0".to_vec();
    member.extend((deflate.len() as u16 + 25).to_le_bytes());
    member.extend(deflate);
    member.extend(crc.to_le_bytes());
    member.extend(size.to_le_bytes());
    member
}

/// Raw deflate, checksum and size of an ordinary member without extras.
fn parts(member: &[u8]) -> (&[u8], u32, u32) {
    let (rest, size) = member.split_last_chunk::<4>().unwrap();
    let (rest, crc) = rest.split_last_chunk::<4>().unwrap();
    (
        &rest[10..],
        u32::from_le_bytes(*crc),
        u32::from_le_bytes(*size),
    )
}

#[test]
fn stock_tools_read_what_is_written_and_are_read() {
    let python =
        "import sys,gzip; sys.stdout.buffer.write(gzip.decompress(sys.stdin.buffer.read()))";
    for size in [0, 1, 65_279, 65_280, 65_281, 131_072, 400_000] {
        let plain = text(size);
        for layout in ["seekable", "members", "single"] {
            let stored = gzip(&plain, &format!("gzip:6,layout={layout}"));
            for (name, arguments) in [
                ("gzip", &["-dc"][..]),
                ("pigz", &["-dc"]),
                ("bgzip", &["-dc"]),
                ("python3", &["-c", python]),
            ] {
                if let Some(read) = tool(name, arguments, &stored) {
                    assert!(plain == read, "{name} {layout} {size}");
                }
            }
        }
        for (name, arguments) in [
            ("gzip", &["-c"][..]),
            ("gzip", &["-1c"]),
            ("pigz", &["-c"]),
            ("bgzip", &["-c"]),
        ] {
            if let Some(stored) = tool(name, arguments, &plain) {
                reads_as(&plain, &stored);
            }
        }
    }
}

#[test]
fn the_golden_files_are_what_zlib_says() {
    let Some(folder) = shared("data/compress/lz4") else {
        return;
    };
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "gz") {
            let stored = std::fs::read(&path).unwrap();
            let mut plain = Vec::new();
            let mut oracle = flate2::read::MultiGzDecoder::new(&stored[..]);
            oracle.read_to_end(&mut plain).unwrap();
            reads_as(&plain, &stored);
            count += 1;
        }
    }
    assert!(count >= 6, "{count}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_bytes_come_back(
        seed in any::<u64>(),
        size in 0_usize..400_000,
        mask in prop_oneof![Just(0xff_u8), Just(0x0f), Just(0x01)],
        level in 0_i32..=12,
        threads in 1_usize..=4,
        piece in 1000_usize..200_000,
        layout in prop_oneof![Just(Layout::Seekable), Just(Layout::Members), Just(Layout::Single)],
    ) {
        let plain: Vec<u8> = noise(seed, size).iter().map(|byte| byte & mask).collect();
        let id = format!("gzip:{level},layout={}", layout.name());
        let stored = write(&plain, &id, threads, 64 << 10, piece);
        prop_assert!(plain == one_shot(&stored)?);
        let options = ReadOptions { threads: Some(threads), ..ReadOptions::default() };
        prop_assert!(plain == stream(&stored, piece, options)?.0);
        let mut oracle = Vec::new();
        flate2::read::MultiGzDecoder::new(&stored[..]).read_to_end(&mut oracle)?;
        prop_assert!(plain == oracle);
    }

    #[test]
    fn one_shot_and_stream_agree_on_damaged_bytes(
        at in 0_usize..10_000,
        with in any::<u8>(),
        cut in 0_usize..10_000,
        piece in 1_usize..700,
        large in any::<bool>(),
    ) {
        let mut plain = sample();
        if large {
            plain.resize(BGZF_PLAIN + 99, b'z');
        }
        let mut stored = gzip(&plain, "gzip:6");
        let at = at % stored.len();
        stored[at] = with;
        stored.truncate((stored.len() - cut % stored.len()).max(1));
        let whole = one_shot(&stored);
        let streamed = stream(&stored, piece, ReadOptions::default());
        prop_assert_eq!(whole.is_ok(), streamed.is_ok());
        if let (Ok(whole), Ok((streamed, _))) = (whole, streamed) {
            prop_assert!(whole == streamed);
        }
    }
}
