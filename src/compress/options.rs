//! What a caller may choose: threads, chunks, layouts, checks and limits.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use super::Kind;
use crate::{Error, ErrorKind, Result};

/// How chunks come to lie in their container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `Seekable` for a [`Writer`](super::Writer), `Single` for one buffer.
    #[default]
    Auto,
    /// Random access by plain offset: a seek table (zstd), an index (lz4), BGZF (gzip).
    Seekable,
    /// One frame, member or stream, for readers that stop after the first.
    Single,
    /// gzip only: one ordinary member a chunk.
    Members,
}

impl Layout {
    /// Name in ids and on the command line; `auto` only there where it is the default.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Seekable => "seekable",
            Self::Single => "single",
            Self::Members => "members",
        }
    }

    pub(super) fn by_name(name: &str) -> Option<Self> {
        [Self::Seekable, Self::Single, Self::Members]
            .into_iter()
            .find(|layout| layout.name() == name)
    }
}

/// How to write. Further fields may come: end with `..WriteOptions::default()`.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Threads that compress; None for [`default_threads`]. 1 starts none.
    pub threads: Option<usize>,
    /// Plain bytes in a chunk; None for what the compressor's id says, else the kind's default.
    ///
    /// zstd: a power of two from 64 KiB to 64 MiB. lz4: 64 KiB, 256 KiB, 1 MiB or 4 MiB. gzip:
    /// from 64 KiB to 64 MiB.
    pub chunk_size: Option<usize>,
    /// The layout; `Auto` for what the compressor's id says.
    pub layout: Layout,
    /// Plain bytes that will be written, where that is known; other than so many is an error.
    pub content_size: Option<u64>,
    /// Whether zstd and lz4 frames carry a checksum of their content. gzip always has one.
    pub checksum: bool,
    /// Whether [`Summary::index`](super::Summary::index) lists the members of a BGZF file, for
    /// `bgzip -b` and other tools that seek by it; gzip's layout `Seekable` alone.
    ///
    /// Takes 16 bytes for each 65,280 plain ones until the end. An input that fits into one
    /// member becomes BGZF too. Other containers keep their index inside the file.
    pub index: bool,
    /// Most bytes for buffers and contexts; None for no limit.
    pub memory_limit: Option<u64>,
    /// Ends the work early.
    pub cancel: Option<CancelToken>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            threads: None,
            chunk_size: None,
            layout: Layout::Auto,
            content_size: None,
            checksum: true,
            index: false,
            memory_limit: None,
            cancel: None,
        }
    }
}

/// What to do with bytes behind the last frame, member or stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trailing {
    /// They are an error.
    #[default]
    Refuse,
    /// Reading ends there; [`Reader::into_parts`](super::Reader::into_parts) gives them back.
    Stop,
}

/// The largest window of a zstd frame that is read unless another is named.
pub(super) const MAX_WINDOW: u64 = 128 << 20;

/// How to read. Further fields may come: end with `..ReadOptions::default()`.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// What the bytes must be; None to tell by their first ones.
    pub kind: Option<Kind>,
    /// Threads that decompress; None for [`default_threads`]. 1 starts none.
    pub threads: Option<usize>,
    /// Whether an end that nothing proves is an error; see [`Completeness`](super::Completeness).
    pub strict: bool,
    /// Most plain bytes; None for no limit.
    pub max_output: Option<u64>,
    /// Most plain bytes for each stored one; None for no limit.
    pub max_ratio: Option<u64>,
    /// Longest frame that is held whole, in plain and in stored bytes; longer ones are streamed.
    pub max_frame: usize,
    /// Largest window, in bytes: zstd frames that need more are refused.
    pub max_window: u64,
    /// Whether to read on while units are decoded; false on live connections.
    pub read_ahead: bool,
    /// Whether a [`SeekableReader`](super::SeekableReader) may decode once to find the chunks.
    pub build_index: bool,
    /// What bytes behind the last unit are.
    pub trailing: Trailing,
    /// Ends the work early.
    pub cancel: Option<CancelToken>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            kind: None,
            threads: None,
            strict: false,
            max_output: None,
            max_ratio: None,
            max_frame: 16 << 20,
            max_window: MAX_WINDOW,
            read_ahead: true,
            build_index: false,
            trailing: Trailing::Refuse,
            cancel: None,
        }
    }
}

/// Asked between units whether to stop, from whatever thread waits.
type Probe = dyn Fn() -> bool + Send + Sync;

/// Ends a writer's or reader's work from another thread, or when a probe says so.
///
/// # Example
/// ```
/// use tare::compress::CancelToken;
///
/// let token = CancelToken::new();
/// token.clone().cancel();
/// assert!(token.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct CancelToken {
    flag: Arc<AtomicBool>,
    probe: Option<Arc<Probe>>,
}

impl CancelToken {
    /// A token that [`cancel`](Self::cancel) sets.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that is also set once `probe` says true; it is asked about every 50 ms of waiting.
    pub fn with_probe(probe: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self {
            flag: Arc::default(),
            probe: Some(Arc::new(probe)),
        }
    }

    /// Asks all work under this token to stop.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Asks the probe too, on the calling thread.
    pub(super) fn poll(&self) -> bool {
        if !self.is_cancelled() && self.probe.as_ref().is_some_and(|probe| probe()) {
            self.cancel();
        }
        self.is_cancelled()
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// An error if the token, where there is one, was set.
pub(super) fn check_cancel(cancel: Option<&CancelToken>) -> Result<()> {
    match cancel {
        Some(token) if token.poll() => Err(cancelled()),
        _ => Ok(()),
    }
}

pub(super) fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "stopped on request")
}

/// Threads used by default: those this process may use, at most 16.
#[must_use]
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |threads| threads.get().min(16))
}

/// The threads asked for, if they can be.
///
/// # Errors
/// `Usage` for none, or more than 256.
pub(super) fn check_threads(asked: Option<usize>) -> Result<Option<usize>> {
    match asked {
        None | Some(1..=256) => Ok(asked),
        Some(threads) => {
            let text = format!("no {threads} threads; from 1 to 256 can be asked for");
            Err(Error::new(ErrorKind::Usage, text))
        }
    }
}
