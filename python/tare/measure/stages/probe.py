"""Probes: one value a cell, so that what a codec loses is known beyond the user's own data."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tare.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.codec import Codec
    from tare.measure.session import Session

__all__ = ["measure_fidelity", "probe_set"]

_AT_ONCE = 2
_DEADLINE_S = 10.0
_DEATHS = 3


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
    plain = list({_plain(codec): codec for codec in codecs})
    done = 0

    def one(codec_id: str) -> bool:
        if session.elapsed_s > until_s or session.stop_asked:
            return False
        found[codec_id] = judged_cells(name, codec_id, _cells(session, codec_id, name))
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


def _cells(session: Session, codec_id: str, name: str) -> list[dict[str, Any]]:
    """All cells of one codec; if its worker dies, one by one, to find the probe that kills."""
    from tare.measure.probes import names

    part = session.part(min(1.0, 1 / max(1, session.dataset.items)))
    wanted = list(names(name))
    worker = session.worker(part, "python")
    try:
        reply = worker.request("probe", deadline_s=_DEADLINE_S, codec=codec_id, set=name, only=wanted)
        return list(reply["cells"])
    except WorkerError:
        cells: list[dict[str, Any]] = []
        deaths = 0
        for probe in wanted:
            if deaths > _DEATHS:
                cells.append({"probe": probe, "status": "error", "error": "not tried: the codec kept crashing"})
                continue
            session.release(worker)
            worker = session.worker(part, "python")
            try:
                cells += worker.request("probe", deadline_s=_DEADLINE_S, codec=codec_id, set=name, only=[probe])["cells"]
            except WorkerError as crash:
                deaths += 1
                cells.append({"probe": probe, "status": "error", "error": f"{crash.type}: {crash}"[:200]})
        return cells
    finally:
        session.release(worker)
