//! Files and folders of a store: opened only where they are what they should be.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::{Error, ErrorKind, Result};

/// The error for what the system refused, with the file.
pub(super) fn fault(what: &str, path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::NoSpace,
        _ => ErrorKind::Io,
    };
    let text = format!("cannot {what}: {error}");
    Error::new(kind, text)
        .with_format(super::NAME)
        .with_path(path)
        .with_source(error)
}

/// Whether nothing lies there: no such file, or a name that none can have.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename
    )
}

/// Whether something lies there.
pub(super) fn exists(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(fault("look at a file", path, error)),
    }
}

/// Opens an ordinary file to read it, with what the system says of it; None if there is none.
///
/// A link is followed as long as it stays in `root`. Nothing waits for the other end of a pipe.
pub(super) fn open(root: &Path, path: &Path) -> Result<Option<(File, Metadata)>> {
    let opened = match open_unlinked(path) {
        Err(error) if is_link(path, &error) => {
            let Some(real) = inside(root, path) else {
                let text = "a link that leads out of the store is not followed";
                return Err(Error::new(ErrorKind::Unsupported, text)
                    .with_format(super::NAME)
                    .with_path(path));
            };
            open_unlinked(&real)
        }
        opened => opened,
    };
    let file = match opened {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(fault("open a file", path, error)),
    };
    let found = file
        .metadata()
        .map_err(|e| fault("look at a file", path, e))?;
    if !found.is_file() {
        let text = "expected an ordinary file";
        return Err(Error::new(ErrorKind::Unsupported, text)
            .with_format(super::NAME)
            .with_path(path));
    }
    Ok(Some((file, found)))
}

#[cfg(unix)]
fn open_unlinked(path: &Path) -> io::Result<File> {
    use rustix::fs::{open, Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty())?;
    Ok(File::from(file))
}

#[cfg(not(unix))]
fn open_unlinked(path: &Path) -> io::Result<File> {
    File::open(path)
}

fn is_link(path: &Path, error: &io::Error) -> bool {
    !is_absent(error) && fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// Where a path really leads, if that is in `root`.
pub(super) fn inside(root: &Path, path: &Path) -> Option<std::path::PathBuf> {
    let (root, real) = (fs::canonicalize(root).ok()?, fs::canonicalize(path).ok()?);
    real.starts_with(root).then_some(real)
}

/// All of a file that must be short; None if there is none.
pub(super) fn read_short(path: &Path, most: u64) -> Result<Option<Vec<u8>>> {
    let root = path.parent().unwrap_or(path);
    let Some((file, found)) = open(root, path)? else {
        return Ok(None);
    };
    if found.len() > most {
        let text = format!("a file of {} bytes, of at most {most}", found.len());
        return Err(Error::new(ErrorKind::Malformed, text)
            .with_format(super::NAME)
            .with_path(path));
    }
    let mut bytes = Vec::new();
    let read = file.take(most).read_to_end(&mut bytes);
    read.map_err(|error| fault("read a file", path, error))?;
    Ok(Some(bytes))
}

/// Writes a file that does not exist yet.
pub(super) fn write_new(path: &Path, bytes: &[u8], sync: bool) -> Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|error| fault("make a file", path, error))?;
    let written = file.write_all(bytes);
    written.map_err(|error| fault("write a file", path, error))?;
    if sync {
        let synced = file.sync_data();
        synced.map_err(|error| fault("sync a file", path, error))?;
    }
    Ok(())
}

/// Makes the names in a folder last.
pub(super) fn sync_folder(path: &Path) -> Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.map_err(|error| fault("sync a folder", path, error))
}

/// Makes all that was written to the file system of a folder last.
pub(super) fn sync_system(path: &Path) -> Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let folder = File::open(path).map_err(|error| fault("open a folder", path, error))?;
        let synced = rustix::fs::syncfs(&folder);
        synced.map_err(|error| fault("sync the file system", path, error.into()))
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        #[cfg(unix)]
        rustix::fs::sync();
        sync_folder(path)
    }
}

/// Makes a folder and those above it, if they are missing.
pub(super) fn make_folder(path: &Path) -> Result<()> {
    match fs::create_dir_all(path) {
        Ok(()) => Ok(()),
        Err(error) => Err(fault("make a folder", path, error)),
    }
}

/// Deletes a file; whether it was there.
pub(super) fn remove(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(fault("delete a file", path, error)),
    }
}

/// When a file was last written: microseconds since 1970, 0 if that is not known.
pub(super) fn written_at(found: &Metadata) -> i64 {
    let since = found.modified().ok();
    let since = since.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}
