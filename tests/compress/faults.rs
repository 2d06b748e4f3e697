//! Sinks and sources that misbehave, streams that are cut or damaged: a clear error, no wrong bytes.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use crate::lines;
use tare::compress::{
    decompress, CancelToken, Completeness, Compressor, Kind, Layout, ReadOptions, Reader,
    WriteOptions, Writer,
};
use tare::{Error, ErrorKind};

use crate::common;
use common::soak::{self, Sample};

const CHUNK: usize = 64 << 10;

/// Every container and layout that is written here.
const WAYS: &[&str] = &[
    "zstd:1,layout=seekable",
    "zstd:1,layout=single",
    "lz4:1,layout=seekable",
    "lz4:1,layout=single",
    "gzip:1,layout=seekable",
    "gzip:1,layout=members",
    "gzip:1,layout=single",
    "bz2:1",
    "xz:0",
];

/// Those cut into chunks.
fn chunked() -> impl Iterator<Item = &'static str> {
    WAYS.iter()
        .copied()
        .filter(|id| !id.starts_with("bz2") && !id.starts_with("xz"))
}

fn options(id: &str, threads: usize) -> WriteOptions {
    let chunked = !id.starts_with("bz2") && !id.starts_with("xz");
    WriteOptions {
        threads: Some(threads),
        chunk_size: chunked.then_some(CHUNK),
        ..WriteOptions::default()
    }
}

fn packed(id: &str, plain: &[u8], threads: usize) -> Vec<u8> {
    let compressor = Compressor::parse(id).unwrap();
    let mut writer = Writer::new(Vec::new(), compressor, options(id, threads)).unwrap();
    writer.write_all(plain).unwrap();
    writer.finish().unwrap().0
}

/// The error of a stream, without the bytes of one that has none.
fn refused(stored: &[u8], options: &ReadOptions, told: &str) -> Error {
    match decompress(stored, options) {
        Ok(plain) => panic!("{told}: {} bytes came out", plain.len()),
        Err(error) => error,
    }
}

fn reading(kind: Kind, threads: usize) -> ReadOptions {
    ReadOptions {
        kind: Some(kind),
        threads: Some(threads),
        ..ReadOptions::default()
    }
}

/// What a sink does at one of its calls.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Short,
    Interrupted,
    WouldBlock,
    Nothing,
    Full,
    /// More than it was given.
    Long,
}

