//! What the last document leaves to the next: room, and names that are known by their objects.
//!
//! Documents that are written one after the other mostly have the same names, which are the same
//! objects where a program has them in its text.

#![allow(unsafe_code, reason = "what only those who hold the GIL touch")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::blit::{Options, Room, Writer};

use super::met::Met;
use crate::buffers::copied;
use crate::error::to_py;

struct Kept {
    room: Room,
    met: Met,
}

// SAFETY: the objects of `met` are touched with the GIL held only: whoever takes it out of `KEPT`
// and whoever puts it there, and so lets another one go, has its token. Objects of any thread can
// then be used in any.
unsafe impl Send for Kept {}

/// Nothing while somebody uses it. Nobody has it locked while Python may run.
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

/// A writer, and the names that it knows by their objects.
pub fn writer(_py: Python<'_>, options: Options) -> tare::Result<(Writer<'static>, Met)> {
    let kept = locked().take();
    let Some(Kept { room, met }) = kept else {
        return Ok((Writer::new(options)?, Met::default()));
    };
    let (writer, knows) = Writer::reusing(options, room)?;
    Ok((writer, if knows { met } else { Met::default() }))
}

/// The document, whose room and names are left to the next.
pub fn finished<'py>(
    py: Python<'py>,
    writer: Writer<'static>,
    met: Met,
) -> PyResult<Bound<'py, PyBytes>> {
    finished_as(py, writer, met, |document| copied(py, document))
}

/// What `take` makes of the document, whose room and names are left to the next.
pub fn finished_as<T>(
    py: Python<'_>,
    writer: Writer<'static>,
    met: Met,
    take: impl FnOnce(&[u8]) -> PyResult<T>,
) -> PyResult<T> {
    let finished = writer.finish_for_reuse(take);
    let (document, room) = finished.map_err(|error| to_py(py, error))?;
    let kept = room.map(|room| Kept {
        room,
        met: met.few(),
    });
    // What somebody else left meanwhile is let go when it is no more locked.
    let other = std::mem::replace(&mut *locked(), kept);
    drop(other);
    document
}

fn locked() -> MutexGuard<'static, Option<Kept>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}
