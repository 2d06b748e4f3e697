//! From a compressor and options to a container, chunks, threads and buffers.

use super::chunked::{Buffers, Crew};
use super::container::{Container, StreamEncoder};
use super::{bzip2, gzip, lz4, none, options, xz, zstd};
use super::{Compressor, Kind, Layout, WriteOptions};
use crate::{Error, ErrorKind, Result};

/// What a writer works with.
pub(super) struct Plan {
    pub(super) way: Way,
    pub(super) layout: Layout,
    pub(super) chunk_size: usize,
    pub(super) crew: Crew,
}

/// Chunk by chunk in parallel, or one stream.
pub(super) enum Way {
    Chunks(Box<dyn Container>),
    Stream(Box<dyn StreamEncoder>),
}

/// What a container is built from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) level: i32,
    pub(super) layout: Layout,
    pub(super) chunk_size: usize,
    pub(super) checksum: bool,
    /// Whether the members are listed for a file beside.
    pub(super) index: bool,
    pub(super) content_size: Option<u64>,
    /// None for the default.
    pub(super) threads: Option<usize>,
}

/// What one worker and one slot of a container take, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    /// A worker's context.
    pub(super) context: u64,
    /// Most stored bytes of one chunk.
    pub(super) bound: u64,
}

impl Plan {
    pub(super) fn new(compressor: &Compressor, options: &WriteOptions) -> Result<Self> {
        let kind = compressor.kind();
        if kind == Kind::Zlib {
            return Err(only_read());
        }
        let level = compressor.level().unwrap_or_default();
        let mut request = Request {
            level,
            layout: layout(compressor, options)?,
            chunk_size: chunk_size(compressor, options)?,
            checksum: options.checksum,
            index: options.index,
            content_size: options.content_size,
            threads: options::check_threads(options.threads)?,
        };
        if request.index {
            check_index(kind, request.layout)?;
        }
        if kind == Kind::Gzip {
            request.chunk_size = gzip::chunk_bytes(request.layout, request.chunk_size);
        }
        let chunked =
            kind == Kind::Lz4 || matches!(request.layout, Layout::Seekable | Layout::Members);
        let mut crew = crew(&request);
        if let Some(limit) = options.memory_limit {
            crew = within(limit, &request, crew, chunked, kind)?;
            request.threads = crew.threads;
        }
        Ok(Self {
            way: way(kind, &request)?,
            layout: request.layout,
            chunk_size: request.chunk_size,
            crew,
        })
    }
}

fn way(kind: Kind, request: &Request) -> Result<Way> {
    match kind {
        Kind::None => Ok(Way::Stream(none::stream())),
        Kind::Zstd => zstd::way(request),
        Kind::Lz4 => lz4::way(request),
        Kind::Gzip => gzip::way(request),
        Kind::Bz2 => Ok(Way::Stream(bzip2::stream(request))),
        Kind::Xz => xz::stream(request).map(Way::Stream),
        Kind::Zlib => Err(only_read()),
    }
}

fn only_read() -> Error {
    let text = "zlib streams are read, never written: gzip holds the same deflate data";
    Error::new(ErrorKind::Usage, text).with_format(Kind::Zlib.name())
}

fn needs(kind: Kind, request: &Request) -> Needs {
    match kind {
        Kind::Zstd => zstd::needs(request),
        Kind::Lz4 => lz4::needs(request),
        Kind::Gzip => gzip::needs(request),
        Kind::Bz2 => bzip2::needs(request),
        Kind::Xz => xz::needs(request),
        Kind::None | Kind::Zlib => Needs {
            context: 0,
            bound: 0,
        },
    }
}

/// Two buffers more than threads keep these busy; one more where chunks are large.
fn crew(request: &Request) -> Crew {
    let spare = if request.chunk_size >= 4 << 20 { 1 } else { 2 };
    Crew {
        threads: request.threads,
        buffers: Buffers::Spare(spare),
    }
}

