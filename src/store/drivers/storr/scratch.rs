//! Temporary files: `scratch`, whose files are renamed into place when they are whole.
//!
//! A name says who writes the file: the machine since it was started, the process and when that
//! began. What a writer left that is gone can so be told from what another is still writing.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::files::{self, fault};
use crate::{Error, ErrorKind, Result};

/// What others left is swept once it is so old.
const OTHERS: Duration = Duration::from_secs(24 * 3600);
/// What the names of our temporary files begin with.
const PREFIX: &str = "tare-";
/// Our files that are not temporary.
pub(super) const KEPT: [&str; 4] = [LOCK, TURN, MARKS, QUARANTINE];
/// The file whose lock writers share.
pub(super) const LOCK: &str = "tare.lock";
/// The file whose lock those take who want the other.
pub(super) const TURN: &str = "tare.turn";
/// Since when objects were seen unnamed.
pub(super) const MARKS: &str = "tare-marks";
/// What a repair set aside.
pub(super) const QUARANTINE: &str = "tare-quarantine";

/// The folder of temporary files.
#[derive(Clone, Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// A path that no other writer takes.
    fn fresh(&self) -> PathBuf {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        WRITER.with_borrow_mut(|writer| {
            // Another process after a fork.
            if writer.pid != std::process::id() {
                *writer = Writer::this();
            }
            self.0.join(format!("{}-{next:x}", writer.name()))
        })
    }

    /// A new temporary file.
    pub(super) fn create(&self) -> Result<Temp> {
        let path = self.fresh();
        let made = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path);
        let file = match made {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // git keeps no empty folders.
                files::make_folder(&self.0)?;
                File::options()
                    .read(true)
                    .write(true)
                    .create_new(true)
                    .open(&path)
            }
            made => made,
        };
        let file = file.map_err(|error| fault("make a temporary file", &path, error))?;
        let pid = std::process::id();
        Ok(Temp {
            file,
            name: Name { path, pid },
        })
    }

    /// A new temporary folder.
    pub(super) fn create_folder(&self) -> Result<TempFolder> {
        let path = self.fresh();
        files::make_folder(&path)?;
        Ok(TempFolder(path))
    }

    /// The time of the store's file system.
    pub(super) fn clock(&self) -> Result<std::time::SystemTime> {
        let temp = self.create()?;
        let path = temp.path();
        let time = temp.file.metadata().and_then(|found| found.modified());
        time.map_err(|error| fault("ask for the time", path, error))
    }

    /// Files whose writers are gone.
    pub(super) fn leftovers(&self, now: std::time::SystemTime) -> Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if files::is_absent(&error) => return Ok(Vec::new()),
            Err(error) => return Err(fault("list temporary files", &self.0, error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| fault("list temporary files", &self.0, error))?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !KEPT.contains(name)) else {
                continue;
            };
            let Ok(seen) = entry.metadata() else {
                continue;
            };
            let ours = parse_writer(name);
            if !seen.is_file() && (ours.is_none() || !seen.is_dir()) {
                continue;
            }
            let age = seen.modified().ok();
            let age = age.and_then(|time| now.duration_since(time).ok());
            let old = age.is_some_and(|age| age > OTHERS);
            let gone = ours.and_then(|writer| writer.is_gone());
            if gone.unwrap_or(old) {
                found.push(entry.path());
            }
        }
        Ok(found)
    }

    /// Deletes files whose writers are gone; how many.
    pub(super) fn sweep(&self) -> Result<u64> {
        if !files::exists(&self.0)? {
            return Ok(0);
        }
        let mut swept = 0_u64;
        for path in self.leftovers(self.clock()?)? {
            swept = swept.saturating_add(u64::from(discard(&path)));
        }
        Ok(swept)
    }
}

/// Deletes a temporary file or folder; whether it did.
pub(super) fn discard(path: &Path) -> bool {
    fs::remove_file(path).is_ok() || fs::remove_dir_all(path).is_ok()
}

/// A temporary file, deleted when it is dropped.
pub(super) struct Temp {
    pub(super) file: File,
    name: Name,
}

/// The name of a temporary file that the process of this number deletes.
struct Name {
    path: PathBuf,
    pid: u32,
}

