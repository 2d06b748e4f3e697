//! Waiting for many connections at once.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyList;
use rustix::event::{poll, PollFd, PollFlags};

use super::pull::timespec;
use super::session::Session;
use crate::error::os_error;

/// The descriptor of a session of which that is all there is to watch, and when the message under
/// way has taken too long.
fn descriptor(end: &Bound<'_, PyAny>, process: u32) -> Option<(i32, Option<Instant>)> {
    let session = end.cast_exact::<Session>().ok()?;
    let mut inner = session.get().lock();
    let (descriptor, owner) = inner.watched?;
    let at_hand = inner.given || inner.more || owner != process || inner.framer.ready();
    let slow = inner.slow.map(|(due, _)| due);
    (!at_hand && descriptor >= 0).then_some((descriptor, slow))
}

/// Indices of those that have to be asked: what is no session, was closed, or has taken something in.
#[pyfunction]
pub fn message_needing(ends: &Bound<'_, PyList>) -> Vec<usize> {
    let process = std::process::id();
    let all = ends.iter().enumerate();
    all.filter(|(_, end)| descriptor(end, process).is_none())
        .map(|(index, _)| index)
        .collect()
}

/// Waits for the descriptors of sessions, and for others by index; indices of those with events, or
/// with a message that has taken too long.
#[pyfunction]
#[pyo3(signature = (ends, others, seconds=None))]
pub fn message_poll(
    py: Python<'_>,
    ends: &Bound<'_, PyList>,
    others: Vec<(usize, i32)>,
    seconds: Option<f64>,
) -> PyResult<Vec<usize>> {
    let process = std::process::id();
    let mut slow: Vec<(usize, Instant)> = Vec::new();
    let mut watched: Vec<(usize, i32)> = Vec::new();
    for (at, end) in ends.iter().enumerate() {
        if let Some((number, due)) = descriptor(&end, process) {
            watched.push((at, number));
            slow.extend(due.map(|due| (at, due)));
        }
    }
    let all: Vec<(usize, BorrowedFd<'_>)> = others
        .into_iter()
        .chain(watched)
        .filter_map(|(index, number)| Some((index, borrowed(number)?)))
        .collect();
    let mut asked: Vec<PollFd<'_>> = all
        .iter()
        .map(|(_, descriptor)| PollFd::new(descriptor, PollFlags::IN))
        .collect();
    let left = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).ok());
    let now = Instant::now();
    let patience = slow
        .iter()
        .map(|(_, due)| due.saturating_duration_since(now));
    let left = patience.chain(left).min();
    let done = py.detach(|| poll(&mut asked, timespec(left).as_ref()));
    py.check_signals()?;
    match done {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        Err(error) => return Err(os_error(py, error.into())),
    }
    let found = all.iter().zip(&asked);
    let mut found: Vec<usize> = found
        .filter(|(_, answer)| !answer.revents().is_empty())
        .map(|((index, _), _)| *index)
        .collect();
    let now = Instant::now();
    found.extend(
        slow.iter()
            .filter(|(_, due)| *due <= now)
            .map(|(at, _)| *at),
    );
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// A descriptor of Python's.
#[allow(unsafe_code, reason = "a number alone does not say who closes it")]
fn borrowed<'a>(descriptor: i32) -> Option<BorrowedFd<'a>> {
    // SAFETY: it is only asked about, not kept beyond this call, and is no -1; one that was closed
    // beneath its owner the system reports as such.
    (descriptor >= 0).then(|| unsafe { BorrowedFd::borrow_raw(descriptor) })
}
