"""Avro whose records have plain fields, read into columns block by block, without an object a value."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

from tare import _tare
from tare.datasets.avro_values import check_values
from tare.datasets.source import Source, printable
from tare.formats.avro_bounds import checked_blocks, named_types
from tare.formats.avro_types import arrow_type
from tare.formats.side_by_side import in_order

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["has_plain_fields", "plain_table", "table_of_avro"]

_KINDS = ("boolean", "int", "long", "float", "double", "string", "bytes")
_SHOWN = 3
# What a schema says of values and their names: all else is about them, as `doc` and `aliases`.
_OF_SCHEMAS = {
    "type", "name", "namespace", "fields", "items", "values", "symbols", "size", "default", "order", "logicalType",
    "precision", "scale",
}  # fmt: skip
_GROUP_BYTES = 1 << 20  # blocks have some 16 kB
_DAY_S = 86_400
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000}
_Field = tuple[str, str, bool | None]


def table_of_avro(source: Source, data: bytes, decode: Callable[[bytes], Any]) -> Any:
    """Returns what a file holds, as columns where all is plain; its reader's values were looked at before.

    Args:
        source: The file; it gets notes on metadata that no table keeps, and on fields whose whole numbers became others.
        data: Its bytes.
        decode: Its reader, record by record.

    Raises:
        DecodeError: It is not what it should be.
        EncodeError: The rows are not a table.
    """
    metadata, more, enums = _untold(data)
    if metadata:
        source.notes.append(f"metadata of its header is not read: {_shown(metadata)}")
    if more:
        source.notes.append(f"of its schema is not read: {_shown(more)}")
    if enums:
        source.notes.append(f"enums are read as text, without their symbols: {_shown(enums)}")
    table = plain_table(data)
    if table is not None:
        return table
    if check_values(data):
        source.notes.append("a key stands twice in a map: its last value is read")
    value = decode(data)
    if found := _widened(data, value):
        source.notes.append(f"whole numbers in a union with others are read as double: {_shown(found)}")
    return value


def _shown(names: list[str]) -> str:
    return ", ".join([*(printable(name, 30) for name in names[:_SHOWN]), *["..."] * (len(names) > _SHOWN)])


def _untold(data: bytes) -> tuple[list[str], list[str], list[str]]:
    """Returns what a file has beside its values: keys of its header and of its schema that are not Avro's own, and names of enums."""
    import fastavro

    try:
        metadata = fastavro.block_reader(BytesIO(data)).metadata
        schema = json.loads(metadata["avro.schema"])
    except Exception:  # fastavro has many; who reads the records says what is wrong
        return [], [], []
    more: dict[str, None] = {}
    enums: dict[str, None] = {}
    parts = [schema]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            more |= dict.fromkeys(part.keys() - _OF_SCHEMAS)
            enums |= dict.fromkeys([str(part.get("name"))] if part.get("type") == "enum" else [])
            parts += [part.get(name) for name in ("fields", "items", "values", "type")]
        elif isinstance(part, list):
            parts += part
    return [key for key in metadata if not key.startswith("avro.")], sorted(more), sorted(enums)


def _widened(data: bytes, table: pa.Table) -> list[str]:
    """Returns the names of fields that may hold whole numbers and others, and were read as doubles."""
    import pyarrow as pa

    schema, _ = checked_blocks(BytesIO(data))
    fields = schema.get("fields", ()) if isinstance(schema, dict) else ()
    return [
        field["name"]
        for field, kind in zip(fields, table.schema.types, strict=False)
        if pa.types.is_floating(kind)
        and isinstance(field["type"], list)
        and {"int", "long"} & {one for one in field["type"] if isinstance(one, str)}
    ]


