//! Writers and readers at once, slow, out of disk, out of memory.

use crate::common;

use std::fs::{self, File};
use std::io::{self, Write};
use std::process::Command;
use std::time::Duration;

use common::{noise, text};
use tare::compress::{
    decompress, Compressor, ReadOptions, Reader, SeekableReader, WriteOptions, Writer,
};
use tare::ErrorKind;

const CHUNK: usize = 64 << 10;

fn options(threads: usize) -> WriteOptions {
    WriteOptions {
        threads: Some(threads),
        chunk_size: Some(CHUNK),
        ..WriteOptions::default()
    }
}

fn packed(id: &str, plain: &[u8]) -> Vec<u8> {
    let compressor = Compressor::parse(id).unwrap();
    let mut writer = Writer::new(Vec::new(), compressor, options(2)).unwrap();
    writer.write_all(plain).unwrap();
    writer.finish().unwrap().0
}

#[test]
fn eight_threads_read_parts_of_one_file() {
    let plain = text(12 * CHUNK);
    for id in ["zstd:1", "lz4", "gzip:1"] {
        let reader = SeekableReader::new(packed(id, &plain), ReadOptions::default()).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (reader, plain) = (&reader, &plain);
                scope.spawn(move || {
                    for pair in noise(thread + 1, 400).chunks_exact(4) {
                        let word = u32::from_le_bytes([pair[0], pair[1], pair[2], pair[3]]);
                        let at = usize::try_from(word).unwrap() % plain.len();
                        let mut part = vec![0; 3000.min(plain.len() - at)];
                        assert_eq!(part.len(), reader.read_at(at as u64, &mut part).unwrap());
                        assert!(plain[at..at + part.len()] == part, "{id}: {at}");
                    }
                });
            }
        });
    }
}

#[test]
fn many_writers_at_once_write_what_one_does() {
    let plain = text(4 * CHUNK + 9);
    for id in ["zstd:1", "lz4", "gzip:1", "zstd:1,layout=single"] {
        let alone = packed(id, &plain);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                let (alone, plain) = (&alone, &plain);
                scope.spawn(move || assert!(*alone == packed(id, plain), "{id}"));
            }
        });
    }
}

#[test]
fn a_slow_sink_holds_the_input_back() {
    struct Slow(Vec<u8>);
    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            std::thread::sleep(Duration::from_millis(2));
            let size = bytes.len().min(4000);
            self.0.extend_from_slice(&bytes[..size]);
            Ok(size)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let plain = text(20 * CHUNK);
    let compressor = Compressor::parse("zstd:1").unwrap();
    let mut writer = Writer::new(Slow(Vec::new()), compressor, options(2)).unwrap();
    writer.write_all(&plain).unwrap();
    let (sink, summary) = writer.finish().unwrap();
    assert!(
        summary.peak_buffers <= 4,
        "{} buffers",
        summary.peak_buffers
    );
    assert!(sink.0 == packed("zstd:1", &plain));
}

#[test]
fn damage_is_told_by_unit_and_plain_range() {
    let plain = text(5 * CHUNK);
    let mut stored = packed("zstd:1", &plain);
    let reader = SeekableReader::new(stored.clone(), ReadOptions::default()).unwrap();
    let third = reader.chunks()[2];
    let last = usize::try_from(third.stored_offset + third.stored_size).unwrap() - 1;
    stored[last] ^= 1; // its checksum
    let error = Reader::new(&stored[..], ReadOptions::default())
        .unwrap()
        .finish()
        .unwrap_err();
    assert_eq!(ErrorKind::ChecksumMismatch, error.kind());
    assert_eq!(Some(third.stored_offset), error.offset());
    let told = error.to_string();
    assert!(told.contains("frame 3: "), "{told}");
    assert!(
        told.contains("bytes 131072 to 196607 of the plain data are bad"),
        "{told}"
    );
    let reader = SeekableReader::new(stored, ReadOptions::default()).unwrap();
    let error = reader.read_at(140_000, &mut [0; 9]).unwrap_err();
    assert_eq!(told, error.to_string());
}

/// A file system of 192 KiB that goes when it is dropped.
struct Small(std::path::PathBuf);

impl Small {
    fn mount() -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("tare-full-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=192k", "tmpfs"])
            .arg(&folder)
            .output();
        if mount.is_ok_and(|mount| mount.status.success()) {
            return Some(Self(folder));
        }
        fs::remove_dir(&folder).unwrap();
        common::skip("no tmpfs can be mounted");
        None
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_full_disk_is_an_error_and_what_is_there_is_refused() {
    let Some(disk) = Small::mount() else {
        return;
    };
    let plain = noise(5, 10 * CHUNK);
    for id in ["zstd:1", "lz4", "gzip:1", "zstd:1,layout=single", "xz:0"] {
        let path = disk.0.join("full");
        let compressor = Compressor::parse(id).unwrap();
        let mut options = options(2);
        options.chunk_size = None;
        let mut writer = Writer::new(File::create(&path).unwrap(), compressor, options).unwrap();
        let result = writer
            .push(&plain)
            .and_then(|()| writer.finish().map(|_| ()));
        let error = result.unwrap_err();
        assert_eq!(ErrorKind::Io, error.kind(), "{id}: {error}");
        let below = error.into_source().unwrap();
        let below = below.downcast::<io::Error>().unwrap();
        assert_eq!(io::ErrorKind::StorageFull, below.kind(), "{id}");
        let left = fs::read(&path).unwrap();
        let options = ReadOptions {
            kind: Some(compressor.kind()),
            ..ReadOptions::default()
        };
        assert!(
            decompress(&left, &options).is_err(),
            "{id}: {} bytes",
            left.len()
        );
        fs::remove_file(&path).unwrap();
    }
}

/// Set in the process that has too little memory.
const POOR: &str = "TARE_TEST_WITHOUT_MEMORY";

#[test]
fn memory_that_is_refused_is_an_error() {
    if std::env::var_os(POOR).is_some() {
        let compressor = Compressor::parse("zstd:1,chunk=64MiB").unwrap();
        let options = WriteOptions {
            threads: Some(2),
            ..WriteOptions::default()
        };
        let mut writer = Writer::new(io::sink(), compressor, options).unwrap();
        let plain = vec![7; 1 << 20];
        let error = (0..300).find_map(|_| writer.push(&plain).err()).unwrap();
        assert_eq!(ErrorKind::Limit, error.kind(), "{error}");
        return;
    }
    let this = std::env::current_exe().unwrap();
    let script = "ulimit -v 200000 && exec \"$0\" --exact engine::memory_that_is_refused_is_an_error --test-threads=1";
    let child = Command::new("sh")
        .args(["-c", script])
        .arg(this)
        .env(POOR, "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&child.stdout).into_owned();
    let errors = String::from_utf8_lossy(&child.stderr).into_owned();
    assert!(child.status.success(), "{told}{errors}");
}
