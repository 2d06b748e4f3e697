"""Interleaved rounds: every seat once per operation, in random order, then in reverse.

Blocks of runs turn a frequency or load change into a result; pairs taken within
one round do not. Exactly one worker runs at any moment of a round.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tare.measure.seat import Seat
    from tare.measure.session import Session

__all__ = ["launch_seats", "run_rounds"]

_LOADERS = 2
_WORTH = 3


def launch_seats(
    seats: Sequence[Seat], *, verify: bool, on_ready: Callable[[Seat], None] | None = None
) -> None:
    """Start and load all seats, two at a time; loading is never timed."""
    with ThreadPoolExecutor(_LOADERS) as pool:

        def one(seat: Seat) -> Seat:
            seat.start()
            seat.ready(verify=verify)
            return seat

        for seat in pool.map(one, seats):
            if on_ready is not None:
                on_ready(seat)


def run_rounds(
    session: Session,
    seats: Sequence[Seat],
    *,
    rounds: int,
    until_s: float,
    at_least: int = 1,
    warm: bool = False,
    on_round: Callable[[int], None] | None = None,
) -> int:
    """Sample every living seat in ABBA rounds.

    Args:
        session: The run; its clock decides when to end.
        seats: The seats, loaded.
        rounds: Most rounds to take.
        until_s: Elapsed time of the run, in seconds, after which no further round begins.
        at_least: Rounds taken whatever the time.
        warm: Whether each seat makes one call that is not kept, if there is time for three rounds.
        on_round: Called between rounds with the number done.

    Returns:
        Rounds taken.
    """
    order: list[tuple[Seat, str]] = []
    taken = 0
    # The first round's length is what the first calls took.
    longest_s = sum(seat.expected_s(operation) for seat in seats for operation in seat.operations)
    if warm and session.elapsed_s + _WORTH * longest_s < until_s:
        # The first call in a process pays for pages and for files that did not exist: up to five times the rest.
        for seat in seats:
            for operation in seat.operations:
                if seat.alive:
                    seat.warm(operation)
    while taken < rounds:
        if taken >= at_least and session.elapsed_s + longest_s > until_s:
            break
        began = session.elapsed_s
        if taken % 2 == 0:
            order = [(seat, operation) for seat in seats for operation in seat.operations]
            session.rng.shuffle(order)
        else:
            order.reverse()
        for position, (seat, operation) in enumerate(order):
            if seat.alive and taken < seat.rounds_left:
                seat.sample(operation, taken + 1, position)
        taken += 1
        longest_s = max(longest_s, session.elapsed_s - began)
        if on_round is not None:
            on_round(taken)
    return taken
