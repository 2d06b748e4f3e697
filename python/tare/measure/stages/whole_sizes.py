"""Sizes of the whole data, where only a part was measured: what the answer is about is written once, whole.

A size does not always grow with the data: Parquet leaves a column's dictionary when that gets too large, and compresses the
plain values better or worse. Of a million taxi rides in blocks of 19 % it was predicted 17 % too large (docs/decisions.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tare.datasets.documents import SPREAD
from tare.errors import WorkerError
from tare.measure.environment.limits import available_bytes
from tare.measure.stages.budget import memory_factor
from tare.measure.stages.standings import least_ns

if TYPE_CHECKING:
    from tare.measure.sampling.case_runner import Seat
    from tare.measure.session import Session
    from tare.measure.worker_client.client import Worker

__all__ = ["SHARE", "can_write_whole", "write_whole"]

SHARE = 0.12
"""Share of the time limit that is kept for it where only a part is measured."""
# Codecs that are predicted to take at most so many times the least size may be the smallest.
_NEAR_SIZE = 1.3
# To start a process and load the data, seconds beside what a byte takes.
_START_S, _LOAD_BYTE_S = 0.4, 4e-9
# Saving and loading documents, in writes and reads of the base.
_SAVED = 1.5


def can_write_whole(session: Session, share: float) -> bool:
    """Returns whether sizes are predicted from a part while the whole, or documents from all over it, are in memory.

    Args:
        session: The run.
        share: The share of the data that is measured.
    """
    dataset = session.dataset
    spread = not dataset.partial or (dataset.kind == "document" and dataset.partial["rule"] == SPREAD)
    return share < 1 and spread and bool(session.settings.limit_s)


def write_whole(session: Session, seats: Sequence[Seat], named: Sequence[str], until_s: float) -> int:
    """Writes the whole data once with the codecs that the answer may name, and keeps their sizes.

    Of a file that was opened in part it is that part, and sizes are those by its share. What was not written whole is corrected by a codec of the same format and library that was. A codec that fails
    here keeps its predicted size; its row was measured.

    Args:
        session: The run.
        seats: Seats of one part.
        named: Codecs that the answer names so far, the recommended one first.
        until_s: Elapsed seconds of the run at which no further codec begins that is not expected to end by then.

    Returns:
        How many sizes are known.
    """
    able = [seat for seat in seats if seat.samples and seat.is_plain and seat.case.get("bytes")]
    total = session.dataset.bytes_memory
    if not able or session.elapsed_s + _ready_s(session, able[0]) >= until_s:
        return 0
    if available_bytes() < 2 * memory_factor(able[0].codec, able[0].part.kind) * total:
        return 0
    whole = session.part(1.0)
    worker = session.worker(whole, "python", hash_seed=1, loading=True)
    known = []
    opened = float((session.dataset.partial or {}).get("share") or 1.0)
    try:
        left_s = max(1.0, until_s - session.elapsed_s)
        worker.request("load", deadline_s=left_s, **session.given(whole, ""))
        for seat in in_order(able, named):
            if worker.alive and session.elapsed_s + _expected_s(seat) <= until_s:
                session.check()
                left_s = max(1.0, until_s - session.elapsed_s)
                known += [seat] if _write(worker, seat, opened, left_s) else []
    except WorkerError:
        session.check()
    finally:
        session.release(worker)
    correct(able, known, opened)
    return len(known)


def correct(seats: Sequence[Seat], known: Sequence[Seat], opened: float = 1.0) -> None:
    """Gives codecs that were not written whole the factor by which a codec of their format and library was mistaken.

    Args:
        seats: Seats of one part.
        known: Those that were written whole.
        opened: The share of the file that was opened.
    """
    for seat in seats:
        like = next((one for one in known if _writer(one) == _writer(seat)), None)
        if like is not None and "whole_bytes" not in seat.case:
            predicted = like.case["bytes"] / (like.part.share * opened)
            seat.case["whole_factor"] = like.case["whole_bytes"] / predicted


def in_order(seats: Sequence[Seat], named: Sequence[str]) -> list[Seat]:
    """Returns the seats in the order of writing: the recommended one, then one of each library that may be the smallest.

    Args:
        seats: Seats with samples.
        named: Codecs that the answer names so far, the recommended one first.
    """
    kept = [seat for seat in seats if seat.case["status"] == "ok"] or list(seats)
    least = min(seat.case["bytes"] for seat in kept)
    small = sorted(
        (seat for seat in kept if seat.case["bytes"] <= _NEAR_SIZE * least),
        key=lambda seat: (_expected_s(seat), str(seat.codec)),
    )
    first = [seat for name in named[:1] for seat in seats if str(seat.codec) == name]
    one_each = {_writer(seat): seat for seat in reversed(small)} | {_writer(seat): seat for seat in first}
    others = [seat for name in named[1:] for seat in seats if str(seat.codec) == name]
    return list(dict.fromkeys([*first, *one_each.values(), *others, *small]))


def _writer(seat: Seat) -> tuple[str, str]:
    """Returns format and library, which decide how a size grows."""
    return seat.codec.format_id, seat.codec.library_name


def _write(worker: Worker, seat: Seat, opened: float, left_s: float) -> bool:
    """Writes what was opened once, in the time that is left; returns whether that gave the size of the whole."""
    id = str(seat.codec)
    try:
        worker.request("prepare", codec=id, threads=seat.threads, cold=False)
        reply = worker.request(
            "run",
            deadline_s=left_s,
            codec=id,
            what="encode",
            samples=1,
            batch=1,
            keep=True,
        )
    except WorkerError:
        return False
    if not reply.get("bytes"):
        return False
    seat.case["whole_bytes"] = round(reply["bytes"] / opened)
    return True


def _ready_s(session: Session, seat: Seat) -> float:
    """Seconds until a process holds the whole: a table is mapped; documents are saved and loaded as their part was.

    Where the base was timed to see what fits, its writing and reading tells what that takes.
    """
    total = session.dataset.bytes_memory
    mapped_s = _START_S + _LOAD_BYTE_S * total
    if seat.part.kind == "table":
        return mapped_s
    if session.byte_s:
        return max(mapped_s, _START_S + _SAVED * session.byte_s * total)
    return max(mapped_s, 2 * session.start_s / seat.part.share)


def _expected_s(seat: Seat) -> float:
    """Seconds to write the whole, from the least time of the part."""
    return (least_ns(seat, seat.operations[0]) or 0.0) / 1e9 / max(1e-9, seat.part.share)
