//! A document's frame: its trailer, its names, its shapes, its pool.

#![allow(clippy::inline_always, reason = "a tenth of the time of a lookup")]

use super::keys::fingerprint;
use super::layout::{
    broken, flag, kind, malformed, tag, uint, unsigned_width, Back, END_MAGIC, FINGERPRINTED,
    MAGIC, SHORTEST, VERSION,
};
use super::lens::Lens;
use super::list::{number, Extent, Ranges};
use super::place::Place;
use crate::{ErrorKind, Result};

/// What every part of a document is read with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doc<'a> {
    /// The bytes of the values, from which all extents count.
    pub(super) data: &'a [u8],
    pub(super) root: Place,
    pub(super) flags: u8,
    pub(super) keys: Keys<'a>,
    pub(super) shapes: Shapes<'a>,
    pub(super) pool: Option<Strings<'a>>,
    /// Where the trailer begins; where the values end, if there is none.
    pub(super) trailer: usize,
}

/// Names, shapes and pooled strings, which may lie elsewhere than the values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dictionary<'a> {
    pub(super) keys: Keys<'a>,
    pub(super) shapes: Shapes<'a>,
    pub(super) pool: Option<Strings<'a>>,
}

impl<'a> Dictionary<'a> {
    /// Reads the headers of sections: each its extent in `data`, and how many are in it.
    ///
    /// # Errors
    /// `Malformed` for a section that is none.
    pub(super) fn read(
        data: &'a [u8],
        keys: (Extent, usize),
        shapes: (Extent, usize),
        pool: Option<(Extent, usize)>,
    ) -> Result<Self> {
        Ok(Self {
            keys: Keys::read(data, keys.0, keys.1)?,
            shapes: Shapes::read(data, shapes.0, shapes.1, keys.1)?,
            pool: match pool {
                Some((at, n)) => Some(Strings::read(data, at, n, "V12")?),
                None => None,
            },
        })
    }
}

impl<'a> Doc<'a> {
    /// Reads the trailer, and the headers of the sections; looks at nothing else.
    ///
    /// # Errors
    /// `Truncated`, `Malformed`, `Unsupported` with the rule and the byte.
    pub(super) fn open(data: &'a [u8]) -> Result<Self> {
        let len = data.len();
        if len < SHORTEST {
            let text = format!("{len} bytes, and the shortest document has {SHORTEST}");
            return Err(broken(ErrorKind::Truncated, "V1", &text, len));
        }
        if !data.starts_with(MAGIC) {
            return Err(malformed("V2", "it does not begin with BLT1", 0));
        }
        let mut back = Back::new(data, MAGIC.len(), len);
        if back.bytes(2)? != END_MAGIC {
            let text = "it does not end with BT: cut, or followed by other bytes";
            return Err(broken(ErrorKind::Truncated, "V3", text, len));
        }
        let length = usize::from(back.byte()?);
        let trailer = len
            .checked_sub(length)
            .filter(|&at| at >= MAGIC.len() && length >= 10);
        let Some(trailer) = trailer else {
            return Err(malformed(
                "V6",
                "a trailer of an impossible length",
                back.end,
            ));
        };
        back.start = trailer;
        if back.byte()? != VERSION {
            let text = "a version of blit that this one does not read";
            return Err(broken(ErrorKind::Unsupported, "V4", text, back.end));
        }
        let flags = back.byte()?;
        if flags & !flag::KNOWN != 0 {
            let text = "flags that this version does not have";
            return Err(broken(ErrorKind::Unsupported, "V4", text, back.end));
        }
        let root_tag = back.byte()?;
        let (nkeys, keys_len) = (back.rv()?, back.rv()?);
        let (nshapes, shapes_len) = (back.rv()?, back.rv()?);
        let (mut npool, mut pool_len) = (0, 0);
        if flags & flag::POOL != 0 {
            (npool, pool_len) = (back.rv()?, back.rv()?);
        }
        if flags & flag::CHECKSUM != 0 {
            back.bytes(8)?;
        }
        if back.end != trailer {
            return Err(malformed(
                "V6",
                "a trailer that holds more than it says",
                trailer,
            ));
        }
        let pool = section(trailer, pool_len)?;
        let shapes = section(pool.0, shapes_len)?;
        let keys = section(shapes.0, keys_len)?;
        let pool = (flags & flag::POOL != 0).then_some((pool, npool));
        let root = Place::stored(root_tag, (MAGIC.len(), keys.0));
        let dictionary = Dictionary::read(data, (keys, nkeys), (shapes, nshapes), pool)?;
        let mut doc = Self::part(data, &dictionary, flags, root);
        doc.trailer = trailer;
        Ok(doc)
    }

