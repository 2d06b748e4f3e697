"""What the clocks of a worker said: whole numbers that clocks can show, or no figures at all."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["readings"]


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
