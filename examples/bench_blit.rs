//! Times of `tare::blit` beside `serde_json` and simd-json, in turn; what the benchmark of `blit`
//! reads.
//!
//! ```text
//! bench_blit TASK[,TASK...] DOCUMENT... [--rounds N] [--minified]
//! ```
//!
//! A document is a file, or the name of one in `data/json` or `data/docs` of `TARE_SHARED`. Tasks:
//!
//! ```text
//! encode            from_json; peer: serde_json into a Value, floats exact
//! encode-tape       from_json; peer: the tape of simd-json, without the copy that it needs
//! to-json           to_json in insertion order; peer: serde_json::to_vec of the parsed Value
//! to-json-lexical   the same by name; peer: serde_json::to_vec of the parsed Value
//! to-json-orders    the same by name; peer: to_json in insertion order
//! validate          peer: serde_json into a Value
//! open              peer: none
//! lookup            four steps of a pointer; peer: none
//! compiled          the same steps by a path that was compiled: its names have their ids; peer: none
//! prepared          the value at the end of a path that was gone once; peer: none
//! walk              every value through views; peer: none
//! all               each of these
//! ```
//!
//! One line of JSON a task and document: `ours_s` and `peer_s` are seconds a call, of rounds that
//! took turns; `text_bytes` and `blit_bytes` are the sizes.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::print_stdout,
    reason = "a program that prints what it measured"
)]

use std::error::Error;
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{json, Value as Json};
use tare::blit::{from_json, JsonOptions, KeyOrder, Options, Value, View};
use tare::compress::{ReadOptions, Reader};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const TASKS: [&str; 11] = [
    "encode",
    "encode-tape",
    "to-json",
    "to-json-lexical",
    "to-json-orders",
    "validate",
    "open",
    "lookup",
    "compiled",
    "prepared",
    "walk",
];

/// Pointers of four steps; of other documents the first that goes as deep as it can.
const POINTERS: [(&str, &str); 5] = [
    ("twitter", "/statuses/50/user/screen_name"),
    ("citm_catalog", "/performances/100/prices/0"),
    ("canada", "/features/0/geometry/type"),
    ("github_events", "/10/payload/commits/0"),
    ("flights-20k", "/10000/distance"),
];

/// Calls of one round take so long at least.
const ROUND: Duration = Duration::from_millis(4);

fn main() -> Outcome {
    let mut rounds = 15;
    let mut minified = false;
    let mut words = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(word) = arguments.next() {
        match word.as_str() {
            "--rounds" => rounds = arguments.next().ok_or("how many rounds?")?.parse()?,
            "--minified" => minified = true,
            _ => words.push(word),
        }
    }
    let [tasks, documents @ ..] = &words[..] else {
        return Err(
            "usage: bench_blit TASK[,TASK...] DOCUMENT... [--rounds N] [--minified]".into(),
        );
    };
    for document in documents {
        let subject = Subject::read(document, minified)?;
        for task in tasks.split(',') {
            let named = |known: &&str| task == "all" || task == *known;
            let mut known = TASKS.into_iter().filter(named).peekable();
            if known.peek().is_none() {
                return Err(format!("no task {task}; there are {}", TASKS.join(", ")).into());
            }
            for task in known {
                let (ours, peer) = subject.times(task, rounds)?;
                println!(
                    "{}",
                    json!({
                        "task": task,
                        "document": subject.name,
                        "ours_s": ours,
                        "peer_s": peer,
                        "text_bytes": subject.text.len(),
                        "blit_bytes": subject.blit.len(),
                        "pointer": matches!(task, "lookup" | "compiled" | "prepared").then_some(&subject.pointer),
                    })
                );
            }
        }
    }
    Ok(())
}

/// A document in all the forms that are timed.
struct Subject {
    name: String,
    text: Vec<u8>,
    json: Json,
    blit: Vec<u8>,
    pointer: String,
}

impl Subject {
    fn read(document: &str, minified: bool) -> Outcome<Self> {
        let path = found(document)?;
        let mut text = Vec::new();
        Reader::new(std::fs::File::open(&path)?, ReadOptions::default())?.read_to_end(&mut text)?;
        let json: Json = serde_json::from_slice(&text)?;
        if minified {
            text = serde_json::to_vec(&json)?;
        }
        let blit = from_json(&text, &Options::default())?;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let name = file.split(".json").next().unwrap_or_default().to_string();
        let known = POINTERS.iter().find(|(known, _)| *known == name);
        let pointer = known.map_or_else(|| deepest(&json), |known| known.1.to_string());
        Ok(Self {
            name,
            text,
            json,
            blit,
            pointer,
        })
    }

