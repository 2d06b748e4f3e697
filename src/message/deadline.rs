//! How long a call may take, and who may interrupt it.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::wire::{os_error, timed_out};
use crate::Result;

/// A waiting call looks up this often: at the interruption check, and whether it was closed.
pub(super) const SLICE: Duration = Duration::from_millis(50);

/// What one call may wait for: a moment on the monotonic clock, and a check that interrupts it.
///
/// The deadline is for the whole call, however many waits it takes. The check is called at least
/// each 50 ms of waiting and after each interrupted system call; its error ends the call.
///
/// # Example
/// ```
/// use std::time::Duration;
/// use tare::message::Call;
/// assert!(Call::within(Duration::ZERO).is_over());
/// assert!(!Call::forever().is_over());
/// ```
#[derive(Default)]
pub struct Call<'a> {
    until: Option<Instant>,
    check: Option<&'a mut (dyn FnMut() -> Result<()> + 'a)>,
}

impl std::fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

impl Call<'_> {
    /// A call that waits for as long as it takes.
    #[must_use]
    pub fn forever() -> Self {
        Self::default()
    }

    /// A call that takes what is there, and waits for nothing.
    #[must_use]
    pub fn now() -> Self {
        Self::within(Duration::ZERO)
    }

    /// A call that ends after `timeout`; one too long for the clock never ends.
    #[must_use]
    pub fn within(timeout: Duration) -> Self {
        Self::until(Instant::now().checked_add(timeout))
    }

    /// A call that ends at a moment; none is never.
    #[must_use]
    pub fn until(until: Option<Instant>) -> Self {
        Self { until, check: None }
    }

    /// The same with a check that may interrupt it.
    #[must_use]
    pub fn checked<'c>(self, check: &'c mut (dyn FnMut() -> Result<()> + 'c)) -> Call<'c> {
        Call {
            until: self.until,
            check: Some(check),
        }
    }

    /// Whether the moment has come.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// The moment, if there is one.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.until
    }

    /// Asks the check.
    pub(super) fn check(&mut self) -> Result<()> {
        match &mut self.check {
            Some(check) => check(),
            None => Ok(()),
        }
    }

    /// Waits for one slice, or less if the deadline or `other` come before; errors after the
    /// deadline, naming what was waited for.
    pub(super) fn slice(
        &mut self,
        fds: &mut [PollFd<'_>],
        other: Option<Instant>,
        most: Duration,
        what: &str,
    ) -> Result<usize> {
        let now = Instant::now();
        let left = |until: Instant| until.saturating_duration_since(now);
        let over = self.until.is_some_and(|until| until <= now);
        let mut time = most.min(SLICE);
        for until in [self.until, other].into_iter().flatten() {
            time = time.min(left(until));
        }
        let found = poll(fds, time)?;
        if found > 0 {
            return Ok(found);
        }
        self.check()?;
        if over {
            return Err(timed_out(what));
        }
        Ok(0)
    }

    /// Waits until `fd` has one of `events`; errors at the deadline.
    pub(super) fn wait_for(
        &mut self,
        fd: BorrowedFd<'_>,
        events: PollFlags,
        what: &str,
    ) -> Result<()> {
        loop {
            let mut fds = [PollFd::from_borrowed_fd(fd, events)];
            if self.slice(&mut fds, None, SLICE, what)? > 0 {
                return Ok(());
            }
        }
    }

    /// Sleeps between two attempts; errors at the deadline.
    pub(super) fn pause(&mut self, time: Duration, what: &str) -> Result<()> {
        let until = Instant::now().checked_add(time);
        while until.is_some_and(|until| until > Instant::now()) {
            self.slice(&mut [], until, SLICE, what)?;
        }
        Ok(())
    }
}

/// poll(2); an interruption counts as nothing found.
pub(super) fn poll(fds: &mut [PollFd<'_>], time: Duration) -> Result<usize> {
    let time = Timespec::try_from(time).unwrap_or(Timespec {
        tv_sec: 0,
        tv_nsec: 50_000_000,
    });
    match rustix::event::poll(fds, Some(&time)) {
        Ok(found) => Ok(found),
        Err(rustix::io::Errno::INTR) => Ok(0),
        Err(error) => Err(os_error(error.into(), "cannot wait")),
    }
}
