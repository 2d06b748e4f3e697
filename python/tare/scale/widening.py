"""The type that columns of JSON have after further rows: one rule, for those who give up and those who go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.errors import EncodeError
from tare.kinds import column_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Apart", "merged", "no_type_of", "widened"]


class Apart(Exception):
    """Rows have no one schema that is sure."""


def merged(before: pa.Schema, later: pa.Schema) -> pa.Schema:
    """The schema of rows of which the first and the later have these; names stand as they first appear.

    Raises:
        Apart: Types that differ other than by what is null, and by whole numbers among doubles.

    >>> import pyarrow as pa
    >>> merged(pa.schema({"a": pa.int64()}), pa.schema({"b": pa.null(), "a": pa.float64()})).names
    ['a', 'b']
    """
    import pyarrow as pa

    if before.equals(later):
        return before
    return pa.schema(_fields(list(before), list(later)))


def _fields(before: list[Any], later: list[Any]) -> list[Any]:
    import pyarrow as pa

    found = {field.name: field.type for field in before}
    for field in later:
        found[field.name] = _both(found[field.name], field.type) if field.name in found else field.type
    return [pa.field(name, kind) for name, kind in found.items()]


def _both(a: Any, b: Any) -> Any:
    """The type of values of which some have one and some the other, of those that JSON has.

    Raises:
        Apart: There is none.
    """
    import pyarrow as pa

    if a.equals(b) or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    both = {a, b}
    if pa.float64() in both and both <= {pa.int64(), pa.uint64(), pa.float64()}:
        return pa.float64()  # whether a whole number is one of them its reader says
    if both == {pa.int64(), pa.uint64()}:
        return pa.uint64()  # a negative one does not fit then, as it never did
    if pa.types.is_list(a) and pa.types.is_list(b):
        return pa.list_(_both(a.value_type, b.value_type))
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        return pa.struct(
            _fields([a.field(k) for k in range(a.num_fields)], [b.field(k) for k in range(b.num_fields)])
        )
    raise Apart(f"{a} and {b}")


def widened(schema: pa.Schema, rows: list[dict[str, Any]]) -> pa.Schema:
    """The schema with what the rows add to it; a value that does not go with those before it changes nothing.

    >>> import pyarrow as pa
    >>> widened(pa.schema({"a": pa.int64()}), [{"a": 1.5, "b": 2**63}, {"a": "x"}]).types
    [DataType(double), DataType(uint64)]
    """
    import pyarrow as pa

    types = {field.name: field.type for field in schema}
    for name in filter(_is_text, dict.fromkeys(key for row in rows for key in row)):
        known = types.get(name, pa.null())
        types[name] = _with(known, [row[name] for row in rows if row.get(name) is not None])
    return pa.schema(list(types.items()))


def no_type_of(value: Any) -> str:
    """What keeps every column from holding a value, even alone; empty if nothing does, or a reader says it.

    >>> no_type_of([1, 1.5]), no_type_of([1, "a"])
    ('', 'values of several types')
    """
    import pyarrow as pa

    try:
        _type_of([value])
    except EncodeError:  # of one that is not within others a reader says it
        if isinstance(value, int):
            return ""
        return "a whole number of more than 64 bits, or one of 64 beside a negative one, within a list or an object"
    except UnicodeEncodeError:
        return ""
    except pa.ArrowException:
        return "values of several types"
    return ""


def _type_of(values: list[Any]) -> pa.DataType:
    """Arrow's own type of values, or with whole numbers of 64 bits.

    Raises:
        EncodeError: Some need more.
        ArrowException, UnicodeEncodeError: They have none.
    """
    import pyarrow as pa

    try:
        kind: pa.DataType = pa.array(values).type
    except OverflowError:
        kind = column_of("", values).type
    return kind


def _is_text(name: str) -> bool:
    """Whether a name has no half of a surrogate pair: a column has none, and a reader says it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _with(known: pa.DataType, values: list[Any]) -> pa.DataType:
    """The type of values behind others of a known type; by halves, where one of them does not fit."""
    import pyarrow as pa

    try:
        wider: pa.DataType = _both(known, _type_of(values))
    except (Apart, EncodeError, pa.ArrowException, TypeError, ValueError):
        if len(values) == 1:
            return _alone(known, values[0])
    else:
        return wider
    half = len(values) // 2
    return _with(_with(known, values[:half]), values[half:])


def _alone(known: pa.DataType, value: Any) -> pa.DataType:
    """The type behind one value that Arrow has no type for, or not with those before it."""
    import pyarrow as pa

    whole = pa.types.is_null(known) or pa.types.is_integer(known)
    if isinstance(value, int) and whole and not isinstance(value, bool):
        # One that no type holds is a whole number all the same. A negative one beside 2^63 is refused by its reader.
        return pa.uint64() if 2**63 <= value < 2**64 else pa.int64() if pa.types.is_null(known) else known
    return known
