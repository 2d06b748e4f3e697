//! Writing lz4: one frame, a chunk an independent block, and an index behind it.

use std::sync::Arc;

use lz4::block::{compress_to_buffer, CompressionMode};
use xxhash_rust::xxh32::{xxh32, Xxh32};

use super::fast::{Fast, LARGE};
use super::header::Header;
use super::STORED;
use crate::compress::chunked::Stop;
use crate::compress::container::{Container, Make, UnitEncoder};
use crate::compress::plan::Request;

use crate::compress::seek_table::SeekTable;
use crate::compress::skip::is_incompressible;
use crate::compress::Layout;
use crate::{Error, ErrorKind, Result};

/// Most bytes around a block's own: its size, and its checksum.
pub(super) const AROUND_BLOCK: usize = 8;

/// One frame of independent blocks. The layout `Seekable` adds checksums of blocks and an index,
/// so that a part can be found and verified.
pub(super) struct Blocks {
    request: Request,
    content: Option<Xxh32>,
    /// The index, where one is written.
    table: Option<SeekTable>,
    written: u64,
    plain_bytes: u64,
}

impl Blocks {
    pub(super) fn new(request: Request) -> Self {
        let seekable = request.layout == Layout::Seekable;
        Self {
            request,
            content: request.checksum.then(|| Xxh32::new(0)),
            table: seekable.then(SeekTable::default),
            written: 0,
            plain_bytes: 0,
        }
    }

    fn has_block_checksums(&self) -> bool {
        self.request.checksum && self.table.is_some()
    }

    fn list(&mut self, stored: usize, plain: usize) -> Result<()> {
        match &mut self.table {
            Some(table) => table.push(stored, plain),
            None => Ok(()),
        }
    }
}

impl Container for Blocks {
    fn encoder(&self) -> Arc<Make<dyn UnitEncoder>> {
        let (level, checksum) = (self.request.level, self.has_block_checksums());
        Arc::new(move || Ok(Box::new(Encoder::new(level, checksum))))
    }

    fn head(&mut self, total: Option<u64>, stored: &mut Vec<u8>) -> Result<()> {
        let before = stored.len();
        let header = Header {
            start: 0,
            independent: true,
            block_checksums: self.has_block_checksums(),
            content_checksum: self.request.checksum,
            content_size: total,
            block_bytes: self.request.chunk_size,
        };
        header.write(stored);
        self.list(stored.len().saturating_sub(before), 0)
    }

    fn unit(&mut self, plain: &[u8], stored: &[u8]) -> Result<()> {
        if let Some(content) = &mut self.content {
            content.update(plain);
        }
        self.written = self.written.saturating_add(1);
        self.plain_bytes = self.plain_bytes.saturating_add(plain.len() as u64);
        self.list(stored.len(), plain.len())
    }

    fn tail(&mut self, stored: &mut Vec<u8>) -> Result<()> {
        let before = stored.len();
        stored.extend([0; 4]);
        if let Some(content) = &self.content {
            stored.extend(content.digest().to_le_bytes());
        }
        self.list(stored.len().saturating_sub(before), 0)?;
        // A lone block is found without an index, unless it could be the first of more.
        let short = self.written <= 1 && self.plain_bytes < self.request.chunk_size as u64;
        match &self.table {
            Some(table) if !short => table.write(stored),
            _ => Ok(()),
        }
    }

    fn lone(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        self.head(Some(plain.len() as u64), stored)?;
        if !plain.is_empty() {
            let mut block = Vec::new();
            Encoder::new(self.request.level, self.has_block_checksums())
                .encode(plain, &mut block, stop)?;
            self.unit(plain, &block)?;
            stored.append(&mut block);
        }
        self.tail(stored)
    }

    /// `lz4 -t` takes an empty stream for a whole one.
    fn eager(&self) -> bool {
        true
    }
}

/// Encodes blocks, each with its size and its checksum.
struct Encoder {
    level: i32,
    checksum: bool,
    /// Where blocks are compressed to: their size, which comes first, is known afterwards.
    place: Vec<u8>,
    fast: Fast,
}

impl Encoder {
    fn new(level: i32, checksum: bool) -> Self {
        Self {
            level,
            checksum,
            place: Vec::new(),
            fast: Fast::new(),
        }
    }

    /// How to compress a chunk. Noise at HC levels takes 150 times as long for nothing.
    fn mode(&self, plain: &[u8]) -> CompressionMode {
        match self.level {
            2.. if is_incompressible(plain) => CompressionMode::FAST(1),
            2.. => CompressionMode::HIGHCOMPRESSION(self.level),
            1 => CompressionMode::FAST(1),
            acceleration => CompressionMode::FAST(acceleration.saturating_neg()),
        }
    }

    /// The compressed bytes, if they are fewer.
    fn compress(&mut self, plain: &[u8]) -> Result<Option<&[u8]>> {
        if self.place.len() < plain.len() {
            let missing = plain.len().saturating_sub(self.place.len());
            self.place
                .try_reserve_exact(missing)
                .map_err(|_| no_memory(missing))?;
            self.place.resize(plain.len(), 0);
        }
        let mode = self.mode(plain);
        // One byte less than plain: what does not fit into it is stored as it is.
        let place = self.place.get_mut(..plain.len().saturating_sub(1));
        let place = place.unwrap_or_default();
        let size = if self.level == 1 && plain.len() > LARGE {
            self.fast.compress(plain, place)
        } else {
            compress_to_buffer(plain, Some(mode), false, place).ok()
        };
        Ok(size.and_then(|size| self.place.get(..size)))
    }
}

impl UnitEncoder for Encoder {
    fn encode(&mut self, plain: &[u8], stored: &mut Vec<u8>, _stop: &Stop<'_>) -> Result<()> {
        let checksum = self.checksum;
        let (bytes, flag) = match self.compress(plain)? {
            Some(bytes) => (bytes, 0),
            None => (plain, STORED),
        };
        let size = u32::try_from(bytes.len()).map_err(|_| {
            let text = "a chunk above the largest block";
            Error::new(ErrorKind::Internal, text)
        })?;
        let needed = bytes.len().saturating_add(AROUND_BLOCK);
        stored
            .try_reserve_exact(needed)
            .map_err(|_| no_memory(needed))?;
        stored.extend((size | flag).to_le_bytes());
        stored.extend_from_slice(bytes);
        if checksum {
            stored.extend(xxh32(bytes, 0).to_le_bytes());
        }
        Ok(())
    }
}

fn no_memory(bytes: usize) -> Error {
    let text = format!("no memory for {bytes} bytes of a block");
    Error::new(ErrorKind::Limit, text)
}
