//! Times of R's formats: `bench_r TASK FILE [--out FILE] [--threads N] [--rounds N] [--keep]`, one JSON line.
//!
//! | Task | What is timed |
//! |---|---|
//! | `read` | the file as R's values, any format |
//! | `arrow` | the same, and the data frame as Arrow |
//! | `write-FORMAT` | the values of the file into `--out`: `rds`, `rds-none`, `qs2`, `qdata` |
//! | `frames` | bare zstd of the blocks of a qs2 or qdata file |
//! | `dput` | R code of the values, parsed |
//! | `memory` | one read; the most memory beside the result |
//!
//! `cpu_s` is the processor's time of all threads for one round, `wall_s` the clock's, each round.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a program for measuring"
)]

use std::fs::File;
use std::time::Instant;
use tare::compress::Compressor;
use tare::robject::{self, arrow, dput, Format, RObject, ReadOptions, WriteOptions};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What one run of the program does.
struct Run {
    path: String,
    out: Option<String>,
    read: ReadOptions,
    threads: Option<usize>,
    rounds: usize,
    keep: bool,
}

/// With `--keep` the C library keeps what a round frees for the next, as a process that has read
/// before does, and as the peers keep their buffers and pools: glibc keeps up to twice the largest
/// block that it saw freed, 64 MiB at most. Without it each round pays the kernel for the pages of
/// its result, as the first read of a process does.
fn keep_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(31 << 20)));
}

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let after = |name: &str| -> Option<&String> {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)
    };
    let [task, path, ..] = words.as_slice() else {
        return Err(
            "usage: bench_r TASK FILE [--out FILE] [--threads N] [--rounds N] [--keep]".into(),
        );
    };
    let threads = after("--threads").and_then(|text| text.parse().ok());
    let run = Run {
        path: path.clone(),
        out: after("--out").cloned(),
        read: ReadOptions {
            threads,
            ..ReadOptions::default()
        },
        threads,
        keep: words.iter().any(|word| word == "--keep"),
        rounds: after("--rounds")
            .and_then(|text| text.parse().ok())
            .unwrap_or(5),
    };
    let line = match task.as_str() {
        "read" => run.timed(|| run.object().map(drop))?,
        "arrow" => run.timed(|| {
            let object = run.object()?;
            arrow::to_arrow(&object, &arrow::ToArrow::default())?;
            Ok(())
        })?,
        "frames" => {
            let bytes = std::fs::read(&run.path)?;
            run.timed(|| frames(&bytes))?
        }
        "dput" => {
            let text = std::fs::read_to_string(&run.path)?;
            run.timed(|| {
                dput::parse(&text, &run.read)?;
                Ok(())
            })?
        }
        "memory" => run.memory()?,
        other => {
            let options = options(other, run.threads)?;
            let object = run.object()?;
            let out = run.out.as_ref().ok_or("write needs --out FILE")?;
            run.timed(|| {
                robject::write_file(&object, File::create(out)?, &options)?;
                Ok(())
            })?
        }
    };
    println!("{line}");
    Ok(())
}

/// How a task writes.
fn options(task: &str, threads: Option<usize>) -> Outcome<WriteOptions> {
    let (format, compressor) = match task {
        "write-rds" => (Format::Rds, Some("gzip:6")),
        "write-rds-none" => (Format::Rds, Some("none")),
        "write-qs2" => (Format::Qs2, None),
        "write-qdata" => (Format::Qdata, None),
        other => return Err(format!("no task {other:?}").into()),
    };
    Ok(WriteOptions {
        format,
        compressor: compressor.map(Compressor::parse).transpose()?,
        threads,
        ..WriteOptions::default()
    })
}

/// Every zstd frame of a qs2 or qdata file into one buffer.
fn frames(bytes: &[u8]) -> Outcome<()> {
    let mut context = zstd_safe::DCtx::create();
    let mut plain = vec![0_u8; 1 << 20];
    let mut at = 24;
    while let Some(word) = bytes.get(at..at + 4) {
        let size = u32::from_le_bytes([word[0], word[1], word[2], word[3]]) & 0x7FFF_FFFF;
        let end = at + 4 + usize::try_from(size)?;
        let frame = bytes.get(at + 4..end).ok_or("a block that is cut")?;
        let made = context.decompress(plain.as_mut_slice(), frame);
        made.map_err(zstd_safe::get_error_name)?;
        at = end;
    }
    Ok(())
}

/// The processor's time of all threads of this process, those that ended included.
#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other systems have no such clock")]
fn processor() -> Option<f64> {
    use rustix::time::{clock_gettime, ClockId};

    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Some(spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9)
}

#[cfg(not(unix))]
fn processor() -> Option<f64> {
    None
}

/// A line of `/proc/self/status`, in bytes.
fn status(name: &str) -> Outcome<u64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find(|line| line.starts_with(name));
    let size = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(size.ok_or("no such line")?.parse::<u64>()? * 1024)
}

impl Run {
    fn object(&self) -> Outcome<RObject> {
        Ok(robject::read(File::open(&self.path)?, &self.read)?)
    }

    /// Rounds of some work.
    fn timed(&self, work: impl Fn() -> Outcome<()>) -> Outcome<String> {
        if self.keep {
            keep_memory();
        }
        work()?;
        let mut walls = Vec::new();
        let before = processor();
        for _ in 0..self.rounds {
            let start = Instant::now();
            work()?;
            walls.push(start.elapsed().as_secs_f64());
        }
        let spent = processor()
            .zip(before)
            .map(|(after, before)| after - before);
        let cpu = spent.map_or("null".to_string(), |spent| {
            (spent / self.rounds as f64).to_string()
        });
        let bytes = match &self.out {
            Some(out) => std::fs::metadata(out)?.len(),
            None => std::fs::metadata(&self.path)?.len(),
        };
        Ok(format!(
            "{{\"cpu_s\":{cpu},\"wall_s\":{walls:?},\"bytes\":{bytes}}}"
        ))
    }

    /// What a read took beside its result, which is what comes free when it is dropped; what the
    /// reader left lying about is beside it.
    fn memory(&self) -> Outcome<String> {
        let before = status("VmRSS")?;
        let object = self.object()?;
        let (most, after) = (status("VmHWM")?, status("VmRSS")?);
        let elements = object.arena().length(object.id());
        drop(object);
        let result = after.saturating_sub(status("VmRSS")?);
        let beside = most.saturating_sub(before + result);
        Ok(format!(
            "{{\"before_bytes\":{before},\"most_bytes\":{most},\"result_bytes\":{result},\
             \"beside_bytes\":{beside},\"elements\":{elements}}}"
        ))
    }
}
