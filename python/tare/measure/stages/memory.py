"""Peak memory: a fresh process per codec and operation, because reuse hides peaks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tare.errors import WorkerError
from tare.measure.cases import operations
from tare.measure.seat import level, threads_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.measure.driver import Worker
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
        until_s: Elapsed seconds of the run at which no further codec begins.

    Returns:
        Codecs measured.
    """
    due = [c for c in contenders if c.case["status"] in ("ok", "lossy") and not c.case["memory"]]
    done = 0

    def one(contender: Contender) -> bool:
        if session.elapsed_s > until_s or session.stop_asked:
            return False
        _measure(session, contender, part)
        return True

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for contender, measured in zip(due, pool.map(one, due), strict=True):
            done += measured
            session.tell("memory", done, len(due), str(contender.codec))
    for contender in contenders:
        session.save_case(contender.case)
    return done


def _measure(session: Session, contender: Contender, part: Part) -> None:
    """Both operations of one codec; nothing is encoded or decoded before the call that is measured."""
    path = session.new_path()
    found = contender.case["memory"]
    encode, decode = (*operations(contender.case["labels"]), "")[:2]
    for operation in filter(None, (encode, decode)):
        worker = session.worker(
            part, contender.codec.native(part.kind), loading=True, threads=threads_of(contender.case)
        )
        try:
            worker.request("load", deadline_s=session.settings.deadline_s, **part.request())
            found[operation] = _peak(session, worker, contender, operation, path)
        except WorkerError as error:
            session.check()
            # What goes wrong here costs the memory figure, not the case.
            found[operation] = {"error": str(error)[:200]}
            break
        finally:
            session.release(worker)


def _peak(
    session: Session, worker: Worker, contender: Contender, operation: str, path: str
) -> dict[str, Any]:
    limit = session.settings.deadline_s
    codec = str(contender.codec)
    reads = operation in ("decode", "read")
    prepare: dict[str, Any] = {
        "codec": codec,
        "threads": threads_of(contender.case),
        "kind": level(contender.case, "kind"),
        "grain": level(contender.case, "grain"),
        "order": level(contender.case, "order"),
        "cold": False,
    }
    if reads:
        prepare["encoded"] = path
    worker.request("prepare", deadline_s=limit, **prepare)
    found = worker.request("mem", deadline_s=limit, what=operation, path=path)
    if not reads:
        worker.request("encode_to", deadline_s=limit, codec=codec, path=path)
    return found
