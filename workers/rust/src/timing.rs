//! Samples, and the peak of one call.

use std::fs::File;
use std::hint::black_box;
use std::io::Write;

use serde_json::{Value, json};

use crate::clocks::{COLUMNS, Watch, status_bytes, wall_ns};
use crate::codecs::Codec;
use crate::doc::Doc;
use crate::ops::{OpError, Ops, Reply, decode, encode, only, set, text};

const MOST_CALLS: u64 = 1 << 24;
/// Each call of a batch of `write` has its own file.
const MOST_FILES: u64 = 4096;

/// What a call gives.
enum Made {
    Nothing,
    Bytes(Vec<u8>),
    Value(Doc),
    Wrote(usize),
}

/// One operation on what is prepared.
struct Job<'a> {
    what: &'a str,
    codec: &'static Codec,
    value: Option<&'a Doc>,
    bytes: &'a [u8],
    path: String,
    sync: bool,
}

impl Job<'_> {
    fn file(&self, n: u64) -> String {
        if n == 0 { self.path.clone() } else { format!("{}.{n}", self.path) }
    }

    fn call(&self, n: u64) -> Result<Made, OpError> {
        let failed = |error: std::io::Error| OpError::new("OSError", "io", error.to_string());
        let value = || self.value.ok_or_else(|| OpError::new("usage", "load", "nothing to encode: load first"));
        match self.what {
            "encode" => encode(self.codec, black_box(value()?)).map(Made::Bytes),
            "decode" => decode(self.codec, black_box(self.bytes)).map(Made::Value),
            "copy" => Ok(Made::Bytes(black_box(self.bytes).to_vec())),
            "read" => decode(self.codec, &std::fs::read(&self.path).map_err(failed)?).map(Made::Value),
            "write" => {
                let bytes = encode(self.codec, value()?)?;
                let mut file = File::create(self.file(n)).map_err(failed)?;
                file.write_all(&bytes).map_err(failed)?;
                if self.sync {
                    file.sync_all().map_err(failed)?;
                }
                Ok(Made::Wrote(bytes.len()))
            }
            _ => Ok(Made::Nothing),
        }
    }

    /// So many calls; each result is freed before the next one, and `black_box` keeps the compiler from leaving a call out.
    fn repeat(&self, calls: u64) -> Result<(), OpError> {
        for n in 0..calls {
            drop(black_box(self.call(n)?));
        }
        Ok(())
    }

    fn clean(&self, calls: u64) {
        if self.what == "write" {
            for n in 1..calls {
                // What is not there needs no removing.
                let _ = std::fs::remove_file(self.file(n));
            }
        }
    }

    fn calibrate(&self, target_ns: i64, most: u64) -> Result<u64, OpError> {
        let mut calls = 1;
        loop {
            let began = wall_ns();
            self.repeat(calls)?;
            let took = (wall_ns() - began).max(1);
            self.clean(calls);
            if took >= target_ns || calls >= most {
                return Ok(calls);
            }
            let wanted = calls.saturating_mul(u64::try_from(target_ns / took + 1).unwrap_or(2).min(16));
            calls = wanted.max(calls + 1).min(most);
        }
    }
}

impl Ops {
    /// Samples of one operation.
    pub fn run(&mut self, request: &Value) -> Reply {
        let what = text(request, "what")?.to_owned();
        if matches!(what.as_str(), "send" | "receive") {
            return self.stream(&what, request);
        }
        if !matches!(what.as_str(), "encode" | "decode" | "copy" | "null" | "write" | "read") {
            return Err(OpError::new("Unsupported", "protocol", format!("the Rust worker does not run {what:.40}")));
        }
        only(request, "materialise", &["full"])?;
        only(request, "medium", &["memory", "file"])?;
        if request.get("cache").and_then(Value::as_str) == Some("cold") {
            let why = "cold not possible in the Rust worker: it does not prove that a file's pages are gone";
            return Err(OpError::new("Unsupported", "io", why));
        }
        let number = |name: &str, usual: u64| request.get(name).and_then(Value::as_u64).unwrap_or(usual);
        let target_ns = i64::try_from(number("target_ns", 2_000_000)).unwrap_or(i64::MAX);
        let until = request.get("budget_ms").and_then(Value::as_i64).map(|ms| wall_ns() + ms.saturating_mul(1_000_000));
        let (samples, mut batch) = (number("samples", 1).max(1), number("batch", 0));
        let id = if what == "null" { String::new() } else { self.named(request)? };
        let key = format!("{what} {}", request.get("path").and_then(Value::as_str).unwrap_or_default());
        if batch == 0 {
            batch = self.ready.get(&id).and_then(|ready| ready.batches.get(&key).copied()).unwrap_or(0);
        }
        let (reply, calls) = {
            let job = self.job(&what, &id, request)?;
            let most = if what == "write" { MOST_FILES } else { MOST_CALLS };
            batch = if batch == 0 { job.calibrate(target_ns, most)? } else { batch.min(most) };
            let (rows, proof) = take(&job, batch, samples, until)?;
            let mut reply = json!({"cols": COLUMNS, "samples": rows, "batch": batch});
            if let Some((name, count)) = proof {
                set(&mut reply, name, count);
            }
            (reply, batch)
        };
        if let Some(ready) = self.ready.get_mut(&id) {
            ready.batches.insert(key, calls);
            if matches!(what.as_str(), "decode" | "read") {
                // The value was freed as part of its call: `verify` makes the same call once more.
                ready.last_path = (what == "read").then(|| request.get("path").and_then(Value::as_str).unwrap_or_default().to_owned());
            }
        }
        Ok(reply)
    }

