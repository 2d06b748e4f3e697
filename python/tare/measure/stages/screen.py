"""Screening: every candidate once, on a sample that takes the base some milliseconds.

It gives the first, provisional verdict and decides who is weighed. Codecs of one
library share a worker here, because starting forty processes would cost more than
the first answer may take; weighing never shares.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import TYPE_CHECKING, Any

from tare.errors import WorkerError
from tare.measure import pressure
from tare.measure.rounds import run_rounds
from tare.measure.seat import Seat, calls_ns, fail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.codec import Codec
    from tare.measure.driver import Worker
    from tare.measure.session import Part, Session

__all__ = ["BEATEN", "choose", "per_call_ns", "release", "screen", "small_part"]

# Of a table, 5 ms are a thousand rows of Parquet, where fixed costs hide what a row costs.
_BASE_ENCODE_NS = {"document": 5_000_000, "table": 10_000_000}
_FIRST_BYTES = 1 << 20
_LEAST_S = 3.0
_SLOW_NS = 200_000_000
_ROUNDS = 3
_TRY_SHARE = 0.75
BEATEN = 5.0
"""Times over the best, in every use, above which a codec is not weighed."""
_LOSSY = 2.0
_MOST = 12
_GB = 1e9
# (writes, reads, bytes per second, seconds per byte): the profiles, coarsely, to choose who is weighed.
_USES = ((1, 10, 2e9, 0.0), (1, 1, 125e6, 0.0), (1, 1, 200e6, 20 / _GB), (1, 3, 12.5e6, 0.0))


def small_part(session: Session, base: Codec) -> Part:
    """The part of the data that takes the base codec some milliseconds to encode."""
    target_ns = _BASE_ENCODE_NS[session.dataset.kind]
    share = float(f"{min(1.0, _FIRST_BYTES / max(1, session.dataset.bytes_memory)):.2g}")
    part = session.part(share)
    probe = Seat(session, {"labels": {"medium": "memory"}, "memory": {}}, base, part)
    probe.start()
    probe.ready()
    probe.settle()
    # The first call pays for imports, so it says nothing of the codec's speed.
    for round_ in (1, 2, 3):
        probe.sample("encode", round_, 0)
    encode_ns = per_call_ns(probe, "encode") or target_ns
    session.record["noise"]["timer_floor_ns"] = probe.floor_ns()
    probe.close()
    better = min(1.0, share * target_ns / max(encode_ns, 1.0))
    return part if 0.5 < better / share < 2.0 else session.part(float(f"{better:.2g}"))


def screen(session: Session, codecs: Sequence[Codec], medium: str, part: Part, until_s: float) -> list[Seat]:
    """Try every codec on the part; return their seats, dead and alive, whose workers ``release`` ends.

    Args:
        session: The run.
        codecs: Candidates, most useful first.
        medium: ``memory`` or ``file``.
        part: The sample.
        until_s: Elapsed seconds of the run at which this stage must end.

    Returns:
        One seat a codec, in the order given; each case has its status.
    """
    before = pressure.snapshot()
    tried_s = session.elapsed_s + _TRY_SHARE * (until_s - session.elapsed_s)
    seats = {
        codec: Seat(session, session.case(str(codec), part, "screen", medium=medium), codec, part)
        for codec in codecs
    }
    groups: dict[tuple[Any, ...], list[Codec]] = defaultdict(list)
    for codec in codecs:
        groups[(codec.library.modules or codec.format.id, codec.native(part.kind))].append(codec)
    done = 0
    with ThreadPoolExecutor(2) as pool:
        trials = [
            pool.submit(_try_group, session, [seats[codec] for codec in group], part, tried_s)
            for group in groups.values()
        ]
        for trial, group in zip(trials, groups.values(), strict=True):
            trial.result()
            done += len(group)
            session.tell("screen", done, len(codecs), str(group[-1]))
    living = [seat for seat in seats.values() if seat.alive and seat.case["status"] != "pending"]
    for worker in {seat.worker for seat in living if seat.worker is not None}:
        session.settle(worker)
    quick = [
        s for s in living if max(s.expected_s(operation) for operation in s.operations) * 1e9 <= _SLOW_NS
    ]
    run_rounds(
        session,
        quick,
        rounds=_ROUNDS,
        until_s=until_s,
        at_least=0,
        on_round=lambda n: session.tell("screen", len(codecs), len(codecs), f"round {n}"),
    )
    for seat in living:
        if not seat.samples:
            _keep_cold(seat)
    after = pressure.snapshot()
    for seat in seats.values():
        if seat.samples:
            session.save_launch(seat.case, seat.launch(1, before.stalled_share(after), after.load))
        session.save_case(seat.case)
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


def _try_group(session: Session, seats: list[Seat], part: Part, until_s: float) -> None:
    """Prepare and verify codecs of one library in one worker; a new worker after each crash."""
    worker = None
    limit_s = min(session.settings.deadline_s, max(_LEAST_S, (until_s - session.elapsed_s) / 2))
    for seat in seats:
        if session.elapsed_s > (until_s if not _named(session, seat.codec) else session.limit_s(1.0)):
            seat.case["reason"] = "not reached in the time given; --time gives more"
            seat.alive = False
            continue
        try:
            worker = worker or _loaded(session, part)
        except WorkerError as error:
            session.check()
            fail(seat.case, error)
            seat.alive = False
            continue
        seat.limit_s = limit_s
        seat.share(worker)
        seat.ready(verify=True)
        if not worker.alive:
            worker = None
    _revive(session, [seat for seat in seats if seat.alive and seat.worker is not None], part)


def _named(session: Session, codec: Codec) -> bool:
    """Whether the user asked for this codec, or every ratio needs it: then it is tried on a busy machine too."""
    return codec == session.base or bool(session.settings.codecs)


def _loaded(session: Session, part: Part) -> Worker:
    began_s = session.elapsed_s
    worker = session.worker(part, "python", hash_seed=1, loading=True)
    worker.request("load", deadline_s=session.settings.deadline_s, **part.request())
    # Two load at a time, and the library's import, made later, takes about as long again.
    session.starts_s.append(session.elapsed_s - began_s)
    return worker


def _revive(session: Session, living: list[Seat], part: Part) -> None:
    """Give codecs that are well, but whose shared worker another one ended, a new worker."""
    orphans = [seat for seat in living if seat.worker is not None and not seat.worker.alive]
    if not orphans:
        return
    try:
        worker = _loaded(session, part)
    except WorkerError:
        return
    for seat in orphans:
        seat.share(worker)
        seat.ready()


def _keep_cold(seat: Seat) -> None:
    """Use the first call's times where a round would cost too much."""
    cold = seat.case["cold"]
    for operation, source in zip(seat.operations, ("encode_ns", "decode_ns"), strict=True):
        if cold.get(source):
            reply = {
                "cols": ["wall_ns", "user_ns", "sys_ns"],
                "samples": [[cold[source], cold[source], 0]],
                "batch": 1,
            }
            seat.keep(operation, 1, 0, reply)


