"""First calls: what a codec that was called only once takes when it is called again, as far as the others tell.

A first call pays for memory and pages that the next one finds. Beside a figure of later calls it would lose for that
alone, so it is never held against one as it is.
"""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from tare.measure.analysis.statistics import seed_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tare.measure.analysis.figures import Figure, Group

__all__ = ["expect_later_calls"]

# Which first call of a case each operation's is.
_FIRST = {"encode": "encode_ns", "write": "encode_ns", "decode": "decode_ns", "read": "decode_ns"}
# Shorter first calls, in nanoseconds, pay for imports above all, and tell nothing of long ones.
_LONG_NS = 20e6


def expect_later_calls(group: Group) -> None:
    """Sets each figure that is of a first call alone to what a later call is expected to take.

    That is its time by as much less as the others' later calls took less than their first ones; at least the time in
    the codec's own code, and at most the first call itself, which are the ends of its interval. Where no codec of
    the group was called again, first calls stand beside first calls.

    Args:
        group: Cases that may be compared, their figures summarised.
    """
    firsts = {case["key"]: case.get("cold") or {} for case in group.cases}
    for op, name in _FIRST.items():
        figures = [one for (_, its), one in group.figures.items() if its == op and math.isfinite(one.time_ns)]
        if not any(one.cold for one in figures):
            continue
        gain = _gain([one for one in figures if not one.cold], firsts, name)
        for figure in figures:
            if figure.cold and gain is not None:
                _shift(figure, gain)


def _gain(warm: Sequence[Figure], firsts: Mapping[str, Mapping[str, Any]], name: str) -> float | None:
    """The share of its first call that a later call took, in the middle of some codecs; None if that is not known."""
    known = [(one.time_ns, float(firsts[one.key].get(name) or 0.0)) for one in warm]
    gains = [min(1.0, later / first) for later, first in known if first >= _LONG_NS]
    return median(gains) if gains else None


def _shift(figure: Figure, gain: float) -> None:
    first = figure.time_ns
    least = min(figure.own_ns or first, first)
    figure.time_ns = max(least, gain * first)
    figure.lo_ns, figure.hi_ns = least, first
    places = np.random.RandomState(seed_of(f"{figure.key}|{figure.op}")).uniform(size=figure.draws.shape)
    ends = [math.log(end / first) for end in (least, figure.time_ns, first)]
    figure.draws = figure.draws + np.interp(places, (0.0, 0.5, 1.0), ends)
