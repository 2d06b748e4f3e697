//! Writing: objects part by part under a name of their own, then everything in one step.

use std::io::{self, Write};
use std::sync::Arc;

use super::read::parts_of;
use super::{Shared, DRIVER, PART_BYTES};
use crate::store::drivers::remote::random_name;
use crate::store::{Applied, Batch, Change, Durability, Expect, Hash, NewBody, Sink, Staged};
use crate::{Error, ErrorKind, Result};

/// Bytes of one write of a staged object.
const PIECE_BYTES: usize = 1024 * 1024;
/// Most bytes of objects that go along with the change of their keys.
const INLINE_BYTES: usize = 4 * 1024 * 1024;
/// Most objects that do.
const INLINE_OBJECTS: usize = 100_000;
/// Changes in one argument of the script.
const GROUP: usize = 500;

/// An object that is being written under a name of its own.
pub(super) struct RedisSink {
    piece: Vec<u8>,
    place: Option<StagedPlace>,
}

/// Where a staged object lies. Dropped before it is named, it is removed.
pub(super) struct StagedPlace {
    shared: Arc<Shared>,
    name: String,
    stored_len: u64,
    /// Whether it became an object, and is nobody's to remove.
    named: bool,
}

impl RedisSink {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self> {
        let place = StagedPlace {
            shared: Arc::clone(shared),
            name: random_name()?,
            stored_len: 0,
            named: false,
        };
        Ok(Self {
            piece: Vec::new(),
            place: Some(place),
        })
    }

    fn place(&mut self) -> Result<&mut StagedPlace> {
        let gone = || Error::new(ErrorKind::Internal, "a sink that has ended is written to");
        self.place.as_mut().ok_or_else(gone)
    }

    fn send(&mut self) -> Result<()> {
        let piece = std::mem::take(&mut self.piece);
        let mut rest = piece.as_slice();
        let place = self.place()?;
        while !rest.is_empty() {
            rest = place.send(rest)?;
        }
        self.piece = piece;
        self.piece.clear();
        Ok(())
    }
}

impl StagedPlace {
    /// Writes what fits into the part at hand; what does not is given back.
    fn send<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8]> {
        let shared = &self.shared;
        let offset = self.stored_len % PART_BYTES;
        let room = usize::try_from(PART_BYTES.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (now, later) = bytes.split_at(room.min(bytes.len()).min(PIECE_BYTES));
        let name = shared.part("s", &self.name, self.stored_len / PART_BYTES);
        shared.wire.call(|link| {
            let mut script = shared.wire.scripts.stage.key(&shared.meta);
            script.arg(&shared.prefix).arg(&self.name).arg(&name);
            script.arg(offset).arg(shared.staging_seconds).arg(now);
            script.invoke::<()>(link)
        })?;
        self.stored_len = self.stored_len.saturating_add(now.len() as u64);
        Ok(later)
    }
}

impl Drop for StagedPlace {
    fn drop(&mut self) {
        if self.named || self.stored_len == 0 {
            return;
        }
        let shared = &self.shared;
        let parts = 0..parts_of(self.stored_len);
        let names: Vec<String> = parts.map(|n| shared.part("s", &self.name, n)).collect();
        // What cannot be removed now ends with its time to live.
        let _ = shared.wire.call(|link| {
            let mut pipe = redis::pipe();
            pipe.cmd("UNLINK").arg(&names).ignore();
            pipe.cmd("ZREM")
                .arg(shared.name("staging"))
                .arg(&self.name)
                .ignore();
            pipe.query::<()>(link)
        });
    }
}

