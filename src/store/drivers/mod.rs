//! The drivers, one a file.

pub mod memory;
pub mod storr;
