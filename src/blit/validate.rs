//! Whether a document is what the specification says, byte by byte: rules V1 to V30.
//!
//! In the order of its bytes, not of its elements: a list of a million constants is a few bytes.

use std::collections::HashSet;

use super::decimal;
use super::doc::{Doc, Strings};
use super::keys::fingerprint;
use super::layout::{broken, flag, int, malformed, tag, Back, MAX_DEPTH};
use super::list::{bit, number, Body, Extent, Item, List, Ranges};
use super::view::View;
use super::{strings, surrogates};
use crate::{ErrorKind, Result};

/// What validation saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Bytes of the document.
    pub bytes: usize,
    /// Lists of each kind, by name.
    pub kinds: std::collections::BTreeMap<&'static str, usize>,
    /// Most containers inside each other.
    pub depth: usize,
    /// Different names.
    pub keys: usize,
    /// Different key sequences.
    pub shapes: usize,
}

/// Where a list lies, as far as it decides what it may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Directly below an array: may be in segments.
    Array,
    /// A column of a table: rows may be absent.
    Column,
    Other,
}

impl View<'_> {
    /// Looks at every byte of the document, in time that its bytes bound.
    ///
    /// # Errors
    /// The first rule that is broken, with its number and the byte: `Malformed`,
    /// `ChecksumMismatch`, `Unsupported`, `Limit`.
    ///
    /// # Example
    /// ```
    /// use tare::blit::{from_json, Options, View};
    ///
    /// let document = from_json(b"[[1, 2], [3]]", &Options::default())?;
    /// let summary = View::open(&document)?.validate()?;
    /// assert_eq!((2, 0), (summary.depth, summary.keys));
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn validate(&self) -> Result<Summary> {
        let doc = &self.doc;
        checksum(doc)?;
        dictionary(doc)?;
        let mut check = Check {
            doc,
            depth: 0,
            seen: Summary::default(),
        };
        match doc.root.as_stored() {
            None | Some((tag::ABSENT, _)) => {
                return Err(malformed("V8", "a root that is absent", doc.trailer));
            }
            Some((tag, at)) => check.value(tag, at, Place::Other)?,
        }
        let mut seen = check.seen;
        seen.bytes = doc.data.len();
        seen.keys = doc.keys.names.n;
        seen.shapes = doc.shapes.n;
        Ok(seen)
    }
}

/// Looks at names, shapes and pool, which lie among the bytes of `doc`.
pub(super) fn dictionary(doc: &Doc<'_>) -> Result<()> {
    keys(doc)?;
    shapes(doc)?;
    match &doc.pool {
        Some(pool) => texts(doc, pool.at, pool.tag),
        None => Ok(()),
    }
}

/// Looks at a list of `n` elements that is all the bytes of `doc`.
pub(super) fn list(doc: &Doc<'_>, n: usize) -> Result<Summary> {
    let mut check = Check {
        doc,
        depth: 0,
        seen: Summary::default(),
    };
    check.list((0, doc.data.len()), Some(n), Place::Other)?;
    Ok(check.seen)
}

fn checksum(doc: &Doc<'_>) -> Result<()> {
    if doc.flags & flag::CHECKSUM == 0 {
        return Ok(());
    }
    let (before, rest) = doc
        .data
        .split_at_checked(doc.trailer)
        .unwrap_or((doc.data, &[]));
    let (sum, behind) = rest.split_at_checked(8).unwrap_or((&[], rest));
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(before);
    hash.update(behind);
    if hash.digest().to_le_bytes() != sum {
        let text = "the checksum does not match: the document was changed";
        return Err(broken(ErrorKind::ChecksumMismatch, "V9", text, doc.trailer));
    }
    Ok(())
}

fn keys(doc: &Doc<'_>) -> Result<()> {
    let keys = &doc.keys;
    let n = keys.names.n;
    texts(doc, keys.names.at, keys.names.tag)?;
    let wrong = |text| Err(malformed("V10", text, keys.finder_at));
    if keys.width == 0 {
        let mut names = HashSet::with_capacity(n);
        for id in 0..n {
            let name = keys.name(id)?;
            if !names.insert(name) {
                return wrong("a name that is there twice");
            }
            if keys.finder.get(id) != Some(&fingerprint(name)) {
                return wrong("a fingerprint that is not its name's");
            }
        }
        return Ok(());
    }
    // Strictly ascending names are all different, and so are their ids.
    let mut before: Option<&[u8]> = None;
    for place in 0..n {
        let id = keys.sorted(place);
        if id >= n {
            return wrong("an order of names that are not there");
        }
        let name = keys.name(id)?;
        if before.is_some_and(|before| before >= name) {
            return wrong("names that are not in order");
        }
        before = Some(name);
    }
    Ok(())
}

