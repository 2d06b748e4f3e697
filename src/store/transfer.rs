//! Copying keys and objects from one store into another.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::compress::CancelToken;
use crate::{Error, ErrorKind, Result};

use super::drivers::memory::Buffer;
use super::write::SMALL;
use super::writer::storage;
use super::{
    Batch, Change, Expect, Hash, Key, KeyRecord, NewBody, NewKey, NewObject, Object, ObjectHint,
    SetOptions, Sink, Source, Store,
};

/// Keys that are copied in one batch.
const PAGE: usize = 256;

/// What turns a value of one codec into bytes that the other store holds: codec and bytes in, codec and
/// bytes out.
pub type Convert<'a> = dyn FnMut(&str, Bytes) -> Result<(String, Bytes)> + Send + 'a;

/// How to copy. Further fields may come: end with `..TransferOptions::default()`.
#[derive(Default)]
pub struct TransferOptions<'a> {
    /// Whether keys that name the same value in the other store already are passed over; told only where both
    /// stores name objects alike.
    pub resume: bool,
    /// Whether keys that do not exist are passed over.
    pub skip_missing: bool,
    /// Whether keys whose object is damaged or gone are passed over and told in the report.
    pub skip_damaged: bool,
    /// For stores that hold one codec only.
    pub convert: Option<&'a mut Convert<'a>>,
    /// Ends the work between two objects.
    pub cancel: Option<CancelToken>,
}

/// What was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferReport {
    /// Keys that name the same value in both stores now.
    pub keys: u64,
    /// Of those, the ones that did before.
    pub unchanged: u64,
    /// Keys that did not exist.
    pub missing: u64,
    /// Objects whose stored bytes were copied as they are.
    pub copied: u64,
    /// Objects that were unpacked and set again, because the stores name objects by other hashes.
    pub rehashed: u64,
    /// Of those, the ones of another codec now.
    pub converted: u64,
    /// Stored bytes that were read.
    pub bytes: u64,
    /// Keys whose object is damaged or gone, which were passed over.
    pub damaged: Vec<DamagedKey>,
}

/// A key that was not copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedKey {
    /// Its namespace.
    pub namespace: String,
    /// The key.
    pub key: String,
    /// What is wrong with the object that it names.
    pub what: String,
}

/// Copies from one store into another.
///
/// Where both name objects by the same hash, stored bytes are copied as they are, so hashes stay; they are
/// verified on the way. Else values are unpacked and set again, and the report counts them.
///
/// # Example
/// ```
/// use tare::store::{Key, OpenOptions, SetOptions, Source, Store, Transfer, TransferOptions};
///
/// let from = Store::open("memory:", &OpenOptions::default())?;
/// let to = Store::open("memory:", &OpenOptions::default())?;
/// let hash = from.set("a".into(), "raw", Source::Bytes(&[b"1"]), &SetOptions::default())?;
/// let mut transfer = Transfer::new(&from, &to, TransferOptions::default());
/// transfer.add(Key::from("a"), Key::from("b"))?;
/// assert_eq!(1, transfer.finish()?.copied);
/// assert_eq!(hash, to.get_hash("b".into())?);
/// # Ok::<(), tare::Error>(())
/// ```
pub struct Transfer<'a> {
    from: &'a Store,
    to: &'a Store,
    options: TransferOptions<'a>,
    report: TransferReport,
    /// Hashes in the other store of objects that were set again, by their hashes here and codecs.
    renamed: HashMap<(Hash, String), (Hash, String)>,
    waiting: Vec<(Pair, Pair)>,
}

type Pair = (String, String);

impl<'a> Transfer<'a> {
    /// A transfer of nothing yet.
    #[must_use]
    pub fn new(from: &'a Store, to: &'a Store, options: TransferOptions<'a>) -> Self {
        Self {
            from,
            to,
            options,
            report: TransferReport::default(),
            renamed: HashMap::new(),
            waiting: Vec::new(),
        }
    }

