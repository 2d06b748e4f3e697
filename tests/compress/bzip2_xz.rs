//! bzip2, xz and lzma-alone: several streams, padding, damage, memory limits, R's own files.

use std::fs;
use std::io::{Read, Write};

use proptest::prelude::*;
use tare::compress::{
    compress, decompress, Completeness, Compressor, Kind, ReadOptions, Reader, Trailing,
    WriteOptions, Writer,
};
use tare::{ErrorKind, Result};

use crate::common;
#[cfg(unix)]
use crate::cpu::thread_time;
use common::soak::{self, Sample};
use common::{noise, sample, shared, text, tool, Drip};

const KINDS: [Kind; 2] = [Kind::Bz2, Kind::Xz];

fn pack(plain: &[u8], id: &str) -> Vec<u8> {
    let compressor = Compressor::parse(id).unwrap();
    compress(plain, &compressor, &WriteOptions::default()).unwrap()
}

fn of_kind(kind: Kind) -> ReadOptions {
    ReadOptions {
        kind: Some(kind),
        ..ReadOptions::default()
    }
}

fn stream(
    stored: &[u8],
    piece: usize,
    options: ReadOptions,
) -> Result<(Vec<u8>, Completeness, u64)> {
    let mut reader = Reader::new(Drip::new(stored, piece), options)?;
    let mut plain = Vec::new();
    let mut place = vec![0; piece.clamp(2, 70_000)];
    loop {
        let read = reader.pull(&mut place)?;
        if read == 0 {
            let info = reader.info();
            return Ok((plain, info.completeness.unwrap(), info.units));
        }
        plain.extend_from_slice(&place[..read]);
    }
}

fn reads_as(plain: &[u8], stored: &[u8]) {
    assert!(plain == decompress(stored, &ReadOptions::default()).unwrap());
    for piece in [1 << 20, 4099] {
        assert!(plain == stream(stored, piece, ReadOptions::default()).unwrap().0);
    }
}

/// Asserts that both ways of reading fail alike; gives the error's offset.
fn fails_as(kind: ErrorKind, stored: &[u8], options: &ReadOptions) -> u64 {
    let error = decompress(stored, options).expect_err("it must be refused");
    assert_eq!(kind, error.kind(), "{error}");
    assert_eq!(options.kind.unwrap().name(), error.format().unwrap());
    let streamed = stream(stored, 4096, options.clone()).expect_err("it must be refused");
    assert_eq!(kind, streamed.kind(), "{streamed}");
    error.offset().unwrap()
}

#[test]
fn every_level_comes_back_and_is_repeatable() {
    let plain = [sample(), text(300_000)].concat();
    for kind in KINDS {
        let (low, high) = kind.levels().unwrap();
        for level in low..=high {
            let id = format!("{}:{level}", kind.name());
            let stored = pack(&plain, &id);
            assert!(stored == pack(&plain, &id), "{id}");
            reads_as(&plain, &stored);
        }
    }
}

#[test]
fn sizes_come_back_in_pieces_of_one_byte() {
    for kind in KINDS {
        for size in [0, 1, 2, 4096, 100_001] {
            let plain = text(size);
            let stored = pack(&plain, kind.name());
            let (read, complete, streams) = stream(&stored, 1, of_kind(kind)).unwrap();
            assert!(plain == read);
            assert_eq!((Completeness::Proven, 1), (complete, streams));
        }
    }
}

#[test]
fn writes_in_pieces_give_the_same_bytes() {
    let plain = text(300_000);
    for kind in KINDS {
        let compressor = Compressor::new(kind, Some(3)).unwrap();
        let whole = compress(&plain, &compressor, &WriteOptions::default()).unwrap();
        let mut writer = Writer::new(Vec::new(), compressor, WriteOptions::default()).unwrap();
        for part in plain.chunks(777) {
            writer.write_all(part).unwrap();
        }
        assert!(whole == writer.finish().unwrap().0);
    }
}

