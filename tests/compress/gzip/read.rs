//! What is read, and what is refused.

use super::*;
use common::soak::{self, Sample};

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
    let (mut flips, mut positions) = (0, Sample::new(18 * 8, 7));
    for (plain, stored) in [
        (&plain, gzip(&plain, "gzip:6")),
        (&large, gzip(&large, "gzip:6")),
        (&large, gzip(&large, "gzip:6,layout=single")),
    ] {
        for bit in positions.select(0..stored.len() * 8) {
            flips += 1;
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
    soak::count("flips", flips);
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
fn damage_in_bgzf_is_told_by_its_place_and_member() {
    let plain = noise(5, 40 * BGZF_PLAIN);
    let mut stored = gzip(&plain, "gzip:1");
    let at = |number: usize| {
        (0..number).fold(0, |at, _| {
            at + 1 + usize::from(u16::from_le_bytes([stored[at + 16], stored[at + 17]]))
        })
    };
    let (start, end) = (at(29), at(30));
    stored[end - 8] ^= 1; // the checksum of the 30th
    let told = format!(
        "member 30: the checksum of the member that starts at byte {start} does not match; \
         bytes {} to {} of the plain data are bad",
        29 * BGZF_PLAIN,
        30 * BGZF_PLAIN - 1
    );
    for threads in [1, 2] {
        let options = ReadOptions {
            threads: Some(threads),
            ..ReadOptions::default()
        };
        let mut reader = Reader::new(&stored[..], options).unwrap();
        let mut read = Vec::new();
        let error = loop {
            let mut place = [0; 4096];
            match reader.pull(&mut place) {
                Ok(size) => read.extend_from_slice(&place[..size]),
                Err(error) => break error,
            }
        };
        assert!(plain[..29 * BGZF_PLAIN] == read);
        assert_eq!(Some(end as u64 - 8), error.offset());
        assert!(error.to_string().contains(&told), "{error}");
    }
    let error = decompress(&stored, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("member 30: "), "{error}");
}
