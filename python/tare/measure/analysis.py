"""The samples of a record as figures: one for each operation of each case.

Cases that may be compared (same data, size, medium and settings; only the codec
and its delivery differ) form a group. All series of a group lie on one grid of
launches x rounds, so that any two can be compared by their own pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from tare.measure.statistics import (
    Array,
    Resampler,
    Summary,
    align,
    differs,
    median,
    sample_times,
    seed_of,
    summarise,
)

__all__ = ["TOTAL", "Analysis", "Figure", "Group", "analyse", "base_of", "main_cases", "main_size"]

TOTAL = "total"
# What a user waits for, by medium: one after the other, or the span where both ends work at once.
SUMS = (("write", "read"), ("encode", "decode"))
SPAN = "span"
# Two codecs are compared when these labels agree; delivery and orientation belong to the codec's way of working.
GROUP_LABELS = ("dataset", "size", "medium", "threads", "gc", "cache", "sync", "materialise", "subset", "kind",
                "grain", "order", "content")
CONTENDED = 1.1
UNKNOWN = {"delivery": "whole", "threads": "1", "gc": "off", "cache": "warm", "sync": "none", "materialise": "full",
           "subset": "all", "grain": "whole", "orient": "rows", "order": "insertion"}


@dataclass
class Figure:
    """One operation of one case: its time per call, with interval and draws.

    Args:
        key: Key of the case.
        op: Operation, or ``total``.
        time_ns: Median over launches of the launch medians.
        lo_ns: Lower end of the 95 % interval.
        hi_ns: Upper end.
        floor_ns: Least sample.
        cpu_ns: Median CPU time; None without such a clock.
        wall_ns: Median wall clock.
        blocked_ns: Time blocked; None where the wall clock is ranked.
        launches: Launches with samples.
        samples: Samples in all.
        method: How the interval was made.
        contended: The wall clock ran 10 % or more past CPU and blocked time.
        marked: Fewer than three samples were free of preemption.
        logs: The series: launches x rounds, logarithms, on the group's grid.
        draws: Draws of the logarithm of the time.
        ratio: Time / time of the base, by pairs; None without pairs.
        ratio_lo: Lower end of its interval.
        ratio_hi: Upper end.
        letters: Tie letters within the group.
    """

    key: str
    op: str
    logs: Array
    floor_ns: float
    cpu_ns: float | None
    wall_ns: float | None
    blocked_ns: float | None
    contended: bool
    marked: bool
    time_ns: float = float("nan")
    lo_ns: float = float("nan")
    hi_ns: float = float("nan")
    launches: int = 0
    samples: int = 0
    method: str = "none"
    draws: Array = field(default_factory=lambda: np.empty(0))
    ratio: float | None = None
    ratio_lo: float | None = None
    ratio_hi: float | None = None
    letters: str = ""


@dataclass
class Group:
    """Cases that may be compared, and the noise floor of each operation.

    Args:
        labels: The labels they share.
        stage: ``weigh``, ``screen`` or ``growth``.
        cases: The cases with samples.
        figures: (key, operation) -> figure.
        base: Key of the base codec's case; None if it has no samples here.
        twin: Key of its A/A twin.
        floor: Operation -> relative half width of base against itself.
        aa: One row an operation: the twin / base ratio with its interval.
    """

    labels: dict[str, str]
    stage: str
    cases: list[dict[str, Any]]
    figures: dict[tuple[str, str], Figure] = field(default_factory=dict)
    base: str | None = None
    twin: str | None = None
    floor: dict[str, float] = field(default_factory=dict)
    aa: list[dict[str, Any]] = field(default_factory=list)

    def of(self, op: str) -> list[Figure]:
        """The figures of one operation, fastest first, without the twin."""
        mine = [f for (key, name), f in self.figures.items() if name == op and key != self.twin]
        return sorted(mine, key=lambda f: (f.time_ns, f.key))


@dataclass
class Analysis:
    """All figures of a record.

    Args:
        base: Base codec.
        groups: The groups, those of weighing first.
        figures: Key of a case -> operation -> figure.
        sampler: What the draws were made with.
    """

    base: str
    groups: list[Group]
    figures: dict[str, dict[str, Figure]]
    sampler: Resampler

    def floor(self, key: str, op: str) -> float:
        """The noise floor that a case's operation is judged by; 0 where it is not known."""
        for group in self.groups:
            if (key, op) in group.figures:
                return group.floor.get(op, max(group.floor.values(), default=0.0))
        return 0.0


