"""How long this process has been running: what a user has waited for before anything is measured."""

from __future__ import annotations

import os

__all__ = ["process_age_s"]

# Place of the start in /proc/self/stat, behind the name, which may hold spaces.
_START = 19


def process_age_s() -> float:
    """Returns the seconds since the system started this process; 0 where it does not say.

    >>> 0 <= process_age_s() < 1e6
    True
    """
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        with open("/proc/uptime", encoding="ascii") as file:
            uptime_s = float(file.read().split()[0])
        return max(0.0, uptime_s - int(fields[_START]) / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return 0.0
