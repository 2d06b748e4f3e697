//! Names and key sequences while writing: each name once, each sequence of names once.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::layout::{kind, push_rv, push_uint, tag, unsigned_width, FINGERPRINTED};
use super::{lens, strings};
use crate::{Error, ErrorKind, Result};

/// A name that no object which is kept has.
const UNUSED: u32 = u32::MAX;

/// What happens to objects that have a name twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// The last value stands, at the place of the first: as in Python and JavaScript.
    #[default]
    Last,
    /// They are refused.
    Error,
    /// All stay; looking up gives the last.
    Keep,
}

/// All names met, and the ids of those that are written.
#[derive(Default)]
pub(super) struct Names {
    hasher: DefaultHashBuilder,
    table: HashTable<u32>,
    bytes: Vec<u8>,
    /// Where each name ends in `bytes`.
    ends: Vec<usize>,
    /// The key id of each name.
    ids: Vec<u32>,
    /// The name of each key id.
    order: Vec<u32>,
}

impl Names {
    /// The number of a name, a new one if it was not met before.
    ///
    /// # Errors
    /// `Limit` beyond 2^32 - 2 names.
    #[inline]
    pub(super) fn number(&mut self, name: &[u8]) -> Result<u32> {
        let hash = self.hasher.hash_one(name);
        let (bytes, ends) = (&self.bytes, &self.ends);
        if let Some(&number) = self
            .table
            .find(hash, |&number| text(bytes, ends, number) == name)
        {
            return Ok(number);
        }
        let number = u32::try_from(self.ends.len())
            .ok()
            .filter(|&number| number < UNUSED);
        let number = number.ok_or_else(|| {
            Error::new(ErrorKind::Limit, "more than 2^32 - 2 names").with_format("blit")
        })?;
        self.bytes.extend_from_slice(name);
        self.ends.push(self.bytes.len());
        self.ids.push(UNUSED);
        let (bytes, ends, hasher) = (&self.bytes, &self.ends, &self.hasher);
        self.table.insert_unique(hash, number, |&number| {
            hasher.hash_one(text(bytes, ends, number))
        });
        Ok(number)
    }

    #[inline]
    pub(super) fn text(&self, number: u32) -> &[u8] {
        text(&self.bytes, &self.ends, number)
    }

    /// Gives ids to those of `numbers` that have none, in order.
    fn assign(&mut self, numbers: &[u32]) {
        for &number in numbers {
            if let Some(id @ &mut UNUSED) = self.ids.get_mut(number as usize) {
                *id = u32::try_from(self.order.len()).unwrap_or(UNUSED);
                self.order.push(number);
            }
        }
    }

    /// Takes ids back from `first` on: what had them may not be kept.
    pub(super) fn forget(&mut self, first: usize) {
        for number in self.order.drain(first.min(self.order.len())..) {
            if let Some(id) = self.ids.get_mut(number as usize) {
                *id = UNUSED;
            }
        }
    }

    /// How many names have ids.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    fn id(&self, number: u32) -> u32 {
        self.ids.get(number as usize).copied().unwrap_or(UNUSED)
    }

    /// Bytes of all names and their ids, about as they are written.
    pub(super) fn bytes(&self) -> usize {
        let ids = self.ends.len().saturating_mul(2);
        self.bytes.len().saturating_add(ids)
    }

    /// Bytes that all names take.
    pub(super) fn memory(&self) -> usize {
        let each = size_of::<usize>().saturating_add(16);
        self.bytes
            .capacity()
            .saturating_add(self.ends.capacity().saturating_mul(each))
    }

    /// Appends the section KEYS.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if self.order.is_empty() {
            return;
        }
        let names = || self.order.iter().map(|&number| self.text(number));
        let mut lengths = Vec::with_capacity(self.order.len());
        let mut least = tag::ASCII;
        for name in names() {
            out.extend_from_slice(name);
            lengths.push(name.len());
            least = strings::weaker(least, strings::tag_of_wtf8(name));
        }
        let mode = lens::write(out, &lengths);
        out.push(least);
        out.push(kind::UNIFORM | mode << 4);
        if self.order.len() <= FINGERPRINTED {
            out.extend(names().map(fingerprint));
            return;
        }
        let mut sorted: Vec<u32> = (0..).take(self.order.len()).collect();
        let name = |id: u32| self.order.get(id as usize).map(|&number| self.text(number));
        sorted.sort_unstable_by(|&a, &b| name(a).cmp(&name(b)));
        let width = unsigned_width(self.order.len().saturating_sub(1) as u64);
        for id in sorted {
            push_uint(out, u64::from(id), width);
        }
    }
}

/// One byte by which a name is found among few.
#[allow(clippy::cast_possible_truncation, reason = "the low byte is meant")]
pub(super) fn fingerprint(name: &[u8]) -> u8 {
    xxhash_rust::xxh3::xxh3_64(name) as u8
}

