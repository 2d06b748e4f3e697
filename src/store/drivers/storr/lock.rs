//! The lock that writers share and a collection has alone. R knows nothing of it.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use super::files::{self, fault};
use super::scratch::{LOCK, TURN};
use super::StorrDriver;
use crate::{Error, ErrorKind, Result};

/// A lock that is held.
pub(super) struct Lock(Option<File>);

/// Whether others may hold it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// With all who write.
    Writers,
    /// Alone.
    Nobody,
}

impl StorrDriver {
    /// Takes the lock; waits for others as long as the options say.
    ///
    /// Who wants it takes a turn first, and gives it back with the lock: so writers that come and go cannot
    /// keep a collection waiting for ever.
    pub(super) fn lock(&self, share: Share) -> Result<Lock> {
        let _turn = self.take(TURN, share)?;
        self.take(LOCK, share)
    }

    fn take(&self, name: &str, share: Share) -> Result<Lock> {
        let path = self.scratch.path().join(name);
        let start = Instant::now();
        let mut pause = Duration::from_micros(100);
        loop {
            let file = self.lock_file(&path)?;
            match try_lock(&file, share) {
                Ok(true) if is_still(&file, &path) => return Ok(Lock(Some(file))),
                // Somebody cleared the folder away: the next file is the lock.
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) if share == Share::Writers && is_lockless(&error) => {
                    return Ok(Lock(None));
                }
                Err(error) => return Err(fault("lock the store", &path, error)),
            }
            if start.elapsed() >= self.lock_timeout {
                return Err(self.busy(share, &path));
            }
            std::thread::sleep(pause);
            pause = pause.saturating_mul(2).min(Duration::from_millis(5));
        }
    }

    fn lock_file(&self, path: &Path) -> Result<File> {
        let open = || {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false);
            options.open(path)
        };
        let file = match open() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                files::make_folder(self.scratch.path())?;
                open()
            }
            opened => opened,
        };
        file.map_err(|error| fault("open the lock", path, error))
    }

    fn busy(&self, share: Share, path: &Path) -> Error {
        let who = match share {
            Share::Writers => "a collection or repair is at work",
            Share::Nobody => "others are writing",
        };
        let text = format!("{who} and did not end within {:?}", self.lock_timeout);
        Error::new(ErrorKind::Busy, text)
            .with_format(super::NAME)
            .with_path(path)
    }
}

/// Given up by name: a child that was forked meanwhile shares the open file and would hold on to it.
impl Drop for Lock {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(file) = &self.0 {
            let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::Unlock);
        }
    }
}

#[cfg(unix)]
fn try_lock(file: &File, share: Share) -> std::io::Result<bool> {
    use rustix::fs::{flock, FlockOperation};
    use rustix::io::Errno;
    let operation = match share {
        Share::Writers => FlockOperation::NonBlockingLockShared,
        Share::Nobody => FlockOperation::NonBlockingLockExclusive,
    };
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn try_lock(_: &File, _: Share) -> std::io::Result<bool> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Whether the file system has no locks.
fn is_lockless(error: &std::io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error()) {
        return true;
    }
    error.kind() == std::io::ErrorKind::Unsupported
}

#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_still(_: &File, _: &Path) -> bool {
    true
}
