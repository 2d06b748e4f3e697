"""The schema of rows as Arrow finds it, and whether rows read back are these very values, which only Python's tell."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tare.scale.widening import Apart

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["as_rows_are", "found_in", "like_old"]

_MOST_WHOLE = 2**53
_MINUS_ZERO = -(2**63)  # the bits of -0.0 as a whole number


def found_in(rows: list[Any]) -> pa.Schema:
    """The schema that Arrow finds in rows; it is not asked, as it loads all of pandas first.

    Raises:
        Apart: A row is no object, or values of a name have no one type that is sure.

    >>> found_in([{"a": 1}, {"a": 1.5, "b": [{"c": None}]}]).types
    [DataType(double), ListType(list<item: struct<c: null>>)]
    """
    import pyarrow as pa

    if set(map(type, rows)) - {dict}:
        raise Apart("a row is an object")
    return pa.schema([(name, _kind_of([row.get(name) for row in rows], 64)) for name in _names(rows)])


def _names(rows: list[Any]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(rows)))


def _kind_of(values: list[Any], most_bits: int = 63) -> Any:
    """The type of a column; whole numbers of 64 bits stand in those of the table alone."""
    import pyarrow as pa

    there = [value for value in values if value is not None]
    types = frozenset(map(type, there))
    if not types:
        return pa.null()
    simple: dict[frozenset[type], Any] = {
        frozenset({bool}): pa.bool_(),
        frozenset({str}): pa.string(),
        frozenset({float}): pa.float64(),
    }
    if types in simple:
        return simple[types]
    if types == {int}:
        least, most = min(there), max(there)
        if least >= -(2**63) and most < 2**63:
            return pa.int64()
        if least >= 0 and most < 2**most_bits:
            return pa.uint64()
    elif types == {int, float} and not _has_long(there):
        return pa.float64()
    elif types == {list}:
        return pa.list_(_kind_of(list(chain.from_iterable(there))))
    elif types == {dict}:
        return pa.struct([(name, _kind_of([row.get(name) for row in there])) for name in _names(there)])
    raise Apart("values of several types")


def as_rows_are(schema: pa.Schema, rows: list[Any]) -> bool:
    """Whether rows read back are these very values: each has all names in this order, and no whole number becomes a double.

    >>> import pyarrow as pa
    >>> schema = pa.schema({"a": pa.float64(), "b": pa.null()})
    >>> [as_rows_are(schema, [row]) for row in ({"a": 1.5, "b": None}, {"a": 1.5}, {"a": 1, "b": None})]
    [True, False, False]
    """
    return _are_objects(rows, list(schema))


def _are_objects(rows: list[Any], fields: list[Any]) -> bool:
    names = tuple(field.name for field in fields)
    # Column by column, as loops within Python's own functions take a third of the time.
    if not set(map(tuple, rows)) <= {names}:
        return False
    return all(
        _are_values(list(map(itemgetter(field.name), rows)), field.type)
        for field in fields
        if not _always_is(field.type)
    )


def _always_is(kind: Any) -> bool:
    """A type whose values are always what they were."""
    import pyarrow as pa

    return not (pa.types.is_floating(kind) or pa.types.is_list(kind) or pa.types.is_struct(kind))


def _are_values(values: list[Any], kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_floating(kind):
        return set(map(type, values)) <= {float, type(None)}
    there = [value for value in values if value is not None]
    if pa.types.is_struct(kind):
        return _are_objects(there, [kind.field(k) for k in range(kind.num_fields)])
    inner = kind.value_type
    return _always_is(inner) or _are_values(list(chain.from_iterable(there)), inner)


def like_old(batch: pa.RecordBatch, rows: Callable[[], list[Any]]) -> None:
    """Hold columns of doubles against Python's values, where those may be others.

    Python's ``-0`` is 0, and Arrow takes no whole number beyond 2^53 of Python's into doubles.

    Args:
        batch: The rows as they were read from the text.
        rows: Gives them as Python reads them, if they must be looked at.

    Raises:
        Apart: Values differ, or would have been refused.
    """
    import pyarrow as pa

    odd = [name for name, column in zip(batch.schema.names, batch.columns, strict=True) if _is_odd(column)]
    if not odd:
        return
    given = rows()
    for name in odd:
        column = batch.column(name)
        values = [row.get(name) for row in given]
        if _has_long(values):
            raise Apart("a whole number among doubles")
        old = pa.array(values, column.type)
        if marshal.dumps(old.to_pylist(), 2) != marshal.dumps(column.to_pylist(), 2):
            raise Apart("another double")


def _is_odd(column: Any) -> bool:
    """Whether it has, at whatever depth, a double beyond 2^53 or -0.0."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_floating(kind):
        return _has_odd(column)
    if pa.types.is_list(kind):
        return _is_odd(column.flatten())
    if pa.types.is_struct(kind):
        return any(map(_is_odd, column.flatten()))
    return False


def _has_odd(column: Any) -> bool:
    """By the memory of the column: what is null there counts too, and is zero; Arrow's own ways load all of pandas."""
    import numpy as np

    held = column.buffers()[1]
    if held is None or not len(column):
        return False
    values = np.frombuffer(held, np.float64)[column.offset : column.offset + len(column)]
    return bool((np.abs(values) > _MOST_WHOLE).any() or (values.view(np.int64) == _MINUS_ZERO).any())


def _has_long(values: Any) -> bool:
    """Whether a whole number beyond 2^53 is among them; those of other columns of an object count, which is rare."""
    stack = list(values)
    while stack:
        value = stack.pop()
        if type(value) is int and abs(value) > _MOST_WHOLE:
            return True
        if isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return False