#[inline]
fn text<'a>(bytes: &'a [u8], ends: &[usize], number: u32) -> &'a [u8] {
    let at = number as usize;
    let from = at
        .checked_sub(1)
        .and_then(|before| ends.get(before).copied())
        .unwrap_or(0);
    ends.get(at)
        .and_then(|&end| bytes.get(from..end))
        .unwrap_or_default()
}

/// All sequences of names met, and the shape ids of those that were written.
#[derive(Default)]
pub(super) struct Sequences {
    hasher: DefaultHashBuilder,
    table: HashTable<u32>,
    items: Vec<u32>,
    ends: Vec<usize>,
    /// Of sequences with a name twice: the one without, and which values it keeps.
    folded: Vec<Option<Box<Folded>>>,
    shapes: Vec<u32>,
    /// The sequence of each shape id.
    order: Vec<u32>,
    /// Whether a sequence that was written has a name twice.
    pub(super) keeps_duplicates: bool,
}

/// A sequence without its duplicates.
struct Folded {
    sequence: u32,
    /// For each name left, the place of its last value.
    places: Vec<u32>,
}

impl Sequences {
    /// The number of a sequence that an object has, and the values it keeps if not all.
    ///
    /// # Errors
    /// `Malformed` for names that are there twice, where that is refused.
    pub(super) fn close(
        &mut self,
        numbers: &[u32],
        names: &mut Names,
        duplicates: Duplicates,
    ) -> Result<(u32, Option<&[u32]>)> {
        let found = self.find(numbers);
        let number = match found {
            Some(number) => number,
            None => self.first(numbers, names, duplicates)?,
        };
        match self.folded.get(number as usize).and_then(Option::as_ref) {
            Some(folded) => Ok((folded.sequence, Some(&folded.places))),
            None => Ok((number, None)),
        }
    }

    /// A sequence met for the first time.
    fn first(&mut self, numbers: &[u32], names: &mut Names, duplicates: Duplicates) -> Result<u32> {
        let places = match duplicates {
            Duplicates::Keep => None,
            _ => last_places(numbers),
        };
        let Some(places) = places else {
            names.assign(numbers);
            return Ok(self.add(numbers, None));
        };
        if duplicates == Duplicates::Error {
            let twice = places.iter().zip(numbers).enumerate();
            let twice = twice.filter(|&(i, (&place, _))| place as usize != i);
            let name = twice
                .map(|(_, (_, &number))| number)
                .next()
                .unwrap_or_default();
            let text = format!(
                "the name {:?} is there twice",
                String::from_utf8_lossy(names.text(name))
            );
            return Err(Error::new(ErrorKind::Malformed, text).with_format("blit"));
        }
        let kept: Vec<u32> = places
            .iter()
            .filter_map(|&place| numbers.get(place as usize).copied())
            .collect();
        names.assign(&kept);
        let sequence = self.find(&kept).unwrap_or_else(|| self.add(&kept, None));
        Ok(self.add(numbers, Some(Box::new(Folded { sequence, places }))))
    }

    /// Gives key ids to a sequence that is written.
    pub(super) fn assign(&self, sequence: u32, names: &mut Names) {
        names.assign(self.names(sequence));
    }

    /// The number of a sequence that columns have.
    pub(super) fn number(&mut self, numbers: &[u32]) -> u32 {
        self.find(numbers)
            .unwrap_or_else(|| self.add(numbers, None))
    }

    #[inline]
    fn find(&self, numbers: &[u32]) -> Option<u32> {
        let hash = self.hasher.hash_one(numbers);
        let same = |&number: &u32| items(&self.items, &self.ends, number) == numbers;
        self.table.find(hash, same).copied()
    }

    fn add(&mut self, numbers: &[u32], folded: Option<Box<Folded>>) -> u32 {
        let number = u32::try_from(self.ends.len()).unwrap_or(UNUSED);
        let hash = self.hasher.hash_one(numbers);
        self.items.extend_from_slice(numbers);
        self.ends.push(self.items.len());
        self.folded.push(folded);
        self.shapes.push(UNUSED);
        let (all, ends, hasher) = (&self.items, &self.ends, &self.hasher);
        self.table.insert_unique(hash, number, |&number| {
            hasher.hash_one(items(all, ends, number))
        });
        number
    }

    /// The names of a sequence.
    #[inline]
    pub(super) fn names(&self, number: u32) -> &[u32] {
        items(&self.items, &self.ends, number)
    }

    /// How many sequences there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The shape id of a sequence that is being written.
    pub(super) fn shape(&mut self, number: u32) -> u32 {
        let next = u32::try_from(self.order.len()).unwrap_or(UNUSED);
        match self.shapes.get_mut(number as usize) {
            Some(id @ &mut UNUSED) => {
                *id = next;
                self.order.push(number);
                self.keeps_duplicates |= last_places(self.names(number)).is_some();
                next
            }
            Some(id) => *id,
            None => UNUSED,
        }
    }

