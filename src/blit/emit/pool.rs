//! Strings that mixed lists have more than once, kept once: counted first, then written by id.

use hashbrown::{DefaultHashBuilder, HashTable};

use super::{Count, Emitter};
use crate::blit::layout::{push_uint, tag, unsigned_width, MAGIC};
use crate::blit::node::{self, Node, Tape};
use crate::blit::strings;
use crate::Result;

/// Bytes of a string that is worth it.
const LEAST: u32 = 6;

/// What is done with a string of a mixed list.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Nothing.
    #[default]
    Off,
    /// It is counted.
    Counts,
    /// It is written by its id, if it has one.
    Writes,
}

/// The strings, and how often they are there.
#[derive(Default)]
pub(super) struct Pool {
    state: State,
    hasher: DefaultHashBuilder,
    table: HashTable<u32>,
    found: Vec<Found>,
    /// By id.
    order: Vec<u32>,
}

struct Found {
    node: Node,
    hash: u64,
    count: u32,
    id: Option<u32>,
}

impl Pool {
    /// Forgets all strings.
    pub(super) fn again(&mut self, counts: bool) {
        self.state = if counts { State::Counts } else { State::Off };
        self.table.clear();
        self.found.clear();
        self.order.clear();
    }

    fn at(&self, tape: &Tape<'_>, node: Node) -> (u64, Option<usize>) {
        let text = tape.bytes(node);
        let hash = strings::hash(&self.hasher, text);
        let same = |&at: &u32| {
            let found = self.found.get(at as usize);
            found.is_some_and(|found| tape.bytes(found.node) == text)
        };
        let found = self.table.find(hash, same);
        (hash, found.map(|&at| at as usize))
    }

    fn add(&mut self, tape: &Tape<'_>, node: Node) {
        let (hash, at) = self.at(tape, node);
        if let Some(found) = at.and_then(|at| self.found.get_mut(at)) {
            found.count = found.count.saturating_add(1);
            return;
        }
        let Ok(at) = u32::try_from(self.found.len()) else {
            return;
        };
        self.found.push(Found {
            node,
            hash,
            count: 1,
            id: None,
        });
        let found = &self.found;
        let hash_of = |&at: &u32| found.get(at as usize).map_or(0, |found| found.hash);
        self.table.insert_unique(hash, at, hash_of);
    }

    /// Gives ids to those that are there twice: the most frequent first, then as they came.
    fn number(&mut self) {
        let all = (0_u32..).zip(&self.found);
        let twice = all.filter(|(_, found)| found.count > 1);
        self.order = twice.map(|(at, _)| at).collect();
        let found = &self.found;
        let count = |&at: &u32| found.get(at as usize).map_or(0, |found| found.count);
        self.order.sort_by_key(|at| std::cmp::Reverse(count(at)));
        for (id, &at) in (0_u32..).zip(&self.order) {
            if let Some(found) = self.found.get_mut(at as usize) {
                found.id = Some(id);
            }
        }
        self.state = State::Writes;
    }
}

impl Emitter {
    /// Writes the root; twice if there is a pool, and first to count.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    pub(in crate::blit) fn root(&mut self, tape: &Tape<'_>, root: Node) -> Result<u8> {
        if self.pool.state == State::Counts {
            let tag = self.value(tape, root)?;
            self.pool.number();
            if self.pool.order.is_empty() {
                return Ok(tag);
            }
            self.out.truncate(MAGIC.len());
            self.sequences.unwrite(0);
        }
        self.value(tape, root)
    }

    /// Whether strings of a list that is written one by one are looked for: not if it has no others.
    pub(super) fn pools(&self, items: &[Node]) -> bool {
        self.pool.state != State::Off && {
            let mask = node::kinds(items);
            mask & node::STRINGS != 0 && mask & !node::STRINGS != 0
        }
    }

    /// Writes the id of a string that is in the pool, and gives its tag.
    #[inline]
    pub(super) fn pooled(&mut self, tape: &Tape<'_>, node: Node, pools: bool) -> Option<u8> {
        if !pools || node.mask() & node::STRINGS == 0 || node.count < LEAST {
            return None;
        }
        if self.pool.state == State::Counts {
            self.pool.add(tape, node);
            return None;
        }
        let at = self.pool.at(tape, node).1?;
        let id = u64::from(self.pool.found.get(at)?.id?);
        push_uint(&mut self.out, id, unsigned_width(id));
        Some(tag::POOLED)
    }

    /// Appends the section POOL, and gives the number of its strings.
    pub(in crate::blit) fn write_pool(&mut self, tape: &Tape<'_>, out: &mut Vec<u8>) -> usize {
        let found = |&at: &u32| self.pool.found.get(at as usize).map(|found| found.node);
        let nodes: Vec<Node> = self.pool.order.iter().filter_map(found).collect();
        if !nodes.is_empty() {
            std::mem::swap(&mut self.out, out);
            self.strings(tape, &nodes, Count::Given);
            std::mem::swap(&mut self.out, out);
        }
        nodes.len()
    }
}
