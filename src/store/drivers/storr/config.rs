//! The settings of a store: one file each below `config`.

use std::io;
use std::path::Path;

use super::files::{self, fault};
use super::scratch::Scratch;
use super::StorrOptions;
use crate::store::Algorithm;
use crate::{Error, ErrorKind, Result};

/// The version of storr whose layout is written.
const VERSION: &str = "1.2.6";
/// Most bytes of a file of settings.
const SETTING_BYTES: u64 = 4096;

/// What a store was made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) version: String,
    pub(super) compress: bool,
    pub(super) mangle_key: bool,
    pub(super) mangle_key_pad: bool,
    pub(super) hash_algorithm: Algorithm,
}

/// The names of the files, in the order in which they are written.
pub(super) const NAMES: [&str; 5] = [
    "version",
    "compress",
    "mangle_key",
    "mangle_key_pad",
    "hash_algorithm",
];

impl Config {
    /// The settings of a new store.
    fn new(options: &StorrOptions) -> Self {
        Self {
            version: VERSION.to_string(),
            compress: options.compress.unwrap_or(true),
            mangle_key: options.mangle_key.unwrap_or(false),
            mangle_key_pad: options.mangle_key_pad.unwrap_or(false),
            hash_algorithm: options.hash_algorithm.unwrap_or(Algorithm::Md5),
        }
    }

    /// The value of each of [`NAMES`].
    fn texts(&self) -> [String; 5] {
        let flag = |set: bool| if set { "TRUE" } else { "FALSE" }.to_string();
        [
            self.version.clone(),
            flag(self.compress),
            flag(self.mangle_key),
            flag(self.mangle_key_pad),
            self.hash_algorithm.name().to_string(),
        ]
    }

    /// Reads the settings of an existing store, and compares them with what was asked for.
    ///
    /// A folder without a version is one of storr 1.0.1, which padded mangled keys.
    pub(super) fn read(folder: &Path, options: &StorrOptions) -> Result<Self> {
        let version = setting(folder, "version")?;
        let legacy = version.is_none();
        let flag = |name: &'static str| -> Result<Option<bool>> {
            let Some(text) = setting(folder, name)? else {
                return Ok(None);
            };
            let found = parse_flag(&text);
            let bad = || malformed(folder, name, &text, "TRUE or FALSE");
            found.map(Some).ok_or_else(bad)
        };
        let hash_algorithm = match setting(folder, "hash_algorithm")? {
            Some(name) => Some(Algorithm::by_name(&name).map_err(|error| {
                let path = folder.join("hash_algorithm");
                error.with_format(super::NAME).with_path(path)
            })?),
            None => None,
        };
        let pad = flag("mangle_key_pad")?.or(legacy.then_some(true));
        let algorithm = hash_algorithm.or(legacy.then_some(Algorithm::Md5));
        Ok(Self {
            version: version.unwrap_or_else(|| "1.0.1".to_string()),
            // It says what R writes next, not what lies there: anything may be asked for.
            compress: match options.compress {
                Some(compress) => compress,
                None => flag("compress")?.unwrap_or(true),
            },
            mangle_key: agreed("mangle_key", flag("mangle_key")?, options.mangle_key)?,
            mangle_key_pad: agreed("mangle_key_pad", pad, options.mangle_key_pad)?,
            hash_algorithm: match (algorithm, options.hash_algorithm) {
                (Some(found), Some(asked)) if found != asked => {
                    return Err(mismatch("hash_algorithm", found.name(), asked.name()));
                }
                (found, asked) => found.or(asked).unwrap_or(Algorithm::Md5),
            },
        })
    }

    /// Writes the files that are missing; none is ever written again.
    pub(super) fn complete(&self, folder: &Path, scratch: &Scratch) -> Result<()> {
        for (name, text) in NAMES.into_iter().zip(self.texts()) {
            let path = folder.join(name);
            if files::exists(&path)? {
                continue;
            }
            let temp = scratch.create()?;
            temp.fill(format!("{text}\n").as_bytes(), true)?;
            temp.link(&path)?;
        }
        files::sync_folder(folder)
    }
}

