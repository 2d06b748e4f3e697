//! R's files in the shared folder.

use std::fs;
use std::path::{Path, PathBuf};

/// Every file below a folder with one of these endings.
pub fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, endings));
        } else if endings
            .iter()
            .any(|ending| path.to_str().unwrap().ends_with(ending))
        {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Every fixture of one object that R wrote, by name.
pub fn fixtures(folder: &Path) -> Vec<(String, PathBuf)> {
    let named = files(folder, &[".rds"]).into_iter().map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, path)
    });
    named
        .filter(|(name, _)| !name.starts_with("BAD_"))
        .collect()
}

/// Where two differ first.
pub fn difference(expected: &[u8], got: &[u8]) -> Option<String> {
    let at = expected
        .iter()
        .zip(got)
        .position(|(one, other)| one != other);
    let at = at.or_else(|| (expected.len() != got.len()).then(|| expected.len().min(got.len())))?;
    let near = |all: &[u8]| {
        let near = &all[at.saturating_sub(8)..all.len().min(at + 24)];
        near.escape_ascii().to_string()
    };
    Some(format!(
        "differs at {at}: {} became {}",
        near(expected),
        near(got)
    ))
}
