//! Where the bytes of a document go: by what they are, and by the kind of list they lie in.

use std::collections::BTreeMap;

use super::doc::{Dictionary, Doc, Strings};
use super::layout::{broken, flag, kind, tag, Back, MAGIC, MAX_DEPTH, MAX_LISTS};
use super::list::{Body, Extent, List, Ranges};
use super::place::Place;
use super::view::View;
use crate::{ErrorKind, Result};

/// Where the bytes of a document go; `parts` add up to all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Bytes of the document.
    pub bytes: usize,
    /// Names of the flags that are set.
    pub flags: Vec<&'static str>,
    /// Name of the kind of the outermost list; of a value in none, empty.
    pub root: &'static str,
    /// Different names.
    pub keys: usize,
    /// Different key sequences.
    pub shapes: usize,
    /// Strings of the pool.
    pub pool: usize,
    /// Bytes by what they are: `frame`, `keys`, `shapes`, `pool`, `strings`, `numbers`, `lengths`,
    /// `tags`, `bits`, `bytes`, `headers`.
    pub parts: BTreeMap<&'static str, usize>,
    /// Lists of each kind, and their bytes without those of lists in them.
    pub kinds: BTreeMap<&'static str, (usize, usize)>,
}

impl View<'_> {
    /// Counts the bytes of the document by what they are.
    ///
    /// # Errors
    /// `Malformed` where the document is not what it says; `Limit` for more than 1,024 levels.
    ///
    /// # Example
    /// ```
    /// use tare::blit::{from_json, Options, View};
    ///
    /// let document = from_json(br#"{"a": 1, "b": "x"}"#, &Options::default())?;
    /// let account = View::open(&document)?.account()?;
    /// assert_eq!((31, 7, 4), (account.bytes, account.parts["keys"], account.parts["shapes"]));
    /// assert_eq!(account.bytes, account.parts.values().sum::<usize>());
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn account(&self) -> Result<Account> {
        let doc = &self.doc;
        let mut walk = Walk::new(doc);
        let at = doc.root.as_stored();
        let root = at.map_or((MAGIC.len(), MAGIC.len()), |(_, at)| at);
        if let Some((tag, at)) = at {
            walk.value(tag, at)?;
        }
        let mut found = walk.found;
        found.bytes = doc.data.len();
        found.flags = flags(doc.flags);
        found.root = at.map_or(Ok(""), |(tag, at)| name(doc, tag, at))?;
        found.keys = doc.keys.names.n;
        found.shapes = doc.shapes.n;
        found.pool = doc.pool.map_or(0, |pool| pool.n);
        let pool = doc.pool.map_or(0, |pool| section(&pool));
        let keys = match doc.keys.names.n {
            0 => 0,
            _ => section(&doc.keys.names).saturating_add(doc.keys.finder.len()),
        };
        // What lies between the values and the trailer, and is neither names nor pool.
        let sections = doc.trailer.saturating_sub(root.1);
        let shapes = sections.saturating_sub(keys).saturating_sub(pool);
        let frame = found.bytes.saturating_sub(doc.trailer);
        for (part, bytes) in [
            ("frame", frame.saturating_add(MAGIC.len())),
            ("keys", keys),
            ("shapes", shapes),
            ("pool", pool),
        ] {
            add(&mut found.parts, part, bytes);
        }
        Ok(found)
    }
}

/// Counts the bytes of a list of `n` elements that does not say so.
///
/// # Errors
/// As [`View::account`].
pub(super) fn list(
    data: &[u8],
    dictionary: &Dictionary<'_>,
    flags: u8,
    n: usize,
) -> Result<Account> {
    let at = (0, data.len());
    let doc = Doc::part(data, dictionary, flags, Place::element(at, Some(n), 0));
    let mut walk = Walk::new(&doc);
    walk.list(at, Some(n))?;
    Ok(walk.found)
}

/// Bytes of strings side by side with their header, which has a kind and a tag.
fn section(strings: &Strings<'_>) -> usize {
    let body = strings.at.total.saturating_add(strings.at.lens.bytes());
    body.saturating_add(2)
}

fn flags(set: u8) -> Vec<&'static str> {
    let names = [
        (flag::CHECKSUM, "checksum"),
        (flag::POOL, "pool"),
        (flag::ALIGNED, "aligned"),
        (flag::KEEPS_DUPLICATES, "keeps duplicates"),
        (flag::WTF8, "WTF-8"),
        (flag::CANONICAL, "canonical"),
    ];
    let set = names.into_iter().filter(|(bit, _)| set & bit != 0);
    set.map(|(_, name)| name).collect()
}

