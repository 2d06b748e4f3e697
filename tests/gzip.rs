//! gzip as it is written and read: BGZF, members, one member; damaged, cut and foreign files.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at once"
)]

use std::io::{Read, Write};

use proptest::prelude::*;
use tare::compress::{
    compress, decompress, decompress_into, expected_bytes, Completeness, Compressor, Kind, Layout,
    Placed, ReadOptions, Reader, SeekableReader, Trailing, WriteOptions, Writer,
};
use tare::{ErrorKind, Result};

mod common;
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
fn every_layout_length_and_thread_gives_the_same_bytes_that_come_back() {
    let chunk = 128 << 10;
    for size in [
        0,
        1,
        BGZF_PLAIN - 1,
        BGZF_PLAIN,
        BGZF_PLAIN + 1,
        chunk - 1,
        chunk,
        chunk + 1,
        2 * BGZF_PLAIN,
        5 * chunk + 7,
    ] {
        let plain = text(size);
        for layout in ["seekable", "members", "single"] {
            let id = format!("gzip:6,layout={layout}");
            let stored = write(&plain, &id, 1, chunk, 10_001);
            for (threads, piece) in [(2, 70_001), (3, 999_999), (8, 10_007)] {
                let other = write(&plain, &id, threads, chunk, piece);
                assert!(stored == other, "{size} {layout} {threads}");
            }
            reads_as(&plain, &stored);
        }
    }
}

#[test]
fn bgzf_has_members_of_65280_bytes_and_a_marker_whatever_the_chunks() {
    let plain = text(300_000);
    let stored = write(&plain, "gzip:6", 2, 64 << 10, 7777);
    assert!(stored == write(&plain, "gzip:6", 2, 1 << 20, 100_000));
    assert!(stored.ends_with(MARKER));
    let mut at = 0;
    let mut sizes = Vec::new();
    while at < stored.len() {
        assert_eq!(MARKER[..16], stored[at..at + 16]);
        let size = u16::from_le_bytes([stored[at + 16], stored[at + 17]]);
        at += usize::from(size) + 1;
        sizes.push(u32::from_le_bytes(stored[at - 4..at].try_into().unwrap()));
    }
    assert_eq!(vec![65_280, 65_280, 65_280, 65_280, 38_880, 0], sizes);
    assert_eq!(Completeness::Proven, completeness(&stored));
}

#[test]
fn what_fits_in_one_bgzf_member_is_a_plain_member() {
    for size in [0, 1, BGZF_PLAIN] {
        let stored = gzip(&noise(1, size), "gzip:6");
        assert_eq!(b"\x1f\x8b\x08\0\0\0\0\0\0\x03", &stored[..10]);
        assert_eq!(Completeness::Proven, completeness(&stored));
    }
    assert!(gzip(&noise(1, BGZF_PLAIN + 1), "gzip:6").ends_with(MARKER));
}

#[test]
fn members_are_ordinary_ones_a_chunk_each() {
    let plain = text(200_000);
    let stored = gzip(&plain, "gzip:6,layout=members");
    let headers = stored.windows(10);
    let headers = headers.filter(|window| window == b"\x1f\x8b\x08\0\0\0\0\0\0\x03");
    assert_eq!(4, headers.count());
    assert_eq!(Completeness::Unproven, completeness(&stored));
    let strict = ReadOptions {
        strict: true,
        ..ReadOptions::default()
    };
    let error = stream(&stored, 4096, strict).unwrap_err();
    assert_eq!(
        (ErrorKind::Truncated, Some(stored.len() as u64)),
        (error.kind(), error.offset())
    );
}

#[test]
fn every_level_comes_back_in_every_layout() {
    let mut plain = sample();
    plain.extend(noise(5, 200_000));
    plain.extend(text(100_000));
    for level in 0..=12 {
        for layout in ["seekable", "members", "single"] {
            let stored = gzip(&plain, &format!("gzip:{level},layout={layout}"));
            assert!(stored.len() < plain.len() + 300, "{level} {layout}");
            reads_as(&plain, &stored);
        }
    }
}

#[test]
fn noise_costs_a_few_bytes_at_every_level() {
    let plain = noise(9, 3 * BGZF_PLAIN);
    for level in [0, 1, 6, 7, 9, 12] {
        let stored = gzip(&plain, &format!("gzip:{level}"));
        assert!(stored.len() <= plain.len() + 3 * 31 + 28, "{level}");
        reads_as(&plain, &stored);
        let whole = gzip(&plain, &format!("gzip:{level},layout=members"));
        reads_as(&plain, &whole);
    }
}

