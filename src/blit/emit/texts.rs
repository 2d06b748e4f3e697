//! Lists of strings.

use hashbrown::{DefaultHashBuilder, HashTable};

use super::{Count, Emitter};
use crate::blit::layout::{kind, push_rv, push_uints, tag, uint, unsigned_width};
use crate::blit::lens;
use crate::blit::node::{self, Kind, Node, Tape};
use crate::blit::strings;

/// Lists of so many strings may have a dictionary.
const FROM: usize = 16;
/// A dictionary is given up when so many of the first are different.
const TRIED: usize = 1024;
const MOST_TRIED: usize = 960;

/// Different strings of a list, and the code of each element.
#[derive(Default)]
pub(super) struct Unique {
    hasher: DefaultHashBuilder,
    table: HashTable<u32>,
    nodes: Vec<Node>,
    /// The hash of each of them.
    hashes: Vec<u64>,
    codes: Vec<u32>,
}

impl Unique {
    /// Bytes that it takes.
    pub(super) fn memory(&self) -> usize {
        let nodes = self.nodes.capacity().saturating_mul(size_of::<Node>());
        let hashes = self.hashes.capacity().saturating_mul(size_of::<u64>());
        let codes = self.codes.capacity().saturating_add(self.table.capacity());
        nodes
            .saturating_add(hashes)
            .saturating_add(codes.saturating_mul(size_of::<u32>()))
    }

    /// Fills both; false if there are too many different ones.
    fn find(&mut self, tape: &Tape<'_>, items: &[Node]) -> bool {
        self.table.clear();
        self.nodes.clear();
        self.hashes.clear();
        self.codes.clear();
        let mut last: Option<(Node, u32)> = None;
        for (i, &item) in items.iter().enumerate() {
            let text = tape.bytes(item);
            // Sorted and clustered columns repeat what came just before.
            if let Some((node, code)) = last {
                if node.count == item.count && is_same(tape.bytes(node), text) {
                    self.codes.push(code);
                    continue;
                }
            }
            let hash = strings::hash(&self.hasher, text);
            let nodes = &self.nodes;
            let at = |code: u32| nodes.get(code as usize).map(|&node| tape.bytes(node));
            let found = self
                .table
                .find(hash, |&code| {
                    at(code).is_some_and(|known| is_same(known, text))
                })
                .copied();
            let code = if let Some(code) = found {
                code
            } else {
                let code = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
                self.nodes.push(item);
                self.hashes.push(hash);
                let hashes = &self.hashes;
                let again = |&code: &u32| hashes.get(code as usize).copied().unwrap_or(hash);
                self.table.insert_unique(hash, code, again);
                code
            };
            self.codes.push(code);
            last = Some((item, code));
            if i.wrapping_add(1) == TRIED && self.nodes.len() > MOST_TRIED {
                return false;
            }
        }
        true
    }
}

/// Whether two texts are the same; short ones without a call.
#[inline]
fn is_same(a: &[u8], b: &[u8]) -> bool {
    const SHORT: usize = 8;
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        0..=SHORT => uint(a) == uint(b),
        _ => a == b,
    }
}

impl Emitter {
    /// Strings one after the other.
    pub(super) fn strings(&mut self, tape: &Tape<'_>, items: &[Node], count: Count) {
        let base = self.lengths.len();
        for &item in items {
            let text = tape.bytes(item);
            self.out.extend_from_slice(text);
            self.lengths.push(text.len());
        }
        let mode = lens::write(&mut self.out, self.lengths.get(base..).unwrap_or_default());
        self.lengths.truncate(base);
        self.out.push(weakest(items));
        self.end(kind::UNIFORM, mode, items.len(), count);
    }

    /// Each different string once, and a code for each element; false if that does not pay.
    pub(super) fn dictionary(&mut self, tape: &Tape<'_>, items: &[Node], count: Count) -> bool {
        if items.len() < FROM {
            return false;
        }
        let mut unique = std::mem::take(&mut self.texts);
        let pays = unique.find(tape, items) && pays(&unique, items);
        if pays {
            let before = self.out.len();
            self.strings(tape, &unique.nodes, Count::Written);
            let bytes = self.out.len().saturating_sub(before);
            let width = unsigned_width(unique.nodes.len().saturating_sub(1) as u64);
            let codes = unique.codes.iter().map(|&code| u64::from(code));
            push_uints(&mut self.out, codes, width);
            push_rv(&mut self.out, bytes as u64);
            #[allow(clippy::cast_possible_truncation, reason = "1 to 4")]
            let mode = (width as u8).wrapping_sub(1);
            self.end(kind::DICT, mode, items.len(), count);
        }
        self.texts = unique;
        pays
    }
}

/// Whether a dictionary is smaller by more than a ninth.
fn pays(unique: &Unique, items: &[Node]) -> bool {
    let bytes = |nodes: &[Node]| nodes.iter().map(|node| u64::from(node.count)).sum::<u64>();
    let (n, different) = (items.len() as u64, unique.nodes.len() as u64);
    let width = unsigned_width(different.saturating_sub(1)) as u64;
    let stored = bytes(&unique.nodes)
        .saturating_add(different)
        .saturating_add(n.saturating_mul(width));
    stored.saturating_add(stored / 8) < bytes(items).saturating_add(n)
}

/// The tag that holds for all.
fn weakest(items: &[Node]) -> u8 {
    let mask = node::kinds(items);
    if mask & 1 << Kind::Str as u16 != 0 {
        tag::STR
    } else if mask & 1 << Kind::Clean as u16 != 0 {
        tag::CLEAN
    } else {
        tag::ASCII
    }
}
