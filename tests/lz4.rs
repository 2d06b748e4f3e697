//! LZ4 frames: what is written, what is read, what is refused, and what stock tools say.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at once"
)]

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use lz4::{BlockMode, BlockSize, EncoderBuilder};
use proptest::prelude::*;
use tare::compress::{
    compress, decompress, Completeness, Compressor, Kind, Layout, ReadOptions, Reader,
    SeekableReader, Trailing, WriteOptions, Writer,
};
use tare::{ErrorKind, Result};
use xxhash_rust::xxh32::xxh32;

const CHUNK: usize = 64 << 10;
const LEGACY_MAGIC: &[u8] = b"\x02\x21\x4c\x18";

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

fn noise(size: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(step).take(size).collect()
}

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
    let mut reader = Reader::new(Drip(stored, 4099), options)?;
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

/// Gives bytes in pieces.
struct Drip<'a>(&'a [u8], usize);

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.1.min(into.len());
        self.0.read(&mut into[..size])
    }
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
fn sizes_around_the_chunk_come_back_the_same_for_every_number_of_threads() {
    for size in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK, 5 * CHUNK + 7] {
        let plain = lines(size);
        for layout in [Layout::Seekable, Layout::Single] {
            let first = written("lz4:1", &plain, options(layout, 1), 1 << 20);
            for (threads, piece) in [(1, 10_001), (2, 1 << 20), (3, 99_999), (8, 777)] {
                let again = written("lz4:1", &plain, options(layout, threads), piece);
                assert!(first == again, "{size} {layout:?} {threads}");
                let read = ReadOptions {
                    threads: Some(threads),
                    strict: true,
                    ..ReadOptions::default()
                };
                let (back, end) = streamed(&first, read.clone()).unwrap();
                assert!(plain == back, "{size} {layout:?} {threads}");
                assert_eq!(Completeness::Proven, end);
                assert!(plain == decompress(&first, &read).unwrap());
            }
        }
    }
}

#[test]
fn every_level_comes_back_and_noise_is_stored_as_it_is() {
    let plain = [lines(2 * CHUNK), noise(CHUNK), vec![0; CHUNK / 2]].concat();
    let mut sizes = Vec::new();
    for level in (-64..=12).filter(|&level| level != 0) {
        let compressor = Compressor::new(Kind::Lz4, Some(level)).unwrap();
        let stored = compress(&plain, &compressor, &options(Layout::Single, 2)).unwrap();
        assert!(plain == read(&stored).unwrap(), "{level}");
        sizes.push((level, stored.len()));
    }
    let size = |level: i32| sizes.iter().find(|(l, _)| *l == level).unwrap().1;
    assert!(size(-64) > size(1) && size(1) > size(3) && size(3) >= size(12));
    for level in ["lz4:-1", "lz4:1", "lz4:9"] {
        let plain = noise(3 * CHUNK + 5);
        let stored = written(level, &plain, options(Layout::Single, 2), 1 << 20);
        // Header without content size, four block sizes, end mark, checksum.
        assert_eq!(plain.len() + 7 + 4 * 4 + 8, stored.len());
        assert!(plain == read(&stored).unwrap());
    }
}

