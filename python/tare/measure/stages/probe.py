"""Probes: one value a cell, so that what a codec loses is known beyond the user's own data."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import TYPE_CHECKING, Any

from tare.errors import WorkerError
from tare.measure.worker_client.languages import language_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.codec import Codec
    from tare.measure.sampling.case_runner import Seat
    from tare.measure.session import Part, Session
    from tare.measure.worker_client.client import Worker

__all__ = ["measure_fidelity", "probe_set"]

_AT_ONCE = 2
_DEADLINE_S = 10.0
# What is being probed at the limit of the run may go on for so many seconds; then it was not probed.
_BEYOND_S = 0.3


class _LateError(Exception):
    """The time of the run is over: a codec that is being probed was not."""


def probe_set(kind: str) -> str:
    """The probe set for a kind of data."""
    return "columns/1" if kind == "table" else "values/1"


def measure_fidelity(
    session: Session, codecs: Sequence[Codec], until_s: float, seats: Sequence[Seat] = ()
) -> int:
    """Run the probe set through every codec that was not probed; a crash costs the one probe that caused it.

    Args:
        session: The run.
        codecs: Codecs to probe; compressors are left off, since they keep every byte.
        until_s: Elapsed seconds of the run; no codec begins that is not expected to end by then.
        seats: Seats of some of the codecs, with workers that live; a worker is started for the others.

    Returns:
        Codecs probed.
    """
    from tare.measure.fidelity.run_probes import judged_cells

    name = probe_set(session.dataset.kind)
    found = session.record["fidelity"]["probes"].setdefault(name, {})
    # Columns of Arrow are what Python's codecs are given; those of other languages have values only.
    given = session.settings.workers
    able = [codec for codec in codecs if name == "values/1" or not language_of(str(codec), given)]
    due = [codec_id for codec_id in dict.fromkeys(map(_plain, able)) if codec_id not in found]
    if not due or session.elapsed_s > until_s:
        return 0
    part = session.part(min(1.0, 1 / max(1, session.dataset.items)))  # a worker must hold something
    lent = {
        _plain(seat.codec): seat.worker for seat in seats if seat.worker is not None and seat.worker.alive
    }
    # A worker answers one at a time, so its codecs are one job.
    jobs: dict[Any, list[str]] = {}
    for codec_id in due:
        jobs.setdefault(lent.get(codec_id, codec_id), []).append(codec_id)
    done = 0
    took_s: list[float] = []

    def one(group: list[str]) -> int:
        probed = 0
        for codec_id in group:
            began_s = session.elapsed_s
            expected_s = median(took_s) if took_s else 0.0 if codec_id in lent else 2 * session.start_s
            if began_s + expected_s > until_s or session.stop_asked:
                break
            try:
                cells = _cells(session, part, lent.get(codec_id), codec_id, name)
            except _LateError:
                break
            found[codec_id] = judged_cells(name, codec_id, cells)
            took_s.append(session.elapsed_s - began_s)
            probed += 1
        return probed

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for group, probed in zip(jobs.values(), pool.map(one, jobs.values()), strict=True):
            done += probed
            session.tell("probe", done, len(due), group[-1])
    if session.journal is not None:
        session.journal.stage("fidelity", session.record["fidelity"])
    return done


def _plain(codec: Codec) -> str:
    return str(codec).split("+", 1)[0]


def _cells(
    session: Session, part: Part, lent: Worker | None, codec_id: str, name: str
) -> list[dict[str, Any]]:
    """All cells of one codec; a probe that kills its worker costs its own cell.

    Raises:
        _LateError: The time was over before all of them were there.
    """
    from tare.measure.fidelity.probe_values import names
    from tare.measure.fidelity.run_probes import gather

    workers: list[Worker] = [] if lent is None else [lent]

    last_s = session.limit_s(1.0) + _BEYOND_S

    def ask(probes: list[str]) -> list[dict[str, Any]]:
        left_s = last_s - session.elapsed_s
        if left_s <= 0:
            raise _LateError
        if not workers or not workers[-1].alive:
            language = language_of(codec_id, session.settings.workers)
            workers.append(session.worker(part, language or "python", loading=True, language=language))
        try:
            reply = workers[-1].request(
                "probe", deadline_s=min(_DEADLINE_S, left_s), codec=codec_id, set=name, only=probes
            )
        except WorkerError as error:
            if session.elapsed_s >= last_s:
                raise _LateError from error
            raise
        cells: list[dict[str, Any]] = reply["cells"]
        return cells

    try:
        return gather(ask, names(name))
    finally:
        for worker in workers:
            if worker is not lent:
                session.release(worker)