    /// Values without a frame of their own, whose names and shapes are elsewhere: `root` is one
    /// of them.
    #[inline]
    pub(super) fn part(
        data: &'a [u8],
        dictionary: &Dictionary<'a>,
        flags: u8,
        root: Place,
    ) -> Self {
        Self {
            data,
            root,
            flags,
            keys: dictionary.keys,
            shapes: dictionary.shapes,
            pool: dictionary.pool,
            trailer: data.len(),
        }
    }

    /// The bytes of an extent.
    #[inline]
    pub(super) fn bytes(&self, at: Extent) -> Result<&'a [u8]> {
        let found = self.data.get(at.0..at.1);
        found.ok_or_else(|| malformed("V18", "an extent outside the document", at.1))
    }
}

/// The extent of a section that ends at `end`.
fn section(end: usize, len: usize) -> Result<Extent> {
    match end.checked_sub(len).filter(|&start| start >= MAGIC.len()) {
        Some(start) => Ok((start, end)),
        None => Err(malformed("V6", "sections longer than the document", end)),
    }
}

/// Strings side by side, all of one tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strings<'a> {
    /// The bytes that `at` counts from.
    pub(super) data: &'a [u8],
    pub(super) n: usize,
    pub(super) tag: u8,
    pub(super) at: Ranges<'a>,
}

impl<'a> Strings<'a> {
    const NONE: Self = Self {
        data: &[],
        n: 0,
        tag: tag::ASCII,
        at: Ranges {
            start: 0,
            total: 0,
            lens: Lens::NONE,
        },
    };

    fn read(data: &'a [u8], at: Extent, n: usize, rule: &'static str) -> Result<Self> {
        if n == 0 || at.0 == at.1 {
            if n == 0 && at.0 == at.1 {
                return Ok(Self::NONE);
            }
            return Err(malformed(
                rule,
                "a section that is empty without being so, or the reverse",
                at.1,
            ));
        }
        let mut back = Back::new(data, at.0, at.1);
        let last = back.byte()?;
        let tag = back.byte()?;
        let is_text = matches!(tag, tag::CLEAN | tag::STR | tag::ASCII);
        if last & 0xF != kind::UNIFORM || !is_text {
            return Err(malformed(
                rule,
                "a section that is no list of strings",
                back.end,
            ));
        }
        let lens = Lens::read(&mut back, last >> 4, n)?;
        let total = back.end.wrapping_sub(at.0);
        Ok(Self {
            data,
            n,
            tag,
            at: Ranges {
                start: at.0,
                total,
                lens,
            },
        })
    }

    /// The bytes of string `i`.
    #[inline(always)]
    pub(super) fn get(&self, i: usize) -> Result<&'a [u8]> {
        let (from, to) = self.at.get(i)?;
        Ok(self.data.get(from..to).unwrap_or_default())
    }
}

/// Names, and how they are found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys<'a> {
    pub(super) names: Strings<'a>,
    /// A byte of each name's hash, or the ids in the order of names.
    pub(super) finder: &'a [u8],
    /// Bytes of an id in the order; 0 where there are hashes.
    pub(super) width: usize,
    /// Where the finder begins.
    pub(super) finder_at: usize,
}

