"""Writes Avro's container files of plain columns by polars' code for rows, far faster than of Python's values. Not a format.

Rows are bytes that hang on the types of their fields alone: numbers, texts, bytes, truth values, or nulls in their place.
What these stand for, e.g. moments in UTC, only the schema says. So polars writes the numbers, and in front of its rows
stands the schema that rows by fastavro have.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from tare.formats.avro_types import schema_of
from tare.formats.side_by_side import in_order
from tare.kinds import resident_bytes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["write_columns"]

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_PRIMITIVE = ("boolean", "int", "long", "float", "double", "bytes", "string")
_LEAST_BYTES = 1 << 20  # below, polars takes longer to load than the rows to write
_BLOCK_ROWS = 512  # few enough that a reader that wants some rows decodes not many others
_RUN_ROWS = 65_536  # that a thread writes at a time
_DEFLATED = -15  # without a header
_DAYS = (-719_162, 2_932_896)  # of the years 1 to 9999, from 1970 on
_TAKEN = (
    "is_boolean", "is_integer", "is_floating", "is_string", "is_large_string", "is_binary", "is_large_binary",
    "is_fixed_size_binary", "is_date32", "is_timestamp", "is_time",
)  # fmt: skip


# Whether this process was forked from one that had loaded polars, whose threads stayed there: a call of it waits for ever.
_forked: list[int] = []


def _note_fork() -> None:
    if "polars" in sys.modules:
        _forked.append(os.getpid())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def write_columns(table: pa.Table, *, compression: str, default: str) -> Iterator[bytes] | None:
    """Returns a file of a table's rows, in parts; None if it has other types, or is small.

    Its schema and its rows are those that fastavro writes; blocks end elsewhere.

    Args:
        table: The table.
        compression: ``none`` or ``deflate``.
        default: As of the library.
    """
    if resident_bytes(table) < _LEAST_BYTES or _forked or importlib.util.find_spec("polars") is None:
        return None
    import fastavro
    import pyarrow as pa
    from fastavro.schema import SchemaParseException

    refused = (pa.ArrowException, TypeError, ValueError, KeyError, SchemaParseException)
    try:
        schema = schema_of(table, default)
        kinds = _plain_types(schema)
        if kinds is None:
            return None
        plain = _plain_columns(table, kinds)
        codec = {"none": "null", "deflate": "deflate"}[compression]
        sync = os.urandom(_SYNC_BYTES)
        head = BytesIO()
        fastavro.writer(head, fastavro.parse_schema(schema), [], codec=codec, sync_marker=sync)
    except refused:  # whatever is wrong is said of the rows
        return None
    packed = codec == "deflate"
    return _file(head.getvalue(), plain, lambda rows: _encoded(rows, sync, packed))


def _file(head: bytes, table: pa.Table, encode: Callable[[pa.Table], list[bytes]]) -> Iterator[bytes]:
    yield head
    slices = (table.slice(start, _RUN_ROWS) for start in range(0, table.num_rows, _RUN_ROWS))
    for blocks in in_order(slices, encode):
        yield from blocks


def _encoded(rows: pa.Table, sync: bytes, packed: bool) -> list[bytes]:
    """Returns blocks of rows."""
    import polars as pl

    found = []
    for start in range(0, rows.num_rows, _BLOCK_ROWS):
        some = rows.slice(start, _BLOCK_ROWS)
        frame = pl.from_arrow(some, rechunk=True)
        assert isinstance(frame, pl.DataFrame)
        file = BytesIO()
        frame.write_avro(file)
        for count, plain in _blocks(file.getvalue()):
            data = plain
            if packed:
                press = zlib.compressobj(wbits=_DEFLATED)
                data = press.compress(plain) + press.flush()
            found += [_zigzag(count) + _zigzag(len(data)), data, sync]
    return found


def _plain_columns(table: pa.Table, kinds: Sequence[str]) -> pa.Table:
    """Returns columns of the types that stand for what is written: numbers in the place of dates and moments.

    Raises:
        pyarrow.ArrowException, ValueError: A value has no such number.
    """
    import pyarrow as pa

    plain = {
        "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "float": pa.float32(), "double": pa.float64(),
        "bytes": pa.large_binary(), "string": pa.large_string(),
    }  # fmt: skip
    columns = []
    for column, kind in zip(table.columns, kinds, strict=True):
        columns.append(_numbers(column).cast(plain[kind]))
    return pa.Table.from_arrays(columns, names=[f"c{at}" for at in range(len(columns))])


def _numbers(column: Any) -> Any:
    """Returns times and moments in the unit that Avro counts them in; others as they are."""
    import pyarrow as pa

    kind, types = column.type, pa.types
    if (types.is_date(kind) or types.is_timestamp(kind)) and not _is_near(column):
        raise ValueError("of years that no value of Python's has: who writes rows refuses it")
    if types.is_date64(kind):
        column = column.cast(pa.date32())
    elif types.is_timestamp(kind) and kind.unit == "s":
        column = column.cast(pa.timestamp("ms", kind.tz))
    elif types.is_timestamp(kind) and kind.unit == "ns" and _is_whole(column):
        column = column.cast(pa.timestamp("us", kind.tz))
    elif types.is_time(kind):
        column = column.cast(pa.time32("ms") if types.is_time32(kind) else pa.time64("us"))
    elif types.is_dictionary(kind):
        return _numbers(column.cast(kind.value_type))
    elif not any(getattr(types, test)(kind) for test in _TAKEN):
        raise ValueError(f"{kind} has parts, or is written as a text")
    return column


def _is_near(column: Any) -> bool:
    """Returns whether dates and moments are of the years 1 to 9999."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_date(kind):
        day = 1 if pa.types.is_date32(kind) else 86_400_000
    else:
        day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    ends = pc.min_max(column.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64()))
    first, last = ends["min"].as_py(), ends["max"].as_py()
    return first is None or (_DAYS[0] * day <= first and last < (_DAYS[1] + 1) * day)


