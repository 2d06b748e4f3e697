//! What the tests of compressors share: data, slow streams, stock tools, the shared folder.

#![allow(
    dead_code,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses some of it, and a test stops at once"
)]

pub mod folder;
#[cfg(any(
    feature = "store-object",
    feature = "store-postgres",
    feature = "store-redis"
))]
pub mod proxy;
pub mod rds_files;
#[cfg(any(
    feature = "store-object",
    feature = "store-postgres",
    feature = "store-redis"
))]
pub mod servers;
pub mod soak;
pub mod zip;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Numbers that look random and are the same each time (xorshift64).
pub fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(step).take(size).collect()
}

/// Lines of a table.
pub fn text(size: usize) -> Vec<u8> {
    let mut data = Vec::with_capacity(size + 40);
    for pair in noise(77, size / 5 + 4).chunks_exact(2) {
        writeln!(data, "{},JFK,{},UA", pair[0], pair[1] % 7).unwrap();
        if data.len() >= size {
            break;
        }
    }
    data.truncate(size);
    assert_eq!(size, data.len());
    data
}

/// Text, runs and noise: what the formats store in their different ways.
pub fn sample() -> Vec<u8> {
    let mut data = b"station,carrier,distance\n".repeat(40);
    data.extend(vec![0; 3000]);
    data.extend(noise(7, 1500));
    data.extend(b"JFK,UA,1089.5\n".repeat(60));
    data
}

/// Gives what a slice holds in pieces of at most `piece` bytes.
pub struct Drip<'a> {
    data: &'a [u8],
    piece: usize,
}

impl<'a> Drip<'a> {
    pub fn new(data: &'a [u8], piece: usize) -> Self {
        Self { data, piece }
    }
}

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.piece.min(into.len());
        self.data.read(&mut into[..size])
    }
}

/// Prints why a part of a test is left out; under `TARE_REQUIRE_ALL=1` that fails it.
pub fn skip(reason: &str) {
    let all = std::env::var("TARE_REQUIRE_ALL").is_ok_and(|all| all == "1");
    assert!(!all, "TARE_REQUIRE_ALL=1, but {reason}");
    unavailable(reason);
}

/// Prints the same where nothing that can be installed would help.
///
/// The test harness keeps what macros print of a test that passes; this goes to standard error itself.
pub fn unavailable(reason: &str) {
    let thread = std::thread::current();
    let line = format!("skipped: {}: {reason}\n", thread.name().unwrap_or("test"));
    let _ = io::stderr().write_all(line.as_bytes());
}

/// A path below the shared folder: `TARE_SHARED`, else beside the repository.
pub fn shared(path: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folder = std::env::var_os("TARE_SHARED").map_or_else(beside, PathBuf::from);
    let found = folder.join(path);
    if found.exists() {
        return Some(found);
    }
    let reason = format!("there is no {}", found.display());
    if std::env::var_os("TARE_SHARED").is_some() || folder.is_dir() {
        skip(&reason);
    } else {
        // The shared data is not part of the repository: a lone clone goes without.
        unavailable(&reason);
    }
    None
}

/// What a stock tool writes for `input`; None if it is not installed. It must succeed.
pub fn tool(name: &str, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let child = Command::new(name)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            skip(&format!("{name} is not installed"));
            return None;
        }
        Err(error) => panic!("{name}: {error}"),
    };
    let mut sink = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || sink.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{name} {arguments:?} failed");
    Some(output.stdout)
}
