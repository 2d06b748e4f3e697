//! Where files come from, and their plain bytes: inflated whole, or chunk by chunk on a thread.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::mpsc::{Receiver, SyncSender};

use crate::compress::{self, Kind, Reader};
use crate::{Error, ErrorKind, Result};

use super::rds::{Chunks, FRONT};
use super::ReadOptions;

/// What is read: bytes in memory, or a stream.
///
/// Made of a slice, a `Vec` or a [`File`]; of another stream by [`Source::stream`].
pub enum Source<'a> {
    /// All stored bytes.
    Bytes(&'a [u8]),
    /// A stream, read to its end.
    Stream(Box<dyn Read + Send + 'a>),
    /// A file, read from where it stands to its end.
    File(File),
}

impl<'a> Source<'a> {
    /// Any stream; give it unbuffered.
    pub fn stream(stream: impl Read + Send + 'a) -> Self {
        Self::Stream(Box::new(stream))
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
            Self::File(file) => file.fmt(f),
        }
    }
}

impl<'a> From<&'a [u8]> for Source<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Source<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Source<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<File> for Source<'_> {
    fn from(file: File) -> Self {
        Self::File(file)
    }
}

/// How many bytes of a file follow, and the last four of them; None for what does not seek, and for
/// fewer.
pub(super) fn trailer(mut file: &File) -> Option<(u64, [u8; 4])> {
    let start = file.stream_position().ok()?;
    let end = file.seek(SeekFrom::End(-4)).ok()?;
    let mut last = [0; 4];
    let read = file.read_exact(&mut last);
    // Back, whatever came of it: what cannot seek did not get here.
    file.seek(SeekFrom::Start(start)).ok()?;
    read.ok()?;
    Some((end.checked_sub(start)?.saturating_add(4), last))
}

/// Plain bytes of a chunk.
const CHUNK: usize = 1 << 20;
/// Chunks that wait between the threads.
const QUEUE: usize = 3;
/// The longest frame that is held whole while streaming.
const MAX_FRAME: usize = 4 << 20;

/// A full chunk of what a reader gives; an empty one at its end.
fn fill(source: &mut dyn Read, mut chunk: Vec<u8>) -> Result<Vec<u8>> {
    // A buffer used before has its whole length, and what it holds is overwritten.
    let whole = FRONT.saturating_add(CHUNK);
    chunk.resize(whole, 0);
    let mut at = FRONT;
    while let Some(place) = chunk.get_mut(at..).filter(|place| !place.is_empty()) {
        match source.read(place) {
            Ok(0) => break,
            Ok(size) => at = at.saturating_add(size),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(of_source(error)),
        }
    }
    chunk.truncate(at);
    Ok(chunk)
}

/// What a source answered: the crate's own error, where it is one.
fn of_source(error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(own) => own,
        Err(error) => {
            let text = format!("cannot read the input: {error}");
            Error::new(ErrorKind::Io, text).with_source(error)
        }
    }
}

/// Chunks that are read when they are asked for.
pub(super) struct Direct<'a>(pub(super) Box<dyn Read + 'a>);

impl Chunks for Direct<'_> {
    fn next(&mut self, used: Vec<u8>) -> Result<Option<Vec<u8>>> {
        let chunk = fill(&mut self.0, used)?;
        Ok((chunk.len() > FRONT).then_some(chunk))
    }
}

/// Chunks that another thread inflates.
pub(super) struct Threaded {
    chunks: Receiver<Result<Vec<u8>>>,
    used: SyncSender<Vec<u8>>,
}

impl Chunks for Threaded {
    fn next(&mut self, used: Vec<u8>) -> Result<Option<Vec<u8>>> {
        // A full queue or a thread that is through needs no buffer back.
        let _ = self.used.try_send(used);
        match self.chunks.recv() {
            Ok(Ok(chunk)) => Ok((chunk.len() > FRONT).then_some(chunk)),
            Ok(Err(error)) => Err(error),
            Err(_) => {
                let text = "the thread that decompresses is gone";
                Err(Error::new(ErrorKind::Internal, text))
            }
        }
    }
}

/// How the decompressor works.
pub(super) fn inflating(options: &ReadOptions) -> compress::ReadOptions {
    compress::ReadOptions {
        threads: options.threads,
        max_ratio: options.max_ratio,
        max_frame: MAX_FRAME,
        cancel: options.cancel.clone(),
        ..compress::ReadOptions::default()
    }
}

/// Gives the plain bytes of a compressed stream to `take`, inflated on a thread beside it.
pub(super) fn with_thread<T>(
    source: impl Read + Send,
    options: &ReadOptions,
    take: impl FnOnce(Box<dyn Chunks + '_>) -> Result<T>,
) -> Result<T> {
    let settings = inflating(options);
    let (to_parser, chunks) = std::sync::mpsc::sync_channel(QUEUE);
    let (used, emptied) = std::sync::mpsc::sync_channel(QUEUE.saturating_add(1));
    std::thread::scope(|scope| {
        let inflate = move || {
            let mut reader = match Reader::new(source, settings) {
                Ok(reader) => reader,
                Err(error) => {
                    // If nobody waits for the error, nobody needs it.
                    let _ = to_parser.send(Err(error));
                    return;
                }
            };
            loop {
                let chunk = fill(&mut reader, emptied.try_recv().unwrap_or_default());
                let over = chunk.as_ref().map_or(true, |chunk| chunk.len() <= FRONT);
                if to_parser.send(chunk).is_err() || over {
                    return;
                }
            }
        };
        let builder = std::thread::Builder::new().name("tare-inflate".to_owned());
        builder.spawn_scoped(scope, inflate).map_err(|error| {
            let text = format!("no thread can be started: {error}; ask for 1 thread");
            Error::new(ErrorKind::Limit, text).with_source(error)
        })?;
        take(Box::new(Threaded { chunks, used }))
    })
}

/// The kind of compressor around what begins with `head`.
pub(super) fn wrapper(head: &[u8]) -> Kind {
    // Frames to skip may stand in front of zstd; nothing of R begins with their bytes.
    match head {
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Kind::Zstd,
        _ => compress::sniff(head),
    }
}
