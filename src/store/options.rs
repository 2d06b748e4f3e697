//! What a caller may choose when a store is opened and when a value is set.

use crate::compress::{CancelToken, Compressor};
use crate::{Error, ErrorKind, Result};

use super::{Durability, Expect, Hash};

/// When what is read is hashed again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Verify {
    /// Each time.
    #[default]
    Always,
    /// Once a process for each object, and again when its file has changed.
    Once,
    /// Not at all; only the containers' own checksums and the lengths are looked at.
    Never,
}

impl Verify {
    /// The mode of a name: `always`, `once`, `never`.
    ///
    /// # Errors
    /// `Usage` if there is none of that name.
    pub fn by_name(name: &str) -> Result<Self> {
        match name {
            "always" => Ok(Self::Always),
            "once" => Ok(Self::Once),
            "never" => Ok(Self::Never),
            _ => {
                let text = format!("verify={name:?} is no mode: it is always, once or never");
                Err(Error::new(ErrorKind::Usage, text))
            }
        }
    }
}

/// How objects are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Packing {
    /// zstd:3 where that makes a sample clearly smaller, else plain.
    #[default]
    Auto,
    /// This compressor, of everything from [`LEAST_PACKED`](super::LEAST_PACKED) bytes on.
    With(Compressor),
    /// This compressor, of everything: where a layout fixes it.
    Fixed(Compressor),
}

impl Packing {
    /// `auto`, or a compressor's id such as `zstd:9`, `lz4`, `none`.
    ///
    /// # Errors
    /// `Usage` for what is no id.
    pub fn parse(id: &str) -> Result<Self> {
        if id == "auto" {
            return Ok(Self::Auto);
        }
        Ok(Self::With(Compressor::parse(id)?))
    }
}

/// How to open a store. Further fields may come: end with `..OpenOptions::default()`.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Whether writing is refused.
    pub read_only: bool,
    /// Whether a store that does not exist is made.
    pub create: bool,
    /// How objects are compressed unless a call says otherwise.
    pub packing: Packing,
    /// How durable a call is unless it says otherwise.
    pub durability: Durability,
    /// When what is read is hashed again.
    pub verify: Verify,
    /// Threads that compress and decompress; None for all.
    pub threads: Option<usize>,
    /// Bytes of verified objects that are kept in memory.
    pub cache_bytes: u64,
    /// The driver's own options, by name.
    pub driver: Vec<(String, String)>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            read_only: false,
            create: true,
            packing: Packing::Auto,
            durability: Durability::Batch,
            verify: Verify::Always,
            threads: None,
            cache_bytes: 0,
            driver: Vec::new(),
        }
    }
}

/// How to set a value. Further fields may come: end with `..SetOptions::default()`.
#[derive(Clone, Debug, Default)]
pub struct SetOptions {
    /// How it is compressed; None for the store's.
    pub packing: Option<Packing>,
    /// How durable it is when the call returns; None for the store's.
    pub durability: Option<Durability>,
    /// What the key must be for the change to happen.
    pub expect: Expect,
    /// A hash that equal values share though their bytes differ.
    pub canonical: Option<Hash>,
    /// Ends the work early.
    pub cancel: Option<CancelToken>,
}
