"""Brings moments to the coarser unit in which another reader has them, e.g. INT96 of Parquet in microseconds by DuckDB."""

from __future__ import annotations

from typing import Any

__all__ = ["in_unit_of", "is_finer"]

_UNITS = ("s", "ms", "us", "ns")


def is_finer(kind: Any, other: Any) -> bool:
    """Returns whether a type, or one within it, has a finer unit of time than another has at the same place.

    >>> import pyarrow as pa
    >>> fine, coarse = pa.timestamp("ns"), pa.timestamp("us")
    >>> is_finer(fine, coarse), is_finer(coarse, fine), is_finer(pa.list_(fine), pa.large_list(coarse))
    (True, False, True)
    """
    if _are_times(kind, other):
        return _UNITS.index(kind.unit) > _UNITS.index(other.unit)
    inner, others = ([side.field(at).type for at in range(side.num_fields)] for side in (kind, other))
    return len(inner) == len(others) and any(map(is_finer, inner, others))


def in_unit_of(array: Any, kind: Any) -> Any:
    """Returns an array whose times are rounded down to the units of another type, where these are coarser.

    Args:
        array: The array; it may be nested.
        kind: The type of the same values by another reader.

    >>> import pyarrow as pa
    >>> in_unit_of(pa.array([1999, -1, None], pa.timestamp("ns")), pa.timestamp("us")).cast("int64").to_pylist()
    [1, -1, None]
    """
    import pyarrow as pa

    if not is_finer(array.type, kind):
        return array
    if _are_times(array.type, kind):
        return _rounded_down(array, kind)
    array = array.take(pa.array(range(len(array)), pa.int64()))  # so that its parts begin where it does
    inner = [kind.field(at).type for at in range(kind.num_fields)]
    if pa.types.is_struct(array.type):
        names = [array.type.field(at).name for at in range(len(inner))]
        parts = [in_unit_of(array.field(at), one) for at, one in enumerate(inner)]
        fields = [pa.field(name, part.type) for name, part in zip(names, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())
    if pa.types.is_map(array.type):
        keys, items = (inner[0].field(at).type for at in (0, 1))
        pairs = in_unit_of(array.keys, keys), in_unit_of(array.items, items)
        return pa.MapArray.from_arrays(array.offsets, *pairs, mask=array.is_null())
    values = in_unit_of(array.values, inner[0])
    if pa.types.is_fixed_size_list(array.type):
        return pa.FixedSizeListArray.from_arrays(values, array.type.list_size, mask=array.is_null())
    return type(array).from_arrays(array.offsets, values, mask=array.is_null())


def _are_times(kind: Any, other: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_timestamp, pa.types.is_time, pa.types.is_duration)
    return any(is_one(kind) and is_one(other) for is_one in tests)


def _rounded_down(array: Any, kind: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    step = 1000 ** (_UNITS.index(array.type.unit) - _UNITS.index(kind.unit))
    times = pa.types
    if times.is_timestamp(array.type):
        wanted: Any = pa.timestamp(kind.unit, array.type.tz)
    elif times.is_duration(array.type):
        wanted = pa.duration(kind.unit)
    else:
        wanted = kind
    # Arrow's own division of integers rounds to zero, and what stands under a null is never looked at.
    if not len(array):
        return pa.nulls(0, wanted)
    valid, data = array.buffers()
    widths = [np.dtype(f"i{one.bit_width // 8}") for one in (array.type, wanted)]
    numbers = np.frombuffer(data, widths[0], len(array) + array.offset) // step
    whole = pa.py_buffer(numbers.astype(widths[1]))
    return pa.Array.from_buffers(wanted, len(array), [valid, whole], offset=array.offset)
