//! What a file's headers say without decoding, and whether its end looks cut.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use tare::compress::{
    compress, survey, Completeness, Compressor, Kind, Layout, ReadAt, ReadOptions, Reader,
    SeekableReader, Survey, WriteOptions, Writer,
};
use tare::ErrorKind;

use crate::common;
use common::{noise, text, tool};

const CHUNK: usize = 64 << 10;

/// Counts the bytes that are read of it.
struct Counted(Vec<u8>, AtomicU64);

impl ReadAt for Counted {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read_at(offset, into)?;
        self.1.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }

    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }
}

fn write(plain: &[u8], id: &str, content_size: bool) -> Vec<u8> {
    let chunked = !["bz2", "xz", "none"]
        .iter()
        .any(|kind| id.starts_with(kind));
    let options = WriteOptions {
        threads: Some(1),
        chunk_size: chunked.then_some(CHUNK),
        content_size: content_size.then_some(plain.len() as u64),
        ..WriteOptions::default()
    };
    let mut writer = Writer::new(Vec::new(), Compressor::parse(id).unwrap(), options).unwrap();
    writer.write_all(plain).unwrap();
    writer.finish().unwrap().0
}

fn found(stored: &[u8]) -> Survey {
    let found = survey(&stored, &ReadOptions::default()).unwrap();
    assert_eq!(stored.len() as u64, found.stored_bytes);
    found
}

/// What reading all of it says of the end.
fn read(stored: &[u8]) -> (Completeness, bool) {
    let mut reader = Reader::new(stored, ReadOptions::default()).unwrap();
    io::copy(&mut reader, &mut io::sink()).unwrap();
    (reader.info().completeness.unwrap(), reader.info().looks_cut)
}

#[test]
fn all_that_headers_know_is_told() {
    for size in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK, 5 * CHUNK + 9] {
        let plain = text(size);
        let chunks = size.div_ceil(CHUNK) as u64;
        let index = size >= CHUNK;
        for (id, said, units, known) in [
            ("zstd:1", false, chunks, true),
            ("zstd:1,layout=single", true, 1.min(chunks), true),
            ("zstd:1,layout=single", false, 1.min(chunks), false),
            ("lz4", false, chunks, index),
            ("lz4,layout=single", true, chunks, true),
            ("lz4,layout=single", false, chunks, false),
        ] {
            let stored = write(&plain, id, said);
            let found = found(&stored);
            let what = format!("{id} {size} {found:?}");
            let seekable = index && !id.contains("single");
            let layout = [Layout::Single, Layout::Seekable][usize::from(seekable)];
            // A unit that does not say that it is empty counts.
            let most = if size == 0 { 1 } else { units };
            assert!((units..=most).contains(&found.units.unwrap()), "{what}");
            assert_eq!(Some(layout), found.layout, "{what}");
            assert_eq!(seekable, found.has_index, "{what}");
            if known {
                assert_eq!(Some(size as u64), found.plain_bytes, "{what}");
            } else {
                assert!(
                    matches!(found.plain_bytes, None | Some(0)) || size < CHUNK,
                    "{what}"
                );
            }
            let end = (found.completeness.unwrap(), found.looks_cut);
            assert_eq!(read(&stored), end, "{what}");
            if !(id.contains("single") && size == CHUNK) {
                assert_eq!((Completeness::Proven, false), end, "{what}");
            }
        }
    }
}

