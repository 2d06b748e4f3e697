//! The writer's tape: values as nodes of 16 bytes, the children of a container side by side.

#![allow(
    clippy::cast_possible_truncation,
    reason = "places in memory, kept as 64 bits"
)]

/// What a node is; one bit each in a [`Mask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Null,
    False,
    True,
    Absent,
    Int,
    Uint,
    Float,
    NumText,
    Ascii,
    Clean,
    Str,
    Bytes,
    Array,
    Object,
}

/// A value: scalars in themselves, text and children by where they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// Bytes of text, elements of an array, or the key sequence of an object.
    pub(super) count: u32,
    /// Bits of a number; where text or children begin.
    pub(crate) bits: u64,
}

/// In `bits` of text: it lies in the tape's own bytes, not in the source.
const OWN: u64 = 1 << 63;

impl Node {
    pub(super) const NULL: Self = Self::bare(Kind::Null);
    pub(super) const ABSENT: Self = Self::bare(Kind::Absent);

    const fn bare(kind: Kind) -> Self {
        Self {
            kind,
            count: 0,
            bits: 0,
        }
    }

    pub(super) fn bool(value: bool) -> Self {
        Self::bare(if value { Kind::True } else { Kind::False })
    }

    pub(super) fn int(value: i64) -> Self {
        Self {
            kind: Kind::Int,
            count: 0,
            bits: u64::from_le_bytes(value.to_le_bytes()),
        }
    }

    pub(super) fn uint(value: u64) -> Self {
        Self {
            kind: Kind::Uint,
            count: 0,
            bits: value,
        }
    }

    pub(super) fn float(value: f64) -> Self {
        Self {
            kind: Kind::Float,
            count: 0,
            bits: value.to_bits(),
        }
    }

    pub(crate) fn as_int(self) -> i64 {
        i64::from_le_bytes(self.bits.to_le_bytes())
    }

    pub(crate) fn as_float(self) -> f64 {
        f64::from_bits(self.bits)
    }

    pub(super) fn mask(self) -> Mask {
        1 << self.kind as u16
    }
}

/// A set of kinds.
pub(super) type Mask = u16;

pub(super) const NULLS: Mask = 1 << Kind::Null as u16;
pub(super) const ABSENTS: Mask = 1 << Kind::Absent as u16;
pub(super) const BOOLS: Mask = 1 << Kind::False as u16 | 1 << Kind::True as u16;
pub(super) const INTS: Mask = 1 << Kind::Int as u16;
pub(super) const FLOATS: Mask = 1 << Kind::Float as u16;
pub(super) const STRINGS: Mask =
    1 << Kind::Ascii as u16 | 1 << Kind::Clean as u16 | 1 << Kind::Str as u16;
pub(super) const ARRAYS: Mask = 1 << Kind::Array as u16;
pub(super) const OBJECTS: Mask = 1 << Kind::Object as u16;

/// The kinds of a list's elements.
pub(super) fn kinds(items: &[Node]) -> Mask {
    items.iter().fold(0, |mask, node| mask | node.mask())
}

/// Whether all kinds are of one class: bool, number, string, array, object.
pub(super) fn one_class(mask: Mask) -> bool {
    [BOOLS, INTS | FLOATS, STRINGS, ARRAYS, OBJECTS]
        .iter()
        .any(|class| mask != 0 && mask & !class == 0)
}

/// Nodes, and the text of those that have some.
#[derive(Debug, Default)]
pub(super) struct Tape<'s> {
    /// Text that nodes point into as it is.
    source: &'s [u8],
    /// Text that was made: unescaped, or handed over piece by piece.
    own: Vec<u8>,
    /// Children of closed containers.
    nodes: Vec<Node>,
}

