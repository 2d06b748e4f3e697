//! Changes: objects are whole and lasting before a key names them.
//!
//! All temporary files are written first, so that a full disk leaves everything as it was; then they are
//! renamed, objects before keys.

use std::collections::{HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::files::{self, fault};
use super::keys;
use super::list::{Folders, KeyFile};
use super::lock::Share;
use super::plain::{compare, plain, Likeness};
use super::scratch::{foreign, Whole};
use super::sink::StagedFile;
use super::StorrDriver;
use crate::store::write::WEAK_BYTES;
use crate::store::{Applied, Batch, Change, Durability, Expect, Hash, Key, NewBody, NewObject};
use crate::{Error, ErrorKind, Result};

/// Up to so many files are synced one by one, more by one sync of the file system.
const ONE_BY_ONE: usize = 8;
/// An object that is older is touched when it is set again, so that a collection takes it for new.
const FRESH: Duration = Duration::from_secs(12 * 3600);
/// What was written longer ago lies on the disk.
const SETTLED: Duration = Duration::from_secs(600);

/// How temporary files are made to last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sync {
    Never,
    Each,
    Once,
}

/// What a batch is about to do.
struct Plan<'a> {
    sync: Sync,
    /// Objects to rename.
    objects: Vec<(Whole, PathBuf)>,
    /// Objects that are there once the batch is done.
    known: HashSet<Hash>,
    /// Whether names in `data` have to be synced.
    unsettled: bool,
    /// What each key shall name.
    keys: HashMap<Key<'a>, Option<Hash>>,
}

impl StorrDriver {
    pub(super) fn apply_batch(&self, batch: Batch<'_>) -> Result<Applied> {
        self.writable()?;
        for change in batch.changes.iter().filter(|change| change.to.is_some()) {
            keys::check(self.naming, change.key, self.allow_dot_keys)?;
            self.check_case(change.key)?;
        }
        self.make_folders()?;
        // Nobody else may change a key between a look at it and its change.
        let mut changes = batch.changes.iter();
        let share = if changes.any(|change| change.expect != Expect::Any) {
            Share::Nobody
        } else {
            Share::Writers
        };
        let _lock = self.lock(share)?;
        let files = batch.objects.len().saturating_add(batch.changes.len());
        let mut plan = Plan {
            sync: match batch.durability {
                Durability::None => Sync::Never,
                _ if files <= ONE_BY_ONE => Sync::Each,
                _ => Sync::Once,
            },
            objects: Vec::new(),
            known: HashSet::new(),
            unsettled: false,
            keys: HashMap::new(),
        };
        let mut created = Vec::with_capacity(batch.objects.len());
        for object in batch.objects {
            created.push(self.stage(object, &mut plan)?);
        }
        let before = self.expected(&batch.changes, &mut plan)?;
        self.carry_out(plan)?;
        Ok(Applied { created, before })
    }

    /// Writes an object into a temporary file; false if it is there already.
    fn stage(&self, object: NewObject<'_>, plan: &mut Plan<'_>) -> Result<bool> {
        let path = self.object_path(&object.hash);
        let there = self.found(&path)?.filter(|found| found.len() > 0);
        let mut replace = object.replace || there.is_none();
        if plan.known.contains(&object.hash) && !object.replace {
            return Ok(false);
        }
        if there.is_some() && object.hash.as_bytes().len() <= WEAK_BYTES {
            replace |= self.is_damaged(&path, &object)?;
        }
        plan.known.insert(object.hash);
        if let (Some(found), false) = (&there, replace) {
            settle(&path, found, plan)?;
            return Ok(false);
        }
        let whole = match object.body {
            NewBody::Bytes(bytes) => {
                let temp = self.scratch.create()?;
                temp.fill(&bytes, plan.sync == Sync::Each)?;
                temp.closed()
            }
            NewBody::Staged(staged) => {
                let staged = staged.place.downcast::<StagedFile>();
                let staged = *staged.map_err(|_| foreign())?;
                if !staged.synced && plan.sync == Sync::Each {
                    sync_file(staged.file.path())?;
                }
                staged.file
            }
        };
        plan.unsettled = true;
        plan.objects.push((whole, path));
        Ok(true)
    }

    /// Whether the object that is there is not what its hash says. A hash of 32 bits does not tell
    /// whether it is the same value: the bytes do.
    fn is_damaged(&self, path: &Path, object: &NewObject<'_>) -> Result<bool> {
        let new: Box<dyn Read + Send> = match &object.body {
            NewBody::Bytes(bytes) => Box::new(Cursor::new(bytes.to_vec())),
            NewBody::Staged(staged) => {
                let staged = staged.place.downcast_ref::<StagedFile>();
                let file = staged.ok_or_else(foreign)?.file.path();
                let file = File::open(file).map_err(|error| fault("open a file", file, error))?;
                Box::new(file)
            }
        };
        let there = || -> Result<Box<dyn Read + Send>> {
            let opened = files::open(&self.root, path)?;
            let gone = || Error::new(ErrorKind::Io, "an object that vanished").with_path(path);
            let (file, _) = opened.ok_or_else(gone)?;
            Ok(Box::new(plain(file)?))
        };
        let likeness = compare(there, plain(new)?, &object.hash, self.algorithm)?;
        if likeness != Likeness::Other {
            return Ok(likeness == Likeness::Damaged);
        }
        let text = format!(
            "another value has the {} hash {}: make a store of a longer hash",
            self.algorithm.name(),
            object.hash
        );
        Err(Error::new(ErrorKind::Collision, text)
            .with_format(super::NAME)
            .with_path(path)
            .with_detail("hash", object.hash.hex()))
    }

