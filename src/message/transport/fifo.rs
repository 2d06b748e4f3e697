//! Named pipes.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Mode as Permissions, OFlags, CWD};
use rustix::io::Errno;

use super::super::{Call, Mode, Options};
use super::{attempt, failed, wrong_mode, Opened};
use crate::{Error, ErrorKind, Result};

/// Opens one end. A writer waits for a reader; a reader waits for a writer when it receives.
pub fn open(path: &Path, mode: Mode, options: &Options, call: &mut Call<'_>) -> Result<Opened> {
    make(path)?;
    let what = format!("open {}", path.display());
    let end = |flags| {
        let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Permissions::empty()).map_err(failed(&what))
    };
    let opened = match mode {
        Mode::Read => {
            let fd = end(OFlags::RDONLY)?;
            let keep = if options.keep {
                Some(end(OFlags::WRONLY)?)
            } else {
                None
            };
            Opened {
                keep,
                ..Opened::new(fd, mode)
            }
        }
        Mode::Write => {
            let patience = options.retry.unwrap_or(Duration::MAX);
            let what = format!("{}: no reader yet", path.display());
            let fd = attempt(Some(patience), call, &what, |_| end(OFlags::WRONLY))?;
            Opened::new(fd, mode)
        }
        Mode::Both | Mode::Append => return Err(wrong_mode("fifo:", "r or w")),
    };
    if let Some(size) = options.pipe_size {
        set_size(opened.fd.as_fd(), size)?;
    }
    Ok(opened)
}

fn make(path: &Path) -> Result<()> {
    let permissions = Permissions::RUSR | Permissions::WUSR;
    match rustix::fs::mkfifoat(CWD, path, permissions) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => {
            let is_fifo = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
            if is_fifo {
                return Ok(());
            }
            let text = "is there and no fifo: name another path, or use file:";
            Err(Error::new(ErrorKind::Usage, text).with_path(path))
        }
        Err(error) => Err(failed(&format!("make {}", path.display()))(error)),
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn set_size(fd: BorrowedFd<'_>, size: usize) -> Result<()> {
    let what = format!("give the fifo {size} bytes (pipe_size)");
    rustix::pipe::fcntl_setpipe_size(fd, size).map_err(failed(&what))?;
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn set_size(_: BorrowedFd<'_>, _: usize) -> Result<()> {
    let text = "pipe_size: only Linux changes the size of a fifo";
    Err(Error::new(ErrorKind::Unsupported, text))
}

/// Whether the writers of a fifo that gave nothing have all gone, and there was one.
pub fn has_ended(fd: &OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags};
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    let found = super::super::deadline::poll(&mut fds, Duration::ZERO);
    found.is_ok() && fds.iter().any(|fd| fd.revents().contains(PollFlags::HUP))
}
