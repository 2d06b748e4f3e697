//! Jobs by number to threads, and what they became back by number.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What threads share that work on jobs `J`.
pub(super) struct Pool<J, R> {
    state: Mutex<State<J, R>>,
    /// There is a job, or there will be none.
    work: Condvar,
    /// One is done.
    done: Condvar,
}

struct State<J, R> {
    jobs: VecDeque<(u64, J)>,
    made: BTreeMap<u64, R>,
    closed: bool,
}

impl<J, R> Pool<J, R> {
    pub(super) fn new() -> Self {
        let state = State {
            jobs: VecDeque::new(),
            made: BTreeMap::new(),
            closed: false,
        };
        Self {
            state: Mutex::new(state),
            work: Condvar::new(),
            done: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<J, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, number: u64, job: J) {
        self.lock().jobs.push_back((number, job));
        self.work.notify_one();
    }

    /// What a job became, once it is done. There must be a thread, and the job must be known.
    pub(super) fn take(&self, number: u64) -> R {
        let mut state = self.lock();
        loop {
            if let Some(made) = state.made.remove(&number) {
                return made;
            }
            let waited = self.done.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets the threads go once there is no job left.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_all();
    }

    /// What a thread does: job after job.
    pub(super) fn serve(&self, mut work: impl FnMut(J) -> R) {
        let mut state = self.lock();
        loop {
            if let Some((number, job)) = state.jobs.pop_front() {
                drop(state);
                let made = work(job);
                state = self.lock();
                state.made.insert(number, made);
                self.done.notify_one();
            } else if state.closed {
                return;
            } else {
                let waited = self.work.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}