impl Write for RedisSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PIECE_BYTES.saturating_sub(self.piece.len());
        let (now, _) = bytes.split_at(room.min(bytes.len()));
        self.piece.extend_from_slice(now);
        if self.piece.len() >= PIECE_BYTES {
            self.send().map_err(io::Error::from)?;
        }
        Ok(now.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for RedisSink {
    fn finish(mut self: Box<Self>) -> Result<Staged> {
        self.send()?;
        let place = self.place.take();
        let gone = || Error::new(ErrorKind::Internal, "a sink ends twice");
        let place = place.ok_or_else(gone)?;
        Ok(Staged {
            stored_len: place.stored_len,
            place: Box::new(place),
        })
    }
}

/// What one object of a batch is to the script.
struct Described<'b> {
    /// `hash replace stage stored parts plain compressor codec`.
    record: String,
    /// Its bytes, unless they are staged.
    bytes: &'b [u8],
}

/// Writes objects and changes keys, in one step.
pub(super) fn apply(shared: &Arc<Shared>, batch: Batch<'_>) -> Result<Applied> {
    let Batch {
        mut objects,
        changes,
        durability,
    } = batch;
    let mut room = INLINE_BYTES;
    let mut places: Vec<Option<Box<StagedPlace>>> = Vec::with_capacity(objects.len());
    for (number, object) in objects.iter_mut().enumerate() {
        let place = match &mut object.body {
            NewBody::Bytes(bytes) if bytes.len() <= room && number < INLINE_OBJECTS => {
                room -= bytes.len();
                None
            }
            NewBody::Bytes(bytes) => {
                let mut sink = RedisSink::new(shared)?;
                sink.write_all(bytes).map_err(unwrapped)?;
                Some(Box::new(sink).finish()?)
            }
            NewBody::Staged(staged) => {
                let stored_len = staged.stored_len;
                let place = std::mem::replace(&mut staged.place, Box::new(()));
                Some(Staged { stored_len, place })
            }
        };
        let place = place.map(|staged| staged.place.downcast::<StagedPlace>());
        let foreign = |_| Error::new(ErrorKind::Usage, "a staged object of another driver");
        places.push(place.transpose().map_err(foreign)?);
    }
    let described: Vec<Described<'_>> = objects
        .iter()
        .zip(&places)
        .map(|(object, place)| {
            let meta = &object.meta;
            let (bytes, stage, stored): (&[u8], _, _) = match (&object.body, place) {
                (_, Some(place)) if place.stored_len > 0 => {
                    (&[], place.name.as_str(), place.stored_len)
                }
                (NewBody::Bytes(bytes), None) => (bytes, "-", bytes.len() as u64),
                _ => (&[], "-", 0),
            };
            let plain = meta
                .plain_len
                .map_or_else(|| "-".into(), |len| len.to_string());
            let record = format!(
                "{} {} {stage} {stored} {} {plain} {} {}",
                object.hash,
                u8::from(object.replace),
                parts_of(stored),
                meta.compressor.name(),
                meta.codec
            );
            Described { record, bytes }
        })
        .collect();
    let groups: Vec<Vec<u8>> = changes.chunks(GROUP).map(packed).collect();

    let mut slot = shared.wire.take_slot()?;
    slot.number = slot.number.saturating_add(1);
    let name = shared.name(&format!("c:{}", slot.name));
    let mut attempt = 0_u32;
    let answer: Vec<Vec<u8>> = shared.wire.call(|link| {
        let mut script = shared.wire.scripts.apply.key(&shared.meta);
        script.arg(&shared.prefix).arg(&name).arg(slot.number);
        script.arg(described.len());
        for object in &described {
            script.arg(&object.record).arg(object.bytes);
        }
        for group in &groups {
            script.arg(group.as_slice());
        }
        let answer = script.invoke(link)?;
        if durability == Durability::Each {
            if attempt > 0 {
                // The server waits for this connection's own writes only.
                redis::cmd("INCR")
                    .arg(shared.name("seq"))
                    .query::<u64>(link)?;
            }
            redis::cmd("WAITAOF")
                .arg(1)
                .arg(0)
                .arg(0)
                .query::<Vec<u64>>(link)?;
        }
        attempt = attempt.saturating_add(1);
        Ok(answer)
    })?;
    shared.wire.give_slot(slot);
    let applied = understood(shared, &answer, (objects.len(), changes.len()))?;
    for (place, created) in places.iter_mut().zip(&applied.created) {
        if let Some(place) = place {
            place.named = *created;
        }
    }
    Ok(applied)
}

