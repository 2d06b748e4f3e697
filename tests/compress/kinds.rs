//! What holds for every kind of compressor.

use crate::common;

use std::io::{self, Read};

use common::{noise, sample, Drip};
use proptest::prelude::*;
use tare::compress::{
    compress, decompress, decompress_into, expected_bytes, Compressor, Kind, Placed, ReadOptions,
    Reader, WriteOptions,
};
use tare::{ErrorKind, Result};

/// Kinds whose streams tell where they end.
fn containers() -> impl Iterator<Item = Kind> {
    let all = Kind::ALL.iter().copied();
    all.filter(|&kind| kind != Kind::None)
}

fn pack(kind: Kind, level: Option<i32>, plain: &[u8]) -> Vec<u8> {
    let compressor = Compressor::new(kind, level).unwrap();
    compress(plain, &compressor, &WriteOptions::default()).unwrap()
}

fn named(kind: Kind, max_output: Option<u64>) -> ReadOptions {
    ReadOptions {
        kind: Some(kind),
        max_output,
        ..ReadOptions::default()
    }
}

fn stream(kind: Kind, stored: &[u8], piece: usize) -> Result<Vec<u8>> {
    let mut reader = Reader::new(Drip::new(stored, piece), named(kind, None))?;
    let mut plain = Vec::new();
    let mut place = vec![0; piece.max(2) * 3];
    loop {
        let read = reader.pull(&mut place)?;
        if read == 0 {
            return Ok(plain);
        }
        plain.extend_from_slice(&place[..read]);
    }
}

#[test]
fn names_and_magics_are_unique() {
    for (index, one) in Kind::ALL.iter().enumerate() {
        for other in &Kind::ALL[index + 1..] {
            assert_ne!(one.name(), other.name());
            assert_ne!(one.magic(), other.magic());
        }
    }
}

#[test]
fn every_level_comes_back_and_is_repeatable() {
    let data = sample();
    for &kind in Kind::ALL {
        let levels = kind.levels().map_or(vec![None], |(low, high)| {
            let all = (low..=high).filter(|&level| level != 0 || low == 0);
            all.map(Some).collect()
        });
        for level in levels {
            let packed = pack(kind, level, &data);
            let what = format!("{}:{level:?}", kind.name());
            assert_eq!(packed, pack(kind, level, &data), "{what}");
            let whole = decompress(&packed, &named(kind, None)).unwrap();
            assert_eq!(data, whole, "{what}");
            assert_eq!(data, stream(kind, &packed, 1).unwrap(), "{what}");
        }
    }
}

#[test]
fn sizes_around_the_block_sizes_come_back() {
    for &kind in Kind::ALL {
        for size in [0, 1, 15, 65_535, 65_536, 65_537, 262_145, (4 << 20) + 1] {
            let mut data = noise(3, size / 2);
            data.resize(size, b'x');
            let packed = pack(kind, kind.levels().map(|(low, _)| low.max(1)), &data);
            let whole = decompress(&packed, &named(kind, None)).unwrap();
            assert!(data == whole, "{}: {size}", kind.name());
            assert!(data == stream(kind, &packed, 60_000).unwrap(), "{size}");
        }
    }
}

#[test]
fn the_limit_is_exact_and_stops_bombs() {
    let data = vec![0; 5 << 20];
    for &kind in Kind::ALL {
        let packed = pack(kind, None, &data);
        for limit in [0, 1, 1 << 20, data.len() as u64 - 1] {
            let error = decompress(&packed, &named(kind, Some(limit))).unwrap_err();
            assert_eq!(ErrorKind::Limit, error.kind(), "{}: {error}", kind.name());
        }
        let whole = decompress(&packed, &named(kind, Some(data.len() as u64)));
        assert!(data == whole.unwrap(), "{}", kind.name());
    }
}