impl Drop for Name {
    fn drop(&mut self) {
        // A child that was forked away from the writer must leave the writer's file alone.
        if self.pid == std::process::id() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Temp {
    pub(super) fn path(&self) -> &Path {
        &self.name.path
    }

    /// Writes all of the file.
    pub(super) fn fill(&self, bytes: &[u8], sync: bool) -> Result<()> {
        let written = (&self.file).write_all(bytes);
        written.map_err(|error| fault("write a temporary file", self.path(), error))?;
        if sync {
            self.sync()?;
        }
        Ok(())
    }

    pub(super) fn sync(&self) -> Result<()> {
        let synced = self.file.sync_data();
        synced.map_err(|error| fault("sync a temporary file", self.path(), error))
    }

    /// Ends the writing; the name alone is kept, since a batch may have more files than may be open.
    pub(super) fn closed(self) -> Whole {
        Whole(self.name)
    }

    /// Gives the file another name unless somebody has it.
    pub(super) fn link(self, to: &Path) -> Result<()> {
        match fs::hard_link(self.path(), to) {
            // Not every file system has links.
            Err(_) if !files::exists(to)? => self.closed().rename(to),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// A temporary file that is written, deleted when it is dropped.
pub(super) struct Whole(Name);

impl Whole {
    /// Puts it in its place, whatever lies there.
    pub(super) fn rename(self, to: &Path) -> Result<()> {
        let renamed = fs::rename(&self.0.path, to);
        renamed.map_err(|error| fault("put a file in its place", to, error))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }
}

/// A temporary folder, deleted when it is dropped.
pub(super) struct TempFolder(PathBuf);

impl TempFolder {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

thread_local! {
    static WRITER: RefCell<Writer> = RefCell::new(Writer::this());
}

/// Who writes a temporary file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Writer {
    /// The machine since it was started, and the numbers of processes that it counts.
    machine: String,
    pid: u32,
    /// When the process began, in the machine's own ticks; 0 if that is not known.
    start: u64,
    random: String,
}

impl Writer {
    fn this() -> Self {
        let pid = std::process::id();
        let mut random = [0; 4];
        // Names stay different without it: by process and number.
        let _ = getrandom::fill(&mut random);
        Self {
            machine: machine(),
            pid,
            start: started(pid).unwrap_or(0),
            random: format!("{:08x}", u32::from_le_bytes(random)),
        }
    }

    fn name(&self) -> String {
        let Self {
            machine,
            pid,
            start,
            random,
        } = self;
        format!("{PREFIX}{machine}-{pid}-{start}-{random}")
    }

    /// Whether the process is gone; None if it cannot be known here.
    fn is_gone(&self) -> Option<bool> {
        if self.machine != machine() || self.start == 0 {
            return None;
        }
        Some(started(self.pid) != Some(self.start))
    }
}

/// The writer that the name of a temporary file tells; None for files of others.
pub(super) fn parse_writer(name: &str) -> Option<Writer> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    let machine = parts.next().filter(|part| part.len() == 16)?.to_string();
    let pid = parts.next()?.parse().ok()?;
    let start = parts.next()?.parse().ok()?;
    let random = parts.next()?.to_string();
    let number = u64::from_str_radix(parts.next()?, 16);
    (number.is_ok() && parts.next().is_none()).then_some(Writer {
        machine,
        pid,
        start,
        random,
    })
}

/// 16 digits of the host, its last start and its count of processes.
fn machine() -> String {
    let read = |path: &str| fs::read(path).unwrap_or_default();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&read("/proc/sys/kernel/hostname"));
    hasher.update(&read("/proc/sys/kernel/random/boot_id"));
    if let Ok(space) = fs::read_link("/proc/self/ns/pid") {
        hasher.update(space.as_os_str().as_encoded_bytes());
    }
    let hex = hasher.finalize().to_hex();
    hex.as_str().chars().take(16).collect()
}

/// When a process began; None if there is none, or if this is not told here.
fn started(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let (_, fields) = text.rsplit_once(") ")?;
    fields.split(' ').nth(19)?.parse().ok()
}

/// The error for a place of another driver.
pub(super) fn foreign() -> Error {
    let text = "a staged object of another driver";
    Error::new(ErrorKind::Usage, text).with_format(super::NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_who_writes() {
        let here = Writer::this();
        let name = format!("{}-1f", here.name());
        assert_eq!(Some(here.clone()), parse_writer(&name));
        for bad in [
            "",
            "tare-",
            "tare.lock",
            "tare-marks",
            "filef3c5",
            "tare-x-1-2-3-4",
        ] {
            assert_eq!(None, parse_writer(bad), "{bad}");
        }
        assert_eq!(None, parse_writer(&format!("{name}-1")));
        if cfg!(target_os = "linux") {
            assert_eq!(Some(false), here.is_gone());
            let restarted = Writer {
                start: here.start + 1,
                ..here.clone()
            };
            assert_eq!(Some(true), restarted.is_gone());
            let elsewhere = Writer {
                machine: "0".repeat(16),
                ..here
            };
            assert_eq!(None, elsewhere.is_gone());
        }
    }
}
