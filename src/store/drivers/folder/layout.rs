//! Names below a store's folder.

use super::filesystem::{own_pid, runs};
use crate::compress::Kind;
use crate::store::Hash;

/// The marker, which says what the folder is.
pub(super) const MARKER: &str = "tare-store.json";
/// The index: keys, counts and small objects.
pub(super) const INDEX: &str = "index.sqlite";
/// The index's own companions.
pub(super) const INDEX_LOG: &str = "index.sqlite-wal";
pub(super) const INDEX_SHARED: &str = "index.sqlite-shm";
pub(super) const INDEX_JOURNAL: &str = "index.sqlite-journal";
/// Objects that have files.
pub(super) const OBJECTS: &str = "objects";
/// Files that are being written, or deleted.
pub(super) const STAGING: &str = "staging";
/// What a repair set aside.
pub(super) const QUARANTINE: &str = "quarantine";

/// Everything that a store may have at its top.
pub(super) const OURS: &[&str] = &[
    MARKER,
    INDEX,
    INDEX_LOG,
    INDEX_SHARED,
    INDEX_JOURNAL,
    OBJECTS,
    STAGING,
    QUARANTINE,
];

/// The ending of an object's file: its codec, and its container if it has one.
pub(super) fn ending(codec: &str, compressor: Kind) -> String {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let codec = codec.split(':').next().unwrap_or_default();
    let fits = (1..=16).contains(&codec.len()) && codec.bytes().all(plain);
    let codec = if fits { codec } else { "bin" };
    format!("{codec}{}", compressor.extension())
}

/// Whether a text can be the ending of an object's file.
pub(super) fn is_ending(text: &str) -> bool {
    let part = |part: &str| {
        (1..=16).contains(&part.len())
            && part
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    text.split('.').count() <= 2 && text.split('.').all(part)
}

/// The folder of an object's file.
pub(super) fn object_folder(hash: &Hash) -> String {
    let hex = hash.hex();
    format!("{OBJECTS}/{}", hex.get(..2).unwrap_or_default())
}

/// The file of an object.
pub(super) fn object(hash: &Hash, ending: &str) -> String {
    let hex = hash.hex();
    let (first, rest) = hex.split_at_checked(2).unwrap_or_default();
    format!("{OBJECTS}/{first}/{rest}.{ending}")
}

/// The object whose file has this name in this folder, and its ending.
pub(super) fn parse_object(folder: &str, name: &str) -> Option<(Hash, String)> {
    let (rest, ending) = name.split_once('.')?;
    let hash = Hash::parse(&format!("{folder}{rest}"))?;
    let whole = folder.len() == 2 && hash.as_bytes().len() == 32 && is_ending(ending);
    whole.then(|| (hash, ending.to_string()))
}

/// Where a collection puts the file of an object until its deletion is sure.
pub(super) fn condemned(hash: &Hash, ending: &str) -> String {
    format!("{STAGING}/gc-{hash}.{ending}")
}

/// The object of such a file.
pub(super) fn parse_condemned(name: &str) -> Option<(Hash, String)> {
    let hex = name.strip_prefix("gc-")?;
    parse_object(hex.get(..2)?, hex.get(2..)?)
}

/// A new name in the staging folder, which says whose it is: host, boot, process, its start, what for.
pub(super) fn staged(what: &str) -> String {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let mut random = [0_u8; 8];
    // Without randomness two names of one process still differ by the counter.
    let _ = getrandom::fill(&mut random);
    let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let random = Hash::new(&random)
        .map(|name| name.hex())
        .unwrap_or_default();
    let pid = own_pid();
    let start = start_of(pid).unwrap_or_default();
    let (host, boot) = machine();
    format!("{STAGING}/{host}-{boot}-{pid}-{start}-{random}{next:x}.{what}")
}

/// Whose a name in the staging folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A process that runs.
    Alive,
    /// One that is gone.
    Gone,
    /// One of another machine, of which nothing is known.
    Elsewhere,
    /// Nobody's that we know.
    Foreign,
}

pub(super) fn owner(name: &str) -> Owner {
    let Some((name, what)) = name.rsplit_once('.') else {
        return Owner::Foreign;
    };
    let mut parts = name.rsplitn(5, '-');
    let mut next = || parts.next();
    let (Some(random), Some(start), Some(pid), Some(boot), Some(host)) =
        (next(), next(), next(), next(), next())
    else {
        return Owner::Foreign;
    };
    let (Ok(start), Ok(pid)) = (start.parse::<u64>(), pid.parse::<u32>()) else {
        return Owner::Foreign;
    };
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hex(random) || !hex(boot) || what.is_empty() {
        return Owner::Foreign;
    }
    let (own_host, own_boot) = machine();
    if host != own_host {
        return Owner::Elsewhere;
    }
    let alive = boot == own_boot
        && match start_of(pid) {
            Some(now) => now == start,
            None => start == 0 && runs(pid),
        };
    if alive {
        Owner::Alive
    } else {
        Owner::Gone
    }
}

/// The machine's name with the number of the room in which process numbers count, and its boot.
fn machine() -> (&'static str, &'static str) {
    static MACHINE: std::sync::OnceLock<(String, String)> = std::sync::OnceLock::new();
    let (host, boot) = MACHINE.get_or_init(|| {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let keep = |text: &str, most: usize| -> String {
            let kept = text.chars().filter(char::is_ascii_alphanumeric);
            kept.take(most).collect()
        };
        let host = keep(&read("/proc/sys/kernel/hostname"), 24);
        let room = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let room = keep(&room.to_string_lossy(), 16);
        let boot = keep(&read("/proc/sys/kernel/random/boot_id"), 12);
        let boot = if boot.is_empty() { "0".into() } else { boot };
        (format!("{host}.{room}"), boot)
    });
    (host, boot)
}

/// When a process started, in the kernel's ticks: the 22nd field of its `stat`, see proc(5).
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses, which may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}
