"""Limits of a run: how long it takes, and how much of the data it loads."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.measure.settings import Settings

__all__ = ["available_bytes", "load_bytes", "usual_time_s", "with_limits"]

# Bytes of a file up to which so many seconds are usual.
_USUAL_S = ((50e6, 10.0), (500e6, 30.0))
_LONGEST_S = 60.0
# Every codec is meant to be reached where all are asked for.
_OF_ALL = 3.0
# Bytes in memory that are loaded for each second of the limit; text in columns is slow to open beside measuring it.
_BYTES_S, _TEXT_BYTES_S = 32 << 20, 8 << 20
# Bytes of a file of JSON up to which all of it is opened, for each second: 50 MB took 6 to 9 of 10 s on a busy machine.
_OPENED_S = 2.5e6
_TEXT = frozenset({".csv", ".tsv", ".psv"})


def usual_time_s(size: float, *, every: bool = False) -> float:
    """Returns the time limit of a run that names none, in seconds.

    Args:
        size: Bytes of the file, or of the object in memory.
        every: Whether every installed codec was asked for, which takes longer.

    >>> usual_time_s(1e6), usual_time_s(100e6), usual_time_s(2e9), usual_time_s(1e6, every=True)
    (10.0, 30.0, 60.0, 30.0)
    """
    usual_s = next((time_s for most, time_s in _USUAL_S if size <= most), _LONGEST_S)
    return usual_s * _OF_ALL if every else usual_s


def with_limits(settings: Settings, data: Any) -> Settings:
    """Returns the settings with a time limit and a bound of memory, by the size of the data where they name none.

    Args:
        settings: What was asked for.
        data: A path, several files, an object, or an opened Dataset.
    """
    if settings.time_s is None:
        settings = replace(settings, time_s=usual_time_s(_size_of(data), every=settings.all_codecs))
    if settings.max_bytes is None:
        path = data.paths[0] if hasattr(data, "paths") else data
        ends = Path(path).suffixes if isinstance(path, str | os.PathLike) else ()
        text = not _TEXT.isdisjoint(end.lower() for end in ends)
        settings = replace(
            settings,
            max_bytes=load_bytes(settings.limit_s, text=text),
            enough_bytes=_enough_bytes(settings.limit_s, _size_of(data)),
        )
    return settings


def _enough_bytes(time_s: float, size: float) -> int | None:
    """Bytes in memory that suffice of a file of JSON items; None where all of it may be opened, or no time is set.

    >>> _enough_bytes(10.0, 20e6) is None, _enough_bytes(0.0, 1e9) is None
    (True, True)
    >>> _enough_bytes(10.0, 49e6) == load_bytes(10.0, text=True)
    True
    """
    if not time_s or size <= time_s * _OPENED_S:
        return None
    return load_bytes(time_s, text=True)


def load_bytes(time_s: float, *, text: bool = False) -> int:
    """Returns how much of the data is loaded, in bytes in memory: what the time and the memory suffice for.

    Args:
        time_s: Time limit of the run in seconds; 0 for none.
        text: Whether the data is text in columns.

    >>> load_bytes(60.0, text=True) <= 480 << 20
    True
    """
    by_memory = available_bytes() // 16
    return min(by_memory, int(time_s * (_TEXT_BYTES_S if text else _BYTES_S))) if time_s else by_memory


def available_bytes() -> int:
    """Returns the memory that new processes may use without swapping."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return 4 << 30


def _size_of(data: Any) -> float:
    """Bytes of a file or of an opened object; infinite of what has no size before it is read."""
    if hasattr(data, "bytes_disk"):
        return float(data.bytes_disk or getattr(data, "bytes_memory", 0))
    try:
        return float(os.stat(data).st_size)
    except (OSError, TypeError, ValueError):
        return float("inf")
