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
from tare.measure.stages.fit import Cost, fit_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.codec import Codec
    from tare.measure.session import Part, Session

__all__ = ["costs_of"]

_LARGER = 8.0
_WORTH = 2.0
_MOST_BYTES = 24 << 20
"""What the workers of screening may hold: their memory is limited, and some kinds take 24 times the table's."""
_MOST_S = 2.0
_CALLS = 2
_SPENT = 0.1
"""Share of the time for weighing after which nothing further is tried."""


def costs_of(
    session: Session, seats: Sequence[Seat], small: Part, budget_s: float, launches: int
) -> tuple[dict[Codec, Cost], int]:
    """What a round of each seat's codec takes, by size.

    Args:
        session: The run.
        seats: Screened seats of those to be weighed; their workers live.
        small: The part that was screened.
        budget_s: Time for all launches, in seconds; infinite for no limit.
        launches: Launches to fit.

    Returns:
        The costs, and the largest size that was tried, in bytes in memory.
    """
    known = {seat: (small.bytes_memory, round_s(seat)) for seat in seats}
    costs = {seat.codec: Cost.through(size) for seat, size in known.items()}
    total, part = session.dataset.bytes_memory, small
    until_s = session.elapsed_s + _SPENT * budget_s
    while session.elapsed_s < until_s:
        share = fit_share(
            costs, small, total, budget_s, launches, tried_bytes=part.bytes_memory, start_s=session.start_s
        )
        if share >= 1.0:
            break
        # From the last size all of the time is taken to grow, so that no step can take much longer than wanted.
        calls_s = _CALLS * sum(seconds for _, seconds in known.values())
        larger = min(_LARGER, _MOST_BYTES / max(1, part.bytes_memory), 1 / part.share, _MOST_S / calls_s)
        if larger < _WORTH:
            break
        part = session.part(float(f"{part.share * larger:.2g}"))
        for seat in seats:
            if session.elapsed_s > until_s:
                break  # the others keep what a smaller size says
            found = _again(session, seat, part)
            if found is not None:
                size = (part.bytes_memory, found[0])
                load_byte_s = found[1] / max(1, part.bytes_memory)
                costs[seat.codec] = Cost.through(known[seat], size, load_byte_s)
                known[seat] = size
    return costs, part.bytes_memory


def round_s(seat: Seat) -> float:
    """Wall time of one call of each of the seat's operations, in seconds: what a time limit pays."""
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
