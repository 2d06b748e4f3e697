//! Names of objects as strings of Python, kept from one document to the next.
//!
//! Documents that are read one after the other mostly have the same names, and a string that is
//! there already has its hash already.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyString;

/// Names that are kept at a time: 16,384 of at most 64 bytes. With 4,096 places a fifth of 2,000 names
/// were in the way of each other, and hashed anew for each document.
const PLACES: usize = 1 << 14;
const LONGEST: usize = 64;

/// The name that was last met with each hash; nothing while somebody uses them.
///
/// Nobody has them locked while Python may run: code of others that reads a document itself would
/// wait for ever.
static KNOWN: Mutex<Vec<Option<Py<PyString>>>> = Mutex::new(Vec::new());

/// Calls `work` with a function that gives the string of a name; None if it is not UTF-8.
pub fn with_known<T>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut(&[u8]) -> Option<Py<PyAny>>) -> T,
) -> T {
    let mut known = std::mem::take(&mut *locked());
    if known.is_empty() {
        known.resize_with(PLACES, || None);
    }
    let done = work(&mut |name| {
        let place = if name.len() <= LONGEST {
            known.get_mut(place(name))
        } else {
            None
        };
        let Some(place) = place else {
            return super::made::text(py, name).map(Bound::unbind);
        };
        if let Some(there) = place {
            if is(py, there, name) {
                return Some(there.clone_ref(py).into_any());
            }
        }
        let made = super::made::text(py, name)?.cast_into::<PyString>().ok()?;
        *place = Some(made.clone().unbind());
        Some(made.into_any().unbind())
    });
    // What somebody else left meanwhile is let go when it is no more locked.
    let other = std::mem::replace(&mut *locked(), known);
    drop(other);
    done
}

fn locked() -> MutexGuard<'static, Vec<Option<Py<PyString>>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is(py: Python<'_>, there: &Py<PyString>, name: &[u8]) -> bool {
    let text = there.bind(py).to_str();
    text.is_ok_and(|text| text.as_bytes() == name)
}

/// Where a name is kept.
fn place(name: &[u8]) -> usize {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = name.len() as u64;
    let mut rest = name;
    while let Some((word, later)) = rest.split_first_chunk::<8>() {
        hash = mixed(hash ^ u64::from_le_bytes(*word));
        rest = later;
    }
    let mut last = 0;
    for &byte in rest {
        last = last << 8 | u64::from(byte);
    }
    hash = mixed(hash ^ last.wrapping_mul(FACTOR));
    (hash >> 32) as usize % PLACES
}

#[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
fn mixed(value: u64) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let wide = u128::from(value) * u128::from(FACTOR);
    (wide ^ wide >> 64) as u64
}
