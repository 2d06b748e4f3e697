"""What a published study said, and what its own timings say: sums, orders, exponents."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

__all__ = ["replay"]

_SEQUENTIAL = ("memory", "conn", "file")
_ABOVE_NS = 50_000_000
_LAST = 8
_LEAST = 4


def replay(cases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Compare published totals, the larger of write and read, with their sums.

    Args:
        cases: Cases with ``published``: ``write_ns, read_ns, total_ns, sum_ns``.

    Returns:
        ``sum_over_total``: median and largest sum / total of sequential media, and of how many;
        ``flips``: pairs at full size whose order the sum turns round;
        ``exponents``: one row per codec and medium, fitted to the last 8 sizes above 0.05 s,
        from published totals and from true sums, each with the full time predicted from the
        last point on (``predicted_s``) and on the line itself (``line_s``);
        ``faults``: what is shown other than it was published, in words.
    """
    published = [case for case in cases if "published" in case]
    return {
        "sum_over_total": _ratios(published),
        "flips": _flips(published),
        "exponents": _exponents(published),
        "faults": _faults(published),
    }


def _ratios(cases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    ratios = sorted(
        case["published"]["sum_ns"] / case["published"]["total_ns"]
        for case in cases
        if case["labels"]["medium"] in _SEQUENTIAL and case["published"]["total_ns"] > 0
    )
    if not ratios:
        return {"median": None, "most": None, "of": 0}
    middle = len(ratios) // 2
    median = ratios[middle] if len(ratios) % 2 else (ratios[middle - 1] + ratios[middle]) / 2
    return {"median": median, "most": ratios[-1], "of": len(ratios)}


def _flips(cases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Pairs of one sequential medium at full size whose order changes; unproven reads do not compete."""
    media: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for case in cases:
        labels = case["labels"]
        if labels["size"] == "1" and labels["medium"] in _SEQUENTIAL and case["status"] != "unproven":
            media[labels["medium"]].append(case)
    found = []
    for medium, several in media.items():
        for a, b in combinations(sorted(several, key=lambda case: case["published"]["total_ns"]), 2):
            first, second = a["published"], b["published"]
            if first["total_ns"] < second["total_ns"] and first["sum_ns"] > second["sum_ns"]:
                found.append(
                    {
                        "medium": medium,
                        "a": a["labels"]["codec"],
                        "b": b["labels"]["codec"],
                        "a_total_ns": first["total_ns"],
                        "b_total_ns": second["total_ns"],
                        "a_sum_ns": first["sum_ns"],
                        "b_sum_ns": second["sum_ns"],
                    }
                )
    return found


def _exponents(cases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    from tare.measure.analysis.scaling_fit import fit_growth

    curves: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for case in cases:
        curves[case["labels"]["codec"], case["labels"]["medium"]].append(case)
    rows = []
    for (codec, medium), several in sorted(curves.items()):
        row: dict[str, Any] = {"codec": codec, "medium": medium}
        for name in ("total", "sum"):
            if name == "sum" and medium not in _SEQUENTIAL:
                continue  # both ends run at once: the sum is nobody's waiting time
            points = sorted(
                (float(case["labels"]["size"]), case["published"][f"{name}_ns"])
                for case in several
                if case["published"][f"{name}_ns"] > _ABOVE_NS
            )[-_LAST:]
            if len(points) < _LEAST:
                continue
            fit = fit_growth([size for size, _ in points], [float(ns) for _, ns in points], 1.0)
            row[name] = {
                "k": fit.k,
                "k_lo": fit.k_lo,
                "k_hi": fit.k_hi,
                "points": len(points),
                "superlinear": fit.superlinear,
                "predicted_s": fit.predicted_ns / 1e9,
                "line_s": _line_s(points, fit.k),
            }
        if len(row) > 2:
            rows.append(row)
    return rows


def _line_s(points: Sequence[tuple[float, float]], k: float | None) -> float | None:
    """Full-size time on the fitted line itself, in seconds, as the study's readers would extend it."""
    if k is None:
        return None
    start = sum(math.log(ns) - k * math.log(size) for size, ns in points) / len(points)
    return math.exp(start) / 1e9


def _faults(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    unproven = [case for case in cases if case["status"] == "unproven"]
    largest = sum(
        case["published"]["total_ns"] == max(case["published"]["read_ns"], case["published"]["write_ns"])
        for case in cases
    )
    found = [
        f"total was the larger of read and write in {largest} of {len(cases)} rows; where one follows the "
        "other, the sum is shown",
        "one run per point, with the collector on: no interval can be given",
        "nothing was compared with what was written: no row but the ones named here is known to have lost data",
    ]
    if unproven:
        codecs = sorted({case["labels"]["codec"] for case in unproven})
        media = sorted({case["labels"]["medium"] for case in unproven})
        found.insert(
            0,
            f"{', '.join(codecs)} on {' and '.join(media)}: the reader used an undefined connection and swallowed "
            f"the error, so {len(unproven)} rows have no reading time",
        )
    return found
