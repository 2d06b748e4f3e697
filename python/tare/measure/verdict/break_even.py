"""Break-even points: the bandwidth or read count beyond which another codec wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tare.measure.analysis.extrapolate import OPERATIONS
from tare.measure.analysis.statistics import Array
from tare.measure.verdict import text
from tare.measure.verdict.cost_model import Costed, cost, crossing

if TYPE_CHECKING:
    from tare.measure.verdict.choice import Choice

__all__ = ["flips"]

# No link is faster than memory or slower than a modem.
FASTEST, SLOWEST = 1e11, 1e4
MOST_READS = 1e6
# A change that may lie anywhere within a factor of ten is no advice.
VAGUE = 10.0


def flips(
    winner: Costed,
    choice: Choice,
    costs: Mapping[str, tuple[float, Array]],
    tied: Sequence[Costed] = (),
) -> list[dict[str, Any]]:
    """The nearest change of each axis, to each side, that makes another codec the best.

    Args:
        winner: The codec named, or the cheapest of a tie without a winner.
        choice: Who may be chosen, and the use.
        costs: Cost of each with its draws.
        tied: The tie without a winner: its members are no change for each other.

    Returns:
        ``text, axis`` (``bandwidth`` or ``reads``), ``at, lo, hi, codec, side`` of each.
    """
    use, found = choice.profile, []
    rivals = [
        one
        for one in choice.several
        if one is not winner and one not in tied and costs[one.codec][0] >= costs[winner.codec][0]
    ]
    spans = choice.medium not in OPERATIONS
    for axis, now, least, most in (
        ("bandwidth", use.bytes_per_s, SLOWEST, FASTEST),
        ("reads", use.reads, 1.0, MOST_READS),
    ):
        if spans or (axis == "reads" and use.reads == 0):
            continue
        meets = [
            (where, one)
            for one in rivals
            if (where := crossing(winner, one, use, axis))
            and least <= where.lo
            and where.at <= most
            and where.hi <= VAGUE * where.lo
            and _best_at(one, choice, axis, where.at)
        ]
        below = [pair for pair in meets if pair[0].at < now]
        above = [pair for pair in meets if pair[0].at > now]
        for side, pairs, nearest in (("below", below, max), ("above", above, min)):
            if pairs:
                where, one = nearest(pairs, key=lambda pair: pair[0].at)
                found.append(
                    {
                        "text": text.flip(axis, side, where, one.codec),
                        "axis": axis,
                        "at": where.at,
                        "lo": where.lo,
                        "hi": where.hi,
                        "codec": one.codec,
                        "side": side,
                    }
                )
    return found


def _best_at(one: Costed, choice: Choice, axis: str, at: float) -> bool:
    """Whether no codec that qualifies costs less there, but for rounding."""
    there = (
        replace(choice.profile, bytes_per_s=at) if axis == "bandwidth" else replace(choice.profile, reads=at)
    )
    return cost(one, there)[0] <= (1 + 1e-9) * min(cost(other, there)[0] for other in choice.several)
