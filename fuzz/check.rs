// What must hold for any bytes, target by target; shared by the fuzz targets and by
// tests/corpora.rs, which replays their corpora.

use std::io::{Read, Write};

use tare::compress::{
    compress, decompress, expected_bytes, survey, Completeness, Compressor, Kind, Layout, ReadOptions,
    Reader, SeekableReader, WriteOptions, Writer,
};
use tare::ErrorKind;

include!("blit.rs");
include!("blit_reads.rs");
include!("fst.rs");
include!("json_elements.rs");
include!("lz4_blocks.rs");
include!("messages.rs");
include!("ndjson_columns.rs");
include!("ndjson_rows.rs");
include!("qs.rs");
include!("robject.rs");
include!("store_names.rs");

/// Longest result allowed while fuzzing.
const MAX_BYTES: u64 = 1 << 20;

/// Checks what the target of this name checks.
fn check(target: &str, data: &[u8]) {
    match target {
        "decompress_any" => decoders_agree(None, data),
        "decompress_zstd" => decoders_agree(Some(Kind::Zstd), data),
        "decompress_lz4" => decoders_agree(Some(Kind::Lz4), data),
        "decompress_gzip" => decoders_agree(Some(Kind::Gzip), data),
        "decompress_bz2" => decoders_agree(Some(Kind::Bz2), data),
        "decompress_xz" => decoders_agree(Some(Kind::Xz), data),
        "decompress_zlib" => {
            decoders_agree(Some(Kind::Zlib), data);
            streams_are_zlib(data);
        }
        "seek_table" => tables_change_no_bytes(data),
        "walk_zstd" => zstd_is_libzstd(data),
        "walk_lz4" => lz4_is_liblz4(data),
        "block_lz4" => {
            blocks_are_liblz4(data);
            large_blocks_are_whole(data);
        }
        "header_bgzf" => members_are_zlib(data),
        "roundtrip_compress" => comes_back(data),
        "decode_blit" => blit::decodes(data),
        "blits_open" => blit::opens(data),
        "read_blit" => blit_reads::reads(data),
        "json_elements" => json_elements::agrees(data),
        "json_in" => blit::reads_json(data),
        "roundtrip_blit" => blit::comes_back(data),
        "r_key" => robject::key(data),
        "rds_ascii" => robject::text(data),
        "rds_xdr" => robject::xdr(data),
        "dput" => qs_files::dput(data),
        "qdata" => qs_files::qdata(data),
        "qs" => qs_files::qs(data),
        "qs2" => qs_files::qs2(data),
        "store_index" => store_records::index(data),
        "frame_feed" => messages::frames(data),
        "msgpack_scan" => messages::msgpack(data),
        "cbor_scan" => messages::cbor(data),
        "ndjson_columns" => ndjson_columns::agrees(data),
        "ndjson_rows" => ndjson_rows::agrees(data),
        "ndjson_scan" => messages::lines(data),
        "store_names" => store_names::parsed(data),
        "store_records" => store_records::parsed(data),
        "fst" => fst_files::opens(data),
        "fst_blob" => fst_files::blob(data),
        other => panic!("no target {other}"),
    }
}

/// The targets of this file, each with a corpus of its name.
#[allow(dead_code, reason = "asked by the test that replays the corpora")]
const TARGETS: &[&str] = &[
    "blits_open",
    "block_lz4",
    "cbor_scan",
    "decode_blit",
    "decompress_any",
    "decompress_bz2",
    "decompress_gzip",
    "decompress_lz4",
    "decompress_xz",
    "decompress_zlib",
    "decompress_zstd",
    "dput",
    "frame_feed",
    "fst",
    "fst_blob",
    "header_bgzf",
    "json_elements",
    "json_in",
    "msgpack_scan",
    "ndjson_columns",
    "ndjson_rows",
    "ndjson_scan",
    "qdata",
    "qs",
    "qs2",
    "r_key",
    "rds_ascii",
    "rds_xdr",
    "read_blit",
    "roundtrip_blit",
    "roundtrip_compress",
    "seek_table",
    "store_index",
    "store_names",
    "store_records",
    "walk_lz4",
    "walk_zstd",
];

/// What came out of a reader, and how it ended.
#[derive(Debug, PartialEq)]
struct Outcome {
    plain: Vec<u8>,
    end: Result<Completeness, (ErrorKind, Option<u64>)>,
}

