//! Descriptors that are open already.

use std::os::fd::{AsFd, FromRawFd, IntoRawFd, OwnedFd};

use rustix::fs::OFlags;

use super::super::wire::os_error;
use super::super::Mode;
use super::Opened;
use crate::Result;

/// Takes a descriptor of this process over.
pub fn adopt(number: u32) -> Result<OwnedFd> {
    let raw = i32::try_from(number).unwrap_or(-1);
    let closed = |error| os_error(error, &format!("fd:{number}: cannot use the descriptor"));
    if raw < 0 {
        return Err(closed(rustix::io::Errno::BADF.into()));
    }
    if number <= 2 {
        // Those of the standard library stay its own.
        return standard_of(number);
    }
    #[allow(
        unsafe_code,
        reason = "who names a descriptor gives it away; it is checked before it is used"
    )]
    // SAFETY: the number is not -1, and if nothing is open there it is let go of again.
    let fd = unsafe { OwnedFd::from_raw_fd(raw) };
    match rustix::fs::fcntl_getfl(&fd) {
        Ok(_) => Ok(fd),
        Err(error) => {
            let _ = fd.into_raw_fd();
            Err(closed(error.into()))
        }
    }
}

/// Standard input to read, standard output to write.
pub fn standard(mode: Mode) -> Result<OwnedFd> {
    match mode {
        Mode::Read => standard_of(0),
        Mode::Write => standard_of(1),
        _ => Err(super::wrong_mode("-", "r or w")),
    }
}

/// The mode a descriptor has itself, where none was given.
pub fn directed(fd: OwnedFd, mode: Mode) -> Result<Opened> {
    let flags = rustix::fs::fcntl_getfl(&fd);
    let flags = flags.map_err(|error| os_error(error.into(), "cannot use the descriptor"))?;
    let mode = match (mode, flags & OFlags::RWMODE) {
        (Mode::Both, OFlags::RDONLY) => Mode::Read,
        (Mode::Both, OFlags::WRONLY) => Mode::Write,
        _ => mode,
    };
    Ok(Opened::new(fd, mode))
}

fn standard_of(number: u32) -> Result<OwnedFd> {
    let own = match number {
        0 => std::io::stdin().as_fd().try_clone_to_owned(),
        1 => std::io::stdout().as_fd().try_clone_to_owned(),
        _ => std::io::stderr().as_fd().try_clone_to_owned(),
    };
    own.map_err(|error| os_error(error, "cannot use a standard stream"))
}
