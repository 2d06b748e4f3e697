"""Peak memory: a fresh process per codec and operation, because reuse hides peaks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tare.measure.seat import Seat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.measure.session import Part, Session
    from tare.measure.stages.weigh import Contender

__all__ = ["measure_memory"]

_AT_ONCE = 2


def measure_memory(session: Session, contenders: Sequence[Contender], part: Part, until_s: float) -> int:
    """Measure the peak of each operation of each contender.

    Args:
        session: The run.
        contenders: Cases with their codecs.
        part: The data.
        until_s: Elapsed seconds of the run at which no further process starts.

    Returns:
        Operations measured.
    """
    jobs = [
        (contender, operation)
        for contender in contenders
        if contender.case["status"] in ("ok", "lossy")
        for operation in Seat(session, contender.case, contender.codec, part).operations
    ]
    done = 0

    def one(job: tuple[Contender, str]) -> bool:
        contender, operation = job
        if session.elapsed_s > until_s or session.stop_asked:
            return False
        # A scratch case: what goes wrong here costs the memory figure, not the case.
        scratch = {**contender.case, "memory": {}, "launches": [], "verify": {}}
        seat = Seat(session, scratch, contender.codec, part)
        seat.start()
        seat.ready()
        if seat.alive:
            seat.memory(operation)
        else:
            scratch["memory"][operation] = {"error": scratch["reason"]}
        contender.case["memory"].update(scratch["memory"])
        seat.close()
        return True

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for (contender, operation), measured in zip(jobs, pool.map(one, jobs), strict=True):
            done += measured
            session.tell("memory", done, len(jobs), f"{contender.codec} {operation}")
    for contender in contenders:
        session.save_case(contender.case)
    return done
