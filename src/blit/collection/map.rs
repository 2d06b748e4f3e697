//! Files as memory.

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a whole file for reading.
///
/// # Errors
/// What the system says.
#[allow(
    unsafe_code,
    reason = "what another process does to a file is out of anyone's hands"
)]
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: bytes of a commit never change: appenders write behind them, under a lock, and
    // whatever replaces a collection is another file under its name. Every access to the bytes
    // checks what it reads, so that bytes which another program changes all the same give an
    // error or another value. What nobody can check is a file that another program cuts: to
    // touch what is gone then ends the process (SIGBUS). `ReadOptions::mmap` says so, and
    // without it files are read, not mapped.
    unsafe { Mmap::map(file) }
}