#[test]
fn a_flush_lets_a_reader_have_everything_so_far() {
    for kind in KINDS {
        let compressor = Compressor::new(kind, None).unwrap();
        let mut writer = Writer::new(Vec::new(), compressor, WriteOptions::default()).unwrap();
        for part in [&b"weighed, "[..], b"and found "] {
            writer.write_all(part).unwrap();
            writer.flush().unwrap();
        }
        let mut reader = Reader::new(&writer.get_ref()[..], of_kind(kind)).unwrap();
        let mut so_far = [0; 19];
        reader.read_exact(&mut so_far).unwrap();
        assert_eq!(b"weighed, and found ", &so_far);
        writer.write_all(b"wanting").unwrap();
        reads_as(b"weighed, and found wanting", &writer.finish().unwrap().0);
    }
}

#[test]
fn an_aborted_writer_leaves_what_is_refused() {
    for kind in KINDS {
        let compressor = Compressor::new(kind, Some(1)).unwrap();
        let mut writer = Writer::new(Vec::new(), compressor, WriteOptions::default()).unwrap();
        writer.write_all(&noise(1, 2_000_000)).unwrap();
        let stored = writer.abort();
        assert!(!stored.is_empty());
        fails_as(ErrorKind::Truncated, &stored, &of_kind(kind));
    }
}

#[test]
fn every_prefix_is_truncated_at_its_own_end() {
    for kind in KINDS {
        let stored = pack(&sample(), kind.name());
        for end in 0..stored.len() {
            let at = fails_as(ErrorKind::Truncated, &stored[..end], &of_kind(kind));
            assert_eq!(end as u64, at);
        }
    }
}

#[test]
fn no_flipped_bit_gives_wrong_bytes() {
    let plain = sample();
    let (mut flips, mut positions) = (0, Sample::new(24 * 8, 7));
    for kind in KINDS {
        let stored = pack(&plain, kind.name());
        for bit in positions.select(0..stored.len() * 8) {
            flips += 1;
            let mut damaged = stored.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let options = ReadOptions {
                max_output: Some(1 << 20),
                ..of_kind(kind)
            };
            if let Ok(read) = decompress(&damaged, &options) {
                assert!(plain == read, "{}: bit {bit}", kind.name());
            }
        }
    }
    soak::count("flips", flips);
}

#[test]
fn several_streams_are_read_whole_and_other_bytes_refused() {
    let plain = sample();
    for kind in KINDS {
        let one = pack(&plain, kind.name());
        let empty = pack(b"", kind.name());
        let all = [&empty[..], &one, &empty, &one].concat();
        reads_as(&plain.repeat(2), &all);
        let (_, complete, streams) = stream(&all, 7, of_kind(kind)).unwrap();
        assert_eq!((Completeness::Unproven, 4), (complete, streams));
        let strict = ReadOptions {
            strict: true,
            ..of_kind(kind)
        };
        let at = fails_as(ErrorKind::Truncated, &all, &strict);
        assert_eq!(all.len() as u64, at);
        for tail in [&b"x"[..], b"tail and more"] {
            let tailed = [&one[..], tail].concat();
            let at = fails_as(ErrorKind::Malformed, &tailed, &of_kind(kind));
            assert_eq!(one.len() as u64, at);
            let options = ReadOptions {
                trailing: Trailing::Stop,
                ..of_kind(kind)
            };
            let mut reader = Reader::new(&tailed[..], options).unwrap();
            let mut read = Vec::new();
            reader.read_to_end(&mut read).unwrap();
            let (source, mut rest) = reader.into_parts();
            rest.extend_from_slice(source);
            assert_eq!((&plain, tail), (&read, &rest[..]));
        }
    }
}

#[test]
fn zeros_in_fours_are_padding_of_xz_and_never_of_bzip2() {
    let plain = sample();
    let one = pack(&plain, "xz");
    for zeros in [4, 8, 200_000] {
        let padding = vec![0; zeros];
        reads_as(&plain, &[&one[..], &padding].concat());
        reads_as(&plain.repeat(2), &[&one[..], &padding, &one].concat());
    }
    for zeros in [1, 2, 3, 5, 200_001] {
        let padded = [&one[..], &vec![0; zeros]].concat();
        let at = fails_as(ErrorKind::Malformed, &padded, &of_kind(Kind::Xz));
        assert_eq!(one.len() as u64, at);
        let between = [&padded[..], &one].concat();
        fails_as(ErrorKind::Malformed, &between, &of_kind(Kind::Xz));
    }
    let padded = [pack(&plain, "bz2"), vec![0; 4]].concat();
    fails_as(ErrorKind::Malformed, &padded, &of_kind(Kind::Bz2));
}

