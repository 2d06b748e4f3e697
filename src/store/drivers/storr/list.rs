//! Keys: one file each below `keys`, read, listed and walked.

use std::fs::{self, DirEntry};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use super::files::{self, fault};
use super::keys::{self, KEY_FILE_BYTES};
use super::StorrDriver;
use crate::store::{Hash, Key, KeyEntry, KeyRecord};
use crate::{Error, ErrorKind, Result};

/// A key may be missing for so long while R sets it: it deletes the file before it renames another.
const RENAMING: Duration = Duration::from_millis(1);
/// A folder that was changed within so long may have such a key.
const RECENT: Duration = Duration::from_secs(2);

/// What lies at a key.
#[derive(Clone, Debug)]
pub(super) enum KeyFile {
    /// Nothing.
    Absent,
    /// A file that names no object, and why.
    Bad(String),
    /// The object's hash, and when it was written.
    Good(Hash, i64),
}

/// A file below `keys`.
pub(super) struct Walked {
    pub(super) path: PathBuf,
    /// The folder below `keys`, with slashes; None for a file beside the namespaces and for names that are
    /// not UTF-8.
    pub(super) namespace: Option<String>,
    /// The key; None for a name that is none.
    pub(super) key: Option<String>,
    pub(super) file: KeyFile,
}

impl StorrDriver {
    /// What keys name, in the order asked for.
    pub(super) fn records(&self, keys: &[Key<'_>]) -> Result<Vec<Option<KeyRecord>>> {
        let mut folders = Folders::new(self);
        let mut records: Vec<Option<KeyRecord>> = Vec::with_capacity(keys.len());
        let mut missing = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            let record = self.record(&mut folders, *key)?;
            if record.is_none() {
                missing.push((at, *key));
            }
            records.push(record);
        }
        missing.retain(|(_, key)| self.is_being_changed(key.namespace));
        if missing.is_empty() {
            return Ok(records);
        }
        std::thread::sleep(RENAMING);
        for (at, key) in missing {
            if let Some(place) = records.get_mut(at) {
                *place = self.record(&mut folders, key)?;
            }
        }
        Ok(records)
    }

    fn record(&self, folders: &mut Folders<'_>, key: Key<'_>) -> Result<Option<KeyRecord>> {
        match self.key_file(folders, key)? {
            KeyFile::Absent => Ok(None),
            KeyFile::Good(hash, time) => Ok(Some(KeyRecord {
                hash,
                codec: "rds".to_string(),
                time,
            })),
            KeyFile::Bad(problem) => Err(bad_key(key, &problem)),
        }
    }

    /// What lies at a key.
    pub(super) fn key_file(&self, folders: &mut Folders<'_>, key: Key<'_>) -> Result<KeyFile> {
        let name = self.naming.name(key.key);
        if !keys::is_name(&name) {
            return Ok(KeyFile::Absent);
        }
        let Some(folder) = folders.find(key.namespace)? else {
            return Ok(KeyFile::Absent);
        };
        // Where `A` opens the file `a`, the name has to be looked at.
        if self.folds_case && !names_in(folder)?.any(|other| other == *name) {
            return Ok(KeyFile::Absent);
        }
        self.read_key(&folder.join(&*name))
    }

