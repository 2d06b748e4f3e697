"""Everything a record says beyond its raw samples, computed from those alone.

``derive(record)`` of a saved record gives what was saved: the draws are seeded by
the record's id and made by a frozen generator, and figures are rounded to six
digits, so that the last bit of a processor's arithmetic does not show.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from statistics import median_low
from typing import Any

import numpy as np

from tare.measure.analysis.extrapolate import OPERATIONS
from tare.measure.analysis.figures import Analysis, Figure, analyse
from tare.measure.analysis.plausibility import copying, idle, too_quick
from tare.measure.analysis.ranked_cases import SPAN, TOTAL, is_ranked, main_cases, peak_of
from tare.measure.records.record import DERIVED_VERSION
from tare.measure.verdict.choice import Evidence, choose, gather
from tare.measure.verdict.constraints import kept
from tare.measure.verdict.cost_model import PROFILES, Profile, envelope, pareto
from tare.measure.verdict.default_use import default_profile, link_of
from tare.measure.verdict.recommend import recommend
from tare.measure.worker.peak_memory import copies

__all__ = ["VERSION", "derive", "noise_of", "pareto_keys"]

VERSION = DERIVED_VERSION
DIGITS = 6
QUIET_FLOOR = 0.05
QUIET_PSI = 0.10
# A launch in which processes waited for a CPU longer than this share of its time.
STALLED = 0.05


def derive(record: Mapping[str, Any]) -> dict[str, Any]:
    """Compute ``record["derived"]`` from the raw samples.

    Args:
        record: A record, version 1 or 2, finished or not; nothing in it is changed.

    Returns:
        ``version, base, headline_profile, headline, cases, growth, pareto, crossings,
        profiles, noise`` in plain JSON values. Times are in nanoseconds unless a name
        says otherwise, sizes in bytes, rates in bytes per second.

    >>> derive({"id": "x", "cases": [], "codecs": {}, "dataset": {"kind": "table"}})["headline_profile"]
    'keep'
    """
    evidence = gather(record)
    analysis, growth = evidence.analysis, evidence.growth
    settings = record.get("settings") or {}
    asked = default_profile(record)
    profiles = {
        name: recommend(
            record,
            profile=name,
            evidence=evidence,
            allow_loss=tuple(settings.get("allow_loss") or ()),
            must=tuple(settings.get("must") or ()),
            link=link_of(record, name),
            gb_seconds=settings.get("gb_seconds"),
        )
        for name in PROFILES
        if name != "random" or asked == "random" or _reads_parts(record)
    }
    plain: dict[str, Any] = rounded(
        {
            "version": VERSION,
            "base": analysis.base,
            "headline_profile": asked,
            "headline": profiles[asked],
            "cases": _cases(evidence),
            "growth": list(growth),
            "pareto": pareto_keys(record, analysis),
            "crossings": _crossings(evidence, tuple(settings.get("allow_loss") or ())),
            "profiles": profiles,
            "noise": noise_of(record, analysis),
        }
    )
    return plain


def _reads_parts(record: Mapping[str, Any]) -> bool:
    """Returns true if reading a part was measured, which ``random`` requires."""
    return any(
        (launch.get("samples") or {}).get("subset")
        for case in record.get("cases", ())
        for launch in case.get("launches") or ()
    )


def rounded(value: Any) -> Any:
    """The same in plain JSON values: floats of six digits, None for what is not finite.

    >>> rounded({"a": (1.23456789, float("nan"), np.float64(2.0))})
    {'a': [1.23457, None, 2.0]}
    """
    if isinstance(value, dict):
        return {str(key): rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, np.bool_):
        return bool(value)
    return int(value) if isinstance(value, np.integer) else value


def noise_of(record: Mapping[str, Any], analysis: Analysis | None = None) -> dict[str, Any]:
    """How noisy the run was: the base against itself, contention, launches and rounds.

    It is of what was weighed; of a growing run, which weighs nothing, of the sizes of its curves.

    Args:
        record: The record.
        analysis: Its figures, if at hand.

    Returns:
        ``aa`` (one row a medium, size and operation: ``ratio, lo, hi``), ``floor`` (the
        largest relative half width among those of the main size; None without a twin),
        ``contended_share`` of cases (of the time, if all are spans), ``psi_some``, ``stalled_share`` (of a growing
        run alone: of its launches), ``launches``, ``rounds``, ``quiet``. What was not measured is None.

    >>> noise_of({"id": "x", "cases": []})["contended_share"], noise_of({"id": "x", "cases": []})["quiet"]
    (None, None)
    """
    analysis = analysis or analyse(record)
    groups = [group for group in analysis.groups if group.stage == "weigh"]
    grown = [] if groups else [group for group in analysis.groups if group.stage == "growth"]
    groups = groups or grown
    floors = [group.floor[TOTAL] for group in groups if TOTAL in group.floor]
    figures = [figure for group in groups for figure in group.of(TOTAL)]
    launches = [launch for group in groups for case in group.cases for launch in case["launches"]]
    stalled = [float(launch["psi_some"]) for launch in launches if launch.get("psi_some") is not None]
    rounds = [len(columns["round"]) for launch in launches for columns in launch["samples"].values()]
    psi = float(np.median(stalled)) if stalled else None
    # A point of a curve has one launch: no median over launches sets right what disturbed it.
    disturbed = sum(one > STALLED for one in stalled) / len(stalled) if grown and stalled else None
    # Of two processes at once the wall clock is ranked, and what CPU time ran away from is not known.
    clocked = [
        figure for group in groups for figure in group.of(TOTAL) if (figure.key, SPAN) not in group.figures
    ]
    contended = sum(one.contended for one in clocked) / len(clocked) if clocked else psi
    floor = max(floors) if floors else (record.get("noise") or {}).get("floor")
    limits = ((floor, QUIET_FLOOR), (contended, QUIET_PSI), (psi, QUIET_PSI), (disturbed, QUIET_PSI))
    known = [(value, limit) for value, limit in limits if value is not None]
    return {
        "aa": [row for group in groups for row in group.aa],
        "floor": floor,
        "contended_share": contended,
        "psi_some": psi,
        "stalled_share": disturbed,
        # In a plan the base takes part in every group: its launches are several times the others'.
        "launches": median_low(figure.launches for figure in figures) if figures else None,
        "rounds": int(np.median(rounds)) if rounds else None,
        "quiet": all(value < limit for value, limit in known) if known else None,
    }


def _cases(evidence: Evidence) -> dict[str, Any]:
    record, analysis = evidence.record, evidence.analysis
    steep: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for row in evidence.growth:
        if row["superlinear"] and row["op"] != TOTAL:
            steep[row["codec"], row["medium"], row["delivery"]].append(
                f"{row['op']} grows faster than the data: k={row['k']:.2f} [{row['k_lo']:.2f}, {row['k_hi']:.2f}]"
            )
    per_byte, mains = copying(record, analysis), main_cases(record)
    found = {}
    for case in record.get("cases", ()):
        labels, figures = case["labels"], analysis.figures.get(case["key"], {})
        row = _case(case, figures)
        row["flags"] = _flags(case, figures, per_byte)
        row["flags"] += steep.get(
            (labels["codec"], labels.get("medium", "memory"), labels.get("delivery", "whole")), []
        )
        if case.get("status") == "screened" and case.get("predicted"):
            base = mains.get((analysis.base, labels.get("medium", "memory")))
            row |= _predicted(case["predicted"], row, analysis.figures.get(base["key"], {}) if base else {})
        found[case["key"]] = row
    return found


def _case(case: Mapping[str, Any], figures: Mapping[str, Figure]) -> dict[str, Any]:
    encoded, raw = case.get("bytes"), case.get("raw_bytes")
    peak = peak_of(case)
    return {
        "ops": {op: _op(figure) for op, figure in figures.items() if op != TOTAL},
        "total": _op(figures[TOTAL]) if TOTAL in figures else None,
        "bytes": encoded,
        "size_share": encoded / raw if encoded is not None and raw else None,
        "peak_bytes": peak,
        "copies_encoded": copies(peak, encoded),
        "copies_memory": copies(peak, raw),
        "kept": kept(case),
    }


def _op(figure: Figure) -> dict[str, Any]:
    return {
        "t_ns": figure.time_ns,
        "lo_ns": figure.lo_ns,
        "hi_ns": figure.hi_ns,
        "floor_ns": figure.floor_ns,
        "cpu_ns": figure.cpu_ns,
        "wall_ns": figure.wall_ns,
        "blocked_ns": figure.blocked_ns,
        "launches": figure.launches,
        "samples": figure.samples,
        "method": figure.method,
        "provisional": figure.launches < 3,
        "contended": figure.contended,
        "ratio": figure.ratio,
        "ratio_lo": figure.ratio_lo,
        "ratio_hi": figure.ratio_hi,
        "letters": figure.letters,
    }


def _predicted(
    predicted: Mapping[str, Any], row: Mapping[str, Any], bases: Mapping[str, Figure]
) -> dict[str, Any]:
    """A screened codec's figures in proportion to the weighed size, so that it can stand in the same table."""
    times = {op: float(t_ns) for op, t_ns in (predicted.get("ops") or {}).items() if t_ns}
    nothing = {
        "lo_ns": None,
        "hi_ns": None,
        "floor_ns": None,
        "cpu_ns": None,
        "wall_ns": None,
        "blocked_ns": None,
        "launches": 0,
        "samples": 0,
        "method": "none",
        "provisional": True,
        "contended": False,
        "ratio_lo": None,
        "ratio_hi": None,
        "letters": "",
        "predicted": True,
    }

    def figure(op: str, t_ns: float) -> dict[str, Any]:
        return {"t_ns": t_ns, "ratio": t_ns / bases[op].time_ns if op in bases else None, **nothing}

    complete = any(set(pair) <= set(times) for pair in OPERATIONS.values())
    return {
        "ops": {op: figure(op, t_ns) for op, t_ns in times.items()},
        "total": figure(TOTAL, sum(times.values())) if complete else None,
        "bytes": row["bytes"] if predicted.get("bytes") is None else predicted["bytes"],
        "flags": [*row["flags"], "predicted from the screening"],
    }


