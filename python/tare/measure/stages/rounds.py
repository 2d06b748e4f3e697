"""Rounds of a default run: each seat once an operation, in random order and then in reverse, the best few more often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tare.measure.estimate import rounds_of
from tare.measure.seat import calls_ns

if TYPE_CHECKING:
    from tare.measure.seat import Seat
    from tare.measure.session import Session

__all__ = ["FEW", "sample_rounds"]

FEW = 3
"""Rounds of every codec."""
# Rounds of those near the best: until a quarter of their samples lie within this of the least.
_FEWEST, _MOST = 9, 45
_NARROW = 0.02


def sample_rounds(
    session: Session,
    seats: Sequence[Seat],
    near: Callable[[], Sequence[Seat]],
    *,
    first: int,
    until_s: float,
) -> int:
    """Samples in rounds until nothing is left to learn or the time is up.

    Args:
        session: The run.
        seats: Every seat; each gets a few rounds.
        near: Returns those that may be the best of some use: they get more.
        first: Rounds taken before.
        until_s: Elapsed seconds of the run after which no sample begins that is not expected to end by then.

    Returns:
        Rounds taken, with those before.
    """
    taken = first
    while True:
        close = set(near())
        due = [seat for seat in seats if _is_due(seat, seat in close)]
        order = [(seat, operation) for seat in due for operation in seat.operations]
        if not order:
            return taken
        session.rng.shuffle(order)
        for turn in (order, order[::-1]):
            taken += 1
            for position, (seat, operation) in enumerate(turn):
                if session.elapsed_s + seat.expected_s(operation) > until_s:
                    return taken
                if seat.alive:
                    seat.sample(operation, taken, position)
            session.tell("rounds", taken, 0, f"round {taken}: {len(due)} codecs")


def _is_due(seat: Seat, near: bool) -> bool:
    if not seat.alive or seat.case["status"] not in ("ok", "lossy", "unproven"):
        return False
    rounds = rounds_of(seat)
    if rounds < FEW:
        return True
    return near and rounds < _MOST and (rounds < _FEWEST or not _is_narrow(seat))


def _is_narrow(seat: Seat) -> bool:
    """Whether the least and the lower quartile of every operation's samples nearly agree: a quarter met no disturbance."""
    for columns in seat.samples.values():
        calls = sorted(calls_ns(columns))
        if calls[len(calls) // 4] > (1 + _NARROW) * calls[0]:
            return False
    return True
