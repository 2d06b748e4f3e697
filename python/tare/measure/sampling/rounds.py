"""Interleaved rounds: every seat once per operation, in random order, then in reverse.

Blocks of runs turn a frequency or load change into a result; pairs taken within
one round do not. Exactly one worker runs at any moment of a round.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from tare.measure.sampling.batch_length import calls_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tare.measure.sampling.case_runner import Seat
    from tare.measure.session import Session

__all__ = ["Loading", "Taken", "launch_seats", "run_rounds"]

_LOADERS = 2
_WORTH = 3
_STEADY = 0.05


class Taken(NamedTuple):
    """What was taken of rounds: how many, and their time in seconds, without that of holding clocks afterwards."""

    rounds: int
    seconds: float


class Loading:
    """Seats on their way: started, loaded and warmed up two at a time, none of it timed.

    The caller may do other work meanwhile, as long as nothing is sampled: what the
    seats write into their cases then are values, never new keys.

    Args:
        seats: The seats.
        verify: Whether each compares what came back, though it has done so in an earlier launch.
        warm_until_s: Elapsed time of the run, in seconds, before which three rounds must fit for
            each seat to make one call of each operation that is not kept; None for no such calls.
    """

    def __init__(
        self, seats: Sequence[Seat], *, verify: bool = False, warm_until_s: float | None = None
    ) -> None:
        self._seats = seats
        self._verify = verify
        self._warm_until_s = warm_until_s
        self._pool = ThreadPoolExecutor(_LOADERS)
        self._jobs = [self._pool.submit(self._load, seat) for seat in seats]

    def wait(self, on_ready: Callable[[Seat], None] | None = None) -> None:
        """Wait for all of them.

        Args:
            on_ready: Called in this thread with each seat in turn.

        Raises:
            Stopped: The user asked to stop.
        """
        try:
            for seat, job in zip(self._seats, self._jobs, strict=True):
                job.result()
                if on_ready is not None:
                    on_ready(seat)
        finally:
            self._pool.shutdown(cancel_futures=True)

    def abandon(self) -> None:
        """Give up the seats that have not begun; their workers are the session's to end."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _load(self, seat: Seat) -> None:
        seat.start()
        seat.ready(verify=self._verify)
        # The first call in a process pays for pages and for files that did not exist: up to five times the rest.
        round_s = sum(one.expected_s(operation) for one in self._seats for operation in one.operations)
        if self._warm_until_s is None or seat.session.elapsed_s + _WORTH * round_s >= self._warm_until_s:
            return
        for operation in seat.operations:
            if seat.alive:
                seat.warm(operation)


def launch_seats(
    seats: Sequence[Seat],
    *,
    verify: bool,
    warm_until_s: float | None = None,
    on_ready: Callable[[Seat], None] | None = None,
) -> None:
    """Start, load and warm up all seats as `Loading` does, and wait for them."""
    Loading(seats, verify=verify, warm_until_s=warm_until_s).wait(on_ready)


def run_rounds(
    session: Session,
    seats: Sequence[Seat],
    *,
    rounds: int,
    until_s: float,
    at_least: int = 1,
    most: int = 0,
    first: int = 0,
    on_round: Callable[[int], None] | None = None,
) -> Taken:
    """Sample every living seat in ABBA rounds, all on the CPU that is measured on.

    Args:
        session: The run; its clock decides when to end.
        seats: The seats, loaded.
        rounds: Rounds to take if there is time.
        until_s: Elapsed time of the run, in seconds, after which no further round begins.
        at_least: Rounds taken whatever the time.
        most: Rounds to take as long as some seat's times lie further apart than 5 %; none beyond
            ``rounds`` if that is more.
        first: Rounds that the seats had before: these get the numbers after them.
        on_round: Called between rounds with the number done.

    Returns:
        Rounds taken, and how long they took.
    """
    for seat in seats:
        seat.settle()
    began_s = session.elapsed_s
    order: list[tuple[Seat, str]] = []
    taken = 0
    # The first round's length is what the first calls took.
    round_s = sum(seat.expected_s(operation) for seat in seats for operation in seat.operations)
    while taken < max(rounds, most):
        if taken >= at_least and session.elapsed_s + round_s > until_s:
            break
        if taken >= rounds and all(map(_steady, seats)):
            break
        began = session.elapsed_s
        if taken % 2 == 0:
            order = [(seat, operation) for seat in seats for operation in seat.operations]
            session.rng.shuffle(order)
        else:
            order.reverse()
        for position, (seat, operation) in enumerate(order):
            if seat.alive and taken < seat.rounds_left:
                seat.sample(operation, first + taken + 1, position)
        taken += 1
        round_s = session.elapsed_s - began
        if on_round is not None:
            on_round(taken)
    sampled_s = session.elapsed_s - began_s
    for seat in seats:
        seat.hold_sums()
    return Taken(taken, sampled_s)


def _steady(seat: Seat) -> bool:
    """Whether the medians of this launch are known to 5 %, or will not be known better."""
    import numpy as np

    from tare.measure.analysis.statistics import order_interval

    if not seat.alive:
        return True
    for columns in seat.samples.values():
        calls = np.array(calls_ns(columns))
        low, high = order_interval(calls)
        if calls.size < seat.rounds_left and high - low > _STEADY * (high + low):
            return False
    return True