impl<'a> Keys<'a> {
    fn read(data: &'a [u8], at: Extent, n: usize) -> Result<Self> {
        let (width, size) = if n <= FINGERPRINTED {
            (0, n)
        } else {
            let width = unsigned_width(n.wrapping_sub(1) as u64);
            (width, n.saturating_mul(width))
        };
        let mut back = Back::new(data, at.0, at.1);
        let finder = back.bytes(size)?;
        let names = Strings::read(data, (at.0, back.end), n, "V10")?;
        Ok(Self {
            names,
            finder,
            width,
            finder_at: back.end,
        })
    }

    /// A name.
    #[inline]
    pub(super) fn name(&self, id: usize) -> Result<&'a [u8]> {
        self.names.get(id)
    }

    /// The id of a name.
    ///
    /// # Errors
    /// `Malformed` where the section is not what it says.
    #[inline]
    pub(super) fn find(&self, name: &[u8]) -> Result<Option<usize>> {
        if self.width > 0 {
            return self.search(name);
        }
        let print = fingerprint(name);
        for id in memchr::memchr_iter(print, self.finder) {
            if self.name(id)? == name {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    fn search(&self, name: &[u8]) -> Result<Option<usize>> {
        let (mut from, mut to) = (0, self.names.n);
        while from < to {
            let middle = from.wrapping_add(to.wrapping_sub(from) / 2);
            let id = self.sorted(middle);
            match self.name(id)?.cmp(name) {
                std::cmp::Ordering::Equal => return Ok(Some(id)),
                std::cmp::Ordering::Less => from = middle.wrapping_add(1),
                std::cmp::Ordering::Greater => to = middle,
            }
        }
        Ok(None)
    }

    /// The id of the name at a place of the order.
    pub(super) fn sorted(&self, place: usize) -> usize {
        let id = number(self.finder, place, self.width);
        id.and_then(|id| usize::try_from(id).ok())
            .unwrap_or(usize::MAX)
    }
}

/// Key sequences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shapes<'a> {
    /// The bytes that `at` counts from.
    data: &'a [u8],
    pub(super) n: usize,
    pub(super) at: Ranges<'a>,
    /// Bytes of a key id.
    pub(super) width: usize,
}

/// The keys of an object, in order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'a> {
    Ids {
        ids: &'a [u8],
        width: usize,
    },
    /// So many ids from one on.
    Run {
        start: usize,
        n: usize,
    },
}

impl<'a> Shapes<'a> {
    fn read(data: &'a [u8], at: Extent, n: usize, nkeys: usize) -> Result<Self> {
        let empty = Ranges {
            start: 0,
            total: 0,
            lens: Lens::NONE,
        };
        if n == 0 || at.0 == at.1 {
            if n == 0 && at.0 == at.1 {
                return Ok(Self {
                    data,
                    n,
                    at: empty,
                    width: 1,
                });
            }
            return Err(malformed(
                "V11",
                "a section that is empty without being so, or the reverse",
                at.1,
            ));
        }
        let mut back = Back::new(data, at.0, at.1);
        let last = back.byte()?;
        let width = usize::from(last & 0xF).wrapping_add(1);
        if width > 4 || width != unsigned_width(nkeys.saturating_sub(1) as u64) {
            return Err(malformed(
                "V11",
                "key ids of another width than there are keys for",
                back.end,
            ));
        }
        let lens = Lens::read(&mut back, last >> 4, n)?;
        let total = back.end.wrapping_sub(at.0);
        Ok(Self {
            data,
            n,
            at: Ranges {
                start: at.0,
                total,
                lens,
            },
            width,
        })
    }