fn name(doc: &Doc<'_>, tag: u8, at: Extent) -> Result<&'static str> {
    Ok(match tag {
        tag::ARRAY => List::read(doc, at, None)?.name(),
        tag::OBJECT => kind::NAMES
            .get(usize::from(kind_of(doc, at)))
            .copied()
            .unwrap_or_default(),
        _ => "",
    })
}

/// The kind of an object's list: below its shape id.
fn kind_of(doc: &Doc<'_>, at: Extent) -> u8 {
    let mut back = Back::new(doc.data, at.0, at.1);
    match back.rv().and_then(|_| back.byte()) {
        Ok(last) => last & 0xF,
        Err(_) => u8::MAX,
    }
}

fn add(to: &mut BTreeMap<&'static str, usize>, part: &'static str, bytes: usize) {
    if bytes > 0 {
        let sum = to.entry(part).or_default();
        *sum = sum.saturating_add(bytes);
    }
}

struct Walk<'v> {
    doc: &'v Doc<'v>,
    depth: usize,
    found: Account,
}

impl<'v> Walk<'v> {
    fn new(doc: &'v Doc<'v>) -> Self {
        Self {
            doc,
            depth: 0,
            found: Account::default(),
        }
    }

    fn add(&mut self, part: &'static str, bytes: usize) {
        add(&mut self.found.parts, part, bytes);
    }

    fn value(&mut self, tag: u8, at: Extent) -> Result<()> {
        let len = at.1.saturating_sub(at.0);
        match tag {
            tag::ARRAY => self.list(at, None),
            tag::OBJECT if len == 0 => Ok(()),
            tag::OBJECT => {
                let mut back = Back::new(self.doc.data, at.0, at.1);
                let shape = self.doc.shapes.get(back.rv()?)?;
                self.add("headers", at.1.saturating_sub(back.end));
                self.list((at.0, back.end), Some(shape.len()))
            }
            _ => {
                self.add(part(tag), len);
                Ok(())
            }
        }
    }

    /// Counts a list and all below it.
    fn list(&mut self, at: Extent, given: Option<usize>) -> Result<()> {
        let list = List::read(self.doc, at, given)?;
        if self.depth >= MAX_LISTS {
            let text = format!("more than {MAX_DEPTH} levels");
            return Err(broken(ErrorKind::Limit, "V30", &text, at.1));
        }
        if list.n == 0 {
            return Ok(());
        }
        self.depth = self.depth.wrapping_add(1);
        // `inner`: bytes of lists in this one; `told`: those that are something else than a header.
        let (inner, told) = self.body(&list)?;
        let own = at.1.saturating_sub(at.0).saturating_sub(inner);
        self.add("headers", own.saturating_sub(told));
        let entry = self.found.kinds.entry(list.name()).or_default();
        entry.0 = entry.0.saturating_add(1);
        entry.1 = entry.1.saturating_add(own);
        self.depth = self.depth.wrapping_sub(1);
        Ok(())
    }

    fn body(&mut self, list: &List<'v>) -> Result<(usize, usize)> {
        match list.body {
            Body::Empty => Ok((0, 0)),
            Body::Generic { at, tags } => {
                self.add("tags", tags.len());
                let told = self.lengths(&at).saturating_add(tags.len());
                let values = tags.iter().copied();
                self.values(&at, values, told)
            }
            Body::Uniform { at, tag } => {
                let told = self.lengths(&at);
                if !matches!(tag, tag::ARRAY | tag::OBJECT) {
                    self.add(part(tag), at.total);
                    return Ok((0, told.saturating_add(at.total)));
                }
                self.values(&at, std::iter::repeat_n(tag, list.n), told)
            }
            Body::Table { columns, .. } | Body::Tuples { columns } => {
                let told = self.lengths(&columns);
                self.lists(&columns, columns.lens.len(), |_| Ok(list.n))?;
                Ok((columns.total, told))
            }
            Body::Nested { child, counts } => {
                self.list(child, None)?;
                self.add("lengths", counts.bytes());
                Ok((child.1.saturating_sub(child.0), counts.bytes()))
            }
            Body::Dict { unique, codes, .. } => {
                self.list(unique, None)?;
                self.add("strings", codes.len());
                Ok((unique.1.saturating_sub(unique.0), codes.len()))
            }
            Body::Partial {
                child, bits, ranks, ..
            } => {
                self.list(child, None)?;
                let told = bits.len().saturating_add(ranks.len());
                self.add("bits", told);
                Ok((child.1.saturating_sub(child.0), told))
            }
            Body::Segmented { segments, size } => {
                let told = self.lengths(&segments);
                let doc = self.doc;
                self.lists(&segments, segments.lens.len(), |which| {
                    Ok(list.segment(doc, segments, size, which)?.1)
                })?;
                Ok((segments.total, told))
            }
            Body::Bitmap { bits } => {
                self.add("bits", bits.len());
                Ok((0, bits.len()))
            }
            Body::Int { numbers, .. } | Body::Float { numbers, .. } | Body::Dec { numbers, .. } => {
                self.add("numbers", numbers.len());
                Ok((0, numbers.len()))
            }
        }
    }

