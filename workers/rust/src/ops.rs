//! What the worker can be asked: one method for each operation.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Instant;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::clocks::{COLUMNS, status_bytes};
use crate::codecs::{CODECS, Codec, find, version_of};
use crate::compare::compare;
use crate::doc::{Doc, Open};
use crate::ends::{End, open};
use crate::tagged::{from_tagged, to_tagged};

const PROBES: &str = include_str!("../../../python/tare/workers/probes-values-1.json");

/// Why a request was not done.
pub struct OpError {
    /// Its type, as the protocol names it.
    pub kind: &'static str,
    /// Where it happened.
    pub phase: &'static str,
    /// In words.
    pub message: String,
}

impl OpError {
    /// An error of a type and a phase.
    pub fn new(kind: &'static str, phase: &'static str, message: impl Into<String>) -> OpError {
        OpError { kind, phase, message: message.into() }
    }
}

/// What an operation gives.
pub type Reply = Result<Value, OpError>;

/// A codec that is ready, with its bytes and what came back last.
pub struct Ready {
    /// The codec.
    pub codec: &'static Codec,
    /// The bytes of what was loaded, or of the file that was given.
    pub encoded: Option<Vec<u8>>,
    /// What came back last.
    pub last: Option<Doc>,
    /// Where the last call read from; nothing is the bytes above.
    pub last_path: Option<String>,
    /// Calls of a sample, by what is called.
    pub batches: HashMap<String, u64>,
    /// How messages end if a request does not say.
    pub delivery: String,
}

/// The state of a worker.
#[derive(Default)]
pub struct Ops {
    /// What was loaded.
    pub value: Option<Doc>,
    /// Codecs that are ready, by id.
    pub ready: HashMap<String, Ready>,
    current: String,
    /// Open ends by handle.
    pub ends: HashMap<u64, End>,
    handles: u64,
}

/// A text of a request.
pub fn text<'a>(request: &'a Value, name: &str) -> Result<&'a str, OpError> {
    let found = request.get(name).and_then(Value::as_str);
    found.ok_or_else(|| OpError::new("usage", "protocol", format!("the request needs '{name}', a text")))
}

/// Refuses a level of a factor that this worker does not measure.
pub fn only(request: &Value, name: &str, levels: &[&str]) -> Result<(), OpError> {
    match request.get(name).and_then(Value::as_str) {
        Some(given) if !levels.contains(&given) => {
            let message = format!("the Rust worker measures {name} {}, not {given:.40}", levels.join(", "));
            Err(OpError::new("Unsupported", "load", message))
        }
        _ => Ok(()),
    }
}

/// Encode, as the protocol tells a failure.
pub fn encode(codec: &Codec, value: &Doc) -> Result<Vec<u8>, OpError> {
    (codec.encode)(value).map_err(|error| OpError::new("refused", "encode", error))
}

/// Decode, as the protocol tells a failure.
pub fn decode(codec: &Codec, bytes: &[u8]) -> Result<Doc, OpError> {
    (codec.decode)(bytes).map_err(|error| OpError::new("DecodeError", "decode", error))
}

fn io(error: &std::io::Error) -> OpError {
    OpError::new("OSError", "io", error.to_string())
}

