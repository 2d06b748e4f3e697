//! Times and memory of collections of `tare::blit`, beside lines of JSON that are found by an
//! index and parsed.
//!
//! ```text
//! bench_blits [DOCUMENTS] [--rounds N] [--compressor ID] [--folder PATH]
//! ```
//!
//! A million documents of about 90 bytes unless said, generated, so that every run has the same
//! ones. One line of JSON a task:
//!
//! ```text
//! encode          all documents from JSON text into a file, committed; `peak_bytes` is the most
//!                 memory that the process had until then
//! open            the collection, with its docs
//! get             one random document of all, and the text of one field
//! path-near       the same as `get-near`, by a compiled path
//! view-near       the same as `get-near`, by a view of the document and a pointer
//! get-near        the same among 20,000 documents, which the processor's caches hold
//! scan            the same field of every document, in order
//! peer-get        one random line of the same JSON text, found by an index in memory, parsed by
//!                 serde_json into a Value, and the field; `peer-get-near` and
//!                 `peer-get-near-tape`, by the tape of simd-json, likewise
//! ```
//!
//! Times are those on a processor, where the system tells them. `seconds` are of whole tasks, `ns` of one document; a number a round.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::print_stdout,
    reason = "a program that prints what it measured"
)]

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;
use tare::blit::collection::{Collection, Docs, Field, ReadOptions, WriteOptions};
use tare::blit::Value;
use tare::compress::Compressor;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Documents that the processor's caches hold.
const NEAR: u64 = 20_000;
/// Random documents of one round.
const PICKS: u64 = 200_000;
/// The lines of JSON are held in memory: of so many documents at most.
const LINES: u64 = 1_000_000;

struct Bench {
    documents: u64,
    rounds: usize,
    path: PathBuf,
    options: WriteOptions,
}

