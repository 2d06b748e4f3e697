//! One message over an open end, with the time of each end of it.

use serde_json::{Value, json};

use crate::clocks::{COLUMNS, Watch, wall_ns};
use crate::doc::Doc;
use crate::ends::{Link, Passed};
use crate::ops::{OpError, Ops, Reply, decode, encode};

fn failed(error: &std::io::Error) -> OpError {
    OpError::new("OSError", "io", error.to_string())
}

fn header(delivery: &str, n: usize) -> Result<Vec<u8>, OpError> {
    let n = u32::try_from(n).ok().filter(|n| *n < 1 << 31);
    let n = n.ok_or_else(|| OpError::new("Unsupported", "io", "the Rust worker frames messages below 2 GiB"))?;
    let little: Vec<u8> = (0..4).map(|place| ((n >> (8 * place)) & 255) as u8).collect();
    let big: Vec<u8> = little.iter().rev().copied().collect();
    Ok(match delivery {
        "framed" => [&[0xe0], little.as_slice()].concat(),
        _ if n < 1 << 8 => [&[0xc4], big.get(3..).unwrap_or_default()].concat(),
        _ if n < 1 << 16 => [&[0xc5], big.get(2..).unwrap_or_default()].concat(),
        _ => [&[0xc6], big.as_slice()].concat(),
    })
}

fn message(link: &mut Link, delivery: &str, passed: &mut Passed) -> Result<Vec<u8>, OpError> {
    if !matches!(delivery, "framed" | "wrapped") {
        return link.all(passed).map_err(|error| failed(&error));
    }
    let mut part = |link: &mut Link, n: usize| link.exactly(n, passed).map_err(|error| failed(&error));
    let mark = part(link, 1)?.first().copied();
    let width = match (delivery, mark) {
        ("framed", Some(0xe0)) | ("wrapped", Some(0xc6)) => 4,
        ("wrapped", Some(0xc5)) => 2,
        ("wrapped", Some(0xc4)) => 1,
        _ => return Err(OpError::new("protocol", "io", format!("no {delivery} message begins with {mark:?}"))),
    };
    let mut length = part(link, width)?;
    if delivery == "framed" {
        length.reverse();
    }
    let n = length.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
    part(link, n)
}

impl Ops {
    /// Send or receive, so many messages as asked for.
    pub fn stream(&mut self, what: &str, request: &Value) -> Reply {
        let handle = request.get("handle").and_then(Value::as_u64).unwrap_or_default();
        let timeout_s = request.get("timeout_s").and_then(Value::as_f64);
        let id = self.named(request)?;
        let ready = self.ready.get_mut(&id).ok_or_else(|| OpError::new("usage", "protocol", "not prepared"))?;
        let delivery = request.get("delivery").and_then(Value::as_str).unwrap_or(&ready.delivery).to_owned();
        if !matches!(delivery.as_str(), "whole" | "buffered" | "framed" | "wrapped") {
            return Err(OpError::new("Unsupported", "open", format!("the Rust worker has no {delivery:.40} delivery")));
        }
        let again = matches!(delivery.as_str(), "framed" | "wrapped");
        let ack = request.get("ack").and_then(Value::as_bool).unwrap_or(false);
        let number = |name: &str| request.get(name).and_then(Value::as_u64).filter(|_| again).unwrap_or(1).max(1);
        let (samples, batch) = (number("samples"), number("batch"));
        let end = self.ends.get_mut(&handle);
        let end = end.ok_or_else(|| OpError::new("usage", "open", format!("no open end has the handle {handle}")))?;
        let link = end.link(timeout_s).map_err(|error| OpError::new("OSError", "open", error.to_string()))?;
        let mut rows = Vec::new();
        let (mut bytes, mut last) = (0, None);
        for _ in 0..samples {
            let watch = Watch::start();
            let stamps;
            (stamps, bytes) = if what == "send" {
                let value = self.value.as_ref();
                let value = value.ok_or_else(|| OpError::new("usage", "load", "nothing to encode: load first"))?;
                send(link, value, ready.codec, (&delivery, batch, ack))?
            } else {
                receive(link, ready.codec, (&delivery, batch, ack), &mut last)?
            };
            let mut row = watch.stop();
            row.push(0); // what a transfer received is kept for `verify`
            row.extend(stamps);
            rows.push(row);
        }
        if what == "send" && !again {
            // The message ends where the connection does.
            self.ends.insert(handle, crate::ends::End::closed());
        }
        let names = if what == "send" {
            ["start_ns", "first_byte_ns", "last_byte_ns", "closed_ns"]
        } else {
            ["first_byte_ns", "first_value_ns", "last_byte_ns", "last_value_ns"]
        };
        let cols: Vec<&str> = COLUMNS.into_iter().chain(names).collect();
        let mut reply = json!({"cols": cols, "samples": rows, "batch": batch, "bytes": bytes});
        if let Some(back) = last {
            crate::ops::set(&mut reply, "items", back.items());
            ready.last = Some(back);
        }
        Ok(reply)
    }
}

type Settings<'a> = (&'a str, u64, bool);

fn send(
    link: &mut Link,
    value: &Doc,
    codec: &crate::codecs::Codec,
    (delivery, batch, ack): Settings<'_>,
) -> Result<([i64; 4], u64), OpError> {
    let mut passed = Passed::default();
    let start = wall_ns();
    for _ in 0..batch {
        let bytes = encode(codec, value)?;
        if matches!(delivery, "framed" | "wrapped") {
            link.send(&header(delivery, bytes.len())?, &mut passed).map_err(|error| failed(&error))?;
        }
        link.send(&bytes, &mut passed).map_err(|error| failed(&error))?;
        if !matches!(delivery, "framed" | "wrapped") {
            link.shut();
        }
        if ack {
            link.exactly(1, &mut Passed::default()).map_err(|error| failed(&error))?;
        }
    }
    Ok(([start, passed.first, passed.last, wall_ns()], passed.count))
}

fn receive(
    link: &mut Link,
    codec: &crate::codecs::Codec,
    (delivery, batch, ack): Settings<'_>,
    last: &mut Option<Doc>,
) -> Result<([i64; 4], u64), OpError> {
    let mut passed = Passed::default();
    let mut value_ns = 0;
    for _ in 0..batch {
        *last = None;
        let bytes = message(link, delivery, &mut passed)?;
        *last = Some(decode(codec, &bytes)?);
        value_ns = wall_ns();
        if ack {
            link.send(b"\x01", &mut Passed::default()).map_err(|error| failed(&error))?;
        }
    }
    Ok(([passed.first, value_ns, passed.last, value_ns], passed.count))
}