#[test]
fn single_is_one_member_however_it_is_written() {
    let plain = text(700_000);
    let compressor = Compressor::parse("gzip:6").unwrap();
    let whole = compress(&plain, &compressor, &WriteOptions::default()).unwrap();
    let streamed = gzip(&plain, "gzip:6,layout=single");
    for stored in [&whole, &streamed] {
        assert_eq!(b"\x1f\x8b\x08\0\0\0\0\0\0\x03", &stored[..10]);
        assert_eq!(Completeness::Proven, completeness(stored));
        let mut first = Vec::new();
        let mut lone = flate2::read::GzDecoder::new(&stored[..]);
        lone.read_to_end(&mut first).unwrap();
        assert!(plain == first);
        reads_as(&plain, stored);
    }
    // What fits in a chunk is the same bytes both ways.
    let plain = &plain[..50_000];
    let whole = compress(plain, &compressor, &WriteOptions::default()).unwrap();
    assert!(whole == gzip(plain, "gzip:6,layout=single"));
}

#[test]
fn a_flush_lets_a_reader_have_everything_so_far() {
    for layout in ["seekable", "members", "single"] {
        let id = format!("gzip:6,layout={layout}");
        let compressor = Compressor::parse(&id).unwrap();
        let mut writer = Writer::new(Vec::new(), compressor, WriteOptions::default()).unwrap();
        writer.flush().unwrap();
        assert!(writer.get_ref().is_empty(), "{layout}");
        writer.write_all(b"weighed, ").unwrap();
        writer.flush().unwrap();
        let mut so_far = [0; 9];
        let mut reader = flate2::read::MultiGzDecoder::new(&writer.get_ref()[..]);
        reader.read_exact(&mut so_far).unwrap();
        assert_eq!(b"weighed, ", &so_far);
        writer.write_all(b"and found wanting").unwrap();
        let (stored, _) = writer.finish().unwrap();
        reads_as(b"weighed, and found wanting", &stored);
    }
}

#[test]
fn a_writer_that_is_dropped_leaves_no_whole_file() {
    for layout in ["seekable", "members", "single"] {
        let id = format!("gzip:1,layout={layout}");
        for size in [200_000, 2 * BGZF_PLAIN + 1, 4 * (64 << 10) + 1] {
            let options = WriteOptions {
                threads: Some(1),
                chunk_size: Some(64 << 10),
                ..WriteOptions::default()
            };
            let compressor = Compressor::parse(&id).unwrap();
            let mut writer = Writer::new(Vec::new(), compressor, options).unwrap();
            writer.write_all(&noise(2, size)).unwrap();
            let stored = writer.abort();
            assert!(!stored.is_empty() || layout == "single", "{layout} {size}");
            fails_as(ErrorKind::Truncated, &stored);
        }
    }
}

#[test]
fn every_prefix_of_a_member_is_truncated_at_its_own_end() {
    for id in ["gzip:6", "gzip:6,layout=single"] {
        let stored = gzip(&sample(), id);
        for end in 0..stored.len() {
            assert_eq!(end as u64, fails_as(ErrorKind::Truncated, &stored[..end]));
        }
    }
}

#[test]
fn bgzf_cut_anywhere_is_truncated_or_unproven() {
    let plain = text(2 * BGZF_PLAIN + 100);
    let stored = gzip(&plain, "gzip:9");
    let mut ends = Vec::new();
    let mut at = 0;
    while at < stored.len() {
        let size = u16::from_le_bytes([stored[at + 16], stored[at + 17]]);
        at += usize::from(size) + 1;
        ends.push(at);
    }
    let near = |end: usize| ends.iter().any(|&at| at.abs_diff(end) <= 9);
    for end in (0..stored.len()).filter(|&end| end % 37 == 0 || near(end)) {
        let cut = &stored[..end];
        if let Some(units) = ends.iter().position(|&at| at == end) {
            let read = one_shot(cut).unwrap();
            assert!(plain[..plain.len().min(BGZF_PLAIN * (units + 1))] == read);
            assert_eq!(Completeness::Unproven, completeness(cut));
        } else {
            assert_eq!(end as u64, fails_as(ErrorKind::Truncated, cut));
        }
    }
}