    /// Reads a key's file.
    pub(super) fn read_key(&self, path: &Path) -> Result<KeyFile> {
        let (file, found) = match files::open(&self.root, path) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(KeyFile::Absent),
            // A folder is a namespace in another one.
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                return Ok(if path.is_dir() {
                    KeyFile::Absent
                } else {
                    KeyFile::Bad(error.to_string())
                });
            }
            Err(error) => return Err(error),
        };
        if found.len() > KEY_FILE_BYTES {
            let text = format!(
                "a file of {} bytes of at most {KEY_FILE_BYTES}",
                found.len()
            );
            return Ok(KeyFile::Bad(text));
        }
        let mut bytes = Vec::with_capacity(160);
        let read = file.take(KEY_FILE_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| fault("read a key", path, error))?;
        Ok(match keys::parse_key(&bytes, self.algorithm) {
            Some(hash) => KeyFile::Good(hash, files::written_at(&found)),
            None => KeyFile::Bad(format!(
                "\"{}\" is no {} hash",
                bytes
                    .escape_ascii()
                    .take(40)
                    .map(char::from)
                    .collect::<String>(),
                self.algorithm.name()
            )),
        })
    }

    /// Whether R may be just about to rename a file of this namespace.
    fn is_being_changed(&self, namespace: &str) -> bool {
        let Some(time) = self.change_of(namespace) else {
            return false;
        };
        let age = match SystemTime::now().duration_since(time) {
            Ok(age) => age,
            Err(ahead) => ahead.duration(),
        };
        age < RECENT && self.changed_here.load(Ordering::Relaxed) != mark(namespace, time)
    }

    /// Remembers that a namespace was changed here, where files are never missing meanwhile.
    pub(super) fn note_change(&self, namespace: &str) {
        if let Some(time) = self.change_of(namespace) {
            let mark = mark(namespace, time);
            self.changed_here.store(mark, Ordering::Relaxed);
        }
    }

    fn change_of(&self, namespace: &str) -> Option<SystemTime> {
        keys::namespace_parts(namespace)?;
        let found = fs::metadata(self.keys.join(namespace)).ok()?;
        found.modified().ok()
    }

    /// At most `limit` keys that begin with `prefix` and come behind `after`. Names that are no key's, and
    /// files that name no object, are left out: [`check`](crate::store::Driver::check) reports them.
    pub(super) fn page(
        &self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<KeyEntry>> {
        let mut folders = Folders::new(self);
        let Some(folder) = folders.find(namespace)? else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for entry in entries(folder)? {
            let Some(key) = self.naming.key(&entry.file_name()) else {
                continue;
            };
            let behind = after.is_none_or(|after| key.as_str() > after);
            if behind && key.starts_with(prefix) {
                names.push(key);
            }
        }
        names.sort_unstable();
        let mut page = Vec::with_capacity(limit.min(names.len()));
        for key in names {
            if page.len() >= limit {
                break;
            }
            let path = folder.join(&*self.naming.name(&key));
            if let KeyFile::Good(hash, time) = self.read_key_again(&path)? {
                let codec = "rds".to_string();
                let record = KeyRecord { hash, codec, time };
                page.push(KeyEntry { key, record });
            }
        }
        Ok(page)
    }

    /// A key's file that was there a moment ago: R may be just renaming it.
    fn read_key_again(&self, path: &Path) -> Result<KeyFile> {
        match self.read_key(path)? {
            KeyFile::Absent if !path.is_dir() => {
                std::thread::sleep(RENAMING);
                self.read_key(path)
            }
            read => Ok(read),
        }
    }

    /// The namespaces that hold a key. One inside another is read by its name `a/b` and not listed, as R
    /// does not.
    pub(super) fn namespaces(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for entry in entries(&self.keys)? {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let mut folders = Folders::new(self);
            let Some(folder) = folders.find(&name)? else {
                continue;
            };
            let mut inside = entries(folder)?.into_iter();
            let is_key = |entry: DirEntry| {
                let named = self.naming.key(&entry.file_name()).is_some();
                named && matches!(self.read_key(&entry.path()), Ok(KeyFile::Good(..)))
            };
            if inside.any(is_key) {
                found.push(name);
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Calls `visit` with every file below `keys`, whatever its name: a collection must not miss what R or
    /// another tool put there.
    pub(super) fn walk_keys(&self, visit: &mut dyn FnMut(Walked) -> Result<()>) -> Result<()> {
        let mut open: Vec<(PathBuf, Option<String>)> = vec![(self.keys.clone(), None)];
        while let Some((folder, namespace)) = open.pop() {
            for entry in entries(&folder)? {
                let path = entry.path();
                let name = entry.file_name();
                let kind = entry.file_type();
                let kind = kind.map_err(|error| fault("list the keys", &path, error))?;
                if kind.is_dir() {
                    let name = name.to_string_lossy();
                    let inner = match &namespace {
                        None => name.into_owned(),
                        Some(outer) => format!("{outer}/{name}"),
                    };
                    open.push((path, Some(inner)));
                    continue;
                }
                let key = self.naming.key(&name).filter(|_| namespace.is_some());
                visit(Walked {
                    file: self.read_key_again(&path)?,
                    namespace: namespace.clone(),
                    key,
                    path,
                })?;
            }
        }
        Ok(())
    }

    /// Refuses a name that the file system takes for that of another key.
    pub(super) fn check_case(&self, key: Key<'_>) -> Result<()> {
        if !self.folds_case {
            return Ok(());
        }
        let clash = |name: &str, folder: &Path| -> Result<Option<String>> {
            let names = names_in(folder)?;
            Ok(keys::same_but_case(name, names))
        };
        let other = match clash(key.namespace, &self.keys)? {
            Some(other) => Some(other),
            None => clash(&self.naming.name(key.key), &self.keys.join(key.namespace))?,
        };
        match other {
            None => Ok(()),
            Some(other) => {
                let text = format!(
                    "the file system takes the name of the key for that of {other:?}, which differs by case alone"
                );
                Err(keys::invalid(text, key))
            }
        }
    }
}

/// The folders of namespaces, of which the last is remembered for a call.
pub(super) struct Folders<'a> {
    driver: &'a StorrDriver,
    last: Option<(String, Option<PathBuf>)>,
}

impl<'a> Folders<'a> {
    pub(super) fn new(driver: &'a StorrDriver) -> Self {
        let last = None;
        Self { driver, last }
    }

    /// The folder of a namespace; None if there is none.
    pub(super) fn find(&mut self, namespace: &str) -> Result<Option<&Path>> {
        if self.last.as_ref().is_none_or(|(name, _)| name != namespace) {
            let found = self.look(namespace)?;
            self.last = Some((namespace.to_string(), found));
        }
        Ok(self.last.as_ref().and_then(|(_, path)| path.as_deref()))
    }

    fn look(&self, namespace: &str) -> Result<Option<PathBuf>> {
        let Some(parts) = keys::namespace_parts(namespace) else {
            return Ok(None);
        };
        let mut path = self.driver.keys.clone();
        for part in parts {
            path.push(part);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => {}
                Ok(found) if found.is_symlink() => {
                    let real = files::inside(&self.driver.root, &path);
                    if !real.is_some_and(|real| real.is_dir()) {
                        return Ok(None);
                    }
                }
                Ok(_) => return Ok(None),
                Err(error) if files::is_absent(&error) => return Ok(None),
                Err(error) => return Err(fault("look at a namespace", &path, error)),
            }
        }
        Ok(Some(path))
    }
}

fn bad_key(key: Key<'_>, problem: &str) -> Error {
    let text = format!("the key {key} cannot be read: {problem}; set it again or delete it");
    Error::new(ErrorKind::Corrupt, text)
        .with_format(super::NAME)
        .with_detail("key", key.key)
        .with_detail("namespace", key.namespace)
}

/// What lies in a folder; nothing if it does not exist.
pub(super) fn entries(folder: &Path) -> Result<Vec<DirEntry>> {
    let listed = fs::read_dir(folder).and_then(Iterator::collect);
    match listed {
        Ok(entries) => Ok(entries),
        Err(error) if files::is_absent(&error) => Ok(Vec::new()),
        Err(error) => Err(fault("list a folder", folder, error)),
    }
}

fn names_in(folder: &Path) -> Result<impl Iterator<Item = String>> {
    let names = entries(folder)?.into_iter();
    Ok(names.filter_map(|entry| entry.file_name().into_string().ok()))
}

/// A change of a namespace at a time, never 0.
fn mark(namespace: &str, time: SystemTime) -> u64 {
    let mut hasher = DefaultHasher::new();
    (namespace, time).hash(&mut hasher);
    hasher.finish() | 1
}
