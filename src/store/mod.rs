//! A content-addressed store: any bytes under a key, equal bytes kept once, on many drivers.
//!
//! A [`Store`] has namespaces of keys; a key names an object by its content hash, and an object is
//! never changed. What lies where is a [`Driver`]'s matter: memory, a folder, a folder of R's package
//! storr, an object store, Redis or PostgreSQL. A store that said yes has it: objects are whole and as
//! durable as asked before a key names them, and what is read is hashed again before it is given.

mod driver;
pub mod drivers;
mod hash;
mod key;

pub use driver::{
    Action, Applied, Batch, Body, Change, Driver, Durability, Expect, Fetched, Finding,
    FindingKind, GcOptions, GcReport, Info, KeyEntry, KeyRecord, NewBody, NewKey, NewObject,
    ObjectHint, ObjectMeta, Sink, Staged, Stat, Stored,
};
pub use hash::{Algorithm, Hash, Hasher};
pub use key::{check_key, Key, DEFAULT_NAMESPACE, MAX_KEY_BYTES};
