//! The key `r` of an Arrow schema: the attributes that R's arrow package puts back.
//!
//! Its value is the ascii serialization of `list(attributes = , columns = )`; from 100,000 bytes
//! on, that of a raw vector with the zlib stream of it.

use std::io::Write;

use super::super::loss::{LossKind, Losses};
use super::super::model::{Body, Encoding, Id, RObject};
use super::super::text::escaped;
use super::super::{rds, Builder, Graft, ReadOptions, WriteOptions};
use super::extra::{self, Meaning};
use super::to::too_deep;
use super::MOST_DEPTH;
use crate::compress::{self, Kind as Compressor};
use crate::{Error, ErrorKind, Result};

/// The key in the metadata of a schema.
pub(in super::super) const KEY: &str = "r";
/// From this many bytes on the value is compressed.
const COMPRESSED_BYTES: usize = 100_000;
/// Most bytes of a value once decompressed.
const MOST_BYTES: u64 = 256 << 20;

/// The value of the key for a data frame; None where R's arrow package would write none.
pub(super) fn write(
    object: &RObject,
    wanted: Option<&[String]>,
    losses: &mut Losses,
) -> Result<Option<String>> {
    let mut build = Builder::new();
    let mut writing = Writing {
        build: &mut build,
        losses,
    };
    let root = writing.frame(object, wanted, 0)?;
    if root.is_null() {
        return Ok(None);
    }
    let plain = ascii(&build.finish(root))?;
    if plain.len() <= COMPRESSED_BYTES {
        return Ok(Some(plain));
    }
    let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    let packed = deflate
        .write_all(plain.as_bytes())
        .and_then(|()| deflate.finish());
    let packed = packed.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
    let mut build = Builder::new();
    let root = build.push(Body::Raw(packed))?;
    ascii(&build.finish(root)).map(Some)
}

/// Attributes as text: a list with a name for each, and `more` behind them.
pub(super) fn attributes(
    object: &RObject,
    attributes: &[(&[u8], Id)],
    more: Vec<(&str, Body)>,
    losses: &mut Losses,
) -> Result<String> {
    let mut build = Builder::new();
    let mut writing = Writing {
        build: &mut build,
        losses,
    };
    let (mut names, mut values) = writing.copies(object, attributes)?;
    for (name, body) in more {
        names.push(name.to_string());
        values.push(build.push(body)?);
    }
    let root = build.push(Body::List(values))?;
    let names = build.strings(names.iter().map(String::as_str))?;
    build.set_attributes(root, &[("names", names)])?;
    ascii(&build.finish(root))
}

fn ascii(object: &RObject) -> Result<String> {
    let options = WriteOptions {
        version: Some(3),
        encoding: Some(Encoding::Ascii),
        ..WriteOptions::default()
    };
    let text = rds::serialize(object, &options)?;
    String::from_utf8(text).map_err(|_| Error::new(ErrorKind::Internal, "ascii that is none"))
}

/// The object that a value of the key, or of attributes, holds.
///
/// It is read with the limits of every file, and nothing of it is evaluated.
///
/// # Errors
/// `Malformed`, `Truncated`, `Limit` as for any file.
///
/// # Example
/// ```
/// let text = "A\n3\n262658\n197888\n5\nUTF-8\n13\n1\n7\n";
/// let object = tare::robject::arrow::read_r_key(text)?;
/// assert_eq!(1, object.length());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn read_r_key(text: &str) -> Result<RObject> {
    let options = ReadOptions {
        memory_budget: Some(MOST_BYTES),
        ..ReadOptions::default()
    };
    let object = rds::parse(text.as_bytes(), &options)?;
    let Body::Raw(packed) = &object.node().body else {
        return Ok(object);
    };
    let kind = match packed.first() {
        Some(0x1F) => Compressor::Gzip,
        _ => Compressor::Zlib,
    };
    let reading = compress::ReadOptions {
        kind: Some(kind),
        max_output: Some(MOST_BYTES),
        ..compress::ReadOptions::default()
    };
    let plain = compress::decompress(packed, &reading)?;
    rds::parse(&plain, &options)
}

