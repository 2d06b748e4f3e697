/// Streams of messages: however they are cut, what comes out is the same, and what a plain reader finds.
mod messages {
    use std::io::IoSlice;

    use tare::message::{Event, FrameWriter, Framer, Framing, Limits, State};

    /// All that a stream gave.
    #[derive(Debug, PartialEq, Default)]
    pub struct Given {
        pub messages: Vec<(Vec<u8>, u64, bool, u32)>,
        pub controls: Vec<String>,
        pub state: Option<State>,
        pub position: u64,
        pub partial: Vec<u8>,
        pub passed: (u64, u64, Vec<u64>),
    }

    /// How bytes get into a framer.
    #[derive(Clone, Copy, Debug)]
    pub enum By {
        /// Copied in.
        Feed,
        /// Read into what it reserves.
        Reserve,
        /// Added to the buffer of a large body, or as `Reserve`.
        Spare,
        /// Read into a buffer of the caller, or as `Reserve`.
        Place,
        /// As `Reserve`, into buffers that are lent and given back; small messages are taken in a loop.
        Lent,
    }

    /// Takes small messages, one to three of them at once, as often as there are any.
    fn take_small(framer: &mut Framer, given: &mut Given) {
        loop {
            let before = given.messages.len();
            let mut end = framer.position();
            let done = framer.take_small(|message, behind| {
                assert!(message.offset >= end && message.placed.is_none());
                let head = behind - message.offset - message.bytes.len() as u64;
                assert!(head == 5 || head == 9);
                assert_eq!(given.messages.len() as u64, message.number);
                // One that is refused stays, and comes again.
                if behind % 7 == 0 && given.messages.len() > before {
                    return Err(());
                }
                end = behind;
                given.messages.push((message.bytes.to_vec(), message.offset, message.compressed, message.parts));
                Ok(given.messages.len() < before + 3)
            });
            assert!(done.is_ok() || given.messages.len() > before);
            assert_eq!(end, framer.position());
            if given.messages.len() == before {
                return;
            }
        }
    }

    fn take(framer: &mut Framer, given: &mut Given) {
        let mut before = framer.position();
        while let Ok(Some(event)) = framer.next_event() {
            match event {
                Event::Message(message) => {
                    assert!(message.placed.is_none());
                    let (offset, number) = (message.offset, message.number);
                    assert_eq!(given.messages.len() as u64, number);
                    let own = (message.bytes.to_vec(), offset, message.compressed, message.parts);
                    if let Some(body) = framer.take_body() {
                        assert_eq!(own.0, body);
                    }
                    given.messages.push(own);
                    assert!(offset >= before);
                }
                Event::Control(control) => given.controls.push(format!("{control:?}")),
            }
            assert!(framer.position() > before, "a position rises");
            before = framer.position();
        }
    }

    /// Puts `piece` in; returns how many bytes were taken.
    fn put(framer: &mut Framer, piece: &[u8], by: By, given: &mut Given) -> usize {
        if let By::Feed = by {
            return framer.feed(piece);
        }
        if let By::Spare = by {
            if let Some(spare) = framer.spare() {
                let n = piece.len().min(spare.capacity() - spare.len());
                spare.extend_from_slice(&piece[..n]);
                framer.commit_spare();
                return n;
            }
        }
        let large = framer.large_message().filter(|&length| length <= 128 << 10);
        if let (By::Place, Some(length)) = (by, large) {
            let mut buffer = vec![0xAA; length];
            let mut n = 0;
            if let Some(mut placed) = framer.place(&mut buffer) {
                let (rest, behind) = placed.reserve();
                n = piece.len().min(rest.len());
                rest[..n].copy_from_slice(&piece[..n]);
                let more = (piece.len() - n).min(behind.len());
                behind[..more].copy_from_slice(&piece[n..n + more]);
                n += more;
                placed.commit(n);
            }
            if framer.ready() {
                if let Ok(Some(Event::Message(message))) = framer.next_event() {
                    assert_eq!(Some(length), message.placed);
                    let own = (buffer, message.offset, message.compressed, message.parts);
                    given.messages.push(own);
                }
            }
            return n;
        }
        let room = framer.reserve();
        let n = room.len().min(piece.len());
        room[..n].copy_from_slice(&piece[..n]);
        framer.commit(n);
        n
    }