struct Sink {
    taken: Vec<u8>,
    call: usize,
    at: usize,
    fault: Fault,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let call = self.call;
        self.call += 1;
        if call == self.at {
            match self.fault {
                Fault::Short => {
                    let size = bytes.len().min(1);
                    self.taken.extend(&bytes[..size]);
                    return Ok(size);
                }
                Fault::Interrupted => return Err(io::ErrorKind::Interrupted.into()),
                Fault::WouldBlock => return Err(io::ErrorKind::WouldBlock.into()),
                Fault::Nothing => return Ok(0),
                Fault::Full => return Err(io::Error::from_raw_os_error(28)),
                Fault::Long => return Ok(bytes.len() + 1),
            }
        }
        self.taken.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_misbehaves_at_any_call_is_an_error_or_makes_no_difference() {
    let plain = lines(3 * CHUNK + 5);
    let (mut calls, mut sample) = (0, Sample::new(4, 5));
    for id in WAYS {
        let whole = packed(id, &plain, 2);
        for fault in [
            Fault::Short,
            Fault::Interrupted,
            Fault::WouldBlock,
            Fault::Nothing,
            Fault::Full,
            Fault::Long,
        ] {
            for at in sample.select(0..40) {
                calls += 1;
                let sink = Sink {
                    taken: Vec::new(),
                    call: 0,
                    at,
                    fault,
                };
                let compressor = Compressor::parse(id).unwrap();
                let mut writer = Writer::new(sink, compressor, options(id, 2)).unwrap();
                let mut result = Ok(());
                for part in plain.chunks(10_000) {
                    result = writer.push(part);
                    if result.is_err() {
                        // The first error is the answer to every later call.
                        let again = writer.push(part).unwrap_err();
                        assert_eq!(ErrorKind::Io, again.kind());
                        break;
                    }
                }
                let end = result.and_then(|()| writer.finish());
                match (fault, end) {
                    (Fault::Short | Fault::Interrupted, end) => {
                        assert!(end.unwrap().0.taken == whole, "{id} {fault:?} {at}");
                    }
                    (_, Ok((sink, _))) => assert!(sink.call <= at && sink.taken == whole),
                    (_, Err(error)) => {
                        assert_eq!(ErrorKind::Io, error.kind(), "{id} {fault:?} {at}: {error}");
                        let expected = match fault {
                            Fault::WouldBlock => io::ErrorKind::WouldBlock,
                            Fault::Nothing => io::ErrorKind::WriteZero,
                            Fault::Long => io::ErrorKind::InvalidData,
                            _ => io::ErrorKind::StorageFull,
                        };
                        assert_eq!(expected, io::Error::from(error).kind());
                    }
                }
            }
        }
    }
    soak::count("calls", calls);
}

#[test]
fn what_a_dropped_or_aborted_writer_leaves_is_refused() {
    let plain = lines(4 * CHUNK);
    for id in chunked() {
        for parts in 1..=27 {
            let compressor = Compressor::parse(id).unwrap();
            let mut writer = Writer::new(Vec::new(), compressor, options(id, 2)).unwrap();
            for part in plain.chunks(10_000).take(parts) {
                writer.write_all(part).unwrap();
            }
            let left = writer.abort();
            let kind = compressor.kind();
            let error = refused(&left, &reading(kind, 1), id);
            assert!(error.is_truncated(), "{id} {parts} {}: {error}", left.len());
        }
    }
}

#[test]
fn cut_at_any_byte_it_is_truncated_and_at_a_boundary_unproven() {
    let plain = lines(2 * CHUNK + 100);
    let (mut cuts, mut sample) = (0, Sample::new(40, 7));
    for id in WAYS {
        let kind = Compressor::parse(id).unwrap().kind();
        let whole = packed(id, &plain, 1);
        let near_units = |at: usize| at < 200 || at + 200 > whole.len() || at % 37 == 0;
        for at in sample.select((0..whole.len()).filter(|&at| near_units(at))) {
            cuts += 1;
            let cut = &whole[..at];
            let strict = ReadOptions {
                strict: true,
                ..reading(kind, 1)
            };
            match decompress(cut, &strict) {
                Err(error) => assert!(error.is_truncated(), "{id} {at}: {error}"),
                // All of an lz4 frame is there once its end mark is; only the index is not.
                Ok(found) => assert!(id.starts_with("lz4") && found == plain, "{id} {at}"),
            }
            if let Ok(shorter) = decompress(cut, &reading(kind, 2)) {
                assert!(plain.starts_with(&shorter), "{id} {at}");
                if shorter == plain {
                    continue;
                }
                let mut reader = Reader::new(cut, reading(kind, 2)).unwrap();
                io::copy(&mut reader, &mut io::sink()).unwrap();
                assert_eq!(
                    Some(Completeness::Unproven),
                    reader.info().completeness,
                    "{id} {at}"
                );
            }
        }
    }
    soak::count("cuts", cuts);
}

#[test]
fn a_flipped_bit_is_an_error_or_changes_nothing() {
    let mut flips = 0;
    for (size, step, edge) in [(700, 1, 20 * 8), (2 * CHUNK + 9, 997, 4)] {
        let plain = lines(size);
        let mut sample = Sample::new(edge, 5);
        for id in WAYS {
            let kind = Compressor::parse(id).unwrap().kind();
            let whole = packed(id, &plain, 1);
            for bit in sample.select((0..whole.len() * 8).step_by(step)) {
                flips += 1;
                let mut damaged = whole.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                for threads in [1, 2] {
                    match decompress(&damaged, &reading(kind, threads)) {
                        Ok(found) => assert!(found == plain, "{id} {size} bit {bit}"),
                        Err(error) => assert!(is_about_the_input(&error), "{id} {bit}: {error}"),
                    }
                }
            }
        }
    }
    soak::count("flips", flips);
}

fn is_about_the_input(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Malformed
            | ErrorKind::Truncated
            | ErrorKind::ChecksumMismatch
            | ErrorKind::Unsupported
            | ErrorKind::Limit
    )
}

#[test]
fn everything_before_the_damage_comes_first_from_any_number_of_threads() {
    let plain = lines(6 * CHUNK);
    for id in ["zstd:1", "lz4:1", "gzip:1"] {
        let kind = Compressor::parse(id).unwrap().kind();
        let mut stored = packed(id, &plain, 1);
        let at = stored.len() * 2 / 3;
        stored[at] ^= 0x55;
        let before = |threads| {
            let mut reader = Reader::new(&stored[..], reading(kind, threads)).unwrap();
            let mut found = Vec::new();
            let error = reader.read_to_end(&mut found).unwrap_err();
            (found, error.kind())
        };
        let (serial, kind_of_error) = before(1);
        assert!(
            serial.len() >= 2 * CHUNK && plain.starts_with(&serial),
            "{id} {}",
            serial.len()
        );
        for threads in [2, 3, 8] {
            assert!(
                (serial.clone(), kind_of_error) == before(threads),
                "{id} {threads}"
            );
        }
    }
}