#[test]
fn garbage_is_malformed_and_nothing_is_truncated() {
    for kind in KINDS {
        for garbage in [&b"a,b,c\n1,2,3\n4,5,6\n"[..], &[0; 16], b"\x89PNG\r\n"] {
            let at = fails_as(ErrorKind::Malformed, garbage, &of_kind(kind));
            assert_eq!(0, at);
        }
        fails_as(ErrorKind::Truncated, b"", &of_kind(kind));
    }
    fails_as(ErrorKind::Malformed, b"BZh0 and more", &of_kind(Kind::Bz2));
}

#[test]
fn a_dictionary_above_the_limit_is_refused_with_the_option_to_raise() {
    // xz -9 says 64 MiB, whatever the content: more than 32 + 16.
    let stored = pack(b"weighed", "xz:9");
    let options = ReadOptions {
        max_window: 32 << 20,
        ..of_kind(Kind::Xz)
    };
    let error = decompress(&stored, &options).unwrap_err();
    assert_eq!(ErrorKind::Limit, error.kind());
    assert!(error.to_string().contains("max_window"), "{error}");
    reads_as(b"weighed", &stored);
}

#[test]
fn the_limit_is_exact_and_stops_bombs() {
    let plain = vec![0; 20 << 20];
    for kind in KINDS {
        let stored = pack(&plain, &format!("{}:1", kind.name()));
        for (limit, good) in [(0, false), (1 << 20, false), (20 << 20, true)] {
            let options = ReadOptions {
                max_output: Some(limit),
                ..of_kind(kind)
            };
            match decompress(&stored, &options) {
                Ok(read) => assert!(good && plain == read),
                Err(error) => assert_eq!((false, ErrorKind::Limit), (good, error.kind())),
            }
        }
    }
}

#[test]
fn stock_tools_read_what_is_written_and_are_read() {
    for size in [0, 1, 4096, 400_000] {
        let plain = text(size);
        for (kind, name) in [(Kind::Bz2, "bzip2"), (Kind::Xz, "xz")] {
            let stored = pack(&plain, kind.name());
            if let Some(read) = tool(name, &["-dc"], &stored) {
                assert!(plain == read, "{name}");
            }
            for level in ["-1c", "-9c"] {
                if let Some(stored) = tool(name, &[level], &plain) {
                    reads_as(&plain, &stored);
                }
            }
        }
        for check in ["none", "crc32", "crc64", "sha256"] {
            let check = format!("--check={check}");
            if let Some(stored) = tool("xz", &["-c", &check, "--block-size=65536"], &plain) {
                reads_as(&plain, &stored);
            }
        }
    }
}

#[test]
fn lzma_alone_is_told_by_its_head_and_read() {
    for size in [0, 1, 100_000] {
        let plain = text(size);
        for preset in ["-0", "-6", "-9"] {
            let Some(stored) = tool("xz", &["--format=lzma", "-c", preset], &plain) else {
                return;
            };
            reads_as(&plain, &stored);
            let (_, complete, _) = stream(&stored, 1, ReadOptions::default()).unwrap();
            assert_eq!(Completeness::Proven, complete);
            for end in (0..stored.len()).filter(|end| size < 100 || end % 61 == 0) {
                let at = fails_as(ErrorKind::Truncated, &stored[..end], &of_kind(Kind::Xz));
                assert_eq!(end as u64, at);
            }
            let tailed = [&stored[..], &stored].concat();
            fails_as(ErrorKind::Malformed, &tailed, &of_kind(Kind::Xz));
        }
    }
}

