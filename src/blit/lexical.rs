//! The order of an object's names by their bytes, worked out when it is needed.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::doc::{Doc, Shape};
use super::layout::uint;
use crate::Result;

/// Groups of so few names are compared as a whole.
const FEW: usize = 6;
/// Names are looked at so many times, sixteen bytes each, before they are compared as a whole.
const LEVELS: usize = 8;
const WORD: usize = 16;

/// Ids of shapes below so many have places of their own from the start, and later ones so many
/// more for each shape that was sorted.
const DENSE: (usize, usize) = (64, 16);

/// Names of an object that are sorted where they are found.
const SMALL: usize = 16;

/// The sorted places of shapes: each once, and none that is in order as it is.
#[derive(Debug, Default)]
pub(super) struct Lexical<'v> {
    shapes: Vec<Option<Order>>,
    /// The first one, often the only one.
    first: Option<(usize, Order)>,
    /// Those of high ids, of which a small document in a large collection has a few.
    others: BTreeMap<usize, Order>,
    sorted: usize,
    /// The place of each key id in the order of all names.
    ranks: Option<Vec<usize>>,
    /// Names that were compared without ranks.
    compared: usize,
    /// All names, where most of them are needed.
    pub(super) texts: Option<Rc<Texts<'v>>>,
}

/// The places of a shape in the order of its names; None if as they are.
pub(super) type Order = Option<Slots>;

/// Places, a few of them without memory of their own.
#[derive(Clone, Debug)]
pub(super) enum Slots {
    Few([u8; SMALL], u8),
    Many(Rc<[u32]>),
}

impl Slots {
    fn few(slots: impl ExactSizeIterator<Item = u32>) -> Self {
        let n = u8::try_from(slots.len()).unwrap_or(u8::MAX);
        let mut few = [0; SMALL];
        for (place, slot) in few.iter_mut().zip(slots) {
            *place = u8::try_from(slot).unwrap_or(u8::MAX);
        }
        Self::Few(few, n)
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<usize> {
        match self {
            Self::Few(slots, n) => {
                let slot = slots.get(place).filter(|_| place < usize::from(*n));
                slot.map(|&slot| usize::from(slot))
            }
            Self::Many(slots) => slots.get(place).map(|&slot| slot as usize),
        }
    }

    /// All of them.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..).map_while(|place| self.get(place))
    }
}

/// All names, where each is found by two numbers; none where few are needed.
#[derive(Debug, Default)]
pub(super) struct Texts<'v> {
    data: &'v [u8],
    start: usize,
    ends: Vec<u32>,
}

impl<'v> Texts<'v> {
    /// Those of a document.
    ///
    /// # Errors
    /// `Malformed`.
    pub(super) fn of(doc: &Doc<'v>) -> Result<Self> {
        let names = &doc.keys.names;
        let total = names.at.total;
        let mut ends = Vec::new();
        if u32::try_from(total).is_ok() {
            ends.reserve_exact(names.n);
            for range in names.at.lens.lengths(total) {
                ends.push(u32::try_from(range?.1).unwrap_or(u32::MAX));
            }
        }
        Ok(Self {
            data: names.data,
            start: names.at.start,
            ends,
        })
    }

    /// The bytes of all.
    pub(super) fn size(&self) -> usize {
        self.ends.last().map_or(0, |&end| end as usize)
    }

    /// A name by its id.
    #[inline]
    pub(super) fn get(&self, id: usize) -> Option<&'v [u8]> {
        let (from, to) = self.range(id)?;
        self.data.get(from..to)
    }

    #[inline]
    fn range(&self, id: usize) -> Option<(usize, usize)> {
        let to = *self.ends.get(id)?;
        let from = match id.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        let at = |end: u32| self.start.wrapping_add(end as usize);
        Some((at(from), at(to)))
    }
}

