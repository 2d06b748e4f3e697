//! Files of collections: one writer at a time, and new ones in the place of old ones at once.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::io_error;
use crate::{Error, ErrorKind, Result};

/// Opens a file that is there, and locks it against other writers.
///
/// # Errors
/// `Usage` if another has it; what the system says.
pub(super) fn open_locked(path: &Path) -> Result<File> {
    loop {
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(io_error)?;
        lock(&file)?;
        // Until it was locked another file may have come under its name.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// Makes a file that there must not be, and locks it.
///
/// # Errors
/// What the system says.
pub(super) fn create_locked(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).open(path);
    let file = file.map_err(io_error)?;
    lock(&file)?;
    Ok(file)
}

fn lock(file: &File) -> Result<()> {
    /// A process that was just started has a lock of the one that started it for a moment, even
    /// if that gave it up.
    const PATIENCE: Duration = Duration::from_millis(200);
    let until = Instant::now().checked_add(PATIENCE);
    loop {
        match fs4::FileExt::try_lock(file) {
            Ok(()) => return Ok(()),
            Err(fs4::TryLockError::WouldBlock) if until.is_some_and(|end| Instant::now() < end) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(fs4::TryLockError::WouldBlock) => {
                let text = "another writer has the collection: wait until it is done";
                return Err(Error::new(ErrorKind::Usage, text).with_format("blit"));
            }
            Err(fs4::TryLockError::Error(error)) => return Err(io_error(error)),
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |data: fs::Metadata| (data.dev(), data.ino());
    let (here, there) = (file.metadata(), fs::metadata(path));
    here.ok().map(identity) == there.ok().map(identity)
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    // An open file cannot be replaced there.
    true
}

/// Makes sure that a name outlives a crash; where folders can be asked for that.
pub(super) fn sync_folder(path: &Path) {
    if cfg!(unix) {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = File::open(folder.unwrap_or(Path::new(".")));
        // The file itself is safe; some file systems have nothing to say about names.
        let _ = folder.and_then(|folder| folder.sync_all());
    }
}

/// Removes a file, if it still has its name.
pub(super) fn remove(file: &File, path: &Path) {
    if is_at(file, path) {
        let _: io::Result<()> = fs::remove_file(path);
    }
}

/// A file that takes the place of another when it is complete, and else is gone.
pub(super) struct Replacement {
    pub(super) file: File,
    temporary: PathBuf,
    target: PathBuf,
    is_done: bool,
}

impl Replacement {
    /// Makes one beside `path`, locked, with the same permissions.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let target = fs::canonicalize(path).map_err(io_error)?;
        let (file, temporary) = beside(&target)?;
        let replacement = Self {
            file,
            temporary,
            target,
            is_done: false,
        };
        let permissions = fs::metadata(path).map(|data| data.permissions());
        let set = permissions.and_then(|like| replacement.file.set_permissions(like));
        set.map_err(io_error)?;
        Ok(replacement)
    }

    /// Gives it the name, once all its bytes are stored.
    ///
    /// # Errors
    /// What the system says; it may be tried again.
    pub(super) fn take_place(&mut self) -> Result<()> {
        self.file.sync_all().map_err(io_error)?;
        fs::rename(&self.temporary, &self.target).map_err(io_error)?;
        self.is_done = true;
        sync_folder(&self.target);
        Ok(())
    }
}

/// Makes a locked file beside another one, and gives its name.
fn beside(target: &Path) -> Result<(File, PathBuf)> {
    /// Names that may be taken: a process that was killed leaves its file.
    const TRIES: u32 = 1000;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(48).collect();
    let process = std::process::id();
    let mut tried = 0_u32;
    loop {
        let path = target.with_file_name(format!(".{name}.{process}.{tried}.tmp"));
        match create_locked(&path) {
            Err(error) if tried < TRIES && is_there(&error) => tried = tried.saturating_add(1),
            made => return made.map(|file| (file, path)),
        }
    }
}

fn is_there(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let source = source.and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.is_done {
            let _: io::Result<()> = fs::remove_file(&self.temporary);
        }
    }
}
