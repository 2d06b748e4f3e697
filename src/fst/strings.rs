//! Columns of strings: an index of blocks; each has where its strings end, which are NA, the text.

use std::ops::Range;

use super::codec::{Codec, Method, Packing, Scratch, Zstd};
use super::element::load;
use super::fault::malformed;
use super::shuffle::unshuffle4;
use super::source::{reserve, u16_at, u32_at, u64_at, Source};
use super::texts::TextEncoding;
use crate::compress::ReadAt;
use crate::Result;

/// Strings in a block.
pub(super) const PER: u64 = 2047;

/// Where the strings of a column lie.
pub(super) struct Place {
    pub(super) encoding: TextEncoding,
    /// Behind its last byte.
    pub(super) end: u64,
    /// What offsets count from.
    base: u64,
    compressed: bool,
    count: u64,
}

/// One block: its text, and what of it is wanted.
pub(super) struct Block {
    /// Where the text lies.
    at: u64,
    stored: u64,
    method: Method,
    /// Bytes of the whole text.
    plain: usize,
    /// The wanted part of it.
    skip: usize,
    pub(super) take: usize,
    /// How many strings are wanted, and the bits of those that are NA, from a bit on.
    pub(super) strings: usize,
    pub(super) na: Option<(Vec<u32>, usize)>,
}

/// An entry of the index.
struct Entry {
    start: u64,
    end: u64,
    sizes: u64,
    methods: (Codec, Method),
}

impl Place {
    /// Reads the head of a column; `count` is not 0.
    pub(super) fn open<S: ReadAt>(source: &Source<S>, base: u64, count: u64) -> Result<Self> {
        let mut words = [0; 8];
        source.fill("a column of strings", base, &mut words)?;
        let (flags, per) = (u32_at(&words, 0), u32_at(&words, 4));
        let encoding = match flags >> 1 {
            0 => TextEncoding::Native,
            1 => TextEncoding::Latin1,
            2 => TextEncoding::Utf8,
            other => {
                return Err(malformed(
                    format!("encoding {other} of strings, expected 0, 1 or 2"),
                    base,
                ));
            }
        };
        if u64::from(per) != PER {
            let text = format!("blocks of {per} strings, expected {PER}");
            return Err(malformed(text, base.saturating_add(4)));
        }
        let compressed = flags & 1 == 1;
        let mut place = Self {
            encoding,
            end: base,
            base,
            compressed,
            count,
        };
        let data = source.holds("the index of strings", place.entry(0), place.index_bytes())?;
        let mut last = [0; 8];
        let at = place.entry(place.blocks().saturating_sub(1));
        source.fill("the index of strings", at, &mut last)?;
        place.end = source.holds("a column of strings", base, u64::from_le_bytes(last))?;
        if place.end < data {
            return Err(malformed("strings that end within their index", at));
        }
        Ok(place)
    }

    fn blocks(&self) -> u64 {
        self.count.div_ceil(PER)
    }

    fn width(&self) -> u64 {
        if self.compressed {
            16
        } else {
            8
        }
    }

    fn index_bytes(&self) -> u64 {
        self.blocks().saturating_mul(self.width())
    }

    fn entry(&self, block: u64) -> u64 {
        let before = block.saturating_mul(self.width());
        self.base.saturating_add(8).saturating_add(before)
    }

