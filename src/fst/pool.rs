//! Work on several threads, with results in the order of the work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

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
            let jobs: Vec<Job<'_, usize>> = (0..100)
                .map(|at| Box::new(move |_: &mut Scratch| Ok(at)) as Job<'_, usize>)
                .collect();
            let done = run(jobs, Some(threads), None).unwrap();
            assert_eq!((0..100).collect::<Vec<_>>(), done);
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
    fn a_token_ends_the_work() {
        let token = CancelToken::new();
        token.cancel();
        let jobs: Vec<Job<'_, ()>> = vec![Box::new(|_| Ok(())), Box::new(|_| Ok(()))];
        let error = run(jobs, Some(2), Some(&token)).unwrap_err();
        assert_eq!(ErrorKind::Cancelled, error.kind());
    }
}
