"""Rounds of a default run: each seat once an operation, in random order and then in reverse, the best few more often."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from tare.measure.sampling.batch_length import calls_ns
from tare.measure.stages.standings import hopeful_ns, is_sampled, rounds_of

if TYPE_CHECKING:
    from tare.measure.sampling.case_runner import Seat
    from tare.measure.session import Session

__all__ = ["FEW", "sample_rounds"]

FEW = 3
"""Rounds of what people use, and of what may be the best of some use."""
# Samples in a row of what takes no longer than this, in seconds: of a longer one memory is a small part. The first
# finds the caches full of another codec's data; of short ones there are as many as fit into so many seconds, as the
# least of few is far from the least of many.
_IN_A_ROW, _AGAIN_S = 2, 0.15
_MOST_IN_A_ROW, _ROW_S = 5, 10e-3
# Times over the best beyond which a usual codec waits until the best are known well; and beyond which it waits in the
# first round, after which variants are tried that may be better than all of them.
_FAR, _FAR_AT_FIRST = 3.0, 1.8
# Rounds of those near the best: until a quarter of their samples lie within this of the least.
_SOME, _FEWEST, _MOST = 5, 9, 45
_NARROW = 0.02


def sample_rounds(
    session: Session,
    seats: Sequence[Seat],
    near: Callable[[], Collection[Seat]],
    common: Collection[Seat],
    *,
    first: int,
    until_s: float,
    once: bool = False,
) -> int:
    """Samples in rounds until nothing is left to learn or the time is up.

    Args:
        session: The run.
        seats: Every seat.
        near: Returns those that may be the best of some use: they come first, and get more rounds.
        common: What people use: each gets a few rounds.
        first: Rounds taken before.
        until_s: Elapsed seconds of the run after which no sample begins that is not expected to end by then.
        once: Whether one round of those that may be the best is enough for now.

    Returns:
        Rounds taken, with those before.
    """
    taken = first
    long: set[Seat] = set()  # of which one call no longer fits; those of others may
    while True:
        close = near()
        able = [seat for seat in seats if _lives(seat) and seat not in long]
        due = _due(able, close, common, _FAR_AT_FIRST if once else _FAR)
        if once and all(rounds_of(seat) > 0 for seat in seats if seat in close and seat in able):
            return taken
        order = [(seat, operation) for seat in due for operation in seat.operations]
        if not order:
            return taken
        session.rng.shuffle(order)
        turns = [order, order[::-1]]
        if any(rounds_of(seat) < 1 for seat in due):
            # Where the time suffices for some only, it is for those that are quick, or may be when they are warm.
            new = [one for one in order if not is_sampled(*one)]
            turns = [sorted(new, key=lambda one: (one[0] not in close, _hopeful_s(*one)))]
        for turn in turns:
            taken += 1
            for position, (seat, operation) in enumerate(turn):
                left_s, one_s = until_s - session.elapsed_s, seat.expected_s(operation)
                if one_s > left_s:
                    long.add(seat)
                elif seat.alive:
                    seat.sample(operation, taken, position, in_a_row=_in_a_row(seat, operation, left_s))
            session.tell("rounds", taken, 0, f"round {taken}, {len(due)} codecs")


def _due(seats: Sequence[Seat], near: Collection[Seat], common: Collection[Seat], far: float) -> list[Seat]:
    """Returns the seats of the next rounds: those near the best first, then the usual ones up to ``far`` times the best."""
    rounds = {seat: rounds_of(seat) for seat in seats}
    close = [seat for seat in seats if seat in near]
    # A trial's calls are cold: what was off in it may not be.
    usual = [seat for seat in seats if seat in near or (seat in common and seat.distance <= far)]
    return (
        [seat for seat in usual if rounds[seat] < 1]
        or [seat for seat in close if rounds[seat] < FEW]
        or [seat for seat in usual if rounds[seat] < (_SOME if seat in near else FEW)]
        # What two at a time took in their trials is no figure to show beside the others.
        or [seat for seat in seats if rounds[seat] < 1]
        or [seat for seat in close if rounds[seat] < _FEWEST]
        or [seat for seat in seats if rounds[seat] < FEW * (seat in common)]
        or [seat for seat in close if rounds[seat] < _MOST and not _is_narrow(seat)]
    )


def _in_a_row(seat: Seat, operation: str, left_s: float) -> int:
    """Returns how many samples of an operation are taken in a row."""
    one_s, again = seat.expected_s(operation), _hopeful_s(seat, operation) <= _AGAIN_S
    if not again or _IN_A_ROW * one_s > left_s:
        return 1
    return max(_IN_A_ROW, min(_MOST_IN_A_ROW, int(_ROW_S / one_s)))


def _hopeful_s(seat: Seat, operation: str) -> float:
    """Returns the expected seconds of a further call: those of the last one; after a trial alone, the codec's own time."""
    known_ns = None if is_sampled(seat, operation) else hopeful_ns(seat, operation)
    return seat.expected_s(operation) if known_ns is None else known_ns / 1e9


def _lives(seat: Seat) -> bool:
    return seat.alive and seat.case["status"] in ("ok", "lossy", "unproven")


def _is_narrow(seat: Seat) -> bool:
    """Whether the least and the lower quartile of every operation's samples nearly agree: a quarter met no disturbance."""
    for columns in seat.samples.values():
        calls = sorted(calls_ns(columns, seat.session.pace_ns))
        if calls[len(calls) // 4] > (1 + _NARROW) * calls[0]:
            return False
    return True