/// Gives one byte a call, and fails at one of them.
struct Drip<'a> {
    data: &'a [u8],
    fails_at: Option<usize>,
    call: usize,
}

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.call += 1;
        if self.call % 5 == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.fails_at.is_some_and(|at| self.call > at) {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let size = into.len().min(1);
        self.data.read(&mut into[..size])
    }
}

#[test]
fn a_source_of_single_bytes_is_read_and_its_failure_is_its_own() {
    let plain = lines(CHUNK + 1000);
    for id in WAYS {
        let kind = Compressor::parse(id).unwrap().kind();
        let stored = packed(id, &plain, 1);
        let drip = |fails_at| Drip {
            data: &stored,
            fails_at,
            call: 0,
        };
        let mut found = Vec::new();
        let mut reader = Reader::new(drip(None), reading(kind, 2)).unwrap();
        reader.read_to_end(&mut found).unwrap();
        assert!(found == plain, "{id}");
        for at in [1, stored.len() / 2, stored.len() - 1] {
            let error = Reader::new(drip(Some(at)), reading(kind, 2))
                .map_err(io::Error::from)
                .and_then(|mut reader| reader.read_to_end(&mut Vec::new()))
                .unwrap_err();
            assert_eq!(io::ErrorKind::ConnectionReset, error.kind(), "{id} {at}");
        }
    }
}

#[test]
fn limits_are_kept_to_whatever_the_stream_claims() {
    let plain = vec![0; 3 << 20];
    for id in WAYS {
        let kind = Compressor::parse(id).unwrap().kind();
        let stored = packed(id, &plain, 1);
        let limited = ReadOptions {
            max_output: Some(1 << 20),
            ..reading(kind, 2)
        };
        assert_eq!(
            ErrorKind::Limit,
            refused(&stored, &limited, id).kind(),
            "{id}"
        );
        let ratio = ReadOptions {
            max_ratio: Some(2),
            ..reading(kind, 2)
        };
        assert_eq!(
            ErrorKind::Limit,
            refused(&stored, &ratio, id).kind(),
            "{id}"
        );
        let exact = ReadOptions {
            max_output: Some(plain.len() as u64),
            ..reading(kind, 2)
        };
        assert_eq!(
            plain.len(),
            decompress(&stored, &exact).unwrap().len(),
            "{id}"
        );
    }
}

#[test]
fn a_memory_limit_lowers_threads_or_is_refused_with_the_figure() {
    let compressor = Compressor::parse("zstd:3").unwrap();
    let with = |limit| WriteOptions {
        threads: Some(4),
        memory_limit: Some(limit),
        ..WriteOptions::default()
    };
    let plain = lines(9 << 20);
    let mut writer = Writer::new(Vec::new(), compressor, with(16 << 20)).unwrap();
    writer.write_all(&plain).unwrap();
    let (stored, summary) = writer.finish().unwrap();
    assert!(summary.peak_buffers < 6, "{}", summary.peak_buffers);
    assert!(plain == decompress(&stored, &ReadOptions::default()).unwrap());
    let error = Writer::new(Vec::new(), compressor, with(1 << 20)).unwrap_err();
    assert_eq!(ErrorKind::Limit, error.kind());
    assert!(error.to_string().contains("are needed"), "{error}");
}

#[test]
fn a_content_size_that_is_not_kept_is_an_error() {
    for id in WAYS {
        let compressor = Compressor::parse(id).unwrap();
        let with = |size| WriteOptions {
            content_size: Some(size),
            ..options(id, 2)
        };
        let mut writer = Writer::new(Vec::new(), compressor, with(10)).unwrap();
        assert_eq!(
            ErrorKind::Usage,
            writer.push(&[0; 11]).unwrap_err().kind(),
            "{id}"
        );
        let mut writer = Writer::new(Vec::new(), compressor, with(10)).unwrap();
        writer.push(&[0; 9]).unwrap();
        assert_eq!(
            ErrorKind::Usage,
            writer.finish().unwrap_err().kind(),
            "{id}"
        );
    }
}

#[test]
fn cancelled_work_stops() {
    let plain = lines(8 * CHUNK);
    for id in WAYS {
        let token = CancelToken::new();
        let options = WriteOptions {
            cancel: Some(token.clone()),
            ..options(id, 2)
        };
        let mut writer = Writer::new(Vec::new(), Compressor::parse(id).unwrap(), options).unwrap();
        writer.push(&plain).unwrap();
        token.cancel();
        let error = writer.push(&plain).unwrap_err();
        assert_eq!(ErrorKind::Cancelled, error.kind(), "{id}");
        let kind = Compressor::parse(id).unwrap().kind();
        let stored = packed(id, &plain, 2);
        let reading = ReadOptions {
            cancel: Some(token),
            ..reading(kind, 2)
        };
        let result = Reader::new(&stored[..], reading).and_then(Reader::finish);
        assert_eq!(ErrorKind::Cancelled, result.unwrap_err().kind(), "{id}");
    }
}

