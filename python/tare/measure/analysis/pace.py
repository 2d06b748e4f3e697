"""How fast the machine was beside each sample: times are brought to one speed.

A virtual CPU runs at half its speed for seconds at a time where its core is shared with another guest, and no counter says
so: of two codecs that were sampled in turn, one seemed twice as slow as the other. A worker therefore times a little fixed
work before and after each sample (``pace_ns``). As of other times the 10th percentile stands for a process: its moments of
greater speed are too few to be what a user meets, and those of lower speed are disturbed.

In one process of a hundred the work itself takes longer from begin to end, by how its memory lies, and its codecs do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isnan
from statistics import median
from typing import Any

__all__ = ["OTHER", "Paces", "at_one_speed", "other_share", "paces_of", "samples_of", "usual_pace"]

OTHER = 1.25
"""Fixed work that took so many times as long, or as short, was done at another speed; what differs by less is noise."""
_PERCENTILE = 10
# A process that was slow in so many rounds, in turn with others that were not, is not on a slower machine.
_MANY_ROUNDS = 4


def usual_pace(paces: Sequence[float]) -> float | None:
    """Returns the time of the fixed work that stands for a run, in nanoseconds; None where no worker told it.

    Args:
        paces: Those of all samples, the least first.

    >>> usual_pace([4, *[8] * 20]), usual_pace([4, 4, *[8] * 10]), usual_pace([])
    (8, 4, None)
    """
    return paces[len(paces) * _PERCENTILE // 100] if paces else None


@dataclass(frozen=True)
class Paces:
    """The speeds of a record.

    Args:
        usual_ns: The usual pace: of half of the samples the processes have this one or less; None where none was told.
        own: Process -> by how much its paces are multiplied, of those in which the work takes longer by itself.
    """

    usual_ns: float | None = None
    own: Mapping[int, float] = field(default_factory=dict)

    def columns_of(self, pid: int, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the columns of some samples of a process, their paces as those of any other."""
        factor = self.own.get(pid)
        if factor is None or "pace_ns" not in columns:
            return dict(columns)
        return {**columns, "pace_ns": [pace * factor for pace in columns["pace_ns"]]}


def paces_of(record: Mapping[str, Any]) -> Paces:
    """Returns the speeds of a record.

    >>> launch = {"pid": 7, "samples": {"encode": {"pace_ns": [9, 4], "round": [0, 1]}}}
    >>> paces_of({"cases": [{"launches": [launch]}]}).usual_ns
    4.0
    """
    told: dict[int, list[float]] = defaultdict(list)
    rounds: dict[int, set[int]] = defaultdict(set)
    for pid, columns in samples_of(record):
        told[pid] += columns.get("pace_ns") or ()
        rounds[pid] |= set(columns.get("round") or ()) if columns.get("pace_ns") else set()
    own = {pid: (float(usual_pace(sorted(paces)) or 0.0), len(paces)) for pid, paces in told.items() if paces}
    if not own:
        return Paces()
    usual = _middle(sorted(own.values()))
    odd = {
        pid: usual / pace
        for pid, (pace, _) in own.items()
        if min(told[pid]) > OTHER * usual and len(rounds[pid] - {0}) >= _MANY_ROUNDS
    }
    return Paces(usual, odd)


def _middle(weighted: Sequence[tuple[float, int]]) -> float:
    """Returns the value below which half of the weight lies, of values in order.

    >>> _middle([(4, 6), (8, 5)]), _middle([(4, 2), (8, 5)])
    (4, 8)
    """
    half = sum(weight for _, weight in weighted) / 2
    for value, weight in weighted:
        half -= weight
        if half <= 0:
            return value
    return weighted[-1][0]


def at_one_speed(times_ns: Sequence[float], columns: Mapping[str, Any], pace_ns: float | None) -> list[float]:
    """Returns the times of some samples of one operation as they would be at the usual speed.

    The ratio of two speeds is not that of every piece of work: none that was slower is brought below the least that was taken
    at the usual speed, or, where none was, below the middle one.

    Args:
        times_ns: A time for each sample; NaN where there is none.
        columns: Their columns, with ``pace_ns`` where the worker told it.
        pace_ns: What the fixed work takes at the usual speed; None where that is not known.

    >>> at_one_speed([10.0, 24.0, 10.0], {"pace_ns": [4, 8, 4.5]}, 4), at_one_speed([10.0], {}, 4)
    ([10.0, 12.0, 10.0], [10.0])
    >>> at_one_speed([10.0, 18.0], {"pace_ns": [4, 8]}, 4), at_one_speed([9.0, 18.0, 12.0], {"pace_ns": [8, 8, 8]}, 4)
    ([10.0, 10.0], [6.0, 9.0, 6.0])
    >>> at_one_speed([5.0, 10.0], {"pace_ns": [4, 8]}, 8)
    [10.0, 10.0]
    """
    paces = columns.get("pace_ns")
    if not pace_ns or paces is None or len(paces) != len(times_ns):
        return list(times_ns)
    slow, fast = ([_is_other(pace, pace_ns, way) for pace in paces] for way in (1, -1))
    found = [
        time * pace_ns / pace if is_slow or is_fast else time
        for time, pace, is_slow, is_fast in zip(times_ns, paces, slow, fast, strict=True)
    ]
    usual = [time for time, is_slow in zip(found, slow, strict=True) if not is_slow and not isnan(time)]
    known = [time for time in found if not isnan(time)]
    least = min(usual) if usual else median(known) if known else 0.0
    return [max(time, least) if is_slow else time for time, is_slow in zip(found, slow, strict=True)]


def _is_other(pace: float, pace_ns: float, way: int) -> bool:
    return pace > OTHER * pace_ns if way > 0 else pace * OTHER < pace_ns


def other_share(record: Mapping[str, Any]) -> float:
    """Returns the share of a record's samples that were taken at another speed than the usual one, 0 to 1.

    >>> launch = {"samples": {"encode": {"pace_ns": [4, 8, 4, 4]}}}
    >>> other_share({"cases": [{"launches": [launch]}]})
    0.25
    """
    found = paces_of(record)
    usual = found.usual_ns
    if usual is None:
        return 0.0
    told = [found.columns_of(pid, columns).get("pace_ns") or () for pid, columns in samples_of(record)]
    paces = list(chain.from_iterable(told))
    return sum(_is_other(pace, usual, 1) or _is_other(pace, usual, -1) for pace in paces) / len(paces)


def samples_of(record: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yields the process and the columns of every operation of every launch."""
    for case in record.get("cases", ()):
        for launch in case.get("launches") or ():
            for columns in launch["samples"].values():
                yield int(launch.get("pid") or 0), columns