fn options(kind: Option<Kind>, threads: usize) -> ReadOptions {
    ReadOptions {
        kind,
        threads: Some(threads),
        max_output: Some(MAX_BYTES),
        ..ReadOptions::default()
    }
}

/// Reads in pieces of `piece` bytes.
fn streamed(source: impl Read, options: ReadOptions, piece: usize) -> Outcome {
    let refused = |error: tare::Error| Err((error.kind(), error.offset()));
    let mut plain = Vec::new();
    let mut reader = match Reader::new(source, options) {
        Ok(reader) => reader,
        Err(error) => {
            let end = refused(error);
            return Outcome { plain, end };
        }
    };
    let mut place = vec![0; piece];
    let end = loop {
        match reader.pull(&mut place) {
            Ok(0) => break Ok(reader.info().completeness.expect("the end was reached")),
            Ok(read) => plain.extend_from_slice(&place[..read]),
            Err(error) => break refused(error),
        }
    };
    Outcome { plain, end }
}

/// A source of few bytes at a time.
struct Drip<'a>(&'a [u8]);

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let size = into.len().min(7);
        self.0.read(&mut into[..size])
    }
}

/// No panic, nothing above the limit, and every way of reading says the same.
fn decoders_agree(kind: Option<Kind>, data: &[u8]) {
    let one = streamed(data, options(kind, 1), 4099);
    assert!(one.plain.len() as u64 <= MAX_BYTES, "above the limit");
    if let Err((_, Some(at))) = one.end {
        assert!(at <= data.len() as u64, "an offset behind the end: {at}");
    }
    let two = streamed(data, options(kind, 2), 65_536);
    assert_eq!(one.end, two.end, "1 and 2 threads");
    assert!(one.plain == two.plain, "1 and 2 threads");

    let mut live = options(kind, 2);
    live.read_ahead = false;
    let live = streamed(Drip(data), live, 333);
    let whole = decompress(data, &options(kind, 2));
    let limited = |end: &Result<_, (ErrorKind, _)>| matches!(end, Err((ErrorKind::Limit, _)));
    match &one.end {
        Ok(_) => {
            assert_eq!(one.end, live.end, "a live stream");
            assert!(one.plain == live.plain, "a live stream");
            let whole = whole.expect("one-shot takes what the stream takes");
            assert!(whole == one.plain, "one-shot and stream differ");
        }
        Err((expected, _)) => {
            let Err(error) = whole else {
                panic!("only the stream refuses: {:?}", one.end);
            };
            if !limited(&one.end) && !limited(&live.end) && error.kind() != ErrorKind::Limit {
                // A live stream may meet damage before the cut that others meet first.
                assert!(live.end.is_err(), "a live stream takes what others refuse");
                // So may one that decodes a long frame as it comes.
                let damage_first = error.is_truncated() && *expected == ErrorKind::Malformed;
                assert!(
                    damage_first || *expected == error.kind(),
                    "{expected:?} or {error}"
                );
            }
        }
    }

    let mut strict = options(kind, 2);
    strict.strict = true;
    let strict = streamed(data, strict, 65_536);
    assert!(one.plain == strict.plain, "strict reading");
    match one.end {
        Ok(Completeness::Unproven) => {
            assert_eq!(
                Err((ErrorKind::Truncated, Some(data.len() as u64))),
                strict.end
            );
        }
        end => assert_eq!(end, strict.end, "strict reading"),
    }
    parts_are_slices(kind, data, &one);
    headers_say_what_is_read(kind, data, &one);
    let _ = expected_bytes(data, kind);
    if kind.is_none() {
        told_alike(data);
    }
}

/// A stream and one buffer are told to be of the same kind.
fn told_alike(data: &[u8]) {
    let Ok(reader) = Reader::new(data, options(None, 1)) else {
        return;
    };
    let named = decompress(data, &options(Some(reader.info().kind), 1));
    let told = decompress(data, &options(None, 1));
    assert_eq!(named.ok(), told.ok(), "of another kind in one buffer");
}

/// What the headers say without decoding is what a stream gives.
fn headers_say_what_is_read(kind: Option<Kind>, data: &[u8], whole: &Outcome) {
    let found = survey(&data, &options(kind, 1));
    let Ok(completeness) = whole.end else {
        return;
    };
    let found = found.expect("its headers are good");
    assert_eq!(data.len() as u64, found.stored_bytes);
    if let Some(plain) = found.plain_bytes {
        assert_eq!(whole.plain.len() as u64, plain);
    }
    if let Some(proof) = found.completeness {
        assert_eq!(completeness, proof);
    }
    let mut reader = Reader::new(data, options(kind, 1)).expect("as before");
    std::io::copy(&mut reader, &mut std::io::sink()).expect("as before");
    let info = reader.info();
    if let Some(units) = found.units.filter(|_| found.kind != Kind::Gzip) {
        assert!(units <= info.units, "more units than were read");
    }
    if found.completeness.is_some() {
        assert_eq!(info.looks_cut, found.looks_cut);
    }
}

