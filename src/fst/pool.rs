//! Work on several threads, with results in the order of the work.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use super::codec::Scratch;
use super::fault::FORMAT;
use crate::compress::{default_threads, CancelToken};
use crate::{Error, ErrorKind, Result};

/// A piece of work; what it uses again is its thread's.
pub(super) type Job<'a, T> = Box<dyn FnOnce(&mut Scratch) -> Result<T> + Send + 'a>;

/// Does all of it; the error is that of the first piece that failed.
pub(super) fn run<T: Send>(
    jobs: Vec<Job<'_, T>>,
    threads: Option<usize>,
    cancel: Option<&CancelToken>,
) -> Result<Vec<T>> {
    let most = threads.unwrap_or_else(default_threads).max(1);
    let threads = most.min(jobs.len());
    if threads <= 1 {
        let mut scratch = Scratch::default();
        let mut done = Vec::with_capacity(jobs.len());
        for job in jobs {
            check(cancel)?;
            done.push(job(&mut scratch)?);
        }
        return Ok(done);
    }
    let mut slots: Vec<Option<Result<T>>> = Vec::new();
    slots.resize_with(jobs.len(), || None);
    let work = Mutex::new(jobs.into_iter().zip(slots.iter_mut()));
    let failed = AtomicBool::new(false);
    let one = || {
        let mut scratch = Scratch::default();
        while !failed.load(Ordering::Relaxed) {
            let next = work.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((job, slot)) = next else { break };
            let result = check(cancel).and_then(|()| job(&mut scratch));
            if result.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            *slot = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(one);
        }
        one();
    });
    // Work is given out in order, so what was not begun stands behind the first failure.
    slots.into_iter().map_while(|slot| slot).collect()
}

/// What is made ahead of its turn, and how far the turns have come.
struct Ahead<T> {
    next: usize,
    turn: usize,
    stopped: bool,
    ready: BTreeMap<usize, Result<T>>,
}

/// Makes `count` things on threads and gives them away one after another, in order; only few more
/// are made than were given away.
pub(super) fn ordered<T: Send, P: Default>(
    count: usize,
    threads: usize,
    cancel: Option<&CancelToken>,
    make: impl Fn(usize, &mut P) -> Result<T> + Sync,
    mut give: impl FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    let threads = threads.min(count);
    if threads <= 1 {
        let mut scratch = P::default();
        for index in 0..count {
            check(cancel)?;
            give(index, make(index, &mut scratch)?)?;
        }
        return Ok(());
    }
    let window = threads.saturating_mul(2);
    let ahead = Mutex::new(Ahead {
        next: 0,
        turn: 0,
        stopped: false,
        ready: BTreeMap::new(),
    });
    let changed = Condvar::new();
    let lock = || ahead.lock().unwrap_or_else(PoisonError::into_inner);
    let wait = |guard| changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
    let one = || {
        let mut scratch = P::default();
        loop {
            let mut state = lock();
            while !state.stopped
                && state.next < count
                && state.next >= state.turn.saturating_add(window)
            {
                state = wait(state);
            }
            if state.stopped || state.next >= count {
                return;
            }
            let index = state.next;
            state.next = index.saturating_add(1);
            drop(state);
            let result = check(cancel).and_then(|()| make(index, &mut scratch));
            lock().ready.insert(index, result);
            changed.notify_all();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(one);
        }
        let mut result = Ok(());
        for turn in 0..count {
            let mut state = lock();
            let next = loop {
                match state.ready.remove(&turn) {
                    Some(next) => break next,
                    None => state = wait(state),
                }
            };
            drop(state);
            result = next.and_then(|next| give(turn, next));
            let mut state = lock();
            state.turn = turn.saturating_add(1);
            state.stopped = result.is_err();
            drop(state);
            changed.notify_all();
            if result.is_err() {
                break;
            }
        }
        result
    })
}

/// Fails once the caller has asked to stop.
fn check(cancel: Option<&CancelToken>) -> Result<()> {
    if cancel.is_some_and(CancelToken::is_cancelled) {
        return Err(Error::new(ErrorKind::Cancelled, "cancelled").with_format(FORMAT));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_the_first_error_wins() {
        for threads in [1, 2, 5] {
            let jobs: Vec<Job<'_, usize>> = (0..100_usize)
                .map(|at| Box::new(move |_: &mut Scratch| Ok(at)) as Job<'_, usize>)
                .collect();
            let done = run(jobs, Some(threads), None).unwrap();
            assert_eq!((0..100_usize).collect::<Vec<_>>(), done);
            let jobs: Vec<Job<'_, usize>> = (0..100_u64)
                .map(|at| {
                    Box::new(move |_: &mut Scratch| {
                        Err(Error::new(ErrorKind::Malformed, "no").with_offset(at))
                    }) as Job<'_, usize>
                })
                .collect();
            let error = run(jobs, Some(threads), None).unwrap_err();
            assert_eq!(Some(0), error.offset());
        }
    }

    #[test]
    fn what_is_made_ahead_is_given_in_order() {
        for threads in [1, 2, 5] {
            let mut given = Vec::new();
            let make = |index: usize, (): &mut ()| Ok(index);
            ordered(100, threads, None, make, |index, made| {
                given.push((index, made));
                Ok(())
            })
            .unwrap();
            assert_eq!((0..100).map(|at| (at, at)).collect::<Vec<_>>(), given);
            let error = ordered(100, threads, None, make, |index, _| match index {
                7 => Err(Error::new(ErrorKind::Io, "full")),
                _ => Ok(()),
            });
            assert_eq!(ErrorKind::Io, error.unwrap_err().kind());
        }
    }

    #[test]
    fn a_token_ends_the_work() {
        let token = CancelToken::new();
        token.cancel();
        let jobs: Vec<Job<'_, ()>> = vec![Box::new(|_| Ok(())), Box::new(|_| Ok(()))];
        let error = run(jobs, Some(2), Some(&token)).unwrap_err();
        assert_eq!(ErrorKind::Cancelled, error.kind());
    }
}
