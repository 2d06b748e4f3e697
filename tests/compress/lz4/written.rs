//! What is written.

use super::*;

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
    let plain = [lines(2 * CHUNK), noise(7, CHUNK), vec![0; CHUNK / 2]].concat();
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
        let plain = noise(7, 3 * CHUNK + 5);
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
