//! Files as memory.

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapOptions};

/// Maps a file for reading, up to the end of a commit.
///
/// # Errors
/// What the system says.
#[allow(
    unsafe_code,
    reason = "what another process does to a file is out of anyone's hands"
)]
pub(super) fn map(file: &File, end: usize) -> io::Result<Mmap> {
    // SAFETY: `end` is where a commit ends that was found by reading the file, and bytes of a
    // commit neither change nor go: appenders write behind them, under a lock, what they cut off
    // lies behind them, and whatever replaces a collection is another file under its name. What
    // an appender has not committed is not mapped, because it may take it back at any time. (Two
    // things are cut off that a reader may have found whole: a commit that could not be stored,
    // when its writer was told so, and one whose chunks a crash lost, by a repair.)
    // Every access to the bytes checks what it reads, so that bytes which another program
    // changes all the same give an error or another value. What nobody can check is a file that
    // another program cuts: to touch what is gone then ends the process (SIGBUS).
    // `ReadOptions::mmap` says so, and without it files are read, not mapped.
    unsafe { MmapOptions::new().len(end).map(file) }
}