#[test]
fn the_layouts_are_as_specified() {
    let plain = lines(2 * CHUNK + 100);
    let stored = seekable(&plain);
    // Version 1, independent blocks, block and content checksums, 64 KiB.
    assert_eq!(b"\x04\x22\x4d\x18\x74\x40", &stored[..6]);
    let mut at = 7;
    let mut entries = vec![(7, 0)];
    for plain in plain.chunks(CHUNK) {
        let word = u32::from_le_bytes(stored[at..at + 4].try_into().unwrap());
        let end = at + 4 + (word & !(1 << 31)) as usize;
        assert_eq!(
            xxh32(&stored[at + 4..end], 0).to_le_bytes(),
            stored[end..end + 4]
        );
        entries.push((end + 4 - at, plain.len()));
        at = end + 4;
    }
    assert_eq!([0; 4], stored[at..at + 4]);
    assert_eq!(xxh32(&plain, 0).to_le_bytes(), stored[at + 4..at + 8]);
    entries.push((8, 0));
    let mut index = Vec::new();
    for (stored, plain) in &entries {
        index.extend((*stored as u32).to_le_bytes());
        index.extend((*plain as u32).to_le_bytes());
    }
    index.extend((entries.len() as u32).to_le_bytes());
    index.extend(b"\0\xb1\xea\x92\x8f");
    assert_eq!(skippable(0xe, &index), stored[at + 8..]);

    let single = written("lz4:1", &plain, options(Layout::Single, 2), 1 << 20);
    assert_eq!(b"\x04\x22\x4d\x18\x64\x40", &single[..6]);
    assert_eq!([0; 4], single[single.len() - 8..single.len() - 4]);
    let sized = compress(&plain, &"lz4".parse().unwrap(), &options(Layout::Single, 2)).unwrap();
    assert_eq!(0x6c, sized[4]);
    assert_eq!((plain.len() as u64).to_le_bytes(), sized[6..14]);
    let unchecked = WriteOptions {
        checksum: false,
        ..options(Layout::Seekable, 2)
    };
    let unchecked = written("lz4:1", &plain, unchecked, 1 << 20);
    assert_eq!(0x60, unchecked[4]);
    assert!(plain == read(&unchecked).unwrap());
    // Less than a chunk needs no index; exactly one has it.
    for (size, index) in [(CHUNK - 1, false), (CHUNK, true)] {
        let stored = seekable(&plain[..size]);
        assert_eq!(index, stored.ends_with(b"\x8f"), "{size}");
    }
}

#[test]
fn a_flush_makes_all_readable_and_keeps_the_index_right() {
    let plain = lines(CHUNK * 2);
    let mut writer = Writer::new(
        Vec::new(),
        "lz4".parse().unwrap(),
        options(Layout::Seekable, 2),
    )
    .unwrap();
    for part in plain.chunks(30_000) {
        writer.write_all(part).unwrap();
        writer.flush().unwrap();
        // What is there is all blocks so far, without an end.
        assert!(read(writer.get_ref()).unwrap_err().is_truncated());
    }
    let (stored, summary) = writer.finish().unwrap();
    assert_eq!(5, summary.units);
    let live = ReadOptions {
        read_ahead: false,
        ..lz4_only()
    };
    assert!(plain == streamed(&stored, live).unwrap().0);
    assert!(plain == read(&stored).unwrap());
}

#[test]
fn what_a_writer_leaves_behind_is_refused() {
    for size in [1, CHUNK + 1, 4 * CHUNK] {
        let mut writer = Writer::new(
            Vec::new(),
            "lz4".parse().unwrap(),
            options(Layout::Seekable, 2),
        )
        .unwrap();
        writer.write_all(&lines(size)).unwrap();
        let left = writer.abort();
        assert!(!left.is_empty(), "lz4 -t takes nothing for a whole stream");
        assert!(read(&left).unwrap_err().is_truncated());
    }
}

#[test]
fn foreign_frames_are_read() {
    let plain = [lines(3 * CHUNK + 11), noise(CHUNK), lines(50)].concat();
    for mode in [BlockMode::Linked, BlockMode::Independent] {
        assert!(plain == read(&foreign(&plain, mode)).unwrap());
    }
    assert!(plain == read(&legacy(&plain)).unwrap());
    let long = lines((16 << 20) + 5);
    assert!(long == read(&legacy(&long)).unwrap());
    // Linux puts the plain size behind its kernel images.
    let mut kernel = legacy(&plain);
    kernel.extend((plain.len() as u32).to_le_bytes());
    assert!(plain == read(&kernel).unwrap());
    // Empty blocks are no end, with and without checksums.
    let frame = raw_frame(0x60, None, &[b"one", b"", b"", b"two"]);
    assert_eq!(b"onetwo", read(&frame).unwrap().as_slice());
}

