"""One sample of a worker by its clocks and by the parent's, which clocks are held to."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["System", "Timed", "timed"]


@dataclass(frozen=True)
class System:
    """What the system counts so far, in nanoseconds.

    Args:
        used: CPU time of the worker; None where it is not told.
        queued: How long worker and parent were ready and waited for a CPU; 0 where it is not told.
    """

    used: int | None
    queued: int


@dataclass(frozen=True)
class Timed:
    """Samples as the worker told them (``wall`` and ``cpu``) and as we saw them, in nanoseconds.

    ``batch`` is the calls of the smallest, ``cpu`` None if the worker does not tell it.
    """

    batch: int
    wall: int
    cpu: int | None
    waited: int
    used: int
    queued: int

    def __add__(self, other: Timed) -> Timed:
        return Timed(
            min(self.batch, other.batch),
            self.wall + other.wall,
            None if self.cpu is None or other.cpu is None else self.cpu + other.cpu,
            self.waited + other.waited,
            self.used + other.used,
            self.queued + other.queued,
        )


def timed(ask: Callable[..., dict[str, Any]], counted: Callable[[], System], what: str, batch: int) -> Timed:
    """Ask for one sample and time it.

    Args:
        ask: Sends ``run`` with these fields and gives its reply.
        counted: What the system counts so far.
        what: The operation, or ``null`` for an empty sample.
        batch: Its calls.

    >>> reply = {"cols": ["wall_ns", "drop_ns"], "samples": [[8, 1]], "batch": 2}
    >>> sample = timed(lambda **fields: reply, lambda: System(None, 0), "encode", 2)
    >>> sample.batch, sample.wall, sample.cpu
    (2, 8, None)
    """
    before, began = counted(), time.monotonic_ns()
    reply = ask(what=what, samples=1, batch=batch)
    waited, after = time.monotonic_ns() - began, counted()
    cells = dict(zip(reply["cols"], reply["samples"][0], strict=True))
    user = cells.get("user_ns")
    cpu = None if user is None else user + (cells.get("sys_ns") or 0)
    known = before.used is not None and after.used is not None
    used = after.used - before.used if known else 0  # type: ignore[operator]
    queued = max(0, after.queued - before.queued)
    return Timed(int(reply["batch"]), cells["wall_ns"] or 0, cpu, waited, used, queued)