def per_call_ns(seat: Seat, operation: str) -> float | None:
    """Median time of one call in nanoseconds: CPU where another process took the CPU, else wall."""
    columns = seat.samples.get(operation)
    if not columns:
        return None
    return median(calls_ns(columns))


def choose(seats: Sequence[Seat], base: Codec, most: int = _MOST) -> list[Codec]:
    """Who is weighed: within five times the best in some use, at most ``most``; the base always.

    Args:
        seats: Screened seats; each gets its ``distance``.
        base: The base codec.
        most: Most codecs to weigh.

    Returns:
        Codecs, best first.
    """
    rated = [seat for seat in seats if seat.case["status"] in ("ok", "lossy") and _both_times(seat)]
    proven = [seat for seat in rated if seat.case["status"] == "ok"] or rated
    orders = []
    for use in _USES:
        least = min((_cost(seat, use) for seat in proven), default=0.0) or 1e-12
        # What loses data is weighed only if it would win by far: it is never recommended unasked.
        worse = {seat.codec: _cost(seat, use) / least * (1.0 if seat in proven else _LOSSY) for seat in rated}
        for seat in rated:
            seat.distance = min(seat.distance, worse[seat.codec])
        orders.append([codec for codec in sorted(worse, key=worse.__getitem__) if worse[codec] <= BEATEN])
    # Each use names its best in turn, or the variants of one format would fill the table.
    turns = itertools.chain.from_iterable(itertools.zip_longest(*orders))
    chosen = list(dict.fromkeys(codec for codec in turns if codec is not None))[:most]
    if base not in chosen and any(seat.codec == base for seat in rated):
        chosen.append(base)
    return chosen


def _both_times(seat: Seat) -> bool:
    return len(seat.operations) > 1 and all(per_call_ns(seat, operation) for operation in seat.operations)


def _cost(seat: Seat, use: tuple[int, int, float, float]) -> float:
    """Seconds that one use costs: writes, reads over a link of that rate, and what a byte is worth."""
    writes, reads, rate, per_byte = use
    encode_s, decode_s = ((per_call_ns(seat, operation) or 0.0) / 1e9 for operation in seat.operations[:2])
    size = float(seat.case["bytes"])
    return writes * encode_s + reads * (size / rate + decode_s) + per_byte * size
