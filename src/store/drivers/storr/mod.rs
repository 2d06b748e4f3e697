//! Folders of R's package storr (`storr_rds`), read and written as storr 1.2.6 does.
//!
//! ```text
//! PATH/config/{version,compress,mangle_key,mangle_key_pad,hash_algorithm}   one word each
//! PATH/keys/<namespace>/<key, or its base64>                                the hash in hex, "\n"
//! PATH/data/<hash>.rds                                                      an object
//! PATH/scratch/                                                             temporary files
//! ```
//! An object is R's serialization, version 2 as XDR, in gzip or plain; its hash leaves out the first 14
//! bytes, which name the writer. [`encode`] gives an R object the very bytes that R would have given it,
//! so that equal values have equal hashes.
//!
//! R writes without locks and deletes a key's file before it renames the new one into place. Writers
//! here rename alone, so that no reader sees a key missing, and share a lock on `scratch/tare.lock`, which
//! a collection takes for itself. A collection of ours and a writer of R's still can meet: see
//! [`Driver::gc`].

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod apply;
mod check;
mod collect;
mod config;
mod files;
mod keys;
mod list;
mod lock;
mod objects;
mod plain;
mod repair;
mod scratch;
mod sink;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::compress::{Compressor, Kind, Layout};
use crate::store::{
    Action, Algorithm, Applied, Batch, Driver, Finding, GcOptions, GcReport, Hash, Info, Key,
    KeyEntry, KeyRecord, ObjectHint, ObjectMeta, Sink, Stat, Stored,
};
use crate::{Error, ErrorKind, Result};

use config::Config;
use keys::Naming;
use scratch::Scratch;

pub use config::parse_setting;
pub use keys::{mangle, parse_key, unmangle};
pub use plain::encode;

/// The driver's name, which errors carry.
const NAME: &str = "storr";
/// Leading bytes of a serialization that storr's hashes leave out: they name the writer's version.
pub(super) const HEADER_BYTES: usize = 14;
/// Plain bytes of a gzip member. Fixed: the same value has the same bytes on every machine.
const MEMBER_BYTES: usize = 1 << 20;

/// How to open a storr folder. What is None is what the folder has, or storr's default for a new one.
#[allow(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
#[derive(Clone, Debug)]
pub struct StorrOptions {
    /// Whether objects are compressed (gzip, level 6); default true. May differ from opening to opening.
    pub compress: Option<bool>,
    /// Whether keys become base64, so that any text can be a key; default false.
    pub mangle_key: Option<bool>,
    /// Whether mangled keys end with `=`; default false.
    pub mangle_key_pad: Option<bool>,
    /// The hash; default MD5.
    pub hash_algorithm: Option<Algorithm>,
    /// Whether keys that begin with a dot may be set though they are not mangled: R does not list them, and
    /// its collection deletes their objects. Default false.
    pub allow_dot_keys: bool,
    /// Whether nothing may be written; default false.
    pub read_only: bool,
    /// Whether a store that does not exist is made; default true.
    pub create: bool,
    /// How long a lock is waited for; default 10 s.
    pub lock_timeout: Duration,
}

impl Default for StorrOptions {
    fn default() -> Self {
        Self {
            compress: None,
            mangle_key: None,
            mangle_key_pad: None,
            hash_algorithm: None,
            allow_dot_keys: false,
            read_only: false,
            create: true,
            lock_timeout: Duration::from_secs(10),
        }
    }
}

/// A folder of R's storr.
#[derive(Debug)]
pub struct StorrDriver {
    info: Info,
    root: PathBuf,
    data: PathBuf,
    keys: PathBuf,
    scratch: Scratch,
    naming: Naming,
    algorithm: Algorithm,
    allow_dot_keys: bool,
    /// Whether the file system takes `A` and `a` for one name.
    folds_case: bool,
    lock_timeout: Duration,
    /// The last change of a folder of keys that was made here.
    changed_here: AtomicU64,
}

/// Opens or makes a storr folder.
///
/// # Errors
/// `ConfigMismatch` for options other than what the folder was made with; `NotFound` where there is
/// no store and none is to be made; `Malformed` for settings that R does not write; `Unsupported` for
/// hashes that are not known here, and for folders that are links out of `path`; `Io`, `NoSpace`.
///
/// # Example
/// ```
/// use tare::store::drivers::storr::{open, StorrOptions};
/// use tare::store::Driver;
///
/// let path = std::env::temp_dir().join(format!("tare-doc-storr-{}", std::process::id()));
/// let driver = open(&path, &StorrOptions::default())?;
/// assert_eq!(("storr", "md5"), (driver.info().driver, driver.info().algorithm.name()));
/// driver.destroy()?;
/// assert!(!path.exists());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn open(path: impl AsRef<Path>, options: &StorrOptions) -> Result<StorrDriver> {
    let root = path.as_ref().to_path_buf();
    let scratch = Scratch::new(root.join("scratch"));
    let mut legacy = true;
    if !config::is_store(&root)? {
        if options.read_only || !options.create {
            let text = "there is no storr store, which has a folder \"config\"";
            return Err(Error::new(ErrorKind::NotFound, text)
                .with_format(NAME)
                .with_path(root));
        }
        files::make_folder(&root)?;
        for folder in ["data", "keys", "scratch"] {
            files::make_folder(&root.join(folder))?;
        }
        config::create(&root, options, &scratch)?;
        legacy = false;
    }
    let folder = root.join("config");
    for name in ["config", "data", "keys", "scratch"] {
        let path = root.join(name);
        if files::exists(&path)? && files::inside(&root, &path).is_none() {
            let text = "a link that leads out of the store is not followed";
            return Err(Error::new(ErrorKind::Unsupported, text)
                .with_format(NAME)
                .with_path(path));
        }
    }
    let config = Config::read(&folder, options)?;
    if !options.read_only && legacy {
        config.complete(&folder, &scratch)?;
        scratch.sweep()?;
    }
    StorrDriver::new(root, scratch, &config, options)
}

