//! The drivers, one a file.

pub mod memory;
