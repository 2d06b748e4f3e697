//! Streams that others wrote: the R package msgpack, the suites of msgpack and CBOR, lines of JSON.

use std::fs;
use std::io::Read;

use serde_json::Value;
use tare::message::{Framing, Limits, State};

use crate::common::shared;
use crate::messages::{self, By};
use crate::unhex;

fn all(framing: Framing, stream: &[u8]) -> messages::Given {
    messages::any_cut(framing, Limits::default(), stream, 11)
}

/// Offset behind each message.
fn ends(given: &messages::Given) -> Vec<u64> {
    let messages = given.messages.iter();
    messages
        .map(|(bytes, offset, _, _)| offset + bytes.len() as u64)
        .collect()
}

#[test]
fn the_stream_of_eight() {
    let Some(path) = shared("fixtures/msgpack/stream8.msgpack") else {
        return;
    };
    let stream = fs::read(path).unwrap();
    let given = all(Framing::Msgpack, &stream);
    assert_eq!(vec![1, 5, 8, 15, 16, 32, 20035, 90040], ends(&given));
    assert_eq!(Some(State::EofClean), given.state);
    let joined: Vec<u8> = given
        .messages
        .iter()
        .flat_map(|message| message.0.clone())
        .collect();
    assert!(stream == joined, "bytes in are bytes out");
    for cut in 1..stream.len() {
        if (40..stream.len() - 40).contains(&cut) && cut % 97 != 0 {
            continue;
        }
        let mut pieces = [cut].into_iter();
        let again = messages::read(
            Framing::Msgpack,
            Limits::default(),
            &stream,
            By::Reserve,
            || pieces.next().unwrap_or(usize::MAX),
        );
        assert!(given == again, "cut at {cut}");
    }
}

/// `r09_end_states`: cut off is not the same as not there yet.
#[test]
fn r09_the_stream_of_eight_cut_off() {
    let Some(path) = shared("fixtures/msgpack/stream8_truncated.msgpack") else {
        return;
    };
    let stream = fs::read(path).unwrap();
    let given = all(Framing::Msgpack, &stream);
    assert_eq!(vec![1, 5, 8, 15, 16, 32, 20035], ends(&given));
    assert_eq!(Some(State::EofTruncated { offset: 20035 }), given.state);
    assert_eq!(69_995, given.partial.len());
    assert!(stream[20035..] == given.partial);
    let mut framer = tare::message::Framer::new(Framing::Msgpack, Limits::default());
    assert_eq!(stream.len(), framer.feed(&stream));
    while framer.next().unwrap().is_some() {}
    assert_eq!(State::NeedMore { hint: 10 }, framer.state());
    framer.end();
    assert_eq!(State::EofTruncated { offset: 20035 }, framer.state());
    assert!(framer.next().unwrap_err().is_truncated());
}

#[test]
fn every_file_of_the_manifest_is_a_message() {
    let Some(path) = shared("fixtures/manifest.json") else {
        return;
    };
    let manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let mut stream = Vec::new();
    let mut heads = Vec::new();
    for file in manifest["files"].as_array().unwrap() {
        let name = file["file"].as_str().unwrap();
        if let (true, Some(hex)) = (name.starts_with("msgpack/"), file["hex"].as_str()) {
            stream.extend(fs::read(path.with_file_name(name)).unwrap());
            heads.push(unhex(hex));
        }
    }
    assert!(heads.len() > 100);
    let given = all(Framing::Msgpack, &stream);
    assert_eq!(
        (heads.len(), Some(State::EofClean)),
        (given.messages.len(), given.state)
    );
    for (head, message) in heads.iter().zip(&given.messages) {
        // Of long ones the manifest has the first 64 bytes.
        assert!(head == &message.0 || head.len() == 64 && message.0.starts_with(head));
    }
}

#[test]
fn every_value_of_the_msgpack_suite() {
    let Some(path) = shared("data/msgpack/dist/msgpack-test-suite.json") else {
        return;
    };
    let suite: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let cases = suite
        .as_object()
        .unwrap()
        .values()
        .flat_map(|group| group.as_array().unwrap());
    let forms = cases.flat_map(|case| case["msgpack"].as_array().unwrap());
    let expected: Vec<_> = forms.map(|form| unhex(form.as_str().unwrap())).collect();
    each(Framing::Msgpack, &expected);
}

#[test]
fn every_item_of_appendix_a() {
    let Some(path) = shared("data/cbor/appendix_a.json") else {
        return;
    };
    let suite: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let cases = suite.as_array().unwrap().iter();
    let expected: Vec<_> = cases
        .map(|case| unhex(case["hex"].as_str().unwrap()))
        .collect();
    each(Framing::Cbor, &expected);
}

/// The values one behind the other are as many messages.
fn each(framing: Framing, expected: &[Vec<u8>]) {
    assert!(expected.len() > 50);
    let given = all(framing, &expected.concat());
    let found: Vec<_> = given
        .messages
        .into_iter()
        .map(|message| message.0)
        .collect();
    assert_eq!(expected, found);
    assert_eq!(Some(State::EofClean), given.state);
    for value in expected {
        for cut in 1..value.len() {
            let given = all(framing, &value[..cut]);
            assert_eq!(Some(State::EofTruncated { offset: 0 }), given.state);
            assert_eq!(value[..cut], given.partial);
        }
    }
}

#[test]
fn lines_that_others_wrote() {
    let Some(path) = shared("data/json/amazon_cellphones.ndjson.xz") else {
        return;
    };
    let mut stream = Vec::new();
    let file = fs::File::open(path).unwrap();
    liblzma::read::XzDecoder::new(file)
        .read_to_end(&mut stream)
        .unwrap();
    let given = all(Framing::Ndjson, &stream);
    assert_eq!(
        (793, Some(State::EofClean)),
        (given.messages.len(), given.state)
    );
    let lines = stream
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty());
    assert!(lines.eq(given.messages.iter().map(|message| &message.0[..])));
}
