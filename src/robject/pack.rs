//! Writing the container of qs2 and qdata: blocks filled in order, compressed in parallel.
//!
//! The bytes are the same for any number of threads: what is in a block, and whether it is
//! shuffled, hangs on its plain bytes and the level alone.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::io::{self, Write};

use xxhash_rust::xxh3::Xxh3Default;
use zstd_safe::{CCtx, CParameter};

use super::blocks::{Payload, BLOCK, HEADER, SHUFFLED, STORED};
use super::lanes::Lanes;
use super::shuffle::shuffle_8;
use super::WriteOptions;
use crate::compress::{default_threads, Kind};
use crate::{Error, ErrorKind, Result};

/// A header begins in a block only if it has fewer bytes than this.
const LAST_HEADER: usize = BLOCK - 64;

/// Bytes of a block that are compressed both ways to choose one: so many pieces of so many bytes.
const PIECES: usize = 4;
const PIECE: usize = 8 << 10;

/// The level that the choice is made at, unless a lower one is asked for.
const SAMPLE_LEVEL: i32 = 1;

/// What is told by the options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    level: i32,
    threads: usize,
}

impl Settings {
    fn new(options: &WriteOptions, payload: Payload) -> Result<Self> {
        let level = match &options.compressor {
            None => 3,
            Some(asked) if asked.kind() == Kind::Zstd => asked.level().unwrap_or(3),
            Some(asked) => {
                let text = format!("holds zstd frames, not {asked}; use zstd with a level");
                return Err(Error::new(ErrorKind::Usage, text).with_format(payload.name()));
            }
        };
        let threads = options.threads.unwrap_or_else(|| default_threads().min(8));
        if !(1..=256).contains(&threads) {
            let text = format!("no {threads} threads; from 1 to 256 can be asked for");
            return Err(Error::new(ErrorKind::Usage, text).with_format(payload.name()));
        }
        Ok(Self { level, threads })
    }
}

/// A whole file whose plain bytes `fill` gives.
pub(super) fn to_vec<T>(
    payload: Payload,
    options: &WriteOptions,
    fill: impl FnOnce(&mut Packer<'_, '_>) -> Result<T>,
) -> Result<(Vec<u8>, T)> {
    let mut bytes = header(payload, 0).to_vec();
    let (hash, made) = blocks(payload, options, &mut bytes, fill)?;
    let (head, _) = bytes.split_at_mut(HEADER);
    head.copy_from_slice(&header(payload, hash));
    Ok((bytes, made))
}

/// As [`to_vec`] into a file: the checksum is put into the header at the end.
pub(super) fn to_file<T>(
    payload: Payload,
    options: &WriteOptions,
    mut sink: impl Write + io::Seek,
    fill: impl FnOnce(&mut Packer<'_, '_>) -> Result<T>,
) -> Result<T> {
    let wrong = |error: io::Error| cannot_write(payload, error);
    let start = sink.stream_position().map_err(wrong)?;
    sink.write_all(&header(payload, 0)).map_err(wrong)?;
    let (hash, made) = blocks(payload, options, &mut sink, fill)?;
    let end = sink.stream_position().map_err(wrong)?;
    sink.seek(io::SeekFrom::Start(start)).map_err(wrong)?;
    sink.write_all(&header(payload, hash)).map_err(wrong)?;
    sink.seek(io::SeekFrom::Start(end)).map_err(wrong)?;
    sink.flush().map_err(wrong)?;
    Ok(made)
}

fn header(payload: Payload, hash: u64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let fields = [
        &payload.magic()[..],
        &[1, 1, 2, 1],
        &[0; 8],
        &hash.to_le_bytes(),
    ];
    for (place, byte) in header.iter_mut().zip(fields.concat()) {
        *place = byte;
    }
    header
}

fn cannot_write(payload: Payload, error: io::Error) -> Error {
    let text = format!("cannot write: {error}");
    let error = Error::new(ErrorKind::Io, text).with_source(error);
    error.with_format(payload.name())
}

/// Writes the blocks; their checksum and what `fill` gave.
fn blocks<T>(
    payload: Payload,
    options: &WriteOptions,
    sink: &mut dyn Write,
    fill: impl FnOnce(&mut Packer<'_, '_>) -> Result<T>,
) -> Result<(u64, T)> {
    let settings = Settings::new(options, payload)?;
    let mut hash = Xxh3Default::new();
    let mut put = |stored: &Stored| {
        for part in [&stored.size[..], &stored.frame] {
            hash.update(part);
            let written = sink.write_all(part);
            written.map_err(|error| cannot_write(payload, error))?;
        }
        Ok(())
    };
    let encoder = || Encoder::new(settings.level, payload);
    let made = Lanes::run(settings.threads, &encoder, &mut put, |lanes| {
        let mut packer = Packer {
            block: Vec::with_capacity(BLOCK),
            lanes,
            failed: None,
            options,
        };
        let made = fill(&mut packer)?;
        packer.flush()?;
        Ok(made)
    })?;
    Ok((hash.digest().max(1), made))
}

/// Takes plain bytes and cuts them into blocks.
pub(super) struct Packer<'a, 'l> {
    block: Vec<u8>,
    lanes: &'a mut Lanes<'l>,
    /// Why a block was not taken, where bytes came by `Write`.
    failed: Option<Error>,
    options: &'a WriteOptions,
}

impl Packer<'_, '_> {
    /// Adds bytes that must lie in one block: 64 at most.
    pub(super) fn header(&mut self, bytes: &[u8]) -> Result<()> {
        if self.block.len() > LAST_HEADER {
            self.flush()?;
        }
        self.block.extend_from_slice(bytes);
        Ok(())
    }