    /// The blocks that hold `rows`, from their index.
    fn entries<S: ReadAt>(&self, source: &Source<S>, rows: &Range<u64>) -> Result<Vec<Entry>> {
        let first = rows.start / PER;
        let last = rows.end.div_ceil(PER);
        let width = usize::try_from(self.width()).unwrap_or(16);
        let before = u64::from(first > 0);
        let at = self.entry(first.saturating_sub(before));
        let len = last.saturating_sub(first).saturating_add(before);
        let bytes = source.bytes("the index of strings", at, len.saturating_mul(self.width()))?;
        let mut words = bytes.chunks_exact(width);
        let mut start = self.index_bytes().saturating_add(8);
        if before == 1 {
            let found = words.next().map_or(0, |word| u64_at(word, 0));
            if found < start {
                return Err(malformed("strings within their index", at));
            }
            start = found;
        }
        let mut entries = Vec::new();
        for (word, block) in words.zip(first..) {
            let end = u64_at(word, 0);
            let at = self.entry(block);
            let mut entry = Entry {
                start,
                end,
                sizes: self.strings(block).saturating_mul(4),
                methods: (
                    Codec {
                        method: Method::None,
                        packing: Packing::Plain,
                    },
                    Method::None,
                ),
            };
            if self.compressed {
                entry.sizes = u64::from(u32_at(word, 12));
                entry.methods = methods(word, at)?;
            }
            if end <= start || self.base.saturating_add(end) > self.end {
                let text = format!(
                    "strings from offset {start} to {end}, expected rising ones within the column"
                );
                return Err(malformed(text, at));
            }
            start = end;
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Strings in a block.
    fn strings(&self, block: u64) -> u64 {
        let before = block.saturating_mul(PER);
        self.count.saturating_sub(before).min(PER)
    }

    /// Where the strings of `rows` end, each from the beginning of its block's part, and what
    /// must be known to read the text.
    pub(super) fn read_ends<S: ReadAt>(
        &self,
        source: &Source<S>,
        rows: Range<u64>,
        into: &mut [i32],
        scratch: &mut Scratch,
    ) -> Result<Vec<Block>> {
        let mut blocks = Vec::new();
        let mut rest = into;
        let entries = self.entries(source, &rows)?;
        for (entry, block) in entries.iter().zip(rows.start / PER..) {
            let first = block.saturating_mul(PER);
            let skip = narrow(rows.start.saturating_sub(first));
            let strings = narrow(self.strings(block));
            let to = narrow(rows.end.saturating_sub(first)).min(strings);
            let wanted = to.saturating_sub(skip);
            let (ends, behind) = std::mem::take(&mut rest)
                .split_at_mut_checked(wanted)
                .unwrap_or_default();
            rest = behind;
            blocks.push(self.read_block(source, entry, (strings, skip), ends, scratch)?);
        }
        Ok(blocks)
    }

    fn read_block<S: ReadAt>(
        &self,
        source: &Source<S>,
        entry: &Entry,
        (strings, skip): (usize, usize),
        into: &mut [i32],
        scratch: &mut Scratch,
    ) -> Result<Block> {
        let at = self.base.saturating_add(entry.start);
        let flags = strings
            .checked_div(32)
            .unwrap_or(0)
            .saturating_add(1)
            .saturating_mul(4);
        let head = narrow(entry.sizes).saturating_add(flags);
        let len = narrow(entry.end.saturating_sub(entry.start));
        let Some(text) = len.checked_sub(head) else {
            return Err(malformed(format!("{len} bytes for {strings} strings"), at));
        };
        let Scratch {
            stored,
            plain,
            zstd,
            ends,
        } = scratch;
        let bytes = source.again("a block of strings", (at, head), stored)?;
        let (sizes, flags) = bytes
            .split_at_checked(narrow(entry.sizes))
            .unwrap_or_default();
        ends.resize(strings, 0);
        read_sizes(entry.methods.0, sizes, ends, (plain, zstd), at)?;
        let na = read_na(flags, strings, at)?;
        let whole = ends.last().copied().map_or(0, unsigned);
        let before = skip.checked_sub(1).and_then(|at| ends.get(at));
        let before = before.copied().map_or(0, unsigned);
        let rest = ends.get(1..).unwrap_or_default();
        let falls = ends.iter().zip(rest).fold(false, |found, (one, two)| {
            found | (unsigned(*two) < unsigned(*one))
        });
        let method = entry.methods.1;
        if falls || !plausible(method, text as u64, u64::from(whole)) {
            let text = format!("strings whose ends fall or do not fit their {text} bytes");
            return Err(malformed(text, at));
        }
        let wanted = ends.get(skip..).unwrap_or_default();
        let mut last = before;
        for (to, end) in into.iter_mut().zip(wanted) {
            last = unsigned(*end);
            *to = i32::from_le_bytes(last.wrapping_sub(before).to_le_bytes());
        }
        Ok(Block {
            at: at.saturating_add(head as u64),
            stored: text as u64,
            method,
            plain: narrow(u64::from(whole)),
            skip: narrow(u64::from(before)),
            take: narrow(u64::from(last.wrapping_sub(before))),
            strings: into.len(),
            na: na.map(|bits| (bits, skip)),
        })
    }
}

/// What compresses sizes and text of a block.
fn methods(word: &[u8], at: u64) -> Result<(Codec, Method)> {
    let sizes = Codec::of(u16_at(word, 8))
        .filter(|codec| matches!(codec.packing, Packing::Plain | Packing::Sh4));
    let text = Codec::of(u16_at(word, 10)).filter(|codec| codec.packing == Packing::Plain);
    sizes.zip(text.map(|codec| codec.method)).ok_or_else(|| {
        let text = format!(
            "strings of codecs {} and {}",
            u16_at(word, 8),
            u16_at(word, 10)
        );
        malformed(text, at)
    })
}

/// A text of no bytes may be stored as none or as an empty block.
fn plausible(method: Method, stored: u64, plain: u64) -> bool {
    plain == 0 && method != Method::None || method.plausible(stored, plain)
}

/// A number that counts bytes or strings of one block.
pub(super) fn narrow(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Where the strings of a block end, into `ends`: as bits of unsigned numbers.
fn read_sizes(
    codec: Codec,
    stored: &[u8],
    ends: &mut [i32],
    (plain, zstd): (&mut Vec<u8>, &mut Zstd),
    at: u64,
) -> Result<()> {
    let len = ends.len().saturating_mul(4);
    if !codec.method.plausible(stored.len() as u64, len as u64) {
        let text = format!(
            "{} bytes for the ends of {} strings",
            stored.len(),
            ends.len()
        );
        return Err(malformed(text, at));
    }
    if plain.len() < len {
        plain.resize(len, 0);
    }
    let bytes = plain.get_mut(..len).unwrap_or_default();
    codec.method.expand(stored, bytes, zstd, at)?;
    match codec.packing {
        Packing::Sh4 => unshuffle4(bytes, ends),
        _ => load(bytes, ends),
    }
    Ok(())
}

/// The bits as a number without a sign, and back.
pub(super) fn unsigned(end: i32) -> u32 {
    u32::from_le_bytes(end.to_le_bytes())
}

/// The bits of NA; None where no string is. Bit `strings` says whether any is.
fn read_na(flags: &[u8], strings: usize, at: u64) -> Result<Option<Vec<u32>>> {
    let mut words: Vec<u32> = flags.chunks_exact(4).map(|word| u32_at(word, 0)).collect();
    let mut any = false;
    if let Some(last) = words.last_mut() {
        let bit = 1_u32.wrapping_shl(u32::try_from(strings % 32).unwrap_or(0));
        any = *last & bit != 0;
        *last &= bit.wrapping_sub(1);
    }
    if any != words.iter().any(|word| *word != 0) {
        return Err(malformed(
            "strings whose mark of NA is not that of their bits",
            at,
        ));
    }
    Ok(any.then_some(words))
}

impl Block {
    /// Fills `into` with the wanted text.
    pub(super) fn read_text<S: ReadAt>(
        &self,
        source: &Source<S>,
        into: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        if self.method == Method::None {
            let at = self.at.saturating_add(self.skip as u64);
            return source.fill("strings", at, into);
        }
        let Scratch {
            stored,
            plain,
            zstd,
            ..
        } = scratch;
        let bytes = source.again("strings", (self.at, narrow(self.stored)), stored)?;
        if self.take == self.plain {
            return self.method.expand(bytes, into, zstd, self.at);
        }
        if plain.len() < self.plain {
            let more = self.plain.saturating_sub(plain.len());
            reserve(plain, more, self.at)?;
            plain.resize(self.plain, 0);
        }
        let whole = plain.get_mut(..self.plain).unwrap_or_default();
        self.method.expand(bytes, whole, zstd, self.at)?;
        let end = self.skip.saturating_add(self.take);
        into.copy_from_slice(whole.get(self.skip..end).unwrap_or_default());
        Ok(())
    }
}
