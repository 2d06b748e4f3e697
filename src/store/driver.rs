//! What a store needs of the storage behind it. Bytes only: a driver knows no values.
//!
//! A driver is vectorised: it takes and gives many keys or objects a call. It is shared between threads.
//! Keys were checked by [`check_key`](super::check_key) and by the driver's own
//! [`check_key`](Driver::check_key) before they come to [`apply`](Driver::apply).

use std::any::Any;
use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::{Algorithm, Hash, Key, Met};
use crate::compress::Kind;
use crate::{Error, ErrorKind, Result};

/// How long what was acknowledged lasts.
///
/// All levels survive the death of the process. `None` may lose the newest objects when the power fails;
/// their keys are then reported corrupt or missing. `Batch` keeps everything up to the last sync, which
/// is at the end of a batch, at [`flush`](Driver::flush), and at the latest a second later. `Each` keeps all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Durability {
    /// Nothing is synced.
    None,
    /// Objects before their keys; keys once a batch.
    #[default]
    Batch,
    /// Everything before the call returns.
    Each,
}

impl Durability {
    /// Its name: `none`, `batch`, `each`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Batch => "batch",
            Self::Each => "each",
        }
    }

    /// The level of a name.
    ///
    /// # Errors
    /// `Usage` if there is none of that name.
    pub fn by_name(name: &str) -> Result<Self> {
        match name {
            "none" => Ok(Self::None),
            "batch" => Ok(Self::Batch),
            "each" => Ok(Self::Each),
            _ => {
                let text = format!("no durability {name:?}: it is none, batch or each");
                Err(Error::new(ErrorKind::Usage, text))
            }
        }
    }
}

/// What a driver is and can do.
#[derive(Clone, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent abilities, each with a name"
)]
pub struct Info {
    /// Its name: `folder`.
    pub driver: &'static str,
    /// Where it lies, as a URL without secrets.
    pub url: String,
    /// What objects are named by.
    pub algorithm: Algorithm,
    /// Leading bytes of an object that its hash leaves out: 14 in storr's folders.
    pub unhashed: usize,
    /// The one codec that it holds, where the layout fixes it.
    pub codec: Option<&'static str>,
    /// The one compressor that it writes, where the layout or the opener fixed it.
    pub compressor: Option<crate::compress::Compressor>,
    /// Whether a batch of changes is seen whole or not at all.
    pub atomic_batch: bool,
    /// Whether a change can depend on what the key names.
    pub conditions: bool,
    /// Whether several processes may use it at once.
    pub multi_process: bool,
    /// Whether several machines may.
    pub multi_host: bool,
    /// What was done about durability: `fsync`, `server`, `memory`.
    pub synced_by: &'static str,
    /// Whether writing is refused.
    pub read_only: bool,
    /// The driver's own settings, by name, for [`stat`](Driver::stat) and messages.
    pub options: Vec<(&'static str, String)>,
}

/// What is known of an object beside its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Plain bytes; None where the layout does not say.
    pub plain_len: Option<u64>,
    /// Stored bytes.
    pub stored_len: u64,
    /// The container it is stored in.
    pub compressor: Kind,
    /// The codec of its first writer: `blit`, `arrow`, `rds`.
    pub codec: String,
}

/// What is known of an object before it is written.
#[derive(Clone, Debug, Default)]
pub struct ObjectHint {
    /// Its hash, where it was cheap to find out.
    pub hash: Option<Hash>,
    /// Its stored bytes, if they are known.
    pub stored_len: Option<u64>,
    /// How durable it will have to be.
    pub durability: Durability,
}

/// Where the stored bytes of one object go. Dropped, it leaves nothing.
pub trait Sink: Write + Send {
    /// Ends the object. Nothing is visible until it comes to [`Driver::apply`].
    ///
    /// # Errors
    /// `Io` and `NoSpace` for what the storage refuses.
    fn finish(self: Box<Self>) -> Result<Staged>;
}

/// An object that is written and not yet named. Dropped, it leaves nothing.
pub struct Staged {
    /// Its stored bytes.
    pub stored_len: u64,
    /// The driver's own: a file's name, or the bytes.
    pub place: Box<dyn Any + Send>,
}