fn main() -> Outcome {
    let mut bench = Bench {
        documents: 1_000_000,
        rounds: 5,
        path: std::env::temp_dir(),
        options: WriteOptions::default(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(word) = arguments.next() {
        let mut next = || arguments.next().ok_or("an option without its value");
        match word.as_str() {
            "--rounds" => bench.rounds = next()?.parse()?,
            "--compressor" => bench.options.compressor = Some(Compressor::parse(&next()?)?),
            "--folder" => bench.path = next()?.into(),
            _ => bench.documents = word.parse()?,
        }
    }
    bench
        .path
        .push(format!("bench-{}.blits", std::process::id()));
    let done = bench.run();
    std::fs::remove_file(&bench.path)?;
    done
}

impl Bench {
    fn run(&self) -> Outcome {
        self.encode()?;
        let open = || Collection::open(&self.path, &ReadOptions::default());
        let seconds = self.each_round(|| {
            let collection = open()?;
            black_box(collection.docs()?.len());
            Ok(())
        })?;
        print("open", json!({ "seconds": seconds }));
        let collection = open()?;
        let docs = collection.docs()?;
        let near = NEAR.min(self.documents);
        let name = tare::blit::Path::parse("/name")?.compile(&docs.get(0)?.view())?;
        let names = docs.field(&name);
        for (task, most) in [("get", self.documents), ("get-near", near)] {
            let ns = self.picks(most, |i| field(&names, i))?;
            print(task, json!({ "ns": ns }));
        }
        let ns = self.picks(near, |i| field_by_path(&docs, i, &name))?;
        print("path-near", json!({ "ns": ns }));
        let ns = self.picks(near, |i| field_of_view(&docs, i))?;
        print("view-near", json!({ "ns": ns }));
        let seconds = self.each_round(|| {
            for i in 0..self.documents {
                field(&names, i)?;
            }
            Ok(())
        })?;
        let each: Vec<f64> = seconds
            .iter()
            .map(|s| s * 1e9 / self.documents as f64)
            .collect();
        print("scan", json!({ "seconds": seconds, "ns": each }));
        drop(names);
        drop(docs);
        drop(collection);
        self.lines()
    }

    fn encode(&self) -> Outcome {
        let mut text = String::new();
        let mut bytes = 0;
        let before = Clock::now();
        let mut writer = Collection::create(&self.path, &self.options)?;
        for i in 0..self.documents {
            document(i, &mut text);
            bytes += text.len() as u64;
            writer.push_json(text.as_bytes())?;
        }
        writer.commit()?;
        drop(writer);
        let seconds = before.seconds();
        let peak = peak_bytes();
        let stored = self.path.metadata()?.len();
        let report = json!({
            "documents": self.documents,
            "seconds": [seconds],
            "peak_bytes": peak,
            "json_bytes": bytes,
            "blits_bytes": stored,
            "percent": stored as f64 * 100.0 / bytes as f64,
        });
        print("encode", report);
        Ok(())
    }

    /// Lines of JSON, and where they begin.
    fn lines(&self) -> Outcome {
        let documents = LINES.min(self.documents);
        let (mut lines, mut ends, mut text) = (Vec::new(), vec![0], String::new());
        for i in 0..documents {
            document(i, &mut text);
            lines.extend_from_slice(text.as_bytes());
            ends.push(lines.len());
        }
        let line = |i: u64| {
            let ends = ends.get(i as usize..i as usize + 2).ok_or("no such line")?;
            lines.get(ends[0]..ends[1]).ok_or("no such line")
        };
        let parsed = |i| {
            let value: serde_json::Value = serde_json::from_slice(line(i)?)?;
            black_box(
                value
                    .get("name")
                    .and_then(|name| name.as_str())
                    .map(str::len),
            );
            Ok(())
        };
        let near = NEAR.min(documents);
        for (task, most) in [("peer-get", documents), ("peer-get-near", near)] {
            print(
                task,
                json!({ "documents": most, "ns": self.picks(most, parsed)? }),
            );
        }
        let mut buffer = Vec::new();
        let tape = |i| {
            buffer.clear();
            buffer.extend_from_slice(line(i)?);
            let tape = simd_json::to_tape(&mut buffer)?;
            black_box(tape.0.len());
            Ok(())
        };
        print(
            "peer-get-near-tape",
            json!({ "ns": self.picks(near, tape)? }),
        );
        Ok(())
    }

    fn each_round(&self, mut work: impl FnMut() -> Outcome) -> Outcome<Vec<f64>> {
        let mut seconds = Vec::new();
        for _ in 0..self.rounds {
            let before = Clock::now();
            work()?;
            seconds.push(before.seconds());
        }
        Ok(seconds)
    }

    /// Nanoseconds of one of random documents, the first `most`; a number a round.
    fn picks(&self, most: u64, mut work: impl FnMut(u64) -> Outcome) -> Outcome<Vec<f64>> {
        let mut state = 1_u64;
        let seconds = self.each_round(|| {
            for _ in 0..PICKS {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let i = ((u128::from(state) * u128::from(most)) >> 64) as u64;
                work(i)?;
            }
            Ok(())
        })?;
        Ok(seconds.iter().map(|s| s * 1e9 / PICKS as f64).collect())
    }
}

/// The text of one field of a document.
#[inline]
fn field(names: &Field<'_>, i: u64) -> Outcome {
    let length = names.with(i, |value| match value {
        Some(Value::Str(name)) => Some(name.len()),
        _ => None,
    })?;
    black_box(length.ok_or("no name")?);
    Ok(())
}

/// The same by a path.
#[inline]
fn field_by_path(docs: &Docs<'_>, i: u64, name: &tare::blit::Path) -> Outcome {
    let length = docs.with(i, name, |value| match value {
        Some(Value::Str(name)) => Some(name.len()),
        _ => None,
    })?;
    black_box(length.ok_or("no name")?);
    Ok(())
}

/// The same by a view of the whole document.
#[inline]
fn field_of_view(docs: &Docs<'_>, i: u64) -> Outcome {
    let document = docs.get(i)?;
    match document.view().pointer("/name")? {
        Some(Value::Str(name)) => black_box(name.len()),
        _ => return Err("no name".into()),
    };
    Ok(())
}

/// Document `i`, about 90 bytes.
fn document(i: u64, text: &mut String) {
    const NAMES: [&str; 8] = [
        "Ada", "Blaise", "Carl", "Dorothy", "Emmy", "Fei", "Grace", "Hedy",
    ];
    let x = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let first = NAMES[(x >> 61) as usize];
    text.clear();
    let _ = write!(
        text,
        r#"{{"id":{i},"name":"{first} {:05x}","n":{},"score":{}.{},"active":{},"city":"city {}"}}"#,
        x >> 20 & 0xF_FFFF,
        x >> 40 & 0xFFFF,
        x & 0x3F,
        x >> 8 & 0x3F,
        x & 1 == 0,
        x >> 50 & 0xFF,
    );
}

/// Time of this thread on a processor, by Linux: others at work do not count. Elsewhere the time
/// that passes.
struct Clock {
    start: Instant,
    on_cpu: Option<u64>,
}

impl Clock {
    fn now() -> Self {
        let start = Instant::now();
        Self {
            start,
            on_cpu: Self::on_cpu(),
        }
    }

    fn on_cpu() -> Option<u64> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok()
    }

    fn seconds(&self) -> f64 {
        match (self.on_cpu, Self::on_cpu()) {
            (Some(before), Some(now)) => now.saturating_sub(before) as f64 / 1e9,
            _ => self.start.elapsed().as_secs_f64(),
        }
    }
}

/// The most memory that this process had, by Linux; 0 elsewhere.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string(Path::new("/proc/self/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

fn print(task: &str, mut report: serde_json::Value) {
    report["task"] = task.into();
    println!("{report}");
}
