//! Names while writing: each once, with the id that it is written by.

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::layout::{kind, push_uint, tag, unsigned_width, FINGERPRINTED};
use super::{lens, strings};
use crate::{Error, ErrorKind, Result};

/// A name that no object which is kept has.
pub(super) const UNUSED: u32 = u32::MAX;
/// Names up to this length are compared by their first and last eight bytes.
const TWO_WORDS: usize = 16;

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
    all: Vec<Name>,
    /// The name of each key id.
    order: Vec<u32>,
}

/// A name, with what it takes to find it again without its bytes.
#[derive(Clone, Copy)]
struct Name {
    hash: u64,
    /// The first eight bytes, or as many as there are.
    head: u64,
    /// The last eight bytes, of a name that has so many.
    last: u64,
    from: usize,
    len: u32,
    id: u32,
    tag: u8,
    /// Its fingerprint, where it is one of the first: only they can be so few that it is needed.
    print: u8,
}

impl Names {
    /// The number of a name, a new one if it was not met before; `tag` is its tag where it is known.
    ///
    /// # Errors
    /// `Limit` beyond 2^32 - 2 names, or 4 GiB in one.
    #[inline]
    pub(super) fn number(&mut self, name: &[u8], tag: Option<u8>) -> Result<u32> {
        let hash = strings::hash(&self.hasher, name);
        let (bytes, all) = (&self.bytes, &self.all);
        let same = |&number: &u32| text(bytes, all, number) == name;
        let hash_of = |&number: &u32| all.get(number as usize).map_or(0, |name| name.hash);
        let place = match self.table.entry(hash, same, hash_of) {
            Entry::Occupied(found) => return Ok(*found.get()),
            Entry::Vacant(place) => place,
        };
        let number = u32::try_from(self.all.len()).ok();
        let number = number.filter(|&number| number < UNUSED);
        let (Some(number), Ok(len)) = (number, u32::try_from(name.len())) else {
            let text = "more than 2^32 - 2 names, or a name of 4 GiB";
            return Err(Error::new(ErrorKind::Limit, text).with_format("blit"));
        };
        place.insert(number);
        self.add(name, len, hash, tag);
        Ok(number)
    }

    /// Forgets all names.
    pub(super) fn clear(&mut self) {
        self.table.clear();
        self.bytes.clear();
        self.all.clear();
        self.order.clear();
    }

    fn add(&mut self, name: &[u8], len: u32, hash: u64, tag: Option<u8>) {
        let head = name.first_chunk::<8>().copied().unwrap_or_else(|| {
            let mut head = [0; 8];
            for (place, byte) in head.iter_mut().zip(name) {
                *place = *byte;
            }
            head
        });
        let last = name.last_chunk::<8>().copied().unwrap_or_default();
        let print = if self.all.len() < FINGERPRINTED {
            fingerprint(name)
        } else {
            0
        };
        self.all.push(Name {
            hash,
            head: u64::from_le_bytes(head),
            last: u64::from_le_bytes(last),
            from: self.bytes.len(),
            len,
            id: UNUSED,
            tag: tag.unwrap_or_else(|| strings::tag_of_wtf8(name)),
            print,
        });
        self.bytes.extend_from_slice(name);
    }

    /// Length of the name if the text behind a quote is this name and the quote that ends it.
    #[inline]
    pub(super) fn is_next(&self, number: u32, rest: &[u8]) -> Option<usize> {
        let name = self.all.get(number as usize)?;
        let len = name.len as usize;
        // In a name that needs escapes the bytes of the text are others.
        if rest.get(len) != Some(&b'"') || name.tag == tag::STR {
            return None;
        }
        let same = match rest.first_chunk::<8>() {
            Some(head) if len < 8 => {
                let word = u64::from_le_bytes(*head) ^ name.head;
                // Bytes above the name's are shifted out.
                word << 8 << ((7_usize.wrapping_sub(len)) * 8) == 0
            }
            Some(head) if len <= TWO_WORDS => {
                let last = rest.get(..len).and_then(<[u8]>::last_chunk::<8>);
                u64::from_le_bytes(*head) == name.head
                    && last.is_some_and(|last| u64::from_le_bytes(*last) == name.last)
            }
            _ => rest.get(..len) == Some(self.text(number)),
        };
        same.then_some(len)
    }

