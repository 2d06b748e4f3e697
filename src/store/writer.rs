//! An object whose bytes come by and by: hashed, compressed and staged as they come.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use crate::compress::{CancelToken, Kind, WriteOptions, Writer};
use crate::{Error, ErrorKind, Result};

use super::packing::choose;
use super::write::{small, SMALL};
use super::{
    Batch, Change, Expect, Hash, Hasher, Key, NewBody, NewKey, NewObject, ObjectHint, ObjectMeta,
    Packing, SetOptions, Sink, Store,
};

/// Plain bytes of a stream that are looked at before its compressor is chosen.
const LOOKED_AT: usize = 1 << 20;

/// Plain bytes in a chunk of zstd: with two workers its own 2 MiB take 19 MB for a stream.
const CHUNK: usize = 1 << 20;
/// Higher levels are asked for the size, to which larger chunks matter.
const CHUNKED: i32 = 6;

/// An object whose plain bytes come by and by; see [`Store::writer`]. Dropped, it leaves nothing.
pub struct ObjectWriter {
    store: Store,
    codec: String,
    options: SetOptions,
    hasher: Hasher,
    plain: u64,
    /// Hash and plain bytes, if they were known before.
    hint: Option<(Hash, u64)>,
    state: State,
}

enum State {
    /// What came first, until it is known whether it is small, and how to compress it.
    Head(Vec<u8>),
    Plain(Box<dyn Sink>),
    Packed(Box<Writer<Box<dyn Sink>>>, Kind),
    /// After an error.
    Failed,
}

impl Store {
    /// An object whose plain bytes are pushed, in bounded memory; nothing is visible before it is named.
    ///
    /// # Errors
    /// `ReadOnly`, `Usage` for a codec that the driver does not hold.
    pub fn writer(&self, codec: &str, options: &SetOptions) -> Result<ObjectWriter> {
        self.check_codec(codec)?;
        let info = self.info();
        Ok(ObjectWriter {
            store: self.clone(),
            codec: codec.to_owned(),
            options: options.clone(),
            hasher: Hasher::new(info.algorithm, info.unhashed),
            plain: 0,
            hint: None,
            state: State::Head(Vec::new()),
        })
    }
}

impl ObjectWriter {
    /// Says before the first byte what the object will be, so that it is not hashed again.
    pub(super) fn expect(&mut self, hash: Hash, plain_len: u64) {
        self.hint = Some((hash, plain_len));
    }

    /// Takes further plain bytes.
    ///
    /// # Errors
    /// `NoSpace`, `Io`, `Cancelled`.
    pub fn push(&mut self, plain: &[u8]) -> Result<()> {
        if self.hint.is_none() {
            self.hasher.update(plain);
        }
        self.plain += plain.len() as u64;
        // Of a length that is known, the last part need not be copied.
        let is_last = self.hint.is_some_and(|(_, total)| self.plain >= total);
        if let State::Head(head) = &mut self.state {
            if head.len() + plain.len() <= LOOKED_AT && !is_last {
                head.extend_from_slice(plain);
                return Ok(());
            }
            let head = std::mem::take(head);
            self.begin(&head, plain)?;
            self.write(&head)?;
        }
        self.write(plain)
    }

