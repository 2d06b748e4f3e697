"""Sizes of the whole data, where only a part was measured: what the answer is about is written once more, whole or as far as time allows.

A size does not always grow with the data: Parquet leaves a column's dictionary when that gets too large, and compresses the
plain values better or worse; a table of blit has up to 65,536 items. Of a million taxi rides in blocks of 19 % it was
predicted 17 % too large (docs/decisions.md). One call tells a size, where a time needs several, so that a larger part fits.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tare.datasets.documents import FIRST
from tare.errors import WorkerError
from tare.measure.environment.limits import available_bytes
from tare.measure.stages.budget import memory_factor

if TYPE_CHECKING:
    from tare.measure.sampling.case_runner import Seat
    from tare.measure.session import Session
    from tare.measure.worker_client.client import Worker

__all__ = ["can_write_whole", "reserved", "write_whole"]

# Shares of the time limit that are kept for it where only a part is measured, and a small one.
_RESERVED, _OF_SMALL, _SMALL = 0.12, 0.2, 0.1
# Codecs that are predicted to take at most so many times the least size may be the smallest.
_NEAR_SIZE = 1.3
# To load the data, seconds for a byte; saving and loading documents, in writes and reads of the base.
_LOAD_BYTE_S, _SAVED = 4e-9, 1.5
# What a call on more data may take beyond what it took on less, as a factor; and how much more has to fit to be worth it.
_SLACK, _WORTH = 1.3, 1.5


def can_write_whole(session: Session, share: float) -> bool:
    """Returns whether sizes are predicted from a part while more of the data is in memory, the whole or blocks from all over it.

    Args:
        session: The run.
        share: The share of the data that is measured.
    """
    partial = session.dataset.partial
    spread = not partial or partial["rule"] != FIRST
    return share < 1 and spread and bool(session.settings.limit_s)


def reserved(share: float) -> float:
    """Returns the share of the time limit that is kept for sizes: more where a small part was measured, which tells less.

    Args:
        share: The share of the data that is measured.

    >>> reserved(0.5), reserved(0.03)
    (0.12, 0.2)
    """
    return _OF_SMALL if share < _SMALL else _RESERVED


def write_whole(session: Session, seats: Sequence[Seat], named: Sequence[str], until_s: float) -> int:
    """Writes the whole data once, or as much as time allows, with the codecs that the answer may name, and keeps their sizes.

    Of a file that was opened in part the whole is that part, and sizes are those by its share. A process that runs is used:
    its own codecs are sampled no more. What was not written is corrected by a codec of the same writer that was. A codec
    that fails here keeps its predicted size; its row was measured.

    Args:
        session: The run.
        seats: Seats of one part.
        named: Codecs that the answer names so far, the recommended one first.
        until_s: Elapsed seconds of the run at which no further codec begins that is not expected to end by then.

    Returns:
        How many sizes are known.
    """
    able = [seat for seat in seats if seat.samples and seat.is_plain and seat.case.get("bytes")]
    if not able:
        return 0
    order = in_order(able, named)
    share = fitting(session, order[0], until_s)
    factor = memory_factor(order[0].codec, order[0].part.kind)
    if not share or available_bytes() < 2 * factor * share * session.dataset.bytes_memory:
        return 0
    larger = session.part(share)
    worker = _lent(order, seats) or session.worker(larger, "python", hash_seed=1, loading=True)
    known = []
    opened = float((session.dataset.partial or {}).get("share") or 1.0)
    try:
        left_s = max(1.0, until_s - session.elapsed_s)
        worker.request("load", deadline_s=left_s, **session.given(larger, ""))
        for seat in order:
            if worker.alive and session.elapsed_s + share * _whole_s(seat) <= until_s:
                session.check()
                left_s = max(1.0, until_s - session.elapsed_s)
                known += [seat] if _write(worker, seat, share * opened, left_s) else []
    except WorkerError:
        session.check()
    finally:
        session.release(worker)
    correct(able, known, opened)
    return len(known)


def fitting(session: Session, seat: Seat, until_s: float) -> float:
    """Returns the share of the data that can be loaded and written in the time; 0 if little more than what was measured.

    Args:
        session: The run.
        seat: The first codec that is written.
        until_s: Elapsed seconds of the run at which that should have ended.
    """
    start_s = 0.0 if seat.worker is not None and seat.worker.alive else session.start_s
    left_s = until_s - session.elapsed_s - start_s
    share = min(1.0, left_s / max(1e-9, _ready_s(session, seat) + _SLACK * _whole_s(seat)))
    if share < 1:
        share = float(f"{max(0.0, share):.2g}")
    return share if share >= min(1.0, _WORTH * seat.part.share) else 0.0


def _lent(order: Sequence[Seat], seats: Sequence[Seat]) -> Worker | None:
    """A process that runs, for what is first in the order; its seats are sampled no more, for it forgets their data."""
    worker = next((one.worker for one in order if one.worker is not None and one.worker.alive), None)
    for seat in seats:
        if worker is not None and seat.worker is worker:
            seat.alive = False
    return worker


def correct(seats: Sequence[Seat], known: Sequence[Seat], opened: float = 1.0) -> None:
    """Gives codecs that were not written whole the factor by which a codec of their format and library was mistaken.

    Args:
        seats: Seats of one part.
        known: Those that were written whole.
        opened: The share of the file that was opened.
    """
    writers = {_writer(one): one for one in reversed(known)}
    for seat in seats:
        like = writers.get(_writer(seat))
        if like is not None and "whole_bytes" not in seat.case:
            predicted = like.case["bytes"] / (like.part.share * opened)
            seat.case["whole_factor"] = like.case["whole_bytes"] / predicted


def in_order(seats: Sequence[Seat], named: Sequence[str]) -> list[Seat]:
    """Returns the seats in the order of writing: the recommended one, one of each writer that may be the smallest, and the rest.

    Args:
        seats: Seats with samples.
        named: Codecs that the answer names so far, the recommended one first.
    """
    kept = [seat for seat in seats if seat.case["status"] == "ok"] or list(seats)
    least = min(seat.case["bytes"] for seat in kept)
    small = sorted(
        (seat for seat in kept if seat.case["bytes"] <= _NEAR_SIZE * least),
        key=lambda seat: (_whole_s(seat), str(seat.codec)),
    )
    first = [seat for name in named[:1] for seat in seats if str(seat.codec) == name]
    one_each = {_writer(seat): seat for seat in reversed(small)} | {_writer(seat): seat for seat in first}
    others = [seat for name in named[1:] for seat in seats if str(seat.codec) == name]
    rest = sorted(seats, key=lambda seat: (_writer(seat) in one_each, _whole_s(seat), str(seat.codec)))
    return list(dict.fromkeys([*first, *one_each.values(), *others, *small, *rest]))


def _writer(seat: Seat) -> tuple[str, str, str]:
    """Returns what decides how a size grows: the format, the compressor around it, and of tables the library.

    Of documents libraries write the same bytes, or nearly.
    """
    table = seat.part.kind == "table"
    return seat.codec.format_id, seat.codec.library_name if table else "", seat.codec.compressor or ""


def _write(worker: Worker, seat: Seat, share: float, left_s: float) -> bool:
    """Writes a share of the whole once, in the time that is left; returns whether that gave the size of the whole."""
    id = str(seat.codec)
    try:
        ends_s = time.monotonic() + left_s
        worker.request("prepare", deadline_s=left_s, codec=id, threads=seat.threads, cold=False)
        reply = worker.request(
            "run",
            deadline_s=max(0.0, ends_s - time.monotonic()),
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
    seat.case["whole_bytes"] = round(reply["bytes"] / share)
    seat.case["whole_share"] = round(share, 6)
    return True


def _ready_s(session: Session, seat: Seat) -> float:
    """Seconds until a process holds the whole: a table is mapped; documents are saved and loaded as their part was.

    Where the base was timed to see what fits, its writing and reading tells what that takes.
    """
    total = session.dataset.bytes_memory
    mapped_s = _LOAD_BYTE_S * total
    if seat.part.kind == "table":
        return mapped_s
    if session.byte_s:
        return max(mapped_s, _SAVED * session.byte_s * total)
    return max(mapped_s, 2 * session.start_s / seat.part.share)


def _whole_s(seat: Seat) -> float:
    """Seconds to write the whole, from the last time of the part."""
    return seat.expected_s(seat.operations[0]) / max(1e-9, seat.part.share)
