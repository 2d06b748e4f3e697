//! Writes the commit the extension was built from into `TARE_COMMIT`, or `unknown`.
//!
//! A source distribution has no repository, and may lie inside somebody else's: the commit is
//! taken only if the repository's top folder is the workspace's own.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let commit = workspace().and_then(|root| {
        let logs = root.join(".git/logs/HEAD");
        if logs.exists() {
            println!("cargo:rerun-if-changed={}", logs.display());
        }
        commit_of(&root)
    });
    let commit = commit.unwrap_or_else(|| "unknown".to_string());
    println!("cargo:rustc-env=TARE_COMMIT={commit}");
}

fn workspace() -> Option<PathBuf> {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")?;
    let root = Path::new(&here).parent()?.parent()?;
    root.canonicalize().ok()
}

fn commit_of(root: &Path) -> Option<String> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root {
        return None;
    }
    git(root, &["rev-parse", "--short", "HEAD"])
}

fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !text.is_empty()).then_some(text)
}