def base_of(record: Mapping[str, Any]) -> str:
    """The base codec of a record: as the run or its plan named it, else by the kind of data."""
    named = record.get("base") or (record.get("plan") or {}).get("base")
    if named:
        return str(named)
    twin = next((c["labels"]["codec"] for c in record.get("cases", ()) if "twin" in c["labels"]), None)
    if twin:
        return str(twin)
    return "parquet:pyarrow" if (record.get("dataset") or {}).get("kind") == "table" else "json:stdlib"


def is_ranked(case: Mapping[str, Any]) -> bool:
    """Whether the case is one of a codec: not the A/A twin, not the floor row."""
    return "twin" not in case["labels"] and case["labels"]["codec"] != "copy"


def main_size(record: Mapping[str, Any]) -> str:
    """The size the verdict rests on: the largest one weighed, else the largest screened."""
    for stage in ("weigh", "screen", "growth"):
        sizes = {case["labels"].get("size", "1") for case in record.get("cases", ())
                 if case.get("stage", "weigh") == stage and case.get("launches") and is_ranked(case)}
        if sizes:
            return max(sizes, key=number)
    return "1"


def main_cases(record: Mapping[str, Any], *, grain: str = "whole") -> dict[tuple[str, str], dict[str, Any]]:
    """The case that stands for each codec on each medium: (codec, medium) -> case.

    Args:
        record: The record.
        grain: ``whole``, or ``each`` to prefer the cases of one call per document.

    Cases at the main size come first, then those of the defaults (warm, one thread,
    whole, collector off); a codec that was only screened, or failed before it was
    weighed, is there with that case.
    """
    size = main_size(record)

    def worth(case: Mapping[str, Any]) -> tuple[Any, ...]:
        labels = case["labels"]
        off = sum(labels.get(name, usual) != usual for name, usual in (UNKNOWN | {"grain": grain}).items())
        return (labels.get("size", "1") != size, bool(case.get("stage") == "growth"), off, case["key"])

    chosen: dict[tuple[str, str], dict[str, Any]] = {}
    for case in record.get("cases", ()):
        at = case["labels"]["codec"], case["labels"].get("medium", "memory")
        if is_ranked(case) and (at not in chosen or worth(case) < worth(chosen[at])):
            chosen[at] = case
    return chosen