#[test]
fn bgzf_is_walked_and_other_members_are_not_known() {
    let plain = text(300_000);
    let stored = write(&plain, "gzip:1", false);
    let bgzf = found(&stored);
    assert_eq!((Some(Layout::Seekable), Some(5)), (bgzf.layout, bgzf.units));
    assert_eq!(Some(300_000), bgzf.plain_bytes);
    assert_eq!(Some(Completeness::Proven), bgzf.completeness);
    let members = write(&plain, "gzip:1,layout=members", false);
    for stored in [
        members.clone(),
        write(&plain, "gzip:1,layout=single", false),
        write(b"x", "gzip:1", false),
        [&stored[..], &members].concat(),
        write(&plain, "bz2:1", false),
        write(&plain, "xz:0", false),
    ] {
        let found = found(&stored);
        assert_eq!((None, None), (found.units, found.plain_bytes));
        assert_eq!((None, None), (found.layout, found.completeness));
        assert!(!found.has_index && !found.looks_cut);
    }
    let none = found(b"a,b,c");
    assert_eq!((Kind::None, Some(5)), (none.kind, none.plain_bytes));
}

#[test]
fn files_of_others_are_known_as_far_as_they_say() {
    let plain = text(3 << 20);
    let size = Some(plain.len() as u64);
    let single = Some(Layout::Single);
    for (name, arguments, layout, units, bytes) in [
        ("zstd", &["-c", "-T2", "-B1MiB"][..], single, Some(1), None),
        (
            "zstd",
            &["-c", "--stream-size=3145728"],
            single,
            Some(1),
            size,
        ),
        ("pzstd", &["-c", "-p2"], None, None, None),
        ("lz4", &["-c", "-B4", "-BI"], single, Some(48), None),
        ("lz4", &["-c", "-B4", "-BD"], single, Some(1), None),
        ("lz4", &["-c", "-B4", "-BX"], single, Some(48), None),
        ("lz4", &["-c", "-l"], single, Some(1), None),
        ("bgzip", &["-c"], Some(Layout::Seekable), Some(49), size),
    ] {
        let Some(stored) = tool(name, arguments, &plain) else {
            continue;
        };
        let found = found(&stored);
        let what = format!("{name} {arguments:?}: {found:?}");
        assert_eq!(bytes, found.plain_bytes, "{what}");
        if name != "pzstd" {
            assert_eq!((layout, units), (found.layout, found.units), "{what}");
        }
        let end = (found.completeness.unwrap(), found.looks_cut);
        assert_eq!(read(&stored), end, "{what}");
    }
}

#[test]
fn files_behind_one_another_are_added_up() {
    let (one, two) = (text(200_000), text(100_001));
    for (id, units) in [
        ("zstd:1", 6),
        ("zstd:1,layout=single", 2),
        ("lz4,layout=single", 6),
    ] {
        let both = [write(&one, id, true), write(&two, id, true)].concat();
        let found = found(&both);
        assert_eq!(Some(300_001), found.plain_bytes, "{id}");
        assert_eq!(Some(units), found.units, "{id}");
        let end = (found.completeness.unwrap(), found.looks_cut);
        assert_eq!(read(&both), end);
        assert!(!found.looks_cut, "{id}");
    }
}

#[test]
fn only_headers_are_read() {
    let plain = noise(3, 40 << 20);
    for (id, said, most) in [
        ("zstd:1", false, 900_000),
        ("zstd:1,layout=single", true, 500_000),
        ("lz4", false, 300_000),
        ("lz4,layout=single", true, 900_000),
        ("gzip:1", false, 2_600_000),
        ("xz:0", false, 2_000),
        ("none", false, 2_000),
    ] {
        let plain = if id == "xz:0" {
            &plain[..1 << 20]
        } else {
            &plain
        };
        let source = Counted(write(plain, id, said), AtomicU64::new(0));
        let found = survey(&source, &ReadOptions::default()).unwrap();
        assert_eq!(id != "xz:0", found.plain_bytes == Some(plain.len() as u64));
        let read = source.1.load(Ordering::Relaxed);
        assert!(
            read < most,
            "{id}: {read} of {} bytes were read",
            source.0.len()
        );
    }
    // Opening for any part walks over headers too.
    let bgzf = Counted(write(&plain, "gzip:1", false), AtomicU64::new(0));
    let reader = SeekableReader::new(&bgzf, ReadOptions::default()).unwrap();
    assert_eq!(plain.len() as u64, reader.len());
    let read = bgzf.1.load(Ordering::Relaxed);
    assert!(read < 2_600_000, "{read}");
}

