//! zlib streams: read where they are named, as strictly as every other kind, and never written.

use std::io::{Read, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Decompress, FlushDecompress, Status};
use proptest::prelude::*;
use tare::compress::{
    compress, decompress, decompress_into, expected_bytes, sniff, Completeness, Compressor, Kind,
    Layout, Placed, ReadOptions, Reader, SeekableReader, Trailing, WriteOptions, Writer,
};
use tare::{Error, ErrorKind, Result};

use crate::common;
use common::soak::{self, Sample};
use common::{noise, sample, text, Drip};

fn pack(plain: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zlib() -> ReadOptions {
    ReadOptions {
        kind: Some(Kind::Zlib),
        ..ReadOptions::default()
    }
}

fn stream(stored: &[u8], piece: usize) -> (Vec<u8>, Result<Completeness>) {
    let mut plain = Vec::new();
    let mut place = vec![0; piece.clamp(2, 70_000)];
    let mut reader = Reader::new(Drip::new(stored, piece), zlib()).unwrap();
    loop {
        match reader.pull(&mut place) {
            Ok(0) => break (plain, Ok(reader.info().completeness.unwrap())),
            Ok(read) => plain.extend_from_slice(&place[..read]),
            Err(error) => break (plain, Err(error)),
        }
    }
}

/// The error of both ways of reading, which must be of the same kind.
fn refused(stored: &[u8]) -> Error {
    let error = decompress(stored, &zlib()).expect_err("it must be refused");
    for piece in [1, 4096] {
        let streamed = stream(stored, piece).1.expect_err("it must be refused");
        assert_eq!(error.kind(), streamed.kind(), "{error}; {streamed}");
    }
    assert_eq!(Some("zlib"), error.format());
    assert!(error.offset().unwrap() <= stored.len() as u64);
    error
}

/// What zlib-rs by itself makes of one stream that must end where `stored` does.
fn oracle(stored: &[u8]) -> Option<Vec<u8>> {
    let mut inflate = Decompress::new(true);
    let mut plain = Vec::with_capacity(1 << 20);
    let status = inflate.decompress_vec(stored, &mut plain, FlushDecompress::Finish);
    let whole = inflate.total_in() == stored.len() as u64;
    let ended = matches!(status, Ok(Status::StreamEnd));
    (ended && whole).then_some(plain)
}

#[test]
fn what_zlib_writes_is_read() {
    for size in [0, 1, 2, 32_768, 65_537, 3 << 20] {
        let plain = [text(size / 2), noise(5, size - size / 2)].concat();
        for level in [0, 1, 6, 9] {
            let stored = pack(&plain, level);
            assert!(plain == decompress(&stored, &zlib()).unwrap());
            for piece in [4099, 1 << 20] {
                let (read, end) = stream(&stored, piece);
                assert!(plain == read, "{size} at level {level}");
                assert_eq!(Completeness::Proven, end.unwrap());
            }
        }
    }
    let plain = sample();
    let stored = pack(&plain, 6);
    assert_eq!(plain, stream(&stored, 1).0);
    assert_eq!(None, expected_bytes(&stored, Some(Kind::Zlib)));
    let mut place = vec![0; plain.len()];
    let placed = decompress_into(&stored, &mut place, &zlib()).unwrap();
    assert!(matches!(placed, Placed::Lent(size) if size == plain.len()));
    assert_eq!(plain, place);
}

#[test]
fn it_is_never_told_by_its_bytes() {
    for level in [0, 1, 6, 9] {
        let stored = pack(b"weighed, and found wanting", level);
        assert_eq!(Kind::None, sniff(&stored));
        assert_eq!(
            stored,
            decompress(&stored, &ReadOptions::default()).unwrap()
        );
    }
    assert!(!Kind::ALL.contains(&Kind::Zlib));
    assert_eq!(Kind::Zlib, Kind::by_name("zlib").unwrap());
}

#[test]
fn it_is_never_written() {
    let compressor = Compressor::parse("zlib").unwrap();
    let of_layout = |layout| WriteOptions {
        layout,
        ..WriteOptions::default()
    };
    for layout in [Layout::Auto, Layout::Single, Layout::Seekable] {
        let error = compress(b"x", &compressor, &of_layout(layout)).unwrap_err();
        assert_eq!(ErrorKind::Usage, error.kind());
        assert!(error.to_string().contains("never written"), "{error}");
        let error = Writer::new(Vec::new(), compressor, of_layout(layout)).unwrap_err();
        assert!(error.to_string().contains("never written"), "{error}");
    }
    for id in ["zlib:6", "zlib:0"] {
        let error = Compressor::parse(id).unwrap_err();
        assert_eq!(ErrorKind::Usage, error.kind());
    }
    assert_eq!(
        ErrorKind::Usage,
        Compressor::effort(Kind::Zlib, 50).unwrap_err().kind()
    );
}

#[test]
fn every_prefix_is_truncated_at_its_own_end() {
    let plain = sample();
    let stored = pack(&plain, 6);
    let ends = Sample::new(24, 7).select(0..stored.len());
    soak::count("cuts", ends.len());
    for end in ends {
        let error = refused(&stored[..end]);
        assert_eq!(ErrorKind::Truncated, error.kind(), "{end}: {error}");
        assert_eq!(Some(end as u64), error.offset());
        let given = stream(&stored[..end], 4096).0;
        assert!(plain.starts_with(&given));
    }
}

#[test]
fn no_flipped_bit_gives_wrong_bytes() {
    let plain = sample();
    let stored = pack(&plain, 6);
    for bit in 0..stored.len() * 8 {
        let mut damaged = stored.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        if let Ok(read) = decompress(&damaged, &zlib()) {
            assert!(plain == read, "bit {bit}");
        }
    }
}

#[test]
fn a_wrong_checksum_is_named_and_what_comes_before_is_given() {
    let plain = text(300_000);
    let mut stored = pack(&plain, 6);
    *stored.last_mut().unwrap() ^= 1;
    assert_eq!(ErrorKind::ChecksumMismatch, refused(&stored).kind());
    for piece in [1, 4096, 1 << 20] {
        assert!(plain == stream(&stored, piece).0);
    }
}

#[test]
fn other_bytes_are_malformed_and_dictionaries_unsupported() {
    let plain = sample();
    let stored = pack(&plain, 6);
    for head in [
        &b"\x1f\x8b\x08\0"[..],
        b"a,b,c",
        b"\x78\x02",
        b"\x88\x1c",
        b"\xff",
        b"\0",
    ] {
        let error = refused(head);
        assert_eq!(
            (ErrorKind::Malformed, Some(0)),
            (error.kind(), error.offset())
        );
    }
    let error = refused(b"\x78\xbb\x01\x02\x03\x04");
    assert_eq!(
        (ErrorKind::Unsupported, Some(0)),
        (error.kind(), error.offset())
    );
    for tail in [&b"x"[..], &[0; 512], &stored] {
        let tailed = [&stored[..], tail].concat();
        let error = refused(&tailed);
        let at = Some(stored.len() as u64);
        assert_eq!((ErrorKind::Malformed, at), (error.kind(), error.offset()));
        let options = ReadOptions {
            trailing: Trailing::Stop,
            ..zlib()
        };
        let mut reader = Reader::new(&tailed[..], options).unwrap();
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        let (source, mut rest) = reader.into_parts();
        rest.extend_from_slice(source);
        assert_eq!((&plain, tail), (&read, &rest[..]));
    }
}

#[test]
fn the_limit_is_exact_and_stops_bombs() {
    let plain = vec![0; 5 << 20];
    let stored = pack(&plain, 9);
    for limit in [0, 1, 1 << 20, plain.len() as u64 - 1] {
        let options = ReadOptions {
            max_output: Some(limit),
            ..zlib()
        };
        let error = decompress(&stored, &options).unwrap_err();
        assert_eq!(ErrorKind::Limit, error.kind(), "{error}");
    }
    let options = ReadOptions {
        max_output: Some(plain.len() as u64),
        ..zlib()
    };
    assert!(plain == decompress(&stored, &options).unwrap());
}

#[test]
fn it_has_no_parts_to_be_read_by_themselves() {
    let stored = pack(&sample(), 6);
    let error = SeekableReader::new(&stored[..], zlib()).unwrap_err();
    assert_eq!(ErrorKind::Unsupported, error.kind());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_read_as_zlib_reads_them(
        data in proptest::collection::vec(0_u8..9, 0..3000),
        level in 0_u32..10,
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..3),
        cut in 0_usize..40,
        tail in proptest::collection::vec(any::<u8>(), 0..3),
        piece in 1_usize..700,
    ) {
        let mut stored = pack(&data, level);
        stored.truncate(stored.len().saturating_sub(cut.saturating_sub(30)));
        let size = stored.len();
        for (at, with) in changes.into_iter().filter(|_| size > 0) {
            stored[at % size] ^= with;
        }
        stored.extend(tail);
        let whole = decompress(&stored, &zlib()).ok();
        let (plain, end) = stream(&stored, piece);
        prop_assert_eq!(whole.as_ref(), end.is_ok().then_some(&plain));
        prop_assert_eq!(oracle(&stored), whole);
    }
}
