"""Who is not told apart from the most likely best, and whether one of them can be named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tare.measure.analysis import Analysis
from tare.measure.cost import Costed, Profile, timed_share
from tare.measure.mains import TOTAL
from tare.measure.statistics import Array, differs, quantiles

__all__ = ["SURE_IN_NOISE", "Tie", "tie_of"]

# P(best) from which on one of a tie is named.
SURE = 0.5
# With a noise floor above NOISY, or weighed too seldom for an interval, a winner among ties needs more than the half.
NOISY, SURE_IN_NOISE = 0.10, 0.95
# Codecs that cost up to so many times the least may be chosen among by size; if those that are not
# told apart reach further, "smallest first" would offer one that may cost a multiple.
NEAR = 1.25


@dataclass(frozen=True)
class Tie:
    """The codecs that are not told apart from the most likely best.

    Args:
        members: The smallest first; if ``vague``, the most likely best first. If one is named, those
            near it only.
        winner: The one to use: the one named, else the first of the members.
        named: Whether the winner is shown to be better, or likely enough so.
        vague: Whether none is named and the members' costs lie too far apart to choose by size.
        noise: The largest noise floor among the members, where it is too high for sure words; else 0.
    """

    members: list[Costed]
    winner: Costed
    named: bool
    vague: bool
    noise: float


def tie_of(
    several: Sequence[Costed],
    costs: Mapping[str, tuple[float, Array]],
    shares: Mapping[str, float],
    analysis: Analysis,
    use: Profile,
) -> Tie:
    """The tie around the codec with the largest P(best).

    Args:
        several: Codecs that qualify; at least one.
        costs: Codec -> its cost in seconds, with draws.
        shares: Codec -> P(best).
        analysis: The figures behind the costs: letters and noise floors.
        use: What the costs are of.
    """
    ranked = sorted(several, key=lambda one: (-shares[one.codec], costs[one.codec][0], one.codec))
    best = ranked[0]
    floors = {one.codec: analysis.floor(one.key, TOTAL) * timed_share(one, use) for one in several}
    members = [
        one
        for one in ranked
        if one is best or (_alike(one, best, costs, floors) and not _beaten(one, best, analysis))
    ]
    noisy = max(floors[one.codec] for one in members) > NOISY
    early = analysis.weighed(best.key) and not analysis.figures[best.key][TOTAL].sure
    enough = shares[best.codec] >= (SURE_IN_NOISE if noisy or early else SURE)
    named = len(members) == 1 or (enough and not _within(best, members, costs, floors))
    least = min(costs[one.codec][0] for one in members)
    near = [one for one in members if costs[one.codec][0] <= NEAR * least]
    vague = not named and len(near) < len(members)
    if named:
        members = [one for one in members if one is best or one in near]
    if not vague:
        members.sort(key=lambda one: (one.bytes, costs[one.codec][0], one.codec))
    noise = max(analysis.floor(one.key, TOTAL) for one in members) if noisy else 0.0
    return Tie(members, best if named else members[0], named, vague, noise)


def _alike(
    one: Costed, best: Costed, costs: Mapping[str, tuple[float, Array]], floors: Mapping[str, float]
) -> bool:
    """Whether the ratio of the two costs is not shown to be one that counts."""
    lo, hi = quantiles(costs[one.codec][1] / costs[best.codec][1])
    return not differs(float(lo), float(hi), max(floors[one.codec], floors[best.codec]))


def _beaten(one: Costed, best: Costed, analysis: Analysis) -> bool:
    """Whether a codec's measured times are told apart from the best one's, and nothing speaks for it.

    Where only a part was measured a cost is spread over the range of its prediction, which may
    hold more than the times that letters are made of. A tie must not hide what those have shown.
    """
    letters = [set(analysis.figures[key][TOTAL].letters) for key in (one.key, best.key)]
    apart = all(letters) and not letters[0] & letters[1]
    return apart and all(
        mine >= its
        for mine, its in (
            (one.bytes, best.bytes),
            (one.write_s, best.write_s),
            (one.read_s, best.read_s),
            (one.subset_s or 0.0, best.subset_s or 0.0),
        )
    )


def _within(
    best: Costed,
    members: Sequence[Costed],
    costs: Mapping[str, tuple[float, Array]],
    floors: Mapping[str, float],
) -> bool:
    """Whether another of the tie costs as much as the best, but for what the base differs from itself.

    Draws know the noise between rounds and launches alone: of two equal codecs one has a
    P(best) of one half or more, always, so the odds by themselves would name one.
    """
    least = costs[best.codec][0]
    return least > 0 and any(
        abs(costs[one.codec][0] / least - 1) < max(floors[one.codec], floors[best.codec])
        for one in members
        if one is not best
    )
