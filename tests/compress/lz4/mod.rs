//! LZ4 frames: what is written, what is read, what is refused, and what stock tools say.

use std::io::{Read, Write};

use crate::lines;
use lz4::{BlockMode, BlockSize, EncoderBuilder};
use proptest::prelude::*;
use tare::compress::{
    compress, decompress, Completeness, Compressor, Kind, Layout, ReadOptions, Reader,
    SeekableReader, Trailing, WriteOptions, Writer,
};
use tare::{ErrorKind, Result};
use xxhash_rust::xxh32::xxh32;

use crate::common;
mod read;
mod written;
use common::{noise, shared, tool, Drip};

const CHUNK: usize = 64 << 10;
const LEGACY_MAGIC: &[u8] = b"\x02\x21\x4c\x18";

fn options(layout: Layout, threads: usize) -> WriteOptions {
    WriteOptions {
        threads: Some(threads),
        chunk_size: Some(CHUNK),
        layout,
        ..WriteOptions::default()
    }
}

fn written(id: &str, plain: &[u8], options: WriteOptions, piece: usize) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), id.parse().unwrap(), options).unwrap();
    for part in plain.chunks(piece) {
        writer.write_all(part).unwrap();
    }
    writer.finish().unwrap().0
}

fn seekable(plain: &[u8]) -> Vec<u8> {
    written("lz4:1", plain, options(Layout::Seekable, 2), 1 << 20)
}

/// Reads as a stream, which never takes the way of short buffers.
fn streamed(stored: &[u8], options: ReadOptions) -> Result<(Vec<u8>, Completeness)> {
    let mut reader = Reader::new(Drip::new(stored, 4099), options)?;
    let mut plain = Vec::new();
    let mut place = [0; 5000];
    loop {
        let size = reader.pull(&mut place)?;
        if size == 0 {
            let completeness = reader.info().completeness.unwrap();
            return Ok((plain, completeness));
        }
        plain.extend_from_slice(&place[..size]);
    }
}

fn lz4_only() -> ReadOptions {
    ReadOptions {
        kind: Some(Kind::Lz4),
        threads: Some(2),
        ..ReadOptions::default()
    }
}

/// Both ways of reading, which must agree.
fn read(stored: &[u8]) -> Result<Vec<u8>> {
    let whole = decompress(stored, &lz4_only());
    let pieces = streamed(stored, lz4_only()).map(|(plain, _)| plain);
    match (&whole, &pieces) {
        (Ok(whole), Ok(pieces)) => assert!(whole == pieces),
        (Err(whole), Err(pieces)) => {
            // Where a size is wrong, a lone block is to blame as well as its frame.
            let what = |error: &tare::Error| (error.kind(), error.offset().is_some());
            assert_eq!(what(whole), what(pieces), "{whole} and {pieces}");
            assert!(!whole.is_truncated() || whole.offset() == pieces.offset());
        }
        _ => unreachable!("{:?} and {:?}", whole.map(|_| ()), pieces.map(|_| ())),
    }
    whole
}

fn foreign(plain: &[u8], mode: BlockMode) -> Vec<u8> {
    let mut encoder = EncoderBuilder::new()
        .block_mode(mode)
        .block_size(BlockSize::Max64KB)
        .build(Vec::new())
        .unwrap();
    encoder.write_all(plain).unwrap();
    let (stored, result) = encoder.finish();
    result.unwrap();
    stored
}

fn legacy(plain: &[u8]) -> Vec<u8> {
    let mut stored = LEGACY_MAGIC.to_vec();
    for block in plain.chunks(8 << 20) {
        let block = lz4::block::compress(block, None, false).unwrap();
        stored.extend((block.len() as u32).to_le_bytes());
        stored.extend(block);
    }
    stored
}

fn skippable(number: u8, content: &[u8]) -> Vec<u8> {
    let mut stored = vec![0x50 | number, 0x2a, 0x4d, 0x18];
    stored.extend((content.len() as u32).to_le_bytes());
    stored.extend(content);
    stored
}

/// A frame of raw blocks, with what its descriptor is told to have.
fn raw_frame(flags: u8, size: Option<u64>, blocks: &[&[u8]]) -> Vec<u8> {
    let mut described = vec![flags, 0x40];
    described.extend(size.iter().flat_map(|size| size.to_le_bytes()));
    let check = xxh32(&described, 0).to_le_bytes()[1];
    let mut stored = [&b"\x04\x22\x4d\x18"[..], &described, &[check]].concat();
    for block in blocks {
        stored.extend((block.len() as u32 | 1 << 31).to_le_bytes());
        stored.extend(*block);
    }
    stored.extend([0; 4]);
    stored
}

