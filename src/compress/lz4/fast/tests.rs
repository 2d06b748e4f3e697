//! Blocks held against a plain twin, two decoders, the format's rules and liblz4's sizes.

use lz4::block::{compress_to_buffer, decompress_to_buffer, CompressionMode};
use proptest::prelude::*;

use super::{next_hashed, slot, Fast, Sample, BEFORE, FIVE, LAST_LITERALS, PATIENCE_LOG, SIX};
use super::{SAMPLE_BYTES, SLOTS, STRETCH_BYTES, TAIL};

fn compressed(plain: &[u8]) -> Vec<u8> {
    let mut stored = vec![0; plain.len() + plain.len() / 255 + 64];
    let size = Fast::new().compress(plain, &mut stored);
    stored.truncate(size.unwrap_or_default());
    stored
}

/// The same block without a trick: a byte at a time, written as the format reads.
fn twin(plain: &[u8]) -> Vec<u8> {
    let Some(limit) = plain.len().checked_sub(TAIL) else {
        return Vec::new();
    };
    let mut twin = Twin {
        plain,
        slots: vec![BEFORE; SLOTS],
        stored: Vec::new(),
        at: BEFORE + 1,
        anchor: 0,
        misses: 0,
        last: 0,
    };
    let mut hashed = SIX;
    while twin.at < limit {
        let (at, written) = (twin.at, twin.stored.len());
        let mut sample = Sample::default();
        twin.run(hashed, limit.min(at + SAMPLE_BYTES), 0, true, &mut sample);
        let stored = twin.stored.len() - written + twin.at.saturating_sub(twin.anchor);
        let next = next_hashed(hashed, &sample, twin.at - at, stored);
        if next == hashed {
            let tuning = sample.tuning();
            let stop = limit.min(twin.at + STRETCH_BYTES);
            twin.run(hashed, stop, tuning.skip, tuning.insert, &mut sample);
        } else {
            (hashed, twin.misses) = (next, 0);
        }
    }
    twin.put(plain.len(), None);
    twin.stored
}

struct Twin<'a> {
    plain: &'a [u8],
    slots: Vec<usize>,
    stored: Vec<u8>,
    at: usize,
    anchor: usize,
    misses: usize,
    last: usize,
}

impl Twin<'_> {
    /// The place before `at` with the same hash, or `at` if there is none in reach.
    fn enter(&mut self, hashed: u32, at: usize) -> usize {
        let mut word = [0; 8];
        word.copy_from_slice(&self.plain[at..at + 8]);
        let word = u64::from_le_bytes(word);
        let slot = if hashed == SIX {
            slot::<SIX>(word)
        } else {
            slot::<FIVE>(word)
        };
        at - (at - std::mem::replace(&mut self.slots[slot], at)) % (1 << 16)
    }

    fn find(&mut self, hashed: u32, stop: usize) -> Option<usize> {
        let mut first = true;
        while self.at < stop {
            let (at, from) = (self.at, self.enter(hashed, self.at));
            if from < at && self.plain[at..at + 4] == self.plain[from..from + 4] {
                return Some(from);
            }
            self.at += 1;
            if !first {
                self.at += self.misses >> PATIENCE_LOG;
                self.misses += 1;
            }
            first = false;
        }
        None
    }

    fn run(&mut self, hashed: u32, stop: usize, skip: usize, insert: bool, sample: &mut Sample) {
        let (plain, most) = (self.plain, self.plain.len() - LAST_LITERALS);
        while let Some(from) = self.find(hashed, stop) {
            let at = self.at;
            let equal = plain[at..most].iter().zip(&plain[from..]);
            let ahead = equal.take_while(|(left, right)| left == right).count();
            let equal = plain[self.anchor..at].iter().rev();
            let equal = equal.zip(plain[from - BEFORE..from].iter().rev());
            let behind = equal.take_while(|(left, right)| left == right).count();
            let literals = at - behind - self.anchor;
            self.put(at - behind, Some((at - from, ahead + behind)));
            sample.add(literals, ahead + behind - 4, ahead == self.last);
            (self.last, self.misses) = (ahead, 0);
            (self.at, self.anchor) = (at + ahead, at + ahead);
            if insert {
                self.enter(hashed, self.at - 2);
            } else {
                self.at += skip;
            }
        }
    }

    /// Literals up to `until`, and a match of an offset and a length.
    fn put(&mut self, until: usize, repeat: Option<(usize, usize)>) {
        let literals = &self.plain[self.anchor..until];
        let more = repeat.map_or(0, |(_, length)| length - 4);
        let token = literals.len().min(15) << 4 | more.min(15);
        self.stored.push(u8::try_from(token).unwrap());
        self.put_length(literals.len());
        self.stored.extend(literals);
        if let Some((offset, _)) = repeat {
            self.stored
                .extend(u16::try_from(offset).unwrap().to_le_bytes());
            self.put_length(more);
        }
    }

    fn put_length(&mut self, length: usize) {
        if let Some(rest) = length.checked_sub(15) {
            self.stored.extend(vec![255; rest / 255]);
            self.stored.push(u8::try_from(rest % 255).unwrap());
        }
    }
}

