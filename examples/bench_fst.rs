//! Times of an fst file: `bench_fst FILE [--threads N] [--rounds N] [--only read|write|part]`, one
//! JSON line.
//!
//! The file is read whole, by two columns and 1,000 rows, and its table is written again at
//! `compress` 50, each in turn. Times are seconds; with `--threads 1` on Linux those of the
//! processor, else the clock's. `touched_bytes` is what the part read.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a program for measuring"
)]

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tare::compress::ReadAt;
use tare::fst::{self, ReadOptions, Table, WriteOptions};

/// Counts the bytes that are read.
struct Counting<'a> {
    file: &'a std::fs::File,
    read: AtomicU64,
}

impl ReadAt for Counting<'_> {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let size = self.file.read_at(offset, into)?;
        self.read.fetch_add(size as u64, Ordering::Relaxed);
        Ok(size)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
}

/// The processor's time of this thread where that is all there is to it, else the clock's.
enum Clock {
    Processor(f64),
    Wall(Instant),
}

impl Clock {
    fn processor() -> Option<f64> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
    }

    fn start(threads: Option<usize>) -> Self {
        let processor = Self::processor().filter(|_| threads == Some(1));
        processor.map_or_else(|| Self::Wall(Instant::now()), Self::Processor)
    }

    fn elapsed(&self) -> f64 {
        match self {
            Self::Processor(start) => Self::processor().unwrap_or(*start) - start,
            Self::Wall(start) => start.elapsed().as_secs_f64(),
        }
    }
}

/// With `--keep` the C library keeps what a round frees for the next, as a process that has read
/// before does, and as the peers keep their buffers and pools: glibc keeps up to twice the largest
/// block that it saw freed, 64 MiB at most. Without it each round pays the kernel for the pages of
/// its result, as the first read of a process does.
fn keep_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(31 << 20)));
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str| -> Option<usize> {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)?.parse().ok()
    };
    let path = words
        .first()
        .ok_or("usage: bench_fst FILE [--threads N] [--rounds N]")?;
    let threads = number("--threads");
    let rounds = number("--rounds").unwrap_or(7);
    if words.iter().any(|word| word == "--keep") {
        keep_memory();
    }
    let file = std::fs::File::open(path)?;
    let read = ReadOptions {
        threads,
        ..ReadOptions::default()
    };
    let write = WriteOptions {
        threads,
        ..WriteOptions::default()
    };
    let table = fst::open_with(&file, &read)?.read(None, None)?;
    let out = format!("{path}.again");
    let (mut reads, mut writes, mut parts, mut touched) = (vec![], vec![], vec![], 0);
    let mut written = 0;
    let only = words.iter().position(|word| word == "--only");
    let only = only.and_then(|at| words.get(at + 1)).map(String::as_str);
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    for _ in 0..rounds {
        if wanted("read") {
            let start = Clock::start(threads);
            let again = fst::open_with(&file, &read)?.read(None, None)?;
            reads.push(start.elapsed());
            assert_eq!(table.rows, again.rows);
        }
        if wanted("write") {
            let start = Clock::start(threads);
            written = fst::write(&table, std::fs::File::create(&out)?, &write)?;
            writes.push(start.elapsed());
        }
        if wanted("part") {
            let start = Clock::start(threads);
            touched = part(&file, &read, &table)?;
            parts.push(start.elapsed());
        }
    }
    if wanted("write") {
        assert!(table == fst::open(std::fs::File::open(&out)?)?.read(None, None)?);
        std::fs::remove_file(&out)?;
    }
    println!(
        "{{\"read_s\":{reads:?},\"write_s\":{writes:?},\"part_s\":{parts:?},\"file_bytes\":{},\
         \"written_bytes\":{written},\"touched_bytes\":{touched}}}",
        file.metadata()?.len()
    );
    Ok(())
}

/// Two columns and 1,000 rows of the middle; the bytes that were read for them.
fn part(file: &std::fs::File, read: &ReadOptions, table: &Table) -> tare::Result<u64> {
    let source = Counting {
        file,
        read: AtomicU64::new(0),
    };
    let reader = fst::open_with(&source, read)?;
    let middle = table.rows / 2;
    let columns: Vec<usize> = (0..table.columns.len().min(2)).collect();
    let part = reader.read_at(Some(&columns), Some(middle..table.rows.min(middle + 1000)))?;
    assert_eq!(table.rows.min(middle + 1000) - middle, part.rows);
    Ok(source.read.load(Ordering::Relaxed))
}