#[test]
fn golden_files_are_equal_to_their_twins() {
    let Some(folder) = shared("data/compress/lz4") else {
        return;
    };
    let file = |name: &str| std::fs::read(folder.join(name)).unwrap();
    for (name, twin) in [
        (
            "Mark.Twain-Tom.Sawyer.txt.lz4",
            "Mark.Twain-Tom.Sawyer.txt.gz",
        ),
        (
            "Mark.Twain-Tom.Sawyer_legacy.txt.lz4",
            "Mark.Twain-Tom.Sawyer.txt.gz",
        ),
        ("e.txt.lz4", "e.txt.gz"),
        ("gettysburg.txt.lz4", "gettysburg.txt.gz"),
        ("random.data.lz4", "random.data.gz"),
        ("repeat.txt.lz4", "repeat.txt.gz"),
    ] {
        let mut plain = Vec::new();
        flate2::read::MultiGzDecoder::new(&file(twin)[..])
            .read_to_end(&mut plain)
            .unwrap();
        let mut stored = file(name);
        if name.contains("legacy") {
            // Behind its block and the plain size that Linux adds, 4096 bytes of other data.
            assert_eq!(ErrorKind::Malformed, read(&stored).unwrap_err().kind());
            let end = stored.len() - 4096;
            assert!(plain == read(&stored[..end - 4]).unwrap());
            stored.truncate(end);
        }
        assert!(plain == read(&stored).unwrap(), "{name}");
        let (back, end) = streamed(&stored, ReadOptions::default()).unwrap();
        assert!(plain == back);
        assert_eq!(name.contains("legacy"), end == Completeness::Unproven);
        let skip = file("skip.bin");
        let wrapped = [&skip[..], &stored, &skip].concat();
        assert!(plain == read(&wrapped).unwrap());
        assert!(plain == streamed(&wrapped, ReadOptions::default()).unwrap().0);
    }
    assert!(read(&file("skip.bin")).unwrap().is_empty());
    assert!(read(&file("malformed.block.lz4")).is_err());
}

#[test]
fn the_stock_tool_and_we_read_each_other() {
    for size in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK] {
        let plain = lines(size);
        for layout in [Layout::Seekable, Layout::Single] {
            for id in ["lz4:1", "lz4:-5", "lz4:9"] {
                let stored = written(id, &plain, options(layout, 2), 1 << 20);
                let Some(back) = tool("lz4", &["-d", "-c"], &stored) else {
                    return;
                };
                assert!(back == plain, "{size} {layout:?} {id}");
            }
        }
        for arguments in [
            &["-c", "-1"][..],
            &["-c", "-9", "-BD"],
            // Not -B4: 1.9.4 itself fails then for 65,535 bytes.
            &["-c", "-BX", "-B5"],
            &["-c", "-B5", "--no-frame-crc"],
            &["-c", "-l"],
        ] {
            let stored = tool("lz4", arguments, &plain).unwrap();
            assert!(plain == read(&stored).unwrap(), "{size} {arguments:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_come_back(
        plain in proptest::collection::vec(0_u8..8, 0..200_000),
        level in -64_i32..=12,
        seekable in any::<bool>(),
        threads in 1_usize..=8,
        piece in 1_usize..100_000,
    ) {
        let id = format!("lz4:{}", if level == 0 { 1 } else { level });
        let layout = if seekable { Layout::Seekable } else { Layout::Single };
        let stored = written(&id, &plain, options(layout, threads), piece);
        prop_assert!(plain == read(&stored)?);
    }

    #[test]
    fn both_ways_of_reading_agree_on_damaged_bytes(
        at in any::<proptest::sample::Index>(),
        with in any::<u8>(),
        cut in any::<proptest::sample::Index>(),
        which in 0_usize..4,
    ) {
        let plain = [lines(9000), vec![0; 3000], noise(7, 1500)].concat();
        let mut stored = match which {
            0 => seekable(&plain),
            1 => foreign(&plain, BlockMode::Linked),
            2 => legacy(&plain),
            _ => [seekable(&plain), skippable(1, b"x"), legacy(&plain)].concat(),
        };
        let at = at.index(stored.len());
        stored[at] = with;
        stored.truncate(stored.len() - cut.index(stored.len()) / 3);
        let _ = read(&stored);
    }
}