    /// All of a stream.
    pub(super) fn take_all(&mut self, reader: &mut dyn Read) -> Result<()> {
        let mut place = vec![0; 256 << 10];
        loop {
            if self
                .options
                .cancel
                .as_ref()
                .is_some_and(CancelToken::is_cancelled)
            {
                return Err(Error::new(
                    ErrorKind::Cancelled,
                    "stopped while a value was set",
                ));
            }
            match reader.read(&mut place) {
                Ok(0) => return Ok(()),
                Ok(got) => self.push(place.get(..got).unwrap_or_default())?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(error)),
            }
        }
    }

    /// Ends the object and lets a key name it.
    ///
    /// # Errors
    /// As [`Store::set`].
    pub fn name(self, key: Key<'_>) -> Result<Hash> {
        self.store.check_writable(key)?;
        let codec = self.codec.clone();
        let expect = self.options.expect;
        self.end(Some((key, &codec, expect)))
    }

    /// Ends the object, which no key names.
    ///
    /// # Errors
    /// As [`Store::set_object`].
    pub fn keep(self) -> Result<Hash> {
        self.end(None)
    }

    fn end(mut self, named: Option<(Key<'_>, &str, Expect)>) -> Result<Hash> {
        let store = self.store.clone();
        let durability = store.durability(&self.options);
        let (hash, object) = match std::mem::replace(&mut self.state, State::Failed) {
            State::Head(head) if head.len() <= SMALL => {
                let hash = self.hasher.clone().finish();
                let packing = store.packing(&self.options);
                let head = Cow::Owned(head);
                (
                    hash,
                    small(hash, head, &self.codec, packing, &self.options, false)?,
                )
            }
            state => {
                self.state = state;
                self.staged()?
            }
        };
        let mut object = object;
        object.replace = match store.driver().stat_objects(&[hash])?.pop() {
            Some(Some(_)) => !store.inner.seen.has(&hash) && !store.is_whole(&hash)?,
            _ => false,
        };
        let change = |(key, codec, expect)| Change {
            key,
            to: Some(NewKey { hash, codec }),
            expect,
        };
        store.apply(Batch {
            objects: vec![object],
            changes: named.map(change).into_iter().collect(),
            durability,
        })?;
        Ok(hash)
    }

    /// The object, written and not yet named.
    pub(super) fn staged<'a>(mut self) -> Result<(Hash, NewObject<'a>)> {
        if let State::Head(head) = &mut self.state {
            let head = std::mem::take(head);
            self.begin(&head, &[])?;
            self.write(&head)?;
        }
        let (kind, sink) = match self.state {
            State::Plain(sink) => (Kind::None, sink),
            State::Packed(writer, kind) => (kind, writer.finish()?.0),
            State::Head(_) | State::Failed => return Err(nothing_made()),
        };
        let staged = sink.finish()?;
        let hash = match self.hint {
            Some((hash, _)) => hash,
            None => self.hasher.finish(),
        };
        let object = NewObject {
            hash,
            meta: ObjectMeta {
                plain_len: Some(self.plain),
                stored_len: staged.stored_len,
                compressor: kind,
                codec: self.codec,
            },
            body: NewBody::Staged(staged),
            replace: false,
            canonical: self.options.canonical,
        };
        Ok((hash, object))
    }

    /// Chooses a compressor by what came first, and opens the driver's sink.
    fn begin(&mut self, head: &[u8], more: &[u8]) -> Result<()> {
        self.state = State::Failed;
        let packing = self.store.packing(&self.options);
        let compressor = match packing {
            Packing::With(compressor) | Packing::Fixed(compressor) => compressor,
            // A value may come in parts, of which the first is a header of a few bytes.
            Packing::Auto if head.len() < more.len() => choose(more)?,
            Packing::Auto => choose(head)?,
        };
        let packed = compressor.kind() != Kind::None;
        let hint = ObjectHint {
            hash: self.hint.map(|(hash, _)| hash),
            stored_len: self.hint.map(|(_, total)| total).filter(|_| !packed),
            durability: self.store.durability(&self.options),
        };
        let sink = self.store.driver().begin_object(&hint)?;
        self.state = if packed {
            let is_low = compressor.level().is_none_or(|level| level <= CHUNKED);
            let is_free = compressor.chunk_size.is_none() && compressor.kind() == Kind::Zstd;
            let options = WriteOptions {
                threads: self.store.options().threads,
                content_size: self.hint.map(|(_, total)| total),
                chunk_size: (is_free && is_low).then_some(CHUNK),
                cancel: self.options.cancel.clone(),
                ..WriteOptions::default()
            };
            State::Packed(
                Box::new(Writer::new(sink, compressor, options)?),
                compressor.kind(),
            )
        } else {
            State::Plain(sink)
        };
        Ok(())
    }

    fn write(&mut self, plain: &[u8]) -> Result<()> {
        let done = match &mut self.state {
            State::Plain(sink) => sink.write_all(plain).map_err(storage),
            State::Packed(writer, _) => writer.push(plain).map_err(unwrapped),
            State::Head(_) | State::Failed => Err(nothing_made()),
        };
        if done.is_err() {
            self.state = State::Failed;
        }
        done
    }
}

impl Write for ObjectWriter {
    fn write(&mut self, plain: &[u8]) -> io::Result<usize> {
        self.push(plain)?;
        Ok(plain.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Why a source gave no more: what another store said of its object stays what it is.
fn unreadable(error: io::Error) -> Error {
    let text = format!("the value cannot be read: {error}");
    match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => Error::new(ErrorKind::Io, text).with_source(error),
    }
}

/// An error of a driver's sink: the crate's own, if the sink made one, else by its number.
pub(super) fn storage(error: io::Error) -> Error {
    if error
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<Error>)
    {
        let below = error
            .into_inner()
            .map(<dyn std::error::Error + Send + Sync>::downcast);
        if let Some(Ok(below)) = below {
            return *below;
        }
        return nothing_made();
    }
    let full = matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    );
    let kind = if full {
        ErrorKind::NoSpace
    } else {
        ErrorKind::Io
    };
    Error::new(kind, format!("the object cannot be written: {error}")).with_source(error)
}

/// What a sink said through a compressor's writer.
fn unwrapped(error: Error) -> Error {
    if error.kind() != ErrorKind::Io {
        return error;
    }
    let text = error.to_string();
    let below = error.into_source();
    match below.map(<dyn std::error::Error + Send + Sync>::downcast) {
        Some(Ok(below)) => storage(*below),
        _ => Error::new(ErrorKind::Io, text),
    }
}

pub(super) fn nothing_made() -> Error {
    let text = "an object was ended after an error";
    Error::new(ErrorKind::Internal, text)
}