#[test]
fn frames_behind_one_another_are_read_whole() {
    let plain = lines(2 * CHUNK + 5);
    let empty = compress(b"", &"lz4".parse().unwrap(), &WriteOptions::default()).unwrap();
    let parts: Vec<(Vec<u8>, usize)> = vec![
        (empty.clone(), 0),
        (seekable(&plain), 1),
        (skippable(3, b"between"), 0),
        (foreign(&plain, BlockMode::Linked), 1),
        (seekable(&plain), 1),
        (legacy(&plain), 1),
        (foreign(&plain, BlockMode::Independent), 1),
        (skippable(0xe, b"no table at all"), 0),
        (empty, 0),
    ];
    for turn in 0..parts.len() {
        let mut all = Vec::new();
        let mut count = 0;
        for (stored, holds) in parts.iter().cycle().skip(turn).take(parts.len()) {
            all.extend(stored);
            count += holds;
        }
        assert!(plain.repeat(count) == read(&all).unwrap(), "{turn}");
    }
    for tail in [&b"tail and more"[..], b"x", b"\0\0\0\0\0"] {
        let one = seekable(&plain);
        let error = read(&[&one[..], tail].concat()).unwrap_err();
        assert_eq!(ErrorKind::Malformed, error.kind(), "{error}");
        assert_eq!(Some(one.len() as u64), error.offset());
        let stop = ReadOptions {
            trailing: Trailing::Stop,
            ..lz4_only()
        };
        assert!(plain == streamed(&[&one[..], tail].concat(), stop).unwrap().0);
    }
}

#[test]
fn the_end_is_proven_by_one_frame_or_an_index_over_all() {
    let plain = lines(CHUNK + 5);
    let (indexed, linked) = (seekable(&plain), foreign(&plain, BlockMode::Linked));
    let skipped = skippable(0, b"skipped");
    let proven = Completeness::Proven;
    let unproven = Completeness::Unproven;
    for (parts, expected) in [
        (vec![&indexed], proven),
        (vec![&linked], proven),
        (vec![&linked, &skipped], proven),
        (vec![&skipped, &linked, &skipped], proven),
        (vec![&indexed, &indexed], proven),
        (vec![&linked, &linked], unproven),
        (vec![&linked, &indexed], unproven),
        (vec![&indexed, &linked], unproven),
        (vec![&skipped], unproven),
        (vec![&legacy(&plain)], unproven),
    ] {
        let stored = parts
            .iter()
            .flat_map(|part| part.iter().copied())
            .collect::<Vec<_>>();
        assert_eq!(
            expected,
            streamed(&stored, lz4_only()).unwrap().1,
            "{}",
            parts.len()
        );
        let strict = ReadOptions {
            strict: true,
            ..lz4_only()
        };
        let result = streamed(&stored, strict);
        assert_eq!(expected == proven, result.is_ok());
        assert!(result.err().is_none_or(|error| error.is_truncated()));
    }
}

#[test]
fn every_prefix_is_truncated_at_its_own_end() {
    let plain = [lines(3000), vec![0; 2000], noise(500)].concat();
    let one = seekable(&plain);
    let sized = compress(&plain, &"lz4".parse().unwrap(), &WriteOptions::default()).unwrap();
    for stored in [&one, &sized, &foreign(&plain, BlockMode::Linked)] {
        for end in 0..stored.len() {
            let error = read(&stored[..end]).unwrap_err();
            assert!(error.is_truncated(), "{end}: {error}");
            assert_eq!(Some(end as u64), error.offset(), "{error}");
            assert_eq!(Some("lz4"), error.format());
        }
    }
    // An index that is cut is no end either; without it the frame alone is one.
    let plain = lines(2 * CHUNK);
    let stored = seekable(&plain);
    let index = stored.len() - 8 - 4 * 8 - 9;
    for end in 0..stored.len() {
        if end < 40 || end + 80 > stored.len() || end % 997 == 0 {
            match read(&stored[..end]) {
                Ok(back) => assert!(end == index && back == plain),
                Err(error) => assert!(error.is_truncated() && end != index, "{end}: {error}"),
            }
        }
    }
}

