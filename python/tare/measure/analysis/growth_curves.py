"""The growth curves of a record: points, exponent, predicted full-size time, and where each curve ended."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tare.measure.analysis.extrapolate import widened
from tare.measure.analysis.figures import Analysis, Figure
from tare.measure.analysis.ranked_cases import is_ranked, main_size, number
from tare.measure.analysis.scaling_fit import POINTS, fit_growth, fit_line

__all__ = ["full_share", "growth_rows"]

FAILED = ("refused", "error", "timeout", "killed", "unproven")
# A point needs a few samples: one cold call says nothing about growth.
SAMPLES = 2
BYTES_OFF = 0.05


def full_share(record: Mapping[str, Any]) -> float:
    """The whole data in units of the size label: 1, or more when only a part was loaded.

    >>> full_share({"dataset": {"partial": {"rule": "first rows", "share": 0.25}}})
    4.0
    """
    partial = (record.get("dataset") or {}).get("partial") or {}
    share = partial.get("share")
    return 1.0 / float(share) if share else 1.0


def growth_rows(record: Mapping[str, Any], analysis: Analysis) -> list[dict[str, Any]]:
    """One row for each codec, medium, delivery and operation with times at two sizes or more.

    Args:
        record: The record.
        analysis: Its figures.
    """
    curves: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    weighed = number(main_size(record))
    for case in record.get("cases", ()):
        labels = case["labels"]
        if not is_ranked(case) or case.get("stage", "weigh") == "probe":
            continue
        if case.get("stage", "weigh") == "weigh" and number(labels.get("size", "1")) != weighed:
            continue
        if labels.get("grain", "whole") == "whole" and labels.get("threads", "1") == "1":
            curves[labels["codec"], labels.get("medium", "memory"), labels.get("delivery", "whole")].append(
                case
            )
    floor_ns = float((record.get("noise") or {}).get("timer_floor_ns") or 0.0)
    rows = []
    for (codec, medium, delivery), cases in sorted(curves.items()):
        where = {"codec": codec, "medium": medium, "delivery": delivery}
        rows += [where | row for row in _curve(cases, analysis, full_share(record), floor_ns)]
    return rows


def _curve(
    cases: Sequence[dict[str, Any]], analysis: Analysis, full: float, floor_ns: float
) -> list[dict[str, Any]]:
    end = _end(cases)
    timed = _one_per_size(
        [case for case in cases if case["key"] in analysis.figures and case.get("status") not in FAILED]
    )
    unit = _unit(timed)
    rows = []
    for op in sorted({op for case in timed for op in analysis.figures[case["key"]]}):
        points = [case for case in timed if _usable(case, analysis, op)]
        # The sample of the screening shares its worker with other codecs: only where points are few.
        if sum(case.get("stage", "weigh") != "screen" for case in points) >= POINTS:
            points = [case for case in points if case.get("stage", "weigh") != "screen"]
        if len(points) < 2:
            continue
        figures = [analysis.figures[case["key"]][op] for case in points]
        rows.append(_row(points, figures, unit, full=full, floor_ns=floor_ns) | {"end": end})
    return rows


def _row(
    points: Sequence[dict[str, Any]], figures: Sequence[Figure], unit: str, *, full: float, floor_ns: float
) -> dict[str, Any]:
    sizes = [_measure(case, unit) for case in points]
    largest = number(points[-1]["labels"]["size"])
    target = sizes[-1] * full / largest if largest else sizes[-1]
    draws = np.stack([figure.draws for figure in figures])
    replicated = all(figure.samples > 1 for figure in figures)
    fit = fit_growth(
        sizes,
        [figure.time_ns for figure in figures],
        target,
        draws=draws if replicated else None,
        floor_ns=floor_ns,
    )
    encoded = [float(case["bytes"]) for case in points if case.get("bytes") is not None]
    line = fit_line(sizes, encoded) if len(encoded) == len(sizes) else None
    reached = abs(target / sizes[-1] - 1) < 1e-9
    lo, hi = fit.predicted_lo_ns, fit.predicted_hi_ns
    if fit.k is None and math.isfinite(fit.predicted_ns):
        lo, hi = widened(
            fit.predicted_ns, target / sizes[-1], *(() if lo is None or hi is None else (lo, hi))
        )
    return {
        "op": figures[0].op,
        "k": fit.k,
        "k_lo": fit.k_lo,
        "k_hi": fit.k_hi,
        "n": fit.n,
        "superlinear": fit.superlinear,
        "predicted_ns": figures[-1].time_ns if reached else fit.predicted_ns,
        "predicted_lo_ns": figures[-1].lo_ns if reached else lo,
        "predicted_hi_ns": figures[-1].hi_ns if reached else hi,
        "measured": reached,
        "range": fit.is_range and not reached,
        "terms": list(fit.terms),
        "unit": unit,
        "bytes_slope": line.slope if line else None,
        "bytes_bent": bool(line and line.last_off > BYTES_OFF),
        "predicted_bytes": None if line is None else encoded[-1] if reached else line.at(target),
        "points": [
            [
                number(case["labels"]["size"]),
                _measure(case, "items") or None,
                case.get("bytes"),
                figure.time_ns,
            ]
            for case, figure in zip(points, figures, strict=True)
        ],
    }


def _usable(case: Mapping[str, Any], analysis: Analysis, op: str) -> bool:
    figure = analysis.figures[case["key"]].get(op)
    if figure is None or not np.isfinite(figure.time_ns):
        return False
    return case.get("stage", "weigh") != "screen" or figure.samples > SAMPLES


def _one_per_size(cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The best case at each size, smallest size first: weighed before grown before screened."""
    worth = {"weigh": 0, "growth": 1, "screen": 2}
    chosen: dict[str, dict[str, Any]] = {}
    for case in sorted(cases, key=lambda c: (worth.get(c.get("stage", "weigh"), 3), c["key"])):
        labels = case["labels"]
        if (labels.get("cache", "warm"), labels.get("sync", "none"), labels.get("gc", "off")) == (
            "warm",
            "none",
            "off",
        ):
            chosen.setdefault(labels["size"], case)
    return sorted(chosen.values(), key=lambda case: number(case["labels"]["size"]))


def _unit(cases: Sequence[dict[str, Any]]) -> str:
    """What sizes are counted in: items where they grow with the size, else bytes in memory, else shares."""
    for unit in ("items", "raw_bytes"):
        counts = [case.get(unit) or 0 for case in cases]
        if all(count > 0 for count in counts) and all(a < b for a, b in itertools.pairwise(counts)):
            return unit
    return "size"


def _measure(case: Mapping[str, Any], unit: str) -> float:
    return number(case["labels"]["size"]) if unit == "size" else float(case.get(unit) or 0)


def _end(cases: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Where the curve ended with a failure: the smallest size that failed."""
    failed = [case for case in cases if case.get("status") in FAILED and case.get("stage") != "screen"]
    if not failed:
        return None
    first = min(failed, key=lambda case: number(case["labels"]["size"]))
    return {
        "size": number(first["labels"]["size"]),
        "status": first["status"],
        "reason": first.get("reason", ""),
    }
