"""How fast the machine was beside each sample: times are brought to its full speed.

A virtual CPU runs at half its speed for seconds at a time where its core is shared with another guest, and no counter says
so: of two codecs that were sampled in turn, one seemed twice as slow as the other. A worker therefore times a little fixed
work before and after each sample (``pace_ns``); the least of a run is that of full speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from statistics import median
from typing import Any

__all__ = ["SLOWED", "at_full_speed", "least_pace", "samples_of", "slowed_share"]

SLOWED = 1.25
"""Fixed work that took so many times the least was done at a lower speed; what differs by less is noise."""


def least_pace(samples: Iterable[Mapping[str, Any]]) -> float | None:
    """Returns the least time of the fixed work in the columns of some operations, nanoseconds; None where no worker told it.

    >>> least_pace([{"pace_ns": [9, 4]}, {"wall_ns": [3]}]), least_pace([])
    (4, None)
    """
    return min((min(columns["pace_ns"]) for columns in samples if columns.get("pace_ns")), default=None)


def at_full_speed(
    times_ns: Sequence[float], columns: Mapping[str, Any], pace_ns: float | None
) -> list[float]:
    """Returns the times of some samples of one operation as they would be at full speed.

    The ratio of two speeds is not that of every piece of work: none is brought below the least that was taken at full
    speed, or, where none was, below the middle one.

    Args:
        times_ns: A time for each sample; NaN where there is none.
        columns: Their columns, with ``pace_ns`` where the worker told it.
        pace_ns: What the fixed work takes at full speed; None where that is not known.

    >>> at_full_speed([10.0, 24.0, 10.0], {"pace_ns": [4, 8, 4.5]}, 4), at_full_speed([10.0], {}, 4)
    ([10.0, 12.0, 10.0], [10.0])
    >>> at_full_speed([10.0, 18.0], {"pace_ns": [4, 8]}, 4), at_full_speed([9.0, 18.0, 12.0], {"pace_ns": [8, 8, 8]}, 4)
    ([10.0, 10.0], [6.0, 9.0, 6.0])
    """
    paces = columns.get("pace_ns")
    if not pace_ns or paces is None or len(paces) != len(times_ns):
        return list(times_ns)
    slow = [pace > SLOWED * pace_ns for pace in paces]
    found = [
        time * pace_ns / pace if is_slow else time
        for time, pace, is_slow in zip(times_ns, paces, slow, strict=True)
    ]
    full = [time for time, is_slow in zip(found, slow, strict=True) if not is_slow and not isnan(time)]
    known = [time for time in found if not isnan(time)]
    least = min(full) if full else median(known) if known else 0.0
    return [max(time, least) if is_slow else time for time, is_slow in zip(found, slow, strict=True)]


def slowed_share(record: Mapping[str, Any]) -> float:
    """Returns the share of a record's samples that were taken at a lower speed, 0 to 1.

    >>> launch = {"samples": {"encode": {"pace_ns": [4, 8, 4, 4]}}}
    >>> slowed_share({"cases": [{"launches": [launch]}]})
    0.25
    """
    samples = list(samples_of(record))
    least = least_pace(samples)
    paces: list[float] = [pace for columns in samples for pace in columns.get("pace_ns") or ()]
    return sum(pace > SLOWED * (least or 0.0) for pace in paces) / max(1, len(paces))


def samples_of(record: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Yields the columns of every operation of every launch."""
    for case in record.get("cases", ()):
        for launch in case.get("launches") or ():
            yield from launch["samples"].values()
