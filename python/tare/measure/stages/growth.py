"""Growth: a few samples at smaller sizes, so that the exponent and the full-size time can be told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tare.measure.environment import system_load
from tare.measure.sampling.case_runner import Seat
from tare.measure.sampling.rounds import launch_seats, run_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.measure.session import Part, Session
    from tare.measure.stages.weigh import Contender

__all__ = ["SIZES", "measure_growth"]

SIZES = (1 / 64, 1 / 16, 1 / 4)
_ROUNDS = 9
_SMALLEST_ITEMS = 8
_AT_ONCE = 2
# Each size is encoded and decoded first, then warmed up, both two at a time, and sampled at least once.
_CALLS = 2


def measure_growth(
    session: Session, contenders: Sequence[Contender], until_s: float, full: float = 1.0
) -> int:
    """Sample the contenders at smaller sizes; the full size comes from weighing.

    Args:
        session: The run.
        contenders: Cases with their codecs.
        until_s: Elapsed seconds of the run; no size begins that is not expected to end by then.
        full: The share that was weighed; sizes are fractions of it.

    Returns:
        Sizes measured.
    """
    living = [contender for contender in contenders if contender.case["status"] in ("ok", "lossy")]
    wanted = [full * size for size in (_doubling() if session.settings.grow else SIZES)]
    sizes = [size for size in wanted if _pieces(session) * size >= _SMALLEST_ITEMS]
    taken = 0
    seats: list[Seat] = []
    for size in sizes:
        starting_s = 0.0 if taken else len(living) * session.start_s / _AT_ONCE
        calls_s = _CALLS * size / full * sum(session.round_s(contender.case) for contender in living)
        if session.elapsed_s + starting_s + calls_s > until_s:
            break
        part = session.part(size)
        room = replace(part, bytes_memory=round(part.bytes_memory * sizes[-1] / size))
        seats = _seats(session, living, part, room, seats)
        _measure(session, seats, until_s)
        taken += 1
        session.tell("growth", taken, len(sizes), f"size {size:g}")
    for seat in seats:
        seat.quit()
    for seat in seats:
        seat.close()
    return taken


def _seats(
    session: Session, contenders: Sequence[Contender], part: Part, room: Part, before: Sequence[Seat]
) -> list[Seat]:
    """The seats of one size, in the processes of the size before: these went from small to large."""
    seats = [Seat(session, _case(session, one, part), one.codec, part) for one in contenders]
    for seat in seats:
        seat.room = room
    for seat, smaller in zip(seats, before, strict=False):
        if smaller.alive:
            seat.take_over(smaller)
        smaller.close()
    return seats


def _measure(session: Session, seats: Sequence[Seat], until_s: float) -> None:
    """One launch of one size."""
    launch_seats(seats, verify=False, warm_until_s=until_s)
    before = system_load.snapshot()
    run_rounds(session, seats, rounds=_ROUNDS, until_s=until_s, at_least=1)
    after = system_load.snapshot()
    for seat in seats:
        if seat.samples:
            session.save_launch(seat.case, seat.launch(1, before.stalled_share(after), after.load))
        session.save_case(seat.case)


def _pieces(session: Session) -> int:
    """What a part can be taken of: rows, documents, or the leaves of a single document."""
    shape = session.block.get("shape") or {}
    return max(session.dataset.items, int(shape.get("leaves") or 0) // 8)


def _case(session: Session, contender: Contender, part: Part) -> dict[str, Any]:
    labels = contender.case["labels"]
    same = {
        name: value for name, value in labels.items() if name not in ("dataset", "size", "codec", "threads")
    }
    return session.case(str(contender.codec), part, "growth", **same)


def _doubling() -> list[float]:
    return [2.0**-step for step in range(10, 0, -1)]