fn shapes(doc: &Doc<'_>) -> Result<()> {
    let shapes = &doc.shapes;
    shapes.at.lens.validate(shapes.at.total)?;
    let mut seen = HashSet::new();
    for id in 0..shapes.n {
        let shape = shapes.get(id)?;
        let at = shapes.at.get(id)?.0;
        seen.clear();
        // A run names its first and its last only, so that it costs no more than its bytes.
        if let super::doc::Shape::Run { start, n } = shape {
            if start
                .checked_add(n)
                .is_none_or(|end| end > doc.keys.names.n)
            {
                return Err(malformed("V11", "a shape of keys that are not there", at));
            }
            continue;
        }
        for i in 0..shape.len() {
            let key = shape.id(i);
            if key >= doc.keys.names.n {
                return Err(malformed("V11", "a shape of keys that are not there", at));
            }
            if !seen.insert(key) && doc.flags & flag::KEEPS_DUPLICATES == 0 {
                return Err(malformed("V11", "a shape with a key twice", at));
            }
        }
    }
    Ok(())
}

/// Strings side by side: each is text, and what its tag says.
fn texts(doc: &Doc<'_>, at: Ranges<'_>, tag: u8) -> Result<()> {
    at.lens.validate(at.total)?;
    let all = doc.bytes((at.start, at.start.wrapping_add(at.total)))?;
    text(doc, all, tag, at.start)?;
    if tag == tag::ASCII || all.is_ascii() || at.lens.constant() == Some(0) {
        return Ok(());
    }
    for range in at.lens.lengths(at.total) {
        let from = range?.0;
        if all.get(from).is_some_and(|&byte| byte & 0xC0 == 0x80) {
            let at = at.start.wrapping_add(from);
            return Err(malformed(
                "V14",
                "a string that begins inside a character",
                at,
            ));
        }
    }
    Ok(())
}

fn text(doc: &Doc<'_>, bytes: &[u8], tag: u8, at: usize) -> Result<()> {
    if let Err(error) = std::str::from_utf8(bytes) {
        let kept = tag == tag::STR && doc.flags & flag::WTF8 != 0;
        if !kept || !surrogates::is_wtf8(bytes) {
            let at = at.saturating_add(error.valid_up_to());
            return Err(malformed("V14", "a string that is not UTF-8", at));
        }
    }
    if strings::weaker(tag, strings::tag_of(bytes)) != tag {
        return Err(malformed(
            "V14",
            "a string with characters that its tag excludes",
            at,
        ));
    }
    Ok(())
}

struct Check<'v> {
    doc: &'v Doc<'v>,
    depth: usize,
    seen: Summary,
}

impl<'v> Check<'v> {
    fn value(&mut self, tag: u8, at: Extent, place: Place) -> Result<()> {
        let bytes = self.doc.bytes(at)?;
        let len = bytes.len();
        let is = |right: bool, text: &str| {
            if right {
                Ok(())
            } else {
                Err(malformed("V13", text, at.0))
            }
        };
        match tag {
            tag::NULL | tag::FALSE | tag::TRUE | tag::SMALL.. => {
                is(len == 0, "bytes of a value that has none")
            }
            tag::ABSENT if place != Place::Column => {
                Err(malformed("V28", "an absent value outside a column", at.0))
            }
            tag::ABSENT => is(len == 0, "bytes of a value that has none"),
            tag::INT => is((1..=8).contains(&len), "an integer of an impossible length"),
            tag::UINT => is(
                len == 8 && int(bytes) < 0,
                "an unsigned integer that is a signed one",
            ),
            tag::F64 => is(len == 8, "a float of an impossible length"),
            tag::F32 => is(
                len == 4 && !super::list::float(bytes).is_nan(),
                "a single float that cannot be",
            ),
            tag::DEC => {
                let found = bytes
                    .split_first()
                    .filter(|(_, m)| (1..=6).contains(&m.len()));
                let valid = found.is_some_and(|(&e, m)| decimal::is_valid(int(m), usize::from(e)));
                is(valid, "a decimal that cannot be")
            }
            tag::CLEAN | tag::STR | tag::ASCII => text(self.doc, bytes, tag, at.0),
            tag::POOLED => match super::view::stored(self.doc, tag, at)? {
                Some(_) => Ok(()),
                None => Err(malformed("V15", "a string that is not in the pool", at.0)),
            },
            tag::NUMTEXT if super::number::is_number(bytes) => Ok(()),
            tag::NUMTEXT => Err(malformed("V16", "a number as text that is none", at.0)),
            tag::BYTES => Ok(()),
            tag::ARRAY => {
                self.list(at, None, Place::Array)?;
                Ok(())
            }
            tag::OBJECT => self.object(at),
            _ => {
                let text = "a tag that this version does not have";
                Err(broken(ErrorKind::Unsupported, "V5", text, at.0))
            }
        }
    }