    /// Copies a key; some are waited for and copied together.
    ///
    /// # Errors
    /// `KeyNotFound`, `ObjectNotFound`, `Corrupt` of the one store; `KeyInvalid`, `NoSpace`, `Unsupported` of
    /// the other; `Cancelled`. What was copied before stays.
    pub fn add(&mut self, from: Key<'_>, to: Key<'_>) -> Result<()> {
        self.to.check_writable(to)?;
        let owned = |key: Key<'_>| (key.namespace.to_owned(), key.key.to_owned());
        self.waiting.push((owned(from), owned(to)));
        if self.waiting.len() >= PAGE {
            self.copy_page()?;
        }
        Ok(())
    }

    /// What was copied so far.
    #[must_use]
    pub fn report(&self) -> &TransferReport {
        &self.report
    }

    /// Copies what still waits.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn finish(mut self) -> Result<TransferReport> {
        self.copy_page()?;
        Ok(self.report)
    }

    fn copy_page(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let keys: Vec<Key<'_>> = waiting.iter().map(|(from, _)| key_of(from)).collect();
        let records = self.from.get_records(&keys)?;
        let targets: Vec<Key<'_>> = waiting.iter().map(|(_, to)| key_of(to)).collect();
        let there = if self.options.resume && self.is_alike() {
            self.to.get_records(&targets)?
        } else {
            vec![None; targets.len()]
        };
        let mut named: Vec<(Key<'_>, Hash, String)> = Vec::new();
        let mut objects = Vec::new();
        for ((record, target), (there, key)) in records
            .into_iter()
            .zip(targets)
            .zip(there.into_iter().zip(&keys))
        {
            let Some(record) = record else {
                if self.options.skip_missing {
                    self.report.missing += 1;
                    continue;
                }
                return Err(self.from.no_key(*key));
            };
            let same = there
                .is_some_and(|there| (there.hash, &there.codec) == (record.hash, &record.codec));
            if same {
                self.report.unchanged += 1;
                self.report.keys += 1;
                continue;
            }
            if self
                .options
                .cancel
                .as_ref()
                .is_some_and(CancelToken::is_cancelled)
            {
                let text = "the copy was stopped; what was copied stays";
                return Err(Error::new(ErrorKind::Cancelled, text));
            }
            match self.bring(&record, &mut objects) {
                Ok((hash, codec)) => named.push((target, hash, codec)),
                Err(error) if !is_damage(&error) => return Err(error),
                Err(error) if self.options.skip_damaged => self.report.damaged.push(DamagedKey {
                    namespace: key.namespace.to_owned(),
                    key: key.key.to_owned(),
                    what: error.to_string(),
                }),
                Err(error) => {
                    // What is sound in front of it stays.
                    self.report.keys += self.name(&named, objects)?;
                    return Err(error
                        .with_detail("key", key.key)
                        .with_detail("namespace", key.namespace));
                }
            }
        }
        self.report.keys += self.name(&named, objects)?;
        Ok(())
    }

    fn name(
        &self,
        named: &[(Key<'_>, Hash, String)],
        objects: Vec<NewObject<'static>>,
    ) -> Result<u64> {
        let changes = named.iter().map(|(key, hash, codec)| Change {
            key: *key,
            to: Some(NewKey { hash: *hash, codec }),
            expect: Expect::Any,
        });
        self.to.apply(Batch {
            objects,
            changes: changes.collect(),
            durability: self.to.options().durability,
        })?;
        Ok(named.len() as u64)
    }

    /// Whether both stores name objects by the same bytes in the same way, and hold any codec.
    fn is_alike(&self) -> bool {
        let (from, to) = (self.from.info(), self.to.info());
        from.algorithm == to.algorithm && from.unhashed == to.unhashed && from.codec == to.codec
    }

    /// Sees that the other store has an object, or is about to; its hash and codec there.
    fn bring(
        &mut self,
        record: &KeyRecord,
        objects: &mut Vec<NewObject<'static>>,
    ) -> Result<(Hash, String)> {
        if self.is_alike() {
            let waits = objects.iter().any(|object| object.hash == record.hash);
            if !waits && !self.to.exist_objects(&[record.hash])?.contains(&true) {
                let object = self.from.get_object(&record.hash)?;
                self.report.bytes += object.meta.stored_len;
                self.report.copied += 1;
                objects.push(self.copied(object)?);
            }
            return Ok((record.hash, record.codec.clone()));
        }
        let known = (record.hash, record.codec.clone());
        if let Some(renamed) = self.renamed.get(&known) {
            return Ok(renamed.clone());
        }
        let object = self.from.get_object(&record.hash)?;
        self.report.bytes += object.meta.stored_len;
        self.report.rehashed += 1;
        let renamed = self.set_again(object, &record.codec)?;
        self.renamed.insert(known, renamed.clone());
        Ok(renamed)
    }

    fn set_again(&mut self, object: Object, codec: &str) -> Result<(Hash, String)> {
        let options = SetOptions::default();
        if let (Some(convert), Some(_)) = (&mut self.options.convert, self.to.info().codec) {
            let (codec, bytes) = convert(codec, object.bytes()?)?;
            self.report.converted += 1;
            let source = Source::Bytes(&[&bytes]);
            let hash = self.to.set_object(&codec, source, &options)?;
            return Ok((hash, codec));
        }
        let mut reader = object.reader()?;
        let source = Source::Read(&mut reader);
        let hash = self.to.set_object(codec, source, &options)?;
        Ok((hash, codec.to_owned()))
    }

    /// An object with the stored bytes as they are, verified while they are copied.
    fn copied(&self, object: Object) -> Result<NewObject<'static>> {
        let (hash, meta) = (object.hash, object.meta.clone());
        let small = meta.stored_len <= SMALL as u64;
        let hint = ObjectHint {
            hash: Some(hash),
            stored_len: Some(meta.stored_len),
            durability: self.to.options().durability,
        };
        let sink: Box<dyn Sink> = if small {
            Box::new(Buffer::default()) // no driver sees it before it is whole
        } else {
            self.to.driver().begin_object(&hint)?
        };
        let shared = Arc::new(Mutex::new(Some(sink)));
        object
            .through(|body| Tee {
                source: body.into_reader(),
                sink: shared.clone(),
            })
            .verify()?;
        let sink = shared.lock().unwrap_or_else(PoisonError::into_inner).take();
        let staged = sink.ok_or_else(stopped)?.finish()?;
        let body = match staged.place.downcast::<Vec<u8>>() {
            Ok(bytes) if small => NewBody::Bytes(Cow::Owned(*bytes)),
            Ok(place) => NewBody::Staged(super::Staged {
                stored_len: staged.stored_len,
                place,
            }),
            Err(place) => NewBody::Staged(super::Staged {
                stored_len: staged.stored_len,
                place,
            }),
        };
        Ok(NewObject {
            hash,
            meta,
            body,
            replace: false,
            canonical: None,
        })
    }
}

/// Whether an object of the store that is read is no good.
fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::ObjectNotFound | ErrorKind::Corrupt)
}

fn key_of(pair: &Pair) -> Key<'_> {
    Key::new(&pair.0, &pair.1)
}

fn stopped() -> Error {
    Error::new(ErrorKind::Internal, "an object was not copied to its end")
}

/// Reads stored bytes, and writes them on while somebody verifies them.
struct Tee {
    source: Box<dyn Read + Send>,
    sink: Arc<Mutex<Option<Box<dyn Sink>>>>,
}

impl Read for Tee {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.source.read(into)?;
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        let sink = sink.as_mut().ok_or_else(|| io::Error::from(stopped()))?;
        sink.write_all(into.get(..got).unwrap_or_default())
            .map_err(|error| io::Error::from(storage(error)))?;
        Ok(got)
    }
}