fn elapsed_ns(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

impl Ops {
    /// Does what a request asks for.
    pub fn call(&mut self, request: &Value) -> Reply {
        match request.get("op").and_then(Value::as_str).unwrap_or_default() {
            "hello" => hello(request),
            "load" => self.load(request),
            "prepare" => self.prepare(request),
            "verify" => self.verify(request),
            "run" => self.run(request),
            "mem" => self.mem(request),
            "probe" => self.probe(request),
            "encode_to" => self.encode_to(request),
            "decode_from" => self.decode_from(request),
            "open" => self.open(request),
            "close" => self.close(request),
            "quit" => Ok(json!({})),
            other => Err(OpError::new("unknown_op", "protocol", format!("no operation {other:.40}"))),
        }
    }

    fn load(&mut self, request: &Value) -> Reply {
        let (path, form) = (text(request, "path")?, text(request, "as")?);
        (self.value, self.current) = (None, String::new());
        self.ready.clear();
        let before = status_bytes("VmRSS");
        let failed = |message: String| OpError::new("LoadError", "load", message);
        if request.get("kind").and_then(Value::as_str) == Some("table") {
            return Err(OpError::new("Unsupported", "load", "the Rust worker holds documents, not tables"));
        }
        let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
        let value = match form {
            "json" => serde_json::from_slice(&bytes).map(|Open(doc)| doc).map_err(|error| failed(error.to_string()))?,
            "values" => {
                let tree = serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
                from_tagged(&tree).map_err(|error| OpError::new("Unsupported", "load", error))?
            }
            other => return Err(OpError::new("Unsupported", "load", format!("loads json and values, not {other:.40}"))),
        };
        drop(bytes);
        let items = value.items();
        self.value = Some(value);
        let grown = status_bytes("VmRSS").zip(before).map_or(0, |(now, was)| now.saturating_sub(was));
        Ok(json!({"kind": "document", "items": items, "rows": null, "resident_bytes": grown}))
    }

    fn prepare(&mut self, request: &Value) -> Reply {
        let id = text(request, "codec")?;
        let codec = find(id).ok_or_else(|| OpError::new("usage", "encode", format!("no codec {id:.80}")))?;
        only(request, "kind", &["", "own", "document"])?;
        only(request, "grain", &["whole"])?;
        only(request, "order", &["insertion"])?;
        let mut reply = json!({"import_ns": 0});
        let mut ready = Ready {
            codec,
            encoded: None,
            last: None,
            last_path: None,
            batches: HashMap::new(),
            delivery: request.get("delivery").and_then(Value::as_str).unwrap_or("whole").to_owned(),
        };
        if let Some(path) = request.get("encoded").and_then(Value::as_str) {
            ready.encoded = Some(std::fs::read(path).map_err(|error| io(&error))?);
        } else if self.value.is_none() {
            return Err(OpError::new("usage", "load", "nothing to encode: load first, or give 'encoded'"));
        }
        let cold = request.get("cold").and_then(Value::as_bool).unwrap_or(true);
        if cold {
            if let (None, Some(value)) = (&ready.encoded, &self.value) {
                let began = Instant::now();
                ready.encoded = Some(encode(codec, value)?);
                set(&mut reply, "cold_encode_ns", elapsed_ns(began));
            }
            let began = Instant::now();
            let back = decode(codec, ready.encoded.as_deref().unwrap_or_default())?;
            set(&mut reply, "cold_decode_ns", elapsed_ns(began));
            set(&mut reply, "items", back.items());
            ready.last = Some(back);
        }
        if let Some(bytes) = &ready.encoded {
            set(&mut reply, "bytes", bytes.len());
            set(&mut reply, "sha256", hex(&Sha256::digest(bytes)));
        }
        self.ready.insert(id.to_owned(), ready);
        id.clone_into(&mut self.current);
        Ok(reply)
    }

    /// The id of the codec that a request means.
    pub fn named(&self, request: &Value) -> Result<String, OpError> {
        let id = request.get("codec").and_then(Value::as_str).unwrap_or(&self.current);
        if self.ready.contains_key(id) {
            return Ok(id.to_owned());
        }
        Err(OpError::new("usage", "protocol", format!("{} is not prepared", if id.is_empty() { "no codec" } else { id })))
    }

    /// The codec of an id, with its bytes made, and the value.
    pub fn with_bytes(&mut self, id: &str) -> Result<(&mut Ready, Option<&Doc>), OpError> {
        let value = self.value.as_ref();
        let ready = self.ready.get_mut(id).ok_or_else(|| OpError::new("usage", "protocol", "not prepared"))?;
        if ready.encoded.is_none() {
            let value = value.ok_or_else(|| OpError::new("usage", "load", "nothing to encode: load first"))?;
            ready.encoded = Some(encode(ready.codec, value)?);
        }
        Ok((ready, value))
    }

    fn verify(&mut self, request: &Value) -> Reply {
        let id = self.named(request)?;
        if self.value.is_none() {
            return Err(OpError::new("usage", "load", "nothing to compare with: load first"));
        }
        let full = request.get("full").and_then(Value::as_bool).unwrap_or(true);
        let limit = if full { request.get("limit").and_then(Value::as_u64).unwrap_or(20) } else { 1 };
        let (ready, value) = self.with_bytes(&id)?;
        let back = match (ready.last.take(), &ready.last_path) {
            (Some(back), _) => back,
            (None, Some(path)) => decode(ready.codec, &std::fs::read(path).map_err(|error| io(&error))?)?,
            (None, None) => decode(ready.codec, ready.encoded.as_deref().unwrap_or_default())?,
        };
        let value = value.ok_or_else(|| OpError::new("usage", "load", "nothing to compare with"))?;
        let (verdict, changes) = compare(value, &back, usize::try_from(limit).unwrap_or(20));
        Ok(json!({"verdict": verdict, "items_in": value.items(), "items_out": back.items(), "changes": changes}))
    }

    fn probe(&mut self, request: &Value) -> Reply {
        let id = request.get("codec").and_then(Value::as_str).unwrap_or(&self.current);
        let codec = find(id).ok_or_else(|| OpError::new("usage", "encode", format!("no codec {id:.80}")))?;
        if request.get("set").and_then(Value::as_str).unwrap_or("values/1") != "values/1" {
            return Err(OpError::new("Unsupported", "load", "the Rust worker has the probes values/1"));
        }
        let chosen = request.get("only").and_then(Value::as_array);
        let probes: Vec<Value> = serde_json::from_str(PROBES).map_err(|error| OpError::new("usage", "load", error.to_string()))?;
        let wanted = |probe: &&Value| chosen.is_none_or(|names| probe.get("probe").is_some_and(|name| names.contains(name)));
        Ok(json!({"cells": probes.iter().filter(wanted).map(|probe| cell(codec, probe)).collect::<Vec<_>>()}))
    }

    fn encode_to(&mut self, request: &Value) -> Reply {
        let id = self.named(request)?;
        let (ready, _) = self.with_bytes(&id)?;
        let bytes = ready.encoded.as_deref().unwrap_or_default();
        std::fs::write(text(request, "path")?, bytes).map_err(|error| io(&error))?;
        Ok(json!({"bytes": bytes.len()}))
    }

    fn decode_from(&mut self, request: &Value) -> Reply {
        let id = self.named(request)?;
        let bytes = std::fs::read(text(request, "path")?).map_err(|error| io(&error))?;
        let ready = self.ready.get_mut(&id).ok_or_else(|| OpError::new("usage", "protocol", "not prepared"))?;
        let back = decode(ready.codec, &bytes)?;
        if let Some(out) = request.get("out").and_then(Value::as_str) {
            std::fs::write(out, to_tagged(&back).to_string()).map_err(|error| io(&error))?;
        }
        let items = back.items();
        ready.last = Some(back);
        Ok(json!({"items": items}))
    }

    fn open(&mut self, request: &Value) -> Reply {
        let failed = |message: String| OpError::new("OSError", "open", message);
        let medium = request.get("medium").filter(|one| one.is_object());
        let medium = medium.ok_or_else(|| failed("open needs medium: {kind, role, address, token}".to_owned()))?;
        let field = |name: &str| medium.get(name).and_then(Value::as_str).unwrap_or_default();
        let timeout_s = medium.get("timeout_s").and_then(Value::as_f64);
        let (end, address) =
            open(field("kind"), field("role"), field("address"), field("token"), timeout_s).map_err(|error| failed(error.to_string()))?;
        self.handles += 1;
        self.ends.insert(self.handles, end);
        Ok(json!({"handle": self.handles, "address": address}))
    }

    fn close(&mut self, request: &Value) -> Reply {
        let handle = request.get("handle").and_then(Value::as_u64).unwrap_or_default();
        match self.ends.remove(&handle) {
            Some(_) => Ok(json!({})),
            None => Err(OpError::new("usage", "io", format!("no open end has the handle {handle}"))),
        }
    }
}

/// Sets a field of a reply.
pub fn set(reply: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(map) = reply.as_object_mut() {
        map.insert(name.to_owned(), value.into());
    }
}

fn hello(request: &Value) -> Reply {
    if request.get("proto").is_some_and(|proto| *proto != 2) {
        return Err(OpError::new("usage", "protocol", "this worker speaks protocol 2"));
    }
    let listed = request.get("list").and_then(Value::as_bool).unwrap_or(true);
    let codecs: Vec<Value> = CODECS
        .iter()
        .filter(|_| listed)
        .map(|one| {
            json!({
                "id": one.id, "library": one.library, "version": version_of(one.library), "options": {}, "choices": {},
                "kinds": ["document"], "media": ["memory", "file", "fifo", "unix", "tcp"],
                "delivery": ["whole", "buffered", "framed", "wrapped"], "subset": [], "threads": [1], "executes_code": false,
            })
        })
        .collect();
    Ok(json!({
        "proto": 2, "worker": "rust", "runtime": "rust", "version": env!("CARGO_PKG_RUST_VERSION"), "pid": std::process::id(),
        "codecs": codecs, "clocks": COLUMNS, "cpu_source": "clock_gettime(PROCESS_CPUTIME_ID), split by getrusage",
        "gc": ["off", "on"],
    }))
}

fn cell(codec: &Codec, probe: &Value) -> Value {
    let mut cell = json!({"probe": probe.get("probe"), "status": "n/a"});
    let tree = json!({"v": probe.get("tagged")});
    match from_tagged(&tree) {
        Err(error) => set(&mut cell, "error", error),
        Ok(value) => match (codec.encode)(&value) {
            Err(error) => {
                set(&mut cell, "status", "refused");
                set(&mut cell, "error", format!("encode: {error:.300}"));
            }
            Ok(bytes) => {
                set(&mut cell, "bytes_hex", hex(bytes.get(..256).unwrap_or(&bytes)));
                match (codec.decode)(&bytes) {
                    Ok(back) => {
                        set(&mut cell, "status", "decoded");
                        set(&mut cell, "out", to_tagged(&back));
                    }
                    Err(error) => {
                        set(&mut cell, "status", "refused");
                        set(&mut cell, "error", format!("decode: {error:.300}"));
                    }
                }
            }
        },
    }
    cell
}
