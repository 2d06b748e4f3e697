//! The codecs: each library as it is called by those who use it, with its defaults.

use crate::doc::{Doc, Lent, Open};

/// What a call says when it fails.
pub type Failed = String;

/// A codec of one library.
pub struct Codec {
    /// As the protocol names it.
    pub id: &'static str,
    /// The crate.
    pub library: &'static str,
    /// A value to bytes.
    pub encode: fn(&Doc) -> Result<Vec<u8>, Failed>,
    /// Bytes to a value.
    pub decode: fn(&[u8]) -> Result<Doc, Failed>,
}

fn said<E: std::fmt::Display>(error: E) -> Failed {
    error.to_string()
}

/// Every codec.
pub static CODECS: &[Codec] = &[
    Codec {
        id: "json:rust-serdejson",
        library: "serde_json",
        encode: |value| serde_json::to_vec(&Lent(value)).map_err(said),
        decode: |bytes| serde_json::from_slice(bytes).map(|Open(doc)| doc).map_err(said),
    },
    Codec {
        id: "json:rust-simdjson",
        library: "simd-json",
        encode: |value| simd_json::serde::to_vec(&Lent(value)).map_err(said),
        // It writes into its input, so each call needs bytes of its own.
        decode: |bytes| simd_json::serde::from_slice(&mut bytes.to_vec()).map(|Open(doc)| doc).map_err(said),
    },
    Codec {
        id: "json:rust-sonic",
        library: "sonic-rs",
        encode: |value| sonic_rs::to_vec(&Lent(value)).map_err(said),
        decode: |bytes| sonic_rs::from_slice(bytes).map(|Open(doc)| doc).map_err(said),
    },
    Codec {
        id: "msgpack:rust-rmp",
        library: "rmp-serde",
        encode: |value| rmp_serde::to_vec(&Lent(value)).map_err(said),
        decode: |bytes| rmp_serde::from_slice(bytes).map(|Open(doc)| doc).map_err(said),
    },
    Codec {
        id: "cbor:rust-ciborium",
        library: "ciborium",
        encode: |value| {
            let mut out = Vec::new();
            ciborium::into_writer(&Lent(value), &mut out).map_err(said)?;
            Ok(out)
        },
        decode: |bytes| ciborium::from_reader(bytes).map(|Open(doc)| doc).map_err(said),
    },
    Codec {
        id: "bson:rust-bson",
        library: "bson",
        encode: |value| bson::serialize_to_vec(&Lent(value)).map_err(said),
        decode: |bytes| bson::deserialize_from_slice(bytes).map(|Open(doc)| doc).map_err(said),
    },
    Codec {
        id: "flexbuffers:rust-flexbuffers",
        library: "flexbuffers",
        encode: |value| flexbuffers::to_vec(Lent(value)).map_err(said),
        decode: |bytes| flexbuffers::from_slice(bytes).map(|Open(doc)| doc).map_err(said),
    },
    Codec {
        id: "postcard:rust-postcard",
        library: "postcard",
        encode: |value| postcard::to_stdvec(value).map_err(said),
        decode: |bytes| postcard::from_bytes(bytes).map_err(said),
    },
    Codec {
        id: "bitcode:rust-bitcode",
        library: "bitcode",
        encode: |value| bitcode::serialize(value).map_err(said),
        decode: |bytes| bitcode::deserialize(bytes).map_err(said),
    },
    Codec {
        id: "rkyv:rust-rkyv",
        library: "rkyv",
        encode: |value| rkyv::to_bytes::<rkyv::rancor::Error>(value).map(|all| all.to_vec()).map_err(said),
        // What was read from a file or a socket lies anywhere: rkyv wants it aligned.
        decode: |bytes| {
            let mut aligned = rkyv::util::AlignedVec::<16>::with_capacity(bytes.len());
            aligned.extend_from_slice(bytes);
            rkyv::from_bytes::<Doc, rkyv::rancor::Error>(&aligned).map_err(said)
        },
    },
    // Does nothing: what its calls cost is what the worker adds to every other codec.
    Codec { id: "none:rust", library: "tare-worker-rust", encode: |_| Ok(Vec::new()), decode: |_| Ok(Doc::Null) },
];

/// The codec of an id; none of ours has options.
pub fn find(id: &str) -> Option<&'static Codec> {
    CODECS.iter().find(|one| one.id == id)
}

/// The version of a crate that this program was built with.
pub fn version_of(library: &str) -> &'static str {
    let head = format!("name = \"{library}\"\nversion = \"");
    let lock = include_str!("../Cargo.lock");
    lock.split_once(&head).and_then(|(_, rest)| rest.split_once('"')).map_or("", |(version, _)| version)
}
