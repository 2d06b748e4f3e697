"""Batches: how many calls make one sample, and samples within a time limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tare.measure.clocks import Stopwatch, sample, timed_drop

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HELD_BYTES", "TARGET_NS", "Around", "calibrate", "take"]

TARGET_NS = 2_000_000
"""A sample is a batch of calls that takes about this long."""

HELD_BYTES = 64 << 20
"""Results of a batch are held until the clocks are read, at most so many bytes of them."""

_MOST = 1_000_000


def calibrate(call: Callable[[Any], Any], argument: Any, *, target_ns: int, most: int) -> int:
    """Calls in a batch that takes ``target_ns``.

    Calls are made in doubling numbers until they take a quarter of the target.

    Args:
        call: What will be sampled.
        argument: Its argument.
        target_ns: Wanted length of a sample, in nanoseconds.
        most: Upper limit, so that the results of a batch fit in memory.

    Returns:
        At least 1, at most ``most``.

    >>> calibrate(lambda _: None, None, target_ns=10_000_000, most=5)
    5
    """
    calls = 1
    while True:
        watch = Stopwatch()
        watch.start()
        held = [call(argument) for _ in range(calls)]
        wall, user, system, preempted, *_ = watch.stop()
        del held
        # A preempted call looks long by the wall; one that waits for a disk looks short by the CPU.
        one_ns = max(1, user + system if preempted else wall) / calls
        if one_ns * calls * 4 >= target_ns or calls >= most:
            return max(1, min(most, _MOST, round(target_ns / one_ns)))
        calls = min(most, calls * max(2, min(16, int(target_ns / 4 / one_ns / calls))))


class Around:
    """What is done around each sample, outside the clocks; this one does nothing."""

    def before(self) -> None:
        """Made before the clocks start (evicting a file)."""

    def look(self, result: Any) -> None:
        """Sees the last result of the sample, before it is freed."""

    def extra(self) -> list[int]:
        """More columns of the row (stamps)."""
        return []

    def after(self) -> None:
        """Made when the sample is complete (removing files)."""


def take(
    call: Callable[[Any], Any],
    argument: Any,
    batch: int,
    *,
    samples: int,
    collect: bool,
    budget_ns: int | None,
    around: Around,
) -> list[list[int]]:
    """Take samples of one call, one after another.

    Args:
        call: What is sampled.
        argument: Its argument.
        batch: Calls in each sample.
        samples: Samples to take; at least one is.
        collect: Whether the garbage collector is on.
        budget_ns: No further sample begins after this much wall time; None for no limit.
        around: What is done around each sample.

    Returns:
        Rows in the order of ``clocks.COLUMNS``, then what ``around.extra`` adds.

    >>> rows = take(lambda _: None, None, 10, samples=2, collect=False, budget_ns=None, around=Around())
    >>> len(rows), len(rows[0])
    (2, 10)
    """
    rows: list[list[int]] = []
    began = time.perf_counter_ns()
    while len(rows) < max(1, samples):
        around.before()
        row, results = sample(call, argument, batch, collect=collect)
        around.look(results[-1])
        rows.append([*row, timed_drop(results), *around.extra()])
        around.after()
        if budget_ns is not None and time.perf_counter_ns() - began > budget_ns:
            break
    return rows