/// The stored bytes of an object.
pub enum Body {
    /// In memory.
    Bytes(Vec<u8>),
    /// In a file of its own, from its beginning on.
    File(File),
    /// From elsewhere.
    Reader(Box<dyn Read + Send>),
}

/// An object as it is stored.
pub struct Stored {
    /// What is known of it.
    pub meta: ObjectMeta,
    /// Its stored bytes.
    pub body: Body,
    /// Where it lies, for messages.
    pub place: String,
    /// What changes when the stored bytes do: number and times of a file. None if nothing tells.
    pub identity: Option<[u64; 4]>,
}

/// What a key names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// The hash of the object.
    pub hash: Hash,
    /// The codec of this key's value.
    pub codec: String,
    /// When the key was set, by the store's clock: microseconds since 1970, 0 if unknown.
    pub time: i64,
}

/// A key and what it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEntry {
    /// The key.
    pub key: String,
    /// What it names.
    pub record: KeyRecord,
}

/// What lies at a key.
pub enum Fetched {
    /// No such key.
    NoKey,
    /// A key whose object is missing.
    NoObject(KeyRecord),
    /// A key and its object.
    Found(KeyRecord, Stored),
}

/// The body of an object to write.
pub enum NewBody<'a> {
    /// All stored bytes: of small objects.
    Bytes(Cow<'a, [u8]>),
    /// What a sink of the same driver took.
    Staged(Staged),
}

/// An object to write.
pub struct NewObject<'a> {
    /// Its content hash.
    pub hash: Hash,
    /// What is known of it.
    pub meta: ObjectMeta,
    /// Its stored bytes.
    pub body: NewBody<'a>,
    /// Whether it takes the place of one that exists, because that was found damaged.
    pub replace: bool,
    /// A hash that equal values share though their bytes differ.
    pub canonical: Option<Hash>,
}

/// What a key must be for a change of it to happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Anything.
    #[default]
    Any,
    /// No such key yet.
    Absent,
    /// It names this object.
    Is(Hash),
}

/// What a key shall name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewKey<'a> {
    /// The object, which exists or is in the same batch.
    pub hash: Hash,
    /// The codec of the value.
    pub codec: &'a str,
}

/// A change of a key.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The key.
    pub key: Key<'a>,
    /// What it shall name; None to delete it.
    pub to: Option<NewKey<'a>>,
    /// What it must be now.
    pub expect: Expect,
}

/// Objects and then changes of keys, in order: of two changes of a key the later stands.
///
/// Where the driver has `atomic_batch`, all of it happens or nothing.
#[derive(Default)]
pub struct Batch<'a> {
    /// The objects; of one that exists nothing is written unless it replaces.
    pub objects: Vec<NewObject<'a>>,
    /// The changes.
    pub changes: Vec<Change<'a>>,
    /// How durable all of it is when the call returns.
    pub durability: Durability,
}

/// What a batch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Of each object, whether it was written; false if it was there.
    pub created: Vec<bool>,
    /// Of each change, what the key named before. Of one that sets a key whatever it is, None where finding
    /// out would take another request.
    pub before: Vec<Option<Hash>>,
}

/// How to collect what nothing names.
#[derive(Clone, Debug)]
pub struct GcOptions {
    /// What became unnamed later than so long ago is kept.
    pub grace: Duration,
    /// Whether only to say what would go.
    pub dry_run: bool,
}

impl Default for GcOptions {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(24 * 3600),
            dry_run: false,
        }
    }
}

/// What a collection did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Objects that nothing names.
    pub condemned: u64,
    /// Of those, the ones deleted.
    pub deleted: u64,
    /// Stored bytes of the deleted ones.
    pub bytes: u64,
    /// When the next of the others may go, by the store's clock.
    pub kept_until: Option<SystemTime>,
    /// Temporary files of dead writers that were removed.
    pub swept: u64,
}

/// What a check can find.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// An object's bytes are not what its hash says.
    CorruptObject,
    /// The index names an object whose bytes are missing.
    MissingObject,
    /// A key names an object that does not exist.
    DanglingKey,
    /// A key that cannot be read.
    BadKey,
    /// Bytes of an object that no index knows: left to a collection, which removes them after grace.
    OrphanObject,
    /// A count of names that is wrong.
    WrongCount,
    /// A temporary file of a writer that is gone.
    Leftover,
    /// Something that is not of a store.
    Foreign,
    /// The index itself is damaged.
    Index,
}