    fn job<'a>(&'a mut self, what: &'a str, id: &str, request: &Value) -> Result<Job<'a>, OpError> {
        static NOTHING: Codec = Codec { id: "", library: "", encode: |_| Ok(Vec::new()), decode: |_| Ok(Doc::Null) };
        if what == "null" {
            return Ok(Job { what, codec: &NOTHING, value: None, bytes: &[], path: String::new(), sync: false });
        }
        if self.value.is_none() && matches!(what, "encode" | "write") {
            return Err(OpError::new("usage", "load", "nothing to encode: load first"));
        }
        let path = if matches!(what, "read" | "write") { text(request, "path")?.to_owned() } else { String::new() };
        let sync = request.get("sync").and_then(Value::as_str) == Some("fsync");
        if what == "encode" || what == "write" {
            let ready = self.ready.get_mut(id).ok_or_else(|| OpError::new("usage", "protocol", "not prepared"))?;
            let bytes = ready.encoded.as_deref().unwrap_or_default();
            return Ok(Job { what, codec: ready.codec, value: self.value.as_ref(), bytes, path, sync });
        }
        let (ready, value) = self.with_bytes(id)?;
        ready.last = None;
        let bytes = ready.encoded.as_deref().unwrap_or_default();
        if what == "read" && !std::path::Path::new(&path).exists() {
            std::fs::write(&path, bytes).map_err(|error| OpError::new("OSError", "io", error.to_string()))?;
        }
        Ok(Job { what, codec: ready.codec, value, bytes, path, sync })
    }

    /// The peak of one call above what was resident before it.
    pub fn mem(&mut self, request: &Value) -> Reply {
        let what = text(request, "what")?.to_owned();
        let id = self.named(request)?;
        let lacking = || OpError::new("Unsupported", "load", "peaks need /proc/self/clear_refs");
        let job = self.job(&what, &id, request)?;
        std::fs::write("/proc/self/clear_refs", "5").map_err(|_| lacking())?;
        let before = status_bytes("VmRSS").ok_or_else(lacking)?;
        let held = job.call(0)?;
        let top = status_bytes("VmHWM").ok_or_else(lacking)?;
        drop(black_box(held));
        Ok(json!({"before_bytes": before, "peak_bytes": top.saturating_sub(before), "method": "hwm"}))
    }
}

/// The field of the reply that proves that something came of a call.
type Proof = Option<(&'static str, usize)>;

fn proof(made: &Made) -> Proof {
    match made {
        Made::Bytes(bytes) => Some(("bytes", bytes.len())),
        Made::Wrote(bytes) => Some(("bytes", *bytes)),
        Made::Value(back) => Some(("items", back.items())),
        Made::Nothing => None,
    }
}

fn take(job: &Job<'_>, batch: u64, samples: u64, until: Option<i64>) -> Result<(Vec<Vec<i64>>, Proof), OpError> {
    let mut rows = Vec::new();
    loop {
        let watch = Watch::start();
        job.repeat(batch - 1)?;
        let last = black_box(job.call(batch - 1)?);
        let mut row = watch.stop();
        // The last result is looked at outside of the clocks, and freed between them again.
        let found = proof(&last);
        let watch = Watch::start();
        drop(black_box(last));
        let freed = watch.stop();
        for (cell, more) in row.iter_mut().zip(&freed) {
            *cell += more;
        }
        row.push(freed.first().copied().unwrap_or_default());
        job.clean(batch);
        rows.push(row);
        if rows.len() as u64 >= samples || until.is_some_and(|until| wall_ns() > until) {
            return Ok((rows, found));
        }
    }
}
