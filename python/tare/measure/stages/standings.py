"""Rough costs while a run goes on: who is near the best in some use, by the least of few samples.

They steer where the time goes, and nothing else: verdicts are made of the record (`tare.measure.verdict.default_use`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from tare.measure.sampling.batch_length import calls_ns
from tare.measure.verdict.choice import file_rate
from tare.measure.verdict.constraints import barred, conditions
from tare.measure.verdict.cost_model import PROFILES

if TYPE_CHECKING:
    from tare.measure.sampling.case_runner import Seat
    from tare.measure.session import Session
    from tare.measure.verdict.cost_model import Profile

__all__ = ["Uses", "hopeful_ns", "is_sampled", "least_ns", "rounds_of"]

Time = Callable[["Seat", str], "float | None"]

# What loses data is recommended only where the user allows it.
_LOSSY = 2.0


def least_ns(seat: Seat, operation: str) -> float | None:
    """Returns the least time of one call in nanoseconds; None if none was sampled."""
    columns = seat.samples.get(operation)
    return min(calls_ns(columns, seat.session.pace_ns)) if columns and columns["batch"] else None


def hopeful_ns(seat: Seat, operation: str) -> float | None:
    """Returns the least that a further call may take, in nanoseconds; None if none was sampled.

    A trial's calls pay for fresh memory and new files, which the system does and not the codec: of an operation that
    no round has sampled, the time in the codec's own code is what is sure to come again. Writing 20 MB of Arrow took
    367 ms in a trial, and 4 ms when it was written once more.
    """
    columns = seat.samples.get(operation)
    if not columns or not columns["batch"]:
        return None
    if is_sampled(seat, operation) or "user_ns" not in columns:
        return least_ns(seat, operation)
    times = zip(columns["user_ns"], columns["wall_ns"], columns["batch"], strict=True)
    return min(min(user, wall) / batch for user, wall, batch in times)


def is_sampled(seat: Seat, operation: str) -> bool:
    """Returns whether the seat has a sample of the operation from a round, its trial left out."""
    return any(seat.samples.get(operation, {}).get("round", ()))


def rounds_of(seat: Seat) -> int:
    """Returns the number of rounds in which every operation of the seat was sampled, its trial left out."""
    counts = [
        len(set(seat.samples.get(operation, {}).get("round", ())) - {0}) for operation in seat.operations
    ]
    return min(counts, default=0)


class Uses:
    """The uses that a run answers, as far as what was sampled decides them.

    Args:
        session: The run: its codecs, constraints and link.
    """

    def __init__(self, session: Session) -> None:
        self._codecs = session.record["codecs"]
        link = session.settings.link
        self._uses = [use if use.subset_reads else use.with_link(link) for use in PROFILES.values()]
        self._file_rate = file_rate(session.record)
        self._wanted = [conditions(use.conditions, session.settings.must) for use in self._uses]

    def costs(self, seat: Seat, time_ns: Time = least_ns, messages: bool | None = None) -> list[float]:
        """Returns what the codec costs in each use, in seconds; infinite where it cannot be chosen or has no times.

        Args:
            seat: The seat.
            time_ns: What is taken for its times.
            messages: Whether it decides the use ``message`` alone, or all others; None for all.
        """
        entry = self._codecs[str(seat.codec)]
        copied = bool((entry.get("flags") or {}).get("copies"))
        return [
            math.inf
            if barred(entry, wanted) or messages not in (None, use.name == "message")
            else _cost(seat, use, self._file_rate, time_ns, copied=copied)
            for use, wanted in zip(self._uses, self._wanted, strict=True)
        ]

    def measure_distances(self, seats: Iterable[Seat], messages: bool | None = None) -> None:
        """Sets how many times over the best each seat may cost, in the use that suits it best.

        The best is what was measured; a seat that has its trial alone is held against it by `hopeful_ns`.

        Args:
            seats: The seats.
            messages: As of `costs`.
        """
        seats = list(seats)
        costs = {seat: self.costs(seat, messages=messages) for seat in seats}
        proven = [row for seat, row in costs.items() if seat.case["status"] == "ok"]
        least = _least(proven or list(costs.values()))
        for seat in seats:
            may = _nearest(self.costs(seat, hopeful_ns, messages), least)
            seat.distance = may * (1.0 if seat.case["status"] == "ok" else _LOSSY)

    def predicted(
        self, seats: Sequence[Seat], base: tuple[Seat, Seat], measured: Sequence[Seat]
    ) -> dict[Seat, float]:
        """Returns how many times over the best seats of a small part would cost on the whole, in the use that suits each best.

        Args:
            seats: Seats of the small part.
            base: The base codec's seats of the small part and of the whole: what its cost grew by is expected of others.
            measured: Seats of the whole.
        """
        small, whole = (self.costs(one) for one in base)
        grew = [
            b / a if 0 < a < math.inf and b < math.inf else math.nan
            for a, b in zip(small, whole, strict=True)
        ]
        known = [factor for factor in grew if not math.isnan(factor)]
        grew = [max(known, default=1.0) if math.isnan(factor) else factor for factor in grew]
        least = _least([self.costs(seat) for seat in measured if seat.case["status"] == "ok"])
        found = {}
        for seat in seats:
            row = [cost * factor for cost, factor in zip(self.costs(seat), grew, strict=True)]
            found[seat] = _nearest(row, least) * (1.0 if seat.case["status"] == "ok" else _LOSSY)
        return found


def _least(rows: Sequence[Sequence[float]]) -> list[float]:
    return [min(column) for column in zip(*rows, strict=True)]


def _nearest(row: Sequence[float], least: Sequence[float]) -> float:
    """The least multiple of the best in any use; 1 where nothing else is known."""
    if not least:
        return 1.0 if any(map(math.isfinite, row)) else math.inf
    ratios = [
        1.0 if not math.isfinite(best) else cost / max(best, 1e-12)
        for cost, best in zip(row, least, strict=True)
        if math.isfinite(cost)
    ]
    return min(ratios, default=math.inf)


def _cost(seat: Seat, use: Profile, file_rate: float, time_ns: Time, *, copied: bool) -> float:
    write_ns, read_ns = (time_ns(seat, operation) for operation in seat.operations[:2])
    if write_ns is None or read_ns is None or seat.case.get("bytes") is None:
        return math.inf
    size = float(seat.case["bytes"])
    rate = use.bytes_per_s
    if math.isinf(rate) and seat.medium == "memory":
        rate = file_rate
    passage_s, read_s = size / rate, read_ns / 1e9
    taken_s = max(passage_s, read_s) if copied else passage_s + read_s
    whole = use.writes * write_ns / 1e9 + use.reads * taken_s
    parts = 0.0
    if use.subset_reads:
        part_ns = time_ns(seat, "subset")
        parts = math.inf if part_ns is None else use.subset_reads * part_ns / 1e9
    return whole + parts + use.seconds_per_byte * size