    /// What keys named before, if that is what was expected; and that they shall name what is there.
    fn expected<'a>(
        &self,
        changes: &[Change<'a>],
        plan: &mut Plan<'a>,
    ) -> Result<Vec<Option<Hash>>> {
        let mut folders = Folders::new(self);
        let mut before = Vec::with_capacity(changes.len());
        for change in changes {
            let (named, taken) = match plan.keys.get(&change.key) {
                Some(hash) => (*hash, hash.is_some()),
                None => match self.key_file(&mut folders, change.key)? {
                    KeyFile::Absent => (None, false),
                    KeyFile::Bad(_) => (None, true),
                    KeyFile::Good(hash, _) => (Some(hash), true),
                },
            };
            let fits = match change.expect {
                Expect::Any => true,
                Expect::Absent => !taken,
                Expect::Is(hash) => named == Some(hash),
            };
            if !fits {
                return Err(conflict(change, named));
            }
            let to = change.to.map(|to| to.hash);
            if let Some(hash) = to {
                self.require(&hash, change.key, plan)?;
            }
            plan.keys.insert(change.key, to);
            before.push(named);
        }
        Ok(before)
    }

    fn require(&self, hash: &Hash, key: Key<'_>, plan: &mut Plan<'_>) -> Result<()> {
        if plan.known.contains(hash) {
            return Ok(());
        }
        let path = self.object_path(hash);
        let Some(found) = self.found(&path)? else {
            let text = format!("{key} shall name {hash}, which is not in the store");
            return Err(Error::new(ErrorKind::ObjectNotFound, text)
                .with_format(super::NAME)
                .with_detail("key", key.key)
                .with_detail("namespace", key.namespace)
                .with_detail("hash", hash.hex()));
        };
        settle(&path, &found, plan)?;
        plan.known.insert(*hash);
        Ok(())
    }

    fn carry_out(&self, plan: Plan<'_>) -> Result<()> {
        let mut renames = Vec::new();
        let mut removals = Vec::new();
        for (key, to) in &plan.keys {
            let folder = self.keys.join(key.namespace);
            let path = folder.join(&*self.naming.name(key.key));
            match to {
                Some(hash) => {
                    let temp = self.scratch.create()?;
                    temp.fill(keys::key_text(hash).as_bytes(), plan.sync == Sync::Each)?;
                    renames.push((temp.closed(), folder, path));
                }
                None => removals.push((*key, folder, path)),
            }
        }
        if plan.sync == Sync::Once {
            files::sync_system(self.scratch.path())?;
        }
        for (whole, path) in plan.objects {
            whole.rename(&path)?;
        }
        let lasting = plan.sync != Sync::Never;
        if lasting && plan.unsettled {
            files::sync_folder(&self.data)?;
        }
        let mut changed = HashSet::new();
        let mut made = false;
        for (whole, folder, path) in renames {
            if !changed.contains(&folder) && !folder.is_dir() {
                files::make_folder(&folder)?;
                made = true;
            }
            whole.rename(&path)?;
            changed.insert(folder);
        }
        let mut folders = Folders::new(self);
        for (key, folder, path) in removals {
            // A name that leads elsewhere is no key, and there is nothing to delete.
            let known = folders.find(key.namespace)?.is_some();
            let name = self.naming.name(key.key);
            if known && keys::is_name(&name) && !path.is_dir() && files::remove(&path)? {
                changed.insert(folder);
            }
        }
        if lasting && made {
            files::sync_folder(&self.keys)?;
        }
        for folder in changed.iter().filter(|_| lasting) {
            files::sync_folder(folder)?;
        }
        if let Some(namespace) = plan.keys.keys().next().map(|key| key.namespace) {
            self.note_change(namespace);
        }
        Ok(())
    }
}

/// Makes an object that is there as good as a new one: young, and on the disk.
fn settle(path: &Path, found: &Metadata, plan: &mut Plan<'_>) -> Result<()> {
    let modified = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let age = SystemTime::now().duration_since(modified);
    if age.as_ref().is_ok_and(|age| *age > FRESH) {
        touch(path)?;
    }
    // Somebody else may have written it without a sync, R always does.
    if plan.sync != Sync::Never && age.is_ok_and(|age| age < SETTLED) {
        sync_file(path)?;
        plan.unsettled = true;
    }
    Ok(())
}

fn sync_file(path: &Path) -> Result<()> {
    let synced = File::open(path).and_then(|file| file.sync_data());
    synced.map_err(|error| fault("sync a file", path, error))
}

/// Sets the time of a file to the store's now. Files of others stay as they are.
fn touch(path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use rustix::fs::{utimensat, AtFlags, Timespec, Timestamps, CWD, UTIME_NOW};
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        match utimensat(CWD, path, &times, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) => Ok(()),
            Err(error) => Err(fault("touch an object", path, error.into())),
        }
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(())
    }
}

fn conflict(change: &Change<'_>, named: Option<Hash>) -> Error {
    let found = match named {
        Some(hash) => format!("names {hash}"),
        None if change.expect == Expect::Absent => "is there and cannot be read".to_string(),
        None => "is not there".to_string(),
    };
    let text = format!("{} {found}, which was not expected", change.key);
    let error = Error::new(ErrorKind::Conflict, text)
        .with_format(super::NAME)
        .with_detail("key", change.key.key)
        .with_detail("namespace", change.key.namespace);
    match named {
        Some(hash) => error.with_detail("hash", hash.hex()),
        None => error,
    }
}