#[test]
fn no_flipped_bit_gives_wrong_bytes() {
    let plain = sample();
    let mut large = plain.clone();
    large.resize(BGZF_PLAIN + 100, b'.');
    for (plain, stored) in [
        (&plain, gzip(&plain, "gzip:6")),
        (&large, gzip(&large, "gzip:6")),
        (&large, gzip(&large, "gzip:6,layout=single")),
    ] {
        for bit in 0..stored.len() * 8 {
            let mut damaged = stored.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let whole = one_shot(&damaged);
            let streamed = stream(&damaged, 1 << 20, ReadOptions::default());
            assert_eq!(whole.is_ok(), streamed.is_ok(), "bit {bit}");
            if let (Ok(whole), Ok((streamed, _))) = (whole, streamed) {
                // Some bits mean nothing, such as the time in a header.
                assert!(*plain == whole && *plain == streamed, "bit {bit}");
            }
        }
    }
}

#[test]
fn files_one_after_the_other_are_read_whole_in_every_order() {
    let plain = text(150_000);
    let mut files = vec![gzip(b"", "gzip"), MARKER.to_vec()];
    for layout in ["seekable", "members", "single"] {
        files.push(gzip(&plain, &format!("gzip:3,layout={layout}")));
    }
    let holds = |file: &[u8]| one_shot(file).unwrap();
    for a in &files {
        for b in &files {
            let all = [&a[..], b].concat();
            reads_as(&[holds(a), holds(b)].concat(), &all);
            let proven = b.ends_with(MARKER);
            assert_eq!(proven, completeness(&all) == Completeness::Proven);
        }
    }
}

#[test]
fn a_marker_in_the_middle_proves_nothing_and_one_at_the_end_does() {
    let bgzf = gzip(&text(100_000), "gzip:6");
    let whole = [&bgzf[..], &bgzf].concat();
    assert_eq!(Completeness::Proven, completeness(&whole));
    let cut = &whole[..whole.len() - MARKER.len()];
    assert_eq!(Completeness::Unproven, completeness(cut));
    // Even a lone BGZF member could have been followed by others.
    let plain = gzip(b"weighed", "gzip");
    let (deflate, crc, size) = parts(&plain);
    let lone = self::bgzf(deflate, crc, size);
    assert_eq!(Completeness::Unproven, completeness(&lone));
    reads_as(b"weighed", &lone);
}

#[test]
fn zeros_behind_are_padding_and_all_else_is_refused() {
    let plain = text(100_000);
    for layout in ["seekable", "members", "single"] {
        let stored = gzip(&plain, &format!("gzip:6,layout={layout}"));
        for zeros in [1, 512, 200_000] {
            let mut padded = stored.clone();
            padded.resize(stored.len() + zeros, 0);
            reads_as(&plain, &padded);
            assert_eq!(completeness(&stored), completeness(&padded));
            padded.push(b'x');
            fails_as(ErrorKind::Malformed, &padded);
        }
        for tail in [&b"x"[..], b"tail and more", b"\x1f\x8b\x07", b"\x1f\x8bx"] {
            let tailed = [&stored[..], tail].concat();
            let at = fails_as(ErrorKind::Malformed, &tailed);
            assert_eq!(stored.len() as u64, at);
        }
        // The beginning of a member, cut.
        let tailed = [&stored[..], b"\x1f\x8b"].concat();
        let at = fails_as(ErrorKind::Truncated, &tailed);
        assert_eq!(stored.len() as u64 + 2, at);
    }
}

#[test]
fn on_request_what_follows_is_handed_back() {
    let plain = text(100_000);
    for layout in ["seekable", "members", "single"] {
        let stored = gzip(&plain, &format!("gzip:6,layout={layout}"));
        for tail in [&b"tail and more"[..], b"\0\0more"] {
            let all = [&stored[..], tail].concat();
            let options = ReadOptions {
                trailing: Trailing::Stop,
                ..ReadOptions::default()
            };
            let mut reader = Reader::new(&all[..], options).unwrap();
            let mut read = Vec::new();
            reader.read_to_end(&mut read).unwrap();
            assert!(plain == read);
            let (source, mut rest) = reader.into_parts();
            rest.extend_from_slice(source);
            assert_eq!(tail, rest);
        }
    }
}

#[test]
fn garbage_is_malformed_and_nothing_is_truncated() {
    for garbage in [&b"a,b,c\n1,2,3\n"[..], b"\0\0\0\0\0\0\0\0", b"\x89PNG\r\n"] {
        assert_eq!(0, fails_as(ErrorKind::Malformed, garbage));
    }
    assert_eq!(0, fails_as(ErrorKind::Truncated, b""));
}