def plain_table(data: bytes) -> pa.Table | None:
    """Returns the records of a file as a table, as `table_of` does; None if any is not plain, or anything is wrong.

    Plain are booleans, numbers, text, bytes, days, times and moments of milli- and microseconds in the years 1 to 9999;
    each alone, or in a union with null.

    Args:
        data: The file.

    >>> import fastavro, io
    >>> file = io.BytesIO()
    >>> schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "long"]}]}
    >>> fastavro.writer(file, schema, [{"a": 1}, {"a": None}])
    >>> plain_table(file.getvalue()).to_pydict()
    {'a': [1, None]}
    """
    import pyarrow as pa

    try:
        writer, blocks = checked_blocks(BytesIO(data))
        fields = _fields_of(writer)
        if fields is None:
            return None
        given = [field for field, _ in fields]
        schema = pa.schema([(field[0], kind) for field, kind in fields])

        def read(blocks: list[tuple[bytes, int]]) -> pa.RecordBatch:
            rows = _tare.read_avro_blocks(blocks, given)
            if rows is None:
                raise _NotPlain
            return _typed(pa.record_batch(rows), schema)

        return pa.Table.from_batches(list(in_order(_groups(blocks), read)), schema)
    except Exception:  # fastavro has many; who reads record by record says what is wrong
        return None


def has_plain_fields(schema: Any) -> bool:
    """Returns whether the records of a schema, as fastavro parses it, have plain fields alone."""
    return _fields_of(schema) is not None


class _NotPlain(Exception):
    """A value is not what its field says, or of no day that is read."""


def _groups(blocks: Iterator[Any]) -> Iterator[list[tuple[bytes, int]]]:
    group: list[tuple[bytes, int]] = []
    size = 0
    for block in blocks:
        data = block.bytes_.getvalue()
        group.append((data, block.num_records))
        size += len(data)
        if size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _fields_of(schema: Any) -> list[tuple[_Field, pa.DataType]] | None:
    """Returns the fields with their types of Arrow; None if one is not plain."""
    if not isinstance(schema, dict) or schema.get("type") != "record" or not schema["fields"]:
        return None
    names = [field["name"] for field in schema["fields"]]
    if len(set(names)) < len(names) or any("\0" in name for name in names):
        return None
    named = named_types(schema)
    found: list[tuple[_Field, pa.DataType]] = []
    for field in schema["fields"]:
        one, null_first = field["type"], None
        if isinstance(one, list):
            if len(one) != 2 or one.count("null") != 1:
                return None
            null_first = one[0] == "null"
            one = one[1] if null_first else one[0]
        kind = one.get("type") if isinstance(one, dict) else one
        type = arrow_type(one, named, ()) if kind in _KINDS else None
        if type is None or not _is_plain(type):
            return None
        found.append(((field["name"], cast(str, kind), null_first), type))
    return found


def _is_plain(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    simple = types.is_primitive(kind) and not types.is_decimal(kind)
    return kind in (pa.string(), pa.binary()) or (simple and getattr(kind, "unit", "us") in ("ms", "us"))


def _typed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns as days, times and moments where they are.

    Raises:
        _NotPlain: One is beyond the years 1 to 9999, or no time of a day.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns: list[Any] = []
    for column, field in zip(batch.columns, schema, strict=True):
        kind = field.type
        if pa.types.is_temporal(kind):
            least, most = _bounds(kind)
            ends: Any = pc.min_max(column).as_py()
            if ends["min"] is not None and not least <= ends["min"] <= ends["max"] <= most:
                raise _NotPlain
            column = column.view(kind)  # noqa: PLW2901
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _bounds(kind: Any) -> tuple[int, int]:
    """Returns the least and the most that a number may be which is a day, a time or a moment."""
    import pyarrow as pa

    if pa.types.is_date32(kind):
        return _FIRST_DAY, _LAST_DAY
    unit = _PER_SECOND[kind.unit]
    if pa.types.is_time(kind):
        return 0, _DAY_S * unit - 1
    return _FIRST_DAY * _DAY_S * unit, (_LAST_DAY + 1) * _DAY_S * unit - 1
