//! Conformance kits: what every part of a kind must do, to be run over parts of one's own.
//!
//! # Example
//! ```
//! use tare::store::drivers::memory;
//! use tare::testing::driver_conformance;
//!
//! driver_conformance(&|| Ok(Box::new(memory::open("kit"))))?;
//! # Ok::<(), tare::Error>(())
//! ```

mod driver;
mod driver_keys;
mod driver_races;
mod model;

pub use driver::driver_conformance;

use std::fmt::Debug;

use crate::{Error, ErrorKind, Result};

/// An error that says what a part did otherwise than its contract asks.
fn broken(text: String) -> Error {
    Error::new(ErrorKind::Internal, text).with_format("conformance")
}

/// Nothing, or an error that names both sides.
fn same<T: PartialEq + Debug>(what: &str, expected: &T, got: &T) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    Err(broken(format!(
        "{what}: expected {expected:?}, got {got:?}"
    )))
}

/// Nothing, or an error that says what does not hold.
fn holds(what: &str, condition: bool) -> Result<()> {
    if condition {
        return Ok(());
    }
    Err(broken(format!("{what}: does not hold")))
}

/// Nothing if a call was refused with this kind of error.
fn refused<T>(what: &str, kind: ErrorKind, result: Result<T>) -> Result<()> {
    match result {
        Ok(_) => Err(broken(format!(
            "{what}: expected {kind:?}, but it went well"
        ))),
        Err(error) if error.kind() == kind => Ok(()),
        Err(error) => Err(broken(format!(
            "{what}: expected {kind:?}, got {:?}: {error}",
            error.kind()
        ))),
    }
}

/// The same numbers each run: xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or_default() % end.max(1)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len)
            .map(|_| u8::try_from(self.next() >> 56).unwrap_or_default())
            .collect()
    }
}
