//! The steps at which a process may die: tests make it die there.
//!
//! With the variable `TARE_STORE_STEPS` set to `N` the process aborts at its Nth step, and with `file:PATH` the
//! steps are counted in that file. Without it a step is one look at a number.

use std::sync::atomic::{AtomicI64, Ordering};

/// Steps that are left before the abort; -1: not asked yet, -2: never.
static LEFT: AtomicI64 = AtomicI64::new(-1);

/// A step whose name tests may look for in a trace.
#[inline]
pub(super) fn step(name: &str) {
    // A release has no such steps: an environment must not be able to end its processes.
    if cfg!(debug_assertions) && LEFT.load(Ordering::Relaxed) != -2 {
        taken(name);
    }
}

#[cold]
fn taken(name: &str) {
    use std::io::Write;
    let asked = std::env::var("TARE_STORE_STEPS").ok();
    if let Some(path) = asked
        .as_deref()
        .and_then(|asked| asked.strip_prefix("file:"))
    {
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path);
        let _ = file.and_then(|mut file| file.write_all(format!("{name}\n").as_bytes()));
        return;
    }
    let asked: Option<i64> = asked.and_then(|asked| asked.parse().ok());
    let Some(asked) = asked else {
        LEFT.store(-2, Ordering::Relaxed);
        return;
    };
    let _ = LEFT.compare_exchange(-1, asked, Ordering::SeqCst, Ordering::SeqCst);
    if LEFT.fetch_sub(1, Ordering::SeqCst) <= 1 {
        std::process::abort();
    }
}