impl<'v> Lexical<'v> {
    /// The order of shape `id`.
    ///
    /// # Errors
    /// `Malformed` where names are not what they say.
    #[inline]
    pub(super) fn of(&mut self, doc: &Doc<'v>, id: usize, shape: &Shape<'v>) -> Result<Order> {
        if let Some(Some(known)) = self.shapes.get(id) {
            return Ok(known.clone());
        }
        let first = self.first.as_ref().filter(|first| first.0 == id);
        if let Some(known) = first.map(|first| &first.1).or_else(|| self.others.get(&id)) {
            return Ok(known.clone());
        }
        let order = self.sorted(doc, shape)?;
        self.keep(id, order.clone());
        Ok(order)
    }

    /// Remembers an order, in memory for the shapes that are used, not for all that there are.
    fn keep(&mut self, id: usize, order: Order) {
        let (first, each) = DENSE;
        if self.sorted == 0 {
            self.first = Some((id, order));
        } else if id >= self.sorted.saturating_mul(each).saturating_add(first) {
            self.others.insert(id, order);
        } else {
            if self.shapes.len() <= id {
                self.shapes.resize(id.saturating_add(1), None);
            }
            if let Some(place) = self.shapes.get_mut(id) {
                *place = Some(order);
            }
        }
        self.sorted = self.sorted.saturating_add(1);
    }

    #[inline(never)]
    fn sorted(&mut self, doc: &Doc<'v>, shape: &Shape<'v>) -> Result<Order> {
        let (n, all) = (shape.len(), doc.keys.names.n);
        // Names that are not there, any number of them, are those of a damaged document: whoever
        // takes them says so.
        if n > all && matches!(shape, Shape::Run { .. }) {
            return Ok(None);
        }
        // One of many shapes is sorted by its own names; where most are needed, all names are.
        self.compared = self.compared.saturating_add(n);
        if self.compared > all && self.ranks.is_none() {
            self.ranks = Some(self.all_ranks(doc)?);
        }
        if let Some(ranks) = &self.ranks {
            let rank = |slot: &u32| ranks.get(shape.id(*slot as usize)).copied();
            let rank = |slot: &u32| rank(slot).unwrap_or(usize::MAX);
            let mut slots: Vec<u32> = (0..).take(n).collect();
            if slots.is_sorted_by_key(rank) {
                return Ok(None);
            }
            slots.sort_by_key(rank);
            return Ok(Some(if n <= SMALL {
                Slots::few(slots.into_iter())
            } else {
                Slots::Many(slots.into())
            }));
        }
        if n <= SMALL {
            return self.small(doc, shape);
        }
        let Some(names) = self.order(doc, n, |slot| shape.id(slot))? else {
            return Ok(None);
        };
        let as_they_are = (0..).zip(&names).all(|(i, name)| i == name.place);
        let places = || Slots::Many(names.iter().map(|name| name.place).collect());
        Ok((!as_they_are).then(places))
    }

    /// The order of a few names, without memory for them.
    #[inline(never)] // its array is not to be on the stack of every level
    fn small(&self, doc: &Doc<'v>, shape: &Shape<'v>) -> Result<Order> {
        let mut names = [(0_u128, 0_u32, &[] as &[u8]); SMALL];
        let names = names.get_mut(..shape.len()).unwrap_or_default();
        for (name, slot) in names.iter_mut().zip(0..) {
            let id = shape.id(slot as usize);
            let text = self.texts.as_ref().and_then(|texts| texts.get(id));
            let text = match text {
                Some(text) => text,
                None if id >= doc.keys.names.n => return Ok(None),
                None => doc.keys.name(id)?,
            };
            *name = (word(text), slot, text);
        }
        // Zeros behind the end are not to be taken for those of a longer name; equal names stay
        // in the order that they have.
        for end in 1..names.len() {
            for at in (1..=end).rev() {
                let Some([before, name]) = names.get_mut(at.wrapping_sub(1)..=at) else {
                    break;
                };
                if before.0 < name.0 || (before.0 == name.0 && before.2 <= name.2) {
                    break;
                }
                std::mem::swap(before, name);
            }
        }
        if names.is_sorted_by_key(|name| name.1) {
            return Ok(None);
        }
        Ok(Some(Slots::few(names.iter().map(|name| name.1))))
    }