/// A member with every part a header can have; its header's checksum last.
fn decorated(plain: &[u8], extra: &[u8]) -> Vec<u8> {
    let member = gzip(plain, "gzip:6");
    let mut header = b"\x1f\x8b\x08\x1f\x12\x34\x56\x78\x02\x03".to_vec();
    header.extend((extra.len() as u16).to_le_bytes());
    header.extend(extra);
    header.extend(b"a name\0and a comment\0");
    let crc = libdeflater::crc32(&header) as u16;
    header.extend(crc.to_le_bytes());
    header.extend(&member[10..]);
    header
}

#[test]
fn every_part_of_a_header_is_passed_and_its_checksum_verified() {
    let plain = sample();
    for extra in [&b""[..], b"XY\x03\0abc", b"no subfield", b"BC\x03\0abc"] {
        let stored = decorated(&plain, extra);
        reads_as(&plain, &stored);
        for end in 0..80 {
            assert_eq!(end as u64, fails_as(ErrorKind::Truncated, &stored[..end]));
        }
        let mut damaged = stored.clone();
        damaged[5] ^= 1;
        fails_as(ErrorKind::ChecksumMismatch, &damaged);
    }
    let mut reserved = gzip(&plain, "gzip:6");
    for bit in 5..8 {
        reserved[3] = 1 << bit;
        assert_eq!(0, fails_as(ErrorKind::Malformed, &reserved));
    }
}

#[test]
fn bgzf_members_may_have_other_subfields_before() {
    let plain = sample();
    let mut extra = b"XY\x03\0abcBC\x02\0??".to_vec();
    let size = decorated(&plain, &extra).len() as u16 - 1;
    let at = extra.len() - 2;
    extra[at..].copy_from_slice(&size.to_le_bytes());
    let stored = decorated(&plain, &extra);
    reads_as(&plain, &stored);
    assert_eq!(Completeness::Unproven, completeness(&stored));
    let all = [&stored[..], &stored, MARKER].concat();
    reads_as(&[&plain[..], &plain].concat(), &all);
    assert_eq!(Completeness::Proven, completeness(&all));
}

#[test]
fn a_name_of_any_length_takes_no_memory() {
    let member = gzip(b"weighed", "gzip:6");
    let mut stored = b"\x1f\x8b\x08\x08\0\0\0\0\0\x03".to_vec();
    stored.resize(40 << 20, b'n');
    stored.push(0);
    stored.extend(&member[10..]);
    reads_as(b"weighed", &stored);
}

#[test]
fn bgzf_lengths_that_lie_are_refused() {
    let plain = b"weighed, and found wanting".repeat(9);
    let member = gzip(&plain, "gzip:6");
    let (deflate, crc, size) = parts(&member);
    let good = bgzf(deflate, crc, size);
    reads_as(&plain, &good);
    let all = |bad: Vec<u8>| [&good[..], &bad, MARKER].concat();
    let at = good.len() as u64;

    for last in [0_u16, 1, 24, 25] {
        let mut bad = good.clone();
        bad[16..18].copy_from_slice(&last.to_le_bytes());
        assert_eq!(at, fails_as(ErrorKind::Malformed, &all(bad)));
    }
    // One more and one less than there is: the trailer is read askew.
    for by in [-1_i16, 1] {
        let mut bad = good.clone();
        let last = i16::try_from(good.len()).unwrap() - 1 + by;
        bad[16..18].copy_from_slice(&last.to_le_bytes());
        assert!(one_shot(&all(bad)).is_err());
    }
    let above = all(bgzf(deflate, crc, 65_537));
    assert_eq!(at, fails_as(ErrorKind::Malformed, &above));
    for size in [0, size - 1, size + 1, 65_536] {
        fails_as(ErrorKind::Malformed, &all(bgzf(deflate, crc, size)));
    }
    fails_as(
        ErrorKind::ChecksumMismatch,
        &all(bgzf(deflate, crc ^ 1, size)),
    );
    fails_as(ErrorKind::Malformed, &all(bgzf(b"\xff\xff\xff", crc, size)));
}

#[test]
fn bytes_hidden_inside_a_bgzf_member_are_refused() {
    let plain = b"weighed, and found wanting";
    let member = gzip(plain, "gzip:6");
    let (deflate, crc, size) = parts(&member);
    let trailer = &member[member.len() - 8..];
    for hidden in [
        // Another member, the same: its trailer is the one that was expected.
        [trailer, &member[..member.len() - 8]].concat(),
        [trailer, b"anything"].concat(),
        trailer.to_vec(),
    ] {
        let stored = bgzf(&[deflate, &hidden].concat(), crc, size);
        fails_as(ErrorKind::Malformed, &[&stored[..], MARKER].concat());
    }
    let stored = bgzf(&[deflate, b"anything"].concat(), crc, size);
    fails_as(ErrorKind::ChecksumMismatch, &stored);
    // Two equal members are read as two, though the last trailer fits the first.
    reads_as(&plain.repeat(2), &member.repeat(2));
    // An empty one's trailer is zeros, as its header is.
    let empty = gzip(b"", "gzip:6");
    let (deflate, crc, size) = parts(&empty);
    let other_marker = bgzf(b"\x01\0\0\xff\xff", crc, size);
    reads_as(b"", &[bgzf(deflate, crc, size), other_marker].concat());
}

