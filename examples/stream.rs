//! Standard input to standard output through a `Writer` or a `Reader`; what `make bench
//! NAME=compress` times beside the stock tools.
//!
//! ```text
//! stream write ID THREADS             compress, as `zstd:3,chunk=4MiB` says
//! stream read THREADS                 decompress
//! stream buffer ID THREADS FILE       compress a file that is in memory, to standard output
//! stream calls ID COUNT FILE          seconds of one call on the file's bytes, of COUNT: compress
//!                                     and decompress, minima
//! stream pread FILE COUNT SEED        seconds of a random 4 KiB read, and of decoding one chunk
//! ```

#![allow(
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "a program that prints what it measured"
)]

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use tare::compress::{
    compress, decompress, Compressor, ReadAt, ReadOptions, Reader, SeekableReader, WriteOptions,
    Writer,
};

type Outcome = Result<(), Box<dyn Error>>;

/// Bytes taken at once from standard input.
const STEP_BYTES: usize = 128 << 10;
/// Bytes of a random read.
const PREAD_BYTES: usize = 4 << 10;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["write", id, threads] => write(id, threads.parse()?),
        ["read", threads] => read(threads.parse()?),
        ["buffer", id, threads, path] => buffer(id, threads.parse()?, path),
        ["calls", id, count, path] => calls(id, count.parse()?, path),
        ["pread", path, count, seed] => pread(path, count.parse()?, seed.parse()?),
        _ => Err("see the first lines of examples/stream.rs".into()),
    }
}

/// Standard input without a buffer of its own.
fn input() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Standard output without a buffer of its own, which would look for ends of lines.
fn output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

fn writer(id: &str, threads: usize) -> Result<Writer<File>, Box<dyn Error>> {
    let options = WriteOptions {
        threads: Some(threads),
        ..WriteOptions::default()
    };
    Ok(Writer::new(output()?, Compressor::parse(id)?, options)?)
}

fn write(id: &str, threads: usize) -> Outcome {
    let mut writer = writer(id, threads)?;
    let mut input = input()?;
    let mut place = vec![0; STEP_BYTES];
    loop {
        let size = input.read(&mut place)?;
        if size == 0 {
            writer.finish()?;
            return Ok(());
        }
        writer.push(&place[..size])?;
    }
}

fn read(threads: usize) -> Outcome {
    let options = ReadOptions {
        threads: Some(threads),
        ..ReadOptions::default()
    };
    let mut reader = Reader::new(input()?, options)?;
    let mut output = output()?;
    loop {
        let plain = reader.fill()?;
        let size = plain.len();
        if size == 0 {
            return Ok(());
        }
        output.write_all(plain)?;
        io::BufRead::consume(&mut reader, size);
    }
}

fn buffer(id: &str, threads: usize, path: &str) -> Outcome {
    let plain = fs::read(path)?;
    let mut writer = writer(id, threads)?;
    writer.push(&plain)?;
    writer.finish()?;
    Ok(())
}

fn calls(id: &str, count: usize, path: &str) -> Outcome {
    let plain = fs::read(path)?;
    let compressor = Compressor::parse(id)?;
    let (written, readable) = (WriteOptions::default(), ReadOptions::default());
    let stored = compress(&plain, &compressor, &written)?;
    let mut best = [Duration::MAX; 2];
    for _ in 0..count {
        let start = Instant::now();
        let _ = compress(&plain, &compressor, &written)?;
        best[0] = best[0].min(start.elapsed());
        let start = Instant::now();
        let _ = decompress(&stored, &readable)?;
        best[1] = best[1].min(start.elapsed());
    }
    println!("{:e} {:e}", best[0].as_secs_f64(), best[1].as_secs_f64());
    Ok(())
}

fn pread(path: &str, count: usize, seed: u64) -> Outcome {
    let options = || ReadOptions {
        threads: Some(1),
        ..ReadOptions::default()
    };
    let file = File::open(path)?;
    let reader = SeekableReader::new(file.try_clone()?, options())?;
    let mut state = seed | 1;
    let mut below = |limit: u64| {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    };
    let (mut reads, mut chunks) = (Vec::new(), Vec::new());
    let mut place = [0; PREAD_BYTES];
    for _ in 0..count {
        let at = below(reader.len() - PREAD_BYTES as u64);
        let start = Instant::now();
        reader.read_at(at, &mut place)?;
        reads.push(start.elapsed());
        // The same work without finding anything: a chunk's bytes from the file, decoded.
        let chunk = reader.chunks()[below(reader.chunks().len() as u64) as usize];
        let start = Instant::now();
        let mut stored = vec![0; chunk.stored_size as usize];
        file.read_at(chunk.stored_offset, &mut stored)?;
        let plain = decompress(&stored, &options())?;
        chunks.push(start.elapsed());
        assert_eq!(chunk.plain_size, plain.len() as u64);
    }
    println!("{:e} {:e}", median(reads), median(chunks));
    Ok(())
}

/// Seconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}
