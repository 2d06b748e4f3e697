//! What a caller may choose.

use crate::compress::CancelToken;

/// How to read. Further fields may come: end with `..ReadOptions::default()`.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Most bytes of memory for what is read; None for no limit.
    pub memory_budget: Option<u64>,
    /// Most bytes of a result for each byte of the file beyond 64 MiB; 1,024. None for no limit.
    ///
    /// Numbers of any file take fewer than 1,024; only long texts that repeat take more.
    pub max_ratio: Option<u64>,
    /// Threads that decode; None for all.
    pub threads: Option<usize>,
    /// Ends the work early.
    pub cancel: Option<CancelToken>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            memory_budget: None,
            max_ratio: Some(1024),
            threads: None,
            cancel: None,
        }
    }
}

/// How to write. Further fields may come: end with `..WriteOptions::default()`.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// From 0 to 100 as in R; 50. 0 packs logicals and codes of factors alone, 1 to 50 is LZ4, the
    /// higher the denser, 51 to 100 zstd.
    pub compress: u8,
    /// The columns by which the rows are sorted, by position; None for those that the table names.
    ///
    /// The rows are checked: a file never says that they are sorted when they are not.
    pub keys: Option<Vec<usize>>,
    /// Threads that encode; None for all.
    pub threads: Option<usize>,
    /// Ends the work early.
    pub cancel: Option<CancelToken>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            compress: 50,
            keys: None,
            threads: None,
            cancel: None,
        }
    }
}