/// The offsets of a block's matches, and where each begins and ends; the rules kept.
fn matches(block: &[u8], plain_bytes: usize) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    let (mut at, mut plain) = (0, 0);
    let length = |at: &mut usize, start: usize| {
        let mut length = start;
        let mut byte = if start == 15 { 255 } else { 0 };
        while byte == 255 {
            byte = block[*at];
            *at += 1;
            length += usize::from(byte);
        }
        length
    };
    loop {
        let token = usize::from(block[at]);
        at += 1;
        let literals = length(&mut at, token >> 4);
        at += literals;
        plain += literals;
        if at == block.len() {
            assert_eq!(plain_bytes, plain);
            assert!(found.is_empty() || literals >= 5, "too few last literals");
            return found;
        }
        let offset = usize::from(u16::from_le_bytes([block[at], block[at + 1]]));
        at += 2;
        let bytes = 4 + length(&mut at, token & 15);
        assert!(
            offset > 0 && offset <= plain,
            "an offset of {offset} at {plain}"
        );
        assert!(plain + 12 <= plain_bytes, "a match near the end");
        found.push((offset, plain, plain + bytes));
        plain += bytes;
    }
}

/// Both decoders and the twin have the same of it, and the rules are kept.
fn check(plain: &[u8]) -> Vec<u8> {
    let block = compressed(plain);
    assert_eq!(twin(plain), block, "the twin writes another block");
    if block.is_empty() {
        assert!(plain.len() < TAIL, "no block of {} bytes", plain.len());
        return block;
    }
    matches(&block, plain.len());
    let mut place = vec![0; plain.len()];
    let size = lz4_flex::block::decompress_into(&block, &mut place).unwrap();
    assert!(
        size == plain.len() && place == plain,
        "lz4_flex reads other bytes"
    );
    place.fill(0);
    let most = i32::try_from(plain.len()).unwrap();
    let size = decompress_to_buffer(&block, Some(most), &mut place).unwrap();
    assert!(
        size == plain.len() && place == plain,
        "liblz4 reads other bytes"
    );
    block
}

/// Numbers that any machine draws alike.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut draws = Draws(seed | 1);
    (0..bytes).map(|_| draws.next().to_le_bytes()[3]).collect()
}

/// Doubles of 32 random bits, as R's runif makes them.
fn uniform(bytes: usize) -> Vec<u8> {
    let mut draws = Draws(7);
    let mut plain = Vec::new();
    while plain.len() < bytes {
        let number = f64::from(u32::try_from(draws.next() >> 32).unwrap()) / 4_294_967_296.0;
        plain.extend(number.to_le_bytes());
    }
    plain
}

/// Doubles that are small whole numbers, many twice.
fn whole(bytes: usize) -> Vec<u8> {
    let mut draws = Draws(11);
    let mut plain = Vec::new();
    while plain.len() < bytes {
        let number = f64::from(u32::try_from(draws.next() % 900).unwrap()).to_le_bytes();
        plain.extend(number.repeat(1 + usize::from(draws.next() % 3 == 0)));
    }
    plain
}

fn table(bytes: usize) -> Vec<u8> {
    let mut draws = Draws(13);
    let mut plain = Vec::new();
    for row in 0.. {
        let (day, late) = (row / 900, draws.next() % 100);
        let (carrier, tail) = (draws.next() % 16, draws.next() % 4000);
        let line = format!(
            "2013,1,{day},{},{late},C{carrier},N{tail}AA\n",
            row % 900 + 500
        );
        plain.extend(line.as_bytes());
        if plain.len() >= bytes {
            return plain;
        }
    }
    plain
}

fn objects(bytes: usize) -> Vec<u8> {
    let mut draws = Draws(17);
    let mut plain = Vec::new();
    while plain.len() < bytes {
        let (a, b) = (draws.next() % 500, draws.next() % 40);
        let line = format!("{{\"year\":2013,\"dep_time\":{a}.0,\"carrier\":\"C{b}\"}},");
        plain.extend(line.as_bytes());
    }
    plain
}

#[test]
fn blocks_of_every_small_size_are_whole() {
    for bytes in 0..=300 {
        check(&vec![7; bytes]);
        check(&noise(bytes, 5));
        check(&table(bytes)[..bytes]);
    }
}

#[test]
fn blocks_of_every_kind_are_whole() {
    for bytes in [65_537, 200_001] {
        check(&vec![0; bytes]);
        check(&noise(bytes, 3));
        for plain in [uniform(bytes), whole(bytes), table(bytes), objects(bytes)] {
            check(&plain);
        }
        for period in [1, 2, 3, 7, 8, 15, 16, 17, 255, 4096] {
            check(&noise(period, 9).repeat(bytes / period + 1)[..bytes]);
        }
    }
}

