"""Columns of moments that came back as another type: judged as when the same table is weighed.

A language without a type for days, times of day or durations hands back what it has: a moment at midnight
in UTC, or a whole number of the column's unit. The type of the column says what that stands for, which single values
do not; so both columns are compared as Arrow's.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

__all__ = ["is_rebuilt"]

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z\Z", re.ASCII)


def is_rebuilt(column: Any, back: Any) -> bool:
    """Whether a column of moments can be rebuilt from cells of another type by someone who knows its own.

    Args:
        column: Arrow column that was written.
        back: Cells that the reader gave.

    >>> import pyarrow as pa
    >>> times = pa.chunked_array([pa.array([1, None], pa.time64("us"))])
    >>> is_rebuilt(times, [1, None]), is_rebuilt(times, [2, None]), is_rebuilt(times, [1.0, None])
    (True, False, False)
    """
    import pyarrow as pa

    from tare.measure.compare_tables import compare_tables

    if not isinstance(back, list) or len(back) != len(column) or not _has_moments(column.type):
        return False
    try:
        other = _column(column.type, back)
        found = compare_tables(pa.table({"c": column}), pa.table({"c": other}), limit=1)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return False
    return found.verdict != "lossy"


def _has_moments(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_temporal(kind):
        return True
    return any(_has_moments(kind.field(at).type) for at in range(kind.num_fields))


def _column(kind: Any, back: list[Any]) -> Any:
    """The cells as Arrow takes them; whole numbers as wide as those that the type is stored as."""
    import pyarrow as pa

    given = [cell for cell in back if cell is not None]
    if given and all(type(cell) is int for cell in given) and not pa.types.is_nested(kind):
        return pa.array(back, pa.int32() if kind.bit_width == 32 else pa.int64())
    if given and all(isinstance(cell, str) and _INSTANT.match(cell) for cell in given):
        # JSON's text of a Date: the moment is in it.
        back = [cell and dt.datetime.fromisoformat(cell) for cell in back]
    return pa.array(back)
