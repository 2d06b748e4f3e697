//! A content-addressed store: any bytes under a key, equal bytes kept once, on many drivers.
//!
//! A [`Store`] has namespaces of keys; a key names an object by its content hash, and an object is
//! never changed. What lies where is a [`Driver`]'s matter: memory, a folder, a folder of R's package
//! storr, an object store, Redis or `PostgreSQL`. A store that said yes has it: objects are whole and as
//! durable as asked before a key names them, and what is read is hashed again before it is given.
//!
//! # Example
//! ```
//! use tare::store::{Key, OpenOptions, SetOptions, Source, Store};
//!
//! let store = Store::open("memory:", &OpenOptions::default())?;
//! let options = SetOptions::default();
//! let hash = store.set(Key::new("raw", "scale"), "raw", Source::Bytes(&[b"weighed"]), &options)?;
//! assert_eq!(b"weighed", &store.get(Key::new("raw", "scale"))?.bytes()?[..]);
//! assert_eq!(hash, store.get_hash(Key::new("raw", "scale"))?);
//! # Ok::<(), tare::Error>(())
//! ```

mod batch;
mod cache;
mod driver;
pub mod drivers;
mod fork;
mod gather;
mod handle;
mod hash;
mod key;
mod open;
mod options;
mod packing;
mod read;
mod seen;
mod servers;
mod transfer;
mod upkeep;
mod write;
mod writer;

pub use batch::Pending;

pub use driver::{
    Action, Applied, Batch, Body, Change, Driver, Durability, Expect, Fetched, Finding,
    FindingKind, GcOptions, GcReport, Info, KeyEntry, KeyRecord, NewBody, NewKey, NewObject,
    ObjectHint, ObjectMeta, Sink, Staged, Stat, Stored,
};
pub use fork::{after_fork, before_fork};
pub use gather::{Gathered, Gotten, Lent, Met};
pub use handle::{Hashes, Keys, Store};
pub use hash::{Algorithm, Hash, Hasher};
pub use key::{check_key, Key, DEFAULT_NAMESPACE, MAX_KEY_BYTES};
pub use options::{OpenOptions, Packing, SetOptions, Verify};
pub use packing::LEAST_PACKED;
pub use read::{Object, Verified};
pub use transfer::{DamagedKey, Transfer, TransferOptions, TransferReport};
pub use upkeep::{CheckLevel, CheckReport};
pub use write::Source;
pub use writer::ObjectWriter;
