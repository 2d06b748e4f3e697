//! What holds for every compressor of the registry.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test stops at once"
)]

use std::io::{self, Read};

use proptest::prelude::*;
use tare::compress::{by_name, Compressor, Placed, COMPRESSORS};
use tare::{ErrorKind, Result};

/// Compressors whose containers tell where they end.
fn containers() -> impl Iterator<Item = &'static Compressor> {
    COMPRESSORS.iter().filter(|c| !c.magic.is_empty())
}

/// Numbers that look random and are the same each time (xorshift64).
fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(step).take(size).collect()
}

/// Text, runs and noise: what the formats store in their different ways.
fn sample() -> Vec<u8> {
    let mut data = b"station,carrier,distance\n".repeat(40);
    data.extend(vec![0; 3000]);
    data.extend(noise(7, 1500));
    data.extend(b"JFK,UA,1089.5\n".repeat(60));
    data
}

/// Gives what a stream holds in pieces of at most `piece` bytes.
struct Drip<'a> {
    data: &'a [u8],
    piece: usize,
}

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.piece.min(into.len());
        self.data.read(&mut into[..size])
    }
}

fn stream(compressor: &'static Compressor, data: &[u8], piece: usize) -> Result<Vec<u8>> {
    let mut reader = compressor.reader(Drip { data, piece });
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
fn names_endings_and_magics_are_unique() {
    for (index, one) in COMPRESSORS.iter().enumerate() {
        for other in &COMPRESSORS[index + 1..] {
            assert_ne!(one.name, other.name);
            assert_ne!(one.extension, other.extension);
            assert_ne!(one.magic, other.magic);
        }
    }
}

#[test]
fn every_level_comes_back_and_is_repeatable() {
    let data = sample();
    for compressor in COMPRESSORS {
        let levels = compressor.levels.map_or(vec![None], |(low, high)| {
            let all = (low..=high).filter(|&level| level != 0 || low == 0);
            all.map(Some).collect()
        });
        for level in levels {
            let packed = compressor.compress(&data, level).unwrap();
            let what = format!("{}:{level:?}", compressor.name);
            assert_eq!(packed, compressor.compress(&data, level).unwrap(), "{what}");
            assert_eq!(
                data,
                compressor.decompress(&packed, None).unwrap(),
                "{what}"
            );
            assert_eq!(data, stream(compressor, &packed, 1).unwrap(), "{what}");
        }
    }
}

#[test]
fn sizes_around_the_block_sizes_come_back() {
    for compressor in COMPRESSORS {
        for size in [
            0,
            1,
            15,
            65_535,
            65_536,
            65_537,
            262_145,
            1 << 20,
            (4 << 20) + 1,
        ] {
            let mut data = noise(3, size / 2);
            data.resize(size, b'x');
            let packed = compressor.compress(&data, None).unwrap();
            assert!(
                data == compressor.decompress(&packed, None).unwrap(),
                "{size}"
            );
            assert!(
                data == stream(compressor, &packed, 60_000).unwrap(),
                "{size}"
            );
        }
    }
}

#[test]
fn every_prefix_is_truncated_at_its_own_end() {
    let data = sample();
    for compressor in containers() {
        let packed = compressor.compress(&data, None).unwrap();
        for end in 0..packed.len() {
            for result in [
                compressor.decompress(&packed[..end], None),
                stream(compressor, &packed[..end], 4096),
            ] {
                let error = result.expect_err("cut input must be refused");
                assert!(error.is_truncated(), "{end}: {error}");
                assert_eq!(Some(end as u64), error.offset(), "{error}");
                assert_eq!(Some(compressor.name), error.format());
            }
        }
    }
}

#[test]
fn no_flipped_bit_gives_wrong_bytes() {
    let data = sample();
    for compressor in containers() {
        let packed = compressor.compress(&data, None).unwrap();
        for bit in 0..packed.len() * 8 {
            let mut damaged = packed.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let whole = compressor.decompress(&damaged, Some(1 << 20));
            let piecewise = stream(compressor, &damaged, 4096);
            for plain in [whole, piecewise].into_iter().flatten() {
                // Some bits mean nothing, such as the time in a gzip header.
                assert!(plain == data, "{}: bit {bit}", compressor.name);
            }
        }
    }
}

#[test]
fn several_frames_are_read_whole_and_other_bytes_refused() {
    let data = sample();
    for compressor in containers() {
        let one = compressor.compress(&data, None).unwrap();
        let empty = compressor.compress(b"", None).unwrap();
        let all = [empty.clone(), one.clone(), empty, one.clone()].concat();
        let plain = [data.clone(), data.clone()].concat();
        assert_eq!(plain, compressor.decompress(&all, None).unwrap());
        assert_eq!(plain, stream(compressor, &all, 7).unwrap());
        for tail in [&b"tail and more"[..], b"x"] {
            let tailed = [&one[..], tail].concat();
            for result in [
                compressor.decompress(&tailed, None),
                stream(compressor, &tailed, 9),
            ] {
                let error = result.unwrap_err();
                assert_eq!(ErrorKind::Malformed, error.kind(), "{error}");
                assert_eq!(Some(one.len() as u64), error.offset());
            }
        }
    }
}

#[test]
fn garbage_is_malformed_and_nothing_is_truncated() {
    for compressor in containers() {
        for garbage in [&b"a,b,c\n1,2,3\n"[..], b"\0\0\0\0\0\0\0\0", b"\x89PNG\r\n"] {
            let error = compressor.decompress(garbage, None).unwrap_err();
            assert_eq!(ErrorKind::Malformed, error.kind());
            assert_eq!(Some(0), error.offset());
        }
        assert!(compressor.decompress(b"", None).unwrap_err().is_truncated());
        assert!(stream(compressor, b"", 1).unwrap_err().is_truncated());
    }
}

#[test]
fn the_limit_is_exact_and_stops_bombs() {
    let data = vec![0; 50 << 20];
    for compressor in COMPRESSORS {
        let packed = compressor.compress(&data, None).unwrap();
        for limit in [0, 1, 1 << 20, data.len() as u64 - 1] {
            let error = compressor.decompress(&packed, Some(limit)).unwrap_err();
            assert_eq!(
                ErrorKind::Limit,
                error.kind(),
                "{}: {error}",
                compressor.name
            );
            assert!(error.to_string().contains("max_bytes"), "{error}");
        }
        let whole = compressor.decompress(&packed, Some(data.len() as u64));
        assert!(data == whole.unwrap(), "{}", compressor.name);
    }
}

#[test]
fn lent_memory_is_used_where_it_suffices() {
    let data = sample();
    for compressor in COMPRESSORS {
        let packed = compressor.compress(&data, None).unwrap();
        assert_eq!(Some(data.len()), compressor.expected_bytes(&packed));
        for size in [0, 1, data.len() - 1, data.len(), data.len() + 100] {
            let mut place = vec![0xee; size];
            let plain = match compressor.decompress_into(&packed, &mut place, None) {
                Ok(Placed::Lent(used)) => {
                    assert!(size >= data.len(), "{}: {size}", compressor.name);
                    place[..used].to_vec()
                }
                Ok(Placed::Own(plain)) => {
                    assert!(size < data.len(), "{}: {size}", compressor.name);
                    plain
                }
                Err(error) => unreachable!("{error}"),
            };
            assert!(data == plain, "{}: {size}", compressor.name);
            let limit = Some(data.len() as u64 - 1);
            let error = compressor
                .decompress_into(&packed, &mut place, limit)
                .unwrap_err();
            assert_eq!(ErrorKind::Limit, error.kind());
        }
    }
}

#[test]
fn a_claimed_size_takes_no_memory() {
    // A zstd frame that claims 2^63 bytes: descriptor with an 8-byte content size, window 1 KiB.
    let mut frame = b"\x28\xb5\x2f\xfd\xc0\x00".to_vec();
    frame.extend((1_u64 << 63).to_le_bytes());
    frame.extend(b"\x01\x00\x00");
    assert!(by_name("zstd").unwrap().decompress(&frame, None).is_err());
    // An lz4 frame of the same claim; its header checksum is right.
    let mut frame = b"\x04\x22\x4d\x18\x68\x40".to_vec();
    frame.extend((1_u64 << 63).to_le_bytes());
    frame.push(xxhash_rust::xxh32::xxh32(&frame[4..], 0).to_le_bytes()[1]);
    frame.extend([0; 4]);
    let error = by_name("lz4")
        .unwrap()
        .decompress(&frame, None)
        .unwrap_err();
    assert_eq!(ErrorKind::Malformed, error.kind(), "{error}");
}

#[test]
fn wrong_levels_and_names_are_usage_errors() {
    for (name, level) in [
        ("zstd", 0),
        ("zstd", 23),
        ("lz4", 13),
        ("gzip", -1),
        ("none", 1),
    ] {
        let error = by_name(name)
            .unwrap()
            .compress(b"", Some(level))
            .unwrap_err();
        assert_eq!(ErrorKind::Usage, error.kind(), "{name}:{level}");
    }
    let error = by_name("zip").unwrap_err();
    assert!(
        error.to_string().contains("none, zstd, lz4, gzip"),
        "{error}"
    );
}

#[test]
fn an_error_of_the_stream_is_kept() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _into: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, "unplugged"))
        }
    }
    for compressor in COMPRESSORS {
        let mut reader = compressor.reader(Broken);
        let error = reader.pull(&mut [0; 8]).unwrap_err();
        assert_eq!(ErrorKind::Io, error.kind(), "{error}");
        let below = error.into_source().unwrap();
        assert_eq!("unplugged", below.to_string());
        let again = reader.pull(&mut [0; 8]).unwrap_err();
        assert_eq!(ErrorKind::Internal, again.kind());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_come_back(
        data in proptest::collection::vec(0_u8..8, 0..5000),
        piece in 1_usize..700,
        level in 1_i32..10,
    ) {
        for compressor in COMPRESSORS {
            let level = compressor.levels.map(|_| level);
            let packed = compressor.compress(&data, level)?;
            prop_assert_eq!(&data, &compressor.decompress(&packed, Some(data.len() as u64))?);
            prop_assert_eq!(&data, &stream(compressor, &packed, piece)?);
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
        for compressor in containers() {
            let mut packed = compressor.compress(&data, None)?;
            let at = at % packed.len();
            packed[at] = with;
            packed.truncate((packed.len() - cut % packed.len()).max(1));
            let whole = compressor.decompress(&packed, None);
            let piecewise = stream(compressor, &packed, piece);
            prop_assert_eq!(whole.is_ok(), piecewise.is_ok());
            if let (Ok(whole), Ok(piecewise)) = (whole, piecewise) {
                prop_assert_eq!(whole, piecewise);
            }
        }
    }
}