def number(text: str) -> float:
    """A size label as a number; 0 if it is none."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def analyse(record: Mapping[str, Any], *, sampler: Resampler | None = None) -> Analysis:
    """Figures for every operation of every case that has samples.

    Args:
        record: A record, version 1; nothing in it is changed.
        sampler: Draws; by default seeded by the record's id.
    """
    sampler = sampler or Resampler(seed_of(str(record.get("id", ""))))
    base = base_of(record)
    null_ns = float((record.get("noise") or {}).get("timer_floor_ns") or 0.0)
    split: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for case in record.get("cases", ()):
        if case.get("launches"):
            labels = case["labels"]
            split[(case.get("stage", "weigh"), *(labels.get(name, "") for name in GROUP_LABELS))].append(case)
    groups = [_group(list(cases), key, base, null_ns, sampler) for key, cases in split.items()]
    groups.sort(key=lambda g: (("weigh", "screen", "growth", "probe").index(g.stage) if g.stage in
                               ("weigh", "screen", "growth") else 3, -number(g.labels.get("size", "1"))))
    figures: dict[str, dict[str, Figure]] = defaultdict(dict)
    for group in groups:
        for (key, op), figure in group.figures.items():
            figures[key][op] = figure
    return Analysis(base, groups, dict(figures), sampler)


def _group(cases: list[dict[str, Any]], key: tuple[str, ...], base: str, null_ns: float, sampler: Resampler) -> Group:
    group = Group(dict(zip(GROUP_LABELS, key[1:], strict=True)), key[0], cases)
    bases = [case for case in cases if case["labels"]["codec"] == base and "twin" not in case["labels"]]
    bases.sort(key=lambda case: sum(case["labels"].get(name, usual) != usual for name, usual in UNKNOWN.items()))
    group.base = bases[0]["key"] if bases else None
    twins = [case["key"] for case in cases if "twin" in case["labels"]]
    group.twin = twins[0] if twins else None
    _place(group, _series(cases, bases, null_ns))
    everything = list(group.figures.values())
    if not everything:
        return group
    found = summarise(np.stack([figure.logs for figure in everything]), sampler)
    for i, figure in enumerate(everything):
        figure.time_ns, figure.lo_ns, figure.hi_ns = (float(np.exp(a[i])) for a in (found.point, found.lo, found.hi))
        figure.draws, figure.method = found.draws[i], found.method[i]
        figure.launches, figure.samples = found.launches[i], found.samples[i]
    _ratios(group, everything, sampler)
    if group.stage != "growth":
        _letters(group, sampler)
    return group


def _series(cases: Iterable[dict[str, Any]], bases: Sequence[dict[str, Any]], null_ns: float) -> dict[
        tuple[str, str], tuple[dict[tuple[int, int], dict[int, float]], dict[str, Any]]]:
    """(key, operation) -> (launch -> round -> nanoseconds, what else is known)."""
    starts = _starts(bases[0]) if bases else {}
    found: dict[tuple[str, str], tuple[dict[tuple[int, int], dict[int, float]], dict[str, Any]]] = {}
    for case in cases:
        parts: dict[str, list[tuple[tuple[int, int], dict[str, Any]]]] = defaultdict(list)
        for launch in case["launches"]:
            unit = _unit(launch, starts)
            for op, columns in launch["samples"].items():
                if op != "null" and columns.get("batch"):
                    parts[op].append((unit, columns))
        for op, pieces in parts.items():
            found[case["key"], op] = _one_series(case, op, pieces, null_ns)
    return found


def _one_series(case: dict[str, Any], op: str, pieces: list[tuple[tuple[int, int], dict[str, Any]]],
                null_ns: float) -> tuple[dict[tuple[int, int], dict[int, float]], dict[str, Any]]:
    names = set.intersection(*(set(columns) for _, columns in pieces))
    joined = {name: np.concatenate([np.asarray(columns[name], dtype=np.float64) for _, columns in pieces])
              for name in ("batch", "wall_ns", "user_ns", "sys_ns", "nivcsw", "nvcsw") if name in names}
    wall = op == SPAN or case["labels"].get("threads", "1") == "all"
    times = sample_times(joined, wall=wall, null_ns=null_ns)
    values: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
    place = 0
    for unit, columns in pieces:
        repeated: dict[int, list[float]] = defaultdict(list)
        for round_ in columns["round"]:
            repeated[int(round_)].append(float(times.time_ns[place]))
            place += 1
        for round_, several in repeated.items():
            values[unit][round_] = several[0] if len(several) == 1 else float(np.median(several))
    cpu, wall_ns = float(median(times.cpu_ns)), float(median(times.wall_ns))
    blocked = None if np.isnan(times.blocked_ns) else times.blocked_ns
    busy = cpu + (blocked or 0.0)
    floor = float(np.nanmin(times.time_ns)) if not np.isnan(times.time_ns).all() else float("nan")
    more = {"floor_ns": floor, "cpu_ns": None if np.isnan(cpu) else cpu, "wall_ns": wall_ns, "blocked_ns": blocked,
            "contended": bool(not wall and wall_ns > CONTENDED * busy), "marked": times.marked}
    return dict(values), more


def _starts(base: Mapping[str, Any]) -> dict[int, list[float]]:
    """When the base's processes of each launch started; several if the codecs ran in groups."""
    starts: dict[int, list[float]] = defaultdict(list)
    for launch in base["launches"]:
        starts[int(launch["n"])].append(_moment(launch.get("started")))
    return starts


def _unit(launch: Mapping[str, Any], starts: Mapping[int, list[float]]) -> tuple[int, int]:
    """The launch, and which group of it: the one whose base started nearest in time."""
    n = int(launch["n"])
    known = starts.get(n, ())
    if len(known) < 2:
        return n, 0
    moment = _moment(launch.get("started"))
    return n, min(range(len(known)), key=lambda i: abs(known[i] - moment))