/// The error of ours that a writer wrapped.
fn unwrapped(error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(ours) => ours,
        Err(error) => Error::new(ErrorKind::Io, error.to_string()).with_source(error),
    }
}

/// Changes as the script reads them: five fields each, a NUL behind each.
fn packed(changes: &[Change<'_>]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut field = |text: &str| {
        all.extend_from_slice(text.as_bytes());
        all.push(0);
    };
    for change in changes {
        field(change.key.namespace);
        field(change.key.key);
        if let Some(to) = &change.to {
            field(&to.hash.hex());
            field(to.codec);
        } else {
            field("");
            field("");
        }
        match &change.expect {
            Expect::Any => field(""),
            Expect::Absent => field("-"),
            Expect::Is(hash) => field(&hash.hex()),
        }
    }
    all
}

/// Reads the script's answer.
fn understood(shared: &Shared, answer: &[Vec<u8>], asked: (usize, usize)) -> Result<Applied> {
    let wire = &shared.wire;
    let texts: Vec<_> = answer
        .iter()
        .map(|part| String::from_utf8_lossy(part))
        .collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    match texts.as_slice() {
        ["ok", rest] => {
            let (created, before) = rest.split_once('\0').unwrap_or((rest, ""));
            let created: Vec<bool> = created.bytes().map(|byte| byte == b'1').collect();
            let before: Vec<Option<Hash>> = match asked.1 {
                0 => Vec::new(),
                _ => before.split('\0').map(Hash::parse).collect(),
            };
            if (created.len(), before.len()) != asked {
                let text = format!("{} objects of {} were answered", created.len(), asked.0);
                return Err(wire.described(ErrorKind::Malformed, text));
            }
            Ok(Applied { created, before })
        }
        ["conflict", namespace, key] => {
            let text =
                format!("the key {key:?} in the namespace {namespace:?} is not what was expected");
            let error = wire.described(ErrorKind::Conflict, text);
            Err(error
                .with_detail("namespace", *namespace)
                .with_detail("key", *key))
        }
        ["missing", hash, namespace, key] => {
            let text =
                format!("the key {key:?} would name the object {hash}, which does not exist");
            let error = wire.described(ErrorKind::ObjectNotFound, text);
            let error = error.with_detail("hash", *hash).with_detail("key", *key);
            Err(error.with_detail("namespace", *namespace))
        }
        ["lost", hash] => {
            let text = format!("what was written of the object {hash} is gone; set it again");
            Err(wire
                .described(ErrorKind::Io, text)
                .with_detail("hash", *hash))
        }
        ["gone"] => {
            let text = format!("the store at {} was removed", wire.url);
            Err(wire.described(ErrorKind::NotFound, text))
        }
        ["late"] => {
            let text = "a later call was answered first; nothing was changed by this one";
            Err(wire.described(ErrorKind::Io, text))
        }
        _ => {
            let text = format!("{DRIVER} answers {texts:?}");
            Err(wire.described(ErrorKind::Malformed, text))
        }
    }
}

/// Whether the server can say when its disk has it.
pub(super) fn wait_aof(shared: &Shared) -> Result<()> {
    let asked = shared.wire.call(|link| {
        redis::cmd("WAITAOF")
            .arg(1)
            .arg(0)
            .arg(1)
            .query::<Vec<u64>>(link)
    });
    match asked {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::Io && !error.to_string().contains("refuses") => {
            Err(error)
        }
        Err(error) => {
            let text = format!(
                "{} cannot say when it wrote to its disk: durability 'each' needs Redis 7.2 with appendonly",
                shared.wire.url
            );
            Err(shared
                .wire
                .described(ErrorKind::Unsupported, text)
                .with_source(error))
        }
    }
}
