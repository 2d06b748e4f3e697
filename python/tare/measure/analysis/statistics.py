"""Times out of raw samples, and intervals that stay honest on a busy machine.

The unit is a *series*: the time per call of one operation of one case, as an
array of launches x rounds, missing samples as NaN. A launch is a fresh process;
its heap, address layout and hash seed shift every time in it, so rounds of one
launch are no independent evidence, and the launch is what intervals rest on:

- five launches or more: hierarchical bootstrap (launches, then rounds);
- three or four: Student's t on the launch medians;
- one or two: order statistics of the rounds, marked as provisional.

All series are drawn with the same indices, so pairs of codecs that were timed
in the same round stay pairs. Means of samples are used nowhere: one preempted
sample is 30 times slower than its neighbours.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "DRAWS",
    "FIRM",
    "WAKE_NS",
    "Resampler",
    "SampleTimes",
    "Summary",
    "align",
    "differs",
    "has_interval",
    "median",
    "noise_limit",
    "order_interval",
    "quantiles",
    "sample_times",
    "seed_of",
    "student",
    "summarise",
    "summarise_least",
]

Array = NDArray[np.float64]

DRAWS = 2000
# Resamples of the rounds of one launch; each draw of a launch picks one of them.
INNER = 500
CONFIDENCE = 0.95
# Launches from which on an interval is more than a hint: fewer tell nothing of what a launch shifts.
FIRM = 3
# Samples from which on the range of order statistics holds the median 15 times out of 16 or more.
LEAST = 5
# One sample of this many may come from a fast moment of the machine.
LUCKY = 10
# No call is faster; a smaller figure is what subtracting left of nothing.
_LEAST_NS = 0.1
# A thread that is waited for is woken in less, where it finds a CPU.
WAKE_NS = 50_000.0
# Of few launches that differ much a draw may lie where no double holds its exponential: none is farther off than e to this.
_FARTHEST = 100.0
# Ratios within these bounds are no difference that anyone would feel.
INDIFFERENT = (0.97, 1.03)
# Two-sided 95 % quantiles of Student's t, by degrees of freedom.
STUDENT = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    9: 2.262,
    10: 2.228,
}


def student(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t.

    >>> student(3)
    3.182
    """
    # Beyond the table the expansion of Cornish and Fisher is right to three digits.
    z = 1.959964
    further = (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
    return STUDENT.get(degrees) or z + further


def seed_of(record_id: str) -> int:
    """The seed of everything drawn for a record: the same record, the same intervals.

    >>> seed_of("a") == seed_of("a") != seed_of("b")
    True
    """
    return int.from_bytes(hashlib.sha256(record_id.encode()).digest()[:4], "big")


def median(values: Array, axis: int = -1) -> Array:
    """Median along an axis that leaves out NaN; NaN where nothing is left.

    Args:
        values: Any shape.
        axis: The axis that vanishes.

    >>> median(np.array([[3.0, 1.0, np.nan], [1.0, 2.0, 9.0]])).tolist()
    [2.0, 2.0]
    """
    ordered = np.sort(np.moveaxis(values, axis, -1), axis=-1)
    size = ordered.shape[-1]
    if size == 0:
        return np.full(ordered.shape[:-1], np.nan)
    if not np.isnan(ordered[..., -1]).any():  # NaN sorts last
        return np.asarray(0.5 * (ordered[..., (size - 1) // 2] + ordered[..., size // 2]))
    count = size - np.isnan(ordered).sum(axis=-1)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0)[..., None] // 2, axis=-1)[..., 0]
    high = np.take_along_axis(ordered, np.minimum(count // 2, size - 1)[..., None], axis=-1)[..., 0]
    return np.asarray(np.where(count > 0, 0.5 * (low + high), np.nan))


@dataclass(frozen=True)
class SampleTimes:
    """Times per call of a set of samples, in nanoseconds.

    Args:
        time_ns: What is ranked: CPU time plus the time blocked; or the wall clock
            where several threads or processes work at once.
        cpu_ns: user + system time; NaN without such a clock.
        wall_ns: The wall clock.
        blocked_ns: Waiting for devices or peers, one figure for all samples.
        marked: Fewer than three samples were free of preemption, so the time
            blocked is the least seen instead of the median.
    """

    time_ns: Array
    cpu_ns: Array
    wall_ns: Array
    blocked_ns: float
    marked: bool


def sample_times(columns: Mapping[str, Any], *, wall: bool = False, crowded: bool = False) -> SampleTimes:
    """Time per call of each sample.

    A sample holds the total of a batch of calls. Its time is user + system +
    blocked, where blocked = wall - CPU. A preempted process is not blocked, yet
    its wall clock runs: so blocked is taken from samples without an involuntary
    switch, and the median of those stands in for the others. A sample in which
    the process never gave up its CPU by itself was never blocked at all.

    Args:
        columns: Equally long columns ``batch, wall_ns`` and, where the runtime
            has them, ``user_ns, sys_ns, nivcsw, nvcsw``.
        wall: Take the wall clock (all threads, or two processes at once); samples
            without an involuntary switch are used when there are three or more.
        crowded: Whether others used the CPU while calls were made that wait for no file and no other process. Then a
            thread of the call's own is waited for until it gets a CPU: of each waiting `WAKE_NS` count at most.

    >>> times = sample_times({"batch": [2, 2], "wall_ns": [2200, 9000], "user_ns": [2000, 2000],
    ...                       "sys_ns": [0, 0], "nivcsw": [0, 3], "nvcsw": [1, 1]})
    >>> times.time_ns.tolist(), times.marked
    ([1100.0, 1100.0], True)
    """
    batch = np.maximum(np.asarray(columns["batch"], dtype=np.float64), 1.0)
    wall_ns = np.maximum(np.asarray(columns["wall_ns"], dtype=np.float64) / batch, _LEAST_NS)
    nothing = np.full(batch.shape, np.nan)
    clean = np.ones(batch.shape, dtype=bool)
    if "nivcsw" in columns:
        clean = np.asarray(columns["nivcsw"], dtype=np.float64) == 0
    enough = bool(clean.sum() >= 3)
    if "user_ns" in columns:
        cpu_ns = np.asarray(columns["user_ns"], dtype=np.float64) + np.asarray(
            columns.get("sys_ns", 0.0), dtype=np.float64
        )
        cpu_ns = np.maximum(cpu_ns / batch, _LEAST_NS)
    else:
        cpu_ns = nothing
    if wall or "user_ns" not in columns:
        chosen = np.where(clean, wall_ns, np.nan) if enough else wall_ns
        return SampleTimes(chosen, cpu_ns, wall_ns, float("nan"), not enough)
    blocked = np.maximum(wall_ns - cpu_ns, 0.0)
    if "nvcsw" in columns:
        waits = np.asarray(columns["nvcsw"], dtype=np.float64)
        blocked = np.minimum(blocked, WAKE_NS * waits / batch) if crowded else blocked
        blocked[waits == 0] = 0.0
        clean |= blocked == 0.0
        enough = bool(clean.sum() >= 3)
    if not blocked.size:
        return SampleTimes(nothing, cpu_ns, wall_ns, float("nan"), True)
    typical = float(np.median(blocked[clean])) if enough else float(blocked.min())
    own = np.where(clean, blocked, typical) if enough else np.full(batch.shape, typical)
    return SampleTimes(cpu_ns + own, cpu_ns, wall_ns, typical, not enough)


class Resampler:
    """Draws of any number of series with the same indices.

    Args:
        seed: 32 bits; from :func:`seed_of`. The legacy generator is used because its
            stream is frozen: the same record gives the same draws with any NumPy.
        draws: How many draws.
    """

    def __init__(self, seed: int, draws: int = DRAWS) -> None:
        self.seed = seed & 0xFFFFFFFF
        self.draws = draws
        self._indices: dict[tuple[Any, ...], Any] = {}

    def bootstrap(self, logs: Array) -> Array:
        """Hierarchical bootstrap: launches, then rounds within each; medians at both levels.

        Args:
            logs: series x launches x rounds.

        Returns:
            series x draws.
        """
        launches, rounds = logs.shape[1:]
        inner, picks, choice = self._hierarchy(launches, rounds)
        places = np.arange(launches)[:, None, None]
        medians = median(logs[:, places, inner])  # series x launches x INNER
        # A resample may have met missing rounds only: the launch's own median then.
        gaps = np.isnan(medians)
        if gaps.any():
            medians = np.where(gaps, median(logs)[:, :, None], medians)
        return median(medians[:, picks, choice])

    def student(self, logs: Array) -> Array:
        """Draws from Student's t around the mean of the launch medians, alike for all series.

        With the same directions for every series, differences of two series have
        the t distribution of their own paired differences.
        """
        medians = median(logs)
        launches = medians.shape[1]
        centre = medians.mean(axis=1, keepdims=True)
        weights = self._weights(launches)
        return np.asarray(centre + (medians - centre) @ weights.T)

    def pooled(self, logs: Array) -> Array:
        """Resamples of all rounds of all launches as if they were one launch."""
        flat = logs.reshape(logs.shape[0], 1, -1)
        inner, _, _ = self._hierarchy(1, flat.shape[2])
        medians = median(flat[:, 0][:, inner[0]])
        gaps = np.isnan(medians)
        if gaps.any():
            medians = np.where(gaps, median(flat), medians)
        return np.asarray(np.take(medians, np.arange(self.draws) % INNER, axis=1))

    def least(self, logs: Array) -> Array:
        """Resamples of all rounds, and the least of each: what another run of as many rounds might have met.

        Args:
            logs: series x launches x rounds.

        Returns:
            series x draws.
        """
        flat = logs.reshape(logs.shape[0], -1)
        inner, _, _ = self._hierarchy(1, flat.shape[1])
        filled = np.where(np.isnan(flat), np.inf, flat)
        found = filled[:, inner[0]].min(axis=2)
        # A resample may have met missing rounds only.
        found = np.where(np.isinf(found), filled.min(axis=1)[:, None], found)
        return np.asarray(np.take(found, np.arange(self.draws) % INNER, axis=1))

    def _hierarchy(self, launches: int, rounds: int) -> tuple[Any, Any, Any]:
        key = ("hierarchy", launches, rounds)
        if key not in self._indices:
            random = np.random.RandomState(self.seed)
            inner = random.randint(0, max(rounds, 1), (launches, INNER, rounds))
            picks = random.randint(0, launches, (self.draws, launches))
            self._indices[key] = inner, picks, random.randint(0, INNER, (self.draws, launches))
        return self._indices[key]  # type: ignore[no-any-return]

    def _weights(self, launches: int) -> Array:
        key = ("weights", launches)
        if key not in self._indices:
            random = np.random.RandomState(self.seed)
            normal = random.standard_normal((self.draws, launches))
            spread = np.sqrt(random.chisquare(launches - 1, (self.draws, 1)) * launches)
            self._indices[key] = normal / spread
        return np.asarray(self._indices[key])


@dataclass(frozen=True)
class Summary:
    """Point, interval and draws of a set of series, all as logarithms.

    Args:
        point: Median over launches of the launch medians; shape (series,).
        lo: Lower end of the 95 % interval.
        hi: Upper end.
        draws: series x draws.
        method: ``bootstrap``, ``student``, ``order``, ``least`` or ``none`` for each series.
        launches: Launches with at least one sample.
        samples: Samples in all.
    """

    point: Array
    lo: Array
    hi: Array
    draws: Array
    method: list[str]
    launches: list[int]
    samples: list[int]


def summarise(logs: Array, sampler: Resampler) -> Summary:
    """Medians and intervals of many series at once.

    Args:
        logs: Logarithms of times or of pair ratios, series x launches x rounds;
            NaN where a sample is missing (a worker died, a budget ended).
        sampler: Gives the indices, alike for all series.

    >>> one = summarise(np.log(np.full((1, 5, 9), 200.0)), Resampler(1))
    >>> round(float(np.exp(one.point[0]))), one.method
    (200, ['bootstrap'])
    """
    series = logs.shape[0]
    there = ~np.isnan(logs)
    support = np.asarray(there.any(axis=2))
    launches = support.sum(axis=1)
    point = median(median(logs))
    lo, hi = np.full(series, np.nan), np.full(series, np.nan)
    draws = np.full((series, sampler.draws), np.nan)
    method = ["none"] * series
    for members in _alike(support):
        kept = np.flatnonzero(support[members[0]])
        part = logs[members][:, kept]
        name, part_draws, part_lo, part_hi = _interval(part, sampler)
        middle = point[members][:, None]
        draws[members] = np.clip(part_draws, middle - _FARTHEST, middle + _FARTHEST)
        lo[members] = np.minimum(part_lo, point[members])
        hi[members] = np.maximum(part_hi, point[members])
        for i in members:
            method[i] = name
    return Summary(point, lo, hi, draws, method, launches.tolist(), there.sum(axis=(1, 2)).tolist())


def summarise_least(logs: Array, sampler: Resampler) -> Summary:
    """The least tenth of each series, and how much less sure it is the fewer rounds there are.

    What disturbs a call adds to its time and takes nothing away, so of the rounds of one process the least is
    the nearest to what the call takes. But a shared machine may be fast for moments, and a codec that is timed in one
    would win by it. So of ten rounds and more the point is the value that a tenth of them do not exceed, of fewer the
    least. The interval reaches from it to the median. The first round of a process
    pays for what its library sets up once; where a later one was quicker, the first tells nothing of how far
    another run would be off, and the draws leave it out.

    Args:
        logs: As of `summarise`.
        sampler: As of `summarise`.

    >>> one = summarise_least(np.log(np.array([[[200.0, 210.0, 900.0]]])), Resampler(1))
    >>> [round(float(np.exp(end[0]))) for end in (one.point, one.lo, one.hi)], one.method
    ([200, 200, 210], ['least'])
    """
    there = ~np.isnan(logs)
    some = np.asarray(there.any(axis=(1, 2)))
    flat = np.where(there, logs, np.inf).reshape(logs.shape[0], -1)
    ranked = np.sort(flat, axis=1)
    tenth = there.sum(axis=(1, 2)) // LUCKY
    point = np.where(some, np.take_along_axis(ranked, tenth[:, None], axis=1)[:, 0], np.nan)
    draws = np.where(some[:, None], sampler.least(_warm(logs)), np.nan)
    return Summary(
        point,
        point.copy(),
        median(logs.reshape(logs.shape[0], -1)),
        draws,
        ["least" if one else "none" for one in some],
        np.asarray(there.any(axis=2)).sum(axis=1).tolist(),
        there.sum(axis=(1, 2)).tolist(),
    )


def _warm(logs: Array) -> Array:
    """The series without the first round of each process, where a later round of it was quicker."""
    if logs.shape[2] < 2:
        return logs
    later = np.where(np.isnan(logs[:, :, 1:]), np.inf, logs[:, :, 1:]).min(axis=2)
    warm = logs.copy()
    warm[:, :, 0] = np.where(later < logs[:, :, 0], np.nan, logs[:, :, 0])
    return warm


def _alike(support: NDArray[np.bool_]) -> list[list[int]]:
    """Series that lived through the same launches, in parts that fit a few tens of megabytes."""
    groups: dict[bytes, list[int]] = {}
    for i, row in enumerate(support):
        if row.any():
            groups.setdefault(row.tobytes(), []).append(i)
    return [members[i : i + 256] for members in groups.values() for i in range(0, len(members), 256)]


def _interval(logs: Array, sampler: Resampler) -> tuple[str, Array, Array, Array]:
    launches = logs.shape[1]
    if launches >= 5:
        draws = sampler.bootstrap(logs)
        return ("bootstrap", draws, *quantiles(draws))
    if launches >= 3:
        medians = median(logs)
        half = student(launches - 1) * medians.std(axis=1, ddof=1) / math.sqrt(launches)
        centre = medians.mean(axis=1)
        return "student", sampler.student(logs), centre - half, centre + half
    ends = [order_interval(row[~np.isnan(row)]) for row in logs.reshape(logs.shape[0], -1)]
    return "order", sampler.pooled(logs), np.array([lo for lo, _ in ends]), np.array([hi for _, hi in ends])


def quantiles(draws: Array, confidence: float = CONFIDENCE) -> tuple[Array, Array]:
    """The two ends that hold the middle share of the draws, along the last axis."""
    ordered = np.sort(draws, axis=-1)
    last = ordered.shape[-1] - 1
    tail = (1 - confidence) / 2
    return ordered[..., math.floor(tail * last)], ordered[..., math.ceil((1 - tail) * last)]


def order_interval(values: Array, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Interval of a median by order statistics; the whole range when there are few values.

    >>> order_interval(np.arange(1.0, 10.0))
    (2.0, 8.0)
    >>> order_interval(np.array([3.0, 1.0]))
    (1.0, 3.0)
    """
    ordered = np.sort(values)
    n = ordered.size
    if n == 0:
        return float("nan"), float("nan")
    if n > 200:  # where the binomial is as good as normal
        rank = max(0, math.floor((n - 1.959964 * math.sqrt(n)) / 2) - 1)
        return float(ordered[rank]), float(ordered[n - 1 - rank])
    rank, below = 0, 0.5**n
    # The k-th value from each end: both tails of the binomial stay within 1 - confidence.
    while rank + 1 <= (n - 1) // 2:
        below += math.comb(n, rank + 1) * 0.5**n
        if 2 * below > 1 - confidence:
            break
        rank += 1
    return float(ordered[rank]), float(ordered[n - 1 - rank])


def has_interval(launches: int, samples: int) -> bool:
    """Whether there are enough samples for an interval of 95 %, give or take two.

    The range of two samples holds the median every other time, and that of one never.

    >>> has_interval(1, 4), has_interval(1, 5), has_interval(3, 3)
    (False, True, True)
    """
    return launches >= FIRM or samples >= LEAST


def noise_limit(floor: float) -> tuple[float, float]:
    """Ratios that count as no difference: 0.97 to 1.03, wider where the noise floor is.

    Args:
        floor: Relative half width of the interval of the base codec against itself.

    >>> noise_limit(0.004)
    (0.97, 1.03)
    >>> noise_limit(0.25)
    (0.8, 1.25)
    """
    return min(INDIFFERENT[0], 1 / (1 + floor)), max(INDIFFERENT[1], 1 + floor)


def differs(lo: float, hi: float, floor: float) -> bool:
    """Whether the interval of a ratio lies wholly outside what counts as no difference.

    >>> differs(1.04, 1.20, floor=0.01), differs(1.04, 1.20, floor=0.05), differs(0.5, 1.2, floor=0)
    (True, False, False)
    """
    low, high = noise_limit(floor)
    return lo > high or hi < low


def align(series: Sequence[Mapping[int, Mapping[int, float]]]) -> tuple[Array, list[int]]:
    """Series given as launch -> round -> value, laid on one grid.

    Args:
        series: One mapping per series; launches and rounds may differ or be missing.

    Returns:
        series x launches x rounds with NaN for what is missing, and the launches.

    >>> grid, launches = align([{1: {1: 5.0, 2: 6.0}}, {1: {2: 7.0}, 3: {1: 8.0}}])
    >>> grid.shape, launches
    ((2, 2, 2), [1, 3])
    """
    launches = sorted({n for one in series for n in one})
    rounds = sorted({r for one in series for values in one.values() for r in values})
    row, column = {n: i for i, n in enumerate(launches)}, {r: i for i, r in enumerate(rounds)}
    grid = np.full((len(series), len(launches), len(rounds)), np.nan)
    for i, one in enumerate(series):
        for n, values in one.items():
            grid[i, row[n], [column[r] for r in values]] = list(values.values())
    return grid, launches
