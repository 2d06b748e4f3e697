//! What the driver asks of the file system: places below its folder, reached through no symbolic link;
//! locks, syncs, and the clock by which the storage itself counts.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self as sys, AtFlags, FlockOperation, Mode, OFlags, ResolveFlags};

use super::fault::io_fault;
use super::layout;
use crate::{Error, ErrorKind, Result};

/// The folder of a store, held open.
pub(super) struct Root {
    pub path: PathBuf,
    folder: OwnedFd,
}

impl Root {
    /// Opens a folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = sys::open(path, flags, Mode::empty())?;
        let path = path.to_path_buf();
        Ok(Self { path, folder })
    }

    /// Opens what lies at a relative place, through no symbolic link.
    fn reach(&self, place: &str, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match sys::openat2(&self.folder, place, flags, mode, resolve) {
            // An old kernel, or a filter in front of it.
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {}
            other => return Ok(other?),
        }
        for (end, _) in place.match_indices('/') {
            let above = place.get(..end).unwrap_or_default();
            let stat = sys::statat(&self.folder, above, AtFlags::SYMLINK_NOFOLLOW)?;
            if !sys::FileType::from_raw_mode(stat.st_mode).is_dir() {
                return Err(io::Error::from(io::ErrorKind::NotADirectory));
            }
        }
        Ok(sys::openat(&self.folder, place, flags, mode)?)
    }

    /// Opens a file to read it.
    pub fn read(&self, place: &str) -> io::Result<File> {
        let file = self.reach(place, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())?;
        let file = File::from(file);
        if file.metadata()?.is_file() {
            return Ok(file);
        }
        Err(io::Error::other("not a regular file"))
    }

    /// Makes a file that there must not be, which nobody may write to but through this handle.
    pub fn create(&self, place: &str) -> io::Result<File> {
        self.make(place, Mode::RUSR | Mode::RGRP | Mode::ROTH)
    }

    /// The same, which its owner may open for writing again.
    pub fn create_writable(&self, place: &str) -> io::Result<File> {
        self.make(place, Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH)
    }

    fn make(&self, place: &str, mode: Mode) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let file = match self.reach(place, flags, mode) {
            // Copies lose empty folders, and others tidy up.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Some((folder, _)) = place.rsplit_once('/') {
                    self.make_folder(folder)?;
                }
                self.reach(place, flags, mode)
            }
            reached => reached,
        };
        Ok(File::from(file?))
    }

    /// Makes a folder if there is none; whether it was made.
    pub fn make_folder(&self, place: &str) -> io::Result<bool> {
        let mode = Mode::RWXU | Mode::RWXG | Mode::RWXO;
        match sys::mkdirat(&self.folder, place, mode) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn folder_of<'a>(&self, place: &'a str) -> io::Result<(OwnedFd, &'a str)> {
        let (folder, name) = place.rsplit_once('/').unwrap_or((".", place));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        Ok((self.reach(folder, flags, Mode::empty())?, name))
    }

    /// Moves a file to another place, over what is there.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from_folder, from) = self.folder_of(from)?;
        let (to_folder, to) = self.folder_of(to)?;
        Ok(sys::renameat(from_folder, from, to_folder, to)?)
    }

    /// Gives a file a second name, which there must not be.
    pub fn link(&self, from: &str, to: &str) -> io::Result<()> {
        let (from_folder, from) = self.folder_of(from)?;
        let (to_folder, to) = self.folder_of(to)?;
        Ok(sys::linkat(
            from_folder,
            from,
            to_folder,
            to,
            AtFlags::empty(),
        )?)
    }

    /// Removes a file; whether there was one.
    pub fn remove(&self, place: &str) -> io::Result<bool> {
        self.unlink(place, AtFlags::empty())
    }

    /// Removes an empty folder; whether there was one.
    pub fn remove_folder(&self, place: &str) -> io::Result<bool> {
        self.unlink(place, AtFlags::REMOVEDIR)
    }

    fn unlink(&self, place: &str, flags: AtFlags) -> io::Result<bool> {
        let (folder, name) = match self.folder_of(place) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        match sys::unlinkat(folder, name, flags) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What is known of a file, and not of what a symbolic link points to.
    pub fn stat(&self, place: &str) -> io::Result<Seen> {
        let (folder, name) = self.folder_of(place)?;
        let stat = sys::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = sys::FileType::from_raw_mode(stat.st_mode);
        Ok(Seen {
            is_file: kind.is_file(),
            is_folder: kind.is_dir(),
            len: u64::try_from(stat.st_size).unwrap_or_default(),
            changed: stat
                .st_mtime
                .saturating_mul(1_000_000)
                .saturating_add(i64::try_from(stat.st_mtime_nsec).unwrap_or_default() / 1000),
        })
    }

    /// Names in a folder, in no order; none if it does not exist.
    pub fn names(&self, place: &str) -> io::Result<Vec<String>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = match self.reach(place, flags, Mode::empty()) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in sys::Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            if name != "." && name != ".." {
                names.push(name.into_owned());
            }
        }
        Ok(names)
    }

    /// Makes the names in a folder outlast the power.
    pub fn sync_folder(&self, place: &str) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = self.reach(place, flags, Mode::empty())?;
        match sys::fsync(folder) {
            // Some file systems have nothing to say about folders.
            Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Says to other processes that this one uses the store, for as long as this handle lives.
    pub fn lock_shared(&self) -> io::Result<bool> {
        locked(sys::flock(
            &self.folder,
            FlockOperation::NonBlockingLockShared,
        ))
    }

    /// The same, alone. What was held before is held on if this fails.
    pub fn lock_alone(&self) -> io::Result<bool> {
        locked(sys::flock(
            &self.folder,
            FlockOperation::NonBlockingLockExclusive,
        ))
    }

    /// The storage's time: that of a file made just now. Microseconds since 1970.
    pub fn clock(&self) -> Result<i64> {
        let place = layout::staged("clock");
        let made = self.create(&place).and_then(|file| file.metadata());
        let removed = self.remove(&place);
        let data = made.map_err(|error| io_fault(self, &place, "cannot make a file", error))?;
        removed.map_err(|error| io_fault(self, &place, "cannot remove a file", error))?;
        Ok(data
            .mtime()
            .saturating_mul(1_000_000)
            .saturating_add(data.mtime_nsec() / 1000))
    }

    /// The name of a place in messages and for others to open.
    pub fn join(&self, place: &str) -> PathBuf {
        self.path.join(place)
    }

    /// Whether a name of the folder has others elsewhere, as copies by hard links do.
    pub fn is_linked(&self, name: &str) -> bool {
        let stat = sys::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| stat.st_nlink > 1)
    }
}

