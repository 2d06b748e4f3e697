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