#[test]
fn everything_before_the_first_damage_is_given() {
    let plain = text(40 * BGZF_PLAIN);
    let mut stored = gzip(&plain, "gzip:6");
    let end = stored.len() - 500;
    stored[end] ^= 0x10;
    let mut reader = Reader::new(&stored[..], ReadOptions::default()).unwrap();
    let mut read = Vec::new();
    let error = reader.read_to_end(&mut read).unwrap_err();
    assert!(plain.starts_with(&read));
    assert!(read.len() >= 16 * BGZF_PLAIN, "{} {error}", read.len());
}

#[test]
fn the_limit_is_exact_and_stops_bombs() {
    let plain = vec![0; 50 << 20];
    for layout in ["seekable", "members", "single"] {
        let stored = write(
            &plain,
            &format!("gzip:6,layout={layout}"),
            2,
            1 << 20,
            1 << 20,
        );
        for threads in [1, 2] {
            for (limit, good) in [(0, false), (1 << 20, false), (50 << 20, true)] {
                let options = ReadOptions {
                    max_output: Some(limit),
                    threads: Some(threads),
                    ..ReadOptions::default()
                };
                match decompress(&stored, &options) {
                    Ok(read) => assert!(good && read == plain),
                    Err(error) => {
                        assert_eq!((false, ErrorKind::Limit), (good, error.kind()), "{error}");
                    }
                }
            }
        }
    }
}

#[test]
fn lent_memory_is_used_where_it_suffices() {
    let plain = text(200_000);
    for id in ["gzip:6", "gzip:6,layout=single"] {
        let stored = gzip(&plain, id);
        assert_eq!(Some(plain.len()), expected_bytes(&stored, None), "{id}");
        for size in [0, 1, plain.len() - 1, plain.len(), plain.len() + 100] {
            let mut place = vec![0xee; size];
            match decompress_into(&stored, &mut place, &ReadOptions::default()).unwrap() {
                Placed::Lent(used) => assert!(plain == place[..used]),
                Placed::Own(read) => assert!(size < plain.len() && plain == read),
            }
        }
    }
    // A header with a checksum takes the other way through the decoder.
    let plain = sample();
    let stored = decorated(&plain, b"");
    let mut place = vec![0; plain.len()];
    let placed = decompress_into(&stored, &mut place, &ReadOptions::default()).unwrap();
    assert!(matches!(placed, Placed::Lent(size) if plain == place[..size]));
}

#[test]
fn any_part_of_bgzf_is_found_by_its_plain_offset() {
    let plain = text(3_000_000);
    let stored = write(&plain, "gzip:6", 2, 1 << 20, 1 << 20);
    let reader = SeekableReader::new(stored, ReadOptions::default()).unwrap();
    assert_eq!(plain.len() as u64, reader.len());
    for at in [0, 1, 65_279, 65_280, 1_044_479, 1_500_000, 2_999_000] {
        let mut place = [0; 1000];
        let size = reader.read_at(at as u64, &mut place).unwrap();
        assert!(size > 0 && plain[at..at + size] == place[..size], "{at}");
    }
}

#[test]
fn on_a_live_stream_each_member_is_given_as_it_comes() {
    struct Live<'a>(Vec<&'a [u8]>);
    impl Read for Live<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let part = self.0.pop().expect("nothing is read beyond a whole member");
            into[..part.len()].copy_from_slice(part);
            Ok(part.len())
        }
    }
    let plain = gzip(b"weighed", "gzip");
    let (deflate, crc, size) = parts(&plain);
    let bgzf = bgzf(deflate, crc, size);
    for member in [&plain, &bgzf] {
        let options = ReadOptions {
            read_ahead: false,
            ..ReadOptions::default()
        };
        let mut reader = Reader::new(Live(vec![member, member]), options).unwrap();
        let mut place = [0; 7];
        for _ in 0..2 {
            reader.read_exact(&mut place).unwrap();
            assert_eq!(b"weighed", &place);
        }
    }
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
