//! From nodes to bytes: the lists of profile 1, each rule in its turn.
//!
//! What is written depends on the values alone: the same values give the same bytes, whatever
//! they came from.

mod numbers;
mod packed;
mod pool;
mod tables;
mod texts;

use super::decimal;
use super::keys::{Duplicates, Names};
use super::layout::{
    kind, push_rv, push_uint, signed_width, tag, unsigned_width, MAX_DEPTH, MAX_LISTS, SEGMENT,
};
use super::lens;
use super::node::{self, Kind, Mask, Node, Tape};
use super::shapes::Sequences;
use super::stack;
use super::writer::Options;
use crate::{Error, ErrorKind, Result};

/// How lists are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Profile 1: columns where rows are alike.
    #[default]
    Columns,
    /// Every array and object by itself: larger, and any value can be patched.
    Rows,
}

/// Whether a list says how many elements it has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    Written,
    /// Whatever holds the list knows.
    Given,
}

/// Lists of so many elements are aligned, where that is asked for.
const ALIGNED_FROM: usize = 64;
/// Lists of so many arrays or nullable elements are worth another layout.
const WORTHWHILE: usize = 8;

/// What is written so far.
#[derive(Default)]
pub(super) struct Emitter {
    pub(super) out: Vec<u8>,
    pub(super) sequences: Sequences,
    pub(super) names: Names,
    layout: Layout,
    aligned: bool,
    /// Strings from so many bytes on are compressed.
    compress_from: Option<usize>,
    /// Bytes of the document that were taken out of `out`.
    pub(super) drained: usize,
    pool: pool::Pool,
    depth: usize,
    /// From which id on shapes may get other ids later, and where each of these ids was written.
    pub(super) guessed: Option<(u32, Vec<(usize, u32)>)>,
    /// Tags and lengths of the lists that are being written, inner ones behind outer ones.
    tags: Vec<u8>,
    lengths: Vec<usize>,
    /// Vectors of nodes for reuse.
    spare: Vec<Vec<Node>>,
    texts: texts::Unique,
    /// For tables: where each sequence is among those of the rows.
    known: Vec<u32>,
}

impl Emitter {
    pub(super) fn of(options: &Options) -> Self {
        let mut emitter = Self::default();
        emitter.again(options);
        emitter
    }

    /// Forgets what was written, and keeps the room that it took.
    pub(super) fn again(&mut self, options: &Options) {
        self.sequences.clear();
        self.names.clear();
        self.anew(options);
    }

    /// As [`again`](Self::again), but the names and sequences that were met stay where they can;
    /// false if they cannot.
    pub(super) fn with_names(&mut self, options: &Options) -> bool {
        if options.duplicates == Duplicates::Keep || !self.sequences.renew() {
            return false;
        }
        self.names.forget(0);
        self.anew(options);
        true
    }

    fn anew(&mut self, options: &Options) {
        self.sequences.may_repeat = options.duplicates == Duplicates::Keep;
        self.out.clear();
        self.layout = options.layout;
        self.aligned = options.aligned;
        self.compress_from = options.compress_strings;
        self.pool.again(options.pool);
        (self.depth, self.drained) = (0, 0);
        self.guessed = None;
        self.tags.clear();
        self.lengths.clear();
        self.known.clear();
    }

    /// Bytes that it takes.
    pub(super) fn memory(&self) -> usize {
        let spare = self.spare.iter().map(Vec::capacity).sum::<usize>();
        let lengths = self
            .lengths
            .capacity()
            .saturating_add(self.known.capacity());
        [
            self.out.capacity(),
            self.names.memory(),
            self.sequences.memory(),
            self.texts.memory(),
            self.tags.capacity(),
            spare.saturating_mul(size_of::<Node>()),
            lengths.saturating_mul(size_of::<usize>()),
        ]
        .iter()
        .sum()
    }