impl StorrDriver {
    fn new(
        root: PathBuf,
        scratch: Scratch,
        config: &Config,
        options: &StorrOptions,
    ) -> Result<Self> {
        let compressor = if config.compress {
            let mut gzip = Compressor::new(Kind::Gzip, Some(6))?;
            gzip.chunk_size = Some(MEMBER_BYTES);
            gzip.layout = Layout::Members;
            gzip
        } else {
            Compressor::new(Kind::None, None)?
        };
        let info = Info {
            driver: NAME,
            url: format!("storr:{}", root.display()),
            algorithm: config.hash_algorithm,
            unhashed: HEADER_BYTES,
            codec: Some("rds"),
            compressor: Some(compressor),
            atomic_batch: false,
            conditions: true,
            multi_process: true,
            multi_host: false,
            synced_by: "fsync",
            read_only: options.read_only,
            options: vec![
                ("version", config.version.clone()),
                ("compress", config.compress.to_string()),
                ("mangle_key", config.mangle_key.to_string()),
                ("mangle_key_pad", config.mangle_key_pad.to_string()),
                ("hash_algorithm", config.hash_algorithm.name().to_string()),
            ],
        };
        Ok(Self {
            info,
            data: root.join("data"),
            keys: root.join("keys"),
            scratch,
            naming: Naming {
                mangle: config.mangle_key,
                pad: config.mangle_key_pad,
            },
            algorithm: config.hash_algorithm,
            allow_dot_keys: options.allow_dot_keys,
            folds_case: folds_case(&root),
            lock_timeout: options.lock_timeout,
            changed_here: AtomicU64::new(0),
            root,
        })
    }

    fn writable(&self) -> Result<()> {
        if !self.info.read_only {
            return Ok(());
        }
        let text = "the store was opened for reading";
        Err(Error::new(ErrorKind::ReadOnly, text)
            .with_format(NAME)
            .with_path(&self.root))
    }

    /// Makes the folders that are missing: git keeps no empty ones.
    fn make_folders(&self) -> Result<()> {
        for folder in [&self.data, &self.keys, self.scratch.path()] {
            if !folder.is_dir() {
                files::make_folder(folder)?;
            }
        }
        Ok(())
    }
}

/// Whether the file system takes `config` and `CONFIG` for one.
fn folds_case(root: &Path) -> bool {
    let real = |name: &str| std::fs::canonicalize(root.join(name));
    match (real("config"), real("CONFIG")) {
        (Ok(lower), Ok(upper)) => lower == upper,
        _ => false,
    }
}

impl Driver for StorrDriver {
    fn info(&self) -> &Info {
        &self.info
    }

    fn check_key(&self, key: Key<'_>) -> Result<()> {
        keys::check(self.naming, key, self.allow_dot_keys)?;
        self.check_case(key)
    }

    fn begin_object(&self, hint: &ObjectHint) -> Result<Box<dyn Sink>> {
        self.writable()?;
        Ok(Box::new(sink::FileSink::new(&self.scratch, hint)?))
    }

    fn open_object(&self, hash: &Hash) -> Result<Option<Stored>> {
        self.object(hash)
    }

    fn stat_objects(&self, hashes: &[Hash]) -> Result<Vec<Option<ObjectMeta>>> {
        hashes.iter().map(|hash| self.object_meta(hash)).collect()
    }

    fn list_hashes(&self, after: Option<&Hash>, limit: usize) -> Result<Vec<Hash>> {
        self.hashes(after, limit)
    }

    fn get_keys(&self, keys: &[Key<'_>]) -> Result<Vec<Option<KeyRecord>>> {
        self.records(keys)
    }

    fn apply(&self, batch: Batch<'_>) -> Result<Applied> {
        self.apply_batch(batch)
    }

    fn list_keys(
        &self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<KeyEntry>> {
        self.page(namespace, prefix, after, limit)
    }

    fn list_namespaces(&self) -> Result<Vec<String>> {
        self.namespaces()
    }

    fn rehash(&self, plain: &mut (dyn Read + Send)) -> Result<Option<Hash>> {
        plain::rehash(plain, self.algorithm)
    }

    /// A collection notes in `scratch/tare-marks` since when objects were seen unnamed; a later one deletes
    /// those that were for `grace`, and whose files are as old. R's writers know nothing of it: one that
    /// sets a value whose object is just being deleted leaves a key without one, which
    /// [`check`](Driver::check) finds.
    fn gc(&self, options: &GcOptions) -> Result<GcReport> {
        self.collect(options)
    }

    fn check(&self, found: &mut dyn FnMut(Finding)) -> Result<()> {
        self.inspect(found)
    }

    fn repair(&self, findings: &[Finding], apply: bool, purge: bool) -> Result<Vec<Action>> {
        self.mend(findings, apply, purge)
    }

    fn sweep(&self) -> Result<u64> {
        self.writable()?;
        self.scratch.sweep()
    }

    fn flush(&self) -> Result<()> {
        if self.info.read_only {
            return Ok(());
        }
        files::sync_system(&self.root)
    }

    fn stat(&self) -> Result<Stat> {
        self.count()
    }

    fn local_file(&self, hash: &Hash) -> Result<Option<PathBuf>> {
        let path = self.object_path(hash);
        let found = files::open(&self.root, &path)?;
        Ok(found.map(|_| path))
    }

    fn destroy(&self) -> Result<()> {
        self.remove_all()
    }
}