    /// Reads a stream cut in pieces, each of the length that `cut` tells.
    pub fn read(framing: Framing, limits: Limits, stream: &[u8], by: By, mut cut: impl FnMut() -> usize) -> Given {
        let mut framer = Framer::new(framing, limits);
        let mut given = Given::default();
        let mut at = 0;
        let mut received = 0;
        let mut pool = Vec::new();
        while at < stream.len() {
            let end = stream.len().min(at.saturating_add(cut().max(1)));
            while at < end {
                if let By::Lent = by {
                    framer.borrow_buffer(&mut pool);
                }
                let n = put(&mut framer, &stream[at..end], by, &mut given);
                at += n;
                received += n;
                if let By::Lent = by {
                    take_small(&mut framer, &mut given);
                }
                take(&mut framer, &mut given);
                if let By::Lent = by {
                    framer.return_buffers(&mut pool, 2);
                    assert!(pool.len() <= 2);
                }
                assert!(framer.memory() <= 2 * received + (3 << 20), "memory grows with what came");
                if n == 0 {
                    assert!(framer.state().is_final(), "reading stops at an error only");
                    at = stream.len();
                    break;
                }
            }
        }
        framer.end();
        take(&mut framer, &mut given);
        given.state = Some(framer.state());
        let again = framer.next().map(|message| message.is_none()).map_err(|error| error.to_string());
        assert_eq!(again, framer.next().map(|message| message.is_none()).map_err(|error| error.to_string()));
        assert_eq!(again.is_err(), framer.state().is_error());
        given.position = framer.position();
        given.partial = framer.partial().to_vec();
        let (count, offsets) = framer.skipped();
        given.passed = (framer.blank_lines() + framer.control_skipped(), count, offsets.to_vec());
        given
    }

