"""Probes: one value a cell, so that what a codec loses is known beyond the user's own data."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.codec import Codec
    from tare.measure.driver import Worker
    from tare.measure.session import Part, Session

__all__ = ["measure_fidelity", "probe_set"]

_AT_ONCE = 2
_DEADLINE_S = 10.0


def probe_set(kind: str) -> str:
    """The probe set for a kind of data."""
    return "columns/1" if kind == "table" else "values/1"


def measure_fidelity(session: Session, codecs: Sequence[Codec], until_s: float) -> int:
    """Run the probe set through every codec; a crash costs the one probe that caused it.

    Args:
        session: The run.
        codecs: Codecs to probe; compressors are left off, since they keep every byte.
        until_s: Elapsed seconds of the run at which no further codec begins.

    Returns:
        Codecs probed.
    """
    from tare.measure.fidelity import judged_cells

    name = probe_set(session.dataset.kind)
    found = session.record["fidelity"]["probes"].setdefault(name, {})
    part = session.part(min(1.0, 1 / max(1, session.dataset.items)))  # a worker must hold something
    plain = list({_plain(codec): codec for codec in codecs})
    done = 0

    def one(codec_id: str) -> bool:
        if session.elapsed_s > until_s or session.stop_asked:
            return False
        found[codec_id] = judged_cells(name, codec_id, _cells(session, part, codec_id, name))
        return True

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for codec_id, probed in zip(plain, pool.map(one, plain), strict=True):
            done += probed
            session.tell("probe", done, len(plain), codec_id)
    if session.journal is not None:
        session.journal.stage("fidelity", session.record["fidelity"])
    return done


def _plain(codec: Codec) -> str:
    return str(codec).split("+", 1)[0]


def _cells(session: Session, part: Part, codec_id: str, name: str) -> list[dict[str, Any]]:
    """All cells of one codec; a probe that kills its worker costs its own cell."""
    from tare.measure.fidelity import gather
    from tare.measure.probes import names

    workers: list[Worker] = []

    def ask(probes: list[str]) -> list[dict[str, Any]]:
        if not workers or not workers[-1].alive:
            workers.append(session.worker(part, "python", loading=True))
        reply = workers[-1].request("probe", deadline_s=_DEADLINE_S, codec=codec_id, set=name, only=probes)
        return list(reply["cells"])

    try:
        return gather(ask, names(name))
    finally:
        for worker in workers:
            session.release(worker)
