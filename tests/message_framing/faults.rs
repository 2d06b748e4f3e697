//! What other readers of messages get wrong, each by the name it has in the design.

use tare::message::{FrameWriter, Framer, Framing, Limits, State};
use tare::ErrorKind;

use crate::cpu::least_time;
use crate::{frame, unhex, written};

fn limits(max_message: u64) -> Limits {
    Limits {
        max_message,
        ..Limits::default()
    }
}

/// `r03_limit_bytes`: the limit counts bytes, and is known before they come.
#[test]
fn r03_limits_count_bytes() {
    let mut framer = Framer::new(Framing::Frame, limits(1000));
    assert_eq!(4, framer.feed(&[0xE0, 0xE9, 3, 0]));
    assert!(framer.next().unwrap().is_none());
    framer.feed(&[0]);
    let error = framer.next().unwrap_err();
    assert_eq!(
        (ErrorKind::Limit, Some("1001")),
        (error.kind(), error.detail("needed"))
    );
    assert!(error.to_string().contains("max_message = 1000"), "{error}");
    assert!(framer.memory() < 80_000 && framer.reserve().is_empty());

    // 2,000 ints of one byte pass where 1,000,000 bytes do not.
    let mut ints = unhex("dc07d0");
    ints.resize(2003, 1);
    let mut framer = Framer::new(Framing::Msgpack, limits(2003));
    assert_eq!(2003, framer.feed(&ints));
    assert_eq!(2003, framer.next().unwrap().unwrap().bytes.len());
    framer.feed(&unhex("c6000f4240"));
    assert_eq!(ErrorKind::Limit, framer.next().unwrap_err().kind());
}

/// `r05_2gib`: counters are exact behind 2^32. 5 GiB are pumped through.
#[test]
fn r05_counters_of_64_bits() {
    let mut framer = Framer::new(Framing::Frame, Limits::default());
    // A buffer of at most this size serves each of them; memory for larger ones would cost more than all else.
    let size = 1 << 20;
    let header = [[0xE0].as_slice(), &u32::to_le_bytes(size as u32)].concat();
    let mut offset = 0;
    for number in 0..5 << 10 {
        assert_eq!(5, framer.feed(&header));
        let mut left = size;
        while left > 0 {
            // What the buffer holds is as good as any other bytes.
            let n = framer.reserve().len().min(left);
            framer.commit(n);
            left -= n;
        }
        let message = framer.next().unwrap().unwrap();
        assert_eq!(
            (size, offset, number),
            (message.bytes.len(), message.offset, message.number)
        );
        offset += 5 + size as u64;
        assert_eq!(offset, framer.position());
    }
    assert!(framer.position() > 5 << 30);
    framer.feed(&[0xFF]);
    assert_eq!(State::Malformed { offset }, framer.state());
}

/// Bytes that the framer copies within a stream of `pieces`: time is not looked at.
fn buffers_of(pieces: usize, framing: Framing, stream: &[u8]) -> usize {
    let mut framer = Framer::new(framing, Limits::default());
    let size = stream.len().div_ceil(pieces);
    let mut found = 0;
    for piece in stream.chunks(size) {
        framer.feed(piece);
        while let Some(message) = framer.next().unwrap() {
            assert!(message.bytes.len() + 5 >= stream.len());
            found += 1;
        }
    }
    assert_eq!(1, found);
    framer.memory()
}

/// `r07_resume`: a message in pieces is resumed, not begun again. The scanners are given the bytes
/// that they have not seen; here it is the ratio of CPU time in a build with checks.
#[test]
fn r07_pieces_cost_what_the_whole_does() {
    let mut array = unhex("dd00030d40");
    array.extend(unhex("ce00010203").repeat(200_000));
    for (framing, stream) in [
        (Framing::Msgpack, array),
        (Framing::Frame, frame(&vec![7; 1_000_000])),
    ] {
        let time =
            |pieces: usize| least_time(|| assert!(buffers_of(pieces, framing, &stream) < 4 << 20));
        let (one, many) = (time(1), time(10_000));
        // Restarting would cost 5,000 times as much; calls have their own price in such a build.
        assert!(
            many < one * 300,
            "{framing:?}: {many:?} in 10,000 pieces, {one:?} in one"
        );
    }
}

/// `r08_one_by_one`: taking one message does not touch those behind it.
#[test]
fn r08_single_messages_stay_where_they_are() {
    let mut writer = FrameWriter::new(Framing::Frame, false);
    for number in 0..2000_u32 {
        writer.push(&number.to_le_bytes(), false).unwrap();
    }
    let stream = written(&mut writer, usize::MAX);
    let mut framer = Framer::new(Framing::Frame, Limits::default());
    assert_eq!(stream.len(), framer.feed(&stream));
    let mut before = None;
    for number in 0..2000_u32 {
        let message = framer.next().unwrap().unwrap();
        assert_eq!(number.to_le_bytes(), message.bytes);
        let here = message.bytes.as_ptr() as usize;
        assert!(
            before.is_none_or(|before| here == before + 9),
            "the rest was moved"
        );
        before = Some(here);
    }
}