    /// Reads a stream in one piece; the same must come out of it in others.
    pub fn any_cut(framing: Framing, limits: Limits, stream: &[u8], mut seed: u64) -> Given {
        let whole = read(framing, limits, stream, By::Feed, || usize::MAX);
        let same = |other: Given, how: &str| {
            // What is kept of a stream behind its error is nobody's business.
            let error = !matches!(whole.state, Some(State::Ended | State::EofClean | State::EofTruncated { .. }));
            let partial = if error { Vec::new() } else { whole.partial.clone() };
            let other = Given { partial: if error { Vec::new() } else { other.partial.clone() }, ..other };
            assert_eq!(partial, other.partial, "{how}");
            assert_eq!(whole.messages.len(), other.messages.len(), "{how}");
            assert!(whole.messages == other.messages, "{how}: another message");
            assert_eq!(whole.controls, other.controls, "{how}");
            assert_eq!(whole.state, other.state, "{how}");
            assert_eq!(whole.position, other.position, "{how}");
            assert_eq!(whole.passed, other.passed, "{how}");
        };
        if stream.len() <= 4096 {
            same(read(framing, limits, stream, By::Feed, || 1), "byte by byte");
        }
        for by in [By::Feed, By::Reserve, By::Spare, By::Place, By::Lent] {
            let scale = if stream.len() > 4096 { 40_000 } else { 24 };
            let cut = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                1 + (seed >> 33) as usize % scale
            };
            same(read(framing, limits, stream, by, cut), &format!("{by:?}"));
        }
        whole
    }

    /// Limits, a seed for cuts, and a stream, of the bytes of an input. Runs of up to 100 KiB are
    /// written in two bytes, so large bodies are reached, of a byte that makes few messages.
    fn input(data: &[u8], run: u8) -> (Limits, u64, Vec<u8>) {
        let (&[options, seed], rest) = data.split_first_chunk::<2>().unwrap_or((&[0, 0], &[]));
        let limits = Limits {
            max_message: [64 << 20, 16, 300, 100_000][usize::from(options & 3)],
            max_depth: [512, 3][usize::from(options >> 2 & 1)],
            require_crc: options & 8 != 0,
            skip_bad_lines: options & 16 != 0,
            ..Limits::default()
        };
        let mut stream = Vec::new();
        let mut bytes = rest.iter();
        while let Some(&byte) = bytes.next() {
            match byte {
                0x1F if options & 32 != 0 => {
                    let kib = usize::from(bytes.next().copied().unwrap_or(0));
                    if stream.len() < 100_000 {
                        stream.resize(stream.len() + (kib.min(100) << 10), run);
                    }
                }
                byte => stream.push(byte),
            }
        }
        (limits, u64::from(seed), stream)
    }

    /// Writes messages again and reads them again.
    fn comes_back(framing: Framing, given: &Given, crc: bool) {
        let mut writer = FrameWriter::new(framing, crc);
        let mut sent = Vec::new();
        for (bytes, _, compressed, _) in &given.messages {
            if writer.push(bytes, *compressed && framing == Framing::Frame).is_ok() {
                sent.push(bytes);
            }
        }
        let mut stream = Vec::new();
        while writer.pending() > 0 {
            let mut slices = [IoSlice::new(&[]); 3];
            let n = writer.slices(&mut slices);
            let some = slices[..n].iter().flat_map(|slice| slice.to_vec()).collect::<Vec<u8>>();
            let part = some.len().div_ceil(2);
            stream.extend_from_slice(&some[..part]);
            writer.advance(part);
        }
        let back = read(framing, Limits::default(), &stream, By::Feed, || usize::MAX);
        assert_eq!(sent.len(), back.messages.len());
        assert!(sent.iter().zip(&back.messages).all(|(sent, back)| **sent == back.0));
    }

    /// The messages of `framing` that lie whole in front of anything else, found plainly.
    fn plainly(stream: &[u8], end: impl Fn(&[u8]) -> Option<usize>) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let mut rest = stream;
        while let Some(n) = end(rest) {
            found.push(rest[..n].to_vec());
            rest = &rest[n..];
        }
        found
    }

    fn held_against(whole: &Given, expected: &[Vec<u8>]) {
        let found: Vec<_> = whole.messages.iter().map(|message| &message.0).collect();
        assert!(expected.iter().eq(found), "other messages than a plain reader finds");
    }

    fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
        let bytes = bytes.get(at..at + size)?;
        Some(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn behind(bytes: &[u8], at: usize, more: u64) -> Option<usize> {
        let end = at.checked_add(usize::try_from(more).ok()?)?;
        (end <= bytes.len()).then_some(end)
    }

    /// The end of the value that begins `at`.
    fn msgpack_end(bytes: &[u8], at: usize, depth: usize) -> Option<usize> {
        let first = *bytes.get(at)?;
        let head = |size: usize| number(bytes, at + 1, size).map(|n| (at + 1 + size, n));
        let data = |size: usize, more: u64| head(size).and_then(|(to, n)| behind(bytes, to, n + more));
        let (mut to, items) = match first {
            0x00..=0x7F | 0xE0..=0xFF | 0xC0 | 0xC2 | 0xC3 => return Some(at + 1),
            0x80..=0x8F => (at + 1, 2 * u64::from(first & 15)),
            0x90..=0x9F => (at + 1, u64::from(first & 15)),
            0xA0..=0xBF => return behind(bytes, at + 1, u64::from(first & 31)),
            0xC1 => return None,
            0xC4 | 0xD9 => return data(1, 0),
            0xC5 | 0xDA => return data(2, 0),
            0xC6 | 0xDB => return data(4, 0),
            0xC7 => return data(1, 1),
            0xC8 => return data(2, 1),
            0xC9 => return data(4, 1),
            0xCC | 0xD0 => return behind(bytes, at, 2),
            0xCD | 0xD1 => return behind(bytes, at, 3),
            0xCA | 0xCE | 0xD2 => return behind(bytes, at, 5),
            0xCB | 0xCF | 0xD3 => return behind(bytes, at, 9),
            0xD4..=0xD8 => return behind(bytes, at, 2 + (1 << (first - 0xD4))),
            0xDC => head(2)?,
            0xDD => head(4)?,
            0xDE => head(2).map(|(to, n)| (to, 2 * n))?,
            0xDF => head(4).map(|(to, n)| (to, 2 * n))?,
        };
        if depth == 0 {
            return None;
        }
        for _ in 0..items {
            to = msgpack_end(bytes, to, depth - 1)?;
        }
        Some(to)
    }

    /// The end of the data item that begins `at`.
    fn cbor_end(bytes: &[u8], at: usize, depth: usize) -> Option<usize> {
        let first = *bytes.get(at)?;
        let (mut to, n) = match first & 31 {
            info @ 0..=23 => (at + 1, Some(u64::from(info))),
            24 => (at + 2, Some(number(bytes, at + 1, 1)?)),
            25 => (at + 3, Some(number(bytes, at + 1, 2)?)),
            26 => (at + 5, Some(number(bytes, at + 1, 4)?)),
            27 => (at + 9, Some(number(bytes, at + 1, 8)?)),
            31 => (at + 1, None),
            _ => return None,
        };
        let is_break = |to: usize| bytes.get(to).map(|&byte| byte == 0xFF);
        if depth == 0 && (matches!(first >> 5, 4..=6) || n.is_none()) {
            return None;
        }
        match (first >> 5, n) {
            (0 | 1, Some(_)) => return Some(to),
            (2 | 3, Some(n)) => return behind(bytes, to, n),
            (2 | 3, None) => {
                while !is_break(to)? {
                    let chunk = *bytes.get(to)?;
                    if chunk >> 5 != first >> 5 || chunk & 31 == 31 {
                        return None;
                    }
                    to = cbor_end(bytes, to, 1)?;
                }
                return Some(to + 1);
            }
            (4, Some(n)) => {
                for _ in 0..n {
                    to = cbor_end(bytes, to, depth - 1)?;
                }
            }
            (5, Some(n)) => {
                for _ in 0..n {
                    to = cbor_end(bytes, to, depth - 1)?;
                    to = cbor_end(bytes, to, depth - 1)?;
                }
            }
            (4, None) => {
                while !is_break(to)? {
                    to = cbor_end(bytes, to, depth - 1)?;
                }
                to += 1;
            }
            (5, None) => {
                while !is_break(to)? {
                    to = cbor_end(bytes, to, depth - 1)?;
                    to = cbor_end(bytes, to, depth - 1)?;
                }
                to += 1;
            }
            (6, Some(_)) => return cbor_end(bytes, to, depth - 1),
            (7, Some(_)) => {}
            _ => return None,
        }
        Some(to)
    }

    /// Messages of frames, read plainly: as many as stand before anything wrong.
    fn frames_in(stream: &[u8], require_crc: bool) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let mut open: Option<(Vec<u8>, bool)> = None;
        let mut count = 0;
        let mut rest = stream;
        while rest.len() >= 5 {
            let tag = rest[0];
            let length = u32::from_le_bytes([rest[1], rest[2], rest[3], rest[4]]) as usize;
            let (more, compressed, crc, control) = (tag & 1 != 0, tag & 2 != 0, tag & 4 != 0, tag & 8 != 0);
            if tag >> 4 != 14 || length >> 31 != 0 || (require_crc && !crc) || (more && length == 0) {
                break;
            }
            let end = 5 + length;
            let total = end + if crc { 4 } else { 0 };
            if total > rest.len() || (crc && plain_crc(&rest[..end]).to_le_bytes() != rest[end..total]) {
                break;
            }
            let payload = &rest[5..end];
            if control {
                let fine = match payload.first() {
                    None => false,
                    Some(1) => length <= 256 && std::str::from_utf8(&payload[1..]).is_ok(),
                    Some(2) => length == 9 && payload[1..] == u64::to_le_bytes(count),
                    Some(3) => (17..=65).contains(&length),
                    Some(_) => length <= 65_537,
                };
                if !fine || more || compressed || open.is_some() {
                    break;
                }
                if payload[0] == 2 {
                    count = 0;
                }
            } else {
                let (mut bytes, first) = open.take().unwrap_or((Vec::new(), compressed));
                if first != compressed {
                    break;
                }
                bytes.extend_from_slice(payload);
                if more {
                    open = Some((bytes, first));
                } else {
                    found.push(bytes);
                    count += 1;
                }
            }
            rest = &rest[total..];
        }
        found
    }

    /// crc32c, by a table of all bytes.
    fn plain_crc(bytes: &[u8]) -> u32 {
        let turn = |sum: u32, _| (sum >> 1) ^ (0x82F6_3B78 & (sum & 1).wrapping_neg());
        let table: [u32; 256] = std::array::from_fn(|byte| (0..8).fold(byte as u32, turn));
        let step = |sum: u32, &byte: &u8| table[(sum as u8 ^ byte) as usize] ^ (sum >> 8);
        !bytes.iter().fold(u32::MAX, step)
    }

    const LARGEST: u64 = 64 << 20;

    pub fn frames(data: &[u8]) {
        let (limits, seed, stream) = input(data, b'a');
        let framing = if data.first().is_some_and(|options| options & 64 != 0) {
            Framing::Wrap
        } else {
            Framing::Frame
        };
        let whole = any_cut(framing, limits, &stream, seed);
        if limits.max_message == LARGEST && framing == Framing::Frame {
            held_against(&whole, &frames_in(&stream, limits.require_crc));
        }
        comes_back(framing, &whole, seed & 1 == 0);
    }

    pub fn msgpack(data: &[u8]) {
        let (limits, seed, stream) = input(data, 0xBF);
        let whole = any_cut(Framing::Msgpack, limits, &stream, seed);
        if limits.max_message == LARGEST {
            let depth = usize::from(limits.max_depth);
            held_against(&whole, &plainly(&stream, |rest| msgpack_end(rest, 0, depth)));
        }
        comes_back(Framing::Msgpack, &whole, false);
    }

    pub fn cbor(data: &[u8]) {
        let (limits, seed, stream) = input(data, 0x77);
        let whole = any_cut(Framing::Cbor, limits, &stream, seed);
        if limits.max_message == LARGEST {
            let depth = usize::from(limits.max_depth);
            held_against(&whole, &plainly(&stream, |rest| cbor_end(rest, 0, depth)));
        }
        comes_back(Framing::Cbor, &whole, false);
    }

    pub fn lines(data: &[u8]) {
        let (limits, seed, stream) = input(data, b'a');
        let whole = any_cut(Framing::Ndjson, limits, &stream, seed);
        if limits.skip_bad_lines || limits.max_message == LARGEST {
            let mut lines: Vec<_> = stream.split(|&byte| byte == b'\n').collect();
            lines.pop();
            let fits = |line: &[u8]| line.len() as u64 <= limits.max_message;
            let expected: Vec<_> = lines
                .iter()
                .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
                .filter(|line| fits(line) && !line.iter().all(|byte| b" \t\r".contains(byte)))
                .map(<[u8]>::to_vec)
                .collect();
            held_against(&whole, &expected);
        }
        comes_back(Framing::Ndjson, &whole, false);
    }
}