#[test]
fn every_cut_inside_a_unit_is_told() {
    let plain = text(200_000);
    for id in ["zstd:1", "lz4", "gzip:1"] {
        let stored = write(&plain, id, true);
        let last = SeekableReader::new(&stored[..], ReadOptions::default()).unwrap();
        let chunk = last.chunks()[0];
        let (start, end) = (chunk.stored_offset, chunk.stored_offset + chunk.stored_size);
        for cut in [start + 5, end - 1] {
            let error = survey(&&stored[..cut as usize], &ReadOptions::default()).unwrap_err();
            assert_eq!(ErrorKind::Truncated, error.kind(), "{id} {cut}: {error}");
            assert_eq!(Some(cut), error.offset(), "{id}: {error}");
        }
    }
}

/// Asserts what reading, walking and surveying say of the end.
fn looks_cut(expected: bool, stored: &[u8], what: &str) {
    assert_eq!(expected, read(stored).1, "{what}");
    assert_eq!(expected, found(stored).looks_cut, "{what}");
    if let Ok(reader) = SeekableReader::new(stored, ReadOptions::default()) {
        assert_eq!(expected, reader.looks_cut(), "{what}");
    }
}

#[test]
fn a_file_of_ours_cut_between_chunks_looks_so() {
    let plain = text(5 * CHUNK + 77);
    for id in ["zstd:1", "gzip:1"] {
        let stored = write(&plain, id, false);
        looks_cut(false, &stored, "whole");
        looks_cut(false, &[&stored[..], &stored].concat(), "two whole ones");
        let units = ReadOptions {
            read_ahead: id == "zstd:1", // else a chunk a member
            ..ReadOptions::default()
        };
        let reader = SeekableReader::new(&stored[..], units).unwrap();
        for chunk in reader.chunks() {
            let end = (chunk.stored_offset + chunk.stored_size) as usize;
            looks_cut(true, &stored[..end], &format!("{id} cut at {end}"));
            let second = [&stored[..], &stored[..end]].concat();
            looks_cut(true, &second, &format!("{id} behind another, cut at {end}"));
        }
    }
}

#[test]
fn what_others_put_together_does_not() {
    let single = |size: usize| {
        let compressor = Compressor::parse("zstd:1").unwrap();
        compress(&text(size), &compressor, &WriteOptions::default()).unwrap()
    };
    looks_cut(true, &single(CHUNK), "the first chunk alone");
    for sizes in [
        &[100_000][..],
        &[100_000, 100_000],
        &[CHUNK, CHUNK, 100_000],
        &[CHUNK, 9, 9],
        &[9, 9],
        &[0, 0],
    ] {
        let joined: Vec<u8> = sizes.iter().flat_map(|&size| single(size)).collect();
        looks_cut(false, &joined, &format!("{sizes:?}"));
    }
    let plain = text(300_000);
    let bgzf = write(&plain, "gzip:1", false);
    let members = write(&plain, "gzip:1,layout=members", false);
    let unmarked = &bgzf[..bgzf.len() - 28];
    for (expected, stored) in [
        (false, members.clone()),
        (false, members.repeat(2)),
        (false, [unmarked, &members].concat()),
        (true, [&members[..], unmarked].concat()),
    ] {
        assert_eq!(expected, read(&stored).1);
    }
    for (name, arguments) in [
        ("pzstd", &["-c", "-p2"][..]),
        ("lz4", &["-c", "-l"]),
        ("bgzip", &["-c"]),
        ("bzip2", &["-c"]),
    ] {
        if let Some(stored) = tool(name, arguments, &text(3 << 20)) {
            assert!(!read(&stored.repeat(2)).1, "{name}");
        }
    }
}
