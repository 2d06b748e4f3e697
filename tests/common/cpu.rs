//! How work grows, in the processor's time of this thread: that others are at work is no matter.

use std::time::Duration;

/// The processor's time of this thread so far, in user and system mode.
pub fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap(),
        u32::try_from(time.tv_nsec).unwrap(),
    )
}

/// The least time of five runs of `work`.
pub fn least_time(mut work: impl FnMut()) -> Duration {
    let runs = (0..5).map(|_| {
        let began = thread_time();
        work();
        thread_time().saturating_sub(began)
    });
    runs.min().unwrap()
}

/// Work on 16 times as much takes about 16 times as long; 256 times, were it square.
///
/// The limit is between, where neither full caches nor a strange machine reach.
pub fn grows_linearly(few: usize, time: impl Fn(usize) -> Duration) {
    time(few);
    let (once, much) = (time(few), time(few * 16));
    assert!(
        much < once * 64,
        "{few}: {once:?}, 16 times as much: {much:?}"
    );
}