    /// Writes a value's extent, and gives its tag.
    ///
    /// # Errors
    /// `Limit` for too many levels.
    pub(super) fn value(&mut self, tape: &Tape<'_>, value: Node) -> Result<u8> {
        Ok(match value.kind {
            Kind::Null => tag::NULL,
            Kind::False => tag::FALSE,
            Kind::True => tag::TRUE,
            Kind::Absent => tag::ABSENT,
            Kind::Int => self.int(value.as_int()),
            Kind::Uint => {
                push_uint(&mut self.out, value.bits, 8);
                tag::UINT
            }
            Kind::Float => self.float(value.as_float()),
            Kind::NumText => self.text(tape, value, tag::NUMTEXT),
            Kind::Ascii => self.string(tape, value, tag::ASCII),
            Kind::Clean => self.string(tape, value, tag::CLEAN),
            Kind::Str => self.string(tape, value, tag::STR),
            Kind::Bytes => self.text(tape, value, tag::BYTES),
            Kind::Array => {
                let items = tape.children(value, value.count as usize);
                self.array(tape, items)?;
                tag::ARRAY
            }
            Kind::Object => {
                let n = self.sequences.names(value.count).len();
                let items = tape.children(value, n);
                if !items.is_empty() {
                    self.list(tape, items, Count::Given)?;
                    self.shape(value.count);
                }
                tag::OBJECT
            }
        })
    }

    /// Writes the id of a sequence's shape.
    #[inline]
    fn shape(&mut self, sequence: u32) {
        let shape = self.sequences.shape(sequence);
        if let Some((first, places)) = &mut self.guessed {
            if shape >= *first {
                places.push((self.out.len(), shape));
            }
        }
        push_rv(&mut self.out, u64::from(shape));
    }

    fn int(&mut self, value: i64) -> u8 {
        if let Some(small) = tag::small(value) {
            return small;
        }
        push_uint(
            &mut self.out,
            u64::from_le_bytes(value.to_le_bytes()),
            signed_width(value),
        );
        tag::INT
    }

    /// In the fewest bytes.
    fn float(&mut self, value: f64) -> u8 {
        let dec = decimal::least(value, 0);
        let dec = dec.map(|(e, m)| (e, m, signed_width(m).saturating_add(1)));
        let single = decimal::is_f32(value);
        match dec {
            Some((e, m, size)) if size < if single { 4 } else { 8 } => {
                push_uint(&mut self.out, e as u64, 1);
                push_uint(
                    &mut self.out,
                    u64::from_le_bytes(m.to_le_bytes()),
                    signed_width(m),
                );
                tag::DEC
            }
            _ if single => {
                self.out.extend(numbers::single(value).to_le_bytes());
                tag::F32
            }
            _ => {
                self.out.extend(value.to_le_bytes());
                tag::F64
            }
        }
    }

    #[inline]
    fn string(&mut self, tape: &Tape<'_>, node: Node, tag: u8) -> u8 {
        match self.packed(tape, node) {
            Some(packed) => {
                self.out.extend_from_slice(&packed);
                tag::LZ4
            }
            None => self.text(tape, node, tag),
        }
    }

    fn text(&mut self, tape: &Tape<'_>, node: Node, tag: u8) -> u8 {
        self.out.extend_from_slice(tape.bytes(node));
        tag
    }

    /// Writes the list of an array of the source, in segments if it is long.
    pub(super) fn array(&mut self, tape: &Tape<'_>, items: &[Node]) -> Result<()> {
        if items.len() <= SEGMENT || is_packed(node::kinds(items)) {
            return self.list(tape, items, Count::Written);
        }
        let base = self.lengths.len();
        for segment in items.chunks(SEGMENT) {
            self.segment(tape, segment)?;
        }
        self.segmented(base, items.len());
        Ok(())
    }

    /// Writes one segment of a long array.
    pub(super) fn segment(&mut self, tape: &Tape<'_>, items: &[Node]) -> Result<()> {
        let before = self.out.len();
        self.list(tape, items, Count::Given)?;
        self.lengths.push(self.out.len().saturating_sub(before));
        Ok(())
    }

