"""What the clocks of a worker said: whole numbers that clocks can show, or no figures at all."""

from __future__ import annotations

import math
import os
from typing import Any

from tare.errors import WorkerError

__all__ = ["believable", "readings"]

_TICK_NS = 20_000_000
"""What CPU time may run ahead by where a system counts it in ticks."""


def readings(reply: dict[str, Any]) -> dict[str, Any]:
    """A reply of ``run`` with its samples as whole numbers, which is what a record holds.

    Languages without integers of 64 bits send what is above 2^53 as ``1.795434143443e+18``.

    Args:
        reply: The reply; one without samples stays as it is.

    Raises:
        ValueError: A row is no row of the columns, or a cell no number that a clock or a counter shows.

    >>> readings({"cols": ["wall_ns"], "samples": [[2e3]], "batch": 1})["samples"]
    [[2000]]
    """
    rows = reply.get("samples")
    if rows is None:
        return reply
    cols = reply.get("cols")
    if isinstance(cols, list) and isinstance(rows, list):
        return {**reply, "samples": [_row(cols, row) for row in rows]}
    raise ValueError("samples without columns")


def _row(cols: list[str], row: Any) -> list[int | None]:
    if not isinstance(row, list) or len(row) != len(cols):
        raise ValueError(f"a sample that is no row of {len(cols)} columns")
    return [_whole(name, value) for name, value in zip(cols, row, strict=True)]


def _whole(name: str, value: Any) -> int | None:
    if value is None or type(value) is int:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return round(value)
    raise ValueError(f"{str(name)[:40]} = {value!r:.40} is no number of a clock")


def believable(reply: dict[str, Any], worker: str) -> None:
    """Refuse samples whose clocks cannot be right: they would be the fastest of all.

    Args:
        reply: Of ``run``.
        worker: Who gave it.

    Raises:
        WorkerError: No time passed, or more CPU time than every CPU could give in it.

    >>> believable({"cols": ["wall_ns", "user_ns"], "samples": [[900, 880]]}, "node")
    """
    for row in reply["samples"]:
        cells = dict(zip(reply["cols"], row, strict=False))
        wall, cpu = cells["wall_ns"] or 0, (cells.get("user_ns") or 0) + (cells.get("sys_ns") or 0)
        said = ""
        if wall <= 0:
            said = f"a sample of {wall} ns"
        elif cpu > wall * (os.cpu_count() or 1) + _TICK_NS:
            said = f"{cpu} ns of CPU time in a sample of {wall} ns: more than every CPU could give"
        if said:
            raise WorkerError(
                f"the worker's clock is wrong: {said}", worker=worker, type="clock", phase="protocol"
            )
