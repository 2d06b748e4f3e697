"""How busy the machine is while we measure: pressure stalls, steal, load.

Sources: ``/proc/pressure/cpu`` (``some total``, microseconds in which at least
one task waited for a CPU), ``/proc/stat`` (steal ticks of a virtual machine),
the one-minute load. What a system lacks is None, never 0.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

__all__ = ["Pressure", "snapshot"]


@dataclass(frozen=True)
class Pressure:
    """One reading of the machine's counters.

    Args:
        at_ns: Monotonic time of the reading.
        stalled_us: Total time some task waited for a CPU, in microseconds.
        steal: Ticks taken by the hypervisor, over all CPUs.
        ticks: All ticks, over all CPUs.
        load: One-minute load average.
    """

    at_ns: int
    stalled_us: int | None
    steal: int | None
    ticks: int | None
    load: float | None

    def stalled_share(self, later: Pressure) -> float | None:
        """Share of the time until ``later`` in which some task waited for a CPU."""
        if self.stalled_us is None or later.stalled_us is None:
            return None
        elapsed_us = max(1, (later.at_ns - self.at_ns) // 1000)
        return min(1.0, (later.stalled_us - self.stalled_us) / elapsed_us)

    def steal_share(self, later: Pressure) -> float | None:
        """Share of all CPU time until ``later`` that the hypervisor took."""
        if self.steal is None or later.steal is None or self.ticks is None or later.ticks is None:
            return None
        return (later.steal - self.steal) / max(1, later.ticks - self.ticks)


def snapshot() -> Pressure:
    """Read the counters now.

    >>> first = snapshot()
    >>> first.at_ns <= snapshot().at_ns
    True
    """
    steal, ticks = _stat()
    return Pressure(time.monotonic_ns(), _stalled_us(), steal, ticks, _load())


def _stalled_us() -> int | None:
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as file:
            line = file.readline()
        return int(line.rsplit("total=", 1)[1])
    except (OSError, IndexError, ValueError):
        return None


def _stat() -> tuple[int | None, int | None]:
    try:
        with open("/proc/stat", encoding="ascii") as file:
            fields = [int(field) for field in file.readline().split()[1:]]
        return fields[7], sum(fields[:8])
    except (OSError, IndexError, ValueError):
        return None, None


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None