    /// Ends a long array of `n` elements whose segments' lengths lie from `base` on.
    pub(super) fn segmented(&mut self, base: usize, n: usize) {
        let mode = lens::write(&mut self.out, self.lengths.get(base..).unwrap_or_default());
        self.lengths.truncate(base);
        push_rv(&mut self.out, SEGMENT as u64);
        self.end(kind::SEGMENTED, mode, n, Count::Written);
    }

    /// Writes a list by the first rule that fits.
    pub(super) fn list(&mut self, tape: &Tape<'_>, items: &[Node], count: Count) -> Result<()> {
        let Some(&first) = items.first() else {
            return Ok(());
        };
        if self.depth >= MAX_LISTS {
            let text = format!("more than {MAX_DEPTH} levels");
            return Err(Error::new(ErrorKind::Limit, text).with_format("blit"));
        }
        self.depth = self.depth.wrapping_add(1);
        let depth = self.depth;
        let result = stack::grown(depth, || self.list_of(tape, items, first, count));
        self.depth = self.depth.wrapping_sub(1);
        result
    }

    fn list_of(
        &mut self,
        tape: &Tape<'_>,
        items: &[Node],
        first: Node,
        count: Count,
    ) -> Result<()> {
        if items.len() == 1 {
            return self.one_by_one(tape, items, count);
        }
        let mask = node::kinds(items);
        let columns = self.layout == Layout::Columns;
        if is_same(items, first, mask) {
            return self.one_by_one(tape, items, count);
        }
        if mask & !node::BOOLS == 0 {
            self.bitmap(items, count);
            return Ok(());
        }
        if mask == node::INTS {
            self.ints(items, count);
            return Ok(());
        }
        if mask & node::FLOATS != 0 && mask & !(node::INTS | node::FLOATS) == 0 {
            if let Some(ints) = numbers::mixed(items, mask) {
                self.floats(items, ints, count);
                return Ok(());
            }
        }
        if mask == node::ARRAYS && columns {
            return self.arrays(tape, items, first, count);
        }
        if mask == node::OBJECTS && columns {
            if let Some(table) = self.table(items) {
                return self.columns(tape, items, &table, count);
            }
        }
        if mask & !node::STRINGS == 0 {
            if self.dictionary(tape, items, count) {
                return Ok(());
            }
            if items.iter().any(|&item| self.packed(tape, item).is_some()) {
                return self.one_by_one(tape, items, count);
            }
            self.strings(tape, items, count);
            return Ok(());
        }
        if let Some(absent) = partial(items, mask) {
            return self.partial(tape, items, absent, count);
        }
        self.one_by_one(tape, items, count)
    }

    /// Each value for itself: `UNIFORM` if all have one tag, else `GENERIC`.
    fn one_by_one(&mut self, tape: &Tape<'_>, items: &[Node], count: Count) -> Result<()> {
        let (tags, lengths) = (self.tags.len(), self.lengths.len());
        let mut uniform = true;
        let pools = self.pools(items);
        for &item in items {
            let before = self.out.len();
            let tag = match self.pooled(tape, item, pools) {
                Some(tag) => tag,
                None => self.value(tape, item)?,
            };
            uniform &= self.tags.get(tags).is_none_or(|&first| first == tag);
            self.tags.push(tag);
            self.lengths.push(self.out.len().saturating_sub(before));
        }
        let kind = if uniform {
            kind::UNIFORM
        } else {
            kind::GENERIC
        };
        if !uniform {
            self.out
                .extend_from_slice(self.tags.get(tags..).unwrap_or_default());
        }
        let mode = lens::write(
            &mut self.out,
            self.lengths.get(lengths..).unwrap_or_default(),
        );
        if uniform {
            self.out.extend(self.tags.get(tags));
        }
        self.tags.truncate(tags);
        self.lengths.truncate(lengths);
        self.end(kind, mode, items.len(), count);
        Ok(())
    }

