//! State of a file object that several threads may use, by turns and never across a fork.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tare::{Error, ErrorKind};

use crate::error::to_py;

/// Something that is there until it is closed.
pub struct Shared<T> {
    inner: Mutex<Option<T>>,
    /// The thread that is at it, as `this_thread` says; 0 for none.
    owner: AtomicUsize,
    process: u32,
}

impl<T: Send> Shared<T> {
    pub fn new(inner: T) -> Self {
        Self {
            inner: Mutex::new(Some(inner)),
            owner: AtomicUsize::new(0),
            process: std::process::id(),
        }
    }

    /// Does what needs no waiting, with the GIL held; None if another thread is at it.
    pub fn at_once<R>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> R,
    ) -> PyResult<Option<R>> {
        self.check(py)?;
        let mut guard = match self.inner.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        let inner = guard.as_mut().ok_or_else(closed)?;
        Ok(Some(work(inner)))
    }

    /// Does what may wait, with the GIL released.
    ///
    /// The lock is only waited for with the GIL released, so that no thread can wait for both.
    pub fn detached<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> R + Send,
    ) -> PyResult<R> {
        self.check(py)?;
        py.detach(|| {
            let mut guard = self.lock();
            self.owner.store(this_thread(), Ordering::Relaxed);
            let done = guard.as_mut().map(work);
            self.owner.store(0, Ordering::Relaxed);
            done
        })
        .ok_or_else(closed)
    }

    /// Takes it away: later calls say that it is closed.
    pub fn take(&self, py: Python<'_>) -> PyResult<Option<T>> {
        self.check(py)?;
        Ok(py.detach(|| self.lock().take()))
    }

    /// Ends without any work, in a forked child too.
    pub fn forget_if_forked(&mut self) {
        if std::process::id() != self.process {
            // Its threads are the parent's: waiting for them would never end.
            let inner = self.inner.get_mut();
            std::mem::forget(inner.unwrap_or_else(PoisonError::into_inner).take());
        }
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        if std::process::id() != self.process {
            let text = "opened before a fork and used in the child: open it in the child";
            return Err(to_py(py, Error::new(ErrorKind::Usage, text)));
        }
        if self.owner.load(Ordering::Relaxed) == this_thread() {
            let text = "used by a signal handler or a file object that it is itself at work for";
            return Err(PyRuntimeError::new_err(text));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("I/O operation on closed file.")
}

/// A number that no other running thread has, and that is not 0.
fn this_thread() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}
