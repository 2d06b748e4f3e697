//! The errors of this format.

use crate::{Error, ErrorKind};

/// The name of the format in errors.
pub(super) const FORMAT: &str = "fst";

pub(super) fn fault(kind: ErrorKind, text: impl Into<String>, at: u64) -> Error {
    Error::new(kind, text).with_format(FORMAT).with_offset(at)
}

/// No further bytes can make it valid.
pub(super) fn malformed(text: impl Into<String>, at: u64) -> Error {
    fault(ErrorKind::Malformed, text, at)
}

/// The file ends before what is said to be there; the offset is where it ends.
pub(super) fn truncated(what: &str, needed: u64, size: u64) -> Error {
    let text = format!("{what} ends at byte {needed}, but the file has {size} bytes");
    fault(ErrorKind::Truncated, text, size)
}

/// More memory than may be taken.
pub(super) fn too_much(text: impl Into<String>, at: u64) -> Error {
    fault(ErrorKind::Limit, text, at)
}