struct Writing<'a> {
    build: &'a mut Builder,
    losses: &'a mut Losses,
}

impl Writing<'_> {
    /// `list(attributes = , columns = )` of a data frame; `NULL` where both are.
    fn frame(&mut self, object: &RObject, wanted: Option<&[String]>, depth: usize) -> Result<Id> {
        if depth >= MOST_DEPTH {
            return Err(too_deep());
        }
        let arena = object.arena();
        let names = object.names().unwrap_or_default();
        let (mut kept_names, mut columns) = (Vec::new(), Vec::new());
        for (at, child) in arena.elements(object.id()).iter().enumerate() {
            let name = names.get(at).cloned().flatten().unwrap_or_default();
            if wanted.is_some_and(|wanted| !wanted.contains(&name)) {
                continue;
            }
            self.losses.enter_name(&name);
            columns.push(self.column(&object.at(*child), depth)?);
            self.losses.leave();
            kept_names.push(name);
        }
        let own = self.own(object, Meaning::Frame)?;
        // A plain tibble has none, but the key is what tells it from a data frame.
        let tibble = extra::class_is(arena, object.id(), &["tbl_df", "tbl", "data.frame"]);
        if own.is_null() && !tibble && columns.iter().all(|id| id.is_null()) {
            return Ok(Id::NULL);
        }
        let list = self.build.push(Body::List(columns))?;
        let names = self.build.strings(kept_names.iter().map(String::as_str))?;
        self.build.set_attributes(list, &[("names", names)])?;
        self.pair(own, list)
    }

    fn column(&mut self, column: &RObject, depth: usize) -> Result<Id> {
        match extra::meaning(column.arena(), column.id()) {
            Meaning::Frame => self.frame(column, None, depth.saturating_add(1)),
            meaning => {
                let own = self.own(column, meaning)?;
                if own.is_null() {
                    Ok(own)
                } else {
                    self.pair(own, Id::NULL)
                }
            }
        }
    }

    fn own(&mut self, object: &RObject, meaning: Meaning) -> Result<Id> {
        let kept = extra::kept(object.arena(), object.id(), meaning);
        if kept.is_empty() {
            return Ok(Id::NULL);
        }
        self.attributes(object, &kept)
    }

    fn pair(&mut self, attributes: Id, columns: Id) -> Result<Id> {
        let pair = self.build.push(Body::List(vec![attributes, columns]))?;
        let names = self.build.strings(["attributes", "columns"])?;
        self.build.set_attributes(pair, &[("names", names)])?;
        Ok(pair)
    }

    /// A list of attributes that are data; `NULL` where none is.
    fn attributes(&mut self, object: &RObject, attributes: &[(&[u8], Id)]) -> Result<Id> {
        let (names, values) = self.copies(object, attributes)?;
        if values.is_empty() {
            return Ok(Id::NULL);
        }
        let list = self.build.push(Body::List(values))?;
        let names = self.build.strings(names.iter().map(String::as_str))?;
        self.build.set_attributes(list, &[("names", names)])?;
        Ok(list)
    }

    /// Names and copies of attributes that are data.
    fn copies(
        &mut self,
        object: &RObject,
        attributes: &[(&[u8], Id)],
    ) -> Result<(Vec<String>, Vec<Id>)> {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (name, value) in attributes {
            if *name == b".internal.selfref" {
                self.losses.add_selfref()?;
                continue;
            }
            let name = escaped(name);
            let (copy, left_out) = self.build.graft(&object.at(*value), Graft::Data)?;
            if left_out > 0 {
                let place = format!("@{name}");
                let r = "code, an environment or an address";
                self.losses
                    .add_at(&place, LossKind::CodeOpaque, r, "", left_out)?;
            }
            if !copy.is_null() {
                names.push(name);
                values.push(copy);
            }
        }
        Ok((names, values))
    }
}
