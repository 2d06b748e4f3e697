//! What is read, and what is refused.

use super::*;
use common::soak::{self, Sample};

#[test]
fn foreign_frames_are_read() {
    let plain = [lines(3 * CHUNK + 11), noise(7, CHUNK), lines(50)].concat();
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
    let plain = [lines(3000), vec![0; 2000], noise(7, 500)].concat();
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
    let small = [lines(1500), vec![0; 800], noise(7, 300)].concat();
    let long = lines(CHUNK + 300);
    let sized = compress(&small, &"lz4".parse().unwrap(), &WriteOptions::default()).unwrap();
    let (mut flips, mut sample) = (0, Sample::new(19 * 8, 7));
    for (plain, stored) in [
        (&small, sized),
        (&small, seekable(&small)),
        (&long, seekable(&long)),
    ] {
        let step = (stored.len() / 700).max(1);
        let bits = 0..stored.len() * 8;
        let bits = bits.filter(|bit| bit / 8 % step == 0 || bit / 8 + 60 > stored.len());
        for bit in sample.select(bits) {
            flips += 1;
            let mut damaged = stored.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            if let Ok(back) = read(&damaged) {
                assert!(back == *plain, "bit {bit}");
            }
        }
    }
    soak::count("flips", flips);
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

#[test]
fn an_index_with_another_descriptor_than_0_is_a_skippable_frame() {
    let plain = lines(3 * CHUNK);
    let stored = seekable(&plain);
    let index = stored.len() - 8 - 5 * 8 - 9;
    let mut checked = stored[..index].to_vec();
    checked.extend(0x184d_2a5e_u32.to_le_bytes());
    checked.extend((5 * 12 + 9_u32).to_le_bytes());
    for entry in stored[index + 8..stored.len() - 9].chunks_exact(8) {
        checked.extend_from_slice(entry);
        checked.extend([0; 4]);
    }
    checked.extend(5_u32.to_le_bytes());
    checked.push(0x80);
    checked.extend(0x8f92_eab1_u32.to_le_bytes());
    let mut odd = stored.clone();
    let descriptor = stored.len() - 5;
    odd[descriptor] = 1;
    for other in [checked, odd] {
        assert!(plain == read(&other).unwrap());
        let error = SeekableReader::new(other.clone(), lz4_only()).unwrap_err();
        assert_eq!(ErrorKind::Usage, error.kind(), "{error}");
        // Two of them: no index covers the first frame.
        let twice = [&other[..], &other].concat();
        let unproven = Completeness::Unproven;
        assert_eq!(unproven, streamed(&twice, lz4_only()).unwrap().1);
    }
}
