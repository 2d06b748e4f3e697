//! The drivers, one a file.
