//! From a URL to a driver.

use std::path::Path;

use crate::{Error, ErrorKind, Result};

use super::drivers::memory;
use super::{Driver, OpenOptions, Store};

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
        "" | "folder" | "file" => {
            let _ = Path::new(rest);
            Err(missing("folder"))
        }
        _ => {
            let text = format!("no driver {scheme:?} for the store {url:?}");
            Err(Error::new(ErrorKind::Usage, text))
        }
    }
}

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