#[test]
fn no_flipped_bit_gives_wrong_bytes() {
    let small = [lines(1500), vec![0; 800], noise(300)].concat();
    let long = lines(CHUNK + 300);
    let sized = compress(&small, &"lz4".parse().unwrap(), &WriteOptions::default()).unwrap();
    for (plain, stored) in [
        (&small, sized),
        (&small, seekable(&small)),
        (&long, seekable(&long)),
    ] {
        let step = (stored.len() / 700).max(1);
        for bit in
            (0..stored.len() * 8).filter(|bit| bit / 8 % step == 0 || bit / 8 + 60 > stored.len())
        {
            let mut damaged = stored.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            if let Ok(back) = read(&damaged) {
                assert!(back == *plain, "bit {bit}");
            }
        }
    }
}

#[test]
fn an_index_of_other_blocks_is_malformed() {
    let plain = lines(3 * CHUNK);
    let stored = seekable(&plain);
    let index = stored.len() - 8 - 5 * 8 - 9;
    // Stored and plain size of the header, of a block, and of the end mark.
    for at in [0, 4, 8, 12, 32, 36] {
        let mut lying = stored.clone();
        lying[index + 8 + at] ^= 1;
        let error = read(&lying).unwrap_err();
        assert_eq!(ErrorKind::Malformed, error.kind(), "{error}");
        assert_eq!(Some(index as u64), error.offset(), "{error}");
    }
    // One of more blocks than there are.
    let error = read(
        &[
            &compress(b"x", &"lz4".parse().unwrap(), &WriteOptions::default()).unwrap(),
            &stored[index..],
        ]
        .concat(),
    );
    assert_eq!(ErrorKind::Malformed, error.unwrap_err().kind());
}

#[test]
fn headers_that_cannot_be_served_are_refused() {
    let frame = |flags, size| raw_frame(flags, size, &[b"plain"]);
    for (stored, kind, at) in [
        (frame(0x20, None), ErrorKind::Unsupported, 4),
        (frame(0xa0, None), ErrorKind::Unsupported, 4),
        (frame(0x62, None), ErrorKind::Unsupported, 4),
        (frame(0x61, None), ErrorKind::Unsupported, 4),
        (frame(0x68, Some(4)), ErrorKind::Malformed, 0),
        (frame(0x68, Some(6)), ErrorKind::Malformed, 0),
        (frame(0x68, Some(1 << 63)), ErrorKind::Malformed, 0),
        // Block size 3, and a wrong header checksum.
        (
            b"\x04\x22\x4d\x18\x60\x30\0".to_vec(),
            ErrorKind::Malformed,
            4,
        ),
        (
            b"\x04\x22\x4d\x18\x60\x40\0".to_vec(),
            ErrorKind::Malformed,
            6,
        ),
        (
            b"\x04\x22\x4d\x18\x60\x41\0".to_vec(),
            ErrorKind::Unsupported,
            4,
        ),
        // A block of 64 KiB + 1.
        (
            raw_frame(0x60, None, &[&vec![0; 65_537]]),
            ErrorKind::Malformed,
            7,
        ),
    ] {
        let error = streamed(&stored, lz4_only()).unwrap_err();
        assert_eq!(kind, error.kind(), "{error}");
        if kind == ErrorKind::Unsupported || at > 0 {
            assert_eq!(Some(at), error.offset(), "{error}");
        }
        let limited = ReadOptions {
            max_output: None,
            ..lz4_only()
        };
        assert_eq!(kind, decompress(&stored, &limited).unwrap_err().kind());
    }
    for garbage in [&b"a,b,c\n1,2,3\n"[..], b"\0\0\0\0\0\0\0\0"] {
        let error = read(garbage).unwrap_err();
        assert_eq!(
            (ErrorKind::Malformed, Some(0)),
            (error.kind(), error.offset())
        );
    }
}