    /// The keys of a shape.
    ///
    /// # Errors
    /// `Malformed` for a shape that is not, or is no shape.
    #[inline(always)]
    pub(super) fn get(&self, id: usize) -> Result<Shape<'a>> {
        if id >= self.n {
            return Err(malformed("V17", "a shape that is not there", self.at.start));
        }
        let (start, end) = self.at.get(id)?;
        let mut back = Back::new(self.data, start, end);
        match back.byte()? {
            0 => {
                let ids = self.data.get(start..back.end).unwrap_or_default();
                if ids.is_empty() || whole(ids.len(), self.width).is_none() {
                    return Err(malformed("V11", "a shape of no whole ids", start));
                }
                Ok(Shape::Ids {
                    ids,
                    width: self.width,
                })
            }
            1 => {
                let n = back.rv()?;
                let first = back.rv()?;
                if back.end != start || n == 0 {
                    return Err(malformed("V11", "a run of keys that is not one", start));
                }
                Ok(Shape::Run { start: first, n })
            }
            _ => Err(malformed("V11", "a shape of a form that is not", back.end)),
        }
    }

    /// The place of the last value of a key in a shape, and how many places there are: no less
    /// if the key is not among them.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    #[inline(always)]
    pub(super) fn slot(&self, id: usize, key: usize) -> Result<(usize, usize)> {
        let shape = self.get(id)?;
        Ok((shape.slot(key).unwrap_or(usize::MAX), shape.len()))
    }
}

/// How many ids of `width` bytes there are in so many bytes; without a division, which takes
/// longer than all else.
#[inline]
fn whole(bytes: usize, width: usize) -> Option<usize> {
    let (n, part) = match width {
        1 => (bytes, 0),
        2 => (bytes / 2, bytes % 2),
        3 => (bytes / 3, bytes % 3),
        _ => (bytes / 4, bytes % 4),
    };
    (part == 0).then_some(n)
}

/// The last place of a byte.
#[inline(always)]
fn last_place(bytes: &[u8], byte: u8) -> Option<usize> {
    const FEW: usize = 64;
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    if bytes.len() > FEW {
        return memchr::memrchr(byte, bytes);
    }
    let wanted = u64::from(byte).wrapping_mul(0x0101_0101_0101_0101);
    let mut end = bytes.len();
    for word in bytes.rchunks(8) {
        let other = uint(word) ^ wanted;
        // Bit 7 of the bytes that are the wanted one, and of none else.
        let mut found = !((other & LOW).wrapping_add(LOW) | other | LOW);
        if word.len() < 8 {
            found &= !(u64::MAX << (word.len() * 8));
        }
        if found != 0 {
            let from_end = (found.leading_zeros() / 8) as usize;
            let before = 8_usize.wrapping_sub(word.len());
            return end.checked_sub(from_end.wrapping_sub(before).wrapping_add(1));
        }
        end = end.wrapping_sub(word.len());
    }
    None
}

impl Shape<'_> {
    /// How many keys there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Ids { ids, width } => whole(ids.len(), *width).unwrap_or(0),
            Self::Run { n, .. } => *n,
        }
    }

    /// The id of key `i`; one that is not there beyond the last.
    #[inline]
    pub(super) fn id(&self, i: usize) -> usize {
        match self {
            Self::Ids { ids, width } => number(ids, i, *width)
                .and_then(|id| usize::try_from(id).ok())
                .unwrap_or(usize::MAX),
            Self::Run { start, .. } => start.saturating_add(i),
        }
    }

    /// The place of the last value of a key.
    #[inline(always)]
    pub(super) fn slot(&self, id: usize) -> Option<usize> {
        match self {
            Self::Run { start, n } => id.checked_sub(*start).filter(|slot| slot < n),
            Self::Ids { ids, width: 1 } => {
                let id = u8::try_from(id).ok()?;
                last_place(ids, id)
            }
            Self::Ids { ids, width: 2 } => {
                let id = u16::try_from(id).ok()?.to_le_bytes();
                ids.chunks_exact(2).rposition(|other| other == id)
            }
            Self::Ids { .. } => (0..self.len()).rev().find(|&i| self.id(i) == id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_place_of_a_byte_is_found() {
        for len in 0..70 {
            let bytes: Vec<u8> = (0..len).map(|i| i % 9 * 29).collect();
            for byte in 0..=255 {
                let expected = bytes.iter().rposition(|&other| other == byte);
                assert_eq!(expected, last_place(&bytes, byte), "{byte} of {len}");
            }
        }
    }
}
