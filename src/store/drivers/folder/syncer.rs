//! The sync of the log that `batch` owes within a second.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::fault::io_fault;
use super::filesystem::{sync_file, Root};
use super::layout;
use crate::Result;

/// How long what `batch` acknowledged may wait.
const DELAY: Duration = Duration::from_secs(1);

pub(super) struct Syncer {
    root: Arc<Root>,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    /// Whether something was written that no sync has seen.
    dirty: AtomicBool,
    /// A sync failed: what it should have written may be lost.
    failed: AtomicBool,
    log: OnceLock<File>,
    stop: Mutex<bool>,
    wake: Condvar,
}

impl Shared {
    fn sync(&self) -> io::Result<()> {
        self.dirty.store(false, Ordering::SeqCst);
        match self.log.get() {
            Some(log) => sync_file(log),
            None => Ok(()),
        }
    }

    fn run(&self) {
        let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        while !*stop {
            if !self.dirty.load(Ordering::SeqCst) {
                stop = self.wake.wait(stop).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let waited = self.wake.wait_timeout_while(stop, DELAY, |stop| !*stop);
            stop = waited.unwrap_or_else(PoisonError::into_inner).0;
            drop(stop);
            if self.sync().is_err() {
                self.failed.store(true, Ordering::SeqCst);
            }
            stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Syncer {
    pub fn new(root: Arc<Root>) -> Self {
        Self {
            root,
            shared: Arc::default(),
            thread: Mutex::new(None),
        }
    }

    /// Opens the log, which is there once a connection has written.
    fn log(&self) -> Result<()> {
        if self.shared.log.get().is_none() {
            match self.root.read(layout::INDEX_LOG) {
                Ok(log) => drop(self.shared.log.set(log)),
                // With a rollback journal every commit is synced.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(io_fault(
                        &self.root,
                        layout::INDEX_LOG,
                        "cannot open the log",
                        error,
                    ));
                }
            }
        }
        Ok(())
    }

    /// Syncs now.
    pub fn sync(&self) -> Result<()> {
        self.log()?;
        let failed = self.shared.failed.swap(false, Ordering::SeqCst);
        let synced = self.shared.sync();
        synced.map_err(|error| {
            self.shared.dirty.store(true, Ordering::SeqCst);
            io_fault(&self.root, layout::INDEX_LOG, "cannot sync the log", error)
        })?;
        if failed {
            let error = io::Error::other("an earlier sync failed, what it wrote may not last");
            return Err(io_fault(
                &self.root,
                layout::INDEX_LOG,
                "cannot sync the log",
                error,
            ));
        }
        Ok(())
    }

    /// Has what was just written synced within a second.
    pub fn soon(&self) -> Result<()> {
        if self.shared.dirty.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        self.log()?;
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let shared = self.shared.clone();
            let named = std::thread::Builder::new().name("tare-store-sync".into());
            match named.spawn(move || shared.run()) {
                Ok(started) => *thread = Some(started),
                // No thread is to be had: synced at once then.
                Err(_) => return self.sync(),
            }
        }
        drop(thread);
        // Behind the lock the thread either waits, or has not looked yet.
        drop(
            self.shared
                .stop
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        self.shared.wake.notify_one();
        Ok(())
    }

    /// Syncs what is due, and ends the thread.
    pub fn stop(&self) {
        let due = self.shared.dirty.load(Ordering::SeqCst);
        *self
            .shared
            .stop
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.wake.notify_all();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        if due {
            let _ = self.shared.sync();
        }
    }
}