impl Tape<'_> {
    /// The same buffers, with text in another source.
    pub(super) fn over(self, source: &[u8]) -> Tape<'_> {
        Tape {
            source,
            own: self.own,
            nodes: self.nodes,
        }
    }

    /// Text `start..end` of the source, or of what was kept at `base`.
    pub(super) fn lent(kind: Kind, base: u64, start: usize, end: usize) -> Node {
        Node {
            kind,
            count: short(end.saturating_sub(start)),
            bits: base.wrapping_add(start as u64),
        }
    }

    /// Takes a copy of a text that nodes are to point into, and gives its base for [`Self::lent`].
    pub(super) fn keep(&mut self, text: &[u8]) -> u64 {
        let base = self.own.len() as u64;
        self.own.extend_from_slice(text);
        base | OWN
    }

    /// Text of its own.
    #[inline]
    pub(super) fn text(&mut self, kind: Kind, text: &[u8]) -> Node {
        let start = self.own.len() as u64;
        self.own.extend_from_slice(text);
        Node {
            kind,
            count: short(text.len()),
            bits: start | OWN,
        }
    }

    /// Where own text is appended by hand, to be taken by [`made`](Self::made).
    pub(super) fn own(&mut self) -> &mut Vec<u8> {
        &mut self.own
    }

    /// The own text from `start` on.
    pub(super) fn made(&self, kind: Kind, start: usize) -> Node {
        let count = short(self.own.len().saturating_sub(start));
        Node {
            kind,
            count,
            bits: start as u64 | OWN,
        }
    }

    /// A container of children; `count` is their number, or the key sequence of an object.
    #[inline]
    pub(super) fn close(&mut self, kind: Kind, count: u32, children: &[Node]) -> Node {
        let start = self.nodes.len() as u64;
        self.nodes.extend_from_slice(children);
        Node {
            kind,
            count,
            bits: start,
        }
    }

    /// An array of what `children` gives; None, and nothing is kept, if one of them is.
    #[inline]
    pub(super) fn array(&mut self, children: impl Iterator<Item = Option<Node>>) -> Option<Node> {
        let start = self.nodes.len();
        for child in children {
            let Some(child) = child else {
                self.nodes.truncate(start);
                return None;
            };
            self.nodes.push(child);
        }
        let count = u32::try_from(self.nodes.len().wrapping_sub(start));
        let Ok(count) = count else {
            self.nodes.truncate(start);
            return None;
        };
        Some(Node {
            kind: Kind::Array,
            count,
            bits: start as u64,
        })
    }

    /// The text of a node that has some.
    #[inline]
    pub(super) fn bytes(&self, node: Node) -> &[u8] {
        let from = (node.bits & !OWN) as usize;
        let text = if node.bits & OWN == 0 {
            self.source
        } else {
            &self.own
        };
        text.get(from..from.wrapping_add(node.count as usize))
            .unwrap_or_default()
    }

    /// A child of a container, by its place.
    #[inline]
    pub(super) fn child(&self, node: Node, place: usize) -> Node {
        let at = (node.bits as usize).wrapping_add(place);
        self.nodes.get(at).copied().unwrap_or(Node::NULL)
    }

    /// The `n` children of a container.
    #[inline]
    pub(super) fn children(&self, node: Node, n: usize) -> &[Node] {
        let from = node.bits as usize;
        self.nodes
            .get(from..from.wrapping_add(n))
            .unwrap_or_default()
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.own.clear();
        self.nodes.clear();
    }

    /// Bytes of text, and how many children there are in all containers.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.own.len(), self.nodes.len())
    }

    /// Forgets what came after it had these sizes.
    pub(super) fn truncate(&mut self, sizes: (usize, usize)) {
        self.own.truncate(sizes.0);
        self.nodes.truncate(sizes.1);
    }

    /// Bytes that the tape takes.
    pub(super) fn memory(&self) -> usize {
        let nodes = self.nodes.capacity().saturating_mul(size_of::<Node>());
        self.own.capacity().saturating_add(nodes)
    }
}

/// Lengths of text fit: the writer refuses more than 4 GiB.
fn short(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
