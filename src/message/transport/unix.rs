//! Sockets of one machine: in the file system, or abstract.

use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::Mode as Permissions;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::super::{Call, Options};
use super::{attempt, failed, Url};
use crate::{Error, ErrorKind, Result};

/// Who waits to be accepted at most.
const BACKLOG: i32 = 1024;

/// A socket file that is removed when nobody listens at it any more.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    id: (u64, u64),
    owner: u32,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let same = std::fs::symlink_metadata(&self.path)
            .is_ok_and(|found| (found.dev(), found.ino()) == self.id);
        // Another listener may have taken the path, and a child does not own it.
        if same && self.owner == std::process::id() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn address(url: &Url) -> Result<SocketAddrUnix> {
    let made = match url {
        Url::Unix(path) => SocketAddrUnix::new(path.as_path()),
        #[cfg(any(target_os = "linux", target_os = "android"))]
        Url::Abstract(name) => SocketAddrUnix::new_abstract_name(name.as_bytes()),
        _ => {
            let text = format!("{url}: only Linux has abstract sockets");
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
    };
    made.map_err(|_| {
        let text = format!("{url}: too long for a socket, which has about 100 bytes");
        Error::new(ErrorKind::Usage, text)
    })
}

fn socket() -> Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(failed("make a socket"))
}

/// Connects.
pub fn connect(url: &Url, options: &Options, call: &mut Call<'_>) -> Result<OwnedFd> {
    let address = address(url)?;
    let what = format!("connect to {url}");
    attempt(options.retry, call, &what, |call| loop {
        let fd = socket()?;
        match rustix::net::connect(&fd, &address) {
            Ok(()) => return Ok(fd),
            // Its backlog is full.
            Err(Errno::AGAIN | Errno::INTR) => {
                call.pause(std::time::Duration::from_millis(2), &what)?;
            }
            Err(error) => return Err(failed(&what)(error)),
        }
    })
}

/// Listens with mode 0600; what is left of a listener that has gone is removed first.
pub fn listen(url: &Url) -> Result<(OwnedFd, Option<SocketFile>)> {
    let address = address(url)?;
    let what = format!("listen at {url}");
    let path = match url {
        Url::Unix(path) => Some(path.as_path()),
        _ => None,
    };
    let fd = socket()?;
    match (rustix::net::bind(&fd, &address), path) {
        (Ok(()), _) => {}
        (Err(Errno::ADDRINUSE), Some(path)) if is_stale(path, &address) => {
            std::fs::remove_file(path).map_err(|error| {
                super::os_error(error, &format!("cannot remove {}", path.display()))
            })?;
            rustix::net::bind(&fd, &address).map_err(failed(&what))?;
        }
        (Err(error), _) => return Err(failed(&what)(error)),
    }
    let mut file = None;
    if let Some(path) = path {
        // Nobody gets in before it listens.
        rustix::fs::chmod(path, Permissions::RUSR | Permissions::WUSR).map_err(failed(&what))?;
        let found = std::fs::symlink_metadata(path)
            .map_err(|error| super::os_error(error, &format!("cannot {what}")))?;
        file = Some(SocketFile {
            path: path.to_owned(),
            id: (found.dev(), found.ino()),
            owner: std::process::id(),
        });
    }
    rustix::net::listen(&fd, BACKLOG).map_err(failed(&what))?;
    Ok((fd, file))
}

/// Whether a path is a socket that nobody listens at.
fn is_stale(path: &Path, address: &SocketAddrUnix) -> bool {
    let is_socket =
        std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    is_socket
        && socket().is_ok_and(|fd| rustix::net::connect(&fd, address) == Err(Errno::CONNREFUSED))
}
