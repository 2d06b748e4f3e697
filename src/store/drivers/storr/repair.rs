//! Mending what a check found: damaged objects are set aside, never deleted.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::files::{self, fault};
use super::list::{entries, KeyFile};
use super::lock::Share;
use super::plain::{self, plain};
use super::scratch::{discard, parse_writer, KEPT, QUARANTINE};
use super::{config, StorrDriver, HEADER_BYTES};
use crate::store::{Action, Finding, FindingKind, Hash, Hasher};
use crate::Result;

/// The list of keys that name nothing, below the quarantine.
const DANGLING: &str = "dangling-keys.jsonl";

impl StorrDriver {
    pub(super) fn mend(
        &self,
        findings: &[Finding],
        apply: bool,
        purge: bool,
    ) -> Result<Vec<Action>> {
        self.writable()?;
        let _lock = apply.then(|| self.lock(Share::Nobody)).transpose()?;
        findings
            .iter()
            .map(|finding| self.mend_one(finding, apply, purge))
            .collect()
    }

    fn mend_one(&self, finding: &Finding, apply: bool, purge: bool) -> Result<Action> {
        let done = |what: &str| Action {
            finding: finding.clone(),
            what: what.to_string(),
            done: apply,
        };
        let left = |what: &str| Action {
            done: false,
            ..done(what)
        };
        let path = PathBuf::from(&finding.place);
        match finding.kind {
            FindingKind::CorruptObject => {
                let Some(hash) = finding.hash else {
                    return Ok(left("nothing: no hash is known"));
                };
                if self.is_whole(&hash)? {
                    return Ok(left("nothing: the object is whole by now"));
                }
                if apply {
                    self.set_aside(&self.object_path(&hash))?;
                }
                Ok(done(
                    "the object is set aside in scratch/tare-quarantine; set its keys again",
                ))
            }
            FindingKind::DanglingKey | FindingKind::BadKey => {
                if apply {
                    self.list_key(finding)?;
                }
                if !purge || !lies_below(&path, &self.keys) {
                    return Ok(done(
                        "the key is listed in scratch/tare-quarantine; set it again, or purge",
                    ));
                }
                if apply && !self.is_mended(&path)? {
                    self.set_aside(&path)?;
                }
                Ok(done(
                    "the key's file is set aside in scratch/tare-quarantine",
                ))
            }
            FindingKind::Leftover => {
                let name = path.file_name().and_then(|name| name.to_str());
                let ours = lies_below(&path, self.scratch.path());
                if name.is_none_or(|name| KEPT.contains(&name)) || !ours {
                    return Ok(left("nothing: it is no temporary file of this store"));
                }
                if apply {
                    discard(&path);
                }
                Ok(done("the file is deleted"))
            }
            FindingKind::OrphanObject => Ok(left("nothing: a collection deletes it after grace")),
            _ => Ok(left("nothing: move away what is not of the store by hand")),
        }
    }

    /// Whether an object is what its hash says.
    fn is_whole(&self, hash: &Hash) -> Result<bool> {
        let path = self.object_path(hash);
        let Some((file, _)) = files::open(&self.root, &path)? else {
            return Ok(true);
        };
        let mut hasher = plain::HashSink(Hasher::new(self.algorithm, HEADER_BYTES));
        let read = plain(file).map(|mut reader| io::copy(&mut reader, &mut hasher));
        if matches!(read, Ok(Ok(_))) && hasher.0.finish() == *hash {
            return Ok(true);
        }
        let again = files::open(&self.root, &path)?.map(|(file, _)| plain(file));
        Ok(match again {
            Some(Ok(mut reader)) => {
                matches!(plain::rehash(&mut reader, self.algorithm), Ok(Some(found)) if found == *hash)
            }
            _ => false,
        })
    }

    /// Whether a key names an object by now.
    fn is_mended(&self, path: &Path) -> Result<bool> {
        Ok(match self.read_key(path)? {
            KeyFile::Absent => true,
            KeyFile::Bad(_) => false,
            KeyFile::Good(hash, _) => self.found(&self.object_path(&hash))?.is_some(),
        })
    }

    /// Moves a file into the quarantine, under a name that is free there.
    fn set_aside(&self, path: &Path) -> Result<()> {
        let folder = self.scratch.path().join(QUARANTINE);
        files::make_folder(&folder)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut to = folder.join(&*name);
        let mut number = 1_u32;
        while files::exists(&to)? {
            to = folder.join(format!("{name}.{number}"));
            number = number.saturating_add(1);
        }
        fs::rename(path, &to).map_err(|error| fault("set a file aside", path, error))
    }

    fn list_key(&self, finding: &Finding) -> Result<()> {
        let folder = self.scratch.path().join(QUARANTINE);
        files::make_folder(&folder)?;
        let path = folder.join(DANGLING);
        let (namespace, key) = finding.key.clone().unzip();
        let line = serde_json::json!({
            "kind": finding.kind.name(),
            "namespace": namespace,
            "key": key,
            "hash": finding.hash.map(|hash| hash.hex()),
            "file": finding.place,
        });
        let file = File::options().append(true).create(true).open(&path);
        let written = file.and_then(|mut file| writeln!(file, "{line}"));
        written.map_err(|error| fault("list a key", &path, error))
    }

    /// Deletes keys, objects, our temporary files and the settings; then the folders that are empty.
    pub(super) fn remove_all(&self) -> Result<()> {
        self.writable()?;
        let lock = self.lock(Share::Nobody)?;
        let mut folders = Vec::new();
        self.walk_keys(&mut |walked| {
            if matches!(walked.file, KeyFile::Good(..)) {
                files::remove(&walked.path)?;
            }
            if let Some(namespace) = walked.namespace {
                folders.push(self.keys.join(namespace));
            }
            Ok(())
        })?;
        for entry in entries(&self.keys)? {
            folders.push(entry.path());
        }
        self.each_object(&mut |_, entry| files::remove(&entry.path()).map(|_| ()))?;
        for entry in entries(self.scratch.path())? {
            let name = entry.file_name();
            let ours = name
                .to_str()
                .is_some_and(|name| KEPT.contains(&name) || parse_writer(name).is_some());
            if ours {
                discard(&entry.path());
            }
        }
        drop(lock);
        let config = self.root.join("config");
        for name in config::NAMES {
            files::remove(&config.join(name))?;
        }
        // The innermost first. What is not empty holds what is not ours.
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        folders.dedup();
        folders.extend([
            self.keys.clone(),
            self.data.clone(),
            self.scratch.path().to_path_buf(),
            config,
            self.root.clone(),
        ]);
        for folder in folders {
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }
}

/// Whether a path of a finding lies below a folder of the store.
fn lies_below(path: &Path, folder: &Path) -> bool {
    let parent = path
        .parent()
        .and_then(|parent| fs::canonicalize(parent).ok());
    let folder = fs::canonicalize(folder).ok();
    matches!((parent, folder), (Some(parent), Some(folder)) if parent.starts_with(&folder))
}