    fn bitmap(&mut self, items: &[Node], count: Count) {
        push_bits(
            &mut self.out,
            items.iter().map(|item| item.kind == Kind::True),
        );
        self.end(kind::BITMAP, 0, items.len(), count);
    }

    /// Those that are there, and a bit for each place.
    fn partial(
        &mut self,
        tape: &Tape<'_>,
        items: &[Node],
        absent: Kind,
        count: Count,
    ) -> Result<()> {
        const RANKED: usize = 512;
        let mut others = self.spare.pop().unwrap_or_default();
        others.extend(items.iter().filter(|item| item.kind != absent));
        let result = self.list(tape, &others, Count::Written);
        others.clear();
        self.spare.push(others);
        result?;
        let is_there = |item: &Node| item.kind != absent;
        push_bits(&mut self.out, items.iter().map(is_there));
        let ranks = items.len().saturating_sub(1) / RANKED;
        if ranks > 0 {
            let ranks = || {
                let sums = items.chunks(RANKED).scan(0_u64, |sum, group| {
                    *sum = sum
                        .saturating_add(group.iter().filter(|&item| is_there(item)).count() as u64);
                    Some(*sum)
                });
                sums.take(ranks)
            };
            let width = unsigned_width(ranks().last().unwrap_or(0));
            for rank in ranks() {
                push_uint(&mut self.out, rank, width);
            }
            push_uint(&mut self.out, width as u64, 1);
        }
        self.out.push(if absent == Kind::Null {
            tag::NULL
        } else {
            tag::ABSENT
        });
        self.end(kind::PARTIAL, 0, items.len(), count);
        Ok(())
    }

    /// Writes a list's last bytes.
    fn end(&mut self, kind: u8, mode: u8, n: usize, count: Count) {
        if count == Count::Written {
            push_rv(&mut self.out, n as u64);
        }
        self.out.push(kind | mode << 4);
    }

    /// Zeros up to the next multiple of `width`, where numbers are aligned.
    fn align(&mut self, n: usize, width: usize) {
        if self.aligned && n >= ALIGNED_FROM {
            let at = self.drained.wrapping_add(self.out.len());
            let gap = at.next_multiple_of(width.max(1)).wrapping_sub(at);
            self.out.resize(self.out.len().saturating_add(gap), 0);
        }
    }
}

/// Numbers and bools only: a list that is not cut into segments.
pub(super) fn is_packed(mask: Mask) -> bool {
    mask & !(node::INTS | node::FLOATS | node::BOOLS) == 0
}

/// Whether all are the same value that a tag alone says.
fn is_same(items: &[Node], first: Node, mask: Mask) -> bool {
    let bare = node::NULLS | node::ABSENTS | node::BOOLS;
    if mask.count_ones() != 1 || mask & (bare | node::INTS) == 0 {
        return false;
    }
    let small = mask & bare != 0 || tag::small(first.as_int()).is_some();
    small && items.iter().all(|item| item.bits == first.bits)
}

/// What is left out of a list that has gaps, if that pays.
fn partial(items: &[Node], mask: Mask) -> Option<Kind> {
    if items.len() < WORTHWHILE || mask & (node::NULLS | node::ABSENTS) == 0 {
        return None;
    }
    let absent = if mask & node::ABSENTS != 0 {
        Kind::Absent
    } else {
        Kind::Null
    };
    if !node::one_class(mask & !(node::NULLS | node::ABSENTS)) {
        return None;
    }
    let others = items
        .iter()
        .filter(|item| item.kind != absent)
        .take(2)
        .count();
    (others >= 2).then_some(absent)
}

/// Bit `i` of byte `i / 8`, from the low end.
fn push_bits(out: &mut Vec<u8>, bits: impl Iterator<Item = bool>) {
    let (mut byte, mut at) = (0_u8, 0_u8);
    for bit in bits {
        byte |= u8::from(bit) << at;
        at = at.wrapping_add(1);
        if at == 8 {
            out.push(byte);
            (byte, at) = (0, 0);
        }
    }
    if at > 0 {
        out.push(byte);
    }
}
