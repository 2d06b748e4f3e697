"""The clocks of a worker, and one sample taken with them.

CPU time is the process's own (all threads): ``clock_gettime`` tells its sum to the
nanosecond, ``getrusage`` how it splits into user and system. Wall time encloses it, so
that wall minus CPU, the time blocked, is never negative. Everything that is not the
call itself and the freeing of its result (collecting, reading the counters) happens outside.
"""

from __future__ import annotations

import gc
import resource
import time
from collections import deque
from itertools import repeat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["COLUMNS", "CPU_SOURCE", "Collections", "Stopwatch", "sample", "tracer"]

COLUMNS = (
    "wall_ns", "user_ns", "sys_ns", "nivcsw", "nvcsw", "minflt", "majflt", "gc_ns", "gc_n", "drop_ns",
    "pace_ns",
)  # fmt: skip
"""Columns of each sample, in this order: totals of the batch; ``drop_ns``, the freeing of one result, which ``wall_ns``
contains; and ``pace_ns``, the mean time of a little fixed work before and after the sample.
"""

CPU_SOURCE = "clock_gettime(PROCESS_CPUTIME_ID), split by getrusage"

_CPU = getattr(time, "CLOCK_PROCESS_CPUTIME_ID", None)
_wall = time.perf_counter_ns


def _cpu_portable() -> int:
    return time.process_time_ns()


def _cpu_posix() -> int:
    return time.clock_gettime_ns(_CPU)  # type: ignore[arg-type]


cpu_ns = _cpu_posix if _CPU is not None else _cpu_portable
"""CPU time of this process, all threads, in nanoseconds."""


# The fixed work: so many additions in C, of numbers that Python makes no objects for; and how often it is done.
_WORK, _TIMES = range(250), 4


def pace_ns() -> int:
    """Returns the least time of a little fixed work, in nanoseconds: it tells how fast the CPU is at this moment.

    >>> 0 < pace_ns() < 10**9
    True
    """
    least = 10**9
    for _ in range(_TIMES):
        began = _wall()
        sum(_WORK)
        least = min(least, _wall() - began)
    return max(1, least)


class Stopwatch:
    """Readings at the start, differences at the stop.

    >>> watch = Stopwatch()
    >>> watch.start()
    >>> row = watch.stop()
    >>> len(row), row[0] >= row[1] + row[2]
    (7, True)
    """

    __slots__ = ("_cpu", "_usage", "_wall")

    def start(self) -> None:
        """Read every clock; the cheapest and most precise one last."""
        self._usage = resource.getrusage(resource.RUSAGE_SELF)
        self._wall = _wall()
        self._cpu = cpu_ns()

    def stop(self) -> list[int]:
        """Differences since the start: wall, user, sys, nivcsw, nvcsw, minflt, majflt."""
        cpu = cpu_ns() - self._cpu
        wall = _wall() - self._wall
        was, now = self._usage, resource.getrusage(resource.RUSAGE_SELF)
        system = min(cpu, round((now.ru_stime - was.ru_stime) * 1e9))
        return [
            wall,
            cpu - system,
            system,
            now.ru_nivcsw - was.ru_nivcsw,
            now.ru_nvcsw - was.ru_nvcsw,
            now.ru_minflt - was.ru_minflt,
            now.ru_majflt - was.ru_majflt,
        ]


class Collections:
    """Counts and times garbage collections while it is installed."""

    def __init__(self) -> None:
        self.total_ns = 0
        self.count = 0
        self._began = 0

    def __call__(self, phase: str, _info: dict[str, int]) -> None:
        """What ``gc.callbacks`` calls: ``start`` and ``stop`` of each collection."""
        if phase == "start":
            self._began = cpu_ns()
        else:
            self.total_ns += cpu_ns() - self._began
            self.count += 1


def sample(
    call: Callable[[Any], Any],
    argument: Any,
    batch: int,
    *,
    collect: bool = False,
    look: Callable[[Any], None] | None = None,
) -> list[int]:
    """Calls ``call(argument)`` ``batch`` times and reads the clocks around it.

    Each result is dropped before the next call, as in a program: held results would make every call pay for
    fresh memory. The last result is passed to ``look`` outside of the clocks and then freed between them again, so
    that a sample has as many freeings as calls and no call is made twice.

    Args:
        call: The measured function.
        argument: Its argument.
        batch: Number of calls.
        collect: Whether the garbage collector runs as it does in a user's program; it is off otherwise.
        look: Receives the last result before it is freed.

    Returns:
        A row of ``COLUMNS``.

    >>> seen = []
    >>> len(sample(str, 7, 3, look=seen.append)) == len(COLUMNS), seen
    (True, ['7'])
    """
    watch = Stopwatch()
    was_on = gc.isenabled()
    gc.collect()
    gc.freeze()  # what lives now is looked at no more: collecting it again would cost the whole heap
    collections = Collections()
    if collect:
        gc.callbacks.append(collections)
        gc.enable()
    else:
        gc.disable()
    pace = pace_ns()
    try:
        watch.start()
        # An empty deque drops each item in C; a loop of its own would cost twice as much a call.
        deque(map(call, repeat(argument, batch - 1)), maxlen=0)
        result = call(argument)
        row = watch.stop()
        if look is not None:
            gc.disable()  # a collection in here belongs to no sample
            look(result)
            if collect:
                gc.enable()
        watch.start()
        del result
        freed = watch.stop()
    finally:
        if collect:
            gc.callbacks.remove(collections)
        gc.disable()
        if was_on:  # not a worker: the rest of the program keeps its collector
            gc.unfreeze()
            gc.enable()
    both = [one + other for one, other in zip(row, freed, strict=True)]
    pace = (pace + pace_ns()) // 2
    return [*both, collections.total_ns, collections.count, freed[1] + freed[2], pace]


def tracer() -> str:
    """What watches this process and would be in every figure; empty if nothing does."""
    import sys

    if sys.gettrace() is not None:
        return "a trace function is set (debugger or coverage)"
    if sys.getprofile() is not None:
        return "a profiler is set"
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None and any(monitoring.get_tool(i) for i in range(6)):
        return "a monitoring tool is registered"
    if hasattr(sys, "gettotalrefcount"):
        return "this Python is a debug build"
    import _tracemalloc

    if _tracemalloc.is_tracing():
        return "tracemalloc is on"
    core = sys.modules.get("tare._tare")
    if getattr(core, "__debug_build__", False):
        return "the compiled core is a debug build; build it with --release"
    return ""
