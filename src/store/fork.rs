//! A fork waits until no thread is in the midst of what a child could not use.
//!
//! A child has the one thread that forked. What another held then, a lock of ours, of `SQLite` or of its
//! memory, stays held in the child for ever. So calls that hold such locks are counted, and who forks shuts the
//! door and waits for those inside. They are short, and call nobody who waits for the fork.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a fork waits: a call may hang on a disk, and the child is then told that it cannot go on.
const PATIENCE: Duration = Duration::from_secs(2);

static INSIDE: AtomicUsize = AtomicUsize::new(0);
static SHUT: AtomicBool = AtomicBool::new(false);
/// Held from before a fork until after it, in parent and child.
static DOOR: Mutex<()> = Mutex::new(());

thread_local! {
    /// Calls of this thread that are inside, one in another.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

fn door() -> MutexGuard<'static, ()> {
    DOOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While this lives, no fork happens, unless this thread itself forks.
pub(super) struct Inside(PhantomData<*const ()>);

/// Waits while the door is shut.
pub(super) fn inside() -> Inside {
    DEPTH.with(|depth| {
        if depth.get() == 0 {
            loop {
                INSIDE.fetch_add(1, Ordering::SeqCst);
                if !SHUT.load(Ordering::SeqCst) || HELD.with_borrow(Option::is_some) {
                    break;
                }
                INSIDE.fetch_sub(1, Ordering::SeqCst);
                drop(door());
            }
        }
        depth.set(depth.get() + 1);
    });
    Inside(PhantomData)
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.with(|depth| {
            depth.set(depth.get() - 1);
            if depth.get() == 0 {
                INSIDE.fetch_sub(1, Ordering::SeqCst);
            }
        });
    }
}

/// What a lock guards, while no fork happens.
pub(super) struct Locked<'a, T> {
    /// Given up first.
    guard: MutexGuard<'a, T>,
    _inside: Inside,
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// Locks what a child of a fork may want too.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> Locked<'_, T> {
    let inside = inside();
    Locked {
        guard: mutex.lock().unwrap_or_else(PoisonError::into_inner),
        _inside: inside,
    }
}

fn own() -> usize {
    usize::from(DEPTH.with(Cell::get) > 0)
}

/// To be called just before a fork by the thread that forks, so that open stores can be used in the child:
/// waits, for at most two seconds, until no other thread is in the midst of a store. [`after_fork`] has to
/// follow in both processes.
///
/// The Python package has `os.fork` call both.
pub fn before_fork() {
    if HELD.with_borrow(Option::is_some) {
        return;
    }
    let held = door();
    SHUT.store(true, Ordering::SeqCst);
    let began = Instant::now();
    while INSIDE.load(Ordering::SeqCst) > own() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(50));
    }
    HELD.set(Some(held));
}

/// Lets other threads go on after [`before_fork`]; `child` says in which process this is.
pub fn after_fork(child: bool) {
    if child {
        INSIDE.store(own(), Ordering::SeqCst); // the other threads are not here
    }
    SHUT.store(false, Ordering::SeqCst);
    drop(HELD.take());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_waits_for_those_inside_and_others_wait_for_it() {
        let entered = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let long = scope.spawn(|| {
                let _outer = inside();
                let _inner = inside();
                entered.store(true, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(80));
                Instant::now()
            });
            while !entered.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            before_fork();
            let shut = Instant::now();
            drop(inside()); // the one that forks is not kept out
            let late = scope.spawn(|| {
                drop(inside());
                Instant::now()
            });
            std::thread::sleep(Duration::from_millis(30));
            let opened = Instant::now();
            after_fork(false);
            assert!(long.join().unwrap() <= shut);
            assert!(late.join().unwrap() >= opened);
        });
    }
}