#[test]
fn the_limit_stops_bombs() {
    let stored = compress(
        &vec![0; 20 << 20],
        &"lz4".parse().unwrap(),
        &WriteOptions::default(),
    )
    .unwrap();
    for stored in [
        stored,
        foreign(&vec![0; 20 << 20], BlockMode::Linked),
        legacy(&vec![0; 20 << 20]),
    ] {
        for limit in [0, 1, 1 << 20, (20 << 20) - 1] {
            let limited = ReadOptions {
                max_output: Some(limit),
                ..lz4_only()
            };
            let error = decompress(&stored, &limited).unwrap_err();
            assert_eq!(ErrorKind::Limit, error.kind(), "{error}");
            let error = streamed(&stored, limited).unwrap_err();
            assert_eq!(ErrorKind::Limit, error.kind(), "{error}");
        }
    }
}

#[test]
fn any_part_of_an_indexed_or_a_short_file_is_read() {
    for size in [0, 1, 1000, CHUNK, 5 * CHUNK + 77] {
        let plain = lines(size);
        let stored = seekable(&plain);
        let reader = match SeekableReader::new(stored.clone(), lz4_only()) {
            Ok(reader) => reader,
            // A short stream of unknown length has no content size.
            Err(error) => {
                assert!(size > 0 && size < CHUNK, "{error}");
                let build = ReadOptions {
                    build_index: true,
                    ..lz4_only()
                };
                SeekableReader::new(stored, build).unwrap()
            }
        };
        assert_eq!(size as u64, reader.len());
        for from in [0, size / 3, size.saturating_sub(9)] {
            let mut place = [0; 20];
            let got = reader.read_at(from as u64, &mut place).unwrap();
            assert_eq!(plain[from..][..20.min(size - from)], place[..got]);
        }
    }
    let plain = lines(CHUNK / 2);
    let short = compress(
        &plain,
        &"lz4".parse().unwrap(),
        &options(Layout::Seekable, 1),
    )
    .unwrap();
    let reader = SeekableReader::new(short, lz4_only()).unwrap();
    assert_eq!(
        (plain.len() as u64, 1),
        (reader.len(), reader.chunks().len())
    );
}

/// The folder of shared data; None if it is not there, which some runs forbid.
fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TARE_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let folder = root.join(path);
    if folder.exists() {
        return Some(folder);
    }
    skipped(&folder.display().to_string());
    None
}

#[allow(clippy::print_stderr, reason = "says why a test is skipped")]
fn skipped(what: &str) {
    let all = std::env::var_os("TARE_REQUIRE_ALL").is_some_and(|all| all == "1");
    assert!(!all, "{what} is missing, and TARE_REQUIRE_ALL=1");
    eprintln!("skipped: {what} is missing");
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

/// Runs `lz4` over `input`; None if it is not installed.
fn tool(arguments: &[&str], input: &[u8]) -> Option<(bool, Vec<u8>)> {
    let child = Command::new("lz4")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        skipped("the program lz4");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    Some((output.status.success(), output.stdout))
}

#[test]
fn the_stock_tool_and_we_read_each_other() {
    for size in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK] {
        let plain = lines(size);
        for layout in [Layout::Seekable, Layout::Single] {
            for id in ["lz4:1", "lz4:-5", "lz4:9"] {
                let stored = written(id, &plain, options(layout, 2), 1 << 20);
                let Some((good, back)) = tool(&["-d", "-c"], &stored) else {
                    return;
                };
                assert!(good && back == plain, "{size} {layout:?} {id}");
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
            let (good, stored) = tool(arguments, &plain).unwrap();
            assert!(good, "{size} {arguments:?}");
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
        let plain = [lines(9000), vec![0; 3000], noise(1500)].concat();
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
