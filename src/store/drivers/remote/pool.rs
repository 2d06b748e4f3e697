//! Connections of one process.
//!
//! A process that was forked must leave alone what its parent uses: neither speak over its sockets nor
//! close them in an orderly way, nor wait for a lock that a thread held which does not exist any more.

use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

/// One `T` for each process that uses the value: the first use after a fork makes a new one.
pub(crate) struct PerProcess<T> {
    pid: u32,
    value: T,
    /// That of a child; each generation of forks adds one.
    next: OnceLock<Box<PerProcess<T>>>,
}

impl<T: Default> PerProcess<T> {
    /// One for this process.
    pub(crate) fn new() -> Self {
        Self {
            pid: std::process::id(),
            value: T::default(),
            next: OnceLock::new(),
        }
    }

    /// That of the process that asks.
    pub(crate) fn get(&self) -> &T {
        let pid = std::process::id();
        let mut here = self;
        while here.pid != pid {
            here = here.next.get_or_init(|| Box::new(Self::new()));
        }
        &here.value
    }
}

/// Connections that wait for their next use, and how many are out.
pub(crate) struct Pool<C> {
    state: Mutex<State<C>>,
    given_back: Condvar,
}

struct State<C> {
    idle: Vec<C>,
    out: usize,
}

/// Most connections of one process to one store.
const MAX_OUT: usize = 16;

impl<C> Default for Pool<C> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                idle: Vec::new(),
                out: 0,
            }),
            given_back: Condvar::new(),
        }
    }
}

impl<C> Pool<C> {
    /// A place for one connection, with one that is open if there is one. Waits while too many are out.
    pub(crate) fn take(&self) -> Taken<'_, C> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.out >= MAX_OUT {
            state = self
                .given_back
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.out = state.out.saturating_add(1);
        let connection = state.idle.pop();
        Taken {
            pool: self,
            connection,
        }
    }

    /// How many wait.
    #[cfg(test)]
    fn idle(&self) -> usize {
        self.state.lock().unwrap().idle.len()
    }
}

/// A connection that is out; dropped, it goes back if it is still there.
pub(crate) struct Taken<'p, C> {
    pool: &'p Pool<C>,
    /// The connection; None before it is opened and when it broke.
    pub connection: Option<C>,
}

impl<C> Drop for Taken<'_, C> {
    fn drop(&mut self) {
        let mut state = self
            .pool
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        state.out = state.out.saturating_sub(1);
        state.idle.extend(self.connection.take());
        drop(state);
        self.pool.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_go_back_and_broken_ones_do_not() {
        let pool: Pool<u8> = Pool::default();
        let mut first = pool.take();
        assert_eq!(None, first.connection);
        first.connection = Some(7);
        drop(first);
        assert_eq!(1, pool.idle());
        let mut second = pool.take();
        assert_eq!(Some(7), second.connection.take());
        drop(second);
        assert_eq!(0, pool.idle());
    }

    #[test]
    fn no_more_than_so_many_are_out_at_once() {
        let pool: Pool<u8> = Pool::default();
        let out: Vec<_> = (0..MAX_OUT).map(|_| pool.take()).collect();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| drop(pool.take()));
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!waits.is_finished());
            drop(out);
        });
    }
}