#[test]
fn offsets_reach_65535_and_no_further() {
    for (period, found) in [(65_535, true), (65_536, false), (65_537, false)] {
        // Near the second copy's start the slots still hold the first.
        let mut plain = vec![0; period - 64];
        plain.extend(noise(64, 21));
        plain.extend(vec![0; period - 64]);
        plain.extend(noise(64, 21));
        plain.extend(noise(64, 22));
        let block = check(&plain);
        let offsets = matches(&block, plain.len());
        let far = offsets.iter().any(|(offset, ..)| *offset == period);
        assert_eq!(found, far, "a period of {period}");
    }
}

#[test]
fn what_does_not_fit_is_told_and_nothing_is_written_past_it() {
    let plain = table(70_000);
    let whole = compressed(&plain);
    let last = whole.len() + 40;
    for room in (0..last).step_by(97).chain(whole.len() - 40..last) {
        let mut place = vec![0xa5; last];
        let size = Fast::new().compress(&plain, &mut place[..room]);
        assert!(
            size.is_none() || size == Some(whole.len()),
            "{size:?} in {room}"
        );
        assert!(
            place[room..].iter().all(|&byte| byte == 0xa5),
            "past {room}"
        );
        // Nearly so is not enough room either, but some bytes more always are.
        assert!(
            size.is_some() || room < whole.len() + 32,
            "{room} is too little"
        );
    }
}

#[test]
fn memory_used_before_changes_nothing() {
    let mut fast = Fast::new();
    for plain in [table(100_000), noise(70_000, 1), uniform(100_000)] {
        let mut stored = vec![0; plain.len() + 1000];
        let size = fast.compress(&plain, &mut stored).unwrap();
        assert_eq!(compressed(&plain), stored[..size]);
    }
}

#[test]
fn blocks_are_about_as_small_as_those_of_liblz4() {
    let bytes = 1 << 20;
    let kinds = [
        ("uniform", uniform(bytes), 940),
        ("whole", whole(bytes), 1000),
        // Drawn at random, fields repeat in fives rather than sixes, as no real table's do.
        ("table", table(bytes), 1020),
        ("objects", objects(bytes), 1000),
        ("noise", noise(bytes, 3), 1000),
    ];
    for (kind, plain, most) in kinds {
        let mut place = vec![0; plain.len() + plain.len() / 255 + 64];
        let mode = Some(CompressionMode::FAST(1));
        let theirs = compress_to_buffer(&plain, mode, false, &mut place).unwrap();
        let ours = compressed(&plain).len();
        let share = 1000 * ours / theirs;
        assert!(
            share <= most,
            "{kind}: {ours} bytes, {share} to 1000 of {theirs}"
        );
    }
}

/// A piece of a plain stream.
#[derive(Clone, Debug)]
enum Piece {
    Noise(usize, u64),
    Run(usize, u8),
    /// Bytes from so far back.
    Copy(usize, usize),
    /// Records of so many equal and so many random bytes.
    Records(usize, usize, usize),
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        (1_usize..3000, any::<u64>()).prop_map(|(bytes, seed)| Piece::Noise(bytes, seed)),
        (1_usize..3000, any::<u8>()).prop_map(|(bytes, byte)| Piece::Run(bytes, byte)),
        (1_usize..70_000, 1_usize..600).prop_map(|(back, bytes)| Piece::Copy(back, bytes)),
        (65_500_usize..65_600, 1_usize..60).prop_map(|(back, bytes)| Piece::Copy(back, bytes)),
        (1_usize..12, 0_usize..9, 1_usize..900)
            .prop_map(|(equal, random, count)| Piece::Records(equal, random, count)),
    ]
}

fn joined(pieces: &[Piece]) -> Vec<u8> {
    let mut plain = vec![1, 2, 3];
    for piece in pieces {
        match *piece {
            Piece::Noise(bytes, seed) => plain.extend(noise(bytes, seed)),
            Piece::Run(bytes, byte) => plain.extend(vec![byte; bytes]),
            Piece::Copy(back, bytes) => {
                let from = plain.len().saturating_sub(back);
                for at in from..from + bytes {
                    plain.push(plain[at]);
                }
            }
            Piece::Records(equal, random, count) => {
                let head = noise(equal, 77);
                for seed in 0..count as u64 {
                    plain.extend(&head);
                    plain.extend(noise(random, seed * 2 + 1));
                }
            }
        }
    }
    plain
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_block_is_whole(pieces in proptest::collection::vec(piece(), 0..120)) {
        check(&joined(&pieces));
    }

    #[test]
    fn any_short_block_is_whole(plain in proptest::collection::vec(0_u8..3, 0..400)) {
        check(&plain);
    }
}
