//! Any messages, any parts, any cuts: bytes in are bytes out.

use std::io::Write;

use bytes::Bytes;
use proptest::prelude::*;
use tare::message::{FrameWriter, Framing, Limits, State};

use crate::messages::{self, By};
use crate::written;

/// How a message is given to the writer.
#[derive(Clone, Copy, Debug)]
enum How {
    Push,
    Shared,
    Pieces(usize),
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        Just(How::Push),
        Just(How::Shared),
        (1_usize..100_000).prop_map(How::Pieces)
    ]
}

/// Payloads of all sizes, few of them large.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => prop::collection::vec(any::<u8>(), 0..40),
        2 => (any::<u8>(), 60_000_usize..70_000).prop_map(|(byte, size)| vec![byte; size]),
        1 => (any::<u8>(), 200_000_usize..1_200_000).prop_map(|(byte, size)| vec![byte; size]),
    ]
}

fn give(writer: &mut FrameWriter, payload: &[u8], compressed: bool, how: How) {
    match how {
        How::Push => writer.push(payload, compressed).unwrap(),
        How::Shared => {
            let shared = Bytes::copy_from_slice(payload);
            writer.push_shared(shared, compressed).unwrap();
        }
        How::Pieces(size) => {
            let mut message = writer.open(compressed);
            for piece in payload.chunks(size) {
                message.write_all(piece).unwrap();
            }
            message.finish().unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn frames_come_back(
        sent in prop::collection::vec((payload(), any::<bool>(), how()), 0..8),
        crc in any::<bool>(),
        wrap in any::<bool>(),
        seed in any::<u64>(),
        most in 1_usize..200_000,
    ) {
        let framing = if wrap { Framing::Wrap } else { Framing::Frame };
        let mut writer = FrameWriter::new(framing, crc);
        for (payload, compressed, how) in &sent {
            give(&mut writer, payload, *compressed && !wrap, *how);
        }
        if !wrap {
            writer.end().unwrap();
        }
        let pending = writer.pending();
        let stream = written(&mut writer, most.max(pending / 64));
        prop_assert_eq!(pending, stream.len());
        let limits = Limits { require_crc: crc && !wrap, ..Limits::default() };
        let given = messages::any_cut(framing, limits, &stream, seed);
        prop_assert_eq!(sent.len(), given.messages.len());
        for ((payload, compressed, _), message) in sent.iter().zip(&given.messages) {
            prop_assert!(payload == &message.0 && (*compressed && !wrap) == message.2);
        }
        prop_assert_eq!(Some(if wrap { State::EofClean } else { State::Ended }), given.state);
        prop_assert_eq!(stream.len() as u64, given.position);
    }

    #[test]
    fn lines_come_back(
        sent in prop::collection::vec("[ -~]{0,20}x[ -~]{0,20}", 0..20),
        seed in any::<u64>(),
    ) {
        let mut writer = FrameWriter::new(Framing::Ndjson, false);
        for line in &sent {
            writer.push(line.as_bytes(), false).unwrap();
        }
        let stream = written(&mut writer, 7);
        let given = messages::any_cut(Framing::Ndjson, Limits::default(), &stream, seed);
        prop_assert!(sent.iter().map(String::as_bytes).eq(given.messages.iter().map(|it| &it.0[..])));
    }

    /// Any way to cut a payload into parts is the same message.
    #[test]
    fn parts_are_the_whole(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..30), 1..9),
        long in prop::option::of(0_usize..8),
        seed in any::<u64>(),
    ) {
        let mut parts = parts;
        if let Some(part) = long.and_then(|at| parts.get_mut(at)) {
            part.resize(100_000, 7);
        }
        let mut stream = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let mut frame = crate::frame(part);
            frame[0] |= u8::from(at + 1 < parts.len());
            stream.extend(frame);
        }
        let given = messages::any_cut(Framing::Frame, Limits::default(), &stream, seed);
        prop_assert_eq!(1, given.messages.len());
        prop_assert!(parts.concat() == given.messages[0].0);
        prop_assert_eq!(parts.len() as u32, given.messages[0].3);
        let cut = stream.len() - 1;
        let given = messages::read(Framing::Frame, Limits::default(), &stream[..cut], By::Reserve, || 9);
        prop_assert_eq!(Some(State::EofTruncated { offset: 0 }), given.state);
    }

    /// Bytes that mean nothing: no panic, and each reader's answer does not depend on cuts.
    #[test]
    fn garbage_is_refused_the_same_way(data in prop::collection::vec(any::<u8>(), 0..300)) {
        messages::frames(&data);
        messages::msgpack(&data);
        messages::cbor(&data);
        messages::lines(&data);
    }
}
