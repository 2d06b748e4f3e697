"""Larger sizes before weighing: what a byte costs, apart from what every call costs.

The part that is screened takes the base some milliseconds, much of which a larger part
does not pay again. Taken as growing with the data, a call of 1 ms makes gigabytes look
a hundred times dearer than they are, and a sliver of them is weighed. The workers of
screening are there and have their libraries: each codec makes two calls on larger parts.
"""

from __future__ import annotations

import time
from statistics import fmean
from typing import TYPE_CHECKING

from tare.errors import WorkerError
from tare.measure.seat import Seat
from tare.measure.stages.choose import sure
from tare.measure.stages.fit import Cost, fit_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.codec import Codec
    from tare.measure.session import Part, Session

__all__ = ["costs_of", "in_time"]

_LARGER = 8.0
_WORTH = 2.0
_MOST_BYTES = 24 << 20
"""What the workers of screening may hold: their memory is limited, and some kinds take 24 times the table's."""
_CALLS = 2
_AT_ONCE = 2
_SPENT = 0.12
"""Share of the time for weighing after which nothing further is tried."""


def costs_of(
    session: Session, seats: Sequence[Seat], small: Part, budget_s: float, launches: int
) -> tuple[dict[Codec, Cost], int]:
    """What a round of each seat's codec takes, by size.

    The codecs go from cheap to dear. How much of the time grew with the size for the first
    ones tells what the next are expected to take, and stands for those there is no time for.

    Args:
        session: The run.
        seats: Screened seats of those to be weighed; their workers live.
        small: The part that was screened.
        budget_s: Time for all launches, in seconds; infinite for no limit.
        launches: Launches to fit.

    Returns:
        The costs, and the largest size that was tried, in bytes in memory.
    """
    known = {seat: (small.bytes_memory, round_s(seat)) for seat in sorted(seats, key=round_s)}
    costs = {seat.codec: Cost.through(size) for seat, size in known.items()}
    part = small
    until_s = session.elapsed_s + _SPENT * budget_s
    while session.elapsed_s < until_s:
        share = fit_share(
            costs,
            small,
            session.dataset.bytes_memory,
            budget_s,
            launches,
            tried_bytes=part.bytes_memory,
            start_s=session.start_s,
        )
        larger = min(_LARGER, _MOST_BYTES / max(1, part.bytes_memory), 1 / part.share)
        if share >= 1.0 or larger < _WORTH:
            break
        next_part = session.part(float(f"{part.share * larger:.2g}"))
        if not _step(session, known, costs, next_part, until_s):
            break
        part = next_part
    return costs, part.bytes_memory


def in_time(seats: Sequence[Seat], base: Codec, left_s: float, start_s: float) -> list[Codec]:
    """The codecs whose first launch is expected to end in time: it does again what their trials did, and a round.

    Args:
        seats: Screened seats of those to be weighed, best first.
        base: The base codec, which every launch has twice.
        left_s: Time left, in seconds.
        start_s: What starting a worker took so far, in seconds.

    Returns:
        The first of them that fit, with the base if it is one of them; empty if there is no time for the
        base and another.
    """
    costs_s = {seat.codec: (start_s + seat.tried_s) / _AT_ONCE + round_s(seat) for seat in seats}
    taken_s = 2 * costs_s.get(base, 0.0)
    fitting = []
    for codec, cost_s in costs_s.items():
        taken_s += 0.0 if codec == base else cost_s
        if codec == base or taken_s <= left_s:
            fitting.append(codec)
    return fitting if fitting != [base] or len(seats) == 1 else []


def _step(
    session: Session,
    known: dict[Seat, tuple[int, float]],
    costs: dict[Codec, Cost],
    part: Part,
    until_s: float,
) -> bool:
    """Try a larger part; ``known`` and ``costs`` get what was found. Whether any codec was tried."""
    grew: float | None = None
    loading_s = 0.0
    for seat, (size, seconds) in known.items():
        ratio = part.bytes_memory / max(1, size)
        if ratio < _WORTH:
            continue
        began_s = session.elapsed_s
        expected_s = loading_s + _CALLS * seconds * (1 + (1.0 if grew is None else grew) * (ratio - 1))
        found = None
        if began_s + expected_s < until_s:
            found = _again(session, seat, part)
        if found is not None:
            costs[seat.codec] = Cost.through(
                (size, seconds), (part.bytes_memory, found[0]), found[1] / max(1, part.bytes_memory)
            )
            known[seat] = (part.bytes_memory, found[0])
            loading_s = max(loading_s, session.elapsed_s - began_s - found[0])
            now = (found[0] / max(seconds, 1e-9) - 1) / (ratio - 1)
            grew = min(1.0, max(now, grew or 0.0))
        elif grew is not None:
            costs[seat.codec] = Cost(seconds * (1 - grew), seconds * grew / max(1, size))
    return grew is not None


def round_s(seat: Seat) -> float:
    """Wall time of one call of each of the seat's operations, in seconds: what a time limit pays."""
    if not sure(seat):
        return sum(seat.expected_s(operation) for operation in seat.operations)
    return sum(
        fmean(wall / batch for wall, batch in zip(columns["wall_ns"], columns["batch"], strict=True)) / 1e9
        for columns in seat.samples.values()
    )


def _again(session: Session, seat: Seat, part: Part) -> tuple[float, float] | None:
    """Seconds of a round and of loading on the larger part; None if the codec or its worker gave up."""
    worker = seat.worker
    if worker is None or not worker.alive:
        return None
    # A case of its own, that no record keeps.
    larger = Seat(session, {"labels": seat.case["labels"]}, seat.codec, part, worker=worker)
    larger.operations = seat.operations
    began = time.monotonic()
    try:
        larger.load()
        larger.prepare(cold=False)
        load_s = time.monotonic() - began
        seconds = sum(larger.trial_s(operation) for operation in larger.operations)
    except WorkerError:
        session.check()
        return None
    return seconds, load_s
