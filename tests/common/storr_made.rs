//! Stores made by the tests of the driver storr, and what is asked of them.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses some of it, and a test stops at once"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tare::robject::{Body, Builder};
use tare::store::drivers::storr::{open, StorrDriver, StorrOptions};
use tare::store::{
    CheckLevel, Durability, FindingKind, GcOptions, Key, OpenOptions, SetOptions, Source, Store,
};
use tare::Result;

use super::{common, storr};

/// The bytes of a vector of doubles.
pub fn doubles(values: impl IntoIterator<Item = f64>) -> Vec<u8> {
    let mut build = Builder::new();
    let root = build
        .push(Body::Double(values.into_iter().collect()))
        .unwrap();
    storr::plain_of(&build.finish(root))
}

pub fn noise(seed: u64, count: usize) -> Vec<u8> {
    let bytes = common::noise(seed, count * 8);
    doubles(bytes.chunks_exact(8).map(|bytes| {
        let bits = u64::from_le_bytes(bytes.try_into().unwrap());
        f64::from_bits(bits >> 2)
    }))
}

pub fn made(path: &Path) -> StorrDriver {
    open(path, &StorrOptions::default()).unwrap()
}

pub fn store(path: &Path) -> Store {
    Store::new(Box::new(made(path)), OpenOptions::default())
}

pub fn put(store: &Store, key: &str, plain: &[u8]) -> Result<tare::store::Hash> {
    let options = SetOptions {
        durability: Some(Durability::None),
        ..SetOptions::default()
    };
    store.set(Key::from(key), "rds", Source::Bytes(&[plain]), &options)
}

pub fn now() -> GcOptions {
    GcOptions {
        grace: Duration::ZERO,
        dry_run: false,
    }
}

pub fn problems(store: &Store) -> Vec<(FindingKind, String)> {
    let report = store.check(CheckLevel::Full, &mut |_| true).unwrap();
    let mut found: Vec<_> = report
        .findings
        .into_iter()
        .map(|one| (one.kind, one.detail))
        .collect();
    found.sort_by_key(|(kind, _)| kind.name());
    found
}

/// Temporary files that are in the way.
pub fn litter(path: &Path) -> Vec<String> {
    let names = std::fs::read_dir(path.join("scratch")).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !["tare.lock", "tare.turn", "tare-marks"].contains(&&**name))
        .collect();
    names.sort();
    names
}

/// Runs a test of this file again as a child of its own.
pub fn child(name: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", name, "--nocapture"])
        .env("TARE_STORR_CHILD", path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub fn is_child() -> Option<PathBuf> {
    std::env::var_os("TARE_STORR_CHILD").map(PathBuf::from)
}
