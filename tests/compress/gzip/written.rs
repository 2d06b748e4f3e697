//! What is written.

use super::*;

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