#[test]
fn lzma_alone_with_its_size_said_is_read_too() {
    let python = "import sys,lzma; sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read(), lzma.FORMAT_ALONE))";
    let plain = sample();
    let Some(mut stored) = tool("python3", &["-c", python], &plain) else {
        return;
    };
    reads_as(&plain, &stored);
    stored[5..13].copy_from_slice(&(plain.len() as u64).to_le_bytes());
    reads_as(&plain, &stored);
}

#[test]
fn corpora_of_xz_files_are_read() {
    let Some(folder) = shared("data/compress/corpus") else {
        return;
    };
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "xz") {
            let stored = fs::read(&path).unwrap();
            let plain = decompress(&stored, &ReadOptions::default()).unwrap();
            assert!(plain.len() > stored.len());
            if let Some(read) = tool("xz", &["-dc"], &stored) {
                assert!(plain == read);
            }
        }
    }
}

#[test]
fn files_of_r_are_their_uncompressed_twins() {
    let Some(folder) = shared("fixtures/rds") else {
        return;
    };
    let mut counts = [0; 3];
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        for (index, ending) in ["gzip", "bzip2", "xz"].iter().enumerate() {
            let Some(stem) = name.strip_suffix(&format!(".{ending}.rds")) else {
                continue;
            };
            let Ok(twin) = fs::read(folder.join(format!("{stem}.none.rds"))) else {
                continue;
            };
            reads_as(&twin, &fs::read(&path).unwrap());
            counts[index] += 1;
        }
    }
    assert!(counts.iter().all(|&count| count >= 20), "{counts:?}");
}

#[test]
fn a_cut_file_of_r_is_truncated() {
    if let Some(path) = shared("fixtures/rds/BAD_truncated_gzip.rds") {
        let stored = fs::read(path).unwrap();
        fails_as(ErrorKind::Truncated, &stored, &of_kind(Kind::Gzip));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_bytes_come_back(
        plain in proptest::collection::vec(0_u8..8, 0..20_000),
        piece in 1_usize..700,
        level in 1_i32..6,
    ) {
        for kind in KINDS {
            let stored = pack(&plain, &format!("{}:{level}", kind.name()));
            prop_assert!(plain == decompress(&stored, &of_kind(kind))?);
            prop_assert!(plain == stream(&stored, piece, of_kind(kind))?.0);
        }
    }

    #[test]
    fn damaged_bytes_end_alike_one_shot_and_streamed(
        at in 0_usize..10_000,
        with in any::<u8>(),
        piece in 1_usize..700,
    ) {
        for kind in KINDS {
            let mut stored = pack(&sample(), kind.name());
            let at = at % stored.len();
            stored[at] = with;
            let options = ReadOptions { max_output: Some(1 << 20), ..of_kind(kind) };
            let whole = decompress(&stored, &options);
            let streamed = stream(&stored, piece, options);
            prop_assert_eq!(whole.is_ok(), streamed.is_ok());
        }
    }
}

#[test]
#[cfg(unix)]
fn a_decoder_is_made_for_no_empty_stream() {
    let empty = pack(b"", "bz2");
    assert_eq!(14, empty.len());
    let many = [&empty.repeat(50_000)[..], &pack(b"weighed", "bz2")].concat();
    let began = thread_time();
    let (plain, complete, streams) = stream(&many, 1 << 20, of_kind(Kind::Bz2)).unwrap();
    assert_eq!(b"weighed", &plain[..]);
    assert_eq!((Completeness::Unproven, 50_001), (complete, streams));
    assert_eq!(plain, decompress(&many, &of_kind(Kind::Bz2)).unwrap());
    // A decoder for each takes half a minute.
    let took = thread_time().saturating_sub(began);
    assert!(took.as_secs() < 8, "{took:?}");
    // What is not as it should be is refused as ever.
    for at in 0..empty.len() {
        let mut damaged = empty.clone();
        damaged[at] ^= 0x80;
        fails_as(ErrorKind::Malformed, &damaged, &of_kind(Kind::Bz2));
    }
    let (_, complete, streams) = stream(&empty, 1, of_kind(Kind::Bz2)).unwrap();
    assert_eq!((Completeness::Proven, 1), (complete, streams));
}
