//! Which threads gather changes, and what they gathered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use tare::store::Pending;

/// The batches that are open, each of one thread.
#[derive(Default)]
pub struct Batches {
    open: Mutex<HashMap<ThreadId, Pending>>,
    /// How many, so that a store without one asks for no lock.
    n: AtomicUsize,
}

impl Batches {
    /// Opens one for this thread; false if it has one.
    pub fn begin(&self, pending: Pending) -> bool {
        let mut open = self.locked();
        let this = std::thread::current().id();
        if open.contains_key(&this) {
            return false;
        }
        open.insert(this, pending);
        self.n.store(open.len(), Ordering::Relaxed);
        true
    }

    /// Ends that of this thread.
    pub fn end(&self) -> Option<Pending> {
        let mut open = self.locked();
        let pending = open.remove(&std::thread::current().id());
        self.n.store(open.len(), Ordering::Relaxed);
        pending
    }

    /// Whether this thread has one.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.n.load(Ordering::Relaxed) > 0
            && self.locked().contains_key(&std::thread::current().id())
    }

    /// Does something with that of this thread, which no other has meanwhile.
    pub fn with<T>(&self, work: impl FnOnce(&mut Pending) -> T) -> Option<T> {
        let this = std::thread::current().id();
        let mut pending = self.locked().remove(&this)?;
        let done = work(&mut pending);
        self.locked().insert(this, pending);
        Some(done)
    }

    /// Drops all, unwritten.
    pub fn clear(&self) {
        self.locked().clear();
        self.n.store(0, Ordering::Relaxed);
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<ThreadId, Pending>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
