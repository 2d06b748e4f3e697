//! What a caller may choose: limits of reading, and how to write.

use crate::compress::{CancelToken, Compressor};

use super::model::Encoding;
use super::Columns;

/// How to read. Further fields may come: end with `..ReadOptions::default()`.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Most values inside each other; 10,000.
    pub max_depth: usize,
    /// Most bytes of memory for what is read; None for no limit.
    pub memory_budget: Option<u64>,
    /// Most plain bytes for each stored one; None for no limit.
    pub max_ratio: Option<u64>,
    /// The encoding of strings without a mark, where the file does not say it, or they are not valid in the one that
    /// it says: a name that [`is_encoding`](super::is_encoding) knows. UTF-8 without one.
    pub encoding: Option<String>,
    /// The columns of a data frame that are read; None for all.
    ///
    /// Other columns of RDS and qs2 take memory one at a time. `RData`, and what is no data frame,
    /// is read whole.
    pub columns: Option<Columns>,
    /// Threads that decompress; None for all.
    pub threads: Option<usize>,
    /// Ends the work early.
    pub cancel: Option<CancelToken>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            max_depth: 10_000,
            memory_budget: None,
            max_ratio: None,
            encoding: None,
            columns: None,
            threads: None,
            cancel: None,
        }
    }
}

/// The format of a file with R objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// One object, by `saveRDS`.
    #[default]
    Rds,
    /// Named objects, by `save`.
    Rdata,
    /// qs2's copy of R's serialization.
    Qs2,
    /// qs2's own format for data.
    Qdata,
    /// The format of the package qs, version 1; read only.
    Qs,
    /// R code that makes the value, by `dput`.
    Dput,
}

impl Format {
    /// Its name in codec ids and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rds => "rds",
            Self::Rdata => "rdata",
            Self::Qs2 => "qs2",
            Self::Qdata => "qdata",
            Self::Qs => "qs",
            Self::Dput => "dput",
        }
    }
}

/// How to write. Further fields may come: end with `..WriteOptions::default()`.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The format.
    pub format: Format,
    /// 2 or 3; None for that of the file the object was read from, else 3.
    pub version: Option<i32>,
    /// How numbers are written; None for XDR.
    pub encoding: Option<Encoding>,
    /// The compressor around RDS and `RData`, the level of qs2 and qdata; None for `gzip:6` and `zstd:3`.
    pub compressor: Option<Compressor>,
    /// Threads that compress; None for all.
    pub threads: Option<usize>,
    /// gzip members: None for one a chunk; 1 for readers that stop after the first.
    pub members: Option<usize>,
    /// The writer's version in the header; None for that of the file the object was read from,
    /// else 4.2.2.
    pub r_version: Option<i32>,
    /// Whether promises, closures, bytecode, active bindings and external pointers are left out.
    pub data_only: bool,
    /// Ends the work early.
    pub cancel: Option<CancelToken>,
}
