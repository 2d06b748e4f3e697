//! The golden streams: read however they are cut, and written again.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tare::message::{Control, FrameWriter, Framing, Limits, State};

use crate::{messages, unhex, written};

fn streams() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/messages/streams.json");
    let streams: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let streams = streams.as_array().unwrap().clone();
    assert!(streams.len() > 100);
    streams
}

fn framing(stream: &Value) -> Framing {
    match stream["framing"].as_str().unwrap() {
        "frame" => Framing::Frame,
        "msgpack" => Framing::Msgpack,
        "cbor" => Framing::Cbor,
        "ndjson" => Framing::Ndjson,
        "wrap" => Framing::Wrap,
        other => panic!("{other}"),
    }
}

fn limits(stream: &Value) -> Limits {
    let plain = Limits::default();
    Limits {
        max_message: stream["max_message"].as_u64().unwrap_or(plain.max_message),
        max_depth: stream["max_depth"]
            .as_u64()
            .map_or(plain.max_depth, |depth| depth as u16),
        require_crc: stream["require_crc"] == true,
        skip_bad_lines: stream["skip_bad_lines"] == true,
        ..plain
    }
}

/// The parts of an event: its word, and what follows.
fn events(stream: &Value) -> Vec<(&str, &str)> {
    let events = stream["events"].as_array().unwrap().iter();
    events
        .map(|event| event.as_str().unwrap().split_once(' ').unwrap())
        .collect()
}

#[test]
fn golden_streams_read_the_same_however_they_are_cut() {
    for stream in streams() {
        let name = stream["name"].as_str().unwrap();
        let bytes = unhex(stream["hex"].as_str().unwrap());
        let given = messages::any_cut(framing(&stream), limits(&stream), &bytes, 7);
        // Every single cut as well.
        for cut in 1..bytes.len() {
            let mut pieces = [cut, usize::MAX].into_iter();
            let again = messages::read(
                framing(&stream),
                limits(&stream),
                &bytes,
                messages::By::Reserve,
                || pieces.next().unwrap_or(usize::MAX),
            );
            assert_eq!(given.messages, again.messages, "{name} cut at {cut}");
            assert_eq!(
                (given.state, given.position),
                (again.state, again.position),
                "{name} cut at {cut}"
            );
        }
        let expected: Vec<_> = events(&stream)
            .into_iter()
            .filter(|(word, _)| matches!(*word, "message" | "compressed"))
            .map(|(word, hex)| (unhex(hex), word == "compressed"))
            .collect();
        let found: Vec<_> = given
            .messages
            .iter()
            .map(|(bytes, _, compressed, _)| (bytes.clone(), *compressed))
            .collect();
        assert_eq!(expected, found, "{name}");
        let controls: Vec<_> = events(&stream)
            .into_iter()
            .filter_map(|(word, rest)| {
                let bytes = unhex(rest.rsplit(' ').next().unwrap());
                Some(match word {
                    "hello" => format!("{:?}", Control::Hello(rest)),
                    "end" => format!(
                        "{:?}",
                        Control::End {
                            messages: rest.parse().unwrap()
                        }
                    ),
                    "token" => format!("{:?}", Control::Token(&bytes)),
                    "other" => {
                        let kind = rest.split(' ').next().unwrap().parse().unwrap();
                        format!("{:?}", Control::Other { kind, rest: &bytes })
                    }
                    _ => return None,
                })
            })
            .collect();
        assert_eq!(controls, given.controls, "{name}");
        let state = given.state.unwrap();
        assert_eq!(stream["state"], state.name(), "{name}");
        assert_eq!(stream["offset"].as_u64(), state.offset(), "{name}");
        let needed = match state {
            State::TooBig { needed, .. } | State::TooDeep { needed, .. } => Some(needed),
            _ => None,
        };
        assert_eq!(stream["needed"].as_u64(), needed, "{name}");
        if let Some(blank) = stream["blank"].as_u64() {
            assert_eq!(blank, given.passed.0, "{name}");
        }
        let skipped: Vec<_> = stream["skipped"].as_array().into_iter().flatten().collect();
        assert_eq!(skipped.len(), given.passed.2.len(), "{name}");
        assert!(skipped.into_iter().eq(&given.passed.2), "{name}");
        if state == State::EofClean || state == State::Ended {
            assert_eq!(
                (bytes.len() as u64, 0),
                (
                    given.position + trailing(&bytes, framing(&stream)),
                    given.partial.len() as u64 - trailing(&bytes, framing(&stream))
                ),
                "{name}"
            );
        }
    }
}

/// Space behind the last line.
fn trailing(bytes: &[u8], framing: Framing) -> u64 {
    if framing != Framing::Ndjson {
        return 0;
    }
    bytes
        .iter()
        .rev()
        .take_while(|byte| **byte != b'\n')
        .count() as u64
}

#[test]
fn golden_streams_are_written_again() {
    let mut count = 0;
    for stream in streams() {
        let name = stream["name"].as_str().unwrap();
        let Some(how) = stream["write"].as_str() else {
            continue;
        };
        let mut writer = FrameWriter::new(framing(&stream), how == "crc");
        let mut since = 0;
        for (word, rest) in events(&stream) {
            let bytes = || unhex(rest.rsplit(' ').next().unwrap());
            match word {
                "message" | "compressed" => {
                    writer.push(&bytes(), how == "compressed").unwrap();
                    since += 1;
                }
                "hello" => writer.control(Control::Hello(rest)).unwrap(),
                "end" => {
                    assert_eq!(rest, since.to_string());
                    since = 0;
                    writer.end().unwrap();
                }
                "token" => writer.control(Control::Token(&bytes())).unwrap(),
                "other" => {
                    let kind = rest.split(' ').next().unwrap().parse().unwrap();
                    writer
                        .control(Control::Other {
                            kind,
                            rest: &bytes(),
                        })
                        .unwrap();
                }
                other => panic!("{other}"),
            }
        }
        assert_eq!(
            unhex(stream["hex"].as_str().unwrap()),
            written(&mut writer, 3),
            "{name}"
        );
        count += 1;
    }
    assert!(count > 15, "{count} streams were written");
}
