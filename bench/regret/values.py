"""Checks that values came back: a comparison independent of ``tare.fidelity``.

A value that comes back as another type is kept where its text or number is the same: an integer as the equal
float, a date as its ISO text, ZIP codes as text. Order of rows, columns and names counts.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any


def lost_in_document(before: Any, after: Any) -> str:
    """Returns what a document lost, or an empty text.

    >>> lost_in_document({"a": [1, 2.0]}, {"a": [1, 2]}), lost_in_document({"a": 1}, {"a": True})
    ('', 'a value')
    """
    if before != after:
        return "a value"
    import orjson

    try:
        if orjson.dumps(before) == orjson.dumps(after):
            return ""
    except TypeError:  # integers above 64 bits, lone surrogates
        pass
    return _differing(before, after)


def _differing(before: Any, after: Any) -> str:
    """Compares equal trees once more: ``1 == True``, and equal mappings may differ in order."""
    stack = [(before, after)]
    while stack:
        a, b = stack.pop()
        if isinstance(a, bool) is not isinstance(b, bool):
            return "a value"
        if isinstance(a, dict):
            if list(a) != list(b):
                return "the order of names"
            stack.extend(zip(a.values(), b.values()))
        elif isinstance(a, list):
            stack.extend(zip(a, b))
    return ""


def as_table(value: Any) -> Any:
    """Returns rows, columns or a data frame of any library as an Arrow table."""
    import pyarrow as pa

    if isinstance(value, pa.Table):
        return value
    if isinstance(value, list):
        names = list(value[0]) if value else []
        return pa.Table.from_arrays([_array([row[name] for row in value]) for name in names], names=names)
    if isinstance(value, dict):
        return pa.Table.from_arrays([_array(column) for column in value.values()], names=list(value))
    if type(value).__module__.startswith("polars"):
        return value.to_arrow()
    return pa.Table.from_pandas(value, preserve_index=False)


def _array(values: Sequence[Any]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else _text(value) for value in values], pa.string())


def lost_in_table(before: Any, after: Any) -> str:
    """Returns the columns that a table lost, or an empty text.

    Args:
        before: Arrow table.
        after: Rows, columns, or a table of any library.
    """
    after = as_table(after)
    if before.num_rows != after.num_rows:
        return f"{before.num_rows - after.num_rows} rows"
    if before.column_names != after.column_names:
        return "names of columns"
    gone = [name for name in before.column_names if not _same_column(before[name], after[name])]
    return ", ".join(gone[:3]) + (f" and {len(gone) - 3} more" if len(gone) > 3 else "")


def _same_column(before: Any, after: Any) -> bool:
    import pyarrow as pa

    before, after = _plain(before), _plain(after)
    if before.null_count != after.null_count:
        return False
    if pa.types.is_null(after.type):
        return bool(before.null_count == len(before))
    try:
        # A number that was text, and text that was a number, are the same where they are written alike.
        if pa.types.is_string(before.type) and not pa.types.is_string(after.type):
            after = after.cast(pa.string())
        elif after.type != before.type:
            after = after.cast(before.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _same_values(before, after)
    return _equal(before, after) or _same_values(before, after)


def _plain(column: Any) -> Any:
    """A column of one chunk, without dictionary, large offsets or views."""
    import pyarrow as pa

    array: Any = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_large_string(array.type) or str(array.type) == "string_view":
        array = array.cast(pa.string())
    return array


def _equal(before: Any, after: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(before.type):
        return bool(before.equals(after))
    # Arrow says that NaN differs from itself.
    odd, also = pc.fill_null(pc.is_nan(before), False), pc.fill_null(pc.is_nan(after), False)
    if not odd.equals(also):
        return False
    zero = pa.scalar(0.0, before.type)
    return bool(pc.if_else(odd, zero, before).equals(pc.if_else(also, zero, after)))


def _same_values(before: Any, after: Any) -> bool:
    """Compares value by value, by their text: the slow way, for what Arrow does not cast."""
    for a, b in zip(before.to_pylist(), after.to_pylist()):
        if a is None or b is None:
            if a is not b:
                return False
        elif a != b and _text(a) != _text(b) and _moment(a) != _moment(b):
            return False
    return True


def _text(value: Any) -> str:
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, Decimal | int | float) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else repr(value)


def _moment(value: Any) -> Any:
    """The instant that a time, or its ISO text, names; else a value that equals no other."""
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError:
            return object()
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC) if value.tzinfo else value
    return object()
