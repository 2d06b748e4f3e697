//! The size of a test: short in `make test`, the whole in `make soak`, which sets `TARE_SOAK=1`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest time beyond the planned one that a `Span` waits for its minimum.
const CEILING: Duration = Duration::from_secs(120);

/// Returns whether this is `make soak`.
pub fn soak() -> bool {
    std::env::var_os("TARE_SOAK").is_some_and(|value| value == "1")
}

/// Returns `short` in `make test` and `long` in `make soak`.
pub fn scaled<T>(short: T, long: T) -> T {
    if soak() {
        long
    } else {
        short
    }
}

/// Reports how much a test did, e.g. kills, to `make soak`, which adds the numbers up and records them.
pub fn count(what: &str, number: usize) {
    if soak() {
        println!("soak: {what}={number}");
    }
}

/// Chooses at which positions inputs are cut or changed.
///
/// In `make soak` these are all. In `make test` they are the first and last `edge` ones of each input, where headers
/// and trailers lie, and every `stride`-th between. The stride is a prime, so that it meets every byte of a field and
/// every bit of a byte in turn, and each input begins at another offset.
pub struct Sample {
    edge: usize,
    stride: usize,
    inputs: usize,
}

impl Sample {
    /// Takes one position of `stride`, a prime, between the first and last `edge` ones.
    pub fn new(edge: usize, stride: usize) -> Self {
        let stride = scaled(stride, 1);
        let inputs = 0;
        Self {
            edge,
            stride,
            inputs,
        }
    }

    /// Returns those of the next input.
    pub fn select<T>(&mut self, positions: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut positions: Vec<T> = positions.into_iter().collect();
        let offset = self.inputs % self.stride;
        self.inputs += 1;
        let edges = self.edge..positions.len().saturating_sub(self.edge);
        let mut at = 0..;
        positions.retain(|_| {
            let at = at.next().unwrap_or(0);
            !edges.contains(&at) || at % self.stride == offset
        });
        positions
    }
}

/// A time that a race runs for, and goes on beyond on a busy machine until it has done enough.
pub struct Span {
    start: Instant,
    least: Duration,
}

impl Span {
    /// Starts a span of `short` in `make test` and of a minute in `make soak`.
    pub fn start(short: Duration) -> Self {
        let least = scaled(short, Duration::from_secs(60));
        Self {
            start: Instant::now(),
            least,
        }
    }

    /// Returns whether the race is to go on: its time is not over, or it has not done enough.
    ///
    /// # Panics
    ///
    /// If it has not done enough two minutes after its time.
    pub fn lasts(&self, enough: bool) -> bool {
        let elapsed = self.start.elapsed();
        assert!(
            enough || elapsed < self.least + CEILING,
            "not enough was done in {elapsed:?}"
        );
        !enough || elapsed < self.least
    }
}

/// Tells the threads of a race that it has ended when this is dropped, also by a failed assertion.
pub struct EndOnDrop<'a>(pub &'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
