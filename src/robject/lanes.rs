//! Blocks to threads that compress them, and back in order.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::pack::{Encoder, Stored};
use crate::Result;

type Make<'a> = &'a (dyn Fn() -> Result<Encoder> + Sync);
type Put<'a> = &'a mut dyn FnMut(&Stored) -> Result<()>;

/// Takes blocks; gives what they became to the sink, in the order they came.
pub(super) struct Lanes<'a> {
    put: Put<'a>,
    way: Way<'a>,
}

enum Way<'a> {
    /// On the calling thread.
    Here { encoder: Encoder, stored: Stored },
    /// On others.
    There {
        pool: &'a Pool,
        /// Blocks on their way, at most.
        most: u64,
        pushed: u64,
        written: u64,
    },
}

/// What the threads share.
#[derive(Default)]
struct Pool {
    state: Mutex<State>,
    /// There is a block to compress, or there will be none.
    work: Condvar,
    /// One is compressed.
    done: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<(u64, Vec<u8>)>,
    made: BTreeMap<u64, Result<Stored>>,
    /// Buffers to use again: of blocks, and of what they became.
    plain: Vec<Vec<u8>>,
    stored: Vec<Stored>,
    closed: bool,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.lock().closed = true;
        self.work.notify_all();
    }

    /// What a thread does: one block after the other.
    fn serve(&self, make: Make<'_>) {
        let mut encoder = make();
        let mut state = self.lock();
        loop {
            if let Some((number, block)) = state.jobs.pop_front() {
                let mut stored = state.stored.pop().unwrap_or_default();
                drop(state);
                let result = match &mut encoder {
                    Ok(encoder) => encoder.encode(&block, &mut stored).map(|()| stored),
                    Err(_) => make().map(|_| stored),
                };
                state = self.lock();
                state.made.insert(number, result);
                state.plain.push(block);
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

/// Lets the threads go however the work ends.
struct Closing<'a>(&'a Pool);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Lanes<'_> {
    /// Runs `work` with lanes on `threads` threads; what it pushed is written when this returns.
    pub(super) fn run<T>(
        threads: usize,
        make: Make<'_>,
        put: Put<'_>,
        work: impl FnOnce(&mut Lanes<'_>) -> Result<T>,
    ) -> Result<T> {
        if threads <= 1 {
            let (encoder, stored) = (make()?, Stored::default());
            let way = Way::Here { encoder, stored };
            return work(&mut Lanes { put, way });
        }
        let pool = Pool::default();
        thread::scope(|scope| {
            let closing = Closing(&pool);
            for _ in 0..threads {
                scope.spawn(|| pool.serve(make));
            }
            let mut lanes = Lanes {
                put,
                way: Way::There {
                    pool: &pool,
                    most: threads.saturating_add(1) as u64,
                    pushed: 0,
                    written: 0,
                },
            };
            let done = work(&mut lanes).and_then(|made| lanes.drain(0).map(|()| made));
            drop(closing);
            done
        })
    }

    /// Takes a block; gives a buffer to fill.
    pub(super) fn push(&mut self, block: Vec<u8>) -> Result<Vec<u8>> {
        match &mut self.way {
            Way::Here { encoder, stored } => {
                encoder.encode(&block, stored)?;
                (self.put)(stored)?;
                return Ok(block);
            }
            Way::There { pool, pushed, .. } => {
                pool.lock().jobs.push_back((*pushed, block));
                pool.work.notify_one();
                *pushed = pushed.saturating_add(1);
            }
        }
        let Way::There { pool, most, .. } = &self.way else {
            return Ok(Vec::new());
        };
        let (pool, most) = (*pool, *most);
        self.drain(most)?;
        let plain = pool.lock().plain.pop();
        Ok(plain.unwrap_or_default())
    }

    /// Writes in order until at most `most` blocks are on their way.
    fn drain(&mut self, most: u64) -> Result<()> {
        let Way::There {
            pool,
            pushed,
            written,
            ..
        } = &mut self.way
        else {
            return Ok(());
        };
        while pushed.saturating_sub(*written) > most {
            let mut state = pool.lock();
            let made = loop {
                if let Some(made) = state.made.remove(written) {
                    break made;
                }
                let waited = pool.done.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            };
            drop(state);
            let stored = made?;
            (self.put)(&stored)?;
            pool.lock().stored.push(stored);
            *written = written.saturating_add(1);
        }
        Ok(())
    }
}