    /// The place of each key id in the order of all names.
    fn all_ranks(&self, doc: &Doc<'v>) -> Result<Vec<usize>> {
        let n = doc.keys.names.n;
        let mut places = vec![usize::MAX; n];
        let mut put = |place: usize, id: usize| {
            if let Some(slot) = places.get_mut(id) {
                *slot = place;
            }
        };
        if doc.keys.width > 0 {
            // Many names have their order with them.
            (0..n).for_each(|place| put(place, doc.keys.sorted(place)));
            return Ok(places);
        }
        let order = self.order(doc, n, |id| id)?.unwrap_or_default();
        for (place, name) in order.iter().enumerate() {
            put(place, name.place as usize);
        }
        Ok(places)
    }

    /// The order of `n` names, by their ids; equal ones stay in that which they have. None if one
    /// of them is not there.
    fn order(
        &self,
        doc: &Doc<'v>,
        n: usize,
        id: impl Fn(usize) -> usize,
    ) -> Result<Option<Vec<Name>>> {
        let all = &doc.keys.names;
        let mut names = Vec::with_capacity(n);
        for (place, i) in (0..n).zip(0..) {
            let id = id(place);
            let range = self.texts.as_ref().and_then(|texts| texts.range(id));
            let (from, to) = match range {
                Some(range) => range,
                None if id >= all.n => return Ok(None),
                None => all.at.get(id)?,
            };
            names.push(Name::new(from, to.wrapping_sub(from), i));
        }
        sort(all.data, &mut names, 0, LEVELS);
        Ok(Some(names))
    }
}

/// A name that is sorted.
#[derive(Clone, Copy)]
struct Name {
    /// Bytes of it, as a number that is in the order of such bytes.
    word: u128,
    from: usize,
    len: u32,
    /// Where it was.
    place: u32,
}

impl Name {
    fn new(from: usize, len: usize, place: u32) -> Self {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        Self {
            word: 0,
            from,
            len,
            place,
        }
    }

    #[inline]
    fn bytes<'a>(&self, data: &'a [u8], depth: usize) -> &'a [u8] {
        let to = self.from.wrapping_add(self.len as usize);
        let from = self.from.wrapping_add(depth);
        data.get(from..to).unwrap_or_default()
    }
}

/// Sorts a group of names that have their first `depth` bytes in common.
fn sort(data: &[u8], group: &mut [Name], depth: usize, levels: usize) {
    if group.len() <= FEW || levels == 0 {
        let bytes = |name: &Name| name.bytes(data, depth);
        return group.sort_unstable_by(|a, b| bytes(a).cmp(bytes(b)).then(a.place.cmp(&b.place)));
    }
    let depth = depth.wrapping_add(shared(data, group, depth));
    for name in &mut *group {
        name.word = word(name.bytes(data, depth));
    }
    group.sort_unstable_by_key(|name| name.word);
    let next = depth.wrapping_add(WORD);
    for same in group.chunk_by_mut(|a, b| a.word == b.word) {
        if same.len() > 1 {
            // Zeros behind the end are not to be taken for those of a longer name.
            if same.iter().any(|name| (name.len as usize) < next) {
                sort(data, same, depth, 0);
            } else {
                sort(data, same, next, levels.wrapping_sub(1));
            }
        }
    }
}

/// The first sixteen bytes, the first one highest; zeros behind the end.
#[inline]
fn word(bytes: &[u8]) -> u128 {
    if let Some(all) = bytes.first_chunk::<WORD>() {
        return u128::from_le_bytes(*all).swap_bytes();
    }
    let (head, rest) = bytes.split_at_checked(WORD / 2).unwrap_or((bytes, &[]));
    let high = u128::from(uint(head).swap_bytes());
    high << 64 | u128::from(uint(rest).swap_bytes())
}

