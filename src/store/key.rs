//! Keys: text in a namespace, and which of them every store takes.

use std::fmt;

use crate::{Error, ErrorKind, Result};

/// The namespace that is meant where none is named.
pub const DEFAULT_NAMESPACE: &str = "objects";

/// Most UTF-8 bytes of a key, and of a namespace.
pub const MAX_KEY_BYTES: usize = 1024;

/// A key in a namespace. Both are compared byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key<'a> {
    /// The namespace.
    pub namespace: &'a str,
    /// The key in it.
    pub key: &'a str,
}

impl<'a> Key<'a> {
    /// A key in a namespace.
    #[must_use]
    pub fn new(namespace: &'a str, key: &'a str) -> Self {
        Self { namespace, key }
    }
}

/// A key in [`DEFAULT_NAMESPACE`].
impl<'a> From<&'a str> for Key<'a> {
    fn from(key: &'a str) -> Self {
        Self::new(DEFAULT_NAMESPACE, key)
    }
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in the namespace {:?}", self.key, self.namespace)
    }
}

/// Refuses what no store takes: an empty text, one of over [`MAX_KEY_BYTES`], or one with NUL.
///
/// # Errors
/// `KeyInvalid`, with what is wrong.
///
/// # Example
/// ```
/// use tare::store::{check_key, Key};
///
/// assert!(check_key(Key::from("flights/2013/.tmp \u{1f6eb}")).is_ok());
/// assert!(check_key(Key::from("")).is_err());
/// ```
pub fn check_key(key: Key<'_>) -> Result<()> {
    check_text("key", key.key)?;
    check_text("namespace", key.namespace)
}

fn check_text(what: &'static str, text: &str) -> Result<()> {
    let problem = if text.is_empty() {
        "is empty".to_string()
    } else if text.len() > MAX_KEY_BYTES {
        format!("has {} bytes of at most {MAX_KEY_BYTES}", text.len())
    } else if text.contains('\0') {
        "holds a NUL character".to_string()
    } else {
        return Ok(());
    };
    let shown: String = text.chars().take(40).collect();
    let text = format!("the {what} {shown:?} {problem}");
    Err(Error::new(ErrorKind::KeyInvalid, text).with_detail("key", shown))
}
