//! Objects: one file each in `data`.

use std::fs::{self, File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::files::{self, fault};
use super::{keys, StorrDriver};
use crate::compress::{self, Kind};
use crate::store::{Body, Hash, ObjectMeta, Stored};
use crate::Result;

/// Objects up to so many stored bytes are read at once.
const AT_ONCE: u64 = 64 << 10;
/// Bytes that tell every compressor.
const HEAD_BYTES: u64 = 32;

impl StorrDriver {
    pub(super) fn object_path(&self, hash: &Hash) -> PathBuf {
        self.data.join(format!("{}.rds", hash.hex()))
    }

    /// An object as it is stored.
    pub(super) fn object(&self, hash: &Hash) -> Result<Option<Stored>> {
        let path = self.object_path(hash);
        let Some((mut file, found)) = files::open(&self.root, &path)? else {
            return Ok(None);
        };
        let (head, body) = if found.len() <= AT_ONCE {
            let mut bytes = Vec::new();
            let read = file.take(AT_ONCE).read_to_end(&mut bytes);
            read.map_err(|error| fault("read an object", &path, error))?;
            (kind_of(&bytes), Body::Bytes(bytes))
        } else {
            let head = head(&mut file).map_err(|error| fault("read an object", &path, error))?;
            (kind_of(&head), Body::File(file))
        };
        Ok(Some(Stored {
            meta: meta(head, found.len()),
            body,
            place: path.display().to_string(),
            identity: identity(&found),
        }))
    }

    /// What the system says of an object's file; None if there is none, and for a link that leads out of
    /// the store.
    pub(super) fn found(&self, path: &Path) -> Result<Option<Metadata>> {
        let looked = match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => match files::inside(&self.root, path) {
                Some(real) => fs::metadata(real),
                None => return Ok(None),
            },
            looked => looked,
        };
        match looked {
            Ok(found) => Ok(Some(found).filter(Metadata::is_file)),
            Err(error) if files::is_absent(&error) => Ok(None),
            Err(error) => Err(fault("look at an object", path, error)),
        }
    }

    pub(super) fn object_meta(&self, hash: &Hash) -> Result<Option<ObjectMeta>> {
        let path = self.object_path(hash);
        let Some((mut file, found)) = files::open(&self.root, &path)? else {
            return Ok(None);
        };
        let head = head(&mut file).map_err(|error| fault("read an object", &path, error))?;
        Ok(Some(meta(kind_of(&head), found.len())))
    }

    /// Calls `visit` with every object, in no order; files that are none are passed over.
    pub(super) fn each_object(
        &self,
        visit: &mut dyn FnMut(Hash, &fs::DirEntry) -> Result<()>,
    ) -> Result<()> {
        let entries = match fs::read_dir(&self.data) {
            Ok(entries) => entries,
            Err(error) if files::is_absent(&error) => return Ok(()),
            Err(error) => return Err(fault("list the objects", &self.data, error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| fault("list the objects", &self.data, error))?;
            if let Some(hash) = keys::object_hash(&entry.file_name(), self.algorithm) {
                visit(hash, &entry)?;
            }
        }
        Ok(())
    }

    /// Hashes of at most `limit` objects behind `after`.
    pub(super) fn hashes(&self, after: Option<&Hash>, limit: usize) -> Result<Vec<Hash>> {
        let mut found = Vec::new();
        self.each_object(&mut |hash, _| {
            if after.is_none_or(|after| hash > *after) {
                found.push(hash);
            }
            Ok(())
        })?;
        if limit < found.len() {
            found.select_nth_unstable(limit);
            found.truncate(limit);
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// The first bytes; the file stands at its beginning again.
fn head(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(head)
}

fn kind_of(bytes: &[u8]) -> Kind {
    let head = bytes.get(..bytes.len().min(HEAD_BYTES.try_into().unwrap_or(32)));
    compress::sniff(head.unwrap_or_default())
}

fn meta(compressor: Kind, stored_len: u64) -> ObjectMeta {
    ObjectMeta {
        plain_len: (compressor == Kind::None).then_some(stored_len),
        stored_len,
        compressor,
        codec: "rds".to_string(),
    }
}

/// What changes when somebody writes the file or puts another in its place.
#[allow(
    clippy::unnecessary_wraps,
    reason = "other systems than Unix tell nothing that is sure"
)]
fn identity(found: &Metadata) -> Option<[u64; 4]> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let time = |seconds: i64, nanoseconds: i64| {
            let whole = seconds.wrapping_mul(1_000_000_000);
            u64::from_le_bytes(whole.wrapping_add(nanoseconds).to_le_bytes())
        };
        Some([
            found.ino(),
            found.len(),
            time(found.mtime(), found.mtime_nsec()),
            time(found.ctime(), found.ctime_nsec()),
        ])
    }
    #[cfg(not(unix))]
    {
        let _ = found;
        None
    }
}