    fn object(&mut self, at: Extent) -> Result<()> {
        if at.0 >= at.1 {
            return Ok(());
        }
        let mut back = Back::new(self.doc.data, at.0, at.1);
        let shape = self.doc.shapes.get(back.rv()?)?;
        self.list((at.0, back.end), Some(shape.len()), Place::Other)?;
        Ok(())
    }

    /// Checks a list, and gives how many elements it has.
    fn list(&mut self, at: Extent, given: Option<usize>, place: Place) -> Result<usize> {
        let list = List::read(self.doc, at, given)?;
        if list.n == 0 {
            return Ok(0);
        }
        if self.depth >= 2 * MAX_DEPTH {
            let text = format!("more than {MAX_DEPTH} levels");
            return Err(broken(ErrorKind::Limit, "V30", &text, at.1));
        }
        self.depth = self.depth.wrapping_add(1);
        self.seen.depth = self.seen.depth.max(self.depth);
        let kinds = self.seen.kinds.entry(list.name()).or_default();
        *kinds = kinds.saturating_add(1);
        self.unused(&list, at)?;
        self.body(&list, place)?;
        self.depth = self.depth.wrapping_sub(1);
        Ok(list.n)
    }

    /// Only alignment leaves bytes unused.
    fn unused(&self, list: &List<'v>, at: Extent) -> Result<()> {
        if list.unused == 0 {
            return Ok(());
        }
        let width = match list.body {
            Body::Int {
                width, base: None, ..
            }
            | Body::Float { width, .. } => width,
            _ => 1,
        };
        let aligned = self.doc.flags & flag::ALIGNED != 0 && list.n >= 64 && list.unused < width;
        let zeros = self.doc.bytes((at.0, at.0.wrapping_add(list.unused)))?;
        if !aligned || zeros.iter().any(|&byte| byte != 0) {
            let rule = if aligned { "V29" } else { "V18" };
            return Err(malformed(
                rule,
                "bytes that belong to no part of a list",
                at.0,
            ));
        }
        Ok(())
    }

    fn body(&mut self, list: &List<'v>, place: Place) -> Result<()> {
        let inner = if place == Place::Column {
            Place::Column
        } else {
            Place::Other
        };
        match list.body {
            Body::Generic { at, tags } => {
                at.lens.validate(at.total)?;
                for (range, &tag) in at.lens.lengths(at.total).zip(tags) {
                    let (from, to) = range?;
                    self.value(
                        tag,
                        (at.start.wrapping_add(from), at.start.wrapping_add(to)),
                        inner,
                    )?;
                }
                Ok(())
            }
            Body::Uniform { at, tag } => self.uniform(at, tag, inner, list.end()),
            Body::Table { columns, .. } => self.columns(columns, list.n, Place::Column),
            Body::Tuples { columns } => self.columns(columns, list.n, Place::Other),
            Body::Nested { child, counts } => {
                let n = self.list(child, None, Place::Other)?;
                counts.validate(n)
            }
            Body::Dict {
                unique,
                codes,
                width,
            } => self.dict(list, unique, codes, width),
            Body::Partial {
                child,
                bits,
                ranks,
                width,
                absent,
            } => {
                if absent == tag::ABSENT && place != Place::Column {
                    return Err(malformed(
                        "V28",
                        "an absent value outside a column",
                        list.end(),
                    ));
                }
                let n = self.list(child, None, inner)?;
                partial(list, n, bits, ranks, width)
            }
            Body::Segmented { segments, size } => {
                if place != Place::Array {
                    return Err(malformed("V27", "segments of what is no array", list.end()));
                }
                segments.lens.validate(segments.total)?;
                for which in 0..segments.lens.len() {
                    let at = segments.get(which)?;
                    let (_, n) = list.segment(self.doc, segments, size, which)?;
                    self.list(at, Some(n), Place::Other)?;
                }
                Ok(())
            }
            Body::Bitmap { bits } => spare(bits, list),
            Body::Int {
                base: Some(base), ..
            } => {
                // The widest of seven bytes still fits, unless the base is near the end.
                let most = (0..list.n)
                    .filter_map(|i| distance(list, i))
                    .max()
                    .unwrap_or(0);
                if base.checked_add_unsigned(most).is_none() {
                    return Err(malformed("V21", "an integer above 2^63 - 1", list.end()));
                }
                Ok(())
            }
            Body::Int { .. } | Body::Empty => Ok(()),
            Body::Float { .. } | Body::Dec { .. } => floats(list),
        }
    }

