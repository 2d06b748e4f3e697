//! Buffers that all sessions have together: one that is idle has none.

use std::sync::{Mutex, PoisonError};

use tare::message::{FrameWriter, Framer};

/// As many as there are that are kept: one for each direction of a few threads.
const MOST: usize = 4;

static READ: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
static WRITTEN: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

fn with<T>(pool: &Mutex<Vec<Vec<u8>>>, work: impl FnOnce(&mut Vec<Vec<u8>>) -> T) -> T {
    work(&mut pool.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Lends a buffer to read into, if one is there and one is needed.
pub fn lend(framer: &mut Framer) {
    with(&READ, |pool| framer.borrow_buffer(pool));
}

/// Takes back what a framer has nothing in.
pub fn return_framer(framer: &mut Framer) {
    with(&READ, |pool| framer.return_buffers(pool, MOST));
}

/// Lends a buffer for small messages.
pub fn lend_writer(writer: &mut FrameWriter) {
    with(&WRITTEN, |pool| writer.borrow_buffer(pool));
}

/// Takes back what a writer has nothing in.
pub fn return_writer(writer: &mut FrameWriter) {
    with(&WRITTEN, |pool| writer.return_buffer(pool, MOST));
}