    /// Adds bytes that blocks may cut.
    pub(super) fn bulk(&mut self, mut bytes: &[u8]) -> Result<()> {
        loop {
            let free = BLOCK.saturating_sub(self.block.len());
            let (now, later) = bytes.split_at(free.min(bytes.len()));
            self.block.extend_from_slice(now);
            if later.is_empty() {
                return Ok(());
            }
            self.flush()?;
            bytes = later;
        }
    }

    /// Adds elements of `N` bytes.
    pub(super) fn elements<const N: usize, T: Copy>(
        &mut self,
        mut elements: &[T],
        bytes: impl Fn(T) -> [u8; N],
    ) -> Result<()> {
        while !elements.is_empty() {
            let free = BLOCK.saturating_sub(self.block.len()).div_euclid(N);
            let (now, later) = elements.split_at(free.min(elements.len()));
            // Into place made at once: an element each is a check of the capacity each.
            let start = self.block.len();
            self.block
                .resize(start.saturating_add(now.len().saturating_mul(N)), 0);
            let place = self.block.get_mut(start..).unwrap_or_default();
            for (place, element) in place.chunks_exact_mut(N).zip(now) {
                place.copy_from_slice(&bytes(*element));
            }
            elements = later;
            if let Some((first, later)) = later.split_first() {
                self.bulk(&bytes(*first))?;
                elements = later;
            }
        }
        Ok(())
    }

    /// Why bytes were not taken, once.
    pub(super) fn failure(&mut self) -> Option<Error> {
        self.failed.take()
    }

    fn flush(&mut self) -> Result<()> {
        let cancel = &self.options.cancel;
        if cancel
            .as_ref()
            .is_some_and(crate::compress::CancelToken::is_cancelled)
        {
            return Err(Error::new(ErrorKind::Cancelled, "stopped on request"));
        }
        if self.block.is_empty() {
            return Ok(());
        }
        self.block = self.lanes.push(std::mem::take(&mut self.block))?;
        self.block.clear();
        self.block.reserve_exact(BLOCK);
        Ok(())
    }
}

impl Write for Packer<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.bulk(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(error) => {
                let text = error.to_string();
                self.failed = Some(error);
                Err(io::Error::other(text))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A block as it stands in the file.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub(super) size: [u8; 4],
    pub(super) frame: Vec<u8>,
}

/// Compresses blocks, one after the other.
pub(super) struct Encoder {
    context: CCtx<'static>,
    chooser: CCtx<'static>,
    planes: Vec<u8>,
    sample: Vec<u8>,
    tried: Vec<u8>,
    payload: Payload,
}

impl Encoder {
    fn new(level: i32, payload: Payload) -> Result<Self> {
        let context = |level| {
            let refused = |code: usize| {
                let name = zstd_safe::get_error_name(code);
                let text = format!("zstd at level {level}: {name}");
                Error::new(ErrorKind::Limit, text).with_format(payload.name())
            };
            let mut context = CCtx::try_create().ok_or_else(|| refused(0))?;
            let set = context.set_parameter(CParameter::CompressionLevel(level));
            set.map_err(refused)?;
            Ok::<_, Error>(context)
        };
        Ok(Self {
            context: context(level)?,
            chooser: context(level.min(SAMPLE_LEVEL))?,
            planes: Vec::new(),
            sample: Vec::new(),
            tried: Vec::new(),
            payload,
        })
    }

    /// The block as it stands in the file.
    pub(super) fn encode(&mut self, block: &[u8], stored: &mut Stored) -> Result<()> {
        let shuffled = self.choose(block)?;
        self.planes.clear();
        if shuffled {
            shuffle_8(block, &mut self.planes);
        }
        let plain = if shuffled { &self.planes } else { block };
        stored.frame.clear();
        stored.frame.reserve_exact(STORED);
        let size = self.context.compress2(&mut stored.frame, plain);
        let size = size.map_err(|code| failed(self.payload, code))?;
        let flag = if shuffled { SHUFFLED } else { 0 };
        stored.size = (u32::try_from(size).unwrap_or_default() | flag).to_le_bytes();
        Ok(())
    }

    /// Whether the block is smaller by planes, as far as a sample tells.
    fn choose(&mut self, block: &[u8]) -> Result<bool> {
        self.sample.clear();
        if block.len() <= PIECES.saturating_mul(PIECE) {
            self.sample.extend_from_slice(block);
        } else {
            let step = block.len().div_euclid(PIECES);
            for piece in 0..PIECES {
                // At a multiple of 8, so that the elements of the pieces go on in each other.
                let start = piece.saturating_mul(step) & !7;
                let end = start.saturating_add(PIECE);
                self.sample
                    .extend_from_slice(block.get(start..end).unwrap_or_default());
            }
        }
        let plain = self.trial(false)?;
        self.planes.clear();
        shuffle_8(&self.sample, &mut self.planes);
        let planes = self.trial(true)?;
        Ok(planes < plain)
    }

    fn trial(&mut self, planes: bool) -> Result<usize> {
        let sample = if planes { &self.planes } else { &self.sample };
        self.tried.clear();
        self.tried.reserve(zstd_safe::compress_bound(sample.len()));
        let size = self.chooser.compress2(&mut self.tried, sample);
        size.map_err(|code| failed(self.payload, code))
    }
}

fn failed(payload: Payload, code: usize) -> Error {
    let text = format!("cannot compress: {}", zstd_safe::get_error_name(code));
    Error::new(ErrorKind::Internal, text).with_format(payload.name())
}
