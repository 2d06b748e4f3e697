//! From a URL to a driver.

use std::path::Path;

use crate::{Error, ErrorKind, Result};

use super::drivers::memory;
use super::drivers::storr::{self, StorrOptions};
use super::drivers::storr_dbi::{self, StorrDbiOptions};
use super::{servers, Algorithm, Driver, OpenOptions, Store};

impl Store {
    /// Opens the store that a URL names, or makes it.
    ///
    /// | URL | driver |
    /// |---|---|
    /// | `memory:`, `memory:NAME` | memory; a name is shared within the process |
    /// | `path` | a folder; an existing one opens with the driver that wrote it |
    /// | `storr:path`, `storr-dbi:path` | R's storr |
    /// | `s3://bucket/prefix`, `gs://`, `az://` | an object store; options behind `?` |
    /// | `redis://host:port/db?prefix=P` | Redis |
    /// | `postgres://user@host:port/db?schema=S` | `PostgreSQL` |
    ///
    /// # Errors
    /// `Usage` for a URL that is none, `Unsupported` for a driver that was not built in, `NotFound` if there
    /// is no store and none is to be made, `ConfigMismatch`, `StoreVersion`, `Io`.
    pub fn open(url: &str, options: &OpenOptions) -> Result<Self> {
        let driver = driver(url, options)?;
        Ok(Self::new(driver, options.clone()))
    }
}

fn driver(url: &str, options: &OpenOptions) -> Result<Box<dyn Driver>> {
    let (scheme, rest) = scheme_of(url);
    match scheme {
        "memory" => {
            refuse_options("memory", options, &[])?;
            Ok(Box::new(memory::open(rest)))
        }
        "storr-dbi" => {
            refuse_options("storr-dbi", options, &["tbl_data", "tbl_keys"])?;
            Ok(Box::new(storr_dbi::open(rest, &dbi_options(options))?))
        }
        "storr" => Ok(Box::new(storr::open(rest, &storr_options(options)?)?)),
        "" | "folder" | "file" => {
            if is_storr(Path::new(rest)) {
                return Ok(Box::new(storr::open(rest, &storr_options(options)?)?));
            }
            folder(rest, options)
        }
        _ => servers::driver(scheme, url, options).unwrap_or_else(|| {
            let text = format!("no driver {scheme:?}");
            Err(Error::new(ErrorKind::Usage, text))
        }),
    }
}

/// Whether a folder is one of R's storr: it has `config` and `keys`, and no marker of ours.
fn is_storr(path: &Path) -> bool {
    let is_folder = |name: &str| path.join(name).is_dir();
    is_folder("config") && is_folder("keys") && !path.join("tare-store.json").exists()
}

fn storr_options(options: &OpenOptions) -> Result<StorrOptions> {
    const KNOWN: [&str; 5] = [
        "compress",
        "mangle_key",
        "mangle_key_pad",
        "hash_algorithm",
        "allow_dot_keys",
    ];
    refuse_options("storr", options, &KNOWN)?;
    let mut storr = StorrOptions {
        read_only: options.read_only,
        create: options.create,
        ..StorrOptions::default()
    };
    for (name, value) in &options.driver {
        match name.as_str() {
            "compress" => storr.compress = Some(flag(name, value)?),
            "mangle_key" => storr.mangle_key = Some(flag(name, value)?),
            "mangle_key_pad" => storr.mangle_key_pad = Some(flag(name, value)?),
            "allow_dot_keys" => storr.allow_dot_keys = flag(name, value)?,
            _ => storr.hash_algorithm = Some(Algorithm::by_name(value)?),
        }
    }
    Ok(storr)
}

fn dbi_options(options: &OpenOptions) -> StorrDbiOptions {
    let mut tables = StorrDbiOptions::default();
    for (name, value) in &options.driver {
        match name.as_str() {
            "tbl_data" => tables.data.clone_from(value),
            _ => tables.keys.clone_from(value),
        }
    }
    tables
}

fn flag(name: &str, value: &str) -> Result<bool> {
    match value {
        "true" | "True" | "TRUE" | "1" => Ok(true),
        "false" | "False" | "FALSE" | "0" => Ok(false),
        _ => {
            let text = format!("{name}={value:?} is neither true nor false");
            Err(Error::new(ErrorKind::Usage, text))
        }
    }
}

#[cfg(unix)]
fn folder(path: &str, options: &OpenOptions) -> Result<Box<dyn Driver>> {
    use super::drivers::folder::{open, FolderOptions};
    refuse_options("folder", options, &["exclusive"])?;
    let mut folder = FolderOptions {
        read_only: options.read_only,
        create: options.create,
        ..FolderOptions::default()
    };
    for (name, value) in &options.driver {
        folder.exclusive = flag(name, value)?;
    }
    Ok(Box::new(open(path, &folder)?))
}

#[cfg(not(unix))]
fn folder(_path: &str, _options: &OpenOptions) -> Result<Box<dyn Driver>> {
    Err(missing("folder"))
}

#[cfg(not(unix))]
fn missing(feature: &str) -> Error {
    let text = format!("the driver {feature} is not built into this library");
    Error::new(ErrorKind::Unsupported, text)
}

/// What stands before the first colon, if it can be the name of a driver, and what follows; for paths nothing.
///
/// One letter is a drive of Windows and no driver.
fn scheme_of(url: &str) -> (&str, &str) {
    match url.split_once(':') {
        Some((scheme, rest))
            if scheme.len() > 1
                && scheme
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-')) =>
        {
            (scheme, rest)
        }
        _ => ("", url),
    }
}

/// Refuses options that a driver does not have.
fn refuse_options(driver: &str, options: &OpenOptions, known: &[&str]) -> Result<()> {
    for (name, _) in &options.driver {
        if !known.contains(&name.as_str()) {
            let has = if known.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has {}", known.join(", "))
            };
            let text = format!("the driver {driver} has no option {name:?}: {has}");
            return Err(Error::new(ErrorKind::Usage, text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_no_scheme() {
        assert_eq!(("", "cache"), scheme_of("cache"));
        assert_eq!(("", "/tmp/a:b"), scheme_of("/tmp/a:b"));
        assert_eq!(("", "C:\\cache"), scheme_of("C:\\cache"));
        assert_eq!(("storr", "a/b"), scheme_of("storr:a/b"));
        assert_eq!(("redis+unix", "///x"), scheme_of("redis+unix:///x"));
    }
}
