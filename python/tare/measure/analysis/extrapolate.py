"""A codec's figures for the whole data, from the part that was measured, and how far they may be off."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tare.measure.analysis.figures import Analysis, Figure
from tare.measure.analysis.ranked_cases import SPAN
from tare.measure.analysis.statistics import FIRM, Array, seed_of
from tare.measure.verdict.cost_model import Costed

__all__ = ["OPERATIONS", "costed", "least_shifts", "scaled", "widened"]

Timed = tuple[float, Array]

# Writing and reading, by medium where one follows the other.
OPERATIONS = {"memory": ("encode", "decode"), "file": ("write", "read"), "store": ("write", "read")}
# Exponents that a codec may have whose growth was not measured: from a constant that is
# not outgrown yet to the least that is called super-linear.
UNKNOWN = (0.85, 1.15)
# What one launch shifts cannot be told from one or two, so it is taken for what launches shifted
# in runs on a busy machine. At screening, where first calls and constants weigh more, the times
# were off by more, beside what all codecs had in common (docs/decisions.md).
LAUNCH_SPREAD = {"weigh": 0.07, "screen": 0.3}
# Two processes that wait for each other are moved by whatever else runs: spans of one launch were off
# by 0.1 to 0.8, and single samples by 0.4 to 0.9. Samples too few for an interval are taken for that
# far off; a first call of one process for as far as at screening.
SPAN_SPREAD, SPAN_SAMPLE_SPREAD, SAMPLE_SPREAD = 0.3, 0.7, 0.3
# The least of the rounds of one process: what a second process of the base differed by on 25 data sets, and
# what few rounds were off by beside it (docs/decisions.md).
LEAST_SPREAD, LEAST_SAMPLE_SPREAD = 0.03, 0.15
# Half width of the interval of a ratio, in standard deviations of each of the two.
_RATIO_WIDTH = 1.959964 * math.sqrt(2)
# Few degrees of freedom: one codec in ten was off by more than twice the factor.
SPREAD_DEGREES = 3
# Growth is measured of cases with these labels only.
GROWN = {"grain": "whole", "threads": "1"}


def costed(
    case: Mapping[str, Any],
    analysis: Analysis,
    growth: Sequence[Mapping[str, Any]],
    full: float,
    seed: str = "",
) -> Costed | None:
    """A case's figures for the whole data; None without times for both ways.

    Draws of fewer launches than tell what a launch shifts are spread by what it usually shifts, or
    by what the base differed from itself if that is more.

    Args:
        case: The case, with its bytes.
        analysis: Figures of its record.
        growth: Growth rows of its record.
        full: The whole data, as a multiple of what the case measured.
        seed: What the draws of a prediction depend on, beside the codec and the medium.
    """
    labels, figures = case["labels"], analysis.figures.get(case["key"], {})
    codec, medium = labels["codec"], labels.get("medium", "memory")
    if case.get("bytes") is None:
        return None
    rows = {} if math.isclose(full, 1.0) else _rows(labels, growth)
    # One quantile of the range for all operations of a codec: a codec whose growth is
    # misjudged is so in both directions, and independent errors would cancel in their sum.
    random = np.random.RandomState(seed_of(f"{seed}|{codec}|{medium}"))
    quantile = random.uniform(size=analysis.sampler.draws)
    # So is a launch: one shift for all that one process did.
    shifts = random.standard_t(SPREAD_DEGREES, size=analysis.sampler.draws)
    stage = str(case.get("stage", "weigh"))

    def seconds(op: str) -> Timed | None:
        figure = figures.get(op)
        if figure is None or not math.isfinite(figure.time_ns):
            return None
        time_s, draws = scaled(figure, rows.get(op), full, quantile)
        spread = _spread(figure, stage, analysis.floor(case["key"], op))
        return time_s, draws * np.exp(spread * shifts) if spread else draws

    both = _both(case, medium, seconds)
    if both is None:
        return None
    (write_s, write_draws), (read_s, read_draws) = both
    encoded = case.get("whole_bytes") or next(
        (row["predicted_bytes"] for row in rows.values() if row.get("predicted_bytes")),
        case["bytes"] * full * case.get("whole_factor", 1.0),
    )
    one = Costed(codec, case["key"], float(encoded), write_s, read_s, write_draws, read_draws)
    # A record of before `whole_share` was kept does not tell: the whole was meant to be written.
    one.size_share = float(case.get("whole_share", 1.0)) if case.get("whole_bytes") else min(1.0, 1 / full)
    one.cold = any(figure.cold for figure in figures.values())
    part = seconds("subset")
    if part is not None:
        one.subset_s, one.subset_draws = part
    return one


def least_shifts(figure: Figure, draws: int, seed: str) -> Array:
    """Returns draws of what another process would add to the logarithm of a figure of one process; 0 for other figures.

    Args:
        figure: The figure.
        draws: How many.
        seed: What they depend on.
    """
    if figure.method != "least":
        return np.zeros(draws)
    shifts = np.random.RandomState(seed_of(seed)).standard_t(SPREAD_DEGREES, size=draws)
    return np.asarray(_spread(figure, "weigh", 0.0) * shifts)


def _spread(figure: Figure, stage: str, floor: float) -> float:
    """What a time may be off beyond what its rounds tell, as a spread of its logarithm.

    Args:
        figure: The time, with the numbers of its launches and samples.
        stage: Where it was taken.
        floor: Noise floor: what the base was off itself.
    """
    if figure.method == "least":
        few = 0.0 if figure.sure else LEAST_SAMPLE_SPREAD / math.sqrt(figure.samples)
        return max(math.hypot(LEAST_SPREAD, few), math.log1p(floor) / _RATIO_WIDTH)
    if figure.launches >= FIRM:
        return 0.0
    span = figure.op == SPAN
    launch = SPAN_SPREAD if span else LAUNCH_SPREAD.get(stage, LAUNCH_SPREAD["weigh"])
    sample = 0.0 if figure.sure else SPAN_SAMPLE_SPREAD if span else SAMPLE_SPREAD
    own = math.hypot(launch / math.sqrt(figure.launches), sample / math.sqrt(figure.samples))
    return max(own, math.log1p(floor) / _RATIO_WIDTH)


def scaled(figure: Figure, row: Mapping[str, Any] | None, full: float, quantile: Array) -> Timed:
    """One operation for the whole data: seconds, and draws that hold how far the prediction may be off.

    Args:
        figure: The operation as measured.
        row: Its growth row; None where growth was not measured.
        full: The whole data, as a multiple of what was measured.
        quantile: Where in the range of the prediction each draw lies, 0 to 1; the half is the prediction.
    """
    draws = np.exp(figure.draws) / 1e9
    if math.isclose(full, 1.0):
        return figure.time_ns / 1e9, draws
    measured = figure.time_ns
    point, lo, hi = measured * full, math.inf, 0.0
    if row is not None and 0 < (row["predicted_ns"] or 0) < math.inf:
        point = float(row["predicted_ns"])
        lo, hi = (float(row[end] or point) for end in ("predicted_lo_ns", "predicted_hi_ns"))
    if row is None or row.get("k") is None:
        lo, hi = widened(point, full, lo, hi)
    lo, hi = max(min(lo, point), 1e-3 * point), max(hi, point)
    logs = [math.log(end / measured) for end in (lo, point, hi)]
    return point / 1e9, draws * np.exp(np.interp(quantile, (0.0, 0.5, 1.0), logs))


def widened(point: float, full: float, lo: float = math.inf, hi: float = 0.0) -> tuple[float, float]:
    """The range of a prediction whose growth was not measured.

    Args:
        point: The prediction.
        full: The whole, as a multiple of what was measured.
        lo: Lower end as far as known.
        hi: Upper end as far as known.

    >>> [round(end) for end in widened(100.0, 10.0)]
    [71, 141]
    """
    ends = [point * full ** (exponent - 1) for exponent in UNKNOWN]
    return min(lo, *ends), max(hi, *ends)


def _rows(labels: Mapping[str, str], growth: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The growth rows of the very way a case works, by operation."""
    if any(labels.get(name, usual) != usual for name, usual in GROWN.items()):
        return {}
    wanted = labels["codec"], labels.get("medium", "memory"), labels.get("delivery", "whole")
    return {row["op"]: row for row in growth if (row["codec"], row["medium"], row["delivery"]) == wanted}


def _both(
    case: Mapping[str, Any], medium: str, seconds: Callable[[str], Timed | None]
) -> tuple[Timed, Timed] | None:
    """Writing and reading; nothing for the second where both ends work at once, or one way was asked for."""
    if medium in OPERATIONS:
        write, read = (seconds(op) for op in OPERATIONS[medium])
        if list(case.get("operations") or ()) in ([op] for op in OPERATIONS[medium]):
            timed = write or read
            nothing = None if timed is None else (0.0, np.zeros_like(timed[1]))
            write, read = write or nothing, read or nothing
    else:
        write = seconds(SPAN)
        read = None if write is None else (0.0, np.zeros_like(write[1]))
    return None if write is None or read is None else (write, read)
