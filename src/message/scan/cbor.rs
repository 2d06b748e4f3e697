//! The end of a CBOR data item (RFC 8949), of those that follow each other in a sequence (RFC 8742).

use super::{number, size, Step};
use crate::message::Limits;

/// What an open item waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// So many items.
    Counted,
    /// Items, or a break.
    Items,
    /// A key, or a break.
    Key,
    /// The value of a key.
    Value,
    /// Byte strings of known length, or a break.
    Bytes,
    /// Text strings of known length, or a break.
    Text,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    kind: Kind,
    /// Items that are missing at least, 1 for the break where there will be one.
    left: u64,
}

const TOP: Level = Level {
    kind: Kind::Counted,
    left: 1,
};

impl Level {
    /// One item of it is there.
    fn count(&mut self) {
        match self.kind {
            Kind::Counted => self.left = self.left.saturating_sub(1),
            Kind::Key => (self.kind, self.left) = (Kind::Value, 2),
            Kind::Value => (self.kind, self.left) = (Kind::Key, 1),
            Kind::Items | Kind::Bytes | Kind::Text => {}
        }
    }
}

/// What an item's head says.
enum Head {
    /// The item ends here.
    Plain,
    /// So many bytes follow.
    Data(u64),
    /// Items follow.
    Open(Level),
    /// The innermost open item ends.
    Break,
}

/// A scan of one data item.
#[derive(Debug)]
pub(in crate::message) struct Scan {
    level: Level,
    stack: Vec<Level>,
    /// Items that are missing in those of the stack.
    outer: u64,
    /// Bytes of a string that are still to come.
    skip: u64,
}

impl Scan {
    pub fn new() -> Self {
        Self {
            level: TOP,
            stack: Vec::new(),
            outer: 0,
            skip: 0,
        }
    }

    /// Starts the next item; keeps the memory.
    pub fn restart(&mut self) {
        self.level = TOP;
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
        self.stack.capacity().saturating_mul(size_of::<Level>())
    }

    /// Goes on with `bytes`, which follow `before` bytes of the item.
    pub fn scan(&mut self, bytes: &[u8], before: u64, limits: &Limits) -> Step {
        let mut at = 0_usize;
        if self.skip > 0 {
            at = size(self.skip).min(bytes.len());
            self.skip = self.skip.saturating_sub(at as u64);
            if self.skip > 0 {
                return Step::More {
                    taken: at,
                    hint: self.missing(),
                };
            }
        }
        loop {
            if self.level.kind == Kind::Counted && self.level.left == 0 {
                if !self.pop() {
                    return Step::Done { taken: at };
                }
                continue;
            }
            let rest = bytes.get(at..).unwrap_or_default();
            let Some((&first, rest)) = rest.split_first() else {
                return Step::More {
                    taken: at,
                    hint: self.missing(),
                };
            };
            let (extra, argument) = match argument(first & 31, rest) {
                Ok(read) => read,
                Err(0) => {
                    return malformed(at, "found a head with additional information 28 to 30")
                }
                Err(short) => {
                    let hint = self.missing().saturating_sub(1).saturating_add(short);
                    return Step::More { taken: at, hint };
                }
            };
            let head = match self.head(first, argument) {
                Ok(head) => head,
                Err(what) => return malformed(at, what),
            };
            let behind = at.saturating_add(1).saturating_add(extra);
            let follows = match head {
                Head::Break => {
                    // A break is one of those that were missing: the size was allowed for.
                    at = behind;
                    self.pop();
                    continue;
                }
                Head::Plain => 0,
                Head::Data(bytes) => bytes,
                Head::Open(level) => level.left,
            };
            self.level.count();
            let here = before.saturating_add(behind as u64).saturating_add(follows);
            let needed = here
                .saturating_add(self.level.left)
                .saturating_add(self.outer);
            if needed > limits.max_message {
                return Step::TooBig { needed };
            }
            at = behind;
            match head {
                Head::Open(level) => {
                    if self.stack.len() >= usize::from(limits.max_depth) {
                        let needed = u64::from(limits.max_depth).saturating_add(1);
                        return Step::TooDeep { needed };
                    }
                    self.stack.push(self.level);
                    self.outer = self.outer.saturating_add(self.level.left);
                    self.level = level;
                }
                Head::Data(_) => {
                    let end = at.saturating_add(size(follows));
                    if end > bytes.len() {
                        self.skip = end.saturating_sub(bytes.len()) as u64;
                        return Step::More {
                            taken: bytes.len(),
                            hint: self.missing(),
                        };
                    }
                    at = end;
                }
                Head::Plain | Head::Break => {}
            }
        }
    }

    fn missing(&self) -> u64 {
        self.skip
            .saturating_add(self.level.left)
            .saturating_add(self.outer)
    }

    /// Goes back to the item around this one; false if there is none.
    fn pop(&mut self) -> bool {
        let Some(level) = self.stack.pop() else {
            return false;
        };
        self.outer = self.outer.saturating_sub(level.left);
        self.level = level;
        true
    }

    /// What a head says where it stands; `None` as argument is an indefinite length or a break.
    fn head(&self, first: u8, argument: Option<u64>) -> Result<Head, &'static str> {
        let major = first >> 5;
        match (self.level.kind, major, argument) {
            (Kind::Bytes, 2, Some(_)) | (Kind::Text, 3, Some(_)) => {}
            (Kind::Bytes | Kind::Text | Kind::Items | Kind::Key, 7, None) => {
                return Ok(Head::Break);
            }
            (Kind::Bytes | Kind::Text, _, _) => {
                return Err("found a chunk of another type in a string of indefinite length");
            }
            (Kind::Value, 7, None) => return Err("found a break where the value of a key belongs"),
            (Kind::Counted, 7, None) => {
                return Err("found a break outside an item of indefinite length")
            }
            _ => {}
        }
        let open = |kind, left| Ok(Head::Open(Level { kind, left }));
        match (major, argument) {
            (2 | 3, Some(length)) => Ok(Head::Data(length)),
            (4, Some(count)) => open(Kind::Counted, count),
            (5, Some(count)) => open(Kind::Counted, count.saturating_mul(2)),
            (6, Some(_)) => open(Kind::Counted, 1),
            // Simple values below 32 in two bytes too, which RFC 7049 had: where they end is plain.
            (0 | 1 | 7, Some(_)) => Ok(Head::Plain),
            (2, None) => open(Kind::Bytes, 1),
            (3, None) => open(Kind::Text, 1),
            (4, None) => open(Kind::Items, 1),
            (5, None) => open(Kind::Key, 1),
            _ => Err("found an indefinite length where none can be"),
        }
    }
}

fn malformed(taken: usize, what: &'static str) -> Step {
    Step::Malformed { taken, what }
}

/// Bytes of an argument behind the first, and the argument; `Err` with the number of bytes
/// that it lacks, 0 if there is no such argument.
fn argument(info: u8, rest: &[u8]) -> Result<(usize, Option<u64>), u64> {
    Ok(match info {
        0..24 => (0, Some(u64::from(info))),
        24 => (1, Some(number::<1>(rest)?)),
        25 => (2, Some(number::<2>(rest)?)),
        26 => (4, Some(number::<4>(rest)?)),
        27 => (8, Some(number::<8>(rest)?)),
        31 => (0, None),
        _ => return Err(0),
    })
}