    #[inline]
    pub(super) fn text(&self, number: u32) -> &[u8] {
        text(&self.bytes, &self.all, number)
    }

    /// Gives ids to those of `numbers` that have none, in order.
    pub(super) fn assign(&mut self, numbers: &[u32]) {
        for &number in numbers {
            if let Some(name) = self.all.get_mut(number as usize) {
                if name.id == UNUSED {
                    name.id = u32::try_from(self.order.len()).unwrap_or(UNUSED);
                    self.order.push(number);
                }
            }
        }
    }

    /// Takes ids back from `first` on: what had them may not be kept.
    pub(super) fn forget(&mut self, first: usize) {
        for number in self.order.drain(first.min(self.order.len())..) {
            if let Some(name) = self.all.get_mut(number as usize) {
                name.id = UNUSED;
            }
        }
    }

    /// The number of each id's name.
    pub(super) fn ids(&self) -> &[u32] {
        &self.order
    }

    fn print(&self, number: u32) -> u8 {
        let name = self.all.get(number as usize);
        match name.filter(|_| (number as usize) < FINGERPRINTED) {
            Some(name) => name.print,
            None => fingerprint(self.text(number)),
        }
    }

    /// How many names have ids.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// How many names were met.
    #[inline]
    pub(super) fn met(&self) -> usize {
        self.all.len()
    }

    pub(super) fn id(&self, number: u32) -> u32 {
        self.all.get(number as usize).map_or(UNUSED, |name| name.id)
    }

    /// Bytes of all names and their ids, about as they are written.
    pub(super) fn bytes(&self) -> usize {
        let ids = self.all.len().saturating_mul(2);
        self.bytes.len().saturating_add(ids)
    }

    /// Bytes that all names take.
    pub(super) fn memory(&self) -> usize {
        let names = self.all.capacity().saturating_mul(size_of::<Name>());
        let numbers = self.table.capacity().saturating_add(self.order.capacity());
        self.bytes
            .capacity()
            .saturating_add(names)
            .saturating_add(numbers.saturating_mul(size_of::<u32>()))
    }

    /// Whether all names have ids, in the order in which they came.
    fn in_order(&self) -> bool {
        self.order.len() == self.all.len()
            && (0..).zip(&self.order).all(|(id, &number)| id == number)
    }

    /// Appends the section KEYS.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if self.order.is_empty() {
            return;
        }
        let at = |&number: &u32| self.all.get(number as usize);
        let names = || self.order.iter().filter_map(at);
        let lengths: Vec<usize> = names().map(|name| name.len as usize).collect();
        let least = names().fold(tag::ASCII, |least, name| strings::weaker(least, name.tag));
        if self.in_order() {
            out.extend_from_slice(&self.bytes);
        } else {
            for &number in &self.order {
                out.extend_from_slice(self.text(number));
            }
        }
        let mode = lens::write(out, &lengths);
        out.push(least);
        out.push(kind::UNIFORM | mode << 4);
        if self.order.len() <= FINGERPRINTED {
            let prints = self.order.iter().map(|&number| self.print(number));
            out.extend(prints);
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
fn text<'a>(bytes: &'a [u8], all: &[Name], number: u32) -> &'a [u8] {
    let Some(name) = all.get(number as usize) else {
        return &[];
    };
    let end = name.from.wrapping_add(name.len as usize);
    bytes.get(name.from..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_in_the_text() {
        let mut names = Names::default();
        for name in [
            "",
            "a",
            "sevenab",
            "eight888",
            "nine99999",
            "sixteen-bytes-16",
            "seventeen-bytes-17",
            "\u{e9}t\u{e9}",
        ] {
            let number = names.number(name.as_bytes(), None).unwrap();
            for after in ["", ":", ":123456789"] {
                let text = format!("{name}\"{after}");
                assert_eq!(Some(name.len()), names.is_next(number, text.as_bytes()));
                assert_eq!(
                    None,
                    names.is_next(number, format!("{name}x{after}").as_bytes())
                );
                assert_eq!(None, names.is_next(number, name.as_bytes()));
                for at in 0..name.len() {
                    let mut other = text.clone().into_bytes();
                    other[at] ^= 1;
                    assert_eq!(None, names.is_next(number, &other), "{name} {at}");
                }
            }
        }
        let number = names.number(b"a\\", None).unwrap();
        assert_eq!(None, names.is_next(number, b"a\\\":12345678"));
    }
}