    /// Bytes of all sequences, about as they would be written.
    pub(super) fn bytes(&self) -> usize {
        self.items
            .len()
            .saturating_add(self.ends.len())
            .saturating_mul(2)
    }

    /// How many shapes were written.
    pub(super) fn shapes(&self) -> usize {
        self.order.len()
    }

    /// Appends the section SHAPES.
    pub(super) fn write(&self, names: &Names, out: &mut Vec<u8>) {
        if self.order.is_empty() {
            return;
        }
        let width = unsigned_width(names.len().saturating_sub(1) as u64);
        let mut lengths = Vec::with_capacity(self.order.len());
        for &number in &self.order {
            let before = out.len();
            write_shape(
                self.names(number).iter().map(|&name| names.id(name)),
                width,
                out,
            );
            lengths.push(out.len().saturating_sub(before));
        }
        let mode = lens::write(out, &lengths);
        #[allow(clippy::cast_possible_truncation, reason = "1 to 4")]
        out.push(width.saturating_sub(1) as u8 | mode << 4);
    }
}

fn write_shape(ids: impl Iterator<Item = u32> + Clone, width: usize, out: &mut Vec<u8>) {
    let (mut n, mut start, mut run) = (0_u32, 0, true);
    for id in ids.clone() {
        if n == 0 {
            start = id;
        }
        run &= id == start.wrapping_add(n);
        n = n.saturating_add(1);
    }
    if run && n >= 2 {
        push_rv(out, u64::from(start));
        push_rv(out, u64::from(n));
        out.push(1);
        return;
    }
    for id in ids {
        push_uint(out, u64::from(id), width);
    }
    out.push(0);
}

/// Where each name's last value is, in the order of first ones; None if no name is there twice.
fn last_places(numbers: &[u32]) -> Option<Vec<u32>> {
    const FEW: usize = 16;
    if numbers.len() <= FEW {
        let twice = |(i, number): (usize, &u32)| {
            numbers
                .iter()
                .skip(i.saturating_add(1))
                .any(|n| n == number)
        };
        if !numbers.iter().enumerate().any(twice) {
            return None;
        }
    } else {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        if !sorted.windows(2).any(|pair| pair.first() == pair.last()) {
            return None;
        }
    }
    let mut firsts: std::collections::HashMap<u32, usize> = std::collections::HashMap::new();
    let mut places: Vec<u32> = Vec::with_capacity(numbers.len());
    for (place, &number) in (0_u32..).zip(numbers) {
        match firsts.get(&number).and_then(|&at| places.get_mut(at)) {
            Some(last) => *last = place,
            None => {
                firsts.insert(number, places.len());
                places.push(place);
            }
        }
    }
    Some(places)
}

#[inline]
fn items<'a>(all: &'a [u32], ends: &[usize], number: u32) -> &'a [u32] {
    let at = number as usize;
    let from = at
        .checked_sub(1)
        .and_then(|before| ends.get(before).copied())
        .unwrap_or(0);
    ends.get(at)
        .and_then(|&end| all.get(from..end))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_ids_when_their_object_closes() {
        let (mut names, mut sequences) = (Names::default(), Sequences::default());
        let a = names.number(b"a").unwrap();
        let b = names.number(b"b").unwrap();
        assert_eq!(a, names.number(b"a").unwrap());
        let (inner, _) = sequences.close(&[b], &mut names, Duplicates::Last).unwrap();
        let (outer, _) = sequences.close(&[a], &mut names, Duplicates::Last).unwrap();
        assert_eq!((0, 1), (sequences.shape(inner), sequences.shape(outer)));
        assert_eq!(0, sequences.shape(inner));
        let mut out = Vec::new();
        names.write(&mut out);
        assert_eq!(b"\x62\x61\x01\x09\xA1\x3F\x1F"[..], out);
        out.clear();
        sequences.write(&names, &mut out);
        assert_eq!(b"\x00\x00\x01\x00\x02\xA0"[..], out);
    }

    #[test]
    fn the_last_value_stands_at_the_place_of_the_first() {
        let (mut names, mut sequences) = (Names::default(), Sequences::default());
        let numbers: Vec<u32> = [&b"a"[..], b"b", b"a"]
            .iter()
            .map(|name| names.number(name).unwrap())
            .collect();
        let (sequence, places) = sequences
            .close(&numbers, &mut names, Duplicates::Last)
            .unwrap();
        assert_eq!(Some(&[2, 1][..]), places);
        assert_eq!([0, 1], sequences.names(sequence));
        assert!(sequences
            .close(&numbers, &mut names, Duplicates::Last)
            .unwrap()
            .1
            .is_some());
        let mut refusing = Sequences::default();
        let error = refusing
            .close(&numbers, &mut names, Duplicates::Error)
            .unwrap_err();
        assert!(error.to_string().contains("\"a\""), "{error}");
        let many: Vec<u32> = (0..40).chain([3]).collect();
        assert_eq!(Some(&40), last_places(&many).unwrap().get(3));
    }
}
