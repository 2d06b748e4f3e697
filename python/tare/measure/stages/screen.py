"""Screening: every candidate on a sample that takes the base some milliseconds.

It gives the first, provisional verdict when that is due, goes on with the candidates
that were not reached by then, and tells who is near enough to the best to be weighed.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tare.errors import WorkerError
from tare.measure import pressure
from tare.measure.rounds import run_rounds
from tare.measure.seat import Seat
from tare.measure.stages.choose import per_call_ns, sure, unfit
from tare.measure.stages.trials import Trials, by_turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.codec import Codec
    from tare.measure.session import Part, Session

__all__ = ["first_answer_s", "release", "screen", "small_part"]

# Of a table, 5 ms are a thousand rows of Parquet, where fixed costs hide what a row costs.
_BASE_ENCODE_NS = {"document": 5_000_000, "table": 10_000_000}
_FIRST_BYTES = 1 << 20
_FEWEST_ROWS = 8
_SLOW_S = 0.2
_ROUNDS = 3
_SLOW_ROUNDS = 2
_TRY_SHARE = 0.75
# The first answer comes at this time, or this long after the data is open, or after the sample is there.
_FIRST_S = 8.5
_OPENED_S = 3.5
_SAMPLED_S = 2.0
_USUAL_S = 60.0
_REST = 0.25
"""Share of the time left after the first answer in which the other candidates are screened."""
_ROUNDS_SHARE = 0.03
"""Share of the time limit that rounds get at least, however late the trials ended."""


def small_part(session: Session, base: Codec) -> Part:
    """The part of the data that takes the base codec some milliseconds to encode."""
    target_ns = _BASE_ENCODE_NS[session.dataset.kind]
    share = float(f"{min(1.0, _FIRST_BYTES / max(1, session.dataset.bytes_memory)):.2g}")
    part = session.part(share)
    probe = Seat(session, {"labels": {"medium": "memory"}, "memory": {}}, base, part)
    probe.start()
    # Only how long a call takes is asked: its trial will time first calls and compare what comes back.
    try:
        probe.load()
        probe.prepare(cold=False)
    except WorkerError as error:
        probe.lose(error)
    probe.settle()
    # The first call pays for imports, so it says nothing of the codec's speed.
    for round_ in (1, 2, 3):
        if probe.alive:
            probe.sample("encode", round_, 0)
    encode_ns = per_call_ns(probe, "encode") or target_ns
    session.record["noise"]["timer_floor_ns"] = probe.floor_ns()
    probe.close()
    better = min(1.0, share * target_ns / max(encode_ns, 1.0))
    if session.dataset.kind == "table":
        # Fewer rows of thousands of columns take no less time, and say nothing of what a row takes.
        better = max(better, min(share, _FEWEST_ROWS / max(1, session.dataset.items)))
    return part if 0.5 < better / share < 2.0 else session.part(float(f"{better:.2g}"))


def first_answer_s(time_s: float, opened_s: float, sampled_s: float) -> float:
    """When the first answer is due, in elapsed seconds of the run.

    Args:
        time_s: Time limit of the run in seconds; 0 for none. Below 60 s all times shrink with it.
        opened_s: When the data was open.
        sampled_s: When the sample to screen was there.

    >>> first_answer_s(60, 1, 2), first_answer_s(60, 20, 21), first_answer_s(0, 1, 2)
    (8.5, 23.5, 8.5)
    """
    scale = min(1.0, (time_s or _USUAL_S) / _USUAL_S)
    return max(_FIRST_S * scale, opened_s + _OPENED_S * scale, sampled_s + _SAMPLED_S * scale)


def screen(session: Session, codecs: Sequence[Codec], medium: str, part: Part, first_s: float) -> list[Seat]:
    """Try every codec on the part; return their seats, dead and alive, whose workers ``release`` ends.

    Args:
        session: The run.
        codecs: Candidates; of each format the best known first.
        medium: ``memory`` or ``file``.
        part: The sample.
        first_s: Elapsed seconds of the run at which the first answer is due.

    Returns:
        One seat a codec, in the order given; each case has its status.
    """
    seats = {
        codec: Seat(session, session.case(str(codec), part, "screen", medium=medium), codec, part)
        for codec in codecs
    }
    # Who can never be chosen is tried when all others were; the base is always first.
    last = unfit(session, [codec for codec in codecs if codec != session.base])
    order = sorted(by_turns(codecs, session.base), key=lambda codec: codec in last)
    trials = Trials(session, [seats[codec] for codec in order], part)

    def tell(done: int, seat: Seat) -> None:
        session.tell("screen", done, len(codecs), str(seat.codec))

    now_s = session.elapsed_s
    least_s = _ROUNDS_SHARE * (session.settings.time_s or _USUAL_S)
    trials.run(now_s + _TRY_SHARE * (first_s - now_s), last=False, on_done=tell)
    rounds = _sample(session, list(seats.values()), max(first_s, session.elapsed_s + least_s / 2), 0)
    session.verdict("screen", "first verdict")
    until_s = session.elapsed_s + _REST * (session.limit_s(1.0) - session.elapsed_s)
    now_s, more = session.elapsed_s, trials.waiting
    trials.run(min(until_s, now_s + _TRY_SHARE * (until_s - now_s)), last=True, on_done=tell)
    _sample(session, list(seats.values()), max(until_s, session.elapsed_s + least_s), rounds)
    for seat in seats.values():
        session.save_case(seat.case)
    if more:
        session.verdict("screen", "all candidates screened")
    return list(seats.values())


def release(session: Session, seats: Sequence[Seat]) -> None:
    """End the workers of screened seats, all at once."""
    workers = {seat.worker for seat in seats if seat.worker is not None}
    for worker in workers:
        worker.quit()
    for worker in workers:
        session.release(worker)
    for seat in seats:
        seat.alive = False


def _sample(session: Session, seats: Sequence[Seat], until_s: float, taken: int) -> int:
    """Take rounds of the seats that were tried and not sampled yet, as many as fit, with the base.

    Args:
        session: The run.
        seats: All seats; the base is in every round, so that each has its pairs.
        until_s: Elapsed seconds of the run at which the rounds should end.
        taken: Rounds taken before.

    Returns:
        Rounds taken, with those before.
    """
    living = [seat for seat in seats if seat.alive and seat.case["status"] in ("ok", "lossy", "unproven")]
    based = next((seat for seat in living if seat.codec == session.base), None)
    due = [seat for seat in living if not sure(seat) and seat is not based]
    due.sort(key=_round_s)
    ends = itertools.accumulate(_SLOW_ROUNDS * _round_s(seat) for seat in due)
    left_s = until_s - session.elapsed_s
    fitting = [seat for seat, end_s in zip(due, ends, strict=True) if end_s <= left_s]
    if based is not None and (fitting or not sure(based)):
        fitting.append(based)
    if not fitting:
        return taken
    for seat in fitting:
        seat.rounds_left = _ROUNDS if _round_s(seat) <= _SLOW_S else _SLOW_ROUNDS
    for worker in {seat.worker for seat in fitting if seat.worker is not None}:
        session.settle(worker)
    unsaved = [seat for seat in fitting if not seat.samples]
    before = pressure.snapshot()
    taken += run_rounds(
        session,
        fitting,
        rounds=_ROUNDS,
        until_s=until_s,
        at_least=1,
        first=taken,
        on_round=lambda n: session.tell("screen", len(seats), len(seats), f"round {n}"),
    ).rounds
    after = pressure.snapshot()
    for seat in unsaved:
        if seat.samples:
            session.save_launch(seat.case, seat.launch(1, before.stalled_share(after), after.load))
    return taken


def _round_s(seat: Seat) -> float:
    """What a sample of each operation takes, by the last call."""
    return sum(seat.expected_s(operation) for operation in seat.operations)