/// `r10_after_error`: good messages, then the error, and the same one for ever.
#[test]
fn r10_errors_stay() {
    let mut framer = Framer::new(Framing::Msgpack, Limits::default());
    assert_eq!(4, framer.feed(&unhex("0102c103")));
    assert_eq!([1], framer.next().unwrap().unwrap().bytes);
    assert_eq!([2], framer.next().unwrap().unwrap().bytes);
    let first = framer.next().unwrap_err();
    assert_eq!(
        (ErrorKind::Malformed, Some(2)),
        (first.kind(), first.offset())
    );
    assert_eq!(Some("2"), first.detail("message_number"));
    for _ in 0..3 {
        assert_eq!(0, framer.feed(b"\x01"));
        assert_eq!(first.to_string(), framer.next().unwrap_err().to_string());
        assert_eq!(State::Malformed { offset: 2 }, framer.state());
    }
    framer.end();
    assert_eq!(first.to_string(), framer.next().unwrap_err().to_string());
}

/// `r13_depth`: on without being asked for.
#[test]
fn r13_depth_is_limited() {
    for (framing, open) in [
        (Framing::Msgpack, 0x91),
        (Framing::Cbor, 0x81),
        (Framing::Cbor, 0xC1),
    ] {
        let mut framer = Framer::new(framing, Limits::default());
        framer.feed(&vec![open; 100_000]);
        let error = framer.next().unwrap_err();
        assert_eq!(
            (ErrorKind::Limit, Some("513")),
            (error.kind(), error.detail("needed"))
        );
        assert!(error.to_string().contains("max_depth = 512"), "{error}");
        assert_eq!(
            State::TooDeep {
                offset: 0,
                needed: 513
            },
            framer.state()
        );
        let mut framer = Framer::new(framing, Limits::default());
        framer.feed(&[vec![open; 512], vec![0]].concat());
        assert_eq!(513, framer.next().unwrap().unwrap().bytes.len());
    }
}

/// A limit that is passed is an error, never an end.
#[test]
fn p3_over_the_limit_is_never_silent() {
    for framing in [
        Framing::Frame,
        Framing::Msgpack,
        Framing::Cbor,
        Framing::Ndjson,
        Framing::Wrap,
    ] {
        let mut value = match framing {
            Framing::Msgpack => unhex("da0100"),
            Framing::Cbor => unhex("790100"),
            _ => Vec::new(),
        };
        value.resize(value.len() + 256, b'a');
        let mut writer = FrameWriter::new(framing, false);
        for _ in 0..3 {
            writer.push(&value, false).unwrap();
        }
        let stream = written(&mut writer, usize::MAX);
        let read = |most: u64| {
            let mut framer = Framer::new(framing, limits(most));
            framer.feed(&stream);
            framer.end();
            let first = framer
                .next()
                .map(|it| it.map(|it| it.bytes.len()))
                .map_err(|it| it.kind());
            (first, framer.messages())
        };
        let size = value.len();
        assert_eq!((Ok(Some(size)), 1), read(size as u64), "{framing:?}");
        assert_eq!(
            (Err(ErrorKind::Limit), 0),
            read(size as u64 - 1),
            "{framing:?}"
        );
    }
}

/// Announcements alone take no memory.
#[test]
fn p4_memory_grows_with_what_came() {
    let large = Limits {
        max_message: u64::MAX,
        ..Limits::default()
    };
    let cases = [
        (Framing::Frame, "e0ffffff7f"),
        (Framing::Msgpack, "ddffffffff"),
        (Framing::Msgpack, "c6ffffffff"),
        (Framing::Msgpack, "dfffffffffdfffffffff"),
        (Framing::Cbor, "9bffffffffffffffff"),
        (Framing::Cbor, "5b7fffffffffffffff"),
        (Framing::Wrap, "c6ffffffff"),
    ];
    for (framing, hex) in cases {
        let mut framer = Framer::new(framing, large);
        framer.feed(&unhex(hex));
        assert!(framer.next().unwrap().is_none());
        assert!(!framer.reserve().is_empty());
        assert!(framer.memory() < 2 << 20, "{hex}: {}", framer.memory());
        let mut framer = Framer::new(framing, Limits::default());
        framer.feed(&unhex(hex));
        assert_eq!(ErrorKind::Limit, framer.next().unwrap_err().kind(), "{hex}");
    }
    // 24,000 arrays inside each other.
    let mut framer = Framer::new(Framing::Msgpack, large);
    framer.feed(&unhex("dcffff").repeat(24_000));
    assert_eq!(
        State::TooDeep {
            offset: 0,
            needed: 513
        },
        framer.state()
    );
    assert!(framer.memory() < 1 << 20);
}