/// Fewer slots, then fewer threads, until all fits into `limit`.
fn within(limit: u64, request: &Request, crew: Crew, chunked: bool, kind: Kind) -> Result<Crew> {
    let needs = needs(kind, request);
    let slot = (request.chunk_size as u64).saturating_add(needs.bound);
    let total = |threads: usize, slots: usize| {
        let slots = if chunked { slots as u64 } else { 0 };
        let contexts = needs.context.saturating_mul(threads as u64);
        contexts.saturating_add(slot.saturating_mul(slots))
    };
    let mut threads = crew.threads.unwrap_or_else(options::default_threads);
    let mut slots = crew.slots(threads);
    while total(threads, slots) > limit {
        if slots > threads {
            slots = slots.saturating_sub(1);
        } else if threads > 1 {
            threads = threads.saturating_sub(1);
            slots = slots.min(threads.saturating_add(1));
        } else {
            let text = format!(
                "a memory limit of {limit} bytes is too little: {} are needed; give more, or a lower level or smaller chunks",
                total(1, 1)
            );
            return Err(Error::new(ErrorKind::Limit, text).with_format(kind.name()));
        }
    }
    Ok(Crew {
        threads: Some(threads),
        buffers: Buffers::Most(slots),
    })
}

fn layout(compressor: &Compressor, options: &WriteOptions) -> Result<Layout> {
    let asked = match options.layout {
        Layout::Auto => compressor.layout,
        asked => asked,
    };
    let kind = compressor.kind();
    match (kind, asked) {
        (Kind::None | Kind::Bz2 | Kind::Xz, Layout::Auto | Layout::Single) => Ok(Layout::Single),
        (Kind::Zstd | Kind::Lz4 | Kind::Gzip, Layout::Auto) => Ok(Layout::Seekable),
        (Kind::Zstd | Kind::Lz4 | Kind::Gzip, Layout::Seekable | Layout::Single)
        | (Kind::Gzip, Layout::Members) => Ok(asked),
        (kind, asked) => {
            let text = format!("has no layout {}", asked.name());
            Err(Error::new(ErrorKind::Usage, text).with_format(kind.name()))
        }
    }
}

/// # Errors
/// `Usage` where no index stands beside the file.
fn check_index(kind: Kind, layout: Layout) -> Result<()> {
    let text = match (kind, layout) {
        (Kind::Gzip, Layout::Seekable) => return Ok(()),
        (Kind::Zstd | Kind::Lz4, Layout::Seekable) => {
            "has its index inside the file: one beside it is for gzip".to_string()
        }
        (Kind::Zstd | Kind::Lz4 | Kind::Gzip, layout) => {
            format!("has no index in layout {}", layout.name())
        }
        _ => "has no index".to_string(),
    };
    Err(Error::new(ErrorKind::Usage, text).with_format(kind.name()))
}

fn chunk_size(compressor: &Compressor, options: &WriteOptions) -> Result<usize> {
    let kind = compressor.kind();
    let asked = options.chunk_size.or(compressor.chunk_size);
    let Some(size) = asked else {
        return Ok(kind.default_chunk_size(compressor.level().unwrap_or_default()));
    };
    if matches!(kind, Kind::None | Kind::Bz2 | Kind::Xz) {
        let text = "has no chunks: leave their size out";
        return Err(Error::new(ErrorKind::Usage, text).with_format(kind.name()));
    }
    let (good, rule) = match kind {
        Kind::Lz4 => (
            [64 << 10, 256 << 10, 1 << 20, 4 << 20].contains(&size),
            "64 KiB, 256 KiB, 1 MiB or 4 MiB",
        ),
        _ => (
            size.is_power_of_two() && (64 << 10..=64 << 20).contains(&size),
            "a power of two from 64 KiB to 64 MiB",
        ),
    };
    if good {
        return Ok(size);
    }
    let text = format!("no chunk of {size} bytes; it is {rule}");
    Err(Error::new(ErrorKind::Usage, text).with_format(kind.name()))
}
