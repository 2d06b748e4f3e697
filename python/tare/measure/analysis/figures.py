"""The samples of a record as figures: one for each operation of each case.

Cases that may be compared (same data, size, medium and settings; only the codec
and its delivery differ) form a group. All series of a group lie on one grid of
launches x rounds, so that any two can be compared by their own pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tare.measure.analysis.first_calls import expect_later_calls
from tare.measure.analysis.letter_display import letters
from tare.measure.analysis.pace import Paces, paces_of
from tare.measure.analysis.ranked_cases import SPAN, TOTAL, base_of, is_ranked, number, off_usual
from tare.measure.analysis.series import series_of
from tare.measure.analysis.statistics import (
    DRAWS,
    Array,
    Resampler,
    Summary,
    align,
    differs,
    has_interval,
    median,
    quantiles,
    seed_of,
    summarise,
    summarise_least,
)
from tare.measure.records.record import method_of

__all__ = ["Analysis", "Figure", "Group", "analyse", "pair_summary", "pairs_apart"]

# What a user waits for, by medium: one after the other, or the span where both ends work at once.
SUMS = (("write", "read"), ("encode", "decode"))
# Two codecs are compared when these labels agree; delivery and orientation belong to the codec's way of working.
STAGES = {"weigh": 0, "screen": 1, "growth": 2}
# Draws are kept for every figure: 2,000 of them in a plan of thousands of cases would fill the memory.
MANY_CASES = 2000
FEW_DRAWS = 400
# Rounds of the base and of its twin from which on what they differ by is noise, and no first call.
_TOLD = 3
GROUP_LABELS = (
    "dataset",
    "size",
    "medium",
    "threads",
    "gc",
    "cache",
    "sync",
    "materialise",
    "subset",
    "kind",
    "grain",
    "order",
    "content",
)


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
        letters: Tie letters within the group; none without an interval.
        cold: Whether it is of a first call alone.
        own_ns: Of a first call, the time in the codec's own code; None where it is not known.
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
    cold: bool = False
    own_ns: float | None = None

    @property
    def sure(self) -> bool:
        """Whether there are enough samples to tell it apart from another."""
        return has_interval(self.launches, self.samples)


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
                return group.floor.get(op, group.floor.get(TOTAL, max(group.floor.values(), default=0.0)))
        return 0.0

    def weighed(self, key: str) -> bool:
        """Whether the case is one of weighing, and not of screening or growth."""
        return any(group.stage == "weigh" and (key, TOTAL) in group.figures for group in self.groups)


def analyse(record: Mapping[str, Any], *, sampler: Resampler | None = None) -> Analysis:
    """Figures for every operation of every case that has samples.

    Args:
        record: A record, version 1 or 2; nothing in it is changed.
        sampler: Draws; by default seeded by the record's id.
    """
    sampled = sum(bool(case.get("launches")) for case in record.get("cases", ()))
    seed = seed_of(str(record.get("id", "")))
    sampler = sampler or Resampler(seed, DRAWS if sampled <= MANY_CASES else FEW_DRAWS)
    base = base_of(record)
    split: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for case in record.get("cases", ()):
        if case.get("launches"):
            labels = case["labels"]
            split[(case.get("stage", "weigh"), *(labels.get(name, "") for name in GROUP_LABELS))].append(case)
    one_process = takes_least(record)
    paces = paces_of(record) if one_process else None
    groups = [
        _group(list(cases), key, base, sampler, least=one_process, paces=paces)
        for key, cases in split.items()
    ]
    groups.sort(key=lambda g: (STAGES.get(g.stage, len(STAGES)), -number(g.labels.get("size", "1"))))
    figures: dict[str, dict[str, Figure]] = defaultdict(dict)
    for group in groups:
        for (key, op), figure in group.figures.items():
            figures[key][op] = figure
    return Analysis(base, groups, dict(figures), sampler)


def takes_least(record: Mapping[str, Any]) -> bool:
    """Returns whether figures are the least of the rounds of one process: in default runs of the second method.

    Plans start several processes for each case, and have the median of their medians.

    >>> takes_least({"method": 2, "plan": {"name": "default"}}), takes_least({"plan": {"name": "default"}})
    (True, False)
    """
    return method_of(record) >= 2 and (record.get("plan") or {}).get("name", "default") == "default"


def _group(
    cases: list[dict[str, Any]],
    key: tuple[str, ...],
    base: str,
    sampler: Resampler,
    *,
    least: bool = False,
    paces: Paces | None = None,
) -> Group:
    group = Group(dict(zip(GROUP_LABELS, key[1:], strict=True)), key[0], cases)
    bases = [case for case in cases if case["labels"]["codec"] == base and "twin" not in case["labels"]]
    bases.sort(key=lambda case: off_usual(case["labels"]))
    group.base = bases[0]["key"] if bases else None
    twins = [case["key"] for case in cases if "twin" in case["labels"]]
    group.twin = twins[0] if twins else None
    # Streams are measured in several launches, as in plans.
    least = least and not any(
        op == SPAN for case in cases for launch in case["launches"] for op in launch["samples"]
    )
    _place(group, series_of(cases, bases, least=least, paces=paces if least else None), least=least)
    everything = list(group.figures.values())
    if not everything:
        return group
    found = (summarise_least if least else summarise)(np.stack([one.logs for one in everything]), sampler)
    for i, figure in enumerate(everything):
        figure.time_ns, figure.lo_ns, figure.hi_ns = (
            float(np.exp(a[i])) for a in (found.point, found.lo, found.hi)
        )
        figure.draws, figure.method = found.draws[i], found.method[i]
        figure.launches, figure.samples = found.launches[i], found.samples[i]
    if least:
        expect_later_calls(group)
        _sums_of_least(group)
        _ratios_of_least(group, everything)
    else:
        _ratios(group, everything, sampler)
    if group.stage != "growth":
        _letters(group, sampler)
    return group


def _place(group: Group, series: Mapping[tuple[str, str], Any], *, least: bool) -> None:
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
        total = _total(case["key"], group.figures, least=least) or _only(case, group.figures)
        if total is not None:
            group.figures[case["key"], TOTAL] = total


def _total(key: str, figures: Mapping[tuple[str, str], Figure], *, least: bool) -> Figure | None:
    """Write + read where one follows the other; the span where both ends work at once. Never the larger of two.

    Where the time ended between the two, they have no round in common: of the rounds of one process the least of each is added.
    """
    span = figures.get((key, SPAN))
    if span is not None:
        return replace(span, op=TOTAL)
    for first, second in SUMS:
        a, b = figures.get((key, first)), figures.get((key, second))
        if a is None or b is None:
            continue
        logs = np.log(np.exp(a.logs) + np.exp(b.logs))
        if least and np.isnan(logs).all() and not np.isnan(b.logs).all():
            logs = np.log(np.exp(a.logs) + np.exp(np.nanmin(b.logs)))
        if np.isnan(logs).all():
            return None

        def both(x: float | None, y: float | None) -> float | None:
            return None if x is None or y is None else x + y

        return Figure(
            key,
            TOTAL,
            logs,
            float(np.exp(np.nanmin(logs))),
            both(a.cpu_ns, b.cpu_ns),
            both(a.wall_ns, b.wall_ns),
            both(a.blocked_ns, b.blocked_ns),
            a.contended or b.contended,
            a.marked or b.marked,
            cold=a.cold or b.cold,
        )
    return None


def _only(case: Mapping[str, Any], figures: Mapping[tuple[str, str], Figure]) -> Figure | None:
    """The one operation of a case whose plan asked for no other: loading alone, one column, opening."""
    asked = list(case.get("operations") or ())
    found = figures.get((case["key"], asked[0])) if len(asked) == 1 else None
    return None if found is None else replace(found, op=TOTAL)


def _sums_of_least(group: Group) -> None:
    """Sets each total to the sum of its parts, so that one report says one thing."""
    for (key, op), total in group.figures.items():
        pair = next((p for p in SUMS if (key, p[0]) in group.figures and (key, p[1]) in group.figures), None)
        if op != TOTAL or pair is None:
            continue
        first, second = (group.figures[key, name] for name in pair)
        total.time_ns, total.lo_ns, total.hi_ns = (
            a + b
            for a, b in (
                (first.time_ns, second.time_ns), (first.lo_ns, second.lo_ns), (first.hi_ns, second.hi_ns),
            )
        )  # fmt: skip
        total.floor_ns = total.time_ns
        total.draws = np.log(np.exp(first.draws) + np.exp(second.draws))


def _ratios_of_least(group: Group, figures: Sequence[Figure]) -> None:
    """Ratios to the base, of the figures that are shown; and the noise floor from its twin."""
    for figure in figures:
        base = group.figures.get((group.base or "", figure.op))
        if base is None or figure.method == "none" or base.method == "none":
            continue
        lo, hi = quantiles(figure.draws - base.draws)
        figure.ratio = figure.time_ns / base.time_ns
        figure.ratio_lo = min(figure.ratio, float(np.exp(lo)))
        figure.ratio_hi = max(figure.ratio, float(np.exp(hi)))
        if figure.key == group.twin:
            # With a single round the two differ by first calls, which the draws of each codec allow for already.
            if min(figure.samples, base.samples) >= _TOLD:
                group.floor[figure.op] = max(1 / figure.ratio, figure.ratio) - 1
            group.aa.append(_aa_row(group, figure))


def _aa_row(group: Group, figure: Figure) -> dict[str, Any]:
    return {
        "medium": group.labels["medium"] or "memory",
        "size": group.labels["size"] or "1",
        "op": figure.op,
        "ratio": figure.ratio,
        "lo": figure.ratio_lo,
        "hi": figure.ratio_hi,
    }


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
            float(np.exp(a[i])) for a in (found.point, found.lo, found.hi)
        )
        if figure.key == group.twin:
            group.floor[figure.op] = float(np.exp(max(abs(found.lo[i]), abs(found.hi[i]))) - 1)
            group.aa.append(_aa_row(group, figure))


def _letters(group: Group, sampler: Resampler) -> None:
    ranked = {
        case["key"] for case in group.cases if is_ranked(case) and case.get("status") in ("ok", "lossy")
    }
    for op in sorted({op for _, op in group.figures}):
        # One sample differs from every other, and tells nothing.
        figures = [f for f in group.of(op) if f.key in ranked and f.sure]
        apart = pairs_apart(figures, group.floor.get(op, max(group.floor.values(), default=0.0)), sampler)
        for figure, word in zip(figures, letters(len(figures), apart), strict=True):
            figure.letters = word


def pairs_apart(figures: Sequence[Figure], floor: float, sampler: Resampler) -> set[tuple[int, int]]:
    """Which pairs differ: the interval of their own pair ratio lies outside what counts as no difference.

    A pair with too few samples, or too few in common, has no interval and does not differ.

    Drawing every pair would cost more than everything else. Those whose own intervals
    lie far apart differ; those whose ratio itself is no difference do not; the few that
    are left are drawn.
    """
    apart, close = set(), []
    for a in range(len(figures)):
        for b in range(a + 1, len(figures)):
            fast, slow = figures[a], figures[b]
            if not (fast.sure and slow.sure):
                continue
            # Their distance is beyond doubt if it exceeds the limit by the width of both intervals.
            doubt = (fast.hi_ns / fast.lo_ns) * (slow.hi_ns / slow.lo_ns)
            if differs(slow.lo_ns / fast.hi_ns / doubt, float("inf"), floor):
                apart.add((a, b))
            else:
                close.append((a, b))
    if not close:
        return apart
    logs = np.stack([figures[b].logs - figures[a].logs for a, b in close])
    points = np.exp(median(median(logs)))
    direct = [i for i, point in enumerate(points) if differs(point, point, floor)]
    if direct:
        found = summarise(logs[direct], sampler)
        ends = zip(np.exp(found.lo), np.exp(found.hi), strict=True)
        enough = [has_interval(*counts) for counts in zip(found.launches, found.samples, strict=True)]
        apart |= {
            close[i]
            for i, (lo, hi), sure in zip(direct, ends, enough, strict=True)
            if sure and differs(lo, hi, floor)
        }
    for i in np.flatnonzero(np.isnan(points)):
        a, b = close[i]
        if differs(*_indirect(figures[a], figures[b]), floor):
            apart.add((a, b))
    return apart


def _indirect(a: Figure, b: Figure) -> tuple[float, float]:
    """The ratio b / a of two codecs that never shared a launch, through the base."""
    if not (a.ratio_lo and a.ratio_hi and b.ratio_lo and b.ratio_hi):
        return b.lo_ns / a.hi_ns, b.hi_ns / a.lo_ns
    return b.ratio_lo / a.ratio_hi, b.ratio_hi / a.ratio_lo


def pair_summary(a: Figure, b: Figure, sampler: Resampler) -> Summary:
    """The ratio a / b of two figures of one group, by their own pairs."""
    return summarise((a.logs - b.logs)[None], sampler)
