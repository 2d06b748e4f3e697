"""What a worker told of its time, summed over a launch, beside what its parent waited for it.

A sample is short, and a busy machine comes between: one wait says nothing. A sum that is far too short raises a
suspicion, and long samples beside short ones of the same operation decide. What a worker
does once for each sample (it collects garbage, evicts a file, counts what came back) is in both, and so in no suspicion
that lasts.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from statistics import stdev
from typing import Any

from tare.measure.worker_client.sample_check import System, Timed, timed

__all__ = ["Told", "around_ns", "far_short"]

_LONGER = 1.5
# Each call of a batch has its own file, all but one of which are removed outside of the sample.
_LONGER_WRITING = 3.0
_EACH_NS = 500_000  # what may come to each sample before a sum is suspected
_FIRST_NS = 60_000_000
_LONG_NS = 150_000_000
_SLACK_NS = 20_000_000  # two ticks of the coarsest clocks
_SHARE = 16
_TRIES = 7
_FAULTS = 3
_MORE = 4
_MANY = 8
_MOST_PAIRS = 16
_SURE = 2  # standard errors
_MOST_CALLS = 1_000_000


@dataclass
class _Sum:
    """Of one operation: samples, their calls, and nanoseconds told and waited."""

    samples: int = 0
    calls: int = 0
    told: int = 0
    waited: int = 0

    def add(self, reply: dict[str, Any], waited_ns: int) -> None:
        self.samples += len(reply["samples"])
        self.calls += len(reply["samples"]) * int(reply["batch"])
        self.told += _told_ns(reply)
        self.waited += waited_ns


class Told:
    """Sums of a seat, by operation.

    >>> told = Told()
    >>> reply = {"cols": ["wall_ns"], "samples": [[1_000_000]], "batch": 1}
    >>> for _ in range(4):
    ...     told.add("encode", reply, 3_000_000)
    >>> told.suspected(lambda operation, calls: 100_000)
    {'encode': 21}
    >>> told.suspected(lambda operation, calls: 1_900_000)
    {}
    """

    def __init__(self) -> None:
        self._warmed: set[str] = set()
        self._firsts: dict[str, _Sum] = {}
        self._sums: dict[str, _Sum] = {}

    def add(self, operation: str, reply: dict[str, Any], waited_ns: int) -> None:
        """Add a reply; a first one counts only while it is alone, and not if it says that the worker warmed up for it."""
        if "warm_calls" in reply and operation not in self._warmed:
            self._warmed.add(operation)
            return
        sums = self._sums if operation in self._firsts else self._firsts
        sums.setdefault(operation, _Sum()).add(reply, waited_ns)

    def suspected(self, around_ns: Callable[[str, int], int]) -> dict[str, int]:
        """Operations whose sums are far too short, each with the calls of a longer sample.

        Args:
            around_ns: How long the parent waits for what is around a sample (`around_ns`), of an operation and of
                samples of so many calls; asked only if that can matter.
        """
        found = {}
        for operation, so_far in (self._firsts | self._sums).items():
            if not _short(operation, so_far, 0):
                continue
            around = around_ns(operation, so_far.calls // so_far.samples)
            if _short(operation, so_far, around):
                taken = so_far.waited - so_far.samples * around
                found[operation] = min(_MOST_CALLS, max(1, round(_FIRST_NS * so_far.calls / taken)))
        return found


def _may_take(operation: str) -> float:
    """How many times as long as the worker told the parent may have waited, the empty sample left out."""
    return _LONGER_WRITING if operation == "write" else _LONGER


def _told_ns(reply: dict[str, Any]) -> int:
    """Wall time of the samples of a reply of ``run``, in nanoseconds; the freeing of results is part of it.

    >>> _told_ns({"cols": ["wall_ns", "drop_ns"], "samples": [[7, 1], [5, None]]})
    12
    """
    wall = reply["cols"].index("wall_ns")
    return sum(row[wall] or 0 for row in reply["samples"])


def _short(operation: str, so_far: _Sum, around_ns: int) -> bool:
    taken = so_far.waited - so_far.samples * (around_ns + _EACH_NS)
    return taken > _may_take(operation) * so_far.told


def around_ns(ask: Callable[..., dict[str, Any]], operation: str, calls: int) -> int:
    """How long the parent waits for what is around a sample, in nanoseconds: of one call among many, else of an empty one.

    Args:
        ask: Sends ``run`` with these fields and gives its reply.
        operation: What the samples are of.
        calls: How many a usual sample has.
    """
    none = System(None, 0)
    one = timed(ask, lambda: none, operation if calls >= _MANY else "null", 1)
    return max(0, one.waited - one.wall)


def far_short(
    ask: Callable[..., dict[str, Any]], counted: Callable[[], System], operation: str, batch: int
) -> str:
    """What is wrong with what a worker tells of longer samples; empty if one of them accounts for the wait.

    A clock is at fault by what it told of a long sample more than of a short one (of an empty one, if the long one is a
    single call). Three long samples must say so; one that accounts for the wait without allowance is enough, however long
    it was. Where a batch cannot be long (in a store each call is a sample), several samples are one. Waiting for a CPU is in the
    worker's wall time too, unless it came outside of the sample: where the system counts that it did, it excuses a worker
    whose CPU time is what the system counts.

    Args:
        ask: Sends ``run`` with these fields and gives its reply.
        counted: What the system counts so far.
        operation: What the samples are of.
        batch: Calls of the first sample.
    """
    may_take, faults = _may_take(operation), 0
    pairs, full = 1, False
    cpu = used = around = 0
    for _ in range(_TRIES):
        few, many, apart = _beside(ask, counted, operation, batch, pairs)
        if many.batch < batch:
            # A sample of a sixteenth of what was asked for may have as many calls: it says nothing.
            batch, pairs, full = many.batch, _MORE, True
            # Beside an empty sample what is done once for each sample is all the long one's.
            may_take = _LONGER_WRITING if batch == 1 else may_take
            continue
        told, waited = max(0, many.wall - few.wall), many.waited - few.waited
        if waited <= may_take * told:
            return ""
        around = max(around, few.waited - few.wall)
        # What is around a sample may be twice as long.
        long_ns = _LONG_NS if full else max(_LONG_NS, 2 * around)
        most = may_take * told + _SLACK_NS * math.sqrt(pairs) + max(0, few.waited - few.wall) / 4 + apart
        lasted = waited
        if waited > most:
            if many.cpu is not None and few.cpu is not None:
                cpu += max(0, many.cpu - few.cpu)
                used += many.used - few.used
            excused = waited - many.queued <= most and used <= may_take * cpu + _SLACK_NS
            lasted = many.used - few.used if excused else waited
            faults += not excused and waited >= long_ns and (not full or pairs == _MOST_PAIRS)
            if faults == _FAULTS:
                return f"of {operation}, {told} ns were told for {waited} ns that the parent waited"
        elif waited >= long_ns:
            return ""
        if full:
            pairs = min(_MOST_PAIRS, pairs * _MORE)
        elif lasted < long_ns:
            batch = min(_MOST_CALLS, batch * _MORE)
    return ""


def _beside(
    ask: Callable[..., dict[str, Any]], counted: Callable[[], System], operation: str, batch: int, pairs: int
) -> tuple[Timed, Timed, float]:
    """Short samples and long ones in turn, each kind summed up, and how far the sum of the waits may be off.

    In turn, for what a long one leaves behind is collected before the next.
    """
    less = (operation, max(1, batch // _SHARE)) if batch > 1 else ("null", 1)
    found: list[tuple[Timed, Timed]] = []
    while len(found) < pairs and all(many.batch >= batch for _, many in found):
        found.append((timed(ask, counted, *less), timed(ask, counted, operation, batch)))
    few, many = (reduce(operator.add, some) for some in zip(*found, strict=True))
    waits = [many.waited - few.waited for few, many in found]
    return few, many, _SURE * math.sqrt(len(waits)) * stdev(waits) if len(waits) > 1 else 0.0
