//! Tare's own store: a folder with an index in `SQLite`, in which small objects lie, and files for the others.
//!
//! ```text
//! PATH/tare-store.json    the marker: version, features
//! PATH/index.sqlite       keys, what is known of objects, and objects of up to 64 KiB
//! PATH/objects/ab/cdef....<codec>[.<container>]     longer objects: `zstd -dc` of one, hashed, is its name
//! PATH/staging/           what is being written, or deleted
//! PATH/quarantine/        what a repair set aside
//! ```

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod apply;
mod check;
mod collect;
mod connections;
mod fault;
mod filesystem;
mod known;
mod layout;
mod marker;
mod opening;
mod read;
mod repair;
mod schema;
mod staging;
mod steps;
mod syncer;
mod there;
mod transaction;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use connections::Connections;
use filesystem::Root;

use crate::store::{
    Action, Algorithm, Applied, Batch, Driver, Durability, Fetched, Finding, GcOptions, GcReport,
    Hash, Info, Key, KeyEntry, KeyRecord, Met, ObjectHint, ObjectMeta, Sink, Stat, Stored,
};
use crate::Result;

/// How to open a folder.
#[derive(Clone, Debug)]
pub struct FolderOptions {
    /// Whether writing is refused, and no file made or changed. Default: false.
    pub read_only: bool,
    /// Whether to make a store where there is none. Default: true.
    pub create: bool,
    /// Whether this process promises to be the only one: what file systems of several machines need.
    /// Default: false.
    pub exclusive: bool,
    /// How long to wait for other writers. Default: 10 s.
    pub busy_timeout: Duration,
}

impl Default for FolderOptions {
    fn default() -> Self {
        Self {
            read_only: false,
            create: true,
            exclusive: false,
            busy_timeout: Duration::from_secs(10),
        }
    }
}

/// A store in a folder. See the [module](self).
pub struct FolderDriver {
    info: Info,
    root: Arc<Root>,
    connections: Connections,
}

/// Opens the store in a folder, or makes one.
///
/// # Errors
/// `NotFound` if there is no store and none may be made; `Usage` if the folder holds other things;
/// `StoreVersion` for a store of a newer Tare; `Corrupt` if the marker or the index is damaged;
/// `Unsupported` on a network file system without `exclusive`; `Busy`, `NoSpace`, `ReadOnly`, `Io`.
///
/// # Example
/// ```
/// use tare::store::drivers::folder::{open, FolderOptions};
/// use tare::store::Driver;
///
/// let path = std::env::temp_dir().join(format!("tare-doc-folder-{}", std::process::id()));
/// let store = open(&path, &FolderOptions::default())?;
/// assert_eq!(0, store.stat()?.keys);
/// store.destroy()?;
/// assert!(!path.exists());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn open(path: impl AsRef<Path>, options: &FolderOptions) -> Result<FolderDriver> {
    let path = path.as_ref();
    let (root, connections, id) = opening::open(path, options)?;
    let info = Info {
        driver: "folder",
        url: path.display().to_string(),
        algorithm: Algorithm::Blake3,
        unhashed: 0,
        codec: None,
        compressor: None,
        atomic_batch: true,
        conditions: true,
        multi_process: !options.exclusive,
        multi_host: false,
        synced_by: "fsync",
        read_only: options.read_only,
        options: vec![("exclusive", options.exclusive.to_string()), ("id", id)],
    };
    Ok(FolderDriver {
        info,
        root,
        connections,
    })
}

impl Driver for FolderDriver {
    fn info(&self) -> &Info {
        &self.info
    }

    fn begin_object(&self, hint: &ObjectHint) -> Result<Box<dyn Sink>> {
        self.connections.writable()?;
        Ok(Box::new(staging::FolderSink::new(&self.root, hint)))
    }

    fn open_object(&self, hash: &Hash) -> Result<Option<Stored>> {
        read::open_object(&self.connections, hash)
    }

    fn stat_objects(&self, hashes: &[Hash]) -> Result<Vec<Option<ObjectMeta>>> {
        read::stat_objects(&self.connections, hashes)
    }

    fn list_hashes(&self, after: Option<&Hash>, limit: usize) -> Result<Vec<Hash>> {
        read::list_hashes(&self.connections, after, limit)
    }

    fn get_keys(&self, keys: &[Key<'_>]) -> Result<Vec<Option<KeyRecord>>> {
        read::get_keys(&self.connections, keys)
    }

    fn fetch(&self, keys: &[Key<'_>]) -> Result<Vec<Fetched>> {
        read::fetch(&self.connections, keys)
    }

    fn fetch_each(&self, keys: &[Key<'_>], tell: &mut dyn FnMut(usize, Met<'_>)) -> Result<()> {
        read::fetch_each(&self.connections, keys, tell)
    }

    fn apply(&self, batch: Batch<'_>) -> Result<Applied> {
        apply::apply(&self.connections, batch)
    }

    fn list_keys(
        &self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<KeyEntry>> {
        read::list_keys(&self.connections, namespace, prefix, after, limit)
    }

    fn list_namespaces(&self) -> Result<Vec<String>> {
        read::list_namespaces(&self.connections)
    }

    fn find(&self, canonical: &Hash) -> Result<Vec<Hash>> {
        read::find(&self.connections, canonical)
    }

    fn mark_suspect(&self, hash: &Hash) {
        repair::mark_suspect(&self.connections, hash);
    }

    fn gc(&self, options: &GcOptions) -> Result<GcReport> {
        collect::gc(&self.connections, options)
    }

    fn check(&self, found: &mut dyn FnMut(Finding)) -> Result<()> {
        check::check(&self.connections, found)
    }

    fn repair(&self, findings: &[Finding], apply: bool, purge: bool) -> Result<Vec<Action>> {
        repair::repair(&self.connections, findings, apply, purge)
    }

    fn sweep(&self) -> Result<u64> {
        collect::sweep(&self.connections)
    }

    fn flush(&self) -> Result<()> {
        if self.info.read_only {
            return Ok(());
        }
        apply::acknowledge(&self.connections, Durability::Each)
    }

    fn stat(&self) -> Result<Stat> {
        read::stat(&self.connections)
    }

    fn local_file(&self, hash: &Hash) -> Result<Option<PathBuf>> {
        read::local_file(&self.connections, hash)
    }

    fn destroy(&self) -> Result<()> {
        opening::destroy(&self.connections)
    }
}
