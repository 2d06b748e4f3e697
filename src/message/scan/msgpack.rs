//! The end of a `MessagePack` value. Layout: <https://github.com/msgpack/msgpack/blob/master/spec.md>.

use super::{number, size, Step};
use crate::message::Limits;

/// Above the sizes of items that their first byte tells: what follows that byte.
const BAD: u8 = 0x40;
const DATA_1: u8 = 0x41;
const DATA_2: u8 = 0x42;
const DATA_4: u8 = 0x43;
const EXT_1: u8 = 0x44;
const EXT_2: u8 = 0x45;
const EXT_4: u8 = 0x46;
const ARRAY_2: u8 = 0x47;
const ARRAY_4: u8 = 0x48;
const MAP_2: u8 = 0x49;
const MAP_4: u8 = 0x4A;
const ARRAY: u8 = 0x4B;
const MAP: u8 = 0x4C;

/// Bytes of the item that starts so, or one of the marks above.
const fn kind(first: u8) -> u8 {
    match first {
        0x00..=0x7F | 0xC0 | 0xC2 | 0xC3 | 0xE0..=0xFF => 1,
        0x80..=0x8F => MAP,
        0x90..=0x9F => ARRAY,
        0xA0..=0xBF => (first & 31).saturating_add(1),
        0xC1 => BAD,
        0xC4 | 0xD9 => DATA_1,
        0xC5 | 0xDA => DATA_2,
        0xC6 | 0xDB => DATA_4,
        0xC7 => EXT_1,
        0xC8 => EXT_2,
        0xC9 => EXT_4,
        0xCC | 0xD0 => 2,
        0xCD | 0xD1 | 0xD4 => 3,
        0xCA | 0xCE | 0xD2 => 5,
        0xD5 => 4,
        0xD6 => 6,
        0xCB | 0xCF | 0xD3 => 9,
        0xD7 => 10,
        0xD8 => 18,
        0xDC => ARRAY_2,
        0xDD => ARRAY_4,
        0xDE => MAP_2,
        0xDF => MAP_4,
    }
}

static KINDS: [u8; 256] = kinds();

#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "worked out by the compiler, for each first byte"
)]
const fn kinds() -> [u8; 256] {
    let mut kinds = [0; 256];
    let mut first = 0;
    while first < 256 {
        kinds[first] = kind(first as u8);
        first += 1;
    }
    kinds
}

/// A scan of one value.
#[derive(Debug)]
pub(in crate::message) struct Scan {
    /// Items that are missing in the innermost open array or map.
    left: u64,
    /// Those that are missing in the ones around it.
    stack: Vec<u64>,
    /// Their sum.
    outer: u64,
    /// Bytes of a string that are still to come.
    skip: u64,
}

impl Scan {
    pub fn new() -> Self {
        Self {
            left: 1,
            stack: Vec::new(),
            outer: 0,
            skip: 0,
        }
    }

    /// Starts the next value; keeps the memory.
    pub fn restart(&mut self) {
        self.left = 1;
        self.stack.clear();
        self.outer = 0;
        self.skip = 0;
    }

    /// Gives back what it does not need.
    pub fn shrink(&mut self) {
        self.stack.shrink_to_fit();
    }

    /// Bytes of its stack.
    pub fn memory(&self) -> usize {
        self.stack.capacity().saturating_mul(size_of::<u64>())
    }

    /// Goes on with `bytes`, which follow `before` bytes of the value.
    pub fn scan(&mut self, bytes: &[u8], before: u64, limits: &Limits) -> Step {
        let mut at = 0_usize;
        if self.skip > 0 {
            at = size(self.skip).min(bytes.len());
            self.skip = self.skip.saturating_sub(at as u64);
            if self.skip > 0 {
                return Step::More {
                    taken: at,
                    hint: self.missing(self.left),
                };
            }
        }
        let most = size(limits.max_message.saturating_sub(before));
        let fast = most.min(bytes.len());
        let mut left = self.left;
        let step = loop {
            if left == 0 {
                let Some(outer) = self.stack.pop() else {
                    break Step::Done { taken: at };
                };
                self.outer = self.outer.saturating_sub(outer);
                left = outer;
                continue;
            }
            let Some(&first) = bytes.get(at) else {
                break Step::More {
                    taken: at,
                    hint: self.missing(left),
                };
            };
            let kind = KINDS.get(usize::from(first)).copied().unwrap_or(BAD);
            if kind < BAD {
                at = at.saturating_add(usize::from(kind));
                left = left.saturating_sub(1);
                if at <= fast {
                    continue;
                }
                if at > most {
                    break self.too_big(before, at as u64, left);
                }
                self.skip = at.saturating_sub(bytes.len()) as u64;
                at = bytes.len();
                break Step::More {
                    taken: at,
                    hint: self.missing(left),
                };
            }
            let rest = bytes.get(at.saturating_add(1)..).unwrap_or_default();
            let (head, count) = match head(kind, first, rest) {
                Ok(read) => read,
                Err(0) => {
                    break Step::Malformed {
                        taken: at,
                        what: "found C1, which starts no value",
                    }
                }
                // This item's first bytes are there: it is owed no more than the rest of them.
                Err(short) => {
                    let hint = self.missing(left).saturating_sub(1).saturating_add(short);
                    break Step::More { taken: at, hint };
                }
            };
            let behind = at.saturating_add(head);
            left = left.saturating_sub(1);
            let needed = (behind as u64).saturating_add(count);
            if before
                .saturating_add(needed)
                .saturating_add(left)
                .saturating_add(self.outer)
                > limits.max_message
            {
                break self.too_big(before, needed, left);
            }
            at = behind;
            if kind < ARRAY_2 {
                let end = at.saturating_add(size(count));
                if end > bytes.len() {
                    self.skip = end.saturating_sub(bytes.len()) as u64;
                    at = bytes.len();
                    break Step::More {
                        taken: at,
                        hint: self.missing(left),
                    };
                }
                at = end;
                continue;
            }
            if self.stack.len() >= usize::from(limits.max_depth) {
                break Step::TooDeep {
                    needed: u64::from(limits.max_depth).saturating_add(1),
                };
            }
            self.stack.push(left);
            self.outer = self.outer.saturating_add(left);
            left = count;
        };
        self.left = left;
        step
    }

    /// Bytes that are missing at least, with `left` items of the innermost.
    fn missing(&self, left: u64) -> u64 {
        self.skip.saturating_add(left).saturating_add(self.outer)
    }

    fn too_big(&self, before: u64, at: u64, left: u64) -> Step {
        let here = before.saturating_add(at);
        Step::TooBig {
            needed: here.saturating_add(left).saturating_add(self.outer),
        }
    }
}

/// Bytes of an item's head, and those or the items that follow it. `Err` with the number of bytes
/// that the head lacks, 0 if it starts no item.
#[inline]
fn head(kind: u8, first: u8, rest: &[u8]) -> Result<(usize, u64), u64> {
    let (bytes, count) = match kind {
        ARRAY | MAP => (0, u64::from(first & 15)),
        DATA_1 | EXT_1 => (1, number::<1>(rest)?),
        DATA_2 | EXT_2 | ARRAY_2 | MAP_2 => (2, number::<2>(rest)?),
        DATA_4 | EXT_4 | ARRAY_4 | MAP_4 => (4, number::<4>(rest)?),
        _ => return Err(0),
    };
    let count = match kind {
        EXT_1 | EXT_2 | EXT_4 => count.saturating_add(1),
        MAP | MAP_2 | MAP_4 => count.saturating_mul(2),
        _ => count,
    };
    Ok((1_usize.saturating_add(bytes), count))
}
