"""How sure a recommendation is, in words: *clear*, *close* or *can't tell*, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tare.codec.shortlist import is_listed
from tare.codec.titles import title_of
from tare.measure.analysis.figures import Analysis, Figure
from tare.measure.analysis.ranked_cases import TOTAL
from tare.measure.analysis.statistics import Array, quantiles
from tare.measure.verdict import text
from tare.measure.verdict.choice import Choice
from tare.measure.verdict.cost_model import Costed, timed_share
from tare.measure.verdict.negligible import WORTH
from tare.measure.verdict.text import CANNOT_TELL, CLEAR, CLOSE

__all__ = ["FEW_SAMPLES", "Confidence", "confidence_of"]

Costs = Mapping[str, tuple[float, Array]]

# Share of the draws in which the recommended codec has to be within WORTH of the least, to be clear.
SURE = 0.95
# Close: it is within NEAR of the least in most draws.
NEAR, LIKELY = 1.25, 0.80
# A rival is near it, or costs less in more than this share of the draws.
RIVAL = 0.20
# The same codec, measured twice, differs by more than this: the machine was busy.
BUSY = 0.10
# Bytes per second of a link over which text of a table, compressed, may be the best for its size.
SLOW_LINK = 50e6
# Below so many samples nothing is known of their spread.
FEW_SAMPLES = 3
# An answer that rests on no more codecs says so.
FEW = 3


@dataclass(frozen=True)
class Confidence:
    """How sure a recommendation is.

    Args:
        level: ``clear``, ``close`` or ``can't tell``.
        near_best: Share of the draws in which the codec costs at most a tenth more than the least.
        second: Least cost of another codec, as a multiple of its own; None if there is no other.
        rivals: Codecs that may be as good or better, nearest first.
        why: What keeps it from being clear, one clause each.
        noise: What the same codec, measured twice, differed by, where that is much; else 0.
    """

    level: str
    near_best: float
    second: float | None
    rivals: tuple[str, ...]
    why: tuple[str, ...]
    noise: float


def confidence_of(best: Costed, choice: Choice, costs: Costs, analysis: Analysis) -> Confidence:
    """Returns how sure it is that no other codec is better.

    A difference below a tenth does not matter, so a codec is as good as the best while it costs at most a
    tenth more than that. It is *clear* if that holds in 95 % of the draws, every other codec costs a tenth
    more or beyond what the machine's noise explains, and no codec of the shortlist is left to try. It is
    *close* if in most draws it costs at most a quarter more: then its rivals are as good, and are named.

    Args:
        best: The recommended codec.
        choice: The codecs that qualify, and those that were not reached.
        costs: Codec -> its cost in seconds, with draws.
        analysis: The figures behind the costs.
    """
    own, own_draws = costs[best.codec]
    others = {codec: cost for codec, cost in costs.items() if codec != best.codec}
    second = min((cost for cost, _ in others.values()), default=None)
    ratio = None if second is None or own <= 0 else second / own
    times = _times_least(own_draws, [draws for _, draws in costs.values()])
    near_best, likely = float(np.mean(times <= WORTH)), float(np.mean(times <= NEAR))
    # Noise is of times: bytes and their price have none, and it is the two that decide whose noise counts.
    deciding = sorted(choice.several, key=lambda one: (one is not best, costs[one.codec][0]))[:2]
    floor = max(analysis.floor(one.key, TOTAL) * timed_share(one, choice.profile) for one in deciding)
    missing = [codec for codec in choice.unmeasured if is_listed(codec) and not _is_behind(codec, choice)]
    alone = not others and bool(choice.waiting)
    apart = ratio is None or ratio >= max(WORTH, 1 + floor)
    rivals = _rivals(own, own_draws, others, max(WORTH, 1 + floor))
    # What disturbed the best itself only made it look worse.
    disturbed = any(
        costs[one.codec][0]
        * _undisturbed(analysis.figures[one.key].get(TOTAL), timed_share(one, choice.profile))
        < WORTH * own
        for one in choice.several
        if one is not best and _is_disturbed(analysis.figures[one.key].get(TOTAL))
    )
    cold = _cold_rivals(best, choice, costs)
    if missing or alone:
        level = CANNOT_TELL
    elif near_best >= SURE and apart and not disturbed and not cold:
        level = CLEAR
    elif likely >= LIKELY and (ratio is None or floor < NEAR - 1 or ratio >= 1 + floor):
        level = CLOSE
    else:
        level = CANNOT_TELL
    why = () if level == CLEAR else _missing(choice, analysis, floor, missing, disturbed=disturbed, cold=cold)
    if level == CANNOT_TELL and not why:
        why = _spread(best, choice, analysis)
    noise = floor if floor > BUSY else 0.0
    if (
        level == CLOSE
    ):  # what costs more than a tenth more, or than the noise, is close only if nothing else is
        rivals = tuple(one for one in rivals if others[one][0] <= max(WORTH, 1 + floor) * own) or rivals
    return Confidence(level, near_best, ratio, rivals if level != CLEAR else (), why, noise)


def _times_least(own: Array, several: Sequence[Array]) -> Array:
    """Returns, draw by draw, a cost as a multiple of the least of all."""
    shape = np.broadcast_shapes(own.shape, *(draws.shape for draws in several))
    least = np.nanmin(np.stack([np.broadcast_to(draws, shape) for draws in several]), axis=0)
    times: Array = np.broadcast_to(own, shape) / np.maximum(least, 1e-30)
    return times


def _rivals(own: float, own_draws: Array, others: Costs, near: float) -> tuple[str, ...]:
    """Returns the codecs that cost nearly the same, or little more and less in a good share of the draws; nearest first."""
    found = [
        (cost, codec)
        for codec, (cost, draws) in others.items()
        if cost <= near * own or (cost <= NEAR * own and float(np.mean(draws < own_draws)) > RIVAL)
    ]
    return tuple(codec for _, codec in sorted(found))


def _is_behind(codec: str, choice: Choice) -> bool:
    """Returns whether a codec writes a table as text, which costs more to read than its bytes save over a fast link."""
    return choice.profile.bytes_per_s > SLOW_LINK and codec.startswith(("csv:", "ndjson:polars"))


def _is_disturbed(figure: Figure | None) -> bool:
    """Returns true if a codec has few samples, taken while other processes used the CPU."""
    return figure is not None and figure.contended and figure.samples < FEW_SAMPLES


def _undisturbed(figure: Figure | None, timed: float) -> float:
    """Returns the share of a cost without the time in which others had the CPU; the rest of it, not ``timed``, has none."""
    if figure is None or not figure.cpu_ns or not figure.wall_ns:
        return 1.0
    own = min(1.0, (figure.cpu_ns + (figure.blocked_ns or 0.0)) / figure.wall_ns)
    return 1.0 - timed * (1.0 - own)


def _cold_rivals(best: Costed, choice: Choice, costs: Costs) -> list[str]:
    """Returns the codecs that were called only once and may be as good as the best when they are called again; the best itself too."""
    reach = WORTH * costs[best.codec][0]
    return [
        one.codec
        for one in choice.several
        if one.cold and (one is best or float(quantiles(costs[one.codec][1])[0]) < reach)
    ]


def _missing(
    choice: Choice,
    analysis: Analysis,
    floor: float,
    missing: Sequence[str],
    *,
    disturbed: bool,
    cold: Sequence[str],
) -> tuple[str, ...]:
    """Returns what the run was short of, one clause each: time, or a quiet machine."""
    found = []
    if missing:
        few = f"it rests on {len(choice.several)} codecs: " if len(choice.several) <= FEW else ""
        found.append(
            f"{few}there was no time left for {text.listed([title_of(codec) for codec in missing], word='or')} (--time gives more)"
        )
    elif len(choice.several) == 1 and choice.waiting:
        found.append(f"{len(choice.waiting)} other codecs were not measured")
    if cold:
        were = (
            "was timed only on its first call" if len(cold) == 1 else "were timed only on their first calls"
        )
        found.append(f"{text.listed([title_of(codec) for codec in cold])} {were}")
    if floor > BUSY:
        found.append(
            f"the machine was busy: the same codec, measured twice, differed by {text.percent(floor)}"
        )
    elif disturbed:
        found.append(f"the machine was busy, and {_seldom(choice, analysis)} measured only once or twice")
    return tuple(found)


def _seldom(choice: Choice, analysis: Analysis) -> str:
    """Returns which codecs have few samples: each, or some of them."""
    totals = [analysis.figures[one.key].get(TOTAL) for one in choice.several]
    few = [figure is not None and figure.samples < FEW_SAMPLES for figure in totals]
    return "each codec was" if all(few) else "some codecs were"


def _spread(best: Costed, choice: Choice, analysis: Analysis) -> tuple[str, ...]:
    """Returns why the times tell the codecs apart no better, where the run was short of nothing."""
    figure = analysis.figures[best.key].get(TOTAL)
    found = []
    if figure is not None and figure.samples < FEW_SAMPLES:
        found.append(f"{_seldom(choice, analysis)} measured only once or twice")
    if choice.predicted:
        found.append(f"only {text.percent(choice.share)} of the data was measured")
    return tuple(found) or ("the times vary by more than the codecs differ",)
