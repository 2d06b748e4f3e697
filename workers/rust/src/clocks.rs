//! Clocks, and what the kernel counts for this process.

use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};

/// What each row holds, in this order: totals of the batch, and `drop_ns`, the freeing of one result.
pub const COLUMNS: [&str; 10] = ["wall_ns", "user_ns", "sys_ns", "nivcsw", "nvcsw", "minflt", "majflt", "gc_ns", "gc_n", "drop_ns"];

fn now(clock: ClockId) -> i64 {
    clock_gettime(clock).map_or(0, |time| time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

/// Monotonic time, the same for all processes of the host.
pub fn wall_ns() -> i64 {
    now(ClockId::CLOCK_MONOTONIC)
}

fn counts() -> [i64; 6] {
    getrusage(UsageWho::RUSAGE_SELF).map_or([0; 6], |used| {
        let (user, sys) = (used.user_time(), used.system_time());
        [
            user.tv_sec() * 1_000_000 + user.tv_usec(),
            sys.tv_sec() * 1_000_000 + sys.tv_usec(),
            used.involuntary_context_switches(),
            used.voluntary_context_switches(),
            used.minor_page_faults(),
            used.major_page_faults(),
        ]
    })
}

/// Readings at the start.
pub struct Watch {
    counts: [i64; 6],
    wall: i64,
    cpu: i64,
}

impl Watch {
    /// Read every clock, the most precise last.
    pub fn start() -> Watch {
        let (counts, wall) = (counts(), wall_ns());
        Watch { counts, wall, cpu: now(ClockId::CLOCK_PROCESS_CPUTIME_ID) }
    }

    /// The first nine columns; there is no collector, so its two are 0.
    pub fn stop(&self) -> Vec<i64> {
        let cpu = now(ClockId::CLOCK_PROCESS_CPUTIME_ID) - self.cpu;
        let wall = (wall_ns() - self.wall).max(cpu).max(1);
        let after = counts();
        let mut spent = [0; 6];
        for (place, (now, was)) in after.iter().zip(self.counts).enumerate() {
            if let Some(cell) = spent.get_mut(place) {
                *cell = now - was;
            }
        }
        let [user, sys, forced, given, minor, major] = spent;
        // The kernel's split is coarse; the sum is exact.
        let in_kernel = if user + sys > 0 { cpu * sys / (user + sys) } else { 0 };
        vec![wall, cpu - in_kernel, in_kernel, forced, given, minor, major, 0, 0]
    }
}

/// A figure of `/proc/self/status`, in bytes.
pub fn status_bytes(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}
