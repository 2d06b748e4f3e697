//! Compression in standard containers: chunked, parallel, in bounded memory.
//!
//! [`Writer`] and [`Reader`] take streams of any length; [`compress()`] and [`decompress`] take
//! one buffer. Files are `.zst`, `.lz4` and `.gz` that stock tools read, cut into chunks that
//! are worked on in parallel and can be found by plain offset; `.bz2` and `.xz` go through
//! their libraries. zlib streams are read where they are named.
//!
//! Reading is strict: what is cut is [`ErrorKind::Truncated`](crate::ErrorKind), what follows
//! the last unit is `Malformed`, every checksum present is verified, several frames or members
//! are read whole, and [`Completeness`] says what proves the end.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod auto;
mod bzip2;
pub(crate) mod chunked;
mod container;
mod gzip;
mod id;
mod info;
mod input;
mod locate;
mod lz4;
mod none;
mod oneshot;
mod options;
mod output;
mod plan;
mod read_at;
mod reader;
mod seek_table;
mod seekable;
mod skip;
mod sniff;
mod sparse;
mod streams;
mod survey;
mod writer;
mod xz;
mod zlib;
mod zstd;

pub use auto::{choose, try_candidates, Trial};
pub use id::{Compressor, Kind};
pub use info::{ChunkInfo, Completeness, Info, Summary};
pub use oneshot::{compress, decompress, decompress_into, expected_bytes};
pub use options::{default_threads, CancelToken, Layout, ReadOptions, Trailing, WriteOptions};
pub use output::Placed;
pub use read_at::{Locked, ReadAt};
pub use reader::Reader;
pub use seekable::SeekableReader;
pub use sniff::of as sniff;
pub use survey::{survey, Survey};
pub use writer::Writer;

/// What finds the units of a stream of a kind.
fn walker(kind: Kind, options: &ReadOptions) -> Box<dyn container::Walker> {
    match kind {
        Kind::None => Box::new(none::Walk::new(options)),
        Kind::Zstd => Box::new(zstd::Walk::new(options)),
        Kind::Lz4 => Box::new(lz4::Walk::new(options)),
        Kind::Gzip => Box::new(gzip::Walk::new(options)),
        Kind::Bz2 => Box::new(bzip2::Walk::new(options)),
        Kind::Xz => Box::new(xz::Walk::new(options)),
        Kind::Zlib => Box::new(zlib::Walk::new(options)),
    }
}

/// A claimed size, cut to what is made place for at once before anything is decoded:
/// 64 MiB, or 256 bytes for each stored one.
fn believed_bytes(claim: u64, stored: usize) -> usize {
    let most = stored.saturating_mul(256).max(64 << 20);
    usize::try_from(claim).unwrap_or(most).min(most)
}
