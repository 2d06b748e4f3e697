//! Damage, and the rules of buffers: whose memory it is, and for how long.

use std::io::Write;

use bytes::Bytes;
use tare::message::{Control, FrameWriter, Framer, Framing, Limits, State};
use tare::ErrorKind;

use crate::messages::{self, By};
use crate::{frame, unhex, written};

/// Each bit of each header, turned: what was in front of it is given, and with a checksum nothing
/// wrong is.
#[test]
fn every_bit_of_a_header() {
    for crc in [false, true] {
        let mut writer = FrameWriter::new(Framing::Frame, crc);
        let payloads: [&[u8]; 3] = [b"first", b"", b"third"];
        for payload in payloads {
            writer.push(payload, false).unwrap();
        }
        writer.end().unwrap();
        let stream = written(&mut writer, usize::MAX);
        let sum = if crc { 4 } else { 0 };
        let starts = [0, 10 + sum, 15 + 2 * sum, 25 + 3 * sum];
        for (before, start) in starts.into_iter().enumerate() {
            for bit in 0..40 {
                let mut stream = stream.clone();
                stream[start + bit / 8] ^= 1 << (bit % 8);
                let given = messages::any_cut(Framing::Frame, Limits::default(), &stream, 5);
                let found: Vec<_> = given.messages.iter().map(|it| &it.0[..]).collect();
                assert!(found.len() >= before && found[..before] == payloads[..before]);
                if crc {
                    // The bit that says whether there is a checksum leaves four bytes that are no frame.
                    assert!(
                        found.len() == before || bit == 2 && found.len() == before + 1,
                        "bit {bit}"
                    );
                    assert_ne!(
                        Some(State::Ended),
                        given.state,
                        "bit {bit} of frame {before}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_damaged_payload_is_found_by_its_checksum() {
    for size in [1, 100, 70_000, 1_500_000] {
        let mut writer = FrameWriter::new(Framing::Frame, true);
        writer
            .push_shared(Bytes::from(vec![5; size]), false)
            .unwrap();
        let mut stream = written(&mut writer, usize::MAX);
        stream[5 + size / 2] ^= 1;
        for by in [By::Feed, By::Reserve, By::Spare, By::Place] {
            let given = messages::read(Framing::Frame, Limits::default(), &stream, by, || 50_000);
            assert_eq!(Some(State::BadChecksum { offset: 0 }), given.state);
            assert!(given.messages.is_empty());
        }
    }
}

#[test]
fn an_idle_framer_owns_nothing() {
    for framing in [
        Framing::Frame,
        Framing::Msgpack,
        Framing::Cbor,
        Framing::Ndjson,
        Framing::Wrap,
    ] {
        let mut framer = Framer::new(framing, Limits::default());
        assert_eq!(0, framer.memory());
        assert!(
            std::mem::size_of::<Framer>() < 640,
            "{}",
            std::mem::size_of::<Framer>()
        );
        let mut writer = FrameWriter::new(framing, false);
        let value = if framing == Framing::Cbor {
            b"\x18\x20"
        } else {
            b"\xa1a"
        };
        writer.push(value, false).unwrap();
        let stream = written(&mut writer, usize::MAX);
        let (last, start) = stream.split_last().unwrap();
        framer.feed(start);
        assert!(framer.next().unwrap().is_none());
        let lent = framer.take_buffer().unwrap();
        assert!(framer.memory() < 100, "{framing:?}: {}", framer.memory());
        framer.lend_buffer(lent);
        assert!(framer.memory() >= 64 << 10);
        framer.release();
        assert!(framer.memory() < 100);
        framer.feed(&[*last]);
        assert!(framer.next().unwrap().is_some());
        assert!(framer.next().unwrap().is_none());
        framer.release();
        assert_eq!(0, framer.memory(), "{framing:?}");
        writer.release();
    }
}

#[test]
fn a_large_body_is_given_away_without_a_copy() {
    let mut framer = Framer::new(Framing::Frame, Limits::default());
    framer.feed(&frame(&vec![3; 3 << 20]));
    let at = framer.next().unwrap().unwrap().bytes.as_ptr();
    let body = framer.take_body().unwrap();
    assert_eq!((at, 3 << 20), (body.as_ptr(), body.len()));
    assert!(framer.take_body().is_none());
    framer.feed(&frame(b"small"));
    assert_eq!(b"small", framer.next().unwrap().unwrap().bytes);
    assert!(framer.take_body().is_none(), "a small one is lent only");
    // One of 1 MiB at most serves the next again; a larger one does not stay.
    let mut used = Vec::new();
    for size in [900_000, 800_000, 3_000_000, 900_000] {
        framer.feed(&frame(&vec![4; size]));
        used.push(framer.next().unwrap().unwrap().bytes.as_ptr());
        assert!(framer.next().unwrap().is_none());
        assert!(framer.memory() < 3 << 20);
    }
    assert_eq!(used[0], used[1]);
}

/// While a large body comes, no more is asked for than it, its checksum and the next header.
#[test]
fn reads_end_where_a_large_body_does() {
    let mut writer = FrameWriter::new(Framing::Frame, true);
    writer.push(&vec![9; 300_000], false).unwrap();
    writer.push(&vec![8; 300_000], false).unwrap();
    let stream = written(&mut writer, usize::MAX);
    let mut framer = Framer::new(Framing::Frame, Limits::default());
    let mut at = framer.feed(&stream[..100]);
    let room = framer.reserve();
    assert_eq!(300_000 - 95 + 4 + 5, room.len());
    let n = room.len();
    room.copy_from_slice(&stream[at..at + n]);
    framer.commit(n);
    at += n;
    assert_eq!(300_000, framer.next().unwrap().unwrap().bytes.len());
    assert_eq!(300_000 + 4, framer.reserve().len() - 5);
    let n = framer.feed(&stream[at..]);
    assert_eq!(stream.len(), at + n);
    assert_eq!(vec![8; 300_000], framer.next().unwrap().unwrap().bytes);
}

#[test]
fn waiting_messages_stop_the_reading() {
    let limits = Limits {
        max_ready: 64 << 10,
        ..Limits::default()
    };
    let mut framer = Framer::new(Framing::Frame, limits);
    let stream = frame(&[1; 100]).repeat(10_000);
    let mut at = 0;
    let mut messages = 0;
    while at < stream.len() {
        let n = framer.feed(&stream[at..]);
        at += n;
        assert!(framer.reserve().is_empty() || at == stream.len());
        assert!(framer.memory() <= 64 << 10);
        while framer.next().unwrap().is_some() {
            messages += 1;
        }
    }
    assert_eq!(10_000, messages);
}

#[test]
fn a_message_given_up_leaves_nothing() {
    for framing in [Framing::Frame, Framing::Wrap, Framing::Ndjson] {
        for size in [3, 300_000, 900_000] {
            let mut writer = FrameWriter::new(framing, false);
            writer.push(b"one", false).unwrap();
            let mut message = writer.open(false);
            message.write_all(&vec![b'x'; size]).unwrap();
            drop(message);
            writer.push(b"two", false).unwrap();
            let stream = written(&mut writer, 1000);
            let given =
                messages::read(framing, Limits::default(), &stream, By::Feed, || usize::MAX);
            let found: Vec<_> = given.messages.iter().map(|it| &it.0[..]).collect();
            assert_eq!(vec![b"one".as_slice(), b"two"], found);
            assert_eq!(2, writer.messages());
        }
    }
}

#[test]
fn parts_leave_before_the_message_ends() {
    let mut writer = FrameWriter::new(Framing::Frame, true);
    writer.push(b"one", false).unwrap();
    let mut stream = Vec::new();
    let mut message = writer.open(false);
    for _ in 0..100 {
        message.write_all(&vec![7; 20_000]).unwrap();
        let mut whole = message.written();
        while whole.pending() > 0 {
            let mut slices = [std::io::IoSlice::new(&[]); 2];
            assert!(whole.slices(&mut slices) > 0);
            let n = slices[0].len().div_ceil(2);
            stream.extend_from_slice(&slices[0][..n]);
            whole.advance(n);
        }
    }
    assert!(stream.len() > 1_500_000);
    message.finish().unwrap();
    assert!(writer.pending() < 600_000);
    stream.extend(written(&mut writer, usize::MAX));
    let given = messages::read(Framing::Frame, Limits::default(), &stream, By::Feed, || {
        usize::MAX
    });
    assert_eq!(
        (2, 2_000_000),
        (given.messages.len(), given.messages[1].0.len())
    );
    assert_eq!(8, given.messages[1].3);

    // Given up after a part was written, the stream cannot be mended.
    let mut message = writer.open(false);
    message.write_all(&vec![7; 600_000]).unwrap();
    message.written().advance(10);
    drop(message);
    assert_eq!(
        ErrorKind::Usage,
        writer.push(b"x", false).unwrap_err().kind()
    );
}

#[test]
fn what_no_reader_takes_is_not_written() {
    let refused = |framing, payload: &[u8], compressed| {
        let mut writer = FrameWriter::new(framing, false);
        let error = writer.push(payload, compressed).unwrap_err();
        assert_eq!(
            (ErrorKind::Usage, 0, 0),
            (error.kind(), writer.pending(), writer.messages())
        );
        let mut message = writer.open(compressed);
        message.write_all(payload).unwrap();
        assert!(message.finish().is_err());
        assert_eq!((0, 0), (writer.pending(), writer.messages()));
    };
    refused(Framing::Ndjson, b"1\n2", false);
    refused(Framing::Ndjson, b" ", false);
    refused(Framing::Ndjson, b"1\r", false);
    refused(Framing::Msgpack, b"", false);
    refused(Framing::Cbor, b"", false);
    refused(Framing::Wrap, b"x", true);
    let mut writer = FrameWriter::new(Framing::Msgpack, true);
    assert!(writer.end().is_err());
    let mut writer = FrameWriter::new(Framing::Frame, false);
    assert!(writer.control(Control::Token(&[0; 15])).is_err());
    assert!(writer.control(Control::Hello(&"x".repeat(256))).is_err());
    assert!(writer
        .control(Control::Other { kind: 2, rest: b"" })
        .is_err());
    assert_eq!(0, writer.pending());
}

/// Large payloads that are shared are written from where they lie.
#[test]
fn shared_payloads_are_not_copied() {
    let payload = Bytes::from(vec![1; 64 << 10]);
    let mut writer = FrameWriter::new(Framing::Frame, true);
    writer.push(b"a", false).unwrap();
    writer.push_shared(payload.clone(), false).unwrap();
    let mut slices = [std::io::IoSlice::new(&[]); 8];
    assert_eq!(3, writer.slices(&mut slices));
    assert_eq!(
        (payload.as_ptr(), payload.len()),
        (slices[1].as_ptr(), slices[1].len())
    );
}

#[test]
fn a_last_line_can_be_taken() {
    let mut framer = Framer::new(Framing::Ndjson, Limits::default());
    framer.feed(b"1\n23\r");
    assert_eq!(b"1", framer.next().unwrap().unwrap().bytes);
    assert!(!framer.accept_last_line(), "more may come");
    framer.end();
    assert_eq!(State::EofTruncated { offset: 2 }, framer.state());
    assert_eq!(b"23\r", framer.partial());
    assert!(framer.accept_last_line());
    assert_eq!(b"23", framer.next().unwrap().unwrap().bytes);
    assert_eq!((State::EofClean, 5), (framer.state(), framer.position()));
}

#[test]
fn joining_midway_counts_from_the_next_end() {
    let stream = unhex("e0020000006869 e809000000020900000000000000 e809000000020100000000000000");
    let mut framer = Framer::new(Framing::Frame, Limits::default()).joined_midway();
    framer.feed(&stream);
    assert!(framer.next().unwrap().is_some());
    assert_eq!(ErrorKind::Malformed, framer.next().unwrap_err().kind());
    assert_eq!(State::Malformed { offset: 21 }, framer.state());
}

#[test]
fn transports_that_fail_give_what_came_first() {
    for (stop, state) in [
        (Framer::fail as fn(&mut Framer), State::Failed),
        (Framer::close, State::Closed),
    ] {
        let mut framer = Framer::new(Framing::Frame, Limits::default());
        framer.feed(&frame(b"whole"));
        stop(&mut framer);
        assert_eq!(b"whole", framer.next().unwrap().unwrap().bytes);
        assert!(framer.next().is_err());
        assert_eq!(state, framer.state());
    }
}