fn locked(got: rustix::io::Result<()>) -> io::Result<bool> {
    match got {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        // A file system without locks of this kind: SQLite's own still hold.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOLCK | rustix::io::Errno::NOSYS) => {
            Ok(true)
        }
        Err(error) => Err(error.into()),
    }
}

/// What is known of a file.
pub(super) struct Seen {
    pub is_file: bool,
    pub is_folder: bool,
    pub len: u64,
    /// Microseconds since 1970.
    pub changed: i64,
}

/// What changes when a file's bytes do: number, length, times of bytes and of the entry.
pub(super) fn identity(file: &File) -> Option<[u64; 4]> {
    let data = file.metadata().ok()?;
    let nanos = |seconds: i64, rest: i64| {
        let all = seconds.wrapping_mul(1_000_000_000).wrapping_add(rest);
        u64::try_from(all).unwrap_or_default()
    };
    let bytes = nanos(data.mtime(), data.mtime_nsec());
    let entry = nanos(data.ctime(), data.ctime_nsec());
    Some([data.ino(), data.size(), bytes, entry])
}

/// This process's number.
pub(super) fn own_pid() -> u32 {
    u32::try_from(rustix::process::getpid().as_raw_nonzero().get()).unwrap_or_default()
}

/// Whether a process of that number runs.
pub(super) fn runs(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok();
    let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) else {
        return false;
    };
    // One of another user may not be signalled, and runs.
    rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

/// Makes a file's bytes outlast the power.
pub(super) fn sync_file(file: &File) -> io::Result<()> {
    Ok(sys::fdatasync(file)?)
}

/// Whether no byte is left for this user on the file system of a folder.
pub(super) fn is_full(root: &Root) -> bool {
    sys::fstatfs(root.folder.as_fd()).is_ok_and(|stat| stat.f_bavail == 0 || stat.f_ffree == 0)
}

/// Kinds of file systems on which processes of several machines meet, where shared memory does not.
/// Numbers of Linux's `magic.h`, of Lustre and of others in its tree.
const REMOTE: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB 2"),
    (0x0bd0_0bd0, "Lustre"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0102_1997, "9P"),
    (0x6573_5546, "FUSE"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x6165_676c, "a panicked store"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
    (0x564c, "NCP"),
];

/// The kind of file system, if it is one that several machines may share.
pub(super) fn remote_kind(root: &Root) -> Option<&'static str> {
    let stat = sys::fstatfs(root.folder.as_fd()).ok()?;
    remote_name(u64::try_from(stat.f_type).unwrap_or_default() & 0xffff_ffff)
}

pub(super) fn remote_name(kind: u64) -> Option<&'static str> {
    let found = REMOTE.iter().find(|(known, _)| *known == kind);
    found.map(|(_, name)| *name)
}

/// The error of a place where WAL cannot work.
pub(super) fn refuse_remote(path: &Path, kind: &str) -> Error {
    let text = format!(
        "the folder lies on a file system of the kind {kind}, where several machines cannot share an \
         index safely: keep the store on a local disk, copy it there, or open it with exclusive=true if \
         no other process ever uses it"
    );
    Error::new(ErrorKind::Unsupported, text)
        .with_format("folder")
        .with_path(path)
}

/// A path as bytes, for a connection's address.
pub(super) fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}
