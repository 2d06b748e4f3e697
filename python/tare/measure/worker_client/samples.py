"""What the clocks of a worker said: whole numbers that clocks can show, or no figures at all."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

from tare.errors import WorkerError
from tare.measure.worker_client.sample_check import System, timed

__all__ = ["OURS", "believable", "clock_fault", "cpu_ns_of", "queued_ns_of", "readings", "threads_of"]

OURS = ("round", "position", "batch")
"""Columns of samples in a record that the parent fills."""

_TICK_NS = 20_000_000
"""What CPU time may run ahead by where a system counts it in ticks."""


_MOST = 2**63 - 1
_COUNTS = (
    "bytes", "items", "items_in", "items_out", "rows", "columns", "batch", "cold_encode_ns", "cold_decode_ns",
    "import_ns", "before_bytes", "peak_bytes", "resident_bytes",
)  # fmt: skip
_CLOCKS = ("user_ns", "sys_ns", "drop_ns", "gc_ns", "nivcsw", "nvcsw")
_LONG_NS = 1_000_000
_STOLEN = 10
_SHORT, _SHORT_NS, _SHORT_MS = 10, 2_000_000, 200
_FEW = 3  # fewer samples tell nothing of steps
_TRIES = 3
_MOST_LONGER = 128  # a clock that tells nearly nothing would ask for minutes
# Length of a sample, how much longer the parent may have waited, and what may come to it. A clock that is nearly right
# is seen to be so at once; any other gets a sample that is long beside what a busy machine comes between with.
_LIMITS = ((25_000_000, 1.5, 3_000_000), (150_000_000, 2.5, 20_000_000))


def readings(reply: dict[str, Any]) -> dict[str, Any]:
    """A reply with its counts and samples as whole numbers, which is what a record holds.

    Languages without integers of 64 bits send what is above 2^53 as ``1.795434143443e+18``. A column without any
    number is of a clock that the worker lacks: it goes, as if the worker had left it out.

    Args:
        reply: The reply; one without samples stays as it is.

    Raises:
        ValueError: A row is no row of the columns, or a cell no number that a clock or a counter shows, or a column
            has numbers in some rows only.

    >>> readings({"cols": ["wall_ns"], "samples": [[2e3]], "batch": 1})["samples"]
    [[2000]]
    """
    for name in _COUNTS:
        value = reply.get(name)
        if value is not None and (type(value) is not int or not 0 <= value <= _MOST):
            reply = {**reply, name: _count(name, value)}
    rows = reply.get("samples")
    if rows is None:
        return reply
    cols = reply.get("cols")
    if not isinstance(cols, list) or not isinstance(rows, list):
        raise ValueError("samples without columns")  # noqa: TRY004 - the data are wrong, no argument is
    if len({str(name) for name in cols}) != len(cols) or any(not isinstance(name, str) for name in cols):
        raise ValueError(f"columns that are no names, or twice the same: {str(cols)[:80]}")
    if named := [name for name in cols if name in OURS]:
        raise ValueError(f"a column {named[0]!r}, which the parent fills")
    cols, rows = _told(cols, [_row(cols, row) for row in rows])
    return {**reply, "cols": cols, "samples": rows}


def _told(cols: list[str], rows: list[list[int | None]]) -> tuple[list[str], list[list[int | None]]]:
    """The columns that have numbers, and the rows of these; wall time stays, for no worker may lack it."""
    if not any(None in row for row in rows):
        return cols, rows
    empty = [sum(cell is None for cell in column) for column in zip(*rows, strict=True)]
    for name, count in zip(cols, empty, strict=True):
        if 0 < count < len(rows):
            raise ValueError(f"{name[:40]} in some samples only")
    keep = [at for at, name in enumerate(cols) if name == "wall_ns" or not empty[at]]
    return [cols[at] for at in keep], [[row[at] for at in keep] for row in rows]


def _count(name: str, value: Any) -> int:
    """A whole number of 64 bits, as languages without these send it."""
    if type(value) is float and math.isfinite(value) and 0 <= value <= _MOST and value == round(value):
        return round(value)
    raise ValueError(f"{name} = {value!r:.40} is no count")


def _row(cols: list[str], row: Any) -> list[int | None]:
    if not isinstance(row, list) or len(row) != len(cols):
        raise ValueError(f"a sample that is no row of {len(cols)} columns")
    return [_whole(name, value) for name, value in zip(cols, row, strict=True)]


def _whole(name: str, value: Any) -> int | None:
    if value is None or (type(value) is int and abs(value) <= _MOST):
        return value
    if isinstance(value, float) and math.isfinite(value) and abs(value) <= _MOST:
        return round(value)
    raise ValueError(f"{str(name)[:40]} = {value!r:.40} is no number of a clock")


def believable(reply: dict[str, Any], worker: str, waited_ns: int | None = None) -> None:
    """Refuse samples whose clocks cannot be right: they would be the fastest of all, or the slowest.

    Args:
        reply: Of ``run``.
        worker: Who gave it.
        waited_ns: How long the parent waited for it, by its own clock, where it knows.

    Raises:
        WorkerError: No time passed, or less than none, or more CPU time than every CPU could give in it, or more time than
            the parent waited; or there is no sample with a wall clock, or no batch.

    >>> believable({"cols": ["wall_ns", "user_ns"], "samples": [[900, 880]], "batch": 1}, "node")
    """
    _hold_form(reply, worker)
    told_ns = 0
    for row in reply["samples"]:
        cells = dict(zip(reply["cols"], row, strict=False))
        wall, cpu = cells["wall_ns"] or 0, _cpu_ns(cells)
        told_ns += wall
        said = ""
        if wall <= 0:
            said = f"a sample of {wall} ns"
        elif below := next((name for name in _CLOCKS if (cells.get(name) or 0) < 0), ""):
            said = f"{below} = {cells[below]}"
        elif waited_ns is not None and told_ns > waited_ns + _TICK_NS:
            said = f"{told_ns} ns were told for {waited_ns} ns that the parent waited"
        elif cpu > wall * (os.cpu_count() or 1) + _TICK_NS:
            said = f"{cpu} ns of CPU time in a sample of {wall} ns: more than every CPU could give"
        if said:
            raise WorkerError(
                f"the worker's clock is wrong: {said}", worker=worker, type="clock", phase="protocol"
            )


def _cpu_ns(cells: dict[str, int | None]) -> int:
    return (cells.get("user_ns") or 0) + (cells.get("sys_ns") or 0)


def _stood_still(reply: dict[str, Any]) -> str:
    """That the CPU clock hardly moves in short samples, of which it is what is ranked: it moves by steps; empty if it does.

    A process without a switch has run all the time. From one sample, or a few, a host may have taken the CPU.
    """
    still = 0
    for row in reply["samples"]:
        cells = dict(zip(reply["cols"], row, strict=True))
        ran = cells.get("user_ns") is not None and cells.get("nvcsw") == 0 and cells.get("nivcsw") == 0
        still += (
            ran and (cells["wall_ns"] or 0) >= _LONG_NS and _cpu_ns(cells) < (cells["wall_ns"] or 0) / _STOLEN
        )
    count = len(reply["samples"])
    if count < _FEW:
        return ""
    return (
        f"its CPU clock stood still in {still} of {count} samples without a switch"
        if still > count / 2
        else ""
    )


def _hold_form(reply: dict[str, Any], worker: str) -> None:
    """What every reply of ``run`` has; clocks that a worker lacks are left out, the wall clock never."""
    said = ""
    if not reply.get("samples"):
        said = "gave no sample"
    elif "wall_ns" not in reply["cols"] or reply["samples"][0][reply["cols"].index("wall_ns")] is None:
        said = "gave samples without wall_ns"
    elif type(reply.get("batch")) is not int or reply["batch"] < 1:
        said = f"gave samples of {reply.get('batch')!r:.40} calls"
    if said:
        raise WorkerError(f"the worker {said}", worker=worker, type="protocol", phase="protocol")


def cpu_ns_of(pid: int) -> int | None:
    """CPU time of the threads that a process has, in nanoseconds, as the system counts it; None where it does not tell.

    >>> import sys
    >>> cpu_ns_of(os.getpid()) is None or sys.platform == "linux"
    True
    """
    return _scheduled(pid, 0)


def queued_ns_of(pid: int) -> int | None:
    """How long the threads that a process has were ready and waited for a CPU, in nanoseconds; None where it is not told.

    >>> import sys
    >>> queued_ns_of(os.getpid()) is None or sys.platform == "linux"
    True
    """
    return _scheduled(pid, 1)


def threads_of(pid: int) -> list[int]:
    """Threads that a process has: none where it has ended, which the next request of it tells; itself where they are not told.

    >>> os.getpid() in threads_of(os.getpid())
    True
    """
    if not os.path.isdir("/proc/self"):
        return [pid]
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _scheduled(pid: int, field: int) -> int | None:
    """Sum of a field of ``schedstat`` over the threads of a process."""
    try:
        with os.scandir(f"/proc/{pid}/task") as threads:
            return sum(_of_thread(thread.path, field) for thread in threads)
    except OSError:
        return None


def _of_thread(path: str, field: int) -> int:
    with open(f"{path}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[field])


def clock_fault(ask: Callable[..., dict[str, Any]], counted: Callable[[], System]) -> str:
    """What is wrong with a worker's clocks, by ours; empty if nothing is.

    A sample of encoding and one of decoding are asked for, and long ones where these say too little. What else the
    worker does for it (it collects garbage first) it does for an empty one too. Only a clock that loses two thirds of
    the time is a fault here: this is before the first figure. What
    the samples of each launch told is summed up and held closer (`tare.measure.worker_client.clock_check`).

    Args:
        ask: Sends ``run`` with these fields and gives its reply.
        counted: What the system counts so far.
    """
    for what in ("encode", "decode"):
        short = ask(what=what, samples=_SHORT, batch=0, target_ns=_SHORT_NS, budget_ms=_SHORT_MS)
        if said := _stood_still(short) or _lost(ask, counted, what, short):
            return f"of {what}, {said}"
    return ""


def _lost(
    ask: Callable[..., dict[str, Any]], counted: Callable[[], System], what: str, short: dict[str, Any]
) -> str:
    """Returns the fault that samples longer than those in ``short`` show; empty if one of them accounts for the wait, or none is conclusive."""
    said = ""
    for target_ns, slower, slack_ns in _LIMITS:
        batch = _longer(short, target_ns)
        faults = 0
        for _ in range(4 * _TRIES):
            around, sample = timed(ask, counted, "null", 1), timed(ask, counted, what, batch)
            waited, most = sample.waited - around.waited, sample.wall * slower + slack_ns
            used, queued = sample.used - around.used, sample.queued - around.queued
            if sample.cpu is not None and used > sample.cpu * slower + slack_ns:
                said = f"{sample.cpu} ns of CPU time were told for {used} ns that the system counted"
            elif waited - queued > most:
                said = f"{sample.wall} ns were told for {waited} ns that the parent waited"
            elif waited - min(0, queued) > most:
                continue  # inconclusive: as long as the difference, one of the two waited for a CPU
            else:
                return ""
            faults += 1
            if faults == _TRIES:
                break
        else:
            return ""
    return said


def _longer(short: dict[str, Any], target_ns: int) -> int:
    """Returns the calls of a sample that takes ``target_ns``, by the times of short ones: workers keep their first batch."""
    wall = short["cols"].index("wall_ns")
    walls = [row[wall] or 0 for row in short["samples"]]
    longer = target_ns * len(walls) / max(1, sum(walls))
    return max(1, round(int(short["batch"]) * min(longer, _MOST_LONGER)))
