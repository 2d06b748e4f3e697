//! Room on the stack for values inside each other: a thread may have little of it.

use crate::{Error, ErrorKind, Result};

/// Levels between two looks at the stack.
const EVERY: usize = 16;

/// What so many levels take at most, with much to spare: a level took 1.4 KB when optimised.
const LEAST: usize = 128 << 10;

/// What is added at a time: room for as many levels as there may be.
const ADDED: usize = 4 << 20;

/// Does what lies a level deeper, on more stack where little is left.
///
/// Not for what calls into Python, which looks at the stack itself.
#[inline]
pub(super) fn grown<T>(depth: usize, work: impl FnOnce() -> T) -> T {
    if depth % EVERY == EVERY - 1 {
        stacker::maybe_grow(LEAST, ADDED, work)
    } else {
        work()
    }
}

/// Refuses a level that the stack of this thread may have no room for.
///
/// # Errors
/// `Limit`.
#[inline]
pub(super) fn check(depth: usize) -> Result<()> {
    if depth % EVERY == EVERY - 1 && stacker::remaining_stack().is_some_and(|left| left < LEAST) {
        return Err(full(depth));
    }
    Ok(())
}

#[cold]
fn full(depth: usize) -> Error {
    let text = format!(
        "the stack of this thread has no room for more than {depth} levels; \
         a thread with a larger stack has"
    );
    Error::new(ErrorKind::Limit, text).with_format("blit")
}
