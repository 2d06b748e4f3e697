//! The golden files of R: what the manifest of the shared folder lists, group by group.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses some of it, and a test stops at once"
)]

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::common::shared;

/// A file of the manifest.
pub struct Fixture {
    /// Its path below the folder of fixtures.
    pub name: String,
    /// What the manifest says of it.
    pub entry: Value,
    /// Its bytes.
    pub bytes: Vec<u8>,
    folder: PathBuf,
}

impl Fixture {
    /// What the manifest says under a key; empty if nothing.
    pub fn text(&self, key: &str) -> &str {
        self.entry[key].as_str().unwrap_or_default()
    }

    /// The tree of what it holds.
    pub fn expected(&self) -> Value {
        self.tree(self.text("expected"))
    }

    /// A tree by its path.
    pub fn tree(&self, path: &str) -> Value {
        let text = std::fs::read(self.folder.join(path)).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// Another file of the folder.
    pub fn other(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.folder.join(path)).unwrap()
    }
}

/// All files of a group; None if there is no shared folder.
pub fn group(group: &str) -> Option<Vec<Fixture>> {
    let folder = shared("fixtures")?;
    let manifest = std::fs::read(folder.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let files = manifest["files"].as_array().unwrap().iter();
    let files = files.filter(|entry| entry["group"] == group).map(|entry| {
        let name = entry["file"].as_str().unwrap().to_string();
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        assert_eq!(entry["bytes"].as_u64(), Some(bytes.len() as u64), "{name}");
        Fixture {
            name,
            entry: entry.clone(),
            bytes,
            folder: folder.clone(),
        }
    });
    Some(files.collect())
}

/// What was wrong, file by file, and how many were right.
#[derive(Default)]
pub struct Tally {
    /// Files without a fault.
    pub right: usize,
    faults: Vec<String>,
    sums: HashMap<&'static str, usize>,
}

impl Tally {
    /// Notes how one file went.
    pub fn note(&mut self, name: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.right += 1,
            Err(fault) => self.faults.push(format!("{name}: {fault}")),
        }
    }

    /// Adds to one of the sums.
    pub fn add(&mut self, what: &'static str, count: usize) {
        *self.sums.entry(what).or_default() += count;
    }

    /// One of the sums.
    pub fn sum(&self, what: &str) -> usize {
        self.sums.get(what).copied().unwrap_or_default()
    }

    /// Stops the test unless exactly `count` files were right and none was wrong.
    pub fn assert_all(&self, count: usize) {
        let wrong = self.faults.len();
        let shown: Vec<&str> = self.faults.iter().take(60).map(String::as_str).collect();
        assert!(
            wrong == 0,
            "{wrong} wrong, {} right:\n{}",
            self.right,
            shown.join("\n")
        );
        assert_eq!(count, self.right, "files compared");
    }
}

/// What an error says.
pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
