"""Peak memory: a fresh process per codec and operation, because reuse hides peaks.

In a default run the launches of weighing measure it, each in processes that have made
no call yet; this stage makes up for what they did not reach.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tare.errors import WorkerError
from tare.measure.cases import operations
from tare.measure.sampling.case_runner import level, threads_of
from tare.measure.worker_client.languages import language_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.codec import Codec
    from tare.measure.session import Part, Session
    from tare.measure.stages.weigh import Contender
    from tare.measure.worker_client.client import Worker

__all__ = ["measure_memory", "missing_peak", "peak"]

_AT_ONCE = 2
_READS = ("decode", "read")


def measure_memory(session: Session, contenders: Sequence[Contender], part: Part, until_s: float) -> int:
    """Measure the peak of each operation of each contender that has none yet.

    Args:
        session: The run.
        contenders: Cases with their codecs.
        part: The data.
        until_s: Elapsed seconds of the run; no codec begins that is not expected to end by then.

    Returns:
        Codecs measured.
    """
    due = [c for c in contenders if c.case["status"] in ("ok", "lossy") and missing_peak(c.case)]
    done = 0

    def one(contender: Contender) -> bool:
        expected_s = 2 * session.start_s + session.round_s(contender.case)
        if session.elapsed_s + expected_s > until_s or session.stop_asked:
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


def missing_peak(case: dict[str, Any]) -> str:
    """The operation whose peak is to be measured next, writing before reading; empty if there is none.

    >>> missing_peak({"labels": {"medium": "file"}, "memory": {"write": {}}})
    'read'
    >>> missing_peak({"labels": {"medium": "file"}, "memory": {"write": {"error": "no memory"}}})
    ''
    """
    found = case["memory"]
    if any("error" in one for one in found.values()):
        return ""
    return next((one for one in operations(case["labels"])[:2] if one not in found), "")


def _measure(session: Session, contender: Contender, part: Part) -> None:
    """What is missing of one codec; nothing is encoded or decoded before the call that is measured."""
    found = contender.case["memory"]
    if contender.case["key"] not in session.encoded:
        found.clear()  # reading needs what writing leaves
    while operation := missing_peak(contender.case):
        language = language_of(str(contender.codec), session.settings.workers)
        worker = session.worker(
            part,
            contender.codec.native(part.kind),
            loading=True,
            threads=threads_of(contender.case),
            language=language,
        )
        try:
            given = session.given(part, language)
            worker.request("load", deadline_s=session.settings.deadline_s, **given)
            found[operation] = peak(session, worker, contender.case, contender.codec, operation)
        except WorkerError as error:
            session.check()
            # What goes wrong here costs the memory figure, not the case.
            found[operation] = {"error": str(error)[:200]}
        finally:
            session.release(worker)


def peak(
    session: Session, worker: Worker, case: dict[str, Any], codec: Codec, operation: str
) -> dict[str, Any]:
    """The peak of one operation.

    Args:
        session: The run.
        worker: A worker that has loaded the data and made no call.
        case: The codec's case.
        codec: The codec.
        operation: ``encode`` or ``write``, which leave a file or a store; or ``decode`` or ``read``, which take it.

    Raises:
        WorkerError: The worker failed; it may have ended.
    """
    limit = session.settings.deadline_s
    reads = operation in _READS
    path = session.encoded.setdefault(case["key"], session.new_path())
    prepare: dict[str, Any] = {
        "codec": str(codec),
        "threads": threads_of(case),
        "kind": level(case, "kind"),
        "grain": level(case, "grain"),
        "order": level(case, "order"),
        "cold": False,
    }
    place = {"path": path}
    if case["labels"]["medium"] == "store":
        place["medium"] = "store"
    elif reads:
        prepare["encoded"] = path
    worker.request("prepare", deadline_s=limit, **prepare)
    found = worker.request("mem", deadline_s=limit, what=operation, **place)
    if operation == "encode":
        worker.request("encode_to", deadline_s=limit, codec=str(codec), path=path)
    return found