/// How many bytes from `depth` on all names of a group have in common.
fn shared(data: &[u8], group: &[Name], depth: usize) -> usize {
    let mut rests = group.iter().map(|name| name.bytes(data, depth));
    let Some(mut common) = rests.next() else {
        return 0;
    };
    for other in rests {
        let n = alike(common, other);
        common = common.get(..n).unwrap_or_default();
    }
    common.len()
}

/// How many bytes two texts begin with that are the same.
fn alike(a: &[u8], b: &[u8]) -> usize {
    let mut n = 0_usize;
    let (mut a, mut b) = (a, b);
    while let (Some((x, c)), Some((y, d))) =
        (a.split_first_chunk::<8>(), b.split_first_chunk::<8>())
    {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return n.wrapping_add((differ.trailing_zeros() / 8) as usize);
        }
        n = n.wrapping_add(8);
        (a, b) = (c, d);
    }
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    n.wrapping_add(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(names: &[Vec<u8>]) {
        let mut expected: Vec<u32> = (0..).take(names.len()).collect();
        expected.sort_by_key(|&i| &names[i as usize]);
        let mut from = 0;
        let mut found = Vec::new();
        for (name, i) in names.iter().zip(0..) {
            found.push(Name::new(from, name.len(), i));
            from += name.len();
        }
        sort(&names.concat(), &mut found, 0, LEVELS);
        let found: Vec<u32> = found.iter().map(|name| name.place).collect();
        assert_eq!(expected, found);
    }

    #[test]
    fn names_that_begin_alike() {
        // Each begins with all that the one before has, so that every level sets one apart.
        let long = (0..200_usize).map(|i| [vec![b'a'; 16 * i], vec![b'b']].concat());
        check(&long.clone().collect::<Vec<_>>());
        check(&long.rev().collect::<Vec<_>>());
        let same = |i: usize| format!("net/filter/{}", i % 7).into_bytes();
        check(&(0..90).map(same).collect::<Vec<_>>());
    }

    #[test]
    fn few_names_of_many_shapes() {
        use crate::blit::{from_json, JsonOptions, KeyOrder, Options, View};
        let long = "a".repeat(16);
        let one = format!(r#"{{"{long}b":1,"a\u0000":2,"{long}a":3,"a":4,"":5,"b":6,"{long}":7}}"#);
        let sorted =
            format!(r#"{{"":5,"a":4,"a\u0000":2,"{long}":7,"{long}a":3,"{long}b":1,"b":6}}"#);
        // Shapes of all ids, met from the last one on, twice each.
        let other = |i: usize| format!(r#"{{"y{i}":1,"x{i}":{one}}}"#);
        let others = |other: &dyn Fn(usize) -> String| {
            let all: Vec<_> = (0..300).chain(0..300).rev().map(other).collect();
            format!("[{}]", all.join(","))
        };
        let text = others(&other);
        let document = from_json(text.as_bytes(), &Options::default()).unwrap();
        let lexical = JsonOptions {
            order: KeyOrder::Lexical,
            ..JsonOptions::default()
        };
        let found = View::open(&document).unwrap().to_json(&lexical).unwrap();
        let sorted = |i: usize| format!(r#"{{"x{i}":{sorted},"y{i}":1}}"#);
        assert_eq!(others(&sorted), String::from_utf8(found).unwrap());
    }

    proptest! {
        #[test]
        fn any_names(names in prop::collection::vec(
            (prop_oneof![Just(""), Just("abcdefgh"), Just("abcdefghijklmnopq")],
             prop::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(b'a'), Just(255)], 0..12)),
            0..60,
        )) {
            let names = names.into_iter().map(|(head, rest)| [head.as_bytes(), &rest].concat());
            check(&names.collect::<Vec<_>>());
        }
    }
}
