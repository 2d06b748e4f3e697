"""Cells of moments and decimals that came back as another type: what the type of their column says they stand for.

A language without a type for days, times of day or durations hands back what it has: a moment at midnight
in UTC, a whole number of the column's unit, or a text, which may be of the column's zone. Without decimals it hands
back a number, whose digits behind the last that counts the column knows. Single values do not tell that such a cell
is a day, or has a zero at its end, the column does. Only such cells are judged so: what stands beside them, in a
struct or a list, is not.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

__all__ = ["has_typed", "with_rebuilt"]

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z\Z", re.ASCII)
_LOCAL = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:?\d\d)?\Z", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?\Z", re.ASCII)
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)\Z", re.ASCII)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9


def has_typed(kind: Any) -> bool:
    """Whether a type of Arrow is one of moments or decimals, or has them inside."""
    import pyarrow as pa

    kind = _plain(kind)
    return bool(pa.types.is_temporal(kind) or pa.types.is_decimal(kind)) or any(
        has_typed(part) for part in _parts(kind)
    )


def with_rebuilt(kind: Any, wanted: Any, back: Any) -> Any:
    """What came back, with the wanted moment or decimal wherever it can be rebuilt from what came in its place.

    Args:
        kind: Type of Arrow of the cell that was written.
        wanted: The cell as it would come back unchanged.
        back: The cell that the reader gave.

    >>> import pyarrow as pa
    >>> with_rebuilt(pa.list_(pa.time64("us")), [dt.time(0, 0, 1)] * 3, [1_000_000, 2, None])
    [datetime.time(0, 0, 1), 2, None]
    """
    import pyarrow as pa

    kind = _plain(kind)
    if wanted is None or back is None:
        return back
    if pa.types.is_temporal(kind):
        return wanted if _stands_for(kind, wanted, back) else back
    if pa.types.is_decimal(kind):
        return wanted if _is_number(wanted, back) else back
    if pa.types.is_struct(kind):
        if not isinstance(wanted, dict) or not isinstance(back, dict):
            return back
        fields = {field.name: field.type for field in kind}
        return {
            name: with_rebuilt(fields[name], wanted[name], cell) if name in fields and name in wanted else cell
            for name, cell in back.items()
        }  # fmt: skip
    parts = _parts(kind)
    if not parts or not isinstance(wanted, list) or not isinstance(back, list) or len(wanted) != len(back):
        return back
    if len(parts) == 1:
        return [with_rebuilt(parts[0], one, other) for one, other in zip(wanted, back, strict=True)]
    return [_pair(parts, one, other) for one, other in zip(wanted, back, strict=True)]


def _pair(parts: list[Any], wanted: Any, back: Any) -> Any:
    """A key of a map and its value."""
    if not isinstance(back, tuple) or len(back) != len(parts):
        return back
    return tuple(with_rebuilt(*three) for three in zip(parts, wanted, back, strict=True))


def _plain(kind: Any) -> Any:
    """The type of the cells, whatever they are coded as."""
    import pyarrow as pa

    while isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind) else kind


def _parts(kind: Any) -> list[Any]:
    """The types inside lists, maps and structs; of a union nobody knows which a cell has."""
    import pyarrow as pa

    if pa.types.is_map(kind):
        return [kind.key_type, kind.item_type]
    if pa.types.is_struct(kind):
        return [field.type for field in kind]
    nested = pa.types.is_nested(kind) and not pa.types.is_union(kind)
    return [kind.field(0).type] if nested else []


def _is_number(wanted: Any, back: Any) -> bool:
    """Whether a cell is the number of a decimal, of which the column knows the places."""
    if not isinstance(wanted, Decimal) or type(back) not in (int, float, str, Decimal):
        return False
    if isinstance(back, str):
        return _NUMBER.match(back) is not None and Decimal(back) == wanted
    return (Decimal(repr(back)) if isinstance(back, float) else back) == wanted


def _stands_for(kind: Any, wanted: Any, back: Any) -> bool:
    """Whether a moment of this type is all that a cell of another type holds."""
    import pyarrow as pa

    since = None if pa.types.is_interval(kind) else _since(wanted)
    if since is None:
        return False
    if type(back) is int:
        return _is_count(kind, since, back)
    if isinstance(back, str):
        back = _moment_of(back, kind.tz if pa.types.is_timestamp(kind) else None)
    if type(back) is dt.date and pa.types.is_timestamp(kind):
        return since == _since(back)
    if pa.types.is_duration(kind) or not isinstance(back, dt.datetime):
        return False
    # A day and a time have no zone, by which the moment at another offset would have to be put right.
    return since == _since(back) and (pa.types.is_timestamp(kind) or not back.utcoffset())


def _is_count(kind: Any, since: int, back: int) -> bool:
    """Whether a whole number counts the units of a column to a moment."""
    import pyarrow as pa

    if pa.types.is_date(kind):
        return since == back * (_DAY if pa.types.is_date32(kind) else 10**6)
    found = back * _UNITS[kind.unit]
    if pa.types.is_time(kind) and kind.unit == "ns":
        found -= found % 1000  # the wanted cell has no nanoseconds: a time of Python's
    return since == found


def _moment_of(text: str, zone: str | None) -> dt.datetime | None:
    """The moment of a text: that of JSON of a Date, and of a column with a zone any with an offset, or with none that has one meaning there."""
    if not (_INSTANT if zone is None else _LOCAL).match(text):
        return None
    try:
        found = dt.datetime.fromisoformat(text)
        if found.tzinfo is not None or zone is None:
            return found
        first, second = (found.replace(tzinfo=_zone(zone), fold=fold) for fold in (0, 1))
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return None
    return first if first.utcoffset() == second.utcoffset() else None


def _zone(name: str) -> dt.tzinfo:
    """The zone of a column, which may be an offset."""
    found = _OFFSET.match(name)
    if found is None:
        return ZoneInfo(name)
    ahead = dt.timedelta(hours=int(found[2]), minutes=int(found[3]))
    return dt.timezone(-ahead if found[1] == "-" else ahead)


def _since(value: Any) -> int | None:
    """Nanoseconds from the beginning of 1970 in UTC, of the day, or of the duration."""
    beyond = getattr(value, "nanosecond", 0) + getattr(value, "nanoseconds", 0)  # of pandas
    if isinstance(value, dt.datetime):
        whole = value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value
        value = (whole if whole.tzinfo else whole.replace(tzinfo=dt.UTC)) - _EPOCH
    elif type(value) is dt.date:
        return (value - _EPOCH.date()).days * _DAY
    elif isinstance(value, dt.time):
        value = dt.timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)  # fmt: skip
    if not isinstance(value, dt.timedelta):
        return None
    return ((value.days * 86_400 + value.seconds) * 10**6 + value.microseconds) * 1000 + int(beyond)