    /// Seconds of each round, ours and the peer's.
    fn times(&self, task: &str, rounds: usize) -> Outcome<(Vec<f64>, Vec<f64>)> {
        let view = View::open(&self.blit)?;
        let lexical = JsonOptions {
            order: KeyOrder::Lexical,
            ..JsonOptions::default()
        };
        let insertion = JsonOptions::default();
        let encode = || from_json(&self.text, &Options::default()).map(|blit| blit.len());
        let parse = || serde_json::from_slice::<Json>(&self.text).is_ok();
        Ok(match task {
            "encode" => in_turn(rounds, encode, parse),
            "encode-tape" => in_turn_of_copies(rounds, encode, &self.text),
            "to-json" => in_turn(
                rounds,
                || view.to_json(&insertion),
                || serde_json::to_vec(&self.json),
            ),
            "to-json-lexical" => in_turn(
                rounds,
                || view.to_json(&lexical),
                || serde_json::to_vec(&self.json),
            ),
            "to-json-orders" => in_turn(
                rounds,
                || view.to_json(&lexical),
                || view.to_json(&insertion),
            ),
            "validate" => in_turn(rounds, || view.validate(), parse),
            "open" => alone(rounds, || View::open(black_box(&self.blit)).is_ok()),
            "lookup" => alone(rounds, || {
                view.pointer(black_box(&self.pointer))
                    .map(|found| found.is_some())
            }),
            "compiled" => {
                let path = tare::blit::Path::parse(&self.pointer)?.compile(&view)?;
                alone(rounds, || {
                    view.get(black_box(&path)).map(|found| found.is_some())
                })
            }
            "prepared" => {
                let path = tare::blit::Path::parse(&self.pointer)?;
                let prepared = view.prepare(&path)?;
                alone(rounds, || {
                    black_box(&prepared).get().map(|found| found.is_some())
                })
            }
            "walk" => alone(rounds, || view.root().map(|root| walk(&root))),
            _ => (Vec::new(), Vec::new()),
        })
    }
}

/// A file of this path, or of this name in the shared data.
fn found(document: &str) -> Outcome<PathBuf> {
    let path = Path::new(document);
    if path.is_file() {
        return Ok(path.to_path_buf());
    }
    let shared = PathBuf::from(std::env::var("TARE_SHARED")?);
    for folder in ["data/json", "data/docs"] {
        for ending in [".json.xz", ".json", ".json.zst"] {
            let path = shared.join(folder).join(format!("{document}{ending}"));
            if path.is_file() {
                return Ok(path);
            }
        }
    }
    Err(format!("no document {document}").into())
}

/// A pointer that goes into the middle of each container, at most four steps.
fn deepest(json: &Json) -> String {
    let (mut pointer, mut at) = (String::new(), json);
    for _ in 0..4 {
        let (step, next) = match at {
            Json::Array(items) if !items.is_empty() => {
                let i = items.len() / 2;
                (i.to_string(), &items[i])
            }
            Json::Object(entries) if !entries.is_empty() => {
                let Some((name, next)) = entries.iter().nth(entries.len() / 2) else {
                    break;
                };
                (name.replace('~', "~0").replace('/', "~1"), next)
            }
            _ => break,
        };
        pointer = format!("{pointer}/{step}");
        at = next;
    }
    pointer
}

/// How many values there are, each of them looked at.
fn walk(value: &Value<'_>) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().flatten().map(|item| walk(&item)).sum(),
        Value::Object(entries) => entries.iter().flatten().map(|(_, item)| walk(&item)).sum(),
        _ => 0,
    }
}

/// Seconds of one call, of as many as make a round.
fn round<T>(calls: u32, mut call: impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(call());
    }
    start.elapsed().as_secs_f64() / f64::from(calls)
}

/// Calls that take a round together.
fn calls<T>(mut call: impl FnMut() -> T) -> u32 {
    black_box(call());
    let mut calls = 1;
    loop {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(call());
        }
        let took = start.elapsed();
        if took * 4 >= ROUND {
            let each = took.as_secs_f64() / f64::from(calls);
            return (ROUND.as_secs_f64() / each).ceil().max(1.0) as u32;
        }
        calls *= 4;
    }
}

fn in_turn<A, B>(
    rounds: usize,
    mut ours: impl FnMut() -> A,
    mut peer: impl FnMut() -> B,
) -> (Vec<f64>, Vec<f64>) {
    let (our_calls, peer_calls) = (calls(&mut ours), calls(&mut peer));
    let both = |_| (round(our_calls, &mut ours), round(peer_calls, &mut peer));
    (0..rounds).map(both).unzip()
}

fn alone<A>(rounds: usize, mut ours: impl FnMut() -> A) -> (Vec<f64>, Vec<f64>) {
    let our_calls = calls(&mut ours);
    let times = (0..rounds).map(|_| round(our_calls, &mut ours));
    (times.collect(), Vec::new())
}

/// As `in_turn`, where the peer is simd-json, which writes into the text that it parses.
fn in_turn_of_copies<A>(
    rounds: usize,
    mut ours: impl FnMut() -> A,
    text: &[u8],
) -> (Vec<f64>, Vec<f64>) {
    let mut copy = text.to_vec();
    let mut tape = || {
        copy.copy_from_slice(text);
        let start = Instant::now();
        black_box(simd_json::to_tape(&mut copy).is_ok());
        start.elapsed().as_secs_f64()
    };
    let our_calls = calls(&mut ours);
    let peer_calls = (ROUND.as_secs_f64() / tape()).ceil().max(1.0) as u32;
    let both = |_| {
        let ours = round(our_calls, &mut ours);
        let peer: f64 = (0..peer_calls).map(|_| tape()).sum();
        (ours, peer / f64::from(peer_calls))
    };
    (0..rounds).map(both).unzip()
}
