"""Arrow arrays of Python's values, in which none is taken for another.

Arrow infers the type of the first value and then takes more than it says: beside a date a number is a number of days and a
moment its day, beside bytes a text is its bytes. What a column cannot hold as it is must be refused instead.
"""

from __future__ import annotations

import datetime as dt
import re
from itertools import chain
from math import isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["array_of", "conflict_of", "is_known_zone", "refuse_beside_moments", "unknown_zone"]

_OF_NUMPY = ("datetime64", "timedelta64")
_OFFSET = re.compile(r"[+-](?:[01]\d|2[0-3]):[0-5]\d")  # as Arrow has those of zones
_SURROGATE = re.compile("[\ud800-\udfff]")
_LISTS = (list, tuple, set, frozenset)
_MOST_DEPTH = 100  # as deep as Arrow's lists and structs may be


def array_of(values: Any, kind: Any = None, *, from_pandas: bool = False) -> Any:
    """Returns an Arrow array of values of one kind; pandas' own times keep their nanoseconds.

    Args:
        values: The values, None for null.
        kind: Their type; that of the values if it is None.
        from_pandas: Whether NaN and its like are nulls.

    Raises:
        ArrowException, OverflowError, TypeError, ValueError: No one type holds them.

    >>> array_of([dt.date(2024, 1, 1), None]).type
    DataType(date32[day])
    """
    import pyarrow as pa

    if not isinstance(values, list | tuple) and getattr(getattr(values, "dtype", None), "kind", "") != "O":
        return pa.array(values, kind, from_pandas=from_pandas)  # a type of its own says what they are
    given = values
    # A series makes an object of each value as it is gone through: many times as slow as a list.
    values = values if isinstance(values, list | tuple) else values.tolist()
    first = next((value for value in values if value is not None), None)
    classes = set(map(type, values))
    refuse_beside_moments(values, classes)
    array: Any = pa.array(given, kind or _finest(first), from_pandas=from_pandas)
    found = array.type
    if _is_strict(found):
        if kind is None and not pa.types.is_nested(found) and _is_cut(values, classes, found):
            array = pa.array(given, _in_nanoseconds(found), from_pandas=from_pandas)
        _refuse_mixed(values, array.type, from_pandas, classes)
    return array


def conflict_of(values: Sequence[Any], at: int, error: Exception) -> str:
    """Returns why no type holds the values up to one of them, in words.

    Args:
        values: The values, None for null.
        at: The place of the first that has no type with those before it.
        error: What Arrow said of it: told where no better words are known.

    >>> conflict_of([1.5, 10**29], 1, ValueError())
    'a whole number of 97 bits, and types have 64'
    >>> conflict_of([None, dt.date(2020, 1, 1), "x"], 2, ValueError())
    'str beside date'
    """
    value = values[at]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return f"a whole number of {value.bit_length():,} bits, and types have 64"
    if isinstance(value, str) and (half := _SURROGATE.search(value)):
        return f"a text has half of a pair of surrogates, {half[0]!r}, of which UTF-8 has no bytes"
    before = dict.fromkeys(type(one).__name__ for one in values[:at] if one is not None)
    mine = type(value).__name__
    return (
        f"{mine} beside {' and '.join(list(before)[:3])}"
        if before and mine not in before
        else str(error)[:200]
    )


def refuse_beside_moments(values: Iterable[Any], classes: set[type] | None = None) -> None:
    """Refuses other values beside NumPy's moments and lengths of time, of which Arrow reads memory that is not theirs.

    At whatever depth: in the same lists, and under the same name of objects.

    Args:
        values: A list, a tuple, an array or a series of objects.
        classes: Of the values, where they are known.

    Raises:
        ArrowTypeError: There is one.

    >>> import numpy as np
    >>> refuse_beside_moments([[np.datetime64("2024-01-02"), None], [np.datetime64("2024-01-03")]])
    """
    if not _has_moments(values, classes):
        return
    work: list[tuple[Iterable[Any], int]] = [(values, 0)]
    while work:
        some, depth = work.pop()
        there = set(map(type, some))
        own = next((one for one in there if one.__name__ in _OF_NUMPY), None)
        if own is not None:
            _refuse_others(some, there, (own,), own.__name__)
        elif depth < _MOST_DEPTH:
            lists = [one for one in some if _is_listed(one)]
            if lists:
                work.append((list(chain.from_iterable(lists)), depth + 1))
            names = dict.fromkeys(name for one in some if isinstance(one, dict) for name in one)
            for name in names:
                cells = [one[name] for one in some if isinstance(one, dict) and name in one]
                work.append((cells, depth + 1))


def _has_moments(values: Iterable[Any], known: set[type] | None = None) -> bool:
    """Whether one of NumPy's moments stands somewhere in values; a level at a time, as most have few levels."""
    level = values
    for depth in range(_MOST_DEPTH):
        classes = known if known is not None and depth == 0 else set(map(type, level))
        if any(one.__name__ in _OF_NUMPY for one in classes):
            return True
        listed = {one for one in classes if issubclass(one, _LISTS) or one.__name__ == "ndarray"}
        named = {one for one in classes if issubclass(one, dict)}
        if not listed and not named:
            return False
        # By their classes: most values are none of these.
        lists = [one for one in level if type(one) in listed] if listed else []
        dicts = [one for one in level if type(one) in named] if named else []
        level = [
            *chain.from_iterable(filter(_is_listed, lists)),
            *chain.from_iterable(map(dict.values, dicts)),
        ]
    return False


def _is_listed(value: Any) -> bool:
    """Whether Arrow makes a list of a value."""
    return isinstance(value, _LISTS) or bool(getattr(value, "ndim", 0))


