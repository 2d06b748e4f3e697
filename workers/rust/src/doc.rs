//! The document that every codec writes and reads: one enum of our own, the same for all.
//!
//! Formats that say what follows (JSON, `MessagePack`, CBOR, BSON, `FlexBuffers`) get it as plain maps
//! and lists through [`Open`]. The others (postcard, bitcode, rkyv) write the enum itself, with its
//! variants, which is all that a schema can be for a document that nobody described.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// Any document.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[rkyv(serialize_bounds(__S: rkyv::ser::Writer + rkyv::ser::Allocator, __S::Error: rkyv::rancor::Source))]
#[rkyv(deserialize_bounds(__D::Error: rkyv::rancor::Source))]
#[rkyv(bytecheck(bounds(__C: rkyv::validation::ArchiveContext, __C::Error: rkyv::rancor::Source)))]
pub enum Doc {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer with sign.
    Int(i64),
    /// An integer above those with sign.
    UInt(u64),
    /// A double.
    Float(f64),
    /// A number of single precision.
    Single(f32),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A list.
    List(#[rkyv(omit_bounds)] Vec<Doc>),
    /// A map in its order; keys may be anything, and may repeat.
    Map(#[rkyv(omit_bounds)] Vec<(Doc, Doc)>),
}

impl Doc {
    /// Rows of a list, or 1.
    pub fn items(&self) -> usize {
        if let Doc::List(items) = self { items.len() } else { 1 }
    }
}

/// A document as plain values of a format that describes itself.
pub struct Open(pub Doc);

/// The same, lent.
pub struct Lent<'a>(pub &'a Doc);

impl Serialize for Lent<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Doc::Null => out.serialize_unit(),
            Doc::Bool(one) => out.serialize_bool(*one),
            Doc::Int(one) => out.serialize_i64(*one),
            Doc::UInt(one) => out.serialize_u64(*one),
            Doc::Float(one) => out.serialize_f64(*one),
            Doc::Single(one) => out.serialize_f32(*one),
            Doc::Text(one) => out.serialize_str(one),
            Doc::Bytes(one) => out.serialize_bytes(one),
            Doc::List(items) => {
                let mut list = out.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&Lent(item))?;
                }
                list.end()
            }
            Doc::Map(entries) => {
                let mut map = out.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(&Lent(key), &Lent(value))?;
                }
                map.end()
            }
        }
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Open;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a document")
    }

    fn visit_unit<E>(self) -> Result<Open, E> {
        Ok(Open(Doc::Null))
    }

    fn visit_none<E>(self) -> Result<Open, E> {
        Ok(Open(Doc::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Open, D::Error> {
        Open::deserialize(from)
    }

    fn visit_bool<E>(self, one: bool) -> Result<Open, E> {
        Ok(Open(Doc::Bool(one)))
    }

    fn visit_i64<E>(self, one: i64) -> Result<Open, E> {
        Ok(Open(Doc::Int(one)))
    }

    fn visit_u64<E>(self, one: u64) -> Result<Open, E> {
        Ok(Open(i64::try_from(one).map_or(Doc::UInt(one), Doc::Int)))
    }

    fn visit_f32<E>(self, one: f32) -> Result<Open, E> {
        Ok(Open(Doc::Single(one)))
    }

    fn visit_f64<E>(self, one: f64) -> Result<Open, E> {
        Ok(Open(Doc::Float(one)))
    }

    fn visit_str<E>(self, one: &str) -> Result<Open, E> {
        Ok(Open(Doc::Text(one.to_owned())))
    }

    fn visit_string<E>(self, one: String) -> Result<Open, E> {
        Ok(Open(Doc::Text(one)))
    }

    fn visit_bytes<E>(self, one: &[u8]) -> Result<Open, E> {
        Ok(Open(Doc::Bytes(one.to_vec())))
    }

    fn visit_byte_buf<E>(self, one: Vec<u8>) -> Result<Open, E> {
        Ok(Open(Doc::Bytes(one)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Open, A::Error> {
        let mut items = Vec::new();
        while let Some(Open(item)) = from.next_element()? {
            items.push(item);
        }
        Ok(Open(Doc::List(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Open, A::Error> {
        let mut entries = Vec::new();
        while let Some((Open(key), Open(value))) = from.next_entry()? {
            entries.push((key, value));
        }
        Ok(Open(Doc::Map(entries)))
    }
}

impl<'de> Deserialize<'de> for Open {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Open, D::Error> {
        from.deserialize_any(Reader)
    }
}