#[test]
fn lent_memory_is_used_where_it_suffices() {
    let data = sample();
    for &kind in Kind::ALL {
        let packed = pack(kind, None, &data);
        if !matches!(kind, Kind::Bz2 | Kind::Xz) {
            assert_eq!(Some(data.len()), expected_bytes(&packed, None));
        }
        for size in [0, 1, data.len() - 1, data.len(), data.len() + 100] {
            let mut place = vec![0xee; size];
            let plain = match decompress_into(&packed, &mut place, &named(kind, None)).unwrap() {
                Placed::Lent(used) => {
                    assert!(size >= data.len(), "{}: {size}", kind.name());
                    place[..used].to_vec()
                }
                Placed::Own(plain) => {
                    assert!(size < data.len(), "{}: {size}", kind.name());
                    plain
                }
            };
            assert!(data == plain, "{}: {size}", kind.name());
        }
    }
}

#[test]
fn skippable_frames_before_the_first_other_one_hide_nothing() {
    let data = sample();
    for kind in [Kind::Zstd, Kind::Lz4] {
        // As pzstd begins its files.
        let packed = [
            &b"\x50\x2a\x4d\x18\x04\0\0\0abcd"[..],
            &pack(kind, None, &data),
        ]
        .concat();
        let any = ReadOptions::default();
        assert_eq!(data, decompress(&packed, &any).unwrap());
        let mut place = vec![0; data.len()];
        let placed = decompress_into(&packed, &mut place, &any).unwrap();
        assert!(matches!(placed, Placed::Lent(size) if size == data.len()));
        let mut read = Vec::new();
        let mut reader = Reader::new(&packed[..], any).unwrap();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(data, read);
        assert_ne!(Some(packed.len()), expected_bytes(&packed, None));
    }
}

#[test]
fn wrong_levels_and_names_are_usage_errors() {
    for (kind, level) in [
        (Kind::Zstd, 0),
        (Kind::Zstd, 23),
        (Kind::Lz4, 13),
        (Kind::Gzip, -1),
        (Kind::Bz2, 0),
        (Kind::None, 1),
    ] {
        let error = Compressor::new(kind, Some(level)).unwrap_err();
        assert_eq!(ErrorKind::Usage, error.kind(), "{}:{level}", kind.name());
    }
    let error = Compressor::parse("zip").unwrap_err();
    assert!(
        error.to_string().contains("none, zstd, lz4, gzip"),
        "{error}"
    );
}

#[test]
fn an_error_of_the_stream_is_kept() {
    struct Broken(bool);
    impl Read for Broken {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "unplugged"));
            }
            into[..3].copy_from_slice(b"\x1f\x8b\x08");
            Ok(3)
        }
    }
    let mut reader = Reader::new(Broken(false), named(Kind::Gzip, None)).unwrap();
    let error = reader.pull(&mut [0; 8]).unwrap_err();
    assert_eq!(ErrorKind::Io, error.kind(), "{error}");
    assert_eq!("unplugged", error.into_source().unwrap().to_string());
    let again = reader.pull(&mut [0; 8]).unwrap_err();
    assert!(again.to_string().contains("unplugged"), "{again}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_bytes_come_back(
        data in proptest::collection::vec(0_u8..8, 0..5000),
        piece in 1_usize..700,
        level in 1_i32..10,
    ) {
        for &kind in Kind::ALL {
            let packed = pack(kind, kind.levels().map(|_| level), &data);
            let whole = decompress(&packed, &named(kind, Some(data.len() as u64)))?;
            prop_assert_eq!(&data, &whole);
            prop_assert_eq!(&data, &stream(kind, &packed, piece)?);
        }
    }

    #[test]
    fn one_shot_and_stream_agree_on_damaged_bytes(
        at in 0_usize..4000,
        with in any::<u8>(),
        cut in 0_usize..4000,
        piece in 1_usize..700,
    ) {
        let data = sample();
        for kind in containers() {
            let mut packed = pack(kind, None, &data);
            let at = at % packed.len();
            packed[at] = with;
            packed.truncate((packed.len() - cut % packed.len()).max(1));
            let whole = decompress(&packed, &named(kind, None));
            let piecewise = stream(kind, &packed, piece);
            prop_assert_eq!(whole.is_ok(), piecewise.is_ok());
            if let (Ok(whole), Ok(piecewise)) = (whole, piecewise) {
                prop_assert_eq!(whole, piecewise);
            }
        }
    }
}
