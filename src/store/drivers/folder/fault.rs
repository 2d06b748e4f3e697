//! What went wrong, in the store's words.

use std::io;

use rusqlite::ffi::ErrorCode;

use super::filesystem::{is_full, Root};
use super::layout;
use crate::{Error, ErrorKind, Result};

/// The error of a file operation.
pub(super) fn io_fault(root: &Root, place: &str, what: &str, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            ErrorKind::NoSpace
        }
        io::ErrorKind::ReadOnlyFilesystem => ErrorKind::ReadOnly,
        _ => ErrorKind::Io,
    };
    let text = match kind {
        ErrorKind::NoSpace => format!("{what}: no space is left, nothing was changed ({error})"),
        _ => format!("{what}: {error}"),
    };
    Error::new(kind, text)
        .with_format("folder")
        .with_path(root.join(place))
        .with_source(error)
}

/// The error of the index.
pub(super) fn index_fault(root: &Root, error: rusqlite::Error) -> Error {
    let code = error.sqlite_error_code();
    let kind = match (&error, code) {
        (_, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) => ErrorKind::Busy,
        (_, Some(ErrorCode::DiskFull)) => ErrorKind::NoSpace,
        (_, Some(ErrorCode::ReadOnly)) => ErrorKind::ReadOnly,
        (
            _,
            Some(
                ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::ConstraintViolation
                | ErrorCode::Unknown,
            ),
        )
        // The index's own tables hold what they cannot.
        | (
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
            // What is asked never changes: tables that do not understand it are not what was made.
            | rusqlite::Error::SqlInputError { .. },
            _,
        ) => ErrorKind::Corrupt,
        (_, Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen)) if is_full(root) => {
            ErrorKind::NoSpace
        }
        _ => ErrorKind::Io,
    };
    let text = match kind {
        ErrorKind::Busy => {
            "another process has been writing for longer than was waited: try again, or look for one \
             that hangs"
                .to_string()
        }
        ErrorKind::NoSpace => "no space is left, nothing was changed".to_string(),
        ErrorKind::Corrupt => format!(
            "the index is damaged ({error}): `tare store check` names what is hurt; restore \
             {} from a copy if repair cannot",
            layout::INDEX
        ),
        _ => format!("the index: {error}"),
    };
    Error::new(kind, text)
        .with_format("folder")
        .with_path(root.join(layout::INDEX))
        .with_source(error)
}

/// Names the store's folder in what `SQLite` and the system say.
pub(super) trait InIndex<T> {
    fn in_index(self, root: &Root) -> Result<T>;
}

impl<T> InIndex<T> for rusqlite::Result<T> {
    fn in_index(self, root: &Root) -> Result<T> {
        self.map_err(|error| index_fault(root, error))
    }
}

/// Records of the index that cannot be.
pub(super) fn damaged(root: &Root, what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, what)
        .with_format("folder")
        .with_path(root.join(layout::INDEX))
}