/// What can be read at an offset is what a stream gives there.
fn parts_are_slices(kind: Option<Kind>, data: &[u8], whole: &Outcome) {
    let mut options = options(kind, 2);
    options.build_index = true;
    let Ok(mut reader) = SeekableReader::new(data, options) else {
        return;
    };
    if let Ok(completeness) = whole.end {
        assert_eq!(whole.plain.len() as u64, reader.len());
        let table_or_walk = reader.completeness();
        assert_eq!(completeness, table_or_walk, "what proves the end");
    }
    let mut at = 0;
    for chunk in reader.chunks().to_vec() {
        assert_eq!(at, chunk.plain_offset);
        at += chunk.plain_size;
        assert!(chunk.stored_offset + chunk.stored_size <= data.len() as u64);
        // The middle, so that chunks are decoded out of order and kept ones are used.
        let from = chunk.plain_offset + chunk.plain_size / 2;
        let mut part = [0; 50];
        if let Ok(read) = reader.read_at(from, &mut part) {
            let from = usize::try_from(from).expect("a chunk is short");
            let both = read.min(whole.plain.len().saturating_sub(from));
            if both > 0 {
                assert_eq!(whole.plain[from..from + both], part[..both]);
            }
        } else {
            assert!(whole.end.is_err(), "a part cannot be read");
        }
    }
    let mut plain = Vec::new();
    let read = reader.by_ref().take(MAX_BYTES).read_to_end(&mut plain);
    if whole.end.is_ok() {
        read.expect("a stream can be read");
        assert!(whole.plain == plain, "parts and stream differ");
    }
}

/// A file whose table or index is the fuzzed part: frames of ours, then any bytes, framed as a
/// table or as they are.
fn tables_change_no_bytes(data: &[u8]) {
    let Some((&how, rest)) = data.split_first() else {
        return;
    };
    let id = if how & 1 == 0 { "zstd:1" } else { "lz4:1" };
    let id = format!("{id},layout=seekable,chunk=64KiB");
    let compressor = Compressor::parse(&id).expect("an id");
    let plain = b"weighed, found wanting. ".repeat(if how & 2 == 0 { 3000 } else { 8300 });
    let write = WriteOptions {
        threads: Some(1),
        ..WriteOptions::default()
    };
    let mut stored = compress(&plain, &compressor, &write).expect("any bytes can be compressed");
    let before = stored.len();
    if how & 4 == 0 {
        // Some bytes of the table are changed.
        for change in rest.chunks_exact(2) {
            let back = usize::from(change[0]) % 64;
            if let Some(byte) = stored.len().checked_sub(1 + back) {
                stored[byte] ^= change[1];
            }
        }
    } else {
        // Another table, of any entries, behind the first or instead of it.
        if how & 8 == 0 {
            stored.truncate(before.saturating_sub(17 + 8 * usize::from(how >> 4)));
        }
        let entries = &rest[..rest.len() / 8 * 8];
        stored.extend(0x184d_2a5e_u32.to_le_bytes());
        let bytes = u32::try_from(entries.len() + 9).expect("a short input");
        stored.extend(bytes.to_le_bytes());
        stored.extend(entries);
        stored.extend((bytes / 8).saturating_sub(1).to_le_bytes());
        stored.push(0);
        stored.extend(0x8f92_eab1_u32.to_le_bytes());
    }
    decoders_agree(Some(compressor.kind()), &stored);
    if let Ok(read) = decompress(&stored, &options(Some(compressor.kind()), 1)) {
        assert!(plain.starts_with(&read) || read.starts_with(&plain));
    }
}