impl FindingKind {
    /// Its name in reports: `corrupt-object`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CorruptObject => "corrupt-object",
            Self::MissingObject => "missing-object",
            Self::DanglingKey => "dangling-key",
            Self::BadKey => "bad-key",
            Self::OrphanObject => "orphan-object",
            Self::WrongCount => "wrong-count",
            Self::Leftover => "leftover",
            Self::Foreign => "foreign",
            Self::Index => "index",
        }
    }

    /// Whether data is damaged or lost; the others are untidy only.
    #[must_use]
    pub fn is_problem(self) -> bool {
        !matches!(self, Self::OrphanObject | Self::Leftover | Self::Foreign)
    }
}

/// One thing that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// The object's hash.
    pub hash: Option<Hash>,
    /// Namespace and key.
    pub key: Option<(String, String)>,
    /// Where it lies.
    pub place: String,
    /// What was found, what was expected.
    pub detail: String,
}

/// One thing that a repair did, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What it is about.
    pub finding: Finding,
    /// What was done, or what somebody has to do.
    pub what: String,
    /// Whether it is done, or would be.
    pub done: bool,
}

/// How much a store holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Keys in all namespaces.
    pub keys: u64,
    /// Namespaces.
    pub namespaces: u64,
    /// Objects.
    pub objects: u64,
    /// Objects that no key names.
    pub unnamed: u64,
    /// Plain bytes of all objects, where they are known.
    pub plain_bytes: u64,
    /// Stored bytes of all objects.
    pub stored_bytes: u64,
}

/// The storage behind a [`Store`](super::Store).
///
/// The contract, which the conformance kit checks: an object is seen whole or not at all; what
/// `apply` acknowledged is seen by every later call of every process; `Io` errors name the place; a full
/// disk is `NoSpace` and leaves nothing; what is not known is never guessed.
pub trait Driver: Send + Sync {
    /// What it is and can do.
    fn info(&self) -> &Info;

    /// Refuses keys that this driver cannot hold, before anything is written. `KeyInvalid`.
    ///
    /// # Errors
    /// `KeyInvalid`, with what the driver takes.
    fn check_key(&self, key: Key<'_>) -> Result<()> {
        let _ = key;
        Ok(())
    }

    /// Begins an object whose stored bytes come by and by.
    ///
    /// # Errors
    /// `Io`, `NoSpace`, `ReadOnly`.
    fn begin_object(&self, hint: &ObjectHint) -> Result<Box<dyn Sink>>;

    /// An object, to be read; None if there is none.
    ///
    /// # Errors
    /// `Io`; `Malformed` if the driver's own records are damaged.
    fn open_object(&self, hash: &Hash) -> Result<Option<Stored>>;

    /// What is known of objects, in the order asked for; None for those that do not exist.
    ///
    /// # Errors
    /// As [`open_object`](Self::open_object).
    fn stat_objects(&self, hashes: &[Hash]) -> Result<Vec<Option<ObjectMeta>>>;

    /// Hashes of at most `limit` objects behind `after`, in their order.
    ///
    /// # Errors
    /// As [`open_object`](Self::open_object).
    fn list_hashes(&self, after: Option<&Hash>, limit: usize) -> Result<Vec<Hash>>;