    fn uniform(&mut self, at: Ranges<'v>, tag: u8, place: Place, end: usize) -> Result<()> {
        if matches!(tag, tag::CLEAN | tag::STR | tag::ASCII) {
            return texts(self.doc, at, tag);
        }
        at.lens.validate(at.total)?;
        if at.lens.constant() == Some(0) {
            // All the same: one stands for all, however many there are.
            let one = self.value(tag, (at.start, at.start), place);
            return one.map_err(|error| {
                error.within("", &format!(" (rule V20, list that ends at {end})"))
            });
        }
        for range in at.lens.lengths(at.total) {
            let (from, to) = range?;
            self.value(
                tag,
                (at.start.wrapping_add(from), at.start.wrapping_add(to)),
                place,
            )?;
        }
        Ok(())
    }

    fn columns(&mut self, columns: Ranges<'v>, n: usize, place: Place) -> Result<()> {
        columns.lens.validate(columns.total)?;
        for j in 0..columns.lens.len() {
            self.list(columns.get(j)?, Some(n), place)?;
        }
        Ok(())
    }

    fn dict(&mut self, list: &List<'v>, unique: Extent, codes: &[u8], width: usize) -> Result<()> {
        let wrong = |text| Err(malformed("V25", text, list.end()));
        let n = self.list(unique, None, Place::Other)?;
        let inner = List::read(self.doc, unique, None)?;
        let Body::Uniform {
            at,
            tag: tag::CLEAN | tag::STR | tag::ASCII,
        } = inner.body
        else {
            return wrong("a dictionary that is no list of strings");
        };
        let strings = Strings {
            data: self.doc.data,
            n,
            tag: tag::STR,
            at,
        };
        let mut seen = HashSet::new();
        for i in 0..n {
            // Empty strings without number take no bytes; two of them are one too many.
            if !seen.insert(strings.get(i)?) {
                return wrong("a dictionary with a string twice");
            }
        }
        for i in 0..list.n {
            if number(codes, i, width).is_none_or(|code| code >= n as u64) {
                return wrong("a code that is not in its dictionary");
            }
        }
        Ok(())
    }
}

/// How far an integer is from its list's base.
fn distance(list: &List<'_>, i: usize) -> Option<u64> {
    match list.body {
        Body::Int { numbers, width, .. } => number(numbers, i, width),
        _ => None,
    }
}

fn partial(list: &List<'_>, n: usize, bits: &[u8], ranks: &[u8], width: usize) -> Result<()> {
    const RANKED: usize = 64;
    let wrong = |text| Err(malformed("V26", text, list.end()));
    spare(bits, list)?;
    let mut sum = 0_usize;
    for (group, bytes) in bits.chunks(RANKED).enumerate() {
        if let Some(before) = group.checked_sub(1) {
            if number(ranks, before, width) != Some(sum as u64) {
                return wrong("a rank that is not the sum of the bits before it");
            }
        }
        let ones: usize = bytes.iter().map(|byte| byte.count_ones() as usize).sum();
        sum = sum.saturating_add(ones);
    }
    if sum != n || n == 0 {
        return wrong("other elements than there are bits for");
    }
    Ok(())
}

/// The bits behind the last element are zero.
fn spare(bits: &[u8], list: &List<'_>) -> Result<()> {
    let end = bits.len().saturating_mul(8);
    if (list.n..end).any(|i| bit(bits, i)) {
        return Err(malformed(
            "V26",
            "bits of elements that are not there",
            list.end(),
        ));
    }
    Ok(())
}

fn floats(list: &List<'_>) -> Result<()> {
    let wrong = |rule, text| Err(malformed(rule, text, list.end()));
    if let Body::Dec {
        numbers, width, e, ..
    } = list.body
    {
        for bytes in numbers.chunks(width.max(1)) {
            if !decimal::is_valid(int(bytes), e) {
                return wrong("V22", "a decimal that cannot be");
            }
        }
    }
    let (Body::Float { ints: true, .. } | Body::Dec { ints: true, .. }) = list.body else {
        return Ok(());
    };
    for i in 0..list.n {
        match list.packed(i) {
            Some(Item::Int(value)) if value.unsigned_abs() > 1 << 53 => {
                return wrong("V22", "an integer above 2^53 among floats");
            }
            Some(Item::Float(value)) if value == 0.0 => {
                return wrong("V22", "a negative zero among integers");
            }
            _ => {}
        }
    }
    Ok(())
}