    fn lengths(&mut self, at: &Ranges<'_>) -> usize {
        let bytes = at.lens.bytes();
        self.add("lengths", bytes);
        bytes
    }

    /// Values one after the other: bytes of those that are lists, and of the others with `told`.
    fn values(
        &mut self,
        at: &Ranges<'v>,
        tags: impl Iterator<Item = u8>,
        told: usize,
    ) -> Result<(usize, usize)> {
        let (mut inner, mut told) = (0_usize, told);
        if at.lens.constant() == Some(0) {
            return Ok((0, told));
        }
        for (range, tag) in at.lens.lengths(at.total).zip(tags) {
            let (from, to) = range?;
            self.value(
                tag,
                (at.start.wrapping_add(from), at.start.wrapping_add(to)),
            )?;
            let sum = if matches!(tag, tag::ARRAY | tag::OBJECT) {
                &mut inner
            } else {
                &mut told
            };
            *sum = sum.saturating_add(to.saturating_sub(from));
        }
        Ok((inner, told))
    }

    /// Lists one after the other, each of so many elements as `n` says.
    fn lists(
        &mut self,
        at: &Ranges<'v>,
        count: usize,
        n: impl Fn(usize) -> Result<usize>,
    ) -> Result<()> {
        for which in 0..count {
            self.list(at.get(which)?, Some(n(which)?))?;
        }
        Ok(())
    }
}

/// What the bytes of a value without values in it are.
fn part(tag: u8) -> &'static str {
    match tag {
        tag::CLEAN | tag::STR | tag::ASCII | tag::LZ4 | tag::POOLED => "strings",
        tag::BYTES => "bytes",
        _ => "numbers",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blit::{from_json, Checksum, Options};

    fn account(text: &str, options: &Options) -> Account {
        let document = from_json(text.as_bytes(), options).unwrap();
        let found = View::open(&document).unwrap().account().unwrap();
        assert_eq!(document.len(), found.bytes);
        assert_eq!(found.bytes, found.parts.values().sum::<usize>(), "{text}");
        let summary = View::open(&document).unwrap().validate().unwrap();
        let kinds = found.kinds.iter().map(|(&name, &(n, _))| (name, n));
        assert_eq!(summary.kinds, kinds.collect());
        found
    }

    #[test]
    fn the_worked_document_of_the_specification() {
        let found = account(r#"{"a":1,"b":"x"}"#, &Options::default());
        let parts: Vec<_> = found.parts.into_iter().collect();
        let wanted = [
            ("frame", 14),
            ("headers", 2),
            ("keys", 7),
            ("lengths", 1),
            ("shapes", 4),
            ("strings", 1),
            ("tags", 2),
        ];
        assert_eq!(wanted.to_vec(), parts);
        assert_eq!("GENERIC", found.root);
    }

    #[test]
    fn parts_add_up_for_every_kind() {
        let rows: Vec<String> = (0..70)
            .map(|i| {
                format!(
                    r#",{{"id":{i},"x":{}.5,"s":"t{}","o":{}}}"#,
                    i * i,
                    i % 3,
                    i % 2
                )
            })
            .collect();
        let table = rows.concat();
        let partial = r#",{"id":1,"x":1.5,"s":"a"}"#.repeat(60);
        for text in [
            "7",
            "{}",
            "[]",
            r#""text""#,
            "-0",
            "[true,false,true]",
            "[1.5,2.25]",
            "[[1,2],[3]]",
            "[1,null,3,null,5,6,7,8]",
            r#"[{"a":{"b":[]}},[],{},"x",1e400,12345678901234567890]"#,
            &format!("[{}]", &table[1..]),
            &format!("[{}{partial}]", &table[1..]),
            &format!("[{}]", "[1,\"a\"],".repeat(9) + "[2,\"b\"]"),
            &format!("[{}]", "\"s\",{\"k\":[1]},".repeat(40_000) + "1"),
        ] {
            account(text, &Options::default());
            account(
                text,
                &Options {
                    aligned: true,
                    checksum: Checksum::On,
                    ..Options::default()
                },
            );
        }
    }
}