#[test]
fn cancelling_waits_for_no_job_of_a_slow_library() {
    // 16 MiB of noise in letters take libzstd at least half a minute at this level.
    let plain: Vec<u8> = common::noise(5, 16 << 20)
        .iter()
        .map(|byte| b'a' + byte % 16)
        .collect();
    for finishing in [false, true] {
        let token = CancelToken::new();
        let options = WriteOptions {
            threads: Some(2),
            cancel: Some(token.clone()),
            ..WriteOptions::default()
        };
        let compressor = Compressor::parse("zstd:19,layout=single").unwrap();
        let mut writer = Writer::new(Vec::new(), compressor, options).unwrap();
        let cancelling = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            token.cancel();
            Instant::now()
        });
        let mut result = writer.push(&plain);
        while !finishing && result.is_ok() {
            result = writer.push(&plain);
        }
        let error = result.and_then(|()| writer.finish()).unwrap_err();
        assert_eq!(ErrorKind::Cancelled, error.kind());
        let asked = cancelling.join().unwrap();
        assert!(asked.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_flush_lets_a_reader_have_all_before_it() {
    let plain = lines(CHUNK / 2);
    for id in chunked().filter(|id| !id.contains("gzip:1,layout=single")) {
        let compressor = Compressor::parse(id).unwrap();
        let mut writer = Writer::new(Vec::new(), compressor, options(id, 2)).unwrap();
        writer.write_all(&plain).unwrap();
        writer.flush().unwrap();
        let so_far = writer.get_ref().clone();
        let live = ReadOptions {
            read_ahead: false,
            ..reading(compressor.kind(), 1)
        };
        let mut reader = Reader::new(&so_far[..], live).unwrap();
        let mut found = vec![0; plain.len()];
        reader.read_exact(&mut found).unwrap();
        assert!(found == plain, "{id}");
        writer.write_all(&plain).unwrap();
        let (stored, _) = writer.finish().unwrap();
        let both = decompress(&stored, &reading(compressor.kind(), 2)).unwrap();
        assert!(both == [plain.clone(), plain.clone()].concat(), "{id}");
    }
}

#[test]
fn concatenated_streams_are_read_whole_in_every_order() {
    let (a, b) = (lines(CHUNK + 3), lines(40));
    for name in ["zstd:1", "lz4:1", "gzip:1"] {
        let kind = Compressor::parse(name).unwrap().kind();
        let layouts = [Layout::Seekable, Layout::Single];
        let mut streams = vec![(packed(name, &[], 1), Vec::new())];
        for layout in layouts {
            let id = format!("{name},layout={}", layout.name());
            streams.push((packed(&id, &a, 1), a.clone()));
            streams.push((packed(&id, &b, 1), b.clone()));
        }
        for first in &streams {
            for second in &streams {
                for third in &streams {
                    let parts = [first, second, third];
                    let stored: Vec<u8> = parts.iter().flat_map(|part| part.0.clone()).collect();
                    let plain: Vec<u8> = parts.iter().flat_map(|part| part.1.clone()).collect();
                    let found = decompress(&stored, &reading(kind, 2)).unwrap();
                    assert!(found == plain, "{name}");
                    let mut with_garbage = stored;
                    with_garbage.extend(b"garbage");
                    let error = refused(&with_garbage, &reading(kind, 2), name);
                    assert_eq!(ErrorKind::Malformed, error.kind(), "{name}: {error}");
                }
            }
        }
    }
}

#[test]
fn after_an_error_nothing_is_said_of_the_end() {
    let plain = lines(2 * CHUNK + 100);
    for id in WAYS {
        let kind = Compressor::parse(id).unwrap().kind();
        let whole = packed(id, &plain, 1);
        let cuts = (1..whole.len()).step_by(977).map(|at| whole[..at].to_vec());
        let behind = [&whole[..], b"garbage"].concat();
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 4;
        for stored in cuts.chain([behind, damaged]) {
            for strict in [false, true] {
                let options = ReadOptions {
                    strict,
                    ..reading(kind, 2)
                };
                let mut reader = Reader::new(&stored[..], options).unwrap();
                if io::copy(&mut reader, &mut io::sink()).is_err() {
                    let info = reader.info();
                    assert_eq!(None, info.completeness, "{id} {}", stored.len());
                    assert!(!info.looks_cut, "{id} {}", stored.len());
                }
            }
        }
    }
}