def _flags(
    case: Mapping[str, Any], figures: Mapping[str, Figure], per_byte: Mapping[str, float]
) -> list[str]:
    flags: list[str] = []
    if unchecked := (case.get("verify") or {}).get("unchecked"):
        flags.append(f"kept is its worker's own word: {unchecked}")
    if not is_ranked(case):
        return flags
    flags += ["reads in less time than its bytes are copied" for _ in too_quick(case, figures, per_byte)]
    timed = [figure for op, figure in figures.items() if op != TOTAL]
    if any(figure.contended for figure in timed):
        flags.append("contended: the wall clock ran 10 % past CPU and blocked time")
    if any(figure.cold for figure in timed):
        flags.append("timed by its first call: a later one is estimated from those of others")
    if any(figure.marked for figure in timed) and case.get("stage", "weigh") == "weigh":
        flags.append("blocked time is the least seen: fewer than 3 samples were free of preemption")
    return flags


def pareto_keys(
    record: Mapping[str, Any], analysis: Analysis, axes: tuple[str, ...] = ("size", "write", "read")
) -> list[str]:
    """Keys of the cases that no other one beats in size, writing and reading.

    Args:
        record: The record.
        analysis: Its figures.
        axes: ``size``, ``write``, ``read``, and ``memory`` for the peak.
    """
    per_byte = copying(record, analysis)
    mains = {
        at: case
        for at, case in main_cases(record).items()
        if case.get("status") == "ok"
        and not idle(record, case, analysis.figures.get(case["key"], {}), per_byte)
    }
    media = [
        medium
        for medium in ("file", "memory", "store")
        if any(
            at[1] == medium and TOTAL in analysis.figures.get(case["key"], {}) for at, case in mains.items()
        )
    ]
    if not media:
        return []
    keys, items = [], []
    for (_, medium), case in sorted(mains.items()):
        figures = analysis.figures.get(case["key"], {})
        if medium != media[0] or TOTAL not in figures or case.get("bytes") is None:
            continue
        write, read = OPERATIONS[medium]
        peak = peak_of(case) or 0
        sure = np.zeros(1)
        # A plan that asks for one way only has no figure of the other: it is the same for all.
        times = {
            op: (figures[op].time_ns, figures[op].draws) if op in figures else (0.0, sure)
            for op in (write, read)
        }
        known = {
            "size": (float(case["bytes"]), sure + case["bytes"]),
            "memory": (float(peak), sure + peak),
            "write": times[write],
            "read": times[read],
        }
        keys.append(case["key"])
        items.append([known[axis] for axis in axes])
    return [keys[i] for i in pareto(items)]


def _crossings(evidence: Evidence, allow_loss: tuple[str, ...]) -> list[dict[str, Any]]:
    """Where the best codec changes with the bandwidth, for one write and one read, slow to fast."""
    plain = Profile("crossings", "", "memory")
    choice = choose(evidence, plain, (), allow_loss)
    if choice.medium not in OPERATIONS:
        return []
    return [
        {"a": a.codec, "b": b.codec, "v_bytes_s": where.at, "lo": where.lo, "hi": where.hi}
        for a, b, where in envelope(choice.several, plain)
    ]