def _is_whole(column: Any) -> bool:
    """Returns whether nanoseconds are whole microseconds: else they are written as what they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.cast(pa.int64())
    return not pc.any(pc.not_equal(pc.multiply(pc.divide(whole, 1000), 1000), whole)).as_py()


def _plain_types(schema: dict[str, Any]) -> list[str] | None:
    """Returns the types of fields that `schema_of` gives, without what they stand for; None if one of them is no plain one.

    >>> _plain_types({"fields": [{"name": "a", "type": ["null", {"type": "int", "logicalType": "date"}]}]})
    ['int']
    """
    fields = schema["fields"]
    kinds = [kind for field in fields if (kind := _plain_type(field["type"])) is not None]
    return kinds if kinds and len(kinds) == len(fields) else None


def _plain_type(kind: Any) -> str | None:
    """Returns the one type beside null that a field has."""
    if not isinstance(kind, list):
        return None  # null alone
    plain = kind[1]
    if isinstance(plain, dict):
        if plain.get("logicalType") in ("decimal", "uuid"):
            return None
        plain = plain["type"]
    return plain if plain in _PRIMITIVE else None


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the number of rows of each block of a whole file, and its bytes."""
    at = len(_MAGIC)
    while True:  # what the header tells by name
        count, at = _long(data, at)
        if not count:
            break
        for _ in range(2 * count):
            size, at = _long(data, at)
            at += size
    at += _SYNC_BYTES
    while at < len(data):
        count, at = _long(data, at)
        size, at = _long(data, at)
        yield count, data[at : at + size]
        at += size + _SYNC_BYTES


def _long(data: bytes, at: int) -> tuple[int, int]:
    """Returns the number at a place, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7


def _zigzag(value: int) -> bytes:
    value *= 2
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