/// Frames end where libzstd says, and hold what it says.
fn zstd_is_libzstd(data: &[u8]) {
    let ours = streamed(data, options(Some(Kind::Zstd), 2), 65_536);
    let mut place = vec![0; usize::try_from(MAX_BYTES).expect("1 MiB")];
    let theirs = zstd_safe::decompress(&mut place[..], data).map(|size| &place[..size]);
    if let (Ok(_), Ok(theirs)) = (&ours.end, theirs) {
        assert!(ours.plain == theirs, "libzstd reads other bytes");
    }
    if ours.end.is_ok() {
        assert!(theirs.is_ok(), "libzstd refuses it: {theirs:?}");
    }
    let mut frames = Vec::new();
    let mut at = 0;
    while let Ok(size @ 1..) = zstd_safe::find_frame_compressed_size(&data[at..]) {
        let frame = &data[at..at + size];
        let skippable = matches!(frame, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
        if !skippable {
            let size = zstd_safe::get_frame_content_size(frame).expect("it was measured");
            frames.push((at as u64, frame.len() as u64, size));
            if zstd_safe::get_dict_id_from_frame(frame).is_some() {
                assert!(ours.end.is_err(), "a dictionary is missing");
            }
        }
        at += size;
        if at == data.len() {
            break;
        }
    }
    if data.ends_with(&0x8f92_eab1_u32.to_le_bytes()) {
        return; // a table may list several frames as one
    }
    if let Ok(reader) = SeekableReader::new(data, options(Some(Kind::Zstd), 1)) {
        let found = reader.chunks().iter();
        let found = found.map(|chunk| {
            (
                chunk.stored_offset,
                chunk.stored_size,
                Some(chunk.plain_size),
            )
        });
        frames.retain(|frame| frame.2 != Some(0));
        assert_eq!(frames, found.collect::<Vec<_>>(), "libzstd walks elsewhere");
    }
}

/// The first frame holds what liblz4 says.
fn lz4_is_liblz4(data: &[u8]) {
    if !data.starts_with(b"\x04\x22\x4d\x18") {
        return;
    }
    let ours = streamed(data, options(Some(Kind::Lz4), 2), 65_536);
    let mut theirs = Vec::new();
    let Ok(decoder) = lz4::Decoder::new(data) else {
        return;
    };
    let mut decoder = decoder.take(MAX_BYTES);
    let read = decoder.read_to_end(&mut theirs);
    let (rest, end) = decoder.into_inner().finish();
    if ours.end.is_ok() {
        read.expect("liblz4 refuses it");
        end.expect("liblz4 sees no end");
        assert!(ours.plain.starts_with(&theirs), "liblz4 reads other bytes");
    } else if read.is_ok() && end.is_ok() && rest.is_empty() {
        // Damaged blocks are told apart by `block_lz4`.
        let (kind, _) = ours.end.expect_err("it was refused");
        let stricter = matches!(kind, ErrorKind::Limit | ErrorKind::Malformed);
        assert!(stricter, "liblz4 takes it, here it is {kind:?}");
    }
}

/// Members of any header and BSIZE, around deflate data that is right.
fn members_are_zlib(data: &[u8]) {
    let mut stored = Vec::new();
    let mut rest = data;
    while let Some((&[how, off, size, bytes], later)) = rest.split_first_chunk::<4>() {
        let (extra, later) = later.split_at(usize::from(size).min(later.len()));
        let (plain, later) = later.split_at(usize::from(bytes).min(later.len()));
        rest = later;
        let mut deflate =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        deflate.write_all(plain).expect("memory takes it");
        let deflate = deflate.finish().expect("memory takes it");
        let mut member = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff".to_vec();
        let length = extra.len() + if how & 1 == 0 { 6 } else { 0 };
        member.extend(u16::try_from(length).expect("few bytes").to_le_bytes());
        let (before, behind) = extra.split_at(usize::from(how >> 4).min(extra.len()));
        member.extend(before);
        if how & 1 == 0 {
            let whole = 12 + length + deflate.len() + 8;
            let last = u16::try_from(whole - 1).expect("few bytes");
            member.extend(b"BC\x02\0");
            member.extend(last.wrapping_add_signed(i16::from(off as i8)).to_le_bytes());
        }
        member.extend(behind);
        if how & 2 != 0 {
            member[3] |= 2;
            let [a, b, ..] = libdeflater::crc32(&member).to_le_bytes();
            member.extend([a, b ^ (how & 4)]);
        }
        member.extend(deflate);
        member.extend(libdeflater::crc32(plain).to_le_bytes());
        let claim = u32::from(bytes).min(u32::try_from(plain.len()).expect("few bytes"));
        member.extend((claim ^ u32::from(how & 8)).to_le_bytes());
        stored.extend(member);
    }
    decoders_agree(Some(Kind::Gzip), &stored);
    let ours = streamed(&stored[..], options(Some(Kind::Gzip), 2), 65_536);
    if ours.end.is_ok() {
        let mut theirs = Vec::new();
        let read = flate2::read::MultiGzDecoder::new(&stored[..]).read_to_end(&mut theirs);
        read.expect("zlib refuses it");
        assert!(ours.plain == theirs, "zlib reads other bytes");
    }
}

/// One stream holds what zlib-rs by itself says, and ends where it says.
fn streams_are_zlib(data: &[u8]) {
    let ours = streamed(data, options(Some(Kind::Zlib), 2), 65_536);
    let mut inflate = flate2::Decompress::new(true);
    let mut theirs = Vec::with_capacity(usize::try_from(MAX_BYTES).expect("1 MiB"));
    let status = inflate.decompress_vec(data, &mut theirs, flate2::FlushDecompress::Finish);
    let ended = matches!(status, Ok(flate2::Status::StreamEnd));
    if ended && inflate.total_in() == data.len() as u64 {
        assert!(ours.end.is_ok(), "zlib takes it: {:?}", ours.end);
        assert!(ours.plain == theirs, "zlib reads other bytes");
    } else {
        assert!(ours.end.is_err(), "zlib refuses it: {status:?}");
    }
}

/// Any bytes, compressor, layout, chunk, and cuts of reads and writes.
fn comes_back(data: &[u8]) {
    const IDS: &[&str] = &[
        "zstd:1", "zstd:-5", "zstd:7", "zstd:13", "lz4:1", "lz4:-9", "lz4:3", "gzip:1", "gzip:6",
        "gzip:0", "bz2:1", "xz:0", "none",
    ];
    let Some((&[id, layout, cut, times, flush], rest)) = data.split_first_chunk::<5>() else {
        return;
    };
    let compressor = Compressor::parse(IDS[usize::from(id) % IDS.len()]).expect("an id");
    let layouts = [
        Layout::Auto,
        Layout::Single,
        Layout::Seekable,
        Layout::Members,
    ];
    let layout = layouts[usize::from(layout % 4)];
    let mut plain = Vec::new();
    for round in 0..=times {
        plain.extend_from_slice(rest);
        plain.push(round);
        if plain.len() > 200_000 {
            break;
        }
    }
    let write = |threads: usize, content_size| WriteOptions {
        threads: Some(threads),
        chunk_size: (compressor.kind() != Kind::None).then_some(64 << 10),
        layout,
        content_size,
        checksum: times & 1 == 0,
        ..WriteOptions::default()
    };
    let piece = usize::from(cut) * 100 + 1;
    let packed = |threads| -> tare::Result<Vec<u8>> {
        let mut writer = Writer::new(Vec::new(), compressor, write(threads, None))?;
        for (number, part) in plain.chunks(piece).enumerate() {
            writer.push(part)?;
            if flush > 0 && number == usize::from(flush) {
                writer.flush().expect("memory takes it");
            }
        }
        Ok(writer.finish()?.0)
    };
    let one = match packed(1) {
        Ok(one) => one,
        Err(error) => {
            assert_eq!(ErrorKind::Usage, error.kind(), "{error}");
            return;
        }
    };
    assert!(
        one == packed(2).expect("as with one thread"),
        "1 and 2 threads"
    );
    let short = compress(&plain, &compressor, &write(2, None)).expect("as with a writer");
    let kind = Some(compressor.kind());
    for stored in [&one, &short] {
        let read = streamed(&stored[..], options(kind, 2), piece);
        assert!(
            read.plain == plain && read.end.is_ok(),
            "no round trip: {:?}",
            read.end
        );
        if kind != Some(Kind::None) {
            assert_eq!(Ok(Completeness::Proven), completeness_of(&read, flush));
        }
        parts_are_slices(kind, stored, &read);
        assert!(decompress(stored, &options(kind, 1)).expect("own bytes") == plain);
    }
    let twice = [&one[..], &short[..]].concat();
    let mut most = options(kind, 2);
    most.max_output = None;
    let read = decompress(&twice, &most).expect("one behind the other");
    assert!(
        read == [&plain[..], &plain[..]].concat(),
        "one behind the other"
    );
}

/// A flush ends a bzip2 stream, and where another follows nothing proves the end.
fn completeness_of(read: &Outcome, flush: u8) -> Result<Completeness, (ErrorKind, Option<u64>)> {
    match read.end {
        Ok(Completeness::Unproven) if flush > 0 => Ok(Completeness::Proven),
        end => end,
    }
}
