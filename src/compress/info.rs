//! What is known of a stream that was written or read.

use super::{Compressor, Kind, Layout};

/// Whether the end of a stream is known to be the end of what was written.
///
/// A file of several frames or members that was cut between two of them looks whole to stock
/// tools; only an end of its own proves otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completeness {
    /// A seek table, an end mark or a marker says that this is the end.
    Proven,
    /// It ends where a unit ends, and nothing says that no more belongs to it.
    Unproven,
}

impl Completeness {
    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Unproven => "unproven",
        }
    }
}

/// What was written, or read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Bytes that went in: plain ones when writing, stored ones when reading.
    pub bytes_in: u64,
    /// Bytes that came out.
    pub bytes_out: u64,
    /// Chunks that were written, or frames, blocks and members that were read.
    pub units: u64,
    /// The compressor, when writing; when reading, its kind at the default level.
    pub compressor: Compressor,
    /// How units are laid out; `Auto` where reading cannot tell.
    pub layout: Layout,
    /// What proves the end.
    pub completeness: Completeness,
    /// Buffers that existed at once, each of a chunk and its stored form.
    pub peak_buffers: usize,
    /// What belongs into the file `.gzi` beside a BGZF file, where
    /// [`WriteOptions::index`](super::WriteOptions::index) asked for it.
    pub index: Option<Vec<u8>>,
}

/// What is known of a stream while it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// What its bytes are.
    pub kind: Kind,
    /// Units read so far.
    pub units: u64,
    /// Frames and blocks without content that were passed so far.
    pub empty_units: u64,
    /// Stored bytes taken so far.
    pub stored_bytes: u64,
    /// Plain bytes given so far.
    pub plain_bytes: u64,
    /// What proves the end; None before it is reached, and after an error.
    pub completeness: Option<Completeness>,
    /// Whether the end, once reached, looks like that of a file of this crate that was cut
    /// between two chunks: equal zstd frames without a table, BGZF members without the marker.
    pub looks_cut: bool,
}

/// Where a chunk lies that can be decoded by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkInfo {
    /// Offset of its first stored byte.
    pub stored_offset: u64,
    /// How many bytes it is stored in.
    pub stored_size: u64,
    /// Offset of its first plain byte.
    pub plain_offset: u64,
    /// How many plain bytes it holds.
    pub plain_size: u64,
    /// What its decoder wants to know beside.
    pub(super) tag: u64,
}
