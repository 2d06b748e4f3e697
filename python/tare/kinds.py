"""Data in memory: which kind a value is, and conversion between the kinds.

Two kinds of data, *documents* and *tables*, and lone *arrays* live in these in-memory kinds:

| memory kind | what it is | data |
|---|---|---|
| ``python`` | anything else: a JSON-like tree | document |
| ``records`` | list of dicts with the same names | table, or a document |
| ``columns`` | dict of lists of one length | table, or a document |
| ``arrow`` | `pyarrow.Table` | table |
| ``pandas`` | `pandas.DataFrame` | table |
| ``polars`` | `polars.DataFrame` | table |
| ``numpy`` | `numpy.ndarray` | array, for what holds one and nothing else |

Arrow is the hub. What a kind cannot hold is its loss and no codec's: to judge a
codec, compare what came back with ``convert(convert(table, native), "arrow")``,
not with the first table. Known losses: ``records`` and ``columns`` know no
integer widths, no 32-bit floats, no categories, no maps (those with texts as keys
are dicts), and forget the types of empty and all-null columns; ``polars`` has one time type (ns) and no seconds;
``pandas`` holds every Arrow column exactly (see `tare.frames`).
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tare.arrays import array_of, conflict_of, unknown_zone
from tare.errors import EncodeError, Unsupported, UsageError
from tare.frames import bytes_of, empty_records, hold_empty, rows_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

__all__ = [
    "MEMORY_KINDS",
    "class_kind",
    "column_of",
    "convert",
    "count_items",
    "has_other_time",
    "hold_empty",
    "in_microseconds",
    "kind_of",
    "memory_kind",
    "record_slices",
    "resident_bytes",
    "rows_alone",
    "values_of",
    "with_text_keys",
]

MEMORY_KINDS = ("python", "records", "columns", "arrow", "pandas", "polars", "numpy")
_MOST_DEPTH = 100
# Cells that are Python's at a time, and the fewest rows of them: a slice of fewer costs more than it saves.
_SLICE_CELLS = 1 << 15
_LEAST_ROWS = 16
_NAT = -(2**63)
_HOLD_IT = "files of Parquet and Arrow hold it, and CSV where it is no part of a list or struct"
_OF_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_TABLES = {
    ("pyarrow", "Table"): "arrow",
    ("pandas", "DataFrame"): "pandas",
    ("polars", "DataFrame"): "polars",
}


def kind_of(obj: object) -> str:
    """Whether a value is a ``table`` (Arrow, pandas, polars) or a ``document`` (anything else).

    A list of dicts is a document: what makes it a table is the caller's wish. The type alone decides, at
    a cost that does not depend on the value.

    >>> kind_of([{"a": 1}, {"a": 2}])
    'document'
    """
    return "table" if class_kind(type(obj)) else "document"


def memory_kind(obj: object) -> str:
    """The in-memory kind of a value, one of `MEMORY_KINDS`; every row or column is looked at.

    >>> memory_kind([{"a": 1}, {"a": 2}]), memory_kind({"a": [1, 2]}), memory_kind([1, 2])
    ('records', 'columns', 'python')
    """
    if kind := class_kind(type(obj)):
        return kind
    if isinstance(obj, list) and obj and isinstance(obj[0], dict) and obj[0]:
        names = obj[0].keys()
        same = all(isinstance(row, dict) and row.keys() == names for row in obj)
        return "records" if same and all(isinstance(name, str) for name in names) else "python"
    if isinstance(obj, dict) and obj and all(isinstance(name, str) for name in obj):
        lengths = {len(column) if isinstance(column, list) else -1 for column in obj.values()}
        return "columns" if len(lengths) == 1 and -1 not in lengths else "python"
    return "python"


def convert(obj: Any, to: str) -> Any:
    """Give a table in another in-memory kind; the same object if it has that kind already.

    Args:
        obj: A table of any kind; a list is taken as records, a dict as columns.
        to: ``arrow``, ``pandas``, ``polars``, ``records`` or ``columns``.

    Raises:
        UsageError: There is no such kind.
        Unsupported: The value is no table, or the kind cannot hold this table.
        EncodeError: A column mixes types that no Arrow type holds together.

    >>> convert([{"a": 1, "b": None}, {"a": 2, "b": "x"}], "columns")
    {'a': [1, 2], 'b': [None, 'x']}
    """
    if to not in MEMORY_KINDS[1:-1]:
        raise UsageError(f"there is no table kind {to!r}; there are {', '.join(MEMORY_KINDS[1:-1])}")
    now = class_kind(type(obj)) or (
        "records" if isinstance(obj, list) else "columns" if isinstance(obj, dict) else ""
    )
    if now == to:
        return obj
    if now == "records" and to == "columns":
        return _columns_of(obj)
    if now == "columns" and to == "records":
        return _records_of(obj)
    return _from_arrow(_to_arrow(obj, now), to)


def count_items(obj: object) -> int:
    """Rows of a table, items of a list, 1 for any other value, 0 for None.

    The proof that something came back, not that it is right.

    >>> count_items([1, 2, 3]), count_items({"a": 1}), count_items({"a": [1, 2]}), count_items(None)
    (3, 1, 2, 0)
    """
    if obj is None:
        return 0
    kind = memory_kind(obj)
    if kind == "arrow":
        return int(obj.num_rows)  # type: ignore[attr-defined]
    if kind == "columns":
        return len(next(iter(obj.values())))  # type: ignore[attr-defined]
    return len(obj) if kind != "python" or isinstance(obj, list) else 1  # type: ignore[arg-type]


def resident_bytes(obj: object) -> int:
    """Bytes a value occupies in memory, of Arrow those of its rows; an object that is held twice counts once.

    >>> resident_bytes([1.5] * 1000) > 8000
    True
    """
    kind = class_kind(type(obj))
    if kind == "arrow":
        return bytes_of(obj)
    if kind == "pandas":
        return int(obj.memory_usage(deep=True).sum())  # type: ignore[attr-defined]
    if kind == "polars":
        return int(obj.estimated_size())  # type: ignore[attr-defined]
    return _walk_bytes(obj)


def _class_kind(cls: type) -> str:
    """Returns the in-memory kind of tables of a class, or an empty text: no library is imported to ask.

    >>> _class_kind(dict)
    ''
    """
    for one in cls.__mro__:
        kind = _TABLES.get((one.__module__.partition(".")[0], one.__name__))
        if kind:
            return kind
    return ""


class_kind: Callable[[type], str] = lru_cache(maxsize=256)(_class_kind)


def _walk_bytes(obj: object) -> int:
    seen: set[int] = set()
    stack = [obj]
    total = 0
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        total += sys.getsizeof(item)
        if isinstance(item, dict):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, (list, tuple, set, frozenset)):
            stack.extend(item)
    return total


def _to_arrow(obj: Any, now: str) -> pa.Table:
    import pyarrow as pa

    if now == "arrow":
        table: pa.Table = obj
        return table
    if now == "pandas":
        from tare.frames import arrow_from_pandas

        return arrow_from_pandas(obj)
    if now == "polars":
        from tare.frames import arrow_from_polars

        return arrow_from_polars(obj)
    if now == "records":
        rows, obj = len(obj), _columns_of(obj)
        if rows and not obj:
            return rows_alone(rows)
    elif now != "columns":
        raise Unsupported(
            f"a value of type {type(obj).__name__} is not a table: expected rows, columns or a data frame"
        )
    _hold_names(obj)
    odd = next(
        (
            name
            for name, values in obj.items()
            if isinstance(values, str | bytes | dict) or not hasattr(values, "__len__")
        ),
        None,
    )
    if odd is not None:
        raise Unsupported(
            f"one object is a table only if each name holds a list, its column, and {str(odd)[:80]!r} holds none; "
            "a list of objects is a table of rows",
            path=str(odd),
        )
    arrays = [column_of(name, values) for name, values in obj.items()]
    if len({len(array) for array in arrays}) > 1:
        raise Unsupported("the columns of a table have one length; these have several")
    return pa.Table.from_arrays(arrays, names=list(obj))


def column_of(name: str, values: list[Any]) -> Any:
    """An Arrow array of Python values, of the type that they have in common.

    Args:
        name: Of the column, for errors.
        values: Its cells, None for null.

    Raises:
        EncodeError: They have none.

    >>> column_of("n", [2**63, None]).type
    DataType(uint64)
    """
    import pyarrow as pa

    try:
        return _exact_array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        at = _first_conflict(values)
        said = f"no one type holds its values, from item {at + 1:,} on: {conflict_of(values, at, error)}"
        if isinstance(error, OverflowError):
            said = f"no type of 64 bits holds its integers beside the other values, from item {at + 1:,} on"
        refused = EncodeError(f"column {name[:80]!r}: {said}", path=name)
        refused.item = at
        raise refused from error


def _exact_array(values: list[Any]) -> Any:
    """An array whose integers may need all 64 bits.

    Raises:
        OverflowError: They need more, or also a sign.
    """
    import pyarrow as pa

    try:
        return array_of(values)
    except OverflowError as error:
        try:
            return array_of(values, _with_uint64(values))
        except (pa.ArrowException, TypeError, ValueError):
            raise error from None


def _first_conflict(values: list[Any]) -> int:
    """Returns the place of the first value that has no type with those before it."""
    import pyarrow as pa

    good, bad = 0, len(values)  # so many from the front have a type, and so many have none
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            _exact_array(values[:middle])
            good = middle
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            bad = middle
    return bad - 1


def _with_uint64(values: list[Any], depth: int = 0) -> Any:
    """The type of values some of whose integers, at whatever depth, need all 64 bits: Arrow alone takes int64.

    >>> import pyarrow as pa
    >>> _with_uint64([[2**63], None, []])
    ListType(list<item: uint64>)
    """
    import pyarrow as pa

    there = [value for value in values if value is not None]
    if there and depth < _MOST_DEPTH and all(isinstance(value, list | tuple) for value in there):
        return pa.list_(_with_uint64([item for value in there for item in value], depth + 1))
    if there and depth < _MOST_DEPTH and all(isinstance(value, dict) for value in there):
        names = dict.fromkeys(name for value in there for name in value)
        inner = {name: [value[name] for value in there if name in value] for name in names}
        return pa.struct([(name, _with_uint64(cells, depth + 1)) for name, cells in inner.items()])
    if any(type(value) is int and value >= 2**63 for value in there):
        return pa.uint64()
    infer: Any = pa.infer_type
    return infer(there)


def _from_arrow(table: pa.Table, to: str) -> Any:
    if to == "arrow":
        return table
    if to == "pandas":
        from tare.frames import pandas_from_arrow

        return pandas_from_arrow(table)
    names = _distinct(table, to)
    if to == "polars":
        from tare.frames import polars_from_arrow

        return polars_from_arrow(table)
    if to == "columns" and table.num_rows and not names:
        raise Unsupported(f"the table has no column: that it has {table.num_rows:,} rows would be lost")
    columns = {name: values_of(name, table.column(name)) for name in names}
    return columns if to == "columns" else _records_of(columns, table.num_rows)


def record_slices(obj: Any) -> Iterator[list[dict[str, Any]]]:
    """Yields the rows of a table as `convert` gives them, a slice at a time: they need a hundred times the memory of its columns.

    Args:
        obj: A table of Arrow, pandas or polars.

    Raises:
        Unsupported: As `convert`, before the first slice.

    >>> import pyarrow as pa
    >>> list(record_slices(pa.table({"a": [1, 2]})))
    [[{'a': 1}, {'a': 2}]]
    """
    import pyarrow as pa

    table = _to_arrow(obj, class_kind(type(obj)))
    names = _distinct(table, "records")
    if not names:
        yield _records_of({}, table.num_rows)
        return
    # Which unit of time a column has is one question to the whole of it.
    columns = [in_microseconds(name, table.column(name)) for name in names]
    plain: Any = pa.table(columns, names=names)
    slices = [
        rows for rows in plain.to_batches(max(_SLICE_CELLS // len(names), _LEAST_ROWS)) if rows.num_rows
    ]
    first = 0
    for rows in slices or [plain]:
        yield _records_of(
            {name: _cells(name, column, first) for name, column in zip(names, rows.columns, strict=True)}
        )
        first += rows.num_rows


def _distinct(table: pa.Table, to: str) -> list[str]:
    """Returns the names of the columns, none of which may stand twice."""
    names = table.column_names
    if len(set(names)) != len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise Unsupported(f"two columns are named {twice[:80]!r}: {to} cannot hold both", path=twice)
    return names


def values_of(name: str, column: pa.ChunkedArray[Any]) -> list[Any]:
    """Returns the cells of a column as Python values.

    Nanoseconds become microseconds where nothing is lost, as Python has no others. A map is a dict if its type says that
    keys are texts, else a list of pairs.

    Args:
        name: Of the column, for errors.
        column: The column.

    Raises:
        Unsupported: A cell has no value of Python, or a key twice.

    >>> import pyarrow as pa
    >>> values_of("m", pa.chunked_array([pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))]))
    [{'a': 1}]
    """
    return _cells(name, in_microseconds(name, column))


def in_microseconds(name: str, column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """Returns a column whose nanoseconds are microseconds where nothing is lost, as Python has no others.

    Args:
        name: Of the column, for errors.
        column: The column.

    Raises:
        Unsupported: Times of day that are finer.
    """
    import pyarrow as pa

    kind: Any = column.type
    wanted: Any = None
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        wanted = pa.timestamp("us", kind.tz)
    elif pa.types.is_duration(kind) and kind.unit == "ns":
        wanted = pa.duration("us")
    elif pa.types.is_time64(kind) and kind.unit == "ns":
        wanted = pa.time64("us")
    if wanted is not None:
        try:
            column = column.cast(wanted)
        except pa.ArrowInvalid as error:
            # Finer than microseconds: pandas has its own scalars of moments and durations.
            if pa.types.is_time64(kind):
                said = (
                    f"column {name[:80]!r} has times of day with nanoseconds, which Python's values have not"
                )
                raise Unsupported(said, path=name) from error
    return column


def _cells(name: str, column: Any, first: int = 0) -> list[Any]:
    """The cells of a column, or of a slice of it that begins with the row `first`."""
    maps: dict[str, Any] = {"maps_as_pydicts": "strict"} if with_text_keys(column.type) else {}
    try:
        cells: list[Any] = column.to_pylist(**maps)
    except (OverflowError, ValueError, KeyError) as error:
        raise _without_value(name, column, first, maps, error) from error
    if has_other_time(column):
        row = next((row for row in range(len(column)) if has_other_time(column.slice(row, 1))), None)
        if row is not None:
            number = getattr(column[row], "value", None)
            what = f"a value of type {column.type}{f' ({number})' if isinstance(number, int) else ''}"
            why = (
                "is no value to pandas (NaT), nor to Python"
                if number == _NAT
                else "lies outside of a day or has nanoseconds: Python's times go from 00:00:00 to before 24:00:00, "
                "by microseconds, and -2^63 nanoseconds are no value to pandas"
            )
            raise Unsupported(f"column {name[:80]!r}, row {first + row + 1:,}: {what} {why}", path=name)
    return cells


def has_other_time(column: Any) -> bool:
    """Returns true if Arrow gives Python another time of day, at whatever depth, or no moment or length of time.

    Others are those of 24:00:00, negative ones and nanoseconds; and -2^63 ns is what pandas takes for no value.

    Args:
        column: A column, or an array.

    >>> import pyarrow as pa
    >>> has_other_time(pa.array([[86_400], [1]], pa.list_(pa.int32())).cast(pa.list_(pa.time32("s"))))
    True
    """
    import pyarrow as pa

    types, kind = pa.types, column.type
    if not _has_times(kind):
        return False
    import pyarrow.compute as pc

    if isinstance(column, pa.ChunkedArray):
        return any(map(has_other_time, column.chunks))
    if types.is_dictionary(kind):
        return has_other_time(column.dictionary_decode())
    if isinstance(column, pa.ExtensionArray):
        return has_other_time(column.storage)
    if types.is_run_end_encoded(kind):
        return has_other_time(pc.call_function("run_end_decode", [column]))
    if types.is_struct(kind):
        return any(map(has_other_time, column.flatten()))
    if types.is_union(kind):
        return any(has_other_time(column.field(at)) for at in range(kind.num_fields))
    if types.is_map(kind):
        first, end = column.offsets[0].as_py(), column.offsets[-1].as_py()
        return any(has_other_time(part.slice(first, end - first)) for part in (column.keys, column.items))
    if types.is_nested(kind):
        return has_other_time(column.flatten())
    if not types.is_time(kind):
        return bool(pc.min(column.view(pa.int64())).as_py() == _NAT)
    whole: Any = column.view(pa.int32() if types.is_time32(kind) else pa.int64())
    if kind.unit == "ns" and pc.any(pc.not_equal(pc.multiply(pc.divide(whole, 1000), 1000), whole)).as_py():
        return True
    ends: Any = pc.min_max(whole).as_py()
    return bool(ends["min"] is not None and (ends["min"] < 0 or ends["max"] >= _OF_A_DAY[kind.unit]))


def _has_times(kind: Any) -> bool:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return _has_times(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _has_times(kind.value_type)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return bool(kind.unit == "ns")
    return pa.types.is_time(kind) or any(_has_times(kind.field(at).type) for at in range(kind.num_fields))


def with_text_keys(kind: Any) -> bool:
    """Returns true if a type has maps, and the keys of all of them are texts.

    >>> import pyarrow as pa
    >>> with_text_keys(pa.list_(pa.map_(pa.string(), pa.int8()))), with_text_keys(pa.map_(pa.int8(), pa.int8()))
    (True, False)
    """
    import pyarrow as pa

    keys = list(_key_types(kind))
    return bool(keys) and all(
        pa.types.is_string(key) or pa.types.is_large_string(key) or pa.types.is_string_view(key)
        for key in keys
    )


def _key_types(kind: Any) -> Iterator[Any]:
    import pyarrow as pa

    if pa.types.is_map(kind):
        yield kind.key_type
    for at in range(kind.num_fields):
        yield from _key_types(kind.field(at).type)


def _without_value(name: str, column: Any, first: int, maps: dict[str, Any], error: Exception) -> Unsupported:
    """Returns the error that names the first row whose cell has no value of Python."""
    for row in range(len(column)):
        try:
            column[row].as_py(**maps)
        except KeyError as twice:
            key = str(twice).rpartition("duplicate key was ")[2].rstrip(')."')
            said = f"a map has the key {key[:80]} twice, and objects have each once"
        except (OverflowError, ValueError) as beyond:
            number = getattr(column[row], "value", None)
            what = f"{column.type}{'' if number is None else f' ({number})'}"
            if zone := unknown_zone(column.type):
                said = f"invalid time zone {zone[:60]!r}: expected a name that is known here, or an offset such as +05:30"
            elif ends := _ends_of(column.type):
                said = f"a value of type {what} lies beyond {ends}, which are all that Python's values have; {_HOLD_IT}"
            else:
                said = str(beyond)[:200]
        else:
            continue
        return Unsupported(f"column {name[:80]!r}, row {first + row + 1:,}: {said}", path=name)
    return Unsupported(f"column {name[:80]!r}: {str(error)[:200]}", path=name)


def _ends_of(kind: Any) -> str:
    """Returns what times of Python are limited to, of the first type of time that a type has; empty if it has none."""
    import pyarrow as pa

    if pa.types.is_duration(kind):
        return "999,999,999 days"
    if pa.types.is_temporal(kind):
        return "the years 1 to 9999"
    return next(filter(None, (_ends_of(kind.field(at).type) for at in range(kind.num_fields))), "")


def _columns_of(records: list[Any]) -> dict[str, list[Any]]:
    names: dict[str, None] = {}
    for number, row in enumerate(records, 1):
        if not isinstance(row, dict):
            kind = type(row).__name__
            raise Unsupported(
                f"item {number:,} is of type {kind}, and each row of a table is an object (dict)"
            )
        names.update(dict.fromkeys(row))
    _hold_names(names)
    return {name: [row.get(name) for row in records] for name in names}


def _hold_names(names: Iterable[Any]) -> None:
    """Refuse names that are no text; None is one of them."""
    for name in names:
        if not isinstance(name, str):
            raise Unsupported(f"the name of a column is text, not {type(name).__name__}")


def _records_of(columns: dict[str, list[Any]], rows: int = 0) -> list[dict[str, Any]]:
    if not columns:
        return empty_records(rows)
    names = tuple(columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