def _moment(started: Any) -> float:
    if isinstance(started, (int, float)):
        return float(started)
    try:
        return datetime.fromisoformat(str(started).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def _place(group: Group, series: Mapping[tuple[str, str], Any]) -> None:
    """Lay the series on one grid and add the totals."""
    names = list(series)
    if not names:
        return
    grid, _ = align([series[name][0] for name in names])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(grid)
    for i, (key, op) in enumerate(names):
        group.figures[key, op] = Figure(key, op, logs[i], **series[key, op][1])
    for case in group.cases:
        total = _total(case["key"], group.figures)
        if total is not None:
            group.figures[case["key"], TOTAL] = total


def _total(key: str, figures: Mapping[tuple[str, str], Figure]) -> Figure | None:
    """Write + read where one follows the other; the span where both ends work at once. Never the larger of two."""
    span = figures.get((key, SPAN))
    if span is not None:
        return Figure(key, TOTAL, span.logs, span.floor_ns, span.cpu_ns, span.wall_ns, span.blocked_ns,
                      span.contended, span.marked)
    for first, second in SUMS:
        a, b = figures.get((key, first)), figures.get((key, second))
        if a is None or b is None:
            continue
        logs = np.logaddexp(a.logs, b.logs)
        if np.isnan(logs).all():
            return None

        def both(x: float | None, y: float | None) -> float | None:
            return None if x is None or y is None else x + y

        return Figure(key, TOTAL, logs, float(np.exp(np.nanmin(logs))), both(a.cpu_ns, b.cpu_ns),
                      both(a.wall_ns, b.wall_ns), both(a.blocked_ns, b.blocked_ns), a.contended or b.contended,
                      a.marked or b.marked)
    return None


def _ratios(group: Group, figures: Sequence[Figure], sampler: Resampler) -> None:
    """Ratios to the base by pairs, and the noise floor from its twin."""
    if group.base is None:
        return
    paired = [f for f in figures if (group.base, f.op) in group.figures]
    if not paired:
        return
    found = summarise(np.stack([f.logs - group.figures[group.base, f.op].logs for f in paired]), sampler)
    for i, figure in enumerate(paired):
        if found.method[i] == "none":
            continue
        figure.ratio, figure.ratio_lo, figure.ratio_hi = (
            float(np.exp(a[i])) for a in (found.point, found.lo, found.hi))
        if figure.key == group.twin:
            group.floor[figure.op] = float(np.exp(max(abs(found.lo[i]), abs(found.hi[i]))) - 1)
            group.aa.append({"medium": group.labels["medium"] or "memory", "size": group.labels["size"] or "1",
                             "op": figure.op, "ratio": figure.ratio, "lo": figure.ratio_lo, "hi": figure.ratio_hi})


def _letters(group: Group, sampler: Resampler) -> None:
    from tare.measure.letters import letters

    ranked = {case["key"] for case in group.cases if is_ranked(case) and case.get("status") in ("ok", "lossy")}
    for op in sorted({op for _, op in group.figures}):
        figures = [f for f in group.of(op) if f.key in ranked]
        apart = pairs_apart(figures, group.floor.get(op, max(group.floor.values(), default=0.0)), sampler)
        for figure, word in zip(figures, letters(len(figures), lambda a, b, apart=apart: (a, b) in apart), strict=True):  # type: ignore[misc]
            figure.letters = word


def pairs_apart(figures: Sequence[Figure], floor: float, sampler: Resampler) -> set[tuple[int, int]]:
    """Which pairs differ: the interval of their own pair ratio lies outside what counts as no difference.

    Pairs whose own intervals lie far apart are not drawn again: with 30 codecs that
    is most of them, and drawing them all would cost more than everything else.
    """
    apart, close = set(), []
    for a in range(len(figures)):
        for b in range(a + 1, len(figures)):
            if differs(figures[b].lo_ns / figures[a].hi_ns, float("inf"), floor):
                apart.add((a, b))
            else:
                close.append((a, b))
    if not close:
        return apart
    found = summarise(np.stack([figures[b].logs - figures[a].logs for a, b in close]), sampler)
    for i, (a, b) in enumerate(close):
        if found.method[i] != "none":
            lo, hi = float(np.exp(found.lo[i])), float(np.exp(found.hi[i]))
        else:
            lo, hi = _indirect(figures[a], figures[b])
        if differs(lo, hi, floor):
            apart.add((a, b))
    return apart


def _indirect(a: Figure, b: Figure) -> tuple[float, float]:
    """The ratio b / a of two codecs that never shared a launch, through the base."""
    if a.ratio is None or b.ratio is None:
        return b.lo_ns / a.hi_ns, b.hi_ns / a.lo_ns
    assert a.ratio_hi and a.ratio_lo and b.ratio_hi and b.ratio_lo
    return b.ratio_lo / a.ratio_hi, b.ratio_hi / a.ratio_lo


def pair_summary(a: Figure, b: Figure, sampler: Resampler) -> Summary:
    """The ratio a / b of two figures of one group, by their own pairs."""
    return summarise((a.logs - b.logs)[None], sampler)