/// Makes the settings of a new store, all at once: another process sees all of them or none.
pub(super) fn create(root: &Path, options: &StorrOptions, scratch: &Scratch) -> Result<()> {
    let made = scratch.create_folder()?;
    for (name, text) in NAMES.into_iter().zip(Config::new(options).texts()) {
        let path = made.path().join(name);
        files::write_new(&path, format!("{text}\n").as_bytes(), true)?;
    }
    files::sync_folder(made.path())?;
    let folder = root.join("config");
    match std::fs::rename(made.path(), &folder) {
        Ok(()) => files::sync_folder(root),
        // Somebody else was quicker: what it wrote is compared afterwards.
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) => Err(fault("make the settings", &folder, error)),
    }
}

/// The value of a setting: the text of its file without the end of the line.
fn setting(folder: &Path, name: &'static str) -> Result<Option<String>> {
    let path = folder.join(name);
    let Some(bytes) = files::read_short(&path, SETTING_BYTES)? else {
        return Ok(None);
    };
    let shown = || {
        bytes
            .escape_ascii()
            .take(60)
            .map(char::from)
            .collect::<String>()
    };
    let text = parse_setting(&bytes);
    text.map(|text| Some(text.to_string()))
        .ok_or_else(|| malformed(folder, name, &shown(), "one word"))
}

/// The value that a file of settings holds; None for what is no one line of text.
///
/// # Example
/// ```
/// use tare::store::drivers::storr::parse_setting;
///
/// assert_eq!(Some("md5"), parse_setting(b"md5\r\n"));
/// assert_eq!(None, parse_setting(b"md5\nsha1\n"));
/// ```
#[must_use]
pub fn parse_setting(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    let plain = !text.is_empty() && !text.contains(char::is_control);
    plain.then_some(text)
}

/// The words that R takes for a truth value.
fn parse_flag(text: &str) -> Option<bool> {
    match text {
        "TRUE" | "true" | "True" | "T" => Some(true),
        "FALSE" | "false" | "False" | "F" => Some(false),
        _ => None,
    }
}

fn agreed(name: &'static str, found: Option<bool>, asked: Option<bool>) -> Result<bool> {
    match (found, asked) {
        (Some(found), Some(asked)) if found != asked => {
            Err(mismatch(name, &found.to_string(), &asked.to_string()))
        }
        _ => Ok(found.or(asked).unwrap_or(false)),
    }
}

fn mismatch(name: &'static str, found: &str, asked: &str) -> Error {
    let text = format!("the store has {name} {found}, asked for was {asked}: leave the option out");
    Error::new(ErrorKind::ConfigMismatch, text)
        .with_format(super::NAME)
        .with_detail("option", name)
        .with_detail("found", found)
        .with_detail("asked", asked)
}

fn malformed(folder: &Path, name: &str, found: &str, expected: &str) -> Error {
    let text = format!("the setting {name} is {found:?}, expected {expected}");
    Error::new(ErrorKind::Malformed, text)
        .with_format(super::NAME)
        .with_path(folder.join(name))
}

/// Whether the folder of settings exists: then the store does.
pub(super) fn is_store(root: &Path) -> Result<bool> {
    match std::fs::metadata(root.join("config")) {
        Ok(found) => Ok(found.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(fault("look at the store", root, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_one_line_whatever_ends_it() {
        for text in ["TRUE", "TRUE\n", "TRUE\r\n", " TRUE \n\n"] {
            assert_eq!(Some("TRUE"), parse_setting(text.as_bytes()), "{text:?}");
        }
        for bad in [&b""[..], b"\n", b"\xff", b"a\nb", b"a\0"] {
            assert_eq!(None, parse_setting(bad), "{bad:?}");
        }
        assert_eq!(None, parse_flag("yes"));
    }
}