def _finest(first: Any) -> Any:
    """The type for pandas' own times with nanoseconds, which Arrow would cut; else None."""
    if not hasattr(first, "nanosecond") and not hasattr(first, "nanoseconds"):
        return None
    import pyarrow as pa

    if hasattr(first, "nanosecond"):
        return pa.timestamp("ns", None if first.tzinfo is None else str(first.tzinfo))
    return pa.duration("ns")


def _in_nanoseconds(kind: Any) -> Any:
    import pyarrow as pa

    return pa.timestamp("ns", kind.tz) if pa.types.is_timestamp(kind) else pa.duration("ns")


def _is_cut(values: Iterable[Any], classes: set[type], kind: Any) -> bool:
    """Whether values of some classes have nanoseconds that a type has not."""
    import pyarrow as pa

    if not (pa.types.is_timestamp(kind) or pa.types.is_duration(kind)) or kind.unit == "ns":
        return False
    finer = {one for one in classes if hasattr(one, "nanosecond") or hasattr(one, "nanoseconds")}
    return bool(finer) and any(
        getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0)
        for value in values
        if type(value) in finer and type(value).__name__ != "NaTType"
    )


def _is_strict(kind: Any) -> bool:
    """Whether a type, or one within it, takes values of others."""
    import pyarrow as pa

    if pa.types.is_nested(kind):
        return any(_is_strict(kind.field(at).type) for at in range(kind.num_fields))
    return any(test(kind) for test in _tests())


def _tests() -> dict[Callable[[Any], bool], tuple[type, ...]]:
    """What is asked of a type, and the classes of the values that it may have."""
    import pyarrow as pa

    return {
        pa.types.is_date: (dt.date,),
        pa.types.is_timestamp: (dt.datetime,),
        pa.types.is_time: (dt.time,),
        pa.types.is_duration: (dt.timedelta,),
        pa.types.is_binary: (bytes, bytearray, memoryview),
        pa.types.is_large_binary: (bytes, bytearray, memoryview),
    }


def _refuse_mixed(
    values: Iterable[Any], kind: Any, from_pandas: bool, classes: set[type] | None = None
) -> None:
    """Refuses what a type took for one of its own, at whatever depth."""
    import pyarrow as pa

    if pa.types.is_nested(kind):
        for inner, type_within in _within(values, kind):
            _refuse_mixed(inner, type_within, from_pandas)
        return
    there = set(map(type, values)) if classes is None else classes
    _refuse_others(
        values, there, next(own for test, own in _tests().items() if test(kind)), kind, from_pandas
    )
    if pa.types.is_timestamp(kind):
        _refuse_zones(values, there)
    if _is_cut(values, there, kind):
        raise pa.ArrowTypeError(f"a value has nanoseconds: tried to convert to {kind}")


def _within(values: Iterable[Any], kind: Any) -> Iterator[tuple[list[Any], Any]]:
    """Yields what stands in lists, or in a field of structs, and its type, where that takes values of others."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        for field in filter(lambda field: _is_strict(field.type), kind):
            name = field.name
            yield [value.get(name) for value in values if isinstance(value, dict)], field.type
    elif not pa.types.is_map(kind):
        there = [value for value in values if value is not None]
        if all(hasattr(value, "__iter__") for value in there):
            yield list(chain.from_iterable(there)), kind.value_type


def _refuse_others(
    values: Iterable[Any], there: set[type], own: tuple[type, ...], kind: Any, from_pandas: bool = False
) -> None:
    odd = {one for one in there if not _is_of(one, own)}
    for value in values if odd else ():
        if type(value) not in odd or (from_pandas and _is_missing(value)):
            continue
        import pyarrow as pa

        said = f"Could not convert {repr(value)[:80]} with type {type(value).__name__}: tried to convert to {kind}"
        raise pa.ArrowTypeError(said)


def _is_of(one: type, own: tuple[type, ...]) -> bool:
    """Whether values of a class are of some others; of NumPy's and Arrow's own, Arrow knows the types."""
    if one is type(None) or issubclass(one, own):
        return own != (dt.date,) or not issubclass(one, dt.datetime)
    if one.__name__ in _OF_NUMPY:
        return bool({dt.date, dt.datetime, dt.timedelta}.intersection(own))
    return one.__module__.partition(".")[0] == "pyarrow"


def _is_missing(value: Any) -> bool:
    """Whether pandas takes a value for none."""
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and isnan(value))


def _refuse_zones(values: Iterable[Any], there: set[type]) -> None:
    """Refuses moments without a zone beside such with one, which would be given it, or lose it."""
    own = {one for one in there if issubclass(one, dt.datetime) and one.__name__ != "NaTType"}
    if len({value.tzinfo is None for value in values if type(value) in own}) > 1:
        import pyarrow as pa

        raise pa.ArrowTypeError("moments with a time zone stand beside such without one")


def is_known_zone(zone: str) -> bool:
    """Returns whether a time zone is an offset, or one of this machine's database.

    >>> is_known_zone("+05:30"), is_known_zone("Asia/Tokyo"), is_known_zone("+99:99"), is_known_zone("Mars/Base")
    (True, True, False, False)
    """
    import zoneinfo

    if _OFFSET.fullmatch(zone):
        return True
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def unknown_zone(kind: Any) -> str:
    """Returns the first time zone of a type of Arrow that nothing here knows, at whatever depth; empty without one."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind) and kind.tz is not None and not is_known_zone(kind.tz):
        return str(kind.tz)
    return next(filter(None, (unknown_zone(kind.field(at).type) for at in range(kind.num_fields))), "")
