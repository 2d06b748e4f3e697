"""Batches: how many calls make one sample, and samples within a time limit."""

from __future__ import annotations

import time
from collections import deque
from itertools import repeat
from typing import TYPE_CHECKING, Any

from tare.measure.worker.clocks import Stopwatch, sample

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TARGET_NS", "Around", "calibrate", "take"]

TARGET_NS = 2_000_000
"""A sample is a batch of calls that takes about this long."""

_MOST_CALLS = 1_000_000


def calibrate(call: Callable[[Any], Any], argument: Any, *, target_ns: int) -> int:
    """Returns the number of calls in a batch that takes ``target_ns``, from 1 to 1,000,000.

    Calls are made in growing numbers until they take a quarter of the target; each result is dropped before the
    next call, as in a sample.

    Args:
        call: The function that will be sampled.
        argument: Its argument.
        target_ns: Wanted length of a sample, in nanoseconds.

    >>> calibrate(lambda _: None, None, target_ns=1)
    1
    """
    calls = 1
    while True:
        watch = Stopwatch()
        watch.start()
        deque(map(call, repeat(argument, calls)), maxlen=0)
        wall, user, system, preempted, *_ = watch.stop()
        # A preempted call looks long by the wall; one that waits for a disk looks short by the CPU.
        one_ns = max(1, user + system if preempted else wall) / calls
        if one_ns * calls * 4 >= target_ns or calls >= _MOST_CALLS:
            return max(1, min(_MOST_CALLS, round(target_ns / one_ns)))
        calls = min(_MOST_CALLS, calls * max(2, min(16, int(target_ns / 4 / one_ns / calls))))


class Around:
    """What is done around each sample, outside the clocks; this one does nothing."""

    def before(self) -> None:
        """Made before the clocks start (evicting a file)."""

    def look(self, result: Any) -> None:
        """Receives the last result of the sample before it is freed."""

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
    (2, 11)
    """
    rows: list[list[int]] = []
    began = time.perf_counter_ns()
    while len(rows) < max(1, samples):
        around.before()
        row = sample(call, argument, batch, collect=collect, look=around.look)
        rows.append([*row, *around.extra()])
        around.after()
        if budget_ns is not None and time.perf_counter_ns() - began > budget_ns:
            break
    return rows
