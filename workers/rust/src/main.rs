//! `tare-worker-rust`: measures serialization libraries of Rust for `tare measure`.
//!
//! Requests come on standard input, replies leave on standard output, one JSON object a line.

mod clocks;
mod codecs;
mod compare;
mod doc;
mod ends;
mod ops;
mod streams;
mod tagged;
mod timing;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::ops::{OpError, Ops};

const LINE_BYTES: u64 = 16 << 20;
// Documents may be nested 2,000 lists deep, and libraries call themselves for each.
const STACK_BYTES: u64 = 96 << 20;

fn main() -> std::process::ExitCode {
    // The first thread's stack grows up to its limit: a thread of its own would hide its CPU time from
    // those who read this process's figures in /proc.
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_STACK) {
        // With the usual stack, deep documents end the process: the parent tells that as it is.
        let _ = setrlimit(Resource::RLIMIT_STACK, STACK_BYTES.min(most), most);
    }
    if serve().is_ok() { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}

fn serve() -> std::io::Result<()> {
    let mut out = File::from(nix::unistd::dup(std::io::stdout())?);
    // Whatever a library prints must not get into the protocol.
    nix::unistd::dup2_stdout(std::io::stderr())?;
    std::panic::set_hook(Box::new(|_| {}));
    let mut input = BufReader::new(std::io::stdin().lock());
    let mut ops = Ops::default();
    while let Some(line) = read_line(&mut input)? {
        if matches!(&line, Some(line) if line.trim_ascii().is_empty()) {
            continue;
        }
        let request = line.and_then(|line| serde_json::from_slice::<Value>(&line).ok()).filter(Value::is_object);
        let reply = request.as_ref().map_or_else(
            || refusal(&Value::Null, &OpError::new("protocol", "protocol", "a request is one JSON object on a line of at most 16 MiB")),
            |request| answer(&mut ops, request),
        );
        let mut bytes = serde_json::to_vec(&reply)?;
        bytes.push(b'\n');
        out.write_all(&bytes)?;
        if request.as_ref().and_then(|request| request.get("op")) == Some(&json!("quit")) {
            break;
        }
    }
    Ok(())
}

/// The next line; `None` at the end, `Some(None)` for one that is too long. Half a line is none.
#[allow(clippy::option_option, reason = "the end, a line, and a line that is too long are three things")]
fn read_line(input: &mut impl BufRead) -> std::io::Result<Option<Option<Vec<u8>>>> {
    let mut line = Vec::new();
    input.by_ref().take(LINE_BYTES + 1).read_until(b'\n', &mut line)?;
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(Some(Some(line)));
    }
    if line.len() as u64 <= LINE_BYTES {
        return Ok(None);
    }
    loop {
        let part = input.fill_buf()?;
        if part.is_empty() {
            return Ok(None);
        }
        let end = part.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(part.len(), |place| place + 1);
        input.consume(taken);
        if end.is_some() {
            return Ok(Some(None));
        }
    }
}

fn answer(ops: &mut Ops, request: &Value) -> Value {
    let id = request.get("id").cloned().unwrap_or(Value::Null);
    match catch_unwind(AssertUnwindSafe(|| ops.call(request))) {
        Ok(Ok(ok)) => json!({"id": id, "ok": ok}),
        Ok(Err(error)) => refusal(&id, &error),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default();
            refusal(&id, &OpError::new("panic", "decode", said))
        }
    }
}

fn refusal(id: &Value, error: &OpError) -> Value {
    let message: String = error.message.chars().take(500).collect();
    json!({"id": id, "error": {"type": error.kind, "message": message, "phase": error.phase}})
}
