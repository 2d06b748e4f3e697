//! The one error type of the crate: what was wrong, in which format, at which byte.

use std::fmt;
use std::path::{Path, PathBuf};

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of thing went wrong, for callers that act on it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The operating system refused a read or a write; see `source()`.
    Io,
    /// The input ends too early: more bytes could make it valid.
    Truncated,
    /// No further bytes can make the input valid.
    Malformed,
    /// Well formed, but a checksum says that it was damaged.
    ChecksumMismatch,
    /// Valid, but not something this crate reads or writes.
    Unsupported,
    /// A limit was reached; the text names it and the value needed, where known.
    Limit,
    /// A named thing does not exist.
    NotFound,
    /// An argument that cannot be served.
    Usage,
    /// A value that other bytes cannot replace in place; it can be changed by encoding anew.
    NotPatchable,
    /// A store has no such key.
    KeyNotFound,
    /// A store's key names an object that does not exist.
    ObjectNotFound,
    /// A store's object is not what its hash says. Never reported as not found.
    Corrupt,
    /// An option against what an existing store was made with.
    ConfigMismatch,
    /// Somebody else holds a lock for longer than was waited.
    Busy,
    /// The disk, a quota or a server's memory is full; nothing was changed.
    NoSpace,
    /// A key that the store, or its driver, cannot hold.
    KeyInvalid,
    /// Other bytes have the same hash.
    Collision,
    /// A key is not what the change expected.
    Conflict,
    /// Writing to what was opened for reading.
    ReadOnly,
    /// A store of a newer version, or with features that are not known.
    StoreVersion,
    /// The caller asked to stop.
    Cancelled,
    /// A fault of this crate.
    Internal,
}

/// An error: its kind, the format at work, and the byte offset in the encoded input.
///
/// Displays as `format: what was found, what was expected, at byte N`.
///
/// # Example
/// ```
/// use tare::compress::{decompress, ReadOptions};
/// use tare::ErrorKind;
///
/// let error = decompress(b"\x1f\x8b\x08", &ReadOptions::default()).unwrap_err();
/// assert_eq!(ErrorKind::Truncated, error.kind());
/// assert!(error.is_truncated());
/// assert_eq!((Some("gzip"), Some(3)), (error.format(), error.offset()));
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    format: Option<&'static str>,
    offset: Option<u64>,
    path: Option<PathBuf>,
    details: Vec<(&'static str, String)>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Makes an error of a kind with a message that says what to do.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            format: None,
            offset: None,
            path: None,
            details: Vec::new(),
            source: None,
        }))
    }

    /// Names the format or compressor that was at work.
    #[must_use]
    pub fn with_format(mut self, format: &'static str) -> Self {
        self.0.format = Some(format);
        self
    }

    /// Sets the byte offset in the encoded input.
    #[must_use]
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.0.offset = Some(offset);
        self
    }

    /// Says where in a longer whole the error lies: in front of what was found, and behind it.
    #[must_use]
    pub(crate) fn within(mut self, before: &str, behind: &str) -> Self {
        self.0.message = format!("{before}{}{behind}", self.0.message);
        self
    }

    /// Names the file.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.path = Some(path.into());
        self
    }

    /// Keeps a fact that callers act on beside the text, as `key` or `hash`.
    #[must_use]
    pub fn with_detail(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.details.push((name, value.into()));
        self
    }

    /// Keeps the error below this one.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The kind, for callers that act on it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The format or compressor at work, if one was.
    #[must_use]
    pub fn format(&self) -> Option<&'static str> {
        self.0.format
    }

    /// The byte offset in the encoded input, if known.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The file, if known.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The facts beside the text, in the order they were kept.
    #[must_use]
    pub fn details(&self) -> &[(&'static str, String)] {
        &self.0.details
    }

    /// One of the [`details`](Self::details).
    #[must_use]
    pub fn detail(&self, name: &str) -> Option<&str> {
        let mut found = self.0.details.iter().filter(|(known, _)| *known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// Gives the error below this one away.
    #[must_use]
    pub fn into_source(self) -> Option<Box<dyn std::error::Error + Send + Sync>> {
        self.0.source
    }

    /// Whether more bytes could have made the input valid: what a connection asks.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.0.kind == ErrorKind::Truncated
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.0.path {
            write!(f, "{}: ", path.display())?;
        }
        if let Some(format) = self.0.format {
            write!(f, "{format}: ")?;
        }
        f.write_str(&self.0.message)?;
        if let Some(offset) = self.0.offset {
            write!(f, ", at byte {offset}")?;
        }
        Ok(())
    }
}

/// For `Read` and `Write`: an error of the operating system keeps its kind, the others get one.
impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        use std::io::ErrorKind as Kind;
        let below = error.0.source.as_ref();
        let below = below.and_then(|source| source.downcast_ref::<std::io::Error>());
        let kind = match (error.kind(), below) {
            (ErrorKind::Io, Some(below)) => below.kind(),
            (ErrorKind::Truncated, _) => Kind::UnexpectedEof,
            (ErrorKind::Malformed | ErrorKind::ChecksumMismatch, _) => Kind::InvalidData,
            (ErrorKind::Usage, _) => Kind::InvalidInput,
            (ErrorKind::Unsupported, _) => Kind::Unsupported,
            _ => Kind::Other,
        };
        Self::new(kind, error)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.source {
            Some(source) => Some(source.as_ref()),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_path_format_message_and_offset_in_this_order() {
        let error = Error::new(ErrorKind::Malformed, "found 00, expected 28 B5 2F FD")
            .with_format("zstd")
            .with_offset(7)
            .with_path("a.zst");
        assert_eq!(
            "a.zst: zstd: found 00, expected 28 B5 2F FD, at byte 7",
            error.to_string()
        );
        assert_eq!(Some(Path::new("a.zst")), error.path());
        assert!(!error.is_truncated());
    }

    #[test]
    fn keeps_the_error_below_it() {
        let below = std::io::Error::other("disk on fire");
        let error = Error::new(ErrorKind::Io, "cannot read").with_source(below);
        let source = std::error::Error::source(&error).map(ToString::to_string);
        assert_eq!(Some("disk on fire".to_string()), source);
    }
}