    /// What keys name, in the order asked for.
    ///
    /// # Errors
    /// As [`open_object`](Self::open_object).
    fn get_keys(&self, keys: &[Key<'_>]) -> Result<Vec<Option<KeyRecord>>>;

    /// What lies at keys, in the order asked for: one look each where the driver can.
    ///
    /// # Errors
    /// As [`open_object`](Self::open_object).
    fn fetch(&self, keys: &[Key<'_>]) -> Result<Vec<Fetched>> {
        let records = self.get_keys(keys)?;
        records
            .into_iter()
            .map(|record| match record {
                None => Ok(Fetched::NoKey),
                Some(record) => Ok(match self.open_object(&record.hash)? {
                    None => Fetched::NoObject(record),
                    Some(stored) => Fetched::Found(record, stored),
                }),
            })
            .collect()
    }

    /// Tells what lies at keys, as [`fetch`](Self::fetch) does, with their places in the list: in any order, and
    /// of a key that is told twice the last stands. Small objects are lent where that spares a copy. What is not
    /// told does not exist.
    ///
    /// # Errors
    /// As [`open_object`](Self::open_object).
    fn fetch_each(&self, keys: &[Key<'_>], tell: &mut dyn FnMut(usize, Met<'_>)) -> Result<()> {
        let fetched = self.fetch(keys)?.into_iter().enumerate();
        fetched.for_each(|(at, fetched)| tell(at, Met::Fetched(Box::new(fetched))));
        Ok(())
    }

    /// Writes objects, then changes keys.
    ///
    /// # Errors
    /// `Conflict`, with details `namespace` and `key`, if a key is not what was expected; `ObjectNotFound`
    /// if a key would name nothing; `NoSpace`, `Busy`, `ReadOnly`, `Io`. Where the driver has
    /// `atomic_batch`, nothing was changed then.
    fn apply(&self, batch: Batch<'_>) -> Result<Applied>;

    /// At most `limit` keys of a namespace that begin with `prefix` and come behind `after`, in the order
    /// of their bytes.
    ///
    /// # Errors
    /// As [`open_object`](Self::open_object).
    fn list_keys(
        &self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<KeyEntry>>;

    /// The namespaces that hold a key, in the order of their bytes.
    ///
    /// # Errors
    /// As [`open_object`](Self::open_object).
    fn list_namespaces(&self) -> Result<Vec<String>>;

    /// The hash by which an object of these plain bytes goes, where its layout knows more than one form of
    /// a value and names them all by one. Asked where the bytes do not hash to the object's name; None if
    /// they are of the usual form, so that the object is damaged.
    ///
    /// # Errors
    /// As reading, and what decoding them finds.
    fn rehash(&self, plain: &mut (dyn Read + Send)) -> Result<Option<Hash>> {
        let _ = plain;
        Ok(None)
    }

    /// The objects whose canonical hash this is, in order.
    ///
    /// # Errors
    /// `Unsupported` where no canonical hashes are kept.
    fn find(&self, canonical: &Hash) -> Result<Vec<Hash>> {
        let _ = canonical;
        let text = "canonical hashes are kept by folder and memory stores only";
        Err(Error::new(ErrorKind::Unsupported, text).with_format(self.info().driver))
    }

    /// Notes that an object was found damaged, for other processes; best effort.
    fn mark_suspect(&self, hash: &Hash) {
        let _ = hash;
    }

    /// Deletes objects that nothing names and has named for `grace`; see [`GcOptions`].
    ///
    /// # Errors
    /// `Busy` for a grace of 0 while others use the store; `Io`, `ReadOnly`.
    fn gc(&self, options: &GcOptions) -> Result<GcReport>;

    /// Compares records, objects and places with each other, without reading the objects.
    ///
    /// # Errors
    /// `Io` where the check itself cannot go on.
    fn check(&self, found: &mut dyn FnMut(Finding)) -> Result<()>;

    /// Mends what was found, or says how it would. Damaged objects and lists of dangling keys are set aside;
    /// nothing is deleted unless `purge`.
    ///
    /// # Errors
    /// `Io`, `ReadOnly`.
    fn repair(&self, findings: &[Finding], apply: bool, purge: bool) -> Result<Vec<Action>>;

    /// Removes temporary files of writers that are gone; how many.
    ///
    /// # Errors
    /// `Io`.
    fn sweep(&self) -> Result<u64>;

    /// Makes all that was acknowledged last.
    ///
    /// # Errors
    /// `Io`.
    fn flush(&self) -> Result<()>;

    /// How much it holds.
    ///
    /// # Errors
    /// `Io`.
    fn stat(&self) -> Result<Stat>;

    /// The file that holds exactly the stored bytes of an object, if there is one.
    ///
    /// # Errors
    /// `Io`.
    fn local_file(&self, hash: &Hash) -> Result<Option<PathBuf>> {
        let _ = hash;
        Ok(None)
    }

    /// Deletes the store and all that it holds, and nothing else.
    ///
    /// # Errors
    /// `Io`, `ReadOnly`.
    fn destroy(&self) -> Result<()>;
}
